# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and peak memory of training steps on a GPU: ``make bench-gpu``.

    python -m benchmarks.gpu [--case attention ...] [--sizes 16x1024x1024 ...] [--rounds N] [--results FILE]
    python -m benchmarks.gpu --tiny     # the same code at toy sizes on the CPU, without meaningful times

bfloat16 and float32, eager and compiled, forward + backward without dropout (packed layers: forward). A size is the
number of sequences, their length and the stored width; it applies to the cases of trained layers. A case is a line of
``experiments/results/bench-gpu.jsonl``, from which ``python -m experiments.tables docs/benchmarks-gpu.md`` writes its
table. With ``TRITON_INTERPRET=1`` a tiny run uses Triton's interpreter. Contestants that run out of memory
are left out with a note. A ratio is ours / theirs: below 1, ours is faster (smaller).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from benchmarks.bench import measure, missed, verdict
from benchmarks.gpu import layers, models, networks, packed
from benchmarks.gpu.contest import FULL, TINY, Setting, Size
from benchmarks.race import THREADS, Case, Outcome
from benchmarks.reporting import RESULTS, add_line
from complex_transformers.kernels.accelerator import switch

__all__ = ["CASES", "GPU", "gpu_facts", "main"]

GPU = RESULTS / "bench-gpu.jsonl"
ROUNDS = 10
MODELS = {
    "bert": "BERT-base",
    "smollm": "SmolLM2-135M",
    "translation": "6 + 6 layers",
    "recurrent": "recurrent",
    "mamba": "Mamba",
    "positions": "positions",
}
CASES: dict[str, Callable[[Setting, int], Outcome]] = {
    "attention": layers.attention,
    "encoder": layers.encoder,
    "decoder": layers.decoder,
    "dense": layers.dense,
    "embedding": layers.embedding,
    "state_space": layers.state_space,
    "peers": layers.peers,
    "packed": packed.packed,
    "images": networks.images,
    "classifier": networks.classifier,
    "states": networks.states,
    "translation": networks.translation,
    "synconmt": networks.synconmt,
    "transfo_xl": networks.transfo_xl,
    "speech": networks.speech,
    "recurrent": networks.recurrent,
    "linear_recurrence": networks.linear_recurrence,
    **{f"models-{name}": partial(models.models, family=family) for name, family in MODELS.items()},
    "generation": models.generation,
}
DEFAULT = " ".join(f"{s.sequences}x{s.length}x{s.width}" for s in FULL.sizes)
PACKAGES = {"peers": ("complextorch", "torchcvnn")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=list(CASES), help="one or more (default: all)")
    parser.add_argument("--sizes", type=size, nargs="+", help=f"sizes of the layers (default: {DEFAULT})")
    parser.add_argument("--rounds", type=int, help=f"rounds of every case, at least 2 (default: {ROUNDS})")
    parser.add_argument("--results", type=Path, default=GPU, help="file of JSON lines")
    parser.add_argument("--tiny", action="store_true", help="toy sizes on the CPU; needs --results")
    args = parser.parse_args(arguments)
    if args.rounds is not None and args.rounds < 2:
        parser.error(f"--rounds must be at least 2, got {args.rounds}")
    if args.tiny and args.results == GPU:
        parser.error("--tiny measures nothing: give --results another file")
    if not args.tiny and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU: run on a machine that has one, or try the code with --tiny")
    setting = TINY if args.tiny else FULL
    if args.sizes:
        setting = replace(setting, sizes=tuple(args.sizes))
    rounds = args.rounds or (2 if args.tiny else ROUNDS)
    devices, threads = switch.DEVICES, torch.get_num_threads()
    if args.tiny and os.environ.get("TRITON_INTERPRET") == "1":
        switch.DEVICES = ("cpu",)
    torch.set_num_threads(THREADS)  # one thread would measure CPU time
    misses: list[str] = []
    try:
        for name in args.case or CASES:
            case = Case(partial(CASES[name], setting), rounds, packages=PACKAGES.get(name, ()))
            found = measure(f"gpu-{name}", case, rounds)
            if not args.tiny:
                found["machine"] |= gpu_facts()
            add_line(args.results, found)
            misses += missed(found)
    finally:
        switch.DEVICES = devices
        torch.set_num_threads(threads)
    print(verdict(misses))


def size(text: str) -> Size:
    """Parse a size of the command line."""
    try:
        return Size.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def gpu_facts() -> dict[str, str]:
    """Return the name and the capability of the GPU, for the line of a result."""
    major, minor = torch.cuda.get_device_capability()
    return {"processor": torch.cuda.get_device_name(), "vector_instructions": f"capability {major}.{minor}"}


if __name__ == "__main__":
    main()
