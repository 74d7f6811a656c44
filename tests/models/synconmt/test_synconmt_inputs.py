# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sizes, vocabularies, relations beside labels, and inputs no model can use."""

import pytest
import torch
from small_synconmt import build, labels_of, run, source_of, target_of

from complex_transformers import SynCoNMTForConditionalGeneration
from complex_transformers.nn import RealGRU
from families import START


def test_real_twins_have_the_same_stored_widths():
    """Of words and relations: the same two tables side by side. Of words alone: a table of the whole width."""
    model = build(rnn_type="gru")
    twin = SynCoNMTForConditionalGeneration(model.config.real_twin())
    words = SynCoNMTForConditionalGeneration(model.config.real_twin(use_relations=False))
    for side in ("encoder", "decoder"):
        ours, real, alone = (getattr(m.model, side) for m in (model, twin, words))
        assert ours.embed_tokens.weight.shape == real.embed_tokens.weight.shape == (30, 8)
        assert ours.embed_tokens.relation.shape == real.embed_tokens.relation.shape == (7, 8)
        assert alone.embed_tokens.weight.shape == (30, 16)
        assert alone.embed_tokens.relation is None
    assert words.relation_head is None
    assert isinstance(twin.model.encoder.layers[0].rnn, RealGRU)
    for other in (twin, words):
        assert other.config.hidden_size == model.config.hidden_size
        assert other.config.gate == "split"
        out = run(other, **source_of(other, 4), **target_of(other, 3))
        assert out.encoder_last_hidden_state.shape == (1, 4, 16)


def test_vocabularies_of_two_sizes():
    model = build(target_vocab_size=20, target_relation_vocab_size=5)
    out = run(model, **source_of(model, 4), **target_of(model, 3))
    assert out.logits.shape == (1, 3, 20)
    assert out.relation_logits.shape == (1, 3, 5)
    with pytest.raises(ValueError, match="target_vocab_size must equal vocab_size=30 to resize, got 20"):
        model.resize_token_embeddings(40)


def test_both_sides_learn_a_shared_embedding():
    model = build(share_embeddings=True)
    encoder, decoder = (stack.embed_tokens for stack in (model.model.encoder, model.model.decoder))
    assert encoder.weight is decoder.weight
    assert encoder.relation is decoder.relation
    source = {"input_ids": torch.tensor([[5, 6]]), "relation_ids": torch.tensor([[1, 2]])}
    labels = {"labels": torch.tensor([[8, 9]]), "relation_labels": torch.tensor([[3, 4]])}
    model(**source, **labels).loss.backward()
    changed = encoder.weight.grad.abs().sum(-1).nonzero().flatten().tolist()
    assert changed == [START, 5, 6, 8]
    assert encoder.relation.grad.abs().sum(-1).nonzero().flatten().tolist() == [1, 2, 3]


def test_word_vectors_fill_the_real_part():
    model = build()
    vectors = {"one": torch.arange(8.0).numpy(), "two": -torch.arange(8.0).numpy()}
    assert model.model.encoder.embed_tokens.load_vectors(vectors, {"one": 4, "two": 5}) == 1.0
    out = model.model.encoder.embed_tokens(torch.tensor([[4]]), torch.tensor([[2]]))
    assert torch.equal(out[0, 0, :8], torch.arange(8.0))
    with pytest.raises(ValueError, match=r"vectors must have 8 dimensions, got 5. Use embedding_dim=10"):
        model.model.encoder.embed_tokens.load_vectors({"one": torch.zeros(5).numpy()}, {"one": 4})


def test_relation_labels_make_the_decoder_relations():
    model = build(decoder_start_relation_id=6)
    labels = torch.tensor([[1, 2, 3, -100], [4, 5, -100, -100]])
    assert model.prepare_decoder_relation_ids_from_labels(labels).tolist() == [[6, 1, 2, 3], [6, 4, 5, 0]]


def test_bad_inputs_are_refused_with_the_remedy():
    model = build()
    source, target, labels = source_of(model, 4), target_of(model, 3), labels_of(model, 3)
    embeds = model.get_input_embeddings()(source["input_ids"], source["relation_ids"])
    words, relations, halves = source["input_ids"], source["relation_ids"], labels["relation_labels"][:, :2]
    for inputs, message in (
        ({"input_ids": words, **target}, r"^relation_ids must be \[batch, length\] with input_ids"),
        ({**source, "decoder_input_ids": target["decoder_input_ids"]}, "decoder_relation_ids must be"),
        ({**source, "labels": labels["labels"]}, r"relation_labels must be \[batch, length\] = \(1, 3\), got None"),
        (
            {**source, **target, **labels, "labels": None},
            r"relation_labels must be None, got \(1, 3\)",
        ),
        (
            {**source, **labels, "relation_labels": halves},
            r"relation_labels must be \[batch, length\] = \(1, 3\), got \(1, 2\)",
        ),
        (
            {**source, **target, "relation_ids": relations[:, :3]},
            r"relation_ids must have shape \(1, 4\), got",
        ),
        (
            {"inputs_embeds": embeds, "relation_ids": relations, **target},
            "^relation_ids must be None with inputs_embeds",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            model(**inputs)
    with pytest.raises(TypeError, match="must be real"):
        model(inputs_embeds=torch.zeros(1, 3, 8, dtype=torch.complex64), **target)


def test_a_model_of_words_refuses_relations():
    model = build(number_field="real", use_relations=False)
    source, target, relations = source_of(model, 4), target_of(model, 4), torch.ones(1, 4, dtype=torch.long)
    for given, name in (
        (target, "relation_ids"),
        (target, "decoder_relation_ids"),
        ({"labels": relations}, "relation_labels"),
    ):
        with pytest.raises(ValueError, match=f"^{name} must"):
            model(**source, **given, **{name: relations})
