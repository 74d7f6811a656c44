# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The default of ``position_type``: polar in new configurations, rotary in saved ones without it; long texts."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM
from complex_transformers.models.complex_llama.configuration_complex_llama import POSITION_TYPES

SIZES = {
    "vocab_size": 20,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
DEFAULTS = [
    ({}, "polar"),
    ({"number_field": "real"}, "polar"),
    ({"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}, "polar"),
    ({"rope_theta": 500.0}, "polar"),
    ({"sliding_window": 4, "attention_score": "modulus"}, "polar"),
    ({"rope_parameters": LINEAR}, "rotary"),
    ({"rope_scaling": LINEAR}, "rotary"),
    ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "rotary"),
    ({"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500.0}}}, "rotary"),
    ({"imaginary_heads": "equal_heads"}, "rotary"),
    ({"no_rope_layers": [0]}, "rotary"),
    ({"position_type": "polar", "imaginary_heads": "equal_heads"}, "polar"),
    ({"position_type": "rotary"}, "rotary"),
]


@pytest.mark.parametrize(("given", "expected"), DEFAULTS, ids=str)
def test_the_default_of_a_new_configuration(given, expected, tmp_path):
    """Every way to copy or save a configuration keeps the resolved value."""
    config = ComplexLlamaConfig(**SIZES, **given)
    config.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    copies = [config, ComplexLlamaConfig.from_dict(config.to_dict()), AutoConfig.from_pretrained(tmp_path)]
    found = [saved["position_type"], config.real_twin().position_type, *(copy.position_type for copy in copies)]
    assert set(found) == {expected}


def test_the_default_by_model_type():
    assert AutoConfig.for_model("complex_llama").position_type == "polar"
    assert AutoConfig.for_model("complex_llama", rope_parameters=LINEAR).position_type == "rotary"


@torch.no_grad()
def test_a_saved_configuration_without_the_field_is_rotary(tmp_path):
    torch.manual_seed(0)
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES, position_type="rotary")).eval()
    model.save_pretrained(tmp_path)
    old = {"model_type": "complex_llama", "architectures": ["ComplexLlamaForCausalLM"], **SIZES}
    (tmp_path / "config.json").write_text(json.dumps(old))
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert loaded.config.position_type == "rotary"
    ids = torch.tensor([[3, 4, 5, 6]])
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    changed = AutoConfig.from_pretrained(tmp_path, position_type="polar")
    assert changed.position_type == "polar"
    loaded.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["position_type"] == "rotary"


@torch.no_grad()
def test_a_saved_model_with_the_default_stays_polar(tmp_path):
    torch.manual_seed(0)
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES)).eval()
    for layer in model.model.layers:
        layer.self_attn.polar.phase.uniform_(-3.0, 0.0)
    model.save_pretrained(tmp_path)
    loaded = AutoModel.from_pretrained(tmp_path)
    assert loaded.config.position_type == "polar"
    ids = torch.tensor([[3, 4, 5, 6]])
    assert torch.equal(loaded(ids).last_hidden_state, model.model(ids).last_hidden_state)


@torch.no_grad()
@pytest.mark.parametrize("position_type", POSITION_TYPES)
@pytest.mark.parametrize("field", ["complex", "real"])
def test_texts_may_be_longer_than_in_training(position_type, field):
    """No position type has a table of positions: ``max_position_embeddings`` limits nothing."""
    ids, found = torch.randint(1, 20, (1, 24)), []
    for length in (4, 64):
        torch.manual_seed(0)
        config = ComplexLlamaConfig(
            **SIZES, number_field=field, position_type=position_type, max_position_embeddings=length
        )
        model = ComplexLlamaForCausalLM(config).eval()
        cache = model.model(ids[:, :16], use_cache=True).cache
        whole = model(ids).logits
        torch.testing.assert_close(model(ids[:, 16:], cache=cache).logits, whole[:, 16:], rtol=1e-4, atol=1e-5)
        found.append(whole)
    assert torch.equal(*found)
