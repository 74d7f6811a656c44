# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Character language models for beam search: n-grams of transcripts, and causal models of Transformers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol
from unicodedata import normalize

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .stream import checked_texts

__all__ = ["CausalCharacterModel", "CharacterLanguageModel", "CharacterNGram"]

_START, _END = "\x02", "\x03"


class CharacterLanguageModel(Protocol):
    """Anything that predicts the character after a text."""

    def __call__(self, text: str, symbols: Sequence[str]) -> np.ndarray:
        """Return log-probabilities ``[len(symbols) + 1]`` of the characters after ``text``; the last one ends it."""


class CharacterNGram:
    """Character n-gram model with Witten-Bell smoothing (Chen and Goodman 1999, section 2.6).

    P(c | h) = (n(h c) + u(h) P(c | h')) / (n(h) + u(h)) for a history h of ``order`` - 1 characters or fewer at the
    start of a text: n counts occurrences, u(h) is the number of different characters after h, and h' is h without its
    first character. Without a history P is uniform over the symbols and the end of the text.

    Args:
        texts: transcripts, read once.
        order: n, 1 or more.

    Example:
        >>> import numpy as np
        >>> from complex_transformers import CharacterNGram
        >>> language_model = CharacterNGram(["bada", "baba"], order=3)
        >>> print(*np.exp(language_model("ba", "abd")).round(2))  # "a", "b", "d" or the end after "ba"
        0.08 0.3 0.27 0.36
    """

    def __init__(self, texts: Iterable[str], order: int = 5) -> None:
        self.order = order
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for text in checked_texts(texts):
            self._count(f"{_START}{normalize('NFC', text)}{_END}")

    def _count(self, padded: str) -> None:
        for place in range(1, len(padded)):
            for start in range(max(0, place - self.order + 1), place + 1):
                self.counts[padded[start:place]][padded[place]] += 1

    def __call__(self, text: str, symbols: Sequence[str]) -> np.ndarray:
        """Return log-probabilities ``[len(symbols) + 1]`` of the characters after ``text``; the last one ends it."""
        names, padded = (*symbols, _END), _START + text
        probabilities = np.full(len(names), 1 / len(names))
        for length in range(min(self.order, len(padded) + 1)):
            after = self.counts.get(padded[len(padded) - length :])
            if after is None:
                break
            seen = np.array([after[name] for name in names])
            probabilities = (seen + len(after) * probabilities) / (after.total() + len(after))
        return np.log(probabilities)


class CausalCharacterModel:
    """A causal language model whose tokens are characters, such as ``ComplexRecurrentLMForCausalLM``.

    A text starts after ``eos_token``, as in a stream of texts. Each call runs the model on the whole text.

    Args:
        model: a causal model in evaluation mode.
        tokenizer: ``build_tokenizer(texts, kind="character", append_eos="stream", lowercase=False)``, with which it
            was trained.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model, self.tokenizer = model, tokenizer

    @torch.no_grad()
    def __call__(self, text: str, symbols: Sequence[str]) -> np.ndarray:
        """Return log-probabilities ``[len(symbols) + 1]`` of the characters after ``text``; the last one ends it."""
        end = self.tokenizer.eos_token_id
        ids = [end, *self.tokenizer.convert_tokens_to_ids([*text])]
        logits = self.model(input_ids=torch.tensor([ids], device=self.model.device)).logits[0, -1]
        asked = [*self.tokenizer.convert_tokens_to_ids([*symbols]), end]
        return logits.double().log_softmax(-1)[asked].cpu().numpy()
