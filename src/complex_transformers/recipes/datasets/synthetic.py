# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic classification tasks with complex inputs (Thesis 3.6, 1.2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ...data.extras import check_option

__all__ = ["QUADRANT_KINDS", "LabelledNumbers", "quadrant_data", "xor_data"]

QUADRANT_KINDS = ("complex", "real")
# Radii, in standard deviations of the sum, that make "near the origin" as likely as every other class:
# 1 - exp(-r^2) = 1/5 for a complex sum with E|s|^2 = 1, P(|s| < r) = 1/3 for a real one.
RADII = {"complex": math.sqrt(math.log(5 / 4)), "real": 0.4307273}


class LabelledNumbers(NamedTuple):
    """Inputs ``[N, width]``, complex ones as ``[real | imag]`` halves, and the class of each row ``[N]``."""

    numbers: Tensor
    labels: Tensor


def quadrant_data(
    num_samples: int = 10_000,
    num_features: int = 25,
    kind: str = "complex",
    std: float = 0.2,
    radius: float | None = None,
    seed: int = 0,
) -> LabelledNumbers:
    """Sample features and classify their sum: near the origin (class 0), or by quadrant or sign (Thesis 3.6).

    s = sum_j x_j with x_j normal of standard deviation ``std``: class 0 for |s| < radius std sqrt(num_features), else
    1 to 4 for the quadrants of a complex s, 1 and 2 for s > 0 and s < 0 of a real s.

    Args:
        num_samples: number of rows.
        num_features: features per row, complex or real.
        kind: ``complex``, with E|x_j|^2 = std^2, or ``real``.
        std: standard deviation of each feature; no class depends on it.
        radius: radius around the origin in standard deviations of s; by default all classes are equally frequent.
        seed: seed of the samples.

    Raises:
        ValueError: another kind.
    """
    check_option("kind", kind, QUADRANT_KINDS)
    radius = RADII[kind] if radius is None else radius
    parts = 2 if kind == "complex" else 1
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(num_samples, parts, num_features, generator=generator) * (std / math.sqrt(parts))
    total = numbers.sum(dim=-1)  # [N, parts]
    if kind == "complex":
        angle = torch.atan2(total[:, 1], total[:, 0]).remainder(2 * math.pi)
        labels = 1 + (angle / (math.pi / 2)).floor().clamp(max=3).long()
    else:
        labels = 1 + (total[:, 0] < 0).long()
    near = torch.linalg.vector_norm(total, dim=1) < radius * std * math.sqrt(num_features)
    return LabelledNumbers(numbers.flatten(1), labels.masked_fill(near, 0))


def xor_data(phases: bool = False) -> LabelledNumbers:
    """Return the four rows of XOR: inputs 0 and 1, or with ``phases`` exp(i pi x), which is 1 and -1, as halves."""
    bits = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = (bits.sum(dim=1) == 1).long()
    return LabelledNumbers(torch.cat([1 - 2 * bits, torch.zeros_like(bits)], dim=1) if phases else bits, labels)
