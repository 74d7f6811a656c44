# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts packed into blocks of equal length, for language models without a memory, in advance or as a stream."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info
from transformers import PreTrainedTokenizerBase

from ...data.extras import require_datasets
from ...data.files import check_own_files, read_lines
from ...data.stream import checked_texts, token_ids
from .splits import SPLITS, given_files

__all__ = ["BlockCollator", "BlockStream", "pack_blocks", "stream_plain_text"]

_TEXTS = 256  # tokenized in one batch


def pack_blocks(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerBase, block_size: int, by_character: bool = False
) -> Iterator[Tensor]:
    """Concatenate the tokens of all texts and cut them into blocks ``[block_size]`` int64; the last may be shorter.

    Only a few texts and one block are in memory at once. Texts are separated only by the special tokens that the
    tokenizer adds (Brown et al. 2020, 2.2). A single token left over at the end is dropped.

    Args:
        texts: lines, paragraphs or documents, in order.
        tokenizer: any tokenizer, for example of ``build_tokenizer``.
        block_size: tokens per block, at least 2.
        by_character: as in ``encode_stream``.

    Raises:
        ValueError: a smaller ``block_size``, symbols outside the vocabulary, fewer than 2 tokens.
        TypeError: one string instead of several texts, or a text that is not a string.
    """
    if block_size < 2:
        raise ValueError(f"block_size must be 2 or more, got {block_size}.")
    texts, rest, total = checked_texts(texts), torch.empty(0, dtype=torch.long), 0
    while some := list(islice(texts, _TEXTS)):
        ids = torch.from_numpy(token_ids(some, tokenizer, by_character)).long()
        total += len(ids)
        rest = torch.cat([rest, ids])
        whole = len(rest) - len(rest) % block_size
        yield from rest[:whole].split(block_size) if whole else ()
        rest = rest[whole:]
    if total < 2:
        raise ValueError(f"texts must have 2 tokens or more, got {total}.")
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
) -> tuple[Callable[[], Iterator[str]], dict[str, list[str]]]:
    """Load plain text as ``load_plain_text`` does, but read the training split during training.

    Returns:
        A function that starts reading the training texts, and the texts of the other splits.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no data or two sources, two splits from one file, no validation split, a missing column.
    """
    files = given_files("train_file", (train_file, validation_file, test_file), dataset_name)
    check_own_files(files)
    readers: dict[str, Callable[[], Iterator[str]]] = {
        name: lambda path=path: read_lines(path, keep_linebreaks)  # type: ignore[misc]
        for name, path in files.items()
    }
    if dataset_name is not None:
        loaded = require_datasets().load_dataset(dataset_name, dataset_config_name, streaming=True)
        others = {name: split for name, split in loaded.items() if name in SPLITS and name not in files}
        readers |= {name: _column(split, text_column) for name, split in others.items()}
    if "validation" not in readers:  # a stream cannot be split
        raise ValueError(f"validation_file must be given for a stream, got only the splits {list(readers)}.")
    return readers["train"], {name: list(reader()) for name, reader in readers.items() if name != "train"}


def _column(split: Any, text_column: str) -> Callable[[], Iterator[str]]:
    return lambda: (row[text_column] for row in split)


class BlockStream(IterableDataset[dict[str, Tensor]]):
    """Blocks of texts that are read during training, in the same order in every epoch.

    To train to ``max_steps`` pass ``stream.repeat()``, so that a resumed run finds its position in any epoch. Each of
    several workers reads all texts and yields its share of the blocks, so batches depend on the number of workers.

    Args:
        texts: function that starts reading the texts.
        tokenizer, block_size, by_character: as in ``pack_blocks``.
    """

    def __init__(
        self,
        texts: Callable[[], Iterable[str]],
        tokenizer: PreTrainedTokenizerBase,
        block_size: int,
        by_character: bool = False,
    ) -> None:
        self.texts, self.tokenizer, self.by_character = texts, tokenizer, by_character
        self.block_size = block_size
        self.is_endless = False

    def repeat(self) -> BlockStream:
        """Return an endless stream that reads the texts again and again."""
        stream = copy.copy(self)
        stream.is_endless = True
        return stream

    def _blocks(self) -> Iterator[Tensor]:
        return pack_blocks(self.texts(), self.tokenizer, self.block_size, self.by_character)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        blocks = chain.from_iterable(self._blocks() for _ in repeat(None)) if self.is_endless else self._blocks()
        worker = get_worker_info()
        if worker is not None:  # each yields its share
            blocks = islice(blocks, worker.id, None, worker.num_workers)
        return ({"input_ids": block} for block in blocks)


@dataclass
class BlockCollator:
    """Data collator of blocks: ``input_ids``, ``attention_mask`` and ``labels [B, T]``, padded on the right.

    Labels are the tokens themselves, which models shift, and -100 at padded positions.
    """

    pad_token_id: int = 0

    def __call__(self, blocks: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        rows = [torch.as_tensor(block["input_ids"], dtype=torch.long) for block in blocks]
        lengths = torch.tensor([len(row) for row in rows])
        input_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.pad_token_id)
        mask = torch.arange(input_ids.shape[1]) < lengths.unsqueeze(1)
        labels = input_ids.masked_fill(~mask, -100)
        return {"input_ids": input_ids, "attention_mask": mask.long(), "labels": labels}
