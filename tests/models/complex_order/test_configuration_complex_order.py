# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrderConfig: every wrong value is an error that names it and the remedy; a round trip changes nothing."""

import json

import pytest

from complex_transformers import ComplexOrderConfig, ComplexOrderForMaskedLM


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"hidden_size": 33}, ["hidden_size", "even", "33", "34"]),
        ({"intermediate_size": 65}, ["intermediate_size", "even", "65", "66"]),
        ({"hidden_size": 32, "num_attention_heads": 5}, ["num_attention_heads", "16 complex features", "5"]),
        # 8 heads divide the width, but not the complex features.
        ({"hidden_size": 40, "num_attention_heads": 8}, ["num_attention_heads", "20 complex features", "8"]),
        ({"num_hidden_layers": 0}, ["num_hidden_layers", "positive", "0"]),
        ({"vocab_size": -3}, ["vocab_size", "positive", "-3"]),
        ({"hidden_dropout_prob": 1.5}, ["hidden_dropout_prob", "[0, 1)", "1.5"]),
        ({"classifier_dropout": -0.1}, ["classifier_dropout", "[0, 1)", "-0.1"]),
        ({"layer_norm_eps": 0.0}, ["layer_norm_eps", "positive", "0.0"]),
        ({"hidden_act": "gelu"}, ["hidden_act", "'gelu'", "split_gelu", "modrelu", "cardioid"]),
        ({"weight_init": "xavier"}, ["weight_init", "'xavier'", "glorot", "he", "unitary", "normal"]),
        ({"embedding_type": "bert"}, ["embedding_type", "'bert'", "complex_order", "complex_vanilla", "word"]),
        ({"norm_type": "instance"}, ["norm_type", "'instance'", "batch", "layer", "rms"]),
        ({"norm_position": "middle"}, ["norm_position", "'middle'", "post", "pre"]),
        ({"attention_score": "cosine"}, ["attention_score", "'cosine'", "modulus", "real", "bilinear_modulus"]),
        (
            {"attention_normalization": "sparsemax"},
            ["attention_normalization", "'sparsemax'", "softmax", "probability_amplitude", "split_softmax"],
        ),
        ({"readout": "angle"}, ["readout", "'angle'", "modulus", "squared_modulus", "concat", "feature_modulus"]),
        ({"lm_readout": "angle"}, ["lm_readout", "'angle'", "concat"]),
        ({"number_field": "quaternion"}, ["number_field", "'quaternion'", "complex", "real"]),
        ({"amplitude_sharing": "all"}, ["amplitude_sharing", "'all'", "none", "word", "dimension"]),
        ({"frequency_sharing": "all"}, ["frequency_sharing", "'all'", "none", "word", "dimension"]),
        ({"phase": "fixed"}, ["phase", "'fixed'", "learned", "per_dimension"]),
        ({"damping": "fixed"}, ["damping", "'fixed'", "learned"]),
        ({"frequency_init": "index"}, ["frequency_init", "'index'", "sinusoidal", "normal", "uniform"]),
        # fields that contradict each other
        ({"number_field": "real", "attention_score": "modulus"}, ["'modulus'", "number_field='complex'", "'real'"]),
        ({"number_field": "real", "readout": "modulus"}, ["readout='modulus'", "number_field='complex'", "concat"]),
        ({"number_field": "real", "share_parts": True}, ["share_parts=True", "number_field='complex'"]),
        (
            {"attention_score": "real", "attention_normalization": "split_softmax"},
            ["split_softmax", "modulus", "bilinear_modulus"],
        ),
        ({"embedding_type": "word", "phase": "learned"}, ["phase='learned'", "no effect", "'word'", "complex_order"]),
        (
            {"embedding_type": "complex_vanilla", "frequency_init": "normal"},
            ["frequency_init='normal'", "no effect", "complex_vanilla"],
        ),
        (
            {"amplitude_sharing": "word", "frequency_sharing": "word"},
            ["every word the same embedding", "share one of the two", "phase='learned'"],
        ),
        ({"tie_word_embeddings": True}, ["tie_word_embeddings=True", "lm_readout='feature_modulus'", "'concat'"]),
        (
            {"tie_word_embeddings": True, "lm_readout": "feature_modulus", "amplitude_sharing": "dimension"},
            ["tie_word_embeddings=True", "amplitude_sharing='dimension'"],
        ),
    ],
)
def test_wrong_value_names_itself_and_the_remedy(changes, parts):
    with pytest.raises(Exception, match=r".") as caught:
        ComplexOrderConfig(**changes)
    message = str(caught.value)
    assert [part for part in parts if part not in message] == [], message


@pytest.mark.parametrize("changes", [{"hidden_size": "512"}, {"share_parts": "yes"}, {"hidden_act": None}])
def test_wrong_type_names_the_field(changes):
    with pytest.raises(Exception, match=next(iter(changes))):
        ComplexOrderConfig(**changes)


def test_defaults_are_the_paper_and_follow_the_field():
    config = ComplexOrderConfig()
    assert (config.hidden_size, config.complex_size, config.num_hidden_layers) == (512, 256, 1)
    assert (config.num_attention_heads, config.intermediate_size) == (8, 1024)
    assert (config.attention_score, config.attention_normalization) == ("modulus", "softmax")
    assert (config.readout, config.norm_type, config.norm_position) == ("modulus", "layer", "post")
    real = ComplexOrderConfig(number_field="real")
    assert (real.attention_score, real.readout) == ("real", "concat")


def test_integers_are_taken_where_floats_are_meant():
    config = ComplexOrderConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0, classifier_dropout=0)
    assert config.hidden_dropout_prob == 0


EVERY_FIELD_CHANGED = {
    "vocab_size": 77,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "intermediate_size": 20,
    "hidden_act": "modrelu",
    "hidden_dropout_prob": 0.25,
    "attention_probs_dropout_prob": 0,
    "classifier_dropout": 0.5,
    "amplitude_sharing": "dimension",
    "frequency_sharing": "word",
    "phase": "per_dimension",
    "damping": "learned",
    "frequency_init": "uniform",
    "attention_score": "bilinear_modulus",
    "attention_normalization": "probability_amplitude",
    "share_parts": True,
    "norm_type": "rms",
    "norm_position": "pre",
    "readout": "squared_modulus",
    "lm_readout": "modulus",
    "weight_init": "unitary",
    "initializer_range": 0.1,
    "layer_norm_eps": 1e-6,
    "pad_token_id": 3,
    "num_labels": 5,
    "problem_type": "regression",
}


def test_json_round_trip_keeps_every_field(tmp_path):
    config = ComplexOrderConfig(**EVERY_FIELD_CHANGED)
    config.save_pretrained(tmp_path)
    again = ComplexOrderConfig.from_pretrained(tmp_path)
    assert again.to_dict() == config.to_dict()
    stored = json.loads((tmp_path / "config.json").read_text())
    assert stored["model_type"] == "complex_order"
    for name, value in EVERY_FIELD_CHANGED.items():
        assert getattr(again, name) == value


def test_wrong_value_set_later_is_refused_when_saved(tmp_path):
    config = ComplexOrderConfig()
    config.hidden_size = 511
    with pytest.raises(Exception, match="hidden_size"):
        config.save_pretrained(tmp_path)


def test_real_twin_costs_the_same_and_is_valid():
    config = ComplexOrderConfig(
        vocab_size=50,
        hidden_size=16,
        num_attention_heads=4,
        intermediate_size=24,
        attention_normalization="split_softmax",
        readout="squared_modulus",
        lm_readout="modulus",
        share_parts=True,
        num_labels=4,
    )
    twin = config.real_twin(num_hidden_layers=2)
    assert config.number_field == "complex"  # unchanged
    assert (twin.number_field, twin.attention_score, twin.readout, twin.lm_readout) == (
        "real",
        "real",
        "concat",
        "concat",
    )
    assert twin.attention_normalization == "softmax"
    assert not twin.share_parts
    assert (twin.hidden_size, twin.intermediate_size, twin.num_hidden_layers, twin.num_labels) == (16, 24, 2, 4)
    kept = config.real_twin()
    changed = {k for k, v in kept.to_dict().items() if config.to_dict()[k] != v}
    assert changed == {
        "number_field",
        "attention_score",
        "attention_normalization",
        "readout",
        "lm_readout",
        "share_parts",
    }


def test_real_twin_has_twice_the_weights_in_every_dense_layer():
    config = ComplexOrderConfig(vocab_size=50, hidden_size=16, num_attention_heads=4, intermediate_size=24)
    ours, twin = ComplexOrderForMaskedLM(config), ComplexOrderForMaskedLM(config.real_twin())
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        complex_layer = getattr(ours.model.layers[0].self_attn, name)
        real_layer = getattr(twin.model.layers[0].self_attn, name)
        assert real_layer.weight.numel() == 2 * (complex_layer.real.weight.numel() + complex_layer.imag.weight.numel())
