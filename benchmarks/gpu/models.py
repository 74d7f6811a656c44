# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole models as users train them: bfloat16 autocast, fused AdamW, 16,384 tokens per step; and generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    Mamba2Config,
    Mamba2ForCausalLM,
    MarianConfig,
    MarianMTModel,
)

import complex_transformers as ct
from benchmarks.cases import positions
from benchmarks.gpu.contest import Contestant, Setting, against, compete
from benchmarks.race import Comparison, Outcome, sizes
from benchmarks.timing import Step

__all__ = ["FAMILIES", "TWIN", "generation", "models"]

TOKENS, SEQUENCE = 16_384, 1024
WRITTEN = 128  # generated tokens
# Limits relative to the real twin, eager and compiled.
REAL_BARS, MODULUS_BARS = (1.10, 1.05), (1.25, 1.15)
LIFTED = {"linear_type": "widely_linear", "gate_product": "parts", "norm_scale": "stored"}
REAL = {"number_field": "real"}
REAL_SCORE = {"attention_score": "real"}
TWIN = "real twin"
MAMBA2 = "Mamba2ForCausalLM"
ROTARY = "rotary"  # a row of benchmarks.cases.positions

Models = Mapping[str, Callable[[], nn.Module]]


def _bert(setting: Setting) -> Models:
    """Return masked language models of BERT-base size."""
    shape = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
    if setting.is_tiny:
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    shape["vocab_size"] = 60 if setting.is_tiny else 30_522

    def ours(**fields: Any) -> nn.Module:
        return ct.ComplexOrderForMaskedLM(ct.ComplexOrderConfig(attn_implementation="sdpa", **shape, **fields))

    theirs = BertConfig(attn_implementation="sdpa", max_position_embeddings=SEQUENCE, **shape)
    return {
        "BertForMaskedLM": lambda: BertForMaskedLM(theirs),
        TWIN: lambda: ours(**REAL),
        "score real": lambda: ours(**REAL_SCORE),
        "score modulus": lambda: ours(),
    }


def _smollm(setting: Setting) -> Models:
    """Return causal language models of the shape of SmolLM2-135M."""
    shape = {"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3}
    shape |= {"intermediate_size": 1536, "vocab_size": 49_152}
    if setting.is_tiny:
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1}
        shape |= {"intermediate_size": 32, "vocab_size": 60}

    def ours(**fields: Any) -> nn.Module:
        config = ct.ComplexLlamaConfig(pad_token_id=None, position_type="rotary", **shape, **fields)
        return ct.ComplexLlamaForCausalLM(config)

    theirs = LlamaConfig(pad_token_id=None, **shape)
    return {
        "LlamaForCausalLM": lambda: LlamaForCausalLM(theirs),
        TWIN: lambda: ours(**REAL),
        "score real": lambda: ours(),
        "widely linear": lambda: ours(**LIFTED),
        "score modulus": lambda: ours(attention_score="modulus"),
    }


def _translators(setting: Setting) -> Models:
    """Return encoder-decoders of 6 + 6 layers."""
    shape = {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 8000}
    layers = 6
    if setting.is_tiny:
        shape = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 60}
        layers = 1

    def ours(**fields: Any) -> nn.Module:
        depth = {"encoder_layers": layers, "decoder_layers": layers, "decoder_start_token_id": 1}
        config = ct.ComplexSeq2SeqConfig(attn_implementation="sdpa", **depth, **shape, **fields)
        return ct.ComplexSeq2SeqForConditionalGeneration(config)

    heads, width, inner = (shape[name] for name in ("num_attention_heads", "hidden_size", "intermediate_size"))
    theirs = MarianConfig(
        vocab_size=shape["vocab_size"],
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
        max_position_embeddings=SEQUENCE,
        pad_token_id=0,
        decoder_start_token_id=1,
        attn_implementation="sdpa",
    )
    return {
        "MarianMTModel": lambda: MarianMTModel(theirs),
        TWIN: lambda: ours(**REAL),
        "score real": lambda: ours(**REAL_SCORE),
        "score modulus": lambda: ours(),
    }


def _recurrent(setting: Setting) -> Models:
    """Return recurrent language models of two layers."""
    width, words = (16, 60) if setting.is_tiny else (1024, 30_000)

    def ours(**fields: Any) -> nn.Module:
        config = ct.ComplexRecurrentLMConfig(hidden_size=width, num_hidden_layers=2, vocab_size=words, **fields)
        return ct.ComplexRecurrentLMForCausalLM(config)

    return {
        TWIN: lambda: ours(rnn_type="lstm", **REAL),
        "LSTM": lambda: ours(rnn_type="lstm"),
        "linear recurrence": lambda: ours(rnn_type="lru"),
    }


def _mambas(setting: Setting) -> Models:
    """Return language models of 6 mixers without feed-forward networks."""
    shape = {"hidden_size": 768, "num_hidden_layers": 6, "state_size": 128, "head_dim": 64, "vocab_size": 8000}
    if setting.is_tiny:
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4, "head_dim": 8, "vocab_size": 60}
    shape["n_groups"] = 1

    def ours(**fields: Any) -> nn.Module:
        return ct.ComplexMambaForCausalLM(ct.ComplexMambaConfig(intermediate_size=None, **shape, **fields))

    theirs = Mamba2Config(num_heads=2 * shape["hidden_size"] // shape["head_dim"], **shape)
    return {
        MAMBA2: lambda: Mamba2ForCausalLM(theirs),
        TWIN: lambda: ours(**REAL),
        "Mamba-3": lambda: ours(),
    }


def _positions(setting: Setting) -> Models:
    """Return complex language models of 12 layers with the positions and attention of the CPU case."""
    shape = {"hidden_size": 576, "num_hidden_layers": 12, "intermediate_size": 1536, "vocab_size": 8000}
    shape |= {"num_attention_heads": 8, "head_dim": 72}
    if setting.is_tiny:
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32, "vocab_size": 60}
        shape |= {"num_attention_heads": 2, "head_dim": 8}

    def ours(**fields: Any) -> nn.Module:
        return ct.ComplexLlamaForCausalLM(ct.ComplexLlamaConfig(pad_token_id=None, **shape, **fields))

    return {
        TWIN: lambda: ours(position_type="rotary", **REAL),
        **{name: partial(ours, **options) for name, options in positions.OPTIONS.items()},
    }


FAMILIES: dict[str, Callable[[Setting], Models]] = {
    "BERT-base": _bert,
    "SmolLM2-135M": _smollm,
    "6 + 6 layers": _translators,
    "recurrent": _recurrent,
    "Mamba": _mambas,
    "positions": _positions,
}


def _batch(setting: Setting) -> tuple[int, int]:
    """Return number and length of the sequences of a training step."""
    return (2, 8) if setting.is_tiny else (TOKENS // SEQUENCE, SEQUENCE)


def _training(setting: Setting, make: Callable[[], nn.Module], compiled: bool) -> Step:
    """Return a training step of a model on random tokens, with its optimizer."""
    torch.manual_seed(0)
    model = make().train().to(setting.device)
    ids = torch.randint(2, model.config.vocab_size, _batch(setting), device=setting.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=setting.device == "cuda")
    if compiled:
        model.compile(backend=setting.backend)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(setting.device, dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()

    return step


def _contestants(setting: Setting, made: Models, step: Callable[..., Step], compiled: bool) -> dict[str, Contestant]:
    """Return a contestant for each model, which is built when it is measured."""
    torch._dynamo.reset()
    return {name: Contestant(partial(step, setting, make, compiled)) for name, make in made.items()}


def models(setting: Setting, rounds: int, family: str) -> Outcome:
    """Training steps of whole models (16,384 tokens, bfloat16 autocast, fused AdamW) against the real twin."""
    made = FAMILIES[family](setting)
    whole = Outcome([], [f"{family}, {note}" for note in sizes({name: make() for name, make in made.items()})])
    for compiled in setting.compiled:
        contestants = _contestants(setting, made, _training, compiled)
        bars = {name: MODULUS_BARS[compiled] if "modulus" in name else REAL_BARS[compiled] for name in made}
        comparisons = against(TWIN, list(made), {name: bar for name, bar in bars.items() if "score" in name})
        comparisons += [Comparison("Mamba-3", MAMBA2)] if MAMBA2 in made else []
        if ROTARY in made:
            others = [name for name in made if name not in (ROTARY, TWIN)]
            comparisons += [Comparison(name, ROTARY, positions.LIMIT) for name in others]
        rows, length = _batch(setting)
        group = f"{family} ({rows * length:,} tokens per step), bfloat16{', compiled' if compiled else ''}"
        found = compete(setting, group, contestants, comparisons, rounds)
        whole.rows += found.rows
        whole.notes += found.notes
    return whole


def _writing(setting: Setting, make: Callable[[], nn.Module], compiled: bool) -> Step:
    """Return greedy decoding with a static cache, which Transformers compiles."""
    torch.manual_seed(0)
    model: Any = make().eval().to(setting.device, torch.bfloat16)
    ids = torch.randint(2, model.config.vocab_size, (1, 4 if setting.is_tiny else 64), device=setting.device)
    count = 4 if setting.is_tiny else WRITTEN
    options: dict[str, Any] = {"max_new_tokens": count, "min_new_tokens": count, "do_sample": False}
    options |= {"cache_implementation": "static", "disable_compile": not compiled}

    def step() -> Tensor:
        return model.generate(ids, attention_mask=torch.ones_like(ids), **options)

    return step


def generation(setting: Setting, rounds: int) -> Outcome:
    """Greedy decoding of 128 tokens with a static cache in bfloat16 (the shape of SmolLM2-135M)."""
    whole = Outcome([])
    made = _smollm(setting)
    for compiled in setting.compiled:
        if compiled and setting.is_tiny:  # Transformers compiles on a GPU only
            continue
        contestants = _contestants(setting, made, _writing, compiled)
        comparisons = [Comparison(name, TWIN) for name in made if name != TWIN]
        group = f"{WRITTEN} tokens, bfloat16{', compiled' if compiled else ''}"
        found = compete(setting, group, contestants, comparisons, rounds)
        whole.rows += found.rows
        whole.notes += found.notes
    return whole
