# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of the configuration fields that stateful language models share."""

from typing import Any

from ...nn.adaptive_softmax import check_adaptive_softmax
from .configuration import check_positive_field

__all__ = ["check_stream"]


def check_stream(config: Any) -> None:
    """Raise if ``position_period`` exceeds learned positions, or the adaptive softmax does not fit the head."""
    check_positive_field(config, "position_period", "div_value")
    longest, period = config.max_position_embeddings, config.position_period
    if config.embedding_type == "learned_position" and period is not None and period > longest:
        raise ValueError(
            f"position_period must be at most max_position_embeddings={longest} for "
            f"embedding_type='learned_position', got {period}."
        )
    if not config.cutoffs:
        return
    features = config.head_size // 2 if config.lm_readout == "feature_modulus" else config.head_size
    args = (config.cutoffs, config.div_value, config.vocab_size, features, config.lm_readout)
    check_adaptive_softmax(*args, field="lm_readout")
    if config.tie_word_embeddings and config.div_value != 1:
        raise ValueError(f"div_value must be 1 with tie_word_embeddings=True, got {config.div_value}.")
