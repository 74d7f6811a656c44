# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Draw figures of the sources and of quantization-aware training into ``docs/images`` from ``experiments/results``.

    python -m experiments.figures                    # all of them
    python -m experiments.figures weights            # weights during training: Thesis, Figures 3.3, 3.7 and 3.8
    python -m experiments.figures quadrants          # the synthetic task: Thesis, Figures 3.5 and 3.6
    python -m experiments.figures words              # words by frequency: ComplexOrder, Table 7
    python -m experiments.figures lengths            # BLEU by sentence length: SynCoNMT, Figure 4
    python -m experiments.figures bits               # the loss of quantization-aware training

``quadrants`` trains two networks for some seconds; nothing else is trained.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from benchmarks.reporting import DOCS, RESULTS, read_lines

from complex_transformers.analysis.plotting import legend_beside, new_figure
from complex_transformers.nn import sinusoidal_frequencies
from experiments.grids import GRIDS
from experiments.paper.protocol import NETWORKS
from experiments.tables.bits import what
from experiments.tables.runs import find_runs
from experiments.thesis.data import Task
from experiments.thesis.protocol import begin, train

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Drawing"]

IMAGES = DOCS / "images"
SEEDS = 3  # runs whose weights are drawn
WORDS = 20  # words drawn at each end
FEWEST = 10  # sentences of a group of lengths
TASKS = {
    "mnist-5000": "MNIST (real input)",
    "quadrant-real": "synthetic task, real input",
    "quadrant-complex": "synthetic task, complex input",
}
TRANSLATORS = {
    "synconmt-b-projected": "SynCoNMT-B",
    "bahdanau": "Bahdanau, equal stored width",
    "bahdanau-relations": "Bahdanau with relations",
    "bahdanau-equal-parameters": "Bahdanau, equal parameters",
}
CLASSES = ("near 0", "0° to 90°", "90° to 180°", "180° to 270°", "270° to 360°")
SIGNS = ("near 0", "positive", "negative")


def weights(results: Path) -> Figure:
    """Plot mean |Re W| and mean |Im W| of the first layer over the epochs; a color is a run."""
    found = find_runs(results / "thesis-dynamics.jsonl", TASKS)
    figure = new_figure(10.0, 2.8)
    for axis, (task, runs) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        for index, run in enumerate(runs[:SEEDS]):
            axis.plot(run["real"], color=f"C{index}", label=f"|Re W|, seed {run['seed']}")
            axis.plot(run["imag"], color=f"C{index}", linestyle="--", label=f"|Im W|, seed {run['seed']}")
        axis.set(title=TASKS[task], xlabel="epoch")
    legend_beside(axis)
    return figure


@torch.no_grad()
def answers(task: Task, model: torch.nn.Module) -> torch.Tensor:
    """Return the classes that a network predicts for the test split."""
    return model.eval()(**task.test.inputs).logits.argmax(dim=-1)


def draw_sums(axis: Axes, task: Task, predicted: torch.Tensor, names: Sequence[str]) -> None:
    """Plot the sum of every test example, colored by its class; errors are crossed out."""
    total = task.test.inputs["pixel_values"].sum(dim=(2, 3))
    real = total[:, 0]
    spread = torch.rand(len(real), generator=torch.Generator().manual_seed(0)) - 0.5
    imag = total[:, 1] if total.shape[1] == 2 else spread
    for label, name in enumerate(names):
        chosen = task.test.labels == label
        axis.scatter(real[chosen], imag[chosen], s=4, label=name)
    wrong = predicted != task.test.labels
    axis.scatter(real[wrong], imag[wrong], s=18, marker="x", color="black", linewidths=0.8, label="error")
    axis.set_title(f"{100 * (~wrong).double().mean():.1f} % correct")


def quadrants(results: Path) -> Figure:
    """Train a complex network on each kind of input, and plot the sums of the test split with its errors."""
    figure = new_figure(10.0, 3.6)
    for axis, (kind, names) in zip(figure.subplots(1, 2), {"complex": CLASSES, "real": SIGNS}.items(), strict=True):
        cell = GRIDS["thesis-synthetic"].rows[f"{kind},relu,complex"]
        task, model = begin(cell, 0)
        train(cell, task, 0, model)
        draw_sums(axis, task, answers(task, model), names)
        axis.set(xlabel="Re of the sum" if kind == "complex" else "sum (height at random)")
        legend_beside(axis)
    figure.axes[0].set(ylabel="Im of the sum", aspect="equal")
    figure.axes[1].set_yticks([])
    return figure


def words(results: Path) -> Figure:
    """Plot delta of the words with the highest and the lowest frequency, beside its initial value."""
    (found,) = read_lines(results / "paper-table7.jsonl")
    ends = {"highest": found["words"][:WORDS], "lowest": found["words"][-WORDS:][::-1]}
    figure = new_figure(9.0, 4.2)
    for axis, (end, pairs) in zip(figure.subplots(1, 2, sharex=True), ends.items(), strict=True):
        axis.plot([delta for _, delta in pairs], range(WORDS), "o")
        axis.set_yticks(range(WORDS), [word for word, _ in pairs], fontsize="small")
        axis.axvline(initial_delta(), color="grey", linestyle=":")
        axis.invert_yaxis()
        axis.set(title=f"{end} frequency", xlabel="delta, rad per position")
    return figure


def initial_delta() -> float:
    """Return the mean of the initial frequencies of the Transformer of Table 7, equal for all words."""
    return float(sinusoidal_frequencies(NETWORKS["Transformer"].sizes["hidden_size"] // 2).mean())


def lengths(results: Path) -> Figure:
    """Plot BLEU over the source length, mean over seeds, for groups of at least ``FEWEST`` sentences."""
    figure = new_figure(7.0, 3.0)
    axis = figure.subplots()
    for row, runs in find_runs(results / "synconmt.jsonl", TRANSLATORS).items():
        groups = [group for group in runs[0]["bleu_by_length"] if group["sentences"] >= FEWEST]
        scores = [[run["bleu_by_length"][index]["bleu"] for run in runs] for index in range(len(groups))]
        deviations = [statistics.stdev(values) if len(values) > 1 else math.nan for values in scores]
        means = [*map(statistics.fmean, scores)]
        axis.errorbar(range(len(means)), means, deviations, marker="o", capsize=3, label=TRANSLATORS[row])
    names = [f"{group['shortest']} to {group['longest']}\n({group['sentences']})" for group in groups]
    axis.set_xticks(range(len(groups)), names)
    axis.set(xlabel="words of the source (sentences)", ylabel="BLEU")
    legend_beside(axis)
    return figure


def bits(results: Path) -> Figure:
    """Plot the training loss of quantized checkpoints over the steps, the mean of ten steps for each point."""
    figure = new_figure(9.0, 3.2)
    axis = figure.subplots()
    lines = read_lines(results / "lift-training.jsonl")
    trained = [line for line in lines if not line["settings"].get("distilled")]  # those have another loss
    for line in sorted(trained, key=lambda line: (line["bits"], line["row"])):
        every = line["settings"]["steps"] // len(line["curve"])
        steps = range(every, every * len(line["curve"]) + 1, every)
        axis.plot(steps, line["curve"], label=f"{what(line['settings'])}: {line['bits']:.2f} bits")
    axis.set(xlabel="step of 512 tokens", ylabel="cross-entropy")
    legend_beside(axis)
    return figure


@dataclass(frozen=True)
class Drawing:
    """A figure, the name of its file in ``docs/images``, and the page that shows it."""

    draw: Callable[[Path], Figure]
    file: str
    page: str


FIGURES = {
    "weights": Drawing(weights, "thesis-weights.png", "docs/thesis.md"),
    "quadrants": Drawing(quadrants, "thesis-quadrants.png", "docs/thesis.md"),
    "words": Drawing(words, "paper-table7.png", "docs/paper.md"),
    "lengths": Drawing(lengths, "synconmt-lengths.png", "examples/syntax-translation/README.md"),
    "bits": Drawing(bits, "lift-training.png", "docs/quantization.md"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=FIGURES, help="default: all")
    chosen = parser.parse_args(arguments).name
    for name in FIGURES if chosen is None else [chosen]:
        path = IMAGES / FIGURES[name].file
        FIGURES[name].draw(RESULTS).savefig(path, dpi=80)
        print(f"saved: {path}")


if __name__ == "__main__":
    main()
