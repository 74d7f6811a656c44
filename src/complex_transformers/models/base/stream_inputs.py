# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Inputs of models that carry a state of constant size from call to call."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor
from transformers import Cache, PreTrainedConfig

from .caches.recurrent import RecurrentCache, check_states
from .inputs import check_mask, check_text_inputs, padding_mask
from .positions import packed_positions

__all__ = ["StreamInputs", "stream_inputs"]


class StreamInputs(NamedTuple):
    """Checked inputs of one call.

    Attributes:
        tokens: ``[B, T]``, ids, or one feature of the embeddings.
        mask: padding of the new tokens, see ``padding_mask``; None without padding.
        position_ids: ``[B or 1, T]``, given or of packed sequences, or None.
        cache: states of the tokens so far, or None.
        past_length: number of the tokens so far.
    """

    tokens: Tensor
    mask: Tensor | None
    position_ids: Tensor | None
    cache: Cache | None
    past_length: int


def stream_inputs(
    config: PreTrainedConfig,
    input_ids: Tensor | None,
    inputs_embeds: Tensor | None,
    attention_mask: Tensor | None,
    position_ids: Tensor | None,
    cache: Cache | None,
    use_cache: bool | None,
    **kwargs: Any,
) -> StreamInputs:
    """Check the inputs of a recurrent model and return them, with a new cache if one is wanted.

    Raises:
        TypeError: ``cache`` is not a ``RecurrentCache``.
        ValueError: empty input, wrong shapes, ids outside the vocabulary, a cache of another batch or model.
    """
    check_text_inputs(input_ids, inputs_embeds, None, config.hidden_size)
    tokens = input_ids if inputs_embeds is None else inputs_embeds[..., 0]
    assert tokens is not None
    batch, length = tokens.shape
    if use_cache and cache is None:
        cache = RecurrentCache(config)
    check_states(cache, config, batch)
    past_length = 0 if cache is None else cache.get_seq_length()
    layout = "[batch, cached and new tokens]"
    check_mask(attention_mask, (batch, past_length + length), layout=layout, scores=False)
    mask = None if attention_mask is None else padding_mask(attention_mask[:, -length:])
    return StreamInputs(tokens, mask, packed_positions(position_ids, tokens, **kwargs), cache, past_length)
