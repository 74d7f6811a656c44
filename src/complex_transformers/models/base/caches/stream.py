# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What caches that are the memory of a stream share: they are saved in checkpoints, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

__all__ = ["StreamCache", "check_saved_names"]


def check_saved_names(tensors: Mapping[str, Tensor], names: set[str], tokens: int) -> None:
    """Raise unless a memory of ``tokens`` tokens has the tensors ``names``, and an empty one none."""
    expected = names if tokens else set()
    if tensors.keys() != expected:
        raise ValueError(
            f"the saved memory of {tokens} tokens should hold {sorted(expected)}, it holds {sorted(tensors)}"
        )


class StreamCache(Cache):
    """A cache that goes from segment to segment of a stream; a layer has its tensors by name in ``tensors()``."""

    def _settings(self) -> dict[str, int]:
        """What a saved memory must have in common with this one."""
        return {"num_layers": len(self.layers)}

    def _check_saved(self, tensors: Mapping[str, Tensor], tokens: int) -> None:
        """Raise for tensors, ``layers.<number>.<name>``, that no memory of ``tokens`` tokens has."""
        raise NotImplementedError

    def _restore(self, layer: Any, tensors: dict[str, Tensor], tokens: int) -> None:
        """Give an empty layer its tensors after ``tokens`` tokens."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Tensor]:
        """The memory as tensors by name, contiguous copies: what safetensors saves and ``load_state_dict`` reads."""
        state = {name: torch.tensor(value) for name, value in self._settings().items()}
        state["tokens_read"] = torch.tensor(self.get_seq_length())
        for index, layer in enumerate(self.layers):
            for name, tensor in layer.tensors().items():
                state[f"layers.{index}.{name}"] = tensor.detach().clone(memory_format=torch.contiguous_format)
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Become the memory that ``state_dict`` has saved, on the device its tensors are on.

        Raises:
            ValueError: a memory of other layers, length or kind; tensors that are missing, of no use or not finite.
        """
        kind, settings = type(self).__name__, self._settings()
        if missing := {*settings, "tokens_read"} - state.keys():
            raise ValueError(f"this is not the state of a {kind}: {sorted(missing)} missing")
        saved = {name: int(state[name]) for name in settings}
        if saved != settings:
            differing = ", ".join(f"{n}={saved[n]} (here {settings[n]})" for n in settings if saved[n] != settings[n])
            raise ValueError(f"the saved memory has {differing}; make a {kind} with the same settings")
        tokens = int(state["tokens_read"])
        tensors = {name: tensor for name, tensor in state.items() if name.startswith("layers.")}
        self._check_saved(tensors, tokens)
        for name, tensor in tensors.items():
            if not tensor.is_floating_point() or not tensor.isfinite().all():
                raise ValueError(f"{name} should hold finite floating-point numbers, it is {tensor.dtype}: {tensor}")
        self.reset()
        for index, layer in enumerate(self.layers if tokens else []):
            start = f"layers.{index}."
            own = {
                name.removeprefix(start): value.clone() for name, value in tensors.items() if name.startswith(start)
            }
            self._restore(layer, own, tokens)
