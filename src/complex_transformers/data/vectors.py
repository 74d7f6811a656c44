# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pretrained word vectors: word2vec and GloVe files, and their rows for a vocabulary."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy
import torch
from torch import Tensor

from .extras import require
from .files import named, open_file, uncompressed_name

__all__ = ["read_vectors", "vector_rows"]


def read_vectors(path: str | os.PathLike[str]) -> dict[str, numpy.ndarray]:
    """Read the words and vectors of a GloVe or word2vec file (text, or binary if its name ends in ``.bin``).

    The file may be compressed (``.gz``, ``.bz2``, ``.xz``). Words may contain spaces, as some of GloVe do: the
    dimension is counted from the end of a line. The first vector of a repeated word counts.

    Raises:
        FileNotFoundError: no such file.
        ImportError: a binary file without ``gensim`` (extra ``vectors``).
        ValueError: vectors of several dimensions, fewer vectors than in the header.
    """
    with named(path), open_file(path) as file:
        if uncompressed_name(path).endswith(".bin"):
            keyed = require("gensim.models", "binary word2vec files need gensim", "vectors").KeyedVectors
            loaded = keyed.load_word2vec_format(os.fspath(path), binary=True)
            return {word: loaded.vectors[index] for word, index in loaded.key_to_index.items()}
        words, values, dimension = _read_text(file)
    vectors: dict[str, numpy.ndarray] = {}
    for word, row in zip(words, numpy.frombuffer(values, numpy.float32).reshape(-1, dimension), strict=True):
        vectors.setdefault(word, row)
    return vectors


def _is_number(field: bytes) -> bool:
    try:
        return any(map(field.__contains__, b"0123456789")) and float(field) is not None  # "infinity" is a word
    except ValueError:
        return False


def _read_text(file: BinaryIO) -> tuple[list[str], array[float], int]:
    line = file.readline()
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):  # the header of word2vec
        count, dimension = map(int, fields)
        line = file.readline()
    else:
        numbers = next((place for place, field in enumerate(reversed(fields)) if not _is_number(field)), len(fields))
        count, dimension = 0, min(numbers, len(fields) - 1)
    words: list[str] = []
    values = array("f")
    while line.strip():
        word, *row = line.rstrip().rsplit(b" ", dimension)
        words.append(word.decode())
        values.extend(map(float, row))
        too_long = b" " in word and _is_number(word.rpartition(b" ")[2])
        if dimension < 1 or too_long or len(values) != dimension * len(words):
            raise ValueError(f"vector {len(words)} must have {dimension} numbers, got {line[:80]!r}")
        line = file.readline()
    if len(words) < count:
        raise ValueError(
            f"the file must have {count} vectors according to its header, got {len(words)}. Correct the header, "
            "or download it again."
        )
    return words, values, dimension


def vector_rows(
    vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
) -> dict[int, Tensor]:
    """Return the float32 vectors of the words of a vocabulary that have one, by id.

    Args:
        vectors: a mapping from word to vector, such as ``KeyedVectors`` of ``gensim``, or the path of a file.
        vocabulary: word -> id, see ``tokenizer.get_vocab()``.

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
                raise ValueError(f"vector of {word!r} must be 1-D and finite, got {rows[index]}. Remove it.")
    if not rows:
        raise ValueError(
            "vocabulary must have at least one word with a vector, got none. Match the case of the vectors, or use a "
            "word-level tokenizer."
        )
    return rows
