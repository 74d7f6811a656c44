# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""When a gradient of our own is taken, and how it is called."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["is_plain_cpu", "run"]


def run(function: type[torch.autograd.Function], *inputs: Any) -> Any:
    """``function.apply``; where no graph is wanted its forward alone, for ``apply`` costs more than a small step."""
    return function.apply(*inputs) if torch.is_grad_enabled() else function.forward(*inputs)


def is_plain_cpu(x: Tensor) -> bool:
    """True where our own gradients pay: full precision on the CPU, not compiled, no autocast."""
    if torch.compiler.is_compiling() or torch.is_autocast_enabled(x.device.type):
        return False
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
