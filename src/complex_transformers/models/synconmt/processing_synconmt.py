# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Processor of SynCoNMT: raw or parsed text to token and relation ids, and back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from huggingface_hub import HfApi, snapshot_download
from tokenizers.models import WordLevel
from transformers import BatchEncoding, PreTrainedTokenizerFast, ProcessorMixin

from ...data.syntax import JOINER, SyntaxParser
from ..base.hub import ProcessorHubMixin

if TYPE_CHECKING:
    from spacy.language import Language

    Pipeline: TypeAlias = str | os.PathLike[str] | Language | None

__all__ = ["SynCoNMTProcessor"]

Sentence: TypeAlias = Mapping[str, Any]
_PARSERS = ("source_parser", "target_parser")
_OPTIONS = (*_PARSERS, "sentences", "mark_joins", "relation_subtypes")
_IGNORED = -100


class SynCoNMTProcessor(ProcessorHubMixin, ProcessorMixin):
    """Processor that converts raw text or parsed sentences to token and relation ids, and back.

    Every word is one token, because it has one relation. Unknown words become ``<unk>`` and keep their relation;
    unknown relations raise. Both sides end in ``</s>`` with the relation ``</s>``. Build a processor with
    ``build_syntax_processor``.

    Args:
        tokenizer: tokenizer of the target words, used for decoding.
        source_tokenizer: tokenizer of the source words.
        relation_tokenizer, source_relation_tokenizer: tokenizers of the target and source relations.
        source_parser, target_parser: spaCy pipelines for raw text (folder, name or object), kept as ``SyntaxParser``.
            A folder is saved with the processor. Of an installed pipeline only the name is saved; loading it runs
            code of that package, so ``from_pretrained`` needs it as an argument or ``trust_remote_code=True``. Parsers
            are not needed for parsed sentences and for decoding.
        sentences: ``error`` or ``join``, see ``SyntaxParser``.
        mark_joins: the vocabularies mark words without a preceding space by ``syntax.JOINER``, so that decoding
            restores the spaces.
        relation_subtypes: False reduces ``nsubj:pass`` to ``nsubj``.

    Raises:
        ValueError: a tokenizer that is not word-level or lacks a special token; different padding ids on both sides.

    Example:
        >>> from complex_transformers import build_syntax_processor
        >>> parsed = [{"tokens": ["it", "rains"], "relations": ["expl", "root"]}]
        >>> processor = build_syntax_processor(parsed, parsed)
        >>> ids = processor(parsed)["relation_ids"]
        >>> print(*ids.pop())
        5 6 4
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        source_tokenizer: PreTrainedTokenizerFast,
        relation_tokenizer: PreTrainedTokenizerFast,
        source_relation_tokenizer: PreTrainedTokenizerFast,
        source_parser: Pipeline = None,
        target_parser: Pipeline = None,
        sentences: str = "error",
        mark_joins: bool = True,
        relation_subtypes: bool = True,
    ) -> None:
        super().__init__(tokenizer, source_tokenizer, relation_tokenizer, source_relation_tokenizer)
        for name in self.get_attributes():
            check_tokenizer(name, getattr(self, name))
        for names in (("tokenizer", "source_tokenizer"), ("relation_tokenizer", "source_relation_tokenizer")):
            padding = [getattr(self, name).pad_token_id for name in names]
            if padding[0] != padding[1]:
                raise ValueError(f"{names[0]} and {names[1]} must have the same pad_token_id, got {padding}.")
        self.sentences, self.mark_joins, self.relation_subtypes = sentences, mark_joins, relation_subtypes
        self.source_parser, self.target_parser = (
            None if pipeline is None else SyntaxParser(pipeline, sentences)
            for pipeline in (source_parser, target_parser)
        )

    @classmethod
    def _get_arguments_from_pretrained(cls, *args: Any, **kwargs: Any) -> list[Any]:
        """Load the tokenizers without the processor's own options."""
        tokenizers: list[Any] = super()._get_arguments_from_pretrained(
            *args, **{name: value for name, value in kwargs.items() if name not in _OPTIONS}
        )
        return tokenizers

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any
    ) -> SynCoNMTProcessor:
        """Load a processor; parsers that are installed packages need consent, see the class."""
        processor: SynCoNMTProcessor = super().from_pretrained(pretrained_model_name_or_path, **kwargs)
        for option in _PARSERS:
            parser: SyntaxParser | None = getattr(processor, option)
            if parser is None or option in kwargs:
                continue
            if parser.name == option:
                parser.name = str(_folder_of(pretrained_model_name_or_path, option, kwargs))
            elif not kwargs.get("trust_remote_code"):
                parser.load_error = (
                    f"{option} {parser.name!r} of {pretrained_model_name_or_path} is a package that can run code. "
                    f"Load the processor with {option}={parser.name!r}, or with trust_remote_code=True"
                )
        return processor

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
        """Save the processor; parser folders are copied to ``source_parser`` and ``target_parser``."""
        for option, folder in self._parser_folders().items():
            if folder.resolve() != (target := Path(save_directory) / option).resolve():
                shutil.copytree(folder, target, dirs_exist_ok=True)
        return super().save_pretrained(save_directory, *args, **kwargs)

    def _upload_modified_files(
        self, working_dir: Any, repo_id: str, files_timestamps: dict[str, float], *args: Any, **kwargs: Any
    ) -> Any:
        """Upload parser folders in a commit of their own, as Transformers does not upload sub-folders."""
        parsers = [option for option in _PARSERS if (Path(working_dir) / option).is_dir()]
        access = {name: kwargs.get(name) for name in ("token", "revision", "create_pr")}
        for option in parsers:
            folder = Path(working_dir) / option
            HfApi().upload_folder(repo_id=repo_id, folder_path=folder, path_in_repo=option, **access)
            files_timestamps = {**files_timestamps, option: float("inf")}  # uploaded already
        return super()._upload_modified_files(working_dir, repo_id, files_timestamps, *args, **kwargs)

    def _parser_folders(self) -> dict[str, Path]:
        parsers = {option: getattr(self, option) for option in _PARSERS}
        return {o: Path(p.name) for o, p in parsers.items() if p and p.name is not None and Path(p.name).is_dir()}

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of ``processor_config.json``; parsers are stored by name, folders by their copy."""
        parsers = {option: getattr(self, option) for option in _PARSERS}
        folders = self._parser_folders()
        names = {option: option if option in folders else parser and parser.name for option, parser in parsers.items()}
        return {**super().to_dict(), **names}

    @property
    def model_input_names(self) -> list[str]:
        """Names of the encoder's inputs."""
        return ["input_ids", "relation_ids", "attention_mask"]

    def vocabulary_arguments(self) -> dict[str, int]:
        """Return vocabulary sizes and special ids, for ``SynCoNMTConfig(**...)``."""
        return {
            "vocab_size": len(self.source_tokenizer),
            "target_vocab_size": len(self.tokenizer),
            "relation_vocab_size": len(self.source_relation_tokenizer),
            "target_relation_vocab_size": len(self.relation_tokenizer),
            "pad_token_id": self.tokenizer.pad_token_id,
            "bos_token_id": self.tokenizer.bos_token_id,
            "eos_token_id": self.tokenizer.eos_token_id,
            "decoder_start_token_id": self.tokenizer.bos_token_id,
            "pad_relation_id": self.relation_tokenizer.pad_token_id,
            "decoder_start_relation_id": self.relation_tokenizer.bos_token_id,
        }

    def __call__(
        self,
        text: str | Sentence | Sequence[str] | Sequence[Sentence] | None = None,
        text_target: str | Sentence | Sequence[str] | Sequence[Sentence] | None = None,
        padding: bool | str = False,
        truncation: bool = False,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str = "right",
        return_tensors: str | None = None,
    ) -> BatchEncoding:
        """Return ``input_ids``, ``relation_ids``, ``attention_mask``, ``labels`` and ``relation_labels``.

        Args:
            text: one source or a list. Strings are parsed. A parsed sentence, as ``read_conllu`` and ``SyntaxParser``
                return it, is a mapping with ``tokens``, ``relations`` and optionally ``spaces``, all true by default.
            text_target: targets, one per source.
            padding, pad_to_multiple_of, padding_side, return_tensors: see ``pad``.
            truncation: truncate to ``max_length`` tokens; the last one is ``</s>``.
            max_length: largest number of tokens, including ``</s>``.

        Raises:
            ValueError: no input, different numbers of sources and targets, raw text without a parser, an unknown
                relation, ``truncation`` without ``max_length``, sentences without words; see also ``SyntaxParser``.
        """
        if truncation and (max_length is None or max_length < 2):
            raise ValueError(f"max_length must be at least 2 with truncation=True, got {max_length}.")
        given = {side: value for side, value in (("source", text), ("target", text_target)) if value is not None}
        if not given:
            raise ValueError("text or text_target must be given, got neither.")
        single = {side: isinstance(value, (str, Mapping)) for side, value in given.items()}
        rows = {side: [value] if single[side] else list(value) for side, value in given.items()}
        if len(counts := {len(value) for value in rows.values()}) > 1:
            raise ValueError(f"text and text_target must have the same length, got {sorted(counts)}.")
        limit = max_length if truncation else None
        columns: dict[str, list[list[int]]] = {}
        for side, sentences in rows.items():
            row_names = [side] if single[side] else [f"{side} {number}" for number in range(len(sentences))]
            parsed = self._parsed(sentences, side, row_names)
            encoded = [self._encode(*row, side, limit) for row in zip(parsed, row_names, strict=True)]
            names = ("input_ids", "relation_ids") if side == "source" else ("labels", "relation_labels")
            columns |= {name: [pair[index] for pair in encoded] for index, name in enumerate(names)}
        if "input_ids" in columns:
            columns["attention_mask"] = [[1] * len(ids) for ids in columns["input_ids"]]
        features: Any = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if padding or return_tensors is not None:
            return self.pad(features, padding, max_length, pad_to_multiple_of, padding_side, return_tensors)
        return BatchEncoding(features[0] if all(single.values()) else columns)

    def pad(
        self,
        features: Sequence[Mapping[str, Sequence[int]]],
        padding: bool | str = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str = "right",
        return_tensors: str | None = None,
    ) -> BatchEncoding:
        """Collate examples into a batch; labels are padded with -100.

        Args:
            features: one mapping per example, all with the same keys.
            padding: True or ``longest``, ``max_length``, or False.
            max_length: length with ``padding="max_length"``.
            pad_to_multiple_of: round the length up to a multiple of this.
            padding_side: ``right`` or ``left`` for sources; labels are always padded on the right.
            return_tensors: ``pt`` for tensors.

        Raises:
            ValueError: an example is longer than ``max_length``.
        """
        filling = {
            "input_ids": self.source_tokenizer.pad_token_id,
            "relation_ids": self.source_relation_tokenizer.pad_token_id,
            "attention_mask": 0,
            "labels": _IGNORED,
            "relation_labels": _IGNORED,
        }
        batch: dict[str, Any] = {}
        for name, value in filling.items():
            if name not in features[0]:
                continue
            rows = [list(feature[name]) for feature in features]
            if padding:
                limit = max_length if padding == "max_length" else None
                length = padded_length(name, rows, limit, pad_to_multiple_of)
                left = padding_side == "left" and value != _IGNORED
                fills = [[value] * (length - len(row)) for row in rows]
                rows = [fill + row if left else row + fill for row, fill in zip(rows, fills, strict=True)]
            batch[name] = rows
        return BatchEncoding(batch, tensor_type=return_tensors)

    def decode_with_relations(self, sequences: Any, relations: Any) -> list[dict[str, Any]]:
        """Decode target ids up to the first ``</s>`` to ``text``, ``tokens`` and ``relations``.

        Args:
            sequences: ``[rows, length]`` token ids, such as ``sequences`` of ``generate()`` or labels.
            relations: ``[rows, length]`` relation ids.
        """
        words, names = (torch.as_tensor(ids).tolist() for ids in (sequences, relations))
        skipped = {self.tokenizer.pad_token_id, self.tokenizer.bos_token_id, _IGNORED}
        decoded = []
        for word_ids, relation_ids in zip(words, names, strict=True):
            end = word_ids.index(self.tokenizer.eos_token_id) if self.tokenizer.eos_token_id in word_ids else None
            kept = [pair for pair in zip(word_ids[:end], relation_ids[:end], strict=True) if pair[0] not in skipped]
            tokens = self.tokenizer.convert_ids_to_tokens([word for word, _ in kept])
            decoded.append(
                {
                    "text": self.tokenizer.convert_tokens_to_string(tokens),
                    "tokens": [token.removeprefix(JOINER) for token in tokens],
                    "relations": self.relation_tokenizer.convert_ids_to_tokens([relation for _, relation in kept]),
                }
            )
        return decoded

    def _parsed(self, rows: Sequence[Any], side: str, names: Sequence[str]) -> list[Sentence]:
        """Parse the raw texts among ``rows``; errors use ``names``."""
        texts = {name: row for row, name in zip(rows, names, strict=True) if isinstance(row, str)}
        parser: SyntaxParser | None = getattr(self, f"{side}_parser")
        if texts and parser is None:
            raise ValueError(f"{side}_parser must be a spaCy pipeline, got None. Or pass parsed sentences.")
        parsed = iter(parser.pipe(texts.values(), name=list(texts)) if parser is not None and texts else ())
        return [next(parsed) if isinstance(row, str) else row for row in rows]

    def _encode(self, sentence: Sentence, name: str, side: str, limit: int | None) -> tuple[list[int], list[int]]:
        """Return token ids and relation ids of one sentence, each with its end."""
        tokens, relations = list(sentence["tokens"]), list(sentence["relations"])
        spaces = list(sentence.get("spaces") or [True] * len(tokens))
        if not tokens or not len(tokens) == len(relations) == len(spaces):
            found = f"{len(tokens)} tokens, {len(relations)} relations, {len(spaces)} spaces"
            raise ValueError(f"{name} must have one relation and space per token, got {found}.")
        prefix = "" if side == "target" else "source_"
        words: PreTrainedTokenizerFast = getattr(self, f"{prefix}tokenizer")
        names: PreTrainedTokenizerFast = getattr(self, f"{prefix}relation_tokenizer")
        known = set(names.get_vocab()) - set(names.all_special_tokens)
        relations = [simple_relation(relation, self.relation_subtypes) for relation in relations]
        for number, relation in enumerate(relations):
            if relation not in known:
                raise ValueError(
                    f"{name} must have relations of {sorted(known)}, got {relation!r} at word {number + 1} "
                    f"({tokens[number]!r}). Build the processor with {side}_relations=[...]."
                )
        if self.mark_joins:
            tokens = join_marked(tokens, spaces)
        cut = None if limit is None else limit - 1
        word_ids = ids_of_words(words, tokens[:cut])
        relation_ids = names.convert_tokens_to_ids(relations[:cut])
        return [*word_ids, words.eos_token_id], [*relation_ids, names.eos_token_id]


def _folder_of(checkpoint: str | os.PathLike[str], parser: str, options: Mapping[str, Any]) -> Path:
    """Return the path of a folder inside a checkpoint, downloaded from the Hub if necessary; it may not exist."""
    inside = f"{options.get('subfolder') or '.'}/{parser}"
    if not Path(checkpoint).is_dir():
        access = {
            key: options[key] for key in ("revision", "token", "cache_dir", "local_files_only") if key in options
        }
        checkpoint = snapshot_download(str(checkpoint), allow_patterns=f"{os.path.normpath(inside)}/*", **access)
    return Path(checkpoint) / inside


def check_tokenizer(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    """Raise unless a tokenizer is word-level and has padding, unknown, BOS and EOS tokens."""
    model = type(tokenizer.backend_tokenizer.model)
    if model is not WordLevel:
        raise ValueError(f"{name} must be a WordLevel tokenizer, got {model.__name__}. Use build_syntax_processor.")
    for token in ("pad_token", "unk_token", "bos_token", "eos_token"):
        if getattr(tokenizer, f"{token}_id") is None:
            raise ValueError(f"{token} of {name} must be set, got None. Use build_syntax_processor.")


def padded_length(name: str, rows: list[list[int]], max_length: int | None, multiple: int | None) -> int:
    """Return ``max_length``, or the length of the longest row, rounded up to a multiple."""
    lengths = [len(row) for row in rows]
    length = max(lengths) if max_length is None else max_length
    if length < max(lengths):
        raise ValueError(f"{name} must have at most max_length={length} entries, got {max(lengths)}. Truncate them.")
    return -(-length // (multiple or 1)) * (multiple or 1)


def simple_relation(relation: str, subtypes: bool) -> str:
    """Return the relation, without its subtype (``nsubj:pass`` -> ``nsubj``) if ``subtypes`` is False."""
    return relation if subtypes else relation.partition(":")[0]


def join_marked(tokens: Sequence[str], spaces: Sequence[bool]) -> list[str]:
    """Prepend ``JOINER`` to every word without a preceding space."""
    before = [True, *spaces[:-1]]
    return [token if space else JOINER + token for token, space in zip(tokens, before, strict=True)]


def ids_of_words(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[int]:
    """Return one id per word; words spelled like a special token are unknown."""
    if (normalizer := tokenizer.backend_tokenizer.normalizer) is not None:
        words = [normalizer.normalize_str(word) for word in words]
    special = set(tokenizer.all_special_tokens)
    ids: list[int] = tokenizer.convert_tokens_to_ids(
        [tokenizer.unk_token if word in special else word for word in words]
    )
    return ids
