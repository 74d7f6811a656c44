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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mary moved.", r"the text, line 1 must be a number and a sentence or a question, got 'Mary moved\.'"),
        ("1 Mary moved.\n\n2 John went.", "line 2 must be a number"),
        ("1 Mary moved.\n3 John went.", "line 2 has number 3 after 1: lines of a story follow each other"),
        ("2 Mary moved.", "line 1 has number 2 after 0"),
        ("1 Where is Mary? \tbathroom\t1", r"line 1 asks 'Where is Mary\?' before a story was told"),
        ("1 Mary moved.\n2 Where?\t", "line 2 must be question, answer and supporting lines"),
        ("1 Mary moved.\n2 Where?\t\t1", "line 2 must be question, answer and supporting lines"),
        ("1 Mary moved.\n2 Where?\ta\t1\t2", "line 2 must be question, answer and supporting lines"),
        ("1 Mary moved.\n2 Where?\ta\t2", r"supporting line\(s\) 2 are no sentences of the story before"),
        ("1 Mary moved.\n2 Where?\ta\tone", r"supporting line\(s\) one are no sentences"),
        ("1 Mary moved.", "has no question"),
        ("1 Mary moved.\n2 Where? a 1\n", r"line 2 is a question without a tab and its answer: 'Where\? a 1'"),
        ("1 Mary moved.\n2 Where?\ta\t1\n3 John left.", "ends in a sentence, 'John left.', and not in a question"),
        ("", "has no question"),
    ],
)
def test_broken_lines_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        read_babi(text.splitlines())


def test_a_text_in_place_of_its_lines_is_refused():
    with pytest.raises(TypeError, match=r"got the text '1 Mary.*: pass its \.splitlines\(\)"):
        read_babi(STORY)
    with pytest.raises(TypeError, match=r"lines must be text, got bytes: b'1 Mary moved to the bathroom\.'; decode"):
        read_babi(STORY.encode().splitlines())


def test_a_file_that_was_cut_off_is_not_read(tmp_path):
    for part, text in (("train", STORY[:-7]), ("test", STORY)):  # the last answer would be "gard"
        (tmp_path / "en").mkdir(exist_ok=True)
        (tmp_path / "en" / f"qa1_one_{part}.txt").write_text(text)
    with pytest.raises(ValueError, match=r"en, task 1, train was cut off, it ends in .*: fetch it again"):
        load_babi(tmp_path, 1, "en")


def test_folders_with_a_validation_part(tmp_path):
    files = {f"en-valid/qa1_{part}.txt": STORY for part in ("test", "train", "valid")}
    parts = load_babi(write_archive(tmp_path, files), 1, "en-valid")
    assert {name: len(part) for name, part in parts.items()} == {"train": 3, "valid": 3, "test": 3}
    assert list(parts) == ["train", "valid", "test"]


def test_marks_and_empty_lines_around_the_text_are_passed_over():
    assert read_babi(["\ufeff" + STORY.splitlines()[0], *STORY.splitlines()[1:], "", " \n"]) == read_babi(
        STORY.splitlines()
    )


def test_a_damaged_archive_is_not_read(archive):
    whole = archive.read_bytes()
    for place in (*range(20, len(whole), 29), len(whole) - 8):  # files between their ends, and the check sum
        damaged = bytearray(whole)
        damaged[place] ^= 1
        archive.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"(?s)tasks\.tar\.gz is no whole archive of the bAbI .*fetch it again"):
            load_babi(archive, 1, "en")


def test_a_file_that_is_no_text_is_named(archive, tmp_path):
    folder = tmp_path / "folder" / "en"
    folder.mkdir(parents=True)
    for part in ("train", "test"):
        (folder / f"qa1_one_{part}.txt").write_bytes(b"1 Mary moved to the caf\xe9.\n")
    with pytest.raises(ValueError, match=r"en/qa1_one_\w+\.txt is no text in UTF-8 .*: fetch it again"):
        load_babi(folder.parent, 1, "en")
    path = tmp_path / "other.tar.gz"
    with tarfile.open(path, "w:gz") as written:
        written.add(folder, "tasks/en")
    with pytest.raises(ValueError, match=r"other\.tar\.gz, tasks/en/qa1_one_\w+\.txt is no text in UTF-8"):
        load_babi(path, 1, "en")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_members_that_are_no_files_are_refused(tmp_path, kind):
    path = tmp_path / "tasks.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for part, type_ in (("train", tarfile.REGTYPE), ("test", kind)):
            info = tarfile.TarInfo(f"tasks/en/qa1_one_{part}.txt")
            info.type, info.linkname = type_, "qa1_one_train.txt"
            info.size = len(STORY) if type_ == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(STORY.encode()))
    with pytest.raises(ValueError, match=r"en/qa1_one_test\.txt must be a regular file of at most 67,108,864 bytes"):
        load_babi(path, 1, "en")


def test_members_that_fill_the_memory_are_refused(tmp_path):
    path = write_archive(tmp_path, {"en/qa1_one_test.txt": STORY, "en/qa1_one_train.txt": "\n" * (2**26 + 1)})
    with pytest.raises(ValueError, match=r"qa1_one_train\.txt must be .*, got type b'0' and 67,108,865 bytes"):
        load_babi(path, 1, "en")


def test_what_an_archive_does_not_have(archive, tmp_path):
    with pytest.raises(ValueError, match=r"has no folder 'en-10k', only \['en'\]"):
        load_babi(archive, 1)
    with pytest.raises(ValueError, match=r"has no task 3 in folder 'en', only \[1, 12\]"):
        load_babi(archive, 3, "en")
    with pytest.raises(ValueError, match="has no train part of task 12 in folder 'en'"):
        load_babi(archive, 12, "en")
    with pytest.raises(FileNotFoundError):
        load_babi(tmp_path / "nothing.tar.gz", 1)
    torn = tmp_path / "torn.tar.gz"
    torn.write_bytes(archive.read_bytes()[:150])
    with pytest.raises(ValueError, match=r"torn\.tar\.gz is no whole archive of the bAbI tasks .*fetch it again"):
        load_babi(torn, 1, "en")
    no_archive = tmp_path / "words.txt"
    no_archive.write_text("words")
    with pytest.raises(ValueError, match=r"words\.txt is no whole archive"):
        load_babi(no_archive, 1, "en")
