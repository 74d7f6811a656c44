# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""CPU kernels of packed layers: every instruction set against loops in complex128, when they run, how they compile."""

import copy
import logging
import pickle
import sys
import warnings

import pytest
import torch
from low_bit_oracle import DTYPES, LAYERS, error, expected_output, packed_layer

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, ComplexQuantizationConfig, quantize
from complex_transformers.kernels.native import build, low_bit
from complex_transformers.nn import use_kernels

WIDTHS = ((1, 1), (3, 18), (16, 16), (37, 33))  # complex in and out: within, of and beyond a block of 16
every_type = pytest.mark.parametrize("linear_type", LAYERS)


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """Numbers of inputs that the kernel has computed; skip without a compiler."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not low_bit.load():
            pytest.skip("no C++ compiler that works: install g++")
    counts = []
    linear = low_bit.linear

    def counted(x, weights):
        counts.append(x.numel() // x.shape[-1])
        return linear(x, weights)

    monkeypatch.setattr(low_bit, "linear", counted)
    return counts


def test_generate_uses_the_kernel(calls):
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(vocab_size=40, **sizes)).eval()
    quantize(model, ComplexQuantizationConfig(stages=3))
    prompt = torch.randint(3, 40, (2, 5))
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    written = model.generate(prompt, **options)
    assert calls == [10] * 7 + [2] * 3 * 7  # seven layers on the prompt, then on one token at a time
    with use_kernels(False):
        assert torch.equal(model.generate(prompt, **options), written)
    assert len(calls) == 28


@pytest.fixture(params=["avx512", "avx2", "neon", "portable"])
def instructions(request, calls, monkeypatch):
    """Use one instruction set, whose name is returned."""
    if request.param not in low_bit.paths():
        pytest.skip(f"this processor has only the instruction sets {low_bit.paths()}")
    monkeypatch.setattr(low_bit, "path", low_bit.paths().index(request.param))
    return request.param


@every_type
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_every_instruction_set(linear_type, stages, instructions, calls):
    for columns, rows in WIDTHS:
        layer = packed_layer(linear_type, columns, rows, stages, "tensor" if columns == 3 else "row")
        for shape in ((1,), (), (2, 2), (30,)):  # lookups, and tiles of unpacked weights
            x = torch.randn(*shape, 2 * columns)
            found = layer(x)
            assert found.shape == (*shape, 2 * rows)
            assert error(found, expected_output(layer, x)) < 2e-6
    assert calls == 4 * [1, 1, 4, 30]


def rounded(x):
    """Round each part to multiples of the largest number of 64 columns over 1023."""
    spans = [span for part in x.chunk(2, -1) for span in part.split(64, -1)]
    largest = [span.abs().amax(-1, keepdim=True).clamp(min=1e-30) for span in spans]
    levels = torch.tensor(1023.0)  # divided in float32, as in the kernel
    return torch.cat(
        [(span * (levels / m)).round() * (m / levels) for span, m in zip(spans, largest, strict=True)], -1
    )


ROUNDING = ("avx2", "neon")  # instruction sets with tables of rounded inputs
rounding = pytest.mark.parametrize("instructions", ROUNDING, indirect=True)


@rounding
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_with_rounded_tables(dtype, instructions):
    layer = packed_layer(columns=130, bias=False)
    x = torch.randn(2, 260).to(dtype)
    assert torch.equal(layer(x), layer_at_high(layer, x.float()).to(dtype))
    assert not torch.equal(layer(x), layer(x.float()).to(dtype))


def layer_at_high(layer, x):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        return layer(x)
    finally:
        torch.set_float32_matmul_precision(before)


@rounding
def test_the_largest_sums_fit_and_more_inputs_take_unpacked_weights(instructions):
    layer = packed_layer("complex", columns=128, rows=16, stages=1, bias=False)
    layer.codes.zero_()  # all weights are real and positive
    for x in (torch.ones(1, 256), -torch.ones(1, 256)):
        assert error(layer_at_high(layer, x), expected_output(layer, x)) < 1e-6
    x = torch.randn(100, 256)
    exact = [error(layer_at_high(layer, x[:count]), expected_output(layer, x[:count])) < 2e-6 for count in (8, 100)]
    assert exact == [False, True]


@rounding
def test_precisions_of_some_devices_only(instructions):
    """PyTorch then refuses to say what the precision of all products is."""
    layer, x = packed_layer(bias=False), torch.randn(1, 74)
    expected = layer_at_high(layer, x)
    backend = getattr(torch.backends.cuda.matmul, "fp32_precision", None)
    if backend is None:
        pytest.skip("PyTorch 2.9 and later")
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        assert torch.equal(layer(x), expected)
    finally:
        torch.backends.cuda.matmul.fp32_precision = backend


@every_type
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_inputs_are_rounded_where_float32_may_be_less_precise(linear_type, stages, instructions):
    rounds = instructions in ROUNDING
    for columns, rows in (*WIDTHS, (130, 40), (200, 20)):  # spans of 64 columns, the last one shorter
        layer = packed_layer(linear_type, columns, rows, stages)
        x = torch.randn(3, 2 * columns) * torch.logspace(-3, 3, 2 * columns)
        x[0, : columns // 2] = 0.0
        found = layer_at_high(layer, x)
        assert error(found, expected_output(layer, rounded(x) if rounds else x)) < 2e-6
        assert (error(found, expected_output(layer, x)) > 2e-6) == (rounds and columns > 1)
        assert error(found, expected_output(layer, x)) < 2e-3
        spoilt = layer_at_high(layer, x.where(x != x[0, -1], torch.inf))
        assert spoilt.isfinite().all(-1).tolist() == [False, True, True]


@every_type
def test_the_unpacked_layer_computes_the_same(linear_type):
    layer = packed_layer(linear_type, columns=21)
    for count in (2, 50):
        x = torch.randn(count, 42)
        with use_kernels(False):
            plain = layer(x)
        torch.testing.assert_close(layer(x), plain, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(layer(x), layer.to_float()(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [3, 50])
def test_dtypes_and_autocast(dtype, count, calls):
    layer = packed_layer()
    x = torch.randn(count, 74).to(dtype)
    expected = expected_output(layer, x)
    found = layer(x)
    assert found.dtype == dtype
    assert error(found, expected) < DTYPES[dtype]
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x)
    assert found.dtype == torch.bfloat16
    assert error(found, expected) < DTYPES[torch.bfloat16]
    assert calls == [count, count]
    assert layer(x.double()).dtype == torch.float64  # unpacked
    assert len(calls) == 2


def test_empty_and_strided_inputs():
    layer = packed_layer(bias=False)
    for shape in ((0, 74), (3, 0, 74)):
        assert layer(torch.empty(shape)).shape == (*shape[:-1], 66)
    for count in (5, 40):
        x = torch.randn(count, 2, 148)[:, 1, ::2]
        assert torch.equal(layer(x), layer(x.contiguous()))
        assert torch.equal(layer(x.t().contiguous().t()), layer(x.contiguous()))


def test_outputs_depend_neither_on_threads_nor_on_the_batch():
    layer = packed_layer(columns=300, rows=700)
    x = torch.randn(8, 600)
    single = layer(x)
    torch.set_num_threads(2)
    try:
        assert torch.equal(layer(x), single)
    finally:
        torch.set_num_threads(1)
    assert torch.equal(torch.cat([layer(row) for row in x.split(1)]), single)


def test_gradients_take_the_unpacked_weights(calls):
    layer = packed_layer(columns=5, rows=4)
    x = torch.randn(3, 10, requires_grad=True)
    layer(x).square().sum().backward()
    expected = torch.autograd.grad(layer.to_float()(x).square().sum(), x)[0]
    torch.testing.assert_close(x.grad, expected)
    layer.requires_grad_(True)
    layer(x.detach()).sum().backward()
    torch.testing.assert_close(layer.bias.grad, torch.full((8,), 3.0))
    torch.func.vmap(layer)(x.detach())
    assert not calls
    with torch.inference_mode():
        layer(x)
    assert calls == [3]


def test_weights_that_change_are_ordered_anew():
    layer, other = packed_layer(), packed_layer()
    x = torch.randn(2, 74)
    before = layer(x)
    assert torch.equal(layer(x), before)
    kept = layer.ordered_weights()
    assert layer.ordered_weights() is kept
    copied = copy.deepcopy(layer)
    layer.load_state_dict(other.state_dict())
    assert torch.equal(layer(x), other(x))
    assert torch.equal(copied(x), before)
    with torch.inference_mode():
        layer.codes.random_(0, 256)
        layer = copy.deepcopy(layer)
        assert error(layer(x), expected_output(layer, x)) < 2e-6
        with torch.inference_mode(False):
            state = packed_layer().state_dict()
        layer.load_state_dict(state)  # tensors without versions
        assert error(layer(x), expected_output(layer, x)) < 2e-6
    layer.scales = layer.scales / 2
    assert error(layer(x), expected_output(layer, x)) < 2e-6
    assert torch.equal(pickle.loads(pickle.dumps(copied))(x), before)


def test_layers_that_are_moved_and_cast(calls):
    layer = packed_layer()
    x = torch.randn(2, 74)
    expected = layer(x)
    for cast, dtype in ((layer.bfloat16, torch.bfloat16), (layer.half, torch.float16), (layer.float, torch.float32)):
        out = cast()(x.to(dtype))
        assert out.dtype == dtype
        assert error(out, expected.double()) < 2e-2  # the bias was rounded, too
    state = packed_layer().state_dict()
    assert len(calls) == 4
    layer.to("meta")
    assert layer(x.to("meta")).is_meta
    assert layer._ordered is None
    assert len(calls) == 4
    layer.to_empty(device="cpu").load_state_dict(state)
    assert error(layer(x), expected_output(layer, x)) < 2e-6


def test_the_operators_are_registered():
    layer = packed_layer()
    weights = layer.ordered_weights()
    operators = torch.ops.complex_transformers
    given = torch.randn(2, 3, 74), weights.signs, weights.scales, weights.rows, weights.first_conjugate
    checks = ("test_schema", "test_faketensor")
    torch.library.opcheck(operators.low_bit_linear.default, given, test_utils=checks)
    torch.library.opcheck(operators.low_bit_signs.default, (layer.codes,), test_utils=checks)


@pytest.mark.torch_compile_test
def test_the_compiler_sees_one_node():
    layer = packed_layer()
    nodes = []

    def backend(graph, _):
        nodes.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    x = torch.randn(2, 74)
    expected = expected_output(layer, x)
    assert error(compiled(x), expected) < 2e-6
    first = len(nodes)
    assert error(compiled(x), expected) < 2e-6  # with the weights that the first call has ordered
    later = nodes[first:]
    assert sum("low_bit_linear" in name for name in later) == 1
    assert not any("low_bit_signs" in name or "unpack" in name for name in later)
    exported = torch.export.export(layer, (x,)).module()
    assert not any("low_bit" in str(node.target) for node in exported.graph.nodes)
    assert error(exported(x), expected) < 2e-6


@pytest.fixture
def unloaded(monkeypatch, tmp_path):
    """Nothing is loaded yet, and the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    low_bit.load.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    low_bit.load.cache_clear()


def messages():
    """Return what two calls of a layer warn about, and check that they compute the right output."""
    layer, x = packed_layer(), torch.randn(2, 74)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert error(layer(x), expected_output(layer, x)) < 2e-6
    return [str(warning.message) for warning in caught]


def test_without_a_compiler_one_warning_names_the_reason(unloaded, monkeypatch, calls):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build, "COMPILERS", ())
    (message,) = messages()
    assert message.startswith(
        "Packed layers run in plain PyTorch, which is much slower than their CPU kernels: no C++"
    )
    assert not calls
    for name, reason in (("false", "false failed (1)"), (str(unloaded / "none"), "the compiler cannot run (")):
        low_bit.load.cache_clear()
        monkeypatch.setenv("CXX", name)
        (message,) = messages()
        assert reason in message
    low_bit.load.cache_clear()
    monkeypatch.setattr(sys, "platform", "win32")
    (message,) = messages()
    assert "they are not available on win32" in message
    low_bit.load.cache_clear()
    with use_kernels(False):
        assert messages() == []
    assert not calls
    assert not list(unloaded.glob("cache/*/*"))


def test_a_library_is_compiled_once(unloaded, monkeypatch, caplog):
    source = unloaded / "source"
    source.mkdir()
    (source / "low_bit.cpp").write_text("int one() { return 1; }\n")
    monkeypatch.setattr(build, "HERE", source)
    with caplog.at_level(logging.WARNING):
        first, second = build.compile_operators(), build.compile_operators()
    assert first == second
    assert first.is_file()
    assert len(caplog.records) == 1
    (source / "low_bit.cpp").write_text("int one() { return 2; }\n")
    other = build.compile_operators()
    assert {path.name for path in first.parent.iterdir()} == {first.name, other.name}
    (source / "low_bit.cpp").write_text("int one() { return two; }\n")
    with pytest.raises(build.BuildError, match="two"):
        build.compile_operators()
    assert len(list(first.parent.iterdir())) == 2
