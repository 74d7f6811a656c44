# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import DTYPES, TOLERANCE, assert_close, finite, r, randn, randomize, weight
from torch import nn
from torch.autograd import gradcheck

import complex_transformers.nn.functional as CF
from complex_transformers.nn import ComplexConv1d, ComplexConv2d, RealConv1d, RealConv2d

CONVOLUTIONS = {1: ComplexConv1d, 2: ComplexConv2d}
DIMS = sorted(CONVOLUTIONS)
# Names of torch for what numpy.pad does.
PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def channels(x: torch.Tensor) -> np.ndarray:
    """Halves on axis 1, ``[B, 2C, ...]``, as a complex128 array ``[B, C, ...]``."""
    real, imag = np.split(r(x), 2, axis=1)
    return real + 1j * imag


def halves(values: np.ndarray, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """A complex array ``[B, C, ...]`` with its halves on axis 1."""
    return torch.from_numpy(np.concatenate([values.real, values.imag], axis=1)).to(dtype)


def sizes(value, num_dims):
    return (value,) * num_dims if isinstance(value, int) else value


def oracle(layer, values, stride=1, padding=0, dilation=1, groups=1, padding_mode="zeros"):
    """sum_j W_j z_{n + j} + b (Thesis 2.24) number by number, for any number of axes."""
    w, num_dims = weight(layer), values.ndim - 2
    kernel, stride, dilation = w.shape[2:], sizes(stride, num_dims), sizes(dilation, num_dims)
    if padding == "same":  # as many steps as before, the odd one at the end
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(p, p) for p in sizes(0 if padding == "valid" else padding, num_dims)]
    values = np.pad(values, [(0, 0), (0, 0), *pads], mode=PADDING_MODES[padding_mode])
    steps = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(values.shape[2:], kernel, stride, dilation, strict=True)
    ]
    per_group, out_per_group = w.shape[1], w.shape[0] // groups
    bias = np.zeros(len(w)) if layer.bias is None else r(layer.bias)[: len(w)] + 1j * r(layer.bias)[len(w) :]
    out = np.zeros((len(values), len(w), *steps), complex)
    for b, o, *position in itertools.product(*map(range, out.shape)):
        total = bias[o]
        for i, *offset in itertools.product(range(per_group), *map(range, kernel)):
            source = [n * s + j * d for n, s, j, d in zip(position, stride, offset, dilation, strict=True)]
            total += w[(o, i, *offset)] * values[(b, o // out_per_group * per_group + i, *source)]
        out[(b, o, *position)] = total
    return out


def make(num_dims=1, c_in=3, c_out=2, kernel_size=3, dtype=torch.float64, **options):
    layer = CONVOLUTIONS[num_dims](2 * c_in, 2 * c_out, kernel_size, dtype=torch.float64, **options)
    return randomize(layer).to(dtype)


@pytest.mark.parametrize("num_dims", DIMS)
@given(data=st.data())
def test_layer_is_the_sum_over_the_kernel(num_dims, data):
    axis = st.one_of(st.integers(1, 3), st.tuples(*[st.integers(1, 3)] * num_dims))
    kernel, dilation = data.draw(axis), data.draw(axis)
    padding = data.draw(st.sampled_from(["same", "valid", 0, 1, (2,) * num_dims]))
    stride = 1 if padding == "same" else data.draw(axis)
    groups = data.draw(st.integers(1, 2))
    c_in, c_out = (groups * data.draw(st.integers(1, 2)) for _ in range(2))
    dtype = data.draw(st.sampled_from(DTYPES))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    layer = make(num_dims, c_in, c_out, kernel, dtype, bias=data.draw(st.booleans()), **options)
    spans = zip(sizes(kernel, num_dims), sizes(dilation, num_dims), strict=True)
    x = randn(2, 2 * c_in, *(d * (k - 1) + data.draw(st.integers(1, 4)) for k, d in spans), dtype=dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_close(channels(out), oracle(layer, channels(x), **options), TOLERANCE[dtype])


@pytest.mark.parametrize("padding_mode", list(PADDING_MODES))
@pytest.mark.parametrize("groups", [1, 2])  # the block product and the sub-layers
@pytest.mark.parametrize("num_dims", DIMS)
def test_padding_modes(num_dims, groups, padding_mode):
    options = {"padding": 2, "padding_mode": padding_mode, "groups": groups}
    layer, x = make(num_dims, 2, 2, **options), randn(2, 4, *[5] * num_dims)
    assert_close(channels(layer(x)), oracle(layer, channels(x), **options))


def test_layout_of_the_checkpoint():
    shapes = {name: tuple(value.shape) for name, value in ComplexConv1d(6, 4, 5).state_dict().items()}
    assert shapes == {"real.weight": (2, 3, 5), "imag.weight": (2, 3, 5), "bias": (4,)}
    shapes = {name: tuple(value.shape) for name, value in ComplexConv2d(8, 4, (1, 2), groups=2).state_dict().items()}
    assert shapes == {"real.weight": (2, 2, 1, 2), "imag.weight": (2, 2, 1, 2), "bias": (4,)}
    assert set(ComplexConv1d(6, 4, 5, bias=False).state_dict()) == {"real.weight", "imag.weight"}


class _Wrapper(nn.Module):
    """A layer in place of another, as quantisation does it, without the attributes of a convolution."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def _hook(layer, name):
    getattr(layer, name).register_forward_hook(lambda module, args, output: output)


def _replace(layer, name):
    setattr(layer, name, _Wrapper(getattr(layer, name)))


def _subclass(layer, name):
    getattr(layer, name).__class__ = type("QuantisedConv", (type(getattr(layer, name)),), {})


def _patched_forward(layer, name):
    part = getattr(layer, name)
    part.forward = lambda x: type(part).forward(part, x)


@pytest.mark.parametrize("change", [_hook, _replace, _subclass, _patched_forward])
@pytest.mark.parametrize("name", ["real", "imag"])
@pytest.mark.parametrize("num_dims", DIMS)
def test_all_paths_agree(num_dims, name, change, monkeypatch):
    layer, x = make(num_dims, stride=2, padding=1), randn(2, 6, *[7] * num_dims, grad=True)
    cotangent = randn(*layer(x).shape)

    def results(module):
        out = module(x)
        return [out, *torch.autograd.grad(out, [x, *module.parameters()], cotangent)]

    block = results(layer)
    changed = copy.deepcopy(layer)
    change(changed, name)
    monkeypatch.delattr(CF, "block_matrix")  # the changed sub-layer is really called
    for one, two in zip(block, results(changed), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-11)


def test_replaced_sublayers_of_any_kind_are_called_on_both_parts():
    layer, x = make(bias=False), randn(2, 6, 5)
    layer.real, layer.imag = (nn.Sequential(part, nn.Tanh()) for part in (layer.real, layer.imag))
    real, imag = x.chunk(2, dim=1)
    expected = [layer.real(real) - layer.imag(imag), layer.real(imag) + layer.imag(real)]
    assert_close(r(layer(x)), r(torch.cat(expected, dim=1)))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("num_dims", DIMS)
def test_gradients(num_dims, groups):
    layer = make(num_dims, 2, 2, 2, groups=groups, padding=1)
    names = [name for name, _ in layer.named_parameters()]

    def function(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    parameters = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    assert gradcheck(function, (randn(2, 4, *[3] * num_dims, grad=True), *parameters))


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("num_dims", DIMS)
def test_phase_rotation_commutes_without_a_bias(num_dims, groups):
    layer, x = make(num_dims, 3, 3, groups=groups, bias=False), randn(2, 6, *[4] * num_dims)
    angle = np.exp(1.3j)
    assert_close(channels(layer(halves(channels(x) * angle))), channels(layer(x)) * angle)
    biased = make(num_dims, 3, 3, groups=groups)
    assert np.abs(channels(biased(halves(channels(x) * angle))) - channels(biased(x)) * angle).max() > 1e-3


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"groups": 3, "dilation": 2, "bias": False}])
@pytest.mark.parametrize(("ours", "torchs", "num_dims"), [(RealConv1d, nn.Conv1d, 1), (RealConv2d, nn.Conv2d, 2)])
def test_real_twin_is_the_convolution_of_torch(ours, torchs, num_dims, options):
    layer, twin = randomize(ours(6, 3, 3, **options)), torchs(6, 3, 3, **options)
    twin.load_state_dict(layer.state_dict())
    x = torch.randn(2, 6, *[7] * num_dims)
    torch.testing.assert_close(layer(x), twin(x), rtol=0, atol=1e-6)


def test_initialisers_count_the_receptive_field():
    # Numbers of the field: fan_in = 24 * 15, fan_out = 40 * 15.
    glorot, he = 2.0 / (64 * 15), 2.0 / (24 * 15)
    for layer in (ComplexConv1d(48, 80, 15), ComplexConv2d(48, 80, (3, 5))):
        assert np.mean(np.abs(weight(layer)) ** 2) == pytest.approx(glorot, rel=0.05)
        assert np.mean(weight(layer).real ** 2) == pytest.approx(glorot / 2, rel=0.05)
        with torch.no_grad():
            layer.bias.fill_(7.0)
        layer.reset_parameters("he")
        assert np.mean(np.abs(weight(layer)) ** 2) == pytest.approx(he, rel=0.05)
        assert not layer.bias.any()
    for layer in (RealConv1d(24, 40, 15), RealConv2d(24, 40, (3, 5))):
        assert np.mean(r(layer.weight) ** 2) == pytest.approx(glorot, rel=0.05)
        assert not layer.bias.any()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("num_dims", DIMS)
def test_autocast(num_dims, groups):
    layer, x = make(num_dims, 2, 2, groups=groups, dtype=torch.float32), torch.randn(2, 4, *[5] * num_dims)
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(x)
    assert out.dtype == torch.bfloat16
    assert_close(channels(out), oracle(layer, channels(x), groups=groups), TOLERANCE[torch.bfloat16])


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("size", [0.0, 1e-30, 1e15])
@pytest.mark.parametrize("num_dims", DIMS)
def test_extreme_inputs(num_dims, size, groups):
    layer = make(num_dims, 2, 2, groups=groups, dtype=torch.float32)
    x = (size * torch.randn(2, 4, *[5] * num_dims)).requires_grad_()
    out = layer(x)
    out.mean().backward()
    assert finite(out, x.grad, *(p.grad for p in layer.parameters()))
    assert_close(channels(out) / max(size, 1.0), oracle(layer, channels(x), groups=groups) / max(size, 1.0), 1e-5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("num_dims", DIMS)
def test_nan_stays_in_its_row(num_dims, groups):
    layer, x = make(num_dims, 2, 2, groups=groups), randn(3, 4, *[5] * num_dims)
    expected = layer(x)
    x[1] = float("nan")
    out = layer(x)
    assert torch.equal(out[[0, 2]], expected[[0, 2]])
    assert out[1].isnan().all()


@pytest.mark.parametrize("groups", [1, 2])
def test_meta_device_and_empty_batch(groups):
    layer = ComplexConv1d(4, 8, 3, groups=groups, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}
    assert ComplexConv1d(4, 8, 3, groups=groups)(torch.zeros(0, 4, 5)).shape == (0, 8, 3)
    assert "in_channels=4, out_channels=8, bias=True" in repr(layer)


def test_bad_sizes():
    for channel_sizes in ((5, 4), (4, 5)):
        with pytest.raises(ValueError, match=r"must be even, got 5; use 6"):
            ComplexConv1d(*channel_sizes, 3)
    with pytest.raises(ValueError, match="must be positive, got 0 and 4"):
        ComplexConv1d(0, 4, 3)
    # 4 divides the stored channels, but not the complex ones.
    with pytest.raises(ValueError, match=r"groups=4 must divide .* 6 in and 12 out .* use a divisor of 6"):
        ComplexConv2d(12, 24, 3, groups=4)
    with pytest.raises(ValueError, match="groups=0 must divide"):
        ComplexConv1d(4, 4, 3, groups=0)
    for options, message in (
        ({"kernel_size": 0}, "kernel_size must be 1 or more, one for each of 1 axes, got 0"),
        ({"kernel_size": (3, 3)}, r"kernel_size .* got \(3, 3\)"),
        ({"stride": 0}, "stride must be 1 or more, .* got 0"),
        ({"dilation": (0,)}, r"dilation must be 1 or more, .* got \(0,\)"),
        ({"padding": -1}, "padding must be 0 or more, .* got -1"),
        ({"padding": "half"}, "padding string 'half'"),
        ({"padding": "same", "stride": 2}, "'same' is not supported for strided"),
        ({"padding_mode": "mirror"}, "padding_mode='mirror'"),
    ):
        with pytest.raises(ValueError, match=message):
            ComplexConv1d(4, 4, **{"kernel_size": 3, **options})
    with pytest.raises(ValueError, match=r"\['glorot', 'he', 'normal', 'unitary'\], got 'xavier'"):
        ComplexConv1d(4, 4, 3).reset_parameters("xavier")


def test_bad_inputs():
    layer = ComplexConv1d(4, 4, 3, dilation=2, padding=1)
    with pytest.raises(TypeError, match=r"complex64.*torch\.cat\(\[z\.real, z\.imag\], dim=1\)"):
        layer(torch.zeros(2, 4, 9, dtype=torch.complex64))
    with pytest.raises(TypeError, match="int64"):
        layer(torch.zeros(2, 4, 9, dtype=torch.int64))
    for shape in ((2, 6, 9), (4, 9), (2, 4, 9, 9)):
        with pytest.raises(ValueError, match=rf"4 channels, 1 axes\], got shape \({shape[0]}, {shape[1]}"):
            layer(torch.zeros(shape))
    with pytest.raises(ValueError, match=r"kernel of 3 \(dilation 2\) does not fit 2 steps with padding 1; pad"):
        layer(torch.zeros(2, 4, 2))
    assert layer(torch.zeros(2, 4, 3)).shape == (2, 4, 1)  # the shortest that fits
    with pytest.raises(ValueError, match=r"kernel of 3 .* does not fit 2 steps with padding 0"):
        ComplexConv2d(4, 4, (1, 3), padding="valid")(torch.zeros(2, 4, 5, 2))
