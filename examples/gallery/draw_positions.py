#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of the page about positions: how waves and scores depend on position, distance and content.

python examples/gallery/draw_positions.py --output_dir outputs/pictures
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers import HfArgumentParser

from complex_transformers import nn
from complex_transformers.analysis.plotting import legend_beside, new_figure
from complex_transformers.recipes import limit_progress_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEATURES = 8
SHOWN = 2  # the feature whose content varies: 0.1 rad per position, a period of 63
LENGTH = 80


@dataclass
class Arguments:
    """Output folder."""

    output_dir: str = "docs/images"


def panel(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """Return a small figure and its axes."""
    figure = new_figure(6.0, 2.2)
    axis = figure.subplots()
    axis.axhline(0.0, color="grey", linewidth=0.8)
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    return figure, axis


def one_feature(modulus: float, phase: float) -> Tensor:
    """Return a head ``[1, 1, 1, 2D]`` that is 0 except for one feature modulus exp(i phase)."""
    head = torch.zeros(1, 1, 1, FEATURES, dtype=torch.complex64)
    head[..., SHOWN] = modulus * complex(math.cos(phase), math.sin(phase))
    return nn.from_complex(head)


def positions(length: int) -> Tensor:
    """Return positions ``[1, length]`` from 0."""
    return torch.arange(length).unsqueeze(0)


def rotary_scores(query: Tensor, key: Tensor, length: int = LENGTH) -> tuple[Tensor, Tensor]:
    """Return (Re, Im) of q k^H of a query after 0, 1, ... positions and a key at position 0."""
    rotary = nn.RotaryPositions(query.shape[-1] // 2)
    rotated = nn.multiply(query, rotary(positions(length)))
    real, imag = nn.complex_scores(rotated, key)
    return real.flatten(), imag.flatten()


def waves() -> Figure:
    """Draw Re z(pos) of three tokens with other amplitudes and frequencies (ComplexOrder Eq. 5)."""
    embedding = nn.ComplexOrderEmbedding(3, 2)
    embedding.amplitude.data = torch.tensor([[1.0], [0.6], [0.3]])
    embedding.frequency.data = torch.tensor([[0.1], [0.3], [0.6]])
    figure, axis = panel("position", "Re z(pos)")
    for token in range(3):
        wave = embedding(torch.full((1, LENGTH), token), position_ids=positions(LENGTH))
        axis.plot(wave[0, :, 0].detach(), label=f"r = {embedding.amplitude[token].item():.1f}")
    legend_beside(axis)
    return figure


def rotary() -> Figure:
    """Draw RoPE's score over the distance for keys with other phases: content moves the peak."""
    figure, axis = panel("distance of query and key", "score")
    for phase in (0.0, 1.0, 2.0):
        score, _ = rotary_scores(one_feature(1.0, 0.0), one_feature(1.0, phase))
        axis.plot(score, label=f"arg k = {phase:.0f} rad")
    legend_beside(axis)
    return figure


def rotary_word() -> Figure:
    """Draw the score at one distance over the position of the query, for equal and for different tokens."""
    layer = nn.RotaryWordPositions(2, FEATURES)
    layer.frequency.data[1, SHOWN] = 0.05
    figure, axis = panel("position of the query; the key is 10 before it", "score")
    head, at = one_feature(1.0, 0.0), positions(LENGTH) + 10
    for query, key, name in ((0, 0, "both Δω = 0"), (1, 1, "both Δω = 0.05"), (1, 0, "Δω = 0.05 and 0")):
        rotated = [
            nn.multiply(head, layer(torch.full((1, LENGTH), token), where))
            for token, where in ((query, at), (key, at - 10))
        ]
        axis.plot(at[0], (rotated[0] * rotated[1]).sum(-1).flatten().detach(), label=name)
    legend_beside(axis)
    return figure


def polar() -> Figure:
    """Draw PoPE's score over the distance for keys with other contents: they only scale it."""
    layer, rotary = nn.PolarHeads(1, FEATURES), nn.RotaryPositions(FEATURES)
    figure, axis = panel("distance of query and key", "score")
    for content in (1.0, 0.0, -1.0):
        query, key = (torch.full((1, 1, LENGTH, FEATURES), -30.0) for _ in range(2))  # moduli of 0
        query[..., SHOWN], key[..., SHOWN] = 1.0, content
        query, key = layer(query, key, rotary(positions(LENGTH)))
        score = (query @ key.transpose(-1, -2))[0, 0, :, 0].detach()
        axis.plot(score, label=f"k = {content:g}")
    legend_beside(axis)
    return figure


def imaginary() -> Figure:
    """Draw the real and the imaginary part of the rotary score of 64 equal features over the distance."""
    ones = nn.join(torch.ones(1, 1, 1, 64), torch.zeros(1, 1, 1, 64)) / 8.0
    figure, axis = panel("distance of query and key", "score")
    for score, name in zip(rotary_scores(ones, ones, 4096), ("Re(q k^H)", "Im(q k^H)"), strict=True):
        axis.plot(score, label=name)
    axis.set_xscale("symlog", linthresh=1)
    legend_beside(axis)
    return figure


FIGURES = {
    "positions-waves": waves,
    "positions-rotary": rotary,
    "positions-word": rotary_word,
    "positions-polar": polar,
    "positions-imaginary": imaginary,
}


def main() -> list[Path]:
    """Draw the figures and print their paths."""
    (args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()
    limit_progress_bars()
    folder = Path(args.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in FIGURES.items():
        paths.append(folder / f"{name}.png")
        draw().savefig(paths[-1], dpi=100)
        print(f"saved: {paths[-1]}")
    return paths


if __name__ == "__main__":
    main()
