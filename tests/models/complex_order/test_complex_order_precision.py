# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpointing, autocast, low precision and compilation give what float32 gives."""

import copy

import pytest
import torch
from small_models import build, first, text
from transformers import AutoModelForSequenceClassification

from complex_transformers import (
    ComplexOrderForSequenceClassification,
)


def _from_config(model, dtype):
    low = AutoModelForSequenceClassification.from_config(model.config, dtype=dtype)
    low.load_state_dict(model.state_dict())
    return low.eval()


ROADS = {
    "from_pretrained": lambda model, dtype: type(model).from_pretrained(model.name_or_path, dtype=dtype),
    "from_config": _from_config,
    "to": lambda model, dtype: copy.deepcopy(model).to(dtype=dtype),
    "to_device": lambda model, dtype: copy.deepcopy(model).to(torch.empty(0, dtype=dtype)),
    "half": lambda model, dtype: getattr(copy.deepcopy(model), {torch.float16: "half"}.get(dtype, "bfloat16"))(),
    "double_first": lambda model, dtype: copy.deepcopy(model).double().to(dtype),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("road", ROADS)
def test_low_precision_weights_keep_angles_in_float32(tmp_path, road, dtype):
    model = build(ComplexOrderForSequenceClassification, phase="learned", damping="learned", frequency_init="uniform")
    model.save_pretrained(tmp_path)
    model.name_or_path = tmp_path
    low = ROADS[road](model, dtype)
    types = {name.rpartition(".")[2]: value.dtype for name, value in low.model.embed_tokens.named_parameters()}
    assert types == {
        "amplitude": dtype,
        "frequency": torch.float32,
        "phase": torch.float32,
        "damping": torch.float32,
    }
    assert low.model.layers[0].self_attn.q_proj.real.weight.dtype == dtype
    angles = ("frequency", "phase", "damping")
    for name in angles:
        assert torch.equal(getattr(low.model.embed_tokens, name), getattr(model.model.embed_tokens, name))
    # A thousand positions on, the wave still agrees: bf16 frequencies would be off by whole turns.
    ids, positions = text(3), torch.tensor([[1000, 1001, 1002]])
    waves = low.model.embed_tokens(ids, position_ids=positions)
    assert waves.dtype == dtype
    exact = model.model.embed_tokens(ids, position_ids=positions)
    torch.testing.assert_close(waves.float(), exact, atol=2e-2, rtol=2e-2)
    low.save_pretrained(tmp_path / "low")
    again = type(model).from_pretrained(tmp_path / "low").state_dict()
    assert all(
        torch.equal(value, again[name]) and value.dtype == again[name].dtype
        for name, value in low.state_dict().items()
    )
    out, want = first(low, input_ids=text(6)), first(model, input_ids=text(6))
    assert out.dtype == dtype
    assert out.isfinite().all()
    assert want.shape == out.shape
