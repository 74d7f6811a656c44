# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quanto, a quantiser of linear layers, on the sub-layers of complex ones."""

import pytest
import torch
from tool_models import LINEAR_TYPES, assert_quantized, complex_llama, complex_mamba, token_ids

quanto = pytest.importorskip("optimum.quanto", reason="optional: make test-tools")
FROZEN = pytest.mark.tool("optimum-quanto", "`quantize(weights=qint8)` and `freeze`: logits and texts")


@torch.no_grad()
@FROZEN
@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
def test_weights_of_eight_bits(linear_type):
    model, ids = complex_llama(linear_type=linear_type), token_ids()
    expected = model(ids).logits
    quanto.quantize(model, weights=quanto.qint8)
    quanto.freeze(model)
    layer = model.model.layers[0].self_attn.q_proj
    assert all(isinstance(part, quanto.QLinear) for part in layer.children())
    found = model(ids).logits
    assert not torch.equal(found, expected)
    assert (found - expected).abs().max() < 0.05 * expected.abs().max()
    assert model.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None).shape == (2, 18)


@FROZEN
def test_mixers_of_eight_bits():
    model, quantized = complex_mamba(), complex_mamba()
    quanto.quantize(quantized, weights=quanto.qint8)
    quanto.freeze(quantized)
    assert_quantized(model, quantized, lambda part: isinstance(part, quanto.QLinear), 0.05)
