# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentences with their dependency trees: from CoNLL-U files, and from raw text by a spaCy pipeline."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from .extras import check_option, require
from .files import open_file

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["JOINER", "ROOT", "SyntaxParser", "check_heads", "read_conllu"]

# In front of a word that follows the word before it without a space, in vocabularies.
JOINER = "\N{HALFWIDTH BLACK SQUARE}"
ROOT = "root"  # spaCy writes ROOT, Universal Dependencies root
_JOINED = "parataxis"  # what Universal Dependencies calls a sentence that stands beside another one
_UNNAMED = "dep"  # what spaCy's parser writes for relations too rare to be learned
_CONTRACTIONS = ("split", "merge")
_SENTENCES = ("error", "join")


class _WordError(ValueError):
    """Something is wrong with one word, numbered from 1, or with a range of words, such as ``3-4``."""

    def __init__(self, word: int | str, message: str) -> None:
        super().__init__(message)
        self.word = word


class _CountedLines(io.TextIOBase):
    """Lines of UTF-8 of a file; keeps those of the latest sentence with their numbers."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.number, self.ended = file, 0, True
        self.sentence: list[tuple[int, str]] = []

    def __next__(self) -> str:  # type: ignore[override]
        encoded = next(self.file)
        self.number += 1
        try:
            line = encoded.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"it is no UTF-8 text, {error}; convert it, for example with iconv") from error
        if line.strip():
            self.sentence = [] if self.ended else self.sentence
            self.sentence.append((self.number, line))
        self.ended = not line.strip()
        return line

    def line_of(self, word: int | str) -> int:
        """Number of the line of a word of the latest sentence, counted whatever its ID, or of a range, by its ID."""
        ids = [(number, line.split(maxsplit=1)[0]) for number, line in self.sentence]
        if isinstance(word, str):
            return next((number for number, name in ids if name == word), self.number)
        lines = [number for number, name in ids if name.isdigit() or name == "_"]
        return lines[word - 1] if word <= len(lines) else self.number


def read_conllu(path: str | os.PathLike[str], contractions: str = "split") -> Iterator[dict[str, Any]]:
    """Sentences of a CoNLL-U file, also compressed, one after the other.

    Args:
        path: the file.
        contractions: ``split`` gives the words of the tree. ``merge`` makes one word of the words of a range that do
            not spell it out (``zum`` of ``zu dem``), as tokenizers of raw text do, with the head and the relation of
            the one that is highest in the tree; those that do spell it out (``don't`` of ``do n't``) stay apart.

    Yields:
        ``tokens`` (word forms), ``upos`` (parts of speech), ``heads`` (number of the governor from 1, or 0 for the
        root), ``relations``, ``spaces`` (whether a space follows the word), and ``metadata`` (the comments, such as
        ``sent_id``). Empty nodes are left out.

    Raises:
        ImportError: ``conllu`` is missing (extra ``syntax``).
        FileNotFoundError: no such file.
        ValueError: a sentence that is no CoNLL-U, or no tree: a word without a relation, or whose governor is no other
            word of it, no root, a circle, a range of words it does not have; names the sentence and the line. An
            unknown ``contractions``.
    """
    conllu = require("conllu", "reading CoNLL-U needs conllu", "syntax")
    check_option("contractions", contractions, _CONTRACTIONS)
    return _sentences(conllu, path, contractions == "merge")


def _sentences(conllu: Any, path: str | os.PathLike[str], merge: bool) -> Iterator[dict[str, Any]]:
    with open_file(path) as file:
        lines = _CountedLines(file)
        sentences = conllu.parse_incr(lines)
        number = 0
        while True:
            number += 1
            try:
                sentence = next(sentences, None)
            except (conllu.exceptions.ParseException, ValueError) as error:
                line = _broken_line(conllu, lines)
                raise ValueError(f"{path}: sentence {number} is no CoNLL-U: {error} (line {line})") from error
            if sentence is None:
                return
            try:
                words = _words(sentence)
                heads = [token["head"] for token in words]
                check_heads(heads, len(words))
                depths = _depths(heads)
                ranges = _ranges(sentence, len(words))
            except _WordError as error:
                name = sentence.metadata.get("sent_id", number)
                raise ValueError(f"{path}: sentence {name}: {error} (line {lines.line_of(error.word)})") from None
            columns = {
                "tokens": [token["form"] for token in words],
                "upos": [token.get("upos") for token in words],
                "heads": heads,
                "relations": [token["deprel"] for token in words],
                "spaces": [_space_follows(token) for token in words],
            }
            yield {**_contract(columns, ranges, depths, merge), "metadata": dict(sentence.metadata)}


def _broken_line(conllu: Any, lines: _CountedLines) -> int:
    """The first line of the latest sentence that is no CoNLL-U on its own, else the last one that was read."""
    for number, line in lines.sentence:
        try:
            conllu.parse(line)
        except (conllu.exceptions.ParseException, ValueError):
            return number
    return lines.number


def _words(sentence: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tokens that are words of their own, numbered 1, 2, ...: heads count by these numbers."""
    words = [token for token in sentence if not isinstance(token["id"], tuple)]
    for number, token in enumerate(words, 1):
        if token["id"] != number:
            raise _WordError(number, f"word {number} has the ID {token['id']}: words must be numbered from 1")
        if "deprel" not in token:
            raise _WordError(number, f"word {number} has {len(token)} of the 10 columns of CoNLL-U")
        if (relation := token["deprel"].strip()) in ("", "_"):
            raise _WordError(number, f"word {number} has no relation but {relation!r} in the column DEPREL")
    return words


def _ranges(sentence: Sequence[dict[str, Any]], num_words: int) -> list[dict[str, Any]]:
    """Tokens that stand for several words each, one behind the other."""
    ranges = [token for token in sentence if isinstance(token["id"], tuple) and token["id"][1] == "-"]
    end = 0
    for token in ranges:
        first, _, last = token["id"]
        if not end < first < last <= num_words:
            raise _WordError(
                f"{first}-{last}",
                f"the range {first}-{last} must hold two words or more of {end + 1}..{num_words}, behind the range "
                "before it",
            )
        end = last
    return ranges


def check_heads(heads: Sequence[int | None], num_tokens: int) -> None:
    """Raise ``ValueError`` unless every token has a head: another token, from 1, or 0."""
    if len(heads) != num_tokens:
        raise ValueError(f"{num_tokens} tokens need as many heads, got {len(heads)}")
    for index, head in enumerate(heads, 1):
        if head is None or not 0 <= head <= num_tokens or head == index:
            raise _WordError(
                index, f"the head of token {index} must be another token of 1..{num_tokens} or 0, got {head}"
            )


def _depths(heads: Sequence[int]) -> list[int]:
    """Steps from every word up to above the root."""
    if heads and 0 not in heads:
        raise _WordError(1, "no word has the head 0: a sentence needs a root")
    above = [0] * (len(heads) + 1)  # of 0, which is above the root, and of every word; -1 while its own are sought
    for index in range(1, len(heads) + 1):
        path, word = [], index
        while word and not above[word]:
            above[word] = -1
            path.append(word)
            word = heads[word - 1]
        depth = above[word]
        if depth < 0:
            raise _WordError(index, f"the heads above word {index} go round in a circle and never reach the root")
        for steps, word in enumerate(reversed(path), depth + 1):
            above[word] = steps
    return above[1:]


def _space_follows(token: dict[str, Any]) -> bool:
    return (token.get("misc") or {}).get("SpaceAfter") != "No"


def _contract(
    columns: dict[str, list[Any]], ranges: Sequence[dict[str, Any]], depths: list[int], merge: bool
) -> dict[str, list[Any]]:
    """Spaces inside and behind the ranges; where asked to, the words of each as one."""
    groups: list[tuple[int, int]] = []  # words[first:last] that become one
    forms: dict[int, str] = {}  # of these
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


def _load(name: str) -> Language:
    """The spaCy pipeline in a folder, or of an installed package."""
    spacy = _import_spacy()
    try:
        pipeline: Language = spacy.load(name)
    except OSError as error:
        remedy = "" if os.sep in name else f", or install the package: python -m spacy download {name}"
        raise FileNotFoundError(
            f"no spaCy pipeline {name!r} ({error}): give the folder of one, as its to_disk() writes it{remedy}"
        ) from error
    except ImportError as error:
        raise ImportError(
            f"the spaCy pipeline {name!r} needs a package of its language: {error}; pip install spacy[ja], spacy[ko], "
            "spacy[th] or spacy[lookups], pyvi for Vietnamese, or the package that defines the language"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"the spaCy pipeline {name!r} cannot be loaded: {error}; train or download it again, or import the "
            "package that defines its components"
        ) from error
    return pipeline


def _check_parser(pipeline: Language, name: str) -> None:
    declared = any("token.dep" in pipeline.get_pipe_meta(pipe).assigns for pipe in pipeline.pipe_names)
    if not declared and not pipeline("word").has_annotation("DEP"):  # it need not say what it assigns
        raise ValueError(
            f"the spaCy pipeline {name} has no parser, only {pipeline.pipe_names}: choose one that has, or train one"
        )


class SyntaxParser:
    """Sentences with dependency relations from raw text, by a spaCy pipeline that is loaded when it is first used.

    White space in a text counts as one space. A copy and a pickle hold the pipeline's name, not the pipeline.

    Args:
        pipeline: the folder of a pipeline, the name of an installed one, or a loaded one; it needs a parser.
        sentences: what to do with a text in which the parser finds several sentences: ``error``, or ``join`` them:
            the first root stays the root, the roots of the others hang on it as ``parataxis``.

    Attributes:
        name: the folder or the name; None for a loaded pipeline that came from neither.
        refusal: why a pipeline with this name must not be loaded, the remedy included; None where it may be.

    Raises:
        ImportError: spaCy is missing (extra ``syntax``), or a package the language needs.
        FileNotFoundError: no such pipeline.
        ValueError: a pipeline without a parser, or that cannot be loaded; an unknown ``sentences``.
    """

    def __init__(self, pipeline: str | os.PathLike[str] | Language, sentences: str = "error") -> None:
        check_option("sentences", sentences, _SENTENCES)
        self.sentences = sentences
        self.name: str | None = None
        self.refusal: str | None = None
        self._pipeline: Language | None = None
        if isinstance(pipeline, (str, os.PathLike)):
            self.name = str(pipeline)
            return
        package = f"{pipeline.lang}_{pipeline.meta['name']}"
        if _import_spacy().util.is_package(package):
            self.name = package
        elif pipeline.path is not None:
            self.name = str(pipeline.path)
        _check_parser(pipeline, package)
        self._pipeline = pipeline

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pipeline": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, sentences={self.sentences!r})"

    @property
    def pipeline(self) -> Language:
        """The spaCy pipeline."""
        if self._pipeline is None:
            if self.refusal is not None:
                raise ValueError(self.refusal)
            if self.name is None:
                raise ValueError(
                    "this is a copy of a parser whose pipeline has no folder: save the pipeline with to_disk() and "
                    "give its folder"
                )
            loaded = _load(self.name)
            _check_parser(loaded, self.name)
            self._pipeline = loaded
        return self._pipeline

    @property
    def relations(self) -> list[str]:
        """Every relation that a sentence from this parser can have, as far as its components list them."""
        pipeline = self.pipeline
        known = {ROOT, _UNNAMED, _JOINED}  # joining may be chosen when the vocabularies are long made
        for name in pipeline.pipe_names:
            if "token.dep" in pipeline.get_pipe_meta(name).assigns:
                known |= {_relation(label) for label in pipeline.pipe_labels.get(name, ())}
        return sorted(known)

    def __call__(self, text: str) -> dict[str, Any]:
        """``tokens``, ``heads``, ``relations`` and ``spaces`` of one text, as ``read_conllu`` gives them.

        ``sentences`` is the number that the parser found, more than one where they were joined.
        """
        (sentence,) = self.pipe([text], name=["the text"])
        return sentence

    def pipe(
        self, texts: Iterable[str], n_process: int = 1, batch_size: int = 256, name: str | Sequence[str] = "text"
    ) -> Iterator[dict[str, Any]]:
        """Sentences of many texts, in their order.

        Args:
            texts: read as the sentences are asked for.
            n_process: processes that parse, -1 for one on every core.
            batch_size: texts a process takes at once.
            name: what errors call a text, in front of its number from 0; or a list with the name of every text.

        Raises:
            TypeError: a text that is no string.
            ValueError: an empty text, one that is too long or no Unicode; one of several sentences, unless they are
                joined.
        """
        pipeline = self.pipeline

        def name_of(number: int) -> str:
            return f"{name} {number}" if isinstance(name, str) else name[number]

        lines = (_one_line(text, name_of(number), pipeline.max_length) for number, text in enumerate(texts))
        for number, doc in enumerate(pipeline.pipe(lines, n_process=n_process, batch_size=batch_size)):
            yield self._sentence(doc, name_of(number))

    def _sentence(self, doc: Doc, name: str) -> dict[str, Any]:
        if not doc.has_annotation("DEP", require_complete=True):
            raise ValueError(f"the parser of {self.name} left words of {name} without a relation: {doc.text!r}")
        heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
        relations = [_relation(token.dep_) for token in doc]
        roots = [index for index, head in enumerate(heads) if not head]
        if len(roots) > 1:
            if self.sentences == "error":
                raise ValueError(
                    f"{name} is split into {len(roots)} sentences by the parser: {doc.text!r}; give one sentence at a "
                    "time, or have them joined (the first root stays the root): sentences='join' of the parser, "
                    "from_pretrained(..., sentences='join') of a processor"
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


def _one_line(text: Any, name: str, limit: int) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{name} is not a string but {type(text).__name__}: {text!r}")
    line = " ".join(text.split())
    if not line:
        raise ValueError(f"{name} is empty or only white space: {text!r}; leave out empty texts")
    if len(line) > limit:
        raise ValueError(f"{name} has {len(line)} characters, and the parser takes {limit} at most: split it")
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} has half of a character: {error}; read it as UTF-8, or leave it out") from error
    return line


def _relation(label: str) -> str:
    """A label of spaCy as Universal Dependencies write it."""
    return ROOT if label == "ROOT" else label
