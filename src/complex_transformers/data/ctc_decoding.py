# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Prefix beam search for CTC, with an optional language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from .character_lm import CharacterLanguageModel

__all__ = ["CTCBeamSearchDecoder", "CTCHypothesis"]


class CTCHypothesis(NamedTuple):
    """A transcript, its log-probability log P(l | x) over the alignments in the beam, and its score."""

    text: str
    log_probability: float
    score: float


@dataclass(frozen=True)
class _Beams:
    """The prefixes l after a frame: log-probabilities of ending in a blank or in a symbol, and log-prior."""

    prefixes: list[tuple[int, ...]]
    blank: np.ndarray
    symbol: np.ndarray
    prior: np.ndarray


class CTCBeamSearchDecoder:
    """Prefix beam search (Graves et al. 2006; Hannun et al. 2014, algorithm 1) with shallow fusion.

    Finds the transcript l of n characters that maximises log P(l | x) + a log P_LM(l) + b n, where P(l | x) sums over
    all alignments of l (Thesis, Eq. 5.4). After each frame the ``num_beams`` best prefixes are kept. P_LM includes the
    end of the text. Without a language model and with enough beams the search is exact.

    ``decode_beams`` is the call of ``pyctcdecode``, so the decoder is also the ``decoder`` of
    ``pipeline("automatic-speech-recognition")`` in Transformers 5, without timestamps.

    Args:
        tokenizer: the CTC tokenizer of the model. Its ``pad_token`` is the blank; transcripts have no special token.
        num_beams: number of prefixes kept.
        language_model: ``CharacterNGram``, ``CausalCharacterModel``, or a function with their call.
        language_model_weight: a; choose it on the validation split.
        length_bonus: b per character, against the language model's preference for short texts.

    Example:
        >>> import torch
        >>> from complex_transformers import CTCBeamSearchDecoder, build_ctc_tokenizer
        >>> decoder = CTCBeamSearchDecoder(build_ctc_tokenizer(["ab"]))
        >>> frame = torch.tensor([0.6, 0.0, 0.0, 0.4, 0.0])  # blank, <unk>, space, a, b
        >>> decoder.decode(torch.stack([frame, frame]).log())  # "a" has three alignments: 0.64 against 0.36
        'a'
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        num_beams: int = 16,
        language_model: CharacterLanguageModel | None = None,
        language_model_weight: float = 0.5,
        length_bonus: float = 0.0,
    ) -> None:
        self.tokenizer, self.num_beams, self.language_model = tokenizer, num_beams, language_model
        self.language_model_weight, self.length_bonus = language_model_weight, length_bonus
        self.blank: int = tokenizer.pad_token_id
        space = tokenizer.word_delimiter_token
        names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        self.names = [" " if name == space else name for name in names]
        self.symbols = [i for i in range(len(names)) if i not in tokenizer.all_special_ids or names[i] == space]
        self._columns = {symbol: column for column, symbol in enumerate(self.symbols)}
        self._fused = lru_cache(2**16)(self._log_prior)

    def decode(self, logits: Tensor | np.ndarray) -> str:
        """Return the best transcript of ``logits [T, V]``."""
        return self.decode_beams(logits)[0].text

    def batch_decode(self, logits: Tensor | np.ndarray) -> list[str]:
        """Return the best transcripts of ``logits [B, T, V]``; padded frames must predict the blank."""
        return [self.decode(clip) for clip in logits]

    def decode_beams(self, logits: Tensor | np.ndarray, **_: Any) -> list[CTCHypothesis]:
        """Return the hypotheses of ``logits [T, V]``, best first."""
        log_probs = torch.as_tensor(logits).detach().double().log_softmax(-1).cpu().numpy()
        start = np.array([-np.inf])
        beams = _Beams([()], np.zeros(1), start, np.zeros(1))
        for frame in log_probs:
            beams = self._step(beams, frame)
        total = np.logaddexp(beams.blank, beams.symbol)
        scores = total + beams.prior + [self._fused(prefix)[-1] for prefix in beams.prefixes]
        order = np.argsort(-scores, kind="stable")
        return [CTCHypothesis(self._text(beams.prefixes[i]), float(total[i]), float(scores[i])) for i in order]

    def _step(self, beams: _Beams, frame: np.ndarray) -> _Beams:
        """Return the best prefixes after one more frame of log-probabilities ``[V]``."""
        total = np.logaddexp(beams.blank, beams.symbol)
        last = np.array([prefix[-1] if prefix else self.blank for prefix in beams.prefixes])
        longer = total[:, None] + frame
        longer[np.arange(len(last)), last] = beams.blank + frame[last]  # a repeated symbol needs a blank before it
        longer = longer[:, self.symbols]
        kept = np.stack([total + frame[self.blank], beams.symbol + frame[last]])
        self._merge(beams.prefixes, longer, kept[1])
        prior = beams.prior[:, None] + np.array([self._fused(prefix)[:-1] for prefix in beams.prefixes])
        scores = np.concatenate([np.logaddexp(*kept) + beams.prior, (longer + prior).ravel()])
        best = np.argsort(-scores, kind="stable")[: self.num_beams]
        return self._select(beams, best[scores[best] > -np.inf], longer, kept, prior)

    def _merge(self, prefixes: list[tuple[int, ...]], longer: np.ndarray, symbol: np.ndarray) -> None:
        """Count the alignments of an extended prefix that is itself in the beam only there."""
        places = {prefix: place for place, prefix in enumerate(prefixes)}
        for place, prefix in enumerate(prefixes):
            if prefix and (parent := places.get(prefix[:-1])) is not None:
                column = self._columns[prefix[-1]]
                symbol[place] = np.logaddexp(symbol[place], longer[parent, column])
                longer[parent, column] = -np.inf

    def _select(
        self, beams: _Beams, best: np.ndarray, longer: np.ndarray, kept: np.ndarray, prior: np.ndarray
    ) -> _Beams:
        """Return the chosen prefixes; the first ``len(beams.prefixes)`` candidates are those without a new symbol."""
        count, width = longer.shape
        parents, columns = np.divmod(best - count, width)
        old = best < count
        prefixes = [
            beams.prefixes[i] if i < count else (*beams.prefixes[parent], self.symbols[column])
            for i, parent, column in zip(best, parents, columns, strict=True)
        ]
        stay = np.where(old, best, 0)
        return _Beams(
            prefixes,
            blank=np.where(old, kept[0, stay], -np.inf),
            symbol=np.where(old, kept[1, stay], longer[parents, columns]),
            prior=np.where(old, beams.prior[stay], prior[parents, columns]),
        )

    def _log_prior(self, prefix: tuple[int, ...]) -> np.ndarray:
        """Return the additions ``[len(symbols) + 1]`` to the score for each next symbol and for the end."""
        bonus = np.append(np.full(len(self.symbols), self.length_bonus), 0.0)
        if self.language_model is None:
            return bonus
        names = [self.names[i] for i in self.symbols]
        text = "".join(self.names[i] for i in prefix)
        return bonus + self.language_model_weight * self.language_model(text, names)

    def _text(self, prefix: Sequence[int]) -> str:
        return self.tokenizer.decode(list(prefix), group_tokens=False)
