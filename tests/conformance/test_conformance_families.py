# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on every family without a file of its own here, in both number fields.

Such a family classifies texts and has neither attention nor a cache. Its row in ``families.py`` is enough; what its
classes here change in the configuration, besides the number field, is in ``CHANGES``.
"""

import unittest
from pathlib import Path

import pytest
import torch
from conformance_common import TextConformance

from complex_transformers.models import family_class, file_kind, model_families
from families import FAMILIES, LEARNED, REAL, TEXT

# family -> name of a class of the suite -> changes of the configuration
CHANGES = {
    "complex_fasttext": {
        "": {"phase": "learned", "damping": "learned"},  # every table of the complex-order embedding
        "Real": {**REAL, **LEARNED},
    },
    "complex_quantum": {
        "": {"evolution": "shared", "embedding_type": "complex_order"},
        "Real": {**REAL, "embedding_type": "word", "pooling": "max", "measurement": "povm", "num_measurements": 40},
    },
    "complex_text_cnn": {
        # Activations with a bias, and another readout.
        "": {"embedding_type": "complex_vanilla", "hidden_act": "modrelu", "readout": "feature_modulus"},
        "Real": {**REAL, "embedding_type": "sinusoidal_position"},
    },
    "complex_text_gcn": {
        "": {"window_size": 7, "readout": "squared_modulus"},  # a window of the whole text
        "Real": {**REAL, "embedding_type": "word"},
    },
    "complex_text_rnn": {
        "": {},
        "BidirectionalGRU": {"rnn_type": "gru", "bidirectional": True, "gate": "split", "pooling": "mean", **LEARNED},
        "Real": {**REAL, "bidirectional": True},
    },
}
# Of the classes above, those that are not in the default set.
FULL = {"complex_text_rnn": ("BidirectionalGRU",)}
# With the embeddings; of the others one more than layers.
HIDDEN_STATES = {"complex_fasttext": 1, "complex_quantum": 2, "complex_text_cnn": 2}
PREFIX = "test_conformance_"
OWN_FILES = {path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py")}


class _Classifier(TextConformance):
    has_attentions = False
    # Recurrent networks go word by word: short texts keep the suite fast.
    training_overfit_seq_length = 12
    training_overfit_steps = 120

    def _get_trainable_model_class(self):
        return next(model for model in self.all_model_classes if model.__name__.endswith("ForSequenceClassification"))

    def _create_text_training_batch(self, batch_size, seq_length, vocab_size):
        # The suite gives one text over and over and asks for its words: here every text differs and has a class.
        texts = torch.arange(batch_size * seq_length).view(batch_size, seq_length) % (vocab_size - 1) + 1
        return {"input_ids": texts, "labels": torch.arange(batch_size) % self.model_tester.num_labels}


def conformance(family, name, changes):
    """A class of tests of one family with these changes of its configuration."""
    config = family_class(family, "AutoConfig")
    models = [family_class(family, auto) for auto in model_families()[family] if file_kind(auto) == "modeling"]
    sizes = {key: value for key, value in FAMILIES[family].sizes.items() if key not in {*TEXT, "num_labels"}}
    members = {
        "__module__": __name__,
        "config_class": config,
        "all_model_classes": tuple(models),
        # Two layers, so that there is something between the first and the last.
        "sizes": {**sizes, "num_hidden_layers": 2} if hasattr(config(), "num_hidden_layers") else sizes,
        "config_changes": changes,
        "common_properties": [key for key in ("hidden_size", "num_hidden_layers") if hasattr(config(), key)],
        "num_hidden_states": HIDDEN_STATES.get(family),
    }
    title = f"{name}{config.__name__.removesuffix('Config')}ConformanceTest"
    made = type(title, (_Classifier, unittest.TestCase), members)
    return pytest.mark.full(made) if name in FULL.get(family, ()) else made


for _family in sorted(FAMILIES.keys() - OWN_FILES):
    for _name, _changes in CHANGES.get(_family, {"": {}, "Real": REAL}).items():
        _made = conformance(_family, _name, _changes)
        globals()[_made.__name__] = _made
del _made  # or the last one would be collected twice
