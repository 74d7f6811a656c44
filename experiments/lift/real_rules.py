# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Low-bit baselines for real weights: binary, ternary and HQQ."""

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
    """Return mean|w| sign(w) with one scale per row (Rastegari et al. 2016, XNOR-Net, Eq. 6): ``[out, in]``."""
    return weight.abs().mean(-1, keepdim=True) * torch.where(weight < 0, -1.0, 1.0)


def residual_binary(weight: Tensor) -> Tensor:
    """Apply ``binary`` twice, the second time to the remainder (Li et al. 2017, HORQ): ``[out, in]``.

    The paper applies it to the inputs of a layer.
    """
    first = binary(weight)
    return first + binary(weight - first)


def ternary(weight: Tensor) -> Tensor:
    """Return s clip(round(w / s), -1, 1), s = mean|w| per row (Ma et al. 2024, BitNet b1.58, Eq. 1-3): ``[out, in]``.

    The paper has one scale for the whole matrix.
    """
    scale = weight.abs().mean(-1, keepdim=True)
    return scale * (weight / scale.clamp(min=torch.finfo(weight.dtype).tiny)).round().clamp(-1.0, 1.0)


RULES: dict[str, Callable[[Tensor], Tensor]] = {
    "binary": binary,
    "residual_binary": residual_binary,
    "ternary": ternary,
}
# Stored bits per weight (three values would need 1.58) and scales per row.
BITS = {"binary": (1, 1), "residual_binary": (2, 2), "ternary": (2, 1)}


def layers_to_round(model: nn.Module) -> Iterator[nn.Linear]:
    """Return the dense layers of a real decoder without its head: the counterparts of the quantized complex layers."""
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear) and not name.endswith("lm_head"):
            yield layer


class StraightThrough(nn.Module):
    """Straight-through estimator of a rule (Bengio et al. 2013)."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule

    def forward(self, weight: Tensor) -> Tensor:
        return RULES[self.rule](weight.detach()) + (weight - weight.detach())


def bits_of_rule(model: nn.Module, rule: str) -> float:
    """Return the bits per weight of the quantized layers, with 16-bit scales per row."""
    layers, (bits, scales) = list(layers_to_round(model)), BITS[rule]
    rows = sum(layer.out_features for layer in layers)
    return bits + 16 * scales * rows / sum(layer.in_features * layer.out_features for layer in layers)


def round_straight_through(model: nn.Module, rule: str) -> None:
    """Make the dense layers of a real decoder compute with quantized weights and train the float weights."""
    for layer in list(layers_to_round(model)):
        parametrize.register_parametrization(layer, "weight", StraightThrough(rule))


@torch.no_grad()
def round_by_hqq(model: nn.Module, bits: int, group_size: int) -> float:
    """Quantize the dense layers by HQQ (Badri and Shaji 2023), in place.

    Returns the bits per weight, with a 16-bit scale and zero point per group.
    """
    from hqq.core.quantize import BaseQuantizeConfig, Quantizer

    options = BaseQuantizeConfig(nbits=bits, group_size=group_size)["weight_quant_params"]
    for layer in layers_to_round(model):
        codes, meta = Quantizer.quantize(layer.weight, device="cpu", compute_dtype=torch.float32, **options)
        layer.weight.copy_(Quantizer.dequantize(codes, meta))
    return bits + 2 * 16 / group_size
