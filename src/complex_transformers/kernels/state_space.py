# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrence of Mamba-3 in chunks on the CPU, head by head, so that all products of a head stay in the cache.

Equations and notation as in ``nn.recurrent.state_space``. A block is one head of some samples, its m chunks
have c steps of rank R. Queries and keys are built in a block from the B and C that heads share, with features before
steps, ``[m, N, R c]``: halves are then contiguous. The backward pass builds them again. With M the matrix of a chunk,
y = M v + f (q h^T), it needs no gradient of each decay: the gradient of the sum of all log decays up to step t is
q_t . dq_t - k_t . dk_t, and the inner product of the last state and its gradient is added at the end of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, without_autocast
from .modulus_attention import Buffers

__all__ = ["ChunkedStateSpace"]

# Steps of a block for each thread.
_STEPS = 1024

Formula = Callable[..., tuple[Tensor, Tensor]]


class _Inputs(NamedTuple):
    """The inputs of all blocks; pairs are of queries and keys."""

    sides: tuple[Tensor, Tensor]  # [B, G, n, N, R, c]
    biases: tuple[Tensor, Tensor]  # [H, N, R, 1]
    angles: Tensor | None  # [B, H, n, c, S]
    value: Tensor  # [B, H, n, c, R, P]
    steps: Tensor  # [5, B, H, n, c], see ``_Block.__init__``
    whole: Tensor  # [B, H, n], decay of the state before a chunk to its end
    skip: Tensor  # [H]
    sequence: Tensor | None  # [B, n, c]

    @classmethod
    def of(cls, tensors: Sequence[Any]) -> _Inputs:
        """Transpose B and C and compute the decays, from the arguments of ``formula``."""
        key, query, key_bias, query_bias, angles, value, log_decay, before, own, skip, _, sequence = tensors
        total = log_decay.cumsum(-1)
        from_start, to_end, whole = total.exp(), (total[..., -1:] - total).exp(), total[..., -1].exp()
        if sequence is not None:
            end = sequence[..., -1]
            start = torch.cat([torch.zeros_like(end[:, :1]), end[:, :-1]], dim=1)
            from_start = from_start * (sequence == start.unsqueeze(-1)).unsqueeze(1)
            to_end = to_end * (sequence == end.unsqueeze(-1)).unsqueeze(1)
            whole = whole * (start == end).unsqueeze(1)
        return cls(
            (_features_first(query), _features_first(key)),
            (query_bias.mT.unsqueeze(-1), key_bias.mT.unsqueeze(-1)),
            angles,
            value,
            torch.stack([total, own + _shifted(before, -1), own, from_start, to_end]),
            whole,
            skip,
            sequence,
        )


def _features_first(x: Tensor) -> Tensor:
    """Transpose B or C: ``[B, n, c, R, G, N] -> [B, G, n, N, R, c]``."""
    return x.permute(0, 4, 1, 5, 3, 2).contiguous()


def _shifted(x: Tensor, steps: int) -> Tensor:
    """Move the values of all steps ``[B, H, n, c]`` one step back or on, with a 0 at the end or start."""
    moved, flat = torch.zeros_like(x), x.flatten(2)
    if steps < 0:
        moved.flatten(2)[..., :-1] = flat[..., 1:]
    else:
        moved.flatten(2)[..., 1:] = flat[..., :-1]
    return moved


def _blocks(value: Tensor) -> Iterator[tuple[slice, int]]:
    """Yield the samples and the head of every block of values ``[B, H, n, c, R, P]``."""
    batch, heads, chunks, steps, rank = value.shape[:5]
    samples = max(1, _STEPS * torch.get_num_threads() // (chunks * steps * rank))
    for head, first in product(range(heads), range(0, batch, samples)):
        yield slice(first, first + samples), head


class _Block:
    """Queries, keys, values, scores and decays of a block, in buffers."""

    def __init__(self, buffers: Buffers, inputs: _Inputs, samples: slice, head: int) -> None:
        value = inputs.value[samples, head]
        self.buffers, self.samples, self.head = buffers, samples, head
        self.size, self.shape = value.shape[0], value.transpose(2, 3).flatten(0, 1).shape  # [m, R, c, P]
        self.group = head // (inputs.value.shape[1] // inputs.sides[0].shape[1])
        self.cos = self.sin = None
        if inputs.angles is not None:
            angles = inputs.angles[samples, head].flatten(0, 1).mT
            self.cos = torch.cos(angles, out=buffers("cos", *angles.shape)).unsqueeze(-2)
            self.sin = torch.sin(angles, out=buffers("sin", *angles.shape)).unsqueeze(-2)
        self.query, self.key = (self._side(inputs, index) for index in range(2))
        self.value = self.stored("value", value)
        # Sums of the log decays of a chunk; the weights of a key for later steps and for its own; the decays from the
        # state before the chunk to each step, and from each step to the last one.
        steps = inputs.steps[:, samples, head].flatten(1, 2).unbind(0)
        self.total, self.scale, self.own, self.from_start, self.to_end = steps
        self.whole = inputs.whole[samples, head, :, None, None].unbind(1)
        self.end_scale = self.scale * self.to_end
        self.skip = inputs.skip[head]
        self.scores = torch.bmm(self.query.mT, self.key, out=buffers("scores", *self.square))
        self.decays = self._decays(inputs)

    @property
    def square(self) -> tuple[int, int, int]:
        """Shape of the scores ``[m, R c, R c]``."""
        chunks, rank, steps, _ = self.shape
        return chunks, rank * steps, rank * steps

    def stored(self, name: str, x: Tensor) -> Tensor:
        """Copy values ``[b, n, c, R, P]`` to a buffer ``[m, R c, P]``."""
        buffer, x = self.buffers(name, *self.shape), x.transpose(2, 3)
        buffer.view(x.shape).copy_(x)
        return buffer.flatten(1, 2)

    def scaled(self, name: str, x: Tensor, factor: Tensor) -> Tensor:
        """Multiply values ``[m, R c, P]`` by a factor of each step ``[m, c]``."""
        out = self.buffers(name, *self.shape)
        return torch.mul(x.view(self.shape), factor[:, None, :, None], out=out).flatten(1, 2)

    def _side(self, inputs: _Inputs, index: int) -> Tensor:
        """Compute queries or keys ``[m, N, R c]``: add the bias and rotate."""
        x = inputs.sides[index][self.samples, self.group].flatten(0, 1)
        side = torch.add(x, inputs.biases[index][self.head], out=self.buffers(f"side {index}", *x.shape))
        self.rotate_(side, 1.0)
        return side.flatten(2)

    def parts(self, side: Tensor) -> tuple[Tensor, Tensor]:
        """Return the real and the imaginary part of the features that rotate, ``[m, S, R, c]``."""
        assert self.cos is not None
        side, size, half = side.view(*side.shape[:2], *self.shape[1:3]), self.cos.shape[1], side.shape[1] // 2
        return side[:, :size], side[:, half : half + size]

    def rotate_(self, side: Tensor, sign: float) -> None:
        """Rotate queries, keys or their gradients by the angles times ``sign``, in place."""
        if self.cos is None or self.sin is None:
            return
        real, imag = self.parts(side)
        moved = torch.mul(real, self.sin, out=self.buffers("moved", *real.shape))
        real.mul_(self.cos).addcmul_(imag, self.sin, value=-sign)
        imag.mul_(self.cos).add_(moved, alpha=sign)

    def _decays(self, inputs: _Inputs) -> Tensor:
        """Compute the decay from each earlier step of a chunk to each step ``[m, c, c]``, 0 from others."""
        total = self.total
        decays = self.buffers("decays", *total.shape, total.shape[-1])
        torch.sub(total.unsqueeze(-1), total.unsqueeze(-2), out=decays).exp_().tril_(-1)
        if inputs.sequence is not None:
            sequence = inputs.sequence[self.samples].flatten(0, 1)
            decays.mul_(sequence.unsqueeze(-1) == sequence.unsqueeze(-2))
        return decays

    def weigh_(self) -> Tensor:
        """Weigh the scores, in place; return the weights of keys in later steps and in their own ones.

        They take the place of the decays, ``[m, 1, c, 1, c]``. The scores become the matrix of values to outputs.
        """
        weights = self.decays.mul_(self.scale.unsqueeze(-2))
        weights.diagonal(dim1=1, dim2=2).copy_(self.own)
        weights = weights[:, None, :, None, :]
        self.by_step(self.scores).mul_(weights)
        self.scores.diagonal(dim1=1, dim2=2).add_(self.skip)
        return weights

    def by_step(self, scores: Tensor) -> Tensor:
        """View scores as ``[m, R, c, R, c]``."""
        return scores.view(*self.shape[:3], *self.shape[1:3])

    def by_sample(self, x: Tensor) -> Tensor:
        """View ``[m, ...]`` as ``[b, n, ...]``."""
        return x.unflatten(0, (self.size, -1))

    def forward(self, state: Tensor, entering: Tensor, out: Tensor) -> Tensor:
        """Write the states before every chunk and the outputs; return the last state ``[b, P, N]``."""
        updates = torch.bmm(self.scaled("scaled", self.value, self.end_scale).mT, self.key.mT)
        for before, update, decay in zip(
            entering.unbind(1), self.by_sample(updates).unbind(1), self.whole, strict=True
        ):
            before.copy_(state)
            state = update.addcmul_(state, decay)
        y = self.buffers("y", *self.shape)
        torch.bmm(self.query.mT, entering.flatten(0, 1).mT, out=y.flatten(1, 2))
        y.mul_(self.from_start[:, None, :, None])
        self.weigh_()
        y.flatten(1, 2).baddbmm_(self.scores, self.value)
        out.copy_(self.by_sample(y).transpose(2, 3))
        return state


class _Gradients(NamedTuple):
    """The gradients of ``_Inputs``, filled by the blocks."""

    sides: tuple[Tensor, Tensor]
    biases: tuple[Tensor, Tensor]
    angles: Tensor | None
    value: Tensor
    steps: Tensor  # of the sums of log decays, the weights for later steps and the own ones, [3, B, H, n, c]
    first: Tensor
    skip: Tensor

    @classmethod
    def like(cls, inputs: _Inputs, first: Tensor) -> _Gradients:
        """Return zeros for sums over blocks, and uninitialised tensors otherwise."""
        sides, biases = ((torch.zeros_like(x), torch.zeros_like(y)) for x, y in inputs[:2])
        angles = None if inputs.angles is None else torch.empty_like(inputs.angles)
        value, steps, first = map(torch.empty_like, (inputs.value, inputs.steps[:3], first))
        return cls(sides, biases, angles, value, steps, first, torch.zeros_like(inputs.skip))

    def add_block(self, block: _Block, entering: Tensor, last: Tensor, grad: Tensor, grad_last: Tensor) -> None:
        """Add the gradients of a block, from the gradients of its outputs and of its last state."""
        at, buffers = (block.samples, block.head), block.buffers
        grad = block.stored("grad", grad)
        of_weights = torch.bmm(grad, block.value.mT, out=buffers("of weights", *block.square))
        products = block.by_step(torch.mul(of_weights, block.scores, out=buffers("products", *block.square)))
        of_own = products.diagonal(dim1=2, dim2=4).sum((1, 2))
        of_scale = products.mul_(block.decays[:, None, :, None, :]).sum((1, 2, 3))
        self.skip[block.head] += of_weights.diagonal(dim1=1, dim2=2).sum()
        block.by_step(of_weights).mul_(block.weigh_())
        of_value = torch.bmm(block.scores.mT, grad, out=buffers("of value", *grad.shape))
        of_query = torch.bmm(block.key, of_weights.mT, out=buffers("of query", *block.query.shape))
        of_key = torch.bmm(block.query, of_weights, out=buffers("of key", *block.key.shape))

        scaled = block.scaled("scaled", grad, block.from_start)
        of_query.baddbmm_(entering.flatten(0, 1).mT, scaled.mT)
        after, self.first[at] = self._of_states(block, scaled, grad_last)
        of_key.baddbmm_(after.mT, block.scaled("scaled", block.value, block.end_scale).mT)
        of_scaled = torch.bmm(block.key.mT, after.mT, out=buffers("of scaled", *grad.shape)).view(block.shape)
        of_value.view(block.shape).addcmul_(of_scaled, block.end_scale[:, None, :, None])
        of_scale.addcmul_(of_scaled.mul_(block.value.view(block.shape)).sum((1, 3)), block.to_end)

        of_total = self._inner(block, block.query, of_query) - self._inner(block, block.key, of_key)
        states = torch.cat([entering[:, 1:], last.unsqueeze(1)], dim=1)
        of_total[:, -1] += (states.flatten(0, 1).flatten(1) * after.flatten(1)).sum(1)
        self.value[at] = block.by_sample(of_value.view(block.shape)).transpose(2, 3)
        steps = torch.stack([of_total, of_scale, of_own.add_(of_scale)])
        self.steps[:, block.samples, block.head] = steps.view(3, block.size, -1, steps.shape[-1])
        self._add_sides(block, of_query, of_key)

    @staticmethod
    def _of_states(block: _Block, scaled: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of the states after every chunk ``[m, P, N]``, and of the first state."""
        updates = torch.bmm(scaled.mT, block.query.mT)
        after = block.buffers("after", *updates.shape)
        steps = zip(*(block.by_sample(x).unbind(1) for x in (after, updates)), block.whole, strict=True)
        for found, update, decay in reversed(list(steps)):
            found.copy_(state)
            state = update.addcmul_(state, decay)
        return after, state

    @staticmethod
    def _inner(block: _Block, side: Tensor, grad: Tensor) -> Tensor:
        """Return the inner product of queries or keys and their gradient, ``[m, c]``."""
        products = torch.mul(side, grad, out=block.buffers("inner", *side.shape))
        return products.sum(1).view(block.shape[:3]).sum(1)

    def _add_sides(self, block: _Block, of_query: Tensor, of_key: Tensor) -> None:
        """Add the gradients of B, C, their biases and the angles from gradients of the rotated queries and keys."""
        pairs = (block.query, of_query), (block.key, of_key)
        if self.angles is not None:
            (re, im), (of_re, of_im) = map(block.parts, pairs[0])
            found = torch.mul(of_im, re, out=block.buffers("moved", *re.shape)).addcmul_(of_re, im, value=-1)
            (re, im), (of_re, of_im) = map(block.parts, pairs[1])
            found.addcmul_(of_im, re).addcmul_(of_re, im, value=-1)
            self.angles[block.samples, block.head] = block.by_sample(found.sum(2).mT)
        for (_, grad), total, bias in zip(pairs, self.sides, self.biases, strict=True):
            block.rotate_(grad, -1.0)
            grad = block.by_sample(grad.view(*grad.shape[:2], *block.shape[1:3]))
            total[block.samples, block.group] += grad
            bias[block.head] += grad.sum((0, 1, 4)).unsqueeze(-1)


class ChunkedStateSpace(torch.autograd.Function):
    """The outputs and the last state of ``formula``, whose arguments follow it, with hand-written gradients.

    ``formula(key, query, key_bias, query_bias, angles, value, log_decay, before, own, skip, first, sequence)`` takes B
    and C ``[B, n, c, R, G, N]``, biases ``[H, R, N]``, angles ``[B, H, n, c, S]`` or None, a factor ``[H]`` of values
    that are added to y, and the other arguments of ``nn.recurrent.state_space.state_space``. It is called for double
    backward.
    """

    @staticmethod
    def forward(formula: Formula, *tensors: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Return y ``[B, H, n, c, R, P]``, the last state ``[B, H, P, N]``, and the states before every chunk."""
        inputs, first = _Inputs.of(tensors), tensors[-2]
        value, buffers = inputs.value, Buffers(inputs.value)
        out = torch.empty_like(value.permute(0, 2, 3, 1, 4, 5), memory_format=torch.contiguous_format)
        out = out.permute(0, 3, 1, 2, 4, 5)  # heads beside features in memory, as the output projection wants them
        last = torch.empty_like(first)
        entering = first.new_empty(first.shape[1], first.shape[0], value.shape[2], *first.shape[2:])
        for samples, head in _blocks(value):
            at = samples, head
            block = _Block(buffers, inputs, samples, head)
            last[at] = block.forward(first[at], entering[head, samples], out[at])
        return out, last, entering

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.formula, *tensors = inputs
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(*tensors, *output[1:])

    @staticmethod
    @without_autocast
    def backward(ctx: Any, grad: Tensor, grad_last: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        *tensors, last, entering = ctx.saved_tensors
        if by_formula(grad, grad_last):
            needed = ctx.needs_input_grad[1:]
            return None, *gradients_with_graph(ctx.formula, tensors, needed, (grad, grad_last))
        inputs, first = _Inputs.of(tensors), tensors[-2]
        grads, buffers = _Gradients.like(inputs, first), Buffers(inputs.value)
        for samples, head in _blocks(inputs.value):
            at = samples, head
            block = _Block(buffers, inputs, samples, head)
            grads.add_block(block, entering[head, samples], last[at], grad[at], grad_last[at])
        query, key = (x.permute(0, 2, 5, 4, 1, 3) for x in grads.sides)
        query_bias, key_bias = (x.squeeze(-1).mT for x in grads.biases)
        total, scale, own = grads.steps
        steps = total.flip(-1).cumsum(-1).flip(-1), _shifted(scale, 1), own
        return None, key, query, key_bias, query_bias, grads.angles, grads.value, *steps, grads.skip, grads.first, None
