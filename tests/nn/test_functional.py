# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, strategies as st
from torch.autograd import gradcheck, gradgradcheck

import complex_transformers.nn.functional as CF
from complex_transformers.kernels.linear import GaussLinear
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, finite, halves, r, randn, softmax, z

shapes = st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_halves_are_real_then_imag_and_round_trip_exactly(dtype):
    x = randn(2, 3, 8, dtype=dtype)
    native = CF.to_complex(x)
    assert native.dtype == (torch.complex128 if dtype == torch.float64 else torch.complex64)
    np.testing.assert_array_equal(native.numpy().astype(np.complex128), z(x))
    assert torch.equal(CF.from_complex(native).to(dtype), x)
    real, imag = CF.split(x)
    assert torch.equal(real, x[..., :4])
    assert torch.equal(imag, x[..., 4:])
    assert torch.equal(CF.join(real, imag), x)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.sampled_from(DTYPES))
def test_concatenate_puts_features_side_by_side(widths, dtype):
    tensors = [randn(2, 3, 2 * d, dtype=dtype) for d in widths]
    out = CF.concatenate(tensors)
    assert out.dtype == dtype
    assert_close(z(out), np.concatenate([z(x) for x in tensors], axis=-1), 0.0)


def test_from_complex_resolves_a_lazy_conjugate():
    native = torch.randn(3, 4, dtype=torch.complex128)
    np.testing.assert_array_equal(z(CF.from_complex(native.conj())), native.numpy().conj())


def test_bad_layout_is_refused_by_name():
    native = torch.zeros(2, 4, dtype=torch.complex64)
    for function in (CF.split, CF.to_complex):
        assert_refused(r"complex64.*from_complex", function, native, error=TypeError)
        assert_refused("int64", function, torch.zeros(2, 4, dtype=torch.int64), error=TypeError)
        assert_refused(r"even size on axis -1 .* got shape \(2, 5\)", function, torch.zeros(2, 5))
        assert_refused("even", function, torch.tensor(1.0))
    assert_refused(
        r"even size on axis -1 .* got shape \(2, 3\)", CF.concatenate, [torch.zeros(2, 4), torch.zeros(2, 3)]
    )
    assert_refused("complex64", CF.concatenate, (torch.zeros(2, 4), native), error=TypeError)


@given(shapes, st.sampled_from(DTYPES))
def test_arithmetic_is_that_of_complex_numbers(shape, dtype):
    *lead, d = shape
    x, y = randn(*lead, 2 * d, dtype=dtype), randn(*lead, 2 * d, dtype=dtype)
    phase, factor = randn(*lead, d, dtype=dtype), randn(*lead, d, dtype=dtype)
    tolerance = TOLERANCE[dtype]
    assert_close(z(CF.conj(x)), z(x).conj(), 0.0)
    assert_close(z(CF.multiply(x, y)), z(x) * z(y), tolerance)
    assert_close(z(CF.scale(x, factor)), z(x) * r(factor), tolerance)
    assert_close(z(CF.rotate(x, phase)), z(x) * np.exp(1j * r(phase)), tolerance)
    assert_close(z(CF.hermitian_inner(x, y))[..., 0], (z(x) * z(y).conj()).sum(-1), tolerance)


@given(shapes, st.sampled_from(DTYPES))
def test_functions_to_real_numbers(shape, dtype):
    *lead, d = shape
    x = randn(*lead, 2 * d, dtype=dtype)
    square, tolerance = np.abs(z(x)) ** 2, TOLERANCE[dtype]
    assert_close(r(CF.modulus(x)), np.abs(z(x)), tolerance)
    assert_close(r(CF.squared_modulus(x)), square, tolerance)
    assert_close(r(CF.squared_modulus_softmax(x)), softmax(square), tolerance)
    assert_close(r(torch.sigmoid(CF.log_squared_modulus(x))), (square + 1e-6) / (1.0 + square + 1e-6), tolerance)
    assert_close(r(CF.squared_modulus_sigmoid(x)), 1.0 / (1.0 + np.exp(-square)), tolerance)
    assert_close(r(CF.probability_amplitude(x)), square / (1.0 + square.sum(-1, keepdims=True)), tolerance)
    assert_close(r(CF.probability_amplitude_sigmoid(x)), square / (1.0 + square), tolerance)
    assert_close(z(CF.split_softmax(x)), softmax(z(x).real) + 1j * softmax(z(x).imag), tolerance)


def test_broadcasting():
    x, y, factor, phase = randn(2, 3, 8), randn(8), randn(2, 3, 1), randn(4)
    assert_close(z(CF.multiply(x, y)), z(x) * z(y))
    assert_close(z(CF.scale(x, factor)), z(x) * r(factor))
    assert_close(z(CF.rotate(x, phase)), z(x) * np.exp(1j * r(phase)))
    one = randn(2)  # a single number for all features
    assert_close(z(CF.multiply(one, x)), z(one) * z(x))


@pytest.mark.parametrize("shapes", [((2, 3, 6), (2, 3, 6)), ((2, 3, 6), (2, 1, 6)), ((2, 2), (3, 1, 6))], ids=str)
def test_gradients_of_products(shapes):
    x, y = (randn(*shape, grad=True) for shape in shapes)
    assert gradcheck(CF.multiply, (x, y))
    assert gradgradcheck(CF.multiply, (x, y))
    for wanted in range(2):  # each alone
        leaves = [value.detach().requires_grad_(i == wanted) for i, value in enumerate((x, y))]
        CF.multiply(*leaves).sum().backward()
        assert leaves[1 - wanted].grad is None
        assert_close(z(leaves[wanted].grad), z(torch.autograd.grad(CF.multiply(x, y).sum(), (x, y))[wanted]))


@pytest.mark.parametrize("dtypes", [(torch.float32, torch.float64), (torch.bfloat16, torch.float32)], ids=str)
def test_products_of_two_dtypes_are_of_the_wider_one(dtypes):
    x, y = (randn(3, 4, dtype=dtype) for dtype in dtypes)
    assert CF.multiply(x, y).dtype == CF.multiply(y, x).dtype == dtypes[1]
    assert_close(z(CF.multiply(x, y)), z(x) * z(y), TOLERANCE[torch.float32])


def test_rotation_in_bfloat16_takes_large_phases_in_float32():
    x = halves(np.ones((1, 1), complex), torch.bfloat16)
    phase = torch.tensor([1000.7], dtype=torch.float32)  # bfloat16 keeps 1000 only
    assert_close(z(CF.rotate(x, phase)), np.exp(1j * r(phase))[None], 6e-3)


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_probability_amplitude_gradient_on_both_sides_of_its_peak(scale):
    # The scores are divided by max(1, peak), which must not enter the gradient on either side of 1.
    x = (scale * randn(3, 5)).requires_grad_()
    mask = torch.tensor([0.0, 0.0, -1.0, 0.0, 0.0], dtype=torch.float64)
    assert gradcheck(lambda s: CF.normalize_probability_amplitude(s, mask), (x,), eps=1e-6 * scale)
    assert gradcheck(lambda s: CF.normalize_probability_amplitude(s, mask), ((x.detach() * 7).requires_grad_(),))


@pytest.mark.parametrize("function", [CF.modulus, CF.squared_modulus])
@pytest.mark.parametrize("dtype", DTYPES)
def test_modulus_of_zero_has_gradient_zero(function, dtype):
    x = torch.zeros(2, 6, dtype=dtype, requires_grad=True)
    out = function(x)
    out.sum().backward()
    assert torch.equal(out, torch.zeros(2, 3, dtype=dtype))
    assert torch.equal(x.grad, torch.zeros_like(x))


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_second_derivatives_of_a_modulus_of_zero_are_zero(dtype):
    x = torch.zeros(1, 8, dtype=dtype, requires_grad=True)
    (grad,) = torch.autograd.grad(CF.modulus(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((grad + 1.0).square().sum(), x)
    assert not second.any()


def test_modulus_of_zero_where_tiny_numbers_are_zero():
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor keeps them")
    try:
        x = torch.zeros(2, 40, requires_grad=True)
        CF.modulus(x).sum().backward()
        assert not x.grad.any()
    finally:
        torch.set_flush_denormal(False)


def test_modulus_keeps_numbers_whose_squares_underflow_or_overflow():
    values = np.array([3e-30 + 4e-30j, 3e30 - 4e30j, -3e-40 + 0j, 0 + 2e15j])
    x = halves(values, torch.float32).requires_grad_()
    out = CF.modulus(x)
    out.sum().backward()
    np.testing.assert_allclose(r(out), np.abs(values), rtol=2e-5)
    np.testing.assert_allclose(z(x.grad), values / np.abs(values), rtol=1e-4, atol=1e-6)


def test_modulus_saturates():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        largest = torch.finfo(dtype).max
        x = torch.full((1, 2), largest, dtype=dtype, requires_grad=True)
        for function in (CF.modulus, CF.squared_modulus):
            out = function(x)
            assert out.item() == pytest.approx(largest, rel=4e-3)
            (gradient,) = torch.autograd.grad(out.sum(), x)
            assert finite(gradient)


@given(st.integers(1, 4), st.integers(1, 4), st.lists(st.integers(1, 3), max_size=2))
def test_block_matrix_multiplies_halves_by_a_complex_matrix(d_out, d_in, kernel):
    # Axes after the first two are those of a kernel: each of its places holds a matrix of its own.
    a, b = randn(d_out, d_in, *kernel), randn(d_out, d_in, *kernel)
    block = CF.block_matrix(a, b)
    assert block.shape == (2 * d_out, 2 * d_in, *kernel)
    x = randn(2 * d_in)
    for place in np.ndindex(*kernel):
        w = r(a)[(..., *place)] + 1j * r(b)[(..., *place)]
        assert_close(z(block[(..., *place)] @ x), w @ z(x))


SHAPES = ((5, 6), (2, 3), (2, 3), (5, 4))  # of x, both parts of a weight, and what comes out


def three_products(monkeypatch):
    """Make every full-precision product take the three-multiplication path, and count its calls."""
    calls = []
    apply = GaussLinear.apply
    monkeypatch.setattr(CF, "_MIN_ROWS_SMALL", 1)
    monkeypatch.setattr(GaussLinear, "apply", lambda *args: calls.append(1) or apply(*args))
    return calls


@pytest.mark.parametrize(
    ("rows", "features", "path"),
    [
        ((1,), 256, "sublayer"),
        ((2, 63), 256, "sublayer"),
        ((2, 64), 256, "three_products"),
        ((2, 8), 160, "sublayer"),
        ((2, 9), 160, "block"),
        ((8, 127), 16, "block"),
        ((8, 128), 16, "three_products"),
    ],
)
def test_the_path_follows_from_shapes_and_changes_nothing(rows, features, path):
    x = randn(*rows, 2 * features)
    a, b, bias = randn(features, features), randn(features, features), randn(2 * features)
    assert CF.linear_path(x, a) == path
    assert CF.linear_path(x.bfloat16(), a.bfloat16()) == "block"
    expected = z(x) @ (r(a) + 1j * r(b)).T
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            assert_close(z(CF.linear(x, a, b, bias)), expected + z(bias), 1e-10)
            assert_close(z(CF.linear(x, a, b)), expected, 1e-10)


@pytest.mark.parametrize("gauss", [True, False])
@pytest.mark.parametrize("with_bias", [True, False])
def test_linear_gradients(gauss, with_bias, monkeypatch):
    calls = three_products(monkeypatch) if gauss else []
    x, a, b = randn(2, 3, 6, grad=True), randn(2, 3, grad=True), randn(2, 3, grad=True)
    inputs = (x, a, b, randn(4, grad=True)) if with_bias else (x, a, b)
    assert gradcheck(CF.linear, inputs)
    assert gradgradcheck(CF.linear, inputs)
    assert bool(calls) == gauss


@pytest.mark.parametrize("sizes", [(2e38, 0.1, 1e-3), (1e-3, 2e38, 1e-3), (1e-3, 0.1, 2e38)], ids=["x", "w", "grad"])
def test_three_products_keep_the_range_of_the_dtype(sizes, monkeypatch):
    three_products(monkeypatch)
    x, a, b, grad = (size * randn(*shape).sign() for size, shape in zip((*sizes[:2], *sizes[1:]), SHAPES, strict=True))
    inputs, results = (x, a, b, randn(4)), {}
    for dtype in (torch.float32, torch.float64):
        leaves = [value.to(dtype).requires_grad_() for value in inputs]
        function = CF.linear if dtype == torch.float32 else CF.block_linear
        out = function(*leaves)
        results[dtype] = [out, *torch.autograd.grad(out, leaves[:3], grad.to(dtype))]
    for result, expected in zip(results[torch.float32], results[torch.float64], strict=True):
        torch.testing.assert_close(result.double(), expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("wanted", range(4))
def test_three_products_give_each_gradient_alone(wanted, monkeypatch):
    calls = three_products(monkeypatch)
    tensors = [randn(5, 6), randn(2, 3), randn(2, 3), randn(4)]
    gradients = {}
    for function in (CF.linear, CF.block_linear):
        leaves = [t.clone().requires_grad_(i == wanted) for i, t in enumerate(tensors)]
        out = function(*leaves)
        (out * torch.arange(20.0).view(5, 4)).sum().backward()
        gradients[function] = leaves[wanted].grad
        assert all(leaf.grad is None for i, leaf in enumerate(leaves) if i != wanted)
    torch.testing.assert_close(gradients[CF.linear], gradients[CF.block_linear], rtol=0, atol=1e-10)
    assert calls


def test_autocast_takes_one_product(monkeypatch):
    calls = three_products(monkeypatch)
    x, a, b = (randn(*shape, dtype=torch.float32) for shape in SHAPES[:3])
    with torch.autocast("cpu", torch.bfloat16):
        low = CF.linear(x, a, b)
    assert not calls
    assert low.dtype == torch.bfloat16
    assert_close(z(low), z(x) @ (r(a) + 1j * r(b)).T, 3e-2)


def test_linear_takes_non_contiguous_and_empty_input(monkeypatch):
    three_products(monkeypatch)
    a, b = randn(2, 3), randn(2, 3)
    x = randn(6, 5, 4).permute(2, 1, 0)
    assert_close(z(CF.linear(x, a, b)), z(x) @ (r(a) + 1j * r(b)).T)
    assert CF.linear(x[:0], a, b).shape == (0, 5, 4)


@pytest.mark.parametrize("rows", [(), (0,), (1,), (1, 1), (2,), (2, 2), (5,)], ids=str)
@pytest.mark.parametrize("features", [(20, 30), (200, 150), (600, 500)], ids=str)  # in and out
def test_real_products_of_few_rows(rows, features):
    wide, (inside, outside) = torch.float64, features
    x, weight, bias = randn(*rows, inside), randn(outside, inside), randn(outside)
    expected = x @ weight.T
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            torch.testing.assert_close(CF.real_linear(x, weight), expected, rtol=0, atol=1e-10)
            torch.testing.assert_close(CF.real_linear(x, weight, bias), expected + bias, rtol=0, atol=1e-10)
    leaves = [value.clone().requires_grad_() for value in (x, weight, bias)]
    found = torch.autograd.grad(CF.real_linear(*leaves), leaves, torch.ones(*rows, outside, dtype=wide))
    wanted = weight.sum(0).expand_as(x), x.reshape(-1, inside).sum(0).expand_as(weight)
    for got, want in zip(found, (*wanted, torch.full_like(bias, np.prod(rows))), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=1e-9)


def test_a_weight_that_is_more_than_numbers_is_multiplied_by_itself():
    """As a quantised one is: a subclass of tensors that knows ``F.linear`` alone."""

    class Doubled(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                return function(args[0], 2.0 * args[1], *args[2:]) if function is F.linear else function(*args)

    x, weight = randn(3, 200), randn(200, 200)
    torch.testing.assert_close(CF.real_linear(x, weight.as_subclass(Doubled)), 2.0 * x @ weight.T)


@given(st.integers(1, 6), st.data())
def test_probability_amplitude_weighs_squares_by_the_mask(size, data):
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    score = randn(2, size) * 3.0
    for finite_part in (np.zeros(size), np.random.randn(size)):
        mask = torch.from_numpy(np.where(keep, finite_part, torch.finfo(torch.float64).min))
        square = np.where(keep, r(score) ** 2 * np.exp(finite_part), 0.0)
        expected = square / (1.0 + square.sum(-1, keepdims=True))
        assert_close(r(CF.normalize_probability_amplitude(score, mask)), expected)
        assert_close(r(CF.normalize_probability_amplitude(score, mask.float())), expected, 1e-6)


def test_probability_amplitude_of_huge_scores():
    score = torch.tensor([[3e30, 4e30, 0.0]], requires_grad=True)
    out = CF.normalize_probability_amplitude(score)
    torch.testing.assert_close(out, torch.tensor([[9 / 25, 16 / 25, 0.0]]))
    out[0, 0].backward()
    assert finite(score.grad)


@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_masked_mean_is_the_mean_of_what_is_kept(batch, length, data):
    rows = st.lists(st.booleans(), min_size=length, max_size=length)
    keep = np.array([data.draw(rows) for _ in range(batch)])
    x = randn(batch, length, 4)
    expected = np.stack([r(x)[i][keep[i]].mean(0) if keep[i].any() else np.zeros(4) for i in range(batch)])
    for mask in (torch.from_numpy(keep), torch.from_numpy(keep).long(), torch.from_numpy(keep).double()):
        assert_close(r(CF.masked_mean(x, mask)), expected)
    assert_close(r(CF.masked_mean(x)), r(x).mean(1))


def test_masked_mean_in_float16_does_not_overflow_in_its_sum():
    x = torch.full((1, 200, 2), 1000.0, dtype=torch.float16)
    mask = torch.ones(1, 200, dtype=torch.long)
    assert torch.equal(CF.masked_mean(x, mask), torch.full((1, 2), 1000.0, dtype=torch.float16))


def test_complex_mse():
    x, y = randn(3, 4, 6), randn(3, 4, 6)
    assert_close(r(CF.complex_mse(x, y)), np.mean(np.abs(z(x) - z(y)) ** 2))
    assert_refused(r"target must have shape \(3, 4, 6\), got \(4, 6\)", CF.complex_mse, x, y[0])


@given(st.integers(1, 800), st.integers(1, 50), st.integers(0, 8), st.integers(20_000, 500_000))
def test_parameter_budget_is_met(n, c, k, budget):
    for field, factor in (("real", 1), ("complex", 2)):
        m = CF.parameter_budget_width(n, c, k, budget, field)

        def count(width, factor=factor):
            return factor * (n * width + k * width**2 + width * c)

        assert count(m - 0.5) <= budget * (1 + 1e-9)
        assert count(m + 0.5) >= budget * (1 - 1e-9)


def test_parameter_budget_bad_values():
    assert_refused(r"\['complex', 'real'\].*'quaternion'", CF.parameter_budget_width, 10, 2, 1, 1000, "quaternion")
    assert_refused("budget must be at least 26, .*got 5", CF.parameter_budget_width, 10, 2, 1, 5)
