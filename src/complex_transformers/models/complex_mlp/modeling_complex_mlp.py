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
    """How often each word occurs, ``[B, vocab_size]``; with ``bag_of_words="binary"`` 1 for any number of times."""
    counted = torch.ones_like(input_ids) if attention_mask is None else attention_mask.to(input_ids.dtype)
    if config.pad_token_id is not None:
        counted = counted * (input_ids != config.pad_token_id)
    check_ids("input_ids", input_ids, config.vocab_size, "use the tokenizer the model was trained with")
    counts = counted.new_zeros(input_ids.shape[0], config.vocab_size).scatter_add(1, input_ids.long(), counted)
    return counts.clamp(max=1) if config.bag_of_words == "binary" else counts


def make_norm(config: ComplexMLPConfig, width: int) -> nn.Module:
    """The norm of ``config.norm_type`` of a layer of stored ``width``."""
    field = number_field(config.number_field)
    if config.norm_type == "none":
        return nn.Identity()
    norm = {"layer": field.LayerNorm, "rms": field.RMSNorm, "batch": field.BatchNorm1d}[config.norm_type]
    return norm(width, eps=config.layer_norm_eps)


class MLPLayer(GradientCheckpointingLayer):
    """phi(norm(x W + b)) (Thesis 2.16), with dropout before W in all layers but the first."""

    def __init__(self, config: ComplexMLPConfig, dense: nn.Module, width: int, first: bool) -> None:
        super().__init__()
        field = number_field(config.number_field)
        # What the first layer reads may be real numbers, which have no halves.
        self.dropout = nn.Identity() if first else field.Dropout(config.hidden_dropout_prob)
        self.dense = dense
        self.norm = make_norm(config, width)
        self.activation = field.activation(config.hidden_act, num_features=width)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """``[B, n] -> [B, width]``."""
        return self.activation(self.norm(self.dense(self.dropout(hidden_states))))


class ComplexMLPModel(ImagePreTrainedModel):
    """The hidden layers of a multilayer perceptron on the pixels of an image or the words of a text (Thesis 2.18).

    ``last_hidden_state`` and ``pooler_output`` are the features ``[B, hidden_size]`` of the last layer, halves.
    """

    config: ComplexMLPConfig
    _can_record_outputs = {"hidden_states": MLPLayer}

    def __init__(self, config: ComplexMLPConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        is_real = config.input_transform == "none"
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
        """Images ``[B, num_channels, height, width]`` of real floating-point numbers, or texts as bags of words.

        ``input_ids [B, N]`` and ``attention_mask [B, N]``, 0 for padding, are read with ``bag_of_words``.

        Raises:
            TypeError: pixels are integers or complex, ids are not integers.
            ValueError: they have another shape, or are not what the configuration says.
        """
        hidden_states = self.read(pixel_values, input_ids, attention_mask)
        hidden_states = self.through_layers(hidden_states)
        return BaseModelOutputWithPoolingAndNoAttention(last_hidden_state=hidden_states, pooler_output=hidden_states)

    def read(self, pixel_values: Tensor | None, input_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor:
        """What the first layer reads, ``[B, n]``."""
        for name, value in (("pixel_values", pixel_values), ("input_ids", input_ids)):
            if (value is None) == (name == self.main_input_name):
                raise ValueError(
                    f"a model with bag_of_words={self.config.bag_of_words!r} reads {self.main_input_name} alone, "
                    f"got {name if value is not None else 'none'}"
                )
        if pixel_values is not None:
            return torch.cat([part.flatten(1) for part in self.read_pixels(pixel_values)], dim=-1)
        assert input_ids is not None
        check_text_inputs(input_ids, None, attention_mask, self.config.hidden_size)
        check_mask(attention_mask, tuple(input_ids.shape), scores=False)
        return count_words(input_ids, padding_mask(attention_mask), self.config).to(self.dtype)


class ComplexMLPForImageClassification(ImageClassifier):
    """Multilayer perceptron for images: ``ComplexMLPModel`` and the readout (Thesis 2.18, 2.53)."""

    config: ComplexMLPConfig
    model_class = ComplexMLPModel

    def __init__(self, config: ComplexMLPConfig) -> None:
        if config.bag_of_words != "none":
            raise ValueError(
                f"{type(self).__name__} reads images and the configuration has bag_of_words={config.bag_of_words!r}: "
                "set bag_of_words='none', or use ComplexMLPForSequenceClassification"
            )
        super().__init__(config)


class ComplexMLPForSequenceClassification(ImageClassifier):
    """Multilayer perceptron for bags of words: ``ComplexMLPModel`` and the readout (Thesis 2.18, 3.2)."""

    config: ComplexMLPConfig
    model_class = ComplexMLPModel
    output_class = SequenceClassifierOutput
    main_input_name = "input_ids"
    input_modalities = ("text",)

    def __init__(self, config: ComplexMLPConfig) -> None:
        if config.bag_of_words == "none":
            raise ValueError(
                f"{type(self).__name__} reads bags of words and the configuration has bag_of_words='none': set "
                "bag_of_words='binary' or 'count', or use ComplexMLPForImageClassification"
            )
        super().__init__(config)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> ModelOutput:
        """Logits ``[B, num_labels]`` and, with ``labels [B]`` or ``[B, num_labels]``, the loss of ``problem_type``.

        Other arguments as in the model.
        """
        outputs = self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=True, **kwargs)
        return self.classify(outputs, labels)
