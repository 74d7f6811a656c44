# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Accelerate: a training loop, and a model whose weights stay on the disk."""

import pytest
import torch
from tool_models import complex_llama, token_ids

accelerate = pytest.importorskip("accelerate")


@pytest.mark.tool("accelerate", "`Accelerator.prepare`, gradient accumulation, `save_state` and `load_state`")
def test_training_loop(tmp_path):
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    data = torch.utils.data.DataLoader(token_ids().repeat(4, 1), batch_size=2)
    model = complex_llama()
    model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=0.01), data)
    losses = []
    for ids in data:
        with accelerator.accumulate(model):
            loss = model(input_ids=ids, labels=ids).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)  # the first of two batches changes nothing
    assert losses[2] < losses[0]
    accelerator.save_state(tmp_path)
    with torch.no_grad():
        expected = model(token_ids()).logits
        for parameter in model.parameters():
            parameter.zero_()
        accelerator.load_state(tmp_path)
        torch.testing.assert_close(model(token_ids()).logits, expected)


@torch.no_grad()
@pytest.mark.tool("accelerate", "`disk_offload`: logits and generated tokens")
def test_weights_on_the_disk(tmp_path):
    model, ids = complex_llama(), token_ids()
    expected = model(ids).logits, model.generate(ids, max_new_tokens=4, do_sample=False)
    accelerate.disk_offload(model, tmp_path, execution_device=torch.device("cpu"))
    assert all(parameter.is_meta for parameter in model.parameters())
    torch.testing.assert_close(model(ids).logits, expected[0])
    assert torch.equal(model.generate(ids, max_new_tokens=4, do_sample=False), expected[1])
