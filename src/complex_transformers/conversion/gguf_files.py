# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Read decoders from GGUF files with Transformers, which silently ignores fields and tensors it does not know."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from ..data.extras import require
from .checkpoint import Checkpoint
from .lift import check_liftable

__all__ = ["read_gguf"]

# Names of a layer in GGUF -> in Transformers.
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
REMEDY = "Lift its safetensors instead."
MODEL = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def read_gguf(path: Path) -> Checkpoint:
    """Read the decoder in a GGUF file, dequantized to float32.

    Raises:
        ImportError: ``gguf`` is missing (extra ``gguf``).
        ValueError: scaled rotary positions, a sliding window or tensors that Transformers would silently ignore.
    """
    gguf = require("gguf", "GGUF files need gguf", "gguf")
    reader = gguf.GGUFReader(path)
    _check_fields(reader, path)
    files: dict[str, Any] = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    config = AutoConfig.from_pretrained(**files)
    check_liftable(config)
    model = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32)
    weights = model.state_dict()
    if config.tie_word_embeddings:
        del weights["lm_head.weight"]
    if other := weights.keys() ^ {_name_in_transformers(tensor.name) for tensor in reader.tensors}:
        raise ValueError(
            f"{path} must have the tensors of {config.model_type}, missing or unexpected: {sorted(other)}. {REMEDY}"
        )
    return Checkpoint(
        name=path.stem,
        kind=config.model_type,
        config=config,
        weights=weights,
        generation_config=model.generation_config,
        tokenizer=AutoTokenizer.from_pretrained(**files),
        license=_field(reader, "general.license"),
    )


def _field(reader: Any, name: str) -> Any:
    field = reader.get_field(name)
    return None if field is None else field.contents()


def _check_fields(reader: Any, path: Path) -> None:
    """Raise for options that Transformers does not read from such a file."""
    prefix = _field(reader, "general.architecture")
    scaling = _field(reader, f"{prefix}.rope.scaling.type")
    if scaling not in (None, "none") or any(tensor.name.startswith("rope_f") for tensor in reader.tensors):
        raise ValueError(f"{path} must not scale rotary positions, got {scaling or 'rope_freqs'}. {REMEDY}")
    if window := _field(reader, f"{prefix}.attention.sliding_window"):
        raise ValueError(f"{path} must not have a sliding window, got {window}. {REMEDY}")


def _name_in_transformers(name: str) -> str:
    """Return the name of a tensor in Transformers; an unknown name is returned unchanged."""
    match = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", name)
    if match is None:
        return name
    index, stem, leaf = match.groups()
    known = MODEL if index is None else {key: f"model.layers.{index}.{value}" for key, value in LAYER.items()}
    return f"{known[stem]}.{leaf}" if stem in known else name
