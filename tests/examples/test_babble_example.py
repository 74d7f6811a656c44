# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from example_runs import ONE_EPOCH, TINY, read_table, write
from transformers import pipeline

from complex_transformers import read_audio

RUN = "phonetic-transcription/run_babble.py"
RATE = 8000
PITCH = {"b": 440, "a": 880, "m": 1760, "h": 2600}
SMALL = [*TINY, *ONE_EPOCH, "--num_hidden_layers", "1", "--sampling_rate", "8000", "--use_cpu", "true"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the data set's layout, with a tone for each symbol; unclear symbols stand in parentheses."""
    root, generator = tmp_path / "babble", np.random.default_rng(0)
    (root / "recordings").mkdir(parents=True)
    rows = []
    for number in range(40):
        text = ["ba", "mama", "(h)a", "baba", "h", "m"][number % 6]
        symbols = text.replace("(", "").replace(")", "")
        time = np.arange(RATE // 10) / RATE
        wave = np.concatenate([np.sin(2 * np.pi * (PITCH[s] * time + generator.random())) for s in symbols])
        soundfile.write(root / "recordings" / f"{number}.wav", 0.5 * wave, RATE)
        rows.append((f"recordings/{number}.wav", text))
    write(root / "babble.csv", rows, ("file_path", "full_ipa"))
    return root


@pytest.mark.full
@pytest.mark.parametrize(("task", "layers", "symbols"), [(1, "0", "()abhm"), (3, "1", "abhm"), (5, "0", "abhm")])
def test_transcription_tasks(
    run: Callable[..., Any], folder: Path, tmp_path: Path, task: int, layers: str, symbols: str
) -> None:
    results = run(RUN, "--folder", folder, "--task", task, "--make_tasks", "--min_count", "1", *SMALL, *FORM[layers])
    assert results["task"] == task
    assert sum(results["rows"].values()) == 40
    assert results["rows"]["train"] > 2 * results["rows"]["test"] > 0
    assert results["test"]["labels"] > 0
    references = [row["reference"] for row in read_table(tmp_path / "out" / "predictions.csv")]
    assert set("".join(references)) <= set(symbols)
    vocabulary = results["config"]["decoder"]["vocab_size"] if layers == "1" else results["config"]["vocab_size"]
    assert vocabulary == len(symbols) + (5 if layers == "1" else 3)


FORM = {"0": ["--network", "real", "--num_mel_bins", "20"], "1": ["--decoder_layers", "1", "--label_smoothing", "0.1"]}


def test_babble_or_not(run: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    results = run(RUN, "--folder", folder, "--task", "7", "--make_tasks", *SMALL, "--network", "spectral_scaled")
    assert set(results["test"]) == {"accuracy", "loss"}
    classify = pipeline("audio-classification", model=str(tmp_path / "out"))
    rows = read_table(tmp_path / "out" / "predictions.csv")
    assert {row["label"] for row in rows} == {"babble", "other"}
    for row in rows:
        assert classify(read_audio(folder / "recordings" / row["audio"], RATE))[0]["label"] == row["prediction"]
    with pytest.raises(ValueError, match="--decoder_layers must be 0 for task 7"):
        run(RUN, "--folder", folder, "--task", "7", *SMALL, "--decoder_layers", "1")


@pytest.mark.parametrize("task", [2, 7])
def test_clips_shorter_than_a_window(run: Callable[..., Any], folder: Path, task: int) -> None:
    wave, _ = soundfile.read(folder / "recordings" / "4.wav")
    soundfile.write(folder / "recordings" / "4.wav", wave[:64], RATE)  # 8 ms
    options = ["--folder", folder, "--task", task, "--make_tasks", "--min_count", "1", *SMALL]
    with pytest.raises(ValueError, match=r"1 of \d+ clips cannot be used.*\n.*4\.wav: .* samples, got 64\."):
        run(RUN, *options)
    assert run(RUN, *options, "--pad_short")["rows"]["train"] > 0


def test_missing_files_are_listed(run: Callable[..., Any], folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"task2\.train\.csv"):
        run(RUN, "--folder", folder, "--task", "2", *SMALL)
    for number in (3, 7):
        (folder / "recordings" / f"{number}.wav").unlink()
    with pytest.raises(FileNotFoundError, match=r"got 2 missing: .*3\.wav.*7\.wav"):
        run(RUN, "--folder", folder, "--task", "2", "--make_tasks", "--min_count", "1", *SMALL)
