# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense layers with low-bit complex weights (sums of scaled units): packed for inference, rounded for training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from ...kernels.low_bit import CPU, kernel
from ...kernels.native import low_bit
from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..checks import check_choice, check_shape
from ..linear import ComplexLinear, check_plain, check_width
from ..widely_linear import ConjugateLinear, WidelyLinear
from .bit_packing import pack_codes, packed_width, unpack_codes
from .rounding import GRANULARITIES, rounded_values, unit_stages, unit_values

__all__ = ["PackedLinear", "RoundedLinear", "complex_linear_type", "rounded_weights"]

MAX_STAGES = 3
SCALE_DTYPE = torch.float16
BUFFERS = ("codes", "scales")
LAYERS: dict[str, type[ComplexLinear]] = {
    "complex": ComplexLinear,
    "conjugate": ConjugateLinear,
    "widely_linear": WidelyLinear,
}


def check_rounding(stages: int, granularity: str, name: str = "stages") -> None:
    """Raise unless ``stages`` is 1 to 3 and ``granularity`` is known."""
    if type(stages) is not int or stages not in range(1, MAX_STAGES + 1):
        raise ValueError(f"{name} must be 1, 2 or 3, got {stages!r}. For more bits use modules_to_not_convert.")
    check_choice("granularity", granularity, GRANULARITIES)


def complex_linear_type(layer: nn.Module) -> str | None:
    """Return the type of a complex dense layer: ``complex``, ``conjugate``, ``widely_linear``, or None for others.

    Subclasses give None, since they may compute something else.
    """
    return next((name for name in LAYERS if type(layer) is LAYERS[name]), None)


def product(linear_type: str, x: Tensor, parts: Sequence[Tensor], bias: Tensor | None) -> Tensor:
    """Compute W z + b, W conj(z) + b or U z + V conj(z) + b from A, B (and C, D)."""
    if linear_type == "widely_linear":
        return CF.widely_linear(x, parts, bias)
    real, imag = parts
    return CF.linear(CF.conj(x) if linear_type == "conjugate" else x, real, imag, bias)


def rounded_weights(parts: Sequence[Tensor], stages: int, granularity: str) -> list[tuple[Tensor, Tensor]]:
    """Round A, B (and C, D) to codes and scales of W, or of U and V: ``unit_stages`` with float16 scales."""
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [unit_stages(real, imag, stages, granularity, scale_dtype=SCALE_DTYPE) for real, imag in pairs]


def packable_weights(parts: Sequence[Tensor], stages: int, granularity: str) -> list[tuple[Tensor, Tensor]]:
    """Round as ``rounded_weights``, but raise for weights that float16 scales cannot represent.

    Raises:
        ValueError: weights that are not finite, too large, or so small that all scales would be 0.
    """
    weights = rounded_weights(parts, stages, granularity)
    largest = torch.stack([part.detach().abs().max().float() for part in parts]).max().item()  # NaN propagates
    vanish = largest > 0.0 and not any(scales.any() for _, scales in weights)
    if vanish or not largest <= torch.finfo(SCALE_DTYPE).max:
        raise ValueError(
            f"weights must fit float16 scales, got {largest:.3g}. Rescale them, or use modules_to_not_convert."
        )
    return weights


class PackedLinear(nn.Module):
    """Complex dense layer with two bits per weight and stage: W = sum_t s_t i^c_t (iFairy, Fairy2i, 2025).

    Codes c are packed four per byte, scales are float16. A widely linear layer with T stages takes T bits per element
    of its real matrix. Without gradients, forward multiplies by the packed weights, see ``kernels.low_bit``; otherwise
    it unpacks them and computes the float layer in the dtype of x. Gradients reach x and the bias.

    Buffers: ``codes`` uint8 ``[stages, out, ceil(in / 4)]`` and ``scales`` float16 ``[stages, 2, out or 1]`` for
    complex ``out`` and ``in``; for V ``conj_codes`` and ``conj_scales``. Casts of the layer leave scales in float16.

    Args:
        in_features: stored width of the input.
        out_features: stored width of the output.
        linear_type: ``complex`` W z, ``conjugate`` W conj(z) or ``widely_linear`` U z + V conj(z).
        stages: number of rounding stages, 1 to 3.
        granularity: scales per row (``row``) or for the whole weight (``tensor``).
        bias: add a bias, one real vector ``[b_re | b_im]``.

    Raises:
        ValueError: an odd width, another number of stages, an unknown name.
    """

    bias: nn.Parameter | None
    codes: Tensor
    _ordered: low_bit.OrderedWeights | None = None  # of the buffers and versions in _ordered_from
    _ordered_from: tuple[list[Tensor], list[Any]] = ([], [])

    def __init__(
        self,
        in_features: int,
        out_features: int,
        linear_type: str = "complex",
        stages: int = 2,
        granularity: str = "row",
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_choice("linear_type", linear_type, LAYERS)
        check_rounding(stages, granularity)
        columns, rows = map(arithmetic("complex").num_features, (in_features, out_features))
        self.in_features = in_features
        self.out_features = out_features
        self.linear_type = linear_type
        self.stages = stages
        self.granularity = granularity
        sizes = stages, rows, packed_width(columns)
        for prefix in self.prefixes:
            codes = torch.zeros(sizes, dtype=torch.uint8, device=device)
            scales = torch.zeros(stages, 2, rows if granularity == "row" else 1, dtype=SCALE_DTYPE, device=device)
            self.register_buffer(f"{prefix}codes", codes)
            self.register_buffer(f"{prefix}scales", scales)
        size = out_features if bias else None
        zeros = None if size is None else nn.Parameter(torch.zeros(size, device=device, dtype=dtype))
        self.register_parameter("bias", zeros)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Prefixes of the buffer names, for W or for U and V."""
        return ("", "conj_") if self.linear_type == "widely_linear" else ("",)

    @property
    def qweight(self) -> Tensor:
        """The packed weight under the name that PEFT expects of a quantized layer."""
        return self.codes

    def reset_parameters(self) -> None:
        """Set scales to NaN, so that missing weights are noticed, and the bias to 0."""
        for prefix in self.prefixes:
            getattr(self, f"{prefix}scales").fill_(torch.nan)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    @property
    def has_weights(self) -> bool:
        """Whether weights have been set: all scales are finite and not negative."""
        scales = [getattr(self, f"{prefix}scales") for prefix in self.prefixes]
        return all(bool((scale.isfinite() & (scale >= 0)).all()) for scale in scales)

    @torch.no_grad()
    def set_weights(self, weights: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Set codes and scales of W, or of U and V, from ``rounded_weights``.

        Raises:
            ValueError: a tensor has another shape, or there is another number of them.
        """
        for prefix, (codes, scales) in zip(self.prefixes, weights, strict=True):
            for name, value in ((f"{prefix}codes", pack_codes(codes)), (f"{prefix}scales", scales)):
                buffer = getattr(self, name)
                check_shape(name, value, buffer.shape)
                buffer.copy_(value)
        self._ordered = None

    def weight_parts(self, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
        """Return A, B (and C, D), unpacked; stages are summed in float32."""
        parts: list[Tensor] = []
        for prefix in self.prefixes:
            codes = unpack_codes(getattr(self, f"{prefix}codes"), self.in_features // 2)
            parts.extend(unit_values(codes, getattr(self, f"{prefix}scales")))
        return tuple(part.to(dtype) for part in parts)

    def ordered_weights(self) -> low_bit.OrderedWeights:
        """Return the weights in the order of the CPU kernel, which are kept until a buffer changes."""
        if not torch.compiler.is_compiling():  # graphs cannot read versions
            buffers = [buffer for buffer in self._buffers.values() if buffer is not None]
            found = [(id(buffer), None if buffer.is_inference() else buffer._version) for buffer in buffers]
            if found != self._ordered_from[1]:
                self._ordered, self._ordered_from = None, (buffers, found)  # buffers that are kept keep their id
        if self._ordered is None:
            codes, scales = ([getattr(self, f"{prefix}{name}") for prefix in self.prefixes] for name in BUFFERS)
            self._ordered = low_bit.ordered_weights(codes, scales, self.stages, self.linear_type)
        return self._ordered

    def forward(self, x: Tensor) -> Tensor:
        check_width(x, self.in_features)
        out = self._by_kernel(x)
        if out is not None:
            return out
        CF.check_halves(x)  # integers too: weights are unpacked to the dtype of x
        return self._by_parts(x, self.weight_parts(x.dtype))

    def _by_kernel(self, x: Tensor) -> Tensor | None:
        """Multiply by the packed weights, or return None if no kernel can."""
        bias = self.bias
        device = kernel(x, self.codes, bias, self.training)
        if device is None:
            return None
        out = low_bit.linear(x, self.ordered_weights()) if device == CPU else self._on_gpu(x)
        return out if bias is None else out + bias.to(out.dtype)

    def _on_gpu(self, x: Tensor) -> Tensor:
        from ...kernels.accelerator.low_bit import linear  # imported late: registering an operator is slow

        codes, scales = ([getattr(self, f"{prefix}{name}") for prefix in self.prefixes] for name in BUFFERS)
        return linear(x, codes, scales, self.linear_type)

    def _by_parts(self, x: Tensor, parts: Sequence[Tensor]) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return product(self.linear_type, x, parts, bias)

    def for_steps(self) -> Callable[[Tensor], Tensor]:
        """Return ``forward`` for many calls, with weights that are unpacked at most once."""
        parts: tuple[Tensor, ...] = ()

        def forward(x: Tensor) -> Tensor:
            nonlocal parts
            out = self._by_kernel(x)
            if out is not None:
                return out
            parts = parts or self.weight_parts()
            return self._by_parts(x, [part.to(x.dtype) for part in parts])

        return forward

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to copy or to pickle: without the weights in the order of the kernel."""
        return {**self.__dict__, "_ordered": None, "_ordered_from": ([], [])}

    def _load_from_state_dict(self, *arguments: Any) -> None:
        super()._load_from_state_dict(*arguments)
        self._ordered = None

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        scales = {f"{prefix}scales": getattr(self, f"{prefix}scales") for prefix in self.prefixes}
        super()._apply(fn, recurse)
        self._ordered = None
        for name, kept in scales.items():
            moved = getattr(self, name)
            if moved.dtype != SCALE_DTYPE:
                setattr(self, name, kept.to(moved.device))
        return self

    @classmethod
    def empty_like(cls, layer: ComplexLinear, stages: int, granularity: str) -> Self:
        """Return a packed layer like a float layer, with its bias but without weights.

        Raises:
            ValueError: ``layer`` cannot be packed, see ``check_packable``.
        """
        linear_type = check_packable(layer)
        weight = layer.real.weight
        sizes = layer.in_features, layer.out_features, linear_type, stages, granularity, layer.bias is not None
        packed = cls(*sizes, device=weight.device, dtype=weight.dtype)
        if layer.bias is not None:
            packed.bias = layer.bias
        return packed.train(layer.training)

    @classmethod
    def from_float(cls, layer: ComplexLinear, stages: int = 2, granularity: str = "row") -> Self:
        """Pack a float layer by nearest rounding; the bias is shared.

        Raises:
            ValueError: ``layer`` cannot be packed, see ``check_packable`` and ``packable_weights``.
        """
        packed = cls.empty_like(layer, stages, granularity)
        packed.set_weights(packable_weights([part.detach() for part in layer.weight_parts()], stages, granularity))
        return packed

    @torch.no_grad()
    def to_float(self, dtype: torch.dtype | None = None) -> ComplexLinear:
        """Return the float layer with the same weights in ``dtype``, default float32.

        The bias is shared if it has this dtype.
        """
        parts = self.weight_parts(torch.float32 if dtype is None else dtype)
        options = {"device": parts[0].device, "dtype": parts[0].dtype}
        layer = skip_init(LAYERS[self.linear_type], self.in_features, self.out_features, bias=False, **options)
        for part, value in zip(layer.weight_parts(), parts, strict=True):
            part.copy_(value)
        layer.bias = self.bias
        if self.bias is not None and self.bias.dtype != parts[0].dtype:
            layer.bias = nn.Parameter(self.bias.to(parts[0].dtype), requires_grad=self.bias.requires_grad)
        return layer.train(self.training)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
            f"linear_type={self.linear_type!r}, stages={self.stages}, granularity={self.granularity!r}"
        )


class RoundedLinear(ComplexLinear):
    """Complex dense layer for quantization-aware training: rounded weights forward, float weights trained.

    In float32, forward is bitwise equal to ``PackedLinear.from_float`` of the same weights. Gradients use the
    straight-through estimator (Bengio et al. 2013; iFairy, Wang et al. 2025). Sub-layers have the names of the float
    layer, so state dicts are interchangeable.

    Args:
        in_features, out_features, linear_type, stages, granularity, bias: see ``PackedLinear``.

    Raises:
        ValueError: as in ``PackedLinear``; in forward, a sub-layer that has been replaced or hooked.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        linear_type: str = "complex",
        stages: int = 2,
        granularity: str = "row",
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_choice("linear_type", linear_type, LAYERS)
        check_rounding(stages, granularity)
        layer = LAYERS[linear_type](in_features, out_features, bias=bias, device=device, dtype=dtype)
        super().__init__(in_features, out_features, False, device="meta")
        self.linear_type = linear_type
        self.stages = stages
        self.granularity = granularity
        self._take(layer)

    def _take(self, layer: ComplexLinear) -> None:
        """Adopt the sub-layers and the bias of a float layer."""
        for name, sublayer in layer.named_children():
            setattr(self, name, sublayer)
        self.bias = layer.bias

    def weight_parts(self) -> tuple[Tensor, ...]:
        """Return the trained A, B (and C, D), not rounded."""
        return tuple(layer.weight for layer in self.children())  # type: ignore[misc]

    def reset_parameters(self, initializer: str = "glorot", **options: float) -> None:
        """Fill the weights as in the float layer."""
        if hasattr(self, "linear_type"):  # the base constructor calls it too early
            LAYERS[self.linear_type].reset_parameters(self, initializer, **options)

    def rounded_parts(self) -> tuple[Tensor, ...]:
        """Return the rounded A, B (and C, D) in the dtype of the weights."""
        check_plain(self.children(), "rounding")
        parts = self.weight_parts()
        with torch.no_grad():
            values = [
                value
                for pair in zip(parts[::2], parts[1::2], strict=True)
                for value in rounded_values(*pair, self.stages, self.granularity, scale_dtype=SCALE_DTYPE)
            ]
        # Straight-through estimator: part - part.detach() is exactly 0 and carries the gradient.
        return tuple(value.to(part.dtype) + (part - part.detach()) for value, part in zip(values, parts, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        check_width(x, self.in_features)
        return product(self.linear_type, x, self.rounded_parts(), self.bias)

    def for_steps(self) -> Callable[[Tensor], Tensor]:
        """Return ``forward`` with the weights rounded once, for many calls."""
        parts = self.rounded_parts()
        return lambda x: product(self.linear_type, x, parts, self.bias)

    @classmethod
    def from_float(cls, layer: ComplexLinear, stages: int = 2, granularity: str = "row") -> Self:
        """Wrap a float layer, whose sub-layers and bias are shared.

        Raises:
            ValueError: ``layer`` cannot be rounded, see ``check_packable``.
        """
        linear_type = check_packable(layer)
        sizes = layer.in_features, layer.out_features, linear_type, stages, granularity
        rounded = cls(*sizes, bias=False, device="meta")
        rounded._take(layer)
        return rounded.train(layer.training)

    def to_float(self) -> ComplexLinear:
        """Return the float layer with the trained weights, not rounded; sub-layers and bias are shared."""
        layer = LAYERS[self.linear_type](self.in_features, self.out_features, bias=False, device="meta")
        RoundedLinear._take(layer, self)  # type: ignore[arg-type]
        return layer.train(self.training)

    def extra_repr(self) -> str:
        text = f"linear_type={self.linear_type!r}, stages={self.stages}, granularity={self.granularity!r}"
        return f"{super().extra_repr()}, {text}"


def check_packable(layer: nn.Module) -> str:
    """Return the ``linear_type`` of a layer that can be rounded to units.

    Raises:
        ValueError: another kind of layer; shared parts (W = (1 + i) A, whose phases lie between two units); a
            sub-layer that has been replaced or hooked.
    """
    linear_type = complex_linear_type(layer)
    if linear_type is None or not isinstance(layer, ComplexLinear):
        raise ValueError(f"layer must be one of {', '.join(LAYERS)}, got {type(layer).__name__}")
    if layer.share_parts:
        raise ValueError("share_parts must be False to quantize a layer, got True. Use modules_to_not_convert.")
    check_plain(layer.children(), "packing")
    return linear_type
