# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The quantizer that Transformers calls when it loads and saves a model, and ``quantize`` for a loaded model."""

from __future__ import annotations

import copy
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.quantizers.base import HfQuantizer

from .configuration import ComplexQuantizationConfig
from .conversion import (
    check_files,
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

__all__ = ["ComplexQuantizer", "quantize"]


class ComplexQuantizer(HfQuantizer):
    """``HfQuantizer`` for ``ComplexQuantizationConfig``.

    A floating-point checkpoint is loaded completely and then packed, since calibration runs the model. A packed
    checkpoint is loaded directly. With ``training=True``, checkpoints are floating-point.
    """

    quantization_config: ComplexQuantizationConfig

    @property
    def is_trainable(self) -> bool:
        """Gradients pass through packed layers, so adapters train."""
        return True

    @property
    def is_qat_trainable(self) -> bool:
        """``Trainer`` accepts the model, at least for evaluation; ``model.train()`` rejects packed weights."""
        return True

    @property
    def is_compileable(self) -> bool:
        """Unpacking uses tensor operations only."""
        return True

    def is_serializable(self) -> bool:
        """Packed weights are ordinary buffers."""
        return True

    def _process_model_before_weight_loading(self, model: PreTrainedModel, **kwargs: Any) -> None:
        if self.pre_quantized and not self.quantization_config.training:
            empty_layers(model, self.quantization_config)
        else:
            prepare(model, self.quantization_config)
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
        """Set the attributes that Transformers sets on a model that is quantized while it is loaded.

        The configuration is copied, because models that are not quantized may share it.
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
    """Quantize the complex layers of a model in place: packed, or rounded in every forward pass if ``training=True``.

    Does the same as ``from_pretrained(path, quantization_config=config)``, for a loaded, lifted or trained model.
    Layers of quantization-aware training that ``config`` excludes become floating-point again. ``save_pretrained``
    then stores packed weights. ``model.dequantize(dtype)`` converts them back to floating-point layers.

    Args:
        model: a complex model of this package.
        config: default, for a model with ``training=True``, its own configuration: the trained weights are packed.

    Returns:
        The model.

    Raises:
        ValueError: no complex layers (lift a real model first) or packed ones; names in ``modules_to_not_convert``
            or ``module_stages`` that no layer has; layers that cannot be packed, by name (shared parts, adapters, NaN
            weights); calibration inputs that do not reach a layer or give features that are not finite. The model is
            unchanged.

    Example:
        >>> from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM
        >>> from complex_transformers import ComplexQuantizationConfig, quantize
        >>> model = ComplexLlamaForCausalLM(ComplexLlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=64,
        ...                                 num_attention_heads=2, num_hidden_layers=1))
        >>> quantize(model, ComplexQuantizationConfig(stages=2)).model.layers[0].mlp.down_proj
        PackedLinear(in_features=64, out_features=32, bias=False, linear_type='complex', stages=2, granularity='row')
    """
    own = getattr(model.config, "quantization_config", None)
    if config is None:
        if not isinstance(own, ComplexQuantizationConfig):
            raise ValueError("config must be given for a float model, got None. Pass ComplexQuantizationConfig().")
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
