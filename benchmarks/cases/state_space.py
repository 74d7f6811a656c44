# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mamba-3 against Transformers' Mamba-2 without CUDA kernels, and against the complex Llama at three lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Mamba2Config, Mamba2ForCausalLM, PreTrainedModel

from benchmarks.peak import peak
from benchmarks.race import Comparison, Outcome, race, row, sizes
from benchmarks.timing import Step, loss_step, model_steps, writing_step
from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexMambaConfig,
    ComplexMambaForCausalLM,
)

__all__ = ["LIMIT", "MAMBA2", "OURS", "case", "mamba2", "mamba3", "peak_steps"]

# Time relative to Mamba-2.
LIMIT = 0.5
CHARACTERS, PROMPT, NEW_TOKENS = 256, 64, 64
SIZES = {
    "vocab_size": CHARACTERS,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "tie_word_embeddings": True,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
STATES = {"state_size": 128, "head_dim": 64, "n_groups": 1}
OURS: dict[str, dict[str, Any]] = {
    "Mamba-3": {},
    "real twin": {"number_field": "real"},
    # Rank 4 has more parameters in each layer, and its chunks have four rows for each step.
    "Mamba-3, rank 4, 3 layers": {"mimo_rank": 4, "num_hidden_layers": 3, "chunk_size": 16},
}
# The default chunk size of Transformers, and the fastest one for it at these sizes.
MAMBA2 = {"Mamba-2": 256, "Mamba-2, chunks of 64": 64}
BLOCKS, LLAMA = "Mamba-3 with feed-forward", "complex Llama"
LENGTHS = (256, 1024, 4096)


def mamba3(name: str, intermediate_size: int | None = None, **sizes: int) -> PreTrainedModel:
    """Build a model of ``OURS``: 4 mixers of width 256, 8 heads of 64 features and states of 128 numbers."""
    torch.manual_seed(0)
    options = {**SIZES, **STATES, **sizes, **OURS[name]}
    return ComplexMambaForCausalLM(ComplexMambaConfig(intermediate_size=intermediate_size, **options))


def mamba2(name: str, **sizes: int) -> PreTrainedModel:
    """Build Transformers' model of the same sizes with a chunk size of ``MAMBA2``."""
    torch.manual_seed(0)
    options = {**SIZES, **STATES, **sizes}
    heads = 2 * options["hidden_size"] // options["head_dim"]
    return Mamba2ForCausalLM(Mamba2Config(num_heads=heads, chunk_size=MAMBA2[name], **options))


def block_model(name: str) -> PreTrainedModel:
    """Build Mamba-3 with feed-forward networks of width 704, or a complex Llama of equal parameters."""
    if name == BLOCKS:
        return mamba3("Mamba-3", 704)
    torch.manual_seed(0)
    shape = {"hidden_size": 384, "intermediate_size": 1216, "num_attention_heads": 6, "position_type": "rotary"}
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**SIZES, **shape}))


def characters(count: int, length: int) -> Tensor:
    """Return ``count`` random sequences."""
    return torch.randint(3, CHARACTERS, (count, length), generator=torch.Generator().manual_seed(1))


def batch(count: int, length: int) -> dict[str, Tensor]:
    """Return a batch for a training step."""
    ids = characters(count, length)
    return {"input_ids": ids, "labels": ids}


def peak_steps(name: str) -> tuple[nn.Module, Callable[[int], Step]]:
    """Return a model of ``block_model`` and its training steps on one sequence of some length."""
    model = block_model(name)
    return model, lambda length: loss_step(model, **batch(1, length))


def case(rounds: int) -> Outcome:
    """Mamba-3 (4 mixers, width 256, states of 128 numbers) against Transformers' Mamba-2 and a complex Llama."""
    models: Mapping[str, PreTrainedModel] = {
        **{name: mamba3(name) for name in OURS},
        **{name: mamba2(name) for name in MAMBA2},
    }
    comparisons = [Comparison("Mamba-3", name, LIMIT) for name in MAMBA2]
    comparisons += [Comparison(name, "Mamba-2") for name in OURS if name != "Mamba-3"]
    comparisons.append(Comparison("Mamba-3", "real twin"))
    rows = race("4 x 512 tokens, training step", model_steps(models, lambda _: batch(4, 512)), comparisons, rounds)
    for count in (1, 8):
        prompt = {"input_ids": characters(count, PROMPT), "attention_mask": torch.ones(count, PROMPT).long()}
        steps = {name: writing_step(m, PROMPT, NEW_TOKENS, lambda p=prompt: p) for name, m in models.items()}
        rows += race(f"{count} x {NEW_TOKENS} tokens, cached greedy decoding", steps, comparisons, rounds)
    notes = sizes(models)
    blocks = {name: block_model(name) for name in (BLOCKS, LLAMA)}
    against = Comparison(BLOCKS, LLAMA)
    for length in LENGTHS:
        count = LENGTHS[-1] // length
        steps = model_steps(blocks, lambda _, shape=(count, length): batch(*shape))
        rows += race(f"{count} x {length:,} tokens, training step", steps, [against], rounds)
        prompt = {"input_ids": characters(1, length), "attention_mask": torch.ones(1, length).long()}
        writing = {name: writing_step(m, length, NEW_TOKENS, lambda p=prompt: p) for name, m in blocks.items()}
        rows += race(f"{NEW_TOKENS} tokens after {length:,}, greedy generation", writing, [against], rounds)
    for length in LENGTHS:
        peaks = [[peak(__name__, name, length) for _ in range(2)] for name in (BLOCKS, LLAMA)]
        rows.append(row(f"1 x {length:,} tokens, peak memory of a training step", against, *peaks, "MiB"))
    return Outcome(rows, notes + sizes(blocks))
