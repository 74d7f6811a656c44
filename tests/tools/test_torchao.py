# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""torchao, torch's own quantiser of linear layers, on the sub-layers of complex ones."""

import pytest
import torch
from tool_models import LINEAR_TYPES, assert_quantized, complex_llama, complex_mamba, token_ids
from transformers import AutoModelForCausalLM, TorchAoConfig

quantization = pytest.importorskip("torchao.quantization", reason="optional: make test-tools")
LOADED = pytest.mark.tool("torchao", "`TorchAoConfig(Int8WeightOnlyConfig())` in `from_pretrained`: logits and texts")


@torch.no_grad()
@LOADED
@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
def test_weights_of_eight_bits(tmp_path, linear_type):
    model, ids = complex_llama(linear_type=linear_type), token_ids()
    model.save_pretrained(tmp_path)
    config = TorchAoConfig(quantization.Int8WeightOnlyConfig())
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=config, device_map="cpu")
    layer = loaded.model.layers[0].self_attn.q_proj
    assert all(type(part.weight).__module__.startswith("torchao") for part in layer.children())
    expected, found = model(ids).logits, loaded(ids).logits
    assert not torch.equal(found, expected)
    assert (found - expected).abs().max() < 0.05 * expected.abs().max()
    assert loaded.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None).shape == (2, 18)


@LOADED
def test_mixers_of_eight_bits(tmp_path):
    model = complex_mamba()
    model.save_pretrained(tmp_path)
    config = TorchAoConfig(quantization.Int8WeightOnlyConfig())
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=config, device_map="cpu")
    assert_quantized(model, loaded, is_quantized, 0.05)


def is_quantized(part):
    """Whether torchao has replaced the weight of a linear layer."""
    return isinstance(part, torch.nn.Linear) and type(part.weight).__module__.startswith("torchao")
