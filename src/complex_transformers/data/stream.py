# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""One long stream of tokens as lanes of consecutive segments, for models with a memory (Dai et al., ACL 2019)."""

from __future__ import annotations

import copy
import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import models, pre_tokenizers
from torch import Tensor
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

__all__ = ["StreamDataset", "checked_texts", "encode_stream", "reads_characters", "token_ids"]

STREAM = "stream"  # a tokenizer with this ``append_eos`` ends the texts of a stream, but no prompt
_PIECE = 1 << 16  # characters or tokens; a tokenizer keeps several times its text in memory
_SPACE = re.compile(r"\s")


def reads_characters(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a tokenizer sees one character at a time, white space and line breaks among them."""
    cut = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    return cut is not None and [token for token, _ in cut.pre_tokenize_str("ab c\n")] == list("ab c\n")


def ends_texts(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the texts of a stream end in ``eos_token``, which the tokenizer itself adds to none."""
    return tokenizer.init_kwargs.get("append_eos") == STREAM


def _joins(character: str) -> bool:
    """Whether NFC may join a character to one before it: marks, and the vowels and finals of Hangul."""
    return unicodedata.category(character).startswith("M") or "\u1160" <= character <= "\u11ff"


def _cut(text: str, place: int) -> int:
    """Where the text is cut from ``place`` on: at white space, which no spelled-out token has; or where NFC allows."""
    if space := _SPACE.search(text, place, place + 1000):
        return space.start()
    return next((end for end in range(place, len(text)) if not _joins(text[end])), len(text))


def _pieces(text: str, whole: bool) -> Iterator[str]:
    """The text, or pieces of it that a tokenizer of characters reads one by one."""
    start = 0
    while not whole and len(text) - start > _PIECE:
        end = _cut(text, start + _PIECE)
        yield text[start:end]
        start = end
    if start < len(text) or not start:
        yield text[start:]


def _encode(
    pieces: list[str], tokenizer: PreTrainedTokenizerBase, add_special_tokens: bool
) -> list[NDArray[np.int32]]:
    """The tokens of the pieces of one text; what the tokenizer adds stands once in front of all and behind them."""
    *before, last = pieces
    encoding = tokenizer(last, add_special_tokens=add_special_tokens, return_special_tokens_mask=bool(before))
    ids = np.asarray(encoding["input_ids"], dtype=np.int32)
    if not before:
        return [ids]
    own = np.flatnonzero(np.equal(encoding["special_tokens_mask"], 0))
    start = own[0] if own.size else 0
    inner = (tokenizer(piece, add_special_tokens=False)["input_ids"] for piece in before)
    return [ids[:start], *(np.asarray(part, dtype=np.int32) for part in inner), ids[start:]]


def _may_lose_symbols(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a text can have symbols for which there is neither a token nor an unknown one."""
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if tokenizer.unk_token is not None or not isinstance(model, (models.WordLevel, models.BPE)):
        return False
    if isinstance(model, models.WordLevel):
        return True
    if model.byte_fallback or model.continuing_subword_prefix or model.end_of_word_suffix:
        return False
    return bool(_foreign(pre_tokenizers.ByteLevel.alphabet(), tokenizer))  # all of them: made of bytes, reads any text


def _foreign(symbols: Iterable[str], tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """The symbols that are no tokens."""
    return {symbol for symbol in symbols if tokenizer.backend_tokenizer.token_to_id(symbol) is None}


def _symbols(text: str, tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """What tokens are made of: words, or the characters that BPE merges."""
    backend = tokenizer.backend_tokenizer
    text = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
    words = (
        {text} if backend.pre_tokenizer is None else {word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)}
    )
    return set().union(*words) if isinstance(backend.model, models.BPE) else words


def encode_stream(
    texts: Iterable[str],
    tokenizer: PreTrainedTokenizerBase,
    by_character: bool = False,
    add_special_tokens: bool = True,
) -> Tensor:
    """The tokens of all texts, one after the other, ``[N]`` int32.

    Args:
        texts: lines, paragraphs or whole files, in their order.
        tokenizer: of ``build_tokenizer``, or another one.
        by_character: the tokenizer sees one character at a time: a long text is read in pieces, which saves memory;
            the tokens are those of the whole.
        add_special_tokens: what the tokenizer adds to a text, such as the end of a line, is added to each; so is
            ``</s>`` where ``build_tokenizer`` had ``append_eos="stream"``.

    Raises:
        ValueError: characters or words that the vocabulary does not have, all listed, where it has no unknown token;
            no token at all.
        TypeError: one string instead of several texts, or a text that is no string.
    """
    stream = token_ids(checked_texts(texts), tokenizer, by_character, add_special_tokens)
    if not stream.size:
        raise ValueError("the texts hold no token")
    return torch.from_numpy(stream)


def checked_texts(texts: Iterable[str]) -> Iterator[str]:
    """The texts as they are asked for; raise for one string instead of several, and by its row for what is none."""
    if isinstance(texts, str):
        raise TypeError("texts must be an iterable of strings, got one string; pass [text]")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts must be strings, got {text!r:.80} in row {row}: remove it, or make a string of it")
        yield text


def token_ids(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerBase, by_character: bool, add_special_tokens: bool = True
) -> NDArray[np.int32]:
    """As ``encode_stream``, of texts that have been checked; those without a token have none."""
    parts: list[NDArray[np.int32]] = []
    foreign: set[str] = set()
    may_lose = _may_lose_symbols(tokenizer)
    end = [tokenizer.eos_token_id] if add_special_tokens and ends_texts(tokenizer) else []
    for text in texts:
        pieces = list(_pieces(text, whole=not by_character))
        if may_lose:
            foreign = foreign.union(*(_foreign(_symbols(piece, tokenizer), tokenizer) for piece in pieces))
        if not foreign:  # else an error follows, which lists those of all texts
            parts += [*_encode(pieces, tokenizer, add_special_tokens), np.asarray(end, dtype=np.int32)]
    if foreign:
        raise ValueError(
            f"the texts hold {len(foreign)} symbol(s) that are not in the vocabulary: {sorted(foreign)}; remove or "
            "replace them, or build the tokenizer with an unknown token"
        )
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


class StreamDataset(Dataset[dict[str, Tensor]]):
    """A stream in B lanes side by side, cut into segments of T tokens; item s is segment s of every lane.

    Each token but the first of the stream is predicted exactly once. Lane lengths differ by one token at most; the
    last segment may be shorter than T, and where a lane is one token shorter still, its last label is -100.
    An item is a batch: ``input_ids`` and ``labels``, the tokens ``[B, T]``; ``shift_labels``, those that follow them;
    ``segment``, the number s. Lanes are read from their beginning in every epoch.

    Args:
        tokens: ``[N]`` integers.
        num_lanes: B, over all processes.
        segment_length: T.

    Raises:
        TypeError: tokens that are no tensor, sizes that are no integers.
        ValueError: sizes below 1, tokens that are not one sequence of integers, a stream with less than one segment
            for each lane.

    Example:
        >>> import torch
        >>> from complex_transformers import StreamDataset
        >>> segment = StreamDataset(torch.arange(11), num_lanes=2, segment_length=3)[1]
        >>> segment["input_ids"].tolist(), segment["shift_labels"].tolist()
        ([[3, 4], [8, 9]], [[4, 5], [9, 10]])
    """

    def __init__(self, tokens: Tensor, num_lanes: int, segment_length: int) -> None:
        if not isinstance(tokens, Tensor):
            raise TypeError(f"tokens must be a tensor, as encode_stream gives it, got {type(tokens).__name__}")
        if not (isinstance(num_lanes, int) and isinstance(segment_length, int)):
            raise TypeError(f"num_lanes and segment_length must be integers, got {num_lanes!r} and {segment_length!r}")
        if num_lanes < 1 or segment_length < 1:
            raise ValueError(f"num_lanes and segment_length must be 1 or more, got {num_lanes} and {segment_length}")
        if tokens.dim() != 1 or tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
            raise ValueError(f"tokens must be one sequence of integers, got {tokens.dtype} {list(tokens.shape)}")
        if len(tokens) <= num_lanes * segment_length:
            raise ValueError(
                f"{num_lanes} lanes with a segment of {segment_length} tokens each need a stream of "
                f"{num_lanes * segment_length + 1} tokens, got {len(tokens)}: take fewer lanes or shorter segments"
            )
        self.tokens, self.num_lanes, self.segment_length = tokens, num_lanes, segment_length
        predicted = len(tokens) - 1
        length, longer = divmod(predicted, num_lanes)
        self.lane_starts = [lane * length + min(lane, longer) for lane in range(num_lanes + 1)]
        self.lane_length = self.lane_starts[1]  # the first lanes are the longest

    @property
    def num_predicted(self) -> int:
        """Tokens that are predicted in one reading of these lanes."""
        return self.lane_starts[-1] - self.lane_starts[0]

    @cached_property
    def checksum(self) -> int:
        """CRC-32 of all tokens of the stream, whatever integers they are: tells one text from another."""
        value = 0
        for piece in self.tokens.split(_PIECE):
            value = zlib.crc32(piece.long().numpy(), value)
        return value

    def __len__(self) -> int:
        """Segments of the longest lane."""
        return math.ceil(self.lane_length / self.segment_length)

    def __getitem__(self, segment: int) -> dict[str, Tensor]:
        if not 0 <= segment < len(self):
            raise IndexError(f"segment {segment} of {len(self)}")
        start = segment * self.segment_length
        stop = min(start + self.segment_length, self.lane_length)
        lanes = torch.stack([self._read(first + start, first + stop + 1) for first in self.lane_starts[:-1]])
        inputs, following = lanes[:, :-1], lanes[:, 1:].clone()
        for lane, end in enumerate(self.lane_starts[1:]):  # a shorter lane: the next one has this token
            following[lane, end - self.lane_starts[lane] - start :] = -100
        return {
            "input_ids": inputs,
            "labels": inputs,
            "shift_labels": following,
            "segment": torch.tensor(segment),
        }

    def _read(self, start: int, stop: int) -> Tensor:
        """Tokens of the stream; after its end the last one again, which is not predicted."""
        tokens = self.tokens[start:stop].long()
        return torch.cat([tokens, tokens[-1:].expand(stop - start - len(tokens))])

    def shard(self, index: int, num_shards: int) -> StreamDataset:
        """The lanes of process ``index`` of ``num_shards``: equally many for each, neighbours together.

        Raises:
            ValueError: processes that do not divide the lanes.
        """
        if self.num_lanes % num_shards:
            raise ValueError(
                f"{self.num_lanes} lanes cannot be shared by {num_shards} processes: choose a multiple of {num_shards}"
            )
        lanes = self.num_lanes // num_shards
        part = copy.copy(self)  # the length of the longest lane stays that of all: every process has as many segments
        part.num_lanes, part.lane_starts = lanes, self.lane_starts[index * lanes : (index + 1) * lanes + 1]
        return part
