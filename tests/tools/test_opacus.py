# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Opacus: gradients of single samples, and training with differential privacy."""

import pytest
import torch
import torch.nn.functional as F
from tool_models import classifier, token_ids

opacus = pytest.importorskip("opacus", reason="optional: make test-tools")


@pytest.mark.tool("opacus", "`GradSampleModule`: the gradients of single samples")
def test_gradients_of_single_samples():
    model = classifier(damping="learned").double().train()
    ids, labels = token_ids(), torch.tensor([0, 1])
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    expected = []
    for row in range(2):
        loss = model(ids[[row]], attention_mask=mask[[row]], labels=labels[[row]]).loss
        expected.append(torch.autograd.grad(loss, list(model.parameters())))
    F.cross_entropy(opacus.GradSampleModule(model)(input_ids=ids, attention_mask=mask).logits, labels).backward()
    for (name, parameter), *rows in zip(model.named_parameters(), *expected, strict=True):
        torch.testing.assert_close(parameter.grad_sample, torch.stack(rows), rtol=1e-7, atol=1e-9, msg=name)


@pytest.mark.tool("opacus", "`PrivacyEngine.make_private`, two steps")
def test_private_training():
    model = classifier().train()
    before = {name: value.clone() for name, value in model.named_parameters()}
    data = torch.utils.data.TensorDataset(token_ids().repeat(4, 1), torch.randint(2, (8,)))
    private, optimizer, loader = opacus.PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=4),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
    )
    for ids, labels in loader:
        private(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for name, value in model.named_parameters():
        assert value.isfinite().all(), name
        assert not torch.equal(value, before[name]), name
