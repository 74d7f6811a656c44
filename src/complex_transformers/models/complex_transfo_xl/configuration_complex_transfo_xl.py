# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the complex Transformer-XL."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.attention.relative import RELATIVE_SCORES, check_relative_attention
from ..base.configuration import LayersConfig, TextConfig, check_causal_norm, check_positive_field
from ..base.stream_configuration import check_stream

__all__ = ["ComplexTransfoXLConfig"]


@strict
class ComplexTransfoXLConfig(LayersConfig, TextConfig):
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
    positive_sizes: ClassVar[tuple[str, ...]] = (*LayersConfig.positive_sizes, "num_hidden_layers")
    attention_scores: ClassVar[tuple[str, ...]] = RELATIVE_SCORES

    lm_readout: str = "concat"
    tie_word_embeddings: bool = False
    cutoffs: list[int] | tuple[int, ...] = ()
    div_value: int = 1
    lm_bias: bool = True
    position_period: int | None = 512
    use_cache: bool = True
    pad_token_id: int | None = None
    hidden_size: int = 1024
    intermediate_size: int = 4096
    hidden_act: str = "split_relu"
    num_hidden_layers: int = 6
    attention_probs_dropout_prob: float | int = 0.0
    mem_len: int = 512
    clamp_len: int | None = None
    same_length: bool = False

    def validate_names(self) -> None:
        super().validate_names()
        check_causal_norm(self)
        check_relative_attention(self.attention_normalization)

    def validate_memory(self) -> None:
        check_positive_field(self, "mem_len", "clamp_len")
        check_stream(self)

    def __post_init__(self, **kwargs: Any) -> None:
        self.cutoffs = list(self.cutoffs)  # as JSON restores it
        super().__post_init__(**kwargs)

    @property
    def head_size(self) -> int:
        """Stored width of the hidden states that the head reads."""
        return self.hidden_size
