# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as quantum states: Tables 4.5 to 4.7 of the thesis with their controls, senses, learned phases and evolutions.

    python -m experiments.run thesis-semantics            # or single rows: thesis-semantics "w2,*"
    python -m experiments.run thesis-semantics-phases
    python -m experiments.run thesis-semantics-evolution

The tables go to ``docs/semantics.md``.
"""

from __future__ import annotations

from experiments.grid import Functions
from experiments.thesis import born, evolution
from experiments.thesis.semantics import (
    CONTEXTS,
    COUNT_SPACES,
    TOPIC_SPACES,
    Cell,
    DifferenceCell,
    SenseCell,
    SpaceCell,
    TopicCell,
    run,
    settings,
)

__all__ = [
    "CONTROLS",
    "DIFFERENCES",
    "DROPPED",
    "GRIDS",
    "PHASED",
    "SENSES",
    "TOPICS",
    "WITHOUT_DROPPED",
    "evolution_rows",
    "phase_rows",
]

TOPICS = (50, 200)
DROPPED = 100  # most frequent words, not used as contexts
WITHOUT_DROPPED = ("cos raw", "cos pmi_b", "probability amplitude", "npmi_b")
# A space and its comparisons: the thesis's baseline, the cosine, and phases.
DIFFERENCES = {
    **{f"npmi_{x}": f"pmi_{x}" for x in "abc"},
    "probability amplitude": "probability",
}
CONTROLS = {**{f"npmi_{x}": f"cos pmi_{x}" for x in "abc"}, "probability amplitude": "cos raw"}
PHASED = {f"npmi_{x} phases": f"npmi_{x}" for x in "abc"}
SENSES = ("probability amplitude", "cos ppmi", "npmi_a", "npmi_b", "npmi_a phases", "npmi_b phases")


def _rows() -> dict[str, Cell]:
    rows: dict[str, Cell] = {}
    for window in CONTEXTS:
        rows |= {f"w{window},{name}": SpaceCell(name, window) for name in COUNT_SPACES}
        for pairs in (DIFFERENCES, CONTROLS, PHASED):
            for first, second in pairs.items():
                cell = DifferenceCell(SpaceCell(first, window), SpaceCell(second, window))
                rows[f"w{window},{first} - {second}"] = cell
        rows |= {f"w{window},senses,{name}": SenseCell(SpaceCell(name, window)) for name in SENSES}
    rows |= {f"w2,without {DROPPED},{name}": SpaceCell(name, 2, DROPPED) for name in WITHOUT_DROPPED}
    rows |= {f"{name},{number}": TopicCell(name, number) for number in TOPICS for name in TOPIC_SPACES}
    return rows


def phase_rows() -> dict[str, born.BornCell]:
    """Return states of width 50 with each kind of phases, and real ones of width 100 (equal parameters)."""
    rows = {phases: born.BornCell(phases, 50) for phases in born.PHASES}
    return {**rows, "signs, twice the numbers": born.BornCell("signs", 100)}


def evolution_rows() -> dict[str, evolution.EvolutionCell]:
    """Return the rows: states, composition (sum or mixture) and evolution of the words before it."""
    cells = (
        evolution.EvolutionCell(states, how, kind)
        for how in ("add", "mixture")
        for states in evolution.STATES
        for kind in evolution.EVOLUTIONS
        if not (states == "signs" and kind == "phase_shift")  # real states have no phase to shift
    )
    return {f"{cell.states},{cell.how},{cell.evolution}": cell for cell in cells}


GRIDS = (
    Functions("thesis-semantics", _rows(), (0,), run, settings),
    Functions("thesis-semantics-phases", phase_rows(), (0,), born.run, born.settings),
    Functions("thesis-semantics-evolution", evolution_rows(), (0, 1, 2), evolution.run, evolution.settings),
)
