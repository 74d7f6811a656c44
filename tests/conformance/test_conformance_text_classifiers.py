# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the text classifiers, in both number fields."""

import unittest

import pytest
import torch
from conformance_common import TextConformance

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

REAL = {"number_field": "real"}


class _TextClassifier(TextConformance):
    has_attentions = False
    common_properties = ("hidden_size", "num_hidden_layers")
    # Recurrent networks go word by word: short texts keep the suite fast.
    training_overfit_seq_length = 12
    training_overfit_steps = 120

    def _get_trainable_model_class(self):
        return self.all_model_classes[1]

    def _create_text_training_batch(self, batch_size, seq_length, vocab_size):
        # The suite gives one text over and over and asks for its words: here every text differs and has a class.
        texts = torch.arange(batch_size * seq_length).view(batch_size, seq_length) % (vocab_size - 1) + 1
        return {"input_ids": texts, "labels": torch.arange(batch_size) % self.model_tester.num_labels}


class _FastText(_TextClassifier):
    config_class = ComplexFastTextConfig
    all_model_classes = (ComplexFastTextModel, ComplexFastTextForSequenceClassification)
    sizes = {"intermediate_size": 24}
    common_properties = ("hidden_size",)
    num_hidden_states = 1  # the embeddings alone: there are no layers


class _TextCNN(_TextClassifier):
    config_class = ComplexTextCNNConfig
    all_model_classes = (ComplexTextCNNModel, ComplexTextCNNForSequenceClassification)
    sizes = {"intermediate_size": 24, "num_filters": 12, "kernel_sizes": [2, 3]}
    common_properties = ("hidden_size",)
    num_hidden_states = 2


class _TextRNN(_TextClassifier):
    config_class = ComplexTextRNNConfig
    all_model_classes = (ComplexTextRNNModel, ComplexTextRNNForSequenceClassification)
    sizes = {"recurrent_size": 16, "num_hidden_layers": 2}


class _TextGCN(_TextClassifier):
    config_class = ComplexTextGCNConfig
    all_model_classes = (ComplexTextGCNModel, ComplexTextGCNForSequenceClassification)
    sizes = {"intermediate_size": 24, "num_hidden_layers": 2}


class FastTextConformanceTest(_FastText, unittest.TestCase):
    """Complex field, every table of the complex-order embedding."""

    config_changes = {"phase": "learned", "damping": "learned"}


class RealFastTextConformanceTest(_FastText, unittest.TestCase):
    config_changes = {**REAL, "embedding_type": "learned_position"}


class TextCNNConformanceTest(_TextCNN, unittest.TestCase):
    """Complex field, activations with a bias and another readout."""

    config_changes = {"embedding_type": "complex_vanilla", "hidden_act": "modrelu", "readout": "feature_modulus"}


class RealTextCNNConformanceTest(_TextCNN, unittest.TestCase):
    config_changes = {**REAL, "embedding_type": "sinusoidal_position"}


class TextRNNConformanceTest(_TextRNN, unittest.TestCase):
    """Complex field, LSTM."""


@pytest.mark.full
class BidirectionalGRUConformanceTest(_TextRNN, unittest.TestCase):
    """Complex field, complex gates."""

    config_changes = {
        "rnn_type": "gru",
        "bidirectional": True,
        "gate": "split",
        "pooling": "mean",
        "embedding_type": "learned_position",
    }


class RealTextRNNConformanceTest(_TextRNN, unittest.TestCase):
    config_changes = {**REAL, "bidirectional": True}


class TextGCNConformanceTest(_TextGCN, unittest.TestCase):
    """Complex field, a window of the whole text."""

    config_changes = {"window_size": 7, "readout": "squared_modulus"}


class RealTextGCNConformanceTest(_TextGCN, unittest.TestCase):
    config_changes = {**REAL, "embedding_type": "word"}
