# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches of parsed sentences with the adjacency that a graph network takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from .syntax import check_heads

__all__ = ["DependencyCollator", "adjacency_from_heads"]


def adjacency_from_heads(heads: Sequence[int]) -> Tensor:
    """Undirected edges between each token and its head: N heads from 1 (0: root) -> ``[N, N]`` of 0 and 1.

    Raises:
        ValueError: a head outside the sentence, or a token that is its own head.
    """
    check_heads(heads, len(heads))
    adjacency = torch.zeros(len(heads), len(heads))
    for index, head in enumerate(heads):
        if head:
            adjacency[index, head - 1] = adjacency[head - 1, index] = 1.0
    return adjacency


@dataclass
class DependencyCollator:
    """Batches of parsed sentences: ``input_ids``, ``attention_mask``, ``adjacency [B, N, N]`` and ``labels``.

    A row has ``tokens`` and ``heads`` as ``read_conllu`` gives them, and optionally ``label``. Where the tokenizer
    cuts a word into pieces, the first piece stands for the word in the tree and the others hang on it.

    Args:
        tokenizer: any fast tokenizer; its padding side is kept.

    Raises:
        ValueError: no tokens, heads that do not fit the tokens, a word that the tokenizer leaves out, labels in a part
            of the rows.
    """

    tokenizer: PreTrainedTokenizerBase

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        for number, row in enumerate(rows):
            if missing := {"tokens", "heads"} - set(row):
                raise ValueError(
                    f"row {number} of the batch has no {sorted(missing)}, only {sorted(row)}; for a Trainer set "
                    "remove_unused_columns=False"
                )
            if not row["tokens"]:
                raise ValueError(f"row {number} of the batch has no tokens; leave out empty sentences")
            check_heads(row["heads"], len(row["tokens"]))
        batch = self.tokenizer(
            [row["tokens"] for row in rows], is_split_into_words=True, padding=True, return_tensors="pt"
        )
        length = batch["input_ids"].shape[1]
        adjacency = torch.zeros(len(rows), length, length)
        for number, row in enumerate(rows):
            self._connect(adjacency[number], batch.word_ids(number), row)
        result = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "adjacency": adjacency}
        if labelled := sum("label" in row for row in rows):
            if labelled < len(rows):
                raise ValueError(f"{labelled} of the {len(rows)} rows of the batch have a label: give all of them one")
            result["labels"] = torch.tensor([row["label"] for row in rows])
        return result

    def _connect(self, edges: Tensor, word_ids: list[int | None], row: dict[str, Any]) -> None:
        first: dict[int, int] = {}
        for piece, word in enumerate(word_ids):
            if word is not None and (start := first.setdefault(word, piece)) != piece:
                edges[start, piece] = edges[piece, start] = 1.0
        if lost := [word for index, word in enumerate(row["tokens"]) if index not in first]:
            raise ValueError(f"the tokenizer leaves out {lost[0]!r}: its place in the tree would be lost")
        for index, head in enumerate(row["heads"]):
            if head:
                child, parent = first[index], first[head - 1]
                edges[child, parent] = edges[parent, child] = 1.0
