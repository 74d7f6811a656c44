# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex Llama is Llama in the real field; in the complex field every real Llama is one of its networks."""

import numpy as np
import pytest
import torch
from transformers import DataCollatorWithFlattening, LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexLlamaForSequenceClassification,
    ComplexLlamaForTokenClassification,
)
from complex_transformers.models.base.positions import token_positions
from complex_transformers.models.complex_llama import modeling_complex_llama
from families import CASES, CLASSIFIER
from oracles import assert_close, bias, r, softmax, weight, z
from refusals import refused

SIZES = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "position_type": "rotary",
    "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
}
REAL = {"number_field": "real"}
GREEDY = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
SETTINGS = {
    "plain": {},
    "biases, tied": {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    "wide heads": {"head_dim": 12, "num_key_value_heads": 1},
    "yarn": {
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 500.0,
            "factor": 4.0,
            "original_max_position_embeddings": 4,
        }
    },
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
            network(ids[:, start:end], cache=cache, use_cache=True)
            for network, cache in zip((model, twin), caches, strict=True)
        ]
        caches = tuple(out.cache for out in outs)
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


# --- one text in complex128 ------------------------------------------------------------------------------------------


def silu(values):
    return values / (1.0 + np.exp(-values))


def applied(layer, values):
    """W z + b, or W conj(z) + b."""
    values = values.conj() if type(layer).__name__ == "ConjugateLinear" else values
    return values @ weight(layer).T + bias(layer)


def normalized(norm, values):
    """By the root of the mean |z|^2, with a gain for each part."""
    out = values / np.sqrt((np.abs(values) ** 2).mean(-1, keepdims=True) + 1e-5)
    real, imag = np.split(r(norm.weight), 2)
    return out.real * real + 1j * out.imag * imag


def attended(layer, values, angles, groups):
    """The attention of one text, head by head; token t turns by ``angles[t, k]``."""
    turn, d, contexts = np.exp(1j * angles), angles.shape[1], []
    for head in range(layer.num_heads):
        own, shared = slice(head * d, (head + 1) * d), slice(head // groups * d, (head // groups + 1) * d)
        query = applied(layer.q_proj, values)[:, own] * turn
        key = applied(layer.k_proj, values)[:, shared] * turn
        scores = (query @ key.conj().T).real / np.sqrt(d)
        weights = softmax(np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf))
        if layer.score == "cosine":  # phase-coherent: of unit vectors, weights that are not normalised
            norms = [np.sqrt((np.abs(x) ** 2).sum(-1)) for x in (query, key)]
            cosines = scores * np.sqrt(d) / np.outer(*norms)
            weights = np.tril(1.0 / (1.0 + np.exp(-np.sqrt(d) * cosines - layer.sigmoid.score_bias.item())))
        contexts.append(weights @ applied(layer.v_proj, values)[:, shared])
    context = np.concatenate(contexts, axis=1)
    return applied(layer.o_proj, context if layer.sub_norm is None else normalized(layer.sub_norm, context))


def fed(mlp, values, config):
    gate, up = applied(mlp.gate_proj, values), applied(mlp.up_proj, values)
    if config.hidden_act == "relu2":  # iFairy
        square = gate.real**2 + 1j * gate.imag**2
        gated = np.where((gate.real < 0) & (gate.imag < 0), 0.0, square).conj() * up
    else:
        gated = (silu(gate.real) + 1j * silu(gate.imag)) * up
    return applied(mlp.down_proj, gated if mlp.sub_norm is None else normalized(mlp.sub_norm, gated))


def oracle(model, ids):
    """Logits of one text ``[T]``."""
    config, base = model.config, model.model
    t = np.arange(len(ids))[:, None]
    d = config.head_dim // 2
    angles = t * 500.0 ** (-np.arange(d) / d)
    if config.position_type == "complex_order":
        table = base.embed_tokens
        values = r(table.amplitude)[ids] * np.exp(1j * r(table.frequency)[ids] * (t + 1))
        angles = 0.0 * angles
    else:
        values = z(base.embed_tokens.weight)[ids]
    if config.position_type == "rotary_word":
        angles = angles + t * r(base.rotary.frequency)[ids]
    for layer in base.layers:
        mixed = attended(layer.self_attn, normalized(layer.input_layernorm, values), angles, 2)
        values = values + mixed
        values = values + fed(layer.mlp, normalized(layer.post_attention_layernorm, values), config)
    values = normalized(base.norm, values)
    return np.concatenate([values.real, values.imag], axis=1) @ r(model.lm_head.projection.weight).T


FAIRY = {"linear_type": "conjugate", "gate_product": "conj", "hidden_act": "relu2", "sub_norms": True}
WAVES = {"position_type": "complex_order", "rope_parameters": None}
PHASE_COHERENT = {"attention_score": "cosine", "attention_normalization": "sigmoid", "max_position_embeddings": 5}


@torch.no_grad()
@pytest.mark.parametrize(
    "changes", [{}, FAIRY, {"position_type": "rotary_word"}, WAVES, {"mlp_bias": True}, PHASE_COHERENT], ids=str
)
def test_logits_in_complex128(changes):
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**SIZES, **changes})).double().eval()
    for parameter in model.parameters():
        parameter.add_(0.3 * torch.randn_like(parameter))
    ids = torch.randint(0, 40, (2, 7))
    for text, logits in zip(ids, model(ids).logits, strict=True):
        expected = oracle(model, text.numpy())
        assert expected.std() > 0.1
        assert_close(r(logits), expected, 1e-9)


# --- positions -------------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_words_that_all_turn_alike_are_rotary_positions_bit_for_bit():
    torch.manual_seed(0)
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES)).eval()
    words = ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**SIZES, "position_type": "rotary_word"})).eval()
    missing = words.load_state_dict(model.state_dict(), strict=False).missing_keys
    assert missing == ["model.rotary.frequency"]
    ids, mask = torch.randint(0, 40, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    mask[0, :4] = 0
    assert torch.equal(words(ids, attention_mask=mask).logits, model(ids, attention_mask=mask).logits)
    words.model.rotary.frequency.normal_()
    assert (words(ids).logits - model(ids).logits).abs().max() > 1e-2
    with pytest.raises(
        ValueError, match="input_ids must be given with position_type='rotary_word', got inputs_embeds"
    ):
        words(inputs_embeds=torch.zeros(1, 2, 32))


@torch.no_grad()
def test_a_long_text_turns_exactly(monkeypatch):
    """The last logits of words at a million are those at the beginning: distances are all that counts."""
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES)).eval()
    ids = torch.randint(0, 40, (1, 12))
    expected = model(ids).logits
    inside, far = modeling_complex_llama.token_positions, 1_000_000
    monkeypatch.setattr(modeling_complex_llama, "token_positions", lambda *args: inside(*args) + far)
    torch.testing.assert_close(model(ids).logits, expected, rtol=0, atol=2e-5)


# --- heads, configurations -------------------------------------------------------------------------------------------


@torch.no_grad()
def test_the_last_token_is_classified():
    model = ComplexLlamaForSequenceClassification(ComplexLlamaConfig(**SIZES, num_labels=3)).eval()
    ids, mask = torch.randint(0, 40, (3, 6)), torch.tensor([[1] * 6, [0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    states = model.model(ids, attention_mask=mask).last_hidden_state
    last = states[torch.arange(3), torch.tensor([5, 5, 2])]
    torch.testing.assert_close(model(ids, attention_mask=mask).logits, model.classifier(last))
    torch.testing.assert_close(model(ids).logits, model.classifier(model.model(ids).last_hidden_state[:, -1]))
    assert torch.equal(model(ids, position_ids=torch.arange(6)[None]).logits, model(ids).logits)
    with pytest.raises(ValueError, match="position_ids restart within a row"):
        model(ids, position_ids=torch.tensor([[0, 1, 2, 0, 1, 2]]))


def masks_of_scores(length):
    """Boolean masks ``[1, 1, T, T]`` that do not forget, by name."""
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    prefix, texts, padded = causal.clone(), causal.clone(), causal.clone()
    prefix[:4, :4] = True
    texts[5:, :5] = False
    padded[:, :3] = False
    named = {"causal": causal, "prefix": prefix, "two texts": texts, "left padding": padded}
    return {name: mask[None, None] for name, mask in named.items()}


@torch.no_grad()
def test_masks_of_scores_are_those_of_llama():
    """Also such as add a finite number, as those of BERT do."""
    model = llama()
    twin, ids = twin_of(model), torch.randint(1, 40, (2, 9))
    for name, mask in masks_of_scores(9).items():
        first = 3 if name == "left padding" else 0  # padding says nothing
        expected = model(ids, attention_mask=mask).logits[:, first:]
        for added in (None, -1e9, -1e4, torch.finfo(torch.float32).min):
            given = mask if added is None else torch.zeros(mask.shape).masked_fill(~mask, added)
            assert_equal(twin(ids, attention_mask=given).logits[:, first:], expected)


@torch.no_grad()
def test_positions_are_counted_along_masks_of_scores():
    ids = torch.zeros(1, 9, dtype=torch.long)
    expected = {
        "causal": [1, 2, 3, 4, 5, 6, 7, 8, 9],
        "prefix": [1, 2, 3, 4, 5, 6, 7, 8, 9],
        "two texts": [1, 2, 3, 4, 5, 1, 2, 3, 4],
        "left padding": [1, 1, 1, 1, 2, 3, 4, 5, 6],
    }
    for name, mask in masks_of_scores(9).items():
        assert token_positions(ids, mask, 0).tolist() == [expected[name]]
        static = torch.nn.functional.pad(mask, (0, 4))  # columns of a cache that nothing has filled
        assert token_positions(ids[:, 6:], static[:, :, 6:], 6).tolist() == [expected[name][6:]]
    window = masks_of_scores(9)["causal"].triu(-2)
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES)).eval()
    refused("attention_mask must not be a sliding window", model, ids, attention_mask=window)
    cache = model(ids[:, :4], use_cache=True).cache
    short = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    words = r"\[batch, 1, 5 new tokens, 9 or more keys\], got \(1, 1, 5, 5\)"
    refused(words, model, ids[:, 4:], attention_mask=short, cache=cache)
    refused(r"\[batch, 1, 9 new tokens, 9 or more keys\], got \(1, 1, 5, 5\)", model, ids, attention_mask=short)


@torch.no_grad()
@pytest.mark.parametrize("family", ["complex_llama", "complex_transfo_xl"])
def test_without_a_mask_a_text_ends_before_its_padding(family):
    case = next(case for case in CASES if case.family == family and case.head[0] == CLASSIFIER)
    model, ids = case.trained(pad_token_id=0), torch.tensor([[5, 3, 0, 7], [4, 6, 8, 9]])
    expected = model(ids).logits
    for padding in (1, 3):
        padded = torch.nn.functional.pad(ids, (0, padding))
        torch.testing.assert_close(model(padded).logits, expected, atol=2e-5, rtol=1e-4)
    embeds = model.get_input_embeddings()(padded)  # of which nobody can tell
    assert (model(inputs_embeds=embeds).logits - expected).abs().max() > 1e-3


REFUSED = [
    ({"rope_parameters": {"rope_type": "axial", "rope_theta": 1e4}}, "rope_type must be one of .*, got 'axial'"),
    (
        {"position_type": "rotary_word", "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
        "rope_parameters must have rope_type='default', .* for position_type='rotary_word'",
    ),
    (
        {"position_type": "polar", "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}},
        "rope_parameters must have rope_type='default', .* for position_type='polar'",
    ),
    ({"position_type": "polar", "embedding_type": "complex_order"}, "embedding_type .* position_type='polar'"),
    ({"position_type": "polar", "embedding_type": "learned_position"}, "embedding_type .* position_type='polar'"),
    (
        {"imaginary_heads": "equal_heads", "num_key_value_heads": 4},
        "num_key_value_heads must divide half of num_attention_heads=4, got 4",
    ),
    ({"rope_parameters": {"rope_theta": 0.0}}, "rope_theta must be positive and finite, got 0.0"),
    ({"embedding_type": "complex_order"}, "embedding_type must be 'word' for position_type='rotary'"),
    ({"num_key_value_heads": 3}, "num_key_value_heads must divide num_attention_heads=4, got 3"),
    ({"head_dim": 7}, "even rotary dimension, but got `head_dim`=7"),
    ({"hidden_size": 24, "num_attention_heads": 8}, r"head_dim \(halves\) must be even, got 3"),
    (
        {"attn_logit_softcapping": 9.0, "attention_score": "modulus", "attention_normalization": "split_softmax"},
        "attention_normalization must be 'softmax' with attn_logit_softcapping",
    ),
    (
        {"attention_score": "cosine", "attention_normalization": "split_softmax"},
        "attention_normalization must be 'softmax' or 'sigmoid' with attention_score='cosine', got 'split_softmax'",
    ),
    ({"no_rope_layers": [1]}, r"no_rope_layers must have at least 2 entries, got \[1\]"),
    ({"hidden_size": 38}, "num_attention_heads must divide the width 38, got 4"),
    ({**REAL, "linear_type": "widely_linear"}, "linear_type must be .* with number_field='real', got 'widely_linear'"),
    ({**REAL, "gate_product": "conj"}, "gate_product must be .* with number_field='real', got 'conj'"),
    ({**REAL, "norm_scale": "modulus"}, "norm_scale must be .* with number_field='real', got 'modulus'"),
    ({"layer_types": ["sliding_attention"] * 2}, "sliding_window must be positive for layer_types"),
    ({"layer_types": ["chunked_attention"] * 2}, "layer_types must be one of .*, got 'chunked_attention'"),
    ({"tie_word_embeddings": True, "lm_readout": "modulus"}, "lm_readout must be .* with tie_word_embeddings=True"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[str(changes) for changes, _ in REFUSED])
def test_configurations_that_cannot_be(changes, message):
    with pytest.raises(Exception, match=message):
        ComplexLlamaConfig(**{**SIZES, **changes})


def test_what_follows_from_the_field_and_old_names():
    config = ComplexLlamaConfig(**{**SIZES, "rope_parameters": None}, rope_theta=77.0)
    assert config.rope_parameters == {"rope_type": "default", "rope_theta": 77.0}
    follows = ("gate_product", "linear_type", "norm_scale", "embedding_type", "num_key_value_heads", "head_dim")
    assert [getattr(config, name) for name in follows] == ["complex", "complex", "modulus", "word", 2, 8]
    twin = ComplexLlamaConfig(**{**SIZES, **FAIRY}).real_twin()
    assert [getattr(twin, name) for name in follows[:3]] == ["parts", "real", "stored"]
    assert twin.sub_norms
    assert ComplexLlamaConfig(attention_bias=True).attention_output_bias
    assert not ComplexLlamaConfig(attention_bias=True, attention_output_bias=False).attention_output_bias


@torch.no_grad()
@pytest.mark.parametrize("head", [ComplexLlamaForSequenceClassification, ComplexLlamaForTokenClassification])
def test_a_classifier_continues_from_a_cache(head):
    model = head(ComplexLlamaConfig(**SIZES, num_labels=3)).eval()
    ids = torch.tensor([[3, 4, 5, 6]])
    whole = model(ids).logits
    cache = model.model(ids[:, :2], use_cache=True).cache
    found = model(ids[:, 2:], cache=cache).logits
    torch.testing.assert_close(found, whole[:, 2:] if whole.dim() == 3 else whole)
    assert "cache" not in model(ids)


@torch.no_grad()
@pytest.mark.parametrize("position_type", ["rotary", "rotary_word", "polar", "polar_word", "complex_order"])
@pytest.mark.parametrize("score", ["real", "modulus", "cosine"])
@pytest.mark.parametrize("window", [None, 2])
def test_packed_rows_equal_rows_of_their_own(position_type, score, window):
    sizes = {name: value for name, value in SIZES.items() if name != "rope_parameters"}
    sizes |= PHASE_COHERENT if score == "cosine" else {}
    sizes |= {"position_type": position_type, "attention_score": score, "sliding_window": window}
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**sizes))
    texts = [torch.randint(1, 40, (1, length)) for length in (3, 5, 2)]
    expected = torch.cat([model.eval()(text).logits for text in texts], dim=1)
    collated = DataCollatorWithFlattening(return_flash_attn_kwargs=True)([{"input_ids": t[0].tolist()} for t in texts])
    ids, boundaries = collated["input_ids"], collated["cu_seq_lens_q"]
    for given in ({"position_ids": collated["position_ids"]}, {"cu_seq_lens_q": boundaries}):
        torch.testing.assert_close(model(ids, **given).logits, expected)
    assert (model(ids).logits - expected).abs().max() > 1e-3


@torch.no_grad()
def test_positions_from_outside_turn_as_those_of_llama():
    model = llama()
    twin, ids = twin_of(model), torch.randint(1, 40, (2, 6))
    mask = torch.ones_like(ids)
    for positions in (torch.arange(6)[None], torch.arange(7, 13)[None], torch.tensor([[0, 2, 4, 6, 8, 10]] * 2)):
        given = {"attention_mask": mask, "position_ids": positions}
        assert_equal(twin(ids, **given).logits, model(ids, **given).logits)


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
