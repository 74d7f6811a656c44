# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The conjugate parts V of widely linear layers: their share, and pruning them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..nn import PackedLinear, RoundedLinear, WidelyLinear, drop_conjugate

__all__ = ["conjugate_share", "prune_conjugate"]

LAYERS = (WidelyLinear, PackedLinear, RoundedLinear)  # layers with four parts have a V


@torch.no_grad()
def conjugate_share(model: nn.Module) -> dict[str, float]:
    """Return |V|^2 / (|U|^2 + |V|^2) of each layer U z + V conj(z), by name.

    The share is 0 for a complex-linear layer and near 1/2 for a random or lifted real matrix. Squared moduli are
    summed in float64; a layer of zeros has share 0.

    Args:
        model: a network with ``nn.WidelyLinear`` layers. Packed layers are measured as dequantized, layers in
            quantized training by their trained weights.
    """
    layers = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, LAYERS)]
    return {name: _share(parts) for name, layer in layers if len(parts := layer.weight_parts()) == 4}


def _share(parts: Sequence[Tensor]) -> float:
    real, imag, conj_real, conj_imag = map(_squares, parts)
    total = real + imag + conj_real + conj_imag
    return (conj_real + conj_imag) / total if total else 0.0


def _squares(part: Tensor) -> float:
    return part.double().square().sum().item()


def prune_conjugate(model: nn.Module, layers: Sequence[str]) -> None:
    """Drop V of some layers in place, which halves their parameters. Train afterwards to recover the quality.

    The layers are recorded in ``config.complex_layers``, so that the model is saved and loaded without their V.

    Args:
        model: a network with ``nn.WidelyLinear`` layers.
        layers: names from ``conjugate_share``, for instance the layers with the smallest shares.

    Raises:
        ValueError: a name is unknown, or the configuration cannot record the layers; nothing is changed.

    Example:
        >>> from complex_transformers import ComplexLlamaConfig, ComplexLlamaModel
        >>> from complex_transformers.analysis import conjugate_share, prune_conjugate
        >>> config = ComplexLlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=64, num_attention_heads=2,
        ...                             num_hidden_layers=1, linear_type="widely_linear")
        >>> model = ComplexLlamaModel(config)
        >>> shares = conjugate_share(model)
        >>> prune_conjugate(model, sorted(shares, key=shares.get)[:2])
        >>> len(shares), len(conjugate_share(model)), len(model.config.complex_layers)
        (7, 5, 2)
    """
    config: Any = getattr(model, "config", None)
    if config is not None and not hasattr(config, "complex_layers"):
        raise ValueError(
            f"model must be a complex_llama, whose config records pruned layers, got {type(config).__name__}"
        )
    drop_conjugate(model, layers)
    if config is not None:
        prefix = f"{model.base_model_prefix}."
        dropped = [name.removeprefix(prefix) for name in layers]
        config.complex_layers = sorted({*(config.complex_layers or ()), *dropped})
