# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Caches beside those of Transformers: the memory of a stream that is read in segments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

from .stream import StreamCache, check_saved_names

__all__ = ["MEMORY_KINDS", "MemoryCache", "MemoryLayer"]

# What a memory keeps -> the tensors that hold it, each [batch, ..., tokens, features].
MEMORY_KINDS = {"keys": ("keys", "values"), "states": ("states",)}


class MemoryLayer(CacheLayerMixin):
    """What one layer keeps of the last ``mem_len`` tokens, without its gradients: SG(h) of Dai et al. (section 3.2).

    Args:
        mem_len: number of tokens that are kept, 1 or more.
        keeps: ``"keys"`` and values ``[B, H, kept, D]``, or the ``"states"`` they come from, ``[B, kept, width]``;
            see ``MemoryCache``.

    Raises:
        TypeError: ``mem_len`` that is no integer.
        ValueError: ``mem_len`` below 1, an unknown kind.
    """

    is_sliding = False
    supports_early_init = False
    keys: Tensor | None
    values: Tensor | None

    def __init__(self, mem_len: int, keeps: str = "keys") -> None:
        super().__init__()
        if not isinstance(mem_len, int):
            raise TypeError(f"mem_len must be an integer, got {mem_len!r}")
        if mem_len < 1:
            raise ValueError(f"mem_len must be 1 or more, got {mem_len}; without a memory, pass use_cache=False")
        if keeps not in MEMORY_KINDS:
            raise ValueError(f"keeps must be one of {sorted(MEMORY_KINDS)}, got {keeps!r}")
        self.mem_len = mem_len
        self.keeps = keeps
        self.states: Tensor | None = None
        self.cumulative_length = 0

    def tensors(self) -> dict[str, Tensor]:
        """What is kept, by name; nothing before the first segment."""
        return {name: getattr(self, name) for name in MEMORY_KINDS[self.keeps]} if self.is_initialized else {}

    def _change(self, change: Callable[[Tensor], Tensor]) -> None:
        for name, tensor in self.tensors().items():
            setattr(self, name, change(tensor))

    @property
    def kept(self) -> int:
        """Tokens in the memory."""
        return next((tensor.shape[-2] for tensor in self.tensors().values()), 0)

    def lazy_initialization(self, *new: Tensor) -> None:
        """An empty memory of the dtype and on the device of the first segment."""
        self.dtype, self.device = new[0].dtype, new[0].device
        for name, tensor in zip(MEMORY_KINDS[self.keeps], new, strict=True):
            setattr(self, name, tensor.detach()[..., :0, :])
        self.is_initialized = True

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        """The memory followed by a segment, for each tensor that is kept; the end of it becomes the memory.

        Raises:
            ValueError: other tensors than are kept, a batch of another size or other features than the memory's.
        """
        if len(new) != len(MEMORY_KINDS[self.keeps]):
            raise ValueError(
                f"this memory keeps {self.keeps!r}: give it {' and '.join(MEMORY_KINDS[self.keeps])}, got "
                f"{len(new)} tensors; MemoryCache(config, keeps=...) says what is kept"
            )
        if not self.is_initialized:
            self.lazy_initialization(*new)
        old = self.tensors()
        kept, segment = ((*tensor.shape[:-2], tensor.shape[-1]) for tensor in (next(iter(old.values())), new[0]))
        if self.kept and kept[0] != segment[0]:
            raise ValueError(
                f"the memory holds {kept[0]} streams, the segment {segment[0]}: pass all streams "
                "in their order, keep those that go on with batch_select_indices, or begin with a new memory"
            )
        if self.kept and kept != segment:
            raise ValueError(
                f"the memory holds {kept[1:]} features of a token, the segment {segment[1:]}: it is that of another "
                "model; begin with a new memory"
            )
        whole = tuple(torch.cat(pair, dim=-2) for pair in zip(old.values(), new, strict=True))
        for name, tensor in zip(old, whole, strict=True):
            setattr(self, name, tensor.detach()[..., -self.mem_len :, :])
        self.cumulative_length += new[0].shape[-2]
        return whole

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """``extend`` of keys and values ``[B, H, T, D]``."""
        keys, values = self.extend(key_states, value_states)
        return keys, values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length of memory and segment, and the place of the first of these tokens in the stream."""
        return self.kept + query_length, self.cumulative_length - self.kept

    def get_seq_length(self) -> int:
        """All tokens read so far, kept or forgotten."""
        return self.cumulative_length

    def get_max_length(self) -> int:
        """-1: a stream may be as long as it likes."""
        return -1

    def reset(self) -> None:
        """Forget everything: the next segment begins a stream."""
        self.keys = self.values = self.states = None
        self.is_initialized = False
        self.cumulative_length = 0

    def crop(self, tokens_to_remove: int) -> None:
        """Take back the last ``-tokens_to_remove`` tokens.

        Raises:
            ValueError: a positive number, more than were read, or tokens were forgotten that would be needed again.
        """
        removed = -tokens_to_remove
        if removed < 0:
            raise ValueError(f"give the tokens to remove as a negative number, got {tokens_to_remove}")
        if removed == 0:
            return
        if self.kept < self.cumulative_length:
            raise ValueError(
                f"the memory of {self.mem_len} tokens has forgotten {self.cumulative_length - self.kept} of "
                f"{self.cumulative_length} and cannot be rolled back; use a longer mem_len"
            )
        if removed > self.kept:
            raise ValueError(f"cannot remove {removed} tokens from a memory of {self.kept}")
        self.cumulative_length -= removed
        self._change(lambda tensor: tensor[..., : self.cumulative_length, :])

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Every stream ``repeats`` times, copies side by side."""
        self._change(lambda tensor: tensor.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the streams ``indices`` of the batch, in this order."""
        self._change(lambda tensor: tensor[indices.to(tensor.device)])

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """The streams in the order of a beam search."""
        self.batch_select_indices(beam_idx)


class MemoryCache(StreamCache):
    """A ``MemoryLayer`` for every layer of a model: the ``cache`` of a Transformer-XL.

    ``keeps="states"`` is the memory of Dai et al.: h~ = [SG(memory), h], k = W_k h~, v = W_v h~. Every segment
    projects the old states again, by today's weights, which get a gradient from what they make of them. ``"keys"``
    keeps the projections: cheaper, and the same numbers while the weights stay as they are. Either can be given to a
    model in training and in evaluation.

    Args:
        config: a configuration with ``num_hidden_layers`` and ``mem_len``.
        mem_len: another length, for instance a longer one for evaluation; with ``config.same_length`` a longer one
            changes nothing.
        keeps: ``"keys"`` (and values), or the ``"states"`` that attention sees.

    Raises:
        TypeError, ValueError: as in ``MemoryLayer``; a memory that ``check`` refuses.
    """

    def __init__(self, config: PreTrainedConfig, mem_len: int | None = None, keeps: str = "keys") -> None:
        self.mem_len = config.mem_len if mem_len is None else mem_len
        self.keeps = keeps
        super().__init__(layers=[MemoryLayer(self.mem_len, keeps) for _ in range(config.num_hidden_layers)])
        self.check(config)

    def check(self, config: PreTrainedConfig) -> None:
        """Raise unless it is a memory for models of ``config``.

        Raises:
            ValueError: other layers; fewer tokens than each token has to see with ``same_length``.
        """
        if len(self.layers) != config.num_hidden_layers:
            raise ValueError(
                f"the memory has {len(self.layers)} layers, the model {config.num_hidden_layers}: it is that of "
                "another model; begin with a new memory"
            )
        if getattr(config, "same_length", False) and self.mem_len < config.mem_len - 1:
            raise ValueError(
                f"with same_length=True every token sees the {config.mem_len - 1} tokens before it, and with a memory "
                f"of mem_len={self.mem_len} results would depend on how the stream is cut: keep {config.mem_len - 1} "
                "or more"
            )

    def _layer(self, layer_idx: int) -> MemoryLayer:
        return self.layers[layer_idx]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of the memory followed by those of a segment; their end becomes the memory."""
        return self._layer(layer_idx).update(key_states, value_states)

    def update_states(self, hidden_states: Tensor, layer_idx: int) -> Tensor:
        """The states of the memory followed by those of a segment ``[B, T, width]``; their end becomes the memory."""
        return self._layer(layer_idx).extend(hidden_states)[0]

    def written_once(self) -> MemoryCache:
        """This memory for a segment whose layers may be computed twice, as gradient checkpointing does.

        The first time a layer is computed it extends the memory; whenever else, it sees what it saw that time.
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
                raise ValueError(f"{name} should hold {kept} tokens on axis -2, its shape is {tuple(tensor.shape)}")

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
        # A layer replaces its tensors and never writes into them: a shallow copy stays as it is.
        if layer_idx in self._before:
            return copy.copy(self._before[layer_idx])
        self._before[layer_idx] = copy.copy(self.layers[layer_idx])
        return self.layers[layer_idx]
