# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Where Triton kernels may run, and the switch that turns them off."""

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

__all__ = ["DTYPES", "is_compiled", "launch", "may_run", "use_kernels"]

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
DEVICES = ("cuda",)  # the tests put the CPU here, for Triton's interpreter
OLDEST_TRITON = (3, 3)  # the first with tuples as arguments
OLDEST_CAPABILITY = (8, 0)  # the first NVIDIA processors with bfloat16 and TensorFloat-32

_enabled = os.environ.get("CT_KERNELS", "1") != "0"


class use_kernels:
    """Turn Triton kernels on or off, from now on or for the block of a ``with`` statement.

    They start as the environment says: off with ``CT_KERNELS=0``, else on. Without Triton, or without a device it
    knows, the switch changes nothing.

    Args:
        enabled: False for plain PyTorch everywhere.
    """

    def __init__(self, enabled: bool) -> None:
        global _enabled
        self.before, _enabled = _enabled, bool(enabled)

    def __enter__(self) -> None:
        """Set by the constructor."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _enabled
        _enabled = self.before


def is_compiled() -> bool:
    """True where ``torch.compile`` records a graph for this process, not an export one for another."""
    return torch.compiler.is_dynamo_compiling() and not is_exporting()


@cache
def _has_triton() -> bool:
    if find_spec("triton") is None:
        return False
    import triton

    return tuple(int(part) for part in triton.__version__.split(".")[:2]) >= OLDEST_TRITON


@cache
def _is_known(device: torch.device) -> bool:
    """True for a processor the kernels are written for; those of AMD have less shared memory."""
    if device.type != "cuda":
        return True
    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= OLDEST_CAPABILITY


def _is_ready(device: torch.device) -> bool:
    return _has_triton() and _is_known(device)


# torch.compiler.assume_constant_result, without the compiler (and with it Triton) that its call imports.
_is_ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


def may_run(*tensors: Tensor, in_graphs: bool = False) -> bool:
    """True where a kernel may take these tensors: of one device it knows and one floating dtype, none of them empty.

    False while a graph is traced, exported or compiled: a compiler is given the plain formula, which it fuses by
    itself; with ``in_graphs`` a graph of ``torch.compile`` may have the kernel as an operator. False within a
    transform of ``torch.func``, too.
    """
    first = tensors[0]
    if not _enabled or first.device.type not in DEVICES or first.dtype not in DTYPES:
        return False
    if is_transformed() or torch.jit.is_tracing():
        return False
    if torch.compiler.is_compiling() and not (in_graphs and is_compiled()):
        return False
    for x in tensors:  # a subclass may have no memory of its own to read
        if (
            type(x) not in (Tensor, nn.Parameter)
            or x.device != first.device
            or x.dtype != first.dtype
            or not x.numel()
        ):
            return False
    return _is_ready(first.device)


def launch(kernel: Any, programs: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Run so many programs of a Triton kernel on the device of its first argument."""
    with torch.cuda.device_of(arguments[0]):
        kernel[programs](*arguments, **constants)
