# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A layer launches few more kernels on a GPU than its real twin."""

from __future__ import annotations

import pytest
import torch
from benchmarks.launches import CASES, LIMIT, launches, layer_launches

from complex_transformers.nn import ComplexDropout, ComplexLayerNorm, ComplexLinear, ComplexRMSNorm, modulus, multiply
from interpreter import HAS_TRITON

pytestmark = pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
# The activation of the convolutions, |z| with imaginary part 0, writes a half that the real network does not have.
LIMITS = {"convolution": 1.25}


@pytest.mark.parametrize("name", CASES)
def test_a_layer_launches_few_more_kernels_than_its_real_twin(name):
    ours, twin = layer_launches(name, "complex"), layer_launches(name, "real")
    assert sum(ours.values()) <= LIMITS.get(name, LIMIT) * sum(twin.values()), (ours, twin)


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
