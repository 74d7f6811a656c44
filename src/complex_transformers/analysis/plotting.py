# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The figure that every plot begins with; matplotlib is loaded when the first one is drawn."""

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
    """An empty figure of a size in inches, that no window shows: for notebooks and ``figure.savefig(path)``.

    A notebook shows figures of ``pyplot`` alone, unless they say themselves how they look.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    figures = require("matplotlib.figure", "plots need matplotlib", "analysis")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    setattr(figure, "_repr_png_", partial(_png, figure))  # noqa: B010 - matplotlib declares no such attribute
    return figure


def legend_beside(axis: Axes) -> None:
    """Draw the legend to the right of the axes, where it covers no curve."""
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small")


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
