# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Word spaces: vectors by word, compositions of words, similarities, saving and loading."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..data.extras import check_option

__all__ = ["COMPOSITIONS", "SIMILARITIES", "WordSpace", "unit_rows"]

COMPOSITIONS = ("add", "multiply", "tensor", "mixture")
SIMILARITIES = ("modulus", "real")
Space = TypeVar("Space", bound="WordSpace")
Phrase: TypeAlias = str | Sequence[str]
Pair: TypeAlias = tuple[Phrase, Phrase]


def _words(phrase: Phrase) -> Sequence[str]:
    """Return the words of a phrase; a string is one word."""
    return [phrase] if isinstance(phrase, str) else phrase


def unit_rows(vectors: sparse.csr_matrix) -> sparse.csr_matrix:
    """Normalise each row to Euclidean norm 1; rows of zeros stay."""
    squares = numpy.asarray(abs(vectors).power(2).sum(axis=1)).ravel()
    norms = numpy.sqrt(squares, where=squares > 0, out=numpy.ones(len(squares)))
    return sparse.csr_matrix(sparse.diags(1.0 / norms) @ vectors)


def _inner(first: sparse.csr_matrix, second: sparse.csr_matrix) -> NDArray[Any]:
    """Return <x|y> for each row."""
    return numpy.asarray(first.conj().multiply(second).sum(axis=1)).ravel()


def _compare(
    first: list[sparse.csr_matrix], second: list[sparse.csr_matrix], how: str, kind: str, renormalize: bool
) -> NDArray[Any]:
    """Return <x|y> of composed rows, given a matrix for each word; sqrt(tr(rho sigma)) for mixtures."""
    if how == "mixture":
        if kind == "real":
            raise ValueError("kind must be 'modulus' for mixtures, got 'real'")
        first, second = ([unit_rows(rows) for rows in side] for side in (first, second))
        squares = sum(abs(_inner(x, y)) ** 2 for x in first for y in second)
        return numpy.sqrt(squares / (len(first) * len(second)))
    if how == "tensor":  # the product of the inner products: no Kronecker product is formed
        if len(first) != len(second):
            raise ValueError(f"phrases must have equal lengths for 'tensor', got {len(first)} and {len(second)} words")
        if renormalize:
            first, second = ([unit_rows(rows) for rows in side] for side in (first, second))
        return numpy.prod([_inner(x, y) for x, y in zip(first, second, strict=True)], axis=0)
    x, y = (_combine(side, how) for side in (first, second))
    return _inner(unit_rows(x), unit_rows(y)) if renormalize else _inner(x, y)


def _combine(rows: Sequence[sparse.csr_matrix], how: str) -> sparse.csr_matrix:
    """Return the sum or the product of vectors."""
    if how == "add":
        return sum(rows[1:], rows[0])
    return reduce(lambda first, second: first.multiply(second).tocsr(), rows)


class WordSpace:
    """Words with sparse vectors.

    A word or a composition is a sparse matrix of rows. One row is a vector, a pure state if its norm is 1. The rows
    of a mixture are sqrt(p_i) <w_i|; its density matrix rho = sum_i p_i |w_i><w_i| is never formed. ``word in space``
    tells whether a word has a vector.

    Args:
        words: distinct words.
        vectors: ``[words, d]``, dense or sparse, real or complex.

    Attributes:
        words_: the words of the rows.
        vectors_: their vectors.

    Raises:
        ValueError: words and vectors differ in number, a word occurs twice, or a vector is not finite.
    """

    words_: tuple[str, ...]
    vectors_: sparse.csr_matrix
    _PARAMETERS: tuple[str, ...] = ()  # arguments of the constructor that are saved
    _KEPT: tuple[str, ...] = ()  # further saved attributes: tuples, numbers and arrays

    def __init__(self, words: Sequence[str], vectors: Any) -> None:
        self._set(words, vectors)

    def _set(self, words: Sequence[str], vectors: Any) -> None:
        rows = sparse.csr_matrix(vectors)
        if len(words) != rows.shape[0]:
            raise ValueError(f"words and vectors must be equally many, got {len(words)} and {rows.shape[0]}")
        if not numpy.isfinite(rows.data).all():
            row = int(numpy.searchsorted(rows.indptr, numpy.flatnonzero(~numpy.isfinite(rows.data))[0], "right")) - 1
            raise ValueError(f"vectors must be finite, got NaN or infinity for {words[row]!r}")
        self._rows = {word: row for row, word in enumerate(words)}
        if len(self._rows) < len(words):
            raise ValueError(f"words must be distinct, got {len(words) - len(self._rows)} repeated")
        self.words_, self.vectors_ = tuple(words), rows

    def _fitted(self) -> sparse.csr_matrix:
        if not hasattr(self, "vectors_"):
            raise ValueError(f"{type(self).__name__} must be fitted, got no vectors. Call fit() or load().")
        return self.vectors_

    def __contains__(self, word: object) -> bool:
        row = self._rows.get(word) if hasattr(self, "_rows") else None  # type: ignore[call-overload]
        return row is not None and self.vectors_.indptr[row] < self.vectors_.indptr[row + 1]

    def vector(self, word: str) -> sparse.csr_matrix:
        """Return the vector of a word, ``[1, d]``.

        Raises:
            ValueError: the space is not fitted, or the word has no vector.
        """
        vectors = self._fitted()
        if word not in self._rows:
            raise ValueError(
                f"word must be one of the {len(self.words_)} words of this space, got {word!r}. Build its vocabulary "
                "with a smaller min_count."
            )
        if word not in self:
            raise ValueError(f"word must occur beside a context, got {word!r}, whose vector is 0. Add contexts.")
        return vectors[self._rows[word]]

    def compose(
        self, words: Phrase, how: str = "add", *, weights: ArrayLike | None = None, renormalize: bool = False
    ) -> sparse.csr_matrix:
        """Compose several words (Thesis 4.5.9; 4.39 for ``tensor``, 4.63 for ``mixture``).

        Args:
            words: one or more words; a string is one word.
            how: ``add`` (sum of vectors), ``multiply`` (elementwise product), ``tensor`` (Kronecker product,
                ``[1, d^n]``), ``mixture`` (rows sqrt(p_i) w_i / ||w_i||).
            weights: probabilities p_i of a mixture; None for equal ones.
            renormalize: scale the composition to norm 1 (the thesis does not; a mixture has trace 1 anyway).

        Raises:
            ValueError: a word has no vector, ``words`` is empty, ``how`` is unknown, or ``weights`` are not
                probabilities or not for a mixture.
        """
        check_option("how", how, COMPOSITIONS)
        rows = [self.vector(word) for word in _words(words)]
        if not rows:
            raise ValueError("words must have at least one word, got none")
        if how == "mixture":
            return self._mixture(rows, weights)
        if weights is not None:
            raise ValueError(f"weights must be None for how={how!r}, got {weights!r}. Use how='mixture'.")
        if how == "tensor":
            composed = reduce(lambda first, second: sparse.kron(first, second, format="csr"), rows)
        else:
            composed = _combine(rows, how)
        return unit_rows(composed) if renormalize else composed

    def _mixture(self, rows: Sequence[sparse.csr_matrix], weights: ArrayLike | None) -> sparse.csr_matrix:
        given = numpy.full(len(rows), 1 / len(rows)) if weights is None else numpy.asarray(weights, dtype=float)
        if given.shape != (len(rows),) or not (given >= 0).all() or abs(given.sum() - 1.0) > 1e-8:
            raise ValueError(f"weights must be {len(rows)} probabilities of sum 1, got {weights!r}")
        return sparse.csr_matrix(sparse.diags(numpy.sqrt(given)) @ unit_rows(sparse.vstack(rows, format="csr")))

    def similarity(
        self, first: str | sparse.csr_matrix, second: str | sparse.csr_matrix, kind: str = "modulus"
    ) -> float:
        """Return the similarity of two words or compositions.

        Args:
            first, second: words, or compositions from ``compose``.
            kind: ``modulus`` is |<x|y>| (Thesis 4.35), the square root of the Born probability for states, and
                sqrt(tr(rho sigma)) for mixtures; ``real`` is Re <x|y>, for vectors only.

        Raises:
            ValueError: a word has no vector, the sizes differ, ``kind`` is unknown, or ``real`` is given for mixtures.
        """
        check_option("kind", kind, SIMILARITIES)
        x, y = (self.vector(value) if isinstance(value, str) else value for value in (first, second))
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"vectors must have equal sizes, got {x.shape[1]} and {y.shape[1]}")
        products = (x.conj() @ y.T).toarray()
        if kind == "modulus":
            return float(numpy.linalg.norm(products))
        if products.size > 1:
            raise ValueError(f"kind must be 'modulus' for mixtures of {x.shape[0]} and {y.shape[0]} words, got 'real'")
        return float(products[0, 0].real)

    def similarities(
        self, pairs: Sequence[Pair], how: str = "add", kind: str = "modulus", renormalize: bool = False
    ) -> NDArray[numpy.float64]:
        """Return the similarities of many pairs of phrases; NaN where a word has no vector.

        Args:
            pairs: pairs of phrases: words, or lists of words.
            how: composition, as in ``compose``.
            kind: as in ``similarity``.
            renormalize: scale compositions to norm 1.

        Raises:
            ValueError: ``how`` or ``kind`` is unknown, ``real`` is given for mixtures, ``tensor`` for phrases of
                unequal lengths, or a phrase is empty.
        """
        check_option("how", how, COMPOSITIONS)
        check_option("kind", kind, SIMILARITIES)
        found = numpy.full(len(pairs), numpy.nan)
        by_length: dict[tuple[int, int], list[int]] = {}
        for place, pair in enumerate(pairs):
            if not all(pair):
                raise ValueError(f"phrases must not be empty, got pair {place}: {pair}")
            first, second = map(_words, pair)
            if all(word in self for word in (*first, *second)):
                by_length.setdefault((len(first), len(second)), []).append(place)
        for places in by_length.values():
            x, y = (self._stacked([_words(pairs[place][side]) for place in places]) for side in (0, 1))
            products = _compare(x, y, how, kind, renormalize)
            found[places] = abs(products) if kind == "modulus" else products.real
        return found

    def _stacked(self, phrases: Sequence[Sequence[str]]) -> list[sparse.csr_matrix]:
        """Return the vectors of the first words of equally long phrases, of their second words, ..."""
        vectors = self._fitted()
        return [vectors[[self._rows[word] for word in words]] for words in zip(*phrases, strict=True)]

    def save(self, folder: str | Path) -> None:
        """Write ``space.json`` and ``space.npz`` into a folder, creating it."""
        vectors = self._fitted()
        arrays = {name: getattr(vectors, name) for name in ("data", "indices", "indptr")}
        facts: dict[str, Any] = {"class": type(self).__name__, "size": vectors.shape[1], "words": self.words_}
        facts["parameters"] = {name: getattr(self, name) for name in self._PARAMETERS}
        for name in self._KEPT:
            value = getattr(self, name)
            (arrays if isinstance(value, numpy.ndarray) else facts)[name] = value
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        numpy.savez_compressed(path / "space.npz", **arrays)
        (path / "space.json").write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls: type[Space], folder: str | Path) -> Space:
        """Load a saved space; the files hold data only, no code.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file is broken or belongs to another class, indices are out of range, or a parameter is
                unknown.
        """
        path = Path(folder)
        try:
            facts = json.loads((path / "space.json").read_text(encoding="utf-8"))
            with numpy.load(path / "space.npz", allow_pickle=False) as opened:
                arrays = {name: opened[name] for name in opened.files}
            if facts["class"] != cls.__name__:
                raise ValueError(f"got a saved {facts['class']}. Use {facts['class']}.load().")
            rows = (arrays.pop("data"), arrays.pop("indices"), arrays.pop("indptr"))
            vectors = sparse.csr_matrix(rows, shape=(len(facts["words"]), facts["size"]))
            vectors.check_format()  # raises for columns beyond the size
            if (numpy.diff(vectors.indptr) < 0).any():  # scipy does not check it in empty matrices
                raise ValueError(f"indptr must not decrease, got {vectors.indptr}")
            space = cls.__new__(cls)
            if unknown := set(facts["parameters"]) - set(cls._PARAMETERS):
                raise ValueError(f"parameters must be among {cls._PARAMETERS}, got {sorted(unknown)}")
            for name in cls._PARAMETERS:
                setattr(space, name, facts["parameters"][name])
            space._set(facts["words"], vectors)
            for name in cls._KEPT:
                value = arrays[name] if name in arrays else facts[name]
                setattr(space, name, tuple(value) if isinstance(value, list) else value)
        except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"{path} must contain a saved {cls.__name__}: {error}") from error
        return space
