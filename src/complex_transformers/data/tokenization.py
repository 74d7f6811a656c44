# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers trained on any iterable of texts, saved as a plain ``tokenizer.json``."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast, Wav2Vec2CTCTokenizer

from .extras import check_option
from .stream import STREAM, checked_texts
from .syntax import JOINER

__all__ = ["build_ctc_tokenizer", "build_tokenizer", "with_stop_string_prefix"]

_SPECIAL_TOKENS = {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
_BOUNDARY_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
_PRESETS: dict[str, dict[str, str]] = {
    "none": {},
    "end": {"eos_token": "</s>"},
    "masked": _SPECIAL_TOKENS,
    "causal": {**_SPECIAL_TOKENS, **_BOUNDARY_TOKENS},
}


_KINDS = ("word", "whitespace", "bpe", "character", "token")


def _untrained(kind: str, unk_token: str | None) -> Tokenizer:
    """Return pre-tokenizer and decoder without a vocabulary."""
    tokenizer = Tokenizer(models.BPE() if kind == "bpe" else models.WordLevel(unk_token=unk_token))
    if kind == "word":
        steps = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    elif kind == "whitespace":
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    elif kind == "bpe":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
    elif kind == "character":
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        tokenizer.decoder = decoders.Fuse()
    else:
        tokenizer.decoder = decoders.WordPiece(prefix=JOINER, cleanup=False)
    return tokenizer


def build_tokenizer(
    texts: Iterable[str],
    kind: str = "word",
    vocab_size: int = 30000,
    min_frequency: int = 1,
    lowercase: bool = True,
    model_max_length: int | None = None,
    padding_side: str = "right",
    append_eos: bool | str = False,
    special_tokens: bool | str = True,
) -> PreTrainedTokenizerFast:
    """Train a tokenizer on ``texts``; save it with ``save_pretrained`` and load it with ``AutoTokenizer``.

    Ids 0, 1, 2 are ``<pad>``, ``<unk>``, ``<mask>``. No special token is added to a text unless ``append_eos`` is set.
    Without it, an empty text has no token; as an all-padding row its outputs are meaningless.

    Args:
        texts: any iterable of strings (a list, a file, a column of a data set); read once.
        kind: ``word`` (split at white space and punctuation), ``whitespace`` (for pre-tokenized text), ``bpe`` (byte
            level, no unknown tokens), ``character``, or ``token`` (every text is one token; decoding separates them by
            spaces, except before tokens that start with ``syntax.JOINER``).
        vocab_size: maximum number of tokens; the most frequent are kept.
        min_frequency: leave out rarer tokens.
        lowercase: fold case first.
        model_max_length: length in tokens for truncation; None for no limit.
        padding_side: ``right`` or ``left``.
        append_eos: for encoder-decoder models: ids 3, 4 are ``<s>``, ``</s>``, every text ends in ``</s>``, special
            tokens that occur in a text are encoded as text, and ``decode(ids, skip_special_tokens=True)`` of ``bpe``
            and ``character`` returns the text (in NFC, and in lower case with ``lowercase``).
            ``stream``: the same vocabulary for causal models, whose prompts must not end in ``</s>``: only
            ``encode_stream`` and ``pack_blocks`` append it, and decoding keeps the leading space, since
            ``pipeline("text-generation")`` decodes continuations.
        special_tokens: special tokens, at the start of the vocabulary:

            - ``masked`` or True: ``<pad>``, ``<unk>``, ``<mask>``; with ``append_eos`` as ``causal``
            - ``causal``: these and ``<s>``, ``</s>`` (ids 3, 4), for causal models: generation stops at ``</s>``, and
              libraries that pack texts find it as ``eos_token``. Decoding keeps the space between prompt and
              continuation: ``bpe`` and ``character`` return the text (in NFC, and in lower case with ``lowercase``),
              ``word`` and ``whitespace`` put a space before every token, including the first
            - ``end``: only ``</s>``, as the last id, for streams without padding and unknown tokens, such as the 27
              symbols of text8: their ids are the same as with ``none``, and other symbols are an error
            - ``none`` or False: no special tokens

    Raises:
        ValueError: an unknown kind, preset or ``append_eos``, no text, a vocabulary too small for the special tokens,
            ``append_eos`` without ``</s>``.
        TypeError: one string instead of several texts.
    """
    check_option("kind", kind, _KINDS)
    if isinstance(append_eos, str):
        check_option("append_eos", append_eos, (STREAM,))
    preset = special_tokens if isinstance(special_tokens, str) else "masked" if special_tokens else "none"
    preset = "causal" if append_eos and preset == "masked" else preset
    check_option("special_tokens", preset, _PRESETS)
    names = _PRESETS[preset]
    if append_eos and "eos_token" not in names:
        raise ValueError(f"special_tokens must be 'causal' for append_eos={append_eos!r}, got {special_tokens!r}")
    special = list(names.values())
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind == "bpe" else []
    smallest = len(special) + max(len(alphabet), 1)
    if vocab_size < smallest:
        raise ValueError(f"vocab_size must be at least {smallest}, got {vocab_size}")
    tokenizer = _untrained(kind, names.get("unk_token"))
    steps: list[normalizers.Normalizer] = [normalizers.NFC()]
    steps += [normalizers.Lowercase()] if lowercase else []
    if append_eos and kind == "bpe":  # a leading space is always added, so decoding can always strip it
        steps.append(normalizers.Prepend(" "))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        if append_eos != STREAM:
            tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    elif preset == "causal" and kind == "bpe":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    continues_prompts = append_eos == STREAM or (preset == "causal" and not append_eos)
    if continues_prompts and kind in ("word", "whitespace"):
        tokenizer.decoder = decoders.Replace(Regex("^"), " ")  # "^" matches the start of each token
    tokenizer.normalizer = normalizers.Sequence(steps)
    options: dict[str, Any] = {"vocab_size": vocab_size, "special_tokens": special, "show_progress": False}
    if preset == "end":  # </s> is appended, other ids do not move
        options |= {"vocab_size": vocab_size - 1, "special_tokens": []}
    if kind == "bpe":
        trainer: trainers.Trainer = trainers.BpeTrainer(
            initial_alphabet=alphabet, min_frequency=min_frequency, **options
        )
    else:
        trainer = trainers.WordLevelTrainer(min_frequency=min_frequency, **options)
    tokenizer.train_from_iterator(_without(special, checked_texts(texts), lowercase), trainer)
    if tokenizer.get_vocab_size() <= len(options["special_tokens"]):
        raise ValueError(f"texts must have a token that occurs {min_frequency} times, got none. Lower min_frequency.")
    tokenizer.add_special_tokens(special)
    options = {} if model_max_length is None else {"model_max_length": model_max_length}
    if append_eos:
        options["split_special_tokens"] = True
    if append_eos == STREAM:
        options["append_eos"] = STREAM  # saved with the tokenizer, where `ends_texts` reads it
    elif append_eos:
        eos = names["eos_token"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A {eos}", pair=f"$A {eos} $B {eos}", special_tokens=[(eos, tokenizer.token_to_id(eos))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "attention_mask"],
        padding_side=padding_side,
        **names,
        **options,
    )


def with_stop_string_prefix(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """Return a copy of a word-level tokenizer that has a token "abcdef"; other tokenizers are returned unchanged.

    ``StopStringCriteria`` decodes each token after the text "abcdef", which must not become the unknown token.
    """
    if not isinstance(getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None), models.WordLevel):
        return tokenizer
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_tokens(["abcdef"])
    return tokenizer


def build_ctc_tokenizer(texts: Iterable[str]) -> Wav2Vec2CTCTokenizer:
    """Build a CTC tokenizer (Graves et al. 2006) of the characters of transcripts, after ``<pad>`` and ``<unk>``.

    ``<pad>`` is the blank. A space is encoded as ``|``, or as ``␣`` if a text has a ``|`` (in IPA a boundary). Case,
    accents and IPA diacritics are kept.

    Args:
        texts: transcripts.

    Raises:
        ValueError: a text that contains ``<pad>`` or ``<unk>``.
        TypeError: one string instead of several texts.
    """
    texts = list(checked_texts(texts))
    for special in ("<pad>", "<unk>"):
        if found := [text for text in texts if special in text]:
            raise ValueError(f"texts must not contain the special token {special}, got {found[0]!r}. Replace it.")
    symbols = sorted({symbol for text in texts for symbol in text if not symbol.isspace()})
    space = next(sign for sign in "|␣▁" if sign not in symbols)
    vocabulary = {symbol: index for index, symbol in enumerate(["<pad>", "<unk>", space, *symbols])}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.json"
        file.write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
        return Wav2Vec2CTCTokenizer(str(file), bos_token=None, eos_token=None, word_delimiter_token=space)


def _without(special: list[str], texts: Iterable[str], lowercase: bool) -> Iterator[str]:
    """Remove special tokens from texts (WikiText has ``<unk>``), which would otherwise be counted as words."""
    pattern = re.compile("|".join(special), re.IGNORECASE if lowercase else 0)
    for text in texts:
        yield pattern.sub(" ", text) if special else text
