# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A token stream as parallel lanes of consecutive segments, for models with a memory (Dai et al., ACL 2019)."""

from __future__ import annotations

import copy
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import models, pre_tokenizers
from torch import Tensor
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

__all__ = ["StreamDataset", "checked_texts", "encode_stream", "reads_characters", "token_ids"]

STREAM = "stream"  # with this ``append_eos``, texts of a stream end in </s>, but prompts do not
_PIECE = 1 << 16  # characters; a tokenizer needs several times its text in memory
_SPACE = re.compile(r"\s")


def reads_characters(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether each token is one character, including white space and line breaks."""
    cut = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    return cut is not None and [token for token, _ in cut.pre_tokenize_str("ab c\n")] == list("ab c\n")


def ends_texts(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the texts of a stream end in ``eos_token``, which the tokenizer itself does not add."""
    return tokenizer.init_kwargs.get("append_eos") == STREAM


def _joins(character: str) -> bool:
    """Return whether NFC may join a character to the previous one: marks, Hangul vowels and finals."""
    return unicodedata.category(character).startswith("M") or "\u1160" <= character <= "\u11ff"


def _cut(text: str, place: int) -> int:
    """Return the next cut after ``place``: at white space, which no special token contains, or where NFC allows."""
    if space := _SPACE.search(text, place, place + 1000):
        return space.start()
    return next((end for end in range(place, len(text)) if not _joins(text[end])), len(text))


def _pieces(text: str, whole: bool) -> Iterator[str]:
    """Yield the text, or pieces of it for a character tokenizer."""
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
    """Return the tokens of the pieces of one text; special tokens are added only at its start and end."""
    *before, last = pieces
    encoding = tokenizer(last, add_special_tokens=add_special_tokens, return_special_tokens_mask=bool(before))
    ids = np.asarray(encoding["input_ids"], dtype=np.int32)
    if not before:
        return [ids]
    own = np.flatnonzero(np.equal(encoding["special_tokens_mask"], 0))
    start = own[0] if own.size else 0
    inner = (tokenizer(piece, add_special_tokens=False)["input_ids"] for piece in before)
    return [ids[:start], *(np.asarray(each, dtype=np.int32) for each in inner), ids[start:]]


def _may_lose_symbols(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether symbols of a text may be dropped, since there is neither a token nor an unknown token."""
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if tokenizer.unk_token is not None or not isinstance(model, (models.WordLevel, models.BPE)):
        return False
    if isinstance(model, models.WordLevel):
        return True
    if model.byte_fallback or model.continuing_subword_prefix or model.end_of_word_suffix:
        return False
    return bool(_foreign(pre_tokenizers.ByteLevel.alphabet(), tokenizer))  # a byte-level tokenizer encodes any text


def _foreign(symbols: Iterable[str], tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """Return the symbols that are not tokens."""
    return {symbol for symbol in symbols if tokenizer.backend_tokenizer.token_to_id(symbol) is None}


def _symbols(text: str, tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """Return the units of tokens: words, or for BPE characters."""
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
    """Return the concatenated tokens of all texts, ``[N]`` int32.

    Args:
        texts: lines, paragraphs or whole files, in order.
        tokenizer: any tokenizer, for example of ``build_tokenizer``.
        by_character: the tokenizer has one token per character, so long texts are encoded in pieces to save memory,
            with the same result.
        add_special_tokens: add the tokenizer's special tokens to each text, and ``</s>`` if ``build_tokenizer`` had
            ``append_eos="stream"``.

    Raises:
        ValueError: symbols outside a vocabulary without unknown token, all listed; no token at all.
        TypeError: one string instead of several texts.
    """
    stream = token_ids(checked_texts(texts), tokenizer, by_character, add_special_tokens)
    if not stream.size:
        raise ValueError("texts must have at least one token, got none")
    return torch.from_numpy(stream)


def checked_texts(texts: Iterable[str]) -> Iterator[str]:
    """Return an iterator over the texts; raise for one string, whose characters would count as texts."""
    if isinstance(texts, str):
        raise TypeError("texts must be an iterable of strings, got one string. Pass [text].")
    return iter(texts)


def token_ids(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerBase, by_character: bool, add_special_tokens: bool = True
) -> NDArray[np.int32]:
    """Return the tokens as ``encode_stream`` does, as an array that may be empty."""
    parts: list[NDArray[np.int32]] = []
    foreign: set[str] = set()
    may_lose = _may_lose_symbols(tokenizer)
    end = [tokenizer.eos_token_id] if add_special_tokens and ends_texts(tokenizer) else []
    for text in texts:
        pieces = list(_pieces(text, whole=not by_character))
        if may_lose:
            foreign = foreign.union(*(_foreign(_symbols(piece, tokenizer), tokenizer) for piece in pieces))
        if not foreign:  # else only the symbols for the error are collected
            parts += [*_encode(pieces, tokenizer, add_special_tokens), np.asarray(end, dtype=np.int32)]
    if foreign:
        raise ValueError(
            f"texts must have symbols of the vocabulary only, got {len(foreign)} other(s): {sorted(foreign)}. Replace "
            "them, or build the tokenizer with an unknown token."
        )
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


class StreamDataset(Dataset[dict[str, Tensor]]):
    """A token stream divided into B parallel lanes and segments of T tokens; item s is segment s of every lane.

    Each token except the first of the stream is predicted exactly once. Lane lengths differ by at most one token. The
    last segment may be shorter than T, and in a lane that is one token shorter still its last label is -100.
    An item is a batch: ``input_ids`` and ``labels``, the tokens ``[B, T]``; ``shift_labels``, the next tokens;
    ``segment``, the index s. Every epoch starts at the first segment.

    Args:
        tokens: ``[N]`` integers.
        num_lanes: B, over all processes.
        segment_length: T.

    Raises:
        ValueError: tokens that are not one sequence, fewer tokens than one segment per lane.

    Example:
        >>> import torch
        >>> from complex_transformers import StreamDataset
        >>> segment = StreamDataset(torch.arange(11), num_lanes=2, segment_length=3)[1]
        >>> segment["input_ids"].tolist(), segment["shift_labels"].tolist()
        ([[3, 4], [8, 9]], [[4, 5], [9, 10]])
    """

    def __init__(self, tokens: Tensor, num_lanes: int, segment_length: int) -> None:
        if tokens.dim() != 1 or len(tokens) <= num_lanes * segment_length:
            raise ValueError(
                f"tokens must be one sequence of more than num_lanes * segment_length = {num_lanes * segment_length}, "
                f"got {list(tokens.shape)}. Reduce num_lanes or segment_length."
            )
        self.tokens, self.num_lanes, self.segment_length = tokens, num_lanes, segment_length
        predicted = len(tokens) - 1
        length, longer = divmod(predicted, num_lanes)
        self.lane_starts = [lane * length + min(lane, longer) for lane in range(num_lanes + 1)]
        self.lane_length = self.lane_starts[1]  # the first lanes are the longest

    @property
    def num_predicted(self) -> int:
        """The number of tokens predicted per epoch."""
        return self.lane_starts[-1] - self.lane_starts[0]

    def __len__(self) -> int:
        return math.ceil(self.lane_length / self.segment_length)

    def __getitem__(self, segment: int) -> dict[str, Tensor]:
        if not 0 <= segment < len(self):
            raise IndexError(f"segment must lie in [0, {len(self)}), got {segment}")
        start = segment * self.segment_length
        stop = min(start + self.segment_length, self.lane_length)
        lanes = torch.stack([self._read(first + start, first + stop + 1) for first in self.lane_starts[:-1]])
        inputs, following = lanes[:, :-1], lanes[:, 1:].clone()
        for lane, end in enumerate(self.lane_starts[1:]):  # the token after a lane belongs to the next lane
            following[lane, end - self.lane_starts[lane] - start :] = -100
        return {
            "input_ids": inputs,
            "labels": inputs,
            "shift_labels": following,
            "segment": torch.tensor(segment),
        }

    def _read(self, start: int, stop: int) -> Tensor:
        """Return tokens of the stream; beyond its end the last token is repeated, which is not predicted."""
        tokens = self.tokens[start:stop].long()
        return torch.cat([tokens, tokens[-1:].expand(stop - start - len(tokens))])

    def shard(self, index: int, num_shards: int) -> StreamDataset:
        """Return the contiguous lanes of process ``index`` of ``num_shards``.

        Raises:
            ValueError: ``num_shards`` does not divide the lanes.
        """
        if self.num_lanes % num_shards:
            raise ValueError(f"num_lanes must be a multiple of the {num_shards} processes, got {self.num_lanes}")
        lanes = self.num_lanes // num_shards
        shard = copy.copy(self)  # lane_length stays, so that every process has equally many segments
        shard.num_lanes, shard.lane_starts = lanes, self.lane_starts[index * lanes : (index + 1) * lanes + 1]
        return shard
