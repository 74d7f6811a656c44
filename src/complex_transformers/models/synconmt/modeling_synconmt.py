# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Syntax-aware complex-valued translation model (SynCoNMT, Liu & Hou 2023) and its real twins."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqModelOutput
from transformers.utils import ModelOutput, TransformersKwargs, logging
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple

from ...nn import Readout, number_field
from ..base.encoder_decoder import EncoderDecoderModel, Seq2SeqHead
from ..base.loss import check_labels, label_count, shift_right
from .configuration_synconmt import SynCoNMTConfig
from .generation_synconmt import RelationGenerationMixin, RelationHistory, known_relations
from .stacks_synconmt import SynCoNMTDecoder, SynCoNMTEncoder, SynCoNMTPreTrainedModel

__all__ = ["SynCoNMTForConditionalGeneration", "SynCoNMTModel", "SynCoNMTOutput"]

logger = logging.get_logger(__name__)


@dataclass
class SynCoNMTOutput(ModelOutput):
    """Output of ``SynCoNMTForConditionalGeneration``.

    Args:
        loss: joint loss of ``labels`` and ``relation_labels`` (S 17).
        logits: word logits, ``[B, T, target vocabulary]`` (S 15).
        relation_logits: relation logits, ``[B, T, target relations]`` (S 16); None without relations.
        cache: the decoder states.
        decoder_hidden_states, encoder_hidden_states, encoder_last_hidden_state: hidden states of both sides.
        cross_attentions: one tensor ``[B, 1, T, S]`` of real weights or ``[B, 1, T, 2S]`` of ``[real | imag]`` halves.
        decoder_attentions, encoder_attentions: always empty, as SynCoNMT has no self-attention.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    relation_logits: Tensor | None = None
    cache: Cache | None = None
    decoder_hidden_states: tuple[Tensor, ...] | None = None
    decoder_attentions: tuple[Tensor, ...] | None = None
    cross_attentions: tuple[Tensor, ...] | None = None
    encoder_last_hidden_state: Tensor | None = None
    encoder_hidden_states: tuple[Tensor, ...] | None = None
    encoder_attentions: tuple[Tensor, ...] | None = None


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Set ``model.eval()`` within the context and restore the mode of every module afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


class SynCoNMTModel(EncoderDecoderModel, SynCoNMTPreTrainedModel):
    """Encoder and decoder (S sections 3.1, 3.2) with separate or shared embeddings."""

    encoder_class = SynCoNMTEncoder
    decoder_class = SynCoNMTDecoder

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        decoder_relation_ids: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> Seq2SeqModelOutput:
        """Encode source texts, unless ``encoder_outputs`` are given, and decode target texts.

        Args:
            input_ids, attention_mask, relation_ids, inputs_embeds: the source, see ``SynCoNMTEncoder``.
            decoder_input_ids: ``[B, T]``, the target tokens that are not in the cache; or pass
                ``decoder_inputs_embeds``.
            decoder_attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side.
            decoder_relation_ids: ``[B, T]``, the dependency relation of every target token.
            encoder_outputs: encoder outputs of an earlier call with the same source.
            cache: a ``RecurrentCache``, updated by this call.
            decoder_inputs_embeds: ``[B, T, hidden_size]``, words and relations as halves.
            use_cache: return a cache.

        Raises:
            ValueError: no target, missing relations, empty input, wrong shapes, ids outside the vocabulary, a cache of
                another batch size.
        """
        source = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "relation_ids": relation_ids,
            "inputs_embeds": inputs_embeds,
        }
        target = {
            "input_ids": decoder_input_ids,
            "attention_mask": decoder_attention_mask,
            "relation_ids": decoder_relation_ids,
            "cache": cache,
            "inputs_embeds": decoder_inputs_embeds,
            "use_cache": use_cache,
        }
        return self.encode_and_decode(source, target, encoder_outputs, **kwargs)


class SynCoNMTForConditionalGeneration(RelationGenerationMixin, Seq2SeqHead, SynCoNMTPreTrainedModel):
    """SynCoNMT with word and relation heads (S 15, 16), their joint loss (S 17) and ``generate()``."""

    output_class = SynCoNMTOutput

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__(config)
        self.model = SynCoNMTModel(config)
        field = number_field(config.number_field)
        self.dropout = field.Dropout(config.hidden_dropout_prob)
        self.lm_head = self.make_head(config.num_words[1])
        relations = config.num_relations[1]
        self.relation_head = None if relations is None else self.make_head(relations)
        # Used in training; with `mixed`, `RelationSchedule` sets them.
        self.own_relations: float | None = {"predicted": 1.0, "gold": 0.0}.get(config.relation_feedback)
        self.training_alpha: float | None = None
        self.post_init()

    def make_head(self, out_features: int) -> Readout:
        """Return a head for ``out_features`` words or relations."""
        return Readout(self.config.hidden_size, out_features, self.config.lm_readout, self.config.number_field)

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head.projection

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        self.lm_head.projection = new_embeddings  # type: ignore[assignment]

    def prepare_decoder_relation_ids_from_labels(self, relation_labels: Tensor) -> Tensor:
        """Shift ``relation_labels [B, T]`` right to get the decoder's input relations."""
        relations = self.config.num_relations[1]
        assert relations is not None
        check_labels(relation_labels, relation_labels.shape, relations, "relation_labels")
        return shift_right(relation_labels, self.config.decoder_start_relation_id, self.config.pad_relation_id)

    def predict_relations(self, relation_logits: Tensor) -> Tensor:
        """Return the relation of the largest logit, excluding padding: ``[..., relations] -> [...]``."""
        allowed = torch.arange(relation_logits.shape[-1], device=relation_logits.device) != self.config.pad_relation_id
        lowest = torch.finfo(relation_logits.dtype).min
        return relation_logits.masked_fill(~allowed, lowest).argmax(-1)

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        decoder_relation_ids: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        relation_labels: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> SynCoNMTOutput:
        """Return the logits of words and relations and, with labels for both, the joint loss.

        See ``SynCoNMTModel`` for the other arguments. Missing ``decoder_relation_ids`` are made from
        ``relation_labels`` or taken from the cache, which holds the predicted relation of the next token.

        Args:
            labels: ``[B, T]``, the next token of every position; default ``decoder_input_ids`` are made from them.
                -100 is ignored.
            relation_labels: ``[B, T]``, the relations of ``labels``. -100, padding and positions with ignored
                ``labels`` are ignored.

        Raises:
            ValueError: only one of ``labels`` and ``relation_labels``, or different shapes.
        """
        self.check_labels(labels, relation_labels)
        if labels is not None and decoder_input_ids is None and decoder_inputs_embeds is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if decoder_relation_ids is None and decoder_input_ids is not None and self.config.use_relations:
            if relation_labels is not None:
                decoder_relation_ids = self.prepare_decoder_relation_ids_from_labels(relation_labels)
            elif cache is not None:
                decoder_relation_ids = known_relations(cache, decoder_input_ids)
        if relation_labels is not None and decoder_input_ids is not None and self.config.relation_feedback != "gold":
            assert decoder_relation_ids is not None  # made from relation_labels above
            decoder_relation_ids = self.feed_back(
                decoder_relation_ids,
                input_ids=input_ids,
                attention_mask=attention_mask,
                relation_ids=relation_ids,
                inputs_embeds=inputs_embeds,
                decoder_input_ids=decoder_input_ids,
                decoder_attention_mask=decoder_attention_mask,
                encoder_outputs=encoder_outputs,
            )
        history = cache if isinstance(cache, RelationHistory) else None
        past_length = 0 if cache is None else cache.get_seq_length()
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            relation_ids=relation_ids,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            decoder_relation_ids=decoder_relation_ids,
            encoder_outputs=encoder_outputs,
            cache=cache if history is None else None,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache if history is None else False,
            return_dict=True,
            **kwargs,
        )
        hidden_states = self.dropout(outputs.last_hidden_state)
        logits = self.lm_head(hidden_states)
        relation_logits = None if self.relation_head is None else self.relation_head(hidden_states)
        cache = outputs.cache if history is None else history
        if cache is not None and relation_logits is not None:
            self.remember_relations(cache, past_length, decoder_relation_ids, relation_logits)
        loss = None
        if labels is not None:
            loss = self.joint_loss(logits, labels, relation_logits, relation_labels, kwargs.get("num_items_in_batch"))
        return self.head_output(outputs, loss, logits, relation_logits=relation_logits)

    def check_labels(self, labels: Tensor | None, relation_labels: Tensor | None) -> None:
        """Raise unless labels and relation labels have one shape, where the loss needs both."""
        shape, found = (None if x is None else tuple(x.shape) for x in (labels, relation_labels))
        expected = shape if self.config.use_relations else None
        optional = found is None and self.config.alpha == 1.0
        if found != expected and not optional:
            needed = "None" if expected is None else f"[batch, length] = {expected}"
            raise ValueError(
                f"relation_labels must be {needed}, got {found}. Pass them with labels if use_relations=True."
            )

    @torch.no_grad()
    def feed_back(self, relations: Tensor, **inputs: Any) -> Tensor:
        """Replace gold relations ``[B, T]`` by predictions of the model from a pass with gold relations.

        Each is replaced with probability ``own_relations`` in training and always in evaluation, except padding and
        the start relation.
        """
        share = self.predicted_share() if self.training else 1.0
        if share == 0.0:
            return relations
        assert self.relation_head is not None  # relation_labels imply use_relations
        with evaluating(self):  # no dropout, as in generation
            outputs = self.model(decoder_relation_ids=relations, use_cache=False, return_dict=True, **inputs)
            states = outputs.last_hidden_state
            following = self.predict_relations(self.relation_head(states))
        predicted = torch.cat([relations[:, :1], following[:, :-1]], dim=-1)
        special = (relations == self.config.pad_relation_id) | (relations == self.config.decoder_start_relation_id)
        keep = special | (torch.rand(relations.shape, device=relations.device) >= share)
        return torch.where(keep, relations, predicted)

    def predicted_share(self) -> float:
        """Return ``own_relations``; warn and return 0 if it is not set."""
        if self.own_relations is not None:
            return self.own_relations
        logger.warning_once(
            "model.own_relations must be set with relation_feedback='mixed', got None: only gold relations are used. "
            "Pass Trainer the callback RelationSchedule()."
        )
        return 0.0

    def remember_relations(
        self, cache: Cache, past_length: int, relations: Tensor | None, relation_logits: Tensor
    ) -> None:
        """Store in the cache the relations ``[B, T]`` of the new tokens and the predicted one of the next token."""
        batch, length = relation_logits.shape[:2]
        states = cache.layers[0].states
        unknown = torch.full((batch, past_length + length), self.config.pad_relation_id, device=relation_logits.device)
        before = states.get("relations", unknown)[:, :past_length]
        if relations is None:  # inputs_embeds have no relation ids
            relations = unknown[:, past_length:]
        following = self.predict_relations(relation_logits[:, -1:])
        states["relations"] = torch.cat([before, relations.to(before), following], dim=-1)

    def joint_loss(
        self,
        logits: Tensor,
        labels: Tensor,
        relation_logits: Tensor | None = None,
        relation_labels: Tensor | None = None,
        num_items: Tensor | int | None = None,
    ) -> Tensor:
        """Return alpha L_w + (1 - alpha) L_d (S 17 to 19), with label smoothing in training.

        Both losses are sums over tokens, divided by the number of tokens or by ``num_items``.
        """
        count = label_count(labels, num_items)
        loss = self.smoothed_loss(logits, labels, count)
        if relation_logits is None:
            return loss
        alpha = self.training_alpha if self.training and self.training_alpha is not None else self.config.alpha
        loss = alpha * loss
        if relation_labels is None:
            return loss
        ignored = (labels == -100) | (relation_labels == self.config.pad_relation_id)
        relation_labels = relation_labels.masked_fill(ignored, -100)
        relation_loss = self.smoothed_loss(relation_logits, relation_labels, count, "relation_labels")
        return loss + (1.0 - alpha) * relation_loss
