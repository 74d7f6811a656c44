# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""bitsandbytes, Transformers' quantiser of real layers, on the sub-layers of complex ones."""

import pytest
import torch
from tool_models import LINEAR_TYPES, complex_llama, token_ids
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

from complex_transformers.nn import complex_linear_type

bitsandbytes = pytest.importorskip("bitsandbytes", reason="optional: make test-tools")
GREEDY = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None}


@pytest.mark.tool("bitsandbytes", "`load_in_8bit`, `load_in_4bit` on a CPU: logits and texts")
@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
@pytest.mark.parametrize(("bits", "error"), [(8, 0.05), (4, 0.6)])
def test_sublayers_of_fewer_bits(tmp_path, linear_type, bits, error):
    sizes = {"hidden_size": 128, "intermediate_size": 128}  # four bits have scales of 64 weights in a row
    model = complex_llama(linear_type=linear_type, weight_init="normal", initializer_range=0.05, **sizes)
    model.save_pretrained(tmp_path)
    config = BitsAndBytesConfig(**{f"load_in_{bits}bit": True})
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=config, device_map="cpu")
    kind = bitsandbytes.nn.Linear8bitLt if bits == 8 else bitsandbytes.nn.Linear4bit
    layers = [m for name, m in loaded.named_modules() if complex_linear_type(m) and not name.startswith("lm_head")]
    assert layers
    assert all(isinstance(part, kind) for layer in layers for part in layer.children())
    ids = token_ids()
    with torch.no_grad():
        expected, found = model(ids).logits, loaded(ids).logits
    assert (found - expected).abs().max() < error * expected.abs().max()
    assert loaded.generate(ids, **GREEDY).shape == (2, 18)
