# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train the networks of the ComplexOrder paper's figures and draw them into ``docs/images``.

    python -m experiments.paper figure1 --dataset trec          # waves of some words
    python -m experiments.paper figure2                         # time per epoch, into the results of ``bench``
    python -m experiments.paper figure3 --dataset sst2          # density of the frequencies

Its tables are grids (``python -m experiments.run paper-table2``). ``COMPLEX_TRANSFORMERS_DATA`` is the data folder.
"""

from __future__ import annotations

import argparse

import torch
from benchmarks.bench import BENCH, measure
from benchmarks.race import THREADS
from benchmarks.reporting import add_line

from experiments.paper.data import DATASETS
from experiments.paper.epoch import FIGURE2
from experiments.paper.figures import figure1, figure3


def main() -> None:
    """Parse the command line, train and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("figure1", "figure2", "figure3"))
    parser.add_argument("--dataset", choices=sorted(DATASETS), default="trec")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--words", nargs="+", default=["what", "how", "city", "the"], help="figure1 only")
    args = parser.parse_args()
    if args.name == "figure1":
        figure1(args.dataset, args.seed, args.words)
    elif args.name == "figure2":
        torch.set_num_threads(THREADS)
        add_line(BENCH, measure("paper-figure2", FIGURE2, FIGURE2.rounds))
    else:
        figure3(args.dataset, args.seed)


if __name__ == "__main__":
    main()
