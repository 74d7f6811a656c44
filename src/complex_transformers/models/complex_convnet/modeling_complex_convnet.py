# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutional network for images over both number fields (Thesis 2.24, 2.29, chapter 3; Trabelsi et al. 2017)."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndNoAttention
from transformers.utils import TransformersKwargs
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import number_field
from ..base.images import ImageClassifier, ImagePreTrainedModel
from .configuration_complex_convnet import ComplexConvNetConfig, pair

__all__ = ["ComplexConvNetForImageClassification", "ComplexConvNetModel"]


def make_norm(config: ComplexConvNetConfig, channels: int) -> nn.Module:
    """Return the norm of ``config.norm_type`` for ``channels`` stored channels."""
    if config.norm_type == "none":
        return nn.Identity()
    norm = "whitening" if config.norm_type == "whitening" else "split"
    return number_field(config.number_field).BatchNorm2d(channels, eps=config.layer_norm_eps, norm=norm)


def make_pooling(config: ComplexConvNetConfig) -> nn.Module:
    """Return the pooling layer of ``config.pooling`` and ``config.pool_size``."""
    size, field = pair(config.pool_size), number_field(config.number_field)
    if math.prod(size) == 1:
        return nn.Identity()
    return {"max": field.MaxPool2d, "average": field.AvgPool2d, "max_value": nn.MaxPool2d}[config.pooling](size)


class OnChannels(nn.Module):
    """Applies an elementwise module, which has halves on the last axis, to ``[B, C, H, W]`` with halves on axis 1."""

    def __init__(self, function: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.by_channel = any(True for _ in function.parameters())

    def forward(self, x: Tensor) -> Tensor:
        if self.by_channel:
            return self.function(x.movedim(1, -1)).movedim(-1, 1)
        return self.function(x.flatten(1)).view_as(x)  # halves on axis 1 are also halves of the flattened image


def make_activation(config: ComplexConvNetConfig, channels: int) -> OnChannels:
    """Return the activation for ``channels`` stored channels."""
    return OnChannels(number_field(config.number_field).activation(config.hidden_act, num_features=channels))


class ResidualBlock(nn.Module):
    """x + W_2 * phi(norm(W_1 * phi(norm(x)))) (Trabelsi et al. 2017, section 4.1)."""

    def __init__(self, config: ComplexConvNetConfig, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(2):
            convolution = number_field(config.number_field).Conv2d(
                channels, channels, pair(config.kernel_size), padding="same"
            )
            layers += [make_norm(config, channels), make_activation(config, channels), convolution]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class ImaginaryInput(nn.Module):
    """x + i f(x) for a real image x, with f two real convolutions (Trabelsi et al. 2017, section 3.7)."""

    def __init__(self, config: ComplexConvNetConfig) -> None:
        super().__init__()
        channels, field = config.num_channels, number_field("real")
        layers: list[nn.Module] = []
        for _ in range(2):
            norm = nn.Identity() if config.norm_type == "none" else field.BatchNorm2d(channels, config.layer_norm_eps)
            layers += [norm, nn.ReLU(), field.Conv2d(channels, channels, pair(config.kernel_size), padding="same")]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Append the imaginary part, ``[B, C, H, W] -> [B, 2C, H, W]``."""
        return torch.cat([x, self.layers(x)], dim=1)


class ConvLayer(GradientCheckpointingLayer):
    """pool(phi(norm(W * x + b))) (Thesis 2.24, 2.29), ``[B, C, H, W] -> [B, width, H', W']``.

    The optional residual block comes before pooling, dropout before W except in the first layer.
    """

    def __init__(self, config: ComplexConvNetConfig, convolution: nn.Module, width: int, first: bool) -> None:
        super().__init__()
        dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)
        self.dropout = nn.Identity() if first else OnChannels(dropout)
        self.convolution = convolution
        self.norm = make_norm(config, width)
        self.activation = make_activation(config, width)
        self.block = ResidualBlock(config, width) if config.block == "residual" else nn.Identity()
        self.pooling = make_pooling(config)

    def forward(self, hidden_states: Tensor) -> Tensor:
        hidden_states = self.block(self.activation(self.norm(self.convolution(self.dropout(hidden_states)))))
        return self.pooling(hidden_states)


class ComplexConvNetModel(ImagePreTrainedModel):
    """Convolutional network (Thesis chapter 3).

    ``last_hidden_state`` holds the channels ``[B, C, H, W]`` of the last layer, with halves on axis 1. It is flattened
    to ``pooler_output [B, C H W]`` or, with ``block="residual"``, averaged over positions to ``[B, C]``.
    """

    config: ComplexConvNetConfig
    _can_record_outputs = {"hidden_states": ConvLayer}

    def __init__(self, config: ComplexConvNetConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        options: dict[str, Any] = {"kernel_size": pair(config.kernel_size), "padding": config.padding}
        first, *others = config.layer_widths
        is_real, learned = config.input_transform == "none", config.imaginary_input == "learned"
        self.imaginary_input = ImaginaryInput(config) if is_real and learned else None
        if is_real and not learned:
            convolutions = [field.RealInputConv2d(config.num_channels, first, **options)]
        else:
            convolutions = [field.Conv2d(2 * config.num_channels, first, **options)]
        convolutions += [field.Conv2d(*sizes, **options) for sizes in zip((first, *others), others, strict=False)]
        self.layers = nn.ModuleList(
            ConvLayer(config, layer, width, first=number == 0)
            for number, (layer, width) in enumerate(zip(convolutions, (first, *others), strict=True))
        )
        shape = config.feature_shape
        self.pooled_size = math.prod(shape) if config.block == "plain" else shape[0]
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(self, pixel_values: Tensor, **kwargs: TransformersKwargs) -> BaseModelOutputWithPoolingAndNoAttention:
        """Encode images.

        Args:
            pixel_values: ``[B, num_channels, height, width]``, real and floating-point.

        Raises:
            TypeError: integer or complex pixels.
            ValueError: wrong shape.
        """
        hidden_states = torch.cat(self.read_pixels(pixel_values), dim=1)
        if self.imaginary_input is not None:
            hidden_states = self.imaginary_input(hidden_states)
        hidden_states = self.through_layers(hidden_states)
        pooled = hidden_states.flatten(1) if self.config.block == "plain" else hidden_states.mean(dim=(2, 3))
        return BaseModelOutputWithPoolingAndNoAttention(last_hidden_state=hidden_states, pooler_output=pooled)


class ComplexConvNetForImageClassification(ImageClassifier):
    """Convolutional network with an image classification head (Thesis 2.53, chapter 3)."""

    config: ComplexConvNetConfig
    model_class = ComplexConvNetModel
