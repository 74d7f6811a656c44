# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: one thread, one seed, hypothesis without a clock."""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

import interpreter  # noqa: F401 - before anything else imports Triton

# Results must not depend on how many cores a machine has, and small tensors are fastest on one.
torch.set_num_threads(1)

# Derandomised: a failure seen once is seen by everybody. No deadline: a first call compiles and allocates.
settings.register_profile(
    "repository",
    deadline=None,
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("repository")


def pytest_collection_finish() -> None:
    """Keep what has been imported and collected out of the garbage collections that every training starts with."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


@pytest.fixture(autouse=True)
def seed() -> int:
    """Every test starts from the same random state; the value is returned for tests that reseed."""
    value = 20260
    random.seed(value)
    np.random.seed(value)
    torch.manual_seed(value)
    return value
