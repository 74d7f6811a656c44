# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed layers of the shapes of Llama 7B, without gradients, eager, as a CUDA graph and compiled."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from benchmarks.cases.packed import PLAIN, SHAPES, random_layer
from benchmarks.gpu.contest import Contestant, Mode, Setting, against, compete, modes
from benchmarks.race import Outcome
from benchmarks.timing import Step
from complex_transformers.kernels.accelerator import low_bit

__all__ = ["packed"]

REAL, PACKED, REGISTERS = "nn.Linear", "packed", "packed, unpacked in registers"
COUNTS = (1, 16, 512)
LAYERS = 16  # called one after another, so that their weights do not stay in the GPU's L2 cache
MANY = 2**31


def packed(setting: Setting, rounds: int) -> Outcome:
    """16 packed widely linear layers (2 stages, random weights) in turn, without gradients, against nn.Linear."""
    whole = Outcome([])
    for width, out in [(16, 24)] if setting.is_tiny else SHAPES:
        for count in COUNTS:
            for mode in modes(setting):
                x = torch.randn(count, width, device=setting.device, dtype=mode.dtype)
                for graphed in (False,) if mode.compiled else (False, True):
                    inputs = f"{count} input{'s' if count > 1 else ''}"
                    group = f"{width} x {out}, {inputs}, {mode.name}{', CUDA graph' if graphed else ''}"
                    found = _compete(setting, mode, group, x, out, graphed, rounds)
                    whole.rows += found.rows
                    whole.notes += found.notes
    return whole


def _compete(setting: Setting, mode: Mode, group: str, x: Tensor, out: int, graphed: bool, rounds: int) -> Outcome:
    """Measure all layers of one shape on one input."""
    if group in setting.skipped:
        return Outcome([])
    number, width = 2 if setting.is_tiny else LAYERS, x.shape[-1]
    options = {"bias": False, "device": setting.device, "dtype": mode.dtype}
    real = [nn.Linear(width, out, **options) for _ in range(number)]
    ours = [random_layer(width, out).to(setting.device, mode.dtype) for _ in range(number)]
    contestants = {
        name: _contestant(setting, mode, layers, x, graphed) for name, layers in ((REAL, real), (PACKED, ours))
    }
    if len(x) > low_bit.MOST and not mode.compiled:
        contestants[REGISTERS] = _contestant(setting, mode, ours, x, graphed, MANY)
    if not (mode.compiled or graphed):
        contestants[PLAIN] = _contestant(setting, mode, ours, x, graphed, kernels=False)
    return compete(setting, group, contestants, against(REAL, list(contestants)), rounds)


def _contestant(
    setting: Setting,
    mode: Mode,
    layers: Sequence[nn.Module],
    x: Tensor,
    graphed: bool,
    most: int = low_bit.MOST,
    kernels: bool = True,
) -> Contestant:
    """Return a contestant that calls each layer once, with weights in registers for up to ``most`` inputs."""

    def run(x: Tensor) -> list[Tensor]:
        return [layer(x) for layer in layers]

    def make() -> Step:
        call = torch.compile(run, backend=setting.backend) if mode.compiled else run

        def step() -> None:
            before, low_bit.MOST = low_bit.MOST, most
            try:
                with torch.no_grad():
                    call(x)
            finally:
                low_bit.MOST = before

        return _captured(step) if graphed and setting.device == "cuda" else step

    return Contestant(make, kernels)


def _captured(step: Step) -> Step:
    """Return the replay of a CUDA graph of a step, which times its kernels without Python."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
