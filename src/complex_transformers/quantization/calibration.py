# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Record the inputs of layers while a model processes calibration data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..nn import AttentiveRecurrent, ComplexLinear, stored_gram
from ..nn.recurrent.step_loop import Stepwise

__all__ = ["calibration_inputs", "called_layers", "gram_matrices"]

Inputs = dict[str, Tensor]
FROM_LABELS = "prepare_decoder_input_ids_from_labels"  # a method of encoder-decoder models with a head


def calibration_inputs(model: PreTrainedModel, calibration: Any) -> list[Inputs]:
    """Return calibration examples as keyword arguments of ``forward``.

    Rows of a dataset become batches of one. Labels are dropped, unless a decoder has no other input: it then gets the
    shifted labels, as in training.

    Raises:
        ValueError: a column that is not numeric.
    """
    examples = [calibration] if isinstance(calibration, Mapping) else calibration
    return [_inputs(model, examples[index]) for index in range(len(examples))]


def _inputs(model: PreTrainedModel, example: Any) -> Inputs:
    columns = example if isinstance(example, Mapping) else {model.main_input_name: example}
    inputs: Inputs = {}
    has_decoder = getattr(model.config, "is_encoder_decoder", False) and hasattr(model, FROM_LABELS)
    reads_labels = has_decoder and not columns.keys() & {"decoder_input_ids", "decoder_inputs_embeds"}
    for name, value in columns.items():
        if name == "label" or (name == "labels" and not reads_labels):
            continue
        try:
            tensor = torch.as_tensor(value, device=model.device)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"calibration column {name} must be an array of numbers, got {value!r:.80}. Pad or remove it."
            ) from error
        inputs[name] = tensor.unsqueeze(0) if tensor.dim() < 2 else tensor
    if (labels := inputs.pop("labels", None)) is not None:
        inputs["decoder_input_ids"] = getattr(model, FROM_LABELS)(labels)
        inputs.setdefault("decoder_attention_mask", labels.ne(-100).long())
    return inputs


def called_layers(
    model: PreTrainedModel, layers: Mapping[str, ComplexLinear], examples: Sequence[Inputs]
) -> list[str]:
    """Return the names of layers in the order of their calls by the first example.

    Raises:
        ValueError: layers that are not called.
    """
    order: dict[str, None] = {}
    with _watched(layers, lambda name, _: order.setdefault(name)), _inference(model):
        model(**examples[0])
    if missing := sorted(layers.keys() - order):
        raise ValueError(
            f"calibration must reach every layer, got none for {missing}. Name them in modules_to_not_convert."
        )
    return list(order)


def gram_matrices(
    model: PreTrainedModel, layers: Mapping[str, ComplexLinear], examples: Sequence[Inputs]
) -> dict[str, Tensor]:
    """Return ``nn.stored_gram`` of the inputs of each layer, without padding tokens.

    ``attention_mask`` selects the tokens of encoder layers and of cross-attention keys and values,
    ``decoder_attention_mask`` the tokens of all other decoder layers.

    Raises:
        ValueError: only padding, features that are not finite, padding that recurrent layers would process.
    """
    _check_steps(model, layers, examples)
    grams: dict[str, Tensor] = {}
    encoder: nn.Module = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
    within = set(encoder.modules())
    source: Tensor | None = None  # the output of the encoder
    mask: Tensor | None = None
    target_mask: Tensor | None = None
    last: list[Tensor] = []

    def add(name: str, x: Tensor) -> None:
        if not last or last[0] is not x:  # q, k and v have the same input
            keep = mask if layers[name] in within or x is source else target_mask
            tokens = x[keep.to(torch.bool)] if keep is not None and keep.shape == x.shape[:-1] else x
            last[:] = x, stored_gram(tokens)
        grams[name] = grams[name] + last[1] if name in grams else last[1]

    def keep_source(_: nn.Module, __: Any, output: Any) -> None:
        nonlocal source
        source = output[0]

    handle = encoder.register_forward_hook(keep_source)
    try:
        with _watched(layers, add), _inference(model):
            for example in examples:
                mask, target_mask = example.get("attention_mask"), example.get("decoder_attention_mask")
                model(**example)
    finally:
        handle.remove()
    return grams


def _check_steps(model: PreTrainedModel, layers: Mapping[str, ComplexLinear], examples: Sequence[Inputs]) -> None:
    """Raise for padding if layers are called step by step, where no mask tells which inputs are padding."""
    cells = [module for module in model.modules() if isinstance(module, (Stepwise, AttentiveRecurrent))]
    stepping = {layer for cell in cells for layer in cell.modules()}
    name = next((name for name, layer in layers.items() if layer in stepping), None)
    masks = (mask for example in examples for key, mask in example.items() if key.endswith("mask"))
    if name is not None and not all(mask.all() for mask in masks):
        raise ValueError(
            f"calibration must have no padding for the recurrent layer {name}, got padded rows. Batch equal lengths."
        )


@contextmanager
def _watched(layers: Mapping[str, ComplexLinear], see: Callable[[str, Tensor], None]) -> Iterator[None]:
    """Call ``see(name, x)`` with the input of every call of a layer."""

    def hook(name: str) -> Callable[[Any, tuple[Tensor, ...]], None]:
        return lambda _, inputs: see(name, inputs[0])

    handles = [layer.register_forward_pre_hook(hook(name)) for name, layer in layers.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _inference(model: PreTrainedModel) -> Iterator[None]:
    """Put the model into evaluation mode without gradients, and restore the mode of every module."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad():
            yield model.eval()
    finally:
        for module, training in modes:
            module.training = training
