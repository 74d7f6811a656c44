# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Phase of an embedding at a position."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["wave_phase"]


def wave_phase(frequency: Tensor, positions: Tensor) -> Tensor:
    """Compute omega pos modulo 2 pi in [-pi, pi], in float32 or better: ``[..., d] x [...] -> [..., d]``.

    The product is computed and reduced in float64; in float32 the error is 0.06 rad at position 1e6.
    """
    cycles = frequency.double() * (positions.double() / (2.0 * math.pi)).unsqueeze(-1)
    phase = (cycles - cycles.detach().round()) * (2.0 * math.pi)  # detached, since rounding has no gradient
    return phase if frequency.dtype == torch.float64 else phase.float()
