# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The step loop of recurrent layers: layers, directions, masks, packed sequences and initial states."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ...kernels.accelerator.steps import gru_step, lstm_step, takes_step
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
    """Base of recurrent layers of both fields that run step by step; subclasses define products and steps.

    Masked steps keep the state unchanged and output zeros, so results do not depend on padding on either side.
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
        """Process the output of a layer before the next one, by dropout."""
        raise NotImplementedError

    def input_products(self, x: Tensor, index: int = 0, num_steps: int | None = None) -> Tensor:
        """Compute W x + b of layer and direction ``index``, ``[..., width] -> [..., rows]``."""
        raise NotImplementedError

    def state_product(self, index: int = 0, num_steps: int | None = None) -> Product:
        """Return ``(h, c) -> U h + c`` of layer and direction ``index``."""
        raise NotImplementedError

    def product(self, layer: nn.Module, index: int = 0, num_steps: int | None = None) -> Product:
        """Return ``(h, c) -> layer(h) + c`` for another layer whose output is added to the input products."""
        raise NotImplementedError

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """Compute the next state from the input products ``[B, rows]``; ``product(h, c)`` is U h + c.

        ``index`` counts layers and directions; all products of a step must share it and ``num_steps``.
        """
        raise NotImplementedError

    def read(self, products: Tensor) -> tuple[Tensor, Tensor]:
        """Split ``[B, gates * hidden_size]`` into gates ``[B, parts, gates - 1, d]`` and candidate."""
        z = self.numbers(products, self.num_gates)
        of_gates = z[:, :, :2] if self.num_gates == 3 else torch.cat([z[:, :, :2], z[:, :, 3:]], dim=2)
        return of_gates, z[:, :, 2]

    def gates(self, z: Tensor, weight: Tensor | None) -> Tensor:
        """Compute the gates of z ``[B, parts, gates, d]`` with their learned parameters."""
        return torch.sigmoid(z)

    def gate_parameter(self, index: int) -> Tensor | None:
        """Return the learned gate parameters of a layer and direction, ``[count, gates, d]``, or None."""
        return None

    def _takes_kernel(self, products: Tensor, weight: Tensor | None, *others: Tensor) -> bool:
        """Whether one kernel computes all that follows the products of a step."""
        is_whole = products.shape[-1] == self.num_gates * self.hidden_size and self.number_field == "complex"
        return is_whole and self.activation == "split_tanh" and takes_step(self.gate, weight, products, *others)

    def numbers(self, x: Tensor, count: int | None = None) -> Tensor:
        """View ``[B, parts d]`` as ``[B, parts, d]``, or ``[B, parts count d]`` as ``[B, parts, count, d]``."""
        parts = arithmetic(self.number_field).num_parts
        return x.unflatten(-1, (parts, -1) if count is None else (parts, count, -1))

    def phi(self, z: Tensor) -> Tensor:
        """Apply the activation of the states."""
        out = STATE_ACTIVATIONS[self.activation](z)
        return out if self.activation in BOUNDED else self.saturate(out)

    def saturate(self, z: Tensor) -> Tensor:
        """Clamp states that can grow without bound to ``limit``."""
        limit = self.limit(z.dtype)
        return z if limit == math.inf else z.clamp(-limit, limit)

    def limit(self, dtype: torch.dtype) -> float:
        """Return the largest value of a state: an eighth of the largest of the dtype if states can grow without bound.

        They can with split gates, whose modulus reaches sqrt 2, or unbounded activations. For the squared modulus the
        limit is an eighth of the root.
        """
        if self.activation in BOUNDED and (self.gate != "split" or self.number_field == "real"):
            return math.inf
        largest = torch.finfo(dtype).max
        return (math.sqrt(largest) if self.activation == "squared_modulus" else largest) / 8.0

    def forward(
        self, x: Tensor | PackedSequence, hx: Any = None, mask: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Any]:
        """Run over a batch of sequences.

        Args:
            x: ``[N, B, input_size]`` halves, ``[B, N, input_size]`` with ``batch_first``, or packed.
            hx: initial states ``[num_layers * num_directions, B, hidden_size]`` (LSTM: a pair), default zeros.
            mask: ``[N, B]`` (``[B, N]`` with ``batch_first``), true for real steps; default all.

        Returns:
            The states of the last layer, halves of width ``num_directions * hidden_size`` (zero where the mask is
            false), and the last states in the shape of ``hx``.
        """
        if isinstance(x, PackedSequence):
            if mask is not None:
                raise ValueError(
                    "mask must be None for a PackedSequence, got a mask. Pass a padded tensor with the mask instead."
                )
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
        """Run over time-first input; a fully masked row keeps its initial states."""
        if mask is not None:
            mask = mask.to(torch.bool).unsqueeze(-1)
            x = x.masked_fill(~mask, 0.0)  # otherwise a NaN at padding would reach gradients
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
        """Run one layer in one direction: all input products in one call, then step by step."""
        inputs, product = self.input_products(x, index, x.shape[0]), self.state_product(index, x.shape[0])

        def step(step_input: Tensor, state: State) -> tuple[State, State]:
            return self.step(step_input, product, state, index), ()

        (out,), state = run_masked(step, inputs, state, mask, reverse)
        return out, state


def added(layer: Callable[[Tensor], Tensor]) -> Product:
    """Return ``(h, c) -> layer(h) + c``; without c it is ``layer(h)``."""
    return lambda h, c: layer(h) if c is None else layer(h) + c


def run_masked(
    step: Callable[[Tensor, State], tuple[State, State]],
    inputs: Tensor,
    state: State,
    mask: Tensor | None = None,
    reverse: bool = False,
) -> tuple[State, State]:
    """Apply ``step`` along ``inputs [N, B, width]``; an exported graph gets a loop.

    Args:
        step: function of the inputs of a step and the state that returns the next state and extra outputs.
        inputs: time first.
        state: initial state.
        mask: ``[N, B, 1]``; steps where it is false keep the state and output zeros.
        reverse: run from the last step to the first.

    Returns:
        The first tensor of every state, ``[N, B, width]``, and the extra outputs; and the last state.
    """

    def masked_step(state: State, given: State) -> tuple[State, State]:
        new, extra = step(given[0], state)
        if len(given) > 1:
            new = tuple(torch.where(given[1], after, before) for after, before in zip(new, state, strict=True))
        return new, (new[0], *extra)

    given = (inputs,) if mask is None else (inputs, mask)
    if is_exporting():
        (out, *extra), state = scan(masked_step, state, given, reverse)
    else:
        steps, outputs = list(zip(*(tensor.unbind(0) for tensor in given), strict=True)), []
        for step_inputs in reversed(steps) if reverse else steps:
            state, output = masked_step(state, step_inputs)
            outputs.append(output)
        out, *extra = map(torch.stack, zip(*(outputs[::-1] if reverse else outputs), strict=True))
    return (out if mask is None else out.masked_fill(~mask, 0.0), *extra), state


class RNNSteps(Stepwise):
    """h_t = f(W z_t + U h_{t-1} + b) (Thesis 2.19)."""

    num_gates = 1

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """Compute h = f(W z + b + U h)."""
        return (self.phi(self.numbers(product(state[0], inputs))).flatten(1),)


class LSTMSteps(Stepwise):
    """Gates i, f, o and candidate g of W z + U h + b (Thesis 2.20)."""

    num_gates = 4
    num_states = 2

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """Compute c = f c + i phi(g) and h = o phi(c)."""
        h, c = state
        products, weight = product(h, inputs), self.gate_parameter(index)
        if self._takes_kernel(products, weight, c):
            limit = self.limit(torch.promote_types(products.dtype, c.dtype))
            return lstm_step(products, c, weight, self.gate, limit, self._update)
        return self._update(products, c, weight)

    def _update(self, products: Tensor, c: Tensor, weight: Tensor | None) -> State:
        """Compute the next states from the products."""
        of_gates, candidate = self.read(products)
        i, f, o = self.gates(of_gates, weight).unbind(2)  # one call for all is faster than one for each
        c = self.saturate(times(f, self.numbers(c)) + times(i, self.phi(candidate)))
        return times(o, self.phi(c)).flatten(1), c.flatten(1)


class GRUSteps(Stepwise):
    """Gates r, z and candidate n, the reset gate after the recurrent product (Thesis 2.21)."""

    num_gates = 3

    def step(self, inputs: Tensor, product: Product, state: State, index: int = 0) -> State:
        """Compute n = phi(W x + b + r (U h + b')) and h = n + z (h - n)."""
        (h,) = state
        products, weight = product(h, None), self.gate_parameter(index)
        if self._takes_kernel(products, weight, inputs, h):
            limit = self.limit(torch.promote_types(products.dtype, h.dtype))
            return (gru_step(inputs, products, h, weight, self.gate, limit, self._update),)
        return self._update(inputs, products, h, weight)

    def _update(self, inputs: Tensor, products: Tensor, state: Tensor, weight: Tensor | None) -> State:
        """Compute the next state from the products of input and state."""
        h = self.numbers(state)
        (gates_x, n_x), (gates_h, n_h) = self.read(inputs), self.read(products)
        r, z = self.gates(gates_x + gates_h, weight).unbind(2)
        n = self.phi(n_x + times(r, n_h))
        return (self.saturate(n + times(z, h - n)).flatten(1),)


def check_sequence(x: Tensor, input_size: int, mask: Tensor | None, batch_first: bool) -> None:
    """Raise unless ``x`` is a batch of sequences of this width and ``mask`` has its shape."""
    if not x.is_floating_point():
        CF.check_halves(x)
    axes = "[batch, length" if batch_first else "[length, batch"
    if x.dim() != 3 or x.shape[-1] != input_size or 0 in x.shape:
        raise ValueError(f"x must be {axes}, {input_size}] and not empty, got shape {tuple(x.shape)}")
    if mask is not None and mask.shape != x.shape[:2]:
        raise ValueError(f"mask must be {axes}] = {tuple(x.shape[:2])}, got {tuple(mask.shape)}")


def gate_rows(weight: Tensor, count: int) -> tuple[Tensor, ...]:
    """Return the rows of each gate; views keep Transformers' mark of loaded weights, which must not be drawn again."""
    rows = weight.chunk(count)
    for gate in rows:
        gate._is_hf_initialized = getattr(weight, "_is_hf_initialized", False)  # type: ignore[attr-defined]
    return rows
