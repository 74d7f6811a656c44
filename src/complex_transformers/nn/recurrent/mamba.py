# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mamba-3 (Lahoti et al. 2026, arXiv 2603.15569): a selective state space layer whose states rotate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...kernels.dispatch import is_plain_cpu
from ...kernels.exporting import is_exporting
from ...kernels.native import state_space as native
from .. import functional as CF
from ..arithmetic import arithmetic
from ..checks import check_choice, check_positive
from ..initialization import fill_
from ..linear import RealLinear, is_hooked
from ..padding_order import real_first, reorder
from ..precision import FullPrecision
from .state_space import accumulated, angle_dtype, grouped_state_space, sides, state_space_step
from .step_loop import check_sequence

__all__ = ["Mamba3Mixer"]

States = tuple[Tensor, ...]


def heavy_tail(a: Tensor) -> Tensor:
    """Return 1 + a for a >= 0 and 1 / (1 - a) below, which decreases more slowly than softplus."""
    return a.clamp(min=0.0) + 1.0 / (1.0 - a.clamp(max=0.0))


A_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"heavy_tail": heavy_tail, "softplus": F.softplus}


def check_mamba_sizes(hidden_size: int, expand: int, head_dim: int, n_groups: int, state_size: int) -> int:
    """Return the number of heads; raise unless heads and groups fit the width and states have two halves."""
    check_positive(expand=expand, head_dim=head_dim, n_groups=n_groups, state_size=state_size)
    arithmetic("complex").num_features(state_size)
    heads, rest = divmod(expand * hidden_size, head_dim)
    if rest or heads % n_groups:
        raise ValueError(
            f"head_dim and n_groups must divide expand * hidden_size = {expand * hidden_size} into groups of heads, "
            f"got {head_dim} and {n_groups}."
        )
    return heads


def check_mamba_ranges(rope_fraction: float, time_step_min: float, time_step_max: float, **others: float) -> None:
    """Raise unless all are positive and finite, ``rope_fraction`` is at most 1, and the time steps are in order."""
    largest = torch.finfo(torch.float32).max
    limits = {"rope_fraction": (rope_fraction, 1), "time_step_max": (time_step_max, largest)}
    limits |= {"time_step_min": (time_step_min, time_step_max)}
    for name, (value, limit) in {**limits, **{name: (value, largest) for name, value in others.items()}}.items():
        if not 0 < value <= limit:
            raise ValueError(f"{name} must be positive and at most {limit:.4g}, got {value}.")


def num_angles(state_size: int, rope_fraction: float, number_field: str) -> int:
    """Return how many complex features of a state rotate, at least one; none in the real field."""
    return max(1, int(rope_fraction * state_size) // 2) if number_field == "complex" else 0


def state_shapes(heads: int, angles: int, head_dim: int, state_size: int, rank: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every state of one sequence by name: angle, state, last key and last value."""
    shapes = {
        "angle": (heads, angles),
        "ssm": (heads, head_dim, state_size),
        "key": (heads, rank, state_size),
        "value": (heads, head_dim),
    }
    return {name: shape for name, shape in shapes.items() if angles or name != "angle"}


class Steps(NamedTuple):
    """The steps of the recurrence, projected from the input, in chunks; see ``grouped_state_space``."""

    key: Tensor
    query: Tensor
    angles: Tensor | None
    value: Tensor
    log_decay: Tensor
    before: Tensor
    own: Tensor
    angle: Tensor


class GroupedRMSNorm(nn.RMSNorm):
    """RMS norm of the last axis of ``[..., groups, size / groups]`` in the dtype of its input, with ``size`` gains."""

    eps: float

    def __init__(self, size: int, groups: int = 1, eps: float = 1e-5) -> None:
        super().__init__(size, eps=eps)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        gain = self.weight.view(self.groups, -1).to(x.dtype)
        return F.rms_norm(x, x.shape[-1:], eps=self.eps) * gain


class Mamba3Mixer(FullPrecision):
    """The mixer of Mamba-3, ``[B, T, hidden_size] -> [B, T, hidden_size]``, a drop-in for causal attention.

    For each head of P = ``head_dim`` features and N / 2 complex states per feature (N = ``state_size``), with z, x, B,
    C, dt, a, lambda and angle projected from the input u_t (Proposition 1 to 4 of the paper):

    - Delta = softplus(dt + dt_bias) and A = -max(g(a), A_floor), where g is ``A_activation``;
    - theta_t = theta_{t-1} + pi tanh(angle_t) Delta_t, modulo 2 pi;
    - k_t = (RMSNorm(B_t) + B_bias) e^{i theta_t} and q_t = (RMSNorm(C_t) + C_bias) e^{i theta_t}, stored as halves;
    - h_t = alpha_t h_{t-1} + (1 - s) Delta_t alpha_t k_{t-1} x_{t-1}^T + s Delta_t k_t x_t^T with
      alpha_t = exp(Delta_t A_t) and s = sigmoid(lambda_t), the trapezoidal rule;
    - y_t = q_t h_t + D x_t; the output is W (y_t silu(z_t)).

    With ``number_field="real"`` it is the same network without rotation: a real state with positive decays, which
    cannot count modulo a number. States and angles are float32 or better whatever the dtype of the model.

    Args:
        hidden_size: width of input and output, real in both fields.
        state_size: stored width N of the state of a feature, even.
        head_dim: features of a head.
        expand: the heads have ``expand * hidden_size`` features together.
        n_groups: groups of heads that share B and C.
        mimo_rank: rank R of the input and output of a state; 1 for the single-input network. R > 1 (MIMO) projects R
            vectors B and C, and scales x, z and y of each by ``mimo_x``, ``mimo_z`` and ``mimo_o``.
        rope_fraction: share of the complex states that rotate.
        time_step_min, time_step_max: range of the initial Delta, which is log-uniform.
        time_step_floor: smallest initial Delta.
        A_floor: smallest -A.
        A_activation: g, ``"heavy_tail"`` (1 + a for a >= 0 and 1 / (1 - a) below), or ``"softplus"`` as in the first
            release of the official code.
        is_outproj_norm: RMS norm of every head before the gate.
        chunk_size: steps that one product of matrices computes in training; about 64 / ``mimo_rank`` is fastest.
        eps: of the norms.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: an odd ``state_size``, heads or groups that do not divide the width, an unknown field; a
            ``rope_fraction`` above 1, a range of time steps that is empty, a value that is not positive and finite;
            a state or mask of another shape.
    """

    full_precision: ClassVar[tuple[str, ...]] = ("dt_bias", "D", "B_bias", "C_bias", "mimo_x", "mimo_z", "mimo_o")
    no_weight_decay = ("dt_bias", "D", "B_bias", "C_bias")
    mimo_x: nn.Parameter | None
    mimo_z: nn.Parameter | None
    mimo_o: nn.Parameter | None

    def __init__(
        self,
        hidden_size: int,
        state_size: int = 128,
        head_dim: int = 64,
        expand: int = 2,
        n_groups: int = 1,
        mimo_rank: int = 1,
        rope_fraction: float = 0.5,
        time_step_min: float = 0.001,
        time_step_max: float = 0.1,
        time_step_floor: float = 1e-4,
        A_floor: float = 1e-4,
        A_activation: str = "heavy_tail",
        is_outproj_norm: bool = False,
        chunk_size: int = 64,
        eps: float = 1e-5,
        number_field: str = "complex",
    ) -> None:
        super().__init__()
        check_choice("number_field", number_field, ("complex", "real"))
        check_choice("A_activation", A_activation, A_ACTIVATIONS)
        check_positive(mimo_rank=mimo_rank, chunk_size=chunk_size)
        check_mamba_ranges(
            rope_fraction, time_step_min, time_step_max, time_step_floor=time_step_floor, A_floor=A_floor
        )
        self.num_heads = check_mamba_sizes(hidden_size, expand, head_dim, n_groups, state_size)
        self.hidden_size, self.state_size, self.head_dim = hidden_size, state_size, head_dim
        self.n_groups, self.mimo_rank, self.chunk_size = n_groups, mimo_rank, chunk_size
        self.time_step_range = (time_step_min, time_step_max, time_step_floor)
        self.A_floor, self.A_activation = A_floor, A_activation
        self.number_field = number_field
        self.num_angles = num_angles(state_size, rope_fraction, number_field)
        self.state_shapes = state_shapes(self.num_heads, self.num_angles, head_dim, state_size, mimo_rank)
        # Number of elements of every state of one sequence by name, in the order of `states`.
        self.state_sizes = {name: math.prod(shape) for name, shape in self.state_shapes.items()}
        inner, shared = self.num_heads * head_dim, mimo_rank * n_groups * state_size
        # z, x, B, C, dt, a, lambda, angle
        self.split_sizes = (inner, inner, shared, shared, *3 * (self.num_heads,), self.num_angles)
        self.in_proj = RealLinear(hidden_size, sum(self.split_sizes), bias=False)
        dtype = self.full_precision_dtype()
        self.dt_bias = nn.Parameter(torch.empty(self.num_heads, dtype=dtype))
        self.B_bias = nn.Parameter(torch.empty(self.num_heads, mimo_rank, state_size, dtype=dtype))
        self.C_bias = nn.Parameter(torch.empty(self.num_heads, mimo_rank, state_size, dtype=dtype))
        self.B_norm = GroupedRMSNorm(state_size, eps=eps)
        self.C_norm = GroupedRMSNorm(state_size, eps=eps)
        self.D = nn.Parameter(torch.empty(self.num_heads, dtype=dtype))
        for name in ("mimo_x", "mimo_z", "mimo_o"):
            ranks = torch.empty(self.num_heads, mimo_rank, head_dim, dtype=dtype) if mimo_rank > 1 else None
            self.register_parameter(name, None if ranks is None else nn.Parameter(ranks))
        self.norm = GroupedRMSNorm(inner, self.num_heads, eps) if is_outproj_norm else None
        self.out_proj = RealLinear(inner, hidden_size, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw Delta log-uniformly; set D and the biases of B and C to 1, and the vectors of MIMO to 1 or 1 / R."""
        smallest, largest, floor = self.time_step_range
        logs = torch.empty_like(self.dt_bias).uniform_(math.log(smallest), math.log(largest))
        step = logs.exp().clamp(min=floor)
        fill_(self.dt_bias, step + torch.log(-torch.expm1(-step)))
        for parameter in (self.B_bias, self.C_bias, self.D):
            torch.nn.init.ones_(parameter)
        for ranks, start in ((self.mimo_x, self.mimo_rank), (self.mimo_z, 1), (self.mimo_o, self.mimo_rank)):
            if ranks is not None:
                torch.nn.init.constant_(ranks, 1.0 / start)

    def forward(
        self,
        x: Tensor,
        states: States | None = None,
        mask: Tensor | None = None,
        starts: Tensor | None = None,
    ) -> tuple[Tensor, States]:
        """Compute the output of all steps and the states after them.

        Args:
            x: ``[B, T, hidden_size]``.
            states: states to continue from, ``[B, size]`` for each of ``state_sizes``; None for the start of a
                sequence.
            mask: ``[B, T]``, true for real steps; others keep the states and output zeros.
            starts: ``[B, T]``, true where another packed sequence starts: states are forgotten there.
        """
        check_sequence(x, self.hidden_size, mask, batch_first=True)
        starts = None if starts is None else starts.to(torch.bool).expand(x.shape[:2])
        first = self._first_states(x, states)
        if not is_exporting() and x.shape[1] == 1 and mask is None and starts is None:
            return self._one_step(x, first)
        if mask is None:
            out, last = self._mix(x, first, None, starts)
            return out, last
        keep = mask.to(torch.bool)
        order, back = real_first(keep, 1)
        x = reorder(x.masked_fill(~keep.unsqueeze(-1), 0.0), order)
        starts = None if starts is None else (starts & keep).gather(1, order)
        out, last = self._mix(x, first, keep.sum(1), starts)
        return reorder(out, back).masked_fill(~keep.unsqueeze(-1), 0.0), last

    def _first_states(self, x: Tensor, states: States | None) -> dict[str, Tensor]:
        """Return the initial states by name, ``[B, size]`` each, in float32 or better."""
        if states is None:
            zeros = CF.wide(x.new_zeros(()))
            return {name: zeros.new_zeros(x.shape[0], size) for name, size in self.state_sizes.items()}
        expected = {name: (x.shape[0], size) for name, size in self.state_sizes.items()}
        if (shapes := [tuple(state.shape) for state in states]) != list(expected.values()):
            raise ValueError(f"states must have the shapes {expected}, got {shapes}. Start with new states.")
        return {name: CF.wide(state) for name, state in zip(expected, states, strict=True)}

    def _shaped(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return ``states`` in the shapes ``state_shapes``."""
        return {name: states[name].unflatten(1, shape) for name, shape in self.state_shapes.items()}

    def _mix(
        self, x: Tensor, first: dict[str, Tensor], count: Tensor | None, starts: Tensor | None
    ) -> tuple[Tensor, States]:
        """Run the recurrence over the first ``count [B]`` steps of each sequence; None for all steps."""
        length = x.shape[1]
        projected, first = self.in_proj(x), self._shaped(first)
        with torch.autocast(x.device.type, enabled=False):
            z, *pieces = self._chunked(CF.wide(projected)).split(self.split_sizes, dim=-1)
            starts = None if starts is None else self._chunked(starts.unsqueeze(-1)).squeeze(-1)
            sequence = None if starts is None else starts.flatten(1).cumsum(1).view_as(starts)
            steps = self._steps(pieces, first, _valid(z, length, count), starts)
            y, state = self._recurrence(steps, first, sequence)
            out = self._gated(y, z)
            # In an exported graph a slice of unknown length would make strides depend on it.
            out = out.index_select(1, torch.arange(length, device=x.device)) if is_exporting() else out[:, :length]
            last = self._last_states(steps, state, pieces[0], first, length if count is None else count)
        return self.out_proj(CF.narrow(out, projected.dtype)), last

    def _chunked(self, x: Tensor) -> Tensor:
        """Split ``[B, T, C]`` into chunks ``[B, n, c, C]``, with zeros after the last step."""
        length = x.shape[1]
        # In a compiled graph a minimum would be a symbol.
        size = self.chunk_size if torch.compiler.is_compiling() and length != 1 else min(self.chunk_size, length)
        if torch.compiler.is_compiling() or length % size:
            x = F.pad(x, (0, 0, 0, -length % size))
        return x.unflatten(1, (-1, size))

    def _steps(self, pieces: list[Tensor], first: dict[str, Tensor], valid: Tensor, starts: Tensor | None) -> Steps:
        """Compute B, C, angles, values, decays and weights of all steps, in chunks."""
        x, b, c, dt, a, trapezoid, angle = pieces
        step, own, damping = map(_by_head, self._rates(dt, a, trapezoid))
        step, own = step * valid, own * valid
        before = step - own
        if starts is not None:
            before = before * ~starts.unsqueeze(1)
        key, query = self._normed(self.B_norm, b), self._normed(self.C_norm, c)
        angles, last_angle = None, angle
        if self.num_angles:
            increments = math.pi * torch.tanh(angle).unsqueeze(1) * step.unsqueeze(-1)
            angles, last_angle = accumulated(increments, first["angle"])
        value = _by_rank(x.unflatten(-1, (self.num_heads, -1)).permute(0, 3, 1, 2, 4), self.mimo_x)
        return Steps(key, query, angles, value, -damping * step, before, own, last_angle)

    def _rates(self, dt: Tensor, a: Tensor, trapezoid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return Delta, the weight s Delta of a step, and -A, in the shape of ``dt [..., H]``."""
        step = F.softplus(dt + self.dt_bias)
        damping = A_ACTIVATIONS[self.A_activation](a).clamp(min=self.A_floor)
        return step, torch.sigmoid(trapezoid) * step, damping

    def _normed(self, norm: nn.Module, x: Tensor) -> Tensor:
        """Return B or C of every group, ``[B, n, c, R, groups, N]``, of ``[B, n, c, R groups N]``."""
        normed: Tensor = norm(x.unflatten(-1, (self.mimo_rank, self.n_groups, -1)))
        return normed

    def _recurrence(self, steps: Steps, first: dict[str, Tensor], sequence: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return y + D x ``[B, H, n, c, R, P]`` and the last state ``[B, H, P, N]``."""
        value = _by_rank(first["value"], self.mimo_x) * steps.before[:, :, 0, 0, None, None]
        carry = first["ssm"] + value.mT @ first["key"]
        biases = self.B_bias, self.C_bias
        key, query, angles, value, log_decay, before, own, _ = steps
        weights = log_decay, before, own
        return grouped_state_space(key, query, *biases, angles, value, *weights, self.D, carry, sequence)

    def _one_step(self, x: Tensor, first: dict[str, Tensor]) -> tuple[Tensor, States]:
        """Compute the output ``[B, 1, hidden_size]`` of one step and the states after it."""
        projected = _product(self.in_proj, x)
        out, last = self._between(CF.wide(projected), first)
        states = tuple(last[name] for name in self.state_shapes)
        return _product(self.out_proj, CF.narrow(out, projected.dtype)), states

    def _between(self, projected: Tensor, first: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the input ``[B, 1, H P]`` of ``out_proj`` of one step, and the states after it."""
        norms = self.B_norm, self.C_norm, self.norm
        if all(norm is None or (type(norm) is GroupedRMSNorm and not is_hooked(norm)) for norm in norms):
            gains = (None if norm is None else norm.weight for norm in norms)
            mimo = self.mimo_x, self.mimo_z, self.mimo_o
            parameters = self.dt_bias, self.B_bias, self.C_bias, self.D, *gains, *mimo
            states = (state for name, state in first.items() if name != "angle")
            if native.may_run(projected, *states, *parameters, angle=first.get("angle")):
                softplus = self.A_activation == "softplus"
                return native.step(
                    projected, first, parameters, self.n_groups, self.A_floor, self.B_norm.eps, softplus
                )
        with torch.autocast(projected.device.type, enabled=False):
            return self._step_by_formula(projected, self._shaped(first))

    def _step_by_formula(self, projected: Tensor, first: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        z, x, b, c, dt, a, trapezoid, angle = projected.unsqueeze(1).split(self.split_sizes, dim=-1)
        step, own, damping = (rate[:, 0, 0] for rate in self._rates(dt, a, trapezoid))
        angles, angle = self._next_angle(angle[:, 0, 0], step, first)
        # Queries and keys as heads of one tensor: fewer operations.
        groups = torch.cat([self._normed(self.C_norm, c), self._normed(self.B_norm, b)], dim=-2)
        (both,) = sides(((groups, torch.cat([self.C_bias, self.B_bias])),), angles)
        query, key = both[:, :, 0, 0].chunk(2, dim=1)
        last = {"angle": angle, "key": key, "value": x.unflatten(-1, (self.num_heads, -1))[:, 0, 0]}
        before, value = (_by_rank(states["value"], self.mimo_x) for states in (first, last))
        decay = torch.exp(-damping * step)
        values = _weighted(before, decay * (step - own)), _weighted(value, own)
        keys = torch.cat([first["key"], key], dim=2)
        y, last["ssm"] = state_space_step(query, keys, torch.cat(values, dim=2), decay, first["ssm"])
        out = self._gated(torch.addcmul(y, self.D[:, None, None], value)[:, :, None, None], z)
        return out, {name: state.flatten(1) for name, state in last.items()}

    def _next_angle(self, angle: Tensor, step: Tensor, first: dict[str, Tensor]) -> tuple[Tensor | None, Tensor]:
        """Return the angles of queries and keys ``[B, 2 H, 1, 1, S]``, and the state; None in the real field."""
        if not self.num_angles:
            return None, angle
        increments = math.pi * torch.tanh(angle).unsqueeze(1) * step.unsqueeze(-1)
        total = torch.remainder(first["angle"].to(angle_dtype(step.device)) + increments, 2.0 * math.pi)
        return total.to(step.dtype).repeat(1, 2, 1)[:, :, None, None], total

    def _gated(self, y: Tensor, z: Tensor) -> Tensor:
        """Return norm(y) silu(z) with the ranks added up, ``[B, n c, H P]``."""
        y = y.permute(0, 2, 3, 4, 1, 5).flatten(1, 2)
        if self.norm is not None:
            y = self.norm(y)
        gate = z.flatten(1, 2).unflatten(-1, (self.num_heads, -1)).unsqueeze(2)
        if self.mimo_z is None or self.mimo_o is None:
            return (y * F.silu(gate)).flatten(2)
        gated = y * F.silu(gate * self.mimo_z.transpose(0, 1))
        return (gated * self.mimo_o.transpose(0, 1)).sum(2).flatten(2)

    def _last_states(
        self, steps: Steps, state: Tensor, x: Tensor, first: dict[str, Tensor], count: Tensor | int
    ) -> States:
        """Return the states after ``count`` steps, ``[B, size]`` each."""
        angles = None if steps.angles is None else _step(steps.angles.permute(0, 2, 3, 1, 4), count)
        (key,) = sides(((_step(steps.key, count), self.B_bias),), None if angles is None else angles.movedim(3, 1))
        value = _step(x, count).unflatten(-1, (self.num_heads, -1))[:, 0]
        last = {"angle": steps.angle, "ssm": state, "key": key[:, :, 0, 0], "value": value[:, 0]}
        if isinstance(count, Tensor):
            for name in ("key", "value"):
                some = (count > 0).view(-1, *(1,) * (first[name].dim() - 1))
                last[name] = torch.where(some, last[name], first[name])
        return tuple(last[name].flatten(1) for name in self.state_shapes)

    def extra_repr(self) -> str:
        return (
            f"state_size={self.state_size}, num_heads={self.num_heads}, head_dim={self.head_dim}, "
            f"mimo_rank={self.mimo_rank}, number_field={self.number_field!r}"
        )


def _product(layer: RealLinear, x: Tensor) -> Tensor:
    """Call a projection, or compute its product in C++ for a single sequence."""
    plain = type(layer) is RealLinear and layer.bias is None and not is_hooked(layer) and is_plain_cpu(x)
    if plain and x.shape[0] == 1 and native.may_run(x, layer.weight):
        return native.product(x, layer.weight)
    out: Tensor = layer(x)
    return out


def _valid(like: Tensor, length: int, count: Tensor | None) -> Tensor:
    """Return 1 for the first ``count [B]`` or ``length`` steps and 0 for others, ``[B or 1, 1, n, c]``."""
    index = torch.arange(like.shape[1] * like.shape[2], device=like.device)
    valid = (index < length).unsqueeze(0) if count is None else index < count.unsqueeze(-1)
    return valid.view(-1, 1, *like.shape[1:3]).to(like.dtype)


def _by_head(x: Tensor) -> Tensor:
    """Move heads from the last axis: ``[B, n, c, H] -> [B, H, n, c]``."""
    return x.permute(0, 3, 1, 2)


def _by_rank(value: Tensor, scale: Tensor | None) -> Tensor:
    """Return values of every rank, ``[B, H, ..., R, P]``, of values ``[B, H, ..., P]``."""
    value = value.unsqueeze(-2)
    if scale is None:
        return value
    return value * scale.view(scale.shape[0], *(1,) * (value.dim() - 4), *scale.shape[1:])


def _weighted(value: Tensor, weight: Tensor) -> Tensor:
    """Multiply values ``[B, H, R, P]`` by weights ``[B, H]``."""
    return value * weight[..., None, None]


def _step(x: Tensor, count: Tensor | int) -> Tensor:
    """Return the last of the first ``count`` steps of ``[B, n, c, ...]`` as ``[B, 1, 1, ...]``, the first for 0."""
    steps = x.flatten(1, 2)
    if isinstance(count, Tensor):
        found = steps[torch.arange(steps.shape[0], device=steps.device), (count - 1).clamp(min=0)]
    else:
        found = steps[:, count - 1]
    return found[:, None, None]
