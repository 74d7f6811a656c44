# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutional networks for images: an oracle in complex128, counts of the thesis, bad input, learning."""

import itertools

import numpy as np
import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch import nn

from complex_transformers import ComplexConvNetConfig, ComplexConvNetForImageClassification
from complex_transformers.analysis import count_parameters
from complex_transformers.nn import equal_parameter_widths
from oracles import bias, weight

SIZES = {"num_channels": 2, "image_size": [10, 11], "num_filters": [4, 6], "num_labels": 3}
PIXELS = (5, 2, 10, 11)
ACTIVATIONS = {
    "modulus": lambda z: np.abs(z).astype(complex),
    "split_relu": lambda z: np.maximum(z.real, 0) + 1j * np.maximum(z.imag, 0),
}
POOLS = {
    "max": lambda window: window[np.abs(window).argmax()],
    "average": lambda window: np.abs(window).mean(),
}


def build(seed=0, **changes):
    torch.manual_seed(seed)
    model = ComplexConvNetForImageClassification(ComplexConvNetConfig(**{**SIZES, **changes}))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.eval()


def convolve(layer, z):
    """sum_{j,k} W_jk z_{n+j, m+k} + b, without padding (Thesis 2.24)."""
    filters = weight(layer)
    height, width = filters.shape[2:]
    out = np.zeros((len(z), len(filters), z.shape[2] - height + 1, z.shape[3] - width + 1), complex)
    for row, column in itertools.product(*map(range, out.shape[2:])):
        window = z[:, :, row : row + height, column : column + width]
        out[:, :, row, column] = np.einsum("bcij,ocij->bo", window, filters) + bias(layer)
    return out


def pool(function, z, height, width):
    """Windows side by side; what is left over at the end falls away."""
    out = np.zeros((*z.shape[:2], z.shape[2] // height, z.shape[3] // width), complex)
    for image, channel, row, column in itertools.product(*map(range, out.shape)):
        rows, columns = slice(height * row, height * (row + 1)), slice(width * column, width * (column + 1))
        out[image, channel, row, column] = function(z[image, channel, rows, columns].ravel())
    return out


@pytest.mark.parametrize("transform", ["none", "fft2", "phase"])
@pytest.mark.parametrize("pooling", POOLS)
@pytest.mark.parametrize("hidden_act", ACTIVATIONS)
def test_the_network_is_that_of_the_equations(hidden_act, pooling, transform):
    sizes = {"kernel_size": [2, 3], "pool_size": [1, 2]}
    model = build(hidden_act=hidden_act, pooling=pooling, input_transform=transform, **sizes)
    pixels = torch.randn(PIXELS)
    values = pixels.double().numpy()
    z = {"none": values + 0j, "fft2": np.fft.fft2(values, norm="ortho"), "phase": np.exp(1j * np.pi * values)}[
        transform
    ]
    for layer in model.model.layers:
        z = pool(POOLS[pooling], ACTIVATIONS[hidden_act](convolve(layer.convolution, z)), 1, 2)
    assert tuple(model.config.feature_shape) == (2 * z.shape[1], *z.shape[2:])
    projection = model.classifier.projection
    expected = np.abs(z.reshape(5, -1) @ weight(projection).T + bias(projection)) ** 2
    torch.testing.assert_close(model(pixels).logits.double(), torch.from_numpy(expected), rtol=1e-4, atol=1e-4)


def test_the_real_field_is_plain_torch():
    model = build(number_field="real", padding="same", pooling="max_value", norm_type="batch", hidden_act="split_relu")
    model.train()(torch.randn(PIXELS))  # running statistics that are not those of the start
    parts = []
    for layer in model.eval().model.layers:
        assert isinstance(layer.convolution, nn.Conv2d)
        convolution = nn.Conv2d(*layer.convolution.weight.shape[1::-1], 3, padding="same")
        norm = nn.BatchNorm2d(len(layer.convolution.weight))
        convolution.load_state_dict(layer.convolution.state_dict())
        norm.load_state_dict(layer.norm.state_dict(), strict=False)
        parts += [convolution, norm, nn.ReLU(), nn.MaxPool2d(2)]
    plain = nn.Sequential(*parts, nn.Flatten(), model.classifier.projection).eval()
    pixels = torch.randn(PIXELS)
    torch.testing.assert_close(model(pixels).logits, plain(pixels))


def test_the_network_of_trabelsi():
    """x + W_2 * phi(norm(W_1 * phi(norm(x)))), an imaginary part from two real convolutions, a mean over places."""
    options = {"block": "residual", "norm_type": "whitening", "imaginary_input": "learned", "padding": "same"}
    model = build(**options, pool_size=1, num_filters=[4], hidden_act="split_relu", pooling="average")
    pixels = torch.randn(PIXELS)
    network = model.model
    batch, relu, conv, batch2, relu2, conv2 = network.imaginary_input.layers
    imag = conv2(relu2(batch2(conv(relu(batch(pixels))))))
    states = model(pixels, output_hidden_states=True).hidden_states
    assert torch.equal(states[0], torch.cat([pixels, imag], dim=1))
    layer = network.layers[0]
    x = layer.activation(layer.norm(layer.convolution(states[0])))
    norm, activation, first, norm2, activation2, second = layer.block.layers
    expected = x + second(activation2(norm2(first(activation(norm(x))))))
    torch.testing.assert_close(states[1], expected)
    pooled = network(pixels).pooler_output
    torch.testing.assert_close(pooled, expected.mean(dim=(2, 3)))
    assert all(parameter.grad is None for parameter in model.parameters())
    model.train()(pixels, labels=torch.tensor([0, 1, 2, 0, 1])).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


# Thesis, Tables 3.9 to 3.12: sizes and parameters for k = 0, 2; 3 x 1 filters on the vocabulary of Reuters.
PRINTED = {
    "MNIST": ({"num_channels": 1, "image_size": 28, "num_labels": 10}, (217_472, 297_344)),
    "Reuters": (
        {"num_channels": 1, "image_size": [10_000, 1], "kernel_size": [3, 1], "pool_size": [2, 1], "num_labels": 46},
        (29_434_496, 7_446_912),
    ),
    "CIFAR-10": ({"num_channels": 3, "image_size": 32, "num_labels": 10}, (291_456, 303_488)),
    "CIFAR-100": ({"num_channels": 3, "image_size": 32, "num_labels": 100}, (2_883_456, 349_568)),
}


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("data", PRINTED)
def test_parameters_of_experiment_3(data, field):
    sizes, printed = PRINTED[data]
    for k, expected in zip((0, 2), printed, strict=True):
        config = ComplexConvNetConfig(num_filters=equal_parameter_widths(128, k, field), number_field=field, **sizes)
        with torch.device("meta"):
            model = ComplexConvNetForImageClassification(config)
        assert count_parameters(model, biases=False) == expected


def test_widths_sizes_and_twins():
    config = ComplexConvNetConfig(num_filters=(8, 12, 6), image_size=28)
    assert (config.hidden_size, config.num_hidden_layers, config.feature_shape) == (6, 3, (6, 1, 1))
    assert (config.readout, config.hidden_act) == ("squared_modulus", "modulus")
    assert ComplexConvNetConfig(hidden_size=10).num_filters == [10]
    twin = ComplexConvNetConfig(norm_type="whitening", imaginary_input="learned").real_twin()
    assert (twin.number_field, twin.norm_type, twin.imaginary_input) == ("real", "batch", "zero")
    assert config.real_twin(num_filters=[5, 7, 9]).hidden_size == 9


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_filters": []}, r"non-empty list of positive widths, got \[\]"),
        ({"num_filters": [8, 7]}, "must be even .*, got 7"),
        (
            {"image_size": 5, "num_filters": [4, 4]},
            "image_size must be larger for 2 layers, got 5",
        ),
        ({"pool_size": [2, 2, 2]}, r"pool_size must be .*got \[2, 2, 2\]"),
        ({"pooling": "max_value"}, "number_field must be 'real' with pooling='max_value'"),
        ({"imaginary_input": "learned", "number_field": "real"}, "number_field must be 'complex' with .*, got 'real'"),
        ({"norm_type": "whitening", "number_field": "real"}, "number_field must be 'complex' with .*, got 'real'"),
        ({"norm_type": "layer"}, "norm_type must be one of"),
    ],
)
def test_configurations_that_are_none(changes, words):
    with pytest.raises(StrictDataclassError, match=words):
        ComplexConvNetConfig(**changes)
