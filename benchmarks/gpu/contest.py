# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Interleaved training steps on one device, in each dtype, eager and compiled: time and peak memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    "Size",
    "against",
    "compete",
    "layer",
    "modes",
    "networks",
    "to",
]

PEAK = ", peak"  # suffix of the group of a memory row
HEAD = 64  # stored width of an attention head
FILLING = 1024  # tokens per step below which a GPU waits for kernel launches


@dataclass(frozen=True)
class Size:
    """Number and length of the sequences of a training step, and the stored width of the layer."""

    sequences: int
    length: int
    width: int

    @classmethod
    def parse(cls, text: str) -> Size:
        """Return the size written as ``SEQUENCESxLENGTHxWIDTH``, for example ``16x1024x1024``."""
        if not re.fullmatch(r"[0-9]+x[0-9]+x[0-9]+", text):
            raise ValueError(f"size must be SEQUENCESxLENGTHxWIDTH, got {text}. Example: 16x1024x1024.")
        size = cls(*map(int, text.split("x")))
        if not size.tokens or not size.width or size.width % (2 * HEAD):
            raise ValueError(f"size must have positive numbers and a width divisible by {2 * HEAD}, got {text}.")
        return size

    @property
    def tokens(self) -> int:
        """Tokens per training step."""
        return self.sequences * self.length

    @property
    def heads(self) -> int:
        """Number of attention heads; an even number, because decoders have half as many key/value heads."""
        return max(2, self.width // HEAD)

    def __str__(self) -> str:
        bound = "" if self.tokens >= FILLING else ", launch-bound"
        return (
            f"{self.sequences} x {self.length:,} tokens, width {self.width:,} ({self.tokens:,} tokens per step{bound})"
        )


def ignore(_: Outcome) -> None:
    """Do nothing with the rows of a finished comparison."""


@dataclass(frozen=True)
class Setting:
    """Device and sizes of all cases, and what happens to rows as soon as they are measured."""

    device: str
    sizes: tuple[Size, ...]  # of layers
    long: int  # length at which attention has a limit
    dtypes: tuple[torch.dtype, ...]
    backend: str
    is_tiny: bool = False
    compiled: tuple[bool, ...] = (False, True)
    skipped: Collection[str] = ()  # groups measured before
    report: Callable[[Outcome], None] = ignore  # called with the rows of each group


SIZES = (
    Size(1, 128, 512),
    Size(1, 1024, 1024),
    Size(1, 8192, 1024),
    Size(4, 2048, 2048),
    Size(16, 1024, 1024),
    Size(16, 1024, 2048),
)
FULL = Setting("cuda", SIZES, 8192, (torch.bfloat16, torch.float32), "inductor")
# Triton's interpreter cannot multiply bfloat16, so float16 is the half precision here.
TINY = Setting("cpu", (Size(2, 8, 8),), 8, (torch.float16, torch.float32), "eager", is_tiny=True)


@dataclass(frozen=True)
class Mode:
    """Dtype, and whether the step is compiled."""

    dtype: torch.dtype
    compiled: bool
    name: str

    @property
    def is_half(self) -> bool:
        """Whether this is half precision, where limits apply."""
        return self.dtype != torch.float32


def modes(setting: Setting, compiles: bool = True) -> Iterator[Mode]:
    """Yield each dtype, eager and compiled, after resetting the compiler. A tiny run compiles float32 only."""
    for dtype, compiled in product(setting.dtypes, setting.compiled):
        if compiled and not (compiles and (dtype == torch.float32 or not setting.is_tiny)):
            continue
        torch._dynamo.reset()  # there are more contestants than the compiler's recompile limit
        torch._dynamo.config.recompile_limit = 64
        yield Mode(dtype, compiled, f"{str(dtype)[6:]}{', compiled' if compiled else ''}")


@dataclass(frozen=True)
class Contestant:
    """A training step, and whether Triton kernels may run in it."""

    make: Callable[[], Step]
    kernels: bool = True
    may_fail: bool = False  # left out with a note if it does


def to(module: nn.Module, setting: Setting, dtype: torch.dtype) -> nn.Module:
    """Move a model to the device and ``dtype``, in training mode; some parameters stay in float32."""
    return module.train().to(setting.device, dtype)


def _first(out: Tensor | tuple[Tensor, ...]) -> Tensor:
    return out if isinstance(out, Tensor) else out[0]


def layer(
    setting: Setting, mode: Mode, call: nn.Module | Callable[[Tensor], Tensor], x: Tensor, **options: bool
) -> Contestant:
    """Return a contestant for the forward and backward step of a layer (moved and converted) or a function."""
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
    """Return contestants for training steps of networks that return their loss, each on its batch."""

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
    """Return comparisons of each name with the reference, which may be one of them."""
    return [Comparison(name, reference, (bars or {}).get(name)) for name in names if name != reference]


def compete(
    setting: Setting,
    group: str,
    contestants: Mapping[str, Contestant],
    comparisons: Sequence[Comparison],
    rounds: int,
    peak_bar: float | None = None,
) -> Outcome:
    """Measure milliseconds and peak memory of contestants; those that run out of memory are noted.

    If a comparison of times has a limit, the comparison of peak memory has ``peak_bar``. A group of
    ``setting.skipped`` is not measured again.
    """
    if group in setting.skipped:
        return Outcome([])
    steps, notes = {}, []
    for name, contestant in contestants.items():
        try:
            steps[name] = _step(setting, contestant)
        except RuntimeError as error:
            if not (contestant.may_fail or isinstance(error, torch.OutOfMemoryError)):
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
    found = Outcome(rows, notes)
    setting.report(found)
    return found


def _reason(error: RuntimeError) -> str:
    if isinstance(error, torch.OutOfMemoryError):
        return "the GPU has not the memory"
    return str(error).splitlines()[0]


def _step(setting: Setting, contestant: Contestant) -> Step:
    """Return a training step that synchronizes the device, after one run."""
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
    """Return the peak MiB of a step above the memory allocated before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return (torch.cuda.max_memory_allocated() - before) / 2**20
