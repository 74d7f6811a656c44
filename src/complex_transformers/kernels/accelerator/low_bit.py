# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products with packed two-bit complex weights on a GPU, from the codes as they are stored.

An overload of the operator of the CPU, ``complex_transformers::low_bit_linear``, whose weights are reordered first.
One input is multiplied in float32, up to 64 inputs by tensor cores with weights that are unpacked in registers, and
more inputs by a matrix that is unpacked in one launch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..dispatch import product_dtype
from . import switch
from .attention_launch import precision

__all__ = ["linear"]

# Tiles: rows and bytes of codes.
ONE = {"M": 4, "BYTES": 128}
MATRIX = {"M": 16, "BYTES": 32}
MOST = 64  # inputs up to which weights are unpacked in registers
PROGRAMS = 512  # to fill a GPU; with fewer tiles, several programs share the columns of one

_LIBRARY = torch.library.Library("complex_transformers", "FRAGMENT")
# One or two weights: the first ``plain`` (0 or 1) multiply z, the others conj(z).
_LIBRARY.define("low_bit_linear.packed(Tensor x, Tensor[] codes, Tensor[] scales, int plain) -> Tensor")


@torch.library.impl("complex_transformers::low_bit_linear.packed", ["cuda", "cpu"], lib=_LIBRARY)
def _linear(x: Tensor, codes: Sequence[Tensor], scales: Sequence[Tensor], plain: int) -> Tensor:
    stages, rows, width = codes[0].shape
    inputs = x.reshape(-1, x.shape[-1]).contiguous()
    weights = [part.contiguous() for pair in ((codes[0], scales[0]), (codes[-1], scales[-1])) for part in pair]
    given = *weights, rows, x.shape[-1] // 2, width
    kinds = {"STAGES": stages if plain else 0, "CONJ_STAGES": stages if len(codes) > plain else 0}
    kinds["PER_ROW"] = scales[0].shape[-1] == rows
    product = _one if len(inputs) == 1 else _many if len(inputs) <= MOST else _by_matrix
    return product(inputs, given, kinds).view(*x.shape[:-1], 2 * rows)


def _one(x: Tensor, given: Sequence[Any], kinds: dict[str, Any]) -> Tensor:
    """Multiply one input in float32."""
    from . import low_bit_kernels as kernels

    rows = given[-3]
    out = x.new_empty(1, 2 * rows)
    switch.launch(kernels.low_bit_one, (-(-rows // ONE["M"]),), x, out, *given, **kinds, **ONE)
    return out


def _many(x: Tensor, given: Sequence[Any], kinds: dict[str, Any]) -> Tensor:
    """Multiply by weights that are unpacked in registers, and add up the sums over parts of the columns."""
    from . import low_bit_kernels as kernels

    (*_, rows, _, width), count, tile = given, len(x), tile_sizes(len(x), x.element_size())
    programs = -(-rows // tile["M"]), -(-count // tile["N"])
    steps = -(-width // tile["BYTES"])
    chunk = -(-steps // max(1, PROGRAMS // math.prod(programs)))  # steps of one program
    chunks = -(-steps // chunk)
    sums = x.new_empty(chunks, count, 2 * rows, dtype=x.dtype if chunks == 1 else torch.float32)
    numbers = count, chunk * tile["BYTES"]
    constants = {**kinds, **tile, "PRECISION": precision(x.dtype)}
    switch.launch(kernels.low_bit_many, (*programs, chunks), x, sums, *given, *numbers, **constants)
    return sums[0] if chunks == 1 else sums.sum(0).to(x.dtype)


def _by_matrix(x: Tensor, given: Sequence[Any], kinds: dict[str, Any]) -> Tensor:
    """Multiply by the real matrix of the weights, which exists for the time of the product."""
    from . import low_bit_kernels as kernels

    *_, rows, columns, width = given
    matrix = x.new_empty(2 * rows, 2 * columns)
    programs = -(-rows // MATRIX["M"]), -(-width // MATRIX["BYTES"])
    switch.launch(kernels.low_bit_matrix, programs, matrix, *given, **kinds, **MATRIX)
    return x @ matrix.t()


def tile_sizes(count: int, item_bytes: int) -> dict[str, int]:
    """Return rows, bytes of codes and inputs of a tile whose weights fit into registers."""
    return {
        "M": 64,
        "BYTES": 16 // item_bytes,
        "N": 16 if count <= 16 else 128 // item_bytes,
        "num_warps": 4,
        "num_stages": 2,
    }


@torch.library.register_fake("complex_transformers::low_bit_linear.packed", lib=_LIBRARY)
def _empty(x: Tensor, codes: Sequence[Tensor], scales: Sequence[Tensor], plain: int) -> Tensor:
    return x.new_empty(*x.shape[:-1], 2 * codes[0].shape[1])


def linear(x: Tensor, codes: Sequence[Tensor], scales: Sequence[Tensor], linear_type: str) -> Tensor:
    """Compute W z, W conj(z) or U z + V conj(z): ``[..., 2 in] -> [..., 2 out]`` in the dtype of ``x`` or autocast.

    Args:
        codes: uint8 ``[stages, out, ceil(in / 4)]`` of W, or of U and V, see ``nn.pack_codes``.
        scales: ``[stages, 2, out or 1]`` of each.
        linear_type: see ``nn.PackedLinear``.
    """
    x = x.to(product_dtype(x))
    return torch.ops.complex_transformers.low_bit_linear.packed(x, codes, scales, int(linear_type != "conjugate"))
