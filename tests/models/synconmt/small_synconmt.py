# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small translation models with relations, and texts, for the tests."""

import pytest
import torch

from families import FAMILIES, FIRST_WORD, Case

VARIANTS = {**FAMILIES["synconmt"].variants, **FAMILIES["synconmt"].more}
every_variant = pytest.mark.parametrize("variant", VARIANTS)
build = Case("synconmt", "bahdanau").trained


def build_variant(variant):
    return Case("synconmt", variant).trained()


def _texts(model, side, length, count):
    """Random words of the source (0) or the target (1), and relations where the model has them."""
    words, relations = model.config.num_words[side], model.config.num_relations[side]
    ids = torch.randint(FIRST_WORD, words, (count, length))
    return ids, None if relations is None else torch.randint(1, relations, (count, length))


def _named(words, relations, values):
    return {name: value for name, value in zip((words, relations), values, strict=True) if value is not None}


def source_of(model, length, count=1):
    return _named("input_ids", "relation_ids", _texts(model, 0, length, count))


def target_of(model, length, count=1):
    """As the decoder reads it."""
    return _named("decoder_input_ids", "decoder_relation_ids", _texts(model, 1, length, count))


def labels_of(model, length, count=1):
    return _named("labels", "relation_labels", _texts(model, 1, length, count))


def cut(inputs, rows=slice(None), columns=slice(None)):
    """Some rows and words of inputs."""
    return {name: value[rows, columns] for name, value in inputs.items()}


@torch.no_grad()
def run(model, **inputs):
    return model(**inputs)
