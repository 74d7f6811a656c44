# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parallel texts: pairs stay pairs, nothing is lost or cut without a word, and bad data is named."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from complex_transformers import build_tokenizer
from complex_transformers.data.files import read_lines
from complex_transformers.recipes import encode_parallel_dataset, load_parallel_dataset
from refusals import refused
from table_files import write_table, write_text

PAIRS = [("a cat", "eine Katze"), ("a dog", "ein Hund"), ('two "old" cats, here', 'zwei "alte" Katzen, hier')]
COLUMNS = ("en", "de")
OTHERS = [("no bird", "kein Vogel"), ("None", "1")]


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def write_lines(path: Path, lines: list[str], end: str = "\n") -> str:
    return write_text(path, "".join(line + end for line in lines))


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]], ending: str = "") -> list[str]:
    """Two aligned files, source first."""
    return [
        write_lines(folder / f"{name}.{language}{ending}", [pair[side] for pair in pairs])
        for side, language in enumerate(("en", "de"))
    ]


def pairs_of(part: Any) -> list[tuple[str, str]]:
    return list(zip(part["source"], part["target"], strict=True))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_aligned_files(tmp_path: Path, ending: str) -> None:
    files = {name: write_pairs(tmp_path, name, pairs, ending) for name, pairs in (("t", PAIRS), ("v", OTHERS))}
    parts = load_parallel_dataset(files["t"], files["v"])
    assert list(parts) == ["train", "validation"]
    assert parts["train"].column_names == ["source", "target"]
    assert pairs_of(parts["train"]) == PAIRS
    assert pairs_of(parts["validation"]) == OTHERS


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    lines = ["a\u2028b", "c\x85d", "e\x0bf\x0cg", " h\ti ", "j\rk"]
    assert list(read_lines(write_lines(tmp_path / "unix.txt", lines))) == lines
    assert list(read_lines(write_lines(tmp_path / "windows.txt", lines, end="\r\n"))) == lines
    bare = write_text(tmp_path / "bare.txt", "\ufeff\u00e4\n\nb")
    assert list(read_lines(bare)) == ["ä", "", "b"]  # a byte order mark, an empty line, no line feed at the end
    assert list(read_lines(write_text(tmp_path / "empty.txt", ""))) == []


def test_translation_column_and_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    for name, pairs in (("train", PAIRS), ("validation", OTHERS)):
        rows = [(str(number), dict(zip(COLUMNS, pair, strict=True))) for number, pair in enumerate(pairs)]
        write_table(tmp_path / "data" / f"{name}.jsonl", rows, ("id", "translation"))
    there = load_parallel_dataset(dataset_name=folder, source_column="en", target_column="de")
    assert pairs_of(there["train"]) == PAIRS
    back = load_parallel_dataset(dataset_name=folder, source_column="de", target_column="en")
    assert pairs_of(back["validation"]) == [(de, en) for en, de in OTHERS]
    words = r"Column name .*fr"
    refused(words, load_parallel_dataset, dataset_name=folder, source_column="en", target_column="fr")


def test_parts_of_other_names_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n"
    for part, pairs in (("train", PAIRS), ("validation", OTHERS), ("test_clean", OTHERS)):
        write_table(tmp_path / f"{part}.jsonl", pairs, COLUMNS)
        card += f"  - split: {part}\n    path: {part}.jsonl\n"
    (tmp_path / "README.md").write_text(card + "---\n", encoding="utf-8")
    parts = load_parallel_dataset(dataset_name=str(tmp_path), source_column="en", target_column="de")
    assert "test" not in parts
    assert f"{tmp_path}: splits ['test_clean'] are not used, only ['train', 'validation']" in capsys.readouterr().out


def test_unequal_files_are_refused(tmp_path: Path) -> None:
    files = [write_text(tmp_path / "a.en", "one\ntwo\nthree\n"), write_text(tmp_path / "a.de", "eins\nzwei\n")]
    words = r"train_file must be two files with equally many lines, got .*a\.en with 3 and .*a\.de with 2"
    refused(words, load_parallel_dataset, files)


def test_empty_lines(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "t", [*PAIRS, ("", "leer"), ("blank", "  "), ("end", "Ende")])
    validation = write_pairs(tmp_path, "v", OTHERS)
    words = r"2 pair\(s\) of the train data have an empty side \(first: line 4\).*empty='drop'"
    refused(words, load_parallel_dataset, train, validation)
    with pytest.warns(UserWarning, match=r"2 pair\(s\) of the train data .* dropped") as caught:
        parts = load_parallel_dataset(train, validation, empty="drop")
    assert caught[0].filename == __file__
    assert pairs_of(parts["train"]) == [*PAIRS, ("end", "Ende")]


def test_parts_that_share_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = write_pairs(tmp_path, "t", PAIRS)
    copy = ("A  CAT", "eine katze ")  # case and spaces do not count
    other_translation = ("a dog", "der Hund")  # a pair is both sides
    validation = write_pairs(tmp_path, "v", [copy, other_translation])
    words = r"1 row\(s\) of the train data have a pair that is also in the validation data"
    refused(words, load_parallel_dataset, train, validation)
    assert pairs_of(load_parallel_dataset(train, validation, overlap="drop")["train"]) == PAIRS[1:]
    assert pairs_of(load_parallel_dataset(train, validation, overlap="allow")["train"]) == PAIRS
    assert "dropped from the train data" in capsys.readouterr().out


def test_split(tmp_path: Path) -> None:
    pairs = [(f"number {n}", f"Nummer {n}") for n in range(50)] * 2
    train = write_pairs(tmp_path, "t", pairs)
    parts = load_parallel_dataset(train, validation_split=0.2)
    assert len(parts["validation"]) == 20
    assert not set(pairs_of(parts["train"])) & set(pairs_of(parts["validation"]))  # copies stay together
    again = load_parallel_dataset(train, validation_split=0.2)
    other = load_parallel_dataset(train, validation_split=0.2, split_seed=1)
    assert pairs_of(again["validation"]) == pairs_of(parts["validation"]) != pairs_of(other["validation"])
    assert len(load_parallel_dataset(train)["validation"]) == 10  # a tenth of the pairs, two copies each


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        ((), ValueError, "exactly one of dataset_name and train_file must be given"),
        (("t.en",), ValueError, r"ending of t\.en must be one of \['csv',"),
        (("t.csv",), ValueError, "(?s)source.*while reading t.csv"),
        (("n.jsonl",), AttributeError, "'int' object has no attribute 'strip'"),
        ((["t.en", "latin.de"],), UnicodeDecodeError, r"(?s)'utf-8' codec.*while reading latin\.de"),
        ((["t.en", "broken.gz"],), EOFError, r"(?s)end-of-stream marker.*while reading broken\.gz"),
    ],
)
def test_bad_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Any, error: type[Exception], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "t", PAIRS)
    write_table(tmp_path / "t.csv", PAIRS, COLUMNS)
    write_table(tmp_path / "n.jsonl", [("a", 7)], ("source", "target"))
    (tmp_path / "latin.de").write_bytes("schön\n".encode("latin-1"))
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"text\n" * 100)[:-9])
    refused(words, load_parallel_dataset, *files, error=error)


@pytest.mark.parametrize(("name", "allowed"), [("overlap", "allow"), ("empty", "drop")])
def test_bad_options(tmp_path: Path, name: str, allowed: str) -> None:
    words = rf"{name} must be one of \['?.*{allowed}.*, got 'ignore'"
    refused(words, load_parallel_dataset, write_pairs(tmp_path, "t", PAIRS), **{name: "ignore"})


def make_tokenizer(**options: Any) -> PreTrainedTokenizerFast:
    return build_tokenizer([text for pair in PAIRS for text in pair], "bpe", 400, append_eos=True, **options)


@pytest.fixture
def parts(tmp_path: Path) -> Any:
    return load_parallel_dataset(write_pairs(tmp_path, "t", PAIRS), write_pairs(tmp_path, "v", OTHERS))


def test_encoding_loses_nothing(parts: Any) -> None:
    tokenizer = make_tokenizer(lowercase=False)
    encoded = encode_parallel_dataset(parts, tokenizer)
    for name, pairs in (("train", PAIRS), ("validation", OTHERS)):
        assert pairs_of(encoded[name]) == pairs
        for row, (source, target) in zip(encoded[name], pairs, strict=True):
            assert row["input_ids"][-1] == row["labels"][-1] == tokenizer.eos_token_id
            assert tokenizer.decode(row["input_ids"], skip_special_tokens=True) == source
            assert tokenizer.decode(row["labels"], skip_special_tokens=True) == target
            assert row["attention_mask"] == [1] * len(row["input_ids"])
            assert row["length"] == max(len(row["input_ids"]), len(row["labels"]))


def test_long_pairs(parts: Any) -> None:
    tokenizer = make_tokenizer()
    whole = encode_parallel_dataset(parts, tokenizer)
    lengths = [len(ids) for ids in whole["train"]["input_ids"]]
    limit = max(lengths) - 1
    assert sum(length > limit for length in lengths) == 1
    words = rf"1 of 3 train pairs exceed max_source_length={limit} or max_target_length=None"
    refused(words, encode_parallel_dataset, parts, tokenizer, max_source_length=limit)
    with pytest.warns(UserWarning, match="1 of 3 train pairs .* cut"):
        cut = encode_parallel_dataset(parts, tokenizer, max_source_length=limit, too_long="truncate")
    longest = lengths.index(max(lengths))
    ids = cut["train"][longest]["input_ids"]
    assert ids == [*whole["train"][longest]["input_ids"][: limit - 1], tokenizer.eos_token_id]
    assert cut["train"]["labels"][:] == whole["train"]["labels"][:]
    with pytest.warns(UserWarning, match=r"pairs exceed .* max_target_length=4: dropped"):
        dropped = encode_parallel_dataset(parts, tokenizer, max_target_length=4, too_long="drop")
    kept = [pair for pair, ids in zip(PAIRS, whole["train"]["labels"], strict=True) if len(ids) <= 4]
    assert pairs_of(dropped["train"]) == kept
    assert len(kept) < 3


def test_limit_of_the_tokenizer_and_bad_limits(parts: Any) -> None:
    tokenizer, short = make_tokenizer(), make_tokenizer(model_max_length=3)
    words = r"exceed max_source_length=3 or .*Raise the limits \(and max_position_embeddings\)"
    refused(words, encode_parallel_dataset, parts, short)
    encode_parallel_dataset(parts, short, max_source_length=99, max_target_length=99)
    refused(r"too_long must be one of .*, got 'cut'", encode_parallel_dataset, parts, tokenizer, too_long="cut")
