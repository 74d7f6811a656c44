# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The cache of recurrent decoders and language models: the states after the tokens read so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

from .stream import StreamCache

__all__ = ["RecurrentCache", "RecurrentStateLayer", "check_states", "stored_sizes"]


def stored_sizes(states: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the stored width of every state of a layer by name, as in ``state_sizes`` of a configuration."""
    return {name: state.shape[-1] for name, state in states.items()}


class RecurrentStateLayer(CacheLayerMixin):
    """The states of one recurrent layer after the tokens read so far; their size does not grow with the length.

    ``states`` belong to a sequence and are reordered with the beams. ``source`` holds tensors that depend on the
    source alone, such as its projected states: like ``encoder_outputs``, they are the same for all beams of a source
    and are not reordered. The first axis of every tensor is the batch.
    """

    is_sliding = False
    supports_early_init = False

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[str, Tensor] = {}
        self.source: dict[str, Tensor] = {}
        self.cumulative_length = 0

    def advance(self, num_new_tokens: int, **states: Tensor) -> None:
        """Replace ``states`` after ``num_new_tokens`` more tokens."""
        self.states.update(states)
        self.cumulative_length += num_new_tokens
        self.is_initialized = True

    def tensors(self) -> dict[str, Tensor]:
        """Return the states by name; empty before the first token."""
        return self.states

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Do nothing: ``advance`` sets the states."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Raise a TypeError: a recurrent layer has no keys and values."""
        raise TypeError("a recurrent layer has no keys and values to update. Use advance(num_new_tokens, **states).")

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the number of tokens, new ones included, and the index of the first."""
        return self.cumulative_length + query_length, 0

    def get_seq_length(self) -> int:
        """Return the number of tokens read so far."""
        return self.cumulative_length

    def get_max_length(self) -> int:
        """Return -1: the length is not limited."""
        return -1

    def reset(self) -> None:
        """Forget all tokens: the next one starts a sequence."""
        self.states, self.source = {}, {}
        self.cumulative_length = 0
        self.is_initialized = False

    def crop(self, tokens_to_remove: int) -> None:
        """Raise unless ``tokens_to_remove`` is 0: earlier states are not stored."""
        if tokens_to_remove != 0:
            raise ValueError(f"tokens_to_remove must be 0 for a recurrent state, got {tokens_to_remove}.")

    def _change_tensors(self, change: Callable[[Tensor], Tensor], source: bool = True) -> None:
        self.states = {name: change(value) for name, value in self.states.items()}
        if source:
            self.source = {name: change(value) for name, value in self.source.items()}

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Reorder the states by ``beam_idx``; tensors of the source stay."""
        self._change_tensors(lambda value: value.index_select(0, beam_idx.to(value.device)), source=False)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat every row ``repeats`` times, copies side by side."""
        self._change_tensors(lambda value: value.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows ``indices`` of the batch, in this order."""
        self._change_tensors(lambda value: value[indices.to(value.device)])

    def offload(self) -> None:
        """Move all tensors to the CPU."""
        self._change_tensors(lambda value: value.to("cpu", non_blocking=True))

    def prefetch(self) -> None:
        """Do nothing: states follow the device of the next step."""


class RecurrentCache(StreamCache):
    """A ``RecurrentStateLayer`` for every layer of a recurrent decoder or language model.

    Args:
        config: a configuration with ``decoder_layers`` or ``num_hidden_layers``. If it has ``state_sizes``, a saved
            memory must have states of these sizes.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        layers = getattr(config, "decoder_layers", None) or config.num_hidden_layers
        super().__init__(layers=[RecurrentStateLayer() for _ in range(layers)])
        self.state_sizes: list[dict[str, int]] | None = getattr(config, "state_sizes", None)

    def _check_saved(self, tensors: Mapping[str, Tensor], tokens: int) -> None:
        if tokens and self.state_sizes is None:
            return
        layers = enumerate(self.state_sizes or ()) if tokens else ()
        expected = {f"layers.{index}.{name}": size for index, sizes in layers for name, size in sizes.items()}
        if (found := stored_sizes(tensors)) != expected:
            raise ValueError(f"saved states must have the widths {expected}, got {found}. Load them into their model.")

    def _restore(self, layer: RecurrentStateLayer, tensors: dict[str, Tensor], tokens: int) -> None:
        layer.advance(tokens, **tensors)


def check_states(cache: Cache | None, config: PreTrainedConfig, batch: int) -> None:
    """Raise unless ``cache`` is None or holds the states of ``batch`` sequences of a model of ``config``."""
    if cache is None:
        return
    if not isinstance(cache, RecurrentCache):
        raise TypeError(f"cache must be a RecurrentCache, got {type(cache).__name__}. Leave it out.")
    sizes = config.state_sizes if cache.get_seq_length() else [{}] * config.num_hidden_layers
    if (found := [stored_sizes(layer.states) for layer in cache.layers]) != sizes:
        raise ValueError(f"cache must have states of sizes {sizes}, got {found}. Start with a new cache.")
    if wrong := {len(state) for layer in cache.layers for state in layer.states.values()} - {batch}:
        raise ValueError(f"cache must have the batch size {batch}, got {min(wrong)}. Start with a new cache.")
