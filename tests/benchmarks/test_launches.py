# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A layer launches few more kernels on a GPU than its real twin."""

from __future__ import annotations

import pytest
import torch
from benchmarks.launches import CASES, LIMIT, launches, layer_launches, step_launches

from complex_transformers.nn import (
    ComplexDropout,
    ComplexGRU,
    ComplexLayerNorm,
    ComplexLinear,
    ComplexLSTM,
    ComplexRMSNorm,
    modulus,
    multiply,
)
from complex_transformers.nn.recurrent import torch_kernels
from families import CASES as CASES_OF_FAMILIES
from family_inputs import batch, rows
from interpreter import HAS_TRITON

pytestmark = pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")


@pytest.mark.parametrize("name", CASES)
def test_a_layer_launches_few_more_kernels_than_its_real_twin(name):
    ours, twin = layer_launches(name, "complex"), layer_launches(name, "real")
    assert sum(ours.values()) <= LIMIT * sum(twin.values()), (ours, twin)


# Families whose layers differ from the ones of the table, and have no number of layers.
WHOLE = (
    *("complex_fasttext", "complex_memory_network", "complex_quantum", "complex_text_cnn", "complex_text_rnn"),
    "synconmt",
)


@pytest.mark.parametrize("family", WHOLE)
def test_a_model_launches_few_more_kernels_than_its_real_twin(family):
    case = next(case for case in CASES_OF_FAMILIES if case.family == family and case.is_default)
    model = case.own()
    inputs, model = batch(rows(model)), model.base_model
    twin = type(model)(model.config.real_twin())
    ours, others = (sum(step_launches(each, inputs).values()) for each in (model, twin))
    assert ours <= LIMIT * others, (ours, others)


FUNCTIONS = {
    "linear": (ComplexLinear(8, 8), ["addmm", "real_matrix"], ["mm", "mm", "parts_of", "sum"]),
    "layer norm": (ComplexLayerNorm(8), ["native_group_norm"], ["native_group_norm_backward"]),
    "RMS norm": (ComplexRMSNorm(8, gain="parts"), ["mul", "native_layer_norm"], ["mul", "native_layer_norm_backward"]),
    "dropout": (ComplexDropout(0.5), ["dropout"], ["dropout"]),
    "modulus": (modulus, ["modulus"], ["modulus_backward"]),
    "product": (lambda x: multiply(x, x), ["product"], ["add", "product_backward"]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_launches_of_one_function(name):
    function, forward, backward = FUNCTIONS[name]
    x = torch.randn(5, 8, requires_grad=True)
    with launches() as found:
        out = function(x)
        assert sorted(found.elements()) == forward
        found.clear()
        out.backward(torch.ones(out.shape))
        found.pop("ones", None)
    assert sorted(found.elements()) == backward


@pytest.mark.parametrize("gate", ["modulus", "biased_modulus", "split"])
@pytest.mark.parametrize("layer", [ComplexLSTM, ComplexGRU])
def test_a_recurrent_step_is_a_product_and_a_kernel(layer, gate):
    layer = layer(8, 8, gate=gate)
    counts = []
    for steps in (3, 4):
        x = torch.randn(steps, 2, 8)
        with launches() as found:
            layer(x)
        counts.append(found)
    more = counts[1] - counts[0]
    assert sorted(more.elements()) == sorted(["addmm", f"{layer.rnn_type}_forward"])


@pytest.mark.parametrize("layer", [ComplexLSTM, ComplexGRU])
def test_default_gates_launch_nothing_per_step(layer, monkeypatch):
    layer, counts = layer(8, 8), []
    monkeypatch.setattr(torch_kernels, "run_layer", lambda rnn_type, x, states, *_: (x, states))
    for steps in (3, 4):
        with launches() as found:
            layer(torch.randn(steps, 2, 8))
        counts.append(found)
    assert counts[0] == counts[1]
