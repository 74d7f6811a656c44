# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Speech and transcriptions from espeak-ng: the same ones every time, in parts that share nothing."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from example_runs import EXAMPLES, assert_refused, load_example, read_table

from complex_transformers.recipes import ipa_category, load_babble
from complex_transformers.recipes.datasets.babble import load_babble_index

pytest.importorskip("espeakng_loader")
pytest.importorskip("scipy")
soundfile = pytest.importorskip("soundfile")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="espeak-ng speaks in a copy of the process")

SCRIPT = "phonetic-transcription/make_espeak_corpus.py"
PARTS = ("train", "validation", "test")
SENTENCES = ["mama", "A cat sleeps.", "Two birds sing", "He sees her", "Birds eat bread.", "We go home, now"]
# klatt2 draws random numbers of the C library, the others those of espeak-ng
TWO_VOICES = ("--voices", "en-us+f3", "en-gb+klatt2")
TWO_SPEEDS = ("--speeds", 130, 300)


FOLDER = EXAMPLES / "phonetic-transcription"


@pytest.fixture(scope="module", autouse=True)
def path_of_the_example() -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(FOLDER)  # as for a script
        yield


@pytest.fixture(scope="module")
def example(path_of_the_example: None) -> ModuleType:
    return load_example(SCRIPT)


@pytest.fixture(scope="module")
def espeak(example: ModuleType) -> Any:
    return example.Espeak()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six sentences, a blank line, one that says nothing and one said before."""
    path = tmp_path_factory.mktemp("text") / "text.txt.gz"
    path.write_bytes(gzip.compress("\n".join([*SENTENCES, "  ", "...", "a CAT sleeps"]).encode()))
    return path


@pytest.fixture
def run(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def call(*arguments: object) -> Any:
        monkeypatch.setattr(sys, "argv", [f"examples/{SCRIPT}", *map(str, arguments)])
        return example.main()

    return call


@pytest.fixture(scope="module")
def corpus(example: ModuleType, text: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """All 6 x 4 ways to say the sentences, by one process."""
    folder = tmp_path_factory.mktemp("corpus") / "made"
    arguments = ["--text_files", text, "--utterances", 24, *TWO_VOICES, *TWO_SPEEDS, "--output_dir", folder]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "argv", [f"examples/{SCRIPT}", *map(str, arguments)])
        return folder, example.main()


def contents(folder: Path) -> dict[str, bytes]:
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: data for name, data in files.items() if name != "corpus.json"}  # which has the command


def test_two_processes_make_the_same_files(
    corpus: tuple[Path, dict[str, Any]], run: Callable[..., Any], text: Path, tmp_path: Path
) -> None:
    arguments = ("--text_files", text, "--utterances", 24, *TWO_VOICES, *TWO_SPEEDS)
    run(*arguments, "--processes", 2, "--output_dir", tmp_path / "again")
    assert len(contents(corpus[0])) == 24 + 3
    assert contents(tmp_path / "again") == contents(corpus[0])


def test_a_text_sounds_the_same_whatever_was_said_before(espeak: Any) -> None:
    first, _ = espeak.say("Two birds sing", "en-gb+klatt2")
    espeak.say("He sees her", "en-us", 200, 80)
    again, _ = espeak.say("Two birds sing", "en-gb+klatt2")
    assert np.array_equal(first, again)


def test_parts_share_no_sentence(corpus: tuple[Path, dict[str, Any]]) -> None:
    folder, written = corpus
    rows = {part: read_table(folder / f"{part}.csv") for part in PARTS}
    texts = {part: {row["text"] for row in rows[part]} for part in PARTS}
    assert [len(texts[part]) for part in PARTS] == [4, 1, 1]
    assert set.union(*texts.values()) == set(SENTENCES)
    assert [len(rows[part]) for part in PARTS] == [16, 4, 4]
    ways = [(row["text"], row["voice"], row["speed"]) for part in PARTS for row in rows[part]]
    assert len({*ways}) == 24
    counts = {"lines": 9, "blank_lines": 1, "pieces_without_words": 1, "repeated_pieces": 1, "sentences": 6}
    assert written["text"] == counts


def test_recordings_are_what_the_tables_say(corpus: tuple[Path, dict[str, Any]]) -> None:
    folder, written = corpus
    rows = [row for part in PARTS for row in read_table(folder / f"{part}.csv")]
    seconds: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        info = soundfile.info(folder / row["path"])
        assert (info.samplerate, info.channels, info.subtype) == (16000, 1, "PCM_16")
        assert info.duration == pytest.approx(float(row["seconds"]), abs=1e-4)
        samples, _ = soundfile.read(folder / row["path"])
        assert 0.01 < np.abs(samples).max() < 1.0
        seconds.setdefault((row["text"], row["voice"]), {})[row["speed"]] = info.duration
    assert len(seconds) == 12
    assert all(each["300"] < 0.8 * each["130"] for each in seconds.values())
    assert written["hours"] == pytest.approx(sum(float(row["seconds"]) for row in rows) / 3600, abs=1e-4)
    assert json.loads((folder / "corpus.json").read_text(encoding="utf-8")) == written


def test_transcriptions_have_the_symbols_of_the_chart(corpus: tuple[Path, dict[str, Any]]) -> None:
    folder, written = corpus
    rows = [row for part in PARTS for row in read_table(folder / f"{part}.csv")]
    assert all(ipa_category(symbol) for row in rows for symbol in row["ipa"].replace(" ", ""))
    assert written["symbols_outside_chart"] == []
    assert sum(written["symbols"].values()) == sum(len(row["ipa"]) for row in rows)
    said = {(row["text"], row["voice"]): row["ipa"] for row in rows}
    assert said["mama", "en-us+f3"] == "mˈɑːmɐ"
    assert said["mama", "en-gb+klatt2"] == "mˈamɐ"
    assert said["Two birds sing", "en-gb+klatt2"] == "tˈuː bˈɜːdz sˈɪŋ"
    assert len(said["We go home, now", "en-gb+klatt2"].split()) == 4  # also across the pause


def test_marks_that_are_no_symbols_go() -> None:
    from espeak import clean_ipa

    assert clean_ipa(["(en)ðə(en-gb-x-rp) t_ʃ\u200dɪp", " lˈɛɾ\u025a \u1d7b:"]) == "ðə tʃɪp lˈɛɾə\u02de ɪ\u0308\u02d0"


def test_resampling_keeps_a_tone(example: ModuleType) -> None:
    def tone(rate: int) -> np.ndarray:
        return np.rint(20000 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)).astype(np.int16)

    middle = slice(1000, -1000)
    difference = example.resample(tone(22050), 22050, 16000)[middle].astype(int) - tone(16000)[middle]
    assert np.abs(difference).max() < 40
    loud = np.full(4000, 32767, dtype=np.int16)
    assert example.resample(loud, 22050, 16000).min() >= 0  # clipped, not wrapped, where the filter overshoots


def test_long_lines_are_cut_into_even_pieces(example: ModuleType, tmp_path: Path) -> None:
    assert example.pieces(" a b  c", 3) == ["a b c"]
    assert example.pieces("a b. c d e f g", 4) == ["a b.", "c d", "e f g"]
    assert example.pieces("a b. c d e f g", None) == ["a b. c d e f g"]
    words = [f"w{number}" for number in range(17)]
    cut = example.pieces(" ".join(words), 8)
    assert [len(piece.split()) for piece in cut] == [6, 5, 6]
    assert " ".join(cut).split() == words
    (tmp_path / "a.txt").write_text("one two three four\nfive\n\nsix\none TWO, seven\n", encoding="utf-8")
    sentences, counts = example.read_sentences([str(tmp_path / "a.txt")], 2)
    assert [(each.text, each.line) for each in sentences] == [
        *[("one two", 1), ("three four", 1), ("five", 2), ("six", 4), ("seven", 5)]
    ]
    assert counts["repeated_pieces"] == 1
    part_of = example.split_lines([each.line for each in sentences], seed=0)
    assert sorted(part_of.values()) == ["test", "train", "train", "validation"]


def test_the_folder_of_babble(run: Callable[..., Any], text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "babble"
    written = run("--text_files", text, "--utterances", 6, "--babble", "--min_count", 1, "--output_dir", folder)
    rows = {row["file_path"]: row["full_ipa"] for row in read_table(folder / "babble.csv")}
    assert len(rows) == 6
    assert not list(folder.glob("t*.csv"))
    for task in (1, 4):
        parts = load_babble(folder, task)
        read = {Path(row["audio_path"]): row["text"] for part in parts.values() for row in part}
        assert {path.relative_to(folder).as_posix() for path in read} == {*rows}
        assert {symbol for each in read.values() for symbol in each} <= {*load_babble_index(folder, task)}
        assert written["parts"][f"task{task}"]["left_out"] == 0
    assert rows == {
        row["audio_path"].removeprefix(f"{folder}/"): row["text"]
        for part in load_babble(folder, 1).values()
        for row in part
    }


def test_what_espeak_cannot_say_is_reported(run: Callable[..., Any], tmp_path: Path) -> None:
    text, folder = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("\n".join(["_", *SENTENCES]), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"1 of 7 utterances failed and are in no table:\nwav/\d.wav: .*says nothing"):
        run("--text_files", text, "--utterances", 7, "--output_dir", folder)
    written = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    assert [each["text"] for each in written["failed"]] == ["_"]
    assert sum(len(read_table(folder / f"{part}.csv")) for part in PARTS) == 6 == written["utterances"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--voices", "en-gbb"], "unknown voice 'en-gbb'; similar: en-gb, "),
        (["--voices", "en-us+f33"], r"unknown variant 'f33' of voice 'en-us\+f33'; similar: f3"),
        (["--voices", "en-gb", "en"], "--voices must be distinct, got 'en-gb' and 'en', which are the same voice"),
        (["--voices", "de", "de"], r"--voices must be distinct, got \['de'\] more than once"),
        (["--speeds", 60], r"--speeds must lie in \[80, 450\], got \[60\]"),
        (["--pitches", 100], r"--pitches must lie in \[0, 99\], got \[100\]"),
        (["--processes", 0], "--processes must be at least 1, got 0"),
        (["--utterances", 145], "--utterances must be at most 144, got 145: 6 sentences and 24 combinations of voice"),
        (
            ["--utterances", 7, "--babble"],
            "--utterances must be at most 6, got 7: 6 sentences and --babble",
        ),
        (["--utterances", 2], "text_files must have sentences of at least 3 lines, got 2"),
    ],
)
def test_errors(run: Callable[..., Any], text: Path, tmp_path: Path, arguments: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run("--text_files", text, "--output_dir", tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()


def test_files_that_will_not_do(run: Callable[..., Any], text: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n...\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"empty.txt must have one sentence per line"):
        run("--text_files", text, tmp_path / "empty.txt", "--output_dir", tmp_path / "out")
    with pytest.raises(FileExistsError, match="not an empty folder: remove it, or give another --output_dir"):
        run("--text_files", text, "--output_dir", tmp_path)


def test_errors_of_one_text(espeak: Any) -> None:
    assert_refused(
        espeak.say,
        ((" ",), "must not be empty"),
        (("a\0b",), "null characters"),
        (("a", "en-us", 451), r"speed must lie in \[80, 450\], got 451"),
        (("a", "en-us", 160, -1), r"pitch must lie in \[0, 99\], got -1"),
        (("...",), "text must have letters or digits for voice 'en-us', which says nothing for '...'"),
    )


def test_a_copy_that_fails_is_no_silence(path_of_the_example: None) -> None:
    import espeak

    with pytest.raises(ZeroDivisionError):
        espeak._in_child(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="ended without a result, exit status 3"):
        espeak._in_child(lambda: os._exit(3))


def test_without_a_library_the_remedy_is_named(path_of_the_example: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import espeak

    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[synthesis\]"'):
        espeak.Espeak()
