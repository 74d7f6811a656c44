# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of model inputs (ids, embeddings, masks, positions, caches) and masks of padding.

Shapes are checked on every device, values on the CPU only: reading them elsewhere would wait for the device.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, EncoderDecoderCache

from ...kernels.dispatch import shows_values

__all__ = [
    "check_cache_batch",
    "check_mask",
    "check_position_ids",
    "check_text_inputs",
    "finite_padding",
    "padding_mask",
    "shows_values",
    "token_mask",
    "without_padding",
]


def check_text_inputs(
    input_ids: Tensor | None, inputs_embeds: Tensor | None, attention_mask: Tensor | None, hidden_size: int
) -> None:
    """Raise unless ids ``[B, N]`` or embeddings ``[B, N, hidden_size]``, and a mask if any, have matching shapes."""
    if (input_ids is None) == (inputs_embeds is None):
        found = "none" if input_ids is None else "both"
        raise ValueError(f"exactly one of input_ids and inputs_embeds must be given, got {found}.")
    if inputs_embeds is not None and inputs_embeds.is_complex():
        raise TypeError(
            f"inputs_embeds must be real [real | imag] halves, got {inputs_embeds.dtype}. "
            "Use complex_transformers.nn.from_complex(inputs_embeds)."
        )
    name, given = ("input_ids", input_ids) if inputs_embeds is None else ("inputs_embeds", inputs_embeds)
    width = () if inputs_embeds is None else (hidden_size,)
    assert given is not None
    if given.dim() != 2 + len(width) or given.shape[2:] != width or 0 in given.shape:
        layout = "[batch, length]" if inputs_embeds is None else f"[batch, length, hidden_size={hidden_size}]"
        remedy = " Leave out empty texts." if 0 in given.shape else ""
        raise ValueError(f"{name} must be {layout} and not empty, got {tuple(given.shape)}.{remedy}")
    check_mask(attention_mask, tuple(given.shape[:2]))


def check_mask(
    attention_mask: Any,
    shape: tuple[int, ...],
    name: str = "attention_mask",
    layout: str = "[batch, length]",
    scores: bool = True,
) -> None:
    """Raise unless a mask has ``shape`` (1 for tokens) or, with ``scores``, is ``[batch, 1, queries, keys]``.

    An all-padding row is accepted. Its outputs are finite but meaningless; its pooled features are zero.
    """
    if not isinstance(attention_mask, Tensor):  # None, or a mask for each layer type, which generate() may create
        return
    if scores and attention_mask.dim() == 4:
        if attention_mask.dtype != torch.bool and not attention_mask.is_floating_point():
            raise TypeError(
                f"{name} of 4 axes must be boolean (True attends) or floating-point (added to the scores), got "
                f"{attention_mask.dtype}. Use {name}.bool()."
            )
    elif attention_mask.shape != shape:
        other = " or [batch, 1, queries, keys]" if scores and attention_mask.dim() != 2 else ""
        raise ValueError(f"{name} must be {layout} = {shape}{other}, got {tuple(attention_mask.shape)}.")
    elif attention_mask.is_floating_point() and shows_values(attention_mask) and bool((attention_mask < 0).any()):
        raise ValueError(
            f"{name} {layout} must be 1 for tokens and 0 for padding, got {float(attention_mask.min())}. Use 4 "
            "axes for an additive mask."
        )


def check_position_ids(position_ids: Tensor | None, shape: tuple[int, ...], name: str = "position_ids") -> None:
    """Raise unless positions, or token types, are integers ``[batch, length]``, or ``[1, length]`` for all rows."""
    if position_ids is None:
        return
    if position_ids.shape not in (shape, (1, *shape[1:])):
        found = tuple(position_ids.shape)
        raise ValueError(f"{name} must be [batch, length] = {shape} or [1, {shape[1]}], got {found}.")
    if position_ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be integers (int64 or int32), got dtype {position_ids.dtype}.")


def check_cache_batch(cache: Cache | None, batch: int) -> None:
    """Raise if a KV cache has another batch size."""
    if isinstance(cache, EncoderDecoderCache):
        check_cache_batch(cache.self_attention_cache, batch)
        check_cache_batch(cache.cross_attention_cache, batch)
        return
    for layer in getattr(cache, "layers", ()):
        keys = getattr(layer, "keys", None)
        # Not len(keys), which would fix the batch size of an exported graph.
        if isinstance(keys, Tensor) and keys.dim() == 4 and keys.shape[0] != batch:
            raise ValueError(f"cache must have the batch size {batch}, got {keys.shape[0]}. Start with a new cache.")


def padding_mask(attention_mask: Tensor | None) -> Tensor | None:
    """Return True for tokens, ``[B, N]``; None without a mask, or for a mask of 4 axes."""
    return attention_mask.to(torch.bool) if attention_mask is not None and attention_mask.dim() == 2 else None


def token_mask(attention_mask: Tensor | None, hidden_states: Tensor) -> Tensor:
    """Return ``padding_mask``, or a mask of ones for ``hidden_states [B, N, ...]`` if there is none."""
    mask = padding_mask(attention_mask)
    return hidden_states.new_ones(hidden_states.shape[:2], dtype=torch.bool) if mask is None else mask


def without_padding(inputs_embeds: Tensor, attention_mask: Any) -> Tensor:
    """Set embeddings ``[B, N, d]`` of padding to zero: attention weight 0 times NaN is still NaN.

    ``attention_mask [B, P + N]`` may include the tokens of a cache.
    """
    tokens = padding_mask(attention_mask) if isinstance(attention_mask, Tensor) else None
    if tokens is None:
        return inputs_embeds
    return inputs_embeds.masked_fill(~tokens[:, -inputs_embeds.shape[1] :].unsqueeze(-1), 0.0)


def finite_padding(inputs_embeds: Tensor, attention_mask: Any) -> Tensor:
    """Set NaN and infinities in the padding of embeddings ``[B, N, d]`` to zero; keep finite values.

    Finite values get attention weight 0. They stay, so that generation after right padding gives the same result from
    ids and from embeddings.
    """
    tokens = padding_mask(attention_mask) if isinstance(attention_mask, Tensor) else None
    if tokens is None:
        return inputs_embeds
    kept = tokens[:, -inputs_embeds.shape[1] :].unsqueeze(-1) | inputs_embeds.isfinite()
    return inputs_embeds.masked_fill(~kept, 0.0)
