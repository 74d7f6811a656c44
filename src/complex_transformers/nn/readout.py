# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Output layers from complex features to real logits."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_field_choice
from .linear import ComplexLinear, RealLinear

__all__ = ["Readout"]

READOUTS: dict[str, tuple[str, ...]] = {
    "modulus": ("complex",),
    "squared_modulus": ("complex",),
    "scaled_modulus": ("complex",),
    "scaled_squared_modulus": ("complex",),
    "concat": ("complex", "real"),
    "feature_modulus": ("complex",),
    "probability_amplitude": ("complex",),
}


class Readout(nn.Module):
    """Real logits from features of either number field, ``[..., in_features] -> [..., out_features]``.

    - ``modulus``: |W z + b| with a complex W (ComplexOrder App. B "taking their norm", SynCoNMT Eq. 15), >= 0.
    - ``squared_modulus``: |W z + b|^2 (Thesis 2.52, 2.53), >= 0.
    - ``scaled_modulus``, ``scaled_squared_modulus``: s_k m_k + c_k of these moduli m with a real scale (initially 1)
      and bias (0) per logit. Without them no logit can be negative, so rare classes are hard to suppress.
    - ``probability_amplitude``: log(|W z + b|^2 + 1e-6), of any sign. Its softmax is |z_j|^2 / sum_a |z_a|^2 (Thesis
      2.37 without the 1), its sigmoid |z|^2 / (1 + |z|^2) (2.38). The sigmoid of a squared modulus is never below 1/2
      (2.52).
    - ``concat``: a real layer on the stored ``[real | imag]`` tensor; the only choice in the real field.
    - ``feature_modulus``: a real layer on the moduli |z_j| of the features.

    Args:
        in_features: stored width of the input.
        out_features: number of real logits.
        readout: one of the names above; default ``modulus``, or ``concat`` in the real field.
        number_field: ``"complex"`` or ``"real"``.
        bias: whether the projection has a bias.
    """

    no_weight_decay = ("scale",)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        readout: str | None = None,
        number_field: str = "complex",
        bias: bool = True,
    ) -> None:
        super().__init__()
        readout = ("modulus" if number_field == "complex" else "concat") if readout is None else readout
        check_readout(readout, number_field)
        self.readout = readout
        self.in_features = in_features
        self.out_features = out_features
        self.numbers = arithmetic(number_field)
        self.projection: ComplexLinear | RealLinear
        if readout == "concat":
            self.projection = RealLinear(in_features, out_features, bias)
        elif readout == "feature_modulus":
            self.projection = RealLinear(self.numbers.num_features(in_features), out_features, bias)
        else:
            self.projection = ComplexLinear(in_features, 2 * out_features, bias)
        self.scaled = readout.startswith("scaled")
        if self.scaled:
            self.scale = nn.Parameter(torch.ones(out_features))
            self.bias = nn.Parameter(torch.zeros(out_features))

    def reset_parameters(self) -> None:
        """Set scale 1 and bias 0, if present; the projection initialises itself."""
        if self.scaled:
            torch.nn.init.ones_(self.scale)
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.readout in ("concat", "feature_modulus"):  # may be wrapped by an adapter
            return self.projection(self.features(x))
        z = self.projection(x)
        if self.readout == "probability_amplitude":
            return CF.log_squared_modulus(z)
        squared = self.readout.endswith("squared_modulus")
        modulus = self.numbers.squared_modulus(z) if squared else self.numbers.modulus(z)
        return torch.addcmul(self.bias, self.scale, modulus) if self.scaled else modulus

    def features(self, x: Tensor) -> Tensor:
        """Return the input of the real layer: ``x``, or its moduli for ``feature_modulus``."""
        return self.numbers.modulus(x) if self.readout == "feature_modulus" else x

    @torch.no_grad()
    def resize(self, out_features: int, mean_resizing: bool = True) -> None:
        """Keep the first ``min(old, new)`` outputs; new ones start as the mean of the old or are drawn."""
        self.projection = resized_layer(self.projection, self.out_features, out_features, mean_resizing)
        if self.scaled:
            for name, start in (("scale", 1.0), ("bias", 0.0)):
                old = getattr(self, name)
                mean = old.mean().item() if mean_resizing else start
                new = nn.functional.pad(old.detach()[:out_features], (0, max(0, out_features - len(old))), value=mean)
                setattr(self, name, nn.Parameter(new, requires_grad=old.requires_grad))
        self.out_features = out_features

    def extra_repr(self) -> str:
        return f"readout={self.readout!r}"


def resized_layer(
    old: ComplexLinear | RealLinear, outputs: int, new_outputs: int, mean_resizing: bool
) -> ComplexLinear | RealLinear:
    """Return a layer with ``new_outputs``: the first ones copied from ``old``, new ones their mean or as drawn."""
    some = next(old.parameters())
    width = new_outputs * (old.out_features // outputs)
    new = type(old)(old.in_features, width, old.bias is not None, device=some.device, dtype=some.dtype)
    new.requires_grad_(some.requires_grad)
    kept = min(outputs, new_outputs)
    for name, parameter in old.named_parameters():
        value: Tensor = parameter.detach()
        target: Tensor = new.get_parameter(name).detach()
        if value.dim() == 1:  # a bias is [b_re | b_im]
            groups = value.shape[0] // outputs
            value, target = value.view(groups, -1).t(), target.view(groups, -1).t()
        target[:kept] = value[:kept]
        if mean_resizing:
            target[kept:] = value.mean(dim=0)
    return new


def check_readout(readout: str, number_field: str, field: str = "readout") -> None:
    """Raise unless ``readout`` is known and exists in ``number_field``; the message calls it ``field``."""
    check_field_choice(field, readout, READOUTS, number_field, ("concat",))
