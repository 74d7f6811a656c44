# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory compared with the alternatives of a user: ``make bench``.

    python -m benchmarks.bench [--case linear --case encoder ...] [--rounds N] [--results FILE]

float32 on the CPU, two threads, dropout 0 on both sides; a training step is forward + backward. Every case first
checks that both sides compute the same. A case is a line of ``experiments/results/bench.jsonl``, from which
``python -m experiments.tables`` writes its table. A ratio is ours / theirs: below 1, ours is faster (smaller).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.cases import (
    attention,
    attention_blocks,
    classifier,
    convolution_theorem,
    decoder,
    embedding,
    encoder,
    images,
    linear,
    linear_paths,
    linear_recurrence,
    llama_cpp,
    memory,
    packed,
    packed_memory,
    peers,
    positions,
    profiles,
    recurrent,
    recurrent_lm,
    speech,
    state_space,
    states,
    synconmt,
    transfo_xl,
    translation,
)
from benchmarks.race import THREADS, Case, Outcome
from benchmarks.reporting import DOCS, RESULTS, add_line, machine_facts

__all__ = ["BENCH", "CASES", "line_of", "measure", "missed", "verdict"]

BENCH = RESULTS / "bench.jsonl"
DECISIONS = DOCS / "decisions"
CASES: dict[str, Case] = {
    "linear": Case(linear.case, 30),
    "encoder": Case(encoder.case, 30),
    "attention": Case(attention.case, 15),
    "attention_sigmoid": Case(attention.sigmoid_case, 15),
    "embedding": Case(embedding.case, 30),
    "memory": Case(memory.case, 3),
    "peers": Case(peers.case, 10, packages=("complextorch", "torchcvnn")),
    "recurrent": Case(recurrent.case, 10),
    "classifier": Case(classifier.case, 20),
    "states": Case(states.case, 20),
    "convolution_theorem": Case(convolution_theorem.case, 20),
    "images": Case(images.case, 40),
    "linear_recurrence": Case(linear_recurrence.case, 20),
    "recurrent_lm": Case(recurrent_lm.case, 20),
    "translation": Case(translation.case, 7),
    "decoder": Case(decoder.case, 7),
    "positions": Case(positions.case, 5),
    "state_space": Case(state_space.case, 5),
    "packed": Case(packed.case, 5),
    "packed_memory": Case(packed_memory.case, 3),
    "llama_cpp": Case(llama_cpp.case, 3, packages=("llama_cpp_python", "gguf")),
    "transfo_xl": Case(transfo_xl.case, 10),
    "synconmt": Case(synconmt.case, 7),
    "speech": Case(speech.case, 5),
    **{name: Case(partial(profiles.case, name), 5, profiles.table, part=name) for name in profiles.STEPS},
    "linear_paths": Case(linear_paths.case, 15, linear_paths.table, DECISIONS / "0002-linear.md", "linear_paths"),
    "attention_blocks": Case(
        attention_blocks.case, 7, attention_blocks.table, DECISIONS / "0003-blocked-attention.md", "attention_blocks"
    ),
}


def measure(name: str, case: Case, rounds: int) -> dict[str, Any]:
    """Run a case; return its rows and the circumstances of the measurement."""
    print(f"{name} ({rounds} rounds)", flush=True)
    torch.manual_seed(0)
    start = time.perf_counter()
    return line_of(name, case, rounds, case.run(rounds), time.perf_counter() - start)


def line_of(name: str, case: Case, rounds: int, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """Return the line of a result file for the outcome of a case."""
    return {
        "row": name,
        "what": getattr(case.run, "func", case.run).__doc__,
        "rounds": rounds,
        "seconds": round(seconds),
        "notes": outcome.notes,
        "rows": outcome.rows,
        "machine": machine_facts(*case.packages),
    }


def missed(found: dict[str, Any]) -> list[str]:
    """Return a line for every limit of a measured case that is exceeded."""
    return [
        f"{found['row']}, {r['group']}: {r['ours']} / {r['reference']} is {r['ratio']['median']:.3f}, "
        f"allowed {r['bar']}"
        for r in found["rows"]
        if r.get("met") is False
    ]


def verdict(misses: list[str]) -> str:
    """Return the summary of a run."""
    return "\n".join(misses) if misses else "every bar is met"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--case", action="append", choices=list(CASES), help="one or more (default: all of docs/benchmarks.md)"
    )
    parser.add_argument("--rounds", type=int, help="rounds of every case, at least 2 (default: by case)")
    parser.add_argument("--results", type=Path, default=BENCH, help="file of JSON lines")
    parser.add_argument(
        "--threads", type=int, default=THREADS, help="1 measures CPU time, for a busy machine (default: 2)"
    )
    args = parser.parse_args(arguments)
    if args.rounds is not None and args.rounds < 2:
        parser.error(f"--rounds must be at least 2, got {args.rounds}")
    torch.set_num_threads(args.threads)
    misses: list[str] = []
    for name in args.case or [name for name, case in CASES.items() if case.page == DOCS / "benchmarks.md"]:
        found = measure(name, CASES[name], args.rounds or CASES[name].rounds)
        add_line(args.results, found)
        misses += missed(found)
    print(verdict(misses))


if __name__ == "__main__":
    main()
