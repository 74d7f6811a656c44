# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Real weights of few bits, the rules that sums of units are compared with: binary, ternary, and HQQ."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

__all__ = [
    "RULES",
    "binary",
    "bits_of_rule",
    "layers_to_round",
    "residual_binary",
    "round_by_hqq",
    "round_straight_through",
    "ternary",
]


def binary(weight: Tensor) -> Tensor:
    """mean|w| sign(w) with one scale for each row (Rastegari et al. 2016, XNOR-Net, Eq. 6): ``[out, in]``."""
    return weight.abs().mean(-1, keepdim=True) * torch.where(weight < 0, -1.0, 1.0)


def residual_binary(weight: Tensor) -> Tensor:
    """``binary`` in two stages, the second of what the first leaves (Li et al. 2017, HORQ): ``[out, in]``.

    The paper does so with the inputs of a layer.
    """
    first = binary(weight)
    return first + binary(weight - first)


def ternary(weight: Tensor) -> Tensor:
    """s clip(round(w / s), -1, 1) with s = mean|w| of each row (Ma et al. 2024, BitNet b1.58, Eq. 1-3): ``[out, in]``.

    The paper has one scale for the whole matrix.
    """
    scale = weight.abs().mean(-1, keepdim=True)
    return scale * (weight / scale.clamp(min=torch.finfo(weight.dtype).tiny)).round().clamp(-1.0, 1.0)


RULES: dict[str, Callable[[Tensor], Tensor]] = {
    "binary": binary,
    "residual_binary": residual_binary,
    "ternary": ternary,
}
# Bits of a weight as they are stored, where three values would need 1.58, and scales of a row.
BITS = {"binary": (1, 1), "residual_binary": (2, 2), "ternary": (2, 1)}


def layers_to_round(model: nn.Module) -> Iterator[nn.Linear]:
    """The dense layers of a real decoder but its head, those whose lifted form is rounded to units."""
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear) and not name.endswith("lm_head"):
            yield layer


class StraightThrough(nn.Module):
    """A rule whose gradient passes as if nothing was rounded (Bengio et al. 2013)."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule

    def forward(self, weight: Tensor) -> Tensor:
        return RULES[self.rule](weight.detach()) + (weight - weight.detach())


def bits_of_rule(model: nn.Module, rule: str) -> float:
    """Bits of each weight of the rounded layers, with the scales of the rows in 16 bits each."""
    layers, (bits, scales) = list(layers_to_round(model)), BITS[rule]
    rows = sum(layer.out_features for layer in layers)
    return bits + 16 * scales * rows / sum(layer.in_features * layer.out_features for layer in layers)


def round_straight_through(model: nn.Module, rule: str) -> None:
    """Have the dense layers of a real decoder compute with rounded weights and train those that they round."""
    for layer in list(layers_to_round(model)):
        parametrize.register_parametrization(layer, "weight", StraightThrough(rule))


@torch.no_grad()
def round_by_hqq(model: nn.Module, bits: int, group_size: int) -> float:
    """Round the dense layers by HQQ (Badri and Shaji 2023), in place.

    Returns the bits of each weight: with a scale and a zero of 16 bits for each group.
    """
    from hqq.core.quantize import BaseQuantizeConfig, Quantizer

    options = BaseQuantizeConfig(nbits=bits, group_size=group_size)["weight_quant_params"]
    for layer in layers_to_round(model):
        codes, meta = Quantizer.quantize(layer.weight, device="cpu", compute_dtype=torch.float32, **options)
        layer.weight.copy_(Quantizer.dequantize(codes, meta))
    return bits + 2 * 16 / group_size
