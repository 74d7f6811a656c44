# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Measure what matters most in a short visit to a GPU.

    python -m benchmarks.gpu.plan --minutes 12 --output DIR     # on a machine with a GPU
    python -m benchmarks.gpu.plan --merge DIR                   # afterwards: into experiments/results
    python -m benchmarks.gpu.plan --tiny --output DIR           # the same code at toy sizes on the CPU

Stages run in order of priority, each within its own time. A stage writes its rows to ``DIR/plan.jsonl`` after each
comparison. A plan that is run again for the same code skips finished stages and, in unfinished ones, the rows that it
has. Compiled kernels are kept in ``DIR/cache``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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
    sizes: tuple[str, ...] = ()  # of layers, as in ``benchmarks.gpu --sizes``; default: all
    dtypes: tuple[str, ...] = ("bfloat16",)
    compiled: tuple[bool, ...] = (False,)
    rounds: int = 5


LAUNCHES, FILLED, WIDE, LONG = "1x128x512", "16x1024x1024", "16x1024x2048", "1x8192x1024"
STAGES = (
    Stage("tests of the kernels", 150),
    Stage("recurrent layers", 60, "recurrent"),
    Stage("linear layer", 40, "dense", (FILLED, WIDE, LAUNCHES)),
    Stage("encoder layer", 60, "encoder", (FILLED, LAUNCHES, WIDE)),
    Stage("decoder layer", 60, "decoder", (FILLED, LAUNCHES, WIDE)),
    Stage("BERT-base", 60, "models-bert"),
    Stage("SmolLM2-135M", 90, "models-smollm"),
    Stage("attention", 60, "attention", (LONG, FILLED)),
    Stage("packed layers", 60, "packed"),
    Stage("recurrent language models", 60, "models-recurrent"),
    Stage("translation", 60, "models-translation"),
    Stage("generation", 60, "generation", rounds=3),
    Stage("embedding", 30, "embedding", (FILLED, LAUNCHES)),
    Stage("linear recurrence", 40, "linear_recurrence"),
    Stage("state space layer", 60, "state_space", (FILLED, LAUNCHES, LONG)),
    Stage("Mamba", 60, "models-mamba"),
    Stage("positions", 90, "models-positions"),
    Stage("linear layer, compiled", 60, "dense", (FILLED, WIDE), compiled=(True,)),
    Stage("encoder layer, compiled", 120, "encoder", (FILLED,), compiled=(True,)),
    Stage("BERT-base, compiled", 200, "models-bert", compiled=(True,)),
    Stage("SmolLM2-135M, compiled", 300, "models-smollm", compiled=(True,)),
    Stage("state space layer, compiled", 120, "state_space", (FILLED,), compiled=(True,)),
    Stage("Mamba, compiled", 150, "models-mamba", compiled=(True,)),
    Stage("generation, compiled", 150, "generation", compiled=(True,), rounds=3),
    Stage("attention in float32", 60, "attention", (LONG, FILLED), ("float32",)),
    Stage("encoder layer in float32", 60, "encoder", (FILLED,), ("float32",)),
    Stage("other libraries", 60, "peers", (FILLED, LAUNCHES), ("float32",)),
    Stage("images", 60, "images"),
)


def version() -> str:
    """Return a hash of the code that the stages measure."""
    found = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


class OutOfTime(BaseException):
    """A stage took longer than it may. Not an Exception, so that no case or compiler handles it as an error."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OutOfTime if the block takes longer."""

    def stop(*_: object) -> None:
        raise OutOfTime(f"longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)  # again, because Python ignores what a finalizer raises
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


def run_case(
    stage: Stage, seconds: float, tiny: bool, before: dict[str, Any], save: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Measure the part of a case that a stage names, without the rows measured before.

    ``save`` is called with the line so far whenever rows are finished.
    """
    import torch

    from benchmarks.bench import line_of
    from benchmarks.gpu.__main__ import CASES, PACKAGES, gpu_facts
    from benchmarks.gpu.contest import FULL, TINY, Size
    from benchmarks.race import Case, Outcome

    whole, start = Outcome(list(before.get("rows", [])), list(before.get("notes", []))), time.monotonic()

    def line() -> dict[str, Any]:
        spent = before.get("seconds", 0) + time.monotonic() - start
        found = line_of(f"gpu-{stage.case}", case, rounds, whole, spent)
        if not tiny:
            found["machine"] |= gpu_facts()
        return found

    def report(found: Outcome) -> None:
        whole.rows += found.rows
        whole.notes += found.notes
        save(line())

    groups = {row["group"] for row in whole.rows}
    setting = replace(TINY if tiny else FULL, compiled=stage.compiled, skipped=groups, report=report)
    if not tiny:
        dtypes = tuple(getattr(torch, name) for name in stage.dtypes)
        sizes = tuple(map(Size.parse, stage.sizes)) or setting.sizes
        setting = replace(setting, sizes=sizes, dtypes=dtypes)
    rounds = 2 if tiny else stage.rounds
    case = Case(partial(CASES[stage.case], setting), rounds, packages=PACKAGES.get(stage.case, ()))
    torch.manual_seed(0)
    with within(seconds):
        notes = case.run(rounds).notes
    whole.notes = [*dict.fromkeys(whole.notes + notes)]
    return line()


def run(output: Path, minutes: float, tiny: bool, stages: Sequence[Stage] = STAGES) -> list[str]:
    """Run the stages that have no line for this code; return one sentence for each."""
    end, code, path = time.monotonic() + 60 * minutes, version(), output / LINES
    lines = {line["row"]: line for line in read_lines(path) if line["version"] == code}
    done = {name for name, line in lines.items() if "failed" not in line}
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
        line = {"row": stage.name, "case": stage.case, "version": code, "failed": "interrupted"}
        before = lines.get(stage.name, {}).get("found", {})
        if before:
            line["found"] = before

        def save(found: dict[str, Any], line: dict[str, Any] = line) -> None:
            line["found"] = found
            add_line(path, line)

        try:
            found = run_case(stage, seconds, tiny, before, save) if stage.case else run_tests(seconds, tiny)
            line["found"] = found
            del line["failed"]
            text = f"{len(found['rows'])} rows" if stage.case else "; ".join(found["notes"][-1:])
        except (OutOfTime, RuntimeError, AssertionError, ValueError, ImportError, subprocess.TimeoutExpired) as error:
            line["failed"] = f"{type(error).__name__}: {str(error)[:500]}"
            text = f"{line['failed']}, {len(line.get('found', {}).get('rows', []))} rows"
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
