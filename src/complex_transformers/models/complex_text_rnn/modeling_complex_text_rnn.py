# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent text classifier over both number fields (ComplexOrder App. B)."""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from ...nn import masked_mean, number_field
from ..base.text import ClassicPreTrainedModel, ClassicTextModel, SequenceClassifier, make_recurrent, run_recurrent
from .configuration_complex_text_rnn import ComplexTextRNNConfig

__all__ = ["ComplexTextRNNForSequenceClassification", "ComplexTextRNNModel", "ComplexTextRNNPreTrainedModel"]


class RecurrentLayer(GradientCheckpointingLayer):
    """One recurrent layer in one or both directions, whose states are concatenated."""

    def __init__(self, config: ComplexTextRNNConfig, input_size: int) -> None:
        super().__init__()
        self.concatenate = number_field(config.number_field).numbers.concatenate
        self.rnn = make_recurrent(config, input_size, config.recurrent_size, config.bidirectional)

    def forward(self, hidden_states: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the states of all steps, ``[B, N, directions * recurrent_size]``, and the state of the last step."""
        states, last = run_recurrent(self.rnn, hidden_states, mask)
        return states, self.concatenate(last[0].unbind(0))


class ComplexTextRNNPreTrainedModel(ClassicPreTrainedModel):
    """Base class of the recurrent text classifiers."""

    config: ComplexTextRNNConfig
    supports_gradient_checkpointing = True
    _no_split_modules = ["RecurrentLayer"]


class ComplexTextRNNModel(ClassicTextModel, ComplexTextRNNPreTrainedModel):
    """Recurrent layers and the last or the mean state (ComplexOrder Eq. 12).

    ``last_hidden_state [B, N, states]`` (zero at padding) and ``pooler_output [B, states]`` are halves with
    ``states = directions * recurrent_size``.
    """

    _can_record_outputs = {"hidden_states": RecurrentLayer}

    def __init__(self, config: ComplexTextRNNConfig) -> None:
        super().__init__(config)
        self.pooled_size = config.recurrent_size * (2 if config.bidirectional else 1)
        widths = [config.hidden_size] + [self.pooled_size] * (config.num_hidden_layers - 1)
        self.layers = nn.ModuleList(RecurrentLayer(config, width) for width in widths)
        self.gradient_checkpointing = False
        self.post_init()

    def encode(self, hidden_states: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        last = hidden_states
        for layer in self.layers:
            hidden_states, last = layer(self.dropout(hidden_states), attention_mask)
        return hidden_states, last if self.config.pooling == "last" else masked_mean(hidden_states, attention_mask)


class ComplexTextRNNForSequenceClassification(SequenceClassifier, ComplexTextRNNPreTrainedModel):
    """Recurrent network with a text classification head (ComplexOrder Table 2)."""

    model_class = ComplexTextRNNModel
