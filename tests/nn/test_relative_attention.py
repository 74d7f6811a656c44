# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Relative attention: its shift, its sinusoids and its inputs; the network's tests hold its oracle."""

import math

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from torch.autograd import gradgradcheck

from complex_transformers import ComplexOrderConfig
from complex_transformers.nn import (
    ComplexMultiheadAttention,
    RelativeMultiheadAttention,
    functional as CF,
    relative_positions,
    relative_shift,
)
from oracles import assert_refused, randn, randomize


@pytest.mark.parametrize(("length", "keys"), [(1, 1), (1, 5), (4, 4), (3, 7)])
def test_the_shift_takes_every_score_to_its_key(length, keys):
    distances = torch.arange(keys, -1, -1).expand(2, length, keys + 1).contiguous()
    shifted = relative_shift(distances)
    assert shifted.shape == (2, length, keys)
    for query in range(length):
        for key in range(keys - length + query + 1):
            assert shifted[0, query, key] == keys - length + query - key


def test_the_shift_copies_nothing():
    scores = torch.randn(2, 3, 4, 8)
    shifted = relative_shift(scores)
    assert shifted.untyped_storage().data_ptr() == scores.untyped_storage().data_ptr()


def test_sinusoids_of_distances():
    table = relative_positions(5, 6, dtype=torch.float64)
    assert table.shape == (6, 6)
    for row, distance in enumerate((5, 4, 3, 2, 1, 0)):
        for m in range(3):
            angle = distance / 10000 ** (2 * m / 6)
            assert table[row, m].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[row, 3 + m].item() == pytest.approx(math.cos(angle), abs=1e-12)
    clamped = relative_positions(5, 6, clamp_len=2, dtype=torch.float64)
    assert torch.equal(clamped[:4], table[3].expand(4, -1))
    assert torch.equal(clamped[3:], table[3:])
    assert relative_positions(3, 4, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_a_table_of_distances_belongs_to_the_caller():
    with torch.inference_mode():
        first = relative_positions(6, 8)
    first_again = relative_positions(6, 8)
    first_again.zero_()
    assert torch.equal(relative_positions(6, 8), first.clone())
    weight = torch.ones(8, requires_grad=True)
    (relative_positions(6, 8) * weight).sum().backward()
    for length in (1, 2, 63, 64, 65, 2**13, 2**13 + 1):
        table = relative_positions(length, 4)
        assert table.shape == (length + 1, 4)
        assert table[-1].tolist() == [0.0, 0.0, 1.0, 1.0]
        torch.testing.assert_close(table[0, :1], torch.tensor([math.sin(length)]), rtol=0, atol=1e-6)


LAYERS = {
    "real field": {"number_field": "real"},
    "modulus": {},
    "real score": {"score": "real"},
    "bilinear": {"score": "bilinear_modulus"},
    "sum of moduli": {"score": "sum_of_moduli"},
    "shared parts": {"share_parts": True},
}
every_layer = pytest.mark.parametrize("options", LAYERS.values(), ids=LAYERS.keys())


def relative_layer(options):
    torch.manual_seed(0)
    return randomize(RelativeMultiheadAttention(8, 2, **options).double())


def results(layer, x):
    """The output, and the gradients of a loss that no symmetry makes vanish."""
    x = x.clone().requires_grad_()
    out = layer(x)[0]
    gradients = torch.autograd.grad(
        (out * torch.linspace(-1, 2, out.numel()).view_as(out)).sum(), [x, *layer.parameters()]
    )
    return [out, *gradients]


@every_layer
def test_the_functions_of_the_processor_are_the_plain_formulas(options, monkeypatch):
    layer = relative_layer(options)
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    ours = results(layer, x)
    monkeypatch.setattr(CF, "is_plain_cpu", lambda x: False)
    torch.testing.assert_close(ours, results(layer, x), rtol=0, atol=1e-10)
    monkeypatch.undo()
    with torch.no_grad():
        torch.testing.assert_close(layer(x)[0], ours[0], rtol=0, atol=1e-12)


@every_layer
def test_few_queries_are_brought_to_the_positions_with_the_same_result(options, monkeypatch):
    layer = relative_layer(options)
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    by_choice = {}
    for few in (False, True):
        monkeypatch.setattr(RelativeMultiheadAttention, "_has_few", lambda *args, few=few: few)
        by_choice[few] = results(layer, x)
    torch.testing.assert_close(by_choice[True], by_choice[False], rtol=0, atol=1e-10)


def test_a_changed_projection_of_positions_is_called():
    layer = relative_layer({})
    assert layer.position_matrix() is not None
    x = torch.randn(1, 1, 8, dtype=torch.float64)  # few
    before, calls = layer(x)[1], []
    handle = layer.r_proj.register_forward_hook(lambda module, args, out: calls.append(out.shape))
    assert layer.position_matrix() is None
    torch.testing.assert_close(layer(x)[1], before)
    assert calls == [(2, 8)]
    handle.remove()
    layer.r_proj.real.register_forward_hook(lambda module, args, out: 2 * out)
    assert layer.position_matrix() is None


def test_the_cheaper_way_is_taken():
    layer, positions = RelativeMultiheadAttention(8, 2), torch.empty(33, 8)
    assert layer._has_few(torch.empty(1, 2, 1, 8), positions)
    assert not layer._has_few(torch.empty(1, 2, 40, 8), positions)
    assert not layer._has_few(torch.empty(40, 2, 1, 8), positions)


def test_weights_are_causal_and_dropped_while_training():
    layer = randomize(RelativeMultiheadAttention(8, 2, dropout=0.5))
    x = torch.randn(2, 6, 8)
    weights = layer.eval()(x)[1]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 6))
    assert torch.equal(weights, weights.tril())
    dropped = layer.train()(x)[1]
    kept = dropped != 0
    assert 0.2 < kept[weights > 0].float().mean() < 0.8
    torch.testing.assert_close(dropped[kept], 2 * weights[kept])


def test_wrong_arguments_are_named():
    assert_refused("width must be even, got 5", relative_positions, 3, 5)
    assert_refused("clamp_len must be positive or None, got 0", relative_positions, 3, 4, clamp_len=0)
    message = "for relative scores, got 'split_softmax'"
    assert_refused(message, RelativeMultiheadAttention, 8, 2, normalization="split_softmax")
    message = r"positions must have 4 rows for 3 keys, got 6"
    layer, positions = RelativeMultiheadAttention(8, 2), relative_positions(5, 8)
    assert_refused(message, layer, torch.randn(1, 3, 8), positions=positions)


def test_the_sum_of_moduli_needs_relative_positions():
    message = r"got 'sum_of_moduli'. It needs the relative positions of complex_transfo_xl"
    assert_refused(message, ComplexMultiheadAttention, 8, 2, score="sum_of_moduli")
    error = StrictDataclassClassValidationError
    assert_refused(message, ComplexOrderConfig, attention_score="sum_of_moduli", error=error)


@pytest.mark.parametrize("score", ["modulus", "real", "bilinear_modulus", "sum_of_moduli"])
def test_second_derivatives(score):
    layer = randomize(RelativeMultiheadAttention(4, 1, score=score).double())
    assert gradgradcheck(lambda x: layer(x)[0], (randn(1, 3, 4, grad=True),))
