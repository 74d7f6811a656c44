# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tiny decoders with their tokenizer, for tests with other libraries."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexMambaConfig,
    ComplexMambaForCausalLM,
    ComplexOrderConfig,
    ComplexOrderForSequenceClassification,
    build_tokenizer,
    lift,
)

TEXTS = ["the cat sat on the mat", "a quick brown fox jumps", "dogs of wizards bark very glibly", "the fox sat"]


def tokenizer():
    """A tokenizer with padding, start and end tokens."""
    return build_tokenizer(TEXTS, special_tokens="causal")


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
    """A decoder of our own, in evaluation mode."""
    torch.manual_seed(0)
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**sizes(**changes))).eval()


def complex_mamba(**changes):
    """A state space decoder, in evaluation mode."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "state_size": 16, "head_dim": 16, "intermediate_size": 64, "num_hidden_layers": 2}
    ids = {"vocab_size": len(tokenizer()), "pad_token_id": tokenizer().pad_token_id}
    return ComplexMambaForCausalLM(ComplexMambaConfig(**{**sizes, **ids, **changes})).eval()


def assert_quantized(model, loaded, is_quantized, error):
    """The layers of every mixer and feed-forward network are quantized, the logits near, and texts generated."""
    for layer in loaded.model.layers:
        parts = [*layer.mixer.children(), *layer.mlp.children()]
        assert sum(map(is_quantized, parts)) == 5  # in, out, gate, up, down
    ids = token_ids()
    with torch.no_grad():
        expected, found = model(ids).logits, loaded(ids).logits
    assert not torch.equal(found, expected)
    assert (found - expected).abs().max() < error * expected.abs().max()
    assert loaded.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None).shape == (2, 18)


OURS = {"complex_llama": complex_llama, "lifted Llama": lifted}
LINEAR_TYPES = ("complex", "conjugate", "widely_linear")


def encoder_sizes(**changes):
    """The configuration of tiny encoders without dropout."""
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 24}
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return {"vocab_size": len(tokenizer()), **layers, **without_dropout, **changes}


def classifier(**changes):
    """A classifier of two labels, in evaluation mode."""
    torch.manual_seed(0)
    return ComplexOrderForSequenceClassification(ComplexOrderConfig(**encoder_sizes(**changes))).eval()


def sentence_encoder(model, folder):
    """Return a ``SentenceTransformer`` of the model with mean pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    transformer = Transformer(str(folder))
    pooling = Pooling(transformer.get_embedding_dimension(), "mean")
    return SentenceTransformer(modules=[transformer, pooling], device="cpu")


def token_ids():
    """Two sequences of ten token ids."""
    return torch.randint(5, len(tokenizer()), (2, 10), generator=torch.Generator().manual_seed(1))
