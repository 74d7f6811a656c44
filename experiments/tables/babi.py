# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Reproduction of chapter 4.4 of the thesis: the tables of bAbI in ``docs/thesis.md``."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import markdown_table, read_lines
from scipy.stats import binomtest

from experiments.grids.thesis_memory import SENTENCE_ROWS, WORD_ROWS, WORD_TASKS
from experiments.tables.runs import MISSING, holm, mean_std

__all__ = ["TABLES", "mcnemar"]

Run = dict[str, Any]
Found = Mapping[str, Mapping[int, Sequence[Run]]]  # row -> task -> seeds
SOLVED = 0.95
# Thesis, Table 4.4: the best of ten runs with relu, chosen on the test split.
PRINTED = {
    "R32": (0.7650, 0.8010, 0.8530, 0.9000, 0.9390, 0.5940, 0.6360, 0.1180),
    "C21": (0.5380, 0.8090, 0.8500, 0.8960, 0.7090, 0.6060, 0.6560, 0.1380),
}


def mcnemar(first: str, second: str) -> tuple[int, int, float]:
    """Compare the errors of two networks by McNemar's exact test.

    Args:
        first: errors of the first network, a bit per question, as a hexadecimal number.
        second: errors of the second network.

    Returns:
        questions that only the first and only the second network answers wrongly, and p.
    """
    one, other = int(first, 16), int(second, 16)
    only = (one & ~other).bit_count(), (other & ~one).bit_count()
    return *only, float(binomtest(only[0], sum(only)).pvalue) if any(only) else 1.0


def _find(results: Path, grid: str, prefix: str) -> Found:
    found: dict[str, dict[int, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in sorted(read_lines(results / f"{grid}.jsonl"), key=lambda run: run["seed"]):
        if run["row"].startswith(prefix):
            task, row = run["row"].removeprefix(prefix).split(",", 1)
            found[row][int(task)].append(run)
    return found


def _best(runs: Sequence[Run]) -> Run:
    """Return the restart with the lowest training loss (Sukhbaatar et al. 2015, 4.2)."""
    return min(runs, key=lambda run: run.get("train_loss", float("inf")))


def summary_table(folder: str, results: Path) -> str:
    """Tabulate the mean over the tasks of a folder; each task counts its restart with the lowest training loss."""
    found = _find(results, "thesis-babi", f"{folder},")
    rows = []
    for name in SENTENCE_ROWS:
        if name not in found:
            continue
        best = {task: _best(runs) for task, runs in sorted(found[name].items())}
        scores = {task: run.get("test", 0.0) for task, run in best.items()}
        hits = {task: run["hit_rates"] for task, run in best.items() if task in (1, 2) and "hit_rates" in run}
        rows.append(
            [
                f"`{name}`",
                str(len(scores)),
                str(max(len(runs) for runs in found[name].values())),
                f"{100 * (1 - statistics.mean(scores.values())):.1f}",
                f"{100 * (1 - statistics.mean(run.get('unseen', 0.0) for run in best.values())):.1f}",
                str(sum(score >= SOLVED for score in scores.values())),
                f"{hits[1][0]:.2f}" if 1 in hits else "",
                " / ".join(f"{rate:.2f}" for rate in hits.get(2, ())),
                f"{statistics.mean(run['parameters'] for run in best.values()):,.0f}",
                f"{statistics.median(run['seconds'] for run in best.values()):.0f} s",
            ]
        )
    header = [
        "network",
        "tasks",
        "restarts",
        "mean error",
        "error on unseen questions",
        "solved",
        "hits Q1",
        "hits Q2",
    ]
    return markdown_table([*header, "parameters", "training"], rows) if rows else MISSING


def task_table(folder: str, results: Path) -> str:
    """Tabulate the error of each task in both number fields, with the p-value of their difference."""
    found = _find(results, "thesis-babi", f"{folder},")
    rows = []
    for task in sorted(found.get("real", {}).keys() & found.get("complex", {}).keys()):
        best = [_best(found[field][task]) for field in ("real", "complex")]
        restarts = [
            mean_std((1.0 - run["test"] for run in found[field][task] if "test" in run), 1, 100)
            for field in ("real", "complex")
        ]
        only_real, only_complex, p = mcnemar(*(run["wrong"] for run in best))
        errors = [f"{100 * (1.0 - run['test']):.1f}" for run in best]
        rows.append([str(task), *errors, *restarts, f"{only_real} / {only_complex}", f"{p:.3f}"])
    header = [
        "task",
        "real",
        "complex",
        "real, all restarts",
        "complex, all restarts",
        "wrong in one only",
        "p",
    ]
    return markdown_table(header, rows) if rows else MISSING


def significant_table(results: Path) -> str:
    """List the tasks of both folders that remain significant with Holm's correction over all of them."""
    tests = []
    for folder in ("en-10k", "en"):
        found = _find(results, "thesis-babi", f"{folder},")
        for task in sorted(found.get("real", {}).keys() & found.get("complex", {}).keys()):
            tests.append(
                (folder, task, *mcnemar(*(_best(found[field][task])["wrong"] for field in ("real", "complex"))))
            )
    remains = holm([test[-1] for test in tests])
    rows = [
        [folder, str(task), "complex" if only_real > only_complex else "real", f"{p:.1e}"]
        for (folder, task, only_real, only_complex, p), remaining in zip(tests, remains, strict=True)
        if remaining
    ]
    table = markdown_table(["folder", "task", "better network", "p"], rows)
    return f"{table}\n\nSignificant with Holm's correction over {len(tests)} tasks." if tests else MISSING


def plateau(curve: Sequence[float], height: float = 0.1) -> int | None:
    """Return the first epoch whose validation accuracy exceeds the median of all earlier ones by ``height``.

    At least five epochs must precede it; None if no epoch qualifies.
    """
    for epoch in range(5, len(curve)):
        if curve[epoch] > statistics.median(curve[:epoch]) + height:
            return epoch + 1
    return None


def word_table(results: Path) -> str:
    """Tabulate the word-level networks: accuracy at the lowest validation loss, best test score, epoch of a jump."""
    found = _find(results, "thesis-babi-words", "")
    rows = []
    for task, *printed in zip(WORD_TASKS, *PRINTED.values(), strict=True):
        for name in WORD_ROWS:
            if not (runs := [run for run in found.get(name, {}).get(task, ()) if "test" in run]):
                continue
            best = f"{100 * max(run['test'] for run in runs):.1f}"
            left = " ".join(str(plateau(run["curve"]) or "-") for run in runs)
            said = dict(zip(PRINTED, printed, strict=True)).get(name)
            cells = [f"{mean_std((run[part] for run in runs), 1, 100)}" for part in ("test", "unseen")]
            p = ""
            if name != "R32" and (other := [run for run in found.get("R32", {}).get(task, ()) if "test" in run]):
                p = f"{mcnemar(_best(other)['wrong'], _best(runs)['wrong'])[2]:.3f}"
            rows.append([str(task), name, *cells, best, left, p, f"{100 * said:.1f}" if said else "", str(len(runs))])
    header = ["task", "network", "test", "test, unseen questions", "best test", "epoch of jump", "p against R32"]
    return markdown_table([*header, "thesis", "seeds"], rows) if rows else MISSING


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/thesis.md": {
        **{f"thesis-babi-{folder}": partial(summary_table, folder) for folder in ("en-10k", "en")},
        **{f"thesis-babi-tasks-{folder}": partial(task_table, folder) for folder in ("en-10k", "en")},
        "thesis-babi-significant": significant_table,
        "thesis-babi-words": word_table,
    }
}
