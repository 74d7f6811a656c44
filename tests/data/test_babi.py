# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""bAbI files: what a question is about, and files that are not what they should be."""

from __future__ import annotations

import io
import tarfile

import pytest

from complex_transformers.recipes import load_babi, read_babi, repeated_questions

STORY = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel went back to the hallway.
5 What is John carrying? \tmilk,football\t2 4
1 Sandra got the milk.
2 Where is the milk? \tgarden\t1
"""


def write_archive(folder, files):
    path = folder / "tasks.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"tasks_1-20_v1-2/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def archive(tmp_path):
    other = "1 Mary moved to the bathroom.\n2 John went to the hallway.\n3 Where is Mary? \tbathroom\t1\n"
    files = {f"en/qa1_one_{part}.txt": text for part, text in (("train", other), ("test", STORY))}
    return write_archive(tmp_path, {**files, "en/qa12_two_test.txt": STORY, "README.txt": "words"})


def test_a_question_is_about_the_sentences_before_it():
    first, second, third = read_babi(STORY.splitlines(keepends=True))
    assert first.story == ["Mary moved to the bathroom.", "John went to the hallway."]
    assert (first.question, first.answer, first.supporting) == ("Where is Mary?", "bathroom", [0])
    assert second.story == [*first.story, "Daniel went back to the hallway."]  # questions are no sentences
    assert (second.answer, second.supporting) == ("milk,football", [1, 2])
    assert (third.story, third.supporting) == (["Sandra got the milk."], [0])


def test_a_task_of_an_archive_or_of_its_folder(archive, tmp_path):
    parts = load_babi(archive, 1, "en")
    assert list(parts) == ["train", "test"]
    assert [len(part) for part in parts.values()] == [1, 3]
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    again = load_babi(tmp_path / "unpacked", 1, "en")
    assert again["test"].to_list() == parts["test"].to_list()
    assert repeated_questions(parts["test"], parts["train"]) == [True, False, False]


def test_folders_with_a_validation_part(tmp_path):
    files = {f"en-valid/qa1_{part}.txt": STORY for part in ("test", "train", "valid")}
    parts = load_babi(write_archive(tmp_path, files), 1, "en-valid")
    assert {name: len(part) for name, part in parts.items()} == {"train": 3, "valid": 3, "test": 3}
    assert list(parts) == ["train", "valid", "test"]


def test_marks_and_empty_lines_around_the_text_are_passed_over():
    assert read_babi(["\ufeff" + STORY.splitlines()[0], *STORY.splitlines()[1:], "", " \n"]) == read_babi(
        STORY.splitlines()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mary moved.", r"the text, line 1 must be '1 sentence' or '1 question\?TAB.*got 'Mary moved\.'"),
        ("1 Mary moved.\n3 John went.", "line 2 must be '2 sentence'"),
        ("1 Mary moved.\n2 Where? a 1\n", r"line 2 must be '2 .*got '2 Where\? a 1'"),
    ],
)
def test_broken_lines_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        read_babi(text.splitlines())
    with pytest.raises(KeyError, match="2"):
        read_babi(["1 Mary moved.", "2 Where?\ta\t2"])


def test_what_an_archive_does_not_have(archive, tmp_path):
    with pytest.raises(ValueError, match=r"folder must be one of \['en'\], got 'en-10k'"):
        load_babi(archive, 1)
    with pytest.raises(ValueError, match=r"task must be one of \[1, 12\], got 3"):
        load_babi(archive, 3, "en")
    with pytest.raises(FileNotFoundError):
        load_babi(tmp_path / "nothing.tar.gz", 1)
    torn = tmp_path / "torn.tar.gz"
    torn.write_bytes(archive.read_bytes()[:150])
    with pytest.raises(EOFError, match=r"(?s)end-of-stream marker.*while reading .*torn\.tar\.gz"):
        load_babi(torn, 1, "en")
