# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
from small_spectral import RATE, clips, extractor


def extract(waves, sampling_rate=RATE, **settings):
    return extractor(**settings)(waves, sampling_rate=sampling_rate, return_tensors="np")


def spectrum_oracle(wave, length=32, hop=16):
    """Zero mean, unit variance, Hamming frames (the last filled up with zeros), DFT, sum of squared windows 1."""
    wave = (wave.astype(np.float64) - wave.astype(np.float64).mean()) / wave.astype(np.float64).std()
    window = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(length) / length)
    frames = []
    for start in range(0, max(len(wave) - length + hop, 1), hop):
        piece = wave[start : start + length]
        frames.append(np.fft.rfft(np.pad(piece, (0, length - len(piece))) * window))
    return np.array(frames) / np.sqrt((window**2).sum())


@pytest.mark.parametrize("length", [32, 33, 48, 100, 257])
def test_spectrum(length):
    (wave,) = clips(length)
    expected = spectrum_oracle(wave)
    out = extract(wave)
    np.testing.assert_allclose(
        out["input_features"][0], np.concatenate([expected.real, expected.imag], axis=-1), atol=2e-5
    )
    assert out["attention_mask"].tolist() == [[1] * len(expected)]
    assert out["input_features"].dtype == np.float32


def test_types_of_features():
    (wave,) = clips(200)
    z = spectrum_oracle(wave)

    def halves(**settings):
        x = extract(wave, **settings)["input_features"][0]
        return x[:, :17] + 1j * x[:, 17:]

    np.testing.assert_allclose(halves(feature_type="modulus"), np.abs(z), atol=2e-5)
    # The bins of frequency 0 and of half the sampling rate are real: their phase is 0 or pi, whatever its sign.
    np.testing.assert_allclose(halves(feature_type="phase")[:, 1:-1], (z / np.abs(z))[:, 1:-1], atol=2e-3)
    size = np.log1p(np.abs(z))
    np.testing.assert_allclose(halves(compression="log")[:, 1:-1], (z / np.abs(z) * size)[:, 1:-1], atol=2e-3)
    np.testing.assert_allclose(halves(feature_type="modulus", compression="log"), size, atol=2e-3)
    frames = extract(wave, feature_type="frames")["input_features"][0]
    np.testing.assert_allclose(np.fft.rfft(frames) / np.sqrt((0.54**2 + 0.46**2 / 2) * 32), z, atol=2e-5)
    mel = extract(wave, feature_type="log_mel", num_mel_bins=6)["input_features"][0]
    cepstra = extract(wave, feature_type="mfcc", num_mel_bins=6, num_cepstra=4)["input_features"][0]
    assert (mel.shape, cepstra.shape) == ((12, 6), (12, 4))
    angle = np.pi * np.outer(2 * np.arange(6) + 1, np.arange(4)) / 12
    np.testing.assert_allclose(cepstra, mel @ np.cos(angle) / 6, atol=1e-5)
    # A tone in the middle of the spectrum is loudest in a mel band there, not at the ends.
    tone = np.sin(2 * np.pi * 1500 / RATE * np.arange(400))
    assert 0 < extract(tone, feature_type="log_mel", num_mel_bins=6)["input_features"][0].mean(0).argmax() < 5


def test_padding_is_in_frames_and_the_features_of_each_clip_are_its_own():
    waves = clips(100, 300, 40)
    batch = extract(waves)
    assert batch["attention_mask"].sum(-1).tolist() == [6, 18, 2]
    for wave, row in zip(waves, batch["input_features"], strict=True):
        alone = extract(wave)["input_features"][0]
        np.testing.assert_array_equal(row[: len(alone)], alone)
        assert (row[len(alone) :] == 0).all()


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint8"])
def test_integers_are_shares_of_full_scale(dtype):
    limits = np.iinfo(dtype)
    wave = np.linspace(limits.min, limits.max, 64).astype(dtype)
    half = (wave.astype(np.float64) - (128 if dtype == "uint8" else 0)) / 2.0 ** (limits.bits - 1)
    for normalize in (True, False):
        expected = extract(half, normalize=normalize)["input_features"]
        np.testing.assert_allclose(extract(wave, normalize=normalize)["input_features"], expected, atol=1e-6)


def test_loudness_and_offset_are_removed_or_kept():
    (wave,) = clips(100)
    expected = extract(wave)["input_features"]
    np.testing.assert_allclose(extract(0.01 * wave + 0.5)["input_features"], expected, atol=1e-4)
    kept = extract(wave, normalize=False)["input_features"]
    np.testing.assert_allclose(extract(0.01 * wave, normalize=False)["input_features"], 0.01 * kept, atol=1e-6)


def test_pieces_have_the_frames_of_the_recording():
    (wave,) = clips(400)
    whole = extract(wave, normalize=False)["input_features"][0]
    piece = extract(wave[64:320], normalize=False)["input_features"][0]
    np.testing.assert_array_equal(piece, whole[4 : 4 + len(piece)])


@pytest.mark.parametrize("feature_type", ["spectrum", "modulus", "phase", "frames", "log_mel", "mfcc"])
@pytest.mark.parametrize("value", [0.0, 0.3])
def test_silence_is_finite(feature_type, value):
    out = extract(np.full(100, value), feature_type=feature_type)["input_features"]
    assert np.isfinite(out).all()
    assert feature_type in ("log_mel", "mfcc") or (out == 0).all()


@pytest.mark.parametrize("feature_type", ["spectrum", "modulus", "frames", "log_mel", "mfcc"])
@pytest.mark.parametrize("normalize", [True, False])
def test_loud_audio_is_finite_or_refused(feature_type, normalize):
    settings = {"feature_type": feature_type, "normalize": normalize}
    assert np.isfinite(extract(np.full(100, 1e15), **settings)["input_features"]).all()
    with pytest.raises(ValueError, match=r"waveform must be finite and at most 1e\+15, got .* at sample 0\."):
        extract(np.full(100, -4e38), **settings)


def test_narrow_tensors():
    wave = torch.from_numpy(clips(100)[0]).bfloat16()
    expected = extract(wave.float())["input_features"]
    for given in (wave, [wave]):
        np.testing.assert_array_equal(extract(given)["input_features"], expected)


def test_kinds_of_input():
    (wave,) = clips(100)
    expected = extract(wave)["input_features"]
    for given in (torch.from_numpy(wave), wave.tolist(), [wave.tolist()], (wave,), wave.astype(np.float64)):
        np.testing.assert_array_equal(extract(given)["input_features"], expected)


@pytest.mark.parametrize(
    ("error", "waves", "rate", "match"),
    [
        (ValueError, np.zeros(100), None, "sampling_rate must be 8000, got None"),
        (ValueError, np.zeros(100), 16000, "sampling_rate must be 8000, got 16000. Resample the audio"),
        (
            ValueError,
            np.zeros((2, 100)),
            RATE,
            r"got ndarray of shape \(2, 100\)\. Average the channels",
        ),
        (ValueError, [np.zeros(100), np.zeros((100, 2))], RATE, r"waveform 1 must be a 1-D array, .* \(100, 2\)"),
        (ValueError, np.zeros(31), RATE, r"at least 32 samples, got 31\. Drop or pad it"),
        (
            ValueError,
            [np.zeros(40), np.zeros(0)],
            RATE,
            "waveform 1 must have at least 32 samples, got 0",
        ),
        (ValueError, np.array([0.0] * 50 + [np.nan, np.inf]), RATE, "must be finite .*, got nan at sample 50"),
        (ValueError, np.full(100, np.inf, dtype=np.float16), RATE, "must be finite .*, got inf at sample 0"),
        (ValueError, "clip.wav", RATE, "waveform must be a 1-D array, got str"),
        (ValueError, None, RATE, "waveform must be a 1-D array, got NoneType"),
        (TypeError, np.zeros(100, dtype=np.complex64), RATE, "must be floats, int16, int32 or uint8, got complex64"),
        (TypeError, np.zeros(100, dtype=np.int64), RATE, "int32 or uint8, got int64"),
    ],
)
def test_bad_audio(error, waves, rate, match):
    with pytest.raises(error, match=match):
        extract(waves, sampling_rate=rate)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"feature_type": "wavelet"}, r"feature_type must be one of \[.*\], got 'wavelet'"),
        ({"window_type": "kaiser"}, "window_type must be one of"),
        ({"compression": "cube"}, r"compression must be one of \['log', 'none'\], got 'cube'"),
        ({"hop_length": 0}, "hop_length and num_mel_bins must be positive, got 32, 0 and 80"),
        ({"hop_length": 33}, "hop_length must be at most window_length=32, got 33"),
        ({"feature_type": "log_mel", "num_mel_bins": 0}, "num_mel_bins must be positive, got 32, 16 and 0"),
        ({"feature_type": "mfcc", "num_cepstra": 81}, r"\[1, num_mel_bins=80\], got 81"),
        ({"feature_size": 33}, "feature_size must be 34 with these settings, got 33"),
    ],
)
def test_bad_settings(settings, match):
    with pytest.raises(ValueError, match=match):
        extractor(**settings)
