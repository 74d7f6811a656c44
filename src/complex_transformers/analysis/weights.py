# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Real and imaginary parts of weights during training (Thesis 3.6, Figures 3.3 to 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import TrainerCallback

from ..nn.initialization import Initialized
from .plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PartCoupling", "WeightMeans", "WeightTrace", "part_coupling", "plot_weight_trace"]


@dataclass(frozen=True)
class WeightMeans:
    """Means over one weight at the end of an epoch: |Re w|, |Im w| (None for a real weight) and |w|.

    A layer U z + V conj(z) has two records: U under its name, V under ``<name>.conj``.
    """

    epoch: float
    layer: str
    real: float
    imag: float | None
    modulus: float


class WeightTrace(TrainerCallback):
    """A Trainer callback that records mean|Re W|, mean|Im W| and mean|W| of each layer, initially and per epoch.

    In a custom loop, call ``record``. ``rows`` holds the records; ``to_list()`` returns them as dictionaries. A
    resumed run records from the point where it resumed.
    """

    def __init__(self) -> None:
        self.rows: list[WeightMeans] = []

    @torch.no_grad()
    def record(self, model: nn.Module, epoch: float) -> None:
        """Add a record for each layer of this library; a shared weight is recorded once."""
        seen: dict[int, Tensor] = {}  # keeps computed tensors alive: ids of freed ones are reused
        for name, layer in model.named_modules():
            parts = layer.weight_parts() if isinstance(layer, Initialized) else ()
            if not parts or id(parts[0]) in seen:
                continue
            seen[id(parts[0])] = parts[0]
            if getattr(layer, "share_parts", False):
                parts = parts * 2
            self.rows.append(_means(epoch, name, parts[:2]))
            if len(parts) == 4:
                self.rows.append(_means(epoch, f"{name}.conj", parts[2:]))

    def on_train_begin(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        """Record the initial weights."""
        self.record(model, state.epoch or 0.0)

    def on_epoch_end(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        """Record the weights of an epoch."""
        self.record(model, state.epoch)

    @property
    def layers(self) -> list[str]:
        """Names of the layers, in the order of the network."""
        return list(dict.fromkeys(row.layer for row in self.rows))

    def curve(self, layer: str, part: str = "modulus") -> list[float]:
        """Return the ``real``, ``imag`` or ``modulus`` mean of each record of a layer.

        Raises:
            ValueError: the layer or part is unknown, or the weight is real and ``imag`` is asked for.
        """
        if layer not in self.layers:
            raise ValueError(f"layer must be one of {self.layers}, got {layer!r}")
        if part not in ("real", "imag", "modulus"):
            raise ValueError(f"part must be one of ['real', 'imag', 'modulus'], got {part!r}")
        values = [getattr(row, part) for row in self.rows if row.layer == layer]
        if None in values:
            raise ValueError(f"part must be 'real' or 'modulus' for the real weight of {layer!r}, got 'imag'")
        return values

    def to_list(self) -> list[dict[str, Any]]:
        """Return the records as dictionaries."""
        return [dict(vars(row)) for row in self.rows]


def _means(epoch: float, name: str, parts: Sequence[Tensor]) -> WeightMeans:
    """Average a weight of one or two parts."""
    parts = [part.detach().double() for part in parts]
    means = [part.abs().mean().item() for part in parts]
    modulus = torch.linalg.vector_norm(torch.stack(parts), dim=0).mean().item()
    return WeightMeans(epoch, name, means[0], means[1] if len(means) == 2 else None, modulus)


def plot_weight_trace(trace: WeightTrace, layers: Sequence[str] | None = None) -> Figure:
    """Plot mean|Re W|, mean|Im W| and mean|W| over epochs, one panel for each layer (Thesis, Figures 3.3 and 3.4).

    Raises:
        ValueError: nothing was recorded, or a layer is unknown.
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    layers = trace.layers if layers is None else list(layers)
    if not layers:
        raise ValueError("trace must have records, got none. Pass it to Trainer(callbacks=[trace]).")
    figure = new_figure(3.2 * len(layers), 2.8)
    for index, layer in enumerate(layers, start=1):
        axes = figure.add_subplot(1, len(layers), index)
        modulus = trace.curve(layer)
        rows = [row for row in trace.rows if row.layer == layer]
        epochs = [row.epoch for row in rows]
        if rows[0].imag is not None:
            axes.plot(epochs, trace.curve(layer, "real"), label="|Re w|")
            axes.plot(epochs, trace.curve(layer, "imag"), label="|Im w|")
        axes.plot(epochs, modulus, label="|w|", color="black")
        axes.set(title=layer, xlabel="epoch")
    fullest = max(figure.axes, key=lambda axes: len(axes.lines))  # a real layer has one curve
    figure.legend(*fullest.get_legend_handles_labels(), loc="outside right upper")
    return figure


@dataclass(frozen=True)
class PartCoupling:
    """Correlation of real and imaginary curves within runs and between runs, with a permutation p-value."""

    within: float
    between: float
    p_value: float
    runs: int


def part_coupling(
    real: Sequence[Sequence[float]], imag: Sequence[Sequence[float]], permutations: int = 10_000, seed: int = 0
) -> PartCoupling:
    """Test whether the imaginary part of a weight follows its real part more than the real part of another run.

    Compares the correlation over epochs of the increments within a run with the correlation between different runs,
    since training alone moves both curves. ``p_value`` is the share of random pairings of runs whose mean correlation
    is at least the mean within runs.

    Args:
        real, imag: curves of one layer, ``[runs, epochs]``, from ``WeightTrace.curve``; at least 2 runs of 4 epochs.
        permutations: number of random pairings.
        seed: seed of the pairings.

    Raises:
        ValueError: shapes differ or are too small, or a curve is constant or not finite.
    """
    curves = [torch.tensor(part, dtype=torch.float64) for part in (real, imag)]
    shape = tuple(curves[0].shape)
    if curves[1].shape != shape or len(shape) != 2 or shape[0] < 2 or shape[1] < 4:
        raise ValueError(
            f"real and imag must be [runs, epochs], at least [2, 4], got {[list(part.shape) for part in curves]}"
        )
    steps = torch.stack(curves).diff(dim=-1)
    steps = steps - steps.mean(dim=-1, keepdim=True)
    norms = torch.linalg.vector_norm(steps, dim=-1, keepdim=True)
    if not bool((norms > 0).all()) or not bool(norms.isfinite().all()):
        raise ValueError("curves must be finite and change, got NaN or constants. Remove untrained or diverged runs.")
    correlation = (steps[0] / norms[0]) @ (steps[1] / norms[1]).T  # [runs of the real, runs of the imaginary curve]
    runs = len(correlation)
    within = correlation.diagonal().mean().item()
    between = (correlation.sum().item() - runs * within) / (runs * (runs - 1))
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(permutations, runs, generator=generator).argsort(dim=-1)
    paired = correlation[torch.arange(runs), order].mean(dim=-1)
    reached = int((paired >= within - 1e-12).sum())
    return PartCoupling(within, between, (1 + reached) / (1 + permutations), runs)
