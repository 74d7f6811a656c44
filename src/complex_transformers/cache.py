# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Caches beside those of Transformers: the memory of a stream read in segments, the state of a recurrent decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

__all__ = ["MemoryCache", "MemoryLayer", "RecurrentCache", "RecurrentStateLayer"]


class MemoryLayer(CacheLayerMixin):
    """Keys and values of the last ``mem_len`` tokens, ``[B, H, kept, D]``, without their gradients.

    What Dai et al. (ACL 2019, section 3.2) write SG(h): later segments read the memory, no gradient flows back into
    it. Kept are keys and values as they were computed, not the hidden states they came from: reading them costs
    nothing, and the weights that made them get their gradient from the segment they belong to.

    Args:
        mem_len: number of tokens that are kept, 1 or more.

    Raises:
        ValueError: ``mem_len`` below 1.
    """

    is_sliding = False
    supports_early_init = False
    keys: Tensor | None
    values: Tensor | None

    def __init__(self, mem_len: int) -> None:
        super().__init__()
        if mem_len < 1:
            raise ValueError(f"mem_len must be 1 or more, got {mem_len}; without a memory, pass use_cache=False")
        self.mem_len = mem_len
        self.cumulative_length = 0

    @property
    def kept(self) -> int:
        """Tokens in the memory."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """An empty memory of the dtype and on the device of the first keys and values."""
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = key_states.detach()[..., :0, :]
        self.values = value_states.detach()[..., :0, :]
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The memory followed by a segment ``[B, H, T, D]``; the end of both becomes the memory.

        Raises:
            ValueError: a batch of another size than the memory's.
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None  # lazy_initialization has made both
        assert self.values is not None
        if self.kept and self.keys.shape[0] != key_states.shape[0]:
            raise ValueError(
                f"the memory holds {self.keys.shape[0]} streams, the segment {key_states.shape[0]}: pass all streams "
                "in their order, keep those that go on with batch_select_indices, or begin with a new memory"
            )
        keys = torch.cat([self.keys, key_states], dim=-2)
        values = torch.cat([self.values, value_states], dim=-2)
        self.cumulative_length += key_states.shape[-2]
        self.keys = keys.detach()[..., -self.mem_len :, :]
        self.values = values.detach()[..., -self.mem_len :, :]
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
        self.keys = self.values = None
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
        assert self.keys is not None
        assert self.values is not None
        self.cumulative_length -= removed
        self.keys = self.keys[..., : self.cumulative_length, :]
        self.values = self.values[..., : self.cumulative_length, :]

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Every stream ``repeats`` times, copies side by side."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.repeat_interleave(repeats, dim=0)
            self.values = self.values.repeat_interleave(repeats, dim=0)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the streams ``indices`` of the batch, in this order."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys[indices]
            self.values = self.values[indices]


class MemoryCache(Cache):
    """A ``MemoryLayer`` for every layer of a model: the ``past_key_values`` of a Transformer-XL.

    Args:
        config: a configuration with ``num_hidden_layers`` and ``mem_len``.
        mem_len: another length, for instance a longer one for evaluation.

    Raises:
        ValueError: ``mem_len`` below 1.
    """

    def __init__(self, config: PreTrainedConfig, mem_len: int | None = None) -> None:
        length = config.mem_len if mem_len is None else mem_len
        super().__init__(layers=[MemoryLayer(length) for _ in range(config.num_hidden_layers)])


class RecurrentStateLayer(CacheLayerMixin):
    """The state of one recurrent layer after the tokens read so far: of one size however many they are.

    ``states`` belong to a text and move with the beams. ``source`` holds what follows from the source alone, such as
    its projected states: all beams of a source have the same, as they have the same ``encoder_outputs``, which
    ``generate`` does not reorder either. The first axis of all is the batch.
    """

    is_sliding = False
    supports_early_init = False

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[str, Tensor] = {}
        self.source: dict[str, Tensor] = {}
        self.cumulative_length = 0

    def advance(self, num_new_tokens: int, **states: Tensor) -> None:
        """Replace ``states`` by those after ``num_new_tokens`` more tokens."""
        self.states.update(states)
        self.cumulative_length += num_new_tokens
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do: states come with ``advance``."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Not for this layer, which has no keys and values.

        Raises:
            TypeError: always.
        """
        raise TypeError("a recurrent state has no keys and values: use advance(num_new_tokens, **states)")

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length of the tokens read and the new ones, and the place of the first."""
        return self.cumulative_length + query_length, 0

    def get_seq_length(self) -> int:
        """Tokens read so far."""
        return self.cumulative_length

    def get_max_length(self) -> int:
        """-1: a text may be as long as it likes."""
        return -1

    def reset(self) -> None:
        """Forget everything."""
        self.states, self.source = {}, {}
        self.cumulative_length = 0
        self.is_initialized = False

    def crop(self, tokens_to_remove: int) -> None:
        """Nothing, for 0 tokens.

        Raises:
            ValueError: any other number: a state does not say what it was before.
        """
        if tokens_to_remove != 0:
            raise ValueError("a recurrent state cannot be rolled back; begin again with a new cache")

    def _of_batch(self, change: Callable[[Tensor], Tensor], source: bool = True) -> None:
        self.states = {name: change(value) for name, value in self.states.items()}
        if source:
            self.source = {name: change(value) for name, value in self.source.items()}

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take the states of the beams ``beam_idx``; each stays with its source."""
        self._of_batch(lambda value: value.index_select(0, beam_idx.to(value.device)), source=False)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Every text ``repeats`` times, copies side by side."""
        self._of_batch(lambda value: value.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the texts ``indices`` of the batch, in this order."""
        self._of_batch(lambda value: value[indices.to(value.device)])

    def offload(self) -> None:
        """Move everything to the CPU."""
        self._of_batch(lambda value: value.to("cpu", non_blocking=True))

    def prefetch(self) -> None:
        """Nothing: states follow the device of the next step."""


class RecurrentCache(Cache):
    """A ``RecurrentStateLayer`` for every layer of a recurrent decoder.

    Args:
        config: a configuration with ``decoder_layers``.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(layers=[RecurrentStateLayer() for _ in range(config.decoder_layers)])
