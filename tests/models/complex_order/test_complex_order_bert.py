# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the encoder has of BERT: types of tokens, a norm of the embeddings, a pooling layer, layers of every type."""

import pytest
import torch
from transformers import BertConfig, BertModel, Trainer, TrainingArguments

from complex_transformers import ComplexOrderConfig, ComplexOrderForMaskedLM, ComplexOrderModel
from complex_transformers.analysis import prune_conjugate
from complex_transformers.nn import ComplexMultiheadAttention, ConjugateLinear, WidelyLinear, to_complex
from families import BERT, REAL, Case
from family_inputs import batch, rows
from refusals import refused

LIFTED = Case("complex_order", "lifted texts")
MODEL = Case("complex_order", "types, conjugate")
# A layer of ours -> that of BERT with the same weight and bias.
LAYERS = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "self_attn_norm": "attention.output.LayerNorm",
    "feed_forward.up_proj": "intermediate.dense",
    "feed_forward.down_proj": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}


def types(shape, count=2):
    return torch.randint(0, count, shape, generator=torch.Generator().manual_seed(2))


@torch.no_grad()
def test_the_real_field_is_bert():
    """Weight by weight, without any move of features: the options are those of BERT."""
    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(0)
    theirs = BertModel(BertConfig(**sizes, intermediate_size=24, max_position_embeddings=32)).eval()
    for parameter in theirs.parameters():
        parameter.add_(0.2 * torch.randn_like(parameter))
    ours = Case("complex_order", "real lifted").build(attention_scale=None, layer_norm_eps=1e-12)
    given = theirs.state_dict()
    state = {
        "embed_tokens.weight": given["embeddings.word_embeddings.weight"],
        "embed_tokens.position": given["embeddings.position_embeddings.weight"],
        "embed_types.weight": given["embeddings.token_type_embeddings.weight"],
    }
    names = {"embed_norm": "embeddings.LayerNorm", "pooler.dense": "pooler.dense"}
    names |= {f"layers.{i}.{a}": f"encoder.layer.{i}.{b}" for i in range(2) for a, b in LAYERS.items()}
    state |= {f"{a}.{leaf}": given[f"{b}.{leaf}"] for a, b in names.items() for leaf in ("weight", "bias")}
    ours.load_state_dict(state)
    inputs = {"input_ids": torch.randint(3, 30, (3, 8)), "token_type_ids": types((3, 8))}
    found, expected = ours(**inputs), theirs(**inputs)
    assert expected.pooler_output.std() > 0.1
    torch.testing.assert_close(found.last_hidden_state, expected.last_hidden_state, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.pooler_output, expected.pooler_output, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_the_pooler_is_tanh_of_both_parts_of_a_layer_of_the_first_token():
    """W conj(z_1) + b in complex128, after padding on the left."""
    model = Case("complex_order", "types, conjugate").trained(norm_type="layer").double()
    inputs = batch(rows(model, (6, 3)), "left")
    out = model(**inputs)
    layer = model.pooler.dense
    assert isinstance(layer, ConjugateLinear)
    weight = torch.complex(layer.real.weight, layer.imag.weight)
    first = to_complex(torch.stack([out.last_hidden_state[0, 0], out.last_hidden_state[1, 3]]))
    z = first.conj() @ weight.T + to_complex(layer.bias)
    expected = torch.cat([z.real.tanh(), z.imag.tanh()], dim=-1)
    torch.testing.assert_close(out.pooler_output, expected, rtol=1e-12, atol=1e-12)
    assert expected.std() > 0.05


@torch.no_grad()
def test_a_text_of_padding_alone_has_pooled_features_of_zero():
    model = LIFTED.model()
    ids, mask = torch.randint(3, 30, (2, 4)), torch.tensor([[1, 1, 1, 0], [0, 0, 0, 0]])
    out = model.model(ids, attention_mask=mask)
    assert out.pooler_output[0].abs().max() > 0.1
    assert not out.pooler_output[1].any()
    assert out.last_hidden_state.isfinite().all()


@torch.no_grad()
@pytest.mark.parametrize("case", [LIFTED, Case("complex_order", "lifted")], ids=str)
@pytest.mark.parametrize("side", ["left", "right"])
def test_types_belong_to_their_tokens(case, side):
    """In a padded batch as alone; they change the result; without them all are 0."""
    model = case.model()
    texts = [{**row, "token_type_ids": types(row["input_ids"].shape)} for row in rows(model, (6, 4, 7))]
    given = batch(texts, side)
    given["token_type_ids"] = given["token_type_ids"].clamp(max=1)  # what stands in the padding is a type, too
    together = model(**given).logits
    for row, text in enumerate(texts):
        alone = model(**{name: value.unsqueeze(0) for name, value in text.items()}).logits[0]
        own = together[row]
        own = own[given["attention_mask"][row].bool()] if own.dim() == 2 else own
        torch.testing.assert_close(own, alone, rtol=1e-5, atol=1e-5)
    without = {name: value for name, value in given.items() if name != "token_type_ids"}
    assert (model(**without).logits - together).abs().max() > 1e-2
    zeros = {**given, "token_type_ids": torch.zeros_like(given["token_type_ids"])}
    assert torch.equal(model(**without).logits, model(**zeros).logits)


def test_a_trainer_keeps_the_types(tmp_path):
    model = LIFTED.build()
    trainer = Trainer(model, TrainingArguments(tmp_path, report_to=[], use_cpu=True))
    trainer._set_signature_columns_if_needed()
    assert "token_type_ids" in trainer._signature_columns


def test_types_are_refused_by_name():
    model = LIFTED.model()
    ids = torch.randint(3, 30, (2, 5))
    for wrong in (2, -1):
        words = rf"token_type_ids must lie in \[0, 2\), got {wrong}"
        refused(words, model, ids, token_type_ids=torch.full((2, 5), wrong))
    words = r"token_type_ids must be \[batch, length\] = \(2, 5\) or \[1, 5\], got \(2, 4\)"
    refused(words, model, ids, token_type_ids=torch.zeros(2, 4, dtype=torch.long))
    words = "token_type_ids must be integers"
    refused(words, model, ids, token_type_ids=torch.zeros(2, 5), error=TypeError)


def test_heads_without_use_for_a_pooler_have_none_and_the_file_is_loaded(tmp_path):
    model = MODEL.model()
    assert "pooler.dense.real.weight" in model.state_dict()
    model.save_pretrained(tmp_path)
    loaded, report = ComplexOrderForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert loaded.model.pooler is None
    assert not [name for name in report["missing_keys"] if name.startswith("model.")]
    again = ComplexOrderModel.from_pretrained(tmp_path)
    torch.testing.assert_close(again.pooler.dense.bias, model.pooler.dense.bias)


def test_options_of_attention():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 16)
    layer = ComplexMultiheadAttention(16, 2, score="real", linear_type="widely_linear", scaling=0.3)
    assert all(isinstance(child, WidelyLinear) for child in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj))
    q, k, v = (to_complex(proj(x)).view(2, 5, 2, 4) for proj in (layer.q_proj, layer.k_proj, layer.v_proj))
    scores = 0.3 * torch.einsum("bthd,bshd->bhts", q, k.conj()).real
    mixed = torch.einsum("bhts,bshd->bthd", scores.softmax(-1).to(v.dtype), v).flatten(-2)
    expected = layer.out_proj(torch.cat([mixed.real, mixed.imag], dim=-1))
    torch.testing.assert_close(layer(x)[0], expected, rtol=1e-5, atol=1e-6)
    shared = {"share_parts": True, "linear_type": "widely_linear"}
    refused("linear_type must be 'complex' with share_parts=True", ComplexMultiheadAttention, 16, 2, **shared)


def test_configurations_that_there_are_not():
    for options, words in (
        ({"share_parts": True, "linear_type": "conjugate"}, "linear_type must be 'complex' with share_parts=True"),
        (
            {**REAL, "linear_type": "widely_linear"},
            "linear_type must be 'real' with number_field='real', got 'widely_linear'",
        ),
        ({"linear_type": "real"}, "linear_type must not be 'real' in the complex field"),
    ):
        refused(words, ComplexOrderConfig, error=Exception, **options)
    twin = ComplexOrderConfig(**BERT, linear_type="widely_linear").real_twin()
    assert (twin.linear_type, twin.norm_type, twin.type_vocab_size) == ("real", "stored_layer", 2)


def test_an_encoder_is_not_pruned():
    model = LIFTED.build()
    refused("must be a complex_llama.* got ComplexOrderConfig", prune_conjugate, model, ["model.pooler.dense"])
    assert isinstance(model.model.pooler.dense, WidelyLinear)
