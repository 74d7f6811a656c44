# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense layers that read the conjugate: W conj(z), and U z + V conj(z), which is every real matrix on halves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice, check_positive
from .initialization import fill_, initialize_
from .linear import ComplexLinear, RealLinear, is_hooked, is_plain

__all__ = ["ConjugateLinear", "WidelyLinear", "drop_conjugate", "folded", "linear_layer"]


class ConjugateLinear(ComplexLinear):
    """Complex dense layer of the conjugate: W conj(z) + b (iFairy, Wang et al. 2025).

    The parts are A re + B im and B re - A im. Parameters, sub-layers and errors are those of ``ComplexLinear``.
    """

    def forward(self, x: Tensor) -> Tensor:
        """``[..., in_features] -> [..., out_features]`` halves."""
        self.check_width(x)
        return super().forward(CF.conj(x))


class WidelyLinear(ComplexLinear):
    """Widely linear layer: U z + V conj(z) + b, every real-linear map of complex numbers (Picinbono & Chevalier 1995).

    U = A + iB are the sub-layers ``real`` and ``imag``, V = C + iD are ``conj_real`` and ``conj_imag``; the bias is
    one real vector ``[b_re | b_im]``. On halves it is the real matrix [[A + C, D - B], [B + D, A - C]]: it has as
    many weights as ``nn.Linear(in_features, out_features)``, its functions and, computed as that one product
    (``functional.widely_linear``), its cost. Sub-layers that have been replaced or hooked are called instead.

    Args:
        in_features: width of the stored input tensor, ``[..., in_features]`` halves (twice the complex features).
        out_features: width of the stored output.
        bias: add b.

    Raises:
        ValueError: a width is odd or not positive.
    """

    more_parts = ("conj_real", "conj_imag")
    # The real matrix, for as long as `folded` says that no weight changes.
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
        """Those of A, B, C and D."""
        return tuple(getattr(self, name) for name in ("real", "imag", *self.more_parts))

    @property
    def is_plain(self) -> bool:
        """Whether the layer is what its weights say: no sub-layer has been replaced or hooked."""
        return all(is_plain(layer) for layer in self.sublayers)

    def weight_parts(self) -> tuple[Tensor, ...]:
        """A, B, C and D."""
        return tuple(layer.weight for layer in self.sublayers)  # type: ignore[misc]

    def real_matrix(self) -> Tensor:
        """The matrix of the layer on halves, ``[out_features, in_features]``."""
        return CF.widely_matrix(*self.weight_parts())

    def reset_parameters(self, initializer: str = "glorot", **options: float) -> None:
        """Fill the parts so that the real matrix is drawn as that of a real layer; b = 0."""
        parts = self.weight_parts()
        rows, columns = parts[0].shape
        matrix = parts[0].new_empty(2 * rows, 2 * columns)
        initialize_(initializer, matrix, **options)
        for part, value in zip(parts, CF.widely_parts(matrix), strict=True):
            fill_(part, value)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., in_features] -> [..., out_features]`` halves."""
        self.check_width(x)
        if self.matrix is not None and not torch.is_grad_enabled():
            return CF.real_linear(x, self.matrix, self.bias)
        if self.is_plain:
            return CF.widely_linear(x, self.weight_parts(), self.bias)
        return CF.sublayer_widely_linear(x, self.sublayers, self.bias)

    @classmethod
    @torch.no_grad()
    def from_real(cls, linear: nn.Linear) -> Self:
        """The layer that computes what a real layer does on halves; exact to rounding.

        With the blocks [[R11, R12], [R21, R22]] of its matrix: U = ((R11 + R22) + i (R21 - R12)) / 2 and
        V = ((R11 - R22) + i (R21 + R12)) / 2.

        Raises:
            TypeError: another layer than an ``nn.Linear``, whose weight does not say all that it computes.
            ValueError: a width of ``linear`` is odd, or it is hooked.
        """
        if not isinstance(linear, nn.Linear) or type(linear).forward is not nn.Linear.forward:
            raise TypeError(
                f"from_real() reads the weight and bias of an nn.Linear, and a {type(linear).__name__} computes "
                "something else: merge adapters first (merge_and_unload)"
            )
        if is_hooked(linear):
            raise ValueError("from_real() reads the weight and bias, and the layer is hooked: remove its hooks first")
        weight, bias = linear.weight, linear.bias
        check_positive(in_features=linear.in_features, out_features=linear.out_features)
        options = {"bias": bias is not None, "device": weight.device, "dtype": weight.dtype}
        layer = skip_init(cls, linear.in_features, linear.out_features, **options)
        for part, value in zip(layer.weight_parts(), CF.widely_parts(weight), strict=True):
            part.copy_(value)
        if bias is not None:
            layer.bias.copy_(bias)
        return layer.requires_grad_(weight.requires_grad)

    @torch.no_grad()
    def to_real(self) -> nn.Linear:
        """The real layer that computes what this one does; the inverse of ``from_real``, exact to rounding.

        Raises:
            ValueError: a sub-layer has been replaced or hooked.
        """
        if not self.is_plain:
            raise ValueError(
                "to_real() reads the weights, and a sub-layer of this layer has been replaced or hooked: undo that "
                "first, merge_and_unload() for adapters"
            )
        weight = self.real.weight
        options = {"bias": self.bias is not None, "device": weight.device, "dtype": weight.dtype}
        linear = skip_init(nn.Linear, self.in_features, self.out_features, **options)
        linear.weight.copy_(self.real_matrix())
        if self.bias is not None:
            linear.bias.copy_(self.bias)
        return linear.requires_grad_(weight.requires_grad)

    def to_complex(self) -> ComplexLinear:
        """The layer U z + b, of the same sub-layers and bias: this one without V."""
        layer = ComplexLinear(self.in_features, self.out_features, self.bias is not None, device="meta")
        layer.real, layer.imag, layer.bias = self.real, self.imag, self.bias
        return layer.train(self.training)


def drop_conjugate(module: nn.Module, names: Iterable[str]) -> None:
    """Replace the ``WidelyLinear`` layers of these names by their ``to_complex``.

    Raises:
        ValueError: ``module`` has no widely linear layer of such a name.
    """
    layers = {name: layer for name, layer in module.named_modules() if isinstance(layer, WidelyLinear)}
    if unknown := sorted(set(names) - layers.keys()):
        raise ValueError(f"no widely linear layer is called {unknown}; there are: {', '.join(layers) or 'none'}")
    for name in names:
        module.set_submodule(name, layers[name].to_complex())


@contextmanager
def folded(module: nn.Module) -> Iterator[None]:
    """Within it the plain ``WidelyLinear`` layers of ``module`` keep their real matrices: no weight may change.

    For decoding, where a step has few rows: each then costs what the real layer costs. The matrices take as much
    memory as the weights.
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
    check_choice("linear_type", linear_type, LINEAR_TYPES)
    arithmetic(number_field)
    if (linear_type == "real") == (number_field == "real"):
        return
    if number_field == "real":
        raise ValueError(
            f"linear_type={linear_type!r} needs number_field='complex'; the real field has linear_type='real'"
        )
    raise ValueError(
        "linear_type='real' needs number_field='real'; the complex field has linear_type='complex', 'conjugate' and "
        "'widely_linear', the last of which is every real matrix"
    )


def linear_layer(linear_type: str | None, number_field: str) -> type[nn.Module]:
    """The class of a dense layer, by default the plain one of the field: W z, W conj(z), U z + V conj(z), or real.

    Raises:
        ValueError: an unknown name, or one that ``number_field`` does not have.
    """
    linear_type = number_field if linear_type is None else linear_type
    check_linear_type(linear_type, number_field)
    return LINEAR_TYPES[linear_type]
