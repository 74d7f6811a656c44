# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder encoder (Wang et al., ICLR 2020): embedding, Transformer encoder and its heads."""

from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput, TokenClassifierOutput

from ...nn import Readout, number_field
from ..base.layers import LanguageModelHead, TransformerEncoder
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import SequenceClassifier, TextHead, classification_head
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


class ComplexOrderForMaskedLM(TextHead, ComplexOrderPreTrainedModel, LanguageModelHead):
    """ComplexOrder encoder with a masked-language-model head: dense layer, activation, norm, ``lm_readout``."""

    model_class = ComplexOrderModel
    output_class = MaskedLMOutput

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        self.dense = field.Linear(config.hidden_size, config.hidden_size)
        self.activation = field.activation(config.hidden_act, num_features=config.hidden_size)
        # Not `norm`: loading would take it for the last norm of a pre-norm encoder, `model.norm` without its prefix.
        self.head_norm = field.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.lm_head = Readout(config.hidden_size, config.vocab_size, config.lm_readout, config.number_field)
        self.tie_head_to("model.embed_tokens")
        self.post_init()

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """The readout of every word, after dense layer, activation and norm."""
        return self.lm_head(self.head_norm(self.activation(self.dense(outputs.last_hidden_state))))


class ComplexOrderForSequenceClassification(SequenceClassifier, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder, masked mean of the last hidden state, ``readout`` (models of ComplexOrder Table 2)."""

    model_class = ComplexOrderModel


class ComplexOrderForTokenClassification(TextHead, ComplexOrderPreTrainedModel):
    """ComplexOrder encoder and the ``readout`` of every token."""

    model_class = ComplexOrderModel
    output_class = TokenClassifierOutput

    def __init__(self, config: ComplexOrderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.dropout, self.classifier = classification_head(config)
        self.post_init()

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """The readout of every token."""
        return self.classifier(self.dropout(outputs.last_hidden_state))
