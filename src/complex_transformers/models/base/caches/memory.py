# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The memory of a Transformer-XL, which is carried along a stream."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

from ....nn.checks import check_choice
from .stream import StreamCache, check_saved_names

__all__ = ["MEMORY_KINDS", "MemoryCache", "MemoryLayer"]

# Kind of memory -> names of its tensors, each [batch, ..., tokens, features].
MEMORY_KINDS = {"keys": ("keys", "values"), "states": ("states",)}


class MemoryLayer(CacheLayerMixin):
    """The memory of one layer: its last ``mem_len`` tokens, without gradient; SG(h) of Dai et al. (section 3.2).

    Args:
        mem_len: maximum number of tokens, 1 or more.
        keeps: ``"keys"`` for keys and values ``[B, H, kept, D]``, or ``"states"`` for the hidden states
            ``[B, kept, width]`` that they are projected from; see ``MemoryCache``.

    Raises:
        ValueError: ``mem_len`` below 1, an unknown kind.
    """

    is_sliding = False
    supports_early_init = False
    keys: Tensor | None
    values: Tensor | None

    def __init__(self, mem_len: int, keeps: str = "keys") -> None:
        super().__init__()
        if mem_len < 1:
            raise ValueError(f"mem_len must be 1 or more, got {mem_len}. Without a memory, pass use_cache=False.")
        check_choice("keeps", keeps, MEMORY_KINDS)
        self.mem_len = mem_len
        self.keeps = keeps
        self.states: Tensor | None = None
        self.cumulative_length = 0

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by name; empty before the first segment."""
        return {name: getattr(self, name) for name in MEMORY_KINDS[self.keeps]} if self.is_initialized else {}

    def _change(self, change: Callable[[Tensor], Tensor]) -> None:
        for name, tensor in self.tensors().items():
            setattr(self, name, change(tensor))

    @property
    def kept(self) -> int:
        """Number of tokens in the memory."""
        return next((tensor.shape[-2] for tensor in self.tensors().values()), 0)

    def lazy_initialization(self, *new: Tensor) -> None:
        """Create empty tensors of the dtype and on the device of the first segment."""
        self.dtype, self.device = new[0].dtype, new[0].device
        for name, tensor in zip(MEMORY_KINDS[self.keeps], new, strict=True):
            setattr(self, name, tensor.detach()[..., :0, :])
        self.is_initialized = True

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Return the memory followed by a segment, for each tensor, and keep the last ``mem_len`` tokens.

        Raises:
            ValueError: the segment has another batch size, or other features, than the memory.
        """
        if not self.is_initialized:
            self.lazy_initialization(*new)
        old = self.tensors()
        kept, segment = ((*tensor.shape[:-2], tensor.shape[-1]) for tensor in (next(iter(old.values())), new[0]))
        if self.kept and kept != segment:
            raise ValueError(
                f"segment must have the batch size and features of the memory, {kept}, got {segment}. Use "
                "batch_select_indices, or start with a new memory."
            )
        whole = tuple(torch.cat(pair, dim=-2) for pair in zip(old.values(), new, strict=True))
        for name, tensor in zip(old, whole, strict=True):
            setattr(self, name, tensor.detach()[..., -self.mem_len :, :])
        self.cumulative_length += new[0].shape[-2]
        return whole

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Extend keys and values by ``[B, H, T, D]``; see ``extend``."""
        keys, values = self.extend(key_states, value_states)
        return keys, values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the length of memory and segment, and the index of their first token in the stream."""
        return self.kept + query_length, self.cumulative_length - self.kept

    def get_seq_length(self) -> int:
        """Return the number of tokens read so far, including forgotten ones."""
        return self.cumulative_length

    def get_max_length(self) -> int:
        """Return -1: the length is not limited."""
        return -1

    def reset(self) -> None:
        """Forget all tokens: the next segment starts a stream."""
        self.keys = self.values = self.states = None
        self.is_initialized = False
        self.cumulative_length = 0

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last ``-tokens_to_remove`` tokens.

        Raises:
            ValueError: a positive number, more tokens than were read, or earlier tokens were already forgotten.
        """
        removed = -tokens_to_remove
        if removed == 0:
            return
        if self.kept < self.cumulative_length:
            raise ValueError(
                f"mem_len must be at least the {self.cumulative_length} tokens read so far to crop the memory, got "
                f"{self.mem_len}. Use a larger mem_len."
            )
        if not 0 < removed <= self.kept:
            raise ValueError(f"tokens_to_remove must lie in [-{self.kept}, 0], got {tokens_to_remove}.")
        self.cumulative_length -= removed
        self._change(lambda tensor: tensor[..., : self.cumulative_length, :])

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat every stream ``repeats`` times, copies side by side."""
        self._change(lambda tensor: tensor.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the streams ``indices`` of the batch, in this order."""
        self._change(lambda tensor: tensor[indices.to(tensor.device)])

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Reorder the streams by ``beam_idx``."""
        self.batch_select_indices(beam_idx)


class MemoryCache(StreamCache):
    """The ``cache`` of a Transformer-XL: a ``MemoryLayer`` for every layer.

    ``keeps="states"`` is the memory of Dai et al.: h~ = [SG(memory), h], k = W_k h~, v = W_v h~. Every segment
    projects the old states again, with the current weights, which get a gradient from them. ``"keys"`` stores the
    projections: cheaper, and with the same result while the weights do not change. Models accept both kinds in
    training and in evaluation mode.

    Args:
        config: a configuration with ``num_hidden_layers`` and ``mem_len``.
        mem_len: another length, such as a longer one for evaluation; with ``config.same_length`` a longer one has no
            effect.
        keeps: ``"keys"`` (and values), or the ``"states"`` that attention reads.

    Raises:
        ValueError: as in ``MemoryLayer`` and ``check``.
    """

    def __init__(self, config: PreTrainedConfig, mem_len: int | None = None, keeps: str = "keys") -> None:
        self.mem_len = config.mem_len if mem_len is None else mem_len
        self.keeps = keeps
        super().__init__(layers=[MemoryLayer(self.mem_len, keeps) for _ in range(config.num_hidden_layers)])
        self.check(config)

    def check(self, config: PreTrainedConfig) -> None:
        """Raise unless the memory fits models of ``config``.

        Raises:
            ValueError: another number of layers; too few tokens for ``same_length``.
        """
        if len(self.layers) != config.num_hidden_layers:
            raise ValueError(
                f"cache must have {config.num_hidden_layers} layers, got {len(self.layers)}. Start with a new one."
            )
        if getattr(config, "same_length", False) and self.mem_len < config.mem_len - 1:
            raise ValueError(f"mem_len must be at least {config.mem_len - 1} with same_length, got {self.mem_len}.")

    def _layer(self, layer_idx: int) -> MemoryLayer:
        return self.layers[layer_idx]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append the keys and values of a segment to a layer's memory; see ``MemoryLayer.extend``."""
        return self._layer(layer_idx).update(key_states, value_states)

    def update_states(self, hidden_states: Tensor, layer_idx: int) -> Tensor:
        """Append the states of a segment, ``[B, T, width]``, to a layer's memory; see ``MemoryLayer.extend``."""
        return self._layer(layer_idx).extend(hidden_states)[0]

    def written_once(self) -> MemoryCache:
        """Return a cache that gradient checkpointing, which computes a layer twice, extends only once per segment.

        A layer extends the memory in its first forward pass. In later passes it reads the memory as it was before.
        """
        return _WrittenOnce(self)

    def _settings(self) -> dict[str, int]:
        return {"num_layers": len(self.layers), "mem_len": self.mem_len, "keeps_states": int(self.keeps == "states")}

    def _check_saved(self, tensors: Mapping[str, Tensor], tokens: int) -> None:
        names = {f"layers.{i}.{name}" for i in range(len(self.layers)) for name in MEMORY_KINDS[self.keeps]}
        check_saved_names(tensors, names, tokens)
        kept = min(tokens, self.mem_len)
        for name, tensor in tensors.items():
            if tensor.dim() < 3 or tensor.shape[-2] != kept:
                raise ValueError(f"{name} must have {kept} tokens on axis -2, got shape {tuple(tensor.shape)}.")

    def _restore(self, layer: MemoryLayer, tensors: dict[str, Tensor], tokens: int) -> None:
        layer.extend(*(tensors[name] for name in MEMORY_KINDS[self.keeps]))
        layer.cumulative_length = tokens


class _WrittenOnce(MemoryCache):
    """See ``MemoryCache.written_once``."""

    def __init__(self, memory: MemoryCache) -> None:
        Cache.__init__(self, layers=memory.layers)
        self.mem_len = memory.mem_len
        self.keeps = memory.keeps
        self._before: dict[int, MemoryLayer] = {}

    def _layer(self, layer_idx: int) -> MemoryLayer:
        # A shallow copy suffices, since a layer replaces its tensors and never writes into them.
        if layer_idx in self._before:
            return copy.copy(self._before[layer_idx])
        self._before[layer_idx] = copy.copy(self.layers[layer_idx])
        return self.layers[layer_idx]
