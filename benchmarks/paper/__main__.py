# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of the ComplexOrder paper from networks that are trained for them, into ``docs/images``.

    python -m benchmarks.paper figure1 --dataset trec          # waves of some words
    python -m benchmarks.paper figure3 --dataset sst2          # density of the frequencies

Its tables are grids (``python -m benchmarks.grid paper-table2``), the time of an epoch is a case of
``benchmarks.bench``. The data are named by ``COMPLEX_TRANSFORMERS_DATA``.
"""

from __future__ import annotations

import argparse

from benchmarks.paper.data import DATASETS
from benchmarks.paper.figures import figure1, figure3


def main() -> None:
    """Parse the command line, train and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("figure1", "figure3"))
    parser.add_argument("--dataset", choices=sorted(DATASETS), default="trec")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--words", nargs="+", default=["what", "how", "city", "the"], help="figure1 only")
    args = parser.parse_args()
    if args.name == "figure1":
        figure1(args.dataset, args.seed, args.words)
    else:
        figure3(args.dataset, args.seed)


if __name__ == "__main__":
    main()
