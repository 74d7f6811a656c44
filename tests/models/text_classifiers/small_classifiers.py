# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The four families of text classifiers as the tests build them."""

import torch
from torch import nn

from complex_transformers import (
    ComplexFastTextConfig,
    ComplexFastTextForSequenceClassification,
    ComplexFastTextModel,
    ComplexTextCNNConfig,
    ComplexTextCNNForSequenceClassification,
    ComplexTextCNNModel,
    ComplexTextGCNConfig,
    ComplexTextGCNForSequenceClassification,
    ComplexTextGCNModel,
    ComplexTextRNNConfig,
    ComplexTextRNNForSequenceClassification,
    ComplexTextRNNModel,
)

FIELDS = ("complex", "real")
EMBEDDINGS = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")
# family -> configuration, model, classifier, small sizes
FAMILIES = {
    "fasttext": (
        ComplexFastTextConfig,
        ComplexFastTextModel,
        ComplexFastTextForSequenceClassification,
        {"intermediate_size": 12},
    ),
    "cnn": (
        ComplexTextCNNConfig,
        ComplexTextCNNModel,
        ComplexTextCNNForSequenceClassification,
        {"num_filters": 10, "intermediate_size": 12, "kernel_sizes": [2, 3, 5]},
    ),
    "rnn": (
        ComplexTextRNNConfig,
        ComplexTextRNNModel,
        ComplexTextRNNForSequenceClassification,
        {"recurrent_size": 12},
    ),
    "gcn": (
        ComplexTextGCNConfig,
        ComplexTextGCNModel,
        ComplexTextGCNForSequenceClassification,
        {"intermediate_size": 12},
    ),
}
# Every kind of network once, with options that both number fields have.
VARIANTS = [
    ("fasttext", {}),
    ("cnn", {}),
    ("cnn", {"kernel_sizes": [1]}),
    ("cnn", {"hidden_act": "identity"}),  # the maximum is that of the modulus, negative numbers and all
    ("rnn", {}),
    ("rnn", {"bidirectional": True, "num_hidden_layers": 2}),
    ("rnn", {"rnn_type": "gru", "pooling": "mean", "bidirectional": True}),
    ("rnn", {"rnn_type": "gru", "num_hidden_layers": 2}),
    ("rnn", {"rnn_type": "rnn", "pooling": "mean"}),
    ("rnn", {"rnn_type": "rnn", "state_activation": "split_relu"}),
    ("gcn", {}),
    ("gcn", {"num_hidden_layers": 3, "window_size": 1}),
]


def name_of(value):
    """Readable test names for families and options."""
    return ",".join(f"{k}={v}" for k, v in value.items()) or "default" if isinstance(value, dict) else None


def config(family, **changes):
    sizes = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_labels": 3,
        # Large enough that words, and not the positions alone, decide the result.
        "initializer_range": 0.5,
        **FAMILIES[family][3],
    }
    return FAMILIES[family][0](**{**sizes, **changes})


def model(family, **changes):
    """A base model in evaluation mode."""
    return FAMILIES[family][1](config(family, **changes)).eval()


def classifier(family, **changes):
    return FAMILIES[family][2](config(family, **changes)).eval()


def shaken(module, scale=0.1):
    """Adds noise to every parameter: no test passes because a bias is 0."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += scale * torch.randn_like(parameter)
    return module


def text(length, batch=1, vocab_size=40):
    return torch.randint(3, vocab_size, (batch, length))


def padded_batch(*rows):
    """Rows of words and of None for padding, each with its own mask; padding holds words of its own."""
    ids = torch.tensor([[5 + place if word is None else int(word) for place, word in enumerate(row)] for row in rows])
    return ids, torch.tensor([[0 if word is None else 1 for word in row] for row in rows])


def first(module: nn.Module, **inputs):
    with torch.no_grad():
        return module(**inputs)[0]
