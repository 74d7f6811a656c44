# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tiny decoders that are quantised, and texts for them."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM

WORDS = 40
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
GREEDY = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
LINEAR_TYPES = ("complex", "conjugate", "widely_linear")


def decoder(linear_type="widely_linear", **changes):
    """Return a decoder with weights of noticeable size."""
    torch.manual_seed(0)
    changes = {**SIZES, "weight_init": "normal", "initializer_range": 0.3, **changes}
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(linear_type=linear_type, **changes)).eval()


def real_decoder():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES, initializer_range=0.3, tie_word_embeddings=True)).eval()


def texts(count=2, length=10, seed=1):
    """Return token ids ``[count, length]``."""
    return torch.randint(3, WORDS, (count, length), generator=torch.Generator().manual_seed(seed))
