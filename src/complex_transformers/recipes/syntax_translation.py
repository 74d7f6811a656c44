# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parallel text with dependency relations for SynCoNMT: parsing, vocabularies, encoding and data collator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..data.extras import check_option, require_datasets
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
_COLUMNS = ("tokens", "relations", "spaces", "heads")


def parsed_side(row: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Return one side of a row of a parsed data set."""
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
    """Load parsed pairs, as ``parse_parallel_dataset`` returns them, from two aligned CoNLL-U files.

    The text of a sentence is its comment ``text``, or else its words.

    Args:
        train_file, validation_file, test_file: two files each, source first; also compressed.
        validation_split: share of the training pairs held out without a validation split.
        split_seed: seed of the held-out pairs.
        overlap: pairs in two splits: ``error``, ``drop`` them from the earlier split, or ``allow``.
        contractions: as in ``read_conllu``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: files that are not aligned, splits that overlap, an error of ``read_conllu``.
    """
    check_option("overlap", overlap, OVERLAPS)
    splits = {
        name: _read_pairs(name, paths, contractions)
        for name, paths in zip(SPLITS, (train_file, validation_file, test_file), strict=True)
        if paths is not None
    }
    splits = separate(splits, overlap, SIDES, "pair")
    return with_validation(splits, SIDES, validation_split, split_seed)


def _read_pairs(name: str, paths: Sequence[str], contractions: str) -> Dataset:
    sides = [list(read_conllu(path, contractions)) for path in paths]
    ids = [[sentence["metadata"].get("sent_id") for sentence in side] for side in sides]
    if len(ids) != 2 or len(ids[0]) != len(ids[1]) or any(a != b for a, b in zip(*ids, strict=True) if a and b):
        raise ValueError(f"{name}_file must be two CoNLL-U files with the same sentences (sent_id), got {paths}.")
    columns: dict[str, list[Any]] = {}
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
    """Parse ``source`` and ``target``, and add ``_tokens``, ``_heads``, ``_relations`` and ``_spaces`` of each.

    Args:
        parts: splits with the columns ``source`` and ``target``, as ``load_parallel_dataset`` returns them.
        source_parser, target_parser: the parsers; with ``sentences="join"`` a warning counts the joined texts.
        n_process: number of parsing processes, -1 for one per core.
        batch_size: texts per batch of a process.
        drop_joined: drop the pairs with a joined text.
        progress: wraps the sentences of one side of a split, given a label and their number; for a progress bar.

    Raises:
        KeyError: a missing column.
        ValueError: a text of several sentences if the parser does not join them; an error of ``SyntaxParser.pipe``.
    """
    parsers = dict(zip(SIDES, (source_parser, target_parser), strict=True))
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
                f"{len(joined)} of {len(part)} pairs of the {name} data have a text of several sentences (first: "
                f"row {min(joined)}): {'dropped' if drop_joined else 'joined'}",
                stacklevel=2,
            )
        if drop_joined:
            part = part.select([row for row in range(len(part)) if row not in joined])
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
    """Build a processor with vocabularies of words and relations from parsed training sentences.

    Ids 0 to 4 of all four are ``<pad>``, ``<unk>``, ``<mask>``, ``<s>`` and ``</s>``.

    Args:
        source, target: sentences with ``tokens``, ``relations`` and optionally ``spaces``, read once.
        source_parser, target_parser, sentences: arguments of the processor, for raw text.
        source_relations, target_relations: relations that do not occur here but may later, such as
            ``SyntaxParser.relations``.
        vocab_size: maximum number of words of each side, including special tokens; the most frequent are kept.
        min_frequency: rarer words become ``<unk>``.
        lowercase: fold the case of words; the parser gets the original text.
        share_vocabularies: share the vocabularies of both sides, as ``SynCoNMTConfig.share_embeddings`` needs.
        relation_subtypes: False reduces ``nsubj:pass`` to ``nsubj``.
        mark_joins: mark words that follow without a space; by default if the sentences have ``spaces``.

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
    """Add the inputs of the model, and ``length`` (words of the longer side plus ``</s>``), to parsed splits.

    Args:
        parts: splits of ``parse_parallel_dataset`` or ``load_parallel_conllu``; the texts stay as references.
        processor: the processor of both sides.

    Raises:
        ValueError: splits that are not parsed, or a relation that the vocabulary does not know.
    """
    needed = {f"{side}_{column}" for side in SIDES for column in ("tokens", "relations")}
    for name, part in parts.items():
        if missing := needed - set(part.column_names):
            raise ValueError(
                f"the {name} data must have the columns {sorted(missing)}, got {part.column_names}. "
                "Parse it with parse_parallel_dataset."
            )

    def encode(row: dict[str, Any]) -> dict[str, Any]:
        features = dict(processor(parsed_side(row, "source"), parsed_side(row, "target")))
        return {**features, "length": max(len(features["input_ids"]), len(features["labels"]))}

    return parts.map(encode, desc="Encoding")


@dataclass
class SyntaxTranslationCollator:
    """Data collator of encoded pairs: sources are padded, targets filled with -100, other columns left out.

    Args:
        processor: the processor that encoded the rows.
        model: prepares ``decoder_input_ids`` and ``decoder_relation_ids`` from the labels; with
            ``use_relations=False`` relations are left out. None leaves this to the model's ``forward``.
        pad_to_multiple_of: pad the lengths to a multiple of this.
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
