# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn

from complex_transformers.nn import (
    ComplexConv1d,
    ComplexConv2d,
    ComplexConv3d,
    ComplexConvTranspose1d,
    ComplexConvTranspose2d,
    ComplexUpsample,
    RealConv1d,
    RealConv2d,
    RealConv3d,
    RealConvTranspose1d,
    RealConvTranspose2d,
    RealInputConv2d,
)
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, bias, r, randn, randomize, weight

CONVOLUTIONS = {1: ComplexConv1d, 2: ComplexConv2d, 3: ComplexConv3d}
TRANSPOSED = {1: ComplexConvTranspose1d, 2: ComplexConvTranspose2d}
# Names of torch for what numpy.pad does.
PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def channels(x: torch.Tensor) -> np.ndarray:
    """Halves on axis 1, ``[B, 2C, ...]``, as a complex128 array ``[B, C, ...]``."""
    real, imag = np.split(r(x), 2, axis=1)
    return real + 1j * imag


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
    shift = np.broadcast_to(bias(layer), len(w))
    out = np.zeros((len(values), len(w), *steps), complex)
    for b, o, *position in itertools.product(*map(range, out.shape)):
        total = shift[o]
        for i, *offset in itertools.product(range(per_group), *map(range, kernel)):
            source = [n * s + j * d for n, s, j, d in zip(position, stride, offset, dilation, strict=True)]
            total += w[(o, i, *offset)] * values[(b, o // out_per_group * per_group + i, *source)]
        out[(b, o, *position)] = total
    return out


def transposed_oracle(layer, values, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Every number adds the kernel, times itself, at its place; then the padding is cut off and b added."""
    w, num_dims = weight(layer), values.ndim - 2  # [in, out of a group, ...]
    stride, padding, more, dilation = (sizes(v, num_dims) for v in (stride, padding, output_padding, dilation))
    spans = zip(values.shape[2:], w.shape[2:], stride, dilation, more, strict=True)
    full = [(size - 1) * s + d * (k - 1) + 1 + extra for size, k, s, d, extra in spans]
    per_group, out_per_group = w.shape[0] // groups, w.shape[1]
    out = np.zeros((len(values), out_per_group * groups, *full), complex)
    for i, o, *position in itertools.product(*map(range, (*w.shape[:2], *values.shape[2:]))):
        group = i // per_group * out_per_group
        for offset in itertools.product(*map(range, w.shape[2:])):
            place = tuple(n * s + j * d for n, s, j, d in zip(position, stride, offset, dilation, strict=True))
            out[(slice(None), group + o, *place)] += w[(i, o, *offset)] * values[(slice(None), i, *position)]
    cut = tuple(slice(p, size - p) for p, size in zip(padding, full, strict=True))
    return out[(slice(None), slice(None), *cut)] + np.reshape(bias(layer), (-1, *[1] * num_dims))


def make(num_dims=1, c_in=3, c_out=2, kernel_size=3, dtype=torch.float64, layers=CONVOLUTIONS, **options):
    layer = layers[num_dims](2 * c_in, 2 * c_out, kernel_size, dtype=torch.float64, **options)
    return randomize(layer).to(dtype)


@pytest.mark.parametrize("num_dims", [1, 2])
@given(data=st.data())
def test_layer_is_the_sum_over_the_kernel(num_dims, data):
    axis = st.one_of(st.integers(1, 3), st.tuples(*[st.integers(1, 3)] * num_dims))
    kernel, dilation = data.draw(axis), data.draw(axis)
    padding = data.draw(st.sampled_from(["same", "valid", 0, 1, (2,) * num_dims]))
    mode = data.draw(st.sampled_from(sorted(PADDING_MODES)))
    stride = 1 if padding == "same" else data.draw(axis)
    groups = data.draw(st.integers(1, 2))
    c_in, c_out = (groups * data.draw(st.integers(1, 2)) for _ in range(2))
    dtype = data.draw(st.sampled_from(DTYPES))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "padding_mode": mode}
    layer = make(num_dims, c_in, c_out, kernel, dtype, bias=data.draw(st.booleans()), **options)
    spans = zip(sizes(kernel, num_dims), sizes(dilation, num_dims), strict=True)
    x = randn(2, 2 * c_in, *(d * (k - 1) + data.draw(st.integers(3, 6)) for k, d in spans), dtype=dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_close(channels(out), oracle(layer, channels(x), **options), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2, "stride": (1, 2, 1), "padding": 1},
        {"kernel_size": [1, 3, 2], "padding": "same", "padding_mode": "circular"},
        {"kernel_size": torch.Size([3, 1, 2]), "dilation": (1, 1, 2), "groups": 2, "bias": False},
    ],
    ids=str,
)
def test_volumes(options, dtype):
    layer = make(3, 2, 4, dtype=dtype, **options)
    x = randn(2, 4, 4, 3, 5, dtype=dtype)
    options = {name: value for name, value in options.items() if name not in ("kernel_size", "bias")}
    assert_close(channels(layer(x)), oracle(layer, channels(x), **options), TOLERANCE[dtype])


@pytest.mark.parametrize("num_dims", sorted(TRANSPOSED))
@given(data=st.data())
def test_transposed_layer_spreads_the_kernel(num_dims, data):
    axis = st.one_of(st.integers(1, 3), st.tuples(*[st.integers(1, 3)] * num_dims))
    kernel, stride, dilation = (data.draw(axis) for _ in range(3))
    groups, dtype = data.draw(st.integers(1, 2)), data.draw(st.sampled_from(DTYPES))
    c_in, c_out = (groups * data.draw(st.integers(1, 2)) for _ in range(2))
    room = zip(sizes(stride, num_dims), sizes(dilation, num_dims), strict=True)
    output_padding = tuple(data.draw(st.integers(0, max(pair) - 1)) for pair in room)
    options = {
        "stride": stride,
        "padding": data.draw(st.integers(0, 1)),
        "output_padding": output_padding,
        "groups": groups,
        "dilation": dilation,
    }
    layer = make(num_dims, c_in, c_out, kernel, dtype, TRANSPOSED, bias=data.draw(st.booleans()), **options)
    x = randn(2, 2 * c_in, *(data.draw(st.integers(3, 4)) for _ in range(num_dims)), dtype=dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_close(channels(out), transposed_oracle(layer, channels(x), **options), TOLERANCE[dtype])


@pytest.mark.parametrize("num_dims", sorted(TRANSPOSED))
def test_transposed_layer_is_the_gradient_of_the_conjugate_kernel(num_dims):
    options = {"stride": 2, "padding": 1, "bias": False}
    layer = make(num_dims, 3, 2, **options)
    transposed = make(num_dims, 2, 3, layers=TRANSPOSED, **options)
    with torch.no_grad():
        transposed.real.weight.copy_(layer.real.weight)
        transposed.imag.weight.copy_(-layer.imag.weight)
    x = randn(2, 6, *[7] * num_dims, grad=True)
    out = layer(x)
    cotangent = randn(*out.shape)
    (expected,) = torch.autograd.grad(out, x, cotangent)
    torch.testing.assert_close(transposed(cotangent), expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_output_size_of_a_transposed_layer(groups):
    options = {"stride": 2, "groups": groups}
    layer = make(2, 2, 4, layers=TRANSPOSED, **options)
    longer = make(2, 2, 4, layers=TRANSPOSED, output_padding=(1, 0), **options)
    longer.load_state_dict(layer.state_dict())
    x = randn(2, 4, 3, 4)
    torch.testing.assert_close(layer(x, output_size=[8, 9]), longer(x))


@pytest.mark.parametrize("align_corners", [True, False])
def test_upsampling_interpolates_complex_numbers(align_corners):
    x = randn(2, 6, 4)
    out = channels(ComplexUpsample(size=7, mode="linear", align_corners=align_corners)(x))
    places = np.arange(7) * 0.5 if align_corners else ((np.arange(7) + 0.5) * 4 / 7 - 0.5).clip(0, 3)
    for sample, values in zip(out, channels(x), strict=True):
        expected = np.stack([np.interp(places, np.arange(4), channel) for channel in values])
        assert_close(sample, expected)
    nearest = ComplexUpsample(scale_factor=2)(x)
    assert torch.equal(nearest, x.repeat_interleave(2, dim=-1))


def test_layout_of_the_checkpoint():
    shapes = {name: tuple(value.shape) for name, value in ComplexConv1d(6, 4, 5).state_dict().items()}
    assert shapes == {"real.weight": (2, 3, 5), "imag.weight": (2, 3, 5), "bias": (4,)}
    shapes = {name: tuple(value.shape) for name, value in ComplexConv2d(8, 4, (1, 2), groups=2).state_dict().items()}
    assert shapes == {"real.weight": (2, 2, 1, 2), "imag.weight": (2, 2, 1, 2), "bias": (4,)}
    assert set(ComplexConv1d(6, 4, 5, bias=False).state_dict()) == {"real.weight", "imag.weight"}


@pytest.mark.parametrize(
    "layer",
    [
        ComplexConv1d(48, 80, 15),
        ComplexConv2d(48, 80, (3, 5)),
        ComplexConv3d(48, 80, (3, 5, 1)),
        RealConv1d(24, 40, 15),
        RealConv2d(24, 40, (3, 5)),
        RealConv3d(24, 40, (3, 5, 1)),
        ComplexConvTranspose1d(80, 48, 15),
        ComplexConvTranspose2d(80, 48, (3, 5)),
        RealConvTranspose1d(40, 24, 15),
        RealConvTranspose2d(40, 24, (3, 5)),
    ],
)
def test_initializers_count_the_receptive_field(layer):
    # Numbers of the field: fan_in = 24 * 15, fan_out = 40 * 15.
    assert np.mean(np.abs(weight(layer)) ** 2) == pytest.approx(2.0 / (64 * 15), rel=0.05)
    assert not layer.bias.any()
    with torch.no_grad():
        layer.bias.fill_(7.0)
    layer.reset_parameters("he")
    assert np.mean(np.abs(weight(layer)) ** 2) == pytest.approx(2.0 / (24 * 15), rel=0.05)
    assert not layer.bias.any()


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((5, 4, 3), {}, "must be even, got 5. Use 6"),
        ((4, 5, 3), {}, "must be even, got 5. Use 6"),
        # 4 divides the stored channels, but not the complex ones.
        ((12, 24, 3), {"groups": 4}, "in_channels must be divisible by groups"),
    ],
)
def test_bad_sizes(sizes, options, message):
    assert_refused(message, ComplexConv1d, *sizes, **options)


def test_bad_inputs():
    layer = ComplexConv1d(4, 4, 3, dilation=2, padding=1)
    native = torch.zeros(2, 4, 9, dtype=torch.complex64)
    assert_refused(r"complex64.*torch\.cat\(\[z\.real, z\.imag\], dim=1\)", layer, native, error=TypeError)
    assert_refused("int64", layer, torch.zeros(2, 4, 9, dtype=torch.int64), error=TypeError)
    assert_refused("to have 4 channels, but got 6 channels", layer, torch.zeros(2, 6, 9), error=RuntimeError)
    assert layer(torch.zeros(2, 4, 3)).shape == (2, 4, 1)  # the shortest that fits
    layer = ComplexConvTranspose1d(4, 4, 3)
    for other in (layer, ComplexUpsample(scale_factor=2)):
        assert_refused("complex64", other, native, error=TypeError)
    assert_refused(
        r"even size on axis 1 .* got shape \(2, 5, 9\)",
        ComplexUpsample(scale_factor=2),
        torch.zeros(2, 5, 9),
    )


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_real_input_is_a_complex_input_without_imaginary_part(padding, groups):
    layer = randomize(RealInputConv2d(3, 12, (1, 3), padding=padding, groups=groups))
    other = ComplexConv2d(6, 12, (1, 3), padding=padding, groups=groups)
    other.load_state_dict(layer.state_dict())
    x = randn(2, 3, 5, 4, dtype=torch.float32)
    expected = other(torch.cat([x, torch.zeros_like(x)], dim=1))
    torch.testing.assert_close(layer(x), expected)
    layer.real = nn.Sequential(layer.real)  # as LoRA and quantisation do
    torch.testing.assert_close(layer(x), expected)
    assert RealInputConv2d(3, 8, 3, bias=False)(x).shape == (2, 8, 3, 2)
