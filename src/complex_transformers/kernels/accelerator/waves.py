# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder embedding as a Triton kernel: which tables are supported, the call, and the gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..dispatch import gradients_with_graph, run
from ..waves import wave_phase
from . import switch
from .switch import may_run

__all__ = ["KernelWaves", "takes_waves", "waves"]

TILE = (16, 64)  # tokens, features


def takes_waves(
    ids: Tensor, positions: Tensor | None, amplitude: Tensor, frequency: Tensor | None, phase: Tensor | None
) -> bool:
    """Return whether the kernel supports these inputs of ``waves``; its sums are not deterministic."""
    angles = [table for table in (frequency, phase) if table is not None]
    if not may_run(amplitude) or not angles or not may_run(*angles) or torch.are_deterministic_algorithms_enabled():
        return False
    if angles[0].dtype != torch.float32 or angles[0].device != amplitude.device or not ids.numel():
        return False
    numbers = [ids] if positions is None else [ids, positions]
    return all(x.device == amplitude.device and x.dtype in (torch.int32, torch.int64) for x in numbers)


def waves(
    ids: Tensor,
    positions: Tensor | None,
    amplitude: Tensor,
    frequency: Tensor | None,
    phase: Tensor | None,
    shape: tuple[int, int],
    padding_idx: int | None = None,
) -> Tensor:
    """Compute r exp(i (omega pos + theta)) for token ids ``[B, N]``: halves ``[B, N, 2d]``.

    Args:
        ids: token ids.
        positions: ``[B, N]``, or broadcastable to it; None without frequencies.
        amplitude: r, a table ``[V, d]``, ``[1, d]`` if shared by all tokens or ``[V, 1]`` if shared by all features.
        frequency: omega in rad per position, likewise; None for 0.
        phase: theta in rad, likewise; None for 0.
        shape: V and d.
        padding_idx: id whose amplitude has no gradient.
    """
    positions = ids if positions is None else positions.expand(ids.shape)
    if amplitude.shape[0] == 1:  # shared by all tokens
        padding_idx = None
    return run(KernelWaves, amplitude, frequency, phase, ids, positions, shape, padding_idx)


def _plain(
    amplitude: Tensor,
    frequency: Tensor | None,
    phase: Tensor | None,
    ids: Tensor,
    positions: Tensor,
    shape: tuple[int, int],
    padding_idx: int | None,
) -> tuple[Tensor]:
    """Compute the same with differentiable operations."""
    size = F.embedding(ids, amplitude.expand(shape), padding_idx).float()
    angle = torch.zeros_like(size)
    if frequency is not None:
        angle = angle + wave_phase(F.embedding(ids, frequency.expand(shape)), positions)
    if phase is not None:
        angle = angle + F.embedding(ids, phase.expand(shape))
    return (torch.cat([size * angle.cos(), size * angle.sin()], dim=-1).to(amplitude.dtype),)


class _Call:
    """Arguments common to both kernels, and a launch with them."""

    def __init__(self, tables: list[Tensor | None], ids: Tensor, positions: Tensor, shape: tuple[int, int]) -> None:
        self.ids, self.positions = ids.contiguous(), positions.contiguous()
        self.shape = shape
        self.has = [table is not None for table in tables]
        first = tables[0]
        assert first is not None
        self.tables = [first if table is None else table for table in tables]
        self.shared = [(table.shape[0] > 1, table.shape[1] > 1) for table in self.tables]

    def launch(self, kernel: Any, others: list[Tensor], *numbers: int, **constants: bool) -> None:
        """Run ``kernel`` on the tables and ``others``, for every token and feature."""
        tokens, width = self.ids.numel(), self.shape[1]
        strides = [tuple(table.expand(self.shape).stride()) for table in self.tables]
        t, d = TILE
        switch.launch(
            kernel,
            (-(-tokens // t), -(-width // d)),
            self.ids,
            self.positions,
            *self.tables,
            *others,
            *strides,
            tokens,
            width,
            self.shape[0],
            *numbers,
            F=self.has[1],
            P=self.has[2],
            T=t,
            D=d,
            **constants,
        )


class KernelWaves(torch.autograd.Function):
    """ComplexOrder embedding ``[B, N, 2d]``; gradients of the tables accumulate in float32 whatever their dtype."""

    @staticmethod
    def forward(
        amplitude: Tensor,
        frequency: Tensor | None,
        phase: Tensor | None,
        ids: Tensor,
        positions: Tensor,
        shape: tuple[int, int],
        padding_idx: int | None,
    ) -> Tensor:
        from . import wave_kernels as kernels

        out = amplitude.new_empty(*ids.shape, 2 * shape[1])
        _Call([amplitude, frequency, phase], ids, positions, shape).launch(kernels.forward, [out])
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.shape, ctx.padding_idx = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        *tables, ids, positions = ctx.saved_tensors
        needed = ctx.needs_input_grad
        if torch.is_grad_enabled():  # create_graph=True
            given = (*tables, ids, positions, ctx.shape, ctx.padding_idx)
            return gradients_with_graph(_plain, given, needed, (grad,))
        from . import wave_kernels as kernels

        call = _Call(tables, ids, positions, ctx.shape)
        grads = [torch.zeros(table.shape, dtype=torch.float32, device=grad.device) for table in call.tables]
        names = ("A_WORD", "A_FEATURE", "F_WORD", "F_FEATURE", "P_WORD", "P_FEATURE")
        flags = dict(zip(names, (flag for pair in call.shared for flag in pair), strict=True))
        padding = -1 if ctx.padding_idx is None else ctx.padding_idx
        call.launch(kernels.backward, [grad.contiguous(), *grads], padding, **flags)
        found = (g.to(t.dtype) if has else None for g, t, has in zip(grads, call.tables, call.has, strict=True))
        return *found, None, None, None, None
