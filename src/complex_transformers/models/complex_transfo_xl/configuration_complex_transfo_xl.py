# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the complex Transformer-XL."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.attention.relative import RELATIVE_SCORES, check_relative_attention
from ..base.configuration import TransformerConfig
from ..base.stream_configuration import StreamConfig

__all__ = ["ComplexTransfoXLConfig"]


@strict
class ComplexTransfoXLConfig(StreamConfig, TransformerConfig):
    """Configuration of a Transformer-XL (Wang et al., ICLR 2020, section 3.3); the paper's 6 layers.

    The other sizes are those of Dai et al. for characters: 512 features, which are complex here and stored as 1024
    real numbers, 8 heads, memory 512. Besides the arguments of ``StreamConfig`` and ``TransformerConfig``:

    Args:
        hidden_size, intermediate_size: stored widths.
        hidden_act: a name of ``ACT2CFN``; Dai et al. have a ReLU.
        num_hidden_layers: of the stack.
        attention_score: of content and position together; ``sum_of_moduli`` has the modulus of each (the released
            code of Wang et al.).
        attention_probs_dropout_prob: a probability.
        mem_len: tokens that are kept of what was read before, 1 or more; ``use_cache=False`` is without memory.
        clamp_len: greater distances count as this one; None for distances as they are. With ``same_length`` less than
            ``mem_len``.
        same_length: every token sees itself and the ``mem_len - 1`` tokens before it, and no more: then results do
            not depend on how a stream is cut.

    Example:
        >>> from complex_transformers import ComplexTransfoXLConfig
        >>> config = ComplexTransfoXLConfig(vocab_size=27, hidden_size=256, intermediate_size=1024, mem_len=128)
        >>> config.real_twin(embedding_type="word").attention_score
        'real'
    """

    model_type = "complex_transfo_xl"
    read_with: ClassVar[dict[str, Any]] = TransformerConfig.read_with
    positive_sizes: ClassVar[tuple[str, ...]] = (*TransformerConfig.positive_sizes, "num_hidden_layers")
    attention_scores: ClassVar[tuple[str, ...]] = RELATIVE_SCORES

    hidden_size: int = 1024
    intermediate_size: int = 4096
    hidden_act: str = "split_relu"
    num_hidden_layers: int = 6
    attention_probs_dropout_prob: float | int = 0.0
    mem_len: int = 512
    clamp_len: int | None = None
    same_length: bool = False

    def validate_names(self) -> None:
        """As in ``TransformerConfig``; no batch norm, no complex weights."""
        super().validate_names()
        if self.norm_type == "batch":
            raise ValueError(
                "norm_type='batch' is for encoders: its statistics would show the words that have to be predicted; "
                "use 'layer' or 'rms'"
            )
        check_relative_attention(self.attention_normalization)

    def validate_memory(self) -> None:
        """The memory has a length, and distances are cut at a positive number that is reached."""
        if self.mem_len < 1:
            raise ValueError(f"mem_len must be 1 or more, got {self.mem_len}; without a memory, use use_cache=False")
        if self.clamp_len is not None and self.clamp_len < 1:
            raise ValueError(f"clamp_len must be 1 or more, or None for distances as they are, got {self.clamp_len}")
        if self.same_length and self.clamp_len is not None and self.clamp_len >= self.mem_len:
            raise ValueError(
                f"clamp_len={self.clamp_len} has no effect with same_length=True and mem_len={self.mem_len}, where no "
                f"token sees further than {self.mem_len - 1}; use None, or a smaller one"
            )
