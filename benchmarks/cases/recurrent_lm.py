# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent language models: time per token late in a text, and training steps."""

from __future__ import annotations

import torch

from benchmarks.race import Comparison, Outcome, race, sizes
from benchmarks.timing import Step, model_steps
from complex_transformers import ComplexRecurrentLMConfig, ComplexRecurrentLMForCausalLM

__all__ = ["MODELS", "case", "token_step"]

VOCABULARY, WIDTH, WORDS, TEXTS = 10_000, 256, 35, 16
EARLY, LATE = 20, 2000
MODELS = {
    "LSTM, complex": {},
    "LSTM, real": {"number_field": "real"},
    "LRU, complex": {"rnn_type": "lru", "num_hidden_layers": 6},
    "LRU, real": {"rnn_type": "lru", "num_hidden_layers": 6, "number_field": "real"},
}


def make(**fields: object) -> ComplexRecurrentLMForCausalLM:
    """Build a model of the sizes of ``thesis-language-models``."""
    config = ComplexRecurrentLMConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, recurrent_size=WIDTH, cutoffs=(2000,), **fields
    )
    return ComplexRecurrentLMForCausalLM(config).eval()


def token_step(model: ComplexRecurrentLMForCausalLM, read: int) -> Step:
    """Return a step that processes one more token after ``read`` ones."""
    with torch.no_grad():
        states = model(torch.randint(VOCABULARY, (1, read)), use_cache=True).cache
    token = torch.randint(VOCABULARY, (1, 1))

    def step() -> None:
        with torch.no_grad():
            model(token, cache=states, use_cache=True)

    return step


def case(rounds: int) -> Outcome:
    """Stored width 256 and 10,000 tokens: a token after 2,000 and after 20; a step on 16 sequences of 35 tokens."""
    rows = []
    models = {name: make(**fields) for name, fields in MODELS.items()}
    late, early = f"token {LATE:,}", f"token {EARLY}"
    for name, model in models.items():
        steps = {late: token_step(model, LATE), early: token_step(model, EARLY)}
        rows += race(name, steps, [Comparison(late, early, 1.1)], rounds)
    ids = torch.randint(VOCABULARY, (TEXTS, WORDS + 1))
    inputs = {"input_ids": ids[:, :-1], "shift_labels": ids[:, 1:].contiguous()}
    comparisons = [
        Comparison("LSTM, complex", "LSTM, real", 2.0),
        Comparison("LRU, complex", "LRU, real"),
        Comparison("LRU, complex", "LSTM, complex"),
    ]
    rows += race("training step", model_steps(models, lambda model: inputs), comparisons, rounds)
    return Outcome(rows, sizes(models))
