# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A product with a spectrum against a convolution in time (Thesis 5.4, 5.6)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, layer_steps, race, sizes
from complex_transformers.nn import FrequencyKernel, from_complex, to_complex

__all__ = ["KERNELS", "LENGTHS", "Circular", "InFrequency", "case", "layers_of"]

BATCH = 16
LENGTHS = (256, 1024, 4096)
KERNELS = (16, 256)  # and a kernel as long as the signal
PRODUCT, DETOUR = "product of spectra", "FFT, product, inverse FFT"


def spectrum(signal: Tensor) -> Tensor:
    """Return the DFT of real signals ``[..., N]`` as halves ``[..., 2 (N / 2 + 1)]``."""
    return from_complex(torch.fft.rfft(signal))


class Circular(nn.Module):
    """Circular convolution ``[B, N] -> [B, N]`` in time, by ``conv1d``."""

    def __init__(self, taps: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, 1, taps) / taps**0.5)

    def forward(self, signal: Tensor) -> Tensor:
        periodic = torch.cat([signal[:, -(self.weight.shape[-1] - 1) :], signal], dim=-1)
        return F.conv1d(periodic[:, None], self.weight.flip(-1))[:, 0]


class InFrequency(nn.Module):
    """The same convolution as a product of spectra; its kernel is as long as the signal."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.kernel = FrequencyKernel(length + 2)

    def forward(self, signal: Tensor) -> Tensor:
        return torch.fft.irfft(to_complex(self.kernel(spectrum(signal))), signal.shape[-1])


@torch.no_grad()
def same_kernel(convolution: Circular, length: int) -> InFrequency:
    """Return the product that equals a convolution of signals of this length."""
    layer, taps = InFrequency(length), convolution.weight.flatten()
    real, imag = spectrum(F.pad(taps, (0, length - len(taps)))).chunk(2)
    layer.kernel.real.copy_(real)
    layer.kernel.imag.copy_(imag)
    return layer


def layers_of(length: int, signal: Tensor) -> dict[str, nn.Module]:
    """Return convolutions in time, and the detour through the spectrum, checked against each of them."""
    layers: dict[str, nn.Module] = {}
    for taps in sorted({*KERNELS, length}):
        layers[f"conv1d, {taps:,} taps"] = convolution = Circular(taps)
        layers[DETOUR] = same_kernel(convolution, length)
        with torch.no_grad():
            torch.testing.assert_close(layers[DETOUR](signal), convolution(signal), rtol=1e-3, atol=1e-3)
    return layers


def case(rounds: int) -> Outcome:
    """A convolution of 16 signals: a learned product of their spectra against `conv1d`, training step."""
    rows, notes = [], []
    for length in LENGTHS:
        signal = torch.randn(BATCH, length)
        layers = layers_of(length, signal)
        product = FrequencyKernel(length + 2)
        steps = layer_steps(layers, signal) | layer_steps({PRODUCT: product}, spectrum(signal))
        others = [name for name in layers if name != DETOUR]
        comparisons = [Comparison(ours, other) for ours in (PRODUCT, DETOUR) for other in others]
        rows += race(f"{length:,} samples", steps, comparisons, rounds)
        notes += [f"{length:,} samples, {note}" for note in sizes({PRODUCT: product})]
    return Outcome(rows, notes)
