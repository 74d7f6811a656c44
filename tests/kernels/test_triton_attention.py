# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention as a Triton kernel against complex128, by the interpreter on the CPU or on a GPU (``make test-gpu``)."""

from itertools import product

import pytest
import torch
from attention_oracle import (
    BACKWARD,
    DTYPES,
    FORWARD,
    MASKS,
    SCORES,
    SHAPES,
    Module,
    assert_near,
    boolean,
    check,
    gradients,
    make,
    oracle,
)
from torch import nn

from complex_transformers.kernels.accelerator import (
    attention as accelerated,
    attention_launch,
)
from complex_transformers.nn import GroupedQueryAttention, complex_attention, use_kernels
from interpreter import DEVICE
from oracles import finite


@pytest.mark.parametrize(
    ("shape", "score", "dtype", "mask"),
    [
        ("several tiles", "modulus", torch.float32, "causal"),
        ("several tiles", "bilinear_modulus", torch.bfloat16, "every query"),
        ("one tile", "modulus", torch.float16, "additive"),
        ("shared keys", "modulus", torch.bfloat16, "padding"),
        ("shared keys", "bilinear_modulus", torch.float32, "additive in float32"),
        ("a cache, one query", "modulus", torch.float32, "causal"),
        ("a cache, some queries", "modulus", torch.float16, "causal"),
        ("more queries than keys", "modulus", torch.bfloat16, "none"),
        ("128 features", "bilinear_modulus", torch.float32, "none"),
        ("odd values", "modulus", torch.float32, "longer than the keys"),
        ("a feature", "modulus", torch.float32, "none"),
    ],
)
def test_attention_and_its_gradients(launched, shape, score, dtype, mask):
    check(launched, shape, score, dtype, mask)


SIGMOID_SCORES = (*SCORES, "real")


@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")  # the exponential of a masked score is infinite
@pytest.mark.parametrize(
    ("shape", "score", "dtype", "mask"),
    [
        ("several tiles", "real", torch.float32, "causal"),
        pytest.param("several tiles", "modulus", torch.bfloat16, "every query", marks=pytest.mark.full),
        ("one tile", "modulus", torch.float32, "none"),
        ("one tile", "real", torch.float16, "additive"),
        pytest.param("shared keys", "bilinear_modulus", torch.float32, "additive in float32", marks=pytest.mark.full),
        ("shared keys", "modulus", torch.bfloat16, "padding"),
        ("a cache, one query", "modulus", torch.float32, "causal"),
        ("more queries than keys", "real", torch.float32, "none"),
        ("odd values", "bilinear_modulus", torch.float32, "longer than the keys"),
    ],
)
def test_sigmoid_attention_and_its_gradients(launched, shape, score, dtype, mask):
    check(launched, shape, score, dtype, mask, sigmoid=True)


def fits(shape, mask):
    """A query before the first key has none to look at."""
    return mask != "causal" or SHAPES[shape][3] <= SHAPES[shape][4]


# Every score, mask and dtype on one shape, every score and shape with the two masks of a decoder; then what is left.
TABLE = [("one tile", *row) for row in product(SCORES, DTYPES, MASKS) if row[2] != "causal"]
TABLE += [
    (shape, score, torch.float32, mask)
    for shape, score, mask in product(SHAPES, SCORES, ("causal", "every query"))
    if fits(shape, mask)
]
REST = [row for row in product(SHAPES, SCORES, DTYPES, MASKS) if fits(row[0], row[3]) and row not in TABLE]


@pytest.mark.full
@pytest.mark.parametrize(("shape", "score", "dtype", "mask"), TABLE)
def test_every_score_mask_dtype_and_shape(launched, shape, score, dtype, mask):
    check(launched, shape, score, dtype, mask)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "score", "dtype", "mask"), REST)
def test_the_rest_of_the_product(launched, shape, score, dtype, mask):
    check(launched, shape, score, dtype, mask)


SIGMOID_TABLE = [row for row in product(SHAPES, SIGMOID_SCORES, DTYPES, MASKS) if fits(row[0], row[3])]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
@pytest.mark.parametrize(("shape", "score", "dtype", "mask"), SIGMOID_TABLE)
def test_the_whole_product_of_sigmoids(launched, shape, score, dtype, mask):
    check(launched, shape, score, dtype, mask, sigmoid=True)


@pytest.mark.parametrize("score", SCORES)
def test_dropout_drops_the_same_weights_forward_backward_and_again(launched, score):
    inputs, module = make("shared keys", torch.float32), Module(2, is_causal=True)
    cotangent = torch.randn(1, 9, 4, 8)
    state = torch.get_rng_state()
    seed = int(torch.randint(2**62, ()))
    keep = attention_launch.keep_factors(torch.empty(1, 4, 9, 17, device=DEVICE), 0.4, seed)
    assert keep.unique().tolist() == pytest.approx([0.0, 1 / 0.6])
    assert 0.3 < (keep == 0).double().mean() < 0.5
    in_a_graph = attention_launch.keep_factors(keep, 0.4, torch.tensor(seed, device=DEVICE))
    assert torch.equal(in_a_graph, keep)
    assert not torch.equal(keep[0, 0], keep[0, 1])

    def ours(*inputs):
        torch.set_rng_state(state)
        options = {"scaling": 0.7, "dropout": 0.4, "score": score, "need_weights": False}
        return complex_attention(module, *inputs, None, **options)[0]

    found = gradients(ours, inputs, cotangent)
    assert launched == ["keep_factors", "keep_factors", *BACKWARD]
    expected = gradients(
        lambda *inputs: oracle(*inputs, None, score, 0.7, 2, True, keep.double()),
        [x.double() for x in inputs],
        cotangent,
    )
    for one, two in zip(found, expected, strict=True):
        assert_near(one, two, torch.float32)
    module.eval()
    assert not torch.equal(ours(*inputs), found[0])


@pytest.mark.parametrize("score", SCORES)
def test_gradient_of_the_gradient(launched, score):
    inputs, cotangent = make("a feature", torch.float32), torch.randn(1, 2, 1, 1)

    def twice(function, inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        out = function(*leaves)
        first = torch.autograd.grad(out, leaves, cotangent.to(out), create_graph=True)
        return torch.autograd.grad(sum((g * g).sum() for g in first), leaves)

    def ours(*inputs):
        return complex_attention(Module(), *inputs, None, scaling=0.7, score=score, need_weights=False)[0]

    found = twice(ours, inputs)
    assert launched == FORWARD  # the gradient is made of plain operations
    expected = twice(lambda *x: oracle(*x, None, score, 0.7, 1, False), [x.double() for x in inputs])
    for one, two in zip(found, expected, strict=True):
        assert_near(one, two, torch.float32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
@pytest.mark.parametrize("score", ["modulus", *(pytest.param(s, marks=pytest.mark.full) for s in SIGMOID_SCORES[1:])])
def test_sigmoid_with_dropout_and_its_second_gradient(launched, score):
    inputs = [*make("shared keys", torch.float32), torch.tensor([-0.8], device=DEVICE)]
    cotangent, state = torch.randn(1, 9, 4, 8), torch.get_rng_state()
    seed = int(torch.randint(2**62, ()))
    keep = attention_launch.keep_factors(torch.empty(1, 4, 9, 17, device=DEVICE), 0.4, seed).double()

    def ours(query, key, value, bias):
        torch.set_rng_state(state)
        options = {"scaling": 0.7, "dropout": 0.4, "score": score, "normalization": "sigmoid", "need_weights": False}
        return complex_attention(Module(2, is_causal=True), query, key, value, None, bias=bias, **options)[0]

    def exact(query, key, value, bias):
        return oracle(query, key, value, None, score, 0.7, 2, True, keep, bias)

    def all_gradients(function, inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        out = function(*leaves)
        once = torch.autograd.grad(out, leaves, cotangent.to(out), retain_graph=True)
        first = torch.autograd.grad(out, leaves, cotangent.to(out), create_graph=True)
        return [out, *once, *torch.autograd.grad(sum((g * g).sum() for g in first), leaves)]

    found = all_gradients(ours, inputs)
    assert launched == ["keep_factors", *BACKWARD, "keep_factors"]
    for one, two in zip(found, all_gradients(exact, [x.double() for x in inputs]), strict=True):
        assert_near(one, two, torch.float32)


def test_dropout_in_the_gradient_of_the_gradient(launched):
    query, key, value = (x.requires_grad_() for x in make("a feature", torch.float32))
    attend = {"score": "modulus", "scaling": 0.7, "dropout": 0.5}
    out = accelerated.attention(query, key, value, None, **attend)
    (first,) = torch.autograd.grad(out.sum(), value, create_graph=True)
    torch.autograd.grad(first.sum(), key)
    assert launched == [*FORWARD, "keep_factors"]


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e-18, 1e15])
@pytest.mark.parametrize("score", ["modulus", "bilinear_modulus"])
def test_scores_of_any_size(launched, score, size):
    inputs = make("one tile", torch.float32)
    inputs[0] *= size
    inputs[1] *= max(size, 1.0)  # |s| up to 1e30, whose square float32 does not hold

    def ours(*inputs):
        return complex_attention(Module(), *inputs, None, score=score, scaling=1.0, need_weights=False)[0]

    cotangent = torch.randn(2, 5, 1, 8)
    found = gradients(ours, inputs, cotangent)
    assert finite(*found)
    if size == 0.0:
        assert not found[1].any()
        assert not found[2].any()
    elif size == 1e-18:  # below, gradients have faded to 0; above, they are differences of equal numbers
        expected = gradients(
            lambda *x: oracle(*x, None, score, 1.0, 1, False), [x.double() for x in inputs], cotangent
        )
        for one, two in zip(found, expected, strict=True):
            assert_near(one, two, torch.float32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")  # overflow of squares
@pytest.mark.parametrize(
    ("dtype", "sizes", "scaling"),
    [
        (torch.bfloat16, (0.0, 1.0), 1.0),
        (torch.bfloat16, (1e-18, 1.0), 1.0),
        (torch.bfloat16, (1e9, 1e9), 1e-18),
        (torch.float16, (1e-4, 1e-3), 1.0),
        (torch.float16, (1e4, 1e4), 1e-8),
    ],
)
def test_scores_of_any_size_in_half_precision(launched, dtype, sizes, scaling):
    inputs = make("one tile", torch.float32)
    inputs = [(x * size).to(dtype) for x, size in zip(inputs, (*sizes, 1.0), strict=True)]

    def ours(*inputs):
        return complex_attention(Module(), *inputs, None, scaling=scaling, need_weights=False)[0]

    cotangent = torch.randn(2, 5, 1, 8).to(dtype)
    exact = [x.double() for x in inputs]
    expected = gradients(lambda *x: oracle(*x, None, "modulus", scaling, 1, False), exact, cotangent)
    for one, two in zip(gradients(ours, inputs, cotangent), expected, strict=True):
        assert finite(one)
        assert_near(one, two.nan_to_num(), dtype)  # the oracle has no gradient at 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
def test_bfloat16_scores_beyond_the_range_of_squares(launched):
    inputs = make("one tile", torch.bfloat16)
    inputs[0] *= 1e15
    inputs[1] *= 1e15
    found = gradients(
        lambda *x: complex_attention(Module(), *x, None, need_weights=False)[0], inputs, torch.randn(2, 5, 1, 8)
    )
    assert finite(*found)
    assert not found[1].any()
    assert not found[2].any()


@pytest.mark.parametrize("mask", ["none", "every query", "additive"])
@pytest.mark.parametrize("scaling", [0.0, -0.7, 1e-8, 50.0])
def test_any_scaling(launched, scaling, mask):
    check(launched, "several tiles", "modulus", torch.float32, mask, scaling)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
def test_what_is_not_a_number_stays_in_its_row(launched):
    query, key, value = make("several tiles", torch.float32)
    query[0, 1, 3, 2] = float("nan")
    out, _ = complex_attention(Module(), query, key, value, None, need_weights=False)
    bad = out.isnan().any(-1)
    assert bad[0, 3, 1]
    assert bad.sum() == 1
    assert launched == FORWARD


# --- the path that is taken ------------------------------------------------------------------------------------------


def plain(**changes):
    """Arguments of ``complex_attention`` that the kernel takes, and some that it does not."""
    return {"shapes": [(1, 2, 5, 8), (1, 2, 6, 8), (1, 2, 6, 8)], "dtype": torch.float32, "mask": None, **changes}


REFUSED = {
    "float64": plain(dtype=torch.float64),
    "wide heads": plain(shapes=[(1, 1, 2, 258), (1, 1, 3, 258), (1, 1, 3, 4)]),
    "wide values": plain(shapes=[(1, 1, 2, 4), (1, 1, 3, 4), (1, 1, 3, 257)]),
    "a learned mask": plain(mask=torch.randn(5, 6, requires_grad=True)),
    "a mask in float64": plain(mask=torch.randn(5, 6).double()),
    "no texts": plain(shapes=[(0, 2, 5, 8), (0, 2, 6, 8), (0, 2, 6, 8)]),
    "no queries": plain(shapes=[(1, 2, 0, 8), (1, 2, 6, 8), (1, 2, 6, 8)]),
    "no keys": plain(shapes=[(1, 2, 5, 8), (1, 2, 0, 8), (1, 2, 0, 8)]),
    "causal queries before the first key": plain(causal=True, shapes=[(1, 1, 5, 4), (1, 1, 3, 4), (1, 1, 3, 4)]),
    "weights asked for": plain(need_weights=True),
    "another normalisation": plain(normalization="probability_amplitude"),
    "the switch": plain(switch=False),
    "autocast to another dtype": plain(autocast=True),
}


def attend(case):
    torch.manual_seed(5)
    inputs = [torch.randn(shape).to(case["dtype"]).to(DEVICE).requires_grad_() for shape in case["shapes"]]
    mask = None if case["mask"] is None else case["mask"].to(DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=case.get("autocast", False)):
        out, _ = complex_attention(
            Module(is_causal=case.get("causal", False)),
            *inputs,
            mask,
            score=case.get("score", "modulus"),
            normalization=case.get("normalization", "softmax"),
            need_weights=case.get("need_weights", False),
        )
    return out, *torch.autograd.grad(out.sum(), inputs)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_kernel_does_not_take_goes_the_plain_way(launched, name):
    case = REFUSED[name]
    with use_kernels(case.get("switch", True)):
        found = attend(case)
    assert not launched
    with use_kernels(False):
        assert all(torch.equal(one, two) for one, two in zip(found, attend(case), strict=True))


def test_within_a_transform_there_is_no_kernel(launched):
    inputs = [torch.stack([x, 2 * x]) for x in make("a feature", torch.float32)]

    def function(*inputs):
        return complex_attention(Module(), *inputs, None, need_weights=False)[0]

    out = torch.func.vmap(function)(*inputs)
    assert not launched
    for row in range(2):
        torch.testing.assert_close(out[row], function(*(x[row] for x in inputs)), rtol=0.0, atol=1e-5)


def test_what_the_kernel_takes_goes_the_same_way(launched):
    found = attend(plain())
    assert launched == BACKWARD
    with use_kernels(False):
        expected = attend(plain())
    assert launched == BACKWARD
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-5)


def compiled(function, backend="aot_eager", **options):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend=backend, **options)


@pytest.mark.full
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("mask", ["causal", "padding", "additive"])
def test_a_compiled_graph_has_the_kernel(launched, mask, backend):
    inputs, module = make("shared keys", torch.float32), Module(2, mask == "causal")
    given = MASKS[mask](torch.float32, 1, 4, 9, 17)
    given, cotangent = None if given is None else given.to(DEVICE), torch.randn(1, 9, 4, 8)

    def function(*inputs):
        return complex_attention(module, *inputs, given, scaling=0.7, need_weights=False)[0]

    expected = gradients(function, inputs, cotangent)
    assert launched == BACKWARD
    found = gradients(compiled(function, backend), inputs, cotangent)
    assert launched == 2 * BACKWARD
    assert all(torch.equal(one, two) for one, two in zip(found, expected, strict=True))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
@pytest.mark.parametrize("score", SIGMOID_SCORES)
def test_a_compiled_graph_has_the_kernel_of_a_sigmoid(launched, score):
    inputs, module = [*make("shared keys", torch.float32), torch.tensor([-0.8], device=DEVICE)], Module(2, True)
    cotangent, options = torch.randn(1, 9, 4, 8), {"score": score, "normalization": "sigmoid", "need_weights": False}

    def function(query, key, value, bias):
        return complex_attention(module, query, key, value, None, bias=bias, **options)[0]

    expected = gradients(function, inputs, cotangent)
    found = gradients(compiled(function), inputs, cotangent)
    assert launched == 2 * BACKWARD
    assert all(torch.equal(one, two) for one, two in zip(found, expected, strict=True))


@pytest.mark.full
def test_a_compiled_graph_serves_any_length(launched):
    inputs, module = make("several tiles", torch.float32), Module(is_causal=True)

    def function(*inputs):
        return complex_attention(module, *inputs, None, need_weights=False)[0]

    graph = compiled(function, dynamic=True)
    for length in (20, 11, 3):
        shorter = [x[:, :, :length] for x in inputs]
        with torch.no_grad():
            assert torch.equal(graph(*shorter), function(*shorter))
    assert launched == 6 * FORWARD


@pytest.mark.full
def test_dropout_of_a_compiled_graph(launched):
    query, key, value = (x.requires_grad_() for x in make("several tiles", torch.float32))
    module, options = Module(), {"scaling": 0.7, "dropout": 0.5, "need_weights": False}
    graph = compiled(lambda *inputs: complex_attention(module, *inputs, None, **options)[0])
    first, second = graph(query, key, value), graph(query, key, value)
    assert not torch.allclose(first, second)
    for out in (first, second):  # linear in the values: the gradient has dropped what the forward pass has
        (grad,) = torch.autograd.grad(out.sum(), value)
        torch.testing.assert_close((grad * value).sum(), out.sum(), rtol=1e-4, atol=1e-3)
    assert launched == FORWARD + FORWARD + 2 * BACKWARD[1:]


@pytest.mark.full
def test_the_operator_is_as_pytorch_wants_operators(launched):
    from complex_transformers.kernels.accelerator.attention_operator import attend

    inputs = [x.requires_grad_() for x in make("a cache, some queries", torch.float32)]
    for mask, seed in ((None, None), (boolean(1, 1, 1, 35).to(DEVICE), torch.tensor(3))):
        arguments = (1, 0.7, 1, mask is None, 0.0 if seed is None else 0.5, seed)
        for bias in (None, torch.tensor([-0.3], requires_grad=True, device=DEVICE)):
            torch.library.opcheck(attend, (*inputs, mask, bias, *arguments))


@pytest.mark.full
def test_an_exported_graph_has_the_plain_formula(launched):
    class Attention(nn.Module):
        def forward(self, query, key, value):
            return complex_attention(Module(), query, key, value, None, need_weights=False)[0]

    inputs = tuple(make("one tile", torch.float32))
    expected = Attention()(*inputs)
    for strict in (True, False):
        out = torch.export.export(Attention(), inputs, strict=strict).module()(*inputs)
        torch.testing.assert_close(out, expected, rtol=0.0, atol=1e-5)
    with use_kernels(False):
        out = compiled(Attention())(*inputs)
    torch.testing.assert_close(out, expected, rtol=0.0, atol=1e-5)
    assert launched == FORWARD


@pytest.mark.parametrize("score", SCORES)
def test_a_decoder_layer_with_a_cache(launched, score):
    layer = GroupedQueryAttention(16, 4, 2, score=score).to(DEVICE).eval()
    x = torch.randn(2, 5, 16, device=DEVICE)
    with use_kernels(False):
        expected = layer(x, need_weights=False)[0]
    torch.testing.assert_close(layer(x, need_weights=False)[0], expected, rtol=0.0, atol=1e-5)
    assert launched.count("forward") == 1

    class Cache:
        def update(self, key, value, layer_idx, **kwargs):
            held = getattr(self, "held", (key[:, :, :0], value[:, :, :0]))
            self.held = torch.cat([held[0], key], dim=2), torch.cat([held[1], value], dim=2)
            return self.held

    cache = Cache()
    parts = [layer(part, cache=cache, need_weights=False)[0] for part in x.split([2, 2, 1], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, rtol=0.0, atol=1e-5)
    assert launched.count("forward") == 4
