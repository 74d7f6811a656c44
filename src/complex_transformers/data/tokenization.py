# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers from any iterable of texts, saved as a plain ``tokenizer.json``."""

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
from .stream import STREAM
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
    """How texts are cut and tokens joined, without a vocabulary."""
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

    Ids 0, 1, 2 are ``<pad>``, ``<unk>``, ``<mask>``. No token is added to a text unless ``append_eos`` asks for it. An
    empty text then is ``</s>`` alone, which every model reads; without it, it has no token: models refuse a batch of
    such texts alone, and beside others its row is padding alone, for which the answer of a model means nothing.

    Args:
        texts: any iterable of strings (a list, a file, a column of a data set); read once.
        kind: ``word`` (split at white space and punctuation), ``whitespace`` (text that is tokenised already),
            ``bpe`` (byte level: any text without unknowns), ``character``, or ``token`` (every text is one token;
            decoding puts spaces between them, but not before one that begins with ``syntax.JOINER``).
        vocab_size: at most this many tokens, the most frequent ones.
        min_frequency: leave out tokens seen less often.
        lowercase: fold case first.
        model_max_length: truncate to this many tokens when asked to; None for no limit.
        padding_side: ``right`` or ``left``.
        append_eos: for models that write text: ids 3, 4 are ``<s>``, ``</s>``, every text ends in ``</s>``, a special
            token that is spelled out in a text is text, and ``decode(ids, skip_special_tokens=True)`` of the kinds
            ``bpe`` and ``character`` gives the text back as it was (in NFC, and in lower case if so chosen).
            ``stream``: the same tokens, for models that write on from a prompt, which must not end: ``encode_stream``
            and ``pack_blocks`` alone put ``</s>`` behind a text, and decoding keeps the space in front of a first
            word, as what ``pipeline("text-generation")`` decodes is what follows a prompt.
        special_tokens: the tokens besides those of the texts, in front of them:

            - ``masked`` or True: ``<pad>``, ``<unk>``, ``<mask>``; with ``append_eos`` as ``causal``
            - ``causal``: these and ``<s>``, ``</s>`` (ids 3, 4), for models that continue a prompt: generation stops
              at ``</s>``, and libraries that pack texts find it as ``eos_token``. Decoding keeps the space between
              prompt and continuation: ``bpe`` and ``character`` return the text as it was (in NFC, and in lower case
              if so chosen), ``word`` and ``whitespace`` put a space in front of every token, the first one included
            - ``end``: ``</s>`` alone, as the last id, for streams without padding and unknown tokens, such as the 27
              symbols of text8: their ids are those of ``none``, and to tokenise anything else is an error
            - ``none`` or False: the texts' own alone

    Raises:
        ValueError: an unknown kind, preset or ``append_eos``, no text, a vocabulary too small for the special tokens,
            ``append_eos`` without ``</s>``.
        TypeError: a text that is not a string.
    """
    check_option("kind", kind, _KINDS)
    if isinstance(append_eos, str):
        check_option("append_eos", append_eos, (STREAM,))
    preset = special_tokens if isinstance(special_tokens, str) else "masked" if special_tokens else "none"
    preset = "causal" if append_eos and preset == "masked" else preset
    check_option("special_tokens", preset, _PRESETS)
    names = _PRESETS[preset]
    if append_eos and "eos_token" not in names:
        raise ValueError(
            f"append_eos={append_eos!r} needs </s>, which special_tokens={special_tokens!r} has not: use 'causal'"
        )
    special = list(names.values())
    if vocab_size <= len(special):
        raise ValueError(f"vocab_size must exceed the {len(special)} special tokens, got {vocab_size}")
    if isinstance(texts, str):
        raise TypeError("texts must be an iterable of strings, got one string; pass [text]")
    tokenizer = _untrained(kind, names.get("unk_token"))
    steps: list[normalizers.Normalizer] = [normalizers.NFC()]
    steps += [normalizers.Lowercase()] if lowercase else []
    if append_eos and kind == "bpe":  # the space in front of a first word is always added, so it can be taken away
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
    if preset == "end":  # behind the texts' own, whose ids do not move
        options |= {"vocab_size": vocab_size - 1, "special_tokens": []}
    if kind == "bpe":
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        if vocab_size < len(alphabet) + len(special):
            raise ValueError(
                f"a byte-level vocabulary needs at least {len(alphabet) + len(special)} tokens, got {vocab_size}"
            )
        trainer: trainers.Trainer = trainers.BpeTrainer(
            initial_alphabet=alphabet, min_frequency=min_frequency, **options
        )
    else:
        trainer = trainers.WordLevelTrainer(min_frequency=min_frequency, **options)
    tokenizer.train_from_iterator(_without(special, _checked(texts), lowercase), trainer)
    if tokenizer.get_vocab_size() <= len(options["special_tokens"]):
        raise ValueError(
            "no token was found in texts: it is empty, holds only empty texts, or min_frequency is too high"
        )
    tokenizer.add_special_tokens(special)
    options = {} if model_max_length is None else {"model_max_length": model_max_length}
    if append_eos:
        options["split_special_tokens"] = True
    if append_eos == STREAM:
        options["append_eos"] = STREAM  # stays with the saved tokenizer, for `ends_texts`
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
    """The characters of transcripts for CTC (Graves et al. 2006), after ``<pad>``, the blank, and ``<unk>``.

    A space is written as ``|``, or as ``␣`` where a text has a ``|`` (in IPA a boundary). Characters are those of the
    texts: case, accents and IPA diacritics are kept.

    Args:
        texts: transcripts.

    Raises:
        ValueError: no character; texts with both ``|`` and ``␣``, which leave no sign for a space; a text that spells
            out ``<pad>`` or ``<unk>``.
        TypeError: a text that is not a string.
    """
    texts = list(_checked(texts))
    for special in ("<pad>", "<unk>"):
        if found := [text for text in texts if special in text]:
            raise ValueError(f"a transcript spells out {special}, a special token: replace it in {found[0]!r}")
    symbols = sorted({symbol for text in texts for symbol in text if not symbol.isspace()})
    if not symbols:
        raise ValueError("no symbol was found in texts: there is none, or all are empty")
    space = "␣" if "|" in symbols else "|"
    if space in symbols:
        raise ValueError("transcripts have both '|' and '␣', one of which has to stand for a space: replace one")
    vocabulary = {symbol: index for index, symbol in enumerate(["<pad>", "<unk>", space, *symbols])}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.json"
        file.write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
        return Wav2Vec2CTCTokenizer(str(file), bos_token=None, eos_token=None, word_delimiter_token=space)


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {number} is not a string but {type(text).__name__}: {text!r}")
        yield text


def _without(special: list[str], texts: Iterable[str], lowercase: bool) -> Iterator[str]:
    """Texts that hold ``<unk>`` themselves (WikiText): counted as a word, it would move from id 1 and leave a hole."""
    pattern = re.compile("|".join(special), re.IGNORECASE if lowercase else 0)
    for text in texts:
        yield pattern.sub(" ", text) if special else text
