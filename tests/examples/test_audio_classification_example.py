# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from example_runs import ONE_EPOCH, PHASE_WITHIN_FRAMES, TINY, assert_refused, load_example, read_table, write
from transformers import AutoFeatureExtractor, pipeline

from complex_transformers import read_audio

CLASSIFICATION = "speech/run_audio_classification.py"
RATE = 8000
TONES = {"low": 400.0, "high": 1500.0}
SMALL = [*TINY, "--num_hidden_layers", "1", "--num_mel_bins", "20", "--sampling_rate", str(RATE)]
SMALL += ["--hop_ms", "20", "--hidden_dropout_prob", "0", "--attention_probs_dropout_prob", "0"]


def tone(label: str, seed: int) -> np.ndarray:
    """A sine of 0.1 to 0.2 s with any phase, and noise."""
    generator = np.random.default_rng(seed)
    time = np.arange(generator.integers(800, 1600)) / RATE
    wave = np.sin(2 * np.pi * (TONES[label] * time + generator.random()))
    return (0.5 * wave + 0.05 * generator.standard_normal(len(time))).astype(np.float32)


def make_table(folder: Path, part: str, number: int, seed: int = 0) -> Path:
    """``number`` clips of each tone, and the table that names them relative to its own folder."""
    (folder / "clips").mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(number):
        for label in TONES:
            name = f"clips/{part}-{index}-{label}.wav"
            soundfile.write(folder / name, tone(label, seed + 1000 * index + len(label)), RATE)
            rows.append((name, label))
    return write(folder / f"{part}.csv", rows, ("path", "label"))


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Options that name the tables of all parts."""
    numbers = {"train": 24, "validation": 4, "test": 5}
    return [
        word
        for seed, (part, number) in enumerate(numbers.items())
        for word in (f"--{part}_file", str(make_table(tmp_path / "data", part, number, seed * 100_000)))
    ]


@pytest.mark.parametrize(
    ("network", "features"),
    [
        ("fully_spectral", [*PHASE_WITHIN_FRAMES, "--keep_features", "true"]),
        pytest.param("spectral_scaled", [], marks=pytest.mark.full),
        pytest.param("real", [], marks=pytest.mark.full),
    ],
)
def test_networks_learn_two_tones(
    run: Callable[..., Any], tmp_path: Path, tables: list[str], network: str, features: list[str]
) -> None:
    results = run(
        *(CLASSIFICATION, *tables, *SMALL, "--network", network, *features, "--num_train_epochs", "8", "--seed", "1"),
        *("--per_device_train_batch_size", "8", "--learning_rate", "0.01"),
    )
    assert results["rows"] == {"train": 48, "validation": 8, "test": 10}
    assert results["features"]["sampling_rate"] == RATE
    assert results["validation"]["accuracy"] == max(epoch["accuracy"] for epoch in results["evaluations"])
    assert "top_3_accuracy" not in results["validation"]  # there are two classes
    if network != "spectral_scaled":  # which has more to learn: it sees samples
        assert results["validation"]["accuracy"] == 1.0
    out = tmp_path / "out"
    assert json.loads((out / "results.json").read_text()) == json.loads(json.dumps(results))
    assert str(tmp_path) not in json.dumps(results)
    assert (out / "README.md").is_file()

    # What was saved gives the predictions of the run, and they give its accuracy.
    classify = pipeline("audio-classification", model=str(out))
    rows = read_table(out / "predictions.csv")
    assert len(rows) == 10
    for row in rows:
        best = classify(read_audio(tmp_path / "data" / "clips" / row["audio"], RATE))[0]
        assert best["label"] == row["prediction"]
        assert best["score"] == pytest.approx(float(row["probability"]), abs=2e-4)
    assert results["test"]["accuracy"] == np.mean([row["label"] == row["prediction"] for row in rows])


@pytest.mark.full
def test_a_run_goes_on_and_is_fine_tuned(run: Callable[..., Any], tmp_path: Path, tables: list[str]) -> None:
    arguments = [CLASSIFICATION, *tables, *SMALL, "--network", "real", "--resume_from_checkpoint", "last"]
    first = run(*arguments, "--num_train_epochs", "1")
    second = run(*arguments, "--num_train_epochs", "2")
    assert (first["resumed"], second["resumed"]) == (False, True)
    assert [epoch["epoch"] for epoch in second["evaluations"]] == [1.0, 2.0]
    assert second["evaluations"][0] == first["evaluations"][0]

    model = ["--model_name_or_path", str(tmp_path / "out"), "--output_dir", str(tmp_path / "tuned"), *ONE_EPOCH]
    tuned = run(CLASSIFICATION, *tables, *model, "--learning_rate", "0")
    assert tuned["validation"] == second["validation"]  # the same weights, features and order of labels
    assert AutoFeatureExtractor.from_pretrained(tmp_path / "tuned").num_mel_bins == 20
    assert_refused(
        lambda *arguments: run(CLASSIFICATION, *tables, *model, *arguments),
        (["--network", "real"], r"^network must be left out with model_name_or_path, got 'real'"),
        (["--sampling_rate", "16000"], r"^sampling_rate must be 8000 with .* got 16000"),
    )


@pytest.mark.full
def test_a_model_learns_other_labels(
    run: Callable[..., Any], tmp_path: Path, tables: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(CLASSIFICATION, *tables, *SMALL, "--network", "real", *ONE_EPOCH)
    train = enumerate(read_table(tmp_path / "data" / "train.csv"))
    rows = [(row["path"], f"{row['label']}-{index % 4 // 2}") for index, row in train]
    more = write(tmp_path / "data" / "more.jsonl", rows, ("file", "tone"))
    results = run(
        *(CLASSIFICATION, "--train_file", more, "--audio_column", "file", "--target_column", "tone", *ONE_EPOCH),
        *("--model_name_or_path", tmp_path / "out", "--output_dir", tmp_path / "other", "--validation_split", "0.25"),
    )
    assert "new head for ['high-0', 'high-1', 'low-0', 'low-1']" in capsys.readouterr().out
    assert results["rows"] == {"train": 36, "validation": 12}
    assert list(results["config"]["id2label"].values()) == ["high-0", "high-1", "low-0", "low-1"]
    assert 0.0 <= results["validation"]["accuracy"] <= results["validation"]["top_3_accuracy"] <= 1.0
    assert "test" not in results


def test_folders_of_classes(run: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for label in TONES:
        (tmp_path / "classes" / label).mkdir(parents=True)
        for index in range(10):
            ending = "flac" if index % 2 else "wav"
            soundfile.write(tmp_path / "classes" / label / f"{index}.{ending}", tone(label, index), RATE)
    (tmp_path / "classes" / "low" / "notes.txt").write_text("not audio")
    (tmp_path / "classes" / ".cache").mkdir()
    results = run(
        *(CLASSIFICATION, "--data_dir", tmp_path / "classes", "--validation_split", "0.2", *SMALL, *ONE_EPOCH),
        *("--network", "real"),
    )
    assert results["rows"] == {"train": 16, "validation": 4}
    assert sorted(results["config"]["id2label"].values()) == ["high", "low"]
    assert "1 file(s) in the label folders are not audio" in capsys.readouterr().out


def test_a_data_set_with_audio_and_classes(run: Callable[..., Any], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"audio": datasets.Audio(decode=False), "label": datasets.ClassLabel(names=sorted(TONES))}
    )
    (tmp_path / "hub").mkdir()
    for seed, (part, number) in enumerate({"train": 10, "test": 4}.items()):
        rows = []
        for index in range(number):
            buffer = io.BytesIO()
            soundfile.write(buffer, tone(sorted(TONES)[index % 2], 100 * seed + index), RATE, format="wav")
            rows.append({"bytes": buffer.getvalue(), "path": None})
        table = {"audio": rows, "label": [index % 2 for index in range(number)]}
        datasets.Dataset.from_dict(table).cast(features).to_parquet(tmp_path / "hub" / f"{part}.parquet")
    options = ["--dataset_name", tmp_path / "hub", "--validation_split", "0.2", "--network", "real"]
    results = run(CLASSIFICATION, *options, *SMALL, *ONE_EPOCH)
    assert results["rows"] == {"train": 8, "validation": 2, "test": 4}
    assert sorted(results["config"]["id2label"].values()) == ["high", "low"]  # names, not numbers
    assert [row["label"] for row in read_table(tmp_path / "out" / "predictions.csv")] == ["high", "low"] * 2


def test_bad_audio_data_is_refused(run: Callable[..., Any], tmp_path: Path, tables: list[str]) -> None:
    clips = tmp_path / "data" / "clips"
    (tmp_path / "empty" / "label").mkdir(parents=True)
    other = write(tmp_path / "data" / "other.csv", [("clips/test-0-low.wav", "middle")], ("path", "label"))
    assert_refused(
        lambda *arguments: run(CLASSIFICATION, *arguments),
        (
            [*tables, "--data_dir", clips],
            "one of train_file, data_dir, dataset_name must be given, got train_file and data_dir",
        ),
        ([*tables, "--network", "fourier"], r"network must be one of .* got 'fourier'"),
        (
            ["--data_dir", tmp_path / "empty"],
            "data_dir must have one folder of audio files",
        ),
        (["--data_dir", clips], "data_dir must have one folder of audio files per label"),
        ([*tables, "--test_file", other], r"labels of the test data must be .*, got \['middle'\]"),
    )
    with pytest.raises(ValueError, match="sound"):
        run(CLASSIFICATION, *tables, "--audio_column", "sound")
    (clips / "test-0-low.wav").write_bytes((clips / "train-0-low.wav").read_bytes())
    with pytest.raises(ValueError, match=r"1 row\(s\) of the train data have a recording that is also in the test"):
        run(CLASSIFICATION, *tables)
    soundfile.write(clips / "test-0-low.wav", np.ones(150), RATE)
    with pytest.raises(ValueError, match=r"1 of 10 clips .*\n.*test-0-low\.wav: .* samples, got 150\."):
        run(CLASSIFICATION, *tables, *SMALL)
    for name in ("train-7-low.wav", "validation-0-high.wav"):
        (clips / name).unlink()
    with pytest.raises(FileNotFoundError, match=r"audio files must exist, got 2 missing") as missing:
        run(CLASSIFICATION, *tables)
    assert "train-7-low.wav" in str(missing.value)
    assert "validation-0-high.wav" in str(missing.value)


def make_archive(path: Path, names: list[str], kind: bytes = tarfile.REGTYPE) -> Path:
    """A tar archive of one clip under many names."""
    buffer = io.BytesIO()
    soundfile.write(buffer, tone("low", 0), RATE, format="wav")
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(buffer.getvalue()), kind, "/etc/hostname"
            archive.addfile(member, io.BytesIO(buffer.getvalue()))
    return path


def test_spoken_digits_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tarfile.TarFile, "extract")  # its filter is missing before Python 3.10.12
    names = [f"fsdd/{d}_{s}_{i}.wav" for d in range(2) for s in ("ann", "bob", "cid") for i in range(12)]
    archive = make_archive(tmp_path / "fsdd.tar.gz", names)

    def split(*arguments: str, archive: Path = archive) -> dict[str, list[dict[str, str]]]:
        command = ["fsdd.py", "--archive", str(archive), "--output_dir", str(tmp_path / "data"), *arguments]
        monkeypatch.setattr(sys, "argv", command)
        counts = load_example("speech/fsdd.py").main()
        parts = {}
        for part, count in counts.items():
            parts[part] = read_table(tmp_path / "data" / f"{part}.csv")
            assert len(parts[part]) == count
        assert {row["path"] for rows in parts.values() for row in rows} == set(names)
        return parts

    def indices(rows: list[dict[str, str]]) -> set[int]:
        return {int(Path(row["path"]).stem.split("_")[2]) for row in rows}

    parts = split()
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 12, "validation": 30, "test": 30}
    assert [indices(parts[part]) for part in parts] == [{10, 11}, set(range(5, 10)), set(range(5))]
    assert parts["test"][0] == {"path": "fsdd/0_ann_0.wav", "label": "0", "speaker": "ann"}
    assert all((tmp_path / "data" / row["path"]).is_file() for rows in parts.values() for row in rows)

    parts = split("--leave_out", "bob")
    assert {row["speaker"] for row in parts["test"]} == {"bob"}
    assert indices(parts["test"]) == set(range(12))
    assert {row["speaker"] for part in ("train", "validation") for row in parts[part]} == {"ann", "cid"}
    assert indices(parts["validation"]) == set(range(5, 10))
    assert indices(parts["train"]) == {0, 1, 2, 3, 4, 10, 11}

    with pytest.raises(ValueError, match=r"--leave_out must be one of \['ann', 'bob', 'cid'\], got 'dan'"):
        split("--leave_out", "dan")
    with pytest.raises(ValueError, match=r"must have DIGIT_SPEAKER_INDEX\.wav files, got fsdd/zero\.wav"):
        split(archive=make_archive(tmp_path / "other.tar.gz", ["fsdd/zero.wav"]))
    with pytest.raises(ValueError, match="must have recordings of every split, got none for train"):
        split(archive=make_archive(tmp_path / "half.tar.gz", ["fsdd/0_ann_0.wav"]))
    for name, kind in (("../0_ann_0.wav", tarfile.REGTYPE), ("/0_ann_0.wav", tarfile.REGTYPE), ("0_a_0.wav", b"2")):
        with pytest.raises(ValueError, match=rf"bad\.tar\.gz must not have paths outside its folder, got '{name}'"):
            split(archive=make_archive(tmp_path / "bad.tar.gz", [name], kind))
    assert not (tmp_path / "0_ann_0.wav").exists()
    with pytest.raises(FileNotFoundError, match=r"--archive must be an existing file, got .*absent\.tar\.gz"):
        split(archive=tmp_path / "absent.tar.gz")
