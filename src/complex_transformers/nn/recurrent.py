# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex recurrent layers (Thesis 2.19-2.21, ComplexOrder Eq. 12): RNN, LSTM and GRU.

``stepwise`` runs them over masks and directions, one step after the other.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..kernels.lstm import lstm_scan
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_positive
from .dropout import ComplexDropout
from .gates import (
    LEARNED_READINGS,
    LINEAR_READINGS,
    READINGS,
    check_recurrent,
    default_gate,
    real_gate,
)
from .initialization import initialize_
from .linear import ComplexLinear, is_hooked, is_plain
from .stepwise import GRUSteps, LSTMSteps, Product, RNNSteps, State, Stepwise, gate_rows

__all__ = [
    "ComplexGRU",
    "ComplexLSTM",
    "ComplexRNN",
    "last_states",
]

# With fewer rows, products that have the weight on the left lose more than the rest of a scan wins (measured).
_MIN_SCAN_ROWS = 16


class _ComplexRecurrent(Stepwise, nn.Module):
    """Weights, gates and products of a complex layer; ``Stepwise`` runs it, and gives the step of its cell."""

    number_field = "complex"
    rnn_type: str
    recurrent_bias = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        gate: str | None = None,
        activation: str = "split_tanh",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        gate = default_gate(self.rnn_type) if gate is None else gate
        check_recurrent(gate, activation)
        check_positive(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.dropout = ComplexDropout(dropout)
        self.bidirectional = bidirectional
        self.gate = gate
        self.activation = activation
        arithmetic("complex").num_features(hidden_size)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.input_proj = nn.ModuleList()
        self.recurrent_proj = nn.ModuleList()
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * self.num_directions
            for _ in range(self.num_directions):
                gates = self.num_gates * hidden_size
                self.input_proj.append(ComplexLinear(width, gates, bias=bias, **factory))
                self.recurrent_proj.append(
                    ComplexLinear(hidden_size, gates, bias=bias and self.recurrent_bias, **factory)
                )
        if gate in LEARNED_READINGS and self.num_gates > 1:
            shape = (LEARNED_READINGS[gate][0], self.num_gates - 1, hidden_size // 2)  # the candidate has none
            self.gate_weight = nn.ParameterList(torch.empty(shape, **factory) for _ in self.input_proj)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Input weights of each gate by Glorot, recurrent weights of each gate unitary, biases 0.

        A projected gate reads both parts alike, with the weights sqrt(1/2) that keep their variance; a biased
        modulus starts below one half, at sigmoid(-1).
        """
        for weight in getattr(self, "gate_weight", ()):
            torch.nn.init.constant_(weight, LEARNED_READINGS[self.gate][1])
        modules = [("glorot", module) for module in self.input_proj]
        modules += [("unitary", module) for module in self.recurrent_proj]
        for initializer, module in modules:
            assert isinstance(module, ComplexLinear)
            assert module.imag is not None
            gates = (gate_rows(weight, self.num_gates) for weight in (module.real.weight, module.imag.weight))
            for a, b in zip(*gates, strict=True):
                initialize_(initializer, a, b)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)

    def between_layers(self, x: Tensor) -> Tensor:
        """Dropout of whole numbers."""
        dropped: Tensor = self.dropout(x)
        return dropped

    def gates(self, z: Tensor, index: int) -> Tensor:
        """Gates of z ``[B, 2, gates, d]`` in layer and direction ``index``, complex or real, ``[B, 1, gates, d]``."""
        if self.gate == "split":
            return torch.sigmoid(z)
        real, imag = z.unbind(1)
        return real_gate(self.gate, (real, imag), self.gate_parameter(index)).unsqueeze(1)

    def gate_parameter(self, index: int) -> Tensor | None:
        """What the gates of a layer and direction learn besides the products: ``[numbers, gates, d]``."""
        return self.gate_weight[index] if self.gate in LEARNED_READINGS else None

    def input_products(self, x: Tensor, index: int = 0) -> Tensor:
        """W x + b of layer and direction ``index``, ``[..., width] -> [..., gates * hidden_size]``: for ``step``."""
        return self.input_proj[index](x)

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """``(h, c) -> U h + c`` of layer and direction ``index``, for ``step``; see ``step_product``."""
        return step_product(self.recurrent_proj[index], num_steps)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, gate={self.gate!r}"
        return text + f", activation={self.activation!r}, bidirectional={self.bidirectional}"


def plain_weight(layer: nn.Module) -> tuple[Tensor, Tensor] | None:
    """Both parts of the weight where calling ``layer`` only multiplies by it and adds the bias, else None."""
    if type(layer) is not ComplexLinear or layer.imag is None or is_hooked(layer):
        return None
    return (layer.real.weight, layer.imag.weight) if is_plain(layer.real) and is_plain(layer.imag) else None


def step_product(layer: nn.Module, num_steps: int | None = None) -> Product:
    """``(h, c) -> U h + c`` for the steps of a sequence: the block matrix of U is built once (Thesis 2.7).

    Without c the bias of ``layer`` is added. For ``num_steps=1`` the layer is called: a block would not pay.
    """
    parts = None if num_steps == 1 else plain_weight(layer)
    if parts is None:
        return lambda h, c: layer(h) if c is None else layer(h) + c
    assert isinstance(layer, ComplexLinear)
    return block_product(*parts, layer.bias)


def block_product(real: Tensor, imag: Tensor, bias: Tensor | None) -> Product:
    """``(h, c) -> U h + c`` from the parts of U; without c the bias is added."""
    block = CF.block_matrix(real, imag).t()

    def product(h: Tensor, c: Tensor | None) -> Tensor:
        c = bias if c is None else c
        return h @ block if c is None else torch.addmm(c, h, block)

    return product


def last_states(
    out: Tensor, mask: Tensor | None = None, bidirectional: bool = False, number_field: str = "complex"
) -> Tensor:
    """What each direction of a layer knows of the whole sequence, side by side: ``[B, N, width] -> [B, width]``.

    The forward state of the last step and the backward state of the first, among those where ``mask [B, N]`` is true.

    Args:
        out: the states of a layer, batch first.
        mask: as given to the layer.
        bidirectional: whether ``out`` holds both directions.
        number_field: ``"complex"`` or ``"real"``.
    """
    if mask is None:
        first, last = out[:, 0], out[:, -1]
    else:
        steps = mask.to(torch.long)
        rows = torch.arange(out.shape[0], device=out.device)
        first, last = out[rows, steps.argmax(-1)], out[rows, out.shape[1] - 1 - steps.flip(-1).argmax(-1)]
    if not bidirectional:
        return last
    shape = (arithmetic(number_field).num_parts, 2, -1)  # parts, directions, features
    forward, backward = last.unflatten(-1, shape)[:, :, 0], first.unflatten(-1, shape)[:, :, 1]
    return torch.stack([forward, backward], dim=2).flatten(1)


class ComplexRNN(_ComplexRecurrent, RNNSteps):
    """h_t = f(W z_t + U h_{t-1} + b) (Thesis 2.19, ComplexOrder Eq. 12), ``[N, B, 2 in] -> [N, B, 2 hidden]`` halves.

    All weights are complex; ``input_proj[i]`` and ``recurrent_proj[i]`` are the ``ComplexLinear`` W and U of layer
    and direction i (forward before backward). The products of all inputs are taken in one call.

    Args:
        input_size, hidden_size: stored widths ``[real | imag]``, twice the complex features.
        num_layers, bias, batch_first, dropout, bidirectional: as in ``torch.nn.RNN``; a dropped number loses both
            parts.
        gate: of what a cell computes for it, z = W x + U h + b. ``real_part`` sigmoid(Re z), the gate in (0, 1)
            that a real network has (default of an LSTM); ``projected`` sigmoid(alpha Re z + beta Im z) with two
            learned numbers for each unit (Wolter & Yao 2018), the same functions with another gradient (default of a
            GRU); ``modulus`` sigmoid(|z|^2) in [1/2, 1), which cannot close (Thesis 4.3.4); ``biased_modulus``
            sigmoid(|z|^2 + b) with a learned b for each unit, and ``amplitude`` |z|^2 / (1 + |z|^2) (Thesis 2.38),
            which can; ``split`` sigmoid(Re z) + i sigmoid(Im z), which multiplies as a complex number of modulus up
            to sqrt 2 and turns the state at every step (ComplexOrder App. B). An RNN has none.
        activation: f, a name of ``STATE_ACTIVATIONS``: ``split_tanh``, ``hirose_tanh`` (Thesis 2.51), ``split_relu``,
            ``tanh``, ``modulus``, ``squared_modulus``, ``identity``, ``split_sigmoid`` or ``cardioid``.

    Raises:
        ValueError: odd widths, an unknown gate or activation, a mask or states of another shape.
    """

    rnn_type = "rnn"


class ComplexLSTM(_ComplexRecurrent, LSTMSteps):
    """Long short-term memory with complex weights (Thesis 2.20): gates i, f, o and candidate g of W z + U h + b.

    c_t = f c_{t-1} + i phi(g), h_t = o phi(c_t), with complex products; arguments as in ``ComplexRNN``. The rows of
    a weight are i, f, g, o as in ``torch.nn.LSTM``. With split gates or an activation that can grow without bound, a
    cell state saturates at an eighth of the largest number of its dtype.
    """

    rnn_type = "lstm"

    def _scan(self, index: int, x: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
        """With real gates of one product, a training step takes all steps at once where that is faster."""
        layer: Any = self.input_proj[index]
        w, u = plain_weight(layer), plain_weight(self.recurrent_proj[index])
        if w is None or u is None or not self._is_fused(x, *state, *w, *u):
            return super()._scan(index, x, state, mask, reverse)
        keep = None if mask is None else mask.squeeze(-1)
        if reverse:
            x, keep = x.flip(0), None if keep is None else keep.flip(0)
        (a, b), (c, d) = w, u
        of_parts = torch.stack([torch.cat([a, -b, c, -d], dim=1), torch.cat([b, a, d, c], dim=1)])
        weight = self._rows(of_parts.mT, index).t()
        bias = None if layer.bias is None else self._rows(layer.bias.view(2, 1, -1), index).squeeze(0)
        out, *last = lstm_scan(x, state[0], state[1], keep, weight, bias)
        out = out.flip(0) if reverse else out
        return (out if mask is None else out.masked_fill(~mask, 0.0)), tuple(last)

    def _is_fused(self, *tensors: Tensor) -> bool:
        """True where ``lstm_scan`` computes the step of this layer and its gradients pay."""
        if (
            self.gate not in LINEAR_READINGS
            or self.activation != "split_tanh"
            or type(self).step is not ComplexLSTM.step
        ):
            return False
        x = tensors[0]
        if x.shape[1] < _MIN_SCAN_ROWS or not torch.is_grad_enabled() or not any(v.requires_grad for v in tensors):
            return False
        return all(CF.is_plain_cpu(v) and v.dtype == x.dtype for v in tensors)

    def _rows(self, numbers: Tensor, index: int) -> Tensor:
        """Parts of the rows i, f, g, o ``[2, columns, 4d]`` as the rows of ``lstm_scan``, ``[columns, 5d]``."""
        i, f, g, o = numbers.unflatten(-1, (4, -1)).unbind(-2)
        real, imag = torch.stack([i, f, o], dim=-2).unbind(0)
        gates = READINGS[self.gate](real, imag, self.gate_parameter(index))
        return torch.cat([gates, g.transpose(0, 1)], dim=-2).flatten(-2)


class ComplexGRU(_ComplexRecurrent, GRUSteps):
    """Gated recurrent unit with complex weights (Thesis 2.21): gates r, z and candidate n.

    n_t = phi(W x_t + b + r (U h_{t-1} + b')), h_t = z h_{t-1} + (1 - z) n_t, with complex products; arguments as in
    ``ComplexRNN``. The reset gate acts after the recurrent product, as in ``torch.nn.GRU`` (the thesis has U (r h),
    and misprints 1 - z as 1 + z): one product a step. The rows of a weight are r, z, n as in ``torch.nn.GRU``.
    """

    rnn_type = "gru"
    recurrent_bias = True
