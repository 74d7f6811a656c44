# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Cosine scores and sigmoid weights: an oracle in complex128, the bias, masks, phases."""

import math

import pytest
import torch
from torch import nn

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
    assert gradient.abs().max() <= 1e6
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
