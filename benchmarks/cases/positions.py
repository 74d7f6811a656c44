# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Positions and attention weights of the complex Llama against rotary positions with softmax."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.cases.decoder import NEW_TOKENS, SIZES
from benchmarks.race import Comparison, Outcome, race, sizes
from benchmarks.timing import model_steps, writing_step
from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM

__all__ = ["LIMIT", "OPTIONS", "case", "decoder"]

OPTIONS: dict[str, dict[str, Any]] = {
    "rotary": {"position_type": "rotary"},
    "rotary_word": {"position_type": "rotary_word"},
    "polar": {"position_type": "polar"},
    "polar_word": {"position_type": "polar_word"},
    "equal_heads": {"imaginary_heads": "equal_heads"},
    "equal_cache": {"imaginary_heads": "equal_cache"},
    "cosine sigmoid": {"position_type": "rotary", "attention_score": "cosine", "attention_normalization": "sigmoid"},
}
FIELDS = ("complex", "real")
LIMIT = 1.15
# Heads of equal number, so that half of them can be imaginary.
HEADS = {"num_attention_heads": 8, "num_key_value_heads": None, "head_dim": 72}


def decoder(name: str, field: str) -> ComplexLlamaForCausalLM:
    """Build a decoder of the size of case ``decoder`` with 8 heads, for a row of ``OPTIONS``."""
    torch.manual_seed(0)
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**SIZES, **HEADS}, **OPTIONS[name], number_field=field))


def case(rounds: int) -> Outcome:
    """Complex and real Llama (4 layers, hidden 576, 8 heads of 72) with other positions, against rotary ones."""
    rows, notes = [], []
    ids = torch.randint(3, 8000, (4, 512), generator=torch.Generator().manual_seed(1))
    batch = {"input_ids": ids, "labels": ids}
    prompt = {"input_ids": ids[:1, :256], "attention_mask": torch.ones(1, 256).long()}
    against = [Comparison(name, "rotary", LIMIT) for name in OPTIONS if name != "rotary"]
    for field in FIELDS:
        models = {name: decoder(name, field) for name in OPTIONS}
        notes += [f"{field}, {note}" for note in sizes(models)]
        rows += race(f"{field}, 4 x 512 tokens, training step", model_steps(models, lambda _: batch), against, rounds)
        steps = {name: writing_step(m, 256, NEW_TOKENS, lambda: prompt) for name, m in models.items()}
        rows += race(f"{field}, {NEW_TOKENS} tokens after 256, cached decoding", steps, against, rounds)
    return Outcome(rows, notes)
