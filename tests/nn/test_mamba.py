# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mamba-3 against a loop over its recurrence in complex128; its states, padding, packing and angles."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from complex_transformers import ComplexMambaConfig
from complex_transformers.kernels.waves import phase_factor
from complex_transformers.nn import Mamba3Mixer
from complex_transformers.nn.recurrent import state_space as state_spaces
from complex_transformers.nn.recurrent.state_space import accumulated, carried
from oracles import TOLERANCE, assert_close, assert_refused, finite, r, randn

SIZES = {"hidden_size": 6, "state_size": 8, "head_dim": 3, "chunk_size": 4}
VARIANTS = {
    "complex": {},
    "real": {"number_field": "real"},
    "all rotate": {"rope_fraction": 1.0, "is_outproj_norm": True, "A_activation": "softplus"},
    "groups": {"n_groups": 2},
    "mimo": {"mimo_rank": 3},
    "mimo, norm": {"mimo_rank": 2, "is_outproj_norm": True, "n_groups": 2, "rope_fraction": 1.0},
    "real mimo": {"mimo_rank": 2, "number_field": "real"},
}


def make(variant="complex", dtype=torch.float64, **changes):
    torch.manual_seed(0)
    layer = Mamba3Mixer(**{**SIZES, **VARIANTS[variant], **changes}).to(dtype)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.add_(0.3 * randn(*parameter.shape, dtype=dtype))
            if name == "dt_bias":
                parameter.copy_(torch.linspace(-3.0, 1.0, len(parameter)))
            if name == "in_proj.weight":
                parameter.mul_(2.0)
    return layer


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def rms(x, gain, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * gain


def complex_features(x):
    half = x.shape[-1] // 2
    return x[..., :half] + 1j * x[..., half:]


def recurrence(layer, u):
    """The outputs and the last state of one sequence ``[T, D]``: head by head and step by step (Eq. 4 to 9)."""
    h, p, n, g, rank = layer.num_heads, layer.head_dim, layer.state_size, layer.n_groups, layer.mimo_rank
    projected = u @ r(layer.in_proj.weight).T
    sizes = [h * p, h * p, rank * g * n, rank * g * n, h, h, h, layer.num_angles]
    z, x, b, c, dt, a, trapezoid, angle = np.split(projected, np.cumsum(sizes)[:-1], axis=-1)
    ones = np.ones((h, rank, p))
    mimo = {name: ones if rank == 1 else r(getattr(layer, f"mimo_{name}")) for name in "xzo"}
    out, last = np.zeros((len(u), h * p)), np.zeros((h, p, n // 2), complex)
    for head in range(h):
        state, phase = np.zeros((p, n // 2), complex), np.ones(n // 2, complex)
        key_before, value_before = np.zeros((rank, n // 2), complex), np.zeros((rank, p))
        for t in range(len(u)):
            group, features = head // (h // g), slice(head * p, (head + 1) * p)
            delta = softplus(dt[t, head] + r(layer.dt_bias)[head])
            pre = a[t, head]
            heavy_tail = 1 + pre if pre >= 0 else 1 / (1 - pre)
            rate = softplus(pre) if layer.A_activation == "softplus" else heavy_tail
            decay = np.exp(-delta * max(rate, layer.A_floor))
            phase[: layer.num_angles] *= np.exp(1j * np.pi * np.tanh(angle[t]) * delta)
            b_t, c_t = (values[t].reshape(rank, g, n)[:, group] for values in (b, c))
            key = complex_features(rms(b_t, r(layer.B_norm.weight)) + r(layer.B_bias)[head]) * phase
            query = complex_features(rms(c_t, r(layer.C_norm.weight)) + r(layer.C_bias)[head]) * phase
            value = mimo["x"][head] * x[t, features]
            own = sigmoid(trapezoid[t, head])
            state = decay * (state + (1 - own) * delta * value_before.T @ key_before) + own * delta * value.T @ key
            y = (query.conj() @ state.T).real + r(layer.D)[head] * value
            if layer.norm is not None:
                y = rms(y, r(layer.norm.weight)[features])
            gate = mimo["z"][head] * z[t, features]
            out[t, features] = np.sum(mimo["o"][head] * y * gate * sigmoid(gate), 0)
            key_before, value_before = key, value
        last[head] = state
    return out @ r(layer.out_proj.weight).T, last


def state_of(layer, states, row=0):
    found = dict(zip(layer.state_sizes, states, strict=True))["ssm"][row]
    return complex_features(r(found).reshape(layer.num_heads, layer.head_dim, layer.state_size))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("length", [1, 4, 11, 75])
@pytest.mark.parametrize("variant", VARIANTS)
def test_chunks_are_the_recurrence(variant, length, dtype):
    layer, x = make(variant, dtype), randn(2, length, 6, dtype=dtype)
    out, states = layer(x)
    assert out.dtype == dtype
    for row in range(2):
        expected, last = recurrence(layer, r(x[row]))
        assert_close(r(out[row]), expected, TOLERANCE[dtype] / 2)
        assert_close(state_of(layer, states, row), last, TOLERANCE[dtype] / 2)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 1e-5)], ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_steps_and_segments_equal_one_pass(variant, dtype, tolerance):
    layer, x = make(variant, dtype), randn(2, 14, 6, dtype=dtype)
    whole, last = layer(x)
    for cuts in ([1] * 14, [1, 6, 1, 1, 5], [9, 5]):
        states, parts = None, []
        for piece in x.split(cuts, dim=1):
            out, states = layer(piece, states)
            parts.append(out)
        assert_close(r(torch.cat(parts, 1)), r(whole), tolerance)
        for found, expected in zip(states, last, strict=True):
            assert_close(r(found), r(expected), tolerance)


@pytest.mark.parametrize("poison", [0.7, 1e30, float("nan")])
@pytest.mark.parametrize("places", [[0, 1, 2, 3], [3, 4, 5, 6], [0, 3, 6], [6], []], ids=str)
def test_padding_keeps_the_states(places, poison):
    layer, x = make(), randn(2, 7, 6)
    _, states = layer(randn(2, 5, 6))
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[0] = False
    mask[0, places] = True
    poisoned = torch.where(mask.unsqueeze(-1), x, poison).requires_grad_()
    out, last = layer(poisoned, states, mask)
    expected, expected_last = layer(x, states)
    assert_close(r(out[1]), r(expected[1]))
    assert not out[0, ~mask[0]].any()
    if places:
        alone, alone_last = layer(x[:1, places], tuple(state[:1] for state in states))
        assert_close(r(out[0, places]), r(alone[0]))
    for index, found in enumerate(last):
        assert_close(r(found[1]), r(expected_last[index][1]))
        assert_close(r(found[0]), r((alone_last if places else states)[index][0]))
    (grad,) = torch.autograd.grad(out.square().sum() + sum(state.sum() for state in last), poisoned)
    assert finite(grad)
    assert not grad[~mask].any()


@pytest.mark.parametrize("length", [10, 90])
@pytest.mark.parametrize("variant", ["complex", "mimo"])
def test_packed_sequences_do_not_see_each_other(variant, length):
    layer, x = make(variant), randn(2, length, 6)
    starts = torch.zeros(2, length, dtype=torch.bool)
    starts[0, [0, 3, 8, length - 2]] = True
    starts[1, 5] = True
    _, states = layer(randn(2, 3, 6))
    out, last = layer(x, states, starts=starts)
    cuts = [3, 5, length - 10, 2]
    expected = torch.cat([layer(piece)[0] for piece in x[:1].split(cuts, dim=1) if piece.shape[1]], 1)
    assert_close(r(out[0]), r(expected[0]))
    before, after = layer(x[1:, :5], tuple(state[1:] for state in states))[0], layer(x[1:, 5:])[0]
    assert_close(r(out[1]), r(torch.cat([before, after], 1)[0]))
    # The states go on with the last sequence; their common phase is free.
    following = randn(1, 4, 6)
    continued = layer(following, tuple(state[:1] for state in last))[0]
    assert_close(r(continued), r(layer(torch.cat([x[:1, -2:], following], 1))[0][:, 2:]))


@pytest.mark.parametrize("count", [1, 16, 17, 40, 300])
def test_states_of_many_chunks(count):
    updates, decay, first = randn(1, 2, count, 3), -randn(1, 2, count).abs(), randn(1, 2, 3)
    ends = torch.randint(0, 2, (1, count + 1)).cumsum(1)
    for sequence in (None, ends - ends[:, :1]):
        found = carried(updates, decay, first, sequence)
        state = first
        for k in range(count):
            kept = 1.0 if sequence is None else float(sequence[0, k] == sequence[0, k + 1])
            state = kept * decay[:, :, k, None].exp() * state + updates[:, :, k]
            assert_close(r(found[:, :, k + 1]), r(state))


@pytest.mark.parametrize("variant", ["complex", "real mimo"])
def test_gradients(variant):
    layer = make(variant, chunk_size=3)
    names = [name for name, _ in layer.named_parameters()]

    def function(x, *values):
        states = tuple(
            0.3 * torch.cos(torch.arange(float(size))).double()[None] for size in layer.state_sizes.values()
        )
        parameters = dict(zip(names, values, strict=True))
        out, last = torch.func.functional_call(layer, parameters, (x, states))
        return out, *last

    inputs = [randn(1, 7, 6, grad=True), *(p.detach().clone().requires_grad_() for p in layer.parameters())]
    assert gradcheck(function, inputs, fast_mode=True)
    assert gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("variant", ["complex", "mimo, norm"])
def test_the_rotations_of_a_gpu(variant, monkeypatch):
    monkeypatch.setattr(state_spaces, "is_eager_gpu", lambda x: True)
    layer, x = make(variant), randn(2, 11, 6, grad=True)
    out, states = layer(x)
    for row in range(2):
        expected, last = recurrence(layer, r(x[row]))
        assert_close(r(out[row]), expected)
        assert_close(state_of(layer, states, row), last)
    inputs = [x, *layer.parameters()]
    found = torch.autograd.grad(out.square().sum(), inputs)
    monkeypatch.undo()
    expected = torch.autograd.grad(layer(x)[0].square().sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        assert_close(r(one), r(other))


@pytest.mark.parametrize("size", [3, 5])
def test_factors_of_rotations(size):
    phase = randn(2, 4, size, grad=True)
    expected = np.ones((2, 4, 5), complex)
    expected[..., :size] = np.exp(1j * r(phase))
    assert_close(complex_features(r(phase_factor(phase, 5))), expected)
    assert gradcheck(lambda x: phase_factor(x, 5), phase)
    assert gradgradcheck(lambda x: phase_factor(x, 5), phase)


@pytest.mark.parametrize("kind", ["equal", "random"])
def test_angles_after_a_million_steps(kind):
    steps = 1_000_000
    increments = torch.full((steps,), 0.3) if kind == "equal" else 0.3 * torch.rand(steps)
    angles, last = accumulated(increments.view(1, 1, -1, 64, 1), torch.full((1, 1, 1), 0.5))
    exact = 0.5 + np.cumsum(r(increments))
    error = np.angle(np.exp(1j * (r(angles).ravel() - exact)))
    assert np.abs(error).max() < 1e-6  # float32 resolves 5e-7 below 2 pi
    assert abs(np.angle(np.exp(1j * (last.item() - exact[-1])))) < 1e-6


def test_the_angle_of_a_float32_model_drifts_slowly():
    torch.manual_seed(0)
    layer, words = Mamba3Mixer(64, state_size=4, head_dim=64), torch.randn(50, 64)
    x = words[torch.randint(50, (1, 20_000))]
    angles = [
        model(inputs)[1][0].double() for model, inputs in ((layer, x), (copy.deepcopy(layer).double(), x.double()))
    ]
    error = np.angle(np.exp(1j * r(angles[0] - angles[1])))
    assert 0 < np.abs(error).max() < 1e-7 * x.shape[1]


def test_small_steps_add_up():
    last, step = torch.full((1, 1, 1), 3.0), torch.full((1, 1, 1, 1, 1), 1e-8)  # less than float32 resolves at 3
    for _ in range(1000):
        last = accumulated(step, last)[1]
    assert last.item() == pytest.approx(3.0 + 1e-5, abs=1e-10)
    assert Mamba3Mixer(**SIZES)(torch.randn(1, 3, 6))[1][0].dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_keeps_states_in_float32(dtype):
    layer = Mamba3Mixer(**SIZES)
    x = randn(2, 90, 6, dtype=torch.float32)
    exact, exact_states = layer(x)
    with torch.autocast("cpu", dtype):
        out, states = layer(x)
    assert (out.dtype, states[1].dtype) == (dtype, torch.float32)
    assert_close(r(out), r(exact), 0.05)
    assert_close(r(states[1]), r(exact_states[1]), 0.05)
    layer = layer.to(dtype)
    assert layer.dt_bias.dtype == torch.float32
    assert layer(x.to(dtype))[0].dtype == dtype


@pytest.mark.slow
def test_compiled_and_exported_chunks_are_the_eager_ones():
    layer, x = make(dtype=torch.float32), randn(2, 11, 6, dtype=torch.float32)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for length in (11, 1, 70):
        given, mask = randn(2, length, 6, dtype=torch.float32), torch.rand(2, length) > 0.3
        torch.testing.assert_close(compiled(given, mask=mask), layer(given, mask=mask))
    axes = dict.fromkeys(range(2), torch.export.Dim.DYNAMIC)
    with torch.no_grad():
        program = torch.export.export(layer, (x,), dynamic_shapes={"x": axes}).module()
        for length in (12, 70):
            given = randn(3, length, 6, dtype=torch.float32)
            torch.testing.assert_close(program(given)[0], layer(given)[0], rtol=1e-5, atol=1e-5)


def test_initial_steps_are_log_uniform():
    layer = Mamba3Mixer(512, head_dim=2, state_size=4)
    steps = np.log(softplus(r(layer.dt_bias)))
    assert math.log(0.001) - 1e-3 < steps.min() < math.log(0.0015)
    assert math.log(0.07) < steps.max() < math.log(0.1) + 1e-3
    assert np.mean(steps) == pytest.approx(math.log(0.01), abs=0.2)
    wide = Mamba3Mixer(512, head_dim=2, state_size=4, time_step_min=0.1, time_step_max=1.0)
    assert softplus(r(wide.dt_bias)).min() > 0.0999


def test_large_inputs_stay_finite():
    layer = make(dtype=torch.float32)
    x = (1e4 * torch.randn(2, 70, 6)).requires_grad_()
    out, states = layer(x)
    out.sum().backward()
    assert finite(out, *states, x.grad, *(p.grad for p in layer.parameters()))


def test_bad_arguments():
    assert_refused(r"must be even, got 5\. Use 6", Mamba3Mixer, 6, state_size=5, head_dim=3)
    assert_refused(r"head_dim and n_groups must divide .* = 12 .* got 5 and 1", Mamba3Mixer, 6, head_dim=5)
    assert_refused("number_field must be one of", Mamba3Mixer, 6, head_dim=3, number_field="dual")
    layer, x = make(), torch.zeros(2, 3, 6, dtype=torch.float64)
    _, states = layer(x)
    expected = r"states must have the shapes {'angle': \(2, 8\), 'ssm': \(2, 96\), .*}, got \["
    for wrong in (
        tuple(state[:1] for state in states),
        (states[0], states[1][:, :-2], *states[2:]),
        states[:3],
        make("real")(x)[1],
    ):
        assert_refused(expected, layer, x, wrong)


RANGES = {
    "time_step_min": (0.0, 0.2),
    "time_step_max": (math.inf,),
    "time_step_floor": (math.nan, 0),
    "A_floor": (-1,),
}


@pytest.mark.parametrize(("name", "values"), [("rope_fraction", (0, 1.5, math.nan)), *RANGES.items()])
def test_angles_and_steps_out_of_their_ranges(name, values):
    for value in values:
        words = rf"{name} must be positive and at most (0\.1|1|3\.403e\+38), got {value}"
        assert_refused(words, Mamba3Mixer, 6, head_dim=3, **{name: value})
        assert_refused(words, ComplexMambaConfig, error=Exception, **{name: value})


def test_sizes_of_zero_are_named():
    for name in ("expand", "mimo_rank", "chunk_size", "state_size"):
        assert_refused(rf"{name}.* must be positive, got .*0", Mamba3Mixer, 6, head_dim=3, **{name: 0})


def test_starts_of_any_dtype():
    layer, x = make(), randn(2, 9, 6)
    starts = torch.zeros(2, 9, dtype=torch.bool)
    starts[0, 4] = True
    for dtype in (torch.int64, torch.uint8, torch.float32):
        assert torch.equal(layer(x, starts=starts.to(dtype))[0], layer(x, starts=starts)[0])
