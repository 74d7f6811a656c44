# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transforms between time and frequency (Thesis 2.2, 4.3.3, 5.4).

*Sign convention*: the forward transform has exp(-2 pi i k t / N), like ``torch.fft``; Thesis 2.11 prints the sign of
the inverse. Transforms are computed in float32 or better; the result has the dtype of the input.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.exporting import is_exporting
from . import functional as CF
from .arithmetic import arithmetic
from .initialization import fill_
from .precision import FullPrecision

__all__ = ["FrequencyKernel", "ZTransform", "dct", "dft", "inverse_dft", "sequence_dft", "spectrum2d", "unit_phase"]


def exact_products(x: Tensor) -> torch.autocast:
    """Return a context without autocast, for matrix products in float32 or better."""
    return torch.autocast(x.device.type, enabled=False)


def dft(x: Tensor) -> Tensor:
    """Compute F(k) = sum_t z_t exp(-2 pi i k t / N) over the features (Thesis 2.11, sign as above).

    ``[..., 2N] -> [..., 2N]``. For a real signal pass ``torch.cat([x, zeros_like(x)], -1)``.
    """
    if is_exporting():
        with exact_products(x):
            return CF.narrow(CF.block_linear(CF.wide(x), *fourier_matrix(x.shape[-1] // 2, CF.wide(x))), x.dtype)
    return CF.narrow(CF.from_complex(torch.fft.fft(CF.to_complex(x), dim=-1)), x.dtype)


def fourier_matrix(n: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the parts of exp(-2 pi i k t / n), ``[n, n]`` each: the DFT as a matrix product, for ONNX."""
    k = torch.arange(n, device=like.device)
    angle = (torch.outer(k, k) % n).double() * (-2.0 * math.pi / n)
    return angle.cos().to(like.dtype), angle.sin().to(like.dtype)


def sequence_dft(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute F(k) = sum_t z_t exp(-2 pi i k t / N) along the tokens, per feature (Thesis 4.7), ``[B, N, 2d]`` halves.

    With a mask ``[B, N]``, each row is transformed over its real tokens and padding is zero. Every output depends on
    every token, so models with it are not causal.
    """
    if mask is None and not is_exporting():
        return CF.narrow(CF.from_complex(torch.fft.fft(CF.to_complex(x), dim=1)), x.dtype)
    mask = x.new_ones(x.shape[:2]) if mask is None else mask
    keep = mask.to(torch.bool)
    place = keep.cumsum(-1) - 1
    cycles = (place.unsqueeze(-1) * place.unsqueeze(-2)) / keep.sum(-1).clamp(min=1)[:, None, None].double()
    angle = (-2.0 * math.pi) * (cycles - cycles.round())
    seen = keep.unsqueeze(-1) & keep.unsqueeze(-2)
    wide = CF.wide(x.masked_fill(~keep.unsqueeze(-1), 0.0))
    cos, sin = (part.masked_fill(~seen, 0.0).to(wide.dtype) for part in (angle.cos(), angle.sin()))
    real, imag = CF.split(wide)
    with exact_products(x):
        return CF.narrow(CF.join(cos @ real - sin @ imag, cos @ imag + sin @ real), x.dtype)


def inverse_dft(x: Tensor) -> Tensor:
    """Compute z_t = 1/N sum_k F_k exp(+2 pi i k t / N), the inverse of ``dft``."""
    return CF.narrow(CF.from_complex(torch.fft.ifft(CF.to_complex(x), dim=-1)), x.dtype)


def dct(x: Tensor) -> Tensor:
    """Compute C(k) = sum_t f(t) cos(pi k (2t + 1) / (2N)), the unnormalised DCT-II of a real signal (Thesis 2.13).

    ``[..., N] -> [..., N]``, as one product with the N x N cosine matrix (angles computed in float64).
    """
    n = x.shape[-1]
    k = torch.arange(n, dtype=torch.float64, device=x.device)
    angle = torch.outer(2.0 * k + 1.0, k) * (math.pi / (2.0 * n))
    wide = CF.wide(x)
    with exact_products(x):
        return CF.narrow(wide @ angle.cos().to(wide.dtype), x.dtype)


def real_dft(x: Tensor) -> Tensor:
    """Compute F(k) = 1/sqrt(N) sum_t x_t exp(-2 pi i k t / N), k = 0, ..., N / 2, for real features.

    ``[..., N] -> [..., N + 2]`` halves, in float32 or better.
    """
    x = CF.wide(x)
    if not is_exporting():
        return CF.from_complex(torch.fft.rfft(x, dim=-1, norm="ortho"))
    n = x.shape[-1]
    half = [part[: n // 2 + 1] for part in fourier_matrix(n, x)]
    with exact_products(x):
        return F.linear(x, torch.cat(half) / n**0.5)


def spectrum2d(x: Tensor) -> Tensor:
    """Compute F(k, l) = 1/sqrt(HW) sum_hw x_hw exp(-2 pi i (kh/H + lw/W)) of real images (Thesis 3.8).

    ``[..., H, W] -> [..., H, 2W]`` halves.
    """
    if is_exporting():
        height, width = x.shape[-2:]
        cos, sin = fourier_matrix(width, CF.wide(x))
        with exact_products(x):
            rows = F.linear(CF.wide(x), torch.cat([cos, sin]) / (height * width) ** 0.5)
            (real, imag), (cos, sin) = CF.split(rows), fourier_matrix(height, rows)
            return CF.narrow(CF.join(cos @ real - sin @ imag, cos @ imag + sin @ real), x.dtype)
    return CF.narrow(CF.from_complex(torch.fft.fft2(CF.wide(x), norm="ortho")), x.dtype)


def unit_phase(x: Tensor) -> Tensor:
    """Compute exp(i pi x), which maps real values 0 and 1 to 1 and -1 (Thesis 3.8, recommendation a).

    ``[..., N] -> [..., 2N]`` halves; angles are computed in float32 or better.
    """
    angle = math.pi * CF.wide(x)
    return CF.narrow(CF.join(angle.cos(), angle.sin()), x.dtype)


class ZTransform(FullPrecision):
    """z_k a_k^(-k) for each feature k with learned complex a_k (Thesis 4.8, 4.9): ``[..., 2d] -> [..., 2d]``.

    a_k = rho_k exp(i alpha_k). The series runs over the features of one token and does not mix tokens. At
    initialisation rho = 1 and alpha_k = 2 pi k / d: one row of a DFT. rho^(-k) is computed as exp(-k log rho) with
    |k log rho| clamped to 30, so powers cannot overflow.

    Args:
        num_features: stored width 2d.
        num_points: number P of different a, each shared by a block of consecutive features and initially at
            alpha = 2 pi p / P. None: one for each feature.

    Raises:
        ValueError: an odd width, more points than features.
    """

    no_weight_decay = full_precision = ("log_modulus", "phase")

    def __init__(self, num_features: int, num_points: int | None = None) -> None:
        super().__init__()
        features = arithmetic("complex").num_features(num_features)
        self.num_features = num_features
        self.num_points = features if num_points is None else num_points
        if not 1 <= self.num_points <= features:
            raise ValueError(f"num_points must lie in [1, {features}], the complex features, got {num_points}")
        self.log_modulus = nn.Parameter(torch.empty(self.num_points, dtype=self.full_precision_dtype()))
        self.phase = nn.Parameter(torch.empty(self.num_points, dtype=self.full_precision_dtype()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set rho = 1 and alpha_k = 2 pi k / d."""
        torch.nn.init.zeros_(self.log_modulus)
        k = torch.arange(self.num_points, device=self.phase.device)
        fill_(self.phase, 2.0 * math.pi * k / self.num_points)

    def forward(self, x: Tensor) -> Tensor:
        # float64, since k alpha reaches thousands of rad in wide models; the cost is d elements, not B N d.
        features = self.num_features // 2
        k = torch.arange(features, device=x.device)
        point = k * self.num_points // features
        log_modulus, phase = self.log_modulus.double()[point], self.phase.double()[point]
        modulus = torch.exp((-k * log_modulus).clamp(-30.0, 30.0))
        wide = CF.wide(x)
        return CF.narrow(CF.scale(CF.rotate(wide, -k * phase), modulus.to(wide.dtype)), x.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_features}, num_points={self.num_points}"


class FrequencyKernel(nn.Module):
    """Element-wise complex product F(X) . K with a learned kernel: a convolution in time (Thesis 5.9, 5.10).

    ``[..., 2d] -> [..., 2d]``. K starts at 1, the identity.

    Args:
        num_features: stored width 2d.
    """

    no_weight_decay = ("real", "imag")  # decay would pull the kernel from the identity to 0

    def __init__(self, num_features: int) -> None:
        super().__init__()
        features = arithmetic("complex").num_features(num_features)
        self.num_features = num_features
        self.real = nn.Parameter(torch.empty(features))
        self.imag = nn.Parameter(torch.empty(features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set K = 1."""
        torch.nn.init.ones_(self.real)
        torch.nn.init.zeros_(self.imag)

    def forward(self, x: Tensor) -> Tensor:
        wide = CF.wide(x)
        return CF.narrow(CF.multiply(wide, CF.join(self.real, self.imag).to(wide.dtype)), x.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_features}"
