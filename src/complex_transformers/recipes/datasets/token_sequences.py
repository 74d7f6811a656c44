# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Generated token sequences with labels, as a causal language model takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ...data.extras import require_datasets

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["UNLABELLED", "TokenSequences", "prefix_results", "with_answers"]

UNLABELLED = -100  # ignored by the loss of Transformers


class TokenSequences(NamedTuple):
    """Sequences of equal length and the tokens to be predicted in them.

    Labels follow Transformers: ``labels[:, t]`` is ``input_ids[:, t]`` or a result, is predicted from the tokens
    before t, and is -100 where nothing is predicted. ``model(input_ids, labels=labels).loss`` is the loss.

    Attributes:
        input_ids: ``[N, T]``.
        labels: ``[N, T]``.
        vocab_size: ids are smaller than this, labels too.
    """

    input_ids: Tensor
    labels: Tensor
    vocab_size: int

    def to_dataset(self) -> Dataset:
        """Return the columns ``input_ids`` and ``labels`` as a data set for ``Trainer``."""
        columns = {"input_ids": self.input_ids.tolist(), "labels": self.labels.tolist()}
        return require_datasets().Dataset.from_dict(columns)


def with_answers(context: Tensor, questions: Tensor, answers: int, vocab_size: int) -> TokenSequences:
    """Append questions ``[N, Q, W]`` to a context ``[N, T]``; the last ``answers`` tokens of each are labelled."""
    labels = torch.full_like(questions, UNLABELLED)
    labels[..., -answers:] = questions[..., -answers:]
    input_ids = torch.cat([context, questions.flatten(1)], dim=1)
    labels = torch.cat([torch.full_like(context, UNLABELLED), labels.flatten(1)], dim=1)
    return TokenSequences(input_ids, labels, vocab_size)


def prefix_results(symbols: Tensor, results: Tensor, end: int) -> TokenSequences:
    """Append the token ``end`` to symbols ``[N, T]``, and label each position with the result ``[N, T]`` before it."""
    column = torch.full_like(symbols[:, :1], end)
    input_ids = torch.cat([symbols, column], dim=1)
    labels = torch.cat([torch.full_like(column, UNLABELLED), results], dim=1)
    return TokenSequences(input_ids, labels, end + 1)
