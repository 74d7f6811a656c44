# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Inspect complex_quantum models: words of outcomes, entropy of texts, interference (Thesis 4.5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..nn import density_matrix, from_complex, mix, mixture_scores, mixture_weights, to_complex
from .plotting import legend_beside, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..models.complex_quantum.modeling_complex_quantum import ComplexQuantumModel

__all__ = [
    "Interference",
    "OutcomeWords",
    "TextState",
    "interference",
    "outcome_words",
    "plot_interference",
    "plot_outcome_words",
    "plot_text_state",
    "text_states",
]


@dataclass(frozen=True)
class OutcomeWords:
    """The words of an outcome, by falling probability |<v_k|w>|^2."""

    outcome: int
    words: list[str]
    probabilities: list[float]


@dataclass(frozen=True)
class TextState:
    """A text as a mixture of its words.

    Args:
        tokens: the tokens, without padding.
        weights: probability p of each token.
        entropy: -tr(rho ln rho) in nats (Thesis 4.64), from 0 for equal states to ln(number of tokens).
        purity: tr(rho^2), 1 for a pure state.
        outcomes: outcome probabilities q_k of the mixture.
    """

    tokens: list[str]
    weights: list[float]
    entropy: float
    purity: float
    outcomes: list[float]


@dataclass(frozen=True)
class Interference:
    """Two words in superposition and in a mixture, outcome by outcome.

    Args:
        words: a and b.
        apart: (|<v_k|a>|^2 + |<v_k|b>|^2) / 2, for their mixture.
        together: |<v_k|a + b>|^2 / ||a + b||^2, for their superposition.
        interference: Re(<v_k|a> <b|v_k>), the difference between |<v_k|a + b>|^2 / 2 and ``apart`` (Thesis 4.28).
    """

    words: tuple[str, str]
    apart: list[float]
    together: list[float]
    interference: list[float]


def _network(model: Any) -> ComplexQuantumModel:
    """Return the base network of a complex_quantum model in evaluation mode; raise for others."""
    base = getattr(model, "base_model", model)
    if getattr(getattr(base, "config", None), "model_type", None) != "complex_quantum":
        raise ValueError(f"model must be a complex_quantum model, got {type(model).__name__}")
    if base.training:
        raise ValueError("model must be in evaluation mode, got training mode. Call model.eval().")
    return base


def _words(base: ComplexQuantumModel, tokenizer: Any, words: Collection[str] | None) -> dict[str, int]:
    """Return word -> id, without special tokens."""
    vocabulary = tokenizer.get_vocab()
    if words is not None and (unknown := [word for word in words if word not in vocabulary]):
        raise ValueError(f"words must be in the vocabulary, got {unknown[:10]}")
    chosen = dict.fromkeys(vocabulary if words is None else words)
    found = {word: vocabulary[word] for word in chosen if word not in tokenizer.all_special_tokens}
    if (largest := max(found.values(), default=0)) >= base.config.vocab_size:
        raise ValueError(
            f"tokenizer must fit the model's {base.config.vocab_size} words, got id {largest}. Use the model's own."
        )
    return found


def _states(base: ComplexQuantumModel, ids: Sequence[int]) -> Tensor:
    """Return the state of each word at position 1, ``[words, width]``."""
    return base.layer(base.embed_tokens(torch.tensor(ids, device=base.device).unsqueeze(1)))[:, 0]


@torch.no_grad()
def outcome_words(
    model: Any,
    tokenizer: Any,
    outcomes: Collection[int] | None = None,
    count: int = 10,
    words: Collection[str] | None = None,
) -> list[OutcomeWords]:
    """Return the words with the largest |<v_k|w>|^2 at position 1, for each outcome (Li et al. 2019, CNM).

    Args:
        model: a ``ComplexQuantumModel`` or its classifier, in evaluation mode.
        tokenizer: tokenizer of the model; special tokens are left out.
        outcomes: indices of outcomes; None for all.
        count: number of words for each outcome.
        words: only these words, for instance the frequent words of the training data; None for the vocabulary.

    Raises:
        ValueError: the model is another one or in training mode, an outcome does not exist, or words and tokenizer do
            not fit the model.
    """
    base = _network(model)
    number = base.config.num_measurements
    chosen = range(number) if outcomes is None else outcomes
    if wrong := [outcome for outcome in chosen if not 0 <= outcome < number]:
        raise ValueError(f"outcomes must lie in [0, {number}), got {wrong[:10]}")
    vocabulary = _words(base, tokenizer, words)
    names = sorted(vocabulary)
    found = base.measurement(_states(base, [vocabulary[name] for name in names])).double().cpu()
    rows = []
    for outcome in chosen:
        order = found[:, outcome].argsort(descending=True, stable=True)[:count]
        rows.append(OutcomeWords(outcome, [names[i] for i in order.tolist()], found[order, outcome].tolist()))
    return rows


@torch.no_grad()
def text_states(model: Any, tokenizer: Any, texts: Sequence[str]) -> list[TextState]:
    """Compute the mixture of each text: weights, von Neumann entropy, purity, outcomes (Thesis 4.63 to 4.65).

    Args:
        model: a ``ComplexQuantumModel`` or its classifier, in evaluation mode.
        tokenizer: tokenizer of the model.
        texts: single texts, also for a model of text pairs.

    Raises:
        TypeError: one string is given instead of a list.
        ValueError: the model is another one or in training mode, or a text has no token.
    """
    base = _network(model)
    if isinstance(texts, str):
        raise TypeError("texts must be a list of strings, got one string. Pass [text].")
    found = []
    for text in texts:
        ids = torch.tensor([tokenizer(text)["input_ids"]], device=base.device)
        if not ids.numel():
            raise ValueError(f"texts must have at least one token each, got {text!r}. Remove empty texts.")
        words = base.embed_tokens(ids)
        states, weights = base.layer(words), mixture_weights(words, None, base.config.mixture)
        field = base.config.number_field
        rho = density_matrix(states.double(), weights.double(), number_field=field)[0]
        values = torch.linalg.eigvalsh(to_complex(rho) if field == "complex" else rho).clamp(min=0.0)
        outcomes = mix(base.measurement(states), mixture_scores(words, base.config.mixture))
        found.append(
            TextState(
                tokenizer.convert_ids_to_tokens(ids[0].tolist()),
                weights[0].tolist(),
                float(-torch.special.xlogy(values, values).sum().clamp(max=0.0)),
                float(values.square().sum()),
                outcomes[0].tolist(),
            )
        )
    return found


@torch.no_grad()
def interference(model: Any, tokenizer: Any, first: str, second: str) -> Interference:
    """Compare two words in superposition with their mixture (Thesis 4.27, 4.28).

    The global phase of a state is not determined by a model of mixtures. The phases are chosen so that <a|b> > 0, in
    phase in the sense of Pancharatnam (1956).

    Args:
        model: a ``ComplexQuantumModel`` or its classifier, in evaluation mode.
        tokenizer: tokenizer of the model.
        first, second: words of the vocabulary, both at position 1.

    Raises:
        ValueError: the model is another one or in training mode, or a word is special or outside the vocabulary.
    """
    base = _network(model)
    vocabulary = _words(base, tokenizer, [first, second])
    if missing := [word for word in (first, second) if word not in vocabulary]:
        raise ValueError(f"words must not be special tokens, got {missing}")
    states = _states(base, [vocabulary[first], vocabulary[second]]).double()
    is_complex = base.config.number_field == "complex"
    a, b = to_complex(states) if is_complex else states
    overlap = torch.vdot(a, b)
    if overlap.abs() > 1e-12:
        b = b * (overlap.conj() / overlap.abs())
    pair = torch.stack([a, b])
    amplitudes = base.measurement.amplitudes(from_complex(pair).to(base.dtype) if is_complex else pair.to(base.dtype))
    alpha, beta = (to_complex(amplitudes) if is_complex else amplitudes).cpu().numpy()
    crossed = np.real(alpha * np.conj(beta))
    apart = (np.abs(alpha) ** 2 + np.abs(beta) ** 2) / 2.0
    size = 1.0 + float(torch.vdot(pair[0], pair[1]).real)  # ||a + b||^2 / 2
    together = (apart + crossed) / size
    return Interference((first, second), *(values.tolist() for values in (apart, together, crossed)))


def plot_outcome_words(outcomes: Sequence[OutcomeWords]) -> Figure:
    """Plot the probabilities of the words of each outcome as bars.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    columns = min(4, len(outcomes))
    rows = -(-len(outcomes) // columns)
    figure = new_figure(2.6 * columns, 0.25 * rows * (len(outcomes[0].words) + 3))
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for axis, outcome in zip(axes, outcomes, strict=False):
        axis.barh(range(len(outcome.words)), outcome.probabilities)
        axis.set_yticks(range(len(outcome.words)), outcome.words)
        axis.invert_yaxis()
        axis.set(title=f"outcome {outcome.outcome}", xlim=(0.0, 1.0))
    for axis in axes[len(outcomes) :]:
        axis.set_axis_off()
    return figure


def plot_text_state(text: TextState) -> Figure:
    """Plot the token weights of a text, with entropy and purity of the mixture.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    figure = new_figure(0.5 * max(len(text.tokens), 6) + 1.0, 3.0)
    axis = figure.subplots()
    axis.bar(range(len(text.tokens)), text.weights)
    axis.set_xticks(range(len(text.tokens)), text.tokens, rotation=90)
    axis.set(ylabel="weight", title=f"entropy {text.entropy:.2f}, purity {text.purity:.2f}")
    return figure


def plot_interference(found: Interference, count: int = 20) -> Figure:
    """Plot mixture and superposition of two words for the outcomes where they interfere most.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    order = sorted(range(len(found.apart)), key=lambda k: -abs(found.together[k] - found.apart[k]))[:count]
    figure = new_figure(0.4 * len(order) + 2.0, 3.0)
    axis = figure.subplots()
    for shift, label, values in ((-0.2, "mixture", found.apart), (0.2, "superposition", found.together)):
        axis.bar([place + shift for place in range(len(order))], [values[k] for k in order], width=0.4, label=label)
    axis.set_xticks(range(len(order)), [str(k) for k in order], rotation=90)
    axis.set(xlabel="outcome", ylabel="probability", title=" + ".join(found.words))
    legend_beside(axis)
    return figure
