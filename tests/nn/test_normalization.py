# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import copy
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn
from torch.utils.checkpoint import checkpoint

from complex_transformers.nn import (
    ComplexBatchNorm1d,
    ComplexBatchNorm2d,
    ComplexLayerNorm,
    ComplexRMSNorm,
    RealBatchNorm1d,
    RealBatchNorm2d,
    rms_norm,
)
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, finite, halves, r, randn, randomize, z

EPS = 1e-5


def split_oracle(values: np.ndarray, mean: np.ndarray, variance: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Each part on its own to mean 0 and variance 1 (ComplexOrder App. B)."""
    centred = values - mean
    return centred.real / np.sqrt(variance[0] + EPS) + 1j * centred.imag / np.sqrt(variance[1] + EPS)


def whitening_oracle(centred: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(V + eps I)^(-1/2) [re, im] by eigenvectors (Trabelsi et al. 2017, section 3.5); ``covariance [..., 2, 2]``."""
    values, vectors = np.linalg.eigh(covariance + EPS * np.eye(2))
    root = (vectors / np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    out = np.einsum("...ij,...j->...i", root, np.stack([centred.real, centred.imag], axis=-1))
    return out[..., 0] + 1j * out[..., 1]


def covariance_of(values: np.ndarray, axis: int, unbiased: bool = False) -> np.ndarray:
    """The 2x2 covariance of (re, im) along an axis, ``[..., 2, 2]``."""
    assert axis >= 0
    centred = values - values.mean(axis, keepdims=True)
    pair = np.stack([centred.real, centred.imag], axis=-1)
    outer = pair[..., :, None] * pair[..., None, :]
    n = values.shape[axis]
    return outer.sum(axis) / (max(n - 1, 1) if unbiased else n)


def gain_oracle(affine: nn.Module, values: np.ndarray) -> np.ndarray:
    """The symmetric 2x2 gain and the bias of both parts."""
    rr, ri, ii = r(affine.gain)
    b_re, b_im = r(affine.bias)
    return rr * values.real + ri * values.imag + b_re + 1j * (ri * values.real + ii * values.imag + b_im)


def affine_oracle(norm: nn.Module, values: np.ndarray) -> np.ndarray:
    if norm.norm == "whitening":
        return gain_oracle(norm.affine, values)
    d = values.shape[-1]
    w, b = r(norm.weight), r(norm.bias)
    return values.real * w[:d] + b[:d] + 1j * (values.imag * w[d:] + b[d:])


def correlated(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Complex numbers whose parts are correlated, off-centre and of different sizes."""
    a, b = np.random.randn(*shape), np.random.randn(*shape)
    return halves((2.0 * a + 0.5) + 1j * (1.2 * a + 0.4 * b - 1.0), dtype)


@pytest.mark.parametrize("norm", ["split", "whitening"])
@given(batch=st.integers(1, 3), d=st.integers(2, 6), dtype=st.sampled_from(DTYPES), affine=st.booleans())
def test_layer_norm(norm, batch, d, dtype, affine):
    layer = ComplexLayerNorm(2 * d, eps=EPS, norm=norm, elementwise_affine=affine)
    randomize(layer).to(dtype)
    x = correlated(batch, 3, d, dtype=dtype)
    v = z(x)
    mean = v.mean(-1, keepdims=True)
    if norm == "split":
        expected = split_oracle(v, mean, (v.real.var(-1, keepdims=True), v.imag.var(-1, keepdims=True)))
    else:
        expected = whitening_oracle(v - mean, covariance_of(v, v.ndim - 1)[..., None, :, :])
    expected = affine_oracle(layer, expected) if affine else expected
    out = layer(x)
    assert out.dtype == dtype
    tolerance = TOLERANCE[dtype] * 5
    if norm == "whitening":  # rounding, and the floor under the smaller eigenvalue, grow with the condition number
        eigenvalues = np.linalg.eigvalsh(covariance_of(v, v.ndim - 1) + EPS * np.eye(2))
        tolerance *= (eigenvalues[..., 1] / eigenvalues[..., 0]).max()
    assert_close(z(out), expected, tolerance)


def test_whitened_features_start_with_a_mean_square_of_one():
    out = z(ComplexLayerNorm(1000, norm="whitening", dtype=torch.float64)(correlated(2, 500)))
    np.testing.assert_allclose(np.mean(np.abs(out) ** 2, -1), 1.0, atol=1e-4)


@given(st.integers(1, 3), st.integers(1, 6), st.sampled_from(DTYPES), st.booleans())
def test_rms_norm(batch, d, dtype, affine):
    layer = randomize(ComplexRMSNorm(2 * d, eps=EPS, elementwise_affine=affine)).to(dtype)
    x = randn(batch, 2, 2 * d, dtype=dtype)
    v = z(x)
    expected = v / np.sqrt((np.abs(v) ** 2).mean(-1, keepdims=True) + EPS)
    assert_close(z(layer(x)), expected * r(layer.weight) if affine else expected, TOLERANCE[dtype] * 2)


@given(st.integers(1, 3), st.integers(1, 6), st.sampled_from(DTYPES), st.sampled_from(["modulus", "stored"]))
def test_rms_norm_with_a_gain_for_each_part(batch, d, dtype, scale):
    layer = randomize(rms_norm(2 * d, EPS, scale)).to(dtype)
    x = randn(batch, 2, 2 * d, dtype=dtype)
    v, gain = z(x), r(layer.weight)
    square = (np.abs(v) ** 2).mean(-1, keepdims=True) / (2.0 if scale == "stored" else 1.0)
    expected = v / np.sqrt(square + EPS)
    expected = expected.real * gain[:d] + 1j * expected.imag * gain[d:]
    assert_close(z(layer(x)), expected, TOLERANCE[dtype] * 2)


def batch_oracle(norm: nn.Module, rows: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Batch norm of rows ``[n, C]`` with the statistics of the kept rows, and the affine map."""
    kept = rows[keep]
    if norm.norm == "split":
        out = split_oracle(rows, kept.mean(0), (kept.real.var(0), kept.imag.var(0)))
    else:
        out = whitening_oracle(rows - kept.mean(0), covariance_of(kept, 0))
    return affine_oracle(norm, out)


@pytest.mark.parametrize("norm", ["split", "whitening"])
@given(batch=st.integers(3, 5), length=st.integers(2, 4), c=st.integers(1, 3), data=st.data())
def test_batch_norm_with_a_mask(norm, batch, length, c, data):
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=batch * length, max_size=batch * length)))
    keep[:4] = True
    layer = randomize(ComplexBatchNorm1d(2 * c, eps=EPS, momentum=0.3, norm=norm, dtype=torch.float64))
    layer.double()
    rows = z(correlated(batch * length, c))
    x = halves(rows).view(batch, length, 2 * c).transpose(1, 2)
    mask = torch.from_numpy(keep).view(batch, length)

    out = layer(x, mask)
    assert_close(z(out.transpose(1, 2).reshape(batch * length, -1)), batch_oracle(layer, rows, keep), 1e-8)

    kept = rows[keep]
    assert_close(z(layer.running_mean), 0.3 * kept.mean(0))
    if norm == "split":
        variance = np.concatenate([kept.real.var(0, ddof=1), kept.imag.var(0, ddof=1)])
        assert_close(r(layer.running_var), 0.7 + 0.3 * variance, 1e-7)
        running = (r(layer.running_var)[:c], r(layer.running_var)[c:])
        expected = split_oracle(rows, z(layer.running_mean), running)
    else:
        v = covariance_of(kept, 0, unbiased=True)
        start = np.array([1.0, 0.0, 1.0])[:, None]
        assert_close(r(layer.running_var), 0.7 * start + 0.3 * np.stack([v[:, 0, 0], v[:, 0, 1], v[:, 1, 1]]), 1e-7)
        rr, ri, ii = r(layer.running_var)
        matrix = np.stack([np.stack([rr, ri], -1), np.stack([ri, ii], -1)], -2)
        expected = whitening_oracle(rows - z(layer.running_mean), matrix)

    layer.eval()
    before = layer.running_mean.clone()
    out = layer(x)
    assert_close(z(out.transpose(1, 2).reshape(batch * length, -1)), affine_oracle(layer, expected), 1e-8)
    assert torch.equal(layer.running_mean, before)


@pytest.mark.parametrize(
    ("images", "vectors"),
    [
        (ComplexBatchNorm2d, ComplexBatchNorm1d),
        (partial(ComplexBatchNorm2d, norm="whitening"), partial(ComplexBatchNorm1d, norm="whitening")),
        (RealBatchNorm2d, RealBatchNorm1d),
    ],
)
def test_images_are_normalized_as_vectors_of_the_kept_cells(images, vectors):
    images, vectors = randomize(images(4).double()), vectors(4).double()
    vectors.load_state_dict(images.state_dict())
    rows, keep = correlated(30, 2), torch.arange(30) % 4 != 0
    out = images(rows.view(2, 3, 5, 4).permute(0, 3, 1, 2), keep.view(2, 3, 5)).permute(0, 2, 3, 1).reshape(30, 4)
    torch.testing.assert_close(out[keep], vectors(rows[keep]))
    torch.testing.assert_close(images.state_dict(), vectors.state_dict())


@pytest.mark.parametrize("norm", ["split", "whitening"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_statistics_move_once_where_a_layer_is_computed_again(norm, reentrant):
    layer, other = (ComplexBatchNorm2d(4, norm=norm) for _ in range(2))
    x = torch.randn(3, 4, 5, 2, requires_grad=True)
    expected = torch.autograd.grad(layer(x).square().mean(), x)[0]
    out = checkpoint(other, x, use_reentrant=reentrant)
    out.square().mean().backward()
    torch.testing.assert_close(x.grad, expected)
    torch.testing.assert_close(other.state_dict(), layer.state_dict())


@pytest.mark.parametrize("size", [1e-30, 1e12, 1e20, 3e38])
@pytest.mark.parametrize("layer", [ComplexLayerNorm, ComplexBatchNorm1d])
def test_whitening_has_the_range_of_the_dtype(layer, size):
    layer = layer(8, norm="whitening")
    x = (size * torch.rand(6, 8)).requires_grad_()
    out = layer(x)
    out.square().sum().backward()
    wide = copy.deepcopy(layer).double()
    torch.testing.assert_close(out.double(), wide(x.double()), rtol=1e-3, atol=1e-3)
    assert finite(out, x.grad, layer.eval()(x))
    assert finite(layer(torch.full((6, 8), size)), layer.train()(torch.full((6, 8), size)))


def test_batch_norm_without_running_statistics_uses_the_batch():
    layer = ComplexBatchNorm1d(4, track_running_stats=False, affine=False).eval()
    x = torch.randn(6, 4) * 3 + 1
    torch.testing.assert_close(layer(x), nn.functional.batch_norm(x, None, None, training=True))
    assert not layer.state_dict()


@pytest.mark.parametrize("norm", ["split", "whitening"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batch_norm_in_every_dtype(norm, dtype):
    layer = randomize(ComplexBatchNorm1d(4, norm=norm)).to(dtype)
    rows = z(correlated(12, 2, dtype=dtype))
    out = layer(halves(rows, dtype))
    assert out.dtype == dtype
    assert_close(z(out), batch_oracle(layer, rows, np.ones(12, bool)), TOLERANCE[dtype] * 20)
    assert layer.eval()(halves(rows, dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("norm", ["split", "whitening"])
def test_no_cast_rounds_running_statistics(norm, dtype):
    layer = ComplexBatchNorm1d(4, norm=norm, momentum=1.0)
    a, b = torch.randn(2, 1000, 2)
    x = torch.cat([a, a + 0.03 * b], dim=1)  # rounded, this covariance is that of no numbers
    layer(x)
    low, expected = copy.deepcopy(layer).eval().to(dtype), layer.eval()(x)
    for name in ("running_mean", "running_var"):
        assert torch.equal(low.get_buffer(name), layer.get_buffer(name))
    assert (low(x) - expected).norm() < 0.01 * expected.norm()
    assert low(x.to(dtype)).dtype == dtype
    assert layer.double().running_var.dtype == torch.float64
    for name in ("running_mean", "running_var"):
        low.register_buffer(name, low.get_buffer(name).to(dtype))  # as those of a checkpoint may be
    assert (low(x) / expected.abs().max()).abs().max() < 1000


def test_running_statistics_of_a_narrow_default():
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)  # as while a checkpoint is loaded
    try:
        layer = ComplexBatchNorm1d(4)
    finally:
        torch.set_default_dtype(default)
    assert layer.weight.dtype == torch.bfloat16
    assert layer.running_mean.dtype == layer.running_var.dtype == torch.float32


@pytest.mark.parametrize("layer", [ComplexLayerNorm, ComplexRMSNorm, ComplexBatchNorm1d])
@pytest.mark.parametrize("options", [{}, {"norm": "whitening"}], ids=["split", "whitening"])
def test_resets(layer, options):
    layer = layer(4) if layer is ComplexRMSNorm else layer(4, **options)
    fresh = copy.deepcopy(layer.state_dict())
    for value in layer.state_dict().values():
        value.normal_()
    layer.reset_parameters()
    torch.testing.assert_close(layer.state_dict(), fresh, rtol=0, atol=0)


def test_layer_norm_keeps_its_input_alone_for_the_backward_pass():
    layer, x, kept = ComplexLayerNorm(64), torch.randn(32, 64, requires_grad=True), {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        layer(x)
    assert sum(kept.values()) < 1.5 * x.untyped_storage().nbytes()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["split", "whitening"])
def test_single_rows_and_fully_masked_batches_are_finite(norm, training):
    for x, mask in ((torch.ones(1, 4), None), (torch.ones(4, 4), torch.zeros(4)), (torch.ones(1, 4), torch.zeros(1))):
        layer = ComplexBatchNorm1d(4, norm=norm).train(training)
        out = layer(x.requires_grad_(), mask)
        out.square().sum().backward()
        assert finite(out, x.grad, layer.running_var, layer.running_mean)


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("norm", ["split", "whitening"])
def test_a_batch_without_rows_that_count_moves_no_statistics(norm, tracked):
    layer = ComplexBatchNorm1d(4, norm=norm, track_running_stats=tracked)
    layer(torch.randn(9, 4))
    before = copy.deepcopy(layer.state_dict())
    for x, mask in (
        (torch.randn(0, 4), None),
        (torch.randn(0, 4, 3), torch.zeros(0, 3)),
        (torch.ones(5, 4), torch.zeros(5)),
    ):
        out = layer(x.requires_grad_(), mask)
        out.sum().backward()
        assert out.shape == x.shape
        assert finite(out, x.grad, *(p.grad for p in layer.parameters()))
        torch.testing.assert_close(layer.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize("layer", [ComplexLayerNorm, ComplexRMSNorm])
def test_shapes_of_torch(layer):
    x = torch.randn(2, 8)
    norms = [layer(shape) for shape in (8, [8], (8,), torch.Size([8]))]
    assert {norm.normalized_shape for norm in norms} == {(8,)}
    assert all(torch.equal(norm(x), norms[0](x)) for norm in norms)
    for shape in ((), (4, 8)):
        assert_refused(r"normalized_shape must have one axis, .* got \(", layer, shape)


def test_bad_values():
    for layer in (ComplexLayerNorm, ComplexRMSNorm, ComplexBatchNorm1d):
        assert_refused("even, got 5. Use 6", layer, 5)
    for layer in (ComplexLayerNorm, ComplexBatchNorm1d):
        assert_refused(r"\['split', 'whitening'\], got 'modulus'", layer, 4, norm="modulus")
    for layer in (RealBatchNorm1d, RealBatchNorm2d):
        assert_refused("norm must be 'split' with number_field='real', got 'whitening'", layer, 4, norm="whitening")
    assert_refused(r"gain must be one of \['features', 'parts'\], got 'xavier'", ComplexRMSNorm, 4, gain="xavier")
    message = r"x must have 4 axes and 3 channels on axis 1, got shape \(2, 3, 5\)"
    assert_refused(message, RealBatchNorm2d(3), torch.zeros(2, 3, 5))
    batch = ComplexBatchNorm1d(4)
    assert_refused(r"4 channels on axis 1, got shape \(2, 3, 4\)", batch, torch.zeros(2, 3, 4))
    assert_refused("2 or 3 axes", batch, torch.zeros(2, 4, 3, 3))
    assert_refused(r"got \(2, 4\) for x of shape \(2, 4, 3\)", batch, torch.zeros(2, 4, 3), torch.ones(2, 4))
