# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Reproduction of chapter 3 of the thesis: the tables of ``docs/thesis.md``."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import markdown_table, read_lines
from scipy.stats import binomtest

from complex_transformers.analysis import part_coupling
from experiments.grids.thesis import DEPTHS, FAILING, FIELDS
from experiments.grids.thesis_language import (
    GATE_ROWS,
    GATES,
    LANGUAGE_MODELS,
    PRINTED_PARTS,
    READS_AHEAD,
    SCALES,
    STATES,
)
from experiments.tables.runs import (
    MISSING,
    SIZE,
    Column,
    Runs,
    find_runs,
    mean_std,
    parameters,
    run_table,
    score,
    seeds,
)
from experiments.thesis.printed import PRINTED
from experiments.thesis.protocol import ACTIVATIONS, RECIPES

__all__ = ["TABLES"]

Found = Mapping[str, Sequence[dict[str, Any]]]
TEN = 10  # the thesis reports the best of ten runs
LEARNED = 0.5  # accuracy of MNIST and R52 above which a run has learned


def _runs(results: Path, grid: str) -> Found:
    found = defaultdict(list)
    for run in read_lines(results / f"thesis-{grid}.jsonl"):
        found[run["row"]].append(run)
    return found


def _mean(runs: Sequence[dict[str, Any]], name: str = "test") -> str:
    """Return mean and standard deviation at the epoch chosen on validation, in percent."""
    return mean_std((run[name] for run in runs), 1, 100) if runs else ""


def _cell(runs: Sequence[dict[str, Any]]) -> str:
    """Return the mean at the epoch chosen on validation, the best run in brackets, and the number of failed runs."""
    if not runs:
        return ""
    failed = sum(run["diverged"] is not None or run["dead"] for run in runs)
    best = max(100 * run["last_test"] for run in runs)
    return f"{_mean(runs)} ({best:.1f})" + (f", {failed} of {len(runs)} failed" if failed else "")


def _printed(layout: str, *key: Any) -> str:
    value = PRINTED[layout].get(key)
    return "" if value is None else f"{100 * value:.1f}"


def accuracy_table(grid: str, data: str, layout: str, depths: Sequence[int], results: Path) -> str:
    """Tabulate accuracy on one data set by depth and activation in both fields, with the thesis's values."""
    found = _runs(results, grid)
    rows = []
    for k in depths:
        for name in ACTIVATIONS:
            prefix = f"{data},{name},{k}" if grid == "cnn" else f"{data},{layout},{name},{k}"
            mine = [found.get(f"{prefix},{field}", ()) for field in FIELDS]
            if any(mine):
                printed = [_printed(layout, data, name, k, field) for field in FIELDS]
                numbers = max(len(runs) for runs in mine)
                rows.append([str(k), f"`{ACTIVATIONS[name]}`", *map(_cell, mine), str(numbers), *printed])
    header = ["k", "activation", "real", "complex", "seeds", "thesis, real", "thesis, complex"]
    return markdown_table(header, rows) if rows else MISSING


# Activations that train at every depth, by their names in the thesis.
TRAINED = {key: name for key, name in ACTIVATIONS.items() if name in ("split_relu", "modulus")}


def leads(found: Found, data: str, layout: str, activation: str) -> list[float]:
    """Return the lead of the complex network in points of mean test accuracy, for each depth with both fields."""
    pairs = [[found.get(f"{data}{layout},{activation},{k},{field}", ()) for field in FIELDS] for k in DEPTHS]
    means = [[statistics.fmean(run["test"] for run in runs) for runs in pair] for pair in pairs if all(pair)]
    return [100 * (ours - theirs) for theirs, ours in means]


def ahead_table(results: Path) -> str:
    """Tabulate the smallest and largest lead of the complex network over the depths, for claim A-1."""
    grids = {"1": ("mlp", ",1"), "2": ("mlp", ",2"), "3": ("cnn", "")}  # layouts of thesis-mlp; convolutions have one
    rows = []
    for (experiment, (grid, layout)), (key, name) in itertools.product(grids.items(), TRAINED.items()):
        found = _runs(results, grid)
        cells = []
        for data in _DATA:
            points = sorted(leads(found, data, layout, key))
            ends = dict.fromkeys(f"{one:+.1f}" for one in (points[:1] + points[-1:]))
            cells.append(" to ".join(ends))
        if any(cells):
            rows.append([experiment, f"`{name}`", *cells])
    header = ["experiment", "activation", "MNIST", "R52", "CIFAR-10 (cut)"]
    return markdown_table(header, rows) if rows else MISSING


def sign_test_table(results: Path) -> str:
    """Count the rows of experiments 1 and 2 where the real network is better, with a sign test, for claim A-1."""
    found = _runs(results, "mlp")
    groups = {"MNIST": ("mnist",), "R52": ("r52",), "CIFAR-10 (cut)": ("cifar10-cut",)}
    groups["R52 and CIFAR-10 (cut)"] = ("r52", "cifar10-cut")
    rows = []
    for name, sets in groups.items():
        keys = itertools.product(sets, (",1", ",2"), TRAINED)
        points = [lead for key in keys for lead in leads(found, *key)]
        if points:
            real = sum(lead < 0 for lead in points)
            rows.append([name, str(real), str(len(points)), f"{binomtest(real, len(points)).pvalue:.3f}"])
    header = ["data", "rows where the real network is better", "rows", "p"]
    return markdown_table(header, rows) if rows else MISSING


def batch_norm_table(results: Path) -> str:
    """Tabulate convolutional networks on cut CIFAR-10 with batch norm and dropout: validation and test."""
    found = _runs(results, "cnn")
    rows = []
    for label, suffix in (("none", ""), ("batch", ",batch norm,dropout 0"), ("batch", ",batch norm,dropout 0.3")):
        mine = [found.get(f"cifar10-cut,relu,2,{field}{suffix}", ()) for field in FIELDS]
        if any(mine):
            figures = [_mean(runs, part) for runs in mine for part in ("validation", "test")]
            rows.append([label, suffix.rpartition(" ")[2] or "0", *figures, str(max(map(len, mine)))])
    columns = [f"{field}, {part}" for field in FIELDS for part in ("validation", "test")]
    return markdown_table(["norm", "dropout", *columns, "seeds"], rows) if rows else MISSING


def recipe_table(results: Path) -> str:
    """Tabulate convolutional networks on cut CIFAR-10 with other training recipes, in both fields."""
    found = _runs(results, "cnn-recipes")
    rows = []
    for name, recipe in itertools.product(("split_relu", "modulus"), RECIPES):
        mine = [found.get(f"{name},{field},{recipe}", ()) for field in FIELDS]
        if any(mine):
            figures = [_mean(runs, part) for runs in mine for part in ("train", "validation", "test")]
            numbers = sorted({len(runs) for runs in mine if runs})
            rows.append([f"`{name}`", recipe, *figures, " and ".join(map(str, numbers))])
    columns = [f"{field}, {part}" for field in FIELDS for part in ("train", "validation", "test")]
    return markdown_table(["activation", "recipe", *columns, "seeds"], rows) if rows else MISSING


def _failed(runs: Sequence[dict[str, Any]]) -> str:
    if not runs:
        return ""
    diverged = sum(run["diverged"] is not None for run in runs)
    dead = sum(run["dead"] and run["diverged"] is None for run in runs)
    parts = [f"{count} {word}" for count, word in ((diverged, "diverged"), (dead, "dead")) if count]
    median = 100 * statistics.median(run["test"] for run in runs)
    return f"{median:.1f}" + (f", **{', '.join(parts)}**" if parts else "")


def failures_table(results: Path) -> str:
    """Tabulate the failures over many seeds of every activation and depth, with and without a norm."""
    found = _runs(results, "failures")
    rows = []
    for norm in ("none", "layer"):
        for field in ("complex", "real"):
            for name in FAILING:
                runs = [found.get(f"{norm},{name},{k},{field}", ()) for k in DEPTHS]
                if any(runs):
                    rows.append([norm, field, f"`{name}`", str(max(map(len, runs))), *map(_failed, runs)])
    header = ["norm", "number field", "activation", "seeds", *(f"k = {k}" for k in DEPTHS)]
    return markdown_table(header, rows) if rows else MISSING


def best_of_ten_table(results: Path) -> str:
    """Tabulate the mean of twenty runs and the best of ten: complex networks without a norm, last epoch."""
    found = _runs(results, "failures")
    rows = []
    for name in FAILING:
        runs = [found.get(f"none,{name},{k},complex", ()) for k in DEPTHS]
        if all(runs):
            best = [max(run["last_test"] for run in each if run["seed"] < TEN) for each in runs]
            cells = [f"{_mean(each, 'last_test')} ({100 * top:.1f})" for each, top in zip(runs, best, strict=True)]
            rows.append([f"`{name}`", str(len(runs[0])), *cells])
    header = ["activation", "seeds", *(f"k = {k}" for k in DEPTHS)]
    return markdown_table(header, rows) if rows else MISSING


def causes_table(data: str, results: Path) -> str:
    """Tabulate mean accuracy and the number of runs that learned, by input scale, initializer and norm."""
    found = _runs(results, "causes")
    settings = Counter(tuple(row.split(",")[4:]) for row in found if row.startswith(f"{data},"))
    rows = []
    for setting in sorted(settings):
        for name in ("split_relu", "modulus"):
            for field in ("complex", "real"):
                cells = []
                for k in DEPTHS:
                    runs = found.get(",".join((data, name, str(k), field, *setting)), ())
                    learned = sum(run["test"] > LEARNED for run in runs)
                    cells.append(f"{_mean(runs)}, {learned}/{len(runs)}" if runs else "")
                rows.append([*setting, f"`{name}`", field, *cells])
    header = ["input scale", "initializer", "norm", "activation", "number field", *(f"k = {k}" for k in DEPTHS)]
    return markdown_table(header, rows) if rows else MISSING


def inputs_table(results: Path) -> str:
    """Tabulate the same network on pixels, their spectrum and their phases."""
    found = _runs(results, "inputs")
    rows = []
    for transform in ("none", "fft2", "phase"):
        for k in (0, 2):
            names = [f"mnist,mlp,{transform},{k},{field}" for field in FIELDS]
            if all(name in found for name in names):
                cells = [f"{_mean(found[name])} ({found[name][0]['parameters']:,})" for name in names]
                rows.append([transform, str(k), *cells, _seeds(found, names)])
    header = ["`input_transform`", "k", "real (parameters)", "complex (parameters)", "seeds"]
    return markdown_table(header, rows) if rows else MISSING


def _seeds(found: Found, names: Sequence[str]) -> str:
    return str(min(len(found[name]) for name in names))


def labels_table(results: Path) -> str:
    """Tabulate the multi-label heads."""
    found = _runs(results, "labels")
    rows = []
    for row, runs in found.items():
        field, head = row.split(",")
        figures = [_mean(runs, name) for name in ("train", "validation", "test")]
        rows.append([field, f"`{head}`", *figures, str(len(runs))])
    return (
        markdown_table(["number field", "`readout`", "train", "validation", "test", "seeds"], rows)
        if rows
        else MISSING
    )


def synthetic_table(results: Path) -> str:
    """Tabulate the quadrant task with complex and with real inputs."""
    found = _runs(results, "synthetic")
    rows = []
    for kind in ("complex", "real"):
        for name, activation in ACTIVATIONS.items():
            names = [f"{kind},{name},{field}" for field in FIELDS]
            if all(row in found for row in names):
                figures = [_mean(found[row], part) for row in names for part in ("train", "test")]
                rows.append([kind, f"`{activation}`", *figures, _seeds(found, names)])
    header = ["inputs", "activation", "real, train", "real, test", "complex, train", "complex, test", "seeds"]
    return markdown_table(header, rows) if rows else MISSING


def dynamics_table(results: Path) -> str:
    """Tabulate the correlation of the imaginary and real parts of the first weight over training."""
    found = _runs(results, "dynamics")
    rows = []
    for row, runs in found.items():
        if len(runs) > 1:
            coupling = part_coupling(*([run[part] for run in runs] for part in ("real", "imag")))
            means = [statistics.mean(run[part][-1] for run in runs) for part in ("real", "imag")]
            figures = [f"{coupling.within:.3f}", f"{coupling.between:.3f}", f"{coupling.p_value:.4f}"]
            rows.append([row, str(coupling.runs), *figures, *(f"{value:.4f}" for value in means)])
    header = ["task", "seeds", "r within", "r between", "p", "mean of abs(Re W)", "mean of abs(Im W)"]
    return markdown_table(header, rows) if rows else MISSING


_DATA = ("mnist", "r52", "cifar10-cut")


def _exponential(part: str) -> Column:
    """Return a column of exp(loss) of a split; not a perplexity if the network sees future tokens."""
    return lambda runs: mean_std((math.exp(run[part]["loss"]) for run in runs), 1)


def _place(places: slice) -> Column:
    """Return a column of the geometric mean of ``perplexity_by_position`` over positions in a window."""

    def column(runs: Runs) -> str:
        curves = [run["perplexity_by_position"][places] for run in runs if "perplexity_by_position" in run]
        return mean_std((statistics.geometric_mean(curve) for curve in curves), 1) if curves else ""

    return column


def language_model_table(results: Path) -> str:
    """Tabulate language models on WikiText-2; models that see future tokens are marked."""
    columns = {
        "seeds": seeds,
        "validation": _exponential("validation"),
        "test": _exponential("test"),
        "bits per character": score("test/bits_per_character", 3, 1),
        "positions 1 to 5": _place(slice(None, 5)),
        "positions 31 to 35": _place(slice(-5, None)),
        "parameters": parameters,
        "training": SIZE["training"],
    }
    labels = {
        row: [f"{row} (**sees future tokens**)" if row in READS_AHEAD else row, f"`{options}`" if options else "none"]
        for row, options in LANGUAGE_MODELS.items()
    }
    found = find_runs(results / "thesis-language-models.jsonl", LANGUAGE_MODELS)
    return run_table(["row", "options"], columns, labels, found) if found else MISSING


def language_gates_table(results: Path) -> str:
    """Tabulate complex LSTM language models after 500 steps: validation perplexity by gate and embedding scale."""
    found = find_runs(results / "thesis-language-gates.jsonl", GATE_ROWS)
    column = _exponential("validation")
    rows = [
        [f"`{gate}`", *(column(found[row]) if (row := f"{gate},{scale}") in found else "" for scale in SCALES)]
        for gate in GATES
    ]
    return markdown_table(["gate", *(f"embedding scale {scale}" for scale in SCALES)], rows) if found else MISSING


def language_parts_table(results: Path) -> str:
    """Tabulate the ablation of the printed complex LSTM language model after 500 steps."""
    found = find_runs(results / "thesis-language-printed.jsonl", PRINTED_PARTS)
    labels = {row: [row, f"`{options}`" if options else "none"] for row, options in PRINTED_PARTS.items()}
    columns = {"validation": _exponential("validation"), "parameters": parameters, "training": SIZE["training"]}
    return run_table(["settings as printed", "options"], columns, labels, found) if found else MISSING


def language_states_table(results: Path) -> str:
    """Tabulate perplexity and largest state, evaluated from zero states and from training states."""
    found = find_runs(results / "thesis-language-states.jsonl", STATES)

    def perplexity(start: str) -> Column:
        return lambda runs: mean_std((math.exp(run[f"loss_from_{start}"]) for run in runs), 1)

    columns = {
        "seeds": seeds,
        "from zero states": perplexity("empty"),
        "from training states": perplexity("training"),
        "largest training state": score("largest_of_training", 0, 1),
        "largest state after the text, from zero": score("largest_from_empty", 0, 1),
    }
    return run_table(["settings as printed"], columns, {row: [row] for row in STATES}, found) if found else MISSING


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/thesis.md": {
        **{
            f"thesis-{layout}-{data}": partial(accuracy_table, "mlp", data, layout, DEPTHS)
            for layout in "12"
            for data in _DATA
        },
        **{
            f"thesis-cnn-{data}": partial(accuracy_table, "cnn", data, "cnn", (0, 2))
            for data in ("mnist", "cifar10-cut")
        },
        "thesis-ahead": ahead_table,
        "thesis-sign-test": sign_test_table,
        "thesis-cnn-norm": batch_norm_table,
        "thesis-cnn-recipes": recipe_table,
        "thesis-failures": failures_table,
        "thesis-best-of-ten": best_of_ten_table,
        **{f"thesis-causes-{data}": partial(causes_table, data) for data in ("mnist-5000", "r52")},
        "thesis-inputs": inputs_table,
        "thesis-labels": labels_table,
        "thesis-synthetic": synthetic_table,
        "thesis-dynamics": dynamics_table,
        "thesis-language-models": language_model_table,
        "thesis-language-gates": language_gates_table,
        "thesis-language-printed": language_parts_table,
        "thesis-language-states": language_states_table,
    }
}
