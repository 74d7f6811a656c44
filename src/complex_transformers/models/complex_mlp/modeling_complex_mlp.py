# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Multilayer perceptron over both number fields (Thesis 2.16 to 2.18, chapter 3)."""

import math

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndNoAttention, SequenceClassifierOutput
from transformers.utils import ModelOutput, TransformersKwargs
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import number_field
from ...nn.checks import check_ids
from ..base.images import ImageClassifier, ImagePreTrainedModel
from ..base.inputs import check_mask, check_text_inputs, padding_mask
from .configuration_complex_mlp import ComplexMLPConfig

__all__ = ["ComplexMLPForImageClassification", "ComplexMLPForSequenceClassification", "ComplexMLPModel"]


def count_words(input_ids: Tensor, attention_mask: Tensor | None, config: ComplexMLPConfig) -> Tensor:
    """Count tokens, ``[B, N] -> [B, vocab_size]``; with ``bag_of_words="binary"`` counts are clipped to 1."""
    counted = torch.ones_like(input_ids) if attention_mask is None else attention_mask.to(input_ids.dtype)
    if config.pad_token_id is not None:
        counted = counted * (input_ids != config.pad_token_id)
    check_ids("input_ids", input_ids, config.vocab_size, "Use the tokenizer of the model")
    counts = counted.new_zeros(input_ids.shape[0], config.vocab_size).scatter_add(1, input_ids.long(), counted)
    return counts.clamp(max=1) if config.bag_of_words == "binary" else counts


def make_norm(config: ComplexMLPConfig, width: int) -> nn.Module:
    """Return the norm of ``config.norm_type`` for a layer of stored ``width``."""
    field = number_field(config.number_field)
    if config.norm_type == "none":
        return nn.Identity()
    norm = {"layer": field.LayerNorm, "rms": field.RMSNorm, "batch": field.BatchNorm1d}[config.norm_type]
    return norm(width, eps=config.layer_norm_eps)


class MLPLayer(GradientCheckpointingLayer):
    """phi(norm(x W + b)) (Thesis 2.16), ``[B, n] -> [B, width]``, with dropout before W except in the first layer."""

    def __init__(self, config: ComplexMLPConfig, dense: nn.Module, width: int, first: bool) -> None:
        super().__init__()
        field = number_field(config.number_field)
        # The input of the first layer may be real: it has no halves to drop together.
        self.dropout = nn.Identity() if first else field.Dropout(config.hidden_dropout_prob)
        self.dense = dense
        self.norm = make_norm(config, width)
        self.activation = field.activation(config.hidden_act, num_features=width)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return self.activation(self.norm(self.dense(self.dropout(hidden_states))))


class ComplexMLPModel(ImagePreTrainedModel):
    """Hidden layers of a multilayer perceptron on pixels or on a bag of words (Thesis 2.18).

    ``last_hidden_state`` and ``pooler_output`` are the features ``[B, hidden_size]`` of the last layer, as halves.
    """

    config: ComplexMLPConfig
    _can_record_outputs = {"hidden_states": MLPLayer}

    def __init__(self, config: ComplexMLPConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        is_real = config.input_transform == "none" or config.bag_of_words != "none"
        if config.bag_of_words == "none":
            inputs = math.prod(config.image_shape) * (1 if is_real else 2)
        else:
            self.main_input_name, self.input_modalities = "input_ids", ("text",)
            inputs = config.vocab_size
        first, *others = config.layer_widths
        dense = [(field.RealInputLinear if is_real else field.Linear)(inputs, first)]
        dense += [field.Linear(*sizes) for sizes in zip((first, *others), others, strict=False)]
        self.layers = nn.ModuleList(
            MLPLayer(config, layer, width, first=number == 0)
            for number, (layer, width) in enumerate(zip(dense, (first, *others), strict=True))
        )
        self.pooled_size = config.hidden_size
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        pixel_values: Tensor | None = None,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPoolingAndNoAttention:
        """Encode images or, with ``bag_of_words``, texts.

        Args:
            pixel_values: ``[B, num_channels, height, width]``, real and floating-point.
            input_ids, attention_mask: ``[B, N]``; the mask is 0 for padding.

        Raises:
            TypeError: integer or complex pixels, ids that are not integers.
            ValueError: wrong shapes, images for a bag-of-words model or the reverse.
        """
        hidden_states = self.read(pixel_values, input_ids, attention_mask)
        hidden_states = self.through_layers(hidden_states)
        return BaseModelOutputWithPoolingAndNoAttention(last_hidden_state=hidden_states, pooler_output=hidden_states)

    def read(self, pixel_values: Tensor | None, input_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor:
        """Return the input of the first layer, ``[B, n]``."""
        given = [name for name, x in (("pixel_values", pixel_values), ("input_ids", input_ids)) if x is not None]
        if given != [self.main_input_name]:
            bag = self.config.bag_of_words
            raise ValueError(f"inputs must be {self.main_input_name} with bag_of_words={bag!r}, got {given}.")
        if pixel_values is not None:
            return torch.cat([part.flatten(1) for part in self.read_pixels(pixel_values)], dim=-1)
        assert input_ids is not None
        check_text_inputs(input_ids, None, attention_mask, self.config.hidden_size)
        check_mask(attention_mask, tuple(input_ids.shape), scores=False)
        return count_words(input_ids, padding_mask(attention_mask), self.config).to(self.dtype)


class ComplexMLPForImageClassification(ImageClassifier):
    """Multilayer perceptron with an image classification head (Thesis 2.18, 2.53)."""

    config: ComplexMLPConfig
    model_class = ComplexMLPModel


class ComplexMLPForSequenceClassification(ImageClassifier):
    """Multilayer perceptron with a text classification head on bags of words (Thesis 2.18, 3.2)."""

    config: ComplexMLPConfig
    model_class = ComplexMLPModel
    output_class = SequenceClassifierOutput
    main_input_name = "input_ids"
    input_modalities = ("text",)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> ModelOutput:
        """Classify texts.

        Args:
            input_ids, attention_mask: see ``ComplexMLPModel``.
            labels: ``[B]`` or ``[B, num_labels]``, for the loss of ``config.problem_type``.

        Returns:
            Logits ``[B, num_labels]`` and, with ``labels``, the loss.
        """
        outputs = self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=True, **kwargs)
        return self.classify(outputs, labels)
