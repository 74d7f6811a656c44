# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of the inputs of a model: ids, masks, positions and caches, refused where no model can use them.

Shapes are looked at everywhere, values on the CPU only: elsewhere a look would wait for the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, EncoderDecoderCache

from ...kernels.dispatch import shows_values

__all__ = [
    "check_cache_batch",
    "check_mask",
    "check_position_ids",
    "check_source",
    "check_text_inputs",
    "finite_padding",
    "padding_mask",
    "shows_values",
    "token_mask",
    "without_padding",
]

EMPTY = "leave out empty texts, or use a tokenizer that adds a token to every text"


def check_text_inputs(
    input_ids: Tensor | None, inputs_embeds: Tensor | None, attention_mask: Tensor | None, hidden_size: int
) -> None:
    """Raise for inputs no text model can use."""
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("give exactly one of input_ids and inputs_embeds")
    if input_ids is not None:
        shape = input_ids.shape
        if input_ids.dim() != 2:
            raise ValueError(f"input_ids must be [batch, length], got shape {tuple(shape)}")
    else:
        assert inputs_embeds is not None
        shape = inputs_embeds.shape[:2]
        if inputs_embeds.is_complex():
            raise TypeError(
                f"inputs_embeds must be real [real | imag] halves, got dtype {inputs_embeds.dtype}; "
                "convert them with complex_transformers.nn.from_complex(inputs_embeds)"
            )
        if inputs_embeds.dim() != 3 or inputs_embeds.shape[-1] != hidden_size:
            raise ValueError(
                f"inputs_embeds must be [batch, length, hidden_size={hidden_size}], got {tuple(inputs_embeds.shape)}"
            )
    if 0 in shape:
        raise ValueError(f"the input is empty: batch and length are {tuple(shape)}; {EMPTY}")
    if input_ids is not None and input_ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"input_ids must be integers (int64 or int32), got dtype {input_ids.dtype}")
    check_mask(attention_mask, tuple(shape))


def check_mask(
    attention_mask: Any,
    shape: tuple[int, ...],
    name: str = "attention_mask",
    layout: str = "[batch, length]",
    scores: bool = True,
) -> None:
    """Raise unless a mask tells tokens from padding, ``shape``, or with ``scores`` is ``[batch, 1, queries, keys]``.

    A row of padding alone is taken: what a model says of it is finite, without meaning for tokens, and that of no
    tokens where it is pooled (features of zero, so the logits of the head's bias).
    """
    if not isinstance(attention_mask, Tensor):  # None; a mask for each kind of layer, as generate() may make
        return
    if scores and attention_mask.dim() == 4:
        if attention_mask.dtype != torch.bool and not attention_mask.is_floating_point():
            raise TypeError(
                f"{name} of 4 axes must be boolean (True where a key is seen) or floating-point (added to the "
                f"scores), got {attention_mask.dtype}; use {name}.bool()"
            )
        return
    if attention_mask.shape != shape:
        other = ", or a mask of scores [batch, 1, queries, keys]" if scores and attention_mask.dim() != 2 else ""
        raise ValueError(f"{name} must be {layout} = {shape}{other}, got {tuple(attention_mask.shape)}")
    if attention_mask.is_floating_point() and shows_values(attention_mask) and bool((attention_mask < 0).any()):
        raise ValueError(
            f"{name} {layout} must be 1 for tokens and 0 for padding, got {float(attention_mask.min())}; a mask that "
            "is added to scores has 4 axes"
        )


def check_position_ids(position_ids: Tensor | None, shape: tuple[int, ...], name: str = "position_ids") -> None:
    """Raise unless positions, or types, are integers, ``[batch, length]``, or ``[1, length]`` for all texts."""
    if position_ids is None:
        return
    if position_ids.shape not in (shape, (1, *shape[1:])):
        raise ValueError(
            f"{name} must be [batch, length] = {shape}, or [1, {shape[-1]}], got {tuple(position_ids.shape)}"
        )
    if position_ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be integers (int64 or int32), got dtype {position_ids.dtype}")


def check_cache_batch(cache: Cache | None, batch: int) -> None:
    """Raise if a cache of keys and values is that of another number of texts."""
    if isinstance(cache, EncoderDecoderCache):
        check_cache_batch(cache.self_attention_cache, batch)
        check_cache_batch(cache.cross_attention_cache, batch)
        return
    for layer in getattr(cache, "layers", ()):
        keys = getattr(layer, "keys", None)
        # Not len(keys), which would fix the batch size of an exported graph.
        if isinstance(keys, Tensor) and keys.dim() == 4 and keys.shape[0] != batch:
            raise ValueError(
                f"cache holds {keys.shape[0]} texts, the input {batch}: give the texts of the cache, or begin "
                "with a new one"
            )


def check_source(keys: Tensor, source: Tensor, project: Callable[[Tensor], Tensor]) -> None:
    """Raise if cached keys ``[..., S, width]`` are not those of ``source [B, S', width]``, ``project(source)``.

    Keys are linear in the source: their mean is compared with the keys of its mean, which costs one token.
    """
    wrong = keys.shape[-2] != source.shape[1]
    if not wrong and shows_values(keys) and shows_values(source):
        tolerance = 1e-2 if keys.dtype == torch.float32 == source.dtype else 1e-1
        with torch.no_grad():
            difference = project(source.mean(1, keepdim=True)) - keys.mean(-2, keepdim=True)
        wrong = bool(difference.abs().max() > tolerance * keys.abs().max())
    if wrong:
        raise ValueError(
            "cache holds another source than the encoder's states: give the source of the cache, or begin "
            "with a new one"
        )


def padding_mask(attention_mask: Tensor | None) -> Tensor | None:
    """True for tokens, ``[B, N]``; None without a mask, and where it is one of scores."""
    return attention_mask.to(torch.bool) if attention_mask is not None and attention_mask.dim() == 2 else None


def token_mask(attention_mask: Tensor | None, hidden_states: Tensor) -> Tensor:
    """``padding_mask``; every token of ``hidden_states [B, N, ...]`` counts where there is none."""
    mask = padding_mask(attention_mask)
    return hidden_states.new_ones(hidden_states.shape[:2], dtype=torch.bool) if mask is None else mask


def without_padding(inputs_embeds: Tensor, attention_mask: Any) -> Tensor:
    """Embeddings ``[B, N, d]`` with zeros in padding: a weight of zero times what is no number would be none, too.

    ``attention_mask [B, P + N]`` may begin with the tokens of a cache.
    """
    tokens = padding_mask(attention_mask) if isinstance(attention_mask, Tensor) else None
    if tokens is None:
        return inputs_embeds
    return inputs_embeds.masked_fill(~tokens[:, -inputs_embeds.shape[1] :].unsqueeze(-1), 0.0)


def finite_padding(inputs_embeds: Tensor, attention_mask: Any) -> Tensor:
    """Embeddings ``[B, N, d]`` with zeros for what is no number in padding: numbers have a weight of zero as they are.

    A text that ends with padding and is written on thus begins alike from words and from embeddings.
    """
    tokens = padding_mask(attention_mask) if isinstance(attention_mask, Tensor) else None
    if tokens is None:
        return inputs_embeds
    kept = tokens[:, -inputs_embeds.shape[1] :].unsqueeze(-1) | inputs_embeds.isfinite()
    return inputs_embeds.masked_fill(~kept, 0.0)
