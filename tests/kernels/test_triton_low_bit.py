# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products with packed weights as Triton kernels against loops in complex128, and when they run."""

from __future__ import annotations

import warnings

import pytest
import torch

from complex_transformers.kernels import low_bit as choice
from complex_transformers.kernels.accelerator import low_bit, switch
from complex_transformers.nn import PackedLinear, use_kernels
from interpreter import DEVICE
from low_bit_oracle import DTYPES, LAYERS, error, expected_output, packed_layer

SIZES = ((1, 1), (3, 18), (32, 32), (37, 33))  # complex in and out: within, of and beyond a tile
every_type = pytest.mark.parametrize("linear_type", LAYERS)


@pytest.fixture(autouse=True)
def small_tiles(launched, monkeypatch):
    monkeypatch.setattr(low_bit, "ONE", {"M": 32, "BYTES": 8})
    monkeypatch.setattr(low_bit, "MATRIX", {"M": 32, "BYTES": 8})
    monkeypatch.setattr(low_bit, "MOST", 20)
    monkeypatch.setattr(low_bit, "tile_sizes", lambda count, item_bytes: {"M": 32, "BYTES": 8, "N": 16})


def layer_on_device(*arguments, **options):
    return packed_layer(*arguments, **options).to(DEVICE)


def random(*shape, dtype=torch.float32):
    return torch.randn(shape).to(DEVICE, dtype)


@every_type
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_every_size(launched, linear_type, stages):
    for columns, rows in SIZES:
        layer = layer_on_device(linear_type, columns, rows, stages, "tensor" if columns == 3 else "row")
        for shape in ((), (1, 1), (2, 2), (19,), (3, 7)):
            x = random(*shape, 2 * columns)
            found = layer(x)
            assert found.shape == (*shape, 2 * rows)
            assert error(found, expected_output(layer, x)) < 5e-6
    assert launched == 4 * [*2 * ["low_bit_one"], *2 * ["low_bit_many"], "low_bit_matrix"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("count", [1, 3, 21])
def test_dtypes_and_autocast(launched, dtype, count):
    layer = layer_on_device(bias=dtype != torch.float16)
    x = random(count, 74, dtype=dtype)
    expected = expected_output(layer, x)
    found = layer(x)
    assert found.dtype == dtype
    assert error(found, expected) < 2 * DTYPES[dtype]
    with torch.autocast(torch.device(DEVICE).type, torch.bfloat16):
        found = layer(x)
    assert found.dtype == torch.bfloat16
    assert error(found, expected) < 2 * DTYPES[torch.bfloat16]
    assert len(launched) == 2


def test_strided_and_empty_inputs(launched):
    layer = layer_on_device(bias=False)
    for count in (1, 5, 30):
        x = random(count, 2, 148)[:, 1, ::2]
        assert torch.equal(layer(x), layer(x.contiguous()))
        assert torch.equal(layer(x.t().contiguous().t()), layer(x.contiguous()))
    assert len(launched) == 12
    for shape in ((0, 74), (3, 0, 74)):
        assert layer(torch.empty(shape, device=DEVICE)).shape == (*shape[:-1], 66)
    assert len(launched) == 12
