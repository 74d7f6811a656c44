# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training steps that run in turns on one device, in each dtype, as they are and compiled: time and peak memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, race, row
from benchmarks.timing import Step, check_gradients, loss_step, training_step
from complex_transformers.nn import use_kernels

__all__ = [
    "FULL",
    "PEAK",
    "TINY",
    "Contestant",
    "Mode",
    "Setting",
    "against",
    "compete",
    "layer",
    "modes",
    "networks",
    "to",
]

PEAK = ", peak"  # ends the group of a row of memory


@dataclass(frozen=True)
class Setting:
    """What every case is run at."""

    device: str
    lengths: tuple[int, ...]
    long: int  # the length at which attention has a bar
    dtypes: tuple[torch.dtype, ...]
    heads: int
    head_width: int
    backend: str
    is_tiny: bool = False

    @property
    def width(self) -> int:
        """The stored width of a layer."""
        return self.heads * self.head_width


FULL = Setting("cuda", (128, 512, 2048, 8192, 16384), 8192, (torch.bfloat16, torch.float32), 8, 64, "inductor")
# Triton's interpreter holds bfloat16 as integers and cannot multiply them: float16 is the half precision here.
TINY = Setting("cpu", (8,), 8, (torch.float16, torch.float32), 2, 4, "eager", is_tiny=True)


@dataclass(frozen=True)
class Mode:
    """In which dtype, and whether compiled."""

    dtype: torch.dtype
    compiled: bool
    name: str

    @property
    def is_half(self) -> bool:
        """True for half precision, which has the bars."""
        return self.dtype != torch.float32


def modes(setting: Setting, compiles: bool = True) -> Iterator[Mode]:
    """Each dtype, as it is and compiled; what was compiled before is forgotten. Of a tiny run float32 is compiled."""
    for dtype, compiled in product(setting.dtypes, (False, True)):
        if compiled and not (compiles and (dtype == torch.float32 or not setting.is_tiny)):
            continue
        torch._dynamo.reset()  # one shape at a time, of more contestants than its limit of graphs
        torch._dynamo.config.recompile_limit = 64
        yield Mode(dtype, compiled, f"{str(dtype)[6:]}{', compiled' if compiled else ''}")


@dataclass(frozen=True)
class Contestant:
    """How its training step is made, and whether kernels may run in it."""

    make: Callable[[], Step]
    kernels: bool = True
    is_foreign: bool = False  # of another library, and left out where it fails


def to(module: nn.Module, setting: Setting, dtype: torch.dtype) -> nn.Module:
    """In training, on the device, in ``dtype`` but for what stays in float32."""
    return module.train().to(setting.device, dtype)


def _first(out: Tensor | tuple[Tensor, ...]) -> Tensor:
    return out if isinstance(out, Tensor) else out[0]


def layer(
    setting: Setting, mode: Mode, call: nn.Module | Callable[[Tensor], Tensor], x: Tensor, **options: bool
) -> Contestant:
    """Forward and backward of a layer, which is moved and converted, or of a function."""
    parameters = []
    if isinstance(call, nn.Module):
        parameters = list(to(call, setting, mode.dtype).parameters())

    def first(x: Tensor) -> Tensor:
        return _first(call(x))

    def make() -> Step:
        return training_step(torch.compile(first, backend=setting.backend) if mode.compiled else first, parameters, x)

    return Contestant(make, **options)


def networks(
    setting: Setting, mode: Mode, models: Mapping[str, nn.Module], batch: Callable[[nn.Module], Mapping[str, Tensor]]
) -> dict[str, Contestant]:
    """Forward and backward of networks that give their loss, each on its batch."""

    def contestant(name: str, model: nn.Module) -> Contestant:
        model = to(model, setting, mode.dtype)
        inputs = {key: _like(value, setting, mode) for key, value in batch(model).items()}
        if mode.compiled:
            model.compile(backend=setting.backend)

        def make() -> Step:
            step = loss_step(model, **inputs)
            if not (mode.is_half or mode.compiled):  # small gradients may be 0 in half precision
                check_gradients(name, model, step)
            return step

        return Contestant(make)

    return {name: contestant(name, model) for name, model in models.items()}


def _like(x: Tensor, setting: Setting, mode: Mode) -> Tensor:
    return x.to(setting.device, mode.dtype) if x.is_floating_point() else x.to(setting.device)


def against(reference: str, names: Sequence[str], bars: Mapping[str, float] | None = None) -> list[Comparison]:
    """Each of the names beside the reference, which may be one of them."""
    return [Comparison(name, reference, (bars or {}).get(name)) for name in names if name != reference]


def compete(
    setting: Setting,
    group: str,
    contestants: Mapping[str, Contestant],
    comparisons: Sequence[Comparison],
    rounds: int,
    peak_bar: float | None = None,
) -> Outcome:
    """Milliseconds and peak memory of contestants beside each other; those that run out of memory are noted.

    Where a comparison of times has a bar, that of peak memory has ``peak_bar``.
    """
    steps, notes = {}, []
    for name, contestant in contestants.items():
        try:
            steps[name] = _step(setting, contestant)
        except RuntimeError as error:
            if not (contestant.is_foreign or isinstance(error, torch.OutOfMemoryError)):
                raise
            torch.cuda.empty_cache()
            notes.append(f"{group}: {name} left out, {_reason(error)}")
    comparisons = [c for c in comparisons if {c.ours, c.reference} <= set(steps)]
    rows = race(group, steps, comparisons, rounds, 0.0 if setting.is_tiny else 0.02)
    if setting.device == "cuda":
        peaks = {name: [_peak(step) for _ in range(2)] for name, step in steps.items()}
        for c in comparisons:
            limit = Comparison(c.ours, c.reference, None if c.bar is None else peak_bar)
            rows.append(row(f"{group}{PEAK}", limit, peaks[c.ours], peaks[c.reference], "MiB"))
    return Outcome(rows, notes)


def _reason(error: RuntimeError) -> str:
    if isinstance(error, torch.OutOfMemoryError):
        return "the GPU has not the memory"
    return str(error).splitlines()[0]


def _step(setting: Setting, contestant: Contestant) -> Step:
    """A training step that has ended when it returns, run once."""
    with use_kernels(contestant.kernels):
        step = contestant.make()

    def done() -> None:
        with use_kernels(contestant.kernels):
            step()
        if setting.device == "cuda":
            torch.cuda.synchronize()

    done()
    return done


def _peak(step: Step) -> float:
    """MiB that a step takes besides what is held before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return (torch.cuda.max_memory_allocated() - before) / 2**20
