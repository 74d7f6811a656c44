# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Layers at each size of a training step."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, LlamaConfig, LlamaModel, Mamba2Config
from transformers.models.bert.modeling_bert import BertLayer
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

from benchmarks.cases.embedding import REAL as WORDS, tables
from benchmarks.cases.peers import PEERS
from benchmarks.gpu.contest import HEAD, Contestant, Mode, Setting, Size, against, compete, layer, modes
from benchmarks.race import Comparison, Outcome
from benchmarks.timing import training_step
from complex_transformers import ComplexLlamaConfig, ComplexLlamaModel, ComplexOrderConfig, ComplexOrderModel
from complex_transformers.nn import ComplexLinear, Mamba3Mixer, complex_attention
from complex_transformers.nn.attention.multi_head import PRODUCT_SCORES

__all__ = ["attention", "decoder", "dense", "embedding", "encoder", "peers", "state_space"]

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
FUSED = "SDPA on halves"
# Limits relative to PyTorch's attention at the long length: time and memory.
MODULUS_BAR, MODULUS_PEAK_BAR = 2.2, 2.0
# Limits of the time relative to the real twin, in half precision.
ENCODER_BARS = {"score real": 1.05, "score modulus": 1.25}

Calls = Mapping[str, nn.Module | Callable[[Tensor], Tensor]]


def _run(
    setting: Setting,
    rounds: int,
    calls: Callable[[Size], Calls],
    comparisons: Callable[[Mode, Size], Sequence[Comparison]],
    inputs: Callable[[Size, torch.dtype], Tensor],
    peak_bar: float | None = None,
) -> Outcome:
    """Run ``compete`` at every size in every mode; names that end in "no kernel" disable kernels."""
    whole = Outcome([])
    for size in setting.sizes:
        for mode in modes(setting):
            x = inputs(size, mode.dtype)
            contestants = {
                name: layer(setting, mode, call, x, kernels=not name.endswith("no kernel"))
                for name, call in calls(size).items()
            }
            group = f"{size}, {mode.name}"
            _add(whole, compete(setting, group, contestants, comparisons(mode, size), rounds, peak_bar))
    return whole


def _add(whole: Outcome, found: Outcome) -> None:
    whole.rows += found.rows
    whole.notes += found.notes


def _random(setting: Setting, parts: int = 1) -> Callable[[Size, torch.dtype], Tensor]:
    """Return a function that makes random inputs of ``parts`` times the width."""

    def inputs(size: Size, dtype: torch.dtype) -> Tensor:
        return torch.randn(size.sequences, size.length, parts * size.width, device=setting.device, dtype=dtype)

    return inputs


def _attend(heads: int, score: str | None, x: Tensor, normalization: str = "softmax") -> Tensor:
    """Compute attention of queries, keys and values ``[B, N, 3 H 2 d]``; without a score, PyTorch's on the halves."""
    parts = x.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    if score is None:
        return F.scaled_dot_product_attention(*parts).transpose(1, 2)
    options: dict[str, Any] = {"score": score, "normalization": normalization, "need_weights": False}
    return complex_attention(nn.Identity(), *parts, None, **options)[0]


def attention(setting: Setting, rounds: int) -> Outcome:
    """Attention (heads of stored width 64) by each score against PyTorch's on the same halves."""
    scores: dict[str, str | None] = {FUSED: None, **{f"score {score}": score for score in PRODUCT_SCORES}}
    scores["score modulus, no kernel"] = "modulus"

    sigmoids = {f"score {score}, sigmoid": score for score in ("modulus", "real")}

    def calls(size: Size) -> Calls:
        softmax = {name: partial(_attend, size.heads, score) for name, score in scores.items()}
        sigmoid = {name: partial(_attend, size.heads, s, normalization="sigmoid") for name, s in sigmoids.items()}
        return softmax | sigmoid

    def comparisons(mode: Mode, size: Size) -> list[Comparison]:
        found = against(FUSED, list(scores), {"score modulus": MODULUS_BAR} if size.length == setting.long else None)
        return [*found, *against("score modulus", list(sigmoids))]

    return _run(setting, rounds, calls, comparisons, _random(setting, 3), MODULUS_PEAK_BAR)


def _encoder_shape(size: Size) -> dict[str, Any]:
    shape = {"hidden_size": size.width, "intermediate_size": 4 * size.width, "num_attention_heads": size.heads}
    return {**shape, **NO_DROPOUT}


def _encoder(size: Size, **fields: str) -> nn.Module:
    config = ComplexOrderConfig(vocab_size=8, attn_implementation="sdpa", **_encoder_shape(size), **fields)
    return ComplexOrderModel(config).layers[0]


def encoder(setting: Setting, rounds: int) -> Outcome:
    """An encoder layer (feed-forward 4 times the width) against Transformers' BertLayer and its real twin."""
    scores = [f"score {score}" for score in PRODUCT_SCORES]

    def calls(size: Size) -> Calls:
        config = BertConfig(**_encoder_shape(size))
        config._attn_implementation = "sdpa"
        layers = {"BertLayer": BertLayer(config), "real twin": _encoder(size, number_field="real")}
        return layers | {f"score {score}": _encoder(size, attention_score=score) for score in PRODUCT_SCORES}

    def comparisons(mode: Mode, size: Size) -> list[Comparison]:
        bars = ENCODER_BARS if mode.is_half else None
        return [*against("BertLayer", ["real twin", *scores]), *against("real twin", scores, bars)]

    return _run(setting, rounds, calls, comparisons, _random(setting))


class _Decoder(nn.Module):
    """A model on input embeddings, without gradients for its embedding table."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        model.get_input_embeddings().requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def decoder(setting: Setting, rounds: int) -> Outcome:
    """A decoder layer (feed-forward 4 times the width, half as many key/value heads) against LlamaModel's."""
    ours = {f"score {score}": {"attention_score": score} for score in ("real", "modulus")}
    ours["real twin"] = {"number_field": "real"}

    def calls(size: Size) -> Calls:
        shape: dict[str, Any] = {
            "vocab_size": 8,
            "hidden_size": size.width,
            "intermediate_size": 4 * size.width,
            "num_hidden_layers": 1,
            "num_attention_heads": size.heads,
            "num_key_value_heads": size.heads // 2,
            "pad_token_id": None,
        }
        configs = {name: ComplexLlamaConfig(position_type="rotary", **shape, **given) for name, given in ours.items()}
        models: dict[str, nn.Module] = {name: ComplexLlamaModel(config) for name, config in configs.items()}
        models["Llama"] = LlamaModel(LlamaConfig(**shape))
        return {name: _Decoder(model) for name, model in models.items()}

    return _run(setting, rounds, calls, lambda mode, size: against("Llama", list(ours)), _random(setting))


def dense(setting: Setting, rounds: int) -> Outcome:
    """A dense layer against nn.Linear of the same stored width."""

    def calls(size: Size) -> Calls:
        width = size.width
        return {"nn.Linear": nn.Linear(width, width), "ComplexLinear": ComplexLinear(width, width)}

    comparisons = against("nn.Linear", ["ComplexLinear"])
    return _run(setting, rounds, calls, lambda mode, size: comparisons, _random(setting))


def embedding(setting: Setting, rounds: int) -> Outcome:
    """ComplexOrderEmbedding of 30,000 tokens against nn.Embedding of the same size."""
    words = 8 if setting.is_tiny else 30_000

    def calls(size: Size) -> Calls:
        return tables(words, size.width)

    def inputs(size: Size, dtype: torch.dtype) -> Tensor:
        return torch.randint(1, words, (size.sequences, size.length), device=setting.device)

    return _run(setting, rounds, calls, lambda mode, size: against(WORDS, list(tables(2, 4))), inputs)


def state_space(setting: Setting, rounds: int) -> Outcome:
    """A mixer of Mamba-3 (states of 128 numbers) against its real twin and Mamba-2's of Transformers."""
    state, head = (4, 4) if setting.is_tiny else (128, HEAD)
    ours: dict[str, dict[str, Any]] = {"Mamba-3": {}, "real twin": {"number_field": "real"}}
    ours["Mamba-3, rank 4"] = {"mimo_rank": 4}

    def calls(size: Size) -> Calls:
        config = Mamba2Config(
            hidden_size=size.width,
            num_heads=2 * size.width // head,
            head_dim=head,
            state_size=state,
            n_groups=1,
            num_hidden_layers=1,
        )
        mixers = {name: Mamba3Mixer(size.width, state, head, **options) for name, options in ours.items()}
        return {**mixers, "Mamba-2": Mamba2Mixer(config, 0)}

    comparisons = [*against("Mamba-2", list(ours)), *against("real twin", ["Mamba-3"])]
    return _run(setting, rounds, calls, lambda mode, size: comparisons, _random(setting))


def peers(setting: Setting, rounds: int) -> Outcome:
    """Encoder layers of other libraries in complex64 (feed-forward 4 times the width), if installed."""
    whole, ours = Outcome([]), "ours, score modulus"
    installed = [name for name, (package, *_) in PEERS.items() if importlib.util.find_spec(package) is not None]
    for name in PEERS:
        if name not in installed:
            whole.notes.append(f'{name} is not installed and was left out: pip install -e ".[bench]"')
    if not installed:
        return whole
    plain = Mode(torch.float32, False, "float32")
    comparisons = [Comparison(ours, name) for name in installed]
    for size in setting.sizes:
        x = _random(setting)(size, plain.dtype)
        native = torch.complex(*x.chunk(2, dim=-1))
        contestants = {ours: layer(setting, plain, _encoder(size), x)}
        contestants |= {name: _native(setting, _peer(name, size), native) for name in installed}
        _add(whole, compete(setting, str(size), contestants, comparisons, rounds))
    return whole


def _peer(name: str, size: Size) -> nn.Module:
    """Return another library's encoder layer of the size of ours."""
    package, options, _ = PEERS[name]
    made = importlib.import_module(f"{package}.nn").TransformerEncoderLayer
    return made(size.width // 2, size.heads, 2 * size.width, dropout=0.0, **options)


def _native(setting: Setting, module: nn.Module, z: Tensor) -> Contestant:
    """Return another library's layer on a native complex tensor, in its original dtype."""
    module = module.train().to(setting.device)
    return Contestant(lambda: training_step(module, list(module.parameters()), z), may_fail=True)
