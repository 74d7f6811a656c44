# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parallel text with dependency relations for SynCoNMT: parsing, vocabularies, encoding and batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..data.extras import (
    check_option,
    require_datasets,
)
from ..data.syntax import SyntaxParser, read_conllu
from ..data.tokenization import build_tokenizer
from ..models.synconmt.processing_synconmt import SynCoNMTProcessor, join_marked, simple_relation
from .datasets.splits import OVERLAPS, SPLITS, separate, with_validation

if TYPE_CHECKING:
    import torch
    from datasets import Dataset, DatasetDict
    from transformers import PreTrainedModel

__all__ = [
    "SyntaxTranslationCollator",
    "build_syntax_processor",
    "encode_syntax_dataset",
    "load_parallel_conllu",
    "parse_parallel_dataset",
]

SIDES = ("source", "target")
_COLUMNS = ("tokens", "relations", "spaces")


def _sentence(row: Mapping[str, Any], side: str) -> dict[str, Any]:
    """One side of a row of a parsed data set."""
    return {column: row[f"{side}_{column}"] for column in _COLUMNS if f"{side}_{column}" in row}


def load_parallel_conllu(
    train_file: Sequence[str],
    validation_file: Sequence[str] | None = None,
    test_file: Sequence[str] | None = None,
    *,
    validation_split: float = 0.1,
    split_seed: int = 0,
    overlap: str = "error",
    contractions: str = "merge",
) -> DatasetDict:
    """Parsed pairs from two CoNLL-U files whose sentences translate each other, as ``parse_parallel_dataset`` has.

    The text is the comment ``text`` of a sentence, or its words.

    Args:
        train_file, validation_file, test_file: two files each, source first; also ``.gz``.
        validation_split: share of the training pairs set aside where no validation part is given.
        split_seed: of that split.
        overlap: a pair in two parts: ``error``, ``drop`` it from the earlier part, or ``allow``.
        contractions: as in ``read_conllu``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: unequal numbers of sentences, ``sent_id`` that differ, sentences without words, parts that overlap,
            or all that ``read_conllu`` raises.
    """
    check_option("overlap", overlap, OVERLAPS)
    parts = {
        name: _read_pairs(name, paths, contractions)
        for name, paths in zip(SPLITS, (train_file, validation_file, test_file), strict=True)
        if paths is not None
    }
    parts = separate(parts, overlap, SIDES, "pair")
    return with_validation(parts, SIDES, validation_split, split_seed)


def _read_pairs(name: str, paths: Sequence[str], contractions: str) -> Dataset:
    if isinstance(paths, str) or len(paths) != 2:
        raise ValueError(f"{name}_file takes two CoNLL-U files (source, target), got {paths}")
    sides = [list(read_conllu(path, contractions)) for path in paths]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"the {name} files must have equal numbers of sentences: {paths[0]} has {len(sides[0])}, "
            f"{paths[1]} has {len(sides[1])}"
        )
    columns: dict[str, list[Any]] = {}
    for number, pair in enumerate(zip(*sides, strict=True), 1):
        ids = [sentence["metadata"].get("sent_id") for sentence in pair]
        if None not in ids and ids[0] != ids[1]:
            raise ValueError(f"sentence {number} of {paths[0]} is {ids[0]!r}, but of {paths[1]} {ids[1]!r}")
        for path, sentence in zip(paths, pair, strict=True):
            if not sentence["tokens"]:
                raise ValueError(f"sentence {number} of {path} has no words: remove the pair")
    for side, sentences in zip(SIDES, sides, strict=True):
        columns[side] = [sentence["metadata"].get("text") or " ".join(sentence["tokens"]) for sentence in sentences]
        columns |= {f"{side}_{column}": [sentence[column] for sentence in sentences] for column in _COLUMNS}
    return require_datasets().Dataset.from_dict(columns)


def parse_parallel_dataset(
    parts: DatasetDict,
    source_parser: SyntaxParser,
    target_parser: SyntaxParser,
    *,
    n_process: int = 1,
    batch_size: int = 256,
    drop_joined: bool = False,
    progress: Callable[[Iterable[Any], str, int], Iterable[Any]] | None = None,
) -> DatasetDict:
    """Add to ``source`` and ``target`` their ``_tokens``, ``_relations`` and ``_spaces`` (whether a space follows).

    Args:
        parts: columns ``source`` and ``target``, as ``load_parallel_dataset`` gives them.
        source_parser, target_parser: of both sides; with ``sentences="join"`` a warning counts the texts joined.
        n_process: processes that parse, -1 for one on every core.
        batch_size: texts a process takes at once.
        drop_joined: leave out the pairs with a text that was joined.
        progress: wraps the sentences of one side of a part, given its name and their number; for a progress bar.

    Raises:
        ValueError: columns that are missing, or parsed before; a text of several sentences that may not be joined; no
            pair that is left; or all that ``SyntaxParser.pipe`` raises.
    """
    parsers = dict(zip(SIDES, (source_parser, target_parser), strict=True))
    added = [f"{side}_{column}" for side in SIDES for column in _COLUMNS]
    for name, part in parts.items():  # before hours of work, not after
        if missing := set(SIDES) - set(part.column_names):
            raise ValueError(
                f"the {name} data has no columns {sorted(missing)}, only {part.column_names}: load it with "
                "load_parallel_dataset, or rename_columns"
            )
        if parsed := [column for column in part.column_names if column in added]:
            raise ValueError(f"the {name} data is parsed already: remove_columns({parsed}) to parse it again")
    result = {}
    for name, part in parts.items():
        joined: set[int] = set()
        for side, parser in parsers.items():
            label = f"the {name} data, {side} of row"
            parsing: Iterable[dict[str, Any]] = parser.pipe(part[side], n_process, batch_size, label)
            sentences = list(parsing if progress is None else progress(parsing, f"Parsing {name}, {side}", len(part)))
            joined |= {row for row, sentence in enumerate(sentences) if sentence["sentences"] > 1}
            for column in _COLUMNS:
                part = part.add_column(f"{side}_{column}", [sentence[column] for sentence in sentences])
        if joined:
            warnings.warn(
                f"{len(joined)} of {len(part)} pairs of the {name} data have a text in which the parser finds several "
                f"sentences (first: row {min(joined)}): {'dropped' if drop_joined else 'joined'}",
                stacklevel=2,
            )
        if drop_joined:
            part = part.select([row for row in range(len(part)) if row not in joined])
        if not len(part):
            raise ValueError(f"the {name} data has no pairs")
        result[name] = part
    return require_datasets().DatasetDict(result)


def build_syntax_processor(
    source: Iterable[Mapping[str, Any]],
    target: Iterable[Mapping[str, Any]],
    *,
    source_parser: Any = None,
    target_parser: Any = None,
    sentences: str = "error",
    source_relations: Sequence[str] = (),
    target_relations: Sequence[str] = (),
    vocab_size: int = 30000,
    min_frequency: int = 1,
    lowercase: bool = False,
    share_vocabularies: bool = False,
    relation_subtypes: bool = True,
    mark_joins: bool | None = None,
) -> SynCoNMTProcessor:
    """Vocabularies of words and relations from parsed sentences of the training part, as a processor.

    Ids 0 to 4 of all four are ``<pad>``, ``<unk>``, ``<mask>``, ``<s>`` and ``</s>``.

    Args:
        source, target: sentences with ``tokens``, ``relations`` and optionally ``spaces``, read once.
        source_parser, target_parser, sentences: of the processor, for raw text.
        source_relations, target_relations: more relations, such as ``SyntaxParser.relations``: a relation that is in
            no sentence here may be in one that is translated later.
        vocab_size: words of each side at most, the most frequent ones, the special ones counted.
        min_frequency: words seen less often are ``<unk>``.
        lowercase: fold the case of words; the parser reads the text as it is.
        share_vocabularies: one vocabulary of words and one of relations for both sides, as
            ``SynCoNMTConfig.share_embeddings`` needs them.
        relation_subtypes: False takes ``nsubj:pass`` for ``nsubj``.
        mark_joins: tell words that follow without a space from others; the default is to do so where the sentences
            have ``spaces``.

    Raises:
        ValueError: no sentences, ``vocab_size`` too small.
    """
    sides = [list(source), list(target)]
    if mark_joins is None:
        mark_joins = any(sentence.get("spaces") is not None for side in sides for sentence in side)
    words = [list(_words(side, mark_joins)) for side in sides]
    relations = [
        [simple_relation(relation, relation_subtypes) for relation in [*more, *_relations(side)]]
        for side, more in zip(sides, (source_relations, target_relations), strict=True)
    ]
    if share_vocabularies:
        words, relations = [[*words[0], *words[1]]] * 2, [[*relations[0], *relations[1]]] * 2
    options: dict[str, Any] = {"kind": "token", "append_eos": True}
    source_words, target_words = (
        build_tokenizer(side, vocab_size=vocab_size, min_frequency=min_frequency, lowercase=lowercase, **options)
        for side in words
    )
    source_names, target_names = (build_tokenizer(side, lowercase=False, **options) for side in relations)
    return SynCoNMTProcessor(
        target_words,
        source_words,
        target_names,
        source_names,
        source_parser=source_parser,
        target_parser=target_parser,
        sentences=sentences,
        mark_joins=mark_joins,
        relation_subtypes=relation_subtypes,
    )


def _words(sentences: Iterable[Mapping[str, Any]], mark_joins: bool) -> Iterator[str]:
    for sentence in sentences:
        tokens, spaces = sentence["tokens"], sentence.get("spaces")
        yield from join_marked(tokens, spaces) if mark_joins and spaces is not None else tokens


def _relations(sentences: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for sentence in sentences:
        yield from sentence["relations"]


def encode_syntax_dataset(parts: DatasetDict, processor: SynCoNMTProcessor) -> DatasetDict:
    """Add what the model takes, and ``length`` (words of the longer side, their end counted), to parsed parts.

    Args:
        parts: as ``parse_parallel_dataset`` or ``load_parallel_conllu`` give them; the texts stay, for scores.
        processor: of both sides.

    Raises:
        ValueError: parts that are not parsed, or a relation that the vocabulary does not know.
    """
    needed = [f"{side}_{column}" for side in SIDES for column in ("tokens", "relations")]
    for name, part in parts.items():
        if missing := set(needed) - set(part.column_names):
            raise ValueError(
                f"the {name} data has no columns {sorted(missing)}, only {part.column_names}: parse it first, with "
                "parse_parallel_dataset"
            )

    def encode(row: dict[str, Any]) -> dict[str, Any]:
        features = dict(processor(_sentence(row, "source"), _sentence(row, "target")))
        return {**features, "length": max(len(features["input_ids"]), len(features["labels"]))}

    return parts.map(encode, desc="Encoding")


@dataclass
class SyntaxTranslationCollator:
    """Batches of encoded pairs: sources filled up with padding, targets with -100; other columns are left out.

    Args:
        processor: what encoded the rows.
        model: makes ``decoder_input_ids`` and ``decoder_relation_ids`` from the labels by its own methods; where it
            has ``use_relations=False``, relations are left out. None leaves both to the model's ``forward``.
        pad_to_multiple_of: the lengths are multiples of this.
    """

    processor: SynCoNMTProcessor
    model: PreTrainedModel | None = None
    pad_to_multiple_of: int | None = None

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        batch = dict(self.processor.pad(rows, pad_to_multiple_of=self.pad_to_multiple_of, return_tensors="pt"))
        model = self.model
        if model is not None and not model.config.use_relations:
            batch = {name: value for name, value in batch.items() if not name.startswith("relation_")}
        if model is not None and "labels" in batch:
            batch["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(batch["labels"])
            if "relation_labels" in batch:
                batch["decoder_relation_ids"] = model.prepare_decoder_relation_ids_from_labels(
                    batch["relation_labels"]
                )
        return batch
