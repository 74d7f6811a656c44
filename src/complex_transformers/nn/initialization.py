# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Initializers of complex and real weights.

Initializers take the parts of a weight: A and B of equal shape for a complex weight W = A + iB, one tensor for a real
weight. *Convention*: the variance of an element is E|w|^2 (mean zero), shared equally by its parts.

Random values are drawn by ``torch.nn.init`` functions, called through the module, so that Transformers' guard against
re-initialising loaded weights applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .checks import check_choice

__all__ = ["glorot_", "he_", "initialize_", "normal_", "unitary_"]


def fill_(tensor: Tensor, values: Tensor) -> None:
    """Copy ``values``, broadcast, unless Transformers has marked ``tensor`` as loaded."""
    if not getattr(tensor, "_is_hf_initialized", False):
        with torch.no_grad():
            tensor.copy_(values.expand_as(tensor))


def _fans(weight: Tensor) -> tuple[int, int]:
    receptive_field = math.prod(weight.shape[2:])
    return weight.shape[1] * receptive_field, weight.shape[0] * receptive_field


def _gaussian_(parts: tuple[Tensor, ...], variance: float) -> None:
    # A Rayleigh modulus with a uniform phase (Trabelsi et al. 2017) *is* a pair of independent normal parts.
    for part in parts:
        torch.nn.init.normal_(part, std=math.sqrt(variance / len(parts)))


def glorot_(*parts: Tensor, gain: float = 1.0) -> None:
    """Fill with variance E|w|^2 = gain^2 * 2 / (fan_in + fan_out).

    Glorot & Bengio 2010; complex: Trabelsi et al. 2017, section 3.6.
    """
    fan_in, fan_out = _fans(parts[0])
    _gaussian_(parts, gain**2 * 2.0 / (fan_in + fan_out))


def he_(*parts: Tensor, gain: float = 1.0) -> None:
    """Fill with variance E|w|^2 = gain^2 * 2 / fan_in (He et al. 2015; complex: Trabelsi et al. 2017, section 3.6)."""
    fan_in, _ = _fans(parts[0])
    _gaussian_(parts, gain**2 * 2.0 / fan_in)


def normal_(*parts: Tensor, gain: float = 1.0, std: float = 0.02) -> None:
    """Fill each *part* from N(0, (gain std)^2), so that E|w|^2 = 2 (gain std)^2 for a complex weight."""
    _gaussian_(parts, len(parts) * (gain * std) ** 2)


@torch.no_grad()
def unitary_(*parts: Tensor, gain: float = 1.0) -> None:
    """Fill with a Haar-distributed unitary W, W^H W = gain^2 I (W W^H if W is wide); orthogonal if real."""
    weight = parts[0]
    if weight.dim() != 2:
        raise ValueError(f"weight must be 2-D for 'unitary', got shape {tuple(weight.shape)}. Use another one.")
    gaussian = [torch.nn.init.normal_(torch.empty_like(part, dtype=torch.float64)) for part in parts]
    matrix = torch.complex(*gaussian) if len(parts) == 2 else gaussian[0]
    wide = matrix.shape[0] < matrix.shape[1]
    q, r = torch.linalg.qr(matrix.mH if wide else matrix)
    diagonal = r.diagonal()
    q = gain * q * (diagonal / diagonal.abs())
    q = q.mH if wide else q
    for part, value in zip(parts, (q.real, q.imag) if len(parts) == 2 else (q,), strict=True):
        fill_(part, value)


INITIALIZERS: dict[str, Callable[..., None]] = {
    "glorot": glorot_,
    "he": he_,
    "unitary": unitary_,
    "normal": normal_,
}


def initialize_(name: str, *parts: Tensor, gain: float = 1.0, **options: float) -> None:
    """Fill a weight by the initializer ``name``; raise ValueError for an unknown name."""
    check_choice("initializer", name, INITIALIZERS)
    INITIALIZERS[name](*parts, gain=gain, **options)


class Initialized(nn.Module):
    """Base of layers with a weight of one or two parts and an optional bias, filled by ``INITIALIZERS``."""

    bias: Any  # a tensor or None

    def weight_parts(self) -> tuple[Tensor, ...]:
        """Return the parts of the weight: A and B of a complex layer, the weight of a real one."""
        return (self.weight,)  # type: ignore[return-value]

    def register_bias(self, size: int | None, **options: Any) -> None:
        """Register an uninitialised bias of ``size`` elements, or None."""
        self.register_parameter("bias", None if size is None else nn.Parameter(torch.empty(size, **options)))

    def reset_parameters(self, initializer: str = "glorot", **options: float) -> None:
        """Fill the weight by an initializer (default Glorot, E|w|^2 = 2/(fan_in + fan_out)) and the bias by 0.

        ``options`` are passed to the initializer (``std`` for ``normal``).
        """
        initialize_(initializer, *self.weight_parts(), **options)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)
