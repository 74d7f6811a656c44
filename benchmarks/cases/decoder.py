# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Causal decoders of the size of SmolLM2-135M's layers, with random weights, against Llama of equal width."""

from __future__ import annotations

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from benchmarks.race import Comparison, Outcome, race, sizes
from benchmarks.timing import model_steps, writing_step
from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM

__all__ = ["case", "decoder"]

LLAMA = "LlamaForCausalLM"
LIFTED = {"linear_type": "widely_linear", "gate_product": "parts", "norm_scale": "stored"}
OURS: dict[str, dict[str, Any]] = {
    "complex": {},
    "conjugate": {"linear_type": "conjugate", "gate_product": "conj", "hidden_act": "relu2", "sub_norms": True},
    "widely linear": LIFTED,
    "real twin": {"number_field": "real"},
}
# Limits relative to Llama: training step, decoding.
BARS = {"complex": (0.95, 1.0), "widely linear": (1.05, 1.05)}
NEW_TOKENS = 32
SIZES = {
    "vocab_size": 8000,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "pad_token_id": None,
    "eos_token_id": None,
    "tie_word_embeddings": True,
}


def decoder(name: str) -> PreTrainedModel:
    """Build a model of ``LLAMA`` or ``OURS``: 4 layers, hidden 576, feed-forward 1536, 9 heads, 3 key/value heads."""
    torch.manual_seed(0)
    if name == LLAMA:
        return LlamaForCausalLM(LlamaConfig(**SIZES))
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES, position_type="rotary", **OURS[name]))


def case(rounds: int) -> Outcome:
    """Causal decoders (4 layers, hidden 576, feed-forward 1536, 9 heads, 3 key/value heads) against Llama's."""
    models = {name: decoder(name) for name in (LLAMA, *OURS)}
    ids = torch.randint(3, 8000, (4, 128), generator=torch.Generator().manual_seed(1))
    batch = {"input_ids": ids, "labels": ids}
    training = [Comparison(name, LLAMA, BARS.get(name, (None, None))[0]) for name in OURS]
    writing = [Comparison(name, LLAMA, BARS.get(name, (None, None))[1]) for name in OURS]
    rows = race("4 x 128 tokens, training step", model_steps(models, lambda _: batch), training, rounds)
    for count in (1, 8):
        prompt = {"input_ids": ids[:, :16].repeat(2, 1)[:count], "attention_mask": torch.ones(count, 16).long()}
        steps = {name: writing_step(m, 16, NEW_TOKENS, lambda p=prompt: p) for name, m in models.items()}
        rows += race(f"{count} x {NEW_TOKENS} tokens, cached greedy decoding", steps, writing, rounds)
    return Outcome(rows, sizes(models))
