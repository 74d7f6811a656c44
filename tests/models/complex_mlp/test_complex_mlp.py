# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Multilayer perceptrons: an oracle in complex128, counts of the thesis, bad input, learning."""

import numpy as np
import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch import nn

from complex_transformers import (
    ComplexMLPConfig,
    ComplexMLPForImageClassification,
    ComplexMLPForSequenceClassification,
)
from complex_transformers.analysis import count_parameters
from complex_transformers.nn import ComplexLinear, RealInputLinear, equal_parameter_widths, parameter_budget_width
from oracles import bias, weight

SIZES = {"num_channels": 2, "image_size": [3, 4], "num_labels": 3}
ACTIVATIONS = {
    "modulus": np.abs,
    "identity": lambda z: z,
    "tanh": np.tanh,
    "squared_modulus": lambda z: np.abs(z) ** 2,
    "split_relu": lambda z: np.maximum(z.real, 0) + 1j * np.maximum(z.imag, 0),
}
READOUTS = {"squared_modulus": lambda z: np.abs(z) ** 2, "modulus": np.abs}


def build(seed=0, **changes):
    torch.manual_seed(seed)
    model = ComplexMLPForImageClassification(ComplexMLPConfig(**{**SIZES, "hidden_sizes": [8, 12, 6], **changes}))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.eval()


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("hidden_act", ACTIVATIONS)
def test_the_network_is_that_of_the_equations(hidden_act, readout):
    model = build(hidden_act=hidden_act, readout=readout)
    pixels = torch.randn(5, 2, 3, 4)
    z = pixels.double().numpy().reshape(5, 24).astype(complex)
    for layer in model.model.layers:
        z = ACTIVATIONS[hidden_act](z @ weight(layer.dense).T + bias(layer.dense))
    projection = model.classifier.projection
    expected = READOUTS[readout](z @ weight(projection).T + bias(projection))
    torch.testing.assert_close(model(pixels).logits.double(), torch.from_numpy(expected), rtol=1e-4, atol=1e-4)


def test_the_real_field_is_plain_torch():
    model = build(number_field="real", norm_type="layer")
    layers = [part for layer in model.model.layers for part in (layer.dense, layer.norm, nn.ReLU())]
    plain = nn.Sequential(nn.Flatten(), *layers, model.classifier.projection)
    assert all(isinstance(layer.dense, nn.Linear) for layer in model.model.layers)
    pixels = torch.randn(5, 2, 3, 4)
    assert torch.equal(model(pixels).logits, plain(pixels))


@pytest.mark.parametrize("transform", ["fft2", "phase"])
@pytest.mark.parametrize("field", ["complex", "real"])
def test_what_the_network_reads(transform, field):
    model = build(input_transform=transform, number_field=field)
    pixels = torch.randn(5, 2, 3, 4)
    values = pixels.double().numpy()
    z = np.fft.fft2(values, norm="ortho") if transform == "fft2" else np.exp(1j * np.pi * values)
    read = np.concatenate([z.real.reshape(5, -1), z.imag.reshape(5, -1)], axis=1)
    found = model.model(pixels, output_hidden_states=True).hidden_states[0]
    torch.testing.assert_close(found.double(), torch.from_numpy(read), rtol=1e-5, atol=1e-5)
    assert model.model.layers[0].dense.in_features == 48


def test_a_real_input_layer_is_a_complex_layer_of_numbers_without_imaginary_part():
    layer, x = RealInputLinear(5, 8), torch.randn(3, 5)
    nn.init.normal_(layer.bias)
    other = ComplexLinear(10, 8)
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer(x), other(torch.cat([x, torch.zeros(3, 5)], dim=-1)))
    assert RealInputLinear(5, 8, bias=False)(x).shape == (3, 8)


# Thesis, Tables 3.1, 3.3 and 3.4: inputs, classes, m, and parameters for k = 0, 2, 4, 8.
PRINTED = {
    "MNIST": (1, 28, 10, 64, (50_816, 59_008, 67_200, 83_584)),
    "CIFAR-10": (3, 32, 10, 128, (394_496, 427_264, 460_032, 525_568)),
    "CIFAR-100": (3, 32, 100, 128, (406_016, 438_784, 471_552, 537_088)),
}
REUTERS = (642_944, 651_136, 659_328, 675_712)  # Table 3.2: 10,000 words, 46 classes, m = 64


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("data", PRINTED)
def test_parameters_of_experiment_1(data, field):
    channels, size, classes, width, printed = PRINTED[data]
    for k, expected in zip((0, 2, 4, 8), printed, strict=True):
        config = ComplexMLPConfig(
            num_channels=channels,
            image_size=size,
            num_labels=classes,
            number_field=field,
            hidden_sizes=equal_parameter_widths(width, k, field),
        )
        with torch.device("meta"):
            model = ComplexMLPForImageClassification(config)
        assert count_parameters(model, biases=False) == expected
        assert count_parameters(model) == sum(parameter.numel() for parameter in model.parameters()) > expected


@pytest.mark.parametrize("field", ["complex", "real"])
def test_parameters_of_reuters(field):
    """A bag of 10,000 words."""
    for k, expected in zip((0, 2, 4, 8), REUTERS, strict=True):
        sizes = {"bag_of_words": "binary", "vocab_size": 10_000, "num_labels": 46, "number_field": field}
        config = ComplexMLPConfig(hidden_sizes=equal_parameter_widths(64, k, field), **sizes)
        with torch.device("meta"):
            model = ComplexMLPForSequenceClassification(config)
        assert count_parameters(model, biases=False) == expected


# Tables 3.5 to 3.8 by their widths: inputs, classes -> (m_R, m_C) for k = 0, 2, 4, 8.
BUDGETS = {
    (784, 10): ((630, 315), (339, 207), (268, 170), (205, 134)),
    (10_000, 46): ((50, 25), (49, 25), (49, 25), (48, 24)),
    (3072, 10): ((162, 81), (148, 77), (138, 74), (123, 69)),
    (3072, 100): ((158, 79), (144, 75), (135, 72), (121, 67)),
}


@pytest.mark.parametrize(("inputs", "classes"), BUDGETS)
def test_widths_of_experiment_2(inputs, classes):
    for k, pair in zip((0, 2, 4, 8), BUDGETS[inputs, classes], strict=True):
        for field, printed in zip(("real", "complex"), pair, strict=True):
            assert parameter_budget_width(inputs, classes, k, 500_000, field) == printed


def test_budgets_and_widths_that_are_none():
    with pytest.raises(ValueError, match=r"budget must be at least 1592, .* got 300"):
        parameter_budget_width(784, 10, 2, 300)
    for wrong, words in (((7, 2), "must be even .*, got 7 and 2"), ((8, 1), "must be even .*, got 8 and 1")):
        with pytest.raises(ValueError, match=words):
            equal_parameter_widths(*wrong)
    assert equal_parameter_widths(7, 1, "real") == [7, 7]
    with pytest.raises(ValueError, match="number_field"):
        equal_parameter_widths(8, 2, "quaternion")


def test_widths_and_their_last():
    config = ComplexMLPConfig(hidden_sizes=(8, 12, 6))
    assert (config.hidden_size, config.num_hidden_layers, config.hidden_sizes) == (6, 3, [8, 12, 6])
    assert ComplexMLPConfig(hidden_size=10).hidden_sizes == [10]
    assert config.readout == "squared_modulus"
    twin = config.real_twin(hidden_sizes=[4, 4])
    assert (twin.number_field, twin.hidden_size, twin.readout) == ("real", 4, "concat")
    assert config.real_twin().hidden_sizes == [8, 12, 6]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_sizes": []}, r"non-empty list of positive widths, got \[\]"),
        ({"hidden_sizes": [0, 8]}, r"non-empty list of positive widths, got \[0, 8\]"),
        ({"hidden_sizes": [8, 7]}, r"must be even .*, got 7"),
        ({"hidden_sizes": [8, 12], "hidden_size": 8}, "must be the last of hidden_sizes"),
        ({"image_size": [3, 4, 5]}, r"got \[3, 4, 5\]"),
        ({"norm_type": "whitening"}, "norm_type must be one of"),
        ({"vocab_size": 0, "bag_of_words": "count"}, "vocab_size must be positive, got 0"),
        (
            {"number_field": "real", "readout": "squared_modulus"},
            "readout must be .* with number_field='real', got 'squared_modulus'",
        ),
    ],
)
def test_configurations_that_are_none(changes, words):
    with pytest.raises(StrictDataclassError, match=words):
        ComplexMLPConfig(**changes)


@pytest.mark.parametrize("field", ["complex", "real"])
def test_an_odd_number_of_pixels(field):
    """They are real numbers and have no halves."""
    model = build(num_channels=1, image_size=3, hidden_dropout_prob=0.5, number_field=field).train()
    assert model(torch.rand(4, 1, 3, 3), labels=torch.tensor([0, 1, 2, 0])).loss.isfinite()


def bags(seed=0, **changes):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 7, "hidden_sizes": [8, 6], "num_labels": 3, "pad_token_id": 0}
    return ComplexMLPForSequenceClassification(
        ComplexMLPConfig(**{**sizes, "bag_of_words": "binary", **changes})
    ).eval()


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("bag", ["binary", "count"])
def test_a_bag_is_its_words(bag, field):
    model = bags(bag_of_words=bag, number_field=field)
    ids = torch.tensor([[3, 5, 3, 0], [6, 1, 2, 4]])
    expected = torch.tensor([[0, 0, 0, 1 if bag == "binary" else 2, 0, 1, 0], [0, 1, 1, 0, 1, 0, 1]])
    states = model(ids, output_hidden_states=True).hidden_states
    assert torch.equal(states[0], expected.float())
    hidden = model(ids, attention_mask=torch.tensor([[1, 0, 1, 0], [1, 0, 1, 1]]), output_hidden_states=True)
    expected[0, 5] = expected[1, 1] = 0
    assert torch.equal(hidden.hidden_states[0], expected.float())
    assert model(torch.tensor([[0, 0]])).logits.isfinite().all()  # no word at all
    with_pad = bags(bag_of_words=bag, pad_token_id=None)(ids, output_hidden_states=True).hidden_states[0]
    assert with_pad[0, 0] == 1


def test_words_in_bags_are_learned_and_images_are_no_words():
    torch.manual_seed(0)
    model = bags(hidden_sizes=[16])
    ids, labels = torch.tensor([[1, 2, 5], [3, 5, 0], [6, 4, 4]]), torch.arange(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    for _ in range(100):
        optimizer.zero_grad()
        model(ids, labels=labels).loss.backward()
        optimizer.step()
    assert torch.equal(model(ids[:, [2, 0, 1]]).logits.argmax(-1), labels)  # in any order
    for wrong, error, words in (
        (torch.tensor([[7]]), ValueError, r"input_ids must lie in \[0, 7\), got 7"),
        (torch.tensor([3]), ValueError, r"\[batch, length\] and not empty, got \(1,\)"),
        (torch.zeros(1, 0, dtype=torch.long), ValueError, "Leave out empty texts"),
        (torch.rand(1, 3), TypeError, "must be integers"),
    ):
        with pytest.raises(error, match=words):
            model(wrong)
    with pytest.raises(ValueError, match=r"inputs must be input_ids .*, got \['pixel_values', 'input_ids'\]"):
        model.model(torch.rand(1, 3, 32, 32), ids)
    with pytest.raises(ValueError, match=r"inputs must be input_ids with bag_of_words='.*', got \[\]"):
        model.model()
    with pytest.raises(ValueError, match=r"inputs must be pixel_values with bag_of_words='none', got"):
        build().model(torch.rand(1, 2, 3, 4), ids)


def test_images_that_are_none():
    model, pixels = build(), torch.rand(2, 2, 3, 4)
    for wrong, error, words in (
        ((255 * pixels).to(torch.uint8), TypeError, r"got torch.uint8\. Use ComplexImageProcessor"),
        (pixels.to(torch.complex64), TypeError, "got torch.complex64"),
        (pixels[0], ValueError, r"\[batch, 2, 3, 4\], got \[2, 3, 4\]"),
        (pixels.transpose(2, 3), ValueError, r"got \[2, 2, 4, 3\]"),
        (pixels[:0], ValueError, r"got \[0, 2, 3, 4\]"),
    ):
        with pytest.raises(error, match=words):
            model(wrong)
    for labels, words in ((torch.tensor([0, 3]), "got 3"), (torch.tensor([0]), "got")):
        with pytest.raises(ValueError, match=words):
            model(pixels, labels=labels)


def test_pixels_that_are_complex():
    """Their spectrum, given as halves, is what ``fft2`` computes."""
    model, other = build(input_transform="fft2"), build(input_transform="complex")
    pixels = torch.randn(5, 2, 3, 4)
    spectrum = torch.fft.fft2(pixels, norm="ortho")
    torch.testing.assert_close(other(torch.cat([spectrum.real, spectrum.imag], dim=1)).logits, model(pixels).logits)
    with pytest.raises(ValueError, match=r"\[batch, 4, .*, got \[5, 2, "):
        other(pixels)
