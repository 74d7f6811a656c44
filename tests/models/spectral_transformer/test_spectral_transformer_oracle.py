# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The models in complex128, written from the equations; phases and signs; gradients."""

import math

import numpy as np
import pytest
import torch
from small_spectral import FULL, NETWORKS, RATE, SCALED, build, clips, extractor, features, first

from complex_transformers import SpectralTransformerForAudioClassification, SpectralTransformerForCTC


def z(x):
    values = x.detach().double().numpy()
    return values[..., : values.shape[-1] // 2] + 1j * values[..., values.shape[-1] // 2 :]


def r(x):
    return x.detach().double().numpy()


def phases(length, d):
    return np.exp(1j * np.arange(1, length + 1)[:, None] * 10000.0 ** (-np.arange(d) / d))


def linear(layer, x):
    return x @ (r(layer.real.weight) + 1j * r(layer.imag.weight)).T + z(layer.bias)


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


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


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def complex_norm(x):
    return norm(x.real) + 1j * norm(x.imag)


def fully_spectral(model, bins):
    """Thesis 5.7, 5.10, 5.11 and 2.40-2.44 on one clip ``[T, bins]``; layers as in Fig. 5.4."""
    config = model.config
    kernel = r(model.embedding.kernel.real) + 1j * r(model.embedding.kernel.imag)
    x = kernel * bins + 1j * phases(*bins.shape) if config.position_phase == "add" else kernel * bins
    x = linear(model.embedding.projection, pool(x, config.bin_pool_size, config.bin_pool_stride, config.pooling))
    if config.time_pool_size > 1:
        x = pool(x.T, config.time_pool_size, config.time_pool_size, config.pooling).T
    x = x * phases(*x.shape) if config.position_phase == "rotate" else x
    for layer in model.layers:
        attention, heads = layer.self_attn, []
        size = x.shape[-1] // attention.num_heads
        q, k, v = (linear(p, x) for p in (attention.q_proj, attention.k_proj, attention.v_proj))
        for h in range(attention.num_heads):
            own = slice(h * size, (h + 1) * size)
            score = q[:, own] @ k[:, own].conj().T / np.sqrt(size)
            if config.attention_normalization == "softmax":
                weights, extra = np.exp(np.abs(score) if config.attention_score == "modulus" else score.real), 0
            else:
                weights, extra = np.abs(score) ** 2, 1
            heads.append(weights / (extra + weights.sum(-1, keepdims=True)) @ v[:, own])
        x = complex_norm(x + linear(attention.out_proj, np.concatenate(heads, -1)))
        up = linear(layer.feed_forward.up_proj, x)
        x = complex_norm(x + linear(layer.feed_forward.down_proj, gelu(up.real) + 1j * gelu(up.imag)))
    return x


def real_linear(layer, x):
    return x @ r(layer.weight).T + (0.0 if layer.bias is None else r(layer.bias))


def spectral_scaled(model, frames):
    """Thesis 5.8 on one clip of windowed samples ``[T, L]``; layers as in Fig. 5.5."""
    config = model.config
    x = real_linear(model.embedding.projection, frames)
    for layer in model.layers:
        attention, (length, d), heads = layer.self_attn, x.shape, []
        ppe = phases(length, d // 2)
        signal = x + np.concatenate([ppe.real, ppe.imag], -1) if config.position_phase == "add" else x
        spectrum = np.fft.rfft(signal) / np.sqrt(d)
        if config.position_phase == "rotate":
            spectrum = spectrum * phases(length, d // 2 + 1)
        q, k = spectrum @ r(attention.q_proj.weight).T, spectrum @ r(attention.k_proj.weight).T
        v = real_linear(attention.v_proj, x)
        m = d // 2 // attention.num_heads
        for h in range(attention.num_heads):
            own = slice(h * m, (h + 1) * m)
            score = np.abs(q[:, own] @ k[:, own].conj().T / np.sqrt(m))
            weights = score**2 if config.attention_normalization == "probability_amplitude" else np.exp(score)
            extra = 1 if config.attention_normalization == "probability_amplitude" else 0
            heads.append(weights / (extra + weights.sum(-1, keepdims=True)) @ v[:, 2 * m * h : 2 * m * (h + 1)])
        x = norm(x + real_linear(attention.out_proj, np.concatenate(heads, -1)))
        up = gelu(real_linear(layer.feed_forward.up_proj, x))
        x = norm(x + real_linear(layer.feed_forward.down_proj, up))
    return x


@pytest.mark.parametrize("network", FULL)
@pytest.mark.parametrize("time_pool_size", [1, 3])
@pytest.mark.parametrize(
    "attention",
    [{}, {"attention_normalization": "softmax"}, {"attention_normalization": "softmax", "attention_score": "real"}],
    ids=["amplitude", "softmax", "real"],
)
def test_fully_spectral(network, time_pool_size, attention):
    model = build(network, time_pool_size=time_pool_size, **attention).double()
    batch = features(network, clips(180))["input_features"].double()
    expected = fully_spectral(model, z(batch)[0])
    np.testing.assert_allclose(z(first(model, input_features=batch))[0], expected, atol=2e-6)


@pytest.mark.parametrize("network", SCALED)
def test_spectral_scaled(network):
    model = build(network).double()
    batch = features(network, clips(180))["input_features"].double()
    expected = spectral_scaled(model, r(batch)[0])
    np.testing.assert_allclose(r(first(model, input_features=batch))[0], expected, atol=2e-6)


def test_without_projection_the_pooled_bins_are_the_hidden_state():
    model = build(input_projection=False, hidden_size=18, num_attention_heads=3)
    batch = features("fully_spectral", clips(100))
    with torch.no_grad():
        state = model(**batch, output_hidden_states=True).hidden_states[0]
    x = z(batch["input_features"])[0]
    kernel = r(model.embedding.kernel.real) + 1j * r(model.embedding.kernel.imag)
    np.testing.assert_allclose(z(state)[0], pool(kernel * x + 1j * phases(*x.shape), 2, 2, "max"), atol=1e-5)


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
    x = batch["input_features"]
    real, imag = x.chunk(2, dim=-1)
    c, s = math.cos(angle), math.sin(angle)
    return {**batch, "input_features": torch.cat([c * real - s * imag, s * real + c * imag], dim=-1)}


def test_sign_of_a_waveform_is_that_of_its_features():
    (wave,) = clips(100)
    for network in (*FULL, *SCALED):
        plus, minus = (features(network, w)["input_features"] for w in (wave, -wave))
        torch.testing.assert_close(minus, -plus, atol=1e-5, rtol=0)


@pytest.mark.parametrize("position", ["rotate", "none"])
@pytest.mark.parametrize("angle", [math.pi, 0.7])
def test_phase_passes_through_a_network_that_commutes_with_it(position, angle):
    # Kernel, largest modulus, matrices, scores by modulus, norms by modulus and modrelu commute; biases do not.
    settings = {"position_phase": position, "norm_type": "rms", "hidden_act": "modrelu", "time_pool_size": 2}
    model = build(bias=False, **settings)
    batch = features("fully_spectral", clips(150, 90))
    state, moved = first(model, **batch), first(model, **turned(batch, angle))
    torch.testing.assert_close(moved, turned({"input_features": state}, angle)["input_features"], atol=1e-5, rtol=1e-4)
    head = build("fully_spectral", SpectralTransformerForAudioClassification, bias=False, **settings)
    torch.testing.assert_close(first(head, **turned(batch, angle)), first(head, **batch), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("position", ["rotate", "none"])
@pytest.mark.parametrize(
    ("change", "tells_sign"),
    [({"bias": True}, True), ({"hidden_act": "split_gelu"}, True), ({"norm_type": "layer"}, False)],
)
def test_biases_split_activations_and_split_norms_tell_the_phase(position, change, tells_sign):
    settings = {"bias": False, "position_phase": position, "norm_type": "rms", "hidden_act": "modrelu", **change}
    head = build("fully_spectral", SpectralTransformerForAudioClassification, **settings)
    batch = features("fully_spectral", clips(150))
    expected = first(head, **batch)
    assert (first(head, **turned(batch, 0.7)) - expected).abs().max() > 1e-3
    # The norm of each part is odd as long as its shift is 0.
    assert ((first(head, **turned(batch, math.pi)) - expected).abs().max() > 1e-3) == tells_sign


@pytest.mark.parametrize("position", ["rotate", "none"])
def test_average_pooling_of_bins_forgets_a_common_phase_whatever_the_weights(position):
    batch = features("fully_spectral", clips(150))
    settings = {"position_phase": position, "pooling": "average", "hidden_act": "split_gelu"}
    for size in (2, 3):
        model = build(**settings, bin_pool_size=size)
        torch.testing.assert_close(first(model, **turned(batch, 0.7)), first(model, **batch), atol=1e-5, rtol=1e-4)
    model = build(**settings, bin_pool_size=1)  # which is no pooling
    assert (first(model, **turned(batch, 0.7)) - first(model, **batch)).abs().max() > 1e-3


@pytest.mark.parametrize("position", ["rotate", "none"])
@pytest.mark.parametrize("angle", [math.pi, 0.7])
def test_with_full_bins_the_bias_of_the_projection_tells_the_phase(position, angle):
    model = build(
        model_class=SpectralTransformerForAudioClassification,
        position_phase=position,
        pooling="average",
        bin_pool_size=1,
        time_pool_size=2,
        attention_normalization="softmax",
    )
    batch = features("fully_spectral", clips(150))
    assert (first(model, **turned(batch, angle)) - first(model, **batch)).abs().max() > 1e-3
    torch.nn.init.zeros_(model.model.embedding.projection.bias)  # the other biases come after the pooling
    torch.testing.assert_close(first(model, **turned(batch, angle)), first(model, **batch), atol=1e-5, rtol=1e-4)


def test_real_features_have_no_sign():
    model = build("real", SpectralTransformerForAudioClassification)
    for settings in ({}, {"feature_type": "mfcc", "num_mel_bins": 10, "num_cepstra": 10}):
        read = extractor(**{**NETWORKS["real"][0], **settings})
        (wave,) = clips(150)
        plus, minus = (first(model, **read(w, sampling_rate=RATE, return_tensors="pt")) for w in (wave, -wave))
        torch.testing.assert_close(plus, minus, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("network", ["fully_spectral", "spectral_scaled"])
def test_added_positions_tell_the_sign(network):
    model = build(network, bias=False)
    batch = features(network, clips(150))
    flipped = {**batch, "input_features": -batch["input_features"]}
    plus, minus = first(model, **batch), first(model, **flipped)
    assert (plus - minus).abs().max() > 0.1
    assert (plus + minus).abs().max() > 0.1


def test_sign_does_not_matter_to_the_first_weights_of_spectral_scaled_attention():
    model = build("spectral_scaled_rotate", bias=False)
    batch = features("spectral_scaled_rotate", clips(150))
    flipped = {**batch, "input_features": -batch["input_features"]}
    with torch.no_grad():
        plus, minus = (model(**x, output_attentions=True) for x in (batch, flipped))
    torch.testing.assert_close(plus.attentions[0], minus.attentions[0], atol=1e-5, rtol=1e-4)
    # gelu is not odd: after the first feed-forward layer everything differs.
    assert (plus.attentions[1] - minus.attentions[1]).abs().max() > 1e-4


# --- gradients ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", NETWORKS)
def test_every_parameter_has_the_slope_of_the_output(network):
    model = build(network, SpectralTransformerForCTC, vocab_size=5, time_pool_size=2).double()
    batch = features(network, clips(200, 120))
    batch["input_features"] = batch["input_features"].double()
    factors = torch.randn(2, 6, 5, dtype=torch.float64)

    def loss():
        return (model(**batch).logits.clamp(min=-100.0) * factors).sum()

    loss().backward()
    for name, parameter in model.named_parameters():
        direction = torch.randn_like(parameter)
        slope, step = (parameter.grad * direction).sum().item(), 1e-6
        with torch.no_grad():
            parameter.add_(direction, alpha=step)
            above = loss().item()
            parameter.sub_(direction, alpha=2 * step)
            below = loss().item()
            parameter.add_(direction, alpha=step)
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-3, abs=1e-4), name
