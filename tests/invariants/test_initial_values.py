# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every parameter starts as it is stated, in a new model and where a file does not hold it."""

import math

import pytest
import torch
from laws import law, law_of_families
from safetensors.torch import save_file
from torch import nn

from complex_transformers.nn import ComplexLinear, RotaryWordPositions, WidelyLinear

# Large enough for statistics.
WIDE = {
    "vocab_size": 200,
    "relation_vocab_size": 150,
    "hidden_size": 64,
    "hidden_sizes": [64, 96, 64],
    "intermediate_size": 96,
    "recurrent_size": 64,
    "num_filters": 64,
    "feature_size": 66,
    "num_measurements": 80,
    "num_labels": 40,
}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def wide(case, **changes):
    config = case.config()
    sizes = {name: value for name, value in WIDE.items() if hasattr(config, name)}
    if isinstance(getattr(config, "num_filters", None), list):  # one for each layer
        sizes["num_filters"] = [96, 64]
    sizes = {**sizes, "initializer_range": 0.3, **changes}
    return case.config(**sizes)


def new_and_loaded(case, config, folder):
    """A new model, and one from a file with a tensor of no meaning, in which everything is drawn."""
    torch.manual_seed(0)
    yield case.model_class(config)
    config.save_pretrained(folder)
    save_file({"nothing": torch.zeros(1)}, folder / "model.safetensors", metadata={"format": "pt"})
    yield case.model_class.from_pretrained(folder)


def variance_of(init, fan_out, fan_in, parts, std):
    """E|w|^2 of all parts."""
    return {
        "glorot": 2.0 / (fan_in + fan_out),
        "he": 2.0 / fan_in,
        "unitary": 1.0 / max(fan_in, fan_out),
        "normal": parts * std**2,
    }[init]


def assert_drawn(value, variance, name):
    """Mean 0 and this variance, as far as so many numbers can tell."""
    count = value.numel()
    assert value.var().item() == pytest.approx(variance, rel=max(0.05, 6.0 / math.sqrt(count))), name
    assert abs(value.mean().item()) < 5.0 * math.sqrt(variance / count), name


def assert_gates(value, kind, recurrent, parts, name):
    """Gate by gate: Glorot for inputs, unitary for states, whatever ``weight_init`` is."""
    for gate in value.chunk(GATES[kind]):
        variance = variance_of("unitary" if recurrent else "glorot", *gate.shape, parts, 0.0)
        assert_drawn(gate, variance / parts, name)


def recurrent_kind(module):
    """``LSTM``, ``GRU``, ``RNN`` or None."""
    name = type(module).__name__.removeprefix("Complex").removeprefix("Real")
    return name if name in GATES else None


def check(model, config):
    """Look at every parameter once, by the layer it is in, and at running statistics."""
    modules = dict(model.named_modules())
    for name, value in model.named_buffers():
        expected = torch.full_like(value, 1.0 if name.endswith("var") else 0.0)
        if expected.dim() == 2:  # the covariance of the parts
            expected[1] = 0.0
        assert "running" not in name or torch.equal(value, expected), name
    for name, value in model.named_parameters():
        value = value.detach()
        owner, _, leaf = name.rpartition(".")
        module = modules[owner]
        parent = modules[owner.rpartition(".")[0]]
        table = hasattr(module, "word_tables")
        if table or isinstance(module, nn.Embedding) or leaf in ("content_bias", "position_bias"):
            check_table(model, module, name, leaf, value)
        elif leaf == "score_bias":  # of sigmoid weights: -log N
            assert value.item() == pytest.approx(-math.log(config.max_position_embeddings))
        elif type(module).__name__ == "Mamba3Mixer":
            check_mixer(module, leaf, value)
        elif "bias" in leaf or type(module).__name__ == "PolarHeads":
            assert not value.any(), name
        elif type(module).__name__ == "_WhiteningGain":  # I / sqrt(2)
            for row, start in zip(value, (math.sqrt(0.5), 0.0, math.sqrt(0.5)), strict=True):
                torch.testing.assert_close(row, torch.full_like(row, start))
        elif "Norm" in type(module).__name__ or name.endswith("classifier.scale"):
            assert (value == 1).all(), name
        elif type(module).__name__ == "FrequencyKernel":
            assert (value == (1 if leaf == "real" else 0)).all(), name
        elif ".gate_weight." in name:
            start = -1.0 if config.gate == "biased_modulus" else math.sqrt(0.5)
            torch.testing.assert_close(value, torch.full_like(value, start))
        elif type(module).__name__ == "ZTransform":
            start = torch.arange(len(value)) * (2.0 * math.pi / len(value)) if leaf == "phase" else torch.zeros(1)
            torch.testing.assert_close(value, start.expand_as(value))
        elif type(module).__name__ == "MemoryTime":
            check_table(model, module, name, leaf, value if leaf == "vectors" else value.unsqueeze(0))
        elif type(module).__name__ in ("CayleyMatrix", "Measurement"):
            assert_drawn(value, module.std**2 if leaf != "vectors" else 1.0, name)
        elif type(module).__name__ == "DiagonalRecurrence":
            check_recurrence(module, leaf, value)
        elif kind := recurrent_kind(module):
            assert_gates(value, kind, "_hh_" in leaf, 1, name)
        elif kind := recurrent_kind(grand_of(modules, owner)):
            assert_gates(value, kind, "recurrent_proj" in owner, 2, name)
        elif value.dim() >= 3:  # convolutions keep Glorot
            (fan_out, fan_in), size = value.shape[:2], math.prod(value.shape[2:])
            parts = 2 if hasattr(parent, "imag") else 1
            assert_drawn(value, 2.0 / (size * (fan_in + fan_out)) / parts, name)
        else:
            parts = 2 if isinstance(parent, ComplexLinear) else 1  # one weight that stands for both has half as well
            assert isinstance(module, nn.Linear), f"{name}: how does {type(module).__name__} start?"
            own = getattr(config, "decoder", None) if ".decoder." in f".{name}" else None
            variance = variance_of(config.weight_init, *value.shape, parts, (own or config).initializer_range)
            variance /= 2 if isinstance(parent, WidelyLinear) else 1  # U and V have half each
            assert_drawn(value, variance / parts, name)


def check_mixer(module, leaf, value):
    """Time steps log-uniform in [0.001, 0.1]; ranks that add up to one input and output; all else 1."""
    if leaf == "dt_bias":
        steps = torch.nn.functional.softplus(value)
        assert steps.min() > 0.00099
        assert steps.max() < 0.101
        assert steps.log().mean().item() == pytest.approx(math.log(0.01), abs=6.0 / math.sqrt(len(value)))
    else:
        start = 1.0 / module.mimo_rank if leaf in ("mimo_x", "mimo_o") else 1.0
        assert torch.equal(value, torch.full_like(value, start)), leaf


def check_recurrence(module, leaf, value):
    """|a|^2 uniform on a ring, frequencies uniform or those of a DFT."""
    if leaf == "damping":
        square = torch.exp(-2.0 * torch.exp(value))
        assert square.min() >= 0.249
        assert square.max() <= 0.981
        assert square.mean().item() == pytest.approx((0.25 + 0.9801) / 2, abs=0.15)
    elif module.frequency_init == "harmonic":
        torch.testing.assert_close(value, torch.arange(len(value)) * (2.0 * math.pi / len(value)))
    else:
        assert value.min() >= 0.0
        assert value.max() <= 2.0 * math.pi
        assert value.mean().item() == pytest.approx(math.pi, abs=1.3)


def grand_of(modules, owner):
    """The module that holds the list of the layer whose part this is: rnn.input_proj.0.real."""
    for _ in range(3):
        owner = owner.rpartition(".")[0]
    return modules[owner]


def check_table(model, module, name, leaf, value):
    """Tables of words: rows of padding are zero."""
    if isinstance(module, RotaryWordPositions):
        assert not value.any(), name
    elif leaf == "frequency":
        expected = 10000.0 ** (-torch.arange(value.shape[1], dtype=torch.float64) / value.shape[1])
        if value.shape[1] == 1:  # one for all dimensions of a word: the geometric mean of theirs
            expected = torch.full((1,), 0.01, dtype=torch.float64)
        torch.testing.assert_close(value.double(), expected.expand_as(value), rtol=1e-6, atol=0, msg=name)
    elif leaf == "phase":
        assert value.abs().max() <= math.pi
        assert_drawn(value, math.pi**2 / 3, name)
    elif leaf == "mixture_weight":
        assert not value.any(), name
    elif leaf == "damping":
        torch.testing.assert_close(nn.functional.softplus(value), torch.full_like(value, 1e-3))
    else:
        padding = getattr(module, "relation_padding_idx" if leaf == "relation" else "padding_idx", None)
        if padding is not None and leaf != "position" and len(value) > 1:  # one row is that of all words
            assert not value[padding].any(), name
            value = value[torch.arange(len(value)) != padding]
        config = model.config.decoder if name.startswith("decoder.") else model.config
        assert_drawn(value, config.initializer_range**2, name)


@law
def test_parameters_start_as_stated(case, tmp_path):
    config = wide(case)
    for model in new_and_loaded(case, config, tmp_path):
        check(model, config)


# The default is Glorot.
@pytest.mark.parametrize(
    "init", ["unitary", *(pytest.param(name, marks=pytest.mark.full) for name in ("he", "normal"))]
)
@law_of_families
def test_dense_layers_start_as_configured(case, init, tmp_path):
    config = wide(case, weight_init=init)
    for model in new_and_loaded(case, config, tmp_path):
        check(model, config)
