# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Gates of complex recurrent layers and the activations of their states, in both number fields.

Numbers of a step have their parts on axis 1: ``[B, 2, ...]``, in the real field ``[B, 1, ...]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..activation import get_activation
from ..arithmetic import arithmetic
from ..checks import check_choice

__all__ = ["GATES", "STATE_ACTIVATIONS", "default_gate"]


def _real_part(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    return real


def _projection(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    assert weight is not None
    return weight[0] * real + weight[1] * imag


def _squared_modulus(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    # A square that overflows is harmless: the sigmoid of infinity is 1, and its gradient 0.
    return torch.addcmul(real.square(), imag, imag)


def _biased_modulus(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    assert weight is not None
    return _squared_modulus(real, imag, weight) + weight[0]


def _amplitude(square: Tensor) -> Tensor:
    """Psi = s / (1 + s) of s = |z|^2 (Thesis 2.38)."""
    square = square.clamp(max=torch.finfo(square.dtype).max / 2)
    return square / (1.0 + square)


# A real gate reads one real number from the parts of z, and squashes it: by a sigmoid, or as said below.
READINGS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "real_part": _real_part,
    "projected": _projection,
    "modulus": _squared_modulus,
    "biased_modulus": _biased_modulus,
    "amplitude": _squared_modulus,
}
SQUASHINGS: dict[str, Callable[[Tensor], Tensor]] = {"amplitude": _amplitude}
# Readings that are linear in z: the fused scan takes them as rows of its product.
LINEAR_READINGS = ("real_part", "projected")
# Numbers that a gate learns for each unit -> how many, and where they start.
LEARNED_READINGS = {"projected": (2, math.sqrt(0.5)), "biased_modulus": (1, -1.0)}
GATES = (*READINGS, "split")
GATED_CELLS = ("lstm", "gru")
DEFAULT_GATE = "projected"  # docs/decisions/0004-gates.md


class GateWeights(nn.Module):
    """What the gates of each layer and direction learn besides the products: ``[numbers, gates, d]``.

    Not ``nn.ParameterList``, which is not called: weights that are offloaded come back at a call.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        super().__init__()
        for index, weight in enumerate(weights):
            self.register_parameter(str(index), nn.Parameter(weight))

    def forward(self, index: int) -> Tensor:
        """Those of one layer and direction."""
        weight: Tensor = getattr(self, str(index))
        return weight


def real_gate(gate: str, parts: tuple[Tensor, Tensor], weight: Tensor | None) -> Tensor:
    """The gate in [0, 1] of both parts of z, in the shape of one."""
    return SQUASHINGS.get(gate, torch.sigmoid)(READINGS[gate](*parts, weight))


def _by_registry(name: str) -> Callable[[Tensor], Tensor]:
    """The activation of ``ACT2CFN`` with this name, on numbers with their parts on axis 1."""
    of_field = {parts: get_activation(name, number_field=field) for parts, field in ((1, "real"), (2, "complex"))}

    def activation(z: Tensor) -> Tensor:
        return of_field[z.shape[1]](z.flatten(1)).view_as(z)

    return activation


# Every continuous activation without parameters; those that look at single numbers are called as they are.
_MODULI = ("hirose_tanh", "tanh", "modulus", "squared_modulus", "cardioid")
_SPLIT = ("split_sigmoid", "split_gelu", "split_silu")
STATE_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "split_tanh": torch.tanh,
    "split_relu": F.relu,
    "identity": lambda z: z,
    **{name: _by_registry(name) for name in (*_MODULI, *_SPLIT)},
}
# With these no state can grow by more than a step's worth.
BOUNDED = ("split_tanh", "hirose_tanh", "split_sigmoid")


def check_recurrent(gate: str, activation: str, number_field: str = "complex") -> None:
    """Raise unless the gate and the activation of the states are known and exist in ``number_field``."""
    check_choice("gate", gate, GATES)
    check_choice("activation", activation, STATE_ACTIVATIONS)
    arithmetic(number_field)
    if number_field == "real" and gate != "split":
        raise ValueError(
            f"gate={gate!r} needs number_field='complex'; the gates of a real network are sigmoids: gate='split'"
        )


def default_gate(rnn_type: str, number_field: str = "complex") -> str:
    """The gate of a cell where none is asked for; ``split`` where nothing is complex or gated."""
    return DEFAULT_GATE if rnn_type in GATED_CELLS and number_field == "complex" else "split"


def check_cell(rnn_type: str, gate: str, activation: str, number_field: str = "complex") -> None:
    """As ``check_recurrent``, and raise for a gate of a cell that has none."""
    check_recurrent(gate, activation, number_field)
    if rnn_type not in GATED_CELLS and gate != "split":
        raise ValueError(f"gate={gate!r} has no effect with rnn_type={rnn_type!r}; leave it at 'split'")


def times(gate: Tensor, z: Tensor) -> Tensor:
    """Product of a gate, complex ``[B, 2, d]`` or real ``[B, 1, d]``, and numbers ``[B, parts, d]``."""
    if gate.shape[1] == 1:
        return gate * z
    (a, b), (c, d) = gate.unbind(1), z.unbind(1)
    return torch.stack([torch.addcmul(a * c, b, d, value=-1.0), torch.addcmul(a * d, b, c)], dim=1)
