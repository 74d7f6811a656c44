# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""How the parts of complex weights move during training (Thesis 3.6, Figures 3.3 to 3.8)."""

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
    """Means over one weight at the end of an epoch: |Re w|, |Im w| (None of a real weight) and |w|.

    Of U z + V conj(z) the weight under the name of the layer is U, V has that of ``layer.conj``.
    """

    epoch: float
    layer: str
    real: float
    imag: float | None
    modulus: float


class WeightTrace(TrainerCallback):
    """Records mean|Re W|, mean|Im W| and mean|W| of every layer before training and after each epoch.

    A callback of ``Trainer``; a loop of its own calls ``record``. ``rows`` are the records, ``to_list()`` the same as
    dictionaries for a file. What a resumed run records begins where it was resumed.
    """

    def __init__(self) -> None:
        self.rows: list[WeightMeans] = []

    @torch.no_grad()
    def record(self, model: nn.Module, epoch: float) -> None:
        """Add a row for each layer with a weight of this library; a weight that is shared counts once."""
        seen: dict[int, Tensor] = {}  # tensors that are computed, too, are kept: the id of one that is gone is reused
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
        """The initial weights."""
        self.record(model, state.epoch or 0.0)

    def on_epoch_end(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        """The weights of an epoch."""
        self.record(model, state.epoch)

    @property
    def layers(self) -> list[str]:
        """Names of the layers, in the order of the network."""
        return list(dict.fromkeys(row.layer for row in self.rows))

    def curve(self, layer: str, part: str = "modulus") -> list[float]:
        """One number for each record of a layer: ``real``, ``imag`` or ``modulus``.

        Raises:
            ValueError: no such layer or part, or a real weight has no imaginary part.
        """
        if layer not in self.layers:
            raise ValueError(f"no layer {layer!r}, only {self.layers}")
        if part not in ("real", "imag", "modulus"):
            raise ValueError(f"part must be one of ['real', 'imag', 'modulus'], got {part!r}")
        values = [getattr(row, part) for row in self.rows if row.layer == layer]
        if None in values:
            raise ValueError(f"the weight of {layer!r} is real: it has no part 'imag'")
        return values

    def to_list(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(vars(row)) for row in self.rows]


def _means(epoch: float, name: str, parts: Sequence[Tensor]) -> WeightMeans:
    """Of a weight with one or two parts."""
    parts = [part.detach().double() for part in parts]
    means = [part.abs().mean().item() for part in parts]
    modulus = torch.linalg.vector_norm(torch.stack(parts), dim=0).mean().item()
    return WeightMeans(epoch, name, means[0], means[1] if len(means) == 2 else None, modulus)


def plot_weight_trace(trace: WeightTrace, layers: Sequence[str] | None = None) -> Figure:
    """mean|Re W|, mean|Im W| and mean|W| over epochs, a picture for each layer (Thesis, Figures 3.3 and 3.4).

    Raises:
        ValueError: nothing was recorded, or no such layer.
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    layers = trace.layers if layers is None else list(layers)
    if not layers:
        raise ValueError("the trace is empty: give it to Trainer(callbacks=[trace]), or call trace.record(model, 0)")
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
    """How real and imaginary curves go together: in the same run, in different runs, and the share of chance."""

    within: float
    between: float
    p_value: float
    runs: int


def part_coupling(
    real: Sequence[Sequence[float]], imag: Sequence[Sequence[float]], permutations: int = 10_000, seed: int = 0
) -> PartCoupling:
    """Does the imaginary part of a weight follow its real part, more than that of another run?

    Both curves of a layer follow the training, whatever the task. So the correlation over epochs of their increments
    within a run is compared with that of the real curve of one run and the imaginary curve of another; ``p_value`` is
    the share of random pairings of the runs whose mean correlation is at least that of the runs themselves.

    Args:
        real, imag: curves of one layer, ``[runs, epochs]``, as ``WeightTrace.curve`` gives them; at least two runs of
            at least four epochs.
        permutations: random pairings.
        seed: of the pairings.

    Raises:
        ValueError: shapes that differ or are too small, curves that do not move or are not finite.
    """
    curves = [torch.tensor(part, dtype=torch.float64) for part in (real, imag)]
    shape = tuple(curves[0].shape)
    if curves[1].shape != shape or len(shape) != 2 or shape[0] < 2 or shape[1] < 4:
        raise ValueError(
            "real and imag must be curves [runs, epochs] of equal shape, two runs and four epochs at least, got "
            f"{[list(part.shape) for part in curves]}"
        )
    steps = torch.stack(curves).diff(dim=-1)
    steps = steps - steps.mean(dim=-1, keepdim=True)
    norms = torch.linalg.vector_norm(steps, dim=-1, keepdim=True)
    if not bool((norms > 0).all()) or not bool(norms.isfinite().all()):
        raise ValueError("a curve does not move, or is not finite: leave out runs that were not trained or diverged")
    correlation = (steps[0] / norms[0]) @ (steps[1] / norms[1]).T  # [runs of the real, runs of the imaginary curve]
    runs = len(correlation)
    within = correlation.diagonal().mean().item()
    between = (correlation.sum().item() - runs * within) / (runs * (runs - 1))
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(permutations, runs, generator=generator).argsort(dim=-1)
    paired = correlation[torch.arange(runs), order].mean(dim=-1)
    reached = int((paired >= within - 1e-12).sum())
    return PartCoupling(within, between, (1 + reached) / (1 + permutations), runs)
