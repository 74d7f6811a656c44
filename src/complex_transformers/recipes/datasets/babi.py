# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The bAbI tasks (Weston et al. 2015): stories, questions about them, and the sentences that answer them."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from ...data.extras import check_option, require_datasets
from ...data.files import named

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["BabiQuestion", "load_babi", "read_babi", "repeated_questions"]

_LINE = re.compile(r"(\d+) +(\S.*)")
_MEMBER = re.compile(r"([^/]+)/qa(\d+)_(?:[^/]*_)?(train|valid|test)\.txt$")


@dataclass(frozen=True)
class BabiQuestion:
    """A question about a story.

    Attributes:
        story: the sentences of the story before the question, without its earlier questions.
        question: the question.
        answer: one word, or several with commas, which count as one answer.
        supporting: indices in ``story`` of the sentences that answer it.
    """

    story: list[str]
    question: str
    answer: str
    supporting: list[int]


def read_babi(lines: Iterable[str], name: str = "the text") -> list[BabiQuestion]:
    """Return the questions of a file, in order.

    Args:
        lines: ``<n> <sentence>``, or ``<n> <question> TAB <answer> TAB <numbers of supporting lines>``; a story starts
            at number 1. A byte order mark before the first line and blank lines after the last are skipped.
        name: the name of the file, for errors.

    Raises:
        KeyError: supporting lines that are not sentences of the story before.
        ValueError: a line without number, a number out of order, a question without an answer.
    """
    rows = list(lines)
    while rows and not rows[-1].strip():
        rows.pop()
    questions: list[BabiQuestion] = []
    story: list[str] = []
    places: dict[int, int] = {}  # number of a line -> index of its sentence
    last = 0
    for row, line in enumerate(rows, start=1):
        match = _LINE.fullmatch(line.strip("\ufeff\r\n "))
        number, text = (int(match[1]), match[2]) if match else (0, line)
        if number not in (1, last + 1) or ("?" in text) != ("\t" in text):
            raise ValueError(
                f"{name}, line {row} must be '{last + 1} sentence' or '{last + 1} question?TAB answer TAB lines', got "
                f"{line.rstrip()[:80]!r}."
            )
        if number == 1:
            story, places = [], {}
        last = number
        if "\t" in text:
            question, answer, *rest = (field.strip() for field in text.split("\t"))
            supporting = [places[int(each)] for each in rest[0].split()] if rest else []
            questions.append(BabiQuestion(list(story), question, answer, supporting))
        else:
            places[number] = len(story)
            story.append(text)
    return questions


def load_babi(archive: str | Path, task: int, folder: str = "en-10k") -> DatasetDict:
    """Load the splits of a task: columns ``story``, ``question``, ``answer`` and ``supporting``.

    Args:
        archive: ``tasks_1-20_v1-2.tar.gz``, or the folder it was unpacked to.
        task: 1 to 20.
        folder: ``en`` with 1,000 training questions per task, ``en-10k`` with 10,000, or another one of the archive;
            ``en-valid`` and ``en-valid-10k`` have a ``valid`` split in addition to ``train`` and ``test``.

    Raises:
        FileNotFoundError: no such archive.
        ValueError: a folder or task that it does not have, a broken line.
    """
    datasets = require_datasets()
    with named(archive):
        texts = _texts(Path(archive), folder, task)
    splits = {}
    for split in sorted(texts, key=("train", "valid", "test").index):
        questions = read_babi(texts[split].decode("utf-8").splitlines(), f"{folder}, task {task}, {split}")
        splits[split] = datasets.Dataset.from_list([asdict(question) for question in questions])
    return datasets.DatasetDict(splits)


def _texts(archive: Path, folder: str, task: int) -> dict[str, bytes]:
    """Return the file of each split of a task."""
    if archive.is_dir():
        found = {path.relative_to(archive).as_posix(): path for path in archive.rglob("qa*.txt")}
        return {split: found[name].read_bytes() for split, name in _members(found, folder, task).items()}
    with tarfile.open(archive) as opened:
        names = _members(opened.getnames(), folder, task)
        return {split: cast(IO[bytes], opened.extractfile(name)).read() for split, name in names.items()}


def _members(names: Iterable[str], folder: str, task: int) -> dict[str, str]:
    """Return the name of the file of each split of a task."""
    found = [(match, name) for name in names if (match := _MEMBER.search(name))]
    check_option("folder", folder, {match[1] for match, _ in found})
    check_option("task", task, {int(match[2]) for match, _ in found if match[1] == folder})
    return {match[3]: name for match, name in found if match[1] == folder and int(match[2]) == task}


def repeated_questions(part: Dataset, train: Dataset) -> list[bool]:
    """Return for every question of ``part`` whether the same question about the same story is in ``train``.

    The tasks are generated by a program and their splits are fixed, so unseen questions are scored separately.
    """
    seen = {(tuple(row["story"]), row["question"]) for row in train}
    return [(tuple(row["story"]), row["question"]) in seen for row in part]
