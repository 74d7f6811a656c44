# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA by PEFT on complex layers of a decoder and on their real and imaginary sub-layers."""

import json

import pytest
import torch
from tool_models import complex_llama, token_ids

peft = pytest.importorskip("peft")


def case(*modules):
    tried = f"`LoraConfig(target_modules={json.dumps(modules)})`: trained, saved, loaded, merged"
    return pytest.param(list(modules), marks=pytest.mark.tool("peft", tried), id="-".join(modules))


@pytest.mark.parametrize("modules", [case("q_proj", "v_proj"), case("real", "imag")])
def test_adapters(tmp_path, modules):
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=modules)
    model = peft.get_peft_model(complex_llama(), config)
    ids = token_ids()
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.05)
    losses = []
    for _ in range(3):
        losses.append(model(input_ids=ids, labels=ids).loss)
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < losses[0]
    model.eval().save_pretrained(tmp_path)
    with torch.no_grad():
        expected = model(input_ids=ids).logits
        loaded = peft.PeftModel.from_pretrained(complex_llama(), tmp_path)
        torch.testing.assert_close(loaded(input_ids=ids).logits, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(loaded.merge_and_unload()(ids).logits, expected, rtol=1e-4, atol=1e-4)
