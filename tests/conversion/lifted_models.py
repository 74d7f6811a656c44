# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tiny real decoders and encoders of every family that can be lifted."""

import torch
import transformers
from transformers import BertConfig, DistilBertConfig, RobertaConfig, XLMRobertaConfig

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
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
THETA = {"rope_theta": 500.0}
YARN = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "original_max_position_embeddings": 8}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 500.0,
    "short_factor": [1.0, 1.2, 1.5],
    "long_factor": [1.0, 2.0, 4.0],
    "partial_rotary_factor": 0.75,
}
# Kind -> class and configuration; windows and original lengths are shorter than the texts of the tests.
BIASES = {"attention_bias": True, "mlp_bias": True}
WINDOW = {"sliding_window": 4}
GEMMA = {"head_dim": 12, **WINDOW, "query_pre_attn_scalar": 20}
GEMMA3_ROPE = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 700.0, "factor": 8.0},
}
KINDS = {
    "llama": ("LlamaForCausalLM", {}),
    "llama, tied, biases": ("LlamaForCausalLM", {"tie_word_embeddings": True, **BIASES, "hidden_act": "gelu"}),
    "llama, wide heads": ("LlamaForCausalLM", {"head_dim": 12, "num_key_value_heads": 1}),
    "llama 3": ("LlamaForCausalLM", {"rope_parameters": LLAMA3}),
    "llama, linear": ("LlamaForCausalLM", {"rope_parameters": {**THETA, "rope_type": "linear", "factor": 3.0}}),
    "llama, dynamic": (
        "LlamaForCausalLM",
        {"rope_parameters": {**THETA, "rope_type": "dynamic", "factor": 2.0}, "max_position_embeddings": 8},
    ),
    "mistral": ("MistralForCausalLM", {"sliding_window": None}),
    "mistral, window": ("MistralForCausalLM", WINDOW),
    "qwen2": ("Qwen2ForCausalLM", {"tie_word_embeddings": True}),
    "qwen2, yarn, window": (
        "Qwen2ForCausalLM",
        {"rope_parameters": YARN, "use_sliding_window": True, **WINDOW, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 16, "attention_bias": True}),
    "phi3": ("Phi3ForCausalLM", {}),
    "phi3, longrope, partial, window": (
        "Phi3ForCausalLM",
        {
            "rope_parameters": LONGROPE,
            "sliding_window": 5,
            "max_position_embeddings": 64,
            "original_max_position_embeddings": 8,
        },
    ),
    "smollm3": ("SmolLM3ForCausalLM", {"no_rope_layer_interval": 2}),
    "smollm3, window": ("SmolLM3ForCausalLM", {"no_rope_layers": [0, 1], "use_sliding_window": True, **WINDOW}),
    "olmo2": ("Olmo2ForCausalLM", {}),
    "gemma2": ("Gemma2ForCausalLM", {**GEMMA, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma3": (
        "Gemma3ForCausalLM",
        {**GEMMA, "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": GEMMA3_ROPE},
    ),
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
    "model": ("BertModel", {}),
    "words": ("BertForMaskedLM", {}),
    "untied words": ("BertForMaskedLM", {"tie_word_embeddings": False}),
    "texts": ("BertForSequenceClassification", {"problem_type": "single_label_classification"}),
    "tokens": ("BertForTokenClassification", {"hidden_act": "relu"}),
    "answers": ("BertForQuestionAnswering", {"num_labels": 2}),
    "roberta model": ("RobertaModel", {}),
    "roberta words": ("RobertaForMaskedLM", {}),
    "roberta texts": ("RobertaForSequenceClassification", {}),
    "roberta tokens": ("RobertaForTokenClassification", {}),
    "roberta answers": ("RobertaForQuestionAnswering", {"num_labels": 2}),
    "xlm-roberta model": ("XLMRobertaModel", {"type_vocab_size": 1}),
    "distilbert model": ("DistilBertModel", {}),
    "distilbert words": ("DistilBertForMaskedLM", {}),
    "distilbert texts": ("DistilBertForSequenceClassification", {}),
    "distilbert tokens": ("DistilBertForTokenClassification", {"activation": "relu"}),
    "distilbert answers": ("DistilBertForQuestionAnswering", {"num_labels": 2, "sinusoidal_pos_embds": True}),
}
DISTILBERT_NAMES = {
    "hidden_size": "dim",
    "intermediate_size": "hidden_dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
}


def real_model(kind="llama", **changes):
    """Return a decoder whose parameters all differ from their initial values."""
    name, kind_changes = KINDS[kind]
    model_class = getattr(transformers, name)
    torch.manual_seed(0)
    return _trained(model_class(model_class.config_class(**{**SIZES, **kind_changes, **changes})))


def real_encoder(kind="model", **changes):
    """Return an encoder whose parameters all differ from their initial values."""
    name, kind_changes = ENCODERS[kind]
    model_class = getattr(transformers, name)
    torch.manual_seed(0)
    return _trained(model_class(encoder_config(model_class.config_class, **{**kind_changes, **changes})))


def encoder_config(config_class=BertConfig, **changes):
    sizes = {**ENCODER_SIZES, **changes}
    if config_class in (RobertaConfig, XLMRobertaConfig):  # padding is token 1, and positions are counted after it
        sizes["max_position_embeddings"] += 2
    if config_class is DistilBertConfig:
        sizes.pop("type_vocab_size")
        sizes = {DISTILBERT_NAMES.get(name, name): value for name, value in sizes.items()}
    return config_class(**sizes)


def of_another_class(model, auto_class, **changes):
    """Return a model of another class with the layers of a decoder and its own head."""
    other = auto_class.from_config(model.config.__class__(**{**model.config.to_dict(), **changes}))
    torch.manual_seed(1)
    weights = {f"{'model.' * hasattr(other, 'score')}{name}": v for name, v in model.model.state_dict().items()}
    other.load_state_dict(weights, strict=False)
    for name, parameter in other.named_parameters():
        if name.startswith("score."):
            torch.nn.init.normal_(parameter)
    return other.eval()


def _trained(model):
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model
