# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Models whose complex layers are packed, rounded in training, or float again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.quantizers.quantizers_utils import should_convert_module

from ..nn import ComplexLinear, PackedLinear, Readout, RoundedLinear, calibrated_weights, gram_matrix
from ..nn.low_bit.quantized_linear import check_packable, complex_linear_type
from .calibration import calibration_inputs, called_layers, gram_matrices
from .configuration import ComplexQuantizationConfig

__all__ = [
    "check_loaded",
    "check_packed",
    "dequantize",
    "empty_layers",
    "layers_to_convert",
    "pack_layers",
    "prepare",
    "rounded_layers",
    "set_layers",
]

# Where nothing can be rounded, by number field.
REMEDIES = {
    None: "lift(model) makes a complex network of a Llama",
    "real": "a real network has no complex weights, use number_field='complex'",
    "complex": "heads and layers of real input stay float, and so does what modules_to_not_convert names",
}


def layers_to_convert(model: PreTrainedModel, config: ComplexQuantizationConfig) -> dict[str, ComplexLinear]:
    """The layers of complex weights that ``config`` does not leave out, by name.

    Raises:
        ValueError: see ``quantize``.
    """
    if any(isinstance(module, PackedLinear) for module in model.modules()):
        raise ValueError("the weights are packed already: model.dequantize() first, or load the float model")
    processes = getattr(getattr(model.config, "distributed_config", None), "tp_size", None) or 1
    if processes > 1:
        raise ValueError(
            f"the layers are divided among {processes} processes (tp_size, tp_plan), which packed and rounded ones "
            "cannot be: load the model whole, without tensor parallelism"
        )
    names = [name for name, _ in model.named_modules()]
    kept = config.modules_to_not_convert
    if kept is None:
        head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
        kept = [name for name, module in model.named_modules() if isinstance(module, Readout) or module is head]
    elif unknown := [key for key in kept if all(should_convert_module(name, [key]) for name in names)]:
        raise ValueError(f"modules_to_not_convert holds {unknown}, and no layer has such a name: see named_modules()")
    layers = {
        name: module
        for name, module in model.named_modules()
        if (complex_linear_type(module) or isinstance(module, RoundedLinear)) and should_convert_module(name, kept)
    }
    if not layers:
        remedy = REMEDIES[getattr(model.config, "number_field", None)]
        raise ValueError(f"{type(model).__name__} has no complex layer that can be rounded to units: {remedy}")
    return layers


def rounded_layers(model: nn.Module) -> dict[str, RoundedLinear]:
    """The layers that round their weights in every step, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, RoundedLinear)}


def set_layers(model: nn.Module, layers: Mapping[str, nn.Module]) -> None:
    """Put layers in the places of those of these names: under every name where one is shared."""
    names: dict[nn.Module, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name)
    for name, layer in layers.items():
        for place in names[model.get_submodule(name)]:
            model.set_submodule(place, layer)


def check_loaded(layers: Mapping[str, ComplexLinear]) -> None:
    """Raise for layers, with the name of one, whose weights ``device_map`` has left elsewhere."""
    if missing := [name for name, layer in layers.items() if any(part.is_meta for part in layer.parameters())]:
        raise ValueError(
            f"{missing[0]} is offloaded by device_map, and rounding reads its weights: quantise without a device_map, "
            "save the packed model, and load that with it"
        )


def prepare(model: PreTrainedModel, config: ComplexQuantizationConfig) -> None:
    """Check all layers, and have those that round in training become so; others that did become float again.

    Raises:
        ValueError: see ``quantize``.
    """
    layers = layers_to_convert(model, config)
    made = {name: layer.to_float() for name, layer in rounded_layers(model).items()}
    for name, layer in layers.items():
        made.setdefault(name, layer)
        _of_layer(name, check_packable, made[name])
        if config.training:
            made[name] = RoundedLinear.from_float(made[name], config.stages, config.granularity)
    set_layers(model, made)


@torch.no_grad()
def pack_layers(model: PreTrainedModel, config: ComplexQuantizationConfig) -> None:
    """Pack the layers of ``layers_to_convert``; warn of weights that were neither calibrated nor trained for it.

    Raises:
        ValueError: see ``quantize``.
    """
    layers = layers_to_convert(model, config)
    if config.calibration is not None:
        _pack_calibrated(model, layers, config)
        return
    if not getattr(getattr(model.config, "quantization_config", None), "training", False):
        warnings.warn(
            f"Rounding to {config.stages} bit(s) per real weight without calibration or training usually leaves "
            "noise. Give calibration texts, or train with training=True first",
            stacklevel=2,
        )
    options = config.stages, config.granularity
    packed = {name: _of_layer(name, PackedLinear.from_float, layer, *options) for name, layer in layers.items()}
    set_layers(model, packed)


def _pack_calibrated(
    model: PreTrainedModel, layers: Mapping[str, ComplexLinear], config: ComplexQuantizationConfig
) -> None:
    """Pack the layers in the order of their calls, each part after a pass of the texts."""
    texts = calibration_inputs(model, config.calibration)
    order = called_layers(model, layers, texts)
    size = -(-len(order) // config.calibration_passes)
    for start in range(0, len(order), size):
        part = {name: layers[name] for name in order[start : start + size]}
        made: dict[str, PackedLinear] = {}
        for name, stored in gram_matrices(model, part, texts).items():
            layer = layers[name]
            packed = PackedLinear.empty_like(layer, config.stages, config.granularity)
            gram = gram_matrix(stored, packed.linear_type)
            options = (config.stages, config.granularity, config.damping)
            packed.set_weights(_of_layer(name, calibrated_weights, layer.weight_parts(), gram, *options))
            made[name] = packed
        set_layers(model, made)


def _of_layer(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function, whose errors name the layer."""
    try:
        return function(*arguments)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def empty_layers(model: PreTrainedModel, config: ComplexQuantizationConfig) -> None:
    """Have packed layers without weights, which are about to be loaded."""
    options, layers = (config.stages, config.granularity), layers_to_convert(model, config)
    set_layers(
        model, {name: _of_layer(name, PackedLinear.empty_like, layer, *options) for name, layer in layers.items()}
    )


def check_packed(model: nn.Module) -> None:
    """Raise, with their names, for packed layers whose weights were not in the files."""
    packed = {name: layer for name, layer in model.named_modules() if isinstance(layer, PackedLinear)}
    if missing := [name for name, layer in packed.items() if not layer.has_weights]:
        raise ValueError(
            f"the files hold no packed weights of {len(missing)} of {len(packed)} layers, such as {missing[0]}: they "
            "are cut short, or of another model or configuration; save the quantised model again"
        )


def dequantize(model: PreTrainedModel, dtype: torch.dtype) -> PreTrainedModel:
    """Float layers of the packed or rounded weights, in place, and all others in the same dtype, so that it runs.

    Where nothing of the model trains, they do not either.
    """
    is_frozen = not any(parameter.requires_grad for parameter in model.parameters())
    made: dict[str, ComplexLinear] = {}
    for name, layer in model.named_modules():
        if isinstance(layer, PackedLinear):
            made[name] = layer.to_float(dtype)
        elif isinstance(layer, RoundedLinear):
            packed = PackedLinear.from_float(layer.to_float(), layer.stages, layer.granularity)
            made[name] = packed.to_float(dtype)
    set_layers(model, made)
    if is_frozen:
        model.requires_grad_(False)
    return model.to(dtype)
