# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small translation models with relations, and texts, for the tests."""

import torch

from complex_transformers import SynCoNMTConfig, SynCoNMTForConditionalGeneration

START, END = 1, 2
VOCABULARY, RELATIONS = 30, 7
VARIANTS = {
    "bahdanau": {},
    "luong": {"attention_type": "luong", "attention_window": 2},
    "deep lstm": {"rnn_type": "lstm", "decoder_layers": 2, "encoder_layers": 2, "share_embeddings": True},
    "luong, complex gates": {
        "attention_type": "luong",
        "attention_window": 3,
        "gate": "split",
        "decoder_layers": 2,
        "bidirectional": False,
    },
    "rnn, two vocabularies": {"rnn_type": "rnn", "target_vocab_size": 25, "target_relation_vocab_size": 5},
    "real": {"number_field": "real"},
    "real luong, words": {
        "number_field": "real",
        "attention_type": "luong",
        "attention_window": 2,
        "use_relations": False,
        "rnn_type": "lstm",
    },
}


def config(**changes):
    sizes = {
        "vocab_size": VOCABULARY,
        "relation_vocab_size": RELATIONS,
        "hidden_size": 16,
        "bos_token_id": START,
        "eos_token_id": END,
        "decoder_start_token_id": START,
        "initializer_range": 0.7,
    }
    return SynCoNMTConfig(**{**sizes, **changes})


def build(model_class=SynCoNMTForConditionalGeneration, **changes):
    """A model in evaluation mode no parameter of which is as it was initialised."""
    torch.manual_seed(0)
    model = model_class(config(**changes)).eval()
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return model


def source_of(model, length, batch=1):
    """Random source texts: words, and relations where the model has them."""
    words, relations = model.config.num_words[0], model.config.num_relations[0]
    inputs = {"input_ids": torch.randint(3, words, (batch, length))}
    if relations is not None:
        inputs["relation_ids"] = torch.randint(1, relations, (batch, length))
    return inputs


def target_of(model, length, batch=1):
    """Random target texts, as the decoder reads them."""
    words, relations = model.config.num_words[1], model.config.num_relations[1]
    inputs = {"decoder_input_ids": torch.randint(3, words, (batch, length))}
    if relations is not None:
        inputs["decoder_relation_ids"] = torch.randint(1, relations, (batch, length))
    return inputs


def labels_of(model, length, batch=1):
    """Random labels of words, and of relations where the model has them."""
    target = target_of(model, length, batch)
    names = {"decoder_input_ids": "labels", "decoder_relation_ids": "relation_labels"}
    return {names[name]: value for name, value in target.items()}


def rows(inputs, part):
    """Some rows of inputs."""
    return {name: value[part] for name, value in inputs.items()}


def columns(inputs, part):
    """Some words of inputs."""
    return {name: value[:, part] for name, value in inputs.items()}


@torch.no_grad()
def run(model, **inputs):
    return model(**inputs)
