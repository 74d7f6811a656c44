# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Image models: checks and transforms of pixels, and image classification."""

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
    """Raise unless pixels are floating-point ``[batch, *shape]``, where ``shape`` is channels, height and width."""
    if not pixel_values.is_floating_point():
        raise TypeError(
            f"pixel_values must be real floating-point numbers, got {pixel_values.dtype}. Use ComplexImageProcessor, "
            "or pixel_values.float() / 255 for bytes."
        )
    if pixel_values.dim() != 4 or tuple(pixel_values.shape[1:]) != shape or not len(pixel_values):
        raise ValueError(
            f"pixel_values must be [batch, channels, height, width] = [batch, {', '.join(map(str, shape))}], got "
            f"{list(pixel_values.shape)}. Use ComplexImageProcessor.from_config(model.config)."
        )


def transform_pixels(pixel_values: Tensor, input_transform: str) -> tuple[Tensor, ...]:
    """Return the input of the network, ``[B, C, H, W]`` real or as a pair of real and imaginary parts."""
    if input_transform == "none":
        return (pixel_values,)
    if input_transform == "complex":
        return pixel_values.chunk(2, dim=1)
    return CF.split(spectrum2d(pixel_values) if input_transform == "fft2" else unit_phase(pixel_values))


class ImagePreTrainedModel(ComplexPreTrainedModel):
    """Base class of the image models."""

    config: ImageConfig
    main_input_name = "pixel_values"
    input_modalities = ("image",)
    supports_gradient_checkpointing = True
    _no_split_modules = ["ConvLayer", "MLPLayer"]
    _supports_sdpa = False
    _supports_attention_backend = False

    def read_pixels(self, pixel_values: Tensor) -> tuple[Tensor, ...]:
        """Check pixels, cast them to the dtype of the network and transform them: parts ``[B, C, H, W]``."""
        check_pixel_values(pixel_values, self.config.pixel_shape)
        dtype = pixel_values.dtype if torch.is_autocast_enabled(pixel_values.device.type) else self.dtype
        return transform_pixels(pixel_values.to(dtype), self.config.input_transform)

    def through_layers(self, hidden_states: Tensor) -> Tensor:
        """Apply all layers.

        Reentrant gradient checkpointing needs an input that requires a gradient, which pixels do not.
        """
        if self.training and getattr(self.layers[0], "gradient_checkpointing", False):
            hidden_states = hidden_states.detach().requires_grad_() if hidden_states.is_leaf else hidden_states
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states


class ImageClassifier(ImagePreTrainedModel):
    """An image model (``model_class``) and a classification head on its ``pooler_output`` (Thesis 2.53).

    The model's ``pooled_size`` is the stored width of ``pooler_output``.
    """

    model_class: type[ImagePreTrainedModel]
    output_class: type[ModelOutput] = ImageClassifierOutputWithNoAttention
    # Regression and multi-label losses are plain means: Trainer must not expect a sum over a larger batch.
    accepts_loss_kwargs = False

    def __init__(self, config: ImageConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForSequenceClassification"  # Transformers would derive it from the name of the class
        self.num_labels = config.num_labels
        self.model = self.model_class(config)
        self.dropout, self.classifier = classification_head(config, self.model.pooled_size)
        self.post_init()

    @can_return_tuple
    def forward(self, pixel_values: Tensor, labels: Tensor | None = None, **kwargs: TransformersKwargs) -> ModelOutput:
        """Return logits ``[B, num_labels]`` and, with ``labels``, the loss of ``problem_type``.

        ``labels`` are ``[B]`` or ``[B, num_labels]``; the other arguments are the model's.
        """
        return self.classify(self.model(pixel_values, return_dict=True, **kwargs), labels)

    def classify(self, outputs: BaseModelOutputWithPoolingAndNoAttention, labels: Tensor | None) -> ModelOutput:
        """Return the logits of the pooled features and their loss."""
        logits = self.classifier(self.dropout(outputs.pooler_output))
        loss: Any = None if labels is None else self.classification_loss(logits, labels)
        return self.output_class(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
