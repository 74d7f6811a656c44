# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""FastText (Joulin et al. 2016) over both number fields: mean of the embeddings, dense layer (ComplexOrder Eq. 10)."""

from typing import Any

from torch import Tensor, nn
from transformers.utils.output_capturing import OutputRecorder

from ...nn import masked_mean, number_field
from ..base.text import ClassicPreTrainedModel, ClassicTextModel, SequenceClassifier
from .configuration_complex_fasttext import ComplexFastTextConfig

__all__ = ["ComplexFastTextForSequenceClassification", "ComplexFastTextModel"]


class ComplexFastTextModel(ClassicTextModel):
    """f(W mean_n z_n + b) over the tokens of a text (ComplexOrder Eq. 10).

    ``last_hidden_state [B, N, hidden_size]`` holds the embeddings, ``pooler_output [B, intermediate_size]`` the output
    of the dense layer. Both are halves.
    """

    config: ComplexFastTextConfig
    # There are no hidden layers: record the embeddings.
    _can_record_outputs = {
        "hidden_states": OutputRecorder(nn.Module, layer_name="dropout", capture_initial_hidden_state=False)
    }

    def __init__(self, config: ComplexFastTextConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        self.dense = field.Linear(config.hidden_size, config.intermediate_size)
        self.activation = field.activation(config.hidden_act, num_features=config.intermediate_size)
        self.pooled_size = config.intermediate_size
        self.post_init()

    def encode(self, hidden_states: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        hidden_states = self.dropout(hidden_states)
        return hidden_states, self.activation(self.dense(masked_mean(hidden_states, attention_mask)))


class ComplexFastTextForSequenceClassification(SequenceClassifier, ClassicPreTrainedModel):
    """FastText with a text classification head (ComplexOrder Table 2)."""

    config: ComplexFastTextConfig
    model_class = ComplexFastTextModel
