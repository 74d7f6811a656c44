# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder encoder (Wang et al., ICLR 2020): embedding, Transformer encoder and its heads."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPooling,
    MaskedLMOutput,
    MultipleChoiceModelOutput,
    QuestionAnsweringModelOutput,
    TokenClassifierOutput,
)
from transformers.utils import TransformersKwargs
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import NumberField, Readout, linear_layer, number_field
from ...nn.checks import check_ids
from ..base.inputs import check_position_ids, padding_mask
from ..base.layers import (
    Attention,
    EncoderLayer,
    FeedForward,
    TransformerEncoder,
    apply_norm,
    make_norm,
)
from ..base.loss import check_labels, smoothed_cross_entropy
from ..base.packed_sequences import check_one_sequence
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import SequenceClassifier, classification_head, run_text_model
from .configuration_complex_order import ComplexOrderConfig

__all__ = [
    "ComplexOrderForMaskedLM",
    "ComplexOrderForMultipleChoice",
    "ComplexOrderForQuestionAnswering",
    "ComplexOrderForSequenceClassification",
    "ComplexOrderForTokenClassification",
    "ComplexOrderModel",
    "ComplexOrderPreTrainedModel",
]


def make_linear(config: ComplexOrderConfig) -> nn.Module:
    """Return a dense layer of ``config.linear_type`` between hidden states."""
    return linear_layer(config.linear_type, config.number_field)(config.hidden_size, config.hidden_size)


class ComplexOrderLayer(EncoderLayer):
    """An encoder layer whose dense layers are of ``config.linear_type``."""

    def make_attention(self, config: ComplexOrderConfig, layer_idx: int | None) -> Attention:
        return Attention(config, layer_idx, linear_type=config.linear_type, scaling=config.attention_scale)

    def make_feed_forward(self, config: ComplexOrderConfig, field: NumberField) -> FeedForward:
        return FeedForward(config, field, linear_layer(config.linear_type, config.number_field))


class ComplexOrderPooler(nn.Module):
    """f(W z_1 + b) of the first token, f = split tanh (Devlin et al. 2019): ``[B, N, 2d] -> [B, 2d]``.

    The first token is the one after padding on the left; an all-padding row gives 0.
    """

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__()
        self.dense = make_linear(config)
        self.activation = number_field(config.number_field).activation(
            config.pooler_act, num_features=config.hidden_size
        )

    def forward(self, hidden_states: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        if padding_mask is None:
            return self.activation(self.dense(hidden_states[:, 0]))
        first = padding_mask.long().argmax(-1)
        states = hidden_states[torch.arange(first.shape[0], device=first.device), first]
        return self.activation(self.dense(states)).masked_fill(~padding_mask.any(-1, keepdim=True), 0.0)


class ComplexOrderPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the family."""

    config: ComplexOrderConfig
    _no_split_modules = ["ComplexOrderLayer"]
    _supports_flex_attn = True


class ComplexOrderModel(TransformerEncoder, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder: embedding (Eq. 5) and Transformer layers (Eq. 13, 14, App. B).

    It returns hidden states ``[B, N, hidden_size]`` of ``[real | imag]`` halves and, if the configuration has a
    pooling layer, ``pooler_output [B, hidden_size]``. Heads that do not use the pooling layer omit it.
    """

    config: ComplexOrderConfig
    layer_class = ComplexOrderLayer

    def __init__(self, config: ComplexOrderConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        field, width = number_field(config.number_field), config.hidden_size
        self.embed_types = field.Embedding(config.type_vocab_size, width) if config.type_vocab_size else None
        self.embed_norm = make_norm(config, field) if config.embedding_norm else None
        self.pooler = ComplexOrderPooler(config) if config.add_pooling_layer and add_pooling_layer else None
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutput | BaseModelOutputWithPooling:
        """Encode a batch of sequences.

        Args:
            input_ids: ``[B, N]`` token ids, unless ``inputs_embeds`` are given.
            attention_mask: ``[B, N]``, 1 for tokens, 0 for padding on either side. Outputs of an all-padding row are
                finite but meaningless; its pooled features are zero.
            position_ids: ``[B, N]`` positions of the tokens, counted from 1 or, in a row with a token at 0, from 0;
                default 1, 2, ... over real tokens. Without a mask, positions that restart within a row separate packed
                sequences (``DataCollatorWithFlattening``).
            inputs_embeds: ``[B, N, hidden_size]`` embeddings, positions included, as halves; types are added to them.
            token_type_ids: ``[B, N]`` types of the tokens, below ``type_vocab_size``; default 0. They are ignored if
                the configuration has no types, since BERT's tokenizers always return them.

        Raises:
            ValueError: empty input, shapes that do not match, ids outside the vocabulary, positions without effect,
                packed sequences with a pooling layer.
        """
        inputs_embeds = self.embed(input_ids, attention_mask, position_ids, inputs_embeds)
        inputs_embeds = self.with_types(inputs_embeds, token_type_ids)
        tokens = padding_mask(attention_mask)
        if self.embed_norm is not None:
            inputs_embeds = apply_norm(self.embed_norm, inputs_embeds, tokens)
        hidden_states = self.encode(inputs_embeds, attention_mask, position_ids, **kwargs)
        if self.pooler is None:
            return BaseModelOutput(last_hidden_state=hidden_states)
        check_one_sequence(position_ids, attention_mask)
        return BaseModelOutputWithPooling(
            last_hidden_state=hidden_states, pooler_output=self.pooler(hidden_states, tokens)
        )

    def with_types(self, inputs_embeds: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """Add the vectors of the token types to embeddings ``[B, N, 2d]``, if the configuration has types."""
        if self.embed_types is None:
            return inputs_embeds
        assert self.config.type_vocab_size is not None
        shape = inputs_embeds.shape[:2]
        if token_type_ids is None:
            token_type_ids = torch.zeros(shape, dtype=torch.long, device=inputs_embeds.device)
        check_position_ids(token_type_ids, tuple(shape), "token_type_ids")
        remedy = "Use 0 for the first and 1 for the second sentence of a pair"
        check_ids("token_type_ids", token_type_ids, self.config.type_vocab_size, remedy)
        return inputs_embeds + self.embed_types(token_type_ids)


class ComplexOrderForMaskedLM(ComplexOrderPreTrainedModel):
    """ComplexOrder encoder with a masked LM head: dense layer, activation, norm, ``config.lm_readout``."""

    lm_head: Readout

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForMaskedLM"  # Transformers would derive it from the name of the class
        self.model = ComplexOrderModel(config, add_pooling_layer=False)
        field = number_field(config.number_field)
        self.dense = make_linear(config)
        self.activation = field.activation(config.hidden_act, num_features=config.hidden_size)
        # Not `norm`: loading would take it for the last norm of a pre-norm encoder, `model.norm` without its prefix.
        norm = nn.LayerNorm if config.norm_type == "stored_layer" else field.LayerNorm
        self.head_norm = norm(config.hidden_size, eps=config.layer_norm_eps)
        self.lm_head = Readout(config.hidden_size, config.vocab_size, config.lm_readout, config.number_field)
        self.tie_head_to("model.embed_tokens")
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> MaskedLMOutput:
        """Return logits ``[B, N, vocab_size]`` and, with ``labels [B, N]`` (-100 is ignored), the cross entropy.

        The other arguments are the model's.
        """
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds)
        outputs = run_text_model(self.model, *inputs, token_type_ids=token_type_ids, **kwargs)
        logits = self.lm_head(self.head_norm(self.activation(self.dense(outputs.last_hidden_state))))
        return MaskedLMOutput(
            loss=None if labels is None else self.token_loss(logits, labels, **kwargs),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


class ComplexOrderForSequenceClassification(SequenceClassifier, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder with a classification head on the mean of the last hidden state (ComplexOrder Table 2).

    With a pooling layer in the configuration the head reads ``pooler_output``, as in BERT.
    """

    model_class = ComplexOrderModel

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> Any:
        """Return logits ``[B, num_labels]`` and, with ``labels``, the loss; see ``SequenceClassifier``."""
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds, labels)
        return super().forward(*inputs, token_type_ids=token_type_ids, **kwargs)


class ComplexOrderForMultipleChoice(SequenceClassifier, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder with one logit for each choice, a sequence of a question and an answer.

    The network is ``ComplexOrderForSequenceClassification`` with one label.
    """

    model_class = ComplexOrderModel
    num_outputs = 1

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> MultipleChoiceModelOutput:
        """Return logits ``[B, C]`` of C choices and, with ``labels [B]``, the cross entropy.

        ``input_ids``, masks, positions and types are ``[B, C, N]``, ``inputs_embeds`` ``[B, C, N, hidden_size]``;
        hidden states and attentions have B C rows.

        Raises:
            ValueError: inputs without an axis of choices, or inputs that the model rejects.
        """
        given = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
            "token_type_ids": token_type_ids,
        }
        for name, value in given.items():
            axes = "[batch, choices, length, hidden_size]" if name == "inputs_embeds" else "[batch, choices, length]"
            if value is not None and value.dim() != axes.count(",") + 1:
                raise ValueError(f"{name} must be {axes}, got {tuple(value.shape)}.")
        rows = {name: None if value is None else value.flatten(0, 1) for name, value in given.items()}
        outputs = run_text_model(self.model, **rows, one_sequence_per_row=True, **kwargs)
        choices = (inputs_embeds if input_ids is None else input_ids).shape[:2]  # type: ignore[union-attr]
        logits = self.logits_of(outputs, rows["attention_mask"]).view(choices)
        loss = None
        if labels is not None:
            labels = check_labels(labels, logits.shape[:1], logits.shape[1])
            loss = smoothed_cross_entropy(logits.unsqueeze(1), labels.unsqueeze(1))
        return MultipleChoiceModelOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class ComplexOrderForQuestionAnswering(ComplexOrderPreTrainedModel):
    """ComplexOrder encoder with logits for the first and the last token of an answer, for extractive QA."""

    accepts_loss_kwargs = False  # the loss is a mean over examples

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        self.model = ComplexOrderModel(config, add_pooling_layer=False)
        self.dropout, self.qa_outputs = classification_head(config, num_labels=2)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> QuestionAnsweringModelOutput:
        """Return ``start_logits`` and ``end_logits [B, N]`` (-1e4 in padding) and, with positions, the cross entropy.

        Args:
            input_ids, attention_mask, position_ids, inputs_embeds, token_type_ids: as in the model; one sequence per
                row.
            start_positions, end_positions: ``[B]`` indices of the first and last token of the answer in the row;
                -100 for examples without an answer, which are ignored.

        Raises:
            ValueError: only one of the two positions, positions outside the row, or inputs that the model rejects.
        """
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds)
        kwargs = {**kwargs, "token_type_ids": token_type_ids}
        outputs = run_text_model(self.model, *inputs, one_sequence_per_row=True, **kwargs)
        logits = self.qa_outputs(self.dropout(outputs.last_hidden_state))
        tokens = padding_mask(attention_mask)
        if tokens is not None:  # an answer has no tokens there
            logits = logits.masked_fill(~tokens.unsqueeze(-1), -1e4)
        start_logits, end_logits = logits.unbind(-1)
        if (start_positions is None) != (end_positions is None):
            raise ValueError("start_positions and end_positions must be given together, got only one.")
        loss = None
        if start_positions is not None and end_positions is not None:
            start_loss = span_loss(start_logits, start_positions, "start_positions")
            loss = 0.5 * (start_loss + span_loss(end_logits, end_positions, "end_positions"))
        return QuestionAnsweringModelOutput(
            loss=loss,
            start_logits=start_logits,
            end_logits=end_logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


def span_loss(logits: Tensor, positions: Tensor, name: str) -> Tensor:
    """Return the cross entropy of logits ``[B, N]`` at ``positions [B]`` or ``[B, 1]``, the argument ``name``."""
    positions = positions.squeeze(-1) if positions.dim() == 2 else positions
    positions = check_labels(positions, logits.shape[:1], logits.shape[1], name)
    return smoothed_cross_entropy(logits.unsqueeze(1), positions.unsqueeze(1))


class ComplexOrderForTokenClassification(ComplexOrderPreTrainedModel):
    """ComplexOrder encoder with a classification head on every token."""

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForTokenClassification"  # Transformers would derive it from the name of the class
        self.model = ComplexOrderModel(config, add_pooling_layer=False)
        self.num_labels = config.num_labels
        self.dropout, self.classifier = classification_head(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> TokenClassifierOutput:
        """Return logits ``[B, N, num_labels]`` and, with ``labels [B, N]`` (-100 is ignored), the cross entropy.

        The other arguments are the model's.
        """
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds)
        outputs = run_text_model(self.model, *inputs, token_type_ids=token_type_ids, **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        return TokenClassifierOutput(
            loss=None if labels is None else self.token_loss(logits, labels, **kwargs),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
