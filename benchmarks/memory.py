# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one training step of an encoder layer or a translator, in a process of its own.

Called by ``benchmarks.bench``; prints one JSON object. What is counted is the resident set: everything the process
holds, tensors or scratch space of a kernel. The peak is that *during the step* (Linux resets it on request; without
that, the largest since the process started), less what was resident before it. A step on a few tokens comes first, so
that weights and the libraries' buffers belong to the baseline: the difference is what a step needs besides them. The
caller makes malloc return every large block at once (``MALLOC_MMAP_THRESHOLD_``): otherwise freed blocks would still
count as resident.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from benchmarks.layers import complex_layer
from benchmarks.timing import Step, training_step
from benchmarks.translation import texts, training, translator

_STATUS = Path("/proc/self/status")


def _kibibytes(field: str) -> int:
    match = re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text(encoding="utf-8"))
    if match is None:
        raise OSError(f"{_STATUS} has no {field}")
    return int(match.group(1))


def _reset_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return False
    return True


def layer_steps(score: str) -> tuple[nn.Module, Callable[[int], Step]]:
    """An encoder layer, and its steps on one sentence of some length."""
    layer = complex_layer(512, 2048, 8, score)
    return layer, lambda length: training_step(layer, list(layer.parameters()), torch.randn(1, length, 512))


def translator_steps(name: str) -> tuple[nn.Module, Callable[[int], Step]]:
    """A translator, and its steps on 32 pairs of sentences of some length."""
    model = translator(name)
    return model, lambda length: training(model, texts(32, length))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    network = parser.add_mutually_exclusive_group(required=True)
    network.add_argument("--layer", help="score of an encoder layer: real or modulus")
    network.add_argument("--translator", help="name of a translator in benchmarks/translation.py")
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    model, steps = layer_steps(arguments.layer) if arguments.layer else translator_steps(arguments.translator)
    small, step = steps(min(64, arguments.length // 8)), steps(arguments.length)
    small()
    model.zero_grad(set_to_none=True)  # a step begins without gradients: they belong to its peak
    before = _kibibytes("VmRSS")
    was_reset = _reset_peak()
    step()
    after = _kibibytes("VmHWM") if was_reset else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"peak_mib": (after - before) / 1024, "baseline_mib": before / 1024, "peak_reset": was_reset}))


if __name__ == "__main__":
    main()
