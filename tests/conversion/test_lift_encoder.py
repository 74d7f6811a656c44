# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A lifted encoder computes the hidden states, pooled outputs and logits of the original."""

import re

import pytest
import torch
from lifted_models import ENCODERS, WORDS, real_encoder
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertLMHeadModel,
    BertModel,
    ElectraConfig,
)

from complex_transformers import lift
from complex_transformers.conversion.lift import lift_weights
from complex_transformers.nn import WidelyLinear
from refusals import refused

every_kind = pytest.mark.parametrize("kind", ENCODERS)
AUTO = {
    "model": AutoModel,
    "words": AutoModelForMaskedLM,
    "texts": AutoModelForSequenceClassification,
    "tokens": AutoModelForTokenClassification,
    "answers": AutoModelForQuestionAnswering,
}
DTYPES = {torch.float32: 1e-5, torch.float64: 1e-12}


def texts(side, kind="model"):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, WORDS, (3, 9), generator=generator)
    types = torch.randint(0, 1 if kind.startswith("xlm") else 3, (3, 9), generator=generator)
    mask = torch.ones(3, 9, dtype=torch.long)
    for row, count in ((0, 4), (1, 1)):
        mask[row, slice(count) if side == "left" else slice(9 - count, None)] = 0
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    if kind.startswith("distilbert"):
        del given["token_type_ids"]
    first = 2 if "roberta" in kind else 0
    return given, {**given, "position_ids": (mask.cumsum(-1) - 1).clamp(min=0) + first}


def answer(output):
    if "start_logits" in output:
        return torch.stack([output.start_logits, output.end_logits], -1)
    name = next(name for name in ("logits", "pooler_output", "last_hidden_state") if name in output)
    return output[name]


def alone(inputs, row):
    tokens = inputs["attention_mask"][row].bool()
    return {name: value[row][tokens].unsqueeze(0) for name, value in inputs.items()}


def assert_equal(found, expected, tolerance=1e-5):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@torch.no_grad()
@every_kind
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("dtype", [pytest.param(torch.float32, marks=pytest.mark.full), torch.float64], ids=str)
def test_everything_is_that_of_the_original(kind, side, dtype):
    """Compare every layer, so that errors cannot cancel."""
    model = real_encoder(kind).to(dtype)
    lifted = lift(model)
    ours, theirs = texts(side, kind)
    tokens = ours["attention_mask"].bool()
    found, expected = lifted(**ours, output_hidden_states=True), model(**theirs, output_hidden_states=True)
    assert len(found.hidden_states) == len(expected.hidden_states) == 3
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        assert one.dtype == dtype
        assert other[tokens].std() > 0.1
        assert_equal(one[tokens], other[tokens], DTYPES[dtype])
    found, expected = answer(found), answer(expected)
    if found.dim() == 3:
        found, expected = found[tokens], expected[tokens]
    elif side == "left":  # BERT pools the padding: compare with each text alone
        expected = torch.cat([answer(model(**alone(theirs, row))) for row in range(3)])
    assert expected.std(0).min() > 1e-3
    assert_equal(found, expected, DTYPES[dtype])
    assert not lifted.training
    original = re.sub("^(Bert|DistilBert|Roberta|XLMRoberta)", "", type(model).__name__)
    assert type(lifted).__name__ == f"ComplexOrder{original}"
    unread = WORDS if kind == "untied words" else 0  # a second bias of the last layer
    if "roberta" in kind:  # positions of padding
        unread += 2 * 32
    assert lifted.num_parameters() == model.num_parameters() - unread


@torch.no_grad()
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_both_ways_of_attention(implementation):
    model = real_encoder(attn_implementation=implementation)
    lifted = lift(model)
    lifted.set_attn_implementation(implementation)
    ours, theirs = texts("right")
    tokens = ours["attention_mask"].bool()
    asked = {"output_attentions": implementation == "eager"}
    found, expected = lifted(**ours, **asked), model(**theirs, **asked)
    assert_equal(found.last_hidden_state[tokens], expected.last_hidden_state[tokens])
    if implementation == "eager":
        for one, other in zip(found.attentions, expected.attentions, strict=True):
            assert_equal(one.transpose(1, 2)[tokens], other.transpose(1, 2)[tokens])


def test_gradients_and_losses_are_those_of_the_original():
    """Gradients of the blocks are sums of the gradients of the real matrix."""
    model = real_encoder("texts")
    lifted = lift(model)
    ours, theirs = texts("right")
    labels = torch.tensor([0, 4, 2])
    losses = [network(**inputs, labels=labels).loss for network, inputs in ((lifted, ours), (model, theirs))]
    assert_equal(*losses)
    for loss in losses:
        loss.backward()
    layer, real = lifted.model.layers[1].feed_forward.up_proj, model.bert.encoder.layer[1].intermediate.dense
    blocks = real.weight.grad.view(2, 24, 2, 16)
    assert_equal(layer.real.weight.grad, blocks[0, :, 0] + blocks[1, :, 1])
    assert_equal(layer.conj_imag.weight.grad, blocks[0, :, 1] + blocks[1, :, 0])
    assert_equal(lifted.model.embed_types.weight.grad, model.bert.embeddings.token_type_embeddings.weight.grad)


@torch.no_grad()
@every_kind
def test_any_pairing_of_the_stream_is_the_same_function(kind):
    model = real_encoder(kind)
    order = torch.randperm(32)
    lifted = lift(model, pairing=order)
    ours, theirs = texts("right", kind)
    tokens = ours["attention_mask"].bool()
    found, expected = lifted(**ours), model(**theirs)
    if kind.endswith("model"):
        found, expected = found.last_hidden_state, expected.last_hidden_state[..., order]
    else:
        found, expected = answer(found), answer(expected)
    if found.dim() == 3:
        found, expected = found[tokens], expected[tokens]
    assert_equal(found, expected)


@torch.no_grad()
@every_kind
def test_saved_and_loaded(kind, tmp_path):
    labels = {f"kind {index}": index for index in range(2 if kind.endswith("answers") else 5)}
    model = real_encoder(kind, id2label={index: name for name, index in labels.items()}, label2id=labels)
    lifted = lift(model)
    lifted.save_pretrained(tmp_path)
    loaded = AUTO[kind.split()[-1]].from_pretrained(tmp_path).eval()
    assert type(loaded) is type(lifted)
    ours, _ = texts("right", kind)
    assert torch.equal(answer(loaded(**ours)), answer(lifted(**ours)))
    assert loaded.config.id2label[1] == "kind 1"
    assert loaded.config.problem_type == model.config.problem_type
    if kind.endswith("words"):
        tied = loaded.lm_head.projection.weight is loaded.model.embed_tokens.weight
        assert tied == model.config.tie_word_embeddings == loaded.config.tie_word_embeddings


@torch.no_grad()
def test_a_model_without_pooler_has_none():
    torch.manual_seed(0)
    model = BertModel(real_encoder().config, add_pooling_layer=False).eval()
    lifted = lift(model)
    ours, theirs = texts("right")
    found = lifted(**ours)
    assert "pooler_output" not in found
    tokens = ours["attention_mask"].bool()
    assert_equal(found.last_hidden_state[tokens], model(**theirs).last_hidden_state[tokens])


def test_the_lift_shares_nothing_with_the_original_and_has_its_mode_and_dtype():
    model = real_encoder("words").to(torch.bfloat16).train()
    lifted = lift(model)
    assert lifted.training
    assert lifted.dtype == torch.bfloat16
    before = {name: value.clone() for name, value in lifted.state_dict().items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert all(torch.equal(value, before[name]) for name, value in lifted.state_dict().items())
    assert all(parameter.requires_grad for parameter in lifted.parameters())
    layers = [module for module in lifted.modules() if isinstance(module, WidelyLinear)]
    assert len(layers) == 2 * 6 + 1


@torch.no_grad()
def test_files_of_other_versions_and_of_larger_networks():
    """Read TensorFlow names, buffers, and heads that the class does not have."""
    model = real_encoder("words")
    config, weights = model.config, dict(model.state_dict())
    config.architectures = ["BertForMaskedLM"]
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in weights.items()
        if not name.startswith("cls.predictions.decoder.")
    }
    more = {
        "bert.embeddings.position_ids": torch.arange(16),
        "bert.pooler.dense.weight": torch.zeros(32, 32),
        "bert.pooler.dense.bias": torch.zeros(32),
        "cls.seq_relationship.weight": torch.zeros(2, 32),
    }
    ours, theirs = texts("right")
    tokens, expected = ours["attention_mask"].bool(), model(**theirs)
    for given in (weights, old, {**old, **more}):
        assert_equal(lift_weights(config, given)(**ours).logits[tokens], expected.logits[tokens])
    config.architectures = None  # a bare model, cut out of it
    found = lift_weights(config, {**old, **more})(**ours)
    bare = BertModel(config, add_pooling_layer=False).eval()
    bare.load_state_dict(model.bert.state_dict())
    assert_equal(found.last_hidden_state[tokens], bare(**theirs).last_hidden_state[tokens])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_decoder": True}, "is_decoder must be False to be lifted, got True"),
        ({"hidden_act": "mish"}, r"hidden_act must be one of \['gelu', .* got 'mish'"),
    ],
)
def test_unsupported_options_are_rejected(changes, words):
    refused(words, lift, real_encoder(**changes))


def test_other_positions_decoders_and_classes_are_named():
    model = real_encoder()
    model.config.position_embedding_type = "relative_key"
    refused("position_embedding_type must be 'absolute' to be lifted, got 'relative_key'", lift, model)
    model = real_encoder()
    model.config.add_cross_attention = True
    refused("add_cross_attention must be False to be lifted", lift, model)
    config = real_encoder().config
    for other in (BertForNextSentencePrediction, BertForPreTraining, BertLMHeadModel):
        refused(f"class must end in one of ForMaskedLM, .* got {other.__name__}", lift, other(config))
    config.architectures = ["BertForNextSentencePrediction"]
    refused("class must end in .* got BertForNextSentencePrediction", lift_weights, config, {})
    refused("model_type must be one of .*'bert'.* got 'electra'", lift_weights, ElectraConfig(), {})
    words = "hidden_act must be 'gelu' for RobertaForMaskedLM, got 'relu'"
    refused(words, lift, real_encoder("roberta words", hidden_act="relu"))


def test_tensors_that_do_not_fit_are_named():
    model = real_encoder("words")
    config, weights = model.config, dict(model.state_dict())
    config.architectures = ["BertForMaskedLM"]
    name = "bert.encoder.layer.1.attention.self.key.bias"
    missing = {k: v for k, v in weights.items() if k != name}
    words = r"Missing key\(s\).*layers.1.self_attn.k_proj.bias"
    refused(words, lift_weights, config, missing, error=RuntimeError)
    more = {**weights, "bert.encoder.extra.weight": torch.zeros(2)}
    refused(r"Unexpected key\(s\).*encoder.extra.weight", lift_weights, config, more, error=RuntimeError)
    table, bias = "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"
    for changed, value, words in (
        (name, torch.zeros(31), r"key.bias must have floats of shape \(32,\), got .*\(31,\)"),
        (name, weights[name].char(), "key.bias must have floats .* got torch.int8"),
        (table, weights[table] + 1, f"{table} must equal .* with tie_word_embeddings=True"),
        (bias, weights[bias] + 1, f"{bias} must equal cls.predictions.bias with tie_word_embeddings=True"),
    ):
        refused(words, lift_weights, config, {**weights, changed: value})
