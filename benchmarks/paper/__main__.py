# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The evidence of the ComplexOrder paper, one command for each table and figure.

    python -m benchmarks.paper table2 --datasets trec subj mr --seeds 0 1 2 --processes 2
    python -m benchmarks.paper table2 --datasets subj mr --folds 0 1 2 3 4 5 6 7 8 9      (the paper's ten folds)
    python -m benchmarks.paper table4 --datasets trec --seeds 0 1 2 --processes 2
    python -m benchmarks.paper gcn | figure1 | figure2 | figure3 | table7 | render

The data are named by ``COMPLEX_TRANSFORMERS_DATA``. Results are lines of ``benchmarks/results/paper/*.jsonl``, one for
each cell; a stopped run goes on where it stood. Every command ends by writing its part of ``docs/paper.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.paper.data import DATASETS, FOLDS
from benchmarks.paper.figures import figure1, figure2, figure3, table7
from benchmarks.paper.protocol import NETWORKS
from benchmarks.paper.render import render
from benchmarks.paper.runner import PAPER_RESULTS, run_cells
from benchmarks.paper.tables import table2_cells, table4_cells

NAMES = ("table2", "table4", "gcn", "figure1", "figure2", "figure3", "table7", "render")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--datasets", nargs="+", choices=sorted(DATASETS), default=["trec"])
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS), help="table2 only")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--folds", nargs="+", type=int, choices=range(FOLDS), default=[0], help="table2 only")
    parser.add_argument("--processes", type=int, default=1, help="cells at a time")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--words", nargs="+", default=["what", "how", "city", "the"], help="figure1 only")
    parser.add_argument("--at_least", type=int, default=20, help="occurrences of a word of table7")
    parser.add_argument("--count", type=int, default=50, help="words of each end of table7")
    parser.add_argument("--rounds", type=int, default=15, help="figure2 only")
    return parser.parse_args(arguments)


def main() -> None:
    """Run what is asked for and write its part of the page."""
    args = parse()
    dataset, seed = args.datasets[0], args.seeds[0]
    if args.name in ("table2", "gcn"):
        networks = ["GCN"] if args.name == "gcn" else args.networks
        cells = table2_cells(args.datasets, networks, args.seeds, args.folds)
        run_cells(cells, PAPER_RESULTS / "table2.jsonl", args.processes, args.threads)
    elif args.name == "table4":
        cells = table4_cells(args.datasets, args.seeds)
        run_cells(cells, PAPER_RESULTS / "table4.jsonl", args.processes, args.threads)
    elif args.name == "figure1":
        figure1(dataset, seed, args.words)
    elif args.name == "figure2":
        figure2(dataset, args.rounds)
    elif args.name == "figure3":
        figure3(dataset, seed)
    elif args.name == "table7":
        table7(dataset, seed, args.at_least, args.count)
    render()


if __name__ == "__main__":
    main()
