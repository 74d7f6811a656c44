# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Layer norm, RMS norm and batch norm of both number fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.layer_norm import split_layer_norm, standardize_parts
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice, check_field_choice, check_mask
from .initialization import fill_
from .precision import FullPrecision

__all__ = [
    "ComplexBatchNorm1d",
    "ComplexBatchNorm2d",
    "ComplexLayerNorm",
    "ComplexRMSNorm",
    "RealBatchNorm1d",
    "RealBatchNorm2d",
    "rms_norm",
]

_NORMS = ("split", "whitening")
_GAINS = ("features", "parts")
NORM_SCALES = ("modulus", "stored")


def check_norm_scale(norm_scale: str, number_field: str) -> None:
    """Raise unless ``norm_scale`` is known and exists in ``number_field``."""
    check_field_choice("norm_scale", norm_scale, NORM_SCALES, number_field, ("stored",))


def last_axis(normalized_shape: int | Sequence[int]) -> int:
    """Return the size of a ``normalized_shape`` with one axis, the axis of the halves."""
    sizes = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if len(sizes) != 1:
        raise ValueError(f"normalized_shape must have one axis, the stored width, got {normalized_shape}")
    return sizes[0]


def rms_norm(width: int, eps: float, norm_scale: str | None = None, number_field: str = "complex") -> nn.Module:
    """Build an RMS norm with ``width`` gains, one per stored element.

    ``modulus``, the default in the complex field, divides by the root of mean_j |z_j|^2 over complex features
    (``ComplexRMSNorm``). ``stored``, the default in the real field, divides by the root mean square of the stored
    elements, which is smaller by sqrt(2) (``torch.nn.RMSNorm``).
    """
    norm_scale = ("stored" if number_field == "real" else "modulus") if norm_scale is None else norm_scale
    check_norm_scale(norm_scale, number_field)
    return nn.RMSNorm(width, eps=eps) if norm_scale == "stored" else ComplexRMSNorm(width, eps=eps, gain="parts")


def inverse_square_root(rr: Tensor, ri: Tensor, ii: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Compute M^(-1/2) of a positive definite M = [[rr, ri], [ri, ii]] as (rr, ri, ii) (Trabelsi et al. 2017, 3.5).

    With s = sqrt(det M) and t = sqrt(trace M + 2 s): M^(-1/2) = [[ii + s, -ri], [-ri, rr + s]] / (s t).
    """
    s = (rr * ii - ri.square()).clamp(min=torch.finfo(rr.dtype).tiny).sqrt()
    t = (rr + ii + 2.0 * s).sqrt()
    scale = 1.0 / (s * t)
    return (ii + s) * scale, -ri * scale, (rr + s) * scale


def _whiten(
    real: Tensor, imag: Tensor, covariance: tuple[Tensor, Tensor, Tensor], eps: Tensor
) -> tuple[Tensor, Tensor]:
    """Multiply centred parts by (covariance + eps I)^(-1/2)."""
    rr, ri, ii = covariance
    size = rr + ii + 2.0 * eps
    # The floor keeps a degenerate covariance positive definite under rounding.
    floor = 1e-6 if rr.dtype == torch.float32 else 1e-12
    w_rr, w_ri, w_ii = inverse_square_root((rr + eps) / size + floor, ri / size, (ii + eps) / size + floor)
    root = size.rsqrt()
    real, imag = real * root, imag * root
    return w_rr * real + w_ri * imag, w_ri * real + w_ii * imag


def _scale(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Return s = max(1, largest |x| along ``dims``) and eps / s^2, so that squares of x / s cannot overflow.

    Whitening x / s with eps / s^2 equals whitening x with eps for every s, so s needs no gradient.
    """
    size = x.detach().abs().amax(dims, keepdim=True).clamp(min=1.0)
    # The floor, far below a squared rounding error, avoids division by 0 for constant input.
    return size, (eps / size / size).clamp(min=torch.finfo(size.dtype).eps ** 3)


class _WhiteningGain(nn.Module):
    """Affine map after whitening: a symmetric real 2x2 matrix and a complex bias for each feature.

    ``gain`` holds the rows (rr, ri, ii), ``[3, d]``, initially (1/sqrt 2, 0, 1/sqrt 2), so that E|z|^2 = 1
    (Trabelsi et al. 2017).
    """

    no_weight_decay = ("gain", "bias")

    def __init__(self, num_features: int, **options: Any) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.empty(3, num_features, **options))
        self.bias = nn.Parameter(torch.empty(2, num_features, **options))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set gain = I / sqrt 2 and bias = 0."""
        identity = torch.tensor([[1.0], [0.0], [1.0]], dtype=self.gain.dtype, device=self.gain.device)
        torch.nn.init.zeros_(self.bias)
        fill_(self.gain, identity / math.sqrt(2.0))

    def forward(self, real: Tensor, imag: Tensor) -> Tensor:
        rr, ri, ii = self.gain
        return CF.join(rr * real + ri * imag + self.bias[0], ri * real + ii * imag + self.bias[1])


class _AffineNorm(nn.Module):
    """Base of layer and batch norms: the choice of split or whitening, and the affine map after it."""

    no_weight_decay = ("weight", "bias")
    weight: Tensor
    bias: Tensor
    affine: _WhiteningGain

    def __init__(self, width: int, eps: float, affine: bool, norm: str, number_field: str, **options: Any) -> None:
        super().__init__()
        check_field_choice("norm", norm, _NORMS, number_field, ("split",))
        features = arithmetic(number_field).num_features(width)
        self.eps = eps
        self.norm = norm
        self.elementwise_affine = affine
        if affine and norm == "split":
            self.weight = nn.Parameter(torch.ones(width, **options))
            self.bias = nn.Parameter(torch.zeros(width, **options))
        elif affine:
            self.affine = _WhiteningGain(features, **options)

    def reset_parameters(self) -> None:
        """Set weight 1 and bias 0, or the gain to I / sqrt 2."""
        if self.elementwise_affine and self.norm == "split":
            torch.nn.init.ones_(self.weight)
            torch.nn.init.zeros_(self.bias)
        elif self.elementwise_affine:
            self.affine.reset_parameters()

    def _affine_split(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.bias, x, self.weight) if self.elementwise_affine else x

    def _affine_whitening(self, real: Tensor, imag: Tensor) -> Tensor:
        return self.affine(real, imag) if self.elementwise_affine else CF.join(real, imag)


class ComplexLayerNorm(_AffineNorm):
    """Layer norm over the complex features of a token, ``[..., 2d] -> [..., 2d]``.

    ``split`` normalises the real and the imaginary part to mean 0 and variance 1 over the features (ComplexOrder
    App. B, per token instead of per batch) and applies a weight and a bias per stored element. ``whitening`` gives the
    pair (re, im) mean 0 and covariance I over the features and applies a 2x2 gain (Trabelsi et al. 2017, section 3.5,
    per token). ``split`` does not commute with a phase rotation; ``whitening`` commutes with a common rotation of all
    features while gain and bias have their initial values; ``ComplexRMSNorm`` always commutes.

    Args:
        normalized_shape: stored width 2d, as an int or a shape of one axis such as ``[2d]``.
        eps: added to the variances.
        elementwise_affine: learn gain and bias.
        norm: ``"split"`` or ``"whitening"``.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        norm: str = "split",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        width = last_axis(normalized_shape)
        super().__init__(width, eps, elementwise_affine, norm, "complex", device=device, dtype=dtype)
        self.num_features = width // 2
        self.normalized_shape = (width,)

    def forward(self, x: Tensor) -> Tensor:
        CF.check_halves(x)
        if self.norm == "split":
            if self.elementwise_affine:
                return split_layer_norm(x, self.weight, self.bias, self.eps)
            return standardize_parts(x, self.eps)
        wide = CF.wide(x)
        size, eps = _scale(wide, (-1,), self.eps)
        real, imag = CF.split(wide / size)
        real, imag = real - real.mean(-1, keepdim=True), imag - imag.mean(-1, keepdim=True)
        covariance = _covariance(real, imag, lambda product: product.mean(-1, keepdim=True))
        real, imag = _whiten(real, imag, covariance, eps)
        return self._affine_whitening(real, imag).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, norm={self.norm!r}"


def _covariance(real, imag, mean):  # type: ignore[no-untyped-def]
    return mean(real * real), mean(real * imag), mean(imag * imag)


class ComplexRMSNorm(nn.Module):
    """RMS norm z / sqrt(mean_j |z_j|^2 + eps) * weight, ``[..., 2d] -> [..., 2d]``; commutes with phase rotations.

    The norm of Zhang & Sennrich (2019) with the modulus in place of the absolute value. It has one real weight per
    complex feature and no bias, which would fix a phase. The mean runs over d complex features, so stored elements
    have a mean square of 1/2 (``torch.nn.RMSNorm`` of the same width: 1).

    Args:
        normalized_shape: stored width 2d, as an int or a shape of one axis such as ``[2d]``.
        eps: added to the mean squared modulus.
        elementwise_affine: learn the weight.
        gain: ``"features"``, one weight per complex feature; ``"parts"``, one per stored element (iFairy): the norm
            then does not commute with rotations.
    """

    no_weight_decay = ("weight",)

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        gain: str = "features",
    ) -> None:
        super().__init__()
        check_choice("gain", gain, _GAINS)
        width = last_axis(normalized_shape)
        self.num_features = arithmetic("complex").num_features(width)
        self.normalized_shape = (width,)
        self.eps = eps
        self.gain = gain
        if elementwise_affine:
            gains = self.num_features if gain == "features" else width
            self.weight = nn.Parameter(torch.ones(gains, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)

    def reset_parameters(self) -> None:
        """Set weight 1."""
        if self.weight is not None:
            torch.nn.init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        CF.check_halves(x)
        # mean_j |z_j|^2 over d features is twice the mean square of the 2d stored elements.
        eps, scale = self.eps / 2.0, math.sqrt(0.5)
        if self.weight is None:
            return F.rms_norm(x, self.normalized_shape, eps=eps) * scale
        weight = self.weight.repeat(2) if self.gain == "features" else self.weight
        return F.rms_norm(x, self.normalized_shape, weight * scale, eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, gain={self.gain!r}"


class _BatchNorm(FullPrecision, _AffineNorm):
    """Batch norm over axis 1 with an optional mask, for both number fields; see ``ComplexBatchNorm1d``.

    Running statistics stay in float32 or better: a rounded covariance of correlated parts may not be invertible.
    """

    full_precision = ("running_mean", "running_var")
    num_dims: tuple[int, ...] = (2, 3)
    number_field = "complex"
    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        norm: str = "split",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, eps, affine, norm, self.number_field, device=device, dtype=dtype)
        self.num_features = num_features
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        if track_running_stats:
            variances = num_features if norm == "split" else (3, num_features // 2)
            exact = self.full_precision_dtype()
            self.register_buffer("running_mean", torch.zeros(num_features, device=device, dtype=exact))
            self.register_buffer("running_var", torch.ones(variances, device=device, dtype=exact))
            self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Set means 0, variances 1 and covariances of real and imaginary parts 0."""
        if not self.track_running_stats:
            return
        torch.nn.init.zeros_(self.running_mean)
        variances = torch.ones_like(self.running_var)
        if self.norm == "whitening":
            variances[1] = 0.0
        fill_(self.running_var, variances)

    def reset_parameters(self) -> None:
        """Reset running statistics and the affine map."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalise ``x [B, C]``, ``[B, C, L]`` or ``[B, C, H, W]``; ``mask``, without C, is true where x counts."""
        if x.is_complex():
            CF.check_halves(x)
        if x.dim() not in self.num_dims or x.shape[1] != self.num_features:
            axes = f"{' or '.join(map(str, self.num_dims))} axes and {self.num_features} channels on axis 1"
            raise ValueError(f"x must have {axes}, got shape {tuple(x.shape)}")
        if mask is None and self.norm == "split" and (out := self._native(CF.wide(x))) is not None:
            return out.to(x.dtype)
        # [rows, C]: statistics run over rows.
        rows = x.movedim(1, -1)
        flat = rows.reshape(-1, self.num_features)
        if mask is not None:
            check_mask(mask, x)
        wide, keep = CF.wide(flat), None if mask is None else mask.reshape(-1).to(torch.bool)
        if keep is not None and torch.is_grad_enabled():  # 0 times NaN at padding would make every gradient NaN
            wide = wide.masked_fill((~keep & ~wide.detach().sum(-1).isfinite()).unsqueeze(-1), 0.0)
        elif flat.shape[0] == 0:
            keep = wide.new_zeros(0, dtype=torch.bool)  # makes the mean over no rows 0 instead of NaN
        out = self._split(wide, keep) if self.norm == "split" else self._whitening(wide, keep)
        return out.to(x.dtype).reshape(rows.shape).movedim(-1, 1)

    def _native(self, x: Tensor) -> Tensor | None:
        """Use torch's own kernel if every row counts (a third of the time on images); None if it does not apply."""
        statistics: tuple[Any, Any] = (None, None)
        if self.track_running_stats:
            statistics = (self.running_mean, self.running_var)
        one_row = x.numel() <= self.num_features  # torch rejects it: no variance
        if one_row or any(part is not None and part.dtype != x.dtype for part in statistics):
            return None
        training = self.training or not self.track_running_stats
        if self.training and self.track_running_stats and not self._updates:
            statistics = (self.running_mean.clone(), self.running_var.clone())
        weight, bias = (self.weight.to(x.dtype), self.bias.to(x.dtype)) if self.elementwise_affine else (None, None)
        mean, variance = statistics
        return torch.batch_norm(x, weight, bias, mean, variance, training, self.momentum, self.eps, True)

    @property
    def _updates(self) -> bool:
        """Whether a call updates the running statistics: in training, but not when recomputed by checkpointing."""
        again = not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1
        return self.training and self.track_running_stats and not again

    def _update(self, buffer: Tensor, value: Tensor, keep: Tensor | None) -> None:
        # If no row counts, the statistics do not change.
        step = self.momentum if keep is None else self.momentum * keep.any().to(buffer.dtype)
        buffer.lerp_(value.to(buffer.dtype), step)

    def _unbiased(self, variance: Tensor, keep: Tensor | None, rows: int) -> Tensor:
        if keep is None:
            return variance * (rows / max(rows - 1, 1))
        count = keep.sum().to(variance.dtype)
        return variance * (count / (count - 1).clamp(min=1))

    def _split(self, x: Tensor, keep: Tensor | None) -> Tensor:
        if self.training or not self.track_running_stats:
            mean = CF.masked_mean(x, keep)
            centred = x - mean
            variance = CF.masked_mean(centred.square(), keep)
            if self._updates:
                with torch.no_grad():
                    self._update(self.running_mean, mean, keep)
                    self._update(self.running_var, self._unbiased(variance, keep, x.shape[0]), keep)
        else:
            centred, variance = x - CF.wide(self.running_mean), CF.wide(self.running_var)
        return self._affine_split(centred * (variance + self.eps).rsqrt())

    def _whitening(self, x: Tensor, keep: Tensor | None) -> Tensor:
        if self.training or not self.track_running_stats:
            counted = x if keep is None else x.masked_fill(~keep.unsqueeze(-1), 0.0)
            if x.shape[0] == 0:  # amax needs an element
                counted = x.new_zeros(1, x.shape[1])
            size, eps = (s.flatten() for s in _scale(counted.unflatten(-1, (2, -1)), (0, 1), self.eps))
            scale = size.repeat(2)
            mean = CF.masked_mean(x / scale, keep)
            real, imag = CF.split(x / scale - mean)
            rr, ri, ii = _covariance(real, imag, lambda product: CF.masked_mean(product, keep))
            if self._updates:
                with torch.no_grad():
                    self._update(self.running_mean, mean * scale, keep)
                    largest = torch.finfo(size.dtype).max / 8.0  # leaves room for the sum of two variances
                    variances = self._unbiased(torch.stack([rr, ri, ii]), keep, x.shape[0]) * size * size
                    self._update(self.running_var, variances.clamp(-largest, largest), keep)
        else:
            (rr, ri, ii), eps = CF.wide(self.running_var), x.new_tensor(self.eps)
            bound = rr.sqrt() * ii.sqrt()  # half-precision checkpoints may hold an invalid covariance
            ri = ri.clamp(-bound, bound)
            real, imag = CF.split(x - CF.wide(self.running_mean))
        return self._affine_whitening(*_whiten(real, imag, (rr, ri, ii), eps))

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, norm={self.norm!r}"


class ComplexBatchNorm1d(_BatchNorm):
    """Batch norm of complex channels, ``[B, 2C]`` or ``[B, 2C, L]`` with ``[real | imag]`` halves on axis 1.

    ``split`` gives the real and the imaginary part of a channel mean 0 and variance 1 over the batch (ComplexOrder
    App. B); ``whitening`` makes their 2x2 covariance I (Trabelsi et al. 2017, section 3.5). ``mask`` excludes padding
    from the statistics. Running statistics as in ``torch.nn.BatchNorm1d`` (unbiased variances), in float32 or better;
    a fully masked batch does not change them.

    Args:
        num_features: stored channels, twice the complex ones.
        eps, momentum, affine, track_running_stats: as in ``torch.nn.BatchNorm1d``; momentum must be a number.
        norm: ``"split"`` or ``"whitening"``.

    Raises:
        ValueError: an odd width, an unknown ``norm``, an input or a mask of another shape.
    """


class ComplexBatchNorm2d(_BatchNorm):
    """``ComplexBatchNorm1d`` on images, ``[B, 2C, H, W]`` with mask ``[B, H, W]``."""

    num_dims = (4,)


class RealBatchNorm1d(_BatchNorm):
    """``torch.nn.BatchNorm1d`` with a padding mask: the real twin of ``ComplexBatchNorm1d``."""

    number_field = "real"


class RealBatchNorm2d(_BatchNorm):
    """``torch.nn.BatchNorm2d`` with a padding mask: the real twin of ``ComplexBatchNorm2d``."""

    number_field = "real"
    num_dims = (4,)
