# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Inputs of the attention kernels, and their oracle in complex128."""

import torch
from torch import nn

from complex_transformers.nn import complex_attention
from interpreter import DEVICE
from oracles import TOLERANCE

SCORES = ("modulus", "bilinear_modulus")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
FORWARD, BACKWARD = ["forward"], ["forward", "backward_query", "backward_key"]

# B, H, G, T, S, D, D_v: batch, heads, heads that share keys, queries, keys, stored widths.
SHAPES = {
    "one tile": (2, 1, 1, 5, 7, 4, 8),
    "several tiles": (1, 2, 1, 20, 23, 6, 10),
    "shared keys": (1, 4, 2, 9, 17, 8, 8),
    "a cache, one query": (2, 2, 2, 1, 19, 8, 8),
    "a cache, some queries": (1, 2, 1, 3, 35, 6, 6),
    "more queries than keys": (1, 1, 1, 33, 4, 6, 6),
    "128 features": (1, 1, 1, 3, 18, 256, 256),
    "odd values": (1, 2, 1, 4, 6, 10, 5),
    "a feature": (1, 1, 1, 2, 3, 2, 1),
}


def boolean(*shape):
    """Random, and a query whose keys are all masked, as those of padding are."""
    mask = torch.rand(shape) > 0.4
    mask[0, :, 0] = False
    return mask


def additive(dtype, *shape):
    """Random numbers and the two ways to write that a key is masked."""
    mask = torch.randn(shape).to(dtype)
    mask[torch.rand(shape) < 0.3] = torch.finfo(dtype).min
    mask[torch.rand(shape) < 0.1] = -float("inf")
    return mask


MASKS = {
    "none": lambda dtype, b, h, t, s: None,
    "causal": lambda dtype, b, h, t, s: None,
    "padding": lambda dtype, b, h, t, s: boolean(b, 1, 1, s),
    "every query": lambda dtype, b, h, t, s: boolean(b, 1, t, s),
    "additive": lambda dtype, b, h, t, s: additive(dtype, b, h, t, s),
    "additive in float32": lambda dtype, b, h, t, s: additive(torch.float32, 1, h, t, s),
    "longer than the keys": lambda dtype, b, h, t, s: additive(dtype, t, s + 3),
}


class Module(nn.Module):
    """What an attention function reads of its layer."""

    def __init__(self, groups=1, is_causal=False):
        super().__init__()
        self.num_key_value_groups, self.is_causal = groups, is_causal


def make(shape, dtype):
    batch, heads, groups, length, size, width, value_width = SHAPES[shape]
    shapes = (batch, heads, length, width), *((batch, heads // groups, size, n) for n in (width, value_width))
    # As layers make them: heads behind positions in memory, features not next to each other.
    return [torch.randn(b, n, h, 2 * w).to(dtype)[..., ::2].transpose(1, 2).to(DEVICE) for b, h, n, w in shapes]


def as_complex(x):
    real, imag = x.chunk(2, dim=-1)
    return torch.complex(real, imag)


def oracle(query, key, value, mask, score, scaling, groups, is_causal, keep=1.0, bias=None):
    """softmax(score scaling + mask) v in complex128, a lowest number in place of what is masked; or a sigmoid."""
    key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    if score == "modulus":
        scores = (as_complex(query) @ as_complex(key).mH).abs()
    elif score == "real":
        scores = (as_complex(query) @ as_complex(key).mH).real
    else:
        scores = (as_complex(query) @ as_complex(key).mT).abs()
    scores = scores * scaling
    length, size = scores.shape[-2:]
    if mask is not None:
        mask = mask[..., :size].to(scores.device)
        removed = ~mask if mask.dtype == torch.bool else mask <= torch.finfo(mask.dtype).min
        added = torch.zeros(mask.shape).double() if mask.dtype == torch.bool else mask.double()
        scores = (scores + added.to(scores.device).masked_fill(removed, 0.0)).masked_fill(removed, -1e300)
    if is_causal:
        places = torch.arange(size - length, size, device=scores.device)
        scores = scores.masked_fill(torch.arange(size, device=scores.device) > places[:, None], -1e300)
    if bias is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        seen = scores > -1e299
        weights = seen / (1.0 + torch.exp(-scores.masked_fill(~seen, 0.0) - bias))
    return ((weights * keep) @ value).transpose(1, 2)


def gradients(function, inputs, cotangent):
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = function(*leaves)
    return [out, *torch.autograd.grad(out, leaves, cotangent.to(out))]


def assert_near(actual, expected, dtype):
    assert actual.dtype == dtype
    size = max(1.0, expected.abs().max().item())
    torch.testing.assert_close(actual.double(), expected.double(), rtol=0.0, atol=3 * TOLERANCE[dtype] * size)


def check(launched, shape, score, dtype, mask, scaling=0.7, sigmoid=False):
    inputs = make(shape, dtype)
    batch, heads, groups, length, size, _, value_width = SHAPES[shape]
    module, is_causal = Module(groups, mask == "causal"), mask == "causal" and length > 1
    given = MASKS[mask](dtype, batch, heads, length, size)
    given = None if given is None else given.to(DEVICE)
    cotangent = torch.randn(batch, length, heads, value_width)
    options = {"scaling": scaling, "score": score, "need_weights": False}
    if sigmoid:
        inputs.append(torch.tensor([-0.8], device=DEVICE))
        options["normalization"] = "sigmoid"

    def ours(query, key, value, bias=None):
        return complex_attention(module, query, key, value, given, bias=bias, **options)[0]

    def exact(query, key, value, bias=None):
        return oracle(query, key, value, given, score, scaling, groups, is_causal, bias=bias)

    found = gradients(ours, inputs, cotangent)
    assert launched == BACKWARD
    expected = gradients(exact, [x.double() for x in inputs], cotangent.to(dtype))
    for one, two in zip(found[:4], expected[:4], strict=True):
        assert_near(one, two, dtype)
    if sigmoid:  # a sum over all scores
        assert found[4].dtype == torch.float32
        torch.testing.assert_close(found[4].double(), expected[4], rtol=0.0, atol=20 * TOLERANCE[dtype])
