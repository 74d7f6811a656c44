# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Kernels on the device of the tests, and a list of those that were run."""

from __future__ import annotations

import pytest
import torch

import interpreter
from complex_transformers.kernels.accelerator import attention_launch, attention_tuning, switch


@pytest.fixture
def launched(monkeypatch):
    """Names of the kernels that the test has run, on tiles small enough to need several."""
    if not interpreter.HAS_TRITON:
        pytest.skip('Triton is not installed: pip install -e ".[kernels]"')
    if interpreter.DEVICE == "cuda" and not torch.cuda.is_available():
        pytest.skip("CT_TEST_DEVICE=cuda, but PyTorch sees no GPU")
    names = []
    launch = switch.launch

    def counted(kernel, *arguments, **constants):
        names.append(kernel.fn.__name__)
        launch(kernel, *arguments, **constants)

    monkeypatch.setattr(switch, "launch", counted)
    monkeypatch.setattr(switch, "DEVICES", (interpreter.DEVICE,))
    monkeypatch.setattr(attention_launch, "LARGEST_TILE", (16, 16))
    monkeypatch.setattr(attention_tuning, "SHORTEST", 2**31)
    return names
