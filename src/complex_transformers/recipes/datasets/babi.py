# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The bAbI tasks (Weston et al. 2015): stories, questions about them, and the sentences that answer them."""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from ...data.extras import (
    require_datasets,
)

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["BabiQuestion", "load_babi", "read_babi", "repeated_questions"]

_LINE = re.compile(r"(\d+) +(\S.*)")
_MEMBER = re.compile(r"([^/]+)/qa(\d+)_(?:[^/]*_)?(train|valid|test)\.txt$")
_LARGEST = 2**26  # bytes of a file in an archive; those of bAbI have less than 10 million


@dataclass(frozen=True)
class BabiQuestion:
    """A question about what was told before it.

    Attributes:
        story: the sentences of the story before the question, without its earlier questions.
        question: the question.
        answer: one word, or several with commas, which count as one answer.
        supporting: places in ``story``, from 0, of the sentences that answer it.
    """

    story: list[str]
    question: str
    answer: str
    supporting: list[int]


def read_babi(lines: Iterable[str], name: str = "the text") -> list[BabiQuestion]:
    """The questions of a file, in their order.

    Args:
        lines: ``<n> <sentence>``, or ``<n> <question> TAB <answer> TAB <numbers of supporting lines>``; a number of 1
            begins a story. A byte order mark before the first and empty lines after the last are passed over.
        name: of the file, for errors.

    Raises:
        TypeError: a text in place of its lines, lines of bytes.
        ValueError: a line without number, a number out of order, a question without a story or an answer, supporting
            lines that are not sentences of the story before, no question at all or none at the end.
    """
    if isinstance(lines, str):
        raise TypeError(f"read_babi reads lines, got the text {lines[:80]!r}: pass its .splitlines()")
    rows = list(lines)
    if foreign := next((row for row in rows if not isinstance(row, str)), None):
        raise TypeError(f"lines must be text, got {type(foreign).__name__}: {foreign!r}; decode them as UTF-8")
    while rows and not rows[-1].strip():
        rows.pop()
    questions: list[BabiQuestion] = []
    story: list[str] = []
    places: dict[int, int] = {}  # number of a line -> place of its sentence
    last = 0
    for row, line in enumerate(rows, start=1):
        where = f"{name}, line {row}"
        text = line.removeprefix("\ufeff") if row == 1 else line
        if not (match := _LINE.fullmatch(text.strip("\r\n "))):
            raise ValueError(f"{where} must be a number and a sentence or a question, got {line.rstrip()[:80]!r}")
        number, text = int(match[1]), match[2]
        if number == 1:
            story, places = [], {}
        elif number != last + 1:
            raise ValueError(f"{where} has number {number} after {last}: lines of a story follow each other, from 1")
        last = number
        if "\t" in text:
            questions.append(_question(text, story, places, where))
        elif "?" in text:
            raise ValueError(f"{where} is a question without a tab and its answer: {text[:80]!r}")
        else:
            places[number] = len(story)
            story.append(text)
    if not questions:
        raise ValueError(f"{name} has no question: a line with a question, a tab and its answer")
    if last in places:
        raise ValueError(f"{name} ends in a sentence, {story[-1][:80]!r}, and not in a question: it was cut off")
    return questions


def _question(text: str, story: list[str], places: dict[int, int], where: str) -> BabiQuestion:
    question, answer, *rest = (part.strip() for part in text.split("\t"))
    if not question or not answer or len(rest) > 1:
        raise ValueError(f"{where} must be question, answer and supporting lines with tabs between, got {text[:80]!r}")
    if not story:
        raise ValueError(f"{where} asks {question!r} before a story was told")
    numbers = rest[0].split() if rest else []
    if foreign := [number for number in numbers if not number.isdecimal() or int(number) not in places]:
        raise ValueError(f"{where}: supporting line(s) {' '.join(foreign)} are no sentences of the story before")
    return BabiQuestion(list(story), question, answer, [places[int(number)] for number in numbers])


def load_babi(archive: str | Path, task: int, folder: str = "en-10k") -> DatasetDict:
    """The parts of a task, ``train`` and ``test``: columns ``story``, ``question``, ``answer`` and ``supporting``.

    Args:
        archive: ``tasks_1-20_v1-2.tar.gz``, or the folder it was unpacked to.
        task: 1 to 20.
        folder: ``en`` with 1,000 training questions a task, ``en-10k`` with 10,000, or another of the archive; those
            of ``en-valid`` and ``en-valid-10k`` have a part ``valid``, too.

    Raises:
        FileNotFoundError: no such archive.
        ValueError: a file that is no whole archive, a folder or task that it does not have, a part that is missing, no
            regular file, larger than 64 MiB, no UTF-8 or cut off, a broken line.
    """
    texts = _texts(Path(archive), folder, task)
    if missing := {"train", "test"} - texts.keys():
        raise ValueError(
            f"{archive} has no {' and no '.join(sorted(missing))} part of task {task} in folder {folder!r}"
        )
    datasets = require_datasets()
    parts = {}
    for part in sorted(texts, key=("train", "valid", "test").index):
        text, name = texts[part], f"{folder}, task {task}, {part}"
        if not text.endswith("\n"):
            raise ValueError(f"{name} was cut off, it ends in {text[-40:]!r} and not in a whole line: fetch it again")
        questions = read_babi(text.splitlines(), name)
        parts[part] = datasets.Dataset.from_list([asdict(question) for question in questions])
    return datasets.DatasetDict(parts)


def _texts(archive: Path, folder: str, task: int) -> dict[str, str]:
    """The text of each part of a task."""
    if archive.is_dir():
        found = {path.relative_to(archive).as_posix(): path for path in archive.rglob("qa*.txt")}
        names = _members(found, archive, folder, task)
        return {part: _decoded(found[name].read_bytes(), found[name]) for part, name in names.items()}
    try:
        with tarfile.open(archive) as opened:
            listed = opened.getnames()
            while opened.fileobj is not None and opened.fileobj.read(2**20):  # its check sum stands behind the files
                pass
            names = _members(listed, archive, folder, task)
            texts = {part: _content(opened, name) for part, name in names.items()}
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{archive} is no whole archive of the bAbI tasks ({error}): fetch it again") from error
    return {part: _decoded(text, f"{archive}, {names[part]}") for part, text in texts.items()}


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the bytes of a member that is a file of a size that a task can have."""
    member = archive.getmember(name)
    if not member.isreg() or member.size > _LARGEST:
        raise ValueError(
            f"{name} must be a regular file of at most {_LARGEST:,} bytes, got type {member.type!r} and "
            f"{member.size:,} bytes. Fetch the archive again."
        )
    return cast(IO[bytes], archive.extractfile(member)).read()


def _decoded(text: bytes, name: object) -> str:
    """A file as text; errors call it ``name``."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is no text in UTF-8 ({error}): fetch it again") from error


def _members(names: Iterable[str], archive: Path, folder: str, task: int) -> dict[str, str]:
    """The file of each part of a task."""
    found = [(match, name) for name in names if (match := _MEMBER.search(name))]
    folders = sorted({match[1] for match, _ in found})
    if folder not in folders:
        raise ValueError(f"{archive} has no folder {folder!r}, only {folders}")
    tasks = sorted({int(match[2]) for match, _ in found if match[1] == folder})
    if task not in tasks:
        raise ValueError(f"{archive} has no task {task} in folder {folder!r}, only {tasks}")
    return {match[3]: name for match, name in found if match[1] == folder and int(match[2]) == task}


def repeated_questions(part: Dataset, train: Dataset) -> list[bool]:
    """Of every question of ``part``: whether the same question about the same story is in ``train``.

    The tasks are made by a program, and its parts cannot be changed; what a network says of unseen questions can be
    told apart.
    """
    seen = {(tuple(row["story"]), row["question"]) for row in train}
    return [(tuple(row["story"]), row["question"]) in seen for row in part]
