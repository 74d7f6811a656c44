# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sizes, and what a language model takes besides its words."""

import pytest
import torch
from small_transfo_xl import at_once, build

from complex_transformers import ComplexTransfoXLConfig
from family_inputs import words


@pytest.mark.parametrize(
    "changes",
    [
        {"mem_len": 1600, "clamp_len": 1000, "same_length": True},  # as WikiText-103 is evaluated
        {"mem_len": 3, "clamp_len": 2, "same_length": True},
        {"mem_len": 2, "clamp_len": 5},
        {"embedding_type": "learned_position", "max_position_embeddings": 512},
        {"embedding_type": "learned_position", "position_period": None},
    ],
)
def test_settings_at_the_edge_are_taken(changes):
    taken = ComplexTransfoXLConfig(**changes)
    assert {name: getattr(taken, name) for name in changes} == changes


def test_logits_are_kept_for_the_last_tokens_only():
    model, ids = build(), words(7, 2)
    last = model(ids, logits_to_keep=2, use_cache=False).logits
    torch.testing.assert_close(last, at_once(model, ids)[:, -2:])


def test_a_mask_must_cover_the_stream():
    model, ids = build(), words(8, 2)
    memory = model(ids[:, :5]).cache
    message = r"all tokens read so far and the new ones\] = \(2, 8\), got \(2, 3\)"
    with pytest.raises(ValueError, match=message):
        model(ids[:, 5:], attention_mask=torch.ones(2, 3), cache=memory)
