# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Graph-convolutional text classifier over both number fields (ComplexOrder slides, "PE in GCN")."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import TransformersKwargs

from ...nn import GraphConvolution, masked_mean, normalize_adjacency, number_field, window_adjacency
from ..base.inputs import token_mask
from ..base.text import ClassicPreTrainedModel, ClassicTextModel, SequenceClassifier
from .configuration_complex_text_gcn import ComplexTextGCNConfig

__all__ = ["ComplexTextGCNForSequenceClassification", "ComplexTextGCNModel", "ComplexTextGCNPreTrainedModel"]


class GraphLayer(GradientCheckpointingLayer):
    """f(A Z W + b): one graph convolution and its activation."""

    def __init__(self, config: ComplexTextGCNConfig, input_size: int) -> None:
        super().__init__()
        self.convolution = GraphConvolution(input_size, config.intermediate_size, number_field=config.number_field)
        field = number_field(config.number_field)
        self.activation = field.activation(config.hidden_act, num_features=config.intermediate_size)

    def forward(self, hidden_states: Tensor, adjacency: Tensor) -> Tensor:
        return self.activation(self.convolution(hidden_states, adjacency))


class ComplexTextGCNPreTrainedModel(ClassicPreTrainedModel):
    """Base class of the graph-convolutional models."""

    config: ComplexTextGCNConfig
    supports_gradient_checkpointing = True
    _no_split_modules = ["GraphLayer"]


class ComplexTextGCNModel(ClassicTextModel, ComplexTextGCNPreTrainedModel):
    """Graph convolutions over the tokens of a text, and the mean of their features (authors' slides, "PE in GCN").

    ``last_hidden_state [B, N, intermediate_size]`` and ``pooler_output [B, intermediate_size]`` are halves.
    """

    _can_record_outputs = {"hidden_states": GraphLayer}

    def __init__(self, config: ComplexTextGCNConfig) -> None:
        super().__init__(config)
        self.pooled_size = config.intermediate_size
        widths = [config.hidden_size] + [config.intermediate_size] * (config.num_hidden_layers - 1)
        self.layers = nn.ModuleList(GraphLayer(config, width) for width in widths)
        self.gradient_checkpointing = False
        self.post_init()

    def encode(
        self, hidden_states: Tensor, attention_mask: Tensor | None, adjacency: Tensor | None = None, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Return the features of the tokens and their mean.

        Args:
            hidden_states, attention_mask: ``[B, N, hidden_size]``, ``[B, N]``.
            adjacency: ``[B, N, N]`` edge weights without self-loops; edges count in both directions. Default:
                neighbours within ``config.window_size`` tokens.

        Raises:
            ValueError: an adjacency of another shape, or with negative or non-finite weights.
        """
        tokens = token_mask(attention_mask, hidden_states)
        edges = window_adjacency(tokens, self.config.window_size) if adjacency is None else adjacency
        # Degrees are sums of many edges: compute them in float32 at least.
        edges = edges.to(torch.promote_types(hidden_states.dtype, torch.float32))
        normalized = normalize_adjacency(edges, tokens).to(hidden_states.dtype)
        # 0 times NaN is NaN: set padding to zero before the product.
        hidden_states = hidden_states.masked_fill(~tokens.unsqueeze(-1), 0.0)
        for layer in self.layers:
            hidden_states = layer(self.dropout(hidden_states), normalized)
        return hidden_states, masked_mean(hidden_states, tokens)


class ComplexTextGCNForSequenceClassification(SequenceClassifier, ComplexTextGCNPreTrainedModel):
    """Graph-convolutional network with a text classification head (authors' slides, "PE in GCN")."""

    model_class = ComplexTextGCNModel

    # Trainer drops the columns that forward does not name.
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        adjacency: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> SequenceClassifierOutput:
        """Return logits ``[B, num_labels]`` and, with ``labels``, the loss; ``adjacency`` as in the model."""
        return super().forward(
            input_ids, attention_mask, position_ids, inputs_embeds, labels, adjacency=adjacency, **kwargs
        )
