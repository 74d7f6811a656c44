# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configurations: every wrong value of every family names itself and the remedy; defaults; the real twin."""

import warnings
from dataclasses import fields

import pytest
from transformers import PreTrainedConfig

from complex_transformers.models import family_class
from families import FAMILIES, REAL, Case

CONFIGS = {name: family_class(name, "AutoConfig") for name in FAMILIES}
CLASSIC = ("complex_fasttext", "complex_text_cnn", "complex_text_rnn", "complex_text_gcn")
TEXTS = ("complex_order", *CLASSIC)
WIDTHS = ("hidden_size", "intermediate_size", "recurrent_size", "num_filters")
every_family = pytest.mark.parametrize("family", FAMILIES)


def names_of(family, kind=""):
    """The fields of a family whose type allows ``kind``."""
    common = {field.name for field in fields(PreTrainedConfig)}
    return [f.name for f in fields(CONFIGS[family]) if f.name not in common and kind in str(f.type)]


def refuse(family, changes, *parts):
    """An error that has all parts."""
    with pytest.raises(Exception, match=r".") as caught:
        CONFIGS[family](**changes)
    assert [part for part in parts if part not in str(caught.value)] == [], caught.value


@every_family
def test_names_that_there_are_not(family):
    # Their values are not names from a list.
    others = {"position_length", "complex_layers", "layer_types", "relations", "decoder"}
    for name in {*names_of(family, "str"), "number_field"} - others:
        refuse(family, {name: "xavier"}, name.removeprefix("state_"), "must be one of ['", "got 'xavier'")
    for name, some in (("hidden_act", ("split_gelu", "modrelu", "cardioid")), ("weight_init", ("glorot", "unitary"))):
        if name in names_of(family):
            refuse(family, {name: "xavier"}, *some)


@every_family
def test_numbers_out_of_their_range(family):
    floats = names_of(family, "float")
    unused = {"num_points", *({"vocab_size"} - {*CONFIGS[family].positive_sizes})}  # by the default configuration
    counts = [n for n in names_of(family, "int") if n not in floats and "_id" not in n and n not in unused]
    for name in counts:
        wrong = [0] if name in ("kernel_sizes", "cutoffs") else 0
        refuse(family, {name: wrong, **({"attention_type": "luong"} if name == "attention_window" else {})}, name, "0")
    for name in set(WIDTHS) & set(counts):
        wrong = [33] if "list" in str(CONFIGS[family].__dataclass_fields__[name].type) else 33
        refuse(family, {name: wrong}, name, "halves", "33")
    for name in floats:
        for wrong in (-0.1, float("nan"), float("inf")):
            refuse(family, {name: wrong}, name, str(wrong))
        if name.endswith(("_prob", "_dropout", "_smoothing")):
            refuse(family, {name: 1.0}, name, "[0, 1)", "1.0")
        elif name not in ("alpha", "frequency_scale", "time_noise"):
            refuse(family, {name: 0}, name, "positive", "0")


@every_family
def test_values_of_another_type(family):
    for name in names_of(family):
        refuse(family, {name: object()}, name)
        if "int" in str(CONFIGS[family].__dataclass_fields__[name].type):
            refuse(family, {name: "512"}, name)


@every_family
def test_every_field_is_kept_and_integers_are_taken_for_floats(family, tmp_path):
    config_class = CONFIGS[family]
    read = names_of(family, "float")
    changed = {name: 0 if name == "hidden_dropout_prob" else 0.25 for name in read}
    if family in ("complex_mlp", "complex_convnet"):
        changed["norm_type"] = "batch"
    if family == "complex_llama":
        changed["position_type"] = "complex_order"
        del changed["embedding_multiplier"]  # of word embeddings
    if family == "complex_quantum":
        changed["embedding_type"] = "complex_order"
    if family == "complex_recurrent_lm":
        changed |= {"rnn_type": "lru", "embedding_type": "complex_order"}
    changed |= {"weight_init": "unitary", "pad_token_id": 3, "num_labels": 5, "problem_type": "regression"}
    config_class(**changed).save_pretrained(tmp_path)
    again = config_class.from_pretrained(tmp_path)
    assert {name: getattr(again, name) for name in changed} == changed


@every_family
def test_a_wrong_value_set_later_is_refused_when_saved(family, tmp_path):
    changed = CONFIGS[family]()
    changed.hidden_size = 511
    with pytest.raises(Exception, match="hidden_size"):
        changed.save_pretrained(tmp_path)


# Of all text encoders: fields that contradict each other.
CONTRADICTIONS = [
    ({"hidden_size": 33}, ["even", "33. Use 34"]),
    ({"frequency_scale": -1.0}, ["frequency_scale", "at least 0, got -1.0"]),
    ({**REAL, "readout": "modulus"}, ["readout must be 'concat'", "number_field='real', got 'modulus'"]),
    (
        {"amplitude_sharing": "word", "frequency_sharing": "word"},
        ["must not both be 'word'", "all tokens would be equal", "phase='learned'"],
    ),
]
OWN = {
    "complex_order": [
        ({"hidden_size": 32, "num_attention_heads": 5}, ["num_attention_heads", "16 complex features", "5"]),
        # 8 heads divide the width, but not the complex features.
        ({"hidden_size": 40, "num_attention_heads": 8}, ["num_attention_heads", "20 complex features", "8"]),
        (
            {**REAL, "attention_score": "modulus"},
            ["attention_score must be 'real'", "number_field='real', got 'modulus'"],
        ),
        ({**REAL, "share_parts": True}, ["share_parts must be False with number_field='real'"]),
        (
            {"attention_score": "real", "attention_normalization": "split_softmax"},
            ["split_softmax", "modulus", "bilinear_modulus"],
        ),
        (
            {"attention_score": "cosine", "attention_normalization": "probability_amplitude"},
            ["attention_normalization must be 'softmax' or 'sigmoid' with attention_score='cosine'"],
        ),
        ({"tie_word_embeddings": True}, ["tie_word_embeddings=True", "'feature_modulus'", "got 'concat'"]),
        (
            {"tie_word_embeddings": True, "lm_readout": "feature_modulus", "amplitude_sharing": "dimension"},
            ["amplitude_sharing must be 'none' with a tied head, got 'dimension'"],
        ),
    ],
    "complex_text_cnn": [
        ({"kernel_sizes": []}, ["kernel_sizes", "non-empty", "[]"]),
        ({"kernel_sizes": [3, 0]}, ["kernel_sizes", "positive", "[3, 0]"]),
        ({"kernel_sizes": [3.5]}, ["kernel_sizes"]),
    ],
    "complex_text_rnn": [
        ({"rnn_type": "rnn", "gate": "modulus"}, ["gate must be 'split'", "rnn_type='rnn'", "got 'modulus'"]),
        ({**REAL, "gate": "modulus"}, ["gate must be 'split'", "number_field='real', got 'modulus'"]),
        ({"state_activation": "zrelu"}, ["activation must be one of", "'cardioid'", "'split_tanh'", "got 'zrelu'"]),
    ],
}


@pytest.mark.parametrize("family", TEXTS)
def test_fields_that_contradict_each_other(family):
    for changes, parts in (*CONTRADICTIONS, *OWN.get(family, ())):
        refuse(family, changes, *parts)


PAPER = {
    "complex_order": {
        "num_hidden_layers": 1,
        "num_attention_heads": 8,
        "intermediate_size": 1024,
        "attention_score": "modulus",
        "attention_normalization": "softmax",
        "norm_type": "layer",
        "norm_position": "post",
    },
    "complex_fasttext": {},
    "complex_text_cnn": {"kernel_sizes": [3, 4, 5], "num_filters": 256, "hidden_act": "split_relu"},
    "complex_text_rnn": {"rnn_type": "lstm", "num_hidden_layers": 1, "pooling": "last", "gate": "projected"},
    "complex_text_gcn": {"num_hidden_layers": 2, "window_size": 2},
}
SIX_LAYERS = {"num_hidden_layers": 6, "num_attention_heads": 8, "complex_size": 512}
SYNTAX = {"rnn_type": "gru", "attention_type": "bahdanau", "lm_readout": "concat", "gate": "projected"}
# What depends on the number field or on another choice where it is not given.
FOLLOWS = [
    ("complex_order", REAL, {"attention_score": "real"}),
    ("complex_text_rnn", REAL, {"gate": "split"}),
    ("complex_text_rnn", {"rnn_type": "rnn"}, {"gate": "split"}),
    *((family, REAL, {"readout": "concat"}) for family in TEXTS),
    *((family, {}, {"readout": "modulus", "embedding_type": "complex_order"}) for family in TEXTS),
    *((family, {}, {"hidden_size": 512, "complex_size": 256, **paper}) for family, paper in PAPER.items()),
    ("complex_seq2seq", {}, {**SIX_LAYERS, "encoder_layers": 6, "decoder_layers": 6, "hidden_dropout_prob": 0.1}),
    ("complex_transfo_xl", {}, {**SIX_LAYERS, "mem_len": 512, "attention_score": "modulus"}),
    ("complex_transfo_xl", {**REAL, "embedding_type": "word"}, {"attention_score": "real"}),
    ("synconmt", {"vocab_size": 9}, {**SYNTAX, "complex_size": 512, "num_hidden_layers": 1, "num_words": (9, 9)}),
]


def test_defaults_are_the_paper_and_follow_the_field():
    for family, changes, expected in FOLLOWS:
        config = CONFIGS[family](**changes)
        assert {name: getattr(config, name) for name in expected} == expected


# Family -> what only complex numbers have -> what the real twin has instead.
COMPLEX_ONLY = {
    "complex_order": {
        "attention_score": ("bilinear_modulus", "real"),
        "attention_normalization": ("split_softmax", "softmax"),
        "lm_readout": ("modulus", "concat"),
        "linear_type": ("complex", "real"),
        "share_parts": (True, False),
    },
    "complex_text_rnn": {"gate": ("modulus", "split")},
}


@pytest.mark.parametrize("family", TEXTS)
def test_the_real_twin_differs_in_the_field_alone(family):
    own = {"readout": ("squared_modulus", "concat"), **COMPLEX_ONLY.get(family, {})}
    kept = {"hidden_dropout_prob": 0.25, "weight_init": "unitary", "pad_token_id": 3, "num_labels": 5}
    waves = {"frequency_sharing": "word", "phase": "per_dimension", "damping": "learned", "frequency_init": "uniform"}
    config = CONFIGS[family](**kept, **waves, **{name: values[0] for name, values in own.items()})
    before, twin = config.to_dict(), config.real_twin()
    assert config.to_dict() == before
    expected = {"number_field": "real", **{name: values[1] for name, values in own.items()}}
    assert {name: value for name, value in twin.to_dict().items() if before[name] != value} == expected
    assert config.real_twin(hidden_size=96).hidden_size == 96


def test_the_real_twin_keeps_what_both_fields_have():
    config = CONFIGS["complex_text_rnn"](state_activation="squared_modulus")
    assert config.real_twin().state_activation == "squared_modulus"
    for family in ("complex_order", "complex_seq2seq", "complex_llama"):
        twin = CONFIGS[family](attention_score="cosine", attention_normalization="sigmoid").real_twin()
        assert (twin.attention_score, twin.attention_normalization) == ("cosine", "sigmoid")


@pytest.mark.parametrize("family", ["complex_transfo_xl", "spectral_transformer"])
def test_phase_coherent_attention_is_refused_where_it_is_not_implemented(family):
    refuse(family, {"attention_score": "cosine", "attention_normalization": "softmax"}, "attention_score", "'cosine'")
    refuse(family, {"attention_normalization": "sigmoid"}, "attention_normalization", "'sigmoid'")


@pytest.mark.parametrize("family", TEXTS)
def test_the_real_twin_has_twice_the_weights_of_every_layer(family):
    ours = Case(family, next(iter(FAMILIES[family].variants))).build()
    twin = type(ours)(ours.config.real_twin())

    def layers(model):
        # What a gate reads of both parts has no real counterpart: two numbers a unit.
        weights = {name: p.numel() for name, p in model.model.named_parameters() if p.dim() > 1}
        return {name: size for name, size in weights.items() if "embed" not in name and "gate_weight" not in name}

    assert sum(layers(twin).values()) == 2 * sum(layers(ours).values()) > 0


def test_an_alias_is_validated_and_can_be_set_later():
    config = CONFIGS["complex_llama"](attention_dropout=0.1)
    config.attention_dropout = 0.2
    assert config.attention_probs_dropout_prob == 0.2
    assert "attention_dropout" not in config.to_dict()
    refuse("complex_llama", {"attention_dropout": 1.5}, "attention_probs_dropout_prob", "1.5")


@pytest.mark.parametrize(
    ("unknown", "known"),
    [("num_attention_head", "num_attention_heads"), ("embeding_type", "embedding_type")],
)
def test_an_unknown_name_that_resembles_a_field_warns(unknown, known, tmp_path):
    config_class = CONFIGS["complex_order"]
    with pytest.warns(UserWarning, match=f"no field '{unknown}', did you mean '{known}'"):
        config = config_class(**{unknown: 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.save_pretrained(tmp_path)
        assert getattr(config_class.from_pretrained(tmp_path), unknown) == 2
        assert config_class(annotator="me", num_labels=3, use_cache=False).annotator == "me"
