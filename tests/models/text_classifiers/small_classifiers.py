# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The five text classifiers as the tests build them: those of ``families.py``."""

import torch

from complex_transformers.models import family_class
from families import FAMILIES, FIRST_WORD

CLASSIC = ("complex_fasttext", "complex_text_cnn", "complex_text_rnn", "complex_text_gcn")
TEXTS = ("complex_order", *CLASSIC)
FIELDS = ("complex", "real")
EMBEDDINGS = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")
WORDS = FAMILIES["complex_order"].sizes["vocab_size"]


def name_of(value):
    """Readable test names for families and options."""
    return ",".join(f"{k}={v}" for k, v in value.items()) or "default" if isinstance(value, dict) else None


def classifier(family, **changes):
    """In evaluation mode, as it is initialised."""
    config = family_class(family, "AutoConfig")(**{**FAMILIES[family].sizes, **changes})
    return family_class(family, "AutoModelForSequenceClassification")(config).eval()


def shaken(module, scale=0.1):
    """Adds noise to every parameter: no test passes because a bias is 0."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += scale * torch.randn_like(parameter)
    return module


def text(length, batch=1):
    return torch.randint(FIRST_WORD, WORDS, (batch, length))


def first(module, **inputs):
    with torch.no_grad():
        return module(**inputs)[0]
