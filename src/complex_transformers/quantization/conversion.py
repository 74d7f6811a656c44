# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Replace the complex layers of a model by packed or rounded ones, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn
from transformers import PreTrainedModel
from transformers.quantizers.quantizers_utils import should_convert_module

from ..nn import ComplexLinear, PackedLinear, Readout, RoundedLinear, calibrated_weights, gram_matrix
from ..nn.low_bit.quantized_linear import check_packable, complex_linear_type
from .calibration import calibration_inputs, called_layers, gram_matrices
from .configuration import ComplexQuantizationConfig, names_layer

__all__ = [
    "check_files",
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

# Number field -> remedy if no layer can be quantized.
REMEDIES = {
    None: "Call lift(model) first.",
    "real": "Use number_field='complex'.",
    "complex": "Check modules_to_not_convert; call model.dequantize() if it is packed.",
}


def layers_to_convert(model: PreTrainedModel, config: ComplexQuantizationConfig) -> dict[str, ComplexLinear]:
    """Return the complex layers that ``config`` quantizes, by name.

    Raises:
        ValueError: see ``quantize``.
    """
    if (tp_size := getattr(getattr(model.config, "distributed_config", None), "tp_size", None) or 1) > 1:
        raise ValueError(f"tp_size must be 1 for quantization, got {tp_size}. Load without tensor parallelism.")
    names = [name for name, _ in model.named_modules()]
    kept = config.modules_to_not_convert
    if kept is None:
        head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
        kept = [name for name, module in model.named_modules() if isinstance(module, Readout) or module is head]
    elif unknown := [key for key in kept if all(should_convert_module(name, [key]) for name in names)]:
        raise ValueError(f"modules_to_not_convert must name layers of the model, got {unknown}. See named_modules().")
    layers = {
        name: module
        for name, module in model.named_modules()
        if (complex_linear_type(module) or isinstance(module, RoundedLinear)) and should_convert_module(name, kept)
    }
    if not layers:
        remedy = REMEDIES[getattr(model.config, "number_field", None)]
        raise ValueError(f"model must have complex layers to quantize, got none in {type(model).__name__}. {remedy}")
    return layers


def rounded_layers(model: nn.Module) -> dict[str, RoundedLinear]:
    """Return the layers of quantization-aware training, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, RoundedLinear)}


def set_layers(model: nn.Module, layers: Mapping[str, nn.Module]) -> None:
    """Replace the layers of these names; a shared layer is replaced under all of its names."""
    names: dict[nn.Module, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name)
    for name, layer in layers.items():
        for place in names[model.get_submodule(name)]:
            model.set_submodule(place, layer)


def check_loaded(layers: Mapping[str, ComplexLinear]) -> None:
    """Raise for layers whose weights ``device_map`` has offloaded."""
    if missing := [name for name, layer in layers.items() if any(part.is_meta for part in layer.parameters())]:
        raise ValueError(f"device_map must not offload layers to quantize, got {missing[0]}. Save a packed copy.")


def prepare(model: PreTrainedModel, config: ComplexQuantizationConfig) -> None:
    """Check all layers, and make exactly the layers that ``config`` trains round their weights.

    Raises:
        ValueError: see ``quantize``.
    """
    layers = layers_to_convert(model, config)
    if unknown := [key for key in config.module_stages if not any(names_layer(key, name) for name in layers)]:
        raise ValueError(f"module_stages must name layers to quantize, got {unknown}. See named_modules().")
    made = {name: layer.to_float() for name, layer in rounded_layers(model).items()}
    for name, layer in layers.items():
        made.setdefault(name, layer)
        _with_layer_name(name, check_packable, made[name])
        if config.training:
            made[name] = RoundedLinear.from_float(made[name], *config.rounding(name))
    set_layers(model, made)


@torch.no_grad()
def pack_layers(model: PreTrainedModel, config: ComplexQuantizationConfig) -> None:
    """Pack the layers of ``layers_to_convert``, with a warning if they were neither calibrated nor trained for it.

    Raises:
        ValueError: see ``quantize``.
    """
    layers = layers_to_convert(model, config)
    if config.calibration is not None:
        _pack_calibrated(model, layers, config)
        return
    if not getattr(getattr(model.config, "quantization_config", None), "training", False):
        most = max(config.rounding(name)[0] for name in layers)
        warnings.warn(
            f"Rounding to {most} bit(s) per real weight without calibration or training usually leaves "
            "noise. Pass calibration data, or train with training=True first.",
            stacklevel=2,
        )
    set_layers(model, _made(PackedLinear.from_float, layers, config))


def _pack_calibrated(
    model: PreTrainedModel, layers: Mapping[str, ComplexLinear], config: ComplexQuantizationConfig
) -> None:
    """Pack the layers in the order of their calls, one group after each pass over the examples."""
    examples = calibration_inputs(model, config.calibration)
    order = called_layers(model, layers, examples)
    size = -(-len(order) // config.calibration_passes)
    for start in range(0, len(order), size):
        group = {name: layers[name] for name in order[start : start + size]}
        made: dict[str, PackedLinear] = {}
        for name, stored in gram_matrices(model, group, examples).items():
            layer = layers[name]
            packed = PackedLinear.empty_like(layer, *config.rounding(name))
            gram = gram_matrix(stored, packed.linear_type)
            options = (*config.rounding(name), config.damping)
            packed.set_weights(_with_layer_name(name, calibrated_weights, layer.weight_parts(), gram, *options))
            made[name] = packed
        set_layers(model, made)


def _with_layer_name(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function and add the name of the layer to its errors."""
    try:
        return function(*arguments)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def empty_layers(model: PreTrainedModel, config: ComplexQuantizationConfig) -> None:
    """Replace layers by packed ones whose weights are loaded afterwards."""
    set_layers(model, _made(PackedLinear.empty_like, layers_to_convert(model, config), config))


def _made(
    make: Callable[..., PackedLinear], layers: Mapping[str, ComplexLinear], config: ComplexQuantizationConfig
) -> dict[str, PackedLinear]:
    """Make a packed layer of each layer."""
    return {name: _with_layer_name(name, make, layer, *config.rounding(name)) for name, layer in layers.items()}


def check_files(model: PreTrainedModel, files: Sequence[str | Path] | None) -> None:
    """Raise if safetensors files hold packed weights of a layer that the configuration does not pack.

    Transformers would initialize such a layer at random.
    """
    prefix = f"{model.base_model_prefix}."  # files of a headless model fit a model with a head, and vice versa
    layers = {name.removeprefix(prefix): isinstance(layer, PackedLinear) for name, layer in model.named_modules()}
    for file in (file for file in files or () if str(file).endswith(".safetensors")):
        with safe_open(file, "pt") as opened:
            for name in opened.keys():  # noqa: SIM118 - not iterable itself
                layer, _, buffer = name.removeprefix(prefix).rpartition(".")
                if buffer == "codes" and not layers.get(layer, True):
                    raise ValueError(
                        f"quantization_config must pack {layer} as in {file}, got a float layer. Restore config.json."
                    )


def check_packed(model: nn.Module) -> None:
    """Raise for packed layers whose weights were not in the files, or are not finite."""
    for name, layer in model.named_modules():
        if isinstance(layer, PackedLinear) and not layer.has_weights:
            raise ValueError(
                f"checkpoint must contain packed weights of {name}, got none. Quantize and save the model again."
            )


def dequantize(model: PreTrainedModel, dtype: torch.dtype) -> PreTrainedModel:
    """Replace packed and rounded layers by float layers with the rounded weights, and cast the model to ``dtype``.

    The new parameters are frozen if all parameters of the model are.
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
