# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder encoder (Wang et al., ICLR 2020): embedding, Transformer encoder and its heads."""

from torch import Tensor
from transformers.modeling_outputs import MaskedLMOutput, TokenClassifierOutput
from transformers.utils import TransformersKwargs
from transformers.utils.generic import can_return_tuple

from ...nn import Readout, number_field
from ..base.layers import LanguageModelHead, TransformerEncoder
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import SequenceClassifier, classification_head
from .configuration_complex_order import ComplexOrderConfig

__all__ = [
    "ComplexOrderForMaskedLM",
    "ComplexOrderForSequenceClassification",
    "ComplexOrderForTokenClassification",
    "ComplexOrderModel",
    "ComplexOrderPreTrainedModel",
]


class ComplexOrderPreTrainedModel(ComplexPreTrainedModel):
    """Base of the family: its configuration."""

    config: ComplexOrderConfig


class ComplexOrderModel(TransformerEncoder, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder: embedding (Eq. 5) and Transformer layers (Eq. 13, 14, App. B).

    Returns hidden states ``[B, N, hidden_size]`` of ``[real | imag]`` halves.
    """


class ComplexOrderForMaskedLM(ComplexOrderPreTrainedModel, LanguageModelHead):
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
        loss = None if labels is None else self.token_loss(logits, labels, **kwargs)
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
        loss = None if labels is None else self.token_loss(logits, labels, **kwargs)
        return TokenClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )
