# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Diagonal linear recurrences: the causal Z-transform along a sequence and the linear recurrent unit (LRU).

Z_t(a) = sum_{s <= t} a^{t-s} x_s is the Z-transform of the sequence so far (Thesis 4.8, along tokens instead of
features). As a recurrence it is h_t = a h_{t-1} + x_t, a diagonal linear state space model: the linear recurrent unit
of Orvieto et al. (ICML 2023). a = exp(-exp(damping) + i frequency) always lies inside the unit circle.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ...kernels.diagonal_scan import diagonal_scan, exported_diagonal_scan
from ...kernels.exporting import is_exporting
from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..checks import check_choice, check_shape
from ..dropout import ComplexDropout
from ..initialization import fill_
from ..linear import ComplexLinear, RealLinear
from ..normalization import ComplexLayerNorm
from ..padding_order import real_first, reorder
from ..precision import FullPrecision
from .step_loop import check_sequence

__all__ = ["DiagonalRecurrence", "LinearRecurrentBlock"]

RECURRENCE_FREQUENCIES = ("uniform", "harmonic")
# Outside of this range the damping is infinite in float32 or its gradient 0.
SMALLEST_MODULUS, LARGEST_MODULUS = 1e-15, 1.0 - 1e-6


def check_moduli(min_modulus: float, max_modulus: float) -> None:
    """Raise unless moduli in this range give a stable, trainable recurrence in float32."""
    if not SMALLEST_MODULUS <= min_modulus <= max_modulus <= LARGEST_MODULUS:
        valid = f"{SMALLEST_MODULUS} <= min_modulus <= max_modulus <= {LARGEST_MODULUS}"
        raise ValueError(f"moduli must be positive, with {valid}, got {min_modulus} and {max_modulus}")


class DiagonalRecurrence(FullPrecision):
    """h_t = a h_{t-1} + gamma x_t for each feature, gamma = sqrt(1 - |a|^2) (Orvieto et al. 2023, Eq. 5 and 7).

    ``[N, B, width] -> [N, B, width]``. a = exp(-exp(damping) + i frequency), |a| < 1, with ``damping`` and
    ``frequency`` (rad per step) learned; gamma keeps the variance of white input. Here gamma is always computed from
    a; the paper only initialises it so and learns it. In the real field a lies in (0, 1), without frequencies. States
    and both parameters are float32 or better whatever the dtype of the model.

    Args:
        num_features: stored width.
        number_field: ``"complex"`` or ``"real"``.
        min_modulus, max_modulus: range of the initial |a|; |a|^2 is uniform between their squares.
        frequency_init: ``uniform`` in [0, 2 pi) (Orvieto et al.), or ``harmonic``, 2 pi k / d for feature k, the
            points of a DFT of length d.
        batch_first: whether input and output are ``[B, N, width]``.

    Raises:
        ValueError: an odd width, moduli that are not 1e-15 <= min <= max <= 1 - 1e-6, an unknown name, a state or mask
            of another shape.
    """

    full_precision = no_weight_decay = ("damping", "frequency")

    def __init__(
        self,
        num_features: int,
        number_field: str = "complex",
        min_modulus: float = 0.5,
        max_modulus: float = 0.99,
        frequency_init: str = "uniform",
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        check_moduli(min_modulus, max_modulus)
        check_choice("frequency_init", frequency_init, RECURRENCE_FREQUENCIES)
        size = arithmetic(number_field).num_features(num_features)
        self.num_features = num_features
        self.number_field = number_field
        self.min_modulus = min_modulus
        self.max_modulus = max_modulus
        self.frequency_init = frequency_init
        self.batch_first = batch_first
        is_complex = number_field == "complex"
        self.damping = nn.Parameter(torch.empty(size, dtype=self.full_precision_dtype()))
        self.frequency = nn.Parameter(torch.empty(size, dtype=self.full_precision_dtype())) if is_complex else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw a uniformly on the ring between the two moduli, frequencies by ``frequency_init``."""
        squares = torch.empty_like(self.damping).uniform_(self.min_modulus**2, self.max_modulus**2)
        fill_(self.damping, torch.log(-0.5 * torch.log(squares)))
        if self.frequency is None:
            return
        if self.frequency_init == "uniform":
            torch.nn.init.uniform_(self.frequency, 0.0, 2.0 * math.pi)
        else:
            k = torch.arange(self.frequency.numel(), device=self.frequency.device)
            fill_(self.frequency, 2.0 * math.pi * k / self.frequency.numel())

    def _rate(self) -> Tensor:
        """Compute -log |a|, clamped to where |a| and the gradient of gamma are finite (at least 3e-7)."""
        return torch.exp(self.damping.clamp(-15.0, 15.0))

    def factor(self) -> Tensor:
        """Compute a ``[d]``, complex or real."""
        modulus = torch.exp(-self._rate())
        return modulus if self.frequency is None else torch.polar(modulus, self.frequency)

    def _factor_parts(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Compute the parts of a, for ONNX, which has no complex dtype."""
        modulus = torch.exp(-self._rate())
        angles = () if self.frequency is None else (self.frequency.cos(), self.frequency.sin())
        return tuple((modulus * part).to(dtype) for part in angles) or (modulus.to(dtype),)

    def forward(self, x: Tensor, state: Tensor | None = None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Compute all states and the last one.

        Args:
            x: ``[N, B, width]``, or ``[B, N, width]`` with ``batch_first``.
            state: initial state ``[B, width]``, default zeros.
            mask: ``[N, B]`` (``[B, N]``), true for real steps; others keep the state and output zeros.

        Returns:
            The states in the shape and dtype of ``x``, and the last ones, ``[B, width]``, float32 or better.
        """
        check_sequence(x, self.num_features, mask, self.batch_first)
        if self.batch_first:
            x, mask = x.transpose(0, 1), None if mask is None else mask.transpose(0, 1)
        if state is None:
            state = CF.wide(x.new_zeros(x.shape[1:]))
        check_shape("state", state, x.shape[1:])
        if not state.is_floating_point():
            CF.check_halves(state)
        with torch.autocast(x.device.type, enabled=False):
            states, last = self._masked_scan(CF.wide(x), CF.wide(state), mask)
        out = CF.narrow(states, x.dtype)
        return out.transpose(0, 1) if self.batch_first else out, last

    def _masked_scan(self, x: Tensor, state: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Scan the real steps of each row as one sequence and put the states back in place."""
        if mask is None:
            states = self._scan(x, state)
            return states, states[-1]
        keep = mask.to(torch.bool)
        order, back = real_first(keep, 0)
        states = self._scan(reorder(x.masked_fill(~keep.unsqueeze(-1), 0.0), order, 0), state)
        last = torch.cat([state.unsqueeze(0), states])[keep.sum(0), torch.arange(state.shape[0], device=x.device)]
        return reorder(states, back, 0).masked_fill(~keep.unsqueeze(-1), 0.0), last

    def _scan(self, x: Tensor, state: Tensor) -> Tensor:
        gain = torch.sqrt(-torch.expm1(-2.0 * self._rate()))
        if is_exporting():
            return exported_diagonal_scan(x, gain.to(x.dtype), self._factor_parts(x.dtype), state)
        a = self.factor()
        a = a.to(x.dtype.to_complex() if a.is_complex() else x.dtype)
        return diagonal_scan(x, gain.to(x.dtype), a, state)

    def extra_repr(self) -> str:
        return f"{self.num_features}, number_field={self.number_field!r}, frequency_init={self.frequency_init!r}"


class LinearRecurrentBlock(nn.Module):
    """Residual block of norm, input projection, linear recurrence, gated linear unit and dropout.

    x + dropout((W h + c) sigmoid(Re(V h) + b)) with h_t = a h_{t-1} + gamma B norm(x)_t (LRU, Orvieto et al. 2023,
    Eq. 5 to 7 and Fig. 1). W combines the paper's output matrix C and its gated linear unit; the residual connection
    takes the place of D. The gate is real in both fields and scales both parts.

    Args:
        input_size: stored width of x.
        hidden_size: stored width of the states h.
        dropout: probability; both parts of a complex feature are zeroed together.
        layer_norm_eps: eps of the norm.
        number_field, min_modulus, max_modulus, batch_first: as in ``DiagonalRecurrence``.

    Raises:
        ValueError: as in ``DiagonalRecurrence``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        dropout: float = 0.0,
        layer_norm_eps: float = 1e-5,
        number_field: str = "complex",
        min_modulus: float = 0.5,
        max_modulus: float = 0.99,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        is_complex = number_field == "complex"
        linear = ComplexLinear if is_complex else RealLinear
        self.numbers = arithmetic(number_field)
        self.norm = (ComplexLayerNorm if is_complex else nn.LayerNorm)(input_size, eps=layer_norm_eps)
        self.input_proj = linear(input_size, hidden_size, bias=False)
        self.recurrence = DiagonalRecurrence(
            hidden_size, number_field, min_modulus, max_modulus, batch_first=batch_first
        )
        self.output_proj = linear(hidden_size, input_size)
        self.gate = RealLinear(hidden_size, self.numbers.num_features(input_size))
        self.dropout = (ComplexDropout if is_complex else nn.Dropout)(dropout)

    def forward(self, x: Tensor, state: Tensor | None = None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the output and the last state ``[B, hidden_size]``; arguments as in ``DiagonalRecurrence``."""
        h, last = self.recurrence(self.input_proj(self.norm(x)), state, mask)
        return x + self.dropout(self.numbers.scale(self.output_proj(h), torch.sigmoid(self.gate(h)))), last
