# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Waves of words as a Triton kernel against complex128."""

from itertools import product

import pytest
import torch

from complex_transformers.kernels.accelerator import waves as accelerated
from complex_transformers.nn import ComplexOrderEmbedding, use_kernels
from interpreter import DEVICE
from oracles import TOLERANCE

WORDS, FEATURES = 7, 10
SHARINGS = ("none", "word", "dimension")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def make(dtype=torch.float32, **options):
    layer = ComplexOrderEmbedding(WORDS, 2 * FEATURES, padding_idx=0, frequency_init="normal", **options)
    with torch.no_grad():
        layer.amplitude.normal_()
    return layer.to(DEVICE, dtype)


def batch():
    """Texts of different lengths; ids that are not next to each other in memory."""
    ids = torch.randint(0, WORDS, (2, 9, 2))[..., 0]
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :4] = ids[1, :4] = 0
    return ids.to(DEVICE), mask.to(DEVICE)


def oracle(layer, tables, ids, positions):
    """r exp(i (omega pos + theta)) in complex128; the amplitude of the padding word is a constant."""
    rows = {name: table.expand(WORDS, FEATURES)[ids] for name, table in tables.items()}
    size = rows["amplitude"]
    if layer.amplitude_sharing != "word":
        size = torch.where((ids == 0)[..., None], size.detach(), size)
    angle = rows.get("phase", 0.0) + rows.get("frequency", torch.zeros(())) * positions[..., None].double()
    z = size * torch.exp(1j * angle)
    return torch.cat([z.real, z.imag], dim=-1)


def check(launched, dtype=torch.float32, far=0, **options):
    layer = make(dtype, **options)
    ids, mask = batch()
    positions = mask.cumsum(-1).clamp(min=1) + far
    out = layer(ids, positions) if far else layer(ids, attention_mask=mask)
    cotangent = torch.randn(out.shape).to(out)
    found = [out, *torch.autograd.grad(out, list(layer.parameters()), cotangent)]
    assert launched == ["forward", "backward"]
    tables = {name: p.detach().double().requires_grad_() for name, p in layer.named_parameters()}
    exact = oracle(layer, tables, ids, positions)
    expected = [exact, *torch.autograd.grad(exact, list(tables.values()), cotangent.double())]
    for one, two, like in zip(found, expected, [layer.amplitude, *layer.parameters()], strict=True):
        assert one.dtype == like.dtype
        size = max(1.0, two.abs().max().item())
        torch.testing.assert_close(one.double(), two, rtol=0.0, atol=TOLERANCE[dtype] * size)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"amplitude_sharing": "word", "frequency_sharing": "dimension", "dtype": torch.bfloat16},
        {"amplitude_sharing": "dimension", "frequency_sharing": "word", "phase": "learned"},
        {"phase": "per_dimension", "dtype": torch.float16},
        {"embedding_type": "complex_vanilla"},
    ],
)
def test_waves_and_their_gradients(launched, options):
    check(launched, **options)


@pytest.mark.full
@pytest.mark.parametrize(
    ("amplitude", "frequency", "phase", "dtype"),
    [
        row
        for row in product(SHARINGS, SHARINGS, ("none", "learned", "per_dimension"), DTYPES)
        if not (row[:2] == ("word", "word") and row[2] != "learned")
    ],
)
def test_every_sharing_and_dtype(launched, amplitude, frequency, phase, dtype):
    check(launched, dtype, amplitude_sharing=amplitude, frequency_sharing=frequency, phase=phase)


def test_far_positions_keep_their_phase(launched):
    layer = make()
    ids = torch.full((1, 2), 3, device=DEVICE)
    positions = torch.tensor([[10**6, 10**9]], device=DEVICE)
    with torch.no_grad():
        out = layer(ids, positions)
    assert launched == ["forward"]
    tables = {name: p.detach().double() for name, p in layer.named_parameters()}
    torch.testing.assert_close(out.double(), oracle(layer, tables, ids, positions), rtol=0.0, atol=1e-3)


def test_gradient_of_the_gradient(launched):
    layer, (ids, mask) = make(), batch()

    def twice():
        tables = [layer.amplitude, layer.frequency]
        first = torch.autograd.grad(layer(ids, attention_mask=mask)[..., 3:].sum(), tables, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), tables)

    found = twice()
    assert launched == ["forward"]
    with use_kernels(False):
        expected = twice()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_an_unknown_word_reads_no_memory_of_others(launched):
    layer = make()
    with torch.no_grad():
        known, unknown = accelerated.waves(
            torch.tensor([[1], [WORDS]], device=DEVICE), torch.ones(1, 1, device=DEVICE, dtype=torch.long),
            layer.amplitude, layer.frequency, None, (WORDS, FEATURES),
        )  # fmt: skip
    assert known.isfinite().all()
    assert unknown.isnan().all()
    assert launched == ["forward"]


def test_what_the_kernel_does_not_take_goes_the_plain_way(launched):
    ids, mask = batch()
    layers = {
        "float64": make(torch.float64),
        "damping": make(damping="learned"),
        "no words": make(),
        "real positions": make(),
        "one order of sums": make(),
    }
    for name, layer in layers.items():
        given = ids[:, :0] if name == "no words" else ids
        positions = mask.cumsum(-1)[:, : given.shape[1]]
        positions = positions.float() + 0.5 if name == "real positions" else positions

        def attempt(layer=layer, given=given, positions=positions):
            return layer(given, positions)

        torch.use_deterministic_algorithms(name == "one order of sums")
        try:
            found = attempt()
            assert not launched, name
            with use_kernels(False):
                assert torch.equal(found, attempt()), name
        finally:
            torch.use_deterministic_algorithms(False)
