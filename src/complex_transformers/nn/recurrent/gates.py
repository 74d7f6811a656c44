# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Gates of complex recurrent layers and the activations of their states, in both number fields.

Within a step, the real and imaginary parts are on axis 1: ``[B, 2, ...]``, in the real field ``[B, 1, ...]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..activation import get_activation
from ..checks import check_choice, check_field_choice

__all__ = ["GATES", "STATE_ACTIVATIONS", "default_gate"]


def _real_part(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    return real


def _projection(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    assert weight is not None
    return weight[0] * real + weight[1] * imag


def _squared_modulus(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    # Overflow is harmless: the sigmoid of infinity is 1 with gradient 0.
    return torch.addcmul(real.square(), imag, imag)


def _biased_modulus(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    assert weight is not None
    return _squared_modulus(real, imag, weight) + weight[0]


def _amplitude(square: Tensor) -> Tensor:
    """Compute Psi = s / (1 + s) of s = |z|^2 (Thesis 2.38)."""
    square = square.clamp(max=torch.finfo(square.dtype).max / 2)
    return square / (1.0 + square)


# A real gate computes one real value from the parts of z and squashes it, by a sigmoid unless SQUASHINGS has another.
READINGS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "real_part": _real_part,
    "projected": _projection,
    "modulus": _squared_modulus,
    "biased_modulus": _biased_modulus,
    "amplitude": _squared_modulus,
}
SQUASHINGS: dict[str, Callable[[Tensor], Tensor]] = {"amplitude": _amplitude}
# Readings that are linear in z, so that the fused scan can fold them into its weight matrix.
LINEAR_READINGS = ("real_part", "projected")
# Learned parameters per unit of a gate: their count and initial value.
LEARNED_READINGS = {"projected": (2, math.sqrt(0.5)), "biased_modulus": (1, -1.0)}
GATES = (*READINGS, "split")
GATED_CELLS = ("lstm", "gru")
DEFAULT_GATE = "projected"  # docs/decisions/0004-gates.md


class GateWeights(nn.Module):
    """Learned parameters of the gates of each layer and direction, ``[count, gates, d]``.

    Not an ``nn.ParameterList``, because offloaded weights are only loaded when a module is called.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        super().__init__()
        for index, weight in enumerate(weights):
            self.register_parameter(str(index), nn.Parameter(weight))

    def forward(self, index: int) -> Tensor:
        """Return the parameters of one layer and direction."""
        weight: Tensor = getattr(self, str(index))
        return weight


def real_gate(gate: str, parts: tuple[Tensor, Tensor], weight: Tensor | None) -> Tensor:
    """Compute a gate in [0, 1] from the two parts of z; it has the shape of one part."""
    return SQUASHINGS.get(gate, torch.sigmoid)(READINGS[gate](*parts, weight))


def _by_registry(name: str) -> Callable[[Tensor], Tensor]:
    """Return the activation ``name`` of ``ACT2CFN`` for inputs with their parts on axis 1."""
    by_parts = {parts: get_activation(name, number_field=field) for parts, field in ((1, "real"), (2, "complex"))}

    def activation(z: Tensor) -> Tensor:
        return by_parts[z.shape[1]](z.flatten(1)).view_as(z)

    return activation


# Every continuous activation without parameters; element-wise real functions need no wrapper.
_MODULI = ("hirose_tanh", "tanh", "modulus", "squared_modulus", "cardioid")
_SPLIT = ("split_sigmoid", "split_gelu", "split_silu")
STATE_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "split_tanh": torch.tanh,
    "split_relu": F.relu,
    "identity": lambda z: z,
    **{name: _by_registry(name) for name in (*_MODULI, *_SPLIT)},
}
# Bounded activations, with which a state grows by a bounded amount per step.
BOUNDED = ("split_tanh", "hirose_tanh", "split_sigmoid")


def check_recurrent(gate: str, activation: str, number_field: str = "complex") -> None:
    """Raise unless ``gate`` and ``activation`` are known and exist in ``number_field``."""
    check_field_choice("gate", gate, GATES, number_field, ("split",))
    check_choice("activation", activation, STATE_ACTIVATIONS)


def default_gate(rnn_type: str, number_field: str = "complex") -> str:
    """Return the default gate of a cell; ``split`` in the real field and for cells without gates."""
    return DEFAULT_GATE if rnn_type in GATED_CELLS and number_field == "complex" else "split"


def check_cell(rnn_type: str, gate: str, activation: str, number_field: str = "complex") -> None:
    """Check as ``check_recurrent``, and raise for a gate of a cell without gates."""
    check_recurrent(gate, activation, number_field)
    if rnn_type not in GATED_CELLS and gate != "split":
        raise ValueError(f"gate must be 'split' with rnn_type={rnn_type!r}, got {gate!r}")


def times(gate: Tensor, z: Tensor) -> Tensor:
    """Multiply a gate, complex ``[B, 2, d]`` or real ``[B, 1, d]``, with a state ``[B, parts, d]``."""
    if gate.shape[1] == 1:
        return gate * z
    (a, b), (c, d) = gate.unbind(1), z.unbind(1)
    return torch.stack([torch.addcmul(a * c, b, d, value=-1.0), torch.addcmul(a * d, b, c)], dim=1)
