# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A lifted decoder computes the logits and generates the tokens of the original, for every pairing."""

import pytest
import torch
from lifted_models import KINDS, WORDS, of_another_class, real_model
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BitsAndBytesConfig,
    Cohere2Config,
    Gemma3Config,
    LlamaForCausalLM,
    LlamaForQuestionAnswering,
    MixtralConfig,
    PhiConfig,
    StaticCache,
)

from complex_transformers import ComplexLlamaForCausalLM, lift
from complex_transformers.conversion.features import halves_of_heads, pairing_order
from complex_transformers.conversion.lift import lift_weights
from complex_transformers.conversion.lift_families import head_dim, rotary_dim
from complex_transformers.nn import WidelyLinear
from refusals import refused

every_kind = pytest.mark.parametrize("kind", KINDS)
SOME = ("llama, tied, biases", "gemma3")
some_kinds = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in SOME else pytest.mark.full) for kind in KINDS]
)
GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None}


def assert_equal(found, expected, tolerance=1e-5):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def padded_batch():
    """Return three sequences, the first two padded on the left."""
    ids, mask = torch.randint(3, WORDS, (3, 9)), torch.ones(3, 9, dtype=torch.long)
    mask[0, :4], mask[1, :1] = 0, 0
    return ids.masked_fill(mask == 0, 0), mask


@torch.no_grad()
@every_kind
def test_logits_and_texts_are_those_of_the_original(kind):
    model = real_model(kind)
    lifted = lift(model)
    ids, mask = padded_batch()
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    expected = model(ids, attention_mask=mask, position_ids=positions).logits
    assert expected.std() > 0.5
    assert_equal(lifted(ids, attention_mask=mask).logits[mask.bool()], expected[mask.bool()])
    assert_equal(lifted(ids[2:]).logits, expected[2:])
    written = lifted.generate(ids, attention_mask=mask, **GREEDY)
    assert written.tolist() == model.generate(ids, attention_mask=mask, **GREEDY).tolist()
    assert len({tuple(row) for row in written[:, 9:].tolist()}) == 3
    assert lifted.num_parameters() == model.num_parameters()
    assert not lifted.training


@torch.no_grad()
@every_kind
def test_layers_are_those_of_the_original(kind):
    """Compare every layer and the cached values, so that errors cannot cancel."""
    model, ids = real_model(kind), torch.randint(3, WORDS, (2, 5))
    lifted = lift(model)
    theirs, ours = (network(ids, use_cache=True, output_hidden_states=True) for network in (model, lifted))
    for found, expected in zip(ours.hidden_states, theirs.hidden_states, strict=True):
        assert_equal(found, expected)
    order = halves_of_heads(1, head_dim(model.config), rotary_dim(model.config))
    for found, expected in zip(ours.cache.layers, theirs.cache.layers, strict=True):
        assert_equal(found.keys, expected.keys[..., order])
        assert_equal(found.values, expected.values[..., order])


@torch.no_grad()
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "dynamic" not in kind and "longrope" not in kind])
def test_a_cache_changes_nothing(kind):
    """Generate beyond the windows; dynamic frequencies, which depend on the length, are excluded."""
    lifted = lift(real_model(kind))
    ids, mask = padded_batch()
    expected = lifted(ids, attention_mask=mask).logits
    cache, pieces = None, []
    for start, end in ((0, 3), (3, 4), (4, 8), (8, 9)):
        out = lifted(ids[:, start:end], attention_mask=mask[:, :end], cache=cache, use_cache=True)
        cache = out.cache
        pieces.append(out.logits)
    assert_equal(torch.cat(pieces, 1)[mask.bool()], expected[mask.bool()])


@torch.no_grad()
@pytest.mark.parametrize(
    "kind", ["llama 3", "mistral, window", "qwen2, yarn, window", "smollm3, window", "gemma2", "gemma3", "olmo2"]
)
def test_texts_by_a_static_cache_are_the_same(kind):
    lifted = lift(real_model(kind))
    ids, mask = padded_batch()
    expected = lifted.generate(ids, attention_mask=mask, **GREEDY)
    cache = StaticCache(config=lifted.config, max_cache_len=32)
    assert torch.equal(lifted.generate(ids, attention_mask=mask, cache=cache, **GREEDY), expected)


@torch.no_grad()
@pytest.mark.parametrize(
    "kind",
    [
        "llama",
        "gemma2",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("phi3, longrope, partial, window", "gemma3", "olmo2")
        ),
    ],
)
@pytest.mark.parametrize("head", [AutoModel, AutoModelForSequenceClassification, AutoModelForTokenClassification])
def test_bare_models_and_classifiers_are_those_of_the_original(kind, head, tmp_path):
    if kind in ("gemma3", "olmo2") and head is AutoModelForTokenClassification:
        pytest.skip("Transformers has no such class")
    labels = {f"kind {index}": index for index in range(3)}
    model = of_another_class(real_model(kind), head, id2label={i: name for name, i in labels.items()}, label2id=labels)
    ids, mask = padded_batch()
    expected = model(ids, attention_mask=mask, position_ids=(mask.cumsum(-1) - 1).clamp(min=0))
    model.save_pretrained(tmp_path / "original")
    config = model.config.__class__.from_pretrained(tmp_path / "original")
    for lifted in (lift(model), lift_weights(config, model.state_dict())):
        lifted.save_pretrained(tmp_path / "lifted")
        loaded = head.from_pretrained(tmp_path / "lifted").eval()
        found = loaded(ids, attention_mask=mask)
        name = "last_hidden_state" if head is AutoModel else "logits"
        one, other = found[name], expected[name]
        assert other.std() > 0.1
        padded = one.dim() == 3
        assert_equal(one[mask.bool()] if padded else one, other[mask.bool()] if padded else other)
        assert head is AutoModel or loaded.config.id2label[2] == "kind 2"


def test_a_subclass_is_lifted_as_the_class_it_comes_from():
    class Mine(LlamaForCausalLM):
        pass

    assert isinstance(lift(Mine(real_model().config)), ComplexLlamaForCausalLM)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["llama, tied, biases", "qwen3"])
@pytest.mark.parametrize("pairing", ["interleaved", "random"])
def test_any_pairing_of_the_stream_is_the_same_function(kind, pairing):
    model = real_model(kind)
    order = torch.randperm(32) if pairing == "random" else pairing
    lifted = lift(model, pairing=order)
    ids = torch.randint(3, WORDS, (2, 9))
    assert_equal(lifted(ids).logits, model(ids).logits)
    table, words = model.model.embed_tokens.weight, lifted.model.embed_tokens.weight
    assert not torch.equal(table, words)
    if pairing == "interleaved":
        assert torch.equal(words, torch.cat([table[:, 0::2], table[:, 1::2]], dim=1))


@torch.no_grad()
@some_kinds
def test_saved_and_loaded(kind, tmp_path):
    model = real_model(kind, max_position_embeddings=77)
    model.generation_config.eos_token_id = [2, 3]
    lifted = lift(model)
    lifted.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    assert type(loaded) is ComplexLlamaForCausalLM
    ids = torch.randint(3, WORDS, (2, 9))
    assert torch.equal(loaded(ids).logits, lifted(ids).logits)
    assert loaded.generation_config.eos_token_id == [2, 3]
    assert loaded.config.eos_token_id == 2
    assert loaded.config.max_position_embeddings == 77
    tied = loaded.lm_head.projection.weight is loaded.model.embed_tokens.weight
    assert tied == model.config.tie_word_embeddings == loaded.config.tie_word_embeddings


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_numbers_of_16_bits_are_lifted_exactly_in_float32(dtype):
    model = real_model().to(dtype).float()
    lifted = lift(model)
    for name, layer in lifted.model.layers.named_modules():
        if isinstance(layer, WidelyLinear) and "mlp" in name:
            assert torch.equal(layer.to_real().weight, model.model.layers.get_submodule(name).weight)


def test_dtype_mode_and_several_ends_travel_along():
    model = real_model(eos_token_id=[2, 5]).to(torch.bfloat16).train()
    lifted = lift(model)
    assert lifted.dtype == torch.bfloat16
    assert lifted.training
    assert lifted.config.eos_token_id == [2, 5]
    assert lifted.generation_config.eos_token_id == [2, 5]
    assert lift_weights(model.config, model.state_dict()).generation_config.eos_token_id == [2, 5]


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("llama", {"hidden_act": "tanh"}, r"hidden_act must be one of \['gelu', .* got 'tanh'"),
        ("gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention must be False to be lifted"),
    ],
)
def test_what_the_family_does_not_have_is_named(kind, changes, words):
    refused(words, lift, real_model(kind, **changes))


def test_a_window_that_no_layer_has_is_none():
    model = real_model("qwen2", use_sliding_window=True, sliding_window=8, max_window_layers=2).eval()
    ids = torch.arange(3, 15).unsqueeze(0)  # longer than the window
    torch.testing.assert_close(lift(model).eval()(ids).logits, model(ids).logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", [MixtralConfig(), Cohere2Config(), PhiConfig(), Gemma3Config()])
def test_other_architectures_are_rejected(config):
    words = f"model_type must be one of .*'llama'.* got '{config.model_type}'. Other architectures cannot be lifted"
    refused(words, lift_weights, config, {})


def test_quantized_weights_are_rejected():
    model = real_model()
    model.config.quantization_config = {"quant_method": "gptq", "bits": 4}
    refused(r"quantization_config must be None, got gptq.*dequantize\(\)", lift, model)
    model.config.quantization_config = BitsAndBytesConfig(load_in_8bit=True)
    refused("quantization_config must be None, got bitsandbytes", lift, model)
    model = real_model()
    weights = model.state_dict()
    name = "model.layers.0.mlp.up_proj.weight"
    tensor = weights[name].to(torch.int8)
    refused("up_proj.weight must have floats .* got torch.int8", lift_weights, model.config, {**weights, name: tensor})


def test_tensors_that_do_not_fit_are_named():
    model = real_model("llama, tied, biases")
    weights = dict(model.state_dict())
    config = model.config
    head = weights["lm_head.weight"]
    for other in (head + 1, head[1:]):
        words = "lm_head.weight must equal embed_tokens.weight with tie_word_embeddings=True"
        refused(words, lift_weights, config, {**weights, "lm_head.weight": other})
    missing = {k: v for k, v in weights.items() if k != "model.layers.1.self_attn.k_proj.bias"}
    words = r"Missing key\(s\).*layers.1.self_attn.k_proj.bias"
    refused(words, lift_weights, config, missing, error=RuntimeError)
    for name in ("model.norm.bias", "model.layers.0.self_attn.q_norm.weight"):
        words = rf"Unexpected key\(s\).*{name.removeprefix('model.')}"
        refused(words, lift_weights, config, {**weights, name: torch.zeros(32)}, error=RuntimeError)
    shape = {**weights, "model.layers.0.mlp.up_proj.weight": torch.zeros(47, 32)}
    refused(r"up_proj.weight must have floats of shape \(48, 32\), got .*\(47, 32\)", lift_weights, config, shape)
    words = "class must end in one of ForCausalLM, .* got LlamaForQuestionAnswering"
    refused(words, lift, LlamaForQuestionAnswering(config))
    assert lift_weights(config, {**weights, "model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(4)})


@pytest.mark.parametrize("pairing", [[0] * 32, list(range(31)), torch.arange(64), torch.zeros(4, 8).int()])
def test_a_pairing_is_a_permutation(pairing):
    refused(r"pairing must be a permutation of range\(32\)", pairing_order, pairing, 32)


def test_names_of_pairings():
    refused(r"pairing must be one of \['halves', 'interleaved'\], got 'pairs'", lift, real_model(), "pairs")
