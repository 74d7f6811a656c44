# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The models in complex128, written from the equations; phases and signs; gradients."""

import math

import numpy as np
import pytest
import torch
from scipy.special import erf
from small_spectral import FULL, SCALED, build, clips, config, features, first

from complex_transformers import SpectralTransformerForAudioClassification
from oracles import bias, of_parts, r, weight, z


def phases(length, d):
    return np.exp(1j * np.arange(1, length + 1)[:, None] * 10000.0 ** (-np.arange(d) / d))


def dense(layer, x):
    return x @ weight(layer).T + bias(layer)


def gelu(x):
    return of_parts(lambda part: 0.5 * part * (1 + erf(part / math.sqrt(2))), x)


def norm(x):
    return of_parts(lambda p: (p - p.mean(-1, keepdims=True)) / np.sqrt(p.var(-1, keepdims=True) + 1e-5), x)


def pool(x, size, stride, kind):
    """Windows of the last axis; the last may be part full."""
    out, start = [], 0
    while True:
        window = x[..., start : start + size]
        if kind == "max":
            index = np.abs(window).argmax(-1)[..., None]
            out.append(np.take_along_axis(window, index, -1)[..., 0])
        else:
            out.append(np.abs(window).mean(-1) + 0j)
        if start + size >= x.shape[-1]:
            return np.stack(out, -1)
        start += stride


def attend(config, *projected):
    """Thesis 2.40-2.44, head by head."""
    heads = []
    for q, k, v in zip(*(np.split(part, config.num_attention_heads, -1) for part in projected), strict=True):
        score = q @ k.conj().T / np.sqrt(q.shape[-1])
        if config.attention_normalization == "softmax":
            weights, extra = np.exp(np.abs(score) if config.attention_score == "modulus" else score.real), 0
        else:
            weights, extra = np.abs(score) ** 2, 1
        heads.append(weights / (extra + weights.sum(-1, keepdims=True)) @ v)
    return np.concatenate(heads, -1)


def layers(model, x, project):
    """Fig. 5.4 and 5.5: ``project`` makes queries, keys and values."""
    for layer in model.layers:
        attended = attend(model.config, *project(layer.self_attn, x))
        x = norm(x + dense(layer.self_attn.out_proj, attended))
        x = norm(x + dense(layer.feed_forward.down_proj, gelu(dense(layer.feed_forward.up_proj, x))))
    return x


def fully_spectral(model, bins):
    """Thesis 5.7, 5.10 and 5.11 on one clip ``[T, bins]``."""
    config, embedding = model.config, model.embedding
    kernel = r(embedding.kernel.real) + 1j * r(embedding.kernel.imag)
    x = kernel * bins + 1j * phases(*bins.shape) if config.position_phase == "add" else kernel * bins
    x = pool(x, config.bin_pool_size, config.bin_pool_stride, config.pooling)
    x = x if embedding.projection is None else dense(embedding.projection, x)
    if config.time_pool_size > 1:
        x = pool(x.T, config.time_pool_size, config.time_pool_size, config.pooling).T
    x = x * phases(*x.shape) if config.position_phase == "rotate" else x
    return layers(model, x, lambda a, x: (dense(p, x) for p in (a.q_proj, a.k_proj, a.v_proj)))


def spectral_scaled(model, frames):
    """Thesis 5.8 on one clip of windowed samples ``[T, L]``."""
    position = model.config.position_phase

    def project(attention, x):
        length, d = x.shape
        ppe = phases(length, d // 2)
        signal = x + np.concatenate([ppe.real, ppe.imag], -1) if position == "add" else x
        spectrum = np.fft.rfft(signal) / np.sqrt(d)
        if position == "rotate":
            spectrum = spectrum * phases(length, d // 2 + 1)
        return dense(attention.q_proj, spectrum), dense(attention.k_proj, spectrum), dense(attention.v_proj, x)

    return layers(model, dense(model.embedding.projection, frames), project)


@pytest.mark.parametrize("network", FULL)
@pytest.mark.parametrize("time_pool_size", [1, 3])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention_normalization": "softmax"},
        {"attention_normalization": "softmax", "attention_score": "real"},
        {"input_projection": False},
    ],
    ids=["amplitude", "softmax", "real", "no projection"],
)
def test_fully_spectral(network, time_pool_size, changes):
    if "input_projection" in changes:  # the pooled bins are the hidden state
        changes = {**changes, "hidden_size": config(network).pooled_size, "num_attention_heads": 1}
    model = build(network, time_pool_size=time_pool_size, **changes).double()
    batch = features(network, clips(180))["input_features"].double()
    expected = fully_spectral(model, z(batch)[0])
    np.testing.assert_allclose(z(first(model, input_features=batch))[0], expected, atol=2e-6)


@pytest.mark.parametrize("network", SCALED)
def test_spectral_scaled(network):
    model = build(network).double()
    batch = features(network, clips(180))["input_features"].double()
    expected = spectral_scaled(model, r(batch)[0])
    np.testing.assert_allclose(r(first(model, input_features=batch))[0], expected, atol=2e-6)


@pytest.mark.parametrize("pooling", ["average", "max"])
def test_positions_that_rotate_are_the_phases_of_hidden_states(pooling):
    settings = {"pooling": pooling, "bin_pool_size": 1, "bin_pool_stride": 1, "time_pool_size": 2}
    embed = build("rotate", **settings).double().embedding
    clip = features("rotate", clips(180))["input_features"].double()
    lengths = torch.tensor([clip.shape[1]])
    state = z(embed(clip, lengths))[0]
    late = z(embed(torch.cat([clip[:, :4], clip], dim=1), lengths + 4))[0]
    embed.position_phase = "none"
    still = z(embed(clip, lengths))[0]
    np.testing.assert_allclose(state, still * phases(*state.shape), atol=1e-6)
    # Whatever comes before a sound, its moduli are the same: filters do not know where they are.
    np.testing.assert_allclose(np.abs(late[2:]), np.abs(state), atol=1e-12)


# --- phases and signs ---------------------------------------------------------------------------------------------


def turned(batch, angle):
    """Every bin times exp(i angle): a waveform of turned phase; angle pi is the waveform of the other sign."""
    real, imag = batch["input_features"].chunk(2, dim=-1)
    c, s = math.cos(angle), math.sin(angle)
    return {**batch, "input_features": torch.cat([c * real - s * imag, s * real + c * imag], dim=-1)}


def change(model, batch, angle):
    """How much a turned phase changes what a model says."""
    return (first(model, **turned(batch, angle)) - first(model, **batch)).abs().max()


every_position = pytest.mark.parametrize("position", ["rotate", "none"])
CLOSE = 1e-5


@every_position
@pytest.mark.parametrize(
    ("changes", "tells_sign"),
    [({"bias": True}, True), ({"hidden_act": "split_gelu"}, True), ({"norm_type": "layer"}, False)],
)
def test_biases_split_activations_and_split_norms_tell_the_phase(position, changes, tells_sign):
    settings = {"bias": False, "position_phase": position, "norm_type": "rms", "hidden_act": "modrelu", **changes}
    head = build("fully_spectral", SpectralTransformerForAudioClassification, **settings)
    batch = features("fully_spectral", clips(150))
    assert change(head, batch, 0.7) > 1e-3
    # The norm of each part is odd as long as its shift is 0.
    assert (change(head, batch, math.pi) > 1e-3) == tells_sign


@every_position
def test_average_pooling_of_bins_forgets_a_common_phase_whatever_the_weights(position):
    batch = features("fully_spectral", clips(150))
    settings = {"position_phase": position, "pooling": "average", "hidden_act": "split_gelu"}
    for size in (2, 3):
        assert change(build(**settings, bin_pool_size=size), batch, 0.7) < CLOSE
    assert change(build(**settings, bin_pool_size=1), batch, 0.7) > 1e-3  # which is no pooling
