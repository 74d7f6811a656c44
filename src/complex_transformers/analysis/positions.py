# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a language model gains from word to word of a window."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["perplexity_by_position"]


@torch.no_grad()
def perplexity_by_position(model: nn.Module, windows: Iterable[Mapping[str, Tensor]]) -> list[float]:
    """Perplexity of a word by its place in a window that is read without what came before.

    A model that reads from left to right knows more with every word. One that sees words to come knows as much at the
    first place as at the last, or more: e^loss of it is no perplexity.

    Args:
        model: a causal language model.
        windows: ``input_ids`` and ``shift_labels``, the tokens that follow (-100 is not counted), ``[B, T]`` each, as
            ``StreamDataset`` has them; the last may be shorter.

    Returns:
        exp of the mean loss (nats) of each place, as many as the longest window has.

    Raises:
        ValueError: no window, a place without a token to predict.
    """
    training, device = model.training, next(model.parameters()).device
    loss = torch.zeros(0, dtype=torch.float64)
    count = torch.zeros(0, dtype=torch.int64)
    try:
        model.eval()
        for window in windows:
            following = window["shift_labels"].to(device)
            # Of an adaptive softmax these are log-probabilities, of which cross entropy makes nothing else.
            logits = model(input_ids=window["input_ids"].to(device), use_cache=False).logits
            nll = F.cross_entropy(logits.float().transpose(1, 2), following, ignore_index=-100, reduction="none")
            longer = max(nll.shape[1], len(loss)) - len(loss)
            loss, count = F.pad(loss, (0, longer)), F.pad(count, (0, longer))
            loss[: nll.shape[1]] += nll.double().sum(0).cpu()
            count[: nll.shape[1]] += (following != -100).sum(0).cpu()
    finally:
        model.train(training)
    if not len(count) or not bool(count.all()):
        raise ValueError(f"every place needs a token to predict, got {count.tolist()} of them")
    return [math.exp(value) if value < 700 else math.inf for value in (loss / count).tolist()]
