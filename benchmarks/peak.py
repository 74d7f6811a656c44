# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one training step, in its own process.

Counts the resident set: everything the process holds, tensors or scratch space of a kernel. The peak is
measured *during the step* (Linux resets it on request; otherwise since the process started), minus the memory
resident before it. A step on a few tokens comes first, so that weights and the libraries' buffers belong to the
baseline.
"""

from __future__ import annotations

import importlib
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.race import THREADS
from benchmarks.reporting import ROOT

__all__ = ["peak", "resident"]

_STATUS = Path("/proc/self/status")


def peak(module: str, name: str, length: int) -> float:
    """Return the MiB of a step on ``length`` tokens of the network ``peak_steps(name)`` of a module."""
    command = [sys.executable, "-m", "benchmarks.peak", module, name, str(length)]
    # malloc returns blocks of 64 KiB or more at once; otherwise freed blocks would count as resident.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": str(THREADS)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


def resident(field: str) -> int:
    """Return the KiB of a field of this process's status: VmRSS now, VmHWM at its peak."""
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


def main() -> None:
    """Print the MiB of one step."""
    module, name, length = sys.argv[1:]
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model, steps = importlib.import_module(module).peak_steps(name)
    small, step = steps(min(64, int(length) // 8)), steps(int(length))
    small()
    model.zero_grad(set_to_none=True)  # gradients are part of the peak, so a step starts without them
    before = resident("VmRSS")
    was_reset = _reset_peak()
    step()
    after = resident("VmHWM") if was_reset else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) / 1024)


if __name__ == "__main__":
    main()
