# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA layers of PEFT for complex layers: the update of a complex weight is a complex matrix of low rank."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from peft.tuners.lora import LoraConfig
from peft.tuners.lora.layer import Linear
from peft.tuners.lora.variants import ALoraLinearVariant
from peft.tuners.tuners_utils import check_adapters_to_merge
from torch import Tensor, nn

from ..nn import (
    ComplexLinear,
    ConjugateLinear,
    PackedLinear,
    RealInputLinear,
    RoundedLinear,
    WidelyLinear,
    functional as CF,
)

__all__ = ["ComplexLora", "WidelyLora", "lora_layer"]


class WidelyLora(Linear):
    """LoRA on a widely linear layer: its real matrix on halves gets a real update of rank r."""

    @property
    def lora_variants(self) -> dict[tuple[str, ...], Any]:
        """Plain and activated LoRA; the other variants of PEFT read or scale a weight matrix."""
        return {(): None, ("alora_invocation_tokens",): ALoraLinearVariant}

    def _get_in_out_features(self, module: nn.Module) -> tuple[int, int]:
        return module.in_features, module.out_features  # type: ignore[return-value]

    def _get_base_layer_device_and_dtype(self, base_layer: nn.Module) -> tuple[torch.device, torch.dtype]:
        weight: Tensor = base_layer.qweight if isinstance(base_layer, PackedLinear) else base_layer.real.weight  # type: ignore
        return weight.device, weight.dtype

    def update_layer(self, adapter_name: str, r: int, lora_alpha: int, config: LoraConfig, **kwargs: Any) -> None:
        """Add an adapter, as in PEFT.

        Raises:
            ValueError: an initialisation that decomposes the weight matrix.
        """
        if isinstance(config.init_lora_weights, str) and config.init_lora_weights != "gaussian":
            raise ValueError(
                "init_lora_weights must be True, False or 'gaussian' for complex layers, got "
                f"{config.init_lora_weights!r}. Use it with target_modules=['real', 'imag']."
            )
        super().update_layer(adapter_name, r, lora_alpha=lora_alpha, config=config, **kwargs)

    def delta_parts(self, adapter: str) -> tuple[Tensor, ...]:
        """Return the update of each real matrix that the layer stores."""
        return CF.widely_parts(self.get_delta_weight(adapter))

    def merge(self, safe_merge: bool = False, adapter_names: list[str] | None = None) -> None:
        """Add the updates of the active adapters, or of these, to the weights.

        Raises:
            ValueError: the weights are packed or quantized; with ``safe_merge``, a result is not finite.
        """
        for adapter in check_adapters_to_merge(self, adapter_names):
            if adapter in self.lora_A:
                self._add(adapter, 1.0, safe_merge)
                self.merged_adapters.append(adapter)

    def unmerge(self) -> None:
        """Subtract the updates of the merged adapters from the weights."""
        while self.merged_adapters:
            self._add(self.merged_adapters.pop(), -1.0)

    @torch.no_grad()
    def _add(self, adapter: str, sign: float, safe: bool = False) -> None:
        layer = self.get_base_layer()
        if adapter in self.lora_variant:
            self.lora_variant[adapter].merge_unsafe(self, adapter, None)  # raises: an activated adapter cannot merge
        _check_float(layer)
        updates = list(zip(layer.weight_parts(), self.delta_parts(adapter), strict=True))
        if self.lora_bias[adapter]:
            updates.append((layer.bias, self.scaling[adapter] * self.lora_B[adapter].bias))
        merged = [(old, old + sign * update.to(old.dtype)) for old, update in updates]
        if safe and not all(new.isfinite().all() for _, new in merged):
            raise ValueError(f"adapter {adapter!r} must give finite weights, got NaN or infinity. Do not merge it.")
        for old, new in merged:
            old.copy_(new)


class ComplexLora(WidelyLora):
    """LoRA on a complex layer: W + (alpha / r) B A with complex factors A ``[r, in / 2]`` and B ``[out / 2, r]``.

    The factors are stored like PEFT's real factors, ``[r, in]`` and ``[out, r]``, with halves along ``in`` and
    ``out``. The adapter has as many parameters as LoRA on an ``nn.Linear`` of the same stored widths.
    """

    def update_layer(self, adapter_name: str, r: int, lora_alpha: int, config: LoraConfig, **kwargs: Any) -> None:
        """Add an adapter, as in PEFT.

        Raises:
            ValueError: see ``WidelyLora``; the layer shares its parts.
        """
        layer = self.get_base_layer()
        if getattr(layer, "share_parts", False):
            raise ValueError("target_modules must be ['real'] with share_parts=True, got the layer itself.")
        super().update_layer(adapter_name, r, lora_alpha, config, **kwargs)
        self.lora_A[adapter_name] = _with_parameters(_down(layer), self.lora_A[adapter_name])
        self.lora_B[adapter_name] = _with_parameters(_Up, self.lora_B[adapter_name])

    def get_delta_weight(self, adapter: str) -> Tensor:
        """Return the update of W as a complex tensor ``[out / 2, in / 2]``."""
        down = torch.complex(*CF.wide(self.lora_A[adapter].weight).chunk(2, dim=1))
        up = torch.complex(*CF.wide(self.lora_B[adapter].weight).chunk(2, dim=0))
        return self.scaling[adapter] * up @ down

    def delta_parts(self, adapter: str) -> tuple[Tensor, ...]:
        """Return the updates of A and B of the weight A + iB."""
        delta = self.get_delta_weight(adapter)
        return delta.real, delta.imag


class _Down(nn.Linear):
    """The factor A: maps halves of width ``in_features`` to ``out_features`` complex features, as halves."""

    def forward(self, x: Tensor) -> Tensor:
        return CF.linear(x, *self.weight.chunk(2, dim=1))


class _ConjugateDown(_Down):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(CF.conj(x))


class _RealDown(_Down):
    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, torch.cat(self.weight.chunk(2, dim=1)))


class _Up(nn.Linear):
    """The factor B: maps ``in_features`` complex features, as halves, to halves of width ``out_features``."""

    def forward(self, x: Tensor) -> Tensor:
        real, imag = self.weight.chunk(2, dim=0)
        return CF.linear(x, real, imag, self.bias)


def _down(layer: nn.Module) -> type[_Down]:
    if isinstance(layer, ConjugateLinear) or getattr(layer, "linear_type", None) == "conjugate":
        return _ConjugateDown
    return _RealDown if isinstance(layer, RealInputLinear) else _Down


def _with_parameters(kind: type[nn.Linear], linear: nn.Linear) -> nn.Linear:
    """Return a layer of another kind that has the parameters of ``linear``."""
    layer = kind(linear.in_features, linear.out_features, bias=False, device="meta")
    layer.weight, layer.bias = linear.weight, linear.bias
    return layer


def _check_float(layer: nn.Module) -> None:
    """Raise unless the weights of a layer are floating-point parameters that an update can be added to."""
    packed = isinstance(layer, (PackedLinear, RoundedLinear))
    if packed or any(type(sublayer) is not nn.Linear for sublayer in layer.children()):
        raise ValueError(
            f"weights must be floating-point to merge, got a quantized {type(layer).__name__}. Call "
            "model.get_base_model().dequantize() first."
        )


def lora_layer(target: nn.Module, adapter_name: str, config: LoraConfig, **kwargs: Any) -> WidelyLora:
    """Return the LoRA layer of a ``ComplexLinear`` or ``PackedLinear``, as PEFT's custom-module hook calls for it."""
    widely = isinstance(target, WidelyLinear) or getattr(target, "linear_type", None) == "widely_linear"
    layer_class = WidelyLora if widely else ComplexLora
    return layer_class(target, adapter_name, config=config, **kwargs)


CUSTOM_MODULES = {ComplexLinear: lora_layer, PackedLinear: lora_layer}
