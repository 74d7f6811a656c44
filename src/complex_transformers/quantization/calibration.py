# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the layers of a model read while it reads texts."""

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
FROM_LABELS = "prepare_decoder_input_ids_from_labels"  # of models with a head on a decoder, as in Transformers


def calibration_inputs(model: PreTrainedModel, calibration: Any) -> list[Inputs]:
    """Texts as keyword arguments of ``forward``, of which one may stand alone.

    Rows of a dataset become batches of one. Labels are left out, but where a decoder has nothing else to read: it
    reads those that count, as in training.

    Raises:
        ValueError: a column that is no tensor of numbers.
    """
    texts = [calibration] if isinstance(calibration, Mapping) else calibration
    return [_inputs(model, texts[index]) for index in range(len(texts))]


def _inputs(model: PreTrainedModel, text: Any) -> Inputs:
    columns = text if isinstance(text, Mapping) else {model.main_input_name: text}
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
                f"column {name} of the calibration is no tensor ({error}): give what forward reads, tokenised, and "
                "remove other columns"
            ) from None
        inputs[name] = tensor.unsqueeze(0) if tensor.dim() < 2 else tensor
    if (labels := inputs.pop("labels", None)) is not None:
        inputs["decoder_input_ids"] = getattr(model, FROM_LABELS)(labels)
        inputs.setdefault("decoder_attention_mask", labels.ne(-100).long())
    return inputs


def called_layers(model: PreTrainedModel, layers: Mapping[str, ComplexLinear], texts: Sequence[Inputs]) -> list[str]:
    """The names of layers in the order in which the first text reaches them.

    Raises:
        ValueError: layers that it does not reach.
    """
    order: dict[str, None] = {}
    with _watched(layers, lambda name, _: order.setdefault(name)), _reading(model):
        model(**texts[0])
    if missing := sorted(layers.keys() - order):
        raise ValueError(
            f"the calibration does not reach {len(missing)} layers, such as {missing[0]}: leave them out "
            "(modules_to_not_convert), or give inputs that they read"
        )
    return list(order)


def gram_matrices(
    model: PreTrainedModel, layers: Mapping[str, ComplexLinear], texts: Sequence[Inputs]
) -> dict[str, Tensor]:
    """``nn.stored_gram`` of what each layer reads of all texts, by name; tokens of padding are left out.

    Layers of an encoder, and those of a decoder that read what it gives, read the tokens of ``attention_mask``; other
    layers of a decoder behind an encoder those of ``decoder_attention_mask``.

    Raises:
        ValueError: nothing but padding, features that are not finite, padding that recurrent layers would read.
    """
    _check_steps(model, layers, texts)
    grams: dict[str, Tensor] = {}
    encoder: nn.Module = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
    within = set(encoder.modules())
    source: Tensor | None = None  # what the encoder has given
    mask: Tensor | None = None
    target_mask: Tensor | None = None
    last: tuple[Tensor | None, Tensor | None] = (None, None)

    def add(name: str, x: Tensor) -> None:
        """Add the products of ``[..., width]``, what a layer is about to read."""
        nonlocal last
        if last[0] is not x:  # q, k and v read one tensor
            keep = mask if layers[name] in within or x is source else target_mask
            tokens = x[keep.to(torch.bool)] if keep is not None and keep.shape == x.shape[:-1] else x
            try:
                last = x, stored_gram(tokens)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        gram = last[1]
        assert gram is not None
        grams[name] = grams[name] + gram if name in grams else gram

    def keep_source(_: nn.Module, __: Any, output: Any) -> None:
        nonlocal source
        source = output[0]

    handle = encoder.register_forward_hook(keep_source)
    try:
        with _watched(layers, add), _reading(model):
            for text in texts:
                mask, target_mask = text.get("attention_mask"), text.get("decoder_attention_mask")
                model(**text)
    finally:
        handle.remove()
    return grams


def _check_steps(model: PreTrainedModel, layers: Mapping[str, ComplexLinear], texts: Sequence[Inputs]) -> None:
    """Raise for padding where layers are called step by step: what they read of it has no place in a mask."""
    cells = [module for module in model.modules() if isinstance(module, (Stepwise, AttentiveRecurrent))]
    stepping = {layer for cell in cells for layer in cell.modules()}
    name = next((name for name, layer in layers.items() if layer in stepping), None)
    if name is not None and any(n.endswith("mask") and not mask.all() for text in texts for n, mask in text.items()):
        raise ValueError(
            f"{name} is called step by step, and the calibration has padding, which cannot be left out there: give "
            "texts without padding, one at a time or together those of one length"
        )


@contextmanager
def _watched(layers: Mapping[str, ComplexLinear], see: Callable[[str, Tensor], None]) -> Iterator[None]:
    """Within it ``see(name, x)`` is called with what layers are about to read."""

    def hook(name: str) -> Callable[[Any, tuple[Tensor, ...]], None]:
        return lambda _, inputs: see(name, inputs[0])

    handles = [layer.register_forward_pre_hook(hook(name)) for name, layer in layers.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _reading(model: PreTrainedModel) -> Iterator[None]:
    """Within it the model is in evaluation mode and keeps no graph."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad():
            yield model.eval()
    finally:
        for module, training in modes:
            module.training = training
