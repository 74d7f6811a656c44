# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Cosine scores and sigmoid weights: an oracle in complex128, the bias, masks, phases."""

import math

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from complex_transformers.kernels import modulus_attention
from complex_transformers.nn import ComplexMultiheadAttention, GroupedQueryAttention, complex_attention
from complex_transformers.nn.attention.phase_coherent import SigmoidBias, unit_vectors
from oracles import randn, randomize

PAIRS = [
    ("cosine", "softmax"),
    *((score, "sigmoid") for score in ("cosine", "real", "modulus", "bilinear_modulus")),
]
pairs = pytest.mark.parametrize(("score", "normalization"), PAIRS)


def as_complex(x):
    return torch.complex(*x.chunk(2, dim=-1))


def oracle(query, key, value, bias, keep, score, normalization, scaling):
    """The context ``[B, T, H, D_v]`` of one query after the other, by complex numbers."""
    q, k = as_complex(query), as_complex(key)
    if score == "cosine":
        q, k = (x / torch.sqrt((x.abs() ** 2).sum(-1, keepdim=True)) for x in (q, k))
    contexts = []
    for t in range(q.shape[2]):
        product = q[:, :, t : t + 1] * (k if score == "bilinear_modulus" else k.conj())
        total = product.sum(-1) * scaling
        s = total.abs() if "modulus" in score else total.real
        if normalization == "sigmoid":
            weights = keep[t] / (1.0 + torch.exp(-s - bias))
        else:
            powers = keep[t] * torch.exp(s)
            weights = powers / powers.sum(-1, keepdim=True)
        contexts.append((weights.unsqueeze(-1) * value).sum(2))
    return torch.stack(contexts, dim=1)


def heads(*sizes, grad=True):
    return [randn(2, 3, n, 6, grad=grad) for n in sizes]


MASKS = {
    "none": torch.ones(4, 5),
    "padding": torch.tensor([0.0, 1, 1, 1, 0]).expand(4, 5),
    "causal": torch.ones(4, 5).tril(1),
    "a query without keys": torch.ones(4, 5).tril(-1),
}


# A softmax has no weights of 0.
CASES = [(*pair, mask) for pair in PAIRS for mask in MASKS if pair[1] == "sigmoid" or mask != "a query without keys"]


@pytest.mark.parametrize(("score", "normalization", "mask"), CASES)
@pytest.mark.parametrize("need_weights", [True, False])
def test_context_and_gradients(score, normalization, mask, need_weights):
    inputs = [*heads(4, 5, 5), randn(1, grad=True)]
    keep, cotangent = MASKS[mask], randn(2, 4, 3, 6)

    def ours(query, key, value, bias):
        if score == "cosine":
            query, key = unit_vectors(query), unit_vectors(key)
        options = {"score": score, "normalization": normalization, "scaling": 1.3, "need_weights": need_weights}
        given = {"is_causal": True} if mask == "causal" else {}
        seen = None if mask in ("none", "causal") else keep.bool()
        return complex_attention(nn.Identity(), query, key, value, seen, bias=bias, **options, **given)[0]

    def exact(query, key, value, bias):
        return oracle(query, key, value, bias, keep, score, normalization, 1.3)

    inputs = inputs[: 4 if normalization == "sigmoid" else 3]
    results = []
    for function in (ours, exact):
        out = function(*inputs, *[None] * (4 - len(inputs)))
        results.append([out, *torch.autograd.grad(out, inputs, cotangent)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)


# --- in blocks -------------------------------------------------------------------------------------------------------

BLOCKED = pytest.mark.parametrize("score", ["real", "modulus", "bilinear_modulus"])
BLOCK_MASKS = {
    "none": lambda: None,
    "padding": lambda: torch.rand(2, 1, 1, 7) > 0.3,
    "of every head": lambda: torch.rand(2, 3, 5, 7) > 0.3,
    "added": lambda: randn(2, 1, 5, 7),
    "two axes": lambda: torch.ones(5, 7, dtype=torch.bool).tril(2),
    "two queries without keys": lambda: torch.ones(5, 7, dtype=torch.bool).tril(-2),
}


def attend(score, *inputs, mask=None, need_weights=False, **options):
    query, key, value, bias = inputs
    options = {"score": score, "normalization": "sigmoid", "need_weights": need_weights, "bias": bias, **options}
    return complex_attention(nn.Identity(), query, key, value, mask, **options)[0]


@BLOCKED
@pytest.mark.parametrize("mask", BLOCK_MASKS)
@pytest.mark.parametrize(("scores", "queries"), [(1, 1), (28, 2), (10**6, 3)])
def test_blocks_give_what_the_whole_gives(score, mask, scores, queries, monkeypatch):
    monkeypatch.setattr(modulus_attention, "BLOCK_SCORES", scores)
    monkeypatch.setattr(modulus_attention, "BLOCK_QUERIES", queries)
    inputs = [*heads(5, 7, 7), randn(1, grad=True)]
    mask, cotangent, results = BLOCK_MASKS[mask](), randn(2, 5, 3, 6), []
    for need_weights in (True, False):
        out = attend(score, *inputs, mask=mask, need_weights=need_weights)
        results.append([out, *torch.autograd.grad(out, inputs, cotangent)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@BLOCKED
@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [(torch.float32, dtype) for dtype in (None, torch.bfloat16, torch.float16)]
    + [(torch.bfloat16, None), (torch.float16, None)],
)
def test_blocks_save_no_scores_and_sum_in_float32(score, dtype, autocast):
    inputs = [randn(1, 2, 64, 8, dtype=dtype, grad=True) for _ in range(3)]
    bias, sizes = torch.full((1,), -4.0, requires_grad=True), []
    error = 0.03 if torch.bfloat16 in (dtype, autocast) else 4e-3

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    with (
        torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        out = attend(score, *inputs, bias)
    assert max(sizes) < 64 * 64
    cotangent = torch.randn_like(out)
    exact = [x.detach().double().requires_grad_() for x in (*inputs, bias)]
    expected = attend(score, *exact, need_weights=True)
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=error)
    found = torch.autograd.grad(out, [*inputs, bias], cotangent)
    for one, two in zip(found, torch.autograd.grad(expected, exact, cotangent.double()), strict=True):
        torch.testing.assert_close(one.double(), two, rtol=0, atol=error * max(1.0, two.abs().max().item()))


@BLOCKED
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_blocks_have_second_derivatives_and_drop_the_same_weights_in_both_passes(score, dropout, monkeypatch):
    monkeypatch.setattr(modulus_attention, "BLOCK_SCORES", 4)
    inputs = [*(randn(2, 1, n, 4, grad=True) for n in (2, 3, 3)), randn(1, grad=True)]

    def function(*inputs):
        torch.manual_seed(1)
        return attend(score, *inputs, dropout=dropout)

    assert gradcheck(function, inputs, fast_mode=True)
    assert gradgradcheck(function, inputs, fast_mode=True)


# --- layers ----------------------------------------------------------------------------------------------------------


@pairs
@pytest.mark.parametrize("kind", [ComplexMultiheadAttention, GroupedQueryAttention])
def test_a_common_phase_passes_through(kind, score, normalization):
    """Scores do not change, so the output has the phase of the input; |q k^T| does not change either."""
    layer = randomize(kind(12, 2, bias=False, score=score, normalization=normalization).double()).eval()
    x = randn(2, 5, 12)
    phase = torch.exp(1j * torch.tensor(0.7, dtype=torch.float64))
    rotated = as_complex(x) * phase
    found = layer(torch.cat([rotated.real, rotated.imag], dim=-1))[0]
    torch.testing.assert_close(as_complex(found), as_complex(layer(x)[0]) * phase, rtol=0, atol=1e-12)


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("kind", [ComplexMultiheadAttention, GroupedQueryAttention])
def test_cosine_knows_directions_only(kind, field):
    layer = kind(12, 2, score="cosine", normalization="sigmoid", number_field=field).double().eval()
    x, states = randn(2, 5, 12), layer.state_dict()
    expected = layer(x)[0]
    layer.load_state_dict({name: value * (7.0 if "q_proj" in name else 1.0) for name, value in states.items()})
    torch.testing.assert_close(layer(x)[0], expected, rtol=0, atol=1e-10)
    assert layer.scaling == (3 if field == "complex" else 6) ** 0.5


def test_vectors_of_zero_stay_zero_with_a_bounded_gradient():
    x = torch.zeros(2, 6, requires_grad=True)
    unit = unit_vectors(x)
    (gradient,) = torch.autograd.grad(unit.sum(), x)
    assert not unit.any()
    assert gradient.abs().max() <= 1.001e6
    for dtype in (torch.float16, torch.bfloat16):
        vectors = torch.full((3, 6), 300.0, dtype=dtype)  # whose squares float16 does not hold
        assert unit_vectors(vectors).dtype == dtype
        torch.testing.assert_close(unit_vectors(vectors).float(), torch.full((3, 6), 6**-0.5), rtol=0, atol=5e-3)


def test_the_bias_starts_at_minus_log_n_in_full_precision():
    layer = GroupedQueryAttention(12, 2, normalization="sigmoid", training_length=300).bfloat16()
    assert layer.sigmoid.score_bias.dtype == torch.float32
    assert layer.sigmoid.score_bias.item() == pytest.approx(-math.log(300))
    assert SigmoidBias.no_weight_decay == ("score_bias",)
    assert GroupedQueryAttention(12, 2).sigmoid is None
