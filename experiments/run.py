# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Run every row and seed of a grid that has no result yet.

    python -m experiments.run                                        # list the grids
    python -m experiments.run fsdd --list                            # list its rows and commands
    python -m experiments.run fsdd --seeds 0,1,2                     # every row
    python -m experiments.run fsdd real "fully_spectral*"            # rows by name or pattern
    python -m experiments.run fsdd real --results outputs/longer --options "--num_train_epochs 80"

Runs with a result are skipped; an interrupted run resumes from its last checkpoint. ``--dry-run`` prints the
commands. ``COMPLEX_TRANSFORMERS_DATA`` is the data folder. Results are lines of ``experiments/results/GRID.jsonl``,
models and logs are in ``outputs/GRID/``; ``--results FOLDER`` holds both. ``python -m experiments.tables``
writes the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reporting import RESULTS, add_line, read_lines

from experiments.grid import Grid, Place
from experiments.grids import GRIDS

__all__ = ["run_grid"]


def run_grid(grid: Grid, rows: Sequence[str], seeds: Sequence[int], place: Place) -> None:
    """Run rows and seeds without a result, seed by seed, so that an interrupted table is complete for its first seeds.

    Raises:
        ValueError: an existing result was measured with other settings.
    """
    path = place.results / f"{grid.name}.jsonl"
    done = {(line["row"], line["seed"]): line for line in read_lines(path)}
    asked = [(row, seed) for seed in seeds for row in rows]
    for row, seed in asked:
        if (row, seed) in done:
            grid.check(row, done[row, seed])
    for row, seed in asked:
        if (row, seed) in done:
            print(f"skipped, has a result: {row}, seed {seed}")
            continue
        print(f"{grid.name}: {row}, seed {seed}", flush=True)
        if (result := grid.run(row, seed, place)) is not None:
            add_line(path, {"row": row, "seed": seed} | result)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, then list or run the rows of a grid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", nargs="?", choices=GRIDS, metavar="GRID")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="a name, or a pattern with * and ? (default: all)")
    parser.add_argument("--seeds", help="0 or 0,1,2 (default: by grid)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder (default: experiments/results)")
    parser.add_argument("--options", default="", help="more options for every command")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    parser.add_argument("--list", action="store_true", help="print the rows and their commands")
    args = parser.parse_args(arguments)
    if args.grid is None:
        print("\n".join(f"{name}: {len(grid.rows)} rows" for name, grid in GRIDS.items()))
        return
    grid = GRIDS[args.grid]
    try:
        rows = grid.choose(args.rows)
        seeds = [int(seed) for seed in args.seeds.split(",")] if args.seeds else grid.seeds
    except ValueError as error:
        parser.error(str(error))
    if args.list:
        print("\n".join(map(grid.describe, rows)))
        return
    run_grid(grid, rows, seeds, Place(args.results.resolve(), args.options, args.dry_run))


if __name__ == "__main__":
    main()
