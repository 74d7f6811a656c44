# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pretrained word vectors: word2vec and GloVe files through ``gensim``, and their rows for a vocabulary."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

__all__ = ["read_vectors", "vector_rows"]


def read_vectors(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """A word2vec (text, or binary where the name ends in ``.bin``) or GloVe file, also ``.gz``, as ``KeyedVectors``.

    Raises:
        ImportError: ``gensim`` is missing (extra ``vectors``).
        FileNotFoundError: no such file.
        ValueError: a file that is broken, cut short or of another kind.
    """
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise ImportError("reading word vectors needs gensim: pip install complex_transformers[vectors]") from error
    if not Path(path).is_file():
        raise FileNotFoundError(f"no such file of word vectors: {path}")
    binary = str(path).removesuffix(".gz").endswith(".bin")
    try:
        no_header = not binary and _first_line_is_a_vector(path)
        return KeyedVectors.load_word2vec_format(str(path), binary=binary, no_header=no_header)
    except (ValueError, TypeError, IndexError, EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"{path} is no readable file of word vectors ({type(error).__name__}: {error}); expected word2vec text, "
            "word2vec binary (*.bin) or GloVe text, complete and with vectors of one dimension"
        ) from error


def _first_line_is_a_vector(path: str | os.PathLike[str]) -> bool:
    """True for GloVe, whose text has no ``count dimension`` line."""
    opener: Callable[..., Any] = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return len(file.readline().split()) != 2


def vector_rows(
    vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
) -> dict[int, Tensor]:
    """The vectors of the words of a vocabulary that have one, by id; all of one dimension, float32.

    Args:
        vectors: ``gensim`` ``KeyedVectors``, any mapping from word to vector, or the path of a file.
        vocabulary: word -> id, as ``tokenizer.get_vocab()``.

    Raises:
        ValueError: vectors of several dimensions or with NaN, or no vector for any word.
    """
    if isinstance(vectors, (str, os.PathLike)):
        vectors = read_vectors(vectors)
    rows: dict[int, Tensor] = {}
    for word, index in sorted(vocabulary.items(), key=lambda item: item[1]):
        if word in vectors:
            rows[index] = torch.as_tensor(numpy.array(vectors[word]), dtype=torch.float32)
            if rows[index].dim() != 1 or not bool(torch.isfinite(rows[index]).all()):
                raise ValueError(f"the vector of {word!r} is not a row of finite numbers: {rows[index]}")
    if not rows:
        raise ValueError(
            "no word of the vocabulary has a vector: fold case as the vectors do, or use a tokenizer of whole words"
        )
    if len(sizes := {row.numel() for row in rows.values()}) > 1:
        raise ValueError(f"word vectors must have one dimension, got {sorted(sizes)}")
    return rows
