# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense layers of both number fields."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .initialization import Initialized

__all__ = ["ComplexLinear", "RealInputLinear", "RealLinear"]


class ComplexLinear(Initialized):
    """Complex dense layer: W z + b with W = A + iB (Thesis 2.16, ComplexOrder Eq. 10, SynCoNMT Eq. 7).

    A and B are the ``nn.Linear`` sub-layers ``real`` and ``imag`` without bias, so LoRA, quantization and offloading
    find ordinary layers. A checkpoint holds ``real.weight``, ``imag.weight`` and ``bias``. The product is computed
    from both weights at once (``functional.linear``), or by calling the sub-layers if one has been replaced or
    hooked; the results agree to rounding.

    Args:
        in_features: stored width of the input, ``[..., in_features]`` halves (twice the complex features).
        out_features: stored width of the output.
        bias: add b, one real vector ``[b_re | b_im]``.
        share_parts: A = B, so W = (1 + i) A (ComplexOrder Table 4); only ``real`` is stored.

    Raises:
        ValueError: a width is odd.
    """

    # Names of a subclass's sub-layers besides `real` and `imag`.
    more_parts: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        share_parts: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        numbers = arithmetic("complex")
        sizes = numbers.num_features(in_features), numbers.num_features(out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.share_parts = share_parts
        self.real = nn.Linear(*sizes, bias=False, device=device, dtype=dtype)
        self.imag = None if share_parts else nn.Linear(*sizes, bias=False, device=device, dtype=dtype)
        for name in self.more_parts:
            setattr(self, name, nn.Linear(*sizes, bias=False, device=device, dtype=dtype))
        self.register_bias(out_features if bias else None, device=device, dtype=dtype)
        self.reset_parameters()

    def weight_parts(self) -> tuple[Tensor, ...]:
        """Return A and B, or A alone with ``share_parts``."""
        return (self.real.weight,) if self.imag is None else (self.real.weight, self.imag.weight)

    def reset_parameters(self, initializer: str = "glorot", **options: float) -> None:
        """Fill W by an initializer (default Glorot) and b by 0; ``share_parts`` scales A, since |w|^2 = 2 a^2."""
        if self.imag is None and initializer != "normal":  # `normal` states the standard deviation per part
            options["gain"] = math.sqrt(0.5)
        super().reset_parameters(initializer, **options)

    def forward(self, x: Tensor) -> Tensor:
        check_width(x, self.in_features)
        real, imag = self.real, self.imag  # one look-up each: a module attribute costs as much as a small product
        if imag is not None and is_plain(real) and is_plain(imag):
            return CF.linear(x, real.weight, imag.weight, self.bias)
        return CF.sublayer_linear(x, real, imag, self.bias)

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        return text + ", share_parts=True" if self.share_parts else text


class RealInputLinear(ComplexLinear):
    """Complex dense layer with real input: x W + b = [x A^T | x B^T] + b (Thesis 3.9).

    It has the parameters of ``ComplexLinear(2 * in_features, out_features)`` and computes the same for an input with
    imaginary part 0, at half of the cost.

    Args:
        in_features: real features of the input, ``[..., in_features]``.
        out_features: stored width of the output, halves.
        bias: add b, one real vector ``[b_re | b_im]``.

    Raises:
        ValueError: ``out_features`` is odd.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(2 * in_features, out_features, bias)

    def forward(self, x: Tensor) -> Tensor:
        assert self.imag is not None
        product = CF.join(self.real(x), self.imag(x))
        return product if self.bias is None else product + self.bias


def check_width(x: Tensor, width: int) -> None:
    """Raise unless ``x`` holds halves of this width."""
    if x.is_complex():
        CF.check_halves(x)
    if x.shape[-1] != width:
        raise ValueError(f"x must be halves of width {width}, twice the complex features, got shape {tuple(x.shape)}")


PLAIN_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d)


def is_plain(layer: nn.Module) -> bool:
    """Return whether calling ``layer`` only multiplies by (or convolves with) its weight."""
    return (
        type(layer) in PLAIN_LAYERS
        and type(layer.weight) in (nn.Parameter, Tensor)
        and layer.bias is None
        and not is_hooked(layer)
    )


def is_hooked(layer: nn.Module) -> bool:
    """Return whether calling ``layer`` runs anything besides the forward of its class."""
    hooks = layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks
    return "forward" in layer.__dict__ or any(hooks)


def check_plain(layers: Iterable[nn.Module], action: str) -> None:
    """Raise if a layer has been replaced or hooked: its weight then does not define its output."""
    if not all(is_plain(layer) for layer in layers):
        raise ValueError(
            f"sub-layers must have no hooks or replacements for {action}, got at least one. Merge adapters first "
            "(merge_and_unload())."
        )


class RealLinear(Initialized, nn.Linear):
    """``nn.Linear`` with the signature of ``ComplexLinear``: its real twin of the same width."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        share_parts: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if share_parts:
            raise ValueError("share_parts must be False with number_field='real', got True")
        super().__init__(in_features, out_features, bias=bias, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        return CF.real_linear(x, self.weight, self.bias)
