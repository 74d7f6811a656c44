# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attributions of a classifier's answer to its tokens, by Captum."""

import pytest
import torch
from tool_models import classifier, token_ids

captum = pytest.importorskip("captum.attr", reason="optional: make test-tools")


@pytest.mark.tool("captum", "`LayerIntegratedGradients`: attributions add up to the change of the logit")
def test_attributions_are_complete():
    model, ids = classifier(initializer_range=0.5), token_ids()
    baseline = torch.full_like(ids, 2)
    explain = captum.LayerIntegratedGradients(lambda ids: model(ids).logits, model.get_input_embeddings())
    found, delta = explain.attribute(ids, baseline, target=1, n_steps=200, return_convergence_delta=True)
    with torch.no_grad():
        expected = (model(ids).logits - model(baseline).logits)[:, 1]
    assert expected.abs().min() > 1e-2
    torch.testing.assert_close(found.flatten(1).sum(1), expected, rtol=2e-2, atol=2e-3, check_dtype=False)
    assert delta.abs().max() < 2e-2


@pytest.mark.tool("captum", "`FeatureAblation` of tokens")
def test_ablation_of_tokens():
    model, ids = classifier(initializer_range=0.5), token_ids()
    found = captum.FeatureAblation(lambda ids: model(ids).logits).attribute(ids, baselines=2, target=0)
    changed = ids.clone()
    changed[:, 3] = 2
    with torch.no_grad():
        expected = (model(ids).logits - model(changed).logits)[:, 0]
    torch.testing.assert_close(found[:, 3], expected, check_dtype=False)
