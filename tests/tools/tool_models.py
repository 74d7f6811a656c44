# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tiny decoders with their tokenizer, for tests with other libraries."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, build_tokenizer, lift

TEXTS = ["the cat sat on the mat", "a quick brown fox jumps", "dogs of wizards bark very glibly", "the fox sat"]


def tokenizer():
    """A tokenizer with padding, start and end tokens."""
    return build_tokenizer(TEXTS, append_eos="stream")


def sizes(**changes):
    """The configuration of tiny models whose vocabulary is the tokenizer's."""
    words = tokenizer()
    ids = {name: getattr(words, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
    return {"vocab_size": len(words), "hidden_size": 32, "intermediate_size": 48, **layers, **ids, **changes}


def llama():
    """Transformers' own decoder."""
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**sizes()))


def lifted():
    """The same decoder with complex layers."""
    return lift(llama())


def complex_llama(**changes):
    """A decoder of our own."""
    torch.manual_seed(0)
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**sizes(**changes)))


OURS = {"complex_llama": complex_llama, "lifted Llama": lifted}
