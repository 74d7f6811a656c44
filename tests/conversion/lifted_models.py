# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tiny real decoders and encoders of every kind that is lifted."""

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

WORDS = 40
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
KINDS = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "llama, tied, biases": (
        LlamaConfig,
        LlamaForCausalLM,
        {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu"},
    ),
    "llama, wide heads": (LlamaConfig, LlamaForCausalLM, {"head_dim": 12, "num_key_value_heads": 1}),
    "mistral": (MistralConfig, MistralForCausalLM, {"sliding_window": None}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {"tie_word_embeddings": True}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 16, "attention_bias": True}),
}
ENCODER_SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 16,
    "type_vocab_size": 3,
    "num_labels": 5,
}
ENCODERS = {
    "model": (BertModel, {}),
    "words": (BertForMaskedLM, {}),
    "untied words": (BertForMaskedLM, {"tie_word_embeddings": False}),
    "texts": (BertForSequenceClassification, {"problem_type": "single_label_classification"}),
    "tokens": (BertForTokenClassification, {"hidden_act": "relu"}),
}


def real_model(kind="llama", **changes):
    """A decoder with weights of which none is as it was initialised."""
    config_class, model_class, kind_changes = KINDS[kind]
    torch.manual_seed(0)
    return _trained(model_class(config_class(**{**SIZES, **kind_changes, **changes})))


def real_encoder(kind="model", **changes):
    """An encoder with weights of which none is as it was initialised."""
    model_class, kind_changes = ENCODERS[kind]
    torch.manual_seed(0)
    return _trained(model_class(BertConfig(**{**ENCODER_SIZES, **kind_changes, **changes})))


def _trained(model):
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model
