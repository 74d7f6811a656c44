# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Conditions under which Triton kernels run, and the switch to disable them."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from ..dispatch import is_transformed
from ..exporting import is_exporting

__all__ = ["DTYPES", "draw_seed", "is_compiled", "launch", "may_run", "use_kernels"]

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
DEVICES = ("cuda",)  # the tests put the CPU here, for Triton's interpreter
OLDEST_TRITON = (3, 3)  # the first with tuples as arguments
OLDEST_CAPABILITY = (8, 0)  # the first NVIDIA processors with bfloat16 and TensorFloat-32

_enabled = os.environ.get("CT_KERNELS", "1") != "0"


class use_kernels:
    """Enable or disable Triton kernels and the C++ kernels of the CPU, from now on or within a ``with`` block.

    Kernels are enabled by default and disabled by the environment variable ``CT_KERNELS=0``. Where no kernel can run,
    the switch has no effect.

    Args:
        enabled: False for plain PyTorch everywhere.
    """

    def __init__(self, enabled: bool) -> None:
        global _enabled
        self.before, _enabled = _enabled, bool(enabled)

    def __enter__(self) -> None:
        """Do nothing: the constructor has set the switch."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _enabled
        _enabled = self.before


def is_compiled() -> bool:
    """Return whether ``torch.compile``, and not an export, records a graph."""
    return torch.compiler.is_dynamo_compiling() and not is_exporting()


@cache
def _has_triton() -> bool:
    if find_spec("triton") is None:
        return False
    import triton

    return tuple(int(part) for part in triton.__version__.split(".")[:2]) >= OLDEST_TRITON


@cache
def _is_known(device: torch.device) -> bool:
    """Return whether the kernels support the device; AMD GPUs have too little shared memory."""
    if device.type != "cuda":
        return True
    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= OLDEST_CAPABILITY


def _is_ready(device: torch.device) -> bool:
    return _has_triton() and _is_known(device)


# Like torch.compiler.assume_constant_result, whose call would import the compiler and Triton.
_is_ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


def may_run(*tensors: Tensor, in_graphs: bool = False) -> bool:
    """Return whether a kernel supports these tensors: one supported device, one floating dtype, none empty.

    The result is False while a graph is traced, exported or compiled, since compilers fuse the plain formula; with
    ``in_graphs``, ``torch.compile`` may use the kernel as an operator. It is also False under ``torch.func``.
    """
    first = tensors[0]
    if not _enabled or first.device.type not in DEVICES or first.dtype not in DTYPES:
        return False
    if is_transformed() or torch.jit.is_tracing():
        return False
    if torch.compiler.is_compiling() and not (in_graphs and is_compiled()):
        return False
    for x in tensors:  # a subclass may not own its memory
        if (
            type(x) not in (Tensor, nn.Parameter)
            or x.device != first.device
            or x.dtype != first.dtype
            or not x.numel()
        ):
            return False
    return _is_ready(first.device)


def draw_seed(x: Tensor) -> int | Tensor:
    """Draw a seed for a kernel on ``x``: a number, but in graphs, which would repeat it, a tensor on the device."""
    if is_compiled() or (not x.is_cpu and torch.cuda.is_current_stream_capturing()):
        return torch.randint(2**62, (), device=x.device)
    return int(torch.randint(2**62, ()))  # on the CPU, which launches no kernel


def launch(kernel: Any, programs: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Launch ``programs`` instances of a Triton kernel on the device of its first argument."""
    with torch.cuda.device_of(arguments[0]):
        kernel[programs](*arguments, **constants)
