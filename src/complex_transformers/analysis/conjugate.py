# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""How much of a widely linear network is complex: the shares of the conjugate, and layers without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..nn import PackedLinear, RoundedLinear, WidelyLinear, drop_conjugate

__all__ = ["conjugate_share", "prune_conjugate"]

LAYERS = (WidelyLinear, PackedLinear, RoundedLinear)  # those with four parts have a V


@torch.no_grad()
def conjugate_share(model: nn.Module) -> dict[str, float]:
    """|V|^2 / (|U|^2 + |V|^2) of every layer U z + V conj(z), by name: 0 where it is complex, 1/2 of a random matrix.

    Squared moduli, summed over the weights in float64; 0 for a layer of zeros. A lifted real matrix knows nothing of
    complex numbers: its share is near 1/2.

    Args:
        model: any network with ``nn.WidelyLinear`` layers, which may be quantised: packed ones have the shares of what
            they compute, those that round in training the shares of what they train.
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
    """Drop V of these layers, in place: U z remains, half of their weights. Training heals what that takes away.

    A model notes them in ``complex_layers`` of its configuration, so that it is saved and loaded so.

    Args:
        model: any network with ``nn.WidelyLinear`` layers.
        layers: names that ``conjugate_share`` gives, those with the least shares for instance.

    Raises:
        ValueError: no widely linear layer has such a name, or the configuration of a model has no place for them: a
            saved copy would be loaded with a random V. Nothing is changed then.

    Example:
        >>> from complex_transformers import ComplexLlamaConfig, ComplexLlamaModel, conjugate_share, prune_conjugate
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
            f"a {type(config).__name__} cannot say which layers have no V, and a saved copy would be loaded with a "
            "random one: only a ComplexLlamaForCausalLM and its like are pruned"
        )
    drop_conjugate(model, layers)
    if config is not None:
        prefix = f"{model.base_model_prefix}."
        dropped = [name.removeprefix(prefix) for name in layers]
        config.complex_layers = sorted({*(config.complex_layers or ()), *dropped})
