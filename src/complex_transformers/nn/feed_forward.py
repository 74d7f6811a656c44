# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Gated feed-forward networks of both number fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from . import functional as CF
from .activation import get_activation
from .arithmetic import arithmetic
from .checks import check_field_choice
from .low_bit.rounding import check_activation_bits, round_parts
from .normalization import rms_norm
from .widely_linear import linear_layer

__all__ = ["GatedFeedForward"]


def _conjugate_product(gate: Tensor, value: Tensor) -> Tensor:
    return CF.multiply(CF.conj(gate), value)


GATE_PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "complex": CF.multiply,
    "conj": _conjugate_product,
    "parts": torch.mul,
}


def check_gate_product(gate_product: str, number_field: str) -> None:
    """Raise unless ``gate_product`` is known and exists in ``number_field``."""
    check_field_choice("gate_product", gate_product, GATE_PRODUCTS, number_field, ("parts",))


class GatedFeedForward(nn.Module):
    """Gated feed-forward network (Shazeer 2020): down(norm(f(gate z) x (up z))), ``[..., 2d] -> [..., 2d]``.

    The product x of a = f(gate z) and u = up z is ``complex`` a u, ``conj`` conj(a) u (iFairy, Wang et al. 2025), or
    ``parts`` Re a Re u + i Im a Im u, the product of stored elements that real networks use.

    Args:
        embed_dim: stored width 2d.
        intermediate_size: stored width between the layers.
        activation: f, a name of ``ACT2CFN``.
        gate_product: one of the three above; default ``complex``, or ``parts`` in the real field.
        bias: whether the three layers have biases.
        linear_type: see ``linear_layer``.
        sub_norm: add an RMS norm before ``down_proj``, with one gain per stored element (iFairy).
        norm_scale, eps: options of that norm, see ``rms_norm``.
        activation_bits: bits of the inputs of the layers, see ``round_parts`` (iFairy: 8); default no rounding.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: an unknown name, or one that does not exist in the field; an odd width.
    """

    column_parallel: ClassVar[tuple[str, ...]] = ("gate_proj", "up_proj")
    row_parallel: ClassVar[tuple[str, ...]] = ("down_proj",)

    def __init__(
        self,
        embed_dim: int,
        intermediate_size: int,
        activation: str = "split_silu",
        gate_product: str | None = None,
        bias: bool = False,
        linear_type: str | None = None,
        sub_norm: bool = False,
        norm_scale: str | None = None,
        eps: float = 1e-6,
        activation_bits: int | None = None,
        number_field: str = "complex",
    ) -> None:
        super().__init__()
        gate_product = ("parts" if number_field == "real" else "complex") if gate_product is None else gate_product
        check_gate_product(gate_product, number_field)
        linear = linear_layer(linear_type, number_field)
        check_activation_bits(activation_bits)
        self.numbers = arithmetic(number_field)
        self.gate_product = gate_product
        self.activation_bits = activation_bits
        self.gate_proj = linear(embed_dim, intermediate_size, bias=bias)
        self.up_proj = linear(embed_dim, intermediate_size, bias=bias)
        self.down_proj = linear(intermediate_size, embed_dim, bias=bias)
        self.activation = get_activation(activation, intermediate_size, number_field)
        self.sub_norm = rms_norm(intermediate_size, eps, norm_scale, number_field) if sub_norm else None

    def forward(self, x: Tensor) -> Tensor:
        x = round_parts(x, self.activation_bits, self.numbers.num_parts)
        gated = GATE_PRODUCTS[self.gate_product](self.activation(self.gate_proj(x)), self.up_proj(x))
        gated = gated if self.sub_norm is None else self.sub_norm(gated)
        return self.down_proj(round_parts(gated, self.activation_bits, self.numbers.num_parts))

    def extra_repr(self) -> str:
        return f"gate_product={self.gate_product!r}"
