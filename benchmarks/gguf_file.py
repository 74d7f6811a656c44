# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""GGUF files of a Llama, with the names and the order of rows that llama.cpp expects."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

__all__ = ["gguf_writer", "save_gguf"]

OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def gguf_writer(model: LlamaForCausalLM, path: Path) -> Any:
    """Return a ``gguf.GGUFWriter`` with the sizes of a Llama; the tokenizer is up to the caller."""
    config = model.config
    writer = importlib.import_module("gguf").GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    return writer


def save_gguf(writer: Any, model: LlamaForCausalLM, dtype: torch.dtype = torch.float32) -> None:
    """Add the weights, matrices in ``dtype`` and vectors in float32, and write the file."""
    for name, parameter in model.named_parameters():
        tensor = parameter.detach()
        if name.endswith(("q_proj.weight", "k_proj.weight")):  # llama.cpp rotates neighboring features together
            tensor = tensor.unflatten(0, (-1, 2, model.config.head_dim // 2)).transpose(1, 2).flatten(0, 2)
        writer.add_tensor(_gguf_name(name), tensor.to(torch.float32 if tensor.dim() == 1 else dtype).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _gguf_name(name: str) -> str:
    module = name.removesuffix(".weight")
    if module in OUTER:
        return f"{OUTER[module]}.weight"
    layer, rest = module.removeprefix("model.layers.").split(".", 1)
    return f"blk.{layer}.{LAYER[rest]}.weight"
