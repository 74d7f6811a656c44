# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The switch between the fields, and what every block of both fields owes: finite numbers at every size of input."""

from __future__ import annotations

import copy
import functools
import itertools

import numpy as np
import pytest
import torch
from oracles import assert_close, finite, r, randn, z
from torch import nn

import complex_transformers.nn as cnn
import complex_transformers.nn.functional as CF
from complex_transformers.nn import (
    ACT2CFN,
    ATTENTION_FUNCTIONS,
    NUMBER_FIELDS,
    READOUTS,
    STATE_ACTIVATIONS,
    arithmetic,
    number_field,
)

# --- the two fields --------------------------------------------------------------------------------------------------


def copied(layer: nn.Module, twin: nn.Module) -> nn.Module:
    """The torch layer with the (random) weights of ours."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    twin.load_state_dict(layer.state_dict(), strict=False)
    assert {name for name, _ in twin.named_parameters()} == {name for name, _ in layer.named_parameters()}
    return twin


def test_real_layers_equal_their_torch_twins():
    real = number_field("real")
    x = torch.randn(5, 8)
    for layer, twin in (
        (real.Linear(8, 6), nn.Linear(8, 6)),
        (real.Linear(8, 6, bias=False), nn.Linear(8, 6, bias=False)),
        (real.LayerNorm(8), nn.LayerNorm(8)),
        (real.RMSNorm(8), nn.RMSNorm(8)),
        (real.BatchNorm1d(8), nn.BatchNorm1d(8)),
        (real.Readout(8, 3).projection, nn.Linear(8, 3)),
    ):
        twin = copied(layer, twin)
        torch.testing.assert_close(layer(x), twin(x))
    ids = torch.randint(9, (2, 3))
    table = real.Embedding(9, 8, padding_idx=1)
    twin = copied(table, nn.Embedding(9, 8, padding_idx=1))
    assert torch.equal(table(ids), twin(ids))
    dropped = real.Dropout(0.3)
    torch.manual_seed(1)
    one = dropped(x)
    torch.manual_seed(1)
    assert torch.equal(one, nn.Dropout(0.3)(x))
    for name, function in (("split_relu", torch.relu), ("split_gelu", nn.functional.gelu), ("tanh", torch.tanh)):
        assert torch.equal(real.activation(name, 8)(x), function(x))


def test_real_layers_of_sequences_and_images_equal_their_torch_twins():
    real = number_field("real")
    sequence, image = torch.randn(3, 8, 7), torch.randn(3, 8, 6, 5)
    for layer, twin, x in (
        (real.Conv1d(8, 6, 3, stride=2, groups=2), nn.Conv1d(8, 6, 3, stride=2, groups=2), sequence),
        (real.Conv2d(8, 6, (3, 1), padding=1), nn.Conv2d(8, 6, (3, 1), padding=1), image),
        (real.BatchNorm2d(8), nn.BatchNorm2d(8), image),
        (real.MaxPool1d(2), nn.MaxPool1d(2), sequence.abs()),
        (real.MaxPool2d((2, 3), 1), nn.MaxPool2d((2, 3), 1), image.abs()),
        (real.AvgPool1d(3, 1), nn.AvgPool1d(3, 1), sequence.abs()),
        (real.AvgPool2d(2), nn.AvgPool2d(2), image.abs()),
        (real.RNN(7, 4, bidirectional=True), nn.RNN(7, 4, bidirectional=True), sequence),
        (real.LSTM(7, 4, num_layers=2), nn.LSTM(7, 4, num_layers=2), sequence),
        (real.GRU(7, 4, batch_first=True), nn.GRU(7, 4, batch_first=True), sequence),
    ):
        twin = copied(layer, twin)
        one, two = layer(x), twin(x)
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("name", NUMBER_FIELDS)
def test_one_model_text_serves_both_fields(name):
    field = number_field(name)
    assert field.name == field.numbers.name == name
    assert field.numbers.num_parts == (2 if name == "complex" else 1)
    x = field.Embedding(11, 16)(torch.randint(11, (2, 6)))
    layers = [
        field.LayerNorm(16),
        field.MultiheadAttention(16, 4),
        field.RMSNorm(16),
        field.Linear(16, 24, bias=True, share_parts=False),
        field.activation("modrelu", 24),
        field.Linear(24, 16),
        field.Dropout(0.1),
    ]
    for layer in layers:
        x = layer(x)
        x = x[0] if isinstance(x, tuple) else x
    assert x.shape == (2, 6, 16)
    assert field.BatchNorm1d(16)(x.transpose(1, 2)).shape == (2, 16, 6)
    assert field.Readout(16, 5)(x.mean(1)).shape == (2, 5)
    for recurrent in (field.RNN, field.LSTM, field.GRU):
        options = {"num_layers": 2, "bidirectional": True, "gate": "split", "activation": "split_tanh"}
        out, _ = recurrent(16, 12, batch_first=True, dropout=0.1, **options)(x, mask=torch.ones(2, 6))
        assert out.shape == (2, 6, 24)
    sequence = field.Conv1d(16, 12, 3, padding="same", groups=2)(x.transpose(1, 2))
    assert sequence.shape == (2, 12, 6)
    assert field.MaxPool1d(2)(sequence).shape == field.AvgPool1d(2)(sequence, torch.ones(2, 6)).shape == (2, 12, 3)
    image = field.BatchNorm2d(12)(field.Conv2d(16, 12, (3, 1))(x.transpose(1, 2).unflatten(2, (3, 2))))
    assert image.shape == (2, 12, 1, 2)
    assert field.MaxPool2d((1, 2))(image).shape == field.AvgPool2d((1, 2))(image).shape == (2, 12, 1, 1)


def test_complex_layers_have_half_the_weights_of_their_twins_of_equal_width():
    def weights(name, kind, *arguments):
        layer = getattr(number_field(name), kind)(*arguments, bias=False)
        return sum(p.numel() for p in layer.parameters())

    for kind, arguments, size in (
        ("Linear", (64, 32), 64 * 32),
        ("Conv1d", (64, 32, 5), 64 * 32 * 5),
        ("Conv2d", (64, 32, (3, 2)), 64 * 32 * 6),
        ("RNN", (64, 32), 96 * 32),
        ("LSTM", (64, 32), 4 * 96 * 32),
        ("GRU", (64, 32), 3 * 96 * 32),
    ):
        assert weights("real", kind, *arguments) == 2 * weights("complex", kind, *arguments) == size


def test_arithmetic_of_the_fields():
    x, factor = randn(3, 6), randn(3, 3)
    numbers = arithmetic("complex")
    assert_close(r(numbers.modulus(x)), np.abs(z(x)))
    assert_close(r(numbers.squared_modulus(x)), np.abs(z(x)) ** 2)
    assert_close(z(numbers.scale(x, factor)), z(x) * r(factor))
    assert_close(z(numbers.from_real(factor)), r(factor) + 0j)
    assert_close(r(numbers.parts(x)[0]) + 1j * r(numbers.parts(x)[1]), z(x))
    assert_close(z(numbers.concatenate([x, x[:, :4]])), np.concatenate([z(x), z(x[:, :4])], axis=-1))
    numbers = arithmetic("real")
    assert_close(r(numbers.modulus(factor)), np.abs(r(factor)))
    assert_close(r(numbers.squared_modulus(factor)), r(factor) ** 2)
    assert_close(r(numbers.scale(factor, factor)), r(factor) ** 2)
    assert torch.equal(numbers.from_real(factor), factor)
    assert torch.equal(numbers.concatenate([factor, x]), torch.cat([factor, x], dim=-1))
    assert numbers.parts(factor) == (factor,)
    assert numbers.num_features(7) == 7
    with pytest.raises(ValueError, match="even, got 7; use 8"):
        arithmetic("complex").num_features(7)


def test_unknown_field():
    for function in (number_field, arithmetic):
        with pytest.raises(ValueError, match=r"number_field must be one of \['complex', 'real'\], got 'Complex'"):
            function("Complex")


def test_public_names_exist():
    assert len(set(cnn.__all__)) == len(cnn.__all__)
    for name in cnn.__all__:
        assert hasattr(cnn, name), name


# --- extremes: every block, both fields ------------------------------------------------------------------------------


@functools.cache
def blocks(field: str) -> dict[str, tuple[nn.Module, bool]]:
    """Every block on ``[B, N, 8]``, and whether its results stay in the range of fp16 for inputs of 6e4."""
    torch.manual_seed(0)  # the same weights whichever test asks first
    numbers = number_field(field)
    is_complex = field == "complex"

    table: dict[str, tuple[nn.Module, bool]] = {
        "linear": (numbers.Linear(8, 6), False),
        "linear, many rows": (_Rows(numbers.Linear(8, 6)), False),
        "layer norm": (numbers.LayerNorm(8), True),
        "rms norm": (numbers.RMSNorm(8, eps=1e-5), True),
        "batch norm": (_Channels(numbers.BatchNorm1d(8)), True),
        "batch norm, running": (_Channels(numbers.BatchNorm1d(8)).eval(), True),
        "dropout": (numbers.Dropout(0.0), True),
        "batch norm, images": (_Channels(numbers.BatchNorm2d(8), num_dims=2), True),
        "max pool": (_Channels(numbers.MaxPool1d(2, 1)), True),
        "average pool": (_Channels(numbers.AvgPool1d(2, 1)), True),
        "max pool, images": (_Channels(numbers.MaxPool2d((2, 1), 1), num_dims=2), True),
        "average pool, images": (_Channels(numbers.AvgPool2d((1, 2), 1), num_dims=2), True),
        "convolution": (_Channels(numbers.Conv1d(8, 6, 2), masked=False), False),
        "convolution, groups": (_Channels(numbers.Conv1d(8, 4, 2, groups=2), masked=False), False),
        "convolution, images": (_Channels(numbers.Conv2d(8, 6, (2, 1)), num_dims=2, masked=False), False),
        "masked mean": (_Function(lambda x: CF.masked_mean(x, _for_rows(x, [[1, 1, 0], [0, 0, 0]]))), True),
    }
    for kind in ("RNN", "LSTM", "GRU"):
        for activation in STATE_ACTIVATIONS if is_complex else ("split_tanh",):
            gate = "modulus" if activation == "hirose_tanh" else "split"
            options = {"gate": gate, "activation": activation, "bidirectional": True, "batch_first": True}
            table[f"{kind} {gate} {activation}"] = (_Masked(getattr(numbers, kind)(8, 6, **options)), False)
    for name in ACT2CFN:
        table[f"activation {name}"] = (numbers.activation(name, 8), True)
    for score, normalization in ATTENTION_FUNCTIONS:
        if is_complex or (score == "real" and normalization != "split_softmax"):
            attention = numbers.MultiheadAttention(8, 2, score=score, normalization=normalization, is_causal=True)
            table[f"attention {score} {normalization}"] = (_First(attention), False)
    for name, valid in READOUTS.items():
        if field in valid:
            table[f"readout {name}"] = (numbers.Readout(8, 3, readout=name), False)
    if is_complex:
        table |= {
            "linear, shared parts": (numbers.Linear(8, 6, share_parts=True), False),
            "layer norm, whitening": (numbers.LayerNorm(8, norm="whitening"), True),
            "batch norm, whitening": (_Channels(numbers.BatchNorm1d(8, norm="whitening")), True),
            "z transform": (cnn.ZTransform(8), True),
            "frequency kernel": (cnn.FrequencyKernel(8), True),
            "dft": (_Function(cnn.dft), False),
            "inverse dft": (_Function(cnn.inverse_dft), True),
            "dct": (_Function(cnn.dct), False),
            "rotate": (_Function(lambda x: CF.rotate(x, x[..., :4].detach())), True),
            "multiply": (_Function(lambda x: CF.multiply(x, x)), False),
            "inner product": (_Function(lambda x: CF.hermitian_inner(x, x)), False),
            "mse": (_Function(lambda x: CF.complex_mse(x, -x)), True),
        }
        for function in (
            CF.conj,
            CF.modulus,
            CF.squared_modulus,
            CF.squared_modulus_softmax,
            CF.squared_modulus_sigmoid,
            CF.probability_amplitude,
            CF.probability_amplitude_sigmoid,
            CF.split_softmax,
        ):
            table[function.__name__] = (_Function(function), True)
    return table


class _Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function


MASK = [[1, 1, 0], [1, 1, 1]]


def _for_rows(x, mask):
    """A mask of two rows for ``x`` of some pairs of rows."""
    return torch.tensor(mask).repeat(len(x) // 2, 1)


class _Channels(nn.Module):
    """A layer for channels on axis 1; images have two equal columns."""

    def __init__(self, layer, num_dims=1, masked=True):
        super().__init__()
        self.layer = layer
        self.num_dims = num_dims
        self.masked = masked

    def forward(self, x):
        x, mask = x.transpose(1, 2), _for_rows(x, MASK)
        if self.num_dims == 2:
            x, mask = torch.stack([x, x], dim=-1), torch.stack([mask, mask], dim=-1)
        return self.layer(x, mask) if self.masked else self.layer(x)


class _Masked(nn.Module):
    """The outputs of a recurrent layer beside its last states, which are not zero where the mask is false."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        out, last = self.layer(x, mask=_for_rows(x, MASK))
        last = torch.cat(last) if isinstance(last, tuple) else last
        return torch.cat([out.flatten(1), last.transpose(0, 1).flatten(1)], dim=1)


class _First(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class _Rows(nn.Module):
    """Enough rows for the three-multiplication path."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.repeat(1 + 400 // len(x), 1, 1))


PATTERNS = {
    "random": lambda x: x,
    "equal": lambda x: torch.ones_like(x),
    "one axis": lambda x: torch.cat([x[..., :4], torch.zeros_like(x[..., 4:])], dim=-1),
    "one number": lambda x: x * (torch.arange(8) % 4 == 1),
    "mixed sizes": lambda x: x * torch.tensor([1.0, 1e-30, 0.0, 1.0]).repeat(2),
}
SIZES = {
    torch.float64: (0.0, 1e-300, 1e-30, 1.0, 1e15),
    torch.float32: (0.0, 1e-44, 1e-38, 1e-30, 1e-20, 1e-10, 1.0, 1e15),
    torch.bfloat16: (0.0, 1e-38, 1e-30, 1e-20, 1e-10, 1.0, 1e15),
    torch.float16: (0.0, 6e-8, 1e-6, 1e-4, 1.0, 20.0, 1.5e4),
}


@pytest.mark.parametrize("dtype", list(SIZES), ids=str)
@pytest.mark.parametrize(("field", "name"), [(f, n) for f in NUMBER_FIELDS for n in blocks(f)])
def test_no_nan_or_infinity_from_finite_input(field, name, dtype):
    block, fits_half = copy.deepcopy(blocks(field)[name])
    block = block.to(dtype)
    pattern = torch.randn(2, 3, 8, dtype=torch.float64).clamp(-2.0, 2.0)
    batches = [shape(pattern) for shape in PATTERNS.values()]
    if "batch norm" not in name:  # no row sees another: all patterns at once
        batches = [torch.cat(batches)]
    for size, batch in itertools.product(SIZES[dtype], batches):
        if dtype == torch.float16 and size > 100.0 and not fits_half:
            continue  # a sum of products of such numbers is beyond the dtype
        x = (size * batch).to(dtype).requires_grad_()
        out = block(x)
        assert finite(out), (size, batch)
        (out.float() if dtype in (torch.float16, torch.bfloat16) else out).mean().backward()
        assert finite(x.grad, *(p.grad for p in block.parameters())), (size, batch)
        block.zero_grad()


@pytest.mark.parametrize(("field", "name"), [(f, n) for f in NUMBER_FIELDS for n in blocks(f)])
def test_nan_stays_in_its_row(field, name):
    if ("batch norm" in name and "running" not in name) or name in ("mse", "linear, many rows"):
        pytest.skip("a statistic of the whole batch, or rows repeated")
    block = copy.deepcopy(blocks(field)[name][0])
    x = torch.randn(2, 3, 8)
    expected = block(x)
    x[0] = float("nan")
    assert torch.equal(block(x)[1], expected[1])


def test_embeddings_at_extreme_parameters_and_positions():
    ids = torch.tensor([[0, 1, 2]])
    for size in (0.0, 1e-38, 1e-30, 1e15):
        embedding = cnn.ComplexOrderEmbedding(3, 8, phase="learned", damping="learned")
        with torch.no_grad():
            for parameter in embedding.parameters():
                parameter.copy_(size * torch.randn_like(parameter).clamp(-2, 2))
        for position in (1, 10**6, 2**40):
            embedding.zero_grad()
            out = embedding(ids, position_ids=torch.full_like(ids, position))
            out.sum().backward()
            assert finite(out, *(p.grad for p in embedding.parameters())), (size, position)
            assert (CF.modulus(out) <= embedding.amplitude.abs() * (1 + 1e-6)).all()


def test_halves_of_native_complex_numbers_survive_a_whole_block():
    # Edge to edge: a complex64 tensor in, a complex layer, a complex64 tensor out.
    layer = number_field("complex").Linear(8, 8)
    native = torch.randn(5, 4, dtype=torch.complex64)
    out = CF.to_complex(layer(CF.from_complex(native)))
    w = torch.complex(layer.real.weight, layer.imag.weight)
    torch.testing.assert_close(out, native @ w.T)
