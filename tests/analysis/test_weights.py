# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Traces of weights: what is recorded, by a Trainer too, and whether two parts go together."""

import math

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch import nn
from transformers import Trainer, TrainingArguments

from complex_transformers import ComplexMLPConfig, ComplexMLPForImageClassification
from complex_transformers.analysis import WeightTrace, count_parameters, part_coupling, plot_weight_trace
from complex_transformers.nn import ComplexLinear, WidelyLinear
from complex_transformers.nn.low_bit.quantized_linear import RoundedLinear
from refusals import refused


def build(**changes):
    torch.manual_seed(0)
    sizes = {"num_channels": 1, "image_size": 3, "hidden_sizes": [8], "num_labels": 2}
    return ComplexMLPForImageClassification(ComplexMLPConfig(**sizes, **changes))


def test_means_are_those_of_the_complex_weight():
    model, trace = build(), WeightTrace()
    trace.record(model, 0)
    assert trace.layers == ["model.layers.0.dense", "classifier.projection"]
    dense = model.model.layers[0].dense
    w = (dense.real.weight + 1j * dense.imag.weight).detach().to(torch.complex128).numpy()
    (row,) = (row for row in trace.rows if row.layer == "model.layers.0.dense")
    assert (row.real, row.imag, row.modulus) == pytest.approx(
        (np.abs(w.real).mean(), np.abs(w.imag).mean(), np.abs(w).mean())
    )
    twin, real = build(number_field="real"), WeightTrace()
    real.record(twin, 0)
    assert real.rows[0].imag is None
    assert (
        real.rows[0].real
        == real.rows[0].modulus
        == pytest.approx(twin.model.layers[0].dense.weight.double().abs().mean().item())
    )
    with pytest.raises(
        ValueError, match=r"part must be 'real' or 'modulus' for the real weight of 'model.layers.0.dense'"
    ):
        real.curve("model.layers.0.dense", "imag")


def means(numbers):
    """mean|Re w|, mean|Im w| and mean|w| of complex numbers."""
    return tuple(part.abs().mean().item() for part in (numbers.real, numbers.imag, numbers))


def test_layers_with_one_weight_for_both_parts_and_with_two_weights():
    shared, widely, rounded = ComplexLinear(8, 6, share_parts=True), WidelyLinear(8, 6), RoundedLinear(8, 6)
    trace = WeightTrace()
    trace.record(nn.Sequential(shared, widely, rounded), 0)
    a, b, c, d = (part.detach().double() for part in widely.weight_parts())
    e, f = (part.detach().double() for part in rounded.weight_parts())
    expected = {
        "0": (1 + 1j) * shared.real.weight.detach().double(),
        "1": a + 1j * b,
        "1.conj": c + 1j * d,
        "2": e + 1j * f,
    }
    found = {row.layer: (row.real, row.imag, row.modulus) for row in trace.rows}
    assert found == {name: pytest.approx(means(numbers)) for name, numbers in expected.items()}
    assert trace.curve("1.conj", "imag") == [found["1.conj"][1]]


def test_every_layer_is_traced_and_a_shared_weight_once():
    network = nn.Sequential(*[ComplexLinear(8, 8) for _ in range(6)])
    network[5].real.weight = network[0].real.weight
    trace = WeightTrace()
    trace.record(network, 0)
    assert trace.layers == list("01234")
    for layer in network[:5]:  # whose weights are computed anew each time that they are asked for
        for part in (layer.real, layer.imag):
            nn.utils.parametrizations.weight_norm(part)
    trace = WeightTrace()
    trace.record(network[:5], 0)
    assert trace.layers == list("01234")


def test_biases_of_every_name_are_left_out():
    for layer, weights in ((nn.LSTM(3, 4), 16 * (3 + 4)), (nn.Linear(3, 4), 12)):
        total = sum(parameter.numel() for parameter in layer.parameters())
        assert count_parameters(layer, biases=False) == weights < count_parameters(layer) == total


def test_trainer_records_every_epoch(tmp_path):
    model, trace = build(), WeightTrace()
    rows = [{"pixel_values": np.random.rand(1, 3, 3).astype("float32"), "labels": i % 2} for i in range(8)]
    args = TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=3, learning_rate=0.1, use_cpu=True, report_to=[], save_strategy="no"
    )
    Trainer(model, args, train_dataset=Dataset.from_list(rows).with_format("torch"), callbacks=[trace]).train()
    layer = trace.layers[0]
    assert [row.epoch for row in trace.rows if row.layer == layer] == [0, 1, 2, 3]
    curve = trace.curve(layer)
    assert len(set(curve)) == 4
    last = WeightTrace()
    last.record(model, 3)
    assert curve[-1] == last.curve(layer)[0]
    assert trace.to_list()[0] == {**vars(trace.rows[0])}


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    trace = WeightTrace()
    for epoch in range(3):
        trace.record(build(), epoch)
    figure = plot_weight_trace(trace)
    assert [len(axes.lines) for axes in figure.axes] == [3, 3]
    figure.savefig(tmp_path / "a.png")
    assert figure._repr_png_()[:4] == b"\x89PNG"  # what a notebook asks for
    real = WeightTrace()
    real.record(build(number_field="real"), 0)
    assert [len(axes.lines) for axes in plot_weight_trace(real, real.layers[:1]).axes] == [1]
    with pytest.raises(ValueError, match="trace must have records, got none"):
        plot_weight_trace(WeightTrace())
    refused(r"layer must be one of .* got 'decoder'", plot_weight_trace, trace, ["decoder"])
    refused("part must be one of", trace.curve, trace.layers[0], "phase")


def curves(coupling, runs=12, epochs=30, seed=0):
    """Two walks with a common trend; ``coupling`` is the share of the steps that a run's parts have in common."""
    generator = np.random.default_rng(seed)
    common = 2 * np.sin(np.linspace(0, 3, epochs))
    shared, *own = (generator.standard_normal((runs, epochs)) for _ in range(3))
    steps = [math.sqrt(coupling) * shared + math.sqrt(1 - coupling) * noise + common for noise in own]
    return [part.cumsum(axis=1).tolist() for part in steps]


def test_coupling_is_told_from_a_common_trend():
    free, bound = part_coupling(*curves(0.0)), part_coupling(*curves(0.8))
    assert free.p_value > 0.05
    assert bound.p_value < 1e-3
    assert free.within > 0.1  # the trend alone: no evidence
    assert bound.within > free.between + 0.3
    assert (free.runs, bound.runs) == (12, 12)


def test_coupling_is_the_correlation_of_increments():
    real, imag = curves(0.5, runs=3, epochs=6)
    table = np.corrcoef(np.diff(real, axis=1), np.diff(imag, axis=1))[:3, 3:]
    found = part_coupling(real, imag)
    assert found.within == pytest.approx(table.diagonal().mean())
    assert found.between == pytest.approx((table.sum() - table.trace()) / 6)


@pytest.mark.parametrize(
    ("real", "imag", "words"),
    [
        ([[1, 2, 3, 5]], [[1, 2, 3, 5]], r"at least \[2, 4\], got"),
        ([[1, 2, 4]] * 2, [[1, 2, 4]] * 2, r"at least \[2, 4\], got"),
        ([[1, 2, 4, 5]] * 2, [[1, 2, 4, 5]] * 3, r"at least .* got \[\[2, 4\], \[3, 4\]\]"),
        ([[1.0, 1, 1, 1]] * 2, [[1.0, 2, 4, 5]] * 2, "finite and change"),
        ([[1.0, 2, math.nan, 1]] * 2, [[1.0, 2, 4, 5]] * 2, "finite and change"),
    ],
)
def test_curves_that_are_none(real, imag, words):
    refused(words, part_coupling, real, imag)
