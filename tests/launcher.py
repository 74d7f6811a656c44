# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The workers of tests/distributed, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "distributed"


def run(worker: str, *arguments: Any, processes: int = 1) -> None:
    """Run a worker in a process of its own, or in several under torchrun."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", processes]
    start(*(torchrun if processes > 1 else ()), FOLDER / worker, *arguments)


def start(*command: Any) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, *map(str, command)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
