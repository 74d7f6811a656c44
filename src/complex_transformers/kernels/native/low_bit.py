# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products with packed two-bit complex weights on the CPU, without unpacked copies of the weights.

Up to about 24 inputs, sums over four columns are looked up in tables, as in T-MAC (Wei et al. 2024,
arXiv:2407.00088) but in float32, so that results differ from the unpacked layer only by rounding. AVX2 and NEON also
have 16-bit tables of rounded inputs, for half-precision inputs and for float32 unless
``torch.get_float32_matmul_precision()`` is ``highest``. For more inputs, weights are unpacked to the cache, some rows
at a time. The method is described in ``low_bit.h``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from ..dispatch import product_dtype
from .build import BuildError, compile_operators

__all__ = ["OrderedWeights", "linear", "load", "ordered_weights", "paths", "warn_of_plain"]

LANES = 16  # rows side by side, as in low_bit.h

path = 0  # index in paths(): 0 is the fastest; the tests try all


@dataclass(frozen=True)
class OrderedWeights:
    """Packed weights in the order of the kernel, with as many bytes as the packed codes.

    Attributes:
        signs: uint8 ``[tiles, blocks, matrices * stages, 4, 16]`` for tiles of 16 rows and blocks of 16 columns.
        scales: float32 ``[tiles, matrices * stages, 2, 16]``.
        rows: complex outputs.
        first_conjugate: matrices times stages from this one on are multiplied with conj(z).
    """

    signs: Tensor
    scales: Tensor
    rows: int
    first_conjugate: int


@cache
def load() -> bool:
    """Compile and load the operators; return False, with one warning, if that is impossible."""
    try:
        library = compile_operators()
        torch.ops.load_library(str(library))
    except (BuildError, OSError) as error:
        warn_of_plain("CPU", str(error))
        return False
    torch.library.register_fake("complex_transformers::low_bit_signs", _fake_signs)
    torch.library.register_fake("complex_transformers::low_bit_linear", _fake_linear)
    return True


def warn_of_plain(device: str, reason: str) -> None:
    """Warn that packed layers unpack their weights in every call, and why."""
    warnings.warn(
        f"Packed layers run in plain PyTorch, which is much slower than their {device} kernels: {reason}. "
        "CT_KERNELS=0 hides this warning.",
        stacklevel=3,
    )


def _fake_signs(codes: Tensor) -> Tensor:
    sets, rows, columns = codes.shape
    return codes.new_empty(-(-rows // LANES), -(-columns // 4), sets, 4, LANES)


def _fake_linear(x: Tensor, signs: Tensor, scales: Tensor, rows: int, first_conjugate: int, path: int = 0) -> Tensor:
    return x.new_empty(*x.shape[:-1], 2 * rows)


def paths() -> list[str]:
    """Return the instruction sets that this processor has kernels for, the fastest first."""
    return torch.ops.complex_transformers.low_bit_paths() if load() else []


def ordered_weights(
    codes: Sequence[Tensor], scales: Sequence[Tensor], stages: int, linear_type: str
) -> OrderedWeights:
    """Reorder the packed codes and scales of W, or of U and V, for the kernel.

    Args:
        codes: uint8 ``[stages, out, ceil(in / 4)]``, see ``nn.pack_codes``.
        scales: ``[stages, 2, out or 1]``.
        linear_type: see ``nn.PackedLinear``.
    """
    rows = codes[0].shape[1]
    wide = torch.cat([scale.float() for scale in scales]).expand(-1, -1, rows)
    tiles = nn.functional.pad(wide, (0, -rows % LANES)).unflatten(-1, (-1, LANES)).permute(2, 0, 1, 3)
    signs = torch.ops.complex_transformers.low_bit_signs(torch.cat(list(codes)))
    plain = {"complex": len(wide), "conjugate": 0, "widely_linear": stages}[linear_type]
    return OrderedWeights(signs, tiles.contiguous(), rows, plain)


def linear(x: Tensor, weights: OrderedWeights) -> Tensor:
    """Compute W z, W conj(z) or U z + V conj(z): ``[..., 2 in] -> [..., 2 out]`` in the dtype of ``x`` or autocast."""
    dtype = product_dtype(x)
    x = x if x.dtype == dtype else x.to(dtype)
    product = torch.ops.complex_transformers.low_bit_linear.default  # found faster than by the name without overload
    return product(x, weights.signs, weights.scales, weights.rows, weights.first_conjugate, path)
