# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configurations of models that read a stream in segments."""

from typing import Any

from huggingface_hub.dataclasses import strict

from ...nn.adaptive_softmax import check_adaptive_softmax
from .configuration import WritingConfig

__all__ = ["StreamConfig"]


@strict
class StreamConfig(WritingConfig):
    """Base of the configurations of models that read a stream in segments; no model type of its own.

    Besides the arguments of ``WritingConfig``:

    Args:
        cutoffs: of an adaptive softmax, increasing: the first words of its tails, in a vocabulary that is sorted by
            frequency. Empty for a plain softmax. It needs ``lm_readout`` ``concat`` or ``feature_modulus``.
        div_value: every tail of the adaptive softmax has this many times fewer features than the cluster before it;
            a tied head has 1.
        lm_bias: the head has a bias for each word; those of an adaptive softmax always have.
        position_period: the words' own positions count from 1 to this number, again and again along the stream; None:
            they run on. At most ``max_position_embeddings`` for ``learned_position``.
        use_cache: return a memory.
        pad_token_id: its amplitude is zero and stays so; None, as streams have no padding.
    """

    cutoffs: list[int] | tuple[int, ...] = ()
    div_value: int = 1
    lm_bias: bool = True
    position_period: int | None = 512
    use_cache: bool = True
    pad_token_id: int | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        self.cutoffs = list(self.cutoffs)  # as json reads it
        super().__post_init__(**kwargs)

    @property
    def head_size(self) -> int:
        """Stored width of what the head reads."""
        return self.hidden_size

    def validate_period(self) -> None:
        """Positions begin anew after a positive number of words, which have one."""
        if self.position_period is None:
            return
        if self.position_period < 1:
            raise ValueError(
                f"position_period must be 1 or more, or None for positions that run on, got {self.position_period}"
            )
        longest = self.max_position_embeddings
        if self.embedding_type == "learned_position" and self.position_period > longest:
            raise ValueError(
                f"position_period={self.position_period} is more than the max_position_embeddings={longest} of "
                f"embedding_type='learned_position'; use {longest} or less, or more positions"
            )

    def validate_adaptive_softmax(self) -> None:
        """Cutoffs divide the words, every tail has features, and a tied head has those of the words."""
        if not self.cutoffs:
            if self.div_value != 1:
                raise ValueError(
                    f"div_value={self.div_value} has no effect without cutoffs; leave it at 1, or give the cutoffs of "
                    "an adaptive softmax"
                )
            return
        if not self.lm_bias:
            raise ValueError(
                "lm_bias=False has no effect with cutoffs: every layer of an adaptive softmax has a bias; leave it at "
                "True, or leave cutoffs empty"
            )
        features = self.head_size // 2 if self.lm_readout == "feature_modulus" else self.head_size
        check_adaptive_softmax(self.cutoffs, self.div_value, self.vocab_size, features, self.lm_readout, "lm_readout")
        if self.tie_word_embeddings and self.div_value != 1:
            raise ValueError(
                "tie_word_embeddings=True needs a head of the shape of the word table, and "
                f"div_value={self.div_value} makes its tails narrower; use div_value=1, or tie_word_embeddings=False"
            )
