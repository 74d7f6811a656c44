# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The quantiser that Transformers calls while it loads and saves a model, and ``quantize`` for one that is loaded."""

from __future__ import annotations

import copy
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.quantizers.base import HfQuantizer

from .configuration import ComplexQuantizationConfig
from .conversion import (
    check_loaded,
    check_packed,
    dequantize,
    empty_layers,
    layers_to_convert,
    pack_layers,
    prepare,
    rounded_layers,
    set_layers,
)
from .files import check_files

__all__ = ["ComplexQuantizer", "quantize"]


class ComplexQuantizer(HfQuantizer):
    """``HfQuantizer`` of ``ComplexQuantizationConfig``.

    A float checkpoint is loaded whole and then packed, since a calibration runs the model; a packed one is loaded as
    it is. With ``training=True`` checkpoints are float ones.
    """

    quantization_config: ComplexQuantizationConfig

    @property
    def is_trainable(self) -> bool:
        """Gradients pass packed layers, so adapters of others train."""
        return True

    @property
    def is_qat_trainable(self) -> bool:
        """``Trainer`` takes the model, to evaluate it at least: ``model.train()`` says what packed weights cannot."""
        return True

    @property
    def is_compileable(self) -> bool:
        """Unpacking is plain tensor code."""
        return True

    def is_serializable(self) -> bool:
        """Packed weights are buffers like others."""
        return True

    def _process_model_before_weight_loading(self, model: PreTrainedModel, **kwargs: Any) -> None:
        if self.pre_quantized and not self.quantization_config.training:
            empty_layers(model, self.quantization_config)
        else:
            prepare(model, self.quantization_config)
        if self.pre_quantized:
            check_files(model, kwargs.get("checkpoint_files"))

    def _process_model_after_weight_loading(self, model: PreTrainedModel, **kwargs: Any) -> PreTrainedModel:
        if self.pre_quantized and not self.quantization_config.training:
            check_packed(model)
        else:
            check_loaded(layers_to_convert(model, self.quantization_config))
            if not self.quantization_config.training:
                pack_layers(model, self.quantization_config)
        self.quantization_config = model.config.quantization_config = self.quantization_config.stored()
        return model

    def mark(self, model: PreTrainedModel) -> None:
        """Have a model that was quantised after it was loaded be like one that was quantised while it was.

        Its configuration becomes a copy: models may share one, and the others are not quantised.
        """
        copies: dict[int, Any] = {}
        model.config = copy.deepcopy(model.config, copies)
        for module in model.modules():
            if (own := copies.get(id(getattr(module, "config", None)))) is not None:
                module.config = own
        model.hf_quantizer = self
        model.is_quantized = True
        model.quantization_method = self.quantization_config.quant_method
        self.postprocess_model(model)

    def _dequantize(self, model: PreTrainedModel, dtype: torch.dtype | str | None = None) -> PreTrainedModel:
        given = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        return dequantize(model, torch.float32 if given is None else given)


def quantize(model: PreTrainedModel, config: ComplexQuantizationConfig | None = None) -> PreTrainedModel:
    """Round the complex layers of a model, in place: packed, or, with ``training=True``, rounded in every step.

    What ``from_pretrained(path, quantization_config=config)`` does, for a model that is there already: one that has
    been lifted, or trained. Layers that rounded in training and that ``config`` leaves out become float, with the
    weights they train. ``save_pretrained`` then stores the packed weights, and ``model.dequantize(dtype)`` makes
    float layers of them and casts the model to that dtype, by default the one it was made or loaded in.

    Args:
        model: a model of this package in the complex field.
        config: how; default, for a model that was loaded or quantised with ``training=True``, its own configuration:
            its trained weights are packed.

    Returns:
        The model.

    Raises:
        ValueError: a model without complex layers (a real one is lifted first), or packed already; names in
            ``modules_to_not_convert`` that no layer has; layers that cannot be packed, by name (shared parts,
            adapters, NaN weights); texts that do not reach a layer, or with features that are not finite. Nothing is
            changed then.

    Example:
        >>> from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM
        >>> from complex_transformers import ComplexQuantizationConfig, quantize
        >>> model = ComplexLlamaForCausalLM(ComplexLlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=64,
        ...                                 num_attention_heads=2, num_hidden_layers=1))
        >>> quantize(model, ComplexQuantizationConfig(stages=2)).model.layers[0].mlp.down_proj
        PackedLinear(in_features=64, out_features=32, bias=False, linear_type='complex', stages=2, granularity='row')
    """
    if not isinstance(model, PreTrainedModel):
        raise ValueError(f"model must be a model of Transformers, got a {type(model).__name__}")
    own = getattr(model.config, "quantization_config", None)
    if config is None:
        if not isinstance(own, ComplexQuantizationConfig):
            raise ValueError("give a config: this model has not been trained with rounded weights")
        config = ComplexQuantizationConfig(**{**own.to_dict(), "training": False})
    layers = {**rounded_layers(model), **layers_to_convert(model, config)}
    check_loaded(layers)
    try:
        prepare(model, config)
        if not config.training:
            pack_layers(model, config)
    except BaseException:
        set_layers(model, layers)
        raise
    quantizer = ComplexQuantizer(config.stored(), pre_quantized=True)
    quantizer.mark(model)
    return model
