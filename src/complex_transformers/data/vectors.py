# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pretrained word vectors: word2vec and GloVe files, and their rows for a vocabulary."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy
import torch
from torch import Tensor

from .files import open_file, uncompressed_name

__all__ = ["read_vectors", "vector_rows"]

# Without bounds, a file of noise is one word without an end, or asks for more memory than there is.
_LONGEST_WORD, _MOST_DIMENSIONS = 10_000, 100_000


def read_vectors(path: str | os.PathLike[str]) -> dict[str, numpy.ndarray]:
    """Words with their vectors, of a word2vec (text, or binary where the name ends in ``.bin``) or GloVe file.

    The file may be compressed (``.gz``, ``.bz2``, ``.xz``). Words may hold spaces, as some of GloVe do: the numbers
    are counted from the end of a line. If a word occurs twice, the first vector counts.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file that is broken, cut short or of another kind.
    """
    with open_file(path) as file:
        try:
            words, values, dimension = (_binary if uncompressed_name(path).endswith(".bin") else _text)(file)
        except ValueError as error:
            raise ValueError(
                f"{path} is no readable file of word vectors: {error}; expected word2vec text or binary (*.bin), or "
                "GloVe text, complete and with vectors of one dimension"
            ) from error
    vectors: dict[str, numpy.ndarray] = {}
    for word, row in zip(words, numpy.frombuffer(values, numpy.float32).reshape(-1, dimension), strict=True):
        vectors.setdefault(word, row)
    return vectors


def _header(line: bytes) -> tuple[int, int] | None:
    """Number and dimension of the vectors, with which word2vec begins and GloVe does not."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    count, dimension = map(int, fields)
    if not count or not 0 < dimension <= _MOST_DIMENSIONS:
        raise ValueError(f"its header speaks of {count} vectors of {dimension} dimensions")
    return count, dimension


def _is_number(field: bytes) -> bool:
    try:
        return any(map(field.__contains__, b"0123456789")) and float(field) is not None  # "infinity" is a word
    except ValueError:
        return False


def _text(file: BinaryIO) -> tuple[list[str], array[float], int]:
    line = file.readline()
    count: float
    if header := _header(line):
        count, dimension = header
        line = file.readline()
    else:
        fields = line.split()
        numbers = next((place for place, field in enumerate(reversed(fields)) if not _is_number(field)), len(fields))
        count, dimension = float("inf"), min(numbers, len(fields) - 1)
        if dimension < 1:
            raise ValueError("its first line is no word with numbers behind it")
    words: list[str] = []
    values = array("f")
    while line and len(words) < count:
        word, *row = line.rstrip().rsplit(b" ", dimension)
        if len(row) < dimension or (b" " in word and _is_number(word.rsplit(b" ", 1)[1])):
            raise ValueError(f"vector {len(words) + 1} has not {dimension} numbers as the first: {line[:80]!r}")
        words.append(word.decode())
        values.extend(map(float, row))
        line = file.readline()
    if header and len(words) < count:
        raise ValueError(f"it has {len(words)} vectors of {count}")
    if header and (line.strip() or any(map(bytes.strip, file))):
        raise ValueError(f"it has more than the {count} vectors of its header")
    return words, values, dimension


def _binary(file: BinaryIO) -> tuple[list[str], array[float], int]:
    header = _header(file.readline(_LONGEST_WORD))
    if header is None:
        raise ValueError("it does not begin with the number and the dimension of its vectors")
    count, dimension = header
    words: list[str] = []
    values = array("f")
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := file.read(1)) not in (b" ", b"") and len(word) <= _LONGEST_WORD:
            word += byte
        row = file.read(4 * dimension) if byte == b" " else b""
        if len(row) < 4 * dimension:
            raise ValueError(f"vector {number} of {count} is cut short, or not behind a word and a space")
        words.append(word.lstrip(b"\n").decode())  # between two vectors some programs write a line break
        values.frombytes(row)
    if file.read(2).strip():
        raise ValueError(f"it has more than the {count} vectors of its header")
    if sys.byteorder == "big":
        values.byteswap()
    return words, values, dimension


def vector_rows(
    vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
) -> dict[int, Tensor]:
    """The vectors of the words of a vocabulary that have one, by id; all of one dimension, float32.

    Args:
        vectors: a mapping from word to vector, such as ``gensim`` ``KeyedVectors``, or the path of a file.
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
