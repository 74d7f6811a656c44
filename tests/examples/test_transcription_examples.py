# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from example_runs import PHASE_WITHIN_FRAMES, TINY, assert_refused, load_example, read_table, run_example, write
from transformers import pipeline

from complex_transformers import (
    SpectralFeatureExtractor,
    SpectralTransformerConfig,
    SpectralTransformerForCTC,
    SpectralTransformerProcessor,
    build_ctc_tokenizer,
    read_audio,
)

RUN, TRANSCRIBE = "speech/run_ctc.py", "speech/transcribe.py"
RATE = 8000
PITCH = {"a": 440, "b": 880, "c": 1760}
SMALL = [*TINY, "--hidden_size", "32", "--num_hidden_layers", "1", "--sampling_rate", "8000", "--use_cpu", "true"]
SMALL += ["--hidden_dropout_prob", "0", "--attention_probs_dropout_prob", "0", "--per_device_train_batch_size", "16"]


def tones(text: str, generator: np.random.Generator) -> np.ndarray:
    """A tenth of a second for each symbol, in noise."""
    time = np.arange(RATE // 10) / RATE
    wave = np.concatenate([np.sin(2 * np.pi * PITCH[symbol] * time + 6.0 * generator.random()) for symbol in text])
    return 0.3 * wave + 0.01 * generator.standard_normal(len(wave))


def corpus(folder: Path, sizes: dict[str, int], longest: int) -> list[str]:
    """Options that name a table of wav files and texts for each part."""
    generator = np.random.default_rng(0)
    options = []
    for part, size in sizes.items():
        (folder / part).mkdir(parents=True)
        rows = []
        for number in range(size):
            text = "".join(generator.choice(list(PITCH), generator.integers(1, longest + 1)))
            soundfile.write(folder / part / f"{number}.wav", tones(text, generator), RATE)
            rows.append((f"{part}/{number}.wav", text))
        options += [f"--{part}_file", str(write(folder / f"{part}.csv", rows, ("path", "text")))]
    return options


def written(folder: Path) -> dict[str, Any]:
    """The results of a run."""
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def transcribe(*arguments: str | Path) -> int:
    """The exit code of transcribe.py."""
    return run_example(TRANSCRIBE, *arguments)


def records(path: Path) -> dict[str, str]:
    """File name -> text."""
    text = path.read_text(encoding="utf-8")
    lines = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    return {Path(line["file"]).name: line["text"] for line in lines}


@pytest.mark.full
def test_tones_are_learned_by_ctc_and_served(
    run: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = corpus(tmp_path / "data", {"train": 96, "validation": 16, "test": 12}, longest=4)
    run(RUN, *files, *SMALL, "--num_train_epochs", "12", "--learning_rate", "1e-2", *PHASE_WITHIN_FRAMES)
    results = written(tmp_path / "out")
    assert results["test"]["label_error_rate"] < 0.1
    assert results["rows"] == {"train": 96, "validation": 16, "test": 12}
    predicted = read_table(tmp_path / "out" / "predictions.csv")
    expected = read_table(tmp_path / "data" / "test.csv")
    assert [row["reference"] for row in predicted] == [row["text"] for row in expected]

    broken = tmp_path / "data" / "test" / "broken.wav"
    broken.write_bytes(b"no audio")
    output = tmp_path / "out.jsonl"
    folder = tmp_path / "data" / "test"
    assert transcribe("--model", tmp_path / "out", folder, "--output_file", output) == 1
    assert "1 of 13 files could not be transcribed" in capsys.readouterr().err
    texts = records(output)
    assert [texts[f"{number}.wav"] for number in range(12)] == [row["prediction"] for row in predicted]
    broken.unlink()
    assert transcribe("--model", tmp_path / "out", folder / "0.wav") == 0
    assert capsys.readouterr().out.strip().endswith(f"0.wav\t{texts['0.wav']}")
    lines = [row["text"] for row in read_table(tmp_path / "data" / "train.csv")]
    (tmp_path / "train.txt").write_text("\n".join(lines), encoding="utf-8")
    beams = ["--num_beams", "4", "--language_model", tmp_path / "train.txt", "--language_model_weight", "0.1"]
    assert transcribe("--model", tmp_path / "out", folder, "--output_file", output, *beams) == 0
    assert sum(records(output)[f"{i}.wav"] == row["text"] for i, row in enumerate(expected)) >= 10


@pytest.mark.full
def test_a_decoder_learns_to_write_and_is_served(run: Callable[..., Any], tmp_path: Path) -> None:
    files = corpus(tmp_path / "data", {"train": 96, "validation": 12}, longest=2)
    options = ["--num_train_epochs", "15", "--learning_rate", "1e-2", "--decoder_layers", "1", "--network", "real"]
    run(RUN, *files, *SMALL, *options, "--num_mel_bins", "20", "--generation_max_length", "8")
    assert written(tmp_path / "out")["validation"]["label_error_rate"] < 0.2
    predicted = [row["prediction"] for row in read_table(tmp_path / "out" / "predictions.csv")]
    output, folder = tmp_path / "out.json", tmp_path / "data" / "validation"
    assert transcribe("--model", tmp_path / "out", folder, "--output_file", output) == 0
    texts = records(output)
    assert [texts[f"{number}.wav"] for number in range(12)] == predicted


@pytest.mark.full
@pytest.mark.parametrize("form", [[], ["--decoder_layers", "1", "--generation_max_length", "8"]])
def test_fine_tuning_goes_on_from_what_was_saved(run: Callable[..., Any], tmp_path: Path, form: list[str]) -> None:
    files = corpus(tmp_path / "data", {"train": 16, "validation": 8}, longest=2)
    run(RUN, *files, *SMALL, "--num_train_epochs", "1", "--network", "real", "--num_mel_bins", "20", *form)
    first = written(tmp_path / "out")
    saved = ["--model_name_or_path", str(tmp_path / "out"), "--num_train_epochs", "1", "--learning_rate", "0"]
    run(RUN, *files, *saved, "--use_cpu", "true", "--output_dir", str(tmp_path / "tuned"))
    tuned = written(tmp_path / "tuned")
    same = ("label_error_rate", "loss")
    assert [tuned["validation"][name] for name in same] == [first["validation"][name] for name in same]
    assert tuned["parameters"] == first["parameters"]
    with pytest.raises(ValueError, match=r"^hidden_size must be left out with model_name_or_path, got"):
        run(RUN, *files, *saved, "--hidden_size", "64")


@pytest.fixture
def frame_by_frame(tmp_path: Path) -> Path:
    """A model whose frames do not look around, four frames of features to one of symbols: chunks must line up."""
    extractor = SpectralFeatureExtractor(sampling_rate=RATE, normalize=False, compression="log")
    tokenizer = build_ctc_tokenizer(["abcdefghijklmnop"])
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    symbols = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    torch.manual_seed(0)
    model = SpectralTransformerForCTC(
        SpectralTransformerConfig.from_extractor(
            extractor, **sizes, **symbols, time_pool_size=4, position_phase="none", initializer_range=1.0
        )
    )
    for parameter in model.model.layers[0].self_attn.out_proj.parameters():
        torch.nn.init.zeros_(parameter)
    model.save_pretrained(tmp_path / "model")
    SpectralTransformerProcessor(extractor, tokenizer).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.full
def test_long_audio_is_read_in_chunks_without_loss(
    frame_by_frame: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = tmp_path / "long", tmp_path / "new" / "folder" / "texts.jsonl"
    folder.mkdir()
    wave = 0.1 * np.random.default_rng(0).standard_normal(12000)
    lengths = [10000 + 20 * step for step in range(16)]  # all places of the end in a frame of 320 samples
    for length in lengths:
        soundfile.write(folder / f"{length}.wav", wave[:length], RATE)
    recognize = pipeline("automatic-speech-recognition", model=str(frame_by_frame), device="cpu")

    def read(*options: str) -> dict[str, str]:
        assert transcribe("--model", frame_by_frame, folder, "--output_file", output, *options) == 0
        return records(output)

    def texts(unit: int) -> dict[str, str]:
        clips = {length: read_audio(folder / f"{length}.wav", RATE) for length in lengths}
        return {f"{n}.wav": recognize(np.pad(clip, (0, -n % unit)))["text"] for n, clip in clips.items()}

    whole = texts(1)
    assert len(set(whole.values())) > 1
    assert read() == whole  # shorter than a chunk
    for stride in ("0.04", "0.13"):
        assert read("--chunk_length_s", "0.5", "--stride_length_s", stride) == texts(320)
    message = r"must be between one window \(200 samples\) and half a chunk"
    strides = [(["--chunk_length_s", "0.5", "--stride_length_s", stride], message) for stride in ("0", "0.01", "0.25")]
    assert_refused(read, *strides, error=SystemExit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("--chunk_length_s", "1")
    normalizing = SpectralFeatureExtractor(sampling_rate=RATE, compression="log")
    SpectralTransformerProcessor(normalizing, recognize.tokenizer).save_pretrained(frame_by_frame)
    with pytest.warns(UserWarning, match="chunks are normalized separately"):
        read("--chunk_length_s", "1")


def test_every_file_of_a_folder_is_accounted_for(
    frame_by_frame: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, empty = tmp_path / "mixed", tmp_path / "empty"
    folder.mkdir()
    empty.mkdir()
    wave = tones("abc", np.random.default_rng(0))
    for ending in ("wav", "oga", "caf"):
        soundfile.write(folder / f"good.{ending}", wave, RATE, format="ogg" if ending == "oga" else None)
    (folder / "phone.m4a").write_bytes(b"\0\0\0\x20ftypM4A " + bytes(100))
    (folder / "notes.txt").write_text("no audio")
    soundfile.write(folder / ".hidden.wav", wave, RATE)
    (folder / "gone.wav").symlink_to(folder / "nowhere.wav")
    (folder / "link").symlink_to(empty, target_is_directory=True)
    high = (folder / "good.wav").read_bytes()
    (folder / "high.wav").write_bytes(high[:24] + (0x7FFFFFFD).to_bytes(4, "little") + high[28:])
    for name in ("texts.json", "texts.jsonl"):
        output = tmp_path / name
        assert transcribe("--model", frame_by_frame, empty, folder, "--output_file", output) == 1
        assert sorted(records(output)) == ["good.caf", "good.oga", "good.wav"]
        said = capsys.readouterr().err
        others = "2 other files in the folders are hidden or not audio, left out:"
        assert f"{others}\n  {folder / '.hidden.wav'}\n  {folder / 'notes.txt'}\n" in said
        assert "5 of 8 files could not be transcribed:" in said
        assert f"{folder / 'gone.wav'}: [Errno 2] No such file" in said
        assert f"{folder / 'link'}: is a link to a folder and was not searched. Pass that folder." in said
        assert f"{folder / 'high.wav'}: up and down must be >= 1" in said
        assert f"{empty}: has no audio file" in said
        assert re.search(r"phone\.m4a: Error opening .*Format not recognised", said)
    assert transcribe("--model", frame_by_frame, empty, "--output_file", tmp_path / "texts.json") == 1
    assert records(tmp_path / "texts.json") == {}


def test_a_model_that_outputs_nothing_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = load_example(TRANSCRIBE)
    said = iter(["one", " ", "", "four", "five", "six"])
    transcriber = type("Transcriber", (), {"rate": RATE, "__init__": lambda self, args: None})
    transcriber.__call__ = lambda self, wave: next(said)
    monkeypatch.setattr(example, "Transcriber", transcriber)
    for name in ("a.wav", "b.wav", "c.wav"):
        soundfile.write(tmp_path / name, np.zeros(800), RATE)
    assert example.main([str(tmp_path), "--model", "none"]) == 0
    note = capsys.readouterr().err
    assert f"The model outputs nothing for 2 of 3 files (first: {tmp_path / 'b.wav'}). Check that they" in note
    example.main([str(tmp_path), "--model", "none"])
    assert "outputs nothing" not in capsys.readouterr().err


def test_names_that_are_no_text_leave_a_whole_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = load_example(TRANSCRIBE)
    said = iter(["one", "two", None])

    class Transcriber:
        rate = RATE

        def __init__(self, args: Any) -> None:
            pass

        def __call__(self, wave: np.ndarray) -> str:
            if (text := next(said)) is None:
                raise KeyboardInterrupt
            return text

    monkeypatch.setattr(example, "Transcriber", Transcriber)
    names = [os.fsdecode(name) for name in (b"a.wav", b"caf\xe9.wav", b"z.wav")]
    for name in names:
        with open(tmp_path / name, "wb") as file:
            soundfile.write(file, np.zeros(800), RATE, format="wav")
    output = tmp_path / "texts.json"
    with pytest.raises(KeyboardInterrupt):
        example.main([str(tmp_path), "--model", "none", "--output_file", str(output)])
    found = json.loads(output.read_text(encoding="utf-8"))
    assert [(Path(record["file"]).name, record["text"]) for record in found] == [(names[0], "one"), (names[1], "two")]
    line = example.line_of({"file": names[1], "text": "two"}, "text")
    assert line == "caf\\udce9.wav\ttwo"


@pytest.mark.full
@pytest.mark.parametrize(("network", "decoder_layers"), [("fully_spectral", "0"), ("spectral_scaled", "1")])
def test_strings_are_drawn_from_single_clips(
    run: Callable[..., Any], tmp_path: Path, network: str, decoder_layers: str
) -> None:
    files = corpus(tmp_path / "data", {"train": 6, "validation": 3, "test": 3}, longest=1)
    strings = ["--concatenate", "2", "4", "--string_counts", "20", "6", "5", "--decoder_layers", decoder_layers]
    run(RUN, *files, *SMALL, *strings, "--num_train_epochs", "1", "--network", network)
    results = written(tmp_path / "out")
    assert results["rows"] == {"train": 20, "validation": 6, "test": 5}
    assert 10 <= results["test"]["labels"] <= 20
    assert (results["config"].get("decoder") is not None) == (decoder_layers == "1")


def test_what_is_missing_is_named(run: Callable[..., Any], tmp_path: Path) -> None:
    files = corpus(tmp_path / "data", {"train": 6, "validation": 3}, longest=2)
    for number in (1, 4):
        (tmp_path / "data" / "train" / f"{number}.wav").unlink()
    with pytest.raises(FileNotFoundError, match=r"(?s)audio files must exist, got 2 missing:.*1\.wav.*4\.wav"):
        run(RUN, *files, *SMALL)
    with pytest.raises(ValueError, match="words"):
        run(RUN, *files, *SMALL, "--target_column", "words")
    assert_refused(
        lambda *arguments: run(RUN, *files, *SMALL, *arguments),
        (["--concatenate", "3"], r"--concatenate must be two numbers, shortest and longest, got \[3\]"),
        (
            ["--concatenate", "1", "2", "--keep_features", "true"],
            "--keep_features must be left out with --concatenate",
        ),
    )


@pytest.mark.full
def test_texts_longer_than_their_clips_are_named_before_training(run: Callable[..., Any], tmp_path: Path) -> None:
    files = corpus(tmp_path / "data", {"train": 6, "validation": 3}, longest=2)
    for part, number, text in (("train", 2, "abcabcabcabcabc"), ("validation", 1, "aaaaaaaa")):
        table = tmp_path / "data" / f"{part}.csv"
        lines = table.read_text().splitlines()
        lines[number + 1] = f"{part}/{number}.wav,{text}"
        table.write_text("\n".join(lines))
        soundfile.write(tmp_path / "data" / part / f"{number}.wav", np.full(1080, 0.1 * number), RATE)  # 12 frames
    short = ["--network", "real", "--num_train_epochs", "1", "--time_pool_size", "1"]
    with pytest.raises(ValueError, match=r"(?s)train: 1 of 6 clips .*validation: 1 of 3 clips") as caught:
        run(RUN, *files, *SMALL, *short)
    assert "train/2.wav: labels of row 0 must fit into 12 frames, got labels that need 15. Drop" in str(caught.value)
    # 7 blanks must stand between the symbols.
    assert "validation/1.wav: labels of row 0 must fit into 12 frames, got labels that need 15" in str(caught.value)
    run(RUN, *files, *SMALL, *short, "--decoder_layers", "1")
