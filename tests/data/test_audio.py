# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pytest
import soundfile
import torch

from complex_transformers import ClipDataset, ConcatenatedClips, check_clips, read_audio
from refusals import refused

RATE = 16000
# Of recordings with a frequency that they hold; the odd ones need long filters.
RATES = [
    *((rate, 440.0) for rate in (8000, 11025, 44100, 48000)),
    *((rate, 100.0) for rate in (1_000, 65_537, 999_983)),
]


def sine(frequency=440.0, seconds=0.25, rate=RATE):
    return 0.5 * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)


def encoded(samples, rate=RATE, **options):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, **{"format": "wav", **options})
    return buffer.getvalue()


# --- reading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "options", "tolerance"),
    [
        ("wav", {"subtype": "PCM_16"}, 2**-15),
        ("wav", {"subtype": "PCM_24"}, 2**-22),
        ("wav", {"subtype": "FLOAT"}, 1e-7),
        ("wav", {"subtype": "PCM_U8"}, 2**-7),
        ("flac", {}, 2**-15),
        ("ogg", {}, 0.05),
    ],
)
def test_formats_give_what_was_written(tmp_path, ending, options, tolerance):
    path = tmp_path / f"clip.{ending}"
    soundfile.write(path, sine(), RATE, **options)
    for source in (path, str(path), path.read_bytes(), {"path": str(path), "bytes": None}):
        samples = read_audio(source, RATE)
        assert samples.dtype == np.float32
        assert samples.shape == sine().shape
        assert np.abs(samples - sine()).max() <= tolerance


def test_bytes_of_an_audio_column_count_before_its_path():
    samples = read_audio({"path": "elsewhere.wav", "bytes": encoded(sine())}, RATE)
    assert np.abs(samples - sine()).max() <= 2**-15
    array = read_audio({"path": None, "array": sine(), "sampling_rate": RATE}, RATE)
    assert np.array_equal(array, sine().astype(np.float32))


@pytest.mark.parametrize(("rate", "frequency"), RATES)
def test_resampling_keeps_a_sine_and_costs_little_memory(rate, frequency):
    data = encoded(sine(frequency, rate=rate), rate, subtype="FLOAT")
    tracemalloc.start()
    samples = read_audio(data, RATE)
    assert tracemalloc.get_traced_memory()[1] < 2**26 + 20 * len(data)  # 900 MB for the filter of 999,983 Hz alone
    tracemalloc.stop()
    expected = sine(frequency)
    assert abs(len(samples) - len(expected)) <= 1
    inside = slice(400, 3600)  # the filter needs samples on both sides
    assert np.abs(samples[inside] - expected[inside]).max() < 2e-3


def test_resampling_removes_what_the_new_rate_cannot_hold():
    samples = read_audio(encoded(sine(6500.0)), 8000)  # above 4000 Hz; picked sample by sample it would be 1500 Hz
    assert np.abs(samples[200:-200]).max() < 5e-3


def test_channels_are_mixed_only_when_asked():
    stereo = np.stack([sine(), np.zeros_like(sine())], axis=1)
    data = encoded(stereo, subtype="FLOAT")
    refused("the audio must have one channel, got 2. Average them with mix_channels=True", read_audio, data, RATE)
    assert read_audio(data, RATE, mix_channels=True) == pytest.approx(sine() / 2, abs=1e-6)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Format not recognised"),
        (encoded(np.zeros(0)), "must have finite samples, got none"),
        (b"one, two, three, testing" * 10, "Format not recognised"),
        (encoded(np.array([0.0, np.nan]), subtype="FLOAT"), "must have finite samples, got NaN"),
        (encoded(np.array([0.0, np.inf]), subtype="FLOAT"), "must have finite samples, got NaN or infinity"),
    ],
    ids=["no byte", "no sample", "text", "NaN", "infinite"],  # a float wav holds the time
)
def test_bad_files_are_named(tmp_path, data, message):
    path = tmp_path / "clip.wav"
    path.write_bytes(data)
    errors = (ValueError, soundfile.LibsndfileError)
    refused(rf"clip\.wav.*{message}", read_audio, path, RATE, error=errors)


def test_a_length_beyond_four_hours_costs_no_memory():
    flac = encoded(sine(), format="flac")
    long = flac[:21] + bytes([flac[21] | 0x0F]) + flac[22:]  # the highest bits of the number of samples
    tracemalloc.start()
    refused(r"the audio must last at most 4 hours, got [\d,.]+\. Cut it", read_audio, long, RATE)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("shape", [(2, 4000), (4000, 2), (1, 4000), (4000, 1)])
def test_the_shorter_axis_of_an_array_has_the_channels(shape):
    entry = {"array": np.full(shape, 0.5), "sampling_rate": RATE}
    if 2 in shape:
        refused("the audio must have one channel, got 2", read_audio, entry, RATE)
    assert read_audio(entry, RATE, mix_channels=True) == pytest.approx(np.full(4000, 0.5))


def test_sources_without_audio_are_refused(tmp_path):
    refused(r"absent\.wav", read_audio, tmp_path / "absent.wav", RATE, error=FileNotFoundError)
    for array in (np.zeros(9, np.int16), np.zeros((2, 3, 4))):
        entry = {"array": array, "sampling_rate": RATE}
        refused(r"must be floats .* got (int16|float64)", read_audio, entry, RATE, error=TypeError)


def clip_dataset(clips, targets=None):
    targets = "a" * len(clips) if targets is None else targets
    return ClipDataset(clips, targets, lambda wave, target: {}, RATE)


# --- data sets of clips ---------------------------------------------------------------------------------------------


def test_items_are_made_of_waveform_and_target():
    clips = [encoded(sine(seconds=0.1)), encoded(sine(seconds=0.2, rate=8000), 8000)]
    data = ClipDataset(clips, ["a", "b"], lambda wave, target: {"length": len(wave), "target": target}, RATE)
    assert len(data) == 2
    assert [data[0], data[1]] == [{"length": 1600, "target": "a"}, {"length": 3200, "target": "b"}]
    assert len(data.waveform(1)) == 3200


@pytest.mark.parametrize("keep", [False, True])
def test_items_are_kept_when_asked(keep):
    made = []

    def prepare(wave, target):
        made.append(target)
        return {"target": target}

    data = ClipDataset([encoded(sine())] * 2, ["a", "b"], prepare, RATE, keep_items=keep)
    data.check()
    data[0].pop("target")  # what a Trainer does with an item must not reach the next epoch
    assert [data[0], data[1]] == [{"target": "a"}, {"target": "b"}]
    assert len(made) == (2 if keep else 5)


def test_a_check_names_every_bad_clip(tmp_path):
    def prepare(wave, target):
        if len(wave) < 100:
            raise ValueError(f"{len(wave)} samples are too few")
        return {}

    soundfile.write(tmp_path / "good.wav", sine(), RATE)
    soundfile.write(tmp_path / "short.wav", np.zeros(7), RATE)
    (tmp_path / "text.wav").write_bytes(b"text")
    names = ["good.wav", "short.wav", "text.wav", "absent.wav"]
    clips = [*(str(tmp_path / name) for name in names), b"noise"]
    data = ClipDataset(clips, "abcde", prepare, RATE)
    with pytest.raises(ValueError, match=r"short\.wav: 7 samples are too few"):
        data[1]
    with pytest.raises(ValueError, match="4 of 5 clips cannot be used:") as caught:
        data.check()
    parts = ("short.wav: 7 samples", "text.wav", "absent.wav", "clip 4:")
    assert all(part in line for part, line in zip(parts, str(caught.value).splitlines()[1:], strict=True))


@pytest.mark.parametrize(("clips", "targets"), [([b""], []), ([b""], ["a", "b"])])
def test_clips_and_targets_must_match(clips, targets):
    refused(f"equal lengths, got {len(clips)} and {len(targets)}", clip_dataset, clips, targets)


def test_bad_clips_of_all_parts_are_named():
    good, bad = encoded(sine()), b"noise"
    check_clips({"train": clip_dataset([good])})
    parts = {"train": clip_dataset([good, bad]), "validation": clip_dataset([good]), "test": clip_dataset([bad])}
    refused(r"(?s)^train: 1 of 2 clips .*clip 1: .*\ntest: 1 of 1 clips .*clip 0: ", check_clips, parts)


# --- strings of clips -----------------------------------------------------------------------------------------------


def strings(**options):
    clips = [encoded(np.full(100 * (i + 1), 0.1 * (i + 1)), subtype="FLOAT") for i in range(3)]
    return ConcatenatedClips(
        clips, "abc", lambda wave, text: {"wave": wave, "text": text}, RATE, **{"shortest": 2, "longest": 4, **options}
    )


def texts(data):
    return [data[i]["text"] for i in range(len(data))]


def test_strings_are_their_clips_one_after_the_other():
    data = strings(size=200, seed=3)
    assert len(data) == 200
    assert {len(text) for text in texts(data)} == {2, 3, 4}
    assert set("".join(texts(data))) == set("abc")
    for item in (data[0], data[7]):
        expected = np.concatenate([np.full(100 * (i + 1), 0.1 * (i + 1)) for i in map("abc".index, item["text"])])
        assert item["wave"] == pytest.approx(expected, abs=1e-7)
    with pytest.raises(IndexError, match=r"must lie in \[0, 200\), got 200"):
        data[200]


def test_strings_are_fixed_by_a_seed_and_new_without():
    assert texts(strings(size=50, seed=1)) == texts(strings(size=50, seed=1))
    assert texts(strings(size=50, seed=1)) != texts(strings(size=50, seed=2))
    state = torch.get_rng_state()
    texts(strings(size=5, seed=1))
    assert torch.equal(torch.get_rng_state(), state)
    free = strings(size=50)
    torch.manual_seed(0)
    first, second = texts(free), texts(free)
    assert first != second
    torch.manual_seed(0)
    assert texts(free) == first


def test_every_clip_of_strings_is_checked():
    data = strings(size=1, seed=0)
    data.check()
    data.clips[0] = data.clips[2] = b"noise"
    refused(r"(?s)2 of 3 clips cannot be used:.*clip 0: .*clip 2: ", data.check)
