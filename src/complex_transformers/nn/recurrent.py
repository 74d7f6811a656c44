# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex recurrent layers (Thesis 2.19-2.21, ComplexOrder Eq. 12): RNN, LSTM and GRU.

Steps that a mask leaves out carry the state on unchanged and give zeros, so a result does not depend on padding on
either side. Within a step halves ``[B, 2d]`` are viewed as ``[B, 2, d]``, so that one operation serves both parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ..kernels.lstm import lstm_scan
from . import functional as CF
from .activation import HiroseTanh
from .arithmetic import arithmetic
from .checks import check_choice, check_positive
from .dropout import ComplexDropout
from .initialization import initialize_
from .linear import ComplexLinear, is_hooked, is_plain

__all__ = [
    "GATES",
    "STATE_ACTIVATIONS",
    "ComplexGRU",
    "ComplexLSTM",
    "ComplexRNN",
    "check_recurrent",
    "last_states",
]

State = tuple[Tensor, ...]
Product = Callable[[Tensor, Tensor | None], Tensor]

# With fewer rows, products that have the weight on the left lose more than the rest of a scan wins (measured).
_MIN_SCAN_ROWS = 16

_hirose_tanh = HiroseTanh()


def _hirose(z: Tensor) -> Tensor:
    return _hirose_tanh(z.flatten(1)).view_as(z)


def _real_part(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    return real


def _projection(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    assert weight is not None
    return weight[0] * real + weight[1] * imag


def _squared_modulus(real: Tensor, imag: Tensor, weight: Tensor | None) -> Tensor:
    # A square that overflows is harmless: the sigmoid of infinity is 1, and its gradient 0.
    return torch.addcmul(real.square(), imag, imag)


# A real gate is the sigmoid of a real number that it reads from z.
READINGS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "real_part": _real_part,
    "projected": _projection,
    "modulus": _squared_modulus,
}
LINEAR_READINGS = ("real_part", "projected")
GATES = (*READINGS, "split")
# On numbers [B, 2, ...] with the parts on axis 1.
STATE_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "split_tanh": torch.tanh,
    "hirose_tanh": _hirose,
    "split_relu": F.relu,
}


def check_recurrent(gate: str, activation: str, number_field: str = "complex", kind: str = "lstm") -> None:
    """Raise unless the gate and the activation of the states are known and exist in ``number_field``."""
    check_choice("gate", gate, GATES)
    check_choice("activation", activation, STATE_ACTIVATIONS)
    arithmetic(number_field)
    if number_field == "real":
        activations = ("split_tanh", "split_relu") if kind == "rnn" else ("split_tanh",)
        if gate != "split" or activation not in activations:
            raise ValueError(
                f"gate={gate!r} with activation={activation!r} needs number_field='complex'; the real field is "
                f"torch.nn.{kind.upper()}: gate='split' and activation in {activations}"
            )


def _times(gate: Tensor, z: Tensor) -> Tensor:
    """Product of a gate, complex ``[B, 2, d]`` or real ``[B, 1, d]``, and numbers ``[B, 2, d]``."""
    if gate.shape[1] == 1:
        return gate * z
    (a, b), (c, d) = gate.unbind(1), z.unbind(1)
    return torch.stack([torch.addcmul(a * c, b, d, value=-1.0), torch.addcmul(a * d, b, c)], dim=1)


class _ComplexRecurrent(nn.Module):
    """Layers, directions, masks and packing; a subclass gives the gates and the step of its cell."""

    num_gates: int
    num_states = 1
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
        gate: str = "real_part",
        activation: str = "split_tanh",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
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
        self.num_directions = 2 if bidirectional else 1
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
        if gate == "projected" and self.num_gates > 1:
            shape = (2, self.num_gates - 1, hidden_size // 2)  # the candidate has none
            self.gate_weight = nn.ParameterList(torch.empty(shape, **factory) for _ in self.input_proj)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Input weights of each gate by Glorot, recurrent weights of each gate unitary, biases 0.

        A projected gate reads both parts alike, with the weights sqrt(1/2) that keep their variance.
        """
        for weight in getattr(self, "gate_weight", ()):
            torch.nn.init.constant_(weight, math.sqrt(0.5))
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

    def saturate(self, z: Tensor) -> Tensor:
        """A state that can grow without bound stops short of infinity, at an eighth of the largest number.

        A split gate has a modulus of up to sqrt 2 and split_relu has no bound; with real gates below 1 and bounded
        candidates nothing can grow by more than a step's worth.
        """
        if self.gate != "split" and self.activation != "split_relu":
            return z
        limit = torch.finfo(z.dtype).max / 8.0
        return z.clamp(-limit, limit)

    def gates(self, z: Tensor, index: int) -> Tensor:
        """Gates of z ``[B, 2, gates, d]`` in layer and direction ``index``, complex or real, ``[B, 1, gates, d]``."""
        if self.gate == "split":
            return torch.sigmoid(z)
        return torch.sigmoid(self.read(z.unbind(1), index)).unsqueeze(1)

    def read(self, parts: Sequence[Tensor], index: int) -> Tensor:
        """The real number ``[..., gates, d]`` that each real gate reads from both parts of z."""
        real, imag = parts
        weight = self.gate_weight[index] if self.gate == "projected" else None
        return READINGS[self.gate](real, imag, weight)

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """The next state from the input products ``[B, gates * hidden_size]``; ``product(h, c)`` is U h + c.

        ``index`` counts layers and directions, as those of ``input_products`` and ``state_product``.
        """
        raise NotImplementedError

    def forward(
        self, x: Tensor | PackedSequence, hx: Any = None, mask: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Any]:
        """Run over a batch of sequences.

        Args:
            x: ``[N, B, input_size]`` halves, ``[B, N, input_size]`` with ``batch_first``, or packed.
            hx: first states ``[num_layers * num_directions, B, hidden_size]`` (LSTM: a pair), default zeros.
            mask: ``[N, B]`` (``[B, N]`` with ``batch_first``), true where a step counts; default all.

        Returns:
            The states of the last layer, halves of width ``num_directions * hidden_size`` (zero where the mask is
            false), and the last states in the shape of ``hx``.
        """
        if isinstance(x, PackedSequence):
            if mask is not None:
                raise ValueError("a packed sequence knows its lengths: give it without a mask")
            padded, lengths = pad_packed_sequence(x)
            steps = torch.arange(padded.shape[0], device=padded.device).unsqueeze(1)
            out, last = self._run(padded, hx, steps < lengths.to(padded.device))
            return pack_padded_sequence(out, lengths, enforce_sorted=x.sorted_indices is None), last
        check_sequence(x, self.input_size, mask, self.batch_first)
        if not self.batch_first:
            return self._run(x, hx, mask)
        out, last = self._run(x.transpose(0, 1), hx, None if mask is None else mask.transpose(0, 1))
        return out.transpose(0, 1), last

    def _run(self, x: Tensor, hx: Any, mask: Tensor | None) -> tuple[Tensor, Any]:
        """Time first. Without a real step in a row its states stay as they are."""
        if mask is not None:
            mask = mask.to(torch.bool).unsqueeze(-1)
            x = x.masked_fill(~mask, 0.0)  # a NaN that is only left out of the result would still reach gradients
        states = self._first_states(hx, x)
        last: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self.num_directions):
                index = layer * self.num_directions + direction
                out, final = self._scan(index, x, tuple(s[index] for s in states), mask, reverse=direction == 1)
                outputs.append(out)
                last.append(final)
            x = CF.concatenate(outputs)
            if layer < self.num_layers - 1:
                x = self.dropout(x)
        finals = tuple(torch.stack(state) for state in zip(*last, strict=True))
        return x, finals if self.num_states > 1 else finals[0]

    def _first_states(self, hx: Any, x: Tensor) -> tuple[Tensor, ...]:
        shape = (self.num_layers * self.num_directions, x.shape[1], self.hidden_size)
        if hx is None:
            return (x.new_zeros(shape),) * self.num_states
        states = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if len(states) != self.num_states or any(state.shape != shape for state in states):
            raise ValueError(
                f"hx must be {self.num_states} tensor(s) of shape {shape}, got {[tuple(s.shape) for s in states]}"
            )
        return states

    def _scan(self, index: int, x: Tensor, state: State, mask: Tensor | None, reverse: bool) -> tuple[Tensor, State]:
        """One layer in one direction: the products of all inputs at once, then step by step."""
        return self._steps(index, self.input_products(x, index), self.state_product(index), state, mask, reverse)

    def input_products(self, x: Tensor, index: int = 0) -> Tensor:
        """W x + b of layer and direction ``index``, ``[..., width] -> [..., gates * hidden_size]``: for ``step``."""
        return self.input_proj[index](x)

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """``(h, c) -> U h + c`` of layer and direction ``index``, for ``step``; see ``step_product``."""
        return step_product(self.recurrent_proj[index], num_steps)

    def _steps(
        self, index: int, inputs: Tensor, product: Product, state: State, mask: Tensor | None, reverse: bool
    ) -> tuple[Tensor, State]:
        """Every ``step`` of one layer in one direction, from the input products ``[N, B, gates * hidden_size]``."""
        outputs: list[Tensor] = []
        order = range(len(inputs) - 1, -1, -1) if reverse else range(len(inputs))
        of_step, keep = inputs.unbind(0), None if mask is None else mask.unbind(0)
        for t in order:
            new = self.step(of_step[t], product, state, index)
            if keep is not None:
                new = tuple(torch.where(keep[t], after, before) for after, before in zip(new, state, strict=True))
            state = new
            outputs.append(state[0])
        out = torch.stack(outputs[::-1] if reverse else outputs)
        return (out if mask is None else out.masked_fill(~mask, 0.0)), state

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


def check_sequence(x: Tensor, input_size: int, mask: Tensor | None, batch_first: bool) -> None:
    """Raise unless ``x`` is a batch of sequences of halves of this width, with a mask of its shape."""
    if not x.is_floating_point():
        CF.check_halves(x)
    axes = "[batch, length" if batch_first else "[length, batch"
    if x.dim() != 3 or x.shape[-1] != input_size:
        raise ValueError(f"expected {axes}, {input_size}], got shape {tuple(x.shape)}")
    if 0 in x.shape:
        raise ValueError(f"the sequence is empty: got shape {tuple(x.shape)}; leave out empty sequences")
    if mask is not None and mask.shape != x.shape[:2]:
        raise ValueError(f"mask must be {axes}] = {tuple(x.shape[:2])}, got {tuple(mask.shape)}")


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
        rows = torch.arange(len(out), device=out.device)
        first, last = out[rows, steps.argmax(-1)], out[rows, out.shape[1] - 1 - steps.flip(-1).argmax(-1)]
    if not bidirectional:
        return last
    shape = (arithmetic(number_field).num_parts, 2, -1)  # parts, directions, features
    forward, backward = last.unflatten(-1, shape)[:, :, 0], first.unflatten(-1, shape)[:, :, 1]
    return torch.stack([forward, backward], dim=2).flatten(1)


class ComplexRNN(_ComplexRecurrent):
    """h_t = f(W z_t + U h_{t-1} + b) (Thesis 2.19, ComplexOrder Eq. 12), ``[N, B, 2 in] -> [N, B, 2 hidden]`` halves.

    All weights are complex; ``input_proj[i]`` and ``recurrent_proj[i]`` are the ``ComplexLinear`` W and U of layer
    and direction i (forward before backward). The products of all inputs are taken in one call.

    Args:
        input_size, hidden_size: stored widths ``[real | imag]``, twice the complex features.
        num_layers, bias, batch_first, dropout, bidirectional: as in ``torch.nn.RNN``; a dropped number loses both
            parts.
        gate: of what a cell computes for it, z = W x + U h + b. ``real_part`` sigmoid(Re z), the gate in (0, 1)
            that a real network has (default); ``projected`` sigmoid(alpha Re z + beta Im z) with two learned numbers
            for each unit (Wolter & Yao 2018), the same functions with another gradient; ``modulus`` sigmoid(|z|^2) in
            [1/2, 1), which cannot close (Thesis 4.3.4); ``split`` sigmoid(Re z) + i sigmoid(Im z), which multiplies as
            a complex number of modulus up to sqrt 2 and turns the state at every step (ComplexOrder App. B). An RNN
            has none.
        activation: f, ``split_tanh``, ``hirose_tanh`` (Thesis 2.51) or ``split_relu``.

    Raises:
        ValueError: odd widths, an unknown gate or activation, a mask or states of another shape.
    """

    num_gates = 1

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """f(W z + b + U h)."""
        f = STATE_ACTIVATIONS[self.activation]
        return (f(_numbers(product(state[0], inputs))).flatten(1),)


class ComplexLSTM(_ComplexRecurrent):
    """Long short-term memory with complex weights (Thesis 2.20): gates i, f, o and candidate g of W z + U h + b.

    c_t = f c_{t-1} + i phi(g), h_t = o phi(c_t), with complex products; arguments as in ``ComplexRNN``. The rows of
    a weight are i, f, g, o as in ``torch.nn.LSTM``. With split gates or ``split_relu``, which can grow without bound,
    a cell state saturates at an eighth of the largest number of its dtype.
    """

    num_gates = 4
    num_states = 2

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """c = f c + i phi(g), h = o phi(c)."""
        phi = STATE_ACTIVATIONS[self.activation]
        h, c = state
        z = _numbers(product(h, inputs), 4)
        of_gates, candidate = torch.cat([z[:, :, :2], z[:, :, 3:]], dim=2), z[:, :, 2]
        i, f, o = self.gates(of_gates, index).unbind(2)  # one call for all is faster than one for each
        c = self.saturate(_times(f, _numbers(c)) + _times(i, phi(candidate)))
        return _times(o, phi(c)).flatten(1), c.flatten(1)

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
        gates = self.read(torch.stack([i, f, o], dim=-2).unbind(0), index)
        return torch.cat([gates, g.transpose(0, 1)], dim=-2).flatten(-2)


class ComplexGRU(_ComplexRecurrent):
    """Gated recurrent unit with complex weights (Thesis 2.21): gates r, z and candidate n.

    n_t = phi(W x_t + b + r (U h_{t-1} + b')), h_t = z h_{t-1} + (1 - z) n_t, with complex products; arguments as in
    ``ComplexRNN``. The reset gate acts after the recurrent product, as in ``torch.nn.GRU`` (the thesis has U (r h),
    and misprints 1 - z as 1 + z): one product a step. The rows of a weight are r, z, n as in ``torch.nn.GRU``.
    """

    num_gates = 3
    recurrent_bias = True

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """h = n + z (h - n)."""
        phi = STATE_ACTIVATIONS[self.activation]
        h = _numbers(state[0])
        of_inputs, of_state = _numbers(inputs, 3), _numbers(product(state[0], None), 3)
        r, z = self.gates(of_inputs[:, :, :2] + of_state[:, :, :2], index).unbind(2)
        n = phi(of_inputs[:, :, 2] + _times(r, of_state[:, :, 2]))
        return (self.saturate(n + _times(z, h - n)).flatten(1),)


def gate_rows(weight: Tensor, count: int) -> tuple[Tensor, ...]:
    """The rows of each gate; a view loses Transformers' mark of a loaded weight, which must not be drawn again."""
    rows = weight.chunk(count)
    for gate in rows:
        gate._is_hf_initialized = getattr(weight, "_is_hf_initialized", False)  # type: ignore[attr-defined]
    return rows


def _numbers(x: Tensor, count: int | None = None) -> Tensor:
    """Halves ``[B, 2d]`` as numbers ``[B, 2, d]``, or ``[B, 2 count d]`` as ``[B, 2, count, d]``; a view."""
    return x.unflatten(-1, (2, -1) if count is None else (2, count, -1))
