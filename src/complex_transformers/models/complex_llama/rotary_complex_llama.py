# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rotary positions from Transformers' ``rope_parameters``, for each layer type."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from ...nn import RotaryPositions, RotaryWordPositions
from .configuration_complex_llama import ComplexLlamaConfig

__all__ = ["RotaryByLayerType", "ScaledRotaryPositions", "make_positions"]


class ScaledRotaryPositions(RotaryPositions):
    """Rotary positions with the scaled frequencies of Transformers' ``ROPE_INIT_FUNCTIONS``.

    They are ``linear`` (Chen et al. 2023), ``dynamic`` (NTK-aware), ``yarn`` (Peng et al. 2023), ``longrope`` (Ding et
    al. 2024) and ``llama3``. The frequencies of ``dynamic`` and ``longrope`` depend only on the largest position of a
    call, while Transformers keeps the frequencies of the longest call so far.

    Args:
        config: its ``rope_parameters``, ``head_dim`` and ``max_position_embeddings`` are read.
        layer_type: key of ``rope_parameters``, if it has a dictionary for each layer type.
    """

    def __init__(self, config: ComplexLlamaConfig, layer_type: str | None = None) -> None:
        super().__init__(*_plain_arguments(config, layer_type))
        parameters = _parameters(config, layer_type)
        self.rope_type = parameters["rope_type"]
        self.initialize = partial(ROPE_INIT_FUNCTIONS[self.rope_type], config, layer_type=layer_type)
        cpu = torch.device("cpu")
        with cpu:  # models may be built on the meta device
            short, self.attention_factor = self.initialize(device=cpu)
            self.short = short.tolist()
            if self.rope_type == "longrope":
                self.original_length = parameters["original_max_position_embeddings"]
                self.long = self.initialize(device=cpu, seq_len=self.original_length + 1)[0].tolist()

    def frequencies(self, positions: Tensor) -> Tensor:
        """Return the frequencies ``[R]`` of the features that rotate, in rad per position."""
        if self.rope_type == "dynamic":
            return self.initialize(device=positions.device, seq_len=positions.max() + 1)[0].double()
        short = torch.tensor(self.short, dtype=torch.float64, device=positions.device)
        if self.rope_type != "longrope":
            return short
        return torch.where(positions.max() + 1 > self.original_length, torch.tensor(self.long).to(short), short)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, rope_type={self.rope_type!r}"


class RotaryByLayerType(nn.ModuleDict):
    """Rotary positions for each layer type (Gemma 3)."""

    def __init__(self, config: ComplexLlamaConfig) -> None:
        types = sorted(set(config.layer_types or ()))
        super().__init__({layer_type: _rotary_positions(config, layer_type) for layer_type in types})


def _parameters(config: ComplexLlamaConfig, layer_type: str | None) -> dict[str, Any]:
    given = config.rope_parameters or {}
    return given if layer_type is None else given[layer_type]


def _plain_arguments(config: ComplexLlamaConfig, layer_type: str | None) -> tuple[int, float, float]:
    """Return the number of complex features of a head, the base and the share that rotates."""
    assert config.head_dim is not None  # __post_init__ has set it
    parameters = _parameters(config, layer_type)
    return config.head_dim // 2, parameters["rope_theta"], parameters.get("partial_rotary_factor", 1.0)


def _rotary_positions(config: ComplexLlamaConfig, layer_type: str | None = None) -> RotaryPositions:
    if _parameters(config, layer_type)["rope_type"] != "default":
        return ScaledRotaryPositions(config, layer_type)
    return RotaryPositions(*_plain_arguments(config, layer_type))


def make_positions(
    config: ComplexLlamaConfig,
) -> RotaryPositions | RotaryWordPositions | RotaryByLayerType | None:
    """Return the rotary positions of ``config.position_type``; None if the embedding encodes positions."""
    if config.position_type == "complex_order":
        return None
    config.standardize_rope_params()
    config.validate_rope()  # `rope_parameters` may have been changed after the configuration was validated
    if config.nested_rope_parameter_keys(config.rope_parameters or {}):
        return RotaryByLayerType(config)
    if config.position_type == "rotary":
        return _rotary_positions(config)
    num_features, rope_theta, _ = _plain_arguments(config, None)
    if config.is_polar:
        num_features *= 2  # each element of a head becomes a complex feature
    if config.position_type == "polar":
        return RotaryPositions(num_features, rope_theta)
    return RotaryWordPositions(config.vocab_size, num_features, rope_theta)
