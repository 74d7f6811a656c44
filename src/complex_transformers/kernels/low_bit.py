# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Choice of the kernel of a packed layer: C++ on the CPU, Triton on a GPU, or none, with one warning that says why."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from .accelerator import switch
from .dispatch import is_transformed
from .native.low_bit import load, warn_of_plain

__all__ = ["CPU", "GPU", "kernel"]

CPU, GPU = "CPU", "GPU"
_PLAIN = (Tensor, nn.Parameter)


def kernel(x: Tensor, codes: Tensor, bias: Tensor | None, training: bool) -> str | None:
    """Return the kernels that compute a product without gradients, ``"CPU"`` or ``"GPU"``, or None for plain PyTorch.

    The first call in plain PyTorch for a reason that a user can remove warns of it: no compiler, no Triton, or
    gradients in evaluation mode.
    """
    if not switch._enabled or x.dtype not in switch.DTYPES or type(x) not in _PLAIN or x.device != codes.device:
        return None
    if x.is_meta or is_transformed() or torch.jit.is_tracing():
        return None
    if torch.compiler.is_compiling() and not switch.is_compiled():
        return None
    device = CPU if x.is_cpu and "cpu" not in switch.DEVICES else GPU
    if torch.is_grad_enabled() and (x.requires_grad or (bias is not None and bias.requires_grad)):
        if not training:
            _warn_of_gradients(device)
        return None
    return device if (_is_loaded() if device == CPU else x.numel() > 0 and _is_ready(x.device)) else None


@cache
def _warn_once(device: str, reason: str) -> None:
    warn_of_plain(device, reason)


def _warn_of_gradients(device: str) -> None:
    _warn_once(device, "inputs or biases require gradients in evaluation mode (use torch.no_grad() for inference)")


def _is_loaded() -> bool:
    return load()


def _is_ready(device: torch.device) -> bool:
    if device.type not in switch.DEVICES or not switch._is_known(device):
        _warn_once(GPU, "they need an NVIDIA GPU of compute capability 8.0 or later")
    elif not switch._has_triton():
        _warn_once(GPU, "Triton 3.3 or later is not installed (pip install triton)")
    else:
        return True
    return False


_CONSTANTS: tuple[Any, ...] = (_warn_of_gradients, _is_loaded, _is_ready)
for _function in _CONSTANTS:
    _function._dynamo_marked_constant = True  # see switch
