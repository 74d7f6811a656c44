# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts packed into blocks of equal length, for language models without a memory: all at once, or as they are read."""

from __future__ import annotations

import copy
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info
from transformers import PreTrainedTokenizerBase

from ...data.extras import (
    require_datasets,
)
from ...data.files import check_own_files, read_lines
from ...data.stream import checked_texts, token_ids
from .splits import PARTS, check_columns

__all__ = ["BlockCollator", "BlockStream", "check_block_size", "pack_blocks", "stream_plain_text"]

_TEXTS = 256  # that are tokenized together


def check_block_size(block_size: int) -> None:
    """Raise for blocks in which no token follows another."""
    if not isinstance(block_size, int):
        raise TypeError(f"block_size must be an integer, got {block_size!r}")
    if block_size < 2:
        raise ValueError(f"block_size must be 2 or more, got {block_size}")


def pack_blocks(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerBase, block_size: int, by_character: bool = False
) -> Iterator[Tensor]:
    """The tokens of all texts one after the other, cut into blocks ``[block_size]`` int64; the last may be shorter.

    No more than some texts and one block are held at once. A text ends in what its tokenizer ends it with; nothing
    else parts it from the next (Brown et al. 2020, 2.2). One token that is left over at the end is no block.

    Args:
        texts: lines, paragraphs or documents, in their order.
        tokenizer: of ``build_tokenizer``, or another one.
        block_size: tokens of a block, 2 or more.
        by_character: as in ``encode_stream``.

    Raises:
        ValueError: a smaller ``block_size``; symbols that the vocabulary does not have, no token at all.
        TypeError: ``block_size`` that is no integer; one string instead of several texts, or a text that is no string.
    """
    check_block_size(block_size)
    texts, rest, total = checked_texts(texts), torch.empty(0, dtype=torch.long), 0
    while some := list(islice(texts, _TEXTS)):
        ids = torch.from_numpy(token_ids(some, tokenizer, by_character)).long()
        total += len(ids)
        rest = torch.cat([rest, ids])
        whole = len(rest) - len(rest) % block_size
        yield from rest[:whole].split(block_size) if whole else ()
        rest = rest[whole:]
    if total < 2:
        raise ValueError(f"the texts must have 2 tokens or more, got {total}")
    if len(rest) > 1:
        yield rest


def stream_plain_text(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    text_column: str = "text",
    keep_linebreaks: bool = False,
) -> tuple[Callable[[], Iterator[str]], dict[str, list[str]], int]:
    """As ``load_plain_text``, but the training part is read while it is trained on, and never held nor split.

    Returns:
        A function that begins to read the texts of the training part; those of the other parts; a number that tells
        this training part from others (path, size and time of the file; name and configuration of a data set).

    Raises:
        FileNotFoundError: no such file.
        ValueError: no data or two kinds of it, two parts from one file, no validation part or an empty one, a missing
            column.
    """
    if (dataset_name is None) == (train_file is None):
        raise ValueError("give either dataset_name or train_file")
    files = {name: path for name, path in zip(PARTS, (train_file, validation_file, test_file), strict=True) if path}
    check_own_files(files)
    readers: dict[str, Callable[[], Iterator[str]]] = {
        name: lambda path=path: read_lines(path, keep_linebreaks)  # type: ignore[misc]
        for name, path in files.items()
    }
    key: tuple[Any, ...] = (dataset_name, dataset_config_name)
    if dataset_name is not None:
        loaded = require_datasets().load_dataset(dataset_name, dataset_config_name, streaming=True)
        others = {name: part for name, part in loaded.items() if name in PARTS and name not in files}
        readers |= {name: _column(part, name, text_column) for name, part in others.items()}
    else:
        state = os.stat(str(train_file))
        key = (os.path.basename(str(train_file)), state.st_size, state.st_mtime_ns)
    if missing := [name for name in PARTS[:2] if name not in readers]:
        raise ValueError(f"there is no part {missing[0]!r}, only {list(readers)}: give {missing[0]}_file")
    held = {name: list(reader()) for name, reader in readers.items() if name != "train"}
    if empty := [name for name, texts in held.items() if not texts]:
        raise ValueError(f"the {empty[0]} part holds no text: give another {empty[0]}_file")
    return readers["train"], held, zlib.crc32(repr(key).encode())


def _column(part: Any, name: str, text_column: str) -> Callable[[], Iterator[str]]:
    check_columns(name, part, {"text_column": text_column})
    return lambda: (row[text_column] for row in part)


class BlockStream(IterableDataset[dict[str, Tensor]]):
    """Blocks of texts that are read during training, in the same order in every pass.

    For training to ``max_steps`` give ``stream.repeat()``, so that a resumed run finds its place in any pass. With
    several workers, each reads all texts and yields its share of the blocks: batches differ from those without.

    Args:
        texts: begins to read them.
        tokenizer, block_size, by_character: as in ``pack_blocks``.
        checksum: tells these texts from others, so that a run is not resumed on other ones.
    """

    def __init__(
        self,
        texts: Callable[[], Iterable[str]],
        tokenizer: PreTrainedTokenizerBase,
        block_size: int,
        by_character: bool = False,
        checksum: int = 0,
    ) -> None:
        check_block_size(block_size)
        self.texts, self.tokenizer, self.by_character = texts, tokenizer, by_character
        self.block_size = block_size
        self.checksum = checksum
        self.is_endless = False

    def repeat(self) -> BlockStream:
        """Return a stream that reads the texts again and again; whoever iterates over it must stop by itself."""
        stream = copy.copy(self)
        stream.is_endless = True
        return stream

    def _blocks(self) -> Iterator[Tensor]:
        return pack_blocks(self.texts(), self.tokenizer, self.block_size, self.by_character)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        blocks = chain.from_iterable(self._blocks() for _ in repeat(None)) if self.is_endless else self._blocks()
        worker = get_worker_info()
        if worker is not None:  # each loads its share
            blocks = islice(blocks, worker.id, None, worker.num_workers)
        return ({"input_ids": block} for block in blocks)


@dataclass
class BlockCollator:
    """Blocks as a batch ``input_ids``, ``attention_mask`` and ``labels [B, T]``; a shorter block is filled at its end.

    Labels are the tokens themselves, which models shift, and -100 where a block is filled.
    """

    pad_token_id: int = 0

    def __call__(self, blocks: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        rows = [torch.as_tensor(block["input_ids"], dtype=torch.long) for block in blocks]
        lengths = torch.tensor([len(row) for row in rows])
        input_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.pad_token_id)
        mask = torch.arange(input_ids.shape[1]) < lengths.unsqueeze(1)
        labels = input_ids.masked_fill(~mask, -100)
        return {"input_ids": input_ids, "attention_mask": mask.long(), "labels": labels}
