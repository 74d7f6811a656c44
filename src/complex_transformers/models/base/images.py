# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all networks for images share: checked pixels as features, and the classification of whole images."""

from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import (
    BaseModelOutputWithPoolingAndNoAttention,
    ImageClassifierOutputWithNoAttention,
)
from transformers.utils import ModelOutput, TransformersKwargs
from transformers.utils.generic import can_return_tuple

from ...nn import functional as CF, spectrum2d, unit_phase
from .image_configuration import ImageConfig
from .pretrained import ComplexPreTrainedModel
from .text import classification_head

__all__ = ["ImageClassifier", "ImagePreTrainedModel", "check_pixel_values", "transform_pixels"]


def check_pixel_values(pixel_values: Tensor, shape: tuple[int, int, int]) -> None:
    """Raise for images that a network of ``shape``, channels, height and width, cannot read.

    Raises:
        TypeError: the pixels are no real floating-point numbers.
        ValueError: the shape is another one, or there is no image.
    """
    if not pixel_values.is_floating_point():
        raise TypeError(
            f"pixel_values must be real floating-point numbers, got {pixel_values.dtype}: use ComplexImageProcessor, "
            "or pixel_values.float() / 255 for bytes"
        )
    if pixel_values.dim() != 4 or tuple(pixel_values.shape[1:]) != shape:
        raise ValueError(
            f"pixel_values must be [batch, channels, height, width] = [batch, {', '.join(map(str, shape))}], got "
            f"{list(pixel_values.shape)}; ComplexImageProcessor.from_config(model.config) makes them so, where the "
            "pixels are real"
        )
    if not pixel_values.shape[0]:
        raise ValueError("pixel_values hold no image: the batch is 0")


def transform_pixels(pixel_values: Tensor, input_transform: str) -> tuple[Tensor, ...]:
    """The parts ``[B, C, H, W]`` of what a network reads: the pixels alone, or two of complex numbers."""
    if input_transform == "none":
        return (pixel_values,)
    if input_transform == "complex":
        return pixel_values.chunk(2, dim=1)
    return CF.split(spectrum2d(pixel_values) if input_transform == "fft2" else unit_phase(pixel_values))


class ImagePreTrainedModel(ComplexPreTrainedModel):
    """Base of the networks for images: what they read and what they support."""

    config: ImageConfig
    main_input_name = "pixel_values"
    input_modalities = ("image",)
    supports_gradient_checkpointing = True
    _no_split_modules = ["ConvLayer", "MLPLayer"]
    _supports_sdpa = False
    _supports_attention_backend = False

    def read_pixels(self, pixel_values: Tensor) -> tuple[Tensor, ...]:
        """Checked images in the dtype of the network, transformed as configured: parts ``[B, C, H, W]``."""
        check_pixel_values(pixel_values, self.config.pixel_shape)
        dtype = pixel_values.dtype if torch.is_autocast_enabled(pixel_values.device.type) else self.dtype
        return transform_pixels(pixel_values.to(dtype), self.config.input_transform)

    def through_layers(self, hidden_states: Tensor) -> Tensor:
        """All layers, one after the other.

        A checkpoint that is reentrant gives no gradient to a layer whose input has none, as pixels.
        """
        if self.training and getattr(self.layers[0], "gradient_checkpointing", False):
            hidden_states = hidden_states.detach().requires_grad_() if hidden_states.is_leaf else hidden_states
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states


class ImageClassifier(ImagePreTrainedModel):
    """A network for images, dropout and the readout of its features (Thesis 2.53).

    A subclass names the network by ``model_class``; its ``pooled_size`` is the width of its ``pooler_output``.
    """

    model_class: type[ImagePreTrainedModel]
    output_class: type[ModelOutput] = ImageClassifierOutputWithNoAttention
    # Regression and multi-label losses are plain means: Trainer must not expect a sum over a larger batch.
    accepts_loss_kwargs = False

    def __init__(self, config: ImageConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForSequenceClassification"  # of config.problem_type, whatever the class is called
        self.num_labels = config.num_labels
        self.model = self.model_class(config)
        self.dropout, self.classifier = classification_head(config, self.model.pooled_size)
        self.post_init()

    @can_return_tuple
    def forward(self, pixel_values: Tensor, labels: Tensor | None = None, **kwargs: TransformersKwargs) -> ModelOutput:
        """Logits ``[B, num_labels]`` and, with ``labels [B]`` or ``[B, num_labels]``, the loss of ``problem_type``.

        Other arguments as in the model.
        """
        return self.classify(self.model(pixel_values, return_dict=True, **kwargs), labels)

    def classify(self, outputs: BaseModelOutputWithPoolingAndNoAttention, labels: Tensor | None) -> ModelOutput:
        """The readout of the pooled features and its loss."""
        logits = self.classifier(self.dropout(outputs.pooler_output))
        loss: Any = None if labels is None else self.classification_loss(logits, labels)
        return self.output_class(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
