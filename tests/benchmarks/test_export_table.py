# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Outputs compared by the benchmark of exported models."""

from __future__ import annotations

import torch
from benchmarks.export import without_padding

from complex_transformers.conversion.onnx_graph import example_inputs, outputs_of
from families import Case


def test_constants_of_padded_frames_are_no_outputs() -> None:
    model = Case("spectral_transformer", "symbols").build().eval()
    batch = example_inputs(model, rows=2, length=9)
    whole = outputs_of(model, batch)
    assert whole["logits"].abs().max() == 1e4
    (logits,) = without_padding(model, batch, whole).values()
    frames = model.output_mask(whole["logits"], batch["attention_mask"])
    assert 0 < len(logits) == frames.sum() < frames.numel()
    assert logits.abs().max() < 100
    assert torch.equal(logits, whole["logits"][frames])


def test_other_outputs_are_compared_as_they_are() -> None:
    model = Case("complex_llama", "complex").build().eval()
    batch = example_inputs(model, rows=2, length=5)
    whole = outputs_of(model, batch)
    assert without_padding(model, batch, whole) == whole
