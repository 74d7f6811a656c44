# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tile sizes, warps and stages of the attention kernels, chosen by Triton's autotuner.

The first call with a new head size, dtype, mask or length class times every candidate on the GPU. Triton caches the
times on disk, next to its compiled kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

__all__ = ["CANDIDATES", "SHORTEST", "bucket", "tiles"]

SHORTEST = 512  # queries and keys; tuning takes longer than shorter inputs gain
SMALLEST_MEMORY = 99 * 2**10  # shared memory per block, in bytes, of any supported GPU
KEY = ["D", "V", "SCORE", "SIGMOID", "SCALED", "MASK", "CAUSAL", "DROPOUT", "PRECISION", "bucket"]

# Queries and keys per tile, warps, stages.
CANDIDATES = {
    "forward": (
        (64, 32, 4, 3),
        (64, 64, 4, 3),
        (128, 32, 4, 3),
        (128, 64, 4, 3),
        (128, 64, 8, 3),
        (128, 128, 8, 2),
        (32, 32, 4, 2),
    ),
    "backward_query": (
        (64, 32, 4, 2),
        (64, 64, 4, 1),
        (64, 64, 8, 2),
        (128, 32, 8, 2),
        (128, 64, 8, 2),
        (32, 32, 4, 2),
    ),
    "backward_key": (
        (32, 64, 4, 2),
        (64, 64, 4, 1),
        (64, 64, 8, 2),
        (32, 128, 8, 2),
        (64, 128, 8, 2),
        (32, 32, 4, 2),
    ),
}

_tuned: dict[tuple[Any, ...], dict[str, int]] = {}


def bucket(length: int, size: int) -> int:
    """Return the class of the shorter side: -1 below ``SHORTEST``, 0 below 2048, 1 below 8192, otherwise 2."""
    shorter = min(length, size)
    return -1 if shorter < SHORTEST else min(2, max(0, shorter.bit_length() - 10) // 2)


def tiles(
    kernel: Any, grid: Callable[[dict[str, Any]], tuple[int]], arguments: Sequence[Any], constants: dict[str, Any],
    fixed: dict[str, int], length_class: int,
) -> dict[str, int]:  # fmt: skip
    """Return the fastest tile sizes, or ``fixed`` where tuning is impossible or not worth it."""
    if length_class < 0 or torch.are_deterministic_algorithms_enabled():
        return fixed
    first = arguments[0]
    key = (kernel.fn.__name__, first.device, first.dtype, length_class, *constants.values())
    if key not in _tuned:
        if not _can_tune(kernel, first):
            return fixed
        try:
            _tuned[key] = _fastest(kernel, grid, arguments, constants, fixed)
        except torch.OutOfMemoryError:  # the timing clears the L2 cache with a buffer of 256 MB
            return fixed
    return _tuned[key]


def _can_tune(kernel: Any, tensor: Tensor) -> bool:
    """Return False for Triton's interpreter and while a CUDA graph is captured."""
    import triton

    compiled = isinstance(kernel, triton.JITFunction) and tensor.device.type == "cuda"
    return compiled and not torch.cuda.is_current_stream_capturing()


def _fastest(
    kernel: Any, grid: Callable[[dict[str, Any]], tuple[int]], arguments: Sequence[Any], constants: dict[str, Any],
    fixed: dict[str, int],
) -> dict[str, int]:  # fmt: skip
    import triton

    device, memory = _device(arguments[0])
    choices = candidates(kernel.fn.__name__, constants, arguments[0].element_size(), memory, fixed)
    configs = [triton.Config({"M": m, "N": n}, num_warps=warps, num_stages=stages) for m, n, warps, stages in choices]
    tuner = triton.autotune(configs, KEY)(kernel)
    tuner.cache_results = True
    with device:
        tuner[grid](*arguments, **constants)
    best = tuner.best_config
    return {**best.kwargs, "num_warps": best.num_warps, "num_stages": best.num_stages}


def _device(tensor: Tensor) -> tuple[AbstractContextManager[Any], int]:
    """Return the context that selects the GPU of a tensor, and its shared memory per block in bytes."""
    properties = torch.cuda.get_device_properties(tensor.device)
    return torch.cuda.device(tensor.device), getattr(properties, "shared_memory_per_block_optin", SMALLEST_MEMORY)


def candidates(
    name: str, constants: dict[str, Any], item_bytes: int, memory: int, fixed: dict[str, int]
) -> list[tuple[int, int, int, int]]:
    """Return the fixed sizes and all others that fit into the shared memory of a block by estimate.

    The autotuner itself skips candidates that exceed it after all.
    """
    found = [(fixed["M"], fixed["N"], fixed["num_warps"], fixed["num_stages"])]
    for queries, keys, warps, stages in CANDIDATES[name]:
        elements = shared_elements(name, queries, keys, stages, constants["D"], constants["V"])
        # tf32x3 splits a float32 operand.
        size = elements * item_bytes * (2 if constants["PRECISION"] == "tf32x3" else 1)
        if size <= memory and (queries, keys, warps, stages) not in found:
            found.append((queries, keys, warps, stages))
    return found


def shared_elements(name: str, queries: int, keys: int, stages: int, width: int, value_width: int) -> int:
    """Estimate the operands in shared memory: the outer tile once, the tiles of the loop per stage."""
    both = width + value_width
    if name == "forward":
        return 2 * queries * width + stages * keys * both
    if name == "backward_query":
        return queries * (2 * width + value_width) + stages * keys * both
    return keys * both + queries * width + 2 * queries * keys + stages * queries * both
