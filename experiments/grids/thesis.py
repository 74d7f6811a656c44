# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The experiments of chapter 3 of the thesis, and ablations that explain them.

    python -m experiments.run thesis-mlp "mnist,*"      # Experiments 1 and 2: equal parameters
    python -m experiments.run thesis-cnn                # Experiment 3
    python -m experiments.run thesis-cnn-recipes        # the same with other training recipes
    python -m experiments.run thesis-failures           # 20 seeds of every activation and depth
    python -m experiments.run thesis-causes             # input scale x initializer x norm
    python -m experiments.run thesis-inputs             # inputs that are complex by nature
    python -m experiments.run thesis-labels             # multi-label heads
    python -m experiments.run thesis-synthetic
    python -m experiments.run thesis-dynamics

The tables go to ``docs/thesis.md``.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from experiments.grid import Functions
from experiments.thesis.protocol import ACTIVATIONS, RECIPES, Cell, run, settings, trace_run

__all__ = ["DEPTHS", "FAILING", "FIELDS", "GRIDS"]

FIELDS = ("real", "complex")
DEPTHS = (0, 2, 4, 8)
EPOCHS = {"mnist": 10, "r52": 10, "cifar10-cut": 30}
# Activations of the thesis, and announced ones that it did not run.
FAILING = (*ACTIVATIONS.values(), "hirose_tanh")


def _mlp() -> dict[str, Cell]:
    cells = {}
    for data, layout, name, k, field in itertools.product(EPOCHS, "12", ACTIVATIONS, DEPTHS, FIELDS):
        cells[f"{data},{layout},{name},{k},{field}"] = Cell(data, layout, ACTIVATIONS[name], k, field, EPOCHS[data])
    for name, k in itertools.product(("hirose_tanh", "modrelu"), DEPTHS):
        cells[f"mnist,1,{name},{k},complex"] = Cell("mnist", "1", name, k, "complex", EPOCHS["mnist"])
    for k in DEPTHS:  # baseline: a real network whose head squares, too
        layout = cells[f"mnist,1,identity,{k},complex"]
        cells[f"mnist,1,identity,{k},complex,concat"] = replace(layout, options=(("readout", "concat"),))
    return cells


def _cnn() -> dict[str, Cell]:
    cells = {}
    for data, name, k, field in itertools.product(("mnist", "cifar10-cut"), ACTIVATIONS, (0, 2), FIELDS):
        cell = Cell(data, "cnn", ACTIVATIONS[name], k, field, 3 if data == "mnist" else 20)
        cells[f"{data},{name},{k},{field}"] = cell
        if field == "real" and name == "relu":
            cells[f"{data},{name},{k},real,max_value"] = replace(cell, options=(("pooling", "max_value"),))
    for field, dropout in itertools.product(FIELDS, (0.0, 0.3)):  # recipes that the thesis does not use
        options = (("norm_type", "batch"), ("hidden_dropout_prob", dropout))
        plain = cells[f"cifar10-cut,relu,2,{field}"]
        cells[f"cifar10-cut,relu,2,{field},batch norm,dropout {dropout:g}"] = replace(plain, options=options)
    return cells


def _cnn_recipes() -> dict[str, Cell]:
    plain = Cell("cifar10-cut", "cnn", "", 2, epochs=30)
    return {
        f"{name},{field},{recipe}": replace(plain, hidden_act=name, number_field=field, recipe=recipe)
        for recipe, name, field in itertools.product(RECIPES, ("split_relu", "modulus"), FIELDS)
    }


def _failures() -> dict[str, Cell]:
    cells = {}
    for norm, name, k, field in itertools.product(("none", "layer"), FAILING, DEPTHS, FIELDS):
        options = (("norm_type", norm),)
        cells[f"{norm},{name},{k},{field}"] = Cell("mnist-5000", "1", name, k, field, 3, options=options)
    return cells


def _causes() -> dict[str, Cell]:
    cells = {}
    names = ("split_relu", "modulus")
    choices = itertools.product(
        ("mnist-5000", "r52"), names, DEPTHS, FIELDS, (1.0, 255.0), ("glorot", "fan"), ("none", "layer")
    )
    for data, name, k, field, scale, init, norm in choices:
        if data == "r52" and scale != 1.0:
            continue  # bags of words are 0 or 1 and have no input scale
        cell = Cell(data, "1", name, k, field, 3, scale, init, (("norm_type", norm),))
        cells[f"{data},{name},{k},{field},x{scale:g},{init},{norm}"] = cell
    return cells


def _inputs() -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for transform, field, k in itertools.product(("none", "fft2", "phase"), FIELDS, (0, 2)):
        options: tuple[tuple[str, Any], ...] = () if transform == "none" else (("input_transform", transform),)
        cells[f"mnist,mlp,{transform},{k},{field}"] = Cell("mnist", "1", "split_relu", k, field, 10, options=options)
    return cells


def _labels() -> dict[str, Cell]:
    heads = ("squared_modulus", "probability_amplitude", "concat")
    rows = [("complex", head) for head in heads] + [("real", "concat")]
    return {
        f"{field},{head}": Cell("modapte90", "1", "split_relu", 0, field, 50, options=(("readout", head),))
        for field, head in rows
    }


def _synthetic() -> dict[str, Cell]:
    cells = {}
    for kind, name, field in itertools.product(("complex", "real"), ACTIVATIONS, FIELDS):
        cells[f"{kind},{name},{field}"] = Cell(f"quadrant-{kind}", "1", ACTIVATIONS[name], 2, field, 30)
    return cells


def _dynamics() -> dict[str, Cell]:
    return {
        data: Cell(data, "1", "split_relu", 2, "complex", epochs)
        for data, epochs in (("quadrant-complex", 30), ("quadrant-real", 30), ("mnist-5000", 30))
    }


GRIDS = (
    Functions("thesis-mlp", _mlp(), (0, 1, 2), run, settings),
    Functions("thesis-cnn", _cnn(), (0,), run, settings),
    Functions("thesis-cnn-recipes", _cnn_recipes(), (0,), run, settings),
    Functions("thesis-failures", _failures(), range(20), run, settings),
    Functions("thesis-causes", _causes(), range(5), run, settings),
    Functions("thesis-inputs", _inputs(), (0, 1, 2), run, settings),
    Functions("thesis-labels", _labels(), (0, 1, 2), run, settings),
    Functions("thesis-synthetic", _synthetic(), range(5), run, settings),
    Functions("thesis-dynamics", _dynamics(), range(20), trace_run, settings),
)
