# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Base of the caches that carry a memory along a stream and are saved in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

__all__ = ["StreamCache", "check_saved_names"]


def check_saved_names(tensors: Mapping[str, Tensor], names: set[str], tokens: int) -> None:
    """Raise unless a saved memory has the tensors ``names``, or none if it has read no tokens."""
    expected = names if tokens else set()
    if tensors.keys() != expected:
        raise ValueError(
            f"saved memory of {tokens} tokens must have the tensors {sorted(expected)}, got {sorted(tensors)}. Save "
            "it again."
        )


class StreamCache(Cache):
    """A cache that is carried from segment to segment of a stream. Its layers have a method ``tensors()``."""

    def _settings(self) -> dict[str, int]:
        """Return the settings that a saved memory must share with this one."""
        return {"num_layers": len(self.layers)}

    def _check_saved(self, tensors: Mapping[str, Tensor], tokens: int) -> None:
        """Raise unless the tensors, ``layers.<index>.<name>``, fit a memory of ``tokens`` tokens."""
        raise NotImplementedError

    def _restore(self, layer: Any, tensors: dict[str, Tensor], tokens: int) -> None:
        """Set the tensors of an empty layer that has read ``tokens`` tokens."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Tensor]:
        """Return contiguous copies of the memory's tensors by name, which safetensors can save."""
        state = {name: torch.tensor(value) for name, value in self._settings().items()}
        state["tokens_read"] = torch.tensor(self.get_seq_length())
        for index, layer in enumerate(self.layers):
            for name, tensor in layer.tensors().items():
                state[f"layers.{index}.{name}"] = tensor.detach().clone(memory_format=torch.contiguous_format)
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore the memory that ``state_dict`` returned, on the device of its tensors.

        Raises:
            KeyError: a setting is missing.
            ValueError: a memory of other settings; missing or unexpected tensors.
        """
        settings = self._settings()
        saved = {name: int(state[name]) for name in settings}
        if saved != settings:
            raise ValueError(
                f"saved memory must have the settings {settings}, got {saved}. Create the cache with the saved "
                "settings."
            )
        tokens = int(state["tokens_read"])
        tensors = {name: tensor for name, tensor in state.items() if name.startswith("layers.")}
        self._check_saved(tensors, tokens)
        self.reset()
        for index, layer in enumerate(self.layers if tokens else []):
            start = f"layers.{index}."
            layer_tensors = {
                name.removeprefix(start): value.clone() for name, value in tensors.items() if name.startswith(start)
            }
            self._restore(layer, layer_tensors, tokens)
