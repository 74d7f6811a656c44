# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Chunks of Mamba-3 in C++ against their formula in float64: outputs, states, gradients; threads; when they run."""

import copy

import pytest
import torch

from complex_transformers.kernels.state_space import ChunkedStateSpace
from complex_transformers.nn import use_kernels
from complex_transformers.nn.recurrent.state_space import _by_formula, grouped_state_space
from kernels.test_state_space_step import VARIANTS, assert_near, make, skip_without_compiler

LAYERS = {**VARIANTS, "mimo, chunks of 4": {"mimo_rank": 2, "chunk_size": 4}}


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """Numbers of sequences that the kernel has computed; skip without a compiler."""
    skip_without_compiler()
    counts = []
    forward = ChunkedStateSpace.forward

    def counted(formula, *tensors):
        counts.append(tensors[0].shape[0])
        return forward(formula, *tensors)

    monkeypatch.setattr(ChunkedStateSpace, "forward", staticmethod(counted))
    return counts


def inputs(batch=2, heads=4, groups=2, chunks=3, steps=5, rank=1, states=8, features=3, angles=2, packed=False):
    """Return the arguments of ``grouped_state_space``; ``before`` is 0 where a sequence starts."""
    torch.manual_seed(0)
    sides = [torch.randn(batch, chunks, steps, rank, groups, states) for _ in range(2)]
    biases = [torch.randn(heads, rank, states) for _ in range(2)]
    value = torch.randn(batch, chunks, steps, rank, heads, features).permute(0, 4, 1, 2, 3, 5)
    phases = torch.randn(batch, heads, chunks, steps, angles) if angles else None
    before, own = torch.randn(2, batch, heads, chunks, steps)
    before[:, :, 0, 0] = 0.0
    sequence = None
    if packed:
        starts = torch.rand(batch, chunks, steps) < 0.3
        sequence = starts.flatten(1).cumsum(1).view_as(starts)
        before = before * ~starts.unsqueeze(1)
    decays = -torch.rand(batch, heads, chunks, steps)
    first = torch.randn(batch, heads, features, states)
    return [*sides, *biases, phases, value, decays, before, own, torch.randn(heads), first, sequence]


def results(function, given, dtype, cotangents):
    """Return the outputs, the last states and the gradients of all inputs, in order."""
    taken = [
        x.to(dtype).requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in given
    ]
    found = function(*taken)
    wanted = [x for x in taken if isinstance(x, torch.Tensor) and x.requires_grad]
    cotangents = [x.to(dtype) for x in cotangents]
    return *found, *torch.autograd.grad(found, wanted, cotangents)


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"angles": 0},
        {"rank": 3, "angles": 4},
        {"rank": 2, "packed": True},
        {"batch": 1, "chunks": 1, "steps": 1},
        {"steps": 520, "groups": 4},  # a chunk has more rows than are computed at once
        {"chunks": 70, "steps": 16, "packed": True},  # chunks are computed in three parts
    ],
    ids=str,
)
def test_outputs_and_gradients_of_the_formula(sizes, calls):
    given = inputs(**sizes)
    cotangents = torch.randn_like(given[5]), torch.randn_like(given[-2])
    found = results(grouped_state_space, given, torch.float32, cotangents)
    assert len(calls) == 1
    exact = results(_by_formula, given, torch.float64, cotangents)
    for one, other in zip(found, exact, strict=True):
        assert_near(one.double(), other, 1e-5)


@pytest.mark.parametrize("variant", LAYERS)
@pytest.mark.parametrize("length", [11, 300])
def test_a_layer_with_packed_sequences_equals_one_in_float64(variant, length, calls):
    layer = make(**LAYERS[variant]).requires_grad_(True)
    x, starts = torch.randn(2, length, layer.hidden_size), torch.zeros(2, length, dtype=torch.bool)
    starts[0, [0, 3, 8]] = True
    exact = copy.deepcopy(layer).double()
    _, states = exact(torch.randn(2, 3, layer.hidden_size).double())
    states = [state.detach() for state in states]
    sums = []
    for module, dtype in ((layer, torch.float32), (exact, torch.float64)):
        out, last = module(x.to(dtype), [state.to(dtype) for state in states], starts=starts)
        (out.sum() + sum(state.mul(weights).sum() for state, weights in zip(last, states, strict=True))).backward()
        sums.append([out, *last, *(p.grad for p in module.parameters())])
    assert calls == [2]
    for one, other in zip(*sums, strict=True):
        assert_near(one.double(), other, 1e-4)


# The gradient of a decay of exp(-30) is itself 1e-12, a difference of rounded products.
@pytest.mark.parametrize(
    ("log_decay", "chunks", "tolerance"), [(-1e-5, 256, 1e-5), (-1e-3, 64, 1e-5), (-5.0, 3, 1e-5), (-30.0, 3, 5e-5)]
)
def test_weak_decays_of_long_sequences_and_strong_ones(log_decay, chunks, tolerance):
    given = inputs(batch=1, heads=1, groups=1, chunks=chunks, steps=64)
    given[6] = torch.full_like(given[6], log_decay)
    cotangents = torch.randn_like(given[5]), torch.randn_like(given[-2])
    found = results(grouped_state_space, given, torch.float32, cotangents)
    exact = results(_by_formula, given, torch.float64, cotangents)
    for one, other in zip(found, exact, strict=True):
        assert_near(one.double(), other, tolerance)


def test_two_threads_compute_the_same():
    given = inputs(batch=3, chunks=9)
    cotangents = torch.randn_like(given[5]), torch.randn_like(given[-2])
    found = results(grouped_state_space, given, torch.float32, cotangents)
    torch.set_num_threads(2)
    try:
        parallel = results(grouped_state_space, given, torch.float32, cotangents)
    finally:
        torch.set_num_threads(1)
    assert all(torch.equal(one, other) for one, other in zip(found, parallel, strict=True))


def test_gradients_of_gradients_follow_the_formula(calls):
    given = [x.requires_grad_() for x in inputs()[:-1]]

    def second(function, given, kept):
        y, state = function(*given, None)
        total = y.square().sum() + state.square().sum()
        first = torch.autograd.grad(total, [given[i] for i in kept], create_graph=True)
        return torch.autograd.grad(sum(grad.square().sum() for grad in first), [given[i] for i in kept])

    kept = (0, 1, 4, 5, 6, 8)
    found = second(grouped_state_space, given, kept)
    exact = second(_by_formula, [x.detach().double().requires_grad_() for x in given], kept)
    assert len(calls) == 1
    for one, other in zip(found, exact, strict=True):
        assert_near(one.double(), other, 1e-4)


def test_gradients_of_gradients_of_one_parameter(calls):
    layer, x = make(), torch.randn(2, 9, 12)
    layer.C_bias.requires_grad_(True)
    exact = copy.deepcopy(layer).double()
    found = []
    for module, dtype in ((layer, torch.float32), (exact, torch.float64)):
        out, _ = module(x.to(dtype))
        (first,) = torch.autograd.grad(out.square().sum(), module.C_bias, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), module.C_bias)[0])
    assert calls == [2]
    assert_near(found[0].double(), found[1], 1e-4)


def test_what_is_not_for_the_kernel(calls):
    layer, x = make(), torch.randn(2, 5, 12)
    expected, _ = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        layer(x)
    assert calls == [2, 2]
    with use_kernels(False):
        assert_near(layer(x)[0], expected, 1e-5)
    assert_near(torch.func.vmap(layer)(x.unsqueeze(1))[0][:, 0], expected, 1e-5)
    assert calls == [2, 2]


def test_tensors_of_other_sizes_are_refused():
    *given, first, _ = inputs()
    operator = torch.ops.complex_transformers.state_space_chunks
    operator(*given, first)
    with pytest.raises(RuntimeError, match="must be of the same heads and chunks"):
        operator(*given[:6], given[6][:1], *given[7:], first)
    with pytest.raises(RuntimeError, match="must be of the same heads and chunks"):
        operator(*given, first[:1])
    y, last, entering = operator(*given, first)
    backward = torch.ops.complex_transformers.state_space_chunks_backward
    grad = y.permute(0, 4, 1, 2, 3, 5)
    backward(grad, last, *given, entering)
    for wrong in ((grad[:1], last, *given, entering), (grad, last, *given, entering[:1])):
        with pytest.raises(RuntimeError, match="must be of the same call"):
            backward(*wrong)
