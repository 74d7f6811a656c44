# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent text classifier over both number fields (ComplexOrder App. B)."""

from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import TransformersKwargs
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...modeling_text import ClassicTextModel, SequenceClassifier, padding_mask
from ...nn import masked_mean, number_field
from .configuration_complex_text_rnn import ComplexTextRNNConfig

__all__ = ["ComplexTextRNNForSequenceClassification", "ComplexTextRNNModel"]


class RecurrentLayer(GradientCheckpointingLayer):
    """One recurrent layer in one or both directions: all its states and the last ones, side by side."""

    def __init__(self, config: ComplexTextRNNConfig, input_size: int) -> None:
        super().__init__()
        field = number_field(config.number_field)
        kinds = {"lstm": field.LSTM, "gru": field.GRU, "rnn": field.RNN}
        self.concatenate = field.numbers.concatenate
        self.rnn = kinds[config.rnn_type](
            input_size,
            config.recurrent_size,
            batch_first=True,
            bidirectional=config.bidirectional,
            gate=config.gate,
            activation=config.state_activation,
        )

    def forward(self, hidden_states: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """``[B, N, width] -> [B, N, states], [B, states]`` with ``states = directions * recurrent_size``."""
        states, last = self.rnn(hidden_states, mask=mask)
        last = last[0] if isinstance(last, tuple) else last  # an LSTM has cell states too
        return states, self.concatenate(last.unbind(0))


class ComplexTextRNNModel(ClassicTextModel):
    """Recurrent layers and the last state, or the mean of the states (ComplexOrder Eq. 12).

    ``last_hidden_state [B, N, states]`` (zero at padding) and ``pooler_output [B, states]`` are halves of width
    ``states = directions * recurrent_size``.
    """

    config: ComplexTextRNNConfig
    supports_gradient_checkpointing = True
    _no_split_modules = ["RecurrentLayer"]
    _can_record_outputs = {"hidden_states": RecurrentLayer}

    def __init__(self, config: ComplexTextRNNConfig) -> None:
        super().__init__(config)
        self.pooled_size = config.recurrent_size * (2 if config.bidirectional else 1)
        widths = [config.hidden_size] + [self.pooled_size] * (config.num_hidden_layers - 1)
        self.layers = nn.ModuleList(RecurrentLayer(config, width) for width in widths)
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
    ) -> BaseModelOutputWithPooling:
        """Inputs as in ``ComplexOrderModel``."""
        hidden_states = self.embed(input_ids, attention_mask, position_ids, inputs_embeds)
        tokens = padding_mask(attention_mask)
        last = hidden_states
        for layer in self.layers:
            hidden_states, last = layer(self.dropout(hidden_states), tokens)
        pooled = last if self.config.pooling == "last" else masked_mean(hidden_states, tokens)
        return BaseModelOutputWithPooling(last_hidden_state=hidden_states, pooler_output=pooled)


class ComplexTextRNNForSequenceClassification(SequenceClassifier):
    """Recurrent text classifier (models of ComplexOrder Table 2): ``ComplexTextRNNModel`` and the readout."""

    config: ComplexTextRNNConfig
    model_class = ComplexTextRNNModel
