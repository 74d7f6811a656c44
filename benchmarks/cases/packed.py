# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed layers and decoders with their CPU kernels, against the layers and models that they replace."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.cases.linear import inference_step
from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import Step, high_precision_step, writing_step
from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, ComplexQuantizationConfig, quantize
from complex_transformers.kernels.native import low_bit
from complex_transformers.nn import PackedLinear, use_kernels

__all__ = ["case"]

REAL, HALF, PACKED = "nn.Linear", "nn.Linear, bfloat16", "packed"
HIGH, PLAIN = "packed, precision high", "packed, without kernels"
SHAPES = ((4096, 4096), (4096, 11008))  # layers of Llama 7B
LIFTED: dict[str, Any] = {
    "linear_type": "widely_linear",
    "gate_product": "parts",
    "norm_scale": "stored",
    "position_type": "rotary",
}
SMOLLM2: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
}
THREE_BILLION: dict[str, Any] = {
    "vocab_size": 1000,
    "hidden_size": 3200,
    "intermediate_size": 8640,
    "num_hidden_layers": 2,
    "num_attention_heads": 32,
}
READ, WRITTEN, PREFILL = 16, 32, 512


def random_layer(width: int, out: int) -> PackedLinear:
    """Return a widely linear packed layer of two stages with random codes."""
    layer = PackedLinear(width, out, "widely_linear", stages=2, bias=False)
    for buffer in layer.buffers():
        torch.nn.init.constant_(buffer, 0.01) if buffer.is_floating_point() else buffer.random_(0, 256)
    return layer


def by_path(layer: nn.Module, x: Tensor, path: int) -> Step:
    """Return a forward step with the kernel of one instruction set."""
    call = inference_step(layer, x)

    def step() -> None:
        before, low_bit.path = low_bit.path, path
        call()
        low_bit.path = before

    return step


def plain_step(layer: nn.Module, x: Tensor) -> Step:
    """Return a forward step without kernels."""
    call = inference_step(layer, x)

    def step() -> None:
        with use_kernels(False):
            call()

    return step


def layer_rows(width: int, out: int, rounds: int) -> list[dict[str, Any]]:
    """Time one layer on 1 to 512 inputs."""
    packed, real = random_layer(width, out), nn.Linear(width, out, bias=False)
    half = copy.deepcopy(real).bfloat16()
    rows = []
    for count in (1, 16, 512):
        x, group = torch.randn(count, width), f"{width} x {out}, {count} input{'s' if count > 1 else ''}"
        steps = {PACKED: inference_step(packed, x), REAL: inference_step(real, x)}
        comparisons = [Comparison(PACKED, REAL, {1: 0.15, 512: 1.2}.get(count))]
        if count == 1:
            steps |= {f"packed, {name}": by_path(packed, x, n) for n, name in enumerate(low_bit.paths()) if n}
            steps[HIGH] = high_precision_step(steps[PACKED])
            steps[PLAIN] = plain_step(packed, x)
            comparisons += [Comparison(name, REAL) for name in steps if name not in (PACKED, REAL)]
        rows += race(group, steps, comparisons, rounds)
        steps = {"packed, bfloat16": inference_step(packed, x.bfloat16()), HALF: inference_step(half, x.bfloat16())}
        rows += race(group, steps, [Comparison("packed, bfloat16", HALF, 0.3 if count == 1 else None)], rounds)
    return rows


def models(sizes: Mapping[str, Any]) -> dict[str, ComplexLlamaForCausalLM]:
    """Return a packed decoder of random weights, and the float decoder with the same weights."""
    config = ComplexLlamaConfig(**sizes, **LIFTED, pad_token_id=None, eos_token_id=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quality does not matter here
        packed = quantize(ComplexLlamaForCausalLM(config).eval(), ComplexQuantizationConfig(stages=2))
    return {PACKED: packed, "float": copy.deepcopy(packed).dequantize()}


def decoder_rows(name: str, sizes: Mapping[str, Any], rounds: int, bars: Sequence[float | None]) -> Outcome:
    """Time cached greedy decoding and the prefill of a decoder."""
    both = models(sizes)
    ids = torch.randint(3, 1000, (1, PREFILL))
    prompt = {"input_ids": ids[:, :READ], "attention_mask": torch.ones(1, READ).long()}
    with torch.no_grad():
        logits = [model(ids[:, :READ]).logits for model in both.values()]
    torch.testing.assert_close(*logits, rtol=1e-3, atol=1e-3)
    steps = {key: writing_step(model, READ, WRITTEN, lambda: prompt) for key, model in both.items()}
    rows = race(f"{name}, {WRITTEN} tokens, decoding", steps, [Comparison(PACKED, "float", bars[0])], rounds)
    speeds = [f"{1e3 * WRITTEN / rows[0][key]['median']:.1f}" for key in ("ours_value", "reference_value")]
    calls = {key: inference_step(model, ids) for key, model in both.items()}
    rows += race(f"{name}, {PREFILL} tokens, prefill", calls, [Comparison(PACKED, "float", bars[1])], rounds)
    note = f"{name}: packed {speeds[0]}, float {speeds[1]} tokens per second, prompt included"
    return Outcome(rows, [note])


def case(rounds: int) -> Outcome:
    """Packed widely linear layers and decoders (2 stages, random weights), against float ones."""
    if not low_bit.load():
        raise RuntimeError("the kernels must be compiled for this case. Install g++.")
    rows = [row for shape in SHAPES for row in layer_rows(*shape, rounds)]
    small = decoder_rows("shape of SmolLM2-135M", SMOLLM2, rounds, (None, 1.2))
    large = decoder_rows("2 of 26 layers of a 3B Llama", THREE_BILLION, rounds, (0.25, None))
    notes = [f"kernels: {', '.join(low_bit.paths())}; packed runs the first", *small.notes, *large.notes]
    return Outcome([*rows, *small.rows, *large.rows], notes)
