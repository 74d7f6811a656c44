# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch

from complex_transformers.nn import AdaptiveReadout
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, finite, r, randn, randomize, z

WORDS = 11
CUTOFFS = (3, 4, 8)
CASES = [
    (d, f, *rest)
    for d in (1, 2)
    for f, *rest in (("complex", "concat"), ("complex", "feature_modulus"), ("real", "concat"))
]
cases = pytest.mark.parametrize(("div_value", "field", "readout"), CASES)


def build(div_value=1, field="complex", readout="concat", cutoffs=CUTOFFS):
    head = AdaptiveReadout(16, WORDS, cutoffs, div_value=div_value, readout=readout, number_field=field)
    return randomize(head.double())


def log_softmax(values):
    return values - np.log(np.exp(values).sum(-1, keepdims=True))


def dense(layer, x):
    return x @ r(layer.weight).T + (0.0 if layer.bias is None else r(layer.bias))


def oracle(head, x):
    """Log-probabilities by the formula, one cluster after the other."""
    features = np.abs(z(x)) if head.readout == "feature_modulus" else r(x)
    if head.div_value == 1:
        logits = dense(head.projection, features)
        clusters = np.split(logits, head.cutoffs, axis=-1)
    else:
        clusters = [dense(head.projection, features)]
        clusters += [dense(words, dense(projection, features)) for projection, words in head.tails]
    first = log_softmax(np.concatenate([clusters[0], dense(head.clusters, features)], -1))
    pieces = [first[..., : head.cutoffs[0]]]
    for index, tail in enumerate(clusters[1:]):
        pieces.append(first[..., head.cutoffs[0] + index, None] + log_softmax(tail))
    return np.concatenate(pieces, -1)


@cases
@pytest.mark.parametrize("dtype", DTYPES)
def test_formula(div_value, field, readout, dtype):
    head = build(div_value, field, readout).to(dtype)
    x = randn(2, 3, 16, dtype=dtype)
    out = head(x)
    assert out.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert_close(r(out), oracle(head, x), TOLERANCE[dtype] * 2)
    torch.testing.assert_close(out.exp().sum(-1), torch.ones(2, 3, dtype=out.dtype))


@cases
def test_the_likelihood_of_labels_is_that_of_all_words(div_value, field, readout):
    head = build(div_value, field, readout)
    x, labels = randn(5, 9, 16), torch.randint(0, WORDS, (5, 9))
    labels[0], labels[:, 3] = torch.arange(9), -100
    nll = head.nll(x, labels)
    assert nll.shape == labels.shape
    expected = -head(x).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(nll, expected.masked_fill(labels == -100, 0.0), rtol=1e-12, atol=1e-12)


@cases
@pytest.mark.parametrize("label", [0, 3, 10, -100])
def test_clusters_without_labels_have_gradients_of_zeros(div_value, field, readout, label):
    """As DistributedDataParallel needs them: a parameter without a gradient would stop the other processes."""
    head = build(div_value, field, readout)
    x = randn(4, 16, grad=True)
    nll = head.nll(x, torch.full((4,), label))
    nll.sum().backward()
    assert all(p.grad is not None for p in (x, *head.parameters()))
    assert finite(nll, x.grad, *(p.grad for p in head.parameters()))
    last = head.tails[-1][1].weight.grad if div_value > 1 else head.projection.weight.grad[CUTOFFS[-1] :]
    assert (last.abs().max() > 0) == (label == 10)
    assert (head.clusters.weight.grad.abs().max() > 0) == (label != -100)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@cases
def test_large_logits_under_autocast(div_value, field, readout, dtype):
    head = build(div_value, field, readout).float()
    x = (100 * randn(12, 16, dtype=torch.float32)).requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        nll = head.nll(x, torch.arange(12) % WORDS)
    nll.sum().backward()
    assert nll.dtype == torch.float32
    assert finite(nll, x.grad)


def test_a_hooked_or_replaced_layer_is_called():
    head, calls = build(), []
    x, labels = randn(6, 16), torch.tensor([0, 2, 3, 5, 9, 10])
    expected = head(x), head.nll(x, labels)
    handle = head.projection.register_forward_hook(lambda *args: calls.append(1))
    torch.testing.assert_close((head(x), head.nll(x, labels)), expected)
    assert calls
    handle.remove()

    class Adapted(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer, self.weight = layer, layer.weight

        def forward(self, x):
            return self.layer(x) + 1.0 * torch.arange(WORDS)

    plain = head.projection
    head.projection = Adapted(plain)
    changed = head(x)
    head.projection = plain
    with torch.no_grad():
        plain.bias += torch.arange(WORDS)
    torch.testing.assert_close(changed, head(x))


@cases
@pytest.mark.parametrize(("size", "mean"), [(14, True), (14, False), (9, True)])
def test_the_last_cluster_is_resized(div_value, field, readout, size, mean):
    head = build(div_value, field, readout)
    x = randn(4, 16)
    before = oracle(head, x)
    head.requires_grad_(False).resize(size, mean_resizing=mean)
    assert head.out_features == size
    assert not any(p.requires_grad for p in head.parameters())
    after = r(head(x))
    assert after.shape == (4, size)
    assert_close(after, oracle(head, x))
    assert_close(after[:, : CUTOFFS[-1]], before[:, : CUTOFFS[-1]])
    kept = slice(CUTOFFS[-1], min(size, WORDS))
    assert_close(np.diff(after[:, kept]), np.diff(before[:, kept]))  # the same logits over another sum
    assert_close(np.exp(after).sum(-1), np.ones(4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cutoffs": ()}, r"cutoffs must be increasing token ids between 1 and 10, the last of 11 tokens, got \[\]"),
        ({"cutoffs": (3, 3)}, r"cutoffs must be increasing .* got \[3, 3\]"),
        ({"cutoffs": (0, 3)}, "between 1 and 10"),
        ({"cutoffs": (3, 11)}, "between 1 and 10"),
        ({"div_value": 0}, "div_value must be 1 or more, got 0"),
        ({"div_value": 3}, "div_value must leave one of 16 features for tail 3, got 3"),
        ({"readout": "modulus"}, "readout must be one of .*, got 'modulus' with the adaptive softmax"),
        ({"readout": "feature_modulus", "field": "real"}, "readout must be 'concat' with number_field='real', got"),
    ],
)
def test_bad_settings(changes, message):
    assert_refused(message, build, **changes)


def test_bad_labels():
    head, x = build(), randn(2, 3, 16)
    message = r"labels must have shape \(2, 3\), got \(6,\)"
    assert_refused(message, head.nll, x, torch.zeros(6, dtype=torch.long))
    for bad in (11, -1):
        message = rf"labels must lie in \[0, 11\), or be -100 to be ignored, got {bad}"
        assert_refused(message, head.nll, x, torch.full((2, 3), bad))
    assert_refused("must be larger than the last cutoff 8, got 8", head.resize, 8)
