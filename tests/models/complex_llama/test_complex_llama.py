# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex Llama is Llama in the real field; in the complex field every real Llama is one of its networks."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM
from complex_transformers.nn import WidelyLinear

SIZES = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
}
REAL = {"number_field": "real"}
GREEDY = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
SETTINGS = {
    "plain": {},
    "biases, tied": {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    "wide heads": {"head_dim": 12, "num_key_value_heads": 1},
}
every_setting = pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)


def llama(**changes):
    """Llama with weights of which none is as it was initialised."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**{**SIZES, **changes}, pad_token_id=None)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def twin_of(model, **changes):
    """Our network in the real field with the weights of Llama."""
    twin = ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**SIZES, **REAL, **changes})).eval()
    weights = {name.replace("lm_head.", "lm_head.projection."): value for name, value in model.state_dict().items()}
    assert weights.keys() == twin.state_dict().keys()
    twin.load_state_dict(weights)
    return twin


def assert_equal(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@every_setting
def test_logits_are_those_of_llama(changes):
    model = llama(**changes)
    twin = twin_of(model, **changes)
    ids = torch.randint(0, 40, (2, 9))
    expected = model(ids).logits
    assert expected.std() > 0.5
    assert_equal(twin(ids).logits, expected)
    caches, pieces = (None, None), []
    for start, end in ((0, 5), (5, 6), (6, 9)):
        outs = [
            network(ids[:, start:end], past_key_values=cache, use_cache=True)
            for network, cache in zip((model, twin), caches, strict=True)
        ]
        caches = tuple(out.past_key_values for out in outs)
        pieces.append(outs[1].logits)
        for ours, theirs in zip(caches[1].layers, caches[0].layers, strict=True):
            assert_equal(ours.keys, theirs.keys)
            assert_equal(ours.values, theirs.values)
    assert_equal(torch.cat(pieces, 1), expected)


@torch.no_grad()
@every_setting
def test_padded_logits_and_texts_are_those_of_llama(changes):
    model = llama(**changes)
    twin = twin_of(model, **changes)
    ids, mask = torch.randint(0, 40, (3, 7)), torch.ones(3, 7, dtype=torch.long)
    mask[0, :3], mask[1, :1] = 0, 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    expected = model(ids, attention_mask=mask, position_ids=positions).logits
    real = mask.bool()
    assert_equal(twin(ids, attention_mask=mask).logits[real], expected[real])
    written = twin.generate(ids, attention_mask=mask, **GREEDY)
    assert written.tolist() == model.generate(ids, attention_mask=mask, **GREEDY).tolist()
    assert len({tuple(row) for row in written[:, 7:].tolist()}) == 3


# --- every Llama is a network of the complex field -------------------------------------------------------------------


def lifted(model, **changes):
    """The complex network of widely linear layers that computes what Llama does."""
    sizes = {**SIZES, "norm_scale": "stored", "gate_product": "parts", "linear_type": "widely_linear"}
    scale = model.model.layers[0].self_attn.scaling
    twin = ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**sizes, **changes, "attention_scale": scale})).eval()
    modules = dict(model.named_modules())
    with torch.no_grad():
        for name, layer in twin.named_modules():
            if not isinstance(layer, WidelyLinear):
                continue
            real = modules[name]
            if name.endswith(("q_proj", "k_proj", "v_proj")):
                real.weight.copy_(real.weight[order(model, real.out_features)])
                if real.bias is not None:
                    real.bias.copy_(real.bias[order(model, real.out_features)])
            if name.endswith("o_proj"):
                real.weight.copy_(real.weight[:, order(model, real.in_features)])
            parent, _, leaf = name.rpartition(".")
            setattr(twin.get_submodule(parent), leaf, WidelyLinear.from_real(real))
        weights = model.state_dict()
        for name, parameter in twin.named_parameters():
            if name.replace("lm_head.projection", "lm_head") in weights and "proj.bias" not in name:
                parameter.copy_(weights[name.replace("lm_head.projection", "lm_head")])
    return twin


def order(model, width):
    """Rows of heads of halves as rows of halves of heads: all real parts, then all imaginary ones."""
    head = model.config.head_dim
    return torch.arange(width).view(-1, 2, head // 2).transpose(0, 1).flatten()


@torch.no_grad()
@every_setting
def test_a_lifted_llama_writes_what_llama_writes(changes):
    model = llama(**changes)
    ids = torch.randint(0, 40, (2, 9))
    expected = model(ids).logits
    texts = model.generate(ids, **GREEDY)
    twin = lifted(model, **changes)
    torch.testing.assert_close(twin(ids).logits, expected, rtol=1e-4, atol=1e-4)
    assert twin.generate(ids, **GREEDY).tolist() == texts.tolist()
    assert all(layer.matrix is None for layer in twin.modules() if isinstance(layer, WidelyLinear))
