# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The switch between the fields: twins of torch in the real one, equal texts for both, their arithmetic."""

import numpy as np
import pytest
import torch
from torch import nn

import complex_transformers.nn as cnn
import complex_transformers.nn.functional as CF
from complex_transformers.nn import arithmetic, number_field
from oracles import assert_close, assert_refused, finite, r, randn, z

VECTORS, SEQUENCES, IMAGES, VOLUMES, STEPS = (5, 8), (3, 8, 7), (3, 8, 6, 5), (2, 8, 5, 4, 4), (3, 7, 8)
TWINS = [
    ("Linear", (8, 6), {}, VECTORS),
    ("Linear", (8, 6), {"bias": False}, VECTORS),
    ("LayerNorm", (8,), {}, VECTORS),
    ("RMSNorm", (8,), {}, VECTORS),
    ("BatchNorm1d", (8,), {}, VECTORS),
    ("BatchNorm1d", (8,), {"momentum": 0.2}, SEQUENCES),
    ("BatchNorm2d", (8,), {"momentum": 0.2}, IMAGES),
    ("Conv1d", (8, 6, 3), {"stride": 2, "padding": 1}, SEQUENCES),
    ("Conv1d", (8, 6, 3), {"groups": 2, "dilation": 2, "bias": False}, SEQUENCES),
    ("Conv2d", (8, 6, (3, 1)), {"stride": 2, "padding": 1}, IMAGES),
    ("Conv2d", (8, 6, 3), {"groups": 2, "dilation": 2, "bias": False}, IMAGES),
    ("Conv3d", (8, 6, (3, 1, 2)), {"stride": 2, "padding": 1}, VOLUMES),
    ("Conv3d", (8, 6, 2), {"groups": 2, "dilation": 2, "bias": False}, VOLUMES),
    ("ConvTranspose1d", (8, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}, SEQUENCES),
    ("ConvTranspose1d", (8, 6, 3, 1, 0, 0, 2, False, 2), {}, SEQUENCES),
    ("ConvTranspose2d", (8, 6, (3, 1)), {"stride": 2, "padding": (1, 0)}, IMAGES),
    ("Upsample", (), {"scale_factor": 2}, SEQUENCES),
    ("Upsample", ((7, 9), None, "bilinear"), {}, IMAGES),
    ("MaxPool1d", (2,), {}, SEQUENCES),
    ("MaxPool2d", ((2, 3), 1), {}, IMAGES),
    ("AvgPool1d", (3, 1), {}, SEQUENCES),
    ("AvgPool2d", (2,), {}, IMAGES),
    ("RNN", (8, 4), {"bidirectional": True}, STEPS),
    ("LSTM", (8, 4), {"num_layers": 2}, STEPS),
    ("GRU", (8, 4), {"batch_first": True}, STEPS),
]


@pytest.mark.parametrize(("name", "sizes", "options", "shape"), TWINS)
def test_real_layers_equal_their_torch_twins(name, sizes, options, shape):
    layer, twin = (getattr(module, name)(*sizes, **options) for module in (number_field("real"), nn))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    twin.load_state_dict(layer.state_dict(), strict=False)
    assert {name for name, _ in twin.named_parameters()} == {name for name, _ in layer.named_parameters()}
    for training in (True, True, False):
        x = 2.0 * torch.randn(shape) + 1.0
        x = x.abs() if "Pool" in name else x  # ours pools absolute values
        torch.testing.assert_close(layer.train(training)(x), twin.train(training)(x))


def test_real_functions_equal_those_of_torch():
    real, x = number_field("real"), torch.randn(5, 8)
    table = real.Embedding(9, 8, padding_idx=1)
    assert torch.equal(table(torch.tensor([[3, 1]])), nn.functional.embedding(torch.tensor([[3, 1]]), table.weight))
    torch.manual_seed(1)
    dropped = real.Dropout(0.3)(x)
    torch.manual_seed(1)
    assert torch.equal(dropped, nn.Dropout(0.3)(x))
    for name, function in (("split_relu", torch.relu), ("split_gelu", nn.functional.gelu), ("tanh", torch.tanh)):
        assert torch.equal(real.activation(name, 8)(x), function(x))


def test_complex_layers_have_half_the_weights_of_their_twins_of_equal_width():
    def weights(name, kind, *arguments):
        layer = getattr(number_field(name), kind)(*arguments, bias=False)
        # Two numbers a unit are those of a gate that reads both parts.
        return sum(p.numel() for name, p in layer.named_parameters() if not name.startswith("gate_weight"))

    for kind, arguments, size in (
        ("Linear", (64, 32), 64 * 32),
        ("Conv1d", (64, 32, 5), 64 * 32 * 5),
        ("Conv2d", (64, 32, (3, 2)), 64 * 32 * 6),
        ("Conv3d", (64, 32, (3, 2, 1)), 64 * 32 * 6),
        ("ConvTranspose1d", (64, 32, 5), 64 * 32 * 5),
        ("ConvTranspose2d", (64, 32, (3, 2)), 64 * 32 * 6),
        ("RNN", (64, 32), 96 * 32),
        ("LSTM", (64, 32), 4 * 96 * 32),
        ("GRU", (64, 32), 3 * 96 * 32),
    ):
        assert weights("real", kind, *arguments) == 2 * weights("complex", kind, *arguments) == size


def test_arithmetic_of_the_fields():
    x, factor = randn(3, 6), randn(3, 3)
    numbers = arithmetic("complex")
    assert_close(r(numbers.modulus(x)), np.abs(z(x)))
    assert_close(r(numbers.squared_modulus(x)), np.abs(z(x)) ** 2)
    assert_close(z(numbers.scale(x, factor)), z(x) * r(factor))
    assert_close(z(numbers.from_real(factor)), r(factor) + 0j)
    assert_close(r(numbers.parts(x)[0]) + 1j * r(numbers.parts(x)[1]), z(x))
    assert_close(z(numbers.concatenate([x, x[:, :4]])), np.concatenate([z(x), z(x[:, :4])], axis=-1))
    numbers = arithmetic("real")
    assert_close(r(numbers.modulus(factor)), np.abs(r(factor)))
    assert_close(r(numbers.squared_modulus(factor)), r(factor) ** 2)
    assert_close(r(numbers.scale(factor, factor)), r(factor) ** 2)
    assert torch.equal(numbers.from_real(factor), factor)
    assert torch.equal(numbers.concatenate([factor, x]), torch.cat([factor, x], dim=-1))
    assert numbers.parts(factor) == (factor,)
    assert numbers.num_features(7) == 7
    assert_refused("even, got 7. Use 8", arithmetic("complex").num_features, 7)


def test_unknown_field():
    for function in (number_field, arithmetic):
        assert_refused(r"number_field must be one of \['complex', 'real'\], got 'Complex'", function, "Complex")


def test_embeddings_at_extreme_parameters_and_positions():
    ids = torch.tensor([[0, 1, 2]])
    for size in (0.0, 1e-38, 1e-30, 1e15):
        embedding = cnn.ComplexOrderEmbedding(3, 8, phase="learned", damping="learned")
        with torch.no_grad():
            for parameter in embedding.parameters():
                parameter.copy_(size * torch.randn_like(parameter).clamp(-2, 2))
        for position in (1, 10**6, 2**40):
            embedding.zero_grad()
            out = embedding(ids, position_ids=torch.full_like(ids, position))
            out.sum().backward()
            assert finite(out, *(p.grad for p in embedding.parameters())), (size, position)
            assert (CF.modulus(out) <= embedding.amplitude.abs() * (1 + 1e-6)).all()
