# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Each complex network beside its real counterparts, with a computed verdict: ``choose.md`` and ``comparisons.md``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reporting import markdown_table, read_lines

from experiments.grids.fair import DATASETS
from experiments.paper.protocol import PAPER_NETWORKS
from experiments.tables.choose import COMPLEX, EQUAL, TASKS, WIDTH, Task, classification_groups, image_groups
from experiments.tables.runs import MISSING, Runs, figures, find_runs, mean_std

__all__ = ["TABLES", "Pair", "full_verdict_table", "judged", "verdict", "verdict_table"]

Scores = list[float]  # one for each seed
KINDS = (COMPLEX, EQUAL, WIDTH)


@dataclass(frozen=True)
class Pair:
    """A complex network and its real counterparts on one task, with the scores of the seeds of each kind."""

    label: str
    unit: str
    scores: Mapping[str, Scores]
    digits: int = 1
    lower_is_better: bool = False

    def against(self, kind: str) -> str:
        """Return the verdict and the score of a real counterpart; empty where none was run."""
        real = self.scores.get(kind)
        if not real:
            return ""
        found = verdict(self.scores[COMPLEX], real, self.lower_is_better)
        return f"{found} ({mean_std(real, self.digits)})"

    def row(self) -> list[str]:
        """Return the cells of the table."""
        seeds = " / ".join(str(len(self.scores.get(kind, ()))) for kind in KINDS)
        score = mean_std(self.scores[COMPLEX], self.digits)
        return [self.label, self.unit, score, self.against(EQUAL), self.against(WIDTH), seeds]


def verdict(scores: Sequence[float], baseline: Sequence[float], lower_is_better: bool = False) -> str:
    """Compare two networks by the scores of their seeds.

    Returns:
        ``on par`` if the means differ by at most the larger of the two standard deviations, else ``better`` or
        ``worse``. A single seed has no standard deviation: only equal scores are then on par with it.
    """
    difference = statistics.mean(scores) - statistics.mean(baseline)
    deviation = max((statistics.stdev(values) for values in (scores, baseline) if len(values) > 1), default=0.0)
    if abs(difference) <= deviation:
        return "on par"
    return "better" if (difference < 0) == lower_is_better else "worse"


def judged(verdicts: Sequence[str], one_seed: bool = False) -> str:
    """Judge a claim by the verdicts on its comparisons: reproduced if all are better, not to be told from one seed."""
    if not verdicts:
        return MISSING
    better, on_par = verdicts.count("better"), verdicts.count("on par")
    found = {len(verdicts): "reproduced", 0: "not reproduced"}.get(better, "in part")
    found = "cannot be told from one seed" if one_seed else found
    return f"**{found}**: better in {better} of {len(verdicts)}, on par in {on_par}"


def best_on_validation(rows: Iterable[Runs], measure: Callable[[Runs], Scores], lower_is_better: bool = False) -> Runs:
    """Return the runs with the best mean on validation; an empty list without rows."""
    sign = -1 if lower_is_better else 1
    return max(rows, key=lambda runs: sign * statistics.mean(measure(runs)), default=[])


def mean_over_sets(sets: Sequence[Mapping[str, Scores]]) -> dict[str, Scores]:
    """Average the scores of each kind over data sets, seed by seed, for kinds that every data set has."""
    kinds = set.intersection(*(set(scores) for scores in sets)) if sets else set()
    return {
        kind: [statistics.mean(values) for values in zip(*(scores[kind] for scores in sets), strict=True)]
        for kind in kinds
    }


def task_pair(
    results: Path, task: Task, label: str, unit: str, names: Callable[[str], bool] = lambda row: True
) -> Pair:
    """Compare the networks of a task whose row names are accepted by ``names``."""
    lower = task.lower_is_better
    found = find_runs(results / f"{task.grid}.jsonl", filter(names, task.rows))
    scores = {}
    for kind in KINDS:
        rows = [runs for row, runs in found.items() if task.rows[row][1] == kind]
        best = best_on_validation(rows, lambda runs: figures(runs, task.place.replace("test", "validation")), lower)
        if best:
            scores[kind] = [task.scale * value for value in figures(best, task.place)]
    return Pair(label, unit, scores, task.digits, lower)


def _accuracies(groups: Mapping[str, Sequence[tuple[str, Runs]]], suffix: str) -> dict[str, Scores]:
    """Return the test accuracies, in percent, of the row of each kind that is best on validation."""
    best = {
        kind: best_on_validation([runs for _, runs in rows], lambda runs: figures(runs, f"validation{suffix}"))
        for kind, rows in groups.items()
    }
    return {kind: [100 * value for value in figures(runs, f"test{suffix}")] for kind, runs in best.items()}


def classification_pairs(results: Path) -> list[Pair]:
    """Compare the sentence classifiers, averaged over the data sets."""
    groups = classification_groups(results)
    pairs = []
    for network in (*PAPER_NETWORKS, "Quantum"):
        sets = [
            _accuracies(
                {kind: groups[data, network, kind] for kind in KINDS if (data, network, kind) in groups}, "_accuracy"
            )
            for data in DATASETS
        ]
        sets = [scores for scores in sets if COMPLEX in scores]
        if sets:
            name = "Quantum-like states" if network == "Quantum" else network
            pairs.append(Pair(f"{name}, sentences ({len(sets)} data sets)", "accuracy, %", mean_over_sets(sets)))
    return pairs


def image_pairs(results: Path) -> list[Pair]:
    """Compare dense networks on images and bags of words, averaged over the data sets."""
    groups = image_groups(results)
    kinds = {"complex": COMPLEX, "real": EQUAL}
    data = sorted({name for grid, name, _ in groups if grid == "mlp"})
    sets = [_accuracies({kind: groups["mlp", name, field] for field, kind in kinds.items()}, "") for name in data]
    pair = Pair(f"dense, images and bags of words ({len(sets)} data sets)", "accuracy, %", mean_over_sets(sets))
    return [pair] if sets else []


def memory_pairs(results: Path) -> list[Pair]:
    """Compare memory networks by the mean error over the tasks of bAbI, one score for each restart."""
    errors: dict[str, dict[int, Scores]] = {"complex": {}, "real": {}}
    for run in read_lines(results / "thesis-babi.jsonl"):
        folder, _, row = run["row"].split(",", 2)
        if folder == "en" and row in errors and "test" in run:
            errors[row].setdefault(run["seed"], []).append(100 * (1 - run["test"]))
    scores = {
        kind: [statistics.mean(tasks) for tasks in errors[field].values() if len(tasks) == 20]
        for field, kind in {"complex": COMPLEX, "real": EQUAL}.items()
    }
    return [Pair("memory network, 20 tasks of bAbI", "error, %", scores, 1, True)] if all(scores.values()) else []


def all_pairs(results: Path) -> list[Pair]:
    """Return the comparisons of all networks that were run."""
    pairs = [
        *classification_pairs(results),
        task_pair(results, TASKS["text8"], "Transformer-XL, characters", "bits"),
        task_pair(results, TASKS["wikitext-2"], "Transformer-XL, words", "perplexity"),
        task_pair(results, TASKS["causal-text8"], "Llama, characters", "bits"),
        task_pair(results, TASKS["causal-wikitext-2"], "Llama, subwords", "perplexity"),
        task_pair(results, TASKS["recurrent"], "LSTM, words", "perplexity", lambda row: row.startswith("LM-")),
        task_pair(
            results, TASKS["recurrent"], "linear recurrence, words", "perplexity", lambda row: row.startswith("LRU")
        ),
        task_pair(results, TASKS["translation"], "Transformer, translation", "BLEU"),
        task_pair(
            results,
            TASKS["synconmt"],
            "SynCoNMT-L, translation",
            "BLEU",
            lambda row: row.startswith(("synconmt-l", "luong")),
        ),
        task_pair(
            results,
            TASKS["synconmt"],
            "SynCoNMT-B, translation",
            "BLEU",
            lambda row: row.startswith(("synconmt-b", "bahdanau")),
        ),
        task_pair(results, TASKS["digits"], "spectral Transformer, spoken digits", "accuracy, %"),
        task_pair(results, TASKS["digit-strings"], "spectral Transformer, digit strings (CTC)", "label error, %"),
        *image_pairs(results),
        *memory_pairs(results),
    ]
    return [pair for pair in pairs if COMPLEX in pair.scores]


# Second tasks and networks of a family, which the short table leaves out.
SECOND_TASKS = (
    "Transformer-XL, characters",
    "Llama, characters",
    "LSTM, words",
    "spectral Transformer, digit strings (CTC)",
)


def pair_table(pairs: Iterable[Pair]) -> str:
    """Write a row for each comparison."""
    header = ["network, task", "unit", "complex", "against equal parameters", "against equal width", "seeds"]
    rows = [pair.row() for pair in pairs]
    return markdown_table(header, rows) if rows else MISSING


def verdict_table(results: Path) -> str:
    """Write a row for each network except second tasks and networks of a family."""
    return pair_table(pair for pair in all_pairs(results) if pair.label not in SECOND_TASKS)


def full_verdict_table(results: Path) -> str:
    """Write a row for each network and task."""
    return pair_table(all_pairs(results))


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/choose.md": {"verdicts": verdict_table},
    "docs/comparisons.md": {"all-verdicts": full_verdict_table},
}
