# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Data collator of parsed sentences with dependency trees or relations."""

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
    """Return the adjacency matrix ``[N, N]`` of 0 and 1 of N heads, numbered from 1 (0: root); edges are undirected.

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
    """Data collator of parsed sentences: ``input_ids``, ``attention_mask``, ``labels`` and the dependency tree.

    The tree is ``adjacency [B, N, N]`` (Kipf & Welling 2017), or with ``relations`` the ``relation_ids [B, N]``,
    indices into these names.

    A row has ``tokens`` and ``heads`` (or ``relations``) as ``read_conllu`` and ``SyntaxParser`` return them, and
    optionally ``label``. If the tokenizer splits a word, its first piece is the node of the tree, the others are its
    children, and each has the relation of the word. Special tokens have the first relation.

    Args:
        tokenizer: any fast tokenizer; its padding side is kept.
        relations: names by id, as in ``ComplexQuantumConfig``. A subtype such as ``nsubj:pass`` that is not among them
            is reduced to ``nsubj``.

    Raises:
        KeyError: a row without tokens, heads or relations; a relation without an id. For a Trainer set
            ``remove_unused_columns=False``.
        ValueError: heads or relations that do not fit the tokens, a word that the tokenizer leaves out.
    """

    tokenizer: PreTrainedTokenizerBase
    relations: Sequence[str] | None = None

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        batch = self.tokenizer(
            [row["tokens"] for row in rows], is_split_into_words=True, padding=True, return_tensors="pt"
        )
        shape = tuple(batch["input_ids"].shape)
        result = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
        if self.relations is None:
            result["adjacency"] = torch.zeros(*shape, shape[1])
            for number, row in enumerate(rows):
                check_heads(row["heads"], len(row["tokens"]))
                self._connect(result["adjacency"][number], batch.word_ids(number), row)
        else:
            result["relation_ids"] = torch.zeros(shape, dtype=torch.long)
            places = {name: place for place, name in enumerate(self.relations)}
            for number, row in enumerate(rows):
                ids = _relation_ids(row, places)
                for piece, word in enumerate(batch.word_ids(number)):
                    if word is not None:
                        result["relation_ids"][number, piece] = ids[word]
        if any("label" in row for row in rows):
            result["labels"] = torch.tensor([row["label"] for row in rows])
        return result

    def _connect(self, edges: Tensor, word_ids: list[int | None], row: dict[str, Any]) -> None:
        first: dict[int, int] = {}
        for piece, word in enumerate(word_ids):
            if word is not None and (start := first.setdefault(word, piece)) != piece:
                edges[start, piece] = edges[piece, start] = 1.0
        if lost := [word for index, word in enumerate(row["tokens"]) if index not in first]:
            raise ValueError(f"tokenizer must return a token per word, got none for {lost[0]!r}. Remove the sentence.")
        for index, head in enumerate(row["heads"]):
            if head:
                child, parent = first[index], first[head - 1]
                edges[child, parent] = edges[parent, child] = 1.0


def _relation_ids(row: dict[str, Any], places: dict[str, int]) -> list[int]:
    """Return the id of the relation of each token."""
    simple = [name if name in places else name.partition(":")[0] for name in row["relations"]]
    return [places[name] for _, name in zip(row["tokens"], simple, strict=True)]
