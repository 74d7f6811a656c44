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
    """Configuration of a Transformer-XL (Wang et al., ICLR 2020, section 3.3), with the paper's 6 layers.

    The other sizes follow Dai et al. for characters: 512 features, which are complex here (stored width 1024), 8 heads
    and a memory of 512. Besides the arguments of ``LayersConfig`` and ``TextConfig``:

    Args:
        lm_readout: ``readout`` of the LM head, default ``concat``.
        tie_word_embeddings: share the embedding table with the LM head: ``lm_readout="concat"`` with a free table,
            ``"feature_modulus"`` with unshared amplitudes.
        cutoffs: cutoffs of an adaptive softmax, increasing: the first words of its tails, in a vocabulary sorted by
            frequency. Empty for a plain softmax. It needs ``lm_readout`` ``concat`` or ``feature_modulus``.
        div_value: every tail of the adaptive softmax has this many times fewer features than the cluster before it; 1
            for a tied head.
        lm_bias: the head has a bias for each word; an adaptive softmax always has one.
        position_period: positions of embeddings count from 1 to this number and restart; None: they do not restart.
            At most ``max_position_embeddings`` for ``learned_position``.
        use_cache: return a memory.
        pad_token_id: token whose amplitude is zero and stays zero; None, as streams have no padding.
        hidden_size, intermediate_size: stored widths.
        hidden_act: activation, a name of ``ACT2CFN``; Dai et al. use a ReLU.
        num_hidden_layers: number of layers.
        attention_score: score of content and position together, as in ``LayersConfig``; ``sum_of_moduli`` adds the
            modulus of each (the released code of Wang et al.).
        attention_probs_dropout_prob: dropout probability of the attention weights.
        mem_len: number of earlier tokens in the memory, 1 or more; ``use_cache=False`` disables it.
        clamp_len: maximum distance: larger distances are clamped to it; None for no limit.
        same_length: every token attends to itself and the ``mem_len - 1`` tokens before it. Results then do not depend
            on how a stream is cut into segments.

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
        """Raise unless memory and distances are positive and the options of the stream fit together."""
        check_positive_field(self, "mem_len", "clamp_len")
        check_stream(self)

    def __post_init__(self, **kwargs: Any) -> None:
        self.cutoffs = list(self.cutoffs)  # as JSON restores it
        super().__post_init__(**kwargs)

    @property
    def head_size(self) -> int:
        """Stored width of the hidden states that the head reads."""
        return self.hidden_size
