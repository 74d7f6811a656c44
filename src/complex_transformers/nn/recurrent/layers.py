# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex recurrent layers (Thesis 2.19-2.21, ComplexOrder Eq. 12): RNN, LSTM and GRU.

``step_loop`` runs them step by step, with masks and directions.
"""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...kernels.dispatch import is_transformed
from ...kernels.exporting import is_exporting
from ...kernels.lstm import lstm_scan
from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..checks import check_positive
from ..dropout import ComplexDropout
from ..initialization import initialize_
from ..linear import ComplexLinear, is_hooked, is_plain
from ..low_bit.quantized_linear import PackedLinear, RoundedLinear
from . import torch_kernels
from .gates import (
    LEARNED_READINGS,
    LINEAR_READINGS,
    READINGS,
    GateWeights,
    check_recurrent,
    default_gate,
    real_gate,
)
from .step_loop import GRUSteps, LSTMSteps, Product, RNNSteps, State, Stepwise, added, gate_rows

__all__ = [
    "ComplexGRU",
    "ComplexLSTM",
    "ComplexRNN",
    "last_states",
]

# With fewer rows the fused scan is slower than the step loop (measured).
_MIN_SCAN_ROWS = 16
# With fewer steps, folding gates into the weights costs more than it saves (measured).
_MIN_READ_STEPS = 8
TORCH_DEVICES = ("cuda",)  # where torch's kernels are always the fastest; the tests put the CPU here


class _ComplexRecurrent(Stepwise, nn.Module):
    """Weights, gates and products of a complex layer; ``Stepwise`` runs its steps."""

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
        self.gate_weight: GateWeights | None = None
        if gate in LEARNED_READINGS and self.num_gates > 1:
            shape = (LEARNED_READINGS[gate][0], self.num_gates - 1, hidden_size // 2)  # all but the candidate
            self.gate_weight = GateWeights(torch.empty(shape, **factory) for _ in self.input_proj)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw input weights of each gate by Glorot, recurrent weights of each gate unitary; biases are 0.

        A projected gate starts with weights sqrt(1/2) for both parts, which keep their variance; a biased modulus
        starts at sigmoid(-1).
        """
        for weight in self.gate_weight.parameters() if self.gate_weight is not None else ():
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
        dropped: Tensor = self.dropout(x)
        return dropped

    def _run(self, x: Tensor, hx: Any, mask: Tensor | None) -> tuple[Tensor, Any]:
        """Run in cuDNN if a real layer computes the same and cuDNN supports these tensors, else step by step."""
        is_real = all(self._is_real_layer(index) for index in range(len(self.input_proj)))
        if not (is_real and self._suits_torch(x, hx)):
            return super()._run(x, hx, mask)
        states = before = self._first_states(hx, x)
        packing = None if mask is None else torch_kernels.Packing(mask.to(torch.bool))
        if packing is not None:
            x, states = packing.pack(x, states)
        sizes, last = None if packing is None else packing.like.batch_sizes, []
        for layer in range(self.num_layers):
            rows = slice(layer * self.num_directions, (layer + 1) * self.num_directions)
            weights = [self._weights_of(index) for index in range(rows.start, rows.stop)]
            x, after = torch_kernels.run_layer(
                self.rnn_type, x, tuple(state[rows] for state in states), weights, sizes
            )
            last.append(after)
            if layer < self.num_layers - 1:
                x = self.between_layers(x)
        finals = tuple(torch.cat(state) for state in zip(*last, strict=True))
        if packing is not None:
            x, finals = packing.unpack(x, before, finals)
        return x, finals if self.num_states > 1 else finals[0]

    def _is_real_layer(self, index: int) -> bool:
        """Whether a real layer of the same stored width computes the same, see ``torch_kernels``."""
        layers = self.input_proj[index], self.recurrent_proj[index]
        is_plain = all(plain_weight(layer) is not None for layer in layers)
        return is_plain and self.activation == "split_tanh" and self._can_read_rows()

    def _suits_torch(self, x: Tensor, hx: Any) -> bool:
        """Whether cuDNN supports these tensors."""
        if torch.compiler.is_compiling() or is_exporting() or is_transformed() or not torch.backends.cudnn.enabled:
            return False
        if x.device.type not in TORCH_DEVICES:
            return False
        states = () if hx is None else (hx,) if isinstance(hx, Tensor) else hx
        dtypes = {tensor.dtype for tensor in (x, *states, *self.parameters())}
        return len(dtypes) == 1 or torch.is_autocast_enabled(x.device.type)

    def _weights_of(self, index: int) -> torch_kernels.Direction:
        """Return the weights of input and state of a layer and direction, and the parameters of its gates."""
        layers = (cast(ComplexLinear, layers[index]) for layers in (self.input_proj, self.recurrent_proj))
        of_input, of_state = ((*cast(tuple[Tensor, Tensor], layer.weight_parts()), layer.bias) for layer in layers)
        return *of_input, *of_state, self.gate_parameter(index)

    def gates(self, z: Tensor, weight: Tensor | None) -> Tensor:
        """Compute the gates of z ``[B, 2, gates, d]`` with their learned parameters; real ones have 1 part."""
        if self.gate == "split" or z.shape[1] == 1:
            return torch.sigmoid(z)
        real, imag = z.unbind(1)
        return real_gate(self.gate, (real, imag), weight).unsqueeze(1)

    def gate_parameter(self, index: int) -> Tensor | None:
        """Return the learned gate parameters of a layer and direction, ``[count, gates, d]``, or None."""
        return None if self.gate_weight is None else self.gate_weight(index)

    def input_products(self, x: Tensor, index: int = 0, num_steps: int | None = None) -> Tensor:
        """Compute W x + b of layer and direction ``index``, ``[..., width] -> [..., rows]``; see ``product``."""
        layer = self.input_proj[index]
        return self.product(layer, index, num_steps)(x, None) if self.reads_rows(num_steps) else layer(x)

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """Return ``(h, c) -> U h + c`` of layer and direction ``index``; see ``product``."""
        return self.product(self.recurrent_proj[index], index, num_steps)

    def product(self, layer: nn.Module, index: int = 0, num_steps: int | None = None) -> Product:
        """Return ``(h, c) -> layer(h) + c`` for a layer that computes the gates and the candidate.

        By default the output has ``gates * hidden_size`` rows, both parts of each. If gates are linear in z and there
        are enough steps, the gates are folded into the weights once: one row per gate unit, two for the candidate.
        """
        if not self.reads_rows(num_steps):
            return step_product(layer, num_steps)
        if plain_weight(layer) is not None:
            return row_product(*self.read_weight(layer, index))
        whole = step_product(layer, num_steps)
        return added(lambda h: self._read(whole(h, None).chunk(2, dim=-1), index, dim=-1))

    def reads_rows(self, num_steps: int | None) -> bool:
        """Whether products fold the gates into the weights for this many steps, see ``product``."""
        return num_steps is not None and num_steps >= _MIN_READ_STEPS and self._can_read_rows()

    def _can_read_rows(self) -> bool:
        """Whether the gates are linear before squashing and ``step`` is not overridden."""
        return self.gate in LINEAR_READINGS and type(self).step in (LSTMSteps.step, GRUSteps.step)

    def read_weight(self, layer: nn.Module, index: int) -> tuple[Tensor, Tensor | None]:
        """Return the real weight ``[rows, width]`` and bias ``[rows]`` of a plain layer with folded gates."""
        parts = plain_weight(layer)
        assert isinstance(layer, ComplexLinear)
        assert parts is not None
        a, b = parts
        weight = self._read((torch.cat([a, -b], dim=1), torch.cat([b, a], dim=1)), index, dim=0)
        return weight, None if layer.bias is None else self._read(layer.bias.chunk(2), index, dim=-1)

    def _read(self, parts: tuple[Tensor, ...], index: int, dim: int) -> Tensor:
        """Fold both parts of the gates, along ``dim``, into one real row each; keep the candidate."""
        d = self.hidden_size // 2
        sizes = [2 * d, d, (self.num_gates - 3) * d]  # in every cell the candidate is third
        first, candidate, last = zip(*(part.split(sizes, dim) for part in parts), strict=True)
        real, imag = (torch.cat(rows, dim) for rows in zip(first, last, strict=True))
        learned = self.gate_parameter(index)
        if learned is not None:
            learned = learned.flatten(1) if dim == -1 else learned.flatten(1).unsqueeze(-1)
        return torch.cat([READINGS[self.gate](real, imag, learned), *candidate], dim)

    def read(self, products: Tensor) -> tuple[Tensor, Tensor]:
        """Split products into gates and candidate; folded gates are real, ``[B, 1, gates - 1, d]``."""
        gates, d = self.num_gates - 1, self.hidden_size // 2
        if products.shape[-1] == self.num_gates * self.hidden_size:
            return super().read(products)
        of_gates, candidate = products.split([gates * d, 2 * d], dim=-1)
        return of_gates.unflatten(-1, (1, gates, d)), candidate.unflatten(-1, (2, d))

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, gate={self.gate!r}"
        return text + f", activation={self.activation!r}, bidirectional={self.bidirectional}"


def plain_weight(layer: nn.Module) -> tuple[Tensor, Tensor] | None:
    """Return A and B if calling ``layer`` only multiplies by A + iB and adds the bias, else None."""
    if type(layer) is not ComplexLinear or layer.imag is None or is_hooked(layer):
        return None
    return (layer.real.weight, layer.imag.weight) if is_plain(layer.real) and is_plain(layer.imag) else None


def step_product(layer: nn.Module, num_steps: int | None = None) -> Product:
    """Return ``(h, c) -> U h + c`` with the block matrix of U built once for all steps (Thesis 2.7).

    Without c the bias of ``layer`` is added. Low-bit weights are unpacked once, with bitwise equal results. With
    ``num_steps=1`` the layer is called, since building the block would not pay.
    """
    if num_steps != 1 and isinstance(layer, (PackedLinear, RoundedLinear)) and not is_hooked(layer):
        return added(layer.for_steps())
    parts = None if num_steps == 1 else plain_weight(layer)
    if parts is None:
        return added(layer)
    assert isinstance(layer, ComplexLinear)
    return block_product(*parts, layer.bias)


def block_product(real: Tensor, imag: Tensor, bias: Tensor | None) -> Product:
    """Return ``(h, c) -> U h + c`` from the parts of U; without c the bias is added."""
    return row_product(CF.block_matrix(real, imag), bias)


def row_product(weight: Tensor, bias: Tensor | None) -> Product:
    """Return ``(h, c) -> U h + c`` of a real matrix U; without c the bias is added."""
    columns = weight.t()

    def product(h: Tensor, c: Tensor | None) -> Tensor:
        return F.linear(h, weight, bias) if c is None else torch.addmm(c, h, columns)

    return product


def last_states(
    out: Tensor, mask: Tensor | None = None, bidirectional: bool = False, number_field: str = "complex"
) -> Tensor:
    """Concatenate the final states of the directions of a layer: ``[B, N, width] -> [B, width]``.

    These are the forward state of the last and the backward state of the first step where ``mask [B, N]`` is true.

    Args:
        out: output of the layer, batch first.
        mask: mask passed to the layer.
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
    and direction i (forward before backward).

    Args:
        input_size, hidden_size: stored widths ``[real | imag]``, twice the complex features.
        num_layers, bias, batch_first, dropout, bidirectional: as in ``torch.nn.RNN``; dropout zeroes both parts of a
            complex feature.
        gate: gate of LSTM and GRU as a function of the pre-activation z = W x + U h + b:

            - ``projected`` (default): sigmoid(alpha Re z + beta Im z) with two learned weights per unit (Wolter & Yao
              2018);
            - ``real_part``: sigmoid(Re z), which can represent the same gates but trains differently;
            - ``modulus``: sigmoid(|z|^2) in [1/2, 1), which cannot close (Thesis 4.3.4);
            - ``biased_modulus``: sigmoid(|z|^2 + b) with a learned b per unit, which can close;
            - ``amplitude``: |z|^2 / (1 + |z|^2) (Thesis 2.38), which can close;
            - ``split``: sigmoid(Re z) + i sigmoid(Im z), a complex factor of modulus up to sqrt 2 that rotates the
              state at every step (ComplexOrder App. B).
        activation: f, a name of ``STATE_ACTIVATIONS``: ``split_tanh``, ``hirose_tanh`` (Thesis 2.51), ``split_relu``,
            ``tanh``, ``modulus``, ``squared_modulus``, ``identity``, ``split_sigmoid`` or ``cardioid``.

    Raises:
        ValueError: odd widths, an unknown gate or activation, a mask or states of another shape.
    """

    rnn_type = "rnn"


class ComplexLSTM(_ComplexRecurrent, LSTMSteps):
    """Long short-term memory with complex weights (Thesis 2.20): gates i, f, o and candidate g of W z + U h + b.

    c_t = f c_{t-1} + i phi(g), h_t = o phi(c_t), with complex products; arguments as in ``ComplexRNN``. The rows of
    a weight are i, f, g, o as in ``torch.nn.LSTM``. With split gates or an unbounded activation, cell states saturate
    at an eighth of the largest value of the dtype.

    On a GPU the gates ``projected`` and ``real_part`` with ``split_tanh`` run in cuDNN, which has no second
    derivatives; they need ``torch.backends.cudnn.flags(enabled=False)``, as ``torch.nn.LSTM`` does. Other gates launch
    kernels at every step; ``torch.cuda.make_graphed_callables`` replays them.
    """

    rnn_type = "lstm"

    def _scan(self, index: int, x: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
        """Run all steps in one fused autograd function in training, if the gates are folded and it is faster."""
        layers = self.input_proj[index], self.recurrent_proj[index]
        parameters = (parameter for layer in layers for parameter in layer.parameters())
        if not (self._is_real_layer(index) and self._is_fused(x, *state, *parameters)):
            return super()._scan(index, x, state, mask, reverse)
        keep = None if mask is None else mask.squeeze(-1)
        if reverse:
            x, keep = x.flip(0), None if keep is None else keep.flip(0)
        (w, bias), (u, _) = (self.read_weight(layer, index) for layer in layers)
        weight = torch.cat([w, u], dim=1)
        out, *last = lstm_scan(x, state[0], state[1], keep, weight, bias)
        out = out.flip(0) if reverse else out
        return (out if mask is None else out.masked_fill(~mask, 0.0)), tuple(last)

    def _is_fused(self, *tensors: Tensor) -> bool:
        """Whether ``lstm_scan`` supports these inputs and parameters and is faster."""
        x = tensors[0]
        if x.shape[1] < _MIN_SCAN_ROWS or not torch.is_grad_enabled() or not any(v.requires_grad for v in tensors):
            return False
        return all(CF.is_plain_cpu(v) and v.dtype == x.dtype for v in tensors)


class ComplexGRU(_ComplexRecurrent, GRUSteps):
    """Gated recurrent unit with complex weights (Thesis 2.21): gates r, z and candidate n.

    n_t = phi(W x_t + b + r (U h_{t-1} + b')), h_t = z h_{t-1} + (1 - z) n_t, with complex products; arguments as in
    ``ComplexRNN``. The reset gate acts after the recurrent product, as in ``torch.nn.GRU`` (the thesis has U (r h),
    and misprints 1 - z as 1 + z), which needs only one product per step. The rows of a weight are r, z, n as in
    ``torch.nn.GRU``. On a GPU it runs in cuDNN under the conditions of ``ComplexLSTM``.
    """

    rnn_type = "gru"
    recurrent_bias = True
