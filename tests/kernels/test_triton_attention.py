# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention as a Triton kernel against complex128, by the interpreter on the CPU or on a GPU (``make test-gpu``)."""

from contextlib import nullcontext
from itertools import product

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from complex_transformers.kernels.accelerator import (
    attention as accelerated,
    attention_launch,
    attention_tuning,
    switch,
)
from complex_transformers.nn import GroupedQueryAttention, complex_attention, use_kernels
from interpreter import DEVICE
from oracles import TOLERANCE, finite

SCORES = ("modulus", "bilinear_modulus")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
FORWARD, BACKWARD = ["forward"], ["forward", "backward_query", "backward_key"]

# B, H, G, T, S, D, D_v: batch, heads, heads that share keys, queries, keys, stored widths.
SHAPES = {
    "one tile": (2, 1, 1, 5, 7, 4, 8),
    "several tiles": (1, 2, 1, 20, 23, 6, 10),
    "shared keys": (1, 4, 2, 9, 17, 8, 8),
    "a cache, one query": (2, 2, 2, 1, 19, 8, 8),
    "a cache, some queries": (1, 2, 1, 3, 35, 6, 6),
    "more queries than keys": (1, 1, 1, 33, 4, 6, 6),
    "128 features": (1, 1, 1, 3, 18, 256, 256),
    "odd values": (1, 2, 1, 4, 6, 10, 5),
    "a feature": (1, 1, 1, 2, 3, 2, 1),
}


def boolean(*shape):
    """Random, and a query whose keys are all masked, as those of padding are."""
    mask = torch.rand(shape) > 0.4
    mask[0, :, 0] = False
    return mask


def additive(dtype, *shape):
    """Random numbers and the two ways to write that a key is masked."""
    mask = torch.randn(shape).to(dtype)
    mask[torch.rand(shape) < 0.3] = torch.finfo(dtype).min
    mask[torch.rand(shape) < 0.1] = -float("inf")
    return mask


MASKS = {
    "none": lambda dtype, b, h, t, s: None,
    "causal": lambda dtype, b, h, t, s: None,
    "padding": lambda dtype, b, h, t, s: boolean(b, 1, 1, s),
    "every query": lambda dtype, b, h, t, s: boolean(b, 1, t, s),
    "additive": lambda dtype, b, h, t, s: additive(dtype, b, h, t, s),
    "additive in float32": lambda dtype, b, h, t, s: additive(torch.float32, 1, h, t, s),
    "longer than the keys": lambda dtype, b, h, t, s: additive(dtype, t, s + 3),
}


class Module(nn.Module):
    """What an attention function reads of its layer."""

    def __init__(self, groups=1, is_causal=False):
        super().__init__()
        self.num_key_value_groups, self.is_causal = groups, is_causal


def make(shape, dtype):
    batch, heads, groups, length, size, width, value_width = SHAPES[shape]
    shapes = (batch, heads, length, width), *((batch, heads // groups, size, n) for n in (width, value_width))
    # As layers make them: heads behind positions in memory, features not next to each other.
    return [torch.randn(b, n, h, 2 * w).to(dtype)[..., ::2].transpose(1, 2).to(DEVICE) for b, h, n, w in shapes]


def as_complex(x):
    real, imag = x.chunk(2, dim=-1)
    return torch.complex(real, imag)


def oracle(query, key, value, mask, score, scaling, groups, is_causal, keep=1.0):
    """softmax(score scaling + mask) v in complex128, a lowest number in place of what is masked."""
    key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    if score == "modulus":
        scores = (as_complex(query) @ as_complex(key).mH).abs()
    else:
        scores = (as_complex(query) @ as_complex(key).mT).abs()
    scores = scores * scaling
    length, size = scores.shape[-2:]
    if mask is not None:
        mask = mask[..., :size].to(scores.device)
        removed = ~mask if mask.dtype == torch.bool else mask <= torch.finfo(mask.dtype).min
        added = torch.zeros(mask.shape).double() if mask.dtype == torch.bool else mask.double()
        scores = (scores + added.to(scores.device).masked_fill(removed, 0.0)).masked_fill(removed, -1e300)
    if is_causal:
        places = torch.arange(size - length, size, device=scores.device)
        scores = scores.masked_fill(torch.arange(size, device=scores.device) > places[:, None], -1e300)
    return ((torch.softmax(scores, dim=-1) * keep) @ value).transpose(1, 2)


def gradients(function, inputs, cotangent):
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = function(*leaves)
    return [out, *torch.autograd.grad(out, leaves, cotangent.to(out))]


def assert_near(actual, expected, dtype):
    assert actual.dtype == dtype
    size = max(1.0, expected.abs().max().item())
    torch.testing.assert_close(actual.double(), expected.double(), rtol=0.0, atol=3 * TOLERANCE[dtype] * size)


def check(launched, shape, score, dtype, mask, scaling=0.7):
    inputs = make(shape, dtype)
    batch, heads, groups, length, size, _, value_width = SHAPES[shape]
    module, is_causal = Module(groups, mask == "causal"), mask == "causal" and length > 1
    given = MASKS[mask](dtype, batch, heads, length, size)
    given = None if given is None else given.to(DEVICE)
    cotangent = torch.randn(batch, length, heads, value_width)

    def ours(*inputs):
        return complex_attention(module, *inputs, given, scaling=scaling, score=score, need_weights=False)[0]

    def exact(*inputs):
        return oracle(*inputs, given, score, scaling, groups, is_causal)

    found = gradients(ours, inputs, cotangent)
    assert launched == BACKWARD
    expected = gradients(exact, [x.double() for x in inputs], cotangent.to(dtype))
    for one, two in zip(found, expected, strict=True):
        assert_near(one, two, dtype)


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


@pytest.mark.parametrize("score", SCORES)
def test_dropout_drops_the_same_weights_forward_backward_and_again(launched, score):
    inputs, module = make("shared keys", torch.float32), Module(2, is_causal=True)
    cotangent = torch.randn(1, 9, 4, 8)
    state = torch.get_rng_state()
    seed = int(torch.randint(2**62, ()))
    keep = attention_launch.keep_factors(torch.empty(1, 4, 9, 17, device=DEVICE), 0.4, seed)
    assert keep.unique().tolist() == pytest.approx([0.0, 1 / 0.6])
    assert 0.3 < (keep == 0).double().mean() < 0.5
    assert not torch.equal(keep[0, 0], keep[0, 1])

    def ours(*inputs):
        torch.set_rng_state(state)
        options = {"scaling": 0.7, "dropout": 0.4, "score": score, "need_weights": False}
        return complex_attention(module, *inputs, None, **options)[0]

    found = gradients(ours, inputs, cotangent)
    assert launched == ["keep_factors", *BACKWARD]
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
        arguments = (*inputs, mask, 1, 0.7, 1, mask is None, 0.0 if seed is None else 0.5, seed)
        torch.library.opcheck(attend, arguments)


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


# --- tuning ----------------------------------------------------------------------------------------------------------

TILES = sorted({(name, *tile[:2]) for name, tiles in attention_tuning.CANDIDATES.items() for tile in tiles})


@pytest.mark.full
@pytest.mark.parametrize(("name", "queries", "keys"), TILES)
def test_every_candidate_computes_the_same(launched, monkeypatch, name, queries, keys):
    def tiles(kernel, grid, arguments, constants, fixed, length_class):
        return fixed | ({"M": queries, "N": keys} if kernel.fn.__name__ == name else {})

    monkeypatch.setattr(attention_tuning, "tiles", tiles)
    monkeypatch.setitem(SHAPES, "wide tiles", (1, 2, 2, 150, 161, 6, 10))
    check(launched, "wide tiles", "modulus", torch.float32, "causal")


class Tuner:
    """Triton's autotuner without a GPU: chooses the last candidate."""

    runs = 0

    def __init__(self, configs, key):
        self.configs, self.key, self.best_config = configs, key, configs[-1]

    def __call__(self, kernel):
        assert set(self.key) <= set(kernel.arg_names)
        return self

    def __getitem__(self, grid):
        def run(*arguments, **constants):
            Tuner.runs += 1
            assert self.cache_results
            assert grid(constants | self.best_config.all_kwargs())[0] > 0

        return run


def test_the_tuned_tiles_are_used_and_remembered(launched, monkeypatch):
    import triton

    monkeypatch.setattr(attention_tuning, "SHORTEST", 4)
    monkeypatch.setattr(attention_tuning, "_can_tune", lambda kernel, tensor: True)
    monkeypatch.setattr(attention_tuning, "_device", lambda tensor: (nullcontext(), 2**18))
    monkeypatch.setattr(attention_tuning, "_tuned", {})
    monkeypatch.setattr(triton, "autotune", Tuner)
    monkeypatch.setattr(Tuner, "runs", 0)
    for _ in range(2):
        launched.clear()
        check(launched, "several tiles", "modulus", torch.float32, "causal")
    assert Tuner.runs == 3
    assert [tiles["M"] for tiles in attention_tuning._tuned.values()] == [32, 32, 32]
    torch.use_deterministic_algorithms(True)
    try:
        launched.clear()
        check(launched, "shared keys", "modulus", torch.bfloat16, "none")
    finally:
        torch.use_deterministic_algorithms(False)
    assert Tuner.runs == 3


def test_candidates_fit_into_shared_memory():
    fixed = {"M": 64, "N": 64, "num_warps": 4, "num_stages": 2}
    for name, width in product(attention_tuning.CANDIDATES, (16, 128, 256)):
        constants = {"D": width, "V": width, "PRECISION": "tf32"}
        small, large = (attention_tuning.candidates(name, constants, 2, kib * 1024, fixed) for kib in (99, 227))
        assert set(small) <= set(large)
        assert small[0] == (64, 64, 4, 2)
        assert len(set(small)) == len(small)
        assert width == 16 or len(small) < len(large)


def test_length_classes():
    classes = [attention_tuning.bucket(n, 10**6) for n in (1, 511, 512, 2047, 2048, 8191, 8192, 65536)]
    assert classes == [-1, -1, 0, 0, 1, 1, 2, 2]
    assert attention_tuning.bucket(4096, 100) == -1


# --- memory ----------------------------------------------------------------------------------------------------------


class Allocated(TorchDispatchMode):
    """Bytes of the tensors made within, without those that are given."""

    def __init__(self, *given):
        super().__init__()
        self.given = {x.untyped_storage().data_ptr() for x in given}
        self.storages = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor):
                self.storages[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return out

    def total(self):
        return sum(size for place, size in self.storages.items() if place not in self.given)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_memory_is_linear_in_the_length(launched, monkeypatch, score, mask):
    monkeypatch.setattr(switch, "launch", lambda kernel, *args, **kwargs: launched.append(kernel.fn.__name__))

    def taken(length):
        inputs = [torch.randn(1, 2, length, 8, device=DEVICE, requires_grad=True) for _ in range(3)]
        keep = torch.ones(1, 1, 1, length, dtype=torch.bool, device=DEVICE) if mask else None
        cotangent = torch.randn(1, length, 2, 8, device=DEVICE)
        with Allocated(*inputs, cotangent, *([keep] if mask else [])) as allocated:
            out, _ = complex_attention(Module(is_causal=not mask), *inputs, keep, score=score, need_weights=False)
            gradients = torch.autograd.grad(out, inputs, cotangent)
        assert len(gradients) == 3
        return allocated.total()

    # Of every position and head: 8 numbers of the context and of three gradients, and three of the softmax.
    assert [taken(n) / (4 * 2 * n) for n in (256, 16384)] == [4 * 8 + 3] * 2
    assert launched == 2 * BACKWARD
