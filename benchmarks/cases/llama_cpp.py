# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed decoders beside Transformers' Llama and llama.cpp, with the same weights."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.cases.packed import SMOLLM2
from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import Step, writing_step
from complex_transformers import ComplexQuantizationConfig, lift, quantize
from complex_transformers.kernels.native import low_bit

__all__ = ["case", "write_gguf"]

PACKED, LIFTED, REAL = "packed", "lifted, float32", "Transformers' Llama, float32"
READ = 16
SEVEN_BILLION: dict[str, Any] = {
    "vocab_size": 1000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 2,
    "num_attention_heads": 32,
}
# Name -> sizes, generated tokens, formats of llama.cpp, limit of packed / llama.cpp. K formats need widths of k * 256.
DECODERS: Mapping[str, tuple[dict[str, Any], int, tuple[str, ...], float | None]] = {
    "shape of SmolLM2-135M": (SMOLLM2, 200, ("Q4_1",), None),
    "2 of 32 layers of Llama 7B": (SEVEN_BILLION, 64, ("Q4_1", "Q4_K_M", "Q2_K"), 0.9),
}
NAMES = {
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


def gguf_name(name: str) -> str:
    """Return the name of a parameter of ``LlamaForCausalLM`` in a GGUF file."""
    outer = {"model.embed_tokens.weight": "token_embd", "model.norm.weight": "output_norm", "lm_head.weight": "output"}
    if name in outer:
        return f"{outer[name]}.weight"
    layer, rest = name.removeprefix("model.layers.").split(".", 1)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def write_gguf(model: LlamaForCausalLM, path: Path) -> None:
    """Write a Llama in float16, with a vocabulary of numbered tokens."""
    gguf = importlib.import_module("gguf")
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("llama")
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kind = gguf.TokenType
    kinds = [kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.BYTE] * 256]
    others = config.vocab_size - len(special)
    writer.add_token_list([*special, *(f"t{n}" for n in range(others))])
    writer.add_token_scores([0.0] * config.vocab_size)
    writer.add_token_types([*kinds, *[kind.NORMAL] * others])
    for name, parameter in model.named_parameters():
        tensor = parameter.detach()
        if name.endswith(("q_proj.weight", "k_proj.weight")):  # llama.cpp rotates neighboring features together
            tensor = tensor.unflatten(0, (-1, 2, config.head_dim // 2)).transpose(1, 2).flatten(0, 2)
        writer.add_tensor(gguf_name(name), tensor.to(torch.float32 if tensor.dim() == 1 else torch.float16).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantized_gguf(library: Any, source: Path, kind: str) -> Path:
    """Quantize a GGUF file with llama.cpp and return the new file."""
    path = source.with_suffix(f".{kind}.gguf")
    parameters = library.llama_model_quantize_default_params()
    parameters.ftype = getattr(library, f"LLAMA_FTYPE_MOSTLY_{kind}")
    parameters.nthread = torch.get_num_threads()
    arguments = (str(source).encode(), str(path).encode(), ctypes.byref(parameters))
    if library.llama_model_quantize(*arguments):
        raise RuntimeError(f"kind must be a format that llama.cpp can write, got {kind}. See its messages above.")
    return path


def loaded(library: Any, path: Path) -> Any:
    """Load a GGUF file with as many threads as PyTorch has."""
    threads = torch.get_num_threads()
    return library.Llama(str(path), n_ctx=512, n_threads=threads, n_threads_batch=threads, verbose=False)


def last_logits(library: Any, llama: Any, ids: Tensor) -> Tensor:
    """Return llama.cpp's logits ``[vocab_size]`` after a prompt."""
    llama.reset()
    llama.eval(ids[0].tolist())
    return torch.from_numpy(np.ctypeslib.as_array(library.llama_get_logits(llama.ctx), (llama.n_vocab(),)).copy())


def llama_step(llama: Any, ids: Tensor, count: int) -> Step:
    """Return a step that generates ``count`` tokens greedily with llama.cpp."""

    def step() -> None:
        llama.reset()  # otherwise a second call would reuse the cached prompt
        written = llama.generate(ids[0].tolist(), temp=0.0, repeat_penalty=1.0)
        for _ in range(count):
            next(written)

    return step


def decoder_rows(name: str, folder: Path) -> tuple[dict[str, Step], list[Comparison], list[str]]:
    """Return the steps of a decoder, their comparisons and the sizes of the files."""
    library = importlib.import_module("llama_cpp")
    sizes, count, kinds, limit = DECODERS[name]
    torch.manual_seed(0)
    real = LlamaForCausalLM(LlamaConfig(**sizes, pad_token_id=None, eos_token_id=None)).eval()
    lifted = lift(real).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quality does not matter here
        packed = quantize(lift(real).eval(), ComplexQuantizationConfig(stages=2))
    ids = torch.randint(300, 1000, (1, READ), generator=torch.Generator().manual_seed(1))
    prompt = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    ours = {PACKED: packed, LIFTED: lifted, REAL: real}
    steps = {key: writing_step(model, READ, count, lambda: prompt) for key, model in ours.items()}
    comparisons = [Comparison(PACKED, LIFTED), Comparison(PACKED, REAL)]
    notes = []
    write_gguf(real, folder / "float16.gguf")
    with torch.no_grad():
        expected = real(ids).logits[0, -1]
    for kind in ("F16", *kinds):
        path = folder / "float16.gguf" if kind == "F16" else quantized_gguf(library, folder / "float16.gguf", kind)
        llama = loaded(library, path)
        # Quantized random weights give other logits, so only the float16 file is compared.
        if kind == "F16":
            similarity = cosine_similarity(last_logits(library, llama, ids), expected, dim=0).item()
            if similarity < 0.999:
                raise AssertionError(f"{name}: both logits must have a similarity of 0.999, got {similarity:.4f}")
        else:
            steps[f"llama.cpp, {kind}"] = llama_step(llama, ids, count)
            comparisons.append(Comparison(PACKED, f"llama.cpp, {kind}", None if kind == "Q2_K" else limit))
            notes.append(f"{name}: {kind} {path.stat().st_size / 1e6:.0f} MB")
    return steps, comparisons, notes


def case(rounds: int) -> Outcome:
    """Packed decoders (2 stages), Transformers' Llama and llama.cpp with the same random weights, greedy decoding."""
    if not low_bit.load():
        raise RuntimeError("the kernels must be compiled for this case. Install g++.")
    if importlib.util.find_spec("llama_cpp") is None:
        raise RuntimeError('llama_cpp must be installed for this case. Run pip install -e ".[llama-cpp]".')
    rows, notes = [], []
    for name, (_, count, _, _) in DECODERS.items():
        with tempfile.TemporaryDirectory() as folder:
            steps, comparisons, sizes = decoder_rows(name, Path(folder))
            group = f"{name}, {count} tokens"
            rows += race(group, steps, comparisons, rounds)
        times = {row["ours"]: row["ours_value"] for row in rows if row["group"] == group}
        times |= {row["reference"]: row["reference_value"] for row in rows if row["group"] == group}
        speeds = ", ".join(f"{key} {1e3 * count / value['median']:.1f}" for key, value in times.items())
        notes += [f"{name}, tokens per second, prompt included: {speeds}", *sizes]
    return Outcome(rows, notes)
