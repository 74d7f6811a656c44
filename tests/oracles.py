# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Native complex128 arithmetic for the tests, written without the package under test."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from refusals import refused as assert_refused  # noqa: F401 - for the tests of layers

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
# Error of a short chain of operations relative to the size of the result.
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 6e-2}


def z(x: Tensor) -> np.ndarray:
    """Halves ``[..., 2d]`` as a complex128 array ``[..., d]``."""
    values = x.detach().double().numpy()
    d = values.shape[-1] // 2
    return values[..., :d] + 1j * values[..., d:]


def r(x: Tensor) -> np.ndarray:
    """A real tensor as a float64 array."""
    return x.detach().double().numpy()


def halves(values: np.ndarray, dtype: torch.dtype = torch.float64) -> Tensor:
    """A complex array as halves."""
    return torch.from_numpy(np.concatenate([values.real, values.imag], axis=-1)).to(dtype)


def randn(*shape: int, dtype: torch.dtype = torch.float64, grad: bool = False) -> Tensor:
    """Normal numbers, optionally a leaf that wants a gradient."""
    return torch.randn(*shape, dtype=torch.float64).to(dtype).requires_grad_(grad)


def weight(layer: torch.nn.Module) -> np.ndarray:
    """W = A + iB of a complex layer of sub-layers ``real`` and ``imag`` (A = B when it is None), W of a twin."""
    if not hasattr(layer, "real"):
        return r(layer.weight)
    a = r(layer.real.weight)
    b = a if layer.imag is None else r(layer.imag.weight)
    return a + 1j * b


def bias(layer: torch.nn.Module) -> np.ndarray | float:
    """The bias of a layer in the numbers of its field, 0 without one."""
    if layer.bias is None:
        return 0.0
    return z(layer.bias) if hasattr(layer, "real") else r(layer.bias)


def numbers(field: str, x: Tensor) -> np.ndarray:
    return z(x) if field == "complex" else r(x)


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    """Equal to ``tolerance`` relative to the largest expected number."""
    assert actual.shape == expected.shape
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * size)


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def of_parts(function: Callable, values: np.ndarray) -> np.ndarray:
    """A real function of both parts of complex numbers, or of real ones."""
    if np.iscomplexobj(values):
        return function(values.real) + 1j * function(values.imag)
    return function(values)


def round_by_loop(weights: list[complex], stages: int, least: float = 1e-6) -> list[complex]:
    """Sums of scaled units, stage by stage: the unit with the greatest cosine, scales by axis."""
    rest, total = list(weights), [0j] * len(weights)
    for _ in range(stages):
        units = [max((1, 1j, -1, -1j), key=lambda unit: (w * complex(unit).conjugate()).real) for w in rest]
        means = []
        for axis, part in (((1, -1), lambda w: w.real), ((1j, -1j), lambda w: w.imag)):
            sizes = [abs(part(w)) for w, unit in zip(rest, units, strict=True) if unit in axis]
            means.append(max(least, math.fsum(sizes) / len(sizes)) if sizes else least)
        stage = [unit * means[unit in (1j, -1j)] for unit in units]
        total = [t + s for t, s in zip(total, stage, strict=True)]
        rest = [w - s for w, s in zip(rest, stage, strict=True)]
    return total


def randomize(module: torch.nn.Module, scale: float = 0.5) -> torch.nn.Module:
    """Fill every parameter with normal numbers, so that no test passes because a bias is 0 or a gain is 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, dtype=torch.float64))
    return module


def finite(*tensors: Tensor | None) -> bool:
    """True when every tensor holds finite numbers only."""
    return all(bool(torch.isfinite(t).all()) for t in tensors if t is not None)


def assert_slopes(layer: torch.nn.Module, *inputs: Tensor, twice: bool = False) -> None:
    """Gradients in the inputs and in every parameter are those of differences; with ``twice``, theirs too."""
    layer = layer.double()
    names = [name for name, _ in layer.named_parameters()]

    def function(*values):
        parameters = dict(zip(names, values[len(inputs) :], strict=True))
        return torch.func.functional_call(layer, parameters, values[: len(inputs)])

    values = [*inputs, *(p.detach().clone().requires_grad_() for p in layer.parameters())]
    assert gradcheck(function, values, fast_mode=True)
    assert not twice or gradgradcheck(function, values, fast_mode=True)


def joint_scales(
    units: np.ndarray, wanted: np.ndarray, otherwise: np.ndarray, importance: np.ndarray | None = None
) -> np.ndarray:
    """Return the 16-bit scales ``[stages]`` of the least weighted error of sums of units ``[stages, n]``.

    ``otherwise`` where they are not unique, one is negative, or they are not better.
    """
    root = np.sqrt(np.ones(len(wanted)) if importance is None else importance)
    found, _, rank, _ = np.linalg.lstsq((units * root).T, wanted * root)
    errors = [
        np.square(root * (wanted - scales @ units)).sum() for scales in (np.float16(found), np.asarray(otherwise))
    ]
    return np.float16(found) if rank == len(units) and found.min() >= 0 and errors[0] < errors[1] else otherwise
