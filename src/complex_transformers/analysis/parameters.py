# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""How many numbers a network consists of."""

from __future__ import annotations

from torch import nn

__all__ = ["count_parameters"]


def count_parameters(model: nn.Module, biases: bool = True) -> int:
    """Stored real numbers of all parameters, shared ones once; a complex weight counts as two.

    Args:
        model: any network.
        biases: count them, too; the tables of the thesis do not (Thesis 3.1, 3.2).
    """
    named = model.named_parameters()  # those of torch.nn.LSTM are called bias_ih_l0, of other layers bias
    return sum(
        parameter.numel() for name, parameter in named if biases or not name.rpartition(".")[2].startswith("bias")
    )
