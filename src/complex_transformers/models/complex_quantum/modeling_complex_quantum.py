# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quantum-inspired text classifier (Thesis 4.5; Li et al. 2019, CNM): word states, mixtures, measurements."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPooling, SequenceClassifierOutput
from transformers.utils import TransformersKwargs

from ...nn import (
    Measurement,
    QuantumEmbedding,
    UnitaryLinear,
    UnitNorm,
    local_outcomes,
    mix,
    mixture_scores,
    number_field,
    unit_norm,
)
from ...nn.checks import check_ids
from ...nn.embedding import positions_from_mask
from ...nn.padding_order import real_first, reorder
from ..base.inputs import check_text_inputs, token_mask
from ..base.text import (
    WITHOUT_POSITION,
    ClassicPreTrainedModel,
    ClassicTextModel,
    SequenceClassifier,
    full_windows,
)
from .configuration_complex_quantum import ComplexQuantumConfig

__all__ = ["ComplexQuantumForSequenceClassification", "ComplexQuantumModel", "ComplexQuantumPreTrainedModel"]


class StateLayer(nn.Module):
    """U z / ||z||: word states of unit norm (Thesis 4.15), evolved by a unitary map (4.36)."""

    def __init__(self, config: ComplexQuantumConfig) -> None:
        super().__init__()
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)
        self.norm = UnitNorm()
        self.evolution = None
        if config.evolution != "none":
            num_maps = len(config.relations or ()) if config.evolution == "by_relation" else None
            self.evolution = UnitaryLinear(config.hidden_size, number_field=config.number_field, num_maps=num_maps)

    def forward(self, hidden_states: Tensor, relation_ids: Tensor | None = None) -> Tensor:
        """Normalize and evolve word vectors, ``[B, N, width] -> [B, N, width]``; zero vectors stay zero."""
        states = self.norm(self.dropout(hidden_states))
        return states if self.evolution is None else self.evolution(states, relation_ids)


def check_per_token(name: str, ids: Tensor | None, shape: tuple[int, ...], remedy: str) -> None:
    """Raise unless ``ids`` has a value for every token."""
    if (found := None if ids is None else tuple(ids.shape)) != shape:
        raise ValueError(f"{name} must be [batch, length] = {shape}, got {found}. {remedy}")


def second_text(token_type_ids: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Return a mask ``[B, N]`` that is true for tokens of the second text.

    Raises:
        ValueError: ``token_type_ids`` are missing, of a wrong shape or not 0 and 1.
    """
    remedy = "Use tokenizer(first, second, return_token_type_ids=True)."
    check_per_token("token_type_ids", token_type_ids, shape, remedy)
    assert token_type_ids is not None
    check_ids("token_type_ids", token_type_ids, 2, "Use 0 for the first text and 1 for the second")
    return token_type_ids == 1


def relations_of_words(config: ComplexQuantumConfig, relation_ids: Tensor | None, words: Tensor) -> Tensor | None:
    """Return ``relation_ids [B, N]`` with 0 in padding, or None unless ``evolution="by_relation"``.

    Raises:
        ValueError: ``relation_ids`` are missing or of another shape than ``words``.
    """
    if config.evolution != "by_relation":
        return None
    remedy = "Use DependencyCollator(tokenizer, relations=config.relations)."
    check_per_token("relation_ids", relation_ids, tuple(words.shape), remedy)
    assert relation_ids is not None
    return relation_ids.masked_fill(~words, 0)


class ComplexQuantumPreTrainedModel(ClassicPreTrainedModel):
    """Base class of the quantum-inspired models."""

    config: ComplexQuantumConfig


class ComplexQuantumModel(ClassicTextModel, ComplexQuantumPreTrainedModel):
    """q_k = sum_i p_i |<v_k|U w_i>|^2 over the tokens of a text, or its maximum over n-grams (Thesis 4.57, 4.63).

    ``last_hidden_state [B, N, hidden_size]`` holds the states as halves. ``pooler_output`` holds the outcomes, real
    numbers in [0, 1]: ``[B, num_measurements]``, times the number of window sizes with ``pooling="max"``, times 2 with
    ``text_pairs``.
    """

    _can_record_outputs = {"hidden_states": StateLayer}
    pooled_field = "real"

    def __init__(self, config: ComplexQuantumConfig) -> None:
        super().__init__(config)
        if config.mixture == "weight":
            self.embed_tokens = QuantumEmbedding(self.embed_tokens)
        self.layer = StateLayer(config)
        sizes = config.hidden_size, config.num_measurements
        self.measurement = Measurement(*sizes, config.measurement, config.number_field)
        windows = len(config.window_sizes) if config.pooling == "max" else 1
        texts_and_comparisons = 4 if config.text_pairs else 1
        self.pooled_size = config.num_measurements * windows * texts_and_comparisons
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        relation_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPooling:
        """Encode a batch of texts or of pairs of texts.

        Args:
            input_ids, attention_mask, position_ids, inputs_embeds: see ``ClassicTextModel``. Positions of a pair are
                counted in each text.
            token_type_ids: ``[B, N]``, 0 for the first text and 1 for the second, with ``text_pairs``.
            relation_ids: ``[B, N]`` indices into ``config.relations``, with ``evolution="by_relation"``; values at
                padding are ignored.
        """
        counts = self.config.text_pairs and self.config.embedding_type not in WITHOUT_POSITION
        if counts and input_ids is not None and position_ids is None:
            position_ids = self._positions(input_ids, attention_mask, token_type_ids)
        more = {"token_type_ids": token_type_ids} if self.config.text_pairs else {}
        more["relation_ids"] = relation_ids
        return super().forward(input_ids, attention_mask, position_ids, inputs_embeds, **more, **kwargs)

    def _positions(self, input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None) -> Tensor:
        check_text_inputs(input_ids, None, attention_mask, self.config.hidden_size)
        second = second_text(token_type_ids, tuple(input_ids.shape))
        words = token_mask(attention_mask, input_ids)
        first, other = (positions_from_mask(input_ids, words & text) for text in (~second, second))
        return torch.where(second, other, first)

    def encode(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        token_type_ids: Tensor | None = None,
        relation_ids: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        """Return the states and the outcomes of one text or of two."""
        words = token_mask(attention_mask, hidden_states)
        texts = [words]
        if self.config.text_pairs:
            second = second_text(token_type_ids, tuple(words.shape))
            texts = [words & ~second, words & second]
        scores = mixture_scores(hidden_states, self.config.mixture)
        states = self.layer(hidden_states, relations_of_words(self.config, relation_ids, words))
        probabilities = self.measurement(states)
        outcomes = [self.outcomes(probabilities, scores, mask) for mask in texts]
        return states, torch.cat(outcomes, dim=-1).to(states.dtype)

    def outcomes(self, probabilities: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
        """Compute q of the tokens in ``mask [B, N]`` from probabilities ``[B, N, K]`` and scores ``[B, N]``."""
        if self.config.pooling == "sentence":
            return mix(probabilities, scores, mask)
        order, _ = real_first(mask, 1)
        probabilities, scores, lengths = reorder(probabilities, order), scores.gather(1, order), mask.sum(dim=1)
        greatest = []
        for size in self.config.window_sizes:
            starts = full_windows(lengths, mask.shape[1], size)
            local = local_outcomes(probabilities, scores, lengths, size)
            greatest.append(local.masked_fill(~starts.unsqueeze(-1), 0.0).amax(dim=1))
        return torch.cat(greatest, dim=-1)


class ComplexQuantumForSequenceClassification(SequenceClassifier, ComplexQuantumPreTrainedModel):
    """``ComplexQuantumModel`` with a real classification head on its outcomes.

    For pairs with outcomes a and b the head also reads |a - b| and a b / (|a| |b|), the terms of the cosine similarity
    that CNM uses to match questions and answers (Li et al. 2019).
    """

    model_class = ComplexQuantumModel

    # Trainer drops the columns that forward does not name.
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        relation_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> SequenceClassifierOutput:
        """Return logits ``[B, num_labels]`` and, with ``labels``, the loss; see ``ComplexQuantumModel`` for inputs."""
        more = {"token_type_ids": token_type_ids, "relation_ids": relation_ids}
        return super().forward(input_ids, attention_mask, position_ids, inputs_embeds, labels, **more, **kwargs)

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """Return the logits; outcomes are divided by their mean over all states, as the head expects unit scale."""
        outcomes: Tensor = outputs.pooler_output
        features = outcomes / self.model.measurement.mean_outcome
        if self.config.text_pairs:
            first, second = features.chunk(2, dim=-1)
            terms = unit_norm(first) * unit_norm(second) * first.shape[-1]
            features = torch.cat([features, (first - second).abs(), terms], dim=-1)
        return self.classifier(self.dropout(features))
