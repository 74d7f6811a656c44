# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentences with dependency trees, from CoNLL-U files or from raw text with a spaCy pipeline."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .extras import check_option, require
from .files import named, open_file

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["JOINER", "ROOT", "SyntaxParser", "check_heads", "read_conllu"]

# Prefix in vocabularies of a word that follows the previous word without a space.
JOINER = "\N{HALFWIDTH BLACK SQUARE}"
ROOT = "root"  # spaCy writes ROOT, Universal Dependencies root
_JOINED = "parataxis"  # relation of a sentence beside another one in Universal Dependencies
_UNNAMED = "dep"  # spaCy's relation for labels too rare to be learned
_CONTRACTIONS = ("split", "merge")
_SENTENCES = ("error", "join")


def read_conllu(path: str | os.PathLike[str], contractions: str = "split") -> Iterator[dict[str, Any]]:
    """Yield the sentences of a CoNLL-U file, also compressed.

    Args:
        path: the file.
        contractions: ``split`` yields the words of the tree. ``merge`` merges a range of words whose concatenation
            differs from its form (``zum`` for ``zu dem``) to one word, as tokenizers of raw text do, with the head and
            relation of the word highest in the tree; other ranges (``don't`` for ``do n't``) stay split.

    Yields:
        ``tokens`` (word forms), ``upos`` (parts of speech), ``heads`` (number of the head from 1, or 0 for the root),
        ``relations``, ``spaces`` (whether a space follows the word), and ``metadata`` (the comments, such as
        ``sent_id``). Empty nodes are left out.

    Raises:
        ImportError: ``conllu`` is missing (extra ``syntax``).
        FileNotFoundError: no such file.
        conllu.exceptions.ParseException: not CoNLL-U.
        ValueError: an unknown ``contractions``; a sentence that is not a tree: words without number, head or relation,
            a cycle.
    """
    conllu = require("conllu", "reading CoNLL-U needs conllu", "syntax")
    check_option("contractions", contractions, _CONTRACTIONS)
    return _sentences(conllu, path, contractions == "merge")


def _sentences(conllu: Any, path: str | os.PathLike[str], merge: bool) -> Iterator[dict[str, Any]]:
    with named(path), open_file(path) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="\n")
        for number, sentence in enumerate(conllu.parse_incr(lines), 1):
            with named(f"sentence {sentence.metadata.get('sent_id', number)}"):
                words = _words(sentence)
                heads = [token["head"] for token in words]
                check_heads(heads, len(words))
                depths = _depths(heads)
                ranges = _ranges(sentence, len(words))
            columns = {
                "tokens": [token["form"] for token in words],
                "upos": [token.get("upos") for token in words],
                "heads": heads,
                "relations": [token["deprel"] for token in words],
                "spaces": [_space_follows(token) for token in words],
            }
            yield {**_contract(columns, ranges, depths, merge), "metadata": dict(sentence.metadata)}


def _words(sentence: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tokens that are words, numbered 1, 2, ...; heads refer to these numbers."""
    words = [token for token in sentence if not isinstance(token["id"], tuple)]
    for number, token in enumerate(words, 1):
        if token["id"] != number or token["deprel"].strip() in ("", "_"):
            raise ValueError(f"word {number} must have the ID {number} and a relation, got {dict(token)}")
    return words


def _ranges(sentence: Sequence[dict[str, Any]], num_words: int) -> list[dict[str, Any]]:
    """Return the tokens that stand for several words each."""
    ranges = [token for token in sentence if isinstance(token["id"], tuple) and token["id"][1] == "-"]
    bounds = [0, *(bound for token in ranges for bound in token["id"][::2])]
    if bounds != sorted(set(bounds)) or bounds[-1] > num_words:
        raise ValueError(f"multiword tokens must be disjoint ranges of the {num_words} words, got {bounds[1:]}")
    return ranges


def check_heads(heads: Sequence[int | None], num_tokens: int) -> None:
    """Raise ``ValueError`` unless every token has a head: another token, from 1, or 0."""
    wrong = [
        head for index, head in enumerate(heads, 1) if head is None or not 0 <= head <= num_tokens or head == index
    ]
    if wrong or len(heads) != num_tokens:
        raise ValueError(f"heads must be {num_tokens} other tokens (1 to {num_tokens}) or 0 (root), got {list(heads)}")


def _depths(heads: Sequence[int]) -> list[int]:
    """Return the number of steps from every word to the root, plus one."""
    above = [0] * (len(heads) + 1)  # depth of 0 (the head of the root) and of each word; -1 during its computation
    for index in range(1, len(heads) + 1):
        path, word = [], index
        while word and not above[word]:
            above[word] = -1
            path.append(word)
            word = heads[word - 1]
        depth = above[word]
        if depth < 0:
            raise ValueError(f"heads must form a tree, got a cycle above word {index}")
        for steps, word in enumerate(reversed(path), depth + 1):
            above[word] = steps
    return above[1:]


def _space_follows(token: dict[str, Any]) -> bool:
    return (token.get("misc") or {}).get("SpaceAfter") != "No"


def _contract(
    columns: dict[str, list[Any]], ranges: Sequence[dict[str, Any]], depths: list[int], merge: bool
) -> dict[str, list[Any]]:
    """Set the spaces inside and after the ranges, and with ``merge`` merge the words of each."""
    groups: list[tuple[int, int]] = []  # the bounds (first, last) of the words of each group
    forms: dict[int, str] = {}  # index of a merged group -> its form
    position = 0
    for token in ranges:
        first, last = token["id"][0] - 1, token["id"][2]
        spelled_out = "".join(columns["tokens"][first:last]) == token["form"]
        columns["spaces"][first:last] = [not spelled_out] * (last - first - 1) + [_space_follows(token)]
        if merge and not spelled_out:
            groups += [(index, index + 1) for index in range(position, first)]
            forms[len(groups)] = token["form"]
            groups.append((first, last))
            position = last
    if not forms:
        return columns
    groups += [(index, index + 1) for index in range(position, len(depths))]
    number_of = [0]  # heads count from 1
    for number, (first, last) in enumerate(groups, 1):
        number_of += [number] * (last - first)
    tops = [min(range(*group), key=depths.__getitem__) for group in groups]
    merged = {name: [column[top] for top in tops] for name, column in columns.items()}
    merged["tokens"] = [forms.get(index, token) for index, token in enumerate(merged["tokens"])]
    merged["spaces"] = [columns["spaces"][last - 1] for _, last in groups]
    merged["heads"] = [number_of[head] for head in merged["heads"]]
    return merged


def _import_spacy() -> Any:
    return require("spacy", "parsing raw text needs spaCy", "syntax")


class SyntaxParser:
    """Dependency parser of raw text: a spaCy pipeline, loaded on first use.

    White space in a text is normalized to single spaces. Copies and pickles contain the name of the pipeline only.

    Args:
        pipeline: the folder of a pipeline, the name of an installed one, or a loaded one; it needs a parser.
        sentences: texts with several sentences: ``error``, or ``join`` them: the first root stays the root, the other
            roots become its children with the relation ``parataxis``.

    Attributes:
        name: the folder or name; None for a loaded pipeline without either.
        load_error: the error text if a pipeline with this name must not be loaded, or None.

    Raises:
        ImportError: spaCy is missing (extra ``syntax``), or a package that the language needs.
        OSError: no such pipeline.
        ValueError: an unknown ``sentences``.
    """

    def __init__(self, pipeline: str | os.PathLike[str] | Language, sentences: str = "error") -> None:
        check_option("sentences", sentences, _SENTENCES)
        self.sentences = sentences
        self.name: str | None = None
        self.load_error: str | None = None
        self._pipeline: Language | None = None
        if isinstance(pipeline, (str, os.PathLike)):
            self.name = str(pipeline)
            return
        package = f"{pipeline.lang}_{pipeline.meta['name']}"
        if _import_spacy().util.is_package(package):
            self.name = package
        elif pipeline.path is not None:
            self.name = str(pipeline.path)
        self._pipeline = pipeline

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pipeline": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, sentences={self.sentences!r})"

    @property
    def pipeline(self) -> Language:
        """The spaCy pipeline."""
        if self._pipeline is None:
            if self.load_error is not None:
                raise ValueError(self.load_error)
            if self.name is None:
                raise ValueError(
                    "pipeline must be a name or folder to load in another process, got an object. Save it with "
                    "to_disk() and pass the folder."
                )
            self._pipeline = _import_spacy().load(self.name)
        return self._pipeline

    @property
    def relations(self) -> list[str]:
        """The relations that this parser can assign, as far as its components list them."""
        pipeline = self.pipeline
        known = {ROOT, _UNNAMED, _JOINED}  # joining may be chosen after the vocabularies are built
        for name in pipeline.pipe_names:
            if "token.dep" in pipeline.get_pipe_meta(name).assigns:
                known |= {_relation(label) for label in pipeline.pipe_labels.get(name, ())}
        return sorted(known)

    def __call__(self, text: str) -> dict[str, Any]:
        """Return ``tokens``, ``heads``, ``relations`` and ``spaces`` of one text, as ``read_conllu`` does.

        ``sentences`` is the number of sentences before they were joined.
        """
        (sentence,) = self.pipe([text], name=["the text"])
        return sentence

    def pipe(
        self, texts: Iterable[str], n_process: int = 1, batch_size: int = 256, name: str | Sequence[str] = "text"
    ) -> Iterator[dict[str, Any]]:
        """Yield the sentences of many texts, in order.

        Args:
            texts: an iterable, read lazily.
            n_process: number of parsing processes, -1 for one per core.
            batch_size: texts per batch of a process.
            name: the name of a text in errors, before its index; or a list with the name of every text.

        Raises:
            ValueError: a blank text, a pipeline without a parser; several sentences in a text, unless they are joined.
        """
        pipeline = self.pipeline

        def name_of(number: int) -> str:
            return f"{name} {number}" if isinstance(name, str) else name[number]

        lines = (_one_line(text, name_of(number)) for number, text in enumerate(texts))
        for number, doc in enumerate(pipeline.pipe(lines, n_process=n_process, batch_size=batch_size)):
            yield self._sentence(doc, name_of(number))

    def _sentence(self, doc: Doc, name: str) -> dict[str, Any]:
        if not doc.has_annotation("DEP", require_complete=True):
            raise ValueError(
                f"pipeline must have a parser, got {self.name!r}, which finds no relations in {name}: "
                f"{doc.text!r:.80}. Use a pipeline with a parser."
            )
        heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
        relations = [_relation(token.dep_) for token in doc]
        roots = [index for index, head in enumerate(heads) if not head]
        if len(roots) > 1:
            if self.sentences == "error":
                raise ValueError(
                    f"{name} must be one sentence, got {len(roots)}: {doc.text!r:.80}. Split it, or set "
                    "sentences='join' in the parser or in from_pretrained."
                )
            for root in roots[1:]:
                heads[root], relations[root] = roots[0] + 1, _JOINED
        return {
            "tokens": [token.text for token in doc],
            "heads": heads,
            "relations": relations,
            "spaces": [bool(token.whitespace_) for token in doc],
            "sentences": len(roots),
        }


def _one_line(text: str, name: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise ValueError(f"{name} must not be blank, got {text!r}. Remove empty texts.")
    return line


def _relation(label: str) -> str:
    return ROOT if label == "ROOT" else label
