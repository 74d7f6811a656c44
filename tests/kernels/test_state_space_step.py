# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The C++ step of Mamba-3 against its formula and whole sequences, its angles, when it runs, without a compiler."""

import copy
import math
import warnings

import numpy as np
import pytest
import torch

from complex_transformers.kernels.native import build, state_space
from complex_transformers.nn import Mamba3Mixer, use_kernels

SIZES = {"hidden_size": 12, "state_size": 36, "head_dim": 6}
VARIANTS = {
    "complex": {},
    "real": {"number_field": "real"},
    "all rotate": {"rope_fraction": 1.0, "is_outproj_norm": True, "A_activation": "softplus"},
    "one rotates": {"rope_fraction": 0.01, "A_floor": 0.9},
    "groups": {"n_groups": 2, "hidden_size": 40, "head_dim": 20},
    "mimo": {"mimo_rank": 3, "n_groups": 2},
    "real mimo, norm": {"mimo_rank": 2, "is_outproj_norm": True, "number_field": "real"},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def skip_without_compiler():
    """Skip the test if the operators cannot be compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not state_space.load():
            pytest.skip("no C++ compiler that works: install g++")


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """Numbers of sequences whose steps the kernel has computed; skip without a compiler."""
    skip_without_compiler()
    counts = []
    step = state_space.step

    def counted(projected, *others):
        counts.append(projected.shape[0])
        return step(projected, *others)

    monkeypatch.setattr(state_space, "step", counted)
    return counts


def make(variant="complex", **changes):
    """Return a float32 layer whose parameters all differ from their initial values."""
    torch.manual_seed(0)
    layer = Mamba3Mixer(**{**SIZES, **VARIANTS[variant], **changes})
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
            if name == "dt_bias":
                parameter.copy_(torch.linspace(-3.0, 1.0, len(parameter)))
    return layer.requires_grad_(False)


def steps(layer, x, states=None):
    """Return the outputs of all steps, one at a time, and the last states."""
    outputs = []
    for token in x.split(1, dim=1):
        out, states = layer(token, states)
        outputs.append(out)
    return torch.cat(outputs, dim=1), states


def assert_near(found, expected, tolerance):
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert (found - expected).abs().max() <= tolerance * expected.abs().max()


@every_variant
def test_the_step_of_the_formula(variant, calls, monkeypatch):
    monkeypatch.setattr(state_space, "product", torch.nn.functional.linear)  # the same projection for both
    layer = make(variant)
    for batch in (1, 5):
        x = torch.randn(batch, 9, layer.hidden_size)
        for states in (None, layer(x)[1]):  # the start, with float32 angles, and a later step
            found = layer(x[:, :1], states)
            with use_kernels(False):
                expected = layer(x[:, :1], states)
            for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
                assert_near(one, other, 1e-6)
    assert calls == [1, 1, 5, 5]


@every_variant
def test_steps_equal_one_pass_in_float64(variant, calls):
    layer = make(variant)
    x = torch.randn(2, 20, layer.hidden_size)
    out, states = steps(layer, x)
    assert calls == 20 * [2]
    exact, exact_states = copy.deepcopy(layer).double()(x.double())
    for found, expected in zip((out, *states), (exact, *exact_states), strict=True):
        assert_near(found.double(), expected, 1e-5)


@pytest.mark.parametrize("rows", [1, 3, 500])
def test_products_of_a_single_sequence(rows):
    weight, x = torch.randn(rows, 70), torch.randn(1, 1, 140)[..., ::2]
    found = state_space.product(x, weight)
    exact = x.double().numpy() @ weight.double().numpy().T
    assert found.numpy() == pytest.approx(exact, rel=1e-6, abs=1e-6 * np.abs(exact).max())
    checks = ("test_schema", "test_faketensor")
    torch.library.opcheck(torch.ops.complex_transformers.vector_product.default, (x, weight), test_utils=checks)


def test_projections_with_hooks_or_autocast_are_called(monkeypatch):
    layer, x = make(), torch.randn(1, 1, 12)
    counts = []
    monkeypatch.setattr(state_space, "product", lambda *given: counts.append(1) or torch.nn.functional.linear(*given))
    expected, _ = layer(x)
    assert len(counts) == 2
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x)[0].dtype == torch.bfloat16
    assert len(counts) == 2
    layer.in_proj.register_forward_hook(lambda module, args, out: 2 * out)
    assert not torch.allclose(layer(x)[0], expected)
    assert len(counts) == 3


def test_heads_and_sequences_on_two_threads():
    layer = make(state_size=256, head_dim=24, hidden_size=96)
    x = torch.randn(3, 1, 96)
    found, single = layer(x), state_space.product(x[:1], layer.in_proj.weight)
    torch.set_num_threads(2)
    try:
        parallel = layer(x)
        assert torch.equal(state_space.product(x[:1], layer.in_proj.weight), single)
    finally:
        torch.set_num_threads(1)
    for one, other in zip((found[0], *found[1]), (parallel[0], *parallel[1]), strict=True):
        assert torch.equal(one, other)
    for index in range(3):
        assert_near(layer(x[index : index + 1])[0], found[0][index : index + 1], 1e-6)


def test_the_error_of_angles_does_not_grow(calls):
    layer = make(state_size=4, hidden_size=8, head_dim=8)
    x = torch.randn(1, 2000, 8)
    found, expected = steps(layer, x)[1][0], copy.deepcopy(layer).double()(x.double())[1][0]
    error = np.angle(np.exp(1j * (found - expected).numpy()))
    assert len(calls) == 2000
    assert 0 < np.abs(error).max() < 1e-7 * 2000
    layer.dt_bias.fill_(-18.0)  # steps that a float32 angle would lose
    layer.in_proj.weight.zero_()
    layer.in_proj.weight[-1].fill_(1.0)
    states = torch.full_like(expected, 3.0), *layer(x)[1][1:]
    _, (angle, *_) = steps(layer, torch.ones(1, 100, 8), states)
    assert (angle - 3.0).numpy() == pytest.approx(100 * math.pi * math.tanh(8.0) * math.exp(-18.0), rel=1e-6)


def test_what_is_not_for_the_kernel(calls):
    layer, x = make(is_outproj_norm=True), torch.randn(2, 1, 12)
    _, states = layer(torch.randn(2, 3, 12))
    expected, _ = layer(x, states)
    strided = tuple(torch.stack([state, state], dim=-1)[..., 0] for state in states)
    assert torch.equal(layer(x, strided)[0], expected)
    with torch.autocast("cpu", torch.bfloat16):
        out, found = layer(x, states)
    assert (out.dtype, found[1].dtype) == (torch.bfloat16, torch.float32)
    assert_near(out.float(), expected, 0.05)
    layer.requires_grad_(True)
    with torch.inference_mode():
        layer(x)
    assert calls == 4 * [2]
    calls.clear()
    layer(x)[0].sum().backward()
    assert layer.D.grad.abs().sum() > 0
    layer.requires_grad_(False)
    layer(x.requires_grad_())[0].sum().backward()
    torch.func.vmap(layer.requires_grad_(False))(x.detach()[None])
    copy.deepcopy(layer).double()(x.detach().double())
    copy.deepcopy(layer).bfloat16()(x.detach().bfloat16())
    for norm in (layer.B_norm, layer.norm):
        handle = norm.register_forward_hook(lambda module, args, out: torch.zeros_like(out))
        assert not torch.allclose(layer(x.detach(), states)[0], expected)
        handle.remove()
    assert not calls


@pytest.mark.slow
def test_compiled_steps_are_the_formula(calls):
    layer, x = make(), torch.randn(2, 1, 12)
    expected, _ = layer(x)
    calls.clear()
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    assert_near(compiled(x)[0], expected, 1e-6)
    assert not calls


@pytest.mark.parametrize("variant", ["complex", "real mimo, norm"])
def test_the_operator_is_registered(variant):
    layer = make(variant)
    operator = torch.ops.complex_transformers.state_space_step.default
    projected = layer.in_proj(torch.randn(2, 1, layer.hidden_size))
    states = dict(zip(layer.state_sizes, layer(torch.randn(2, 3, layer.hidden_size))[1], strict=True))
    values = [states.get(name) for name in ("angle", "ssm", "key", "value")]
    gains = layer.B_norm.weight, layer.C_norm.weight, None if layer.norm is None else layer.norm.weight
    parameters = layer.dt_bias, layer.B_bias, layer.C_bias, layer.D, *gains
    mimo = layer.mimo_x, layer.mimo_z, layer.mimo_o
    arguments = projected, *values, *parameters, *mimo, layer.n_groups, layer.A_floor, 1e-5, False
    torch.library.opcheck(operator, arguments, test_utils=("test_schema", "test_faketensor"))


def test_a_library_has_the_sources_of_its_name(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "HERE", tmp_path)
    (tmp_path / "state_space.cpp").write_text("int one() { return 1; }\n")
    (tmp_path / "other.cpp").write_text("int one() { return two; }\n")
    library = build.compile_operators("state_space")
    assert library.name.startswith("state_space-")
    (tmp_path / "other.cpp").write_text("changed\n")
    assert build.compile_operators("state_space") == library
    with pytest.raises(build.BuildError):
        build.compile_operators("other")


def test_without_a_compiler_one_warning_names_the_reason(monkeypatch, tmp_path, calls):
    layer, x = make(), torch.randn(2, 1, 12)
    expected, _ = layer(x)
    calls.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build, "COMPILERS", ())
    state_space.load.cache_clear()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with use_kernels(False):
                layer(x)
            assert not caught
            for _ in range(2):
                assert_near(layer(x)[0], expected, 1e-6)
        (message,) = (str(warning.message) for warning in caught)
    finally:
        state_space.load.cache_clear()
    assert message.startswith("Mamba-3 computes in plain PyTorch, which is slower than its CPU kernels: no C++")
    assert not calls
