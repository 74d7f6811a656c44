# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder encoder (Wang et al., ICLR 2020): embedding, Transformer encoder and its heads."""

from torch import Tensor, nn
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import (
    BaseModelOutput,
    MaskedLMOutput,
    TokenClassifierOutput,
)
from transformers.utils import TransformersKwargs
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...modeling_text import SequenceClassifier, TextModel, classification_head, padding_mask
from ...modeling_utils import Attention, ComplexPreTrainedModel, EncoderLayer, make_norm
from ...nn import Readout, number_field
from .configuration_complex_order import ComplexOrderConfig

__all__ = [
    "ComplexOrderForMaskedLM",
    "ComplexOrderForSequenceClassification",
    "ComplexOrderForTokenClassification",
    "ComplexOrderModel",
    "ComplexOrderPreTrainedModel",
]


class ComplexOrderPreTrainedModel(ComplexPreTrainedModel):
    """Base of the family: configuration and what can be recorded."""

    config: ComplexOrderConfig
    _can_record_outputs = {"hidden_states": EncoderLayer, "attentions": Attention}


class ComplexOrderModel(TextModel, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder: embedding (Eq. 5) and Transformer layers (Eq. 13, 14, App. B).

    Returns hidden states ``[B, N, hidden_size]`` of ``[real | imag]`` halves.
    """

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        self.layers = nn.ModuleList([EncoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.norm = make_norm(config, field) if config.norm_position == "pre" else None
        self.gradient_checkpointing = False
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutput:
        """Encode a batch of texts.

        Args:
            input_ids: ``[B, N]`` word ids; or give ``inputs_embeds``.
            attention_mask: ``[B, N]``, 1 for tokens, 0 for padding on either side.
            position_ids: ``[B, N]`` positions of the tokens, counted from 1; default 1, 2, ... over real tokens.
            inputs_embeds: ``[B, N, hidden_size]`` final embeddings (position included), as halves.

        Raises:
            ValueError: empty input, a row of padding only, shapes that do not match, ids outside the vocabulary.
        """
        inputs_embeds = self.embed(input_ids, attention_mask, position_ids, inputs_embeds)
        tokens = padding_mask(attention_mask)
        score_mask = create_bidirectional_mask(
            config=self.config, inputs_embeds=inputs_embeds, attention_mask=attention_mask
        )
        hidden_states = self.dropout(inputs_embeds)
        for layer in self.layers:
            hidden_states = layer(hidden_states, score_mask, tokens, **kwargs)
        if self.norm is not None:
            batch_norm = self.config.norm_type == "batch"
            hidden_states = self.norm(hidden_states, tokens) if batch_norm else self.norm(hidden_states)
        return BaseModelOutput(last_hidden_state=hidden_states)


class ComplexOrderForMaskedLM(ComplexOrderPreTrainedModel):
    """ComplexOrder encoder with a masked-language-model head: dense layer, activation, norm, ``lm_readout``."""

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        self.model = ComplexOrderModel(config)
        self.dense = field.Linear(config.hidden_size, config.hidden_size)
        self.activation = field.activation(config.hidden_act, num_features=config.hidden_size)
        # Not `norm`: loading would take it for the last norm of a pre-norm encoder, `model.norm` without its prefix.
        self.head_norm = field.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.lm_head = Readout(config.hidden_size, config.vocab_size, config.lm_readout, config.number_field)
        table = "amplitude" if hasattr(self.model.embed_tokens, "amplitude") else "weight"
        self._tied_weights_keys = {"lm_head.projection.weight": f"model.embed_tokens.{table}"}
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head.projection

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        self.lm_head.projection = new_embeddings  # type: ignore[assignment]

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> MaskedLMOutput:
        """Logits ``[B, N, vocab_size]`` and, with ``labels [B, N]`` (-100 is ignored), the cross entropy."""
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            **kwargs,
        )
        logits = self.lm_head(self.head_norm(self.activation(self.dense(outputs.last_hidden_state))))
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
        return MaskedLMOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class ComplexOrderForSequenceClassification(SequenceClassifier, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder, masked mean of the last hidden state, ``readout`` (models of ComplexOrder Table 2)."""

    model_class = ComplexOrderModel


class ComplexOrderForTokenClassification(ComplexOrderPreTrainedModel):
    """ComplexOrder encoder and the ``readout`` of every token."""

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ComplexOrderModel(config)
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
        **kwargs: TransformersKwargs,
    ) -> TokenClassifierOutput:
        """Logits ``[B, N, num_labels]`` and, with ``labels [B, N]`` (-100 is ignored), the cross entropy."""
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            **kwargs,
        )
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, self.config, **kwargs)
        return TokenClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )
