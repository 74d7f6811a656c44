# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Count the parameters of a network."""

from __future__ import annotations

from torch import nn

__all__ = ["count_parameters"]


def count_parameters(model: nn.Module, biases: bool = True) -> int:
    """Count the real elements of all parameters; a complex weight counts twice, shared parameters count once.

    Args:
        model: any network.
        biases: count biases too; the tables of the thesis do not (Thesis 3.1, 3.2).
    """
    named = model.named_parameters()  # biases are called bias, in torch.nn.LSTM bias_ih_l0 and so on
    return sum(
        parameter.numel() for name, parameter in named if biases or not name.rpartition(".")[2].startswith("bias")
    )
