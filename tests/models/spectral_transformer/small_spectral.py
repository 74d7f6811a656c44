# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small spectral Transformers, extractors and clips for the tests."""

import numpy as np
import torch

from complex_transformers import SpectralFeatureExtractor, SpectralTransformerConfig, SpectralTransformerModel

RATE = 8000
# name -> features, and the network that reads them
NETWORKS = {
    "fully_spectral": ({}, {}),
    "rotate": ({}, {"position_phase": "rotate", "pooling": "average", "bin_pool_size": 3, "bin_pool_stride": 2}),
    "spectral_scaled": ({"feature_type": "frames"}, {"variant": "spectral_scaled"}),
    "spectral_scaled_rotate": (
        {"feature_type": "frames"},
        {"variant": "spectral_scaled", "position_phase": "rotate", "attention_normalization": "softmax"},
    ),
    "real": ({"feature_type": "log_mel", "num_mel_bins": 10}, {"number_field": "real"}),
}
FULL = ("fully_spectral", "rotate")
SCALED = ("spectral_scaled", "spectral_scaled_rotate")


def extractor(**changes):
    return SpectralFeatureExtractor(**{"sampling_rate": RATE, "window_length": 32, "hop_length": 16, **changes})


def config(network="fully_spectral", **changes):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    features, own = NETWORKS[network]
    return SpectralTransformerConfig.from_extractor(extractor(**features), **{**sizes, **own, **changes})


def build(network="fully_spectral", model_class=SpectralTransformerModel, bias=True, **changes):
    """A model in evaluation with parameters as after training; without biases where they are in the way."""
    model = model_class(config(network, **changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") and "norm" not in name:
                parameter.normal_(std=0.2 if bias else 0.0)
            if name.endswith(("kernel.real", "kernel.imag")):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def clips(*lengths):
    return [np.random.randn(length).astype(np.float32) for length in lengths]


def features(network, waves, **options):
    return extractor(**NETWORKS[network][0])(waves, sampling_rate=RATE, return_tensors="pt", **options)


def first(model, **inputs):
    with torch.no_grad():
        return model(**inputs)[0]
