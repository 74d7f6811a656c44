# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small encoder-decoders and texts for the tests."""

import torch

from complex_transformers import ComplexSeq2SeqConfig, ComplexSeq2SeqForConditionalGeneration

START, END = 1, 2
VOCABULARY = 40
VARIANTS = {
    "modulus": {},
    "real score": {"attention_score": "real"},
    "pre-norm, two embeddings": {"norm_position": "pre", "share_embeddings": False, "norm_type": "rms"},
    "tied amplitudes": {"tie_word_embeddings": True, "lm_readout": "feature_modulus"},
    "vanilla": {"embedding_type": "complex_vanilla"},
    "complex weights": {"attention_normalization": "split_softmax", "lm_readout": "modulus"},
    "learned positions": {"embedding_type": "learned_position", "max_position_embeddings": 32},
    "real twin": {"number_field": "real", "embedding_type": "sinusoidal_position", "tie_word_embeddings": True},
}


def config(**changes):
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "bos_token_id": START,
        "eos_token_id": END,
        "decoder_start_token_id": START,
        # Large enough that words, and not the positions alone, decide the result.
        "initializer_range": 0.5,
    }
    return ComplexSeq2SeqConfig(**{**sizes, **changes})


def build(model_class=ComplexSeq2SeqForConditionalGeneration, **changes):
    """A model in evaluation mode no parameter of which is as it was initialised."""
    torch.manual_seed(0)
    model = model_class(config(**changes)).eval()
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model


def text(length, batch=1):
    return torch.randint(3, VOCABULARY, (batch, length))


@torch.no_grad()
def logits(model, source, target, **inputs):
    return model(input_ids=source, decoder_input_ids=target, **inputs).logits
