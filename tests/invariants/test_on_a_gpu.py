# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A GPU computes what the CPU does: in float32, under autocast, word by word; skipped where there is none."""

import functools

import pytest
import torch
from laws import SKIPS, assert_same, flat, gradients, law, loss_of, named

import interpreter
from families import CASES
from family_inputs import batch, results, rows

# Without the variable of this target the kernels are those of the interpreter.
pytestmark = pytest.mark.skipif(
    interpreter.DEVICE != "cuda" or not torch.cuda.is_available(), reason="needs a GPU: make test-gpu"
)
WRITERS = [case for case in CASES if named(SKIPS, "generation_needs_no_cache", case) is None]
law_of_writers = functools.partial(law, cases=WRITERS)


@pytest.fixture(autouse=True)
def exact_products(monkeypatch):
    """cuDNN rounds the numbers of float32 products to TensorFloat-32, unless it is told not to."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def moved(values, device="cuda"):
    return {name: value.to(device) for name, value in values.items()}


@law
def test_a_gpu_equals_the_cpu(case):
    model = case.own()
    inputs = batch(rows(model, labels=True), "left")
    expected, want = results(model, inputs), gradients(model, inputs)
    model.cuda()
    for found, row in zip(results(model, moved(inputs)), expected, strict=True):
        assert_same(moved(found, "cpu"), row, 1e-4)
    for name, value in gradients(model, moved(inputs)).items():
        size = 1e-3 * max(1.0, want[name].abs().max().item())
        torch.testing.assert_close(value.cpu(), want[name], rtol=0, atol=size, msg=name)


@law
def test_autocast_of_a_gpu_is_near_float32(case):
    model = case.own().cuda()
    inputs = moved(batch(rows(model, labels=True), "left"))
    exact, want = loss_of(model, inputs), flat(gradients(model, inputs))
    model.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = loss_of(model, inputs)
    loss.backward()
    got = flat({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    torch.testing.assert_close(loss.float(), exact, rtol=0.15, atol=0.02)
    assert got.isfinite().all()
    assert torch.cosine_similarity(got, want, dim=0) > 0.9


@law_of_writers
def test_a_gpu_writes_what_the_cpu_writes(case):
    model = case.own()
    inputs = {n: v for n, v in batch(rows(model), "left").items() if not n.startswith("decoder_")}
    options = {"max_new_tokens": 5, "do_sample": False}
    expected = model.generate(**inputs, **options)
    torch.testing.assert_close(model.cuda().generate(**moved(inputs), **options).cpu(), expected)
