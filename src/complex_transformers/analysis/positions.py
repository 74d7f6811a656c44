# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a language model by position in its context."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["perplexity_by_position"]


@torch.no_grad()
def perplexity_by_position(model: nn.Module, windows: Iterable[Mapping[str, Tensor]]) -> list[float]:
    """Compute the perplexity at each position of a window, without context from earlier windows.

    The perplexity of a causal model falls with the position. If it does not, the model may see the tokens that it
    predicts.

    Args:
        model: a causal language model.
        windows: batches of ``input_ids`` and ``shift_labels`` (the following tokens, -100 is ignored), ``[B, T]``
            each, as ``StreamDataset`` yields them; the last may be shorter.

    Returns:
        exp(mean loss) for each position of the longest window.

    Raises:
        ValueError: ``windows`` is empty, or a position without a token to predict.
    """
    training, device = model.training, next(model.parameters()).device
    loss = torch.zeros(0, dtype=torch.float64)
    count = torch.zeros(0, dtype=torch.int64)
    try:
        model.eval()
        for window in windows:
            following = window["shift_labels"].to(device)
            # An adaptive softmax returns log-probabilities; cross entropy leaves them unchanged.
            logits = model(input_ids=window["input_ids"].to(device), use_cache=False).logits
            nll = F.cross_entropy(logits.float().transpose(1, 2), following, ignore_index=-100, reduction="none")
            longer = max(nll.shape[1], len(loss)) - len(loss)
            loss, count = F.pad(loss, (0, longer)), F.pad(count, (0, longer))
            loss[: nll.shape[1]] += nll.double().sum(0).cpu()
            count[: nll.shape[1]] += (following != -100).sum(0).cpu()
    finally:
        model.train(training)
    if not len(count) or not bool(count.all()):
        raise ValueError(f"windows must have a token to predict at each position, got counts {count.tolist()}")
    return [math.exp(value) if value < 700 else math.inf for value in (loss / count).tolist()]
