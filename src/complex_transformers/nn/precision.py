# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parameters and statistics that stay in float32 whatever the dtype of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

__all__ = ["FullPrecision"]


class FullPrecision(nn.Module):
    """Base of layers whose ``full_precision`` tensors stay in float32 or better under casts of the module.

    Frequencies are multiplied by positions: in bfloat16 a phase would be off by multiples of 2 pi after a few hundred
    tokens. ``to(dtype)``, ``half()`` and ``bfloat16()`` therefore keep these tensors and their gradients in float32 or
    better. Create them in ``full_precision_dtype``, which also holds under a narrow default dtype.
    """

    full_precision: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def full_precision_dtype() -> torch.dtype:
        """Return the default dtype, or float32 if it is narrower."""
        return torch.promote_types(torch.get_default_dtype(), torch.float32)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        tensors = [getattr(self, name, None) for name in self.full_precision]
        kept = {id(value) for t in tensors if t is not None for value in (t, t.grad) if value is not None}

        def convert(value: Tensor) -> Tensor:
            result = fn(value)
            if id(value) not in kept or not result.is_floating_point() or torch.finfo(result.dtype).bits >= 32:
                return result
            return value.to(result.device, torch.float32)

        if recurse:
            for child in self.children():
                child._apply(fn)
        return super()._apply(convert, recurse=False)
