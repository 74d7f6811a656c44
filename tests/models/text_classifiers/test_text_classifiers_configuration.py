# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configurations of the text classifiers: wrong values name themselves and the remedy; round trips; the real twin."""

import json

import pytest
import torch
from small_classifiers import FAMILIES, FIELDS, classifier, config, name_of
from torch import nn

from complex_transformers.nn.activation import ACT2CFN

WRONG_ANYWHERE = [
    ({"vocab_size": 0}, ["vocab_size", "positive", "0"]),
    ({"hidden_size": 33}, ["hidden_size", "even", "33", "34"]),
    ({"hidden_size": -2}, ["hidden_size", "positive", "-2"]),
    ({"hidden_dropout_prob": 1.0}, ["hidden_dropout_prob", "[0, 1)", "1.0"]),
    ({"classifier_dropout": -0.1}, ["classifier_dropout", "[0, 1)", "-0.1"]),
    ({"initializer_range": 0}, ["initializer_range", "positive", "0"]),
    ({"hidden_act": "gelu"}, ["hidden_act", "'gelu'", "split_gelu", "modrelu"]),
    ({"weight_init": "xavier"}, ["weight_init", "'xavier'", "glorot", "he", "unitary", "normal"]),
    ({"embedding_type": "bert"}, ["embedding_type", "'bert'", "complex_order", "complex_vanilla", "word"]),
    ({"number_field": "quaternion"}, ["number_field", "'quaternion'", "complex", "real"]),
    ({"readout": "angle"}, ["readout", "'angle'", "modulus", "squared_modulus", "concat", "feature_modulus"]),
    ({"number_field": "real", "readout": "modulus"}, ["readout='modulus'", "number_field='complex'", "concat"]),
    ({"amplitude_sharing": "all"}, ["amplitude_sharing", "'all'", "none", "word", "dimension"]),
    ({"frequency_sharing": "all"}, ["frequency_sharing", "'all'", "none", "word", "dimension"]),
    ({"phase": "fixed"}, ["phase", "'fixed'", "learned", "per_dimension"]),
    ({"damping": "fixed"}, ["damping", "'fixed'", "learned"]),
    ({"frequency_init": "index"}, ["frequency_init", "'index'", "sinusoidal", "normal", "uniform"]),
    ({"embedding_type": "word", "phase": "learned"}, ["phase='learned'", "no effect", "'word'", "complex_order"]),
    (
        {"embedding_type": "complex_vanilla", "frequency_init": "normal"},
        ["frequency_init='normal'", "no effect", "complex_vanilla"],
    ),
    (
        {"amplitude_sharing": "word", "frequency_sharing": "word"},
        ["every word the same embedding", "share one of the two", "phase='learned'"],
    ),
]
REAL = {"number_field": "real"}
WRONG = {
    "fasttext": [({"intermediate_size": 7}, ["intermediate_size", "even", "7", "8"])],
    "cnn": [
        ({"num_filters": 9}, ["num_filters", "even", "9", "10"]),
        ({"num_filters": 0}, ["num_filters", "positive", "0"]),
        ({"intermediate_size": 7}, ["intermediate_size", "even", "7", "8"]),
        ({"kernel_sizes": []}, ["kernel_sizes", "at least one", "[]"]),
        ({"kernel_sizes": [3, 0]}, ["kernel_sizes", "positive", "[3, 0]"]),
    ],
    "rnn": [
        ({"recurrent_size": 7}, ["recurrent_size", "even", "7", "8"]),
        ({"num_hidden_layers": 0}, ["num_hidden_layers", "positive", "0"]),
        ({"rnn_type": "mamba"}, ["rnn_type", "'mamba'", "lstm", "gru", "rnn"]),
        ({"pooling": "max"}, ["pooling", "'max'", "last", "mean"]),
        ({"gate": "hard"}, ["gate", "'hard'", "split", "modulus"]),
        ({"state_activation": "gelu"}, ["activation", "'gelu'", "split_tanh", "hirose_tanh", "split_relu"]),
        ({"rnn_type": "rnn", "gate": "modulus"}, ["gate='modulus'", "no effect", "rnn_type='rnn'", "'split'"]),
        ({"hidden_act": "split_relu"}, ["hidden_act='split_relu'", "no effect", "'split_gelu'", "state_activation"]),
        ({**REAL, "gate": "modulus"}, ["gate='modulus'", "number_field='complex'", "split"]),
        ({**REAL, "state_activation": "hirose_tanh"}, ["hirose_tanh", "number_field='complex'", "split_tanh"]),
        ({**REAL, "state_activation": "split_relu"}, ["split_relu", "number_field='complex'", "split_tanh"]),
    ],
    "gcn": [
        ({"intermediate_size": 7}, ["intermediate_size", "even", "7", "8"]),
        ({"num_hidden_layers": 0}, ["num_hidden_layers", "positive", "0"]),
        ({"window_size": 0}, ["window_size", "positive", "0"]),
    ],
}


@pytest.mark.parametrize(
    ("family", "changes", "parts"), [(f, *case) for f in FAMILIES for case in WRONG_ANYWHERE + WRONG[f]], ids=name_of
)
def test_wrong_value_names_itself_and_the_remedy(family, changes, parts):
    with pytest.raises(Exception, match=r".") as caught:
        FAMILIES[family][0](**changes)
    message = str(caught.value)
    assert [part for part in parts if part not in message] == [], message


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        *[(family, {"hidden_size": "512"}) for family in FAMILIES],
        ("cnn", {"kernel_sizes": 3}),
        ("cnn", {"kernel_sizes": [3.5]}),
        ("rnn", {"bidirectional": "yes"}),
        ("gcn", {"window_size": 1.5}),
    ],
    ids=name_of,
)
def test_wrong_type_names_the_field(family, changes):
    with pytest.raises(Exception, match=next(iter(changes))):
        FAMILIES[family][0](**changes)


def test_defaults_are_the_paper_and_follow_the_field():
    cnn, rnn, gcn = (FAMILIES[family][0]() for family in ("cnn", "rnn", "gcn"))
    assert (cnn.kernel_sizes, cnn.num_filters, cnn.hidden_act) == ([3, 4, 5], 256, "split_relu")
    assert (rnn.rnn_type, rnn.num_hidden_layers, rnn.pooling, rnn.gate) == ("lstm", 1, "last", "modulus")
    assert rnn.real_twin().gate == FAMILIES["rnn"][0](rnn_type="rnn").gate == "split"
    assert (gcn.num_hidden_layers, gcn.window_size) == (2, 2)
    for family in FAMILIES:
        ours, real = (FAMILIES[family][0](number_field=field) for field in FIELDS)
        assert (ours.hidden_size, ours.complex_size, ours.embedding_type) == (512, 256, "complex_order")
        assert (ours.readout, real.readout) == ("modulus", "concat")


SHARED = {
    "vocab_size": 77,
    "hidden_size": 48,
    "hidden_dropout_prob": 0,
    "classifier_dropout": 0.5,
    "amplitude_sharing": "dimension",
    "frequency_sharing": "word",
    "phase": "per_dimension",
    "damping": "learned",
    "frequency_init": "uniform",
    "readout": "squared_modulus",
    "weight_init": "unitary",
    "initializer_range": 0.1,
    "pad_token_id": 3,
    "num_labels": 5,
    "problem_type": "regression",
}
OWN = {
    "fasttext": {"intermediate_size": 20, "hidden_act": "modrelu"},
    "cnn": {"intermediate_size": 20, "hidden_act": "cardioid", "kernel_sizes": (2, 7), "num_filters": 6},
    "rnn": {
        "rnn_type": "gru",
        "num_hidden_layers": 3,
        "recurrent_size": 14,
        "bidirectional": True,
        "gate": "split",
        "state_activation": "hirose_tanh",
        "pooling": "mean",
    },
    "gcn": {"intermediate_size": 20, "hidden_act": "zrelu", "num_hidden_layers": 3, "window_size": 5},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_json_round_trip_keeps_every_field(tmp_path, family):
    changed = {**SHARED, **OWN[family]}
    written = FAMILIES[family][0](**changed)
    written.save_pretrained(tmp_path)
    again = FAMILIES[family][0].from_pretrained(tmp_path)
    assert again.to_dict() == written.to_dict()
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == written.model_type
    default = FAMILIES[family][0]().to_dict()
    for name, value in changed.items():
        value = list(value) if isinstance(value, tuple) else value
        assert getattr(again, name) == value
        assert name == "num_labels" or value != default[name], name  # else nothing has been kept


@pytest.mark.parametrize("family", FAMILIES)
def test_wrong_value_set_later_is_refused_when_saved(tmp_path, family):
    changed = FAMILIES[family][0]()
    changed.hidden_size = 511
    with pytest.raises(Exception, match="hidden_size"):
        changed.save_pretrained(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_real_twin_is_valid_and_differs_in_the_field_alone(family):
    ours = FAMILIES[family][0](**{**SHARED, **OWN[family]})
    twin = ours.real_twin()
    assert ours.number_field == "complex"  # unchanged
    changed = {name for name, value in twin.to_dict().items() if ours.to_dict()[name] != value}
    recurrent = {"state_activation"} if family == "rnn" else set()
    assert changed == {"number_field", "readout"} | recurrent
    assert ours.real_twin(hidden_size=96).hidden_size == 96
    assert twin.real_twin().to_dict() == twin.to_dict()


def test_real_twin_keeps_the_activation_where_the_real_field_has_it():
    plain = config("rnn", rnn_type="rnn", state_activation="split_relu").real_twin()
    assert plain.state_activation == "split_relu"
    assert config("rnn", rnn_type="rnn", state_activation="hirose_tanh").real_twin().state_activation == "split_tanh"
    assert config("rnn", state_activation="split_relu").real_twin().state_activation == "split_tanh"


@pytest.mark.parametrize("activation", ACT2CFN)
@pytest.mark.parametrize("family", ["fasttext", "cnn", "gcn"])
def test_every_activation_has_a_twin(family, activation):
    ours = config(family, hidden_act=activation)
    for fields in (ours, ours.real_twin()):
        head = FAMILIES[family][2](fields)
        assert head(input_ids=torch.arange(3, 9)[None]).logits.isfinite().all()


@pytest.mark.parametrize("family", FAMILIES)
def test_real_twin_has_the_widths_and_twice_the_weights_of_every_layer(family):
    ours = classifier(family)
    twin = FAMILIES[family][2](ours.config.real_twin())
    ids = torch.arange(3, 9)[None]
    for a, b in zip(ours.model(ids).to_tuple(), twin.model(ids).to_tuple(), strict=True):
        assert a.shape == b.shape

    def matrices(module):
        kept = [(name, p) for name, p in module.model.named_parameters() if p.dim() > 1]
        return sum(p.numel() for name, p in kept if "embed_tokens" not in name)

    assert matrices(twin) == 2 * matrices(ours) > 0
    assert not any(isinstance(p, nn.Parameter) and p.is_complex() for p in ours.parameters())
