# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense layers of the conjugate: W conj(z), and U z + V conj(z), which can be any real matrix on halves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from . import functional as CF
from .checks import check_field_choice
from .initialization import fill_, initialize_
from .linear import ComplexLinear, RealLinear, check_plain, check_width, is_hooked, is_plain

__all__ = ["ConjugateLinear", "WidelyLinear", "drop_conjugate", "folded", "linear_layer"]


class ConjugateLinear(ComplexLinear):
    """Complex dense layer of the conjugate: W conj(z) + b (iFairy, Wang et al. 2025).

    The parts are A re + B im and B re - A im. Arguments, sub-layers and errors as in ``ComplexLinear``.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(CF.conj(x))


class WidelyLinear(ComplexLinear):
    """Widely linear layer: U z + V conj(z) + b, the general real-linear map of C^n (Picinbono & Chevalier 1995).

    The sub-layers ``real`` and ``imag`` are U = A + iB, ``conj_real`` and ``conj_imag`` are V = C + iD; the bias is
    one real vector ``[b_re | b_im]``. On halves it is the real matrix [[A + C, D - B], [B + D, A - C]]. It therefore
    has as many parameters as ``nn.Linear(in_features, out_features)``, can compute the same functions and, as one
    product (``functional.widely_linear``), costs the same. Sub-layers that have been replaced or hooked are called.

    Args:
        in_features: stored width of the input, ``[..., in_features]`` halves (twice the complex features).
        out_features: stored width of the output.
        bias: add b.

    Raises:
        ValueError: a width is odd.
    """

    more_parts = ("conj_real", "conj_imag")
    # The real matrix, cached within `folded`.
    matrix: Tensor | None = None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)

    @property
    def sublayers(self) -> tuple[nn.Module, ...]:
        """The sub-layers of A, B, C and D."""
        return tuple(getattr(self, name) for name in ("real", "imag", *self.more_parts))

    @property
    def is_plain(self) -> bool:
        """Whether no sub-layer has been replaced or hooked."""
        return all(is_plain(layer) for layer in self.sublayers)

    def weight_parts(self) -> tuple[Tensor, ...]:
        """Return A, B, C and D."""
        return tuple(layer.weight for layer in self.sublayers)  # type: ignore[misc]

    def real_matrix(self) -> Tensor:
        """Return the real matrix of the layer on halves, ``[out_features, in_features]``."""
        return CF.widely_matrix(*self.weight_parts())

    def reset_parameters(self, initializer: str = "glorot", **options: float) -> None:
        """Draw the real matrix as the weight of a real layer and split it into the parts; b = 0."""
        parts = self.weight_parts()
        rows, columns = parts[0].shape
        matrix = parts[0].new_empty(2 * rows, 2 * columns)
        initialize_(initializer, matrix, **options)
        for part, value in zip(parts, CF.widely_parts(matrix), strict=True):
            fill_(part, value)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        check_width(x, self.in_features)
        if self.matrix is not None and not torch.is_grad_enabled():
            return CF.real_linear(x, self.matrix, self.bias)
        if self.is_plain:
            return CF.widely_linear(x, self.weight_parts(), self.bias)
        return CF.sublayer_widely_linear(x, self.sublayers, self.bias)

    @classmethod
    @torch.no_grad()
    def from_real(cls, linear: nn.Linear) -> Self:
        """Return the layer with the function of a real layer on halves; exact to rounding.

        With the blocks [[R11, R12], [R21, R22]] of its matrix: U = ((R11 + R22) + i (R21 - R12)) / 2 and
        V = ((R11 - R22) + i (R21 + R12)) / 2.

        Raises:
            TypeError: ``linear`` is hooked or not an ``nn.Linear``, so its weight does not define its output.
            ValueError: a width of ``linear`` is odd.
        """
        if not isinstance(linear, nn.Linear) or type(linear).forward is not nn.Linear.forward or is_hooked(linear):
            raise TypeError(
                f"linear must be an nn.Linear without hooks, got {type(linear).__name__}. Remove hooks and merge "
                "adapters first (merge_and_unload())."
            )
        weight, bias = linear.weight, linear.bias
        options = {"bias": bias is not None, "device": weight.device, "dtype": weight.dtype}
        layer = skip_init(cls, linear.in_features, linear.out_features, **options)
        for part, value in zip(layer.weight_parts(), CF.widely_parts(weight), strict=True):
            part.copy_(value)
        if bias is not None:
            layer.bias.copy_(bias)
        return layer.requires_grad_(weight.requires_grad)

    @torch.no_grad()
    def to_real(self) -> nn.Linear:
        """Return the real layer with the same function; the inverse of ``from_real``, exact to rounding.

        Raises:
            ValueError: a sub-layer has been replaced or hooked.
        """
        check_plain(self.sublayers, "to_real()")
        weight = self.real.weight
        options = {"bias": self.bias is not None, "device": weight.device, "dtype": weight.dtype}
        linear = skip_init(nn.Linear, self.in_features, self.out_features, **options)
        linear.weight.copy_(self.real_matrix())
        if self.bias is not None:
            linear.bias.copy_(self.bias)
        return linear.requires_grad_(weight.requires_grad)

    def to_complex(self) -> ComplexLinear:
        """Return the layer U z + b, without V; it shares sub-layers and bias."""
        layer = ComplexLinear(self.in_features, self.out_features, self.bias is not None, device="meta")
        layer.real, layer.imag, layer.bias = self.real, self.imag, self.bias
        return layer.train(self.training)


def drop_conjugate(module: nn.Module, names: Iterable[str]) -> None:
    """Replace the named ``WidelyLinear`` layers of ``module`` by their ``to_complex()``.

    Raises:
        ValueError: ``module`` has no widely linear layer of such a name.
    """
    layers = {name: layer for name, layer in module.named_modules() if isinstance(layer, WidelyLinear)}
    if unknown := sorted(set(names) - layers.keys()):
        raise ValueError(f"names must be widely linear layers, got {unknown}. Use {', '.join(layers) or 'none'}.")
    for name in names:
        module.set_submodule(name, layers[name].to_complex())


@contextmanager
def folded(module: nn.Module) -> Iterator[None]:
    """Cache the real matrices of the plain ``WidelyLinear`` layers of ``module``; weights must not change inside.

    Use it for decoding: a step with few rows then costs as much as with real layers. The matrices take as much memory
    as the weights.
    """
    layers = [m for m in module.modules() if isinstance(m, WidelyLinear) and m.matrix is None and m.is_plain]
    with torch.no_grad():
        for layer in layers:
            layer.matrix = layer.real_matrix()
    try:
        yield
    finally:
        for layer in layers:
            layer.matrix = None


LINEAR_TYPES: dict[str, type[nn.Module]] = {
    "complex": ComplexLinear,
    "conjugate": ConjugateLinear,
    "widely_linear": WidelyLinear,
    "real": RealLinear,
}


def check_linear_type(linear_type: str, number_field: str) -> None:
    """Raise unless ``linear_type`` is known and exists in ``number_field``."""
    check_field_choice("linear_type", linear_type, LINEAR_TYPES, number_field, ("real",))
    if linear_type == "real" and number_field == "complex":
        raise ValueError("linear_type must not be 'real' in the complex field, got 'real'. Use 'widely_linear'.")


def linear_layer(linear_type: str | None, number_field: str) -> type[nn.Module]:
    """Return the class of a dense layer: W z, W conj(z), U z + V conj(z), or real; default by field.

    Raises:
        ValueError: ``linear_type`` is unknown or does not exist in ``number_field``.
    """
    linear_type = number_field if linear_type is None else linear_type
    check_linear_type(linear_type, number_field)
    return LINEAR_TYPES[linear_type]
