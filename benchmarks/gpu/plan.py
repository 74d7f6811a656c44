# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Measure what matters most in a short visit to a GPU.

    python -m benchmarks.gpu.plan --minutes 12 --output DIR     # on a machine with a GPU
    python -m benchmarks.gpu.plan --merge DIR                   # afterwards: into experiments/results
    python -m benchmarks.gpu.plan --tiny --output DIR           # the same code at toy sizes on the CPU

Stages run in order of priority, each within its own time. A stage writes its line to ``DIR/plan.jsonl`` at once. A
stage that has a line for the same code is skipped, so an interrupted plan continues. Compiled kernels are kept in
``DIR/cache``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import ROOT, add_line, read_lines

__all__ = ["STAGES", "main"]

LINES = "plan.jsonl"
SOURCES = (
    "src/complex_transformers/kernels",
    "src/complex_transformers/nn",
    "src/complex_transformers/models",
    "benchmarks",
)


@dataclass(frozen=True)
class Stage:
    """A part of a case of ``benchmarks.gpu``, or the tests of the kernels."""

    name: str
    seconds: int
    case: str = ""
    lengths: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ("bfloat16",)
    compiled: tuple[bool, ...] = (False,)
    rounds: int = 5


STAGES = (
    Stage("tests of the kernels", 150),
    Stage("recurrent layers", 60, "recurrent"),
    Stage("linear layer", 40, "dense", (2048, 16384)),
    Stage("encoder layer", 60, "encoder", (2048, 16384)),
    Stage("decoder layer", 60, "decoder", (2048, 16384)),
    Stage("BERT-base", 60, "models-bert"),
    Stage("SmolLM2-135M", 90, "models-smollm"),
    Stage("attention", 60, "attention", (2048, 8192)),
    Stage("recurrent language models", 60, "models-recurrent"),
    Stage("translation", 60, "models-translation"),
    Stage("generation", 60, "generation", rounds=3),
    Stage("embedding", 30, "embedding", (2048, 16384)),
    Stage("linear recurrence", 40, "linear_recurrence"),
    Stage("linear layer, compiled", 60, "dense", (16384,), compiled=(True,)),
    Stage("encoder layer, compiled", 120, "encoder", (16384,), compiled=(True,)),
    Stage("BERT-base, compiled", 200, "models-bert", compiled=(True,)),
    Stage("SmolLM2-135M, compiled", 300, "models-smollm", compiled=(True,)),
    Stage("generation, compiled", 150, "generation", compiled=(True,), rounds=3),
    Stage("attention in float32", 60, "attention", (2048, 8192), ("float32",)),
    Stage("images", 60, "images"),
)


def version() -> str:
    """Return a hash of the code that the stages measure."""
    found = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


class OutOfTime(RuntimeError):
    """A stage took longer than it may."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OutOfTime if the block takes longer."""

    def stop(*_: object) -> None:
        raise OutOfTime(f"longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_tests(seconds: float, tiny: bool) -> dict[str, Any]:
    """Run the tests of the kernels on the GPU; a tiny run collects them."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/kernels",
        "-m",
        "not full and not slow",
    ]
    environment = {**os.environ, **({} if tiny else {"CT_TEST_DEVICE": "cuda"})}
    done = subprocess.run(
        [*command, *(["--collect-only"] if tiny else [])],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    failed = [line for line in lines if line.startswith("FAILED")]
    return {
        "rows": [],
        "notes": [*failed, lines[-1] if lines else done.stderr[-500:]],
        "what": "Tests of the kernels.",
    }


def run_case(stage: Stage, seconds: float, tiny: bool) -> dict[str, Any]:
    """Measure the part of a case that a stage names."""
    import torch

    from benchmarks.bench import measure
    from benchmarks.gpu.__main__ import CASES, PACKAGES, gpu_facts
    from benchmarks.gpu.contest import FULL, TINY
    from benchmarks.race import Case

    setting = replace(TINY if tiny else FULL, compiled=stage.compiled)
    if not tiny:
        dtypes = tuple(getattr(torch, name) for name in stage.dtypes)
        setting = replace(setting, lengths=stage.lengths or setting.lengths, dtypes=dtypes)
    rounds = 2 if tiny else stage.rounds
    case = Case(partial(CASES[stage.case], setting), rounds, packages=PACKAGES.get(stage.case, ()))
    with within(seconds):
        found = measure(f"gpu-{stage.case}", case, rounds)
    if not tiny:
        found["machine"] |= gpu_facts()
    return found


def run(output: Path, minutes: float, tiny: bool, stages: Sequence[Stage] = STAGES) -> list[str]:
    """Run the stages that have no line for this code; return one sentence for each."""
    end, code, path = time.monotonic() + 60 * minutes, version(), output / LINES
    done = {line["row"] for line in read_lines(path) if line["version"] == code and "failed" not in line}
    said = []
    for stage in stages:
        left = end - time.monotonic()
        if stage.name in done:
            said.append(f"{stage.name}: measured before")
            continue
        if left < 10:
            said.append(f"{stage.name}: no time left")
            continue
        start, seconds = time.monotonic(), min(stage.seconds, left)
        line: dict[str, Any] = {"row": stage.name, "case": stage.case, "version": code}
        try:
            line |= {"found": run_case(stage, seconds, tiny) if stage.case else run_tests(seconds, tiny)}
            text = "; ".join(line["found"]["notes"][-1:]) if not stage.case else f"{len(line['found']['rows'])} rows"
        except (RuntimeError, AssertionError, ValueError, ImportError, subprocess.TimeoutExpired) as error:
            line |= {"failed": f"{type(error).__name__}: {str(error)[:500]}"}
            text = line["failed"]
        line["seconds"] = round(time.monotonic() - start, 1)
        add_line(path, line)
        said.append(f"{stage.name}: {text} ({line['seconds']} s)")
        print(said[-1], flush=True)
    return said


def merge(output: Path, results: Path) -> list[str]:
    """Add the rows of all stages to the results, a line for each case, in place of rows of the same names."""
    cases: dict[str, dict[str, Any]] = {line["row"]: line for line in read_lines(results)}
    merged = []
    for line in read_lines(output / LINES):
        if "found" not in line or not line["case"]:
            continue
        found = line["found"]
        before = cases.get(found["row"])
        if before is not None and before["machine"] == found["machine"]:
            names = {(row["group"], row["ours"], row["reference"]) for row in found["rows"]}
            kept = [row for row in before["rows"] if (row["group"], row["ours"], row["reference"]) not in names]
            found = {
                **found,
                "rows": kept + found["rows"],
                "notes": [*dict.fromkeys(before["notes"] + found["notes"])],
            }
        cases[found["row"]] = found
        add_line(results, found)
        merged.append(found["row"])
    return merged


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run or merge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=12.0, help="time for all stages (default: 12)")
    parser.add_argument("--output", type=Path, help="folder of the results")
    parser.add_argument("--merge", type=Path, help="folder of an earlier run, to merge into the committed results")
    parser.add_argument("--tiny", action="store_true", help="toy sizes on the CPU")
    args = parser.parse_args(arguments)
    if (args.output is None) == (args.merge is None):
        parser.error("give either --output or --merge")
    from benchmarks.gpu.__main__ import GPU

    if args.merge:
        print("merged:", ", ".join(dict.fromkeys(merge(args.merge, GPU))))
        return
    args.output.mkdir(parents=True, exist_ok=True)
    for variable in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
        os.environ.setdefault(variable, str((args.output / "cache" / variable.split("_")[0].lower()).resolve()))
    said = run(args.output, args.minutes, args.tiny)
    print("\n" + "\n".join(said))


if __name__ == "__main__":
    main()
