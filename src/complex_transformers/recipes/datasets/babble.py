# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Babble: infant vocalizations and their phonetic transcription, in seven tasks (thesis, section 5.5 and App. A).

The recordings are not public: this reads the folder that the thesis describes and makes the tasks from transcriptions.
"""

from __future__ import annotations

import csv
import random
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.extras import check_option, require_datasets
from ...data.files import named
from .ipa import is_babble, outside_ipa, simplify_ipa, without_brackets
from .splits import separate

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


def babble_targets(full_ipa: str) -> dict[str, str | int]:
    """Compute the columns of all seven tasks from a full transcription (T 5.5.3).

    ``no_brackets`` drops the parentheses around unclear symbols, ``no_unclear`` also their contents; ``simplified``
    drops diacritics, suprasegmentals, tones, word accents and other symbols; ``babble`` is ``is_babble``.

    Raises:
        ValueError: unbalanced parentheses.
    """
    columns: dict[str, str | int] = {}
    for name, text in (("full_ipa", " ".join(full_ipa.split())), ("simplified_ipa", simplify_ipa(full_ipa))):
        columns[name] = " ".join(text.split())
        columns[f"{name}_no_brackets"] = without_brackets(text, contents=True)
        columns[f"{name}_no_unclear"] = without_brackets(text, contents=False)
    return {**columns, "babble": int(is_babble(full_ipa))}


def load_babble(folder: str | Path, task: int) -> DatasetDict:
    """Load the fixed splits of a task: ``audio_path`` and ``text``, or ``label`` (1 for babble) in task 7.

    Args:
        folder: the data set, with ``tasks/babble.task<n>.train.csv``, ``valid`` and ``test``.
        task: 1 to 7.

    Raises:
        FileNotFoundError: a missing file of the task; missing recordings, all listed.
        KeyError, ValueError: another task; a broken line; a recording in two splits; symbols that the index lacks.
    """
    check_option("task", task, BABBLE_TASKS)
    Dataset, column, splits = require_datasets().Dataset, "label" if task == 7 else "text", {}
    for split, name in _FILES.items():
        path = Path(folder) / "tasks" / f"babble.task{task}.{name}.csv"
        with named(path), path.open(encoding="utf-8-sig", newline="") as file:
            paths, targets = zip(*filter(None, csv.reader(file)), strict=True)
            values = [_LABELS[target.strip().lower()] for target in targets] if task == 7 else targets
        splits[split] = Dataset.from_dict({"audio_path": [str(Path(folder) / path) for path in paths], column: values})
    recordings = [path for split in splits.values() for path in split["audio_path"]]
    if missing := sorted(path for path in recordings if not Path(path).is_file()):
        raise FileNotFoundError(f"audio_path must be existing files, got {len(missing)} missing: {', '.join(missing)}")
    separate(splits, "error", ["audio_path"], "recording")  # T 5.5.4
    if task != 7:
        texts = [text for split in splits.values() for text in split["text"]]
        if unknown := sorted(set("".join(texts)) - {*load_babble_index(folder, task), " "}):
            raise ValueError(f"index of task {task} must have all symbols, got no {unknown}. Use write_babble_tasks.")
    return require_datasets().DatasetDict(splits)


def _symbol_files(folder: Path, task: int) -> list[Path]:
    """Return the files with the symbols of a transcription task by id, and by frequency."""
    return [folder / "tasks" / f"babble.task{task}.{name}.txt" for name in ("index", "voc")]


def load_babble_index(folder: str | Path, task: int) -> dict[str, int]:
    """Load symbol -> id of a transcription task from ``tasks/babble.task<n>.index.txt``: one symbol a line, from id 0.

    Raises:
        FileNotFoundError: no such file; task 7 has none.
    """
    symbols = _symbol_files(Path(folder), task)[0].read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return {symbol: index for index, symbol in enumerate(symbols)}


def split_by_symbols(
    texts: Sequence[str], shares: Mapping[str, float] = _SHARES, seed: int = 0
) -> dict[str, list[int]]:
    """Assign rows to splits so that each has its share of every symbol (T 5.5.4; Sechidis et al. 2011).

    Rows with the rarest symbol are assigned first, then rows with the rarest symbol among the remaining rows, and so
    on. A row goes to the split that still lacks the largest fraction of its symbols.

    Args:
        texts: transcriptions; a symbol is one character, spaces do not count.
        shares: split -> its share; they add up to 1.
        seed: seed of the order of rows and of ties.
    """
    counts = [Counter(text.replace(" ", "")) for text in texts]
    total: Counter[str] = Counter()
    rows_of: dict[str, list[int]] = {}
    for row, symbols in enumerate(counts):
        total.update(symbols)
        for symbol in symbols:
            rows_of.setdefault(symbol, []).append(row)
    generator = random.Random(seed)
    # Fraction of its share of each symbol, and of rows, that a split still lacks.
    lacking = {split: dict.fromkeys(total, 1.0) for split, share in shares.items() if share}
    room = dict.fromkeys(lacking, 1.0)
    splits: dict[str, list[int]] = {split: [] for split in shares}
    left = set(range(len(texts)))

    def deal(row: int) -> None:
        """Assign a text to the split that lacks its symbols most; ties by missing rows, then at random."""

        def priority(split: str) -> tuple[float, float, float]:
            wanted = sum(count * lacking[split][each] for each, count in counts[row].items())
            return (wanted, room[split], generator.random())

        split = max(lacking, key=priority)
        splits[split].append(row)
        room[split] -= 1.0 / (shares[split] * len(texts))
        left.discard(row)
        for each, count in counts[row].items():
            lacking[split][each] -= count / (shares[split] * total[each])

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
    for row in sorted(left):  # texts without symbols
        deal(row)
    return {split: sorted(rows) for split, rows in splits.items()}


def split_by_labels(
    labels: Sequence[int], shares: Mapping[str, float] = _SHARES, seed: int = 0
) -> dict[str, list[int]]:
    """Assign rows to splits; all but the first have equally many rows of both labels (T 5.5.4).

    Raises:
        ValueError: too few rows of a label.
    """
    generator = random.Random(seed)
    rows_of = {label: [row for row, value in enumerate(labels) if value == label] for label in (0, 1)}
    for rows in rows_of.values():
        generator.shuffle(rows)
    first, *others = shares
    splits: dict[str, list[int]] = {split: [] for split in shares}
    for split in others:
        half = round(shares[split] * len(labels) / 2)
        for label, rows in rows_of.items():
            if len(rows) < half:
                raise ValueError(f"split {split} must have {half} rows of label {label}, got {len(rows)}.")
            splits[split] += rows[:half]
            del rows[:half]
    splits[first] = [row for rows in rows_of.values() for row in rows]
    return {split: sorted(rows) for split, rows in splits.items()}


def write_babble_tasks(
    folder: str | Path, tasks: Sequence[int] = tuple(BABBLE_TASKS), min_count: int = 10, seed: int = 0
) -> dict[int, dict[str, int]]:
    """Write the files of ``tasks/`` from ``babble.csv``, which needs the columns ``file_path`` and ``full_ipa``.

    Missing columns of other tasks are derived by ``babble_targets``. Rows with an empty target, or with a symbol that
    occurs fewer than ``min_count`` times in the task, are left out (T 5.5.4).

    Args:
        folder: the data set.
        tasks: 1 to 7.
        min_count: smallest frequency of a symbol, counted once over all rows of the task.
        seed: seed of the splits.

    Returns:
        Number of rows of each split of each task, and ``left_out``.

    Raises:
        FileNotFoundError: no ``babble.csv``.
        KeyError, ValueError: missing columns, another task; a row with more or fewer cells than the header, the path
            of another row, unbalanced parentheses, an unknown label; too few rows for a task.

    Warns:
        UserWarning: characters outside the IPA chart, which the simplified tasks leave out.
    """
    folder = Path(folder)
    targets = _read_targets(folder / "babble.csv")
    (folder / "tasks").mkdir(exist_ok=True)
    return {task: _write_task(folder / "tasks", task, targets, min_count, seed) for task in tasks}


def _read_targets(table: Path) -> list[dict[str, Any]]:
    """Read ``babble.csv`` and add missing columns."""
    with named(table), table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
        targets = [{**babble_targets(row["full_ipa"]), **row} for row in rows]
    counts = Counter(row["file_path"] for row in rows)
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values() or counts[row["file_path"]] > 1:
            raise ValueError(
                f"row {number} of {table} must have a unique file_path and one cell per column, got {row}."
            )
    if outside := sorted(set().union(*(outside_ipa(row["full_ipa"]) for row in rows))):
        warnings.warn(
            f"{table} has characters outside the IPA chart, which the simplified tasks leave out: {outside}",
            stacklevel=3,
        )
    return targets


def _write_task(
    folder: Path, task: int, rows: Sequence[Mapping[str, Any]], min_count: int, seed: int
) -> dict[str, int]:
    pairs = [(str(row["file_path"]), str(row[BABBLE_TASKS[task]])) for row in rows]
    if task == 7:
        kept = [(path, str(_LABELS[value.strip().lower()])) for path, value in pairs]
        splits = split_by_labels([int(value) for _, value in kept], seed=seed)
    else:
        counts = Counter(symbol for _, text in pairs for symbol in text.replace(" ", ""))
        kept = [(p, text) for p, text in pairs if text and all(counts[s] >= min_count for s in text.replace(" ", ""))]
        splits = split_by_symbols([text for _, text in kept], seed=seed)
    sizes = {**{split: len(numbers) for split, numbers in splits.items()}, "left_out": len(rows) - len(kept)}
    if not all(splits.values()):
        raise ValueError(f"task {task} must have rows in every split, got {sizes}. Add recordings.")
    if task != 7:
        counts = Counter(symbol for _, text in kept for symbol in text)
        index, vocabulary = _symbol_files(folder.parent, task)
        index.write_text("".join(f"{s}\n" for s in [*_SPECIAL, *sorted(counts)]), encoding="utf-8")
        lines = "".join(f"{symbol}\t{count}\n" for symbol, count in counts.most_common())
        vocabulary.write_text(lines, encoding="utf-8")
    for split, numbers in splits.items():
        with (folder / f"babble.task{task}.{_FILES[split]}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(kept[number] for number in numbers)
    return sizes
