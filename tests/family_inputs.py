# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts, clips and images for a model of any family, batches of them, what the model says of each and learns."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from families import FIRST_WORD, IMAGES, TEXT, WRITER

Row = dict[str, Tensor]


def words(length: int, count: int = 1) -> Tensor:
    """Random texts of one length, of the words that all families have."""
    return torch.randint(FIRST_WORD, TEXT["vocab_size"], (count, length))


def rows(
    model: PreTrainedModel, lengths: tuple[int, ...] = (6, 4, 7), labels: bool = False, seed: int = 1
) -> list[Row]:
    """Texts or clips of these lengths, without padding: ``[length, ...]`` under each name that ``model`` reads.

    Targets are a word shorter than their sources; images have one size.
    """
    generator = torch.Generator().manual_seed(seed)
    return [_row(model, length, labels, generator) for length in lengths]


def _row(model: PreTrainedModel, length: int, labels: bool, generator: torch.Generator) -> Row:
    config = model.config

    def ids(end: int, first: int = FIRST_WORD, count: int = length) -> Tensor:
        return torch.randint(first, end, (count,), generator=generator)

    words = getattr(config, "num_words", (config.vocab_size,) * 2)
    relations = getattr(config, "num_relations", (None, None))
    if "input_features" in inspect.signature(model.forward).parameters:
        row = {"input_features": torch.randn(length, config.feature_size, generator=generator)}
    elif model.main_input_name == "pixel_values":
        row = {"pixel_values": torch.randn(config.pixel_shape, generator=generator)}
    else:
        row = {"input_ids": ids(words[0])}
    if "question_ids" in inspect.signature(model.forward).parameters:
        row["question_ids"] = ids(words[0], count=max(2, length - 2))
        if config.variant == "sentence_memory":  # so many sentences, of three to five words
            size = 3 + length % 3
            row["input_ids"] = ids(words[0], count=length * size).view(length, size)
    if relations[0]:
        row["relation_ids"] = ids(relations[0], 1)
    if config.is_encoder_decoder:
        end = config.decoder.vocab_size if getattr(config, "decoder", None) else words[1]
        row["decoder_input_ids"] = ids(end, count=length - 1)
        if relations[1]:
            row["decoder_relation_ids"] = ids(relations[1], 1, length - 1)
    return {**row, **(_labels(model, row, ids) if labels else {})}


def _labels(model: PreTrainedModel, row: Row, ids: Any) -> Row:
    """What the head is trained on."""
    name, config = type(model).__name__, model.config
    if name.endswith(("ForSequenceClassification", "ForAudioClassification", IMAGES)):
        return {"labels": ids(config.num_labels, 0, 1).squeeze(0)}
    if name.endswith("ForTokenClassification"):
        return {"labels": ids(config.num_labels, 0)}
    if name.endswith("ForCTC"):
        return {"labels": torch.tensor([1, 2])}
    if name.endswith(WRITER):
        targets = {"labels": row["decoder_input_ids"].roll(1)}
        if "decoder_relation_ids" in row:
            targets["relation_labels"] = row["decoder_relation_ids"].roll(1)
        return targets
    if name.endswith("ForCausalLM"):  # nothing stands before the first word, unless it is padding
        return {"labels": torch.cat([torch.tensor([-100]), row["input_ids"][1:]])}
    return {"labels": row["input_ids"].clone()} if name.endswith("ForMaskedLM") else {}


def mask_of(name: str) -> str:
    if name.startswith("decoder_"):
        return "decoder_attention_mask"
    return "question_mask" if name == "question_ids" else "attention_mask"


def batch(texts: list[Row], side: str = "right", extra: int = 0) -> dict[str, Tensor]:
    """Rows as one batch, padded on one side to the longest and ``extra`` more; masks where there is padding.

    What stands in the padding is no zero: it must not matter.
    """
    out: dict[str, Tensor] = {}
    for name, first in texts[0].items():
        values = [row[name] for row in texts]
        if first.dim() == 0 or name == "pixel_values":
            out[name] = torch.stack(values)
            continue
        axes = first.dim() if name.endswith("ids") else 1  # features of a frame are no text
        sizes = [max(value.shape[axis] for value in values) + extra for axis in range(axes)]
        filler = -100 if name.endswith("labels") else 2 if name.endswith("relation_ids") else 4
        padded = first.new_full((len(values), *sizes, *first.shape[axes:]), filler)
        mask = torch.zeros(len(values), *sizes, dtype=torch.long)
        for row, value in enumerate(values):
            lengths = zip(sizes, value.shape, strict=False)
            place = tuple(slice(size - n, None) if side == "left" else slice(n) for size, n in lengths)
            padded[row][place], mask[row][place] = value, 1
        out[name] = padded
        if not name.endswith("labels") and not mask.all():
            out[mask_of(name)] = mask
    return out


def embedded(model: PreTrainedModel, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inputs with embeddings for ids; features and pixels stay what they are."""
    out = dict(inputs)
    if not any(name.endswith("input_ids") for name in inputs):
        return out
    decoder = getattr(model, "decoder", None) or getattr(getattr(model, "model", model), "decoder", None)
    for side, table in (("", model.get_input_embeddings()), ("decoder_", getattr(decoder, "embed_tokens", None))):
        ids, relations = out.pop(f"{side}input_ids", None), out.pop(f"{side}relation_ids", None)
        if ids is None:
            continue
        mask = {} if relations is not None else {"attention_mask": inputs.get(f"{side}attention_mask")}
        given = (ids,) if relations is None else (ids, relations)
        if "attention_mask" not in inspect.signature(table.forward).parameters:
            mask = {}
        out[f"{side}inputs_embeds"] = table(*given, **mask).detach()
    return out


def numbers_of(inputs: dict[str, Tensor]) -> list[str]:
    """The names of the inputs that are no integers."""
    return [name for name, value in inputs.items() if value.is_floating_point() and value.dim() >= 3]


def results(model: PreTrainedModel, inputs: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """All that the model says about each row of a batch, without padding."""
    given = {name: value for name, value in inputs.items() if not name.endswith("labels")}
    with torch.no_grad():
        out = model(**given, output_hidden_states=True)
    found = {name: out.get(name) for name in ("logits", "relation_logits", "last_hidden_state", "pooler_output")}
    for name in ("hidden_states", "encoder_hidden_states", "decoder_hidden_states"):
        found[name] = out[name][-1] if out.get(name) else None
    count = len(next(iter(given.values())))
    return [
        {n: _own(model, n, value, row, given) for n, value in found.items() if value is not None}
        for row in range(count)
    ]


def _own(model: PreTrainedModel, name: str, value: Tensor, row: int, inputs: dict[str, Tensor]) -> Tensor:
    if value.dim() == 2:
        return value[row]
    target = model.config.is_encoder_decoder and not name.startswith("encoder_")
    mask = inputs.get("decoder_attention_mask" if target else "attention_mask")
    if mask is None:
        return value[row]
    if not target and hasattr(model, "output_lengths"):  # frames come first
        return value[row, : int(model.output_lengths(mask[row].bool().sum()))]
    return value[row][mask[row].bool()]


def result(model: PreTrainedModel, row: Row) -> dict[str, Tensor]:
    return results(model, batch([row]))[0]


def assert_slopes(model: PreTrainedModel, loss: Callable[[], Tensor]) -> None:
    """The gradient of every parameter is the slope of the loss, in float64, along a random direction."""
    model.zero_grad()
    loss().backward()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        values, step = [], 1e-6
        with torch.no_grad():
            for sign in (1, -1):
                parameter.add_(direction, alpha=sign * step)
                values.append(loss().item())
                parameter.sub_(direction, alpha=sign * step)
        slope = (values[0] - values[1]) / (2 * step)
        assert slope == pytest.approx((parameter.grad * direction).sum().item(), rel=1e-4, abs=1e-7), name


def checkpoint(model, options=None):
    """Turn on checkpointing, by the name that this version of Transformers has for it."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable(options)
