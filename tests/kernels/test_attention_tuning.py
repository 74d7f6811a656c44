# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tile sizes of the attention kernels, and the memory that attention allocates."""

from contextlib import nullcontext
from itertools import product

import pytest
import torch
from attention_oracle import BACKWARD, SCORES, SHAPES, Module, check
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from complex_transformers.kernels.accelerator import attention_tuning, switch
from complex_transformers.nn import complex_attention
from interpreter import DEVICE

TILES = sorted({(name, *tile[:2]) for name, tiles in attention_tuning.CANDIDATES.items() for tile in tiles})
ENDS = {find(tile for tile in TILES if tile[0] == name) for name in attention_tuning.CANDIDATES for find in (min, max)}


@pytest.mark.parametrize(
    ("name", "queries", "keys"),
    [pytest.param(*tile, marks=pytest.mark.full if tile in ENDS else pytest.mark.slow) for tile in TILES],
)
def test_every_candidate_computes_the_same(launched, monkeypatch, name, queries, keys):
    def tiles(kernel, grid, arguments, constants, fixed, length_class):
        return fixed | ({"M": queries, "N": keys} if kernel.fn.__name__ == name else {})

    monkeypatch.setattr(attention_tuning, "tiles", tiles)
    monkeypatch.setitem(SHAPES, "wide tiles", (1, 2, 2, 150, 161, 6, 10))
    check(launched, "wide tiles", "modulus", torch.float32, "causal")


class Tuner:
    """Triton's autotuner without a GPU: chooses the last candidate."""

    runs = 0

    def __init__(self, configs, key):
        self.configs, self.key, self.best_config = configs, key, configs[-1]

    def __call__(self, kernel):
        assert set(self.key) <= set(kernel.arg_names)
        return self

    def __getitem__(self, grid):
        def run(*arguments, **constants):
            Tuner.runs += 1
            assert self.cache_results
            assert grid(constants | self.best_config.all_kwargs())[0] > 0

        return run


def test_the_tuned_tiles_are_used_and_remembered(launched, monkeypatch):
    import triton

    monkeypatch.setattr(attention_tuning, "SHORTEST", 4)
    monkeypatch.setattr(attention_tuning, "_can_tune", lambda kernel, tensor: True)
    monkeypatch.setattr(attention_tuning, "_device", lambda tensor: (nullcontext(), 2**18))
    monkeypatch.setattr(attention_tuning, "_tuned", {})
    monkeypatch.setattr(triton, "autotune", Tuner)
    monkeypatch.setattr(Tuner, "runs", 0)
    for _ in range(2):
        launched.clear()
        check(launched, "several tiles", "modulus", torch.float32, "causal")
    assert Tuner.runs == 3
    assert [tiles["M"] for tiles in attention_tuning._tuned.values()] == [32, 32, 32]
    torch.use_deterministic_algorithms(True)
    try:
        launched.clear()
        check(launched, "shared keys", "modulus", torch.bfloat16, "none")
    finally:
        torch.use_deterministic_algorithms(False)
    assert Tuner.runs == 3


def test_candidates_fit_into_shared_memory():
    fixed = {"M": 64, "N": 64, "num_warps": 4, "num_stages": 2}
    for name, width in product(attention_tuning.CANDIDATES, (16, 128, 256)):
        constants = {"D": width, "V": width, "PRECISION": "tf32"}
        small, large = (attention_tuning.candidates(name, constants, 2, kib * 1024, fixed) for kib in (99, 227))
        assert set(small) <= set(large)
        assert small[0] == (64, 64, 4, 2)
        assert len(set(small)) == len(small)
        assert width == 16 or len(small) < len(large)


def test_length_classes():
    classes = [attention_tuning.bucket(n, 10**6) for n in (1, 511, 512, 2047, 2048, 8191, 8192, 65536)]
    assert classes == [-1, -1, 0, 0, 1, 1, 2, 2]
    assert attention_tuning.bucket(4096, 100) == -1


# --- memory ----------------------------------------------------------------------------------------------------------


class Allocated(TorchDispatchMode):
    """Bytes of the tensors made within, without those that are given."""

    def __init__(self, *given):
        super().__init__()
        self.given = {x.untyped_storage().data_ptr() for x in given}
        self.storages = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor):
                self.storages[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return out

    def total(self):
        return sum(size for place, size in self.storages.items() if place not in self.given)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize(
    ("score", "normalization"),
    [*((score, "softmax") for score in SCORES), ("modulus", "sigmoid"), ("real", "sigmoid")],
)
def test_memory_is_linear_in_the_length(launched, monkeypatch, score, normalization, mask):
    monkeypatch.setattr(switch, "launch", lambda kernel, *args, **kwargs: launched.append(kernel.fn.__name__))

    def taken(length):
        inputs = [torch.randn(1, 2, length, 8, device=DEVICE, requires_grad=True) for _ in range(3)]
        keep = torch.ones(1, 1, 1, length, dtype=torch.bool, device=DEVICE) if mask else None
        cotangent = torch.randn(1, length, 2, 8, device=DEVICE)
        with Allocated(*inputs, cotangent, *([keep] if mask else [])) as allocated:
            options = {"score": score, "normalization": normalization, "need_weights": False}
            out, _ = complex_attention(Module(is_causal=not mask), *inputs, keep, **options)
            gradients = torch.autograd.grad(out, inputs, cotangent)
        assert len(gradients) == 3
        return allocated.total()

    # Of every position and head: 8 numbers of the context and of three gradients, and three of the softmax; a sigmoid
    # has one for the gradient of its bias, and the bias.
    each, bias = (3, 0.0) if normalization == "softmax" else (1, 0.01)
    assert [taken(n) / (4 * 2 * n) for n in (256, 16384)] == pytest.approx([4 * 8 + each] * 2, abs=bias)
    assert launched == 2 * BACKWARD
