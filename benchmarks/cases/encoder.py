# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder layers in training mode without dropout, with checks that they compute the same."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertLayer

from benchmarks.race import Comparison, Outcome, layer_steps, race
from complex_transformers import ComplexOrderConfig, ComplexOrderModel
from complex_transformers.models.base.layers import EncoderLayer
from complex_transformers.nn import to_complex

__all__ = ["case", "our_layer"]

SIZES = {"hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def our_layer(**fields: str) -> EncoderLayer:
    """Return our encoder layer, taken from a model so that it is initialised as for users."""
    fields = {"hidden_act": "split_gelu", "attn_implementation": "sdpa", **fields}
    return ComplexOrderModel(ComplexOrderConfig(vocab_size=8, **SIZES, **NO_DROPOUT, **fields)).train().layers[0]


def bert_layer() -> BertLayer:
    """Return Transformers' encoder layer with ``sdpa`` and GELU."""
    config = BertConfig(hidden_act="gelu", layer_norm_eps=1e-5, **SIZES, **NO_DROPOUT)
    config._attn_implementation = "sdpa"
    return BertLayer(config).train()


@torch.no_grad()
def check_real_twin(bert: BertLayer, twin: EncoderLayer, x: Tensor) -> None:
    """Check that our real twin with the weights of BERT's layer gives BERT's output."""
    pairs: list[tuple[nn.Module, nn.Module]] = [
        (twin.self_attn.q_proj, bert.attention.self.query),
        (twin.self_attn.k_proj, bert.attention.self.key),
        (twin.self_attn.v_proj, bert.attention.self.value),
        (twin.self_attn.out_proj, bert.attention.output.dense),
        (twin.self_attn_norm, bert.attention.output.LayerNorm),
        (twin.feed_forward.up_proj, bert.intermediate.dense),
        (twin.feed_forward.down_proj, bert.output.dense),
        (twin.feed_forward_norm, bert.output.LayerNorm),
    ]
    for ours, theirs in pairs:
        ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(twin(x), bert(x), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def check_score(layer: EncoderLayer, score: str, x: Tensor) -> None:
    """Check self-attention against complex128: softmax(|q k^H| / sqrt d) v or softmax(Re(q k^H) / sqrt d) v."""
    attention = layer.self_attn
    z = to_complex(x.double())

    def project(linear: nn.Module, value: Tensor) -> Tensor:
        weight = torch.complex(linear.real.weight.double(), linear.imag.weight.double())
        return value @ weight.T + to_complex(linear.bias.double())

    def heads(value: Tensor) -> Tensor:
        return value.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)

    q, k, v = (heads(project(p, z)) for p in (attention.q_proj, attention.k_proj, attention.v_proj))
    scores = q @ k.mH / q.shape[-1] ** 0.5
    weights = torch.softmax(scores.abs() if score == "modulus" else scores.real, dim=-1)
    expected = project(attention.out_proj, (weights.to(v.dtype) @ v).transpose(1, 2).flatten(-2))
    torch.testing.assert_close(to_complex(attention(x)[0]), expected.to(torch.complex64), rtol=1e-3, atol=1e-4)


def case(rounds: int) -> Outcome:
    """An encoder layer (hidden 512, feed-forward 2048, 8 heads) on 16 x 128 tokens against Transformers' BertLayer."""
    x = torch.randn(16, 128, 512)
    bert, twin = bert_layer(), our_layer(number_field="real")
    check_real_twin(bert, twin, x)
    layers = {
        "BertLayer": bert,
        "score real": our_layer(attention_score="real"),
        "score modulus": our_layer(attention_score="modulus"),
        "real twin": twin,
    }
    check_score(layers["score real"], "real", x[:2])
    check_score(layers["score modulus"], "modulus", x[:2])
    comparisons = [
        Comparison("score real", "BertLayer", 0.95),
        Comparison("score modulus", "BertLayer", 1.00),
        Comparison("real twin", "BertLayer"),
        Comparison("score real", "real twin"),
        Comparison("score modulus", "real twin"),
    ]
    return Outcome(race("training step", layer_steps(layers, x), comparisons, rounds), [])
