# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small ComplexOrder models and texts for the tests."""

import torch

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
)

HEADS = (ComplexOrderForMaskedLM, ComplexOrderForSequenceClassification, ComplexOrderForTokenClassification)
FIELDS = ("complex", "real")
EMBEDDINGS = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")
# score, normalisation, number field: everything that exists
ATTENTIONS = [
    *[(s, n, "complex") for s in ("modulus", "bilinear_modulus") for n in ("softmax", "probability_amplitude")],
    *[(s, "split_softmax", "complex") for s in ("modulus", "bilinear_modulus")],
    *[("real", n, field) for n in ("softmax", "probability_amplitude") for field in FIELDS],
]


def config(**changes):
    sizes = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "num_labels": 3,
        # Large enough that words, and not the positions alone, decide the result.
        "initializer_range": 0.5,
    }
    return ComplexOrderConfig(**{**sizes, **changes})


def build(model_class=ComplexOrderModel, **changes):
    model = model_class(config(**changes)).eval()
    for name, buffer in model.named_buffers():  # statistics as after training
        if name.endswith("running_mean"):
            buffer.normal_(std=0.3)
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2.0)
    return model


def text(length, batch=1, vocab_size=40):
    return torch.randint(3, vocab_size, (batch, length))


def first(model, **inputs):
    with torch.no_grad():
        return model(**inputs)[0]
