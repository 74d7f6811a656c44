# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs cells, in parallel on request; each result is one line of a file, and a stopped run goes on where it stood."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from benchmarks.paper.protocol import EPOCHS, NETWORKS, Cell, run_cell, training_options
from benchmarks.reporting import RESULTS

__all__ = ["PAPER_RESULTS", "read_results", "run_cells"]

PAPER_RESULTS = RESULTS / "paper"


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Results by the key of their cell; a last line that was cut short by a stop is left out."""
    results = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        results[result["key"]] = result
    return results


def _settings(cell: Cell) -> dict[str, Any]:
    """What a result depends on besides its cell."""
    network = NETWORKS[cell.network]
    training = {"num_train_epochs": EPOCHS[cell.dataset], **training_options(cell.network)}
    settings = {"sizes": network.sizes, "training": training, "vectors": network.vectors}
    return json.loads(json.dumps(settings))


def _start_worker(threads: int) -> None:
    import datasets
    import torch
    import transformers

    torch.set_num_threads(threads)
    datasets.disable_progress_bars()
    transformers.logging.set_verbosity_error()


def _run(cell: Cell) -> dict[str, Any]:
    # What the Trainer prints after each epoch would break the one bar of the parent.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        result = run_cell(cell)
    return {"key": cell.key, **result, "settings": _settings(cell)}


def run_cells(cells: Sequence[Cell], path: Path, processes: int = 1, threads: int = 1) -> dict[str, dict[str, Any]]:
    """Run what is not in ``path`` yet, append it there, and return all results.

    Raises:
        ValueError: ``path`` holds a result of one of the cells under other settings; remove the file to start anew.
    """
    results = read_results(path)
    for cell in cells:
        if cell.key in results and results[cell.key]["settings"] != _settings(cell):
            raise ValueError(f"{path.name} holds {cell.key} under other settings: remove the file to start anew")
    missing = [cell for cell in cells if cell.key not in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(processes, context, initializer=_start_worker, initargs=(threads,)) as pool,
        path.open("a", encoding="utf-8") as file,
        tqdm(total=len(missing), desc=path.stem) as bar,
    ):
        for future in as_completed([pool.submit(_run, cell) for cell in missing]):
            result = future.result()
            results[result["key"]] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
            bar.set_postfix_str(f"{result['key']}: {result['test_accuracy']:.3f}")
            bar.update()
    return results
