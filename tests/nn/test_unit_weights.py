# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Units by rows and stages, two bits each in bytes, and the layers made of them, against loops over single numbers."""

import math

import numpy as np
import pytest
import torch

import oracles
from complex_transformers import nn as cnn
from complex_transformers.nn.low_bit.rounding import joint_scales, rounded_values
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, randn, z
from refusals import refused

LAYERS = {"complex": cnn.ComplexLinear, "conjugate": cnn.ConjugateLinear, "widely_linear": cnn.WidelyLinear}
UNITS = (1, 1j, -1, -1j)
every_type = pytest.mark.parametrize("linear_type", LAYERS)


def loop(weight, stages, granularity):
    """Codes, scales rounded to 16 bits and values of a complex128 matrix, number by number."""
    left, codes, scales, total = weight.copy(), [], [], np.zeros_like(weight)
    groups = [[row] for row in range(len(weight))] if granularity == "row" else [list(range(len(weight)))]
    for _ in range(stages):
        code = np.array([[max(range(4), key=lambda c: (w * UNITS[c].conjugate()).real) for w in row] for row in left])
        scale = np.zeros((2, len(groups)))
        value = np.zeros_like(weight)
        for index, rows in enumerate(groups):
            for axis, part in enumerate((np.real, np.imag)):
                sizes = [abs(part(w)) for r in rows for w, c in zip(left[r], code[r], strict=True) if c % 2 == axis]
                scale[axis, index] = np.float16(math.fsum(sizes) / len(sizes)) if sizes else 0.0
            for r in rows:
                value[r] = [UNITS[c] * scale[c % 2, index] for c in code[r]]
        codes.append(code)
        scales.append(scale)
        total, left = total + value, left - value
    codes, scales = np.stack(codes), np.stack(scales)
    units = np.array(UNITS)[codes]
    if granularity == "row":
        for index, rows in enumerate(groups):
            for axis, part in enumerate((np.real, np.imag)):
                columns = part(units[:, rows]).reshape(stages, -1)
                scales[:, axis, index] = oracles.joint_scales(
                    columns, part(weight[rows]).ravel(), scales[:, axis, index]
                )
        on_axis = np.where(codes % 2, scales[:, 1, :, None], scales[:, 0, :, None])
        total = (units * on_axis).sum(0)
    return codes, scales, total


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_stages_are_those_of_the_loop(stages, granularity):
    real, imag = 3.0 * torch.randn(2, 5, 27, dtype=torch.float64)
    expected_codes, expected_scales, expected = loop(real.numpy() + 1j * imag.numpy(), stages, granularity)
    codes, scales = cnn.unit_stages(real, imag, stages, granularity, scale_dtype=torch.float16)
    assert codes.tolist() == expected_codes.tolist()
    assert (codes.dtype, scales.dtype) == (torch.int8, torch.float16)
    assert scales.tolist() == expected_scales.tolist()
    found = torch.complex(*cnn.unit_values(codes, scales.double())).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("granularity", ["row", "tensor"])
def test_training_rounds_as_packing_does(granularity, dtype):
    """To the bit, also on the diagonals, at zero and for subnormal numbers."""
    edges = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-42, -1e-42, 1e20, -2.5], dtype=dtype)
    for pair in (torch.cartesian_prod(edges, edges).T.view(2, 8, 8), torch.randn(2, 6, 9, dtype=dtype)):
        for stages in (1, 2, 3):
            expected = cnn.unit_values(*cnn.unit_stages(*pair, stages, granularity))
            for found, each in zip(rounded_values(*pair, stages, granularity), expected, strict=True):
                assert torch.equal(found, each)


def test_joint_scales_err_less_and_find_sums_of_units_again():
    scales = torch.tensor([0.9, 0.4]).view(2, 1, 1).expand(2, 2, 8)
    pair = cnn.unit_values(torch.randint(4, (2, 8, 200), dtype=torch.int8), scales)
    for found, part in zip(rounded_values(*pair, 2, "row"), pair, strict=True):
        torch.testing.assert_close(found, part)
    weights = torch.randn(2, 8, 200)
    by_stages = torch.cat([torch.stack(rounded_values(*row, 2, "tensor")) for row in weights.split(1, dim=1)], dim=1)
    together = torch.stack(rounded_values(*weights, 2, "row"))
    errors = [(found - weights).square().sum((0, 2)) for found in (together, by_stages)]
    assert (errors[0] < errors[1]).all()


def test_scales_that_no_fit_betters_stay():
    one, zero = torch.ones(1, 3), torch.zeros(1, 3)
    given = [torch.tensor([[2.0], [5.0]]), torch.tensor([[1.0], [7.0]])]
    kept = joint_scales([(one, zero), (one, zero)], (3.0 * one, zero), given)  # any 2 + 1 is as good; no i
    assert torch.equal(torch.stack(kept), torch.stack(given))
    units = [(one, zero), (torch.tensor([[1.0, 1.0, -1.0]]), zero)]
    kept = joint_scales(units, (torch.tensor([[1.0, 1.0, 3.0]]), zero), given)  # 2 and -1
    assert torch.equal(torch.stack(kept), torch.stack(given))
    found = joint_scales(units, (torch.tensor([[3.0, 3.0, 1.0]]), zero), [given[1], given[0]])  # 2 and 1
    torch.testing.assert_close(torch.stack(found)[:, 0], torch.tensor([[2.0], [1.0]]))


def test_joint_scales_have_the_least_scale():
    _, scales = cnn.unit_stages(*torch.randn(2, 8, 200), 2, least_scale=0.7)
    assert scales.min().item() == pytest.approx(0.7)


def test_rounding_on_the_meta_device():
    for stages in (1, 2):
        layer = cnn.RoundedLinear(8, 6, "complex", stages, device="meta")
        assert layer(torch.randn(3, 8, device="meta")).shape == (3, 6)


def test_gradients_pass_through_the_scales():
    """One stage: each part's scale is a mean of moduli over its axis, so gradients are signs over counts."""
    real, imag = torch.tensor([3.0, -1.0, 0.5], requires_grad=True), torch.tensor([1.0, 0.2, -2.0], requires_grad=True)
    rounded = cnn.round_to_units(real, imag)
    (rounded[0][0] + 3.0 * rounded[1][2]).backward()
    assert real.grad.tolist() == [0.5, -0.5, 0.0]
    assert imag.grad.tolist() == [0.0, 0.0, 3.0]


def test_scales_of_rows_err_least():
    """Those of the whole tensor err more where rows differ, and so does every other pair of scales of a row."""
    real, imag = torch.randn(2, 4, 50, dtype=torch.float64) * torch.tensor([[0.1], [1.0], [3.0], [9.0]])
    errors = {}
    for granularity in ("row", "tensor"):
        codes, scales = cnn.unit_stages(real, imag, 1, granularity)
        rounded = cnn.unit_values(codes, scales)
        errors[granularity] = ((rounded[0] - real) ** 2 + (rounded[1] - imag) ** 2).sum(1)
    assert (errors["row"] < errors["tensor"]).all()
    codes, scales = cnn.unit_stages(real, imag, 1, "row")
    for factor in (0.99, 1.01):
        other = cnn.unit_values(codes, factor * scales)
        assert (((other[0] - real) ** 2 + (other[1] - imag) ** 2).sum(1) > errors["row"]).all()


def test_rows_of_zeros_stay_zeros_and_large_scales_saturate():
    codes, scales = cnn.unit_stages(torch.zeros(2, 3), torch.zeros(2, 3), 2, scale_dtype=torch.float16)
    assert torch.cat(cnn.unit_values(codes, scales)).abs().max() == 0
    _, scales = cnn.unit_stages(torch.full((1, 2), 1e6), torch.zeros(1, 2), 1, scale_dtype=torch.float16)
    assert scales[0, 0, 0] == torch.finfo(torch.float16).max
    refused("granularity must be one of", cnn.unit_stages, torch.zeros(1, 1), torch.zeros(1, 1), 1, "column")


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 11])
def test_four_codes_lie_in_a_byte(width):
    codes = torch.randint(0, 4, (3, 2, width))
    packed = cnn.pack_codes(codes)
    assert packed.dtype == torch.uint8
    for row, found in zip(codes.flatten(0, 1).tolist(), packed.flatten(0, 1).tolist(), strict=True):
        row = row + [0] * (-len(row) % 4)
        assert found == [
            sum(code * 4**place for place, code in enumerate(row[i : i + 4])) for i in range(0, len(row), 4)
        ]
    assert torch.equal(cnn.unpack_codes(packed, width), codes.to(torch.int8))
    refused(f"packed must have shape .* for width={width + 4}", cnn.unpack_codes, packed, width + 4)


def test_codes_that_two_bits_do_not_hold():
    refused(r"codes must lie in \[0, 4\), got 4", cnn.pack_codes, torch.tensor([0, 4]))
    refused(r"codes must lie in \[0, 4\), got -1", cnn.pack_codes, torch.tensor([-1, 3]))


def weights(layer):
    """The complex128 matrices of a layer: W, or U and V."""
    parts = [part.detach().double().numpy() for part in layer.weight_parts()]
    return [a + 1j * b for a, b in zip(parts[::2], parts[1::2], strict=True)]


def output(linear_type, matrices, x, bias):
    inputs = {"complex": [x], "conjugate": [x.conj()], "widely_linear": [x, x.conj()]}[linear_type]
    return sum(value @ matrix.T for value, matrix in zip(inputs, matrices, strict=True)) + bias


@every_type
@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_packed_layer_computes_with_the_rounded_weights(linear_type, granularity, dtype):
    layer = LAYERS[linear_type](14, 10)
    torch.nn.init.normal_(layer.bias)
    packed = cnn.PackedLinear.from_float(layer, 2, granularity)
    assert {buffer.dtype for buffer in packed.buffers()} == {torch.uint8, torch.float16}
    x = randn(3, 4, 14, dtype=dtype)
    rounded = [loop(matrix, 2, granularity)[2] for matrix in weights(layer)]
    expected = output(linear_type, rounded, z(x), z(layer.bias))
    found = packed(x)
    assert found.dtype == dtype
    assert_close(z(found), expected, max(TOLERANCE[dtype], 1e-6))
    plain = packed.to_float(dtype)
    assert type(plain) is LAYERS[linear_type]
    assert_close(z(plain.to(dtype)(x)), z(found), TOLERANCE[dtype])


@every_type
def test_numbers_that_are_no_halves(linear_type):
    packed = cnn.PackedLinear.from_float(LAYERS[linear_type](8, 6))
    assert_refused("floating-point tensor of halves, got dtype torch.int64", packed, torch.arange(8), error=TypeError)
    assert_refused("width 8, twice the complex features, got shape", packed, torch.zeros(2, 6))


@every_type
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_float_layers_have_one_dtype(linear_type, dtype):
    packed = cnn.PackedLinear.from_float(LAYERS[linear_type](8, 6))
    packed.bias.requires_grad_(False)
    plain, x = packed.to_float(dtype), randn(3, 8, dtype=dtype)
    assert {parameter.dtype for parameter in plain.parameters()} == {dtype}
    assert not plain.bias.requires_grad
    assert plain(x).dtype == dtype
    assert packed.to_float().bias is packed.bias


@every_type
def test_bits_and_casts(linear_type):
    """T bits for each weight of the real layer where that is widely linear; scales stay what they are."""
    packed = cnn.PackedLinear.from_float(LAYERS[linear_type](64, 48, bias=False), 3)
    pairs = 2 if linear_type == "widely_linear" else 1
    stored = sum(buffer.numel() * buffer.element_size() for name, buffer in packed.named_buffers() if "codes" in name)
    assert 8 * stored == 3 * 2 * pairs * 32 * 24
    before = {name: buffer.clone() for name, buffer in packed.named_buffers()}
    for cast in (lambda: packed.to(torch.bfloat16), packed.half, packed.double):
        cast()
        for name, buffer in packed.named_buffers():
            assert buffer.dtype == before[name].dtype
            assert torch.equal(buffer, before[name])


@every_type
def test_gradients_pass_straight_through(linear_type):
    """Each master weight gets what the rounded weight in its place would get, and x what the packed layer gives it."""
    layer = LAYERS[linear_type](6, 8)
    packed = cnn.PackedLinear.from_float(layer, 2)
    plain = packed.to_float()
    plain.bias = torch.nn.Parameter(layer.bias.detach().clone())
    rounded = cnn.RoundedLinear.from_float(layer, 2)
    assert [name for name, _ in rounded.named_parameters()] == [name for name, _ in layer.named_parameters()]
    x, weight = torch.randn(5, 6), torch.randn(5, 8)
    inputs = [x.clone().requires_grad_() for _ in range(3)]
    outs = [module(value) for module, value in zip((packed, plain, rounded), inputs, strict=True)]
    assert torch.equal(outs[0], outs[2])
    for out in outs:
        (out * weight).sum().backward()
    for name, parameter in rounded.named_parameters():
        expected = dict(plain.named_parameters())[name].grad
        assert expected.abs().max() > 0
        if name != "bias":  # which layer and packed share
            torch.testing.assert_close(parameter.grad, expected)
    for value in inputs[1:]:
        torch.testing.assert_close(value.grad, inputs[0].grad)
    assert [part.data_ptr() for part in rounded.to_float().weight_parts()] == [
        part.data_ptr() for part in layer.weight_parts()
    ]


@pytest.mark.torch_compile_test
@every_type
def test_autocast_rounds_the_same_weights(linear_type):
    layer, x = LAYERS[linear_type](8, 6), torch.randn(5, 8)
    packed, rounded = (kind.from_float(layer) for kind in (cnn.PackedLinear, cnn.RoundedLinear))
    expected = packed(x)
    with torch.autocast("cpu", torch.bfloat16):
        found = {kind: kind(x) for kind in (packed, rounded)}
        assert torch.equal(cnn.PackedLinear.from_float(layer).codes, packed.codes)
    for out in found.values():
        assert out.dtype == torch.bfloat16
        torch.testing.assert_close(out.float(), expected, rtol=2e-2, atol=2e-2)
    found[rounded].float().square().sum().backward()
    assert layer.real.weight.grad.abs().sum() > 0


def test_what_has_no_packed_form():
    pack = cnn.PackedLinear.from_float
    refused("layer must be one of .*got Linear", pack, torch.nn.Linear(4, 4))
    refused("got RealInputLinear", pack, cnn.RealInputLinear(4, 4))
    refused("share_parts must be False to quantize", pack, cnn.ComplexLinear(4, 4, share_parts=True))
    layer = cnn.ComplexLinear(4, 4)
    refused("stages must be 1, 2 or 3, got 0", pack, layer, 0)
    refused("stages must be 1, 2 or 3, got 4", pack, layer, 4)
    refused("granularity must be one of .* got 'column'", pack, layer, 1, "column")
    refused("must be even, got 5", cnn.PackedLinear, 5, 4)
    refused("linear_type must be one of", cnn.PackedLinear, 4, 4, "real")
    refused("must be halves of width 4", pack(layer), torch.zeros(1, 6))
    with torch.no_grad():
        layer.real.weight[0, 0] = torch.nan
    refused("weights must fit float16 scales, got nan", pack, layer)
    torch.nn.init.constant_(layer.real.weight, 1e6)
    refused("weights must fit float16 scales, got 1e.06", pack, layer)
    layer.real = torch.nn.Sequential(layer.real)
    refused("sub-layers must have no hooks or replacements for packing, .*merge_and_unload", pack, layer)
    rounded = cnn.RoundedLinear(4, 4)
    rounded.imag.register_forward_hook(lambda *_: None)
    refused("hooks or replacements", rounded, torch.zeros(1, 4))
    packed = cnn.PackedLinear(4, 4)
    other = cnn.PackedLinear.from_float(cnn.ComplexLinear(6, 4))
    weights = [(cnn.unpack_codes(other.codes, 3), other.scales)]
    refused(r"codes must have shape \(2, 2, 3\), got \(2, 2, 1\)", cnn.PackedLinear(20, 4).set_weights, weights)
    packed.reset_parameters()
    assert not packed.has_weights
    assert other.has_weights


@every_type
def test_weights_below_the_least_scale(linear_type):
    """Refused where float16, here of numpy, makes zeros of all; zeros are not, nor parts that vanish beside others."""
    layer, pack = LAYERS[linear_type](8, 6, bias=False), cnn.PackedLinear.from_float
    for part in layer.weight_parts():
        torch.nn.init.uniform_(part, 0.5e-8, 2e-8)
    assert not any(np.float16(part.detach().numpy()).any() for part in layer.weight_parts())
    words = r"weights must fit float16 scales, got (1\.\d+|2)e-08"
    refused(words, pack, layer)
    refused(words, cnn.calibrated_weights, layer.weight_parts(), torch.eye(8 if "wide" in linear_type else 4))
    assert not cnn.RoundedLinear.from_float(layer)(torch.ones(1, 8)).any()
    torch.nn.init.constant_(layer.real.weight, 0.25)
    assert pack(layer).weight_parts()[0].eq(0.25).all()
    for part in layer.weight_parts():
        torch.nn.init.zeros_(part)
    assert not any(part.any() for part in pack(layer).weight_parts())
