# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small Transformer-XLs and streams for the tests."""

import pytest
import torch

from complex_transformers import ComplexTransfoXLConfig, ComplexTransfoXLForCausalLM

VOCABULARY = 40
VARIANTS = {
    "modulus": {},
    "real score": {"attention_score": "real", "phase": "learned", "damping": "learned"},
    "pre-norm, clamped": {"norm_position": "pre", "norm_type": "rms", "clamp_len": 2},
    "tied amplitudes": {"tie_word_embeddings": True, "lm_readout": "feature_modulus", "share_parts": True},
    "probabilities": {"attention_normalization": "probability_amplitude", "attention_score": "bilinear_modulus"},
    "sum of moduli": {"attention_score": "sum_of_moduli"},
    "learned positions": {"embedding_type": "learned_position", "max_position_embeddings": 64, "position_period": 64},
    "adaptive softmax": {"cutoffs": [8, 20], "div_value": 2, "attention_score": "real"},
    "adaptive softmax, tied": {"cutoffs": [8, 20], "tie_word_embeddings": True, "lm_readout": "feature_modulus"},
    "real twin": {"number_field": "real", "embedding_type": "word"},
    "real twin, tied": {"number_field": "real", "embedding_type": "sinusoidal_position", "tie_word_embeddings": True},
}
every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())


def config(**changes):
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "mem_len": 16,
        # Large enough that words, and not the positions alone, decide the result.
        "initializer_range": 0.5,
    }
    return ComplexTransfoXLConfig(**{**sizes, **changes})


def build(model_class=ComplexTransfoXLForCausalLM, **changes):
    """A model in evaluation mode no parameter of which is as it was initialised."""
    torch.manual_seed(0)
    model = model_class(config(**changes)).eval()
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model


def stream(length, batch=1):
    return torch.randint(3, VOCABULARY, (batch, length))


@torch.no_grad()
def in_segments(model, ids, cuts, memory=None, mask=None):
    """Logits ``[B, N, vocab_size]`` of a stream that is read in segments which end at ``cuts``."""
    pieces = []
    for start, end in zip((0, *cuts), (*cuts, ids.shape[1]), strict=True):
        seen = None if mask is None else mask[:, :end]
        out = model(ids[:, start:end], attention_mask=seen, past_key_values=memory, use_cache=True)
        memory = out.past_key_values
        pieces.append(out.logits)
    return torch.cat(pieces, 1)


@torch.no_grad()
def at_once(model, ids, mask=None):
    return model(ids, attention_mask=mask, use_cache=False).logits
