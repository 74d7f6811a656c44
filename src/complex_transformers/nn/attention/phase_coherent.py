# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Cosine scores and the bias of sigmoid weights: phase-coherent attention.

Hioki, *Complex-Valued Phase-Coherent Transformer* (2026, arXiv 2605.10123, a preprint, section 3.3.1) joins both; its
results are the author's alone. Sigmoid weights of real networks are from Ramapuram et al., *Theory, Analysis, and Best
Practices for Sigmoid Self-Attention* (ICLR 2025, arXiv 2409.04431).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..checks import check_positive
from ..initialization import fill_
from ..precision import FullPrecision

__all__ = ["SigmoidBias", "unit_vectors"]

LEAST_SQUARE = 1e-12  # vectors much shorter than 1e-6 keep a part of their length, so that the gradient is bounded


def unit_vectors(x: Tensor) -> Tensor:
    """Compute z / ||z|| over the last axis with ||z||^2 = sum_j |z_j|^2, for halves and for real features.

    It is z / sqrt(||z||^2 + 1e-12), which is 0 at z = 0 and has a gradient of at most 1e6 there.
    """
    width = x.shape[-1]
    # RMS norm is one kernel on a GPU and computes in float32 or better.
    return F.rms_norm(x, (width,), eps=LEAST_SQUARE / width) * width**-0.5


class SigmoidBias(FullPrecision):
    """The bias b of the weights sigmoid(s + b) of one attention layer, ``[1]``.

    It starts at -log N, so that the N weights of a query sum to about 1 while scores are near 0 (Ramapuram et al.
    2024, arXiv 2409.04431). It stays in float32 or better and has no weight decay.

    Args:
        training_length: N, the number of keys of a query in training.

    Raises:
        ValueError: N is not positive.
    """

    no_weight_decay = full_precision = ("score_bias",)

    def __init__(self, training_length: int) -> None:
        super().__init__()
        check_positive(training_length=training_length)
        self.training_length = training_length
        self.score_bias = nn.Parameter(torch.empty(1, dtype=self.full_precision_dtype()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the bias to -log N."""
        fill_(self.score_bias, self.score_bias.new_tensor(-math.log(self.training_length)))

    def forward(self) -> Tensor:
        """Return the bias."""
        return self.score_bias

    def extra_repr(self) -> str:
        return f"training_length={self.training_length}"
