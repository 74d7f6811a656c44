# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Activations of both number fields (Thesis 2.8) and their registry ``ACT2CFN``.

A bounded function that is complex-differentiable everywhere is constant (Liouville), so no activation has both
properties: each docstring says which one it has, and where the activation is singular. In the real field the same
formulas apply with imaginary part 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice

__all__ = [
    "ACT2CFN",
    "Cardioid",
    "HiroseTanh",
    "HolomorphicTanh",
    "ModReLU",
    "Modulus",
    "Split",
    "SplitPReLU",
    "SquaredModulus",
    "SquaredReLU",
    "ZReLU",
    "get_activation",
]


class _Activation(nn.Module):
    """Base of activations. ``num_features`` is the stored width, needed by activations with parameters."""

    def __init__(self, num_features: int | None = None, number_field: str = "complex") -> None:
        super().__init__()
        self.num_features = num_features
        self.number_field = number_field
        self.numbers = arithmetic(number_field)

    def extra_repr(self) -> str:
        return f"number_field={self.number_field!r}"


class Split(_Activation):
    """f(re) + i f(im) for a real function f (Thesis 2.47; ComplexOrder Eq. 10).

    Domain C. Bounded exactly when f is. Not holomorphic; singular only where f is (ReLU: on the two axes).
    """

    def __init__(
        self, function: Callable[[Tensor], Tensor], num_features: int | None = None, number_field: str = "complex"
    ) -> None:
        super().__init__(num_features, number_field)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        if self.number_field == "complex":
            CF.check_halves(x)
        return self.function(x)

    def extra_repr(self) -> str:
        return f"{getattr(self.function, '__name__', self.function)}"


class SplitPReLU(_Activation):
    """PReLU of the real and the imaginary part with a learned slope a for negative values (He et al. 2015).

    Both parts of a feature share a slope; without ``num_features`` there is a single one as in ``torch.nn.PReLU``.
    Domain C, unbounded, not holomorphic; singular on the two axes. a starts at 0.25.
    """

    no_weight_decay = ("weight",)

    def __init__(self, num_features: int | None = None, number_field: str = "complex") -> None:
        super().__init__(num_features, number_field)
        slopes = 1 if num_features is None else self.numbers.num_features(num_features)
        self.weight = nn.Parameter(torch.empty(slopes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set a = 0.25."""
        torch.nn.init.constant_(self.weight, 0.25)

    def forward(self, x: Tensor) -> Tensor:
        if self.number_field == "complex":
            CF.check_halves(x)
        slopes = (self.weight if len(self.weight) == 1 else self.weight.repeat(self.numbers.num_parts)).to(x.dtype)
        return torch.where(x > 0, x, slopes * x)


class _Quotient(_Activation):
    """Base of activations with a division, which is computed in float32 or better."""

    def forward(self, x: Tensor) -> Tensor:
        wide = CF.wide(x)
        # In float16 (maximum 65504) the gradient near a singularity would overflow with the smaller floor.
        return self._quotient(wide, 1e-4 if x.dtype == torch.float16 else 1e-6).to(x.dtype)

    def _quotient(self, x: Tensor, floor: float) -> Tensor:
        """Compute the activation with denominators clamped to at least ``floor``."""
        raise NotImplementedError


class HolomorphicTanh(_Quotient):
    """tanh z = sinh z / cosh z (Thesis 2.46).

    Domain C without the poles i(pi/2 + k pi); holomorphic there, unbounded near the poles. Computed as
    (t + i s c (1 - t^2)) / (c^2 + t^2 s^2) with t = tanh re, s = sin im, c = cos im; the denominator is clamped to
    at least 1e-6 (float16: 1e-4), which bounds the value at a pole by 1e3 and changes no other value.
    """

    def _quotient(self, x: Tensor, floor: float) -> Tensor:
        if self.numbers.num_parts == 1:
            return torch.tanh(x)
        real, imag = CF.split(x)
        t, s, c = torch.tanh(real), torch.sin(imag), torch.cos(imag)
        denominator = (c.square() + (t * s).square()).clamp(min=floor)
        return CF.join(t / denominator, s * c * (1.0 - t.square()) / denominator)


class ModReLU(_Quotient):
    """ReLU(|z| + b) z / |z| with a learned real b for each feature (Thesis 2.50; Arjovsky et al. 2016).

    Domain C, unbounded, not holomorphic; keeps the phase. z / |z|, singular at 0, is computed as
    z / max(|z|, 1e-6) (float16: 1e-4), so the function and its gradient are finite everywhere. b starts at 0 (the
    identity).
    """

    def __init__(self, num_features: int | None = None, number_field: str = "complex") -> None:
        super().__init__(num_features, number_field)
        if num_features is None:
            raise ValueError("modrelu has a bias for each feature: pass num_features, the stored width of its input")
        self.bias = nn.Parameter(torch.zeros(self.numbers.num_features(num_features)))

    def reset_parameters(self) -> None:
        """Set b = 0."""
        torch.nn.init.zeros_(self.bias)

    def _quotient(self, x: Tensor, floor: float) -> Tensor:
        r = self.numbers.modulus(x)
        return self.numbers.scale(x, F.relu(r + self.bias) / r.clamp(min=floor))


class HiroseTanh(_Quotient):
    """tanh(|z| / m^2) z / |z| (Thesis 2.51; Hirose 1992), m = 1.

    Domain C, bounded by 1, not holomorphic; keeps the phase; smooth at 0, where it is z / m^2.
    """

    def __init__(self, num_features: int | None = None, number_field: str = "complex", m: float = 1.0) -> None:
        super().__init__(num_features, number_field)
        self.m = m

    def _quotient(self, x: Tensor, floor: float) -> Tensor:
        q = self.numbers.modulus(x) / self.m**2
        # Series of tanh(q) / q near 0 (error 17/315 q^6 < 1e-13), where the gradient of the quotient is NaN.
        away, square = q.clamp(min=1e-2), q.clamp(max=1e-2).square()
        near = 1.0 - square / 3.0 + 2.0 * square.square() / 15.0
        factor = torch.where(q < 1e-2, near, torch.tanh(away) / away)
        return self.numbers.scale(x, factor / self.m**2)


class Modulus(_Activation):
    """|z| with imaginary part 0 (Thesis 2.49). Domain C, unbounded, no derivative at 0 (gradient 0)."""

    def forward(self, x: Tensor) -> Tensor:
        return self.numbers.from_real(self.numbers.modulus(x))


class SquaredModulus(_Activation):
    """|z|^2 with imaginary part 0 (Thesis 2.48). Domain C, unbounded, complex-differentiable at 0 only."""

    def forward(self, x: Tensor) -> Tensor:
        return self.numbers.from_real(self.numbers.squared_modulus(x))


class Cardioid(_Quotient):
    """(1 + cos arg z) z / 2 (Virtue et al. 2017); ReLU on the real axis.

    Domain C, unbounded, not holomorphic; keeps the phase; continuous at 0, where arg z is undefined.
    """

    def _quotient(self, x: Tensor, floor: float) -> Tensor:
        r = self.numbers.modulus(x)
        cosine = self.numbers.parts(x)[0] / r.clamp(min=1e-30)  # at most 1, so no larger floor is needed
        return self.numbers.scale(x, 0.5 * (1.0 + cosine))


class ZReLU(_Activation):
    """z where re >= 0 and im >= 0, else 0 (Guberman 2016).

    Domain C, unbounded, holomorphic inside each quadrant, not continuous on the borders of the first one.
    """

    def forward(self, x: Tensor) -> Tensor:
        inside = torch.stack([part >= 0 for part in self.numbers.parts(x)]).all(dim=0)
        return self.numbers.scale(x, inside.to(x.dtype))


class SquaredReLU(_Activation):
    """re^2 + i im^2, and 0 where both parts are negative (iFairy, Wang et al. 2025); in the real field ReLU(x)^2.

    Domain C, unbounded, not holomorphic, not continuous where one part is negative and the other changes its sign.
    Squares beyond the range of the dtype saturate.
    """

    def forward(self, x: Tensor) -> Tensor:
        limit = torch.finfo(x.dtype).max ** 0.5 * 0.999
        alive = torch.stack([part >= 0 for part in self.numbers.parts(x)]).any(dim=0)
        return self.numbers.scale(x.clamp(-limit, limit).square(), alive.to(x.dtype))


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def _identity(x: Tensor) -> Tensor:
    return x


ACT2CFN: dict[str, Callable[..., nn.Module]] = {
    "identity": partial(Split, _identity),
    "split_relu": partial(Split, F.relu),
    "split_gelu": partial(Split, F.gelu),
    "split_gelu_tanh": partial(Split, _gelu_tanh),
    "split_silu": partial(Split, F.silu),
    "split_tanh": partial(Split, torch.tanh),
    "split_sigmoid": partial(Split, torch.sigmoid),
    "split_prelu": SplitPReLU,
    "tanh": HolomorphicTanh,
    "modrelu": ModReLU,
    "hirose_tanh": HiroseTanh,
    "modulus": Modulus,
    "squared_modulus": SquaredModulus,
    "cardioid": Cardioid,
    "zrelu": ZReLU,
    "relu2": SquaredReLU,
}


def get_activation(name: str, num_features: int | None = None, number_field: str = "complex") -> nn.Module:
    """Create an activation module by its name in ``ACT2CFN``; raise ValueError for an unknown name."""
    check_choice("activation", name, ACT2CFN)
    return ACT2CFN[name](num_features=num_features, number_field=number_field)
