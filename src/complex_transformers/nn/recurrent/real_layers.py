# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of the real field: ``torch.nn`` layers with masks and the initializers of the complex layers."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ...kernels.dispatch import is_transformed
from ...kernels.exporting import is_exporting
from ..initialization import initialize_
from ..padding_order import real_first, reorder
from .gates import check_recurrent
from .step_loop import (
    GRUSteps,
    LSTMSteps,
    Product,
    RNNSteps,
    Stepwise,
    added,
    check_sequence,
    gate_rows,
)

__all__ = ["RealGRU", "RealLSTM", "RealRNN"]


# State activations that a ``torch.nn`` layer supports -> their name in ``torch.nn``.
_TANH = {"split_tanh": "tanh", "hirose_tanh": "tanh", "tanh": "tanh"}  # equal on real values
_TORCH_ACTIVATIONS = {"rnn": {**_TANH, "split_relu": "relu"}, "lstm": _TANH, "gru": _TANH}


class _RealRecurrent(Stepwise):
    """A ``torch.nn`` layer with the signature, masks and initializers of its complex counterpart.

    State activations that torch does not support run step by step.
    """

    number_field = "real"
    kind: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        gate: str = "split",
        activation: str = "split_tanh",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_recurrent(gate, activation, "real")
        options: dict[str, Any] = {"bias": bias, "batch_first": batch_first, "dropout": dropout}
        of_torch = _TORCH_ACTIVATIONS[self.kind]
        if self.kind == "rnn":
            options["nonlinearity"] = of_torch.get(activation, "tanh")
        super().__init__(
            input_size, hidden_size, num_layers, bidirectional=bidirectional, device=device, dtype=dtype, **options
        )
        self.gate = gate
        self.activation = activation
        self.is_torch = activation in of_torch

    def reset_parameters(self) -> None:
        """Draw input weights of each gate by Glorot, recurrent weights of each gate orthogonal; biases are 0."""
        for name, parameter in self.named_parameters():
            if name.startswith("bias"):
                torch.nn.init.zeros_(parameter)
                continue
            for gate in gate_rows(parameter, self.num_gates):
                initialize_("glorot" if name.startswith("weight_ih") else "unitary", gate)

    def between_layers(self, x: Tensor) -> Tensor:
        return F.dropout(x, cast(float, self.dropout), self.training)

    def _parameters_of(self, kind: str, index: int) -> tuple[Tensor, Tensor | None]:
        layer, direction = divmod(index, self.num_directions)
        end = f"{kind}_l{layer}{'_reverse' if direction else ''}"
        return getattr(self, f"weight_{end}"), getattr(self, f"bias_{end}", None)

    def input_products(self, x: Tensor, index: int = 0, num_steps: int | None = None) -> Tensor:
        """Compute W x + b of layer and direction ``index``, ``[..., width] -> [..., gates * hidden_size]``."""
        return F.linear(x, *self._parameters_of("ih", index))

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """Return ``(h, c) -> U h + b + c`` of layer and direction ``index``."""
        weight, bias = self._parameters_of("hh", index)
        return added(lambda h: F.linear(h, weight, bias))

    def product(self, layer: nn.Module, index: int = 0, num_steps: int | None = None) -> Product:
        return added(layer)

    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, mask: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Any]:
        """Run as in ``torch.nn``, with a mask as in ``ComplexRNN``: the real steps of a row run as one sequence."""
        # torch's own loops export with a fixed number of steps and have no vmap rule.
        if not self.is_torch or is_exporting() or is_transformed():
            return super().forward(input, hx, mask)
        if _autocasts_without_a_kernel(input):
            dtype = self._parameters_of("ih", 0)[0].dtype
            with torch.autocast("cpu", enabled=False):
                return self.forward(_as_dtype(input, dtype), _as_dtype(hx, dtype), mask)
        if _keeps_no_gradient(self, input):
            with torch.backends.cudnn.flags(enabled=False):
                return self.forward(input, hx, mask)
        torch_forward = super(Stepwise, self).forward  # the torch.nn class follows Stepwise in the MRO
        if isinstance(input, PackedSequence):
            if mask is not None:
                raise ValueError(
                    "mask must be None for a PackedSequence, got a mask. Pass a padded tensor with the mask instead."
                )
            return torch_forward(input, hx)
        check_sequence(input, self.input_size, mask, self.batch_first)
        # On a CPU, torch's float16 LSTM supports packed sequences only.
        if mask is None and not (input.dtype == torch.float16 and input.device.type == "cpu"):
            return torch_forward(input, hx)
        mask = input.new_ones(input.shape[:2], dtype=torch.bool) if mask is None else mask
        time = 1 if self.batch_first else 0
        keep = mask.to(torch.bool)
        lengths = keep.sum(time)
        if empty := (lengths == 0).nonzero().flatten().tolist():
            raise ValueError(f"mask must have a real step in every row, got none in {empty}. Remove empty sequences.")
        order, back = real_first(keep, time)
        packed = pack_padded_sequence(
            reorder(input, order, time), lengths.cpu(), batch_first=self.batch_first, enforce_sorted=False
        )
        out, last = torch_forward(packed, hx)
        padded, _ = pad_packed_sequence(out, batch_first=self.batch_first, total_length=input.shape[time])
        return reorder(padded, back, time), last


def _autocasts_without_a_kernel(x: Tensor | PackedSequence) -> bool:
    """Return whether torch's LSTM lacks a kernel (or its gradient) for the autocast dtype.

    This concerns float16 on a CPU, and bfloat16 on a CPU without bfloat16 instructions. The layer then runs in the
    dtype of its weights.
    """
    data = x.data if isinstance(x, PackedSequence) else x
    if data.device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return False
    if torch.get_autocast_dtype("cpu") == torch.float16:
        return True
    return torch.backends.mkldnn.is_available() and not torch.ops.mkldnn._is_mkldnn_bf16_supported()


def _keeps_no_gradient(layer: nn.Module, x: Tensor | PackedSequence) -> bool:
    """Return whether cuDNN could not run the backward pass: it stores nothing for it in evaluation mode."""
    data = x.data if isinstance(x, PackedSequence) else x
    is_evaluation = torch.is_grad_enabled() and not layer.training
    return data.is_cuda and is_evaluation and torch.backends.cudnn.enabled and not torch.compiler.is_compiling()


def _as_dtype(value: Any, dtype: torch.dtype) -> Any:
    """Cast a tensor, a packed sequence or a tuple of tensors; return None for None."""
    if isinstance(value, PackedSequence):
        return value._replace(data=value.data.to(dtype))
    if isinstance(value, tuple):
        return tuple(part.to(dtype) for part in value)
    return None if value is None else value.to(dtype)


class RealRNN(_RealRecurrent, RNNSteps, nn.RNN):  # type: ignore[misc]
    """``torch.nn.RNN`` with a mask and any activation: the real twin of ``ComplexRNN``."""

    kind = "rnn"


class RealLSTM(_RealRecurrent, LSTMSteps, nn.LSTM):  # type: ignore[misc]
    """``torch.nn.LSTM`` with a mask and any activation: the real twin of ``ComplexLSTM``."""

    kind = "lstm"


class RealGRU(_RealRecurrent, GRUSteps, nn.GRU):  # type: ignore[misc]
    """``torch.nn.GRU`` with a mask and any activation: the real twin of ``ComplexGRU``."""

    kind = "gru"
