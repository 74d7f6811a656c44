# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The figure that every plot begins with; matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.parts import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure"]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, that no window shows: for notebooks and ``figure.savefig(path)``.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    figures = require("matplotlib.figure", "plots need matplotlib", "analysis")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure
