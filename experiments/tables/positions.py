# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of positions in language models, and the picture of perplexity by position.

    python -m experiments.tables.positions [--results FOLDER] [--output_file FILE]

The picture goes to ``docs/images/positions-512.png`` unless another file is given.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.reporting import DOCS, RESULTS, markdown_table, read_lines

from complex_transformers.analysis.plotting import legend_beside, new_figure
from experiments.grids.positions import LONG_ROWS, PAIR, RATES_OF, ROWS
from experiments.tables.runs import MISSING, Runs, find_runs, machines, mean_std
from experiments.tables.verdicts import judged, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TABLES", "claims_table", "fields_table", "long_table", "mean_loss", "plot_ranges", "position_table"]

Curve = Mapping[str, float]  # last position of a range -> perplexity
Scores = list[float]  # one for each seed

DATA = {"text8": "text8, bits per character", "wikitext-2": "WikiText-2, perplexity"}
NETWORKS = {
    "complex": "complex",
    "real": "real, equal width",
    "real-equal-parameters": "real, equal parameters",
}
POSITIONS = {
    "rotary": "rotary (RoPE)",
    "polar": "polar (PoPE)",
    "polar_word": "polar_word",
    "equal_heads": "rotary, imaginary heads, equal heads (RoPE++ EH)",
    "equal_cache": "rotary, imaginary heads, equal cache (RoPE++ EC)",
    "none": "no positions",
}
SCALED = {"as trained": "", "linear": ", linear at inference", "yarn": ", YaRN at inference"}
LENGTHS = (256, 512, 1024, 2048, 4096)
LONG_LENGTHS = tuple(2 * length for length in LENGTHS)


def mean_loss(curve: Curve, last: int) -> float:
    """Return the mean loss in nats per token over the positions last/2 + 1 to last."""
    ends = sorted(map(int, curve))
    sizes = {end: end - start for start, end in zip([0, *ends], ends, strict=False) if last // 2 < end <= last}
    return sum(size * math.log(curve[str(end)]) for end, size in sizes.items()) / sum(sizes.values())


def scores(data: str, runs: Runs, scaled: str, last: int) -> Scores:
    """Return bits per character or the perplexity per token of every seed, up to a last position."""
    losses = [mean_loss(run["perplexity_by_range"][scaled], last) for run in runs]
    return [loss / math.log(2) if data == "text8" else math.exp(loss) for loss in losses]


def _cells(data: str, runs: Runs, scaled: str, lengths: Sequence[int]) -> list[str]:
    return [mean_std(scores(data, runs, scaled, last), 3 if data == "text8" else 1) for last in lengths]


def _ranges(lengths: Sequence[int]) -> list[str]:
    """Return the header of the columns."""
    return [f"{lengths[0] // 2 + 1:,} to {lengths[0]:,} (trained)", *(f"to {last:,}" for last in lengths[1:])]


def _curves(found: Mapping[str, Runs]) -> Iterator[tuple[str, str, str, str, Runs]]:
    """Yield data, network, positions, scaling at inference and runs of every curve."""
    for row, runs in found.items():
        for scaled in runs[0]["perplexity_by_range"]:
            data, network, positions = row.split(",")
            yield data, network, positions, scaled, runs


def position_table(results: Path, data: str) -> str:
    """Tabulate every network on one data set that was run, by range of positions."""
    found = find_runs(results / "positions.jsonl", [row for row in ROWS if row.startswith(f"{data},")])
    if not found:
        return MISSING
    rows = [
        [
            POSITIONS[positions] + SCALED[scaled],
            NETWORKS[network],
            str(len(runs)),
            f"{runs[0]['parameters']:,}",
            f"{runs[0]['settings']['learning_rate']:g}",
            *_cells(data, runs, scaled, LENGTHS),
        ]
        for _, network, positions, scaled, runs in _curves(found)
    ]
    header = ["positions", "network", "seeds", "parameters", "learning rate", *_ranges(LENGTHS)]
    edge, chosen = edge_rows(results, data)
    edges = f"{edge} of {chosen} networks chose the smallest or the largest learning rate."
    return f"{markdown_table(header, rows)}\n\n{_seeds(found)} {machines(found)} {edges}"


def edge_rows(results: Path, data: str) -> tuple[int, int]:
    """Return how many rows have their best learning rate at an end of the range, and how many have tried all."""
    losses = {line["row"]: line["validation"]["loss"] for line in read_lines(results / "positions-choice.jsonl")}
    names = [[f"{row},{rate}" for rate in RATES_OF[row]] for row in ROWS if row.startswith(f"{data},")]
    tried = [[losses[name] for name in each] for each in names if losses.keys() >= set(each)]
    return sum(min(each) in (each[0], each[-1]) for each in tried), len(tried)


def short_table(results: Path) -> str:
    """Tabulate the trained length and two longer ones on both data sets; real networks with RoPE and PoPE only."""
    found = find_runs(results / "positions.jsonl", ROWS)
    shown = (256, 1024, 4096)
    rows: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for data, network, positions, scaled, runs in _curves(found):
        is_shown = network == "complex" or (positions in ("rotary", "polar") and scaled == "as trained")
        if is_shown:
            name = (POSITIONS[positions] + SCALED[scaled], NETWORKS[network])
            rows.setdefault(name, {})[data] = _cells(data, runs, scaled, shown)
    header = ["positions", "network", *(f"{name}, to {last:,}" for name in DATA.values() for last in shown)]
    empty = [""] * len(shown)
    cells = [[*name, *(cell for data in DATA for cell in given.get(data, empty))] for name, given in rows.items()]
    return f"{markdown_table(header, cells)}\n\n{_seeds(found)}" if found else MISSING


def _seeds(found: Mapping[str, Runs]) -> str:
    counts = sorted({len(runs) for runs in found.values()})
    return "One seed." if counts == [1] else f"Mean ± standard deviation over {' or '.join(map(str, counts))} seeds."


def long_table(results: Path) -> str:
    """Show the picture of networks trained on 512 tokens, and tabulate their losses."""
    found = find_runs(results / "positions-512.jsonl", LONG_ROWS)
    if not found:
        return MISSING
    rows = [
        [POSITIONS[positions] + SCALED[scaled], *_cells(data, runs, scaled, LONG_LENGTHS)]
        for data, _, positions, scaled, runs in _curves(found)
    ]
    picture = "![Perplexity by position: trained on 512 characters, evaluated to 8,192](../images/positions-512.png)"
    return f"{picture}\n\n{markdown_table(['positions', *_ranges(LONG_LENGTHS)], rows)}\n\n{_seeds(found)}"


# Claim -> positions, their baseline, its scaling at inference, ranges that are compared.
CLAIMS = {
    "PoPE has a lower perplexity than RoPE": ("polar", "rotary", "as trained", LENGTHS[:1]),
    "PoPE extrapolates better than RoPE": ("polar", "rotary", "as trained", LENGTHS[1:]),
    "PoPE extrapolates better than RoPE with YaRN": ("polar", "rotary", "yarn", LENGTHS[1:]),
    "RoPE++ EH has a lower perplexity than RoPE": ("equal_heads", "rotary", "as trained", LENGTHS[:1]),
    "RoPE++ EH extrapolates better than RoPE": ("equal_heads", "rotary", "as trained", LENGTHS[1:]),
    "RoPE++ EC has a lower perplexity than RoPE": ("equal_cache", "rotary", "as trained", LENGTHS[:1]),
    "RoPE++ EC extrapolates better than RoPE": ("equal_cache", "rotary", "as trained", LENGTHS[1:]),
}


def claims_table(results: Path) -> str:
    """Judge the claims of the papers by the networks that were run."""
    found = find_runs(results / "positions.jsonl", ROWS)
    if not found:
        return MISSING
    fields = (("real", "real-equal-parameters"), ("complex",))
    rows = [
        [claim, *(_judged(found, networks, *compared) for networks in fields)] for claim, compared in CLAIMS.items()
    ]
    return markdown_table(["claim", "real networks", "complex networks"], rows)


def fields_table(results: Path) -> str:
    """Compare complex networks with real ones of equal parameters at the trained length and beyond it."""
    found = find_runs(results / "positions.jsonl", ROWS)
    shown = (256, 1024, 4096)
    rows = [
        [DATA[data], POSITIONS[positions], *(_against_real(data, ours, theirs, last) for last in shown)]
        for data in DATA
        for positions in PAIR
        if (ours := found.get(f"{data},complex,{positions}"))
        and (theirs := found.get(f"{data},real-equal-parameters,{positions}"))
    ]
    return markdown_table(["data", "positions", *_ranges(shown)], rows) if rows else MISSING


def _against_real(data: str, ours: Runs, theirs: Runs, last: int) -> str:
    """Return the verdict on the complex network, its score, and the score of the real network."""
    both = [scores(data, runs, "as trained", last) for runs in (ours, theirs)]
    digits = 3 if data == "text8" else 1
    return f"{verdict(*both, lower_is_better=True)}: {' against '.join(mean_std(each, digits) for each in both)}"


def _judged(
    found: Mapping[str, Runs],
    networks: Sequence[str],
    positions: str,
    baseline: str,
    scaled: str,
    lengths: Sequence[int],
) -> str:
    """Count the comparisons over data sets, networks and ranges in which the positions are better."""
    pairs = [
        (data, found[ours], found[theirs])
        for data in DATA
        for network in networks
        if (ours := f"{data},{network},{positions}") in found and (theirs := f"{data},{network},{baseline}") in found
    ]
    verdicts = [
        verdict(scores(data, ours, "as trained", last), scores(data, theirs, scaled, last), lower_is_better=True)
        for data, ours, theirs in pairs
        for last in lengths
    ]
    return judged(verdicts, any(len(runs) < 2 for _, *both in pairs for runs in both))


def plot_ranges(found: Mapping[str, Runs], trained_length: int) -> Figure:
    """Plot the geometric mean over seeds of the perplexity by position, a band for one standard deviation."""
    figure = new_figure(8.0, 3.6)
    axis = figure.subplots()
    for _, _, positions, scaled, runs in _curves(found):
        curves = [run["perplexity_by_range"][scaled] for run in runs]
        ends = [end for end in sorted(map(int, curves[0])) if end >= 16]
        losses = [[math.log(curve[str(end)]) for curve in curves] for end in ends]
        means = [statistics.mean(each) for each in losses]
        widths = [statistics.stdev(each) if len(each) > 1 else 0.0 for each in losses]
        label = (POSITIONS[positions] + SCALED[scaled]).removesuffix(" at inference")
        (line,) = axis.plot(ends, list(map(math.exp, means)), label=label)
        low, high = ([math.exp(m + s * w) for m, w in zip(means, widths, strict=True)] for s in (-1, 1))
        axis.fill_between(ends, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axis.axvline(trained_length, linestyle=":", color="grey", label="trained length")
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("position (characters)")
    axis.set_ylabel("perplexity per character")
    legend_beside(axis)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder (default: experiments/results)")
    parser.add_argument("--output_file", type=Path, default=DOCS / "images" / "positions-512.png")
    args = parser.parse_args(arguments)
    found = find_runs(args.results / "positions-512.jsonl", LONG_ROWS)
    if not found:
        parser.error(f"--results must hold runs of positions-512, got none in {args.results}")
    plot_ranges(found, trained_length=512).savefig(args.output_file, dpi=80)
    print(f"saved: {args.output_file}")


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/concepts/positions.md": {
        "positions-short": short_table,
        "positions-512": long_table,
        "positions-fields": fields_table,
        "positions-claims": claims_table,
    },
    "docs/positions.md": {f"positions {data}": partial(position_table, data=data) for data in DATA},
}

if __name__ == "__main__":
    main()
