# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn

from complex_transformers.nn import ComplexLinear, ConjugateLinear, RealLinear, WidelyLinear
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, bias, r, randn, randomize, weight, z


def make(d_in=3, d_out=2, **kwargs):
    return randomize(ComplexLinear(2 * d_in, 2 * d_out, dtype=torch.float64, **kwargs))


@given(
    st.lists(st.integers(0, 4), min_size=0, max_size=2),
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(DTYPES),
)
def test_layer_is_w_z_plus_b(lead, d_in, d_out, with_bias, share, dtype):
    layer = make(d_in, d_out, bias=with_bias, share_parts=share).to(dtype)
    x = randn(*lead, 2 * d_in, dtype=dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_close(z(out), z(x) @ weight(layer).T + bias(layer), TOLERANCE[dtype])


def test_layout_of_the_checkpoint():
    names = {name: tuple(value.shape) for name, value in ComplexLinear(6, 4).state_dict().items()}
    assert names == {"real.weight": (2, 3), "imag.weight": (2, 3), "bias": (4,)}
    shared = {name: tuple(value.shape) for name, value in ComplexLinear(6, 4, share_parts=True).state_dict().items()}
    assert shared == {"real.weight": (2, 3), "bias": (4,)}
    assert set(ComplexLinear(6, 4, bias=False).state_dict()) == {"real.weight", "imag.weight"}


def test_sublayer_with_a_bias_of_its_own_is_not_ignored():
    layer = make(3, 2)
    layer.real.bias = nn.Parameter(randn(2))
    x = randn(4, 6)
    offset = r(layer.real.bias) * (1 + 1j)  # A is called on both parts
    assert_close(z(layer(x)), z(x) @ weight(layer).T + offset + bias(layer))


class ThreeAxesLinear(nn.Linear):
    """Takes what the layers of 8 bits of bitsandbytes take: rows, or rows in a batch."""

    def forward(self, x):
        assert x.dim() in (2, 3)
        return super().forward(x)


@pytest.mark.parametrize("lead", [(), (4,), (2, 3), (2, 3, 2), (0, 3)])
@pytest.mark.parametrize("layer_class", [ComplexLinear, ConjugateLinear, WidelyLinear])
def test_replaced_sublayers_take_three_axes(layer_class, lead):
    layer = randomize(layer_class(6, 4, dtype=torch.float64))
    x = randn(*lead, 6)
    expected = layer(x)
    for name, part in list(layer.named_children()):
        replaced = ThreeAxesLinear(3, 2, bias=False, dtype=torch.float64)
        replaced.weight = part.weight
        setattr(layer, name, replaced)
    torch.testing.assert_close(layer(x), expected)


def test_bad_values():
    for sizes in ((5, 4), (4, 5)):
        assert_refused(r"must be even, got 5. Use 6", ComplexLinear, *sizes)
    assert_refused(r"width 4, twice the complex features, got shape \(2, 6\)", ComplexLinear(4, 4), torch.zeros(2, 6))
    native = torch.zeros(2, 4, dtype=torch.complex64)
    assert_refused(r"complex64.*from_complex", ComplexLinear(4, 4), native, error=TypeError)
    assert_refused("share_parts must be False with number_field='real', got True", RealLinear, 4, 4, share_parts=True)
    message = r"\['glorot', 'he', 'normal', 'unitary'\], got 'xavier'"
    assert_refused(message, ComplexLinear(4, 4).reset_parameters, "xavier")
