# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of the real field: those of ``torch.nn`` with the masks and initialisers of their complex twins."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from .initialization import initialize_
from .recurrent import Product, State, check_recurrent, check_sequence, gate_rows

__all__ = ["RealGRU", "RealLSTM", "RealRNN"]


class _RealRecurrent(nn.Module):
    """A layer of ``torch.nn`` with the signature, the masks and the initialisers of its complex twin."""

    kind: str
    num_gates: int
    num_states = 1
    input_size: int
    batch_first: bool

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
        check_recurrent(gate, activation, "real", self.kind)
        options: dict[str, Any] = {"bias": bias, "batch_first": batch_first, "dropout": dropout}
        if self.kind == "rnn":
            options["nonlinearity"] = activation.removeprefix("split_")
        super().__init__(
            input_size, hidden_size, num_layers, bidirectional=bidirectional, device=device, dtype=dtype, **options
        )

    def reset_parameters(self) -> None:
        """Input weights of each gate by Glorot, recurrent weights of each gate orthogonal, biases 0."""
        for name, parameter in self.named_parameters():
            if name.startswith("bias"):
                torch.nn.init.zeros_(parameter)
                continue
            for gate in gate_rows(parameter, self.num_gates):
                initialize_("glorot" if name.startswith("weight_ih") else "unitary", gate)

    def input_products(self, x: Tensor, index: int = 0) -> Tensor:
        """W x + b of layer ``index``, ``[..., width] -> [..., gates * hidden_size]``: for ``step``."""
        return F.linear(x, getattr(self, f"weight_ih_l{index}"), getattr(self, f"bias_ih_l{index}", None))

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """``(h, c) -> U h + b + c`` of layer ``index``, for ``step``."""
        weight, bias = getattr(self, f"weight_hh_l{index}"), getattr(self, f"bias_hh_l{index}", None)

        def product(h: Tensor, c: Tensor | None) -> Tensor:
            return F.linear(h, weight, bias) if c is None else F.linear(h, weight, bias) + c

        return product

    def step(self, inputs: Tensor, product: Product, state: State) -> State:
        """The next state from the input products ``[B, gates * hidden_size]``; ``product(h, c)`` is U h + b + c."""
        raise NotImplementedError

    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, mask: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Any]:
        """As ``torch.nn`` has it, with a mask as in ``ComplexRNN``: the real steps of each row run as one sequence."""
        if isinstance(input, PackedSequence):
            if mask is not None:
                raise ValueError("a packed sequence knows its lengths: give it without a mask")
            return super().forward(input, hx)
        check_sequence(input, self.input_size, mask, self.batch_first)
        if mask is None:
            return super().forward(input, hx)
        time = 1 if self.batch_first else 0
        keep = mask.to(torch.bool)
        lengths = keep.sum(time)
        if empty := (lengths == 0).nonzero().flatten().tolist():
            raise ValueError(f"row(s) {empty} of the mask have no real step; leave out empty sequences")
        order = torch.argsort(~keep, dim=time, stable=True)  # real steps first, in their order
        packed = pack_padded_sequence(
            _gather(input, order, time), lengths.cpu(), batch_first=self.batch_first, enforce_sorted=False
        )
        out, last = super().forward(packed, hx)
        padded, _ = pad_packed_sequence(out, batch_first=self.batch_first, total_length=input.shape[time])
        return _gather(padded, torch.argsort(order, dim=time), time), last


def _gather(x: Tensor, order: Tensor, time: int) -> Tensor:
    return x.gather(time, order.unsqueeze(-1).expand(*order.shape, x.shape[-1]))


class RealRNN(_RealRecurrent, nn.RNN):  # type: ignore[misc]
    """``torch.nn.RNN`` with a mask: the real twin of ``ComplexRNN``."""

    kind, num_gates = "rnn", 1
    nonlinearity: str

    def step(self, inputs: Tensor, product: Product, state: State) -> State:
        """f(W x + b + U h)."""
        f = torch.tanh if self.nonlinearity == "tanh" else F.relu
        return (f(product(state[0], inputs)),)


class RealLSTM(_RealRecurrent, nn.LSTM):  # type: ignore[misc]
    """``torch.nn.LSTM`` with a mask: the real twin of ``ComplexLSTM``."""

    kind, num_gates, num_states = "lstm", 4, 2

    def step(self, inputs: Tensor, product: Product, state: State) -> State:
        """c = f c + i tanh(g), h = o tanh(c)."""
        i, f, g, o = product(state[0], inputs).chunk(4, dim=-1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class RealGRU(_RealRecurrent, nn.GRU):  # type: ignore[misc]
    """``torch.nn.GRU`` with a mask: the real twin of ``ComplexGRU``."""

    kind, num_gates = "gru", 3

    def step(self, inputs: Tensor, product: Product, state: State) -> State:
        """h = n + z (h - n)."""
        of_inputs, of_state = inputs.chunk(3, dim=-1), product(state[0], None).chunk(3, dim=-1)
        r, z = (torch.sigmoid(of_inputs[gate] + of_state[gate]) for gate in (0, 1))
        n = torch.tanh(of_inputs[2] + r * of_state[2])
        return (n + z * (state[0] - n),)
