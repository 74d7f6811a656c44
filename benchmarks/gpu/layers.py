# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Layers on one sequence of each length."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, LlamaConfig, LlamaModel
from transformers.models.bert.modeling_bert import BertLayer

from benchmarks.cases.embedding import REAL as WORDS, tables
from benchmarks.cases.peers import PEERS
from benchmarks.gpu.contest import Contestant, Mode, Setting, against, compete, layer, modes
from benchmarks.race import Comparison, Outcome
from benchmarks.timing import training_step
from complex_transformers import ComplexLlamaConfig, ComplexLlamaModel, ComplexOrderConfig, ComplexOrderModel
from complex_transformers.nn import ComplexLinear, complex_attention
from complex_transformers.nn.attention.multi_head import ATTENTION_SCORES

__all__ = ["attention", "decoder", "dense", "embedding", "encoder", "peers"]

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
    calls: Callable[[], Calls],
    comparisons: Callable[[Mode, int], Sequence[Comparison]],
    text: Callable[[int, torch.dtype], Tensor],
    peak_bar: float | None = None,
) -> Outcome:
    """Run ``compete`` on a sequence of every length in every mode; names that end in "no kernel" disable kernels."""
    whole = Outcome([])
    for length in setting.lengths:
        for mode in modes(setting):
            x = text(length, mode.dtype)
            contestants = {
                name: layer(setting, mode, call, x, kernels=not name.endswith("no kernel"))
                for name, call in calls().items()
            }
            group = f"{length} tokens, {mode.name}"
            _add(whole, compete(setting, group, contestants, comparisons(mode, length), rounds, peak_bar))
    return whole


def _add(whole: Outcome, found: Outcome) -> None:
    whole.rows += found.rows
    whole.notes += found.notes


def _numbers(setting: Setting, width: int) -> Callable[[int, torch.dtype], Tensor]:
    return lambda length, dtype: torch.randn(1, length, width, device=setting.device, dtype=dtype)


def _attend(heads: int, score: str | None, x: Tensor) -> Tensor:
    """Compute attention of queries, keys and values ``[1, N, 3 H 2 d]``; without a score, PyTorch's on the halves."""
    parts = x.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    if score is None:
        return F.scaled_dot_product_attention(*parts).transpose(1, 2)
    return complex_attention(nn.Identity(), *parts, None, score=score, need_weights=False)[0]


def attention(setting: Setting, rounds: int) -> Outcome:
    """Attention (8 heads of stored width 64) by each score against PyTorch's on the same halves."""
    attend = partial(partial, _attend, setting.heads)
    calls: Calls = {
        FUSED: attend(None),
        **{f"score {score}": attend(score) for score in ATTENTION_SCORES},
        "score modulus, no kernel": attend("modulus"),
    }

    def comparisons(mode: Mode, length: int) -> list[Comparison]:
        return against(FUSED, list(calls), {"score modulus": MODULUS_BAR} if length == setting.long else None)

    return _run(setting, rounds, lambda: calls, comparisons, _numbers(setting, 3 * setting.width), MODULUS_PEAK_BAR)


def encoder(setting: Setting, rounds: int) -> Outcome:
    """An encoder layer (hidden 512, feed-forward 2048, 8 heads) against Transformers' BertLayer and its real twin."""
    sizes = {
        "hidden_size": setting.width,
        "intermediate_size": 4 * setting.width,
        "num_attention_heads": setting.heads,
        **NO_DROPOUT,
    }
    scores = [f"score {score}" for score in ATTENTION_SCORES]

    def ours(**fields: str) -> nn.Module:
        config = ComplexOrderConfig(vocab_size=8, attn_implementation="sdpa", **sizes, **fields)
        return ComplexOrderModel(config).layers[0]

    def calls() -> Calls:
        config = BertConfig(**sizes)
        config._attn_implementation = "sdpa"
        layers = {"BertLayer": BertLayer(config), "real twin": ours(number_field="real")}
        return layers | {f"score {score}": ours(attention_score=score) for score in ATTENTION_SCORES}

    def comparisons(mode: Mode, length: int) -> list[Comparison]:
        bars = ENCODER_BARS if mode.is_half else None
        return [*against("BertLayer", ["real twin", *scores]), *against("real twin", scores, bars)]

    return _run(setting, rounds, calls, comparisons, _numbers(setting, setting.width))


class _Decoder(nn.Module):
    """A model on input embeddings, without gradients for its embedding table."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        model.get_input_embeddings().requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def decoder(setting: Setting, rounds: int) -> Outcome:
    """A decoder layer (hidden 512, feed-forward 2048, 8 heads, 4 key/value heads) against LlamaModel of one layer."""
    sizes = {
        "vocab_size": 8,
        "hidden_size": setting.width,
        "intermediate_size": 4 * setting.width,
        "num_hidden_layers": 1,
        "num_attention_heads": setting.heads,
        "num_key_value_heads": setting.heads // 2,
        "pad_token_id": None,
    }
    ours = {f"score {score}": {"attention_score": score} for score in ("real", "modulus")}
    ours["real twin"] = {"number_field": "real"}

    def calls() -> Calls:
        models = {name: ComplexLlamaModel(ComplexLlamaConfig(**sizes, **fields)) for name, fields in ours.items()}
        models["Llama"] = LlamaModel(LlamaConfig(**sizes))
        return {name: _Decoder(model) for name, model in models.items()}

    return _run(
        setting, rounds, calls, lambda mode, length: against("Llama", list(ours)), _numbers(setting, setting.width)
    )


def dense(setting: Setting, rounds: int) -> Outcome:
    """A dense layer (stored width 1024) against nn.Linear of the same stored width."""
    width = 2 * setting.width

    def calls() -> Calls:
        return {"nn.Linear": nn.Linear(width, width), "ComplexLinear": ComplexLinear(width, width)}

    comparisons = against("nn.Linear", ["ComplexLinear"])
    return _run(setting, rounds, calls, lambda mode, length: comparisons, _numbers(setting, width))


def embedding(setting: Setting, rounds: int) -> Outcome:
    """ComplexOrderEmbedding of 30,000 tokens and width 512 against nn.Embedding of the same size."""
    words = 8 if setting.is_tiny else 30_000

    def calls() -> Calls:
        found = tables(words, setting.width)
        return found | {"complex_order, no kernel": found["complex_order"]}

    def text(length: int, dtype: torch.dtype) -> Tensor:
        return torch.randint(1, words, (1, length), device=setting.device)

    names = list(calls())
    return _run(setting, rounds, calls, lambda mode, length: against(WORDS, names), text)


def peers(setting: Setting, rounds: int) -> Outcome:
    """Encoder layers of other libraries in complex64 (256 features, feed-forward 1024, 8 heads), if installed."""
    whole = Outcome([])
    features = setting.width // 2
    sizes = {"hidden_size": setting.width, "intermediate_size": 4 * setting.width, **NO_DROPOUT}
    config = ComplexOrderConfig(vocab_size=8, num_attention_heads=setting.heads, attn_implementation="sdpa", **sizes)
    mine, ours = ComplexOrderModel(config).layers[0], "ours, score modulus"
    plain = Mode(torch.float32, False, "float32")
    theirs: dict[str, nn.Module] = {}
    for name, (package, options, _) in PEERS.items():
        if importlib.util.find_spec(package) is None:
            whole.notes.append(f'{name} is not installed and was left out: pip install -e ".[bench]"')
            continue
        made = importlib.import_module(f"{package}.nn").TransformerEncoderLayer
        theirs[name] = made(features, setting.heads, 4 * features, dropout=0.0, **options)
    for length in setting.lengths:
        x = torch.randn(1, length, setting.width, device=setting.device)
        native = torch.complex(*x.chunk(2, dim=-1))
        contestants = {ours: layer(setting, plain, mine, x)}
        contestants |= {name: _native(setting, other, native) for name, other in theirs.items()}
        comparisons = [Comparison(ours, name) for name in theirs]
        _add(whole, compete(setting, f"{length} tokens", contestants, comparisons, rounds))
    return whole


def _native(setting: Setting, module: nn.Module, z: Tensor) -> Contestant:
    """Return another library's layer on a native complex tensor, in its original dtype."""
    module = module.train().to(setting.device)
    return Contestant(lambda: training_step(module, list(module.parameters()), z), is_foreign=True)
