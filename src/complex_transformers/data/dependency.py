# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dependency trees from CoNLL-U files, and batches with the adjacency that a graph network takes."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

__all__ = ["DependencyCollator", "adjacency_from_heads", "read_conllu"]


def read_conllu(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Sentences of a CoNLL-U file, also ``.gz``, one after the other.

    Yields:
        ``tokens`` (word forms), ``heads`` (number of the governor from 1, or 0 for the root), ``relations``, and
        ``metadata`` (the comments, such as ``sent_id``). Ranges of contracted words and empty nodes are left out.

    Raises:
        ImportError: ``conllu`` is missing (extra ``syntax``).
        FileNotFoundError: no such file.
        ValueError: a sentence that is no CoNLL-U, or has a word whose governor is no other word of it; names the
            sentence.
    """
    try:
        import conllu
    except ImportError as error:
        raise ImportError("reading CoNLL-U needs conllu: pip install complex_transformers[syntax]") from error
    if not Path(path).is_file():
        raise FileNotFoundError(f"no such CoNLL-U file: {path}")
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        sentences = conllu.parse_incr(file)
        number = 0
        while True:
            number += 1
            try:
                sentence = next(sentences, None)
            except (conllu.exceptions.ParseException, ValueError, EOFError, OSError, zlib.error) as error:
                raise ValueError(f"{path}: sentence {number} is no CoNLL-U: {error}") from error
            if sentence is None:
                return
            try:
                words = _words(sentence)
                heads = [token["head"] for token in words]
                _check_heads(heads, len(words))
            except ValueError as error:
                name = sentence.metadata.get("sent_id", number)
                raise ValueError(f"{path}: sentence {name}: {error}") from None
            yield {
                "tokens": [token["form"] for token in words],
                "heads": heads,
                "relations": [token["deprel"] for token in words],
                "metadata": dict(sentence.metadata),
            }


def _words(sentence: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tokens that are words of their own, numbered 1, 2, ...: heads count by these numbers."""
    words = [token for token in sentence if not isinstance(token["id"], tuple)]
    for number, token in enumerate(words, 1):
        if token["id"] != number:
            raise ValueError(f"word {number} has the ID {token['id']}: words must be numbered from 1")
        if "deprel" not in token:
            raise ValueError(f"word {number} has {len(token)} of the 10 columns of CoNLL-U")
    return words


def _check_heads(heads: Sequence[int | None], num_tokens: int) -> None:
    if len(heads) != num_tokens:
        raise ValueError(f"{num_tokens} tokens need as many heads, got {len(heads)}")
    for index, head in enumerate(heads, 1):
        if head is None or not 0 <= head <= num_tokens or head == index:
            raise ValueError(f"the head of token {index} must be another token of 1..{num_tokens} or 0, got {head}")


def adjacency_from_heads(heads: Sequence[int]) -> Tensor:
    """Undirected edges between each token and its head: N heads from 1 (0: root) -> ``[N, N]`` of 0 and 1.

    Raises:
        ValueError: a head outside the sentence, or a token that is its own head.
    """
    _check_heads(heads, len(heads))
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
            _check_heads(row["heads"], len(row["tokens"]))
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
