# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoders of the size of Marian's, with random weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel, PreTrainedModel

from benchmarks.peak import peak
from benchmarks.race import Comparison, Outcome, race, row, sizes
from benchmarks.timing import Step, loss_step, model_steps, writing_step
from complex_transformers import ComplexSeq2SeqConfig, ComplexSeq2SeqForConditionalGeneration

__all__ = ["MARIAN", "OURS", "case", "peak_steps", "texts", "translator"]

MARIAN = "MarianMTModel"
OURS = ("score real", "score modulus", "real twin")
NEW_TOKENS = 40
_VOCABULARY = 8000


def translator(
    name: str,
    width: int = 512,
    feed_forward: int = 2048,
    layers: int = 6,
    heads: int = 8,
    vocabulary: int = _VOCABULARY,
) -> PreTrainedModel:
    """Build a model of ``MARIAN`` or ``OURS``: 6 + 6 layers, hidden 512, feed-forward 2048, 8 heads, 8,000 tokens."""
    torch.manual_seed(0)
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    if name == MARIAN:
        sides = {f"{side}_layers": layers for side in ("encoder", "decoder")}
        sides |= {f"{side}_attention_heads": heads for side in ("encoder", "decoder")}
        sides |= {f"{side}_ffn_dim": feed_forward for side in ("encoder", "decoder")}
        config = MarianConfig(
            vocab_size=vocabulary, d_model=width, dropout=0.0, forced_eos_token_id=None, **sides, **tokens
        )
        return MarianMTModel(config)
    real = {"number_field": "real", "embedding_type": "sinusoidal_position", "tie_word_embeddings": True}
    return ComplexSeq2SeqForConditionalGeneration(
        ComplexSeq2SeqConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=feed_forward,
            encoder_layers=layers,
            decoder_layers=layers,
            num_attention_heads=heads,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            **(real if name == "real twin" else {"attention_score": name.split()[-1]}),
            **tokens,
        )
    )


def texts(batch: int, length: int, vocabulary: int = _VOCABULARY) -> dict[str, Tensor]:
    """Return sources of ``length`` tokens, every other one a quarter shorter, and targets of that length."""
    generator = torch.Generator().manual_seed(1)
    source, labels = torch.randint(3, vocabulary, (2, batch, length), generator=generator)
    mask = torch.ones_like(source)
    mask[::2, -(length // 4) :] = 0
    return {"input_ids": source, "attention_mask": mask, "labels": labels}


def peak_steps(name: str) -> tuple[nn.Module, Callable[[int], Step]]:
    """Return a model and its steps on 32 pairs of sentences of some length."""
    model = translator(name)
    return model, lambda length: loss_step(model, **texts(32, length))


def case(rounds: int) -> Outcome:
    """Encoder-decoders of 6 + 6 layers (hidden 512, feed-forward 2048, 8 heads, 8,000 tokens) against Marian's."""
    models = {name: translator(name) for name in (MARIAN, *OURS)}
    batch = texts(32, 32)
    source = {name: batch[name] for name in ("input_ids", "attention_mask")} | {"num_beams": 1}
    bars = {"score real": 1.00, "score modulus": 1.10}
    comparisons = [Comparison(name, MARIAN, bars.get(name)) for name in OURS]
    rows = race("32 x 32 tokens, training step", model_steps(models, lambda _: batch), comparisons, rounds)
    steps = {name: writing_step(model, 1, NEW_TOKENS, lambda: source) for name, model in models.items()}
    comparisons = [Comparison(name, MARIAN, None if name == "real twin" else 1.15) for name in OURS]
    rows += race(f"32 x {NEW_TOKENS} tokens, greedy decoding", steps, comparisons, rounds)
    peaks = {name: [peak(__name__, name, 64) for _ in range(3)] for name in models}
    for name in OURS:
        comparison = Comparison(name, MARIAN, None if name == "real twin" else 1.10)
        rows.append(
            row("32 x 64 tokens, peak memory of a training step", comparison, peaks[name], peaks[MARIAN], "MiB")
        )
        print(f"  peak memory: {name} / {MARIAN} = {rows[-1]['ratio']['median']:.3f}", flush=True)
    return Outcome(rows, sizes(models))
