# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention layers called as ``torch.nn.MultiheadAttention`` is, with its masks."""

import pytest
import torch
from torch import nn

from complex_transformers.nn import (
    ComplexMultiheadAttention,
    GroupedQueryAttention,
    RelativeMultiheadAttention,
    SpectralScaledAttention,
)
from complex_transformers.nn.attention.multi_head import ATTENTION_FUNCTIONS
from oracles import assert_refused, randn, randomize


def make(score, normalization, num_heads=2, **options):
    layer = ComplexMultiheadAttention(12, num_heads, score=score, normalization=normalization, **options)
    return randomize(layer.double()).eval()


PADDING = torch.tensor([[False, False, True, False, True], [False, True, False, False, False]])
LATER = torch.ones(5, 5, dtype=torch.bool).triu(1)
TORCH_MASKS = {
    "none": {},
    "boolean": {"attn_mask": LATER},
    "added": {"attn_mask": nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)},
    "bias": {"attn_mask": torch.linspace(-1, 1, 25, dtype=torch.float64).view(5, 5)},
    "of every head": {"attn_mask": LATER.repeat(6, 1, 1) & (torch.arange(6) % 2 == 0).view(6, 1, 1)},
    "padding": {"key_padding_mask": PADDING},
    "padding added": {"key_padding_mask": torch.zeros(2, 5, dtype=torch.float64).masked_fill(PADDING, -torch.inf)},
    "both": {"attn_mask": LATER, "key_padding_mask": PADDING},
    "both added": {
        "attn_mask": nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64),
        "key_padding_mask": torch.zeros(2, 5, dtype=torch.float64).masked_fill(PADDING, -torch.inf),
    },
    "hint": {"attn_mask": LATER, "is_causal": True, "need_weights": False},
}


def real_layer_and_twin():
    layer = make("real", "softmax", number_field="real", num_heads=3)
    twin = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        projections = [layer.q_proj, layer.k_proj, layer.v_proj]
        twin.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        twin.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        twin.out_proj.load_state_dict(layer.out_proj.state_dict())
    return layer, twin


@pytest.mark.parametrize("masks", TORCH_MASKS.values(), ids=TORCH_MASKS)
def test_real_layer_is_torch_multihead_attention(masks):
    layer, twin = real_layer_and_twin()
    query, key, value = (randn(2, 5, 12) for _ in range(3))
    expected, _ = twin(query, key, value, **masks)
    torch.testing.assert_close(layer(query, key, value, **masks)[0], expected)
    torch.testing.assert_close(layer(query, query, query, **masks)[0], layer(query, **masks)[0], rtol=0, atol=0)


@pytest.mark.parametrize(("score", "normalization"), sorted(ATTENTION_FUNCTIONS))
@pytest.mark.parametrize("masks", TORCH_MASKS.values(), ids=TORCH_MASKS)
def test_masks_of_torch_add_up_to_one_of_transformers(masks, score, normalization):
    layer = make(score, normalization, num_heads=3)
    x = randn(2, 5, 12)
    keep = torch.ones(2, 3, 5, 5, dtype=torch.bool)
    bias = torch.zeros(1, dtype=torch.float64)
    for mask in (masks.get("attn_mask"), masks.get("key_padding_mask")):
        if mask is not None:
            mask = (
                mask[:, None, None]
                if mask.shape == PADDING.shape
                else mask.view(-1, 3 if mask.dim() == 3 else 1, 5, 5)
            )
            keep, bias = (
                (keep & ~mask, bias) if mask.dtype == torch.bool else (keep & (mask > -9), bias + mask.clamp(-9))
            )
    whole = bias.expand(2, 3, 5, 5).masked_fill(~keep, -torch.inf)
    torch.testing.assert_close(layer(x, **masks)[0], layer(x, attention_mask=whole)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("need_weights", [True, False])
def test_causality_is_kept_with_other_masks(need_weights):
    x, options = randn(2, 5, 12), {"need_weights": need_weights}
    padding = {"key_padding_mask": PADDING}
    expected = make("modulus", "softmax")
    causal = make("modulus", "softmax", is_causal=True)
    causal.load_state_dict(expected.state_dict())
    both = expected(x, attn_mask=LATER, **padding, **options)[0]
    torch.testing.assert_close(expected(x, is_causal=True, **padding, **options)[0], both)
    torch.testing.assert_close(causal(x, **padding, **options)[0], both)
    torch.testing.assert_close(expected(x, is_causal=True)[0], expected(x, attn_mask=LATER)[0])
    seen = {"attention_mask": torch.ones(5, 5, dtype=torch.bool)}
    torch.testing.assert_close(causal(x, **seen, **options)[0], expected(x, **options)[0])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_no_future_leaks_within_a_transformer_of_torch(norm_first, training):
    block = nn.TransformerEncoderLayer(12, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first)
    block.self_attn = ComplexMultiheadAttention(12, 2)
    model = randomize(nn.TransformerEncoder(block, num_layers=2)).train(training)
    x, mask = torch.randn(2, 5, 12), nn.Transformer.generate_square_subsequent_mask(5)
    changed = torch.cat([x[:, :3], torch.randn(2, 2, 12)], dim=1)
    for options in ({"mask": mask, "is_causal": True}, {"mask": mask}, {"mask": LATER}):
        with torch.set_grad_enabled(training):
            out, other = model(x, **options), model(changed, **options)
        torch.testing.assert_close(other[:, :3], out[:, :3])
        assert not torch.allclose(other[:, 3:], out[:, 3:])
    padded, shorter = model(x, src_key_padding_mask=torch.arange(5).expand(2, 5) > 2), model(x[:, :3])
    torch.testing.assert_close(padded[:, :3], shorter)


def test_nothing_is_swallowed():
    layer, x = ComplexMultiheadAttention(12, 2), torch.randn(1, 3, 12)
    others = GroupedQueryAttention(12, 2), RelativeMultiheadAttention(12, 2), SpectralScaledAttention(12, 2)
    for attention in (layer, *others):
        for name in ("average_attn_weights", "mask", "output_attentions"):
            assert_refused(name, attention, x, error=TypeError, **{name: True})
        for name in ("attn_mask", "key_padding_mask"):
            with pytest.raises(TypeError, match=rf"{name} must be boolean \(True hides\) .* got torch.int64. Use"):
                attention(x, **{name: torch.ones(1, 3, dtype=torch.long)})
        with pytest.raises(
            TypeError, match=r"attention_mask must be boolean \(True attends\) .* got torch.int64. Use"
        ):
            attention(x, attention_mask=torch.ones(3, 3, dtype=torch.long))
        assert_refused("positional arguments", attention, x, x, x, x, error=TypeError)
    for attention in others:  # self-attention alone
        assert_refused("positional arguments", attention, x, x, x, error=TypeError)


@pytest.mark.parametrize("kind", [GroupedQueryAttention, RelativeMultiheadAttention, SpectralScaledAttention])
def test_masks_of_torch_in_layers_of_self_attention(kind):
    layer = randomize(kind(12, 2)).eval()
    x = torch.randn(2, 5, 12)
    causal = torch.ones(5, 5, dtype=torch.bool).tril() if layer.is_causal else torch.ones(5, 5, dtype=torch.bool)
    window = torch.ones(5, 5, dtype=torch.bool).triu(-1)
    keep = causal & window & ~PADDING[:, None, None]
    expected = layer(x, attention_mask=keep)[0]
    torch.testing.assert_close(layer(x, attn_mask=~window, key_padding_mask=PADDING)[0], expected)
    assert not torch.allclose(layer(x)[0], expected)
