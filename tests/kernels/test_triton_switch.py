# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""When kernels may run, how they are turned off, and that the compiler takes them."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from complex_transformers.kernels.accelerator import switch
from complex_transformers.nn import use_kernels

HERE = Path(__file__).parent


def test_the_switch_holds_for_a_block_or_from_now_on(monkeypatch):
    monkeypatch.setattr(switch, "_enabled", True)
    with use_kernels(False):
        assert not switch._enabled
        with use_kernels(True):
            assert switch._enabled
        assert not switch._enabled
    assert switch._enabled
    use_kernels(False)
    assert not switch._enabled


def test_the_cpu_is_left_alone():
    assert not switch.may_run(torch.ones(2))


@pytest.mark.usefixtures("launched")
def test_subclasses_and_tensors_of_two_kinds_are_left_alone():
    class Own(torch.Tensor):
        pass

    x = torch.ones(2, device=switch.DEVICES[0])
    assert switch.may_run(x, torch.nn.Parameter(x))
    assert not switch.may_run(x, x.as_subclass(Own))
    assert not switch.may_run(x, x.half())
    assert not switch.may_run(x, torch.ones(2, device="meta"))
    assert not switch.may_run(x, x[:0])


def test_seeds_are_drawn_on_the_device_in_cuda_graphs(monkeypatch):
    x = SimpleNamespace(is_cpu=False, device=torch.device("cpu"))
    for capturing, kind in ((False, int), (True, torch.Tensor)):
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda capturing=capturing: capturing)
        assert isinstance(switch.draw_seed(x), kind)


CODE = """
import importlib, os, sys, torch
from complex_transformers.kernels.accelerator import switch
from complex_transformers.nn import ComplexOrderEmbedding, ComplexMultiheadAttention
layer = ComplexMultiheadAttention(8, 2)
layer(ComplexOrderEmbedding(5, 8)(torch.ones(1, 3, dtype=torch.long)), need_weights=False)
print("triton" in sys.modules, switch._enabled)
os.environ["CT_KERNELS"] = "0"
print(importlib.reload(switch)._enabled)
"""


def test_triton_is_not_imported_without_a_device_and_the_environment_turns_kernels_off():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False"]


def test_without_triton_nothing_changes(launched, monkeypatch):
    monkeypatch.setattr(switch, "find_spec", lambda name: None)
    switch._has_triton.cache_clear()
    try:
        assert not switch.may_run(torch.ones(2, device=switch.DEVICES[0]))
    finally:
        monkeypatch.undo()
        switch._has_triton.cache_clear()
    assert not launched


@pytest.mark.slow
def test_the_compiler_takes_every_kernel_and_its_memory():
    pytest.importorskip("triton")
    done = subprocess.run([sys.executable, HERE / "compile_kernels.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2 * (7 * 3 + 4 + 4 + 5 + 3 * 4 + 6 * 4)
    assert max(shared for *_, shared in lines) <= 99 * 2**10  # of the smallest processors of capability 8
