# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the convolutional network for images, in both number fields."""

import unittest

import pytest
from conformance_images import ImageConformance

from complex_transformers import ComplexConvNetConfig, ComplexConvNetForImageClassification, ComplexConvNetModel
from families import REAL, SPECTRUM, TRABELSI


class _Conformance(ImageConformance):
    config_class = ComplexConvNetConfig
    all_model_classes = (ComplexConvNetModel, ComplexConvNetForImageClassification)

    def shapes_of_states(self, config):
        first = 3 if config.input_transform == "none" and config.imaginary_input == "zero" else 6
        sizes = {"valid": (8, 3, 0), "same": (8, 4, 2)}[config.padding]
        channels = (first, *config.num_filters)
        return [(count, size, size) for count, size in zip(channels, sizes, strict=True)]


class ComplexConvNetConformanceTest(_Conformance, unittest.TestCase):
    """The default but for zeros around the image: complex filters without a norm, maxima of moduli."""

    changes = {"padding": "same"}


class RealConvNetConformanceTest(_Conformance, unittest.TestCase):
    """The real twin."""

    changes = {**REAL, "norm_type": "batch", "padding": "same"}


@pytest.mark.full
class TrabelsiConformanceTest(_Conformance, unittest.TestCase):
    """Residual blocks, whitening, a learned imaginary part, dropout."""

    changes = {**TRABELSI, "padding": "same", "hidden_act": "split_relu", "hidden_dropout_prob": 0.1}


@pytest.mark.full
class SpectrumConvNetConformanceTest(_Conformance, unittest.TestCase):
    """Spectra of images, an activation with parameters, means of moduli."""

    changes = {**SPECTRUM, "norm_type": "whitening", "padding": "same", "hidden_act": "modrelu", "pooling": "average"}
