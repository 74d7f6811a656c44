# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense layers whose complex weights are sums of scaled units: packed in two bits each, or trained in full."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from .. import (
    functional as CF,
)
from ..checks import check_choice, check_positive
from ..linear import ComplexLinear, check_width, is_plain
from ..widely_linear import ConjugateLinear, WidelyLinear
from .bit_packing import pack_codes, packed_width, unpack_codes
from .rounding import GRANULARITIES, unit_stages, unit_values

__all__ = ["PackedLinear", "RoundedLinear", "complex_linear_type", "rounded_weights"]

MAX_STAGES = 3
# Of scales. What is rounded to a type of 16 bits once stays what it is in every process.
SCALE_DTYPE = torch.float16
LAYERS: dict[str, type[ComplexLinear]] = {
    "complex": ComplexLinear,
    "conjugate": ConjugateLinear,
    "widely_linear": WidelyLinear,
}


def check_rounding(stages: int, granularity: str) -> None:
    """Raise unless ``stages`` are 1 to 3 and the granularity is known."""
    if type(stages) is not int or stages not in range(1, MAX_STAGES + 1):
        raise ValueError(
            f"stages must be 1, 2 or 3, got {stages!r}: each is two bits of a complex weight; for more bits keep the "
            "layer as it is"
        )
    check_choice("granularity", granularity, GRANULARITIES)


def complex_linear_type(layer: nn.Module) -> str | None:
    """``complex``, ``conjugate`` or ``widely_linear``: how a layer with a weight of this package computes, else None.

    None, too, for classes derived from these, which may compute something else.
    """
    return next((name for name in LAYERS if type(layer) is LAYERS[name]), None)


def product(linear_type: str, x: Tensor, parts: Sequence[Tensor], bias: Tensor | None) -> Tensor:
    """W z + b, W conj(z) + b or U z + V conj(z) + b, from A, B (and C, D)."""
    if linear_type == "widely_linear":
        return CF.widely_linear(x, parts, bias)
    real, imag = parts
    return CF.linear(CF.conj(x) if linear_type == "conjugate" else x, real, imag, bias)


def check_parts(parts: Sequence[Tensor]) -> None:
    """Raise for weights that are not finite, or beyond scales of 16 bits."""
    for part in parts:
        largest = part.abs().max().item()  # NaN where a number is NaN
        if not math.isfinite(largest):
            raise ValueError(f"the weights hold {largest}: a checkpoint with NaN or infinite weights has no units")
        if largest > torch.finfo(SCALE_DTYPE).max:
            raise ValueError(
                f"the weights reach {largest:.3g}, and scales of {SCALE_DTYPE} end at "
                f"{torch.finfo(SCALE_DTYPE).max:.3g}: divide the weights by a constant, or keep the layer as it is"
            )


def rounded_weights(parts: Sequence[Tensor], stages: int, granularity: str) -> list[tuple[Tensor, Tensor]]:
    """Codes and scales of W, or of U and V, from the parts A, B (and C, D): ``unit_stages`` with scales of 16 bits."""
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [unit_stages(real, imag, stages, granularity, scale_dtype=SCALE_DTYPE) for real, imag in pairs]


def packable_weights(parts: Sequence[Tensor], stages: int, granularity: str) -> list[tuple[Tensor, Tensor]]:
    """``rounded_weights`` of weights that scales of 16 bits can hold.

    Raises:
        ValueError: weights that are not finite, too large, or so small that all of them would become zeros.
    """
    check_parts(parts)
    weights = rounded_weights(parts, stages, granularity)
    if any(part.any() for part in parts) and not any(scales.any() for _, scales in weights):
        largest, info = max(part.abs().max().item() for part in parts), torch.finfo(SCALE_DTYPE)
        raise ValueError(
            f"the weights reach {largest:.3g}, and scales of {SCALE_DTYPE} begin at "
            f"{info.tiny * info.eps:.3g}, so all would become zeros: multiply the weights by a "
            "constant, or keep the layer as it is"
        )
    return weights


class PackedLinear(nn.Module):
    """A complex dense layer whose weights take two bits a stage: W = sum_t s_t i^c_t (iFairy, Fairy2i, 2025).

    Codes c lie four in a byte, scales in float16; forward unpacks them and computes what the float layer of these
    weights computes, in the dtype of x. A widely linear layer of T stages takes T bits for each real weight of the
    real layer it equals. Gradients reach x and the bias.

    Buffers: ``codes`` uint8 ``[stages, out, ceil(in / 4)]`` and ``scales`` float16 ``[stages, 2, out or 1]`` for
    complex ``out`` and ``in``; of V ``conj_codes`` and ``conj_scales``. Scales stay float16 whatever the layer is
    cast to.

    Args:
        in_features: stored width of the input.
        out_features: stored width of the output.
        linear_type: ``complex`` W z, ``conjugate`` W conj(z) or ``widely_linear`` U z + V conj(z).
        stages: of rounding, 1 to 3.
        granularity: scales for each row (``row``) or for the whole weight (``tensor``).
        bias: a bias, one real vector ``[b_re | b_im]``.

    Raises:
        ValueError: an odd width, another number of stages, an unknown name.
    """

    bias: nn.Parameter | None
    codes: Tensor

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
        check_positive(in_features=in_features, out_features=out_features)
        check_choice("linear_type", linear_type, LAYERS)
        check_rounding(stages, granularity)
        if in_features % 2 or out_features % 2:
            raise ValueError(f"widths of halves must be even, got {in_features} and {out_features}")
        self.in_features = in_features
        self.out_features = out_features
        self.linear_type = linear_type
        self.stages = stages
        self.granularity = granularity
        rows = out_features // 2
        sizes = stages, rows, packed_width(in_features // 2)
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
        """Of the names of buffers: those of W, or of U and of V."""
        return ("", "conj_") if self.linear_type == "widely_linear" else ("",)

    @property
    def qweight(self) -> Tensor:
        """The packed weights, by the name under which PEFT looks for those of a quantized layer."""
        return self.codes

    def reset_parameters(self) -> None:
        """Nothing can be drawn here: scales are NaN until packed weights are loaded, so that their lack is seen."""
        for prefix in self.prefixes:
            getattr(self, f"{prefix}scales").fill_(torch.nan)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    @property
    def has_weights(self) -> bool:
        """Whether all scales are numbers that packing can give."""
        scales = [getattr(self, f"{prefix}scales") for prefix in self.prefixes]
        return all(bool((scale.isfinite() & (scale >= 0)).all()) for scale in scales)

    @torch.no_grad()
    def set_weights(self, weights: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Keep codes and scales of W, or of U and V, as ``rounded_weights`` gives them.

        Raises:
            ValueError: they are of another size or number.
        """
        for prefix, (codes, scales) in zip(self.prefixes, weights, strict=True):
            for name, value in ((f"{prefix}codes", pack_codes(codes)), (f"{prefix}scales", scales)):
                buffer = getattr(self, name)
                if value.shape != buffer.shape:
                    raise ValueError(f"{name} must have shape {tuple(buffer.shape)}, got {tuple(value.shape)}")
                buffer.copy_(value)

    def weight_parts(self, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
        """A, B (and C, D), unpacked; sums of stages are taken in float32."""
        parts: list[Tensor] = []
        for prefix in self.prefixes:
            codes = unpack_codes(getattr(self, f"{prefix}codes"), self.in_features // 2)
            parts.extend(unit_values(codes, getattr(self, f"{prefix}scales")))
        return tuple(part.to(dtype) for part in parts)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., in_features] -> [..., out_features]`` halves."""
        check_width(x, self.in_features)
        CF.check_halves(x)  # the weights are unpacked into its dtype
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return product(self.linear_type, x, self.weight_parts(x.dtype), bias)

    def for_steps(self) -> Callable[[Tensor], Tensor]:
        """``forward`` for many calls, for which the weights are unpacked once."""
        parts = self.weight_parts()

        def forward(x: Tensor) -> Tensor:
            bias = None if self.bias is None else self.bias.to(x.dtype)
            return product(self.linear_type, x, [part.to(x.dtype) for part in parts], bias)

        return forward

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        scales = {f"{prefix}scales": getattr(self, f"{prefix}scales") for prefix in self.prefixes}
        super()._apply(fn, recurse)
        for name, kept in scales.items():
            moved = getattr(self, name)
            if moved.dtype != SCALE_DTYPE:
                setattr(self, name, kept.to(moved.device))
        return self

    @classmethod
    def empty_like(cls, layer: ComplexLinear, stages: int, granularity: str) -> Self:
        """A layer of the sizes, the type, the bias and the device of a float one, without weights.

        Raises:
            ValueError: what has no packed form, see ``check_packable``.
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
        """The layer with the nearest weights of few bits; it shares the bias.

        Raises:
            ValueError: what has no packed form, see ``check_packable`` and ``packable_weights``.
        """
        packed = cls.empty_like(layer, stages, granularity)
        packed.set_weights(packable_weights([part.detach() for part in layer.weight_parts()], stages, granularity))
        return packed

    @torch.no_grad()
    def to_float(self, dtype: torch.dtype | None = None) -> ComplexLinear:
        """The layer of the same function with weights and bias in ``dtype``, default float32.

        It shares the bias where that has this dtype.
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
    """A complex dense layer that computes with rounded weights and trains those it rounds (straight through).

    forward is that of ``PackedLinear.from_float`` of the same weights, bit for bit in float32; the gradient of a
    rounded weight goes to the weight as if it had not been rounded (Bengio et al. 2013; iFairy, Wang et al. 2025).
    Sub-layers and names are those of the float layer, so either loads what the other has saved.

    Args:
        in_features, out_features, linear_type, stages, granularity, bias: see ``PackedLinear``.

    Raises:
        ValueError: as there; in forward, a sub-layer that has been replaced or hooked.
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
        """Have the sub-layers and the bias of a float layer."""
        for name, sublayer in layer.named_children():
            setattr(self, name, sublayer)
        self.bias = layer.bias

    def weight_parts(self) -> tuple[Tensor, ...]:
        """A, B (and C, D) as they are trained."""
        return tuple(layer.weight for layer in self.children())  # type: ignore[misc]

    def reset_parameters(self, initializer: str = "glorot", **options: float) -> None:
        """Fill the weights as those of the float layer."""
        if hasattr(self, "linear_type"):  # not while the base class is made
            LAYERS[self.linear_type].reset_parameters(self, initializer, **options)

    def rounded_parts(self) -> tuple[Tensor, ...]:
        """A, B (and C, D) as they compute, in the dtype of the weights."""
        if not all(is_plain(layer) for layer in self.children()):
            raise ValueError(
                "weights are rounded, and a sub-layer of this layer has been replaced or hooked: undo that, or leave "
                "the layer out (modules_to_not_convert)"
            )
        parts = self.weight_parts()
        with torch.no_grad():
            values = [
                value
                for codes, scales in rounded_weights(parts, self.stages, self.granularity)
                for value in unit_values(codes, scales)
            ]
        # part - part.detach() is 0: the value is exact, and the gradient is that of the part.
        return tuple(value.to(part.dtype) + (part - part.detach()) for value, part in zip(values, parts, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        """``[..., in_features] -> [..., out_features]`` halves."""
        self.check_width(x)
        return product(self.linear_type, x, self.rounded_parts(), self.bias)

    def for_steps(self) -> Callable[[Tensor], Tensor]:
        """``forward`` for many calls, for which the weights are rounded once."""
        parts = self.rounded_parts()
        return lambda x: product(self.linear_type, x, parts, self.bias)

    @classmethod
    def from_float(cls, layer: ComplexLinear, stages: int = 2, granularity: str = "row") -> Self:
        """The layer that rounds the weights of a float one; it shares its sub-layers and its bias.

        Raises:
            ValueError: what has no packed form, see ``check_packable``.
        """
        linear_type = check_packable(layer)
        sizes = layer.in_features, layer.out_features, linear_type, stages, granularity
        rounded = cls(*sizes, bias=False, device="meta")
        rounded._take(layer)
        return rounded.train(layer.training)

    def to_float(self) -> ComplexLinear:
        """The layer of the weights as they are trained, not rounded; it shares sub-layers and bias."""
        layer = LAYERS[self.linear_type](self.in_features, self.out_features, bias=False, device="meta")
        RoundedLinear._take(layer, self)  # type: ignore[arg-type]
        return layer.train(self.training)

    def extra_repr(self) -> str:
        text = f"linear_type={self.linear_type!r}, stages={self.stages}, granularity={self.granularity!r}"
        return f"{super().extra_repr()}, {text}"


def check_packable(layer: nn.Module) -> str:
    """The ``linear_type`` of a layer that can be rounded to units.

    Raises:
        ValueError: another kind of layer; shared parts (W = (1 + i) A, whose phases lie on the borders of the
            sectors); a sub-layer that has been replaced or hooked.
    """
    linear_type = complex_linear_type(layer)
    if linear_type is None:
        raise ValueError(f"expected a layer of complex weights, {', '.join(LAYERS)}, got a {type(layer).__name__}")
    assert isinstance(layer, ComplexLinear)
    if layer.share_parts:
        raise ValueError(
            "share_parts=True makes all phases odd multiples of 45 degrees, which lie between two units: use "
            "share_parts=False, or leave the layer out (modules_to_not_convert)"
        )
    if not all(is_plain(sublayer) for sublayer in layer.children()):
        raise ValueError(
            "a sub-layer of this layer has been replaced or hooked, and packing reads weights: undo that first, "
            "merge_and_unload() for adapters"
        )
    return linear_type
