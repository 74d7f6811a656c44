# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense layers of the conjugate against complex128, and the widely linear layer against the real one it equals."""

import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn

from complex_transformers.nn import (
    ComplexLinear,
    ConjugateLinear,
    RealLinear,
    WidelyLinear,
    folded,
    functional as CF,
    linear_layer,
)
from oracles import (
    DTYPES,
    TOLERANCE,
    assert_close,
    assert_refused,
    assert_slopes,
    bias,
    r,
    randn,
    randomize,
    weight,
    z,
)


def make(layer_class=WidelyLinear, d_in=3, d_out=2, dtype=torch.float64, **options):
    return randomize(layer_class(2 * d_in, 2 * d_out, dtype=dtype, **options))


def conjugate_weight(layer):
    """V = C + iD."""
    return r(layer.conj_real.weight) + 1j * r(layer.conj_imag.weight)


def expected(layer, x):
    """U z + V conj(z) + b in complex128."""
    return z(x) @ weight(layer).T + z(x).conj() @ conjugate_weight(layer).T + bias(layer)


@given(
    st.lists(st.integers(0, 4), min_size=0, max_size=2),
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(DTYPES),
)
def test_formulas(lead, d_in, d_out, with_bias, dtype):
    x = randn(*lead, 2 * d_in, dtype=dtype)
    layer = make(d_in=d_in, d_out=d_out, bias=with_bias).to(dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_close(z(out), expected(layer, x), TOLERANCE[dtype])
    layer = make(ConjugateLinear, d_in, d_out, bias=with_bias).to(dtype)
    assert_close(z(layer(x)), z(x).conj() @ weight(layer).T + bias(layer), TOLERANCE[dtype])


@pytest.mark.parametrize("rows", [1, 15, 16, 40])
def test_every_way_to_compute_it_is_one_function(rows, monkeypatch):
    """Few rows of large layers take the parts, others the matrix; a compiler takes the plain one."""
    layer, x = make(d_in=6, d_out=5), randn(rows, 12, grad=True)
    values = [x, *layer.parameters()]
    found = []
    for large, plain in ((1, True), (10**6, True), (10**6, False)):
        monkeypatch.setattr(CF, "_LARGE_LAYER", large)
        monkeypatch.setattr(CF, "is_plain_cpu", lambda x, plain=plain: plain)
        out = layer(x)
        found.append([out, *torch.autograd.grad(out.square().sum(), values)])
    for others in found[1:]:
        torch.testing.assert_close(others, found[0], rtol=0, atol=1e-11)
    assert_close(z(found[0][0]), expected(layer, x))


@pytest.mark.parametrize("trained", ["all", "input", "weights"])
def test_training_keeps_no_matrix(trained):
    """What backward needs is the input and the parts; the gradients of what is trained are those of the formula."""
    layer, x = make(d_in=6, d_out=5), randn(4, 12, grad=trained != "weights")
    for part in layer.parameters():
        part.requires_grad_(trained != "input")
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda value: kept.append(value) or value, lambda value: value):
        out = layer(x)
    assert {value.data_ptr() for value in kept} == {value.data_ptr() for value in (x, *layer.weight_parts())}
    values = [value for value in (x, *layer.parameters()) if value.requires_grad]
    found = torch.autograd.grad(out.square().sum(), values)
    formula = torch.nn.functional.linear(x, layer.real_matrix(), layer.bias)
    torch.testing.assert_close(found, torch.autograd.grad(formula.square().sum(), values), rtol=0, atol=1e-11)


def test_gradients():
    assert_slopes(make(), randn(4, 6, grad=True), twice=True)
    assert_slopes(make(ConjugateLinear), randn(4, 6, grad=True), twice=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("with_bias", [True, False])
def test_real_layers_become_widely_linear_and_come_back(with_bias, dtype):
    real = randomize(nn.Linear(8, 6, bias=with_bias, dtype=dtype)).requires_grad_(False)
    layer = WidelyLinear.from_real(real)
    assert {(p.dtype, p.requires_grad) for p in layer.parameters()} == {(dtype, False)}
    back = layer.to_real()
    assert type(back) is nn.Linear
    size = 2 * torch.finfo(dtype).eps * real.weight.abs().max().item()
    torch.testing.assert_close(back.weight, real.weight, rtol=0, atol=size)
    assert (back.bias is None) == (not with_bias)
    assert not with_bias or torch.equal(back.bias, real.bias)
    blocks = r(real.weight)  # the equations, block by block
    r11, r12, r21, r22 = blocks[:3, :4], blocks[:3, 4:], blocks[3:, :4], blocks[3:, 4:]
    assert_close(weight(layer), ((r11 + r22) + 1j * (r21 - r12)) / 2, TOLERANCE[dtype])
    assert_close(conjugate_weight(layer), ((r11 - r22) + 1j * (r21 + r12)) / 2, TOLERANCE[dtype])
    x = randn(5, 8, dtype=dtype)
    torch.testing.assert_close(layer(x), real(x), rtol=0, atol=TOLERANCE[dtype] * real(x).abs().max().item())


@pytest.mark.parametrize("part", ["real", "imag", "conj_real", "conj_imag"])
def test_changed_sublayers_are_called(part):
    layer, x = make(), randn(4, 6)
    before = layer(x)
    setattr(layer, part, nn.Sequential(getattr(layer, part)))
    torch.testing.assert_close(layer(x), before)
    with folded(layer):  # a sub-layer is no matrix
        assert layer.matrix is None
    with torch.no_grad():
        getattr(layer, part)[0].weight.mul_(2.0)
    assert (layer(x) - before).abs().max() > 0.1
    assert_refused("merge_and_unload", layer.to_real)


def test_folded_layers_use_one_matrix_and_forget_it():
    layers, x = nn.Sequential(make(), make(d_in=2, d_out=4)), randn(1, 6)
    before = layers(x)
    with folded(layers), folded(layers):
        with torch.no_grad():
            torch.testing.assert_close(layers(x), before)
            layers[0].real.weight.mul_(2.0)  # not seen: no weight may change
            torch.testing.assert_close(layers(x), before)
        assert layers(x).requires_grad  # a gradient asks for the weights
    assert all(layer.matrix is None for layer in layers)
    assert (layers(x) - before).abs().max() > 0.1
    assert not any("matrix" in name for name in layers.state_dict())


def test_folded_layers_of_several_kinds():
    layers = nn.ModuleList([WidelyLinear(6, 4), WidelyLinear(4, 2).bfloat16(), WidelyLinear(2, 8).double()])
    with folded(layers):
        for layer in layers:
            assert layer.matrix.dtype == layer.real.weight.dtype
            assert torch.equal(layer.matrix, layer.real_matrix())


def test_initial_weights_are_those_of_a_real_layer():
    for name, expected_variance in (("glorot", 2.0 / 600), ("he", 2.0 / 400), ("normal", 0.01)):
        layer = WidelyLinear(400, 200)
        layer.reset_parameters(name, **({"std": 0.1} if name == "normal" else {}))
        assert layer.real_matrix().var().item() == pytest.approx(expected_variance, rel=0.05)
        for part in layer.weight_parts():
            assert part.var().item() == pytest.approx(expected_variance / 2, rel=0.05)
        assert not layer.bias.any()
    layer.reset_parameters("unitary")
    rows = layer.real_matrix()
    torch.testing.assert_close(rows @ rows.T, torch.eye(200), rtol=0, atol=1e-5)


def test_layout_of_the_checkpoint():
    names = {name: tuple(value.shape) for name, value in WidelyLinear(6, 4).state_dict().items()}
    parts = {f"{name}.weight": (2, 3) for name in ("real", "imag", "conj_real", "conj_imag")}
    assert names == {**parts, "bias": (4,)}
    assert sum(p.numel() for p in WidelyLinear(6, 4).parameters()) == sum(
        p.numel() for p in nn.Linear(6, 4).parameters()
    )


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def test_bad_values():
    for sizes in ((5, 4), (4, 5)):
        assert_refused("must be even, got 5. Use 6", WidelyLinear, *sizes)
    assert_refused("must be even, got 5. Use 6", WidelyLinear.from_real, nn.Linear(4, 5))
    hooked = nn.Linear(4, 4)
    hooked.register_forward_hook(lambda *_: None)
    for other in (hooked, Doubled(4, 4), nn.Conv1d(4, 4, 1)):
        words = f"must be an nn.Linear without hooks, got {type(other).__name__}"
        assert_refused(words, WidelyLinear.from_real, other, error=TypeError)
    for layer_class in (WidelyLinear, ConjugateLinear):
        assert_refused(r"width 4, .*, got shape \(2, 6\)", layer_class(4, 4), torch.zeros(2, 6))
        native = torch.zeros(2, 4, dtype=torch.complex64)
        assert_refused("complex64.*from_complex", layer_class(4, 4), native, error=TypeError)
    assert [linear_layer(None, field) for field in ("complex", "real")] == [ComplexLinear, RealLinear]
    assert_refused(r"linear_type must be one of \['complex', .*got 'xavier'", linear_layer, "xavier", "complex")
    for name in ("complex", "conjugate", "widely_linear"):
        assert_refused(
            f"linear_type must be 'real' with number_field='real', got '{name}'", linear_layer, name, "real"
        )
    assert_refused("linear_type must not be 'real' in the complex field", linear_layer, "real", "complex")
