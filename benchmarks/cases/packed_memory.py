# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory and speed of a packed decoder of 3 billion parameters, loaded and run in a process of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from benchmarks.cases.packed import LIFTED, READ, THREE_BILLION, WRITTEN
from benchmarks.peak import resident
from benchmarks.race import Comparison, Outcome, row
from benchmarks.reporting import ROOT
from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, ComplexQuantizationConfig, quantize
from complex_transformers.kernels.native import low_bit

__all__ = ["case", "main", "write_checkpoint"]

SIZES = {**THREE_BILLION, "vocab_size": 32000, "num_hidden_layers": 26}
LIMIT = 3.0  # GB
FIRST = "model.layers.0."


def write_checkpoint(folder: Path, sizes: dict[str, Any]) -> int:
    """Save a packed decoder whose layers have the same random weights; return the bytes of the file."""
    options: dict[str, Any] = {**LIFTED, "architectures": ["ComplexLlamaForCausalLM"], "eos_token_id": None}
    config = ComplexLlamaConfig(**{**sizes, "num_hidden_layers": 1}, **options)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quality does not matter here
        model = quantize(ComplexLlamaForCausalLM(config), ComplexQuantizationConfig(stages=2))
    tensors = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(FIRST)}
    for name, tensor in model.state_dict().items():
        if name.startswith(FIRST):
            layers = range(sizes["num_hidden_layers"])
            tensors |= {f"model.layers.{n}.{name.removeprefix(FIRST)}": tensor.clone() for n in layers}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    options["quantization_config"] = model.config.quantization_config
    ComplexLlamaConfig(**sizes, **options).save_pretrained(folder)
    return (folder / "model.safetensors").stat().st_size


def case(rounds: int) -> Outcome:
    """Load a packed decoder of 3 billion parameters (2 stages, 26 layers, 32,000 tokens) and generate 32 tokens."""
    if not low_bit.load():
        raise RuntimeError("the kernels must be compiled for this case. Install g++.")
    with tempfile.TemporaryDirectory() as folder:
        size = write_checkpoint(Path(folder), SIZES) / 1e9
        command = [sys.executable, "-m", "benchmarks.cases.packed_memory", folder]
        environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
        found = []
        for _ in range(rounds):
            done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
    peaks = [run["gigabytes"] for run in found]
    memory = row("3B Llama, loading and generation", Comparison("peak", "allowed", 1.0), peaks, [LIMIT] * rounds, "GB")
    speed = WRITTEN / statistics.median(run["seconds"] for run in found)
    return Outcome([memory], [f"file {size:.2f} GB; {speed:.1f} tokens per second, prompt of {READ} tokens included"])


def main() -> None:
    """Load the checkpoint, generate twice and print the peak memory and the seconds of the second call as JSON."""
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
    ids = torch.randint(3, 1000, (1, READ))
    for _ in range(2):
        start = time.perf_counter()
        model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=WRITTEN,
            min_new_tokens=WRITTEN,
            do_sample=False,
        )
        seconds = time.perf_counter() - start
    print(json.dumps({"gigabytes": resident("VmHWM") * 1024 / 1e9, "seconds": seconds}))


if __name__ == "__main__":
    main()
