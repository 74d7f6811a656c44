# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Load the C++ operators of Mamba-3, decide when they run, and call the operators of one step.

``kernels.state_space`` calls the operators of whole sequences.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from ..accelerator import switch
from ..dispatch import is_transformed
from .build import BuildError, compile_operators

__all__ = ["can_take", "load", "may_run", "product", "step"]

_PLAIN = (Tensor, nn.Parameter)


@cache
def load() -> bool:
    """Compile and load the operators; return False, with one warning, if that is impossible."""
    try:
        torch.ops.load_library(str(compile_operators("state_space")))
    except (BuildError, OSError) as error:
        warnings.warn(
            f"Mamba-3 computes in plain PyTorch, which is slower than its CPU kernels: {error}. "
            "CT_KERNELS=0 hides this warning.",
            stacklevel=2,
        )
        return False
    torch.library.register_fake("complex_transformers::vector_product", _fake_product)
    torch.library.register_fake("complex_transformers::state_space_step", _fake_step)
    return True


def _fake_product(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.shape[0])


def _fake_step(
    projected: Tensor, angle: Tensor | None, ssm: Tensor, key: Tensor, value: Tensor, *others: Any
) -> tuple[Tensor, ...]:
    out = value.new_empty(value.shape[0], 1, value.shape[1])
    angle = ssm.new_empty(ssm.shape[0], 0, dtype=torch.float64) if angle is None else angle
    return out, *(state.new_empty(state.shape) for state in (angle, ssm, key, value))


def may_run(*tensors: Tensor | None, angle: Tensor | None = None) -> bool:
    """Return whether the kernels of one step take these tensors: see ``can_take``, and no gradients.

    ``angle`` may have another dtype.
    """
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (*tensors, angle)):
        return False
    return can_take(*tensors)


def can_take(*tensors: Tensor | None) -> bool:
    """Return whether the kernels take these tensors: float32 on the CPU, not empty, not compiled, no transforms."""
    if torch.compiler.is_compiling() or not switch._enabled or is_transformed() or torch.jit.is_tracing():
        return False
    given = [x for x in tensors if x is not None]
    if any(type(x) not in _PLAIN or x.dtype != torch.float32 or not (x.is_cpu and x.numel()) for x in given):
        return False
    return load()


def product(x: Tensor, weight: Tensor) -> Tensor:
    """Compute W x, ``[..., out]``, of a single vector ``[..., in]``."""
    out: Tensor = torch.ops.complex_transformers.vector_product.default(x, weight)
    return out


def step(
    projected: Tensor,
    states: Mapping[str, Tensor],
    parameters: Sequence[Tensor | None],
    groups: int,
    floor: float,
    eps: float,
    is_softplus: bool,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the gated output ``[B, 1, H P]`` of one step and the states after it, by name.

    Args:
        projected: z, x, B, C, dt, a, lambda and angles, ``[B, 1, width]``.
        states: "angle" ``[B, H S]`` if states rotate, "ssm" ``[B, H P N]``, "key" ``[B, H R N]`` and "value"
            ``[B, H P]``. New angles are float64.
        parameters: dt_bias ``[H]``, B_bias and C_bias ``[H, R, N]``, D ``[H]``, the gains of the norms of B, C ``[N]``
            and the output ``[H P]`` or None, and mimo_x, mimo_z and mimo_o ``[H, R, P]`` or None.
        groups: groups of heads that share B and C.
        floor: smallest -A.
        eps: of the norms.
        is_softplus: whether -A = softplus(a) instead of the heavy tail.
    """
    angle = states["angle"].double() if "angle" in states else None
    given = projected, angle, states["ssm"], states["key"], states["value"], *parameters
    operator = torch.ops.complex_transformers.state_space_step.default
    out, *last = operator(*given, groups, floor, eps, is_softplus)
    return out, dict(zip(("angle", "ssm", "key", "value"), last, strict=True))
