# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Caches beside those of Transformers: the state of recurrent layers that write a text token by token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import CacheLayerMixin

from .stream import StreamCache

__all__ = ["RecurrentCache", "RecurrentStateLayer", "stored_sizes"]


def stored_sizes(states: Mapping[str, Tensor]) -> dict[str, int]:
    """The stored width of every state of a layer by its name, as ``state_sizes`` of a configuration has them."""
    return {name: state.shape[-1] for name, state in states.items()}


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

    def tensors(self) -> dict[str, Tensor]:
        """The states by name; nothing before the first token."""
        return self.states

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


class RecurrentCache(StreamCache):
    """A ``RecurrentStateLayer`` for every layer of a recurrent decoder, or of a recurrent language model.

    Args:
        config: a configuration with ``decoder_layers``, or with ``num_hidden_layers``. A saved memory must have the
            states of its ``state_sizes``, where it says them.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        layers = getattr(config, "decoder_layers", None) or config.num_hidden_layers
        super().__init__(layers=[RecurrentStateLayer() for _ in range(layers)])
        self.state_sizes: list[dict[str, int]] | None = getattr(config, "state_sizes", None)

    def _check_saved(self, tensors: Mapping[str, Tensor], tokens: int) -> None:
        layers = {name.split(".")[1] for name in tensors}
        if layers != ({str(index) for index in range(len(self.layers))} if tokens else set()):
            raise ValueError(
                f"the saved memory of {tokens} tokens should hold states of {len(self.layers)} layers, it holds "
                f"{sorted(tensors)}"
            )
        for index, sizes in enumerate((self.state_sizes or []) if tokens else []):
            start = f"layers.{index}."
            states = {name.removeprefix(start): state for name, state in tensors.items() if name.startswith(start)}
            if (found := stored_sizes(states)) != sizes:
                raise ValueError(
                    f"the saved memory should hold the states {sizes} of layer {index}, name and width, it holds "
                    f"{found}: it is that of another model"
                )

    def _restore(self, layer: RecurrentStateLayer, tensors: dict[str, Tensor], tokens: int) -> None:
        layer.advance(tokens, **tensors)
