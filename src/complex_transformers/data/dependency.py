# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches of parsed sentences with their trees, or with the relations of their words."""

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
    """Batches of parsed sentences: ``input_ids``, ``attention_mask``, ``labels``, and what is read of the trees.

    That is ``adjacency [B, N, N]`` (Kipf & Welling 2017), or with ``relations`` the ``relation_ids [B, N]`` of the
    words, their places among these names.

    A row has ``tokens`` and ``heads`` (or ``relations``) as ``read_conllu`` and ``SyntaxParser`` give them, and
    optionally ``label``. Where the tokenizer cuts a word into pieces, the first piece stands for the word in the tree
    and the others hang on it; each has the relation of the word. Tokens that are no words have the first relation.

    Args:
        tokenizer: any fast tokenizer; its padding side is kept.
        relations: names by id, as ``ComplexQuantumConfig`` has them. A subtype such as ``nsubj:pass`` that is not
            among them is taken for its relation, ``nsubj``.

    Raises:
        ValueError: no tokens, heads or relations that do not fit the tokens, a relation without a name, a word that
            the tokenizer leaves out, labels in a part of the rows.
    """

    tokenizer: PreTrainedTokenizerBase
    relations: Sequence[str] | None = None

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        needed = "heads" if self.relations is None else "relations"
        for number, row in enumerate(rows):
            if missing := {"tokens", needed} - set(row):
                raise ValueError(
                    f"row {number} of the batch has no {sorted(missing)}, only {sorted(row)}; for a Trainer set "
                    "remove_unused_columns=False"
                )
            if not row["tokens"]:
                raise ValueError(f"row {number} of the batch has no tokens; leave out empty sentences")
            if self.relations is None:
                check_heads(row["heads"], len(row["tokens"]))
        batch = self.tokenizer(
            [row["tokens"] for row in rows], is_split_into_words=True, padding=True, return_tensors="pt"
        )
        shape = tuple(batch["input_ids"].shape)
        result = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
        if self.relations is None:
            result["adjacency"] = torch.zeros(*shape, shape[1])
            for number, row in enumerate(rows):
                self._connect(result["adjacency"][number], batch.word_ids(number), row)
        else:
            result["relation_ids"] = torch.zeros(shape, dtype=torch.long)
            places = {name: place for place, name in enumerate(self.relations)}
            for number, row in enumerate(rows):
                ids = _relation_ids(row, places)
                for piece, word in enumerate(batch.word_ids(number)):
                    if word is not None:
                        result["relation_ids"][number, piece] = ids[word]
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


def _relation_ids(row: dict[str, Any], places: dict[str, int]) -> list[int]:
    """The relation of each token by its place among those of the model."""
    if len(row["relations"]) != len(row["tokens"]):
        raise ValueError(f"{len(row['tokens'])} tokens need as many relations, got {len(row['relations'])}")
    ids = []
    for token, name in zip(row["tokens"], row["relations"], strict=True):
        place = places.get(name, places.get(str(name).partition(":")[0]))
        if place is None:
            raise ValueError(
                f"{name!r}, the relation of {token!r}, is none of {list(places)}: give a model and its "
                "collator all relations of the data"
            )
        ids.append(place)
    return ids
