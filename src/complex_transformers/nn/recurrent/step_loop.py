# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers step by step, in both number fields: layers, directions, masks, packing and first states."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ...kernels.exporting import is_exporting, scan
from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from .gates import BOUNDED, STATE_ACTIVATIONS, times

__all__: list[str] = []

State = tuple[Tensor, ...]
Product = Callable[[Tensor, Tensor | None], Tensor]


class Stepwise(nn.Module):
    """What a layer that computes one step after the other shares with its twin; a subclass gives products and steps.

    Steps that a mask leaves out carry the state on unchanged and give zeros, so a result does not depend on padding on
    either side.
    """

    number_field: str
    num_gates: int
    num_states = 1
    input_size: int
    hidden_size: int
    num_layers: int
    bidirectional: bool
    batch_first: bool
    gate: str
    activation: str

    @property
    def num_directions(self) -> int:
        """1, or 2 with ``bidirectional``."""
        return 2 if self.bidirectional else 1

    def between_layers(self, x: Tensor) -> Tensor:
        """What is done to the states of a layer before the next one reads them."""
        raise NotImplementedError

    def input_products(self, x: Tensor, index: int = 0, num_steps: int | None = None) -> Tensor:
        """W x + b of layer and direction ``index``, ``[..., width] -> [..., rows]``: for ``step``."""
        raise NotImplementedError

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """``(h, c) -> U h + c`` of layer and direction ``index``, for ``step``."""
        raise NotImplementedError

    def product(self, layer: nn.Module, index: int = 0, num_steps: int | None = None) -> Product:
        """``(h, c) -> layer(h) + c`` of another layer whose result is added to the input products, for ``step``."""
        raise NotImplementedError

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """The next state from the input products ``[B, rows]``; ``product(h, c)`` is U h + c.

        ``index`` counts layers and directions; it and ``num_steps`` are the same for all products of a step.
        """
        raise NotImplementedError

    def read(self, products: Tensor) -> tuple[Tensor, Tensor]:
        """Of ``[B, gates * hidden_size]`` what the gates are of, ``[B, parts, gates - 1, d]``, and the candidate."""
        z = self.numbers(products, self.num_gates)
        of_gates = z[:, :, :2] if self.num_gates == 3 else torch.cat([z[:, :, :2], z[:, :, 3:]], dim=2)
        return of_gates, z[:, :, 2]

    def gates(self, z: Tensor, index: int) -> Tensor:
        """Gates of z ``[B, parts, gates, d]`` in layer and direction ``index``; a split one squashes each part."""
        return torch.sigmoid(z)

    def numbers(self, x: Tensor, count: int | None = None) -> Tensor:
        """Stored ``[B, parts d]`` as numbers ``[B, parts, d]``, or ``[B, parts count d]`` with ``count``; a view."""
        parts = arithmetic(self.number_field).num_parts
        return x.unflatten(-1, (parts, -1) if count is None else (parts, count, -1))

    def phi(self, z: Tensor) -> Tensor:
        """The activation of the states."""
        out = STATE_ACTIVATIONS[self.activation](z)
        return out if self.activation in BOUNDED else self.saturate(out)

    def saturate(self, z: Tensor) -> Tensor:
        """A state that can grow without bound stops short of infinity, at an eighth of the largest number.

        A split complex gate has a modulus of up to sqrt 2 and some activations have no bound; with gates below 1 and
        bounded candidates nothing can grow by more than a step's worth. What is squared at every step stops at an
        eighth of the root of it.
        """
        if self.activation in BOUNDED and (self.gate != "split" or self.number_field == "real"):
            return z
        largest = torch.finfo(z.dtype).max
        limit = (math.sqrt(largest) if self.activation == "squared_modulus" else largest) / 8.0
        return z.clamp(-limit, limit)

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
            x = arithmetic(self.number_field).concatenate(outputs)
            if layer < self.num_layers - 1:
                x = self.between_layers(x)
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
        inputs, product = self.input_products(x, index, x.shape[0]), self.state_product(index, x.shape[0])

        def step(of_step: Tensor, state: State) -> tuple[State, State]:
            return self.step(of_step, product, state, index), ()

        (out,), state = run_masked(step, inputs, state, mask, reverse)
        return out, state


def added(layer: Callable[[Tensor], Tensor]) -> Product:
    """``(h, c) -> layer(h) + c``, without c ``layer(h)``."""
    return lambda h, c: layer(h) if c is None else layer(h) + c


def run_masked(
    step: Callable[[Tensor, State], tuple[State, State]],
    inputs: Tensor,
    state: State,
    mask: Tensor | None = None,
    reverse: bool = False,
) -> tuple[State, State]:
    """One step after the other over ``inputs [N, B, width]``; a loop of the graph where one is exported.

    Args:
        step: from the inputs of a step and the state to the next state, and what else the step says.
        inputs: time first.
        state: before the first step.
        mask: ``[N, B, 1]``; steps where it is false carry the state on and give zeros.
        reverse: from the last step back.

    Returns:
        The first tensor of every state, ``[N, B, width]``, and what else the steps say; and the last state.
    """

    def carried(state: State, given: State) -> tuple[State, State]:
        new, said = step(given[0], state)
        if len(given) > 1:
            new = tuple(torch.where(given[1], after, before) for after, before in zip(new, state, strict=True))
        return new, (new[0], *said)

    given = (inputs,) if mask is None else (inputs, mask)
    if is_exporting():
        (out, *said), state = scan(carried, state, given, reverse)
    else:
        steps, outputs = list(zip(*(tensor.unbind(0) for tensor in given), strict=True)), []
        for of_step in reversed(steps) if reverse else steps:
            state, output = carried(state, of_step)
            outputs.append(output)
        out, *said = map(torch.stack, zip(*(outputs[::-1] if reverse else outputs), strict=True))
    return (out if mask is None else out.masked_fill(~mask, 0.0), *said), state


class RNNSteps(Stepwise):
    """h_t = f(W z_t + U h_{t-1} + b) (Thesis 2.19)."""

    num_gates = 1

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """f(W z + b + U h)."""
        return (self.phi(self.numbers(product(state[0], inputs))).flatten(1),)


class LSTMSteps(Stepwise):
    """Gates i, f, o and candidate g of W z + U h + b (Thesis 2.20)."""

    num_gates = 4
    num_states = 2

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """c = f c + i phi(g), h = o phi(c)."""
        h, c = state
        of_gates, candidate = self.read(product(h, inputs))
        i, f, o = self.gates(of_gates, index).unbind(2)  # one call for all is faster than one for each
        c = self.saturate(times(f, self.numbers(c)) + times(i, self.phi(candidate)))
        return times(o, self.phi(c)).flatten(1), c.flatten(1)


class GRUSteps(Stepwise):
    """Gates r, z and candidate n, the reset gate after the recurrent product (Thesis 2.21)."""

    num_gates = 3

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """n = phi(W x + b + r (U h + b')), h = n + z (h - n)."""
        h = self.numbers(state[0])
        (gates_x, n_x), (gates_h, n_h) = self.read(inputs), self.read(product(state[0], None))
        r, z = self.gates(gates_x + gates_h, index).unbind(2)
        n = self.phi(n_x + times(r, n_h))
        return (self.saturate(n + times(z, h - n)).flatten(1),)


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


def gate_rows(weight: Tensor, count: int) -> tuple[Tensor, ...]:
    """The rows of each gate; a view loses Transformers' mark of a loaded weight, which must not be drawn again."""
    rows = weight.chunk(count)
    for gate in rows:
        gate._is_hf_initialized = getattr(weight, "_is_hf_initialized", False)  # type: ignore[attr-defined]
    return rows
