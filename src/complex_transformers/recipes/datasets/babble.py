# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Babble: infant vocalisations and their phonetic transcription, in seven tasks (thesis, section 5.5 and App. A).

The recordings are not public: this reads the folder that the thesis describes and makes tasks from transcriptions.
"""

from __future__ import annotations

import csv
import io
import random
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.extras import (
    check_option,
    require_datasets,
)
from .ipa import is_babble, outside_ipa, simplify_ipa, without_brackets

if TYPE_CHECKING:
    from datasets import DatasetDict

__all__ = [
    "BABBLE_TASKS",
    "babble_targets",
    "load_babble",
    "load_babble_index",
    "split_by_labels",
    "split_by_symbols",
    "write_babble_tasks",
]

# task -> column of babble.csv
BABBLE_TASKS = {
    1: "full_ipa",
    2: "full_ipa_no_brackets",
    3: "full_ipa_no_unclear",
    4: "simplified_ipa",
    5: "simplified_ipa_no_brackets",
    6: "simplified_ipa_no_unclear",
    7: "babble",
}
_FILES = {"train": "train", "validation": "valid", "test": "test"}
_SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
_SPECIAL = ("<pad>", "<unk>")
_LABELS = {"1": 1, "true": 1, "0": 0, "false": 0}
_LABEL_NAMES = "0, 1, False or True"
_TASK_FILES = ("file(s) of the task are", "write_babble_tasks makes all of them from babble.csv")


def babble_targets(full_ipa: str) -> dict[str, str | int]:
    """The columns of all seven tasks from a full transcription (T 5.5.3).

    ``no_brackets`` drops the parentheses around unclear symbols, ``no_unclear`` their contents, too; ``simplified``
    drops diacritics, suprasegmentals, tones, word accents and other symbols; ``babble`` is ``is_babble``.

    Raises:
        ValueError: parentheses that do not match.
    """
    columns: dict[str, str | int] = {}
    for name, text in (("full_ipa", " ".join(full_ipa.split())), ("simplified_ipa", simplify_ipa(full_ipa))):
        columns[name] = " ".join(text.split())
        columns[f"{name}_no_brackets"] = without_brackets(text, contents=True)
        columns[f"{name}_no_unclear"] = without_brackets(text, contents=False)
    return {**columns, "babble": int(is_babble(full_ipa))}


def _open_text(path: Path) -> io.StringIO:
    """A table as ``csv`` reads it, or a ValueError that names the line that is not UTF-8."""
    data = path.read_bytes()
    try:
        return io.StringIO(data.decode("utf-8-sig"), newline="")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: the text is not in UTF-8; save the file in that encoding") from error


def _check_all_there(*groups: tuple[Iterable[Path], str, str]) -> None:
    """Raise once for all that is missing; a group has its files, what they are and the remedy."""
    lines = []
    for paths, what, remedy in groups:
        if missing := sorted({str(path) for path in paths if not path.is_file()}):
            lines.append(f"{len(missing)} {what} missing: {', '.join(missing)}; {remedy}")
    if lines:
        raise FileNotFoundError("\n  ".join(lines))


def load_babble(folder: str | Path, task: int) -> DatasetDict:
    """The fixed parts of a task: ``audio_path`` and ``text``, or ``label`` (1 for babble) in task 7.

    Args:
        folder: of the data set, with ``tasks/babble.task<n>.train.csv``, ``valid`` and ``test``.
        task: 1 to 7.

    Raises:
        FileNotFoundError: files of the task, its symbols among them, or recordings that are missing; all are listed.
        ValueError: another task; a line without a path and a target, or with a label that is none; a recording in two
            parts; symbols that the index lacks.
    """
    check_option("task", task, BABBLE_TASKS)
    folder = Path(folder)
    files = {part: folder / "tasks" / f"babble.task{task}.{name}.csv" for part, name in _FILES.items()}
    tables = [*files.values()] if task == 7 else [*files.values(), *_symbol_files(folder, task)]
    parts: dict[str, dict[str, list[Any]]] = {}
    for part, file in files.items():
        column = "label" if task == 7 else "text"
        parts[part] = {"audio_path": [], column: []}
        if not file.is_file():
            continue
        rows = csv.reader(_open_text(file))
        for row in filter(None, rows):
            if len(row) != 2 or (task == 7 and row[1].strip().lower() not in _LABELS):
                expected = _LABEL_NAMES if task == 7 else "symbols"
                raise ValueError(
                    f"{file}, line {rows.line_num}: expected the path of a recording and {expected}, got {row}"
                )
            parts[part]["audio_path"].append(str(folder / row[0]))
            parts[part][column].append(_LABELS[row[1].strip().lower()] if task == 7 else row[1])
    recordings = [Path(path) for columns in parts.values() for path in columns["audio_path"]]
    _check_all_there((tables, *_TASK_FILES), (recordings, "recording(s) are", "copy them into the folder"))
    _check_disjoint(folder, {part: columns["audio_path"] for part, columns in parts.items()})
    if task != 7:
        index = load_babble_index(folder, task)
        texts = [text for columns in parts.values() for text in columns["text"]]
        if unknown := sorted({symbol for text in texts for symbol in text} - {*index, " "}):
            raise ValueError(
                f"{_symbol_files(folder, task)[0]} lacks symbols of the transcriptions: {unknown}; {_TASK_FILES[1]}"
            )
    datasets = require_datasets()
    return datasets.DatasetDict({name: datasets.Dataset.from_dict(columns) for name, columns in parts.items()})


def _check_disjoint(folder: Path, recordings: Mapping[str, Sequence[str]]) -> None:
    """No recording stands in two parts (T 5.5.4)."""
    places: dict[str, set[str]] = {}
    for part, paths in recordings.items():
        for path in paths:
            places.setdefault(path, set()).add(part)
    if shared := sorted(path for path, of in places.items() if len(of) > 1):
        raise ValueError(
            f"{len(shared)} recording(s) of {folder} are in two parts, such as {shared[0]} in "
            f"{' and '.join(sorted(places[shared[0]]))}: make the task anew from a babble.csv that has each once"
        )


def _symbol_files(folder: Path, task: int) -> list[Path]:
    """The symbols of a transcription task by id, and by number."""
    return [folder / "tasks" / f"babble.task{task}.{name}.txt" for name in ("index", "voc")]


def load_babble_index(folder: str | Path, task: int) -> dict[str, int]:
    """Symbol -> id of a transcription task, from ``tasks/babble.task<n>.index.txt``: one symbol a line, from id 0.

    Raises:
        FileNotFoundError: no such file.
        ValueError: task 7, which has no symbols; ids 0 and 1 that are not ``<pad>`` and ``<unk>``; a symbol twice.
    """
    check_option("task", task, BABBLE_TASKS)
    if task == 7:
        raise ValueError("task 7 has labels and no symbols: there is no index")
    path = _symbol_files(Path(folder), task)[0]
    _check_all_there(([path], *_TASK_FILES))
    symbols = path.read_text(encoding="utf-8").split("\n")
    symbols = symbols[:-1] if not symbols[-1] else symbols
    if tuple(symbols[:2]) != _SPECIAL:
        raise ValueError(f"{path} must begin with {' and '.join(_SPECIAL)}, got {symbols[:2]}")
    if double := [symbol for symbol, count in Counter(symbols).items() if count > 1]:
        raise ValueError(f"{path} has {double} more than once")
    return {symbol: index for index, symbol in enumerate(symbols)}


def split_by_symbols(
    texts: Sequence[str], shares: Mapping[str, float] = _SHARES, seed: int = 0
) -> dict[str, list[int]]:
    """Rows of each part, so that every part has its share of every symbol (T 5.5.4; Sechidis et al. 2011).

    The rows of the rarest symbol are dealt out first, then those of the rarest symbol of the rows that are left, and
    so on. A row goes to the part that still lacks the largest fraction of its symbols.

    Args:
        texts: transcriptions; a symbol is one character, spaces do not count.
        shares: part -> its share; they add up to 1.
        seed: of the order of rows, and of ties.

    Raises:
        ValueError: shares that do not add up to 1.
    """
    if abs(sum(shares.values()) - 1.0) > 1e-6 or min(shares.values()) < 0:
        raise ValueError(f"shares must be positive and add up to 1, got {dict(shares)}")
    counts = [Counter(text.replace(" ", "")) for text in texts]
    total: Counter[str] = Counter()
    rows_of: dict[str, list[int]] = {}
    for row, symbols in enumerate(counts):
        total.update(symbols)
        for symbol in symbols:
            rows_of.setdefault(symbol, []).append(row)
    generator = random.Random(seed)
    # What a part still lacks of what it should have of each symbol, and of rows.
    lacking = {part: dict.fromkeys(total, 1.0) for part, share in shares.items() if share}
    room = dict.fromkeys(lacking, 1.0)
    parts: dict[str, list[int]] = {part: [] for part in shares}
    left = set(range(len(texts)))

    def deal(row: int) -> None:
        """Give a text to the part that lacks its symbols most; equal parts by their room, then by chance."""

        def wish(part: str) -> tuple[float, float, float]:
            wanted = sum(count * lacking[part][each] for each, count in counts[row].items())
            return (wanted, room[part], generator.random())

        part = max(lacking, key=wish)
        parts[part].append(row)
        room[part] -= 1.0 / (shares[part] * len(texts))
        left.discard(row)
        for each, count in counts[row].items():
            lacking[part][each] -= count / (shares[part] * total[each])

    remaining = {symbol: len(rows) for symbol, rows in rows_of.items()}
    while remaining:
        symbol = min(remaining, key=lambda each: (remaining[each], each))
        rows = [row for row in rows_of[symbol] if row in left]
        generator.shuffle(rows)
        for row in rows:
            deal(row)
            for each in counts[row]:
                remaining[each] -= 1
        del remaining[symbol]
    for row in sorted(left):  # without any symbol
        deal(row)
    return {part: sorted(rows) for part, rows in parts.items()}


def split_by_labels(
    labels: Sequence[int], shares: Mapping[str, float] = _SHARES, seed: int = 0
) -> dict[str, list[int]]:
    """Rows of each part; all but the first have as many rows of either label (T 5.5.4).

    Raises:
        ValueError: too few rows of a label.
    """
    generator = random.Random(seed)
    rows_of = {label: [row for row, value in enumerate(labels) if value == label] for label in (0, 1)}
    for rows in rows_of.values():
        generator.shuffle(rows)
    first, *others = shares
    parts: dict[str, list[int]] = {part: [] for part in shares}
    for part in others:
        half = round(shares[part] * len(labels) / 2)
        for label, rows in rows_of.items():
            if len(rows) < half:
                raise ValueError(f"{part} needs {half} rows of label {label}, there are {len(rows)} left")
            parts[part] += rows[:half]
            del rows[:half]
    parts[first] = [row for rows in rows_of.values() for row in rows]
    return {part: sorted(rows) for part, rows in parts.items()}


def write_babble_tasks(
    folder: str | Path, tasks: Sequence[int] = tuple(BABBLE_TASKS), min_count: int = 10, seed: int = 0
) -> dict[int, dict[str, int]]:
    """Make the files of ``tasks/`` from ``babble.csv``, which needs ``file_path`` and ``full_ipa``.

    Columns of other tasks that are missing are derived by ``babble_targets``. Rows whose target is empty, or has a
    symbol that the task has fewer than ``min_count`` times, are left out (T 5.5.4).

    Args:
        folder: of the data set.
        tasks: 1 to 7.
        min_count: of a symbol, counted once over all rows of the task.
        seed: of the split.

    Returns:
        Rows of each part of each task, and ``left_out``.

    Raises:
        FileNotFoundError: no ``babble.csv``.
        ValueError: missing columns, another task; a row of other cells than the heading, without a path, with a path
            of another row, with parentheses that do not match or a label that is none, text that is not UTF-8 (the
            line is named); too few rows for a task.

    Warns:
        UserWarning: characters that are no symbols of the chart, which the simplified tasks leave out.
    """
    folder = Path(folder)
    for task in tasks:
        check_option("task", task, BABBLE_TASKS)
    targets = _read_table(folder / "babble.csv", labels=7 in tasks)
    (folder / "tasks").mkdir(exist_ok=True)
    return {task: _write_task(folder / "tasks", task, targets, min_count, seed) for task in tasks}


def _read_table(table: Path, labels: bool) -> list[dict[str, Any]]:
    """The rows of ``babble.csv`` with the columns of all tasks; ``labels`` looks at those of task 7."""
    _check_all_there(([table], "table(s) are", "copy babble.csv into the folder"))
    reader = csv.DictReader(_open_text(table))
    rows = [(reader.line_num, row) for row in reader]
    if not rows or (missing := {"file_path", "full_ipa"} - set(rows[0][1])):
        raise ValueError(
            f"{table} needs rows with file_path and full_ipa, missing: {sorted(missing) if rows else 'rows'}"
        )
    targets = []
    lines: dict[str, int] = {}
    for line, row in rows:
        try:
            if None in row or None in row.values():
                raise ValueError("the row has other cells than the heading; quote a cell that holds a comma")
            if not row["file_path"].strip():
                raise ValueError("file_path is empty; name the recording or remove the row")
            if (first := lines.setdefault(row["file_path"].strip(), line)) != line:
                raise ValueError(f"{row['file_path']} stands in line {first}, too; keep one of them")
            if labels and row.get("babble", "0").strip().lower() not in _LABELS:
                raise ValueError(
                    f"babble must be {_LABEL_NAMES}, got {row['babble']!r}; correct it or drop the column"
                )
            targets.append({**babble_targets(row["full_ipa"]), **row})
        except ValueError as error:
            raise ValueError(f"{table}, line {line}: {error}") from error
    if outside := sorted(set().union(*(outside_ipa(row["full_ipa"]) for _, row in rows))):
        warnings.warn(
            f"{table} has characters that are not of the chart, which the simplified tasks leave out: {outside}",
            stacklevel=3,
        )
    return targets


def _write_task(
    folder: Path, task: int, rows: Sequence[Mapping[str, Any]], min_count: int, seed: int
) -> dict[str, int]:
    pairs = [(str(row["file_path"]), str(row[BABBLE_TASKS[task]])) for row in rows]
    if task == 7:
        kept = [(path, str(_LABELS[value.strip().lower()])) for path, value in pairs]
        parts = split_by_labels([int(value) for _, value in kept], seed=seed)
    else:
        counts = Counter(symbol for _, text in pairs for symbol in text.replace(" ", ""))
        kept = [(p, text) for p, text in pairs if text and all(counts[s] >= min_count for s in text.replace(" ", ""))]
        parts = split_by_symbols([text for _, text in kept], seed=seed)
    sizes = {**{part: len(numbers) for part, numbers in parts.items()}, "left_out": len(rows) - len(kept)}
    if empty := [part for part, numbers in parts.items() if not numbers]:
        raise ValueError(
            f"task {task} has too few rows, none for {empty}: {sizes}; lower min_count, or add recordings"
        )
    if task != 7:
        counts = Counter(symbol for _, text in kept for symbol in text)
        index, vocabulary = _symbol_files(folder.parent, task)
        index.write_text("".join(f"{s}\n" for s in [*_SPECIAL, *sorted(counts)]), encoding="utf-8")
        lines = "".join(f"{symbol}\t{count}\n" for symbol, count in counts.most_common())
        vocabulary.write_text(lines, encoding="utf-8")
    for part, numbers in parts.items():
        with (folder / f"babble.task{task}.{_FILES[part]}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(kept[number] for number in numbers)
    return sizes
