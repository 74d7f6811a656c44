# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Shares of the conjugate, and networks of which some layers have none."""

import pytest
import torch
from torch import nn

from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexLlamaModel,
    ComplexQuantizationConfig,
    quantize,
)
from complex_transformers.analysis import conjugate_share, prune_conjugate
from complex_transformers.nn import ComplexLinear, WidelyLinear
from refusals import refused

SIZES = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def model_of(model_class=ComplexLlamaForCausalLM, **changes):
    options = {"linear_type": "widely_linear", "mlp_bias": True, **changes}
    return model_class(ComplexLlamaConfig(**SIZES, **options)).eval()


def test_shares_by_hand():
    layer = WidelyLinear(4, 6)
    parts = torch.complex(*(torch.randn(3, 2, dtype=torch.float64) for _ in range(2)))
    with torch.no_grad():
        layer.real.weight.copy_(parts.real)
        layer.imag.weight.copy_(parts.imag)
        layer.conj_real.weight.copy_(2 * parts.imag)
        layer.conj_imag.weight.copy_(2 * parts.real)
    network = nn.Sequential(layer, ComplexLinear(6, 6), WidelyLinear(6, 2))
    with torch.no_grad():
        for part in network[2].weight_parts():
            part.zero_()
    shares = conjugate_share(network)
    assert shares == {"0": pytest.approx(0.8), "2": 0.0}


@pytest.mark.parametrize("training", [False, True])
def test_shares_of_quantised_layers(training):
    """Packed: of the layers that ``dequantize`` gives; in training: of the weights that are rounded."""
    model, plain = model_of(), model_of()
    plain.load_state_dict(model.state_dict())
    config = ComplexQuantizationConfig(1, training=training)
    found = conjugate_share(quantize(model, config))
    expected = conjugate_share(plain if training else quantize(plain, config).dequantize())
    assert found == pytest.approx(expected)
    assert len(found) == 14
    assert conjugate_share(quantize(model_of(linear_type="complex"), config)) == {}


@torch.no_grad()
def test_pruned_layers_are_those_without_v():
    model, ids = model_of(), torch.randint(0, 40, (2, 7))
    shares = conjugate_share(model)
    assert len(shares) == 14
    names = ["model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"]
    for name in names:
        layer = model.get_submodule(name)
        layer.conj_real.weight.zero_()
        layer.conj_imag.weight.zero_()
    expected, weights = model(ids).logits, model.num_parameters()
    prune_conjugate(model, names)
    torch.testing.assert_close(model(ids).logits, expected)
    assert conjugate_share(model).keys() == shares.keys() - set(names)
    assert weights - model.num_parameters() == (32 * 32 + 32 * 48) // 2
    assert model.config.complex_layers == ["layers.0.self_attn.q_proj", "layers.1.mlp.down_proj"]


@pytest.mark.parametrize("model_class", [ComplexLlamaForCausalLM, ComplexLlamaModel])
def test_pruned_twice_saved_loaded_and_trained(tmp_path, model_class):
    model = model_of(model_class)
    for name in list(conjugate_share(model))[3:5]:
        prune_conjugate(model, [name])
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path).eval()
    ids = torch.randint(0, 40, (2, 7))
    with torch.no_grad():
        assert torch.equal(loaded(ids)[0], model(ids)[0])
    assert loaded.config.complex_layers == model.config.complex_layers
    assert len(loaded.config.complex_layers) == 2
    loaded(ids)[0].square().sum().backward()
    assert all(parameter.grad.count_nonzero() for parameter in loaded.parameters())


def test_a_network_without_a_configuration():
    network = nn.Sequential(WidelyLinear(4, 4), WidelyLinear(4, 4))
    bias = network[1].bias
    prune_conjugate(network, ["1"])
    assert type(network[1]) is ComplexLinear
    assert network[1].bias is bias
    assert conjugate_share(network).keys() == {"0"}


def test_refusals():
    model = model_of()
    name = "model.layers.0.mlp.up_proj"
    before = model.get_submodule(name)
    refused(
        r"got \['lm_head'\]. Use model",
        prune_conjugate,
        model,
        [name, "lm_head"],
    )
    assert model.get_submodule(name) is before
    refused("must be widely linear layers, got", prune_conjugate, nn.Linear(2, 2), ["a"])
    refused(r"must be widely linear layers, got \['layers.9'\]", model_of, complex_layers=["layers.9"])
    options = {"linear_type": "complex", "complex_layers": ["layers.0.mlp.up_proj"]}
    refused(r"must be widely linear layers, got \['layers.0.mlp.up_proj'\]", model_of, error=Exception, **options)
    assert model_of(complex_layers=["layers.0.mlp.up_proj"]).config.real_twin().complex_layers is None
