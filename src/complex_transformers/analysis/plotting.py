# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures for all plots; matplotlib is imported at the first plot."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

from ..data.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["legend_beside", "new_figure"]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure (size in inches) for notebooks and ``figure.savefig(path)``; it opens no window.

    Notebooks display figures outside ``pyplot`` only if they have ``_repr_png_``.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    figures = require("matplotlib.figure", "plots need matplotlib", "analysis")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    setattr(figure, "_repr_png_", partial(_png, figure))  # noqa: B010 - matplotlib declares no such attribute
    return figure


def legend_beside(axis: Axes) -> None:
    """Draw the legend to the right of the axes."""
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small")


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
