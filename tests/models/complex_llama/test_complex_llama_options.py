# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Options of decoders besides Llama: norms of Gemma and OLMo, limits of scores, windows, scaled rotary positions."""

import pytest
import torch
from transformers import Gemma2ForCausalLM, LlamaConfig, Olmo2ForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM

SIZES = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
}


def assert_equal(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("theirs", [Gemma2ForCausalLM, Olmo2ForCausalLM])
def test_the_real_field_has_the_layers_of_gemma_and_olmo(theirs):
    """Weight by weight, but for Gemma's gains, which are 1 + w."""
    sizes = {**SIZES, "head_dim": 8, "tie_word_embeddings": False}
    gemma = {
        "sliding_window": 4,
        "query_pre_attn_scalar": 20,
        "attn_logit_softcapping": 0.5,
        "final_logit_softcapping": 0.8,
        "hidden_activation": "gelu_pytorch_tanh",
    }
    is_gemma = theirs is Gemma2ForCausalLM
    model = theirs(theirs.config_class(**sizes, **(gemma if is_gemma else {}))).eval()
    for parameter in model.parameters():
        parameter.add_(0.2 * torch.randn_like(parameter))
    ours = {"norm_position": "output", "qk_norm": "all_heads"}
    if is_gemma:
        ours = {
            "norm_position": "both",
            "hidden_act": "split_gelu_tanh",
            "attention_scale": 20**-0.5,
            "embedding_multiplier": 32**0.5,
            "layer_types": ["sliding_attention", "full_attention"],
            **{name: gemma[name] for name in ("sliding_window", "attn_logit_softcapping", "final_logit_softcapping")},
        }
    twin = ComplexLlamaForCausalLM(ComplexLlamaConfig(**sizes, number_field="real", **ours)).eval()
    twin.load_state_dict(
        {
            name.replace("lm_head.", "lm_head.projection."): value + (is_gemma and "norm" in name)
            for name, value in model.state_dict().items()
        }
    )
    ids = torch.randint(1, 40, (2, 9))
    for implementation in ("sdpa", "eager"):
        twin.set_attn_implementation(implementation)
        assert_equal(twin(ids).logits, model(ids).logits)


@torch.no_grad()
@pytest.mark.parametrize("score", ["modulus", "real"])
def test_a_window_hides_what_is_further_back(score):
    """In a network of one layer a token depends on the last tokens alone; in all fields, and with a cache."""
    config = ComplexLlamaConfig(**{**SIZES, "num_hidden_layers": 1}, sliding_window=3, attention_score=score)
    model = ComplexLlamaForCausalLM(config).eval()
    ids = torch.randint(1, 40, (1, 8))
    expected = model(ids).logits[:, -1]
    changed = ids.clone()
    changed[:, :5] = (changed[:, :5] + 1) % 40
    assert_equal(model(changed).logits[:, -1], expected)
    changed[:, 5] = (changed[:, 5] + 1) % 40
    assert (model(changed).logits[:, -1] - expected).abs().max() > 1e-3
    first = model(ids[:, :6], use_cache=True)
    assert_equal(model(ids[:, 6:], cache=first.cache).logits[:, -1], expected)
    assert first.cache.layers[0].keys.shape[-2] <= 3


SCALED = {
    "linear": {"factor": 3.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 16},
    "longrope": {
        "short_factor": [1.0, 1.1, 1.2, 1.3],
        "long_factor": [1.0, 2.0, 4.0, 8.0],
        "factor": 4.0,
        "original_max_position_embeddings": 16,
    },
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    },
}


@pytest.mark.parametrize("rope_type", SCALED)
@pytest.mark.parametrize("length", [8, 64])
def test_scaled_rotary_positions_are_those_of_transformers(rope_type, length):
    """Cosines and sines, the attention factor included, before and beyond the original length."""
    sizes = {**SIZES, "max_position_embeddings": 32}
    sizes["rope_parameters"] = {"rope_type": rope_type, "rope_theta": 500.0, **SCALED[rope_type]}
    positions = torch.arange(length)[None]
    cos, sin = LlamaRotaryEmbedding(LlamaConfig(**sizes))(torch.zeros(1), positions)
    found = ComplexLlamaForCausalLM(ComplexLlamaConfig(**sizes)).model.rotary(positions)[:, 0]
    torch.testing.assert_close(found, torch.cat([cos[..., :4], sin[..., :4]], -1), rtol=0, atol=5e-6)
