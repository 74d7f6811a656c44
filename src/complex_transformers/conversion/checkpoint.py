# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint of Transformers consists of."""

from dataclasses import dataclass

from torch import Tensor
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerBase

__all__ = ["Checkpoint"]


@dataclass
class Checkpoint:
    """A language model as its files have it; None for what they lack."""

    name: str
    config: PreTrainedConfig
    weights: dict[str, Tensor]
    generation_config: GenerationConfig | None
    tokenizer: PreTrainedTokenizerBase | None
    license: str | None
