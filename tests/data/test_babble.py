# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Phonetic symbols, the seven tasks of Babble, their splits and the folder, made here with synthetic recordings."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from complex_transformers.recipes.datasets.babble import (
    BABBLE_TASKS,
    babble_targets,
    load_babble,
    load_babble_index,
    split_by_labels,
    split_by_symbols,
    write_babble_tasks,
)
from complex_transformers.recipes.datasets.ipa import (
    IPA_CATEGORIES,
    ipa_category,
    ipa_symbols,
    is_babble,
    outside_ipa,
    simplify_ipa,
    without_brackets,
)
from refusals import refused
from table_files import write_table

# Of the thesis, Table 1: a code point of every category, and whether the simpler tasks keep it.
TABLE = [
    (0x0070, "consonants (pulm.)", True),
    (0x0261, "consonants (pulm.)", True),
    (0x026B, "consonants (pulm.)", True),
    (0x0298, "consonants (non-pulm.)", True),
    (0x02BC, "consonants (non-pulm.)", True),
    (0x02A7, "additional symbols", True),
    (0x0077, "other symbols", False),
    (0x0259, "vowels", True),
    (0x02B0, "diacritics", False),
    (0x033C, "diacritics", False),
    (0x207F, "diacritics", False),
    (0x031A, "diacritics", False),
    (0x02D0, "suprasegmentals", False),
    (0x002E, "suprasegmentals", False),
]


@pytest.mark.parametrize(("code", "category", "simple"), TABLE)
def test_symbols_of_the_table(code: int, category: str, simple: bool) -> None:
    assert ipa_category(chr(code)) == category
    assert simplify_ipa(f"a{chr(code)}a") == (f"a{chr(code)}a" if simple else "aa")


def test_every_symbol_has_one_category() -> None:
    symbols = "".join(IPA_CATEGORIES.values())
    assert len(symbols) == len(set(symbols))
    assert ipa_category("5") is None
    assert simplify_ipa("5 (a)") == " (a)"


@pytest.mark.parametrize(
    ("text", "same", "simple"),
    [
        ("b\u00e3", "ba\u0303", "ba"),  # a with tilde, composed
        ("ga", "\u0261a", "\u0261a"),  # the g of keyboards
        ("b\u025a", "b\u0259\u02de", "b\u0259"),  # vowels with a hook
        ("b\u025d", "b\u025c\u02de", "b\u025c"),
        ("\u00e7i", "\u00e7i", "\u00e7i"),  # a symbol of its own, composed or not
        ("c\u0327i", "\u00e7i", "\u00e7i"),
    ],
)
def test_other_forms_of_symbols(text: str, same: str, simple: str) -> None:
    assert ipa_symbols(text) == same
    assert simplify_ipa(text) == simplify_ipa(same) == simple
    assert is_babble(text)
    assert not outside_ipa(text)
    assert outside_ipa(text + "3 (\u00e3)") == {"3"}


def test_brackets() -> None:
    assert without_brackets("ba(da)  (m)a", contents=True) == "bada ma"
    assert without_brackets("ba(da)  (m)a", contents=False) == "ba a"
    assert without_brackets("a(b(c)d)e", contents=False) == "ae"
    for text in ("a)b", "(ab", "((ab", ")("):
        refused("must have balanced parentheses, got", without_brackets, text, contents=False)


def test_targets_of_all_tasks() -> None:
    assert babble_targets("b\u0259\u02d0(w\u02b0a)  m") == {
        "full_ipa": "b\u0259\u02d0(w\u02b0a) m",
        "full_ipa_no_brackets": "b\u0259\u02d0w\u02b0a m",
        "full_ipa_no_unclear": "b\u0259\u02d0 m",
        "simplified_ipa": "b\u0259(a) m",
        "simplified_ipa_no_brackets": "b\u0259a m",
        "simplified_ipa_no_unclear": "b\u0259 m",
        "babble": 1,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ba", True),
        ("ab", True),
        ("b", False),
        ("a\u02d0", False),
        ("b a", False),  # a pause between them
        ("b|a", False),
        ("b\u02b0a", True),  # marks are passed over
        ("b.a", True),
        ("ba\u0325", False),  # a voiceless vowel
        ("ba\u02d0\u0325", False),
        ("ba\u0325 da", True),
        ("mm aa", False),
        ("wa", True),
        ("", False),
    ],
)
def test_what_babble_is(text: str, expected: bool) -> None:
    assert is_babble(text) is expected


def random_texts(seed: int, number: int) -> list[str]:
    generator = random.Random(seed)
    symbols = "bdma\u0259\u026a\u02d0" * 3 + "sz"
    return ["".join(generator.choices(symbols, k=generator.randint(1, 6))) for _ in range(number)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60))
def test_every_row_is_in_one_part(seed: int, number: int) -> None:
    parts = split_by_symbols(random_texts(seed, number), seed=seed)
    assert sorted(row for rows in parts.values() for row in rows) == list(range(number))


def test_parts_have_their_share_of_every_symbol() -> None:
    texts = random_texts(1, 1000)
    parts = split_by_symbols(texts)
    assert parts == split_by_symbols(texts)
    assert parts != split_by_symbols(texts, seed=1)
    total = Counter("".join(texts))
    for part, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert len(parts[part]) == pytest.approx(1000 * share, abs=15)
        counts = Counter("".join(texts[row] for row in parts[part]))
        for symbol, count in total.items():
            assert counts[symbol] == pytest.approx(share * count, abs=max(3, 0.05 * share * count)), (part, symbol)


def test_labels_are_balanced_but_for_training() -> None:
    labels = [1] * 70 + [0] * 30
    parts = split_by_labels(labels)
    assert sorted(row for rows in parts.values() for row in rows) == list(range(100))
    for part in ("validation", "test"):
        assert sum(labels[row] for row in parts[part]) == 5 == len(parts[part]) / 2
    refused("test must have 5 rows of label 0, got 1", split_by_labels, [1] * 94 + [0] * 6)


def write_recordings(folder: Path, texts: list[str], names: list[str] | None = None) -> None:
    """The layout of the thesis: recordings, here empty, and the table of transcriptions."""
    names = names or [f"data/{row}.wav" for row in range(len(texts))]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).touch()
    write_table(folder / "babble.csv", list(zip(names, texts, strict=True)), ("file_path", "full_ipa"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Recordings by child; a click, once in all, and a text that is unclear."""
    texts = random_texts(2, 300)
    texts[:2] = ["\u0298" + texts[0], "(ba)"]
    write_recordings(tmp_path, texts, [f"data/C{1 + row % 3:02d}/{row}.wav" for row in range(300)])
    return tmp_path


def test_tasks_are_written_and_read(folder: Path) -> None:
    written = write_babble_tasks(folder)
    assert set(written) == set(BABBLE_TASKS)
    for task, numbers in written.items():
        parts = load_babble(folder, task)
        assert {name: len(part) for name, part in parts.items()} == {
            name: numbers[name] for name in ("train", "validation", "test")
        }
        assert sum(map(len, parts.values())) + numbers["left_out"] == 300
        paths = [path for part in parts.values() for path in part["audio_path"]]
        assert len(set(paths)) == len(paths)
        if task == 7:
            assert sum(parts["test"]["label"]) * 2 == len(parts["test"])
            continue
        texts = [text for part in parts.values() for text in part["text"]]
        index = load_babble_index(folder, task)
        assert list(index)[:2] == ["<pad>", "<unk>"]
        assert set("".join(texts)) == set(index) - {"<pad>", "<unk>"}
        assert "\u0298" not in index  # rarer than ten times: its row is left out
        assert all(texts)  # as is (ba) where what is unclear is left out
    # "(" and ")" are symbols of task 1, each seen once.
    assert written[1]["left_out"] == 2
    assert written[2]["left_out"] == 1
    assert written[3]["left_out"] == 2


def test_labels_count_where_they_are_a_task(tmp_path: Path) -> None:
    rows = [(f"data/{row}.wav", "ba", "?") for row in range(10)]
    write_table(tmp_path / "babble.csv", rows, ("file_path", "full_ipa", "babble"))
    assert write_babble_tasks(tmp_path, [2], min_count=1)[2]["left_out"] == 0


def test_a_recording_is_in_one_part(tmp_path: Path) -> None:
    write_recordings(tmp_path, ["ba", "da", "ba"], ["data/a.wav", "data/b.wav", "data/a.wav"])
    refused(r"row 1 of .*babble\.csv must have a unique file_path", write_babble_tasks, tmp_path, [2])
    write_recordings(tmp_path, ["ba"] * 20)
    write_babble_tasks(tmp_path, [2], min_count=1)
    train, test = (tmp_path / "tasks" / f"babble.task2.{part}.csv" for part in ("train", "test"))
    test.write_text(test.read_text(encoding="utf-8") + train.read_text(encoding="utf-8"), encoding="utf-8")
    refused(r"16 row\(s\) of the train data have a recording that is also in the test data", load_babble, tmp_path, 2)
    for path in (tmp_path / "data").iterdir():
        path.unlink()
    refused(r"got 36 missing: ", load_babble, tmp_path, 2, error=FileNotFoundError)
    train.unlink()
    refused("train.csv", load_babble, tmp_path, 2, error=FileNotFoundError)
    refused(r"task must be one of \[1, 2, 3, 4, 5, 6, 7\], got 8", load_babble, tmp_path, 8)


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ("data/b.wav,(ba,1", ValueError, r"balanced parentheses, got '\(ba'"),
        ("data/b.wav,ba", ValueError, "row 2 of .* one cell per column"),
        ("data/b.wav,ba,1,da", ValueError, "row 2 of .* one cell per column"),
        ("data/b.wav,ba,yes", KeyError, "yes"),
    ],
)
def test_bad_rows_of_the_table_are_named(tmp_path: Path, row: str, error: type[Exception], message: str) -> None:
    (tmp_path / "babble.csv").write_text(f"file_path,full_ipa,babble\ndata/a.wav,ba,1\n{row}\n")
    refused(message, write_babble_tasks, tmp_path, [7], error=error)


def test_transcriptions_have_symbols_of_the_index(tmp_path: Path) -> None:
    write_recordings(tmp_path, ["ba", "da"] * 10)
    write_babble_tasks(tmp_path, [2], min_count=1)
    (tmp_path / "tasks" / "babble.task2.index.txt").write_text("<pad>\n<unk>\na\nb\n", encoding="utf-8")
    refused(r"index of task 2 must have all symbols, got no \['d'\]", load_babble, tmp_path, 2)


def test_too_few_rows_and_characters_outside_the_chart_are_named(tmp_path: Path) -> None:
    write_recordings(tmp_path, ["ba", "b3", "d\u00e3"])
    with (
        pytest.warns(UserWarning, match=r"outside the IPA chart, which the simplified tasks leave out: \['3'\]"),
        pytest.raises(ValueError, match=r"task 7 must have rows in every split, got .*'test': 0"),
    ):
        write_babble_tasks(tmp_path, [7])
    assert not list((tmp_path / "tasks").iterdir())
