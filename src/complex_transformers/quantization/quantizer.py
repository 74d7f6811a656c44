# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The quantiser that Transformers calls while it loads and saves a model."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.quantizers.base import HfQuantizer

from .configuration import ComplexQuantizationConfig
from .conversion import check_packed, dequantize, empty_layers, pack_layers, prepare

__all__ = ["ComplexQuantizer"]


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
        """Whether the weights themselves train."""
        return self.quantization_config.training

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

    def _process_model_after_weight_loading(self, model: PreTrainedModel, **kwargs: Any) -> PreTrainedModel:
        if self.pre_quantized:
            check_packed(model)
        elif not self.quantization_config.training:
            pack_layers(model, self.quantization_config)
        self.quantization_config = model.config.quantization_config = self.quantization_config.stored()
        return model

    def mark(self, model: PreTrainedModel) -> None:
        """Have a model that was quantised after it was loaded be like one that was quantised while it was."""
        model.hf_quantizer = self
        model.is_quantized = True
        model.quantization_method = self.quantization_config.quant_method
        self.postprocess_model(model)

    def _dequantize(self, model: PreTrainedModel, dtype: torch.dtype | str | None = None) -> PreTrainedModel:
        given = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        return dequantize(model, torch.float32 if given is None else given)
