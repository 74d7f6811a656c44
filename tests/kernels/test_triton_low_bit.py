# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products with packed weights as Triton kernels against loops in complex128, and when they run."""

from __future__ import annotations

import warnings

import pytest
import torch
from low_bit_oracle import DTYPES, LAYERS, error, expected_output, packed_layer

from complex_transformers.kernels import low_bit as choice
from complex_transformers.kernels.accelerator import low_bit, switch
from complex_transformers.nn import use_kernels
from interpreter import DEVICE

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


QUICK = (("complex", 3), ("conjugate", 1), ("widely_linear", 2))
CASES = [
    pytest.param(name, stages, marks=() if (name, stages) in QUICK else pytest.mark.full)
    for name in LAYERS
    for stages in (1, 2, 3)
]


@pytest.mark.parametrize(("linear_type", "stages"), CASES)
def test_every_size(launched, linear_type, stages):
    for columns, rows in SIZES:
        layer = layer_on_device(linear_type, columns, rows, stages, "tensor" if columns == 3 else "row")
        for shape in ((), (1, 1), (2, 2), (19,), (3, 7)):
            x = random(*shape, 2 * columns)
            found = layer(x)
            assert found.shape == (*shape, 2 * rows)
            assert error(found, expected_output(layer, x)) < 1e-5
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
    for count in (1, 30):
        x = random(count, 2, 148)[:, 1, ::2]
        assert torch.equal(layer(x), layer(x.contiguous()))
        assert torch.equal(layer(x.t().contiguous().t()), layer(x.contiguous()))
    assert len(launched) == 8
    for shape in ((0, 74), (3, 0, 74)):
        assert layer(torch.empty(shape, device=DEVICE)).shape == (*shape[:-1], 66)
    assert len(launched) == 8


def test_the_buffers_are_read_as_they_are_stored(launched):
    layer, other = layer_on_device(), layer_on_device()
    x = random(74)
    layer(x)
    layer.load_state_dict(other.state_dict())
    assert torch.equal(layer(x), other(x))
    layer.scales.mul_(0.5)
    assert error(layer.for_steps()(x), expected_output(layer, x)) < 1e-5
    assert layer._ordered is None
    assert launched == 4 * ["low_bit_one"]


@pytest.mark.parametrize("programs", [1, 2**10])
def test_parts_of_the_columns_are_added_up(monkeypatch, programs):
    monkeypatch.setattr(low_bit, "PROGRAMS", programs)
    monkeypatch.setattr(low_bit, "tile_sizes", lambda count, item_bytes: {"M": 32, "BYTES": 4, "N": 16})
    layer, x = layer_on_device(columns=45), random(2, 90)
    assert error(layer(x), expected_output(layer, x)) < 1e-5


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("count", [1, 2, 17, 65])
def test_tiles_of_a_gpu(launched, monkeypatch, count, dtype):
    monkeypatch.undo()
    monkeypatch.setattr(switch, "DEVICES", (DEVICE,))
    layer, x = layer_on_device(columns=150, rows=70), random(count, 300, dtype=dtype)
    assert error(layer(x), expected_output(layer, x)) < 2 * DTYPES[dtype]


def test_other_calls_take_the_unpacked_weights(launched):
    layer, x = layer_on_device(columns=5, rows=4), random(3, 10)
    expected = expected_output(layer, x)
    with use_kernels(False):
        assert error(layer(x), expected) < 1e-5
    assert layer(x.double()).dtype == torch.float64
    torch.func.vmap(layer)(x)
    x.requires_grad_()
    layer(x).square().sum().backward()
    torch.testing.assert_close(x.grad, torch.autograd.grad(layer.to_float()(x).square().sum(), x)[0])
    layer.requires_grad_(True)
    layer(x.detach()).sum().backward()
    assert "low_bit_many" not in launched
    with torch.no_grad():
        assert error(layer(x), expected) < 1e-5
    assert launched[-1] == "low_bit_many"


@every_type
def test_the_operator_is_registered(linear_type):
    layer = layer_on_device(linear_type, columns=5, rows=4)
    codes, scales = ([getattr(layer, f"{prefix}{name}") for prefix in layer.prefixes] for name in ("codes", "scales"))
    given = random(2, 3, 10), codes, scales, int(linear_type != "conjugate")
    packed = torch.ops.complex_transformers.low_bit_linear.packed
    torch.library.opcheck(packed, given, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.torch_compile_test
def test_the_compiler_sees_one_node(launched):
    layer = layer_on_device(columns=5, rows=4)
    nodes = []

    def backend(graph, _):
        nodes.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    x = random(2, 10)
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    assert error(compiled(x), expected_output(layer, x)) < 1e-5
    assert [name for name in nodes if "low_bit" in name] == ["complex_transformers.low_bit_linear.packed"]
    assert not any("unpack" in name or "bitwise" in name for name in nodes)
    x = random(3, 10)  # with a dynamic size
    assert error(compiled(x), expected_output(layer, x)) < 1e-5
    assert launched == ["low_bit_many", "low_bit_many"]
    exported = torch.export.export(layer, (x,)).module()
    assert not any("low_bit" in str(node.target) for node in exported.graph.nodes)


def messages(*layers):
    """Return what two calls of each layer warn about, and check that they compute the right output."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for layer in layers:
            for x in (torch.randn(2, 10), torch.randn(2, 10).requires_grad_()):
                x = x.to(layer.codes.device)
                with torch.no_grad():
                    expected = expected_output(layer, x)
                assert error(layer(x).detach(), expected) < 1e-5
    return [str(warning.message) for warning in caught]


@pytest.fixture
def unwarned():
    """Nothing has been warned of in this process."""
    choice._warn_once.cache_clear()
    switch._has_triton.cache_clear()
    yield
    choice._warn_once.cache_clear()
    switch._has_triton.cache_clear()


@pytest.mark.usefixtures("unwarned")
def test_one_warning_names_the_reason_on_a_gpu(launched, monkeypatch):
    layers = [layer_on_device(columns=5, rows=4) for _ in range(2)]
    prefix = "Packed layers run in plain PyTorch, which is much slower than their GPU kernels: "
    monkeypatch.setattr(switch, "find_spec", lambda name: None)
    (message,) = messages(*layers)
    assert message.startswith(f"{prefix}Triton 3.3 or later is not installed (pip install triton)")
    switch._has_triton.cache_clear()
    monkeypatch.undo()
    monkeypatch.setattr(switch, "DEVICES", (DEVICE,))
    monkeypatch.setattr(switch, "_is_known", lambda device: False)
    (message,) = messages(*layers)
    assert message.startswith(f"{prefix}they need an NVIDIA GPU of compute capability 8.0 or later")
    with use_kernels(False):
        choice._warn_once.cache_clear()
        assert messages(*layers) == []
    assert not launched


@pytest.mark.usefixtures("unwarned", "launched")
@pytest.mark.parametrize("device", ["CPU", "GPU"])
def test_one_warning_names_gradients_in_evaluation_mode(monkeypatch, device):
    if device == "CPU":
        monkeypatch.setattr(switch, "DEVICES", ("cuda",))
    layers = [packed_layer(columns=5, rows=4).to("cpu" if device == "CPU" else DEVICE) for _ in range(2)]
    for layer in layers:
        layer.requires_grad_(True)
    assert messages(*layers) == []  # in training mode
    (message,) = messages(*(layer.eval() for layer in layers))
    assert f"their {device} kernels: inputs or biases require gradients in evaluation mode" in message
    assert "torch.no_grad()" in message
