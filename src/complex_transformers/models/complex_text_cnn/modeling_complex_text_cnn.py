# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutional text classifier (Kim 2014) over both number fields (ComplexOrder App. B)."""

from typing import Any

from torch import Tensor, nn

from ...nn import modulus_max_pool, number_field
from ...nn.padding_order import real_first, reorder
from ..base.inputs import token_mask
from ..base.text import ClassicPreTrainedModel, ClassicTextModel, SequenceClassifier, full_windows
from .configuration_complex_text_cnn import ComplexTextCNNConfig

__all__ = ["ComplexTextCNNForSequenceClassification", "ComplexTextCNNModel"]


class ConvolutionLayer(nn.Module):
    """f(z * K_k + b) for every kernel size k (Thesis 2.24), and max pooling by modulus over time (2.29)."""

    def __init__(self, config: ComplexTextCNNConfig) -> None:
        super().__init__()
        field = number_field(config.number_field)
        self.number_field = field
        self.kernel_sizes = tuple(config.kernel_sizes)
        self.convolutions = nn.ModuleList(
            field.Conv1d(config.hidden_size, config.num_filters, size) for size in self.kernel_sizes
        )
        self.activations = nn.ModuleList(
            field.activation(config.hidden_act, num_features=config.num_filters) for _ in self.kernel_sizes
        )

    def forward(self, hidden_states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the features ``[B, N, kernels * filters]`` of the windows that start at each token, and their maxima.

        Windows cover real tokens only, on whichever side the padding is; a text shorter than a kernel is zero-padded.
        """
        order, back = real_first(mask, 1)
        texts = reorder(hidden_states.masked_fill(~mask.unsqueeze(-1), 0.0), order).transpose(1, 2)
        features, maxima = [], []
        for size, convolution, activation in zip(self.kernel_sizes, self.convolutions, self.activations, strict=True):
            windows = activation(convolution(nn.functional.pad(texts, (0, size - 1))).transpose(1, 2))
            starts = full_windows(mask.sum(dim=1), mask.shape[1], size)
            maxima.append(modulus_max_pool(windows, starts, self.number_field.name))
            features.append(windows.masked_fill(~starts.unsqueeze(-1), 0.0))
        concatenate = self.number_field.numbers.concatenate
        return reorder(concatenate(features), back), concatenate(maxima)


class ComplexTextCNNModel(ClassicTextModel):
    """Convolutions of several kernel sizes, max pooling by modulus, dense layer (Kim 2014; ComplexOrder App. B).

    ``last_hidden_state [B, N, kernels * num_filters]`` holds the features of the window that starts at each token, or
    zero. ``pooler_output [B, intermediate_size]`` is the output of the dense layer. Both are halves.
    """

    config: ComplexTextCNNConfig
    _can_record_outputs = {"hidden_states": ConvolutionLayer}

    def __init__(self, config: ComplexTextCNNConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        self.layer = ConvolutionLayer(config)
        self.dense = field.Linear(len(config.kernel_sizes) * config.num_filters, config.intermediate_size)
        self.activation = field.activation(config.hidden_act, num_features=config.intermediate_size)
        self.pooled_size = config.intermediate_size
        self.post_init()

    def encode(self, hidden_states: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        features, maxima = self.layer(self.dropout(hidden_states), token_mask(attention_mask, hidden_states))
        return features, self.activation(self.dense(maxima))


class ComplexTextCNNForSequenceClassification(SequenceClassifier, ClassicPreTrainedModel):
    """Convolutional network with a text classification head (ComplexOrder Table 2)."""

    config: ComplexTextCNNConfig
    model_class = ComplexTextCNNModel
