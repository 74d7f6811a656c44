# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights of blocked attention, softmax or sigmoid, with their gradients in place."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["Sigmoid", "Softmax", "draw_factors", "make_weights", "plain_weights"]


class Softmax:
    """softmax(s + mask) over the keys of whole queries."""

    def added(self, mask: Tensor | None) -> Tensor | None:
        """Return the mask of the scores."""
        return mask

    def apply_(self, scores: Tensor) -> Tensor:
        """Compute the weights ``[P, R, S]`` of the sum, in place."""
        return torch.softmax(scores, dim=-1, out=scores)

    def gradient_(self, grad: Tensor, weights: Tensor) -> Tensor:
        """Compute w (g - sum w g) from the gradient g of the weights w, in place in one pass."""
        return torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)

    def of_bias(self) -> Tensor | None:
        """Return None: a bias common to all keys has no effect."""
        return None


class Sigmoid:
    """sigmoid(s + mask + b) of every score, with one bias b ``[1]`` for all of them."""

    def __init__(self, bias: Tensor) -> None:
        self.bias = bias
        self.total = torch.zeros_like(bias)

    def added(self, mask: Tensor | None) -> Tensor | None:
        """Return mask and bias as one mask."""
        return self.bias.view(1, 1, 1, 1) if mask is None else mask + self.bias

    def apply_(self, scores: Tensor) -> Tensor:
        """Compute the weights ``[P, R, S]`` of the sum, in place."""
        return scores.sigmoid_()

    def gradient_(self, grad: Tensor, weights: Tensor) -> Tensor:
        """Compute w (1 - w) g from the gradient g of the weights w, in place, and add it up for the bias."""
        torch.ops.aten.sigmoid_backward.grad_input(grad, weights, grad_input=grad)
        self.total += grad.sum()
        return grad

    def of_bias(self) -> Tensor | None:
        """Return the gradient of the bias over all blocks."""
        return self.total


def make_weights(bias: Tensor | None) -> Softmax | Sigmoid:
    """Return a softmax, or with a bias a sigmoid."""
    return Softmax() if bias is None else Sigmoid(bias)


def plain_weights(scores: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """Compute the same by differentiable operations, with an additive mask."""
    scores = scores if mask is None else scores + mask
    return torch.softmax(scores, dim=-1) if bias is None else torch.sigmoid(scores + bias)


def draw_factors(weights: Tensor, dropout: float, generator: torch.Generator) -> Tensor:
    """Draw dropout factors: 0 with probability ``dropout``, else 1 / (1 - dropout)."""
    keep = torch.empty_like(weights).bernoulli_(1.0 - dropout, generator=generator)
    return keep if dropout == 1.0 else keep.div_(1.0 - dropout)
