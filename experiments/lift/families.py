# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family that ``lift`` supports, with the settings of a published checkpoint, small and with random weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import torch
import transformers
from benchmarks.reporting import machine_facts
from torch import Tensor
from transformers import PreTrainedModel

from complex_transformers import lift

__all__ = ["FAMILIES", "Family", "compare_family", "family_settings"]

WORDS = 200
DECODER = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
ENCODER = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 130,
}
DISTILBERT = {"vocab_size": WORDS, "dim": 64, "hidden_dim": 96, "n_layers": 4, "n_heads": 4}
# Longer than every window and original length below.
LENGTH, PADDING, GENERATED = 96, 7, 40
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


@dataclass(frozen=True)
class Family:
    """A Transformers class, its configuration, and the published settings it represents."""

    network: str
    tried: str
    config: dict[str, Any] = field(default_factory=dict)


def _decoder(network: str, tried: str, **changes: Any) -> Family:
    return Family(network, tried, {**DECODER, **changes})


FAMILIES = {
    "llama-2": _decoder("LlamaForCausalLM", "Llama 2, SmolLM2: default rotary positions"),
    "llama-3.2": _decoder(
        "LlamaForCausalLM",
        "Llama 3.1 to 3.3: llama3 rotary positions, tied head",
        tie_word_embeddings=True,
        rope_parameters={**LLAMA3, "original_max_position_embeddings": 32},
    ),
    "llama-linear": _decoder(
        "LlamaForCausalLM",
        "Llama with linear scaling (LongChat)",
        rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": 8.0},
    ),
    "llama-dynamic": _decoder(
        "LlamaForCausalLM",
        "Llama with dynamic NTK scaling",
        max_position_embeddings=32,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
    ),
    "llama-classifier": _decoder("LlamaForSequenceClassification", "Llama, sequence classification", num_labels=5),
    "llama-tagger": _decoder("LlamaForTokenClassification", "Llama, token classification", num_labels=5),
    "mistral": _decoder("MistralForCausalLM", "Mistral 7B v0.1: sliding window in all layers", sliding_window=16),
    "qwen2.5": _decoder(
        "Qwen2ForCausalLM",
        "Qwen2.5: biases of q, k and v, tied head, yarn",
        tie_word_embeddings=True,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 1e6,
            "factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    ),
    "qwen2-window": _decoder(
        "Qwen2ForCausalLM",
        "Qwen2: sliding window in the upper half of the layers",
        use_sliding_window=True,
        sliding_window=16,
        max_window_layers=2,
    ),
    "qwen3": _decoder("Qwen3ForCausalLM", "Qwen3: norms of heads, wide heads", head_dim=32, tie_word_embeddings=True),
    "phi-3": _decoder("Phi3ForCausalLM", "Phi-3 mini 4k: fused matrices, sliding window", sliding_window=16),
    "phi-4-mini": _decoder(
        "Phi3ForCausalLM",
        "Phi-4 mini: longrope, three quarters of a head rotate",
        tie_word_embeddings=True,
        max_position_embeddings=1024,
        original_max_position_embeddings=32,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 1e4,
            "partial_rotary_factor": 0.75,
            "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
            "long_factor": [1.0, 1.5, 2.0, 4.0, 8.0, 16.0],
        },
    ),
    "smollm3": _decoder(
        "SmolLM3ForCausalLM", "SmolLM3: every fourth layer without rotation", tie_word_embeddings=True
    ),
    "olmo-2": _decoder("Olmo2ForCausalLM", "OLMo 2: norms of outputs, norm of all queries"),
    "gemma-2": _decoder(
        "Gemma2ForCausalLM",
        "Gemma 2: alternating windows, soft-capping, scaled embeddings, four norms",
        head_dim=32,
        sliding_window=16,
        query_pre_attn_scalar=32,
    ),
    "gemma-3": _decoder(
        "Gemma3ForCausalLM",
        "Gemma 3 (text): rotary positions by type of layer, norms of heads",
        head_dim=32,
        sliding_window=16,
        query_pre_attn_scalar=32,
        sliding_window_pattern=2,
        rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
        },
    ),
    "bert": Family("BertForMaskedLM", "BERT, masked language modeling", ENCODER),
    "bert-answers": Family("BertForQuestionAnswering", "BERT, question answering", ENCODER),
    "roberta": Family("RobertaForMaskedLM", "RoBERTa, masked language modeling", ENCODER),
    "roberta-classifier": Family("RobertaForSequenceClassification", "RoBERTa, sequence classification", ENCODER),
    "xlm-roberta": Family("XLMRobertaModel", "XLM-RoBERTa, sentence encoder", ENCODER),
    "distilbert": Family("DistilBertForMaskedLM", "DistilBERT, masked language modeling", DISTILBERT),
    "distilbert-classifier": Family(
        "DistilBertForSequenceClassification", "DistilBERT, sequence classification", DISTILBERT
    ),
}


def family_settings(family: Family) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    return {**asdict(family), "length": LENGTH, "padding": PADDING, "generated": GENERATED}


@torch.no_grad()
def compare_family(family: Family, seed: int) -> dict[str, Any]:
    """Return the largest differences between a model and its lift, and whether they generate the same tokens."""
    torch.manual_seed(seed)
    model = _random_model(family)
    lifted = lift(model)
    ids, mask = _padded_ids(model.config.pad_token_id, side="left" if model.can_generate() else "right")
    given, tokens = {"input_ids": ids, "attention_mask": mask}, mask.bool()
    counted = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)} if "num_key_value_heads" in family.config else {}
    found, expected = _output(lifted(**given)), _output(model(**given, **counted))
    if found.dim() == 3:
        found, expected = found[tokens], expected[tokens]
    result = {
        "difference": (found - expected).abs().max().item(),
        "largest": expected.abs().max().item(),
        "machine": machine_facts(),
    }
    if model.can_generate():
        result["same_tokens"] = _same_tokens(model, lifted, given)
        result["cached"] = (_cached(lifted, given)[tokens] - found).abs().max().item() if _is_static(family) else None
    return result


def _random_model(family: Family) -> PreTrainedModel:
    """Return a model without any parameter at its initial value."""
    network = getattr(transformers, family.network)
    model = network(network.config_class(**family.config)).eval()
    for parameter in model.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def _padded_ids(pad_token_id: int, side: str) -> tuple[Tensor, Tensor]:
    ids, mask = torch.randint(3, WORDS, (2, LENGTH)), torch.ones(2, LENGTH, dtype=torch.long)
    mask[0, slice(PADDING) if side == "left" else slice(-PADDING, None)] = 0
    return ids.masked_fill(mask == 0, pad_token_id), mask


def _output(output: Any) -> Tensor:
    """Return the output of a class: logits, start and end logits, or hidden states."""
    if "start_logits" in output:
        return torch.stack([output.start_logits, output.end_logits], -1)
    return output.logits if "logits" in output else output.last_hidden_state


def _same_tokens(model: PreTrainedModel, lifted: Any, given: dict[str, Tensor]) -> bool:
    options = {"max_new_tokens": GENERATED, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    return torch.equal(lifted.generate(**given, **options), model.generate(**given, **options))


def _is_static(family: Family) -> bool:
    """Return whether rotary frequencies are independent of the sequence length."""
    return family.config.get("rope_parameters", {}).get("rope_type") not in ("dynamic", "longrope")


def _cached(lifted: Any, given: dict[str, Tensor]) -> Tensor:
    """Return the logits of the sequence computed in two halves with a KV cache."""
    ids, mask, half = *given.values(), LENGTH // 2
    first = lifted(ids[:, :half], attention_mask=mask[:, :half], use_cache=True)
    second = lifted(ids[:, half:], attention_mask=mask, cache=first.cache)
    return torch.cat([first.logits, second.logits], 1)
