# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration, saving, vocabularies, labels, and inputs no model can use."""

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from small_synconmt import END, START, build, config, labels_of, run, source_of, target_of

from complex_transformers import SynCoNMTConfig, SynCoNMTForConditionalGeneration
from complex_transformers.nn import RealGRU


def test_the_default_is_the_size_of_the_paper():
    cfg = SynCoNMTConfig()
    assert cfg.complex_size == 512
    assert (cfg.rnn_type, cfg.attention_type, cfg.lm_readout, cfg.gate) == ("gru", "bahdanau", "modulus", "real_part")
    assert cfg.num_hidden_layers == 1
    assert cfg.num_words == (cfg.vocab_size, cfg.vocab_size)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 1.1}, r"alpha must be in \[0, 1\], got 1.1"),
        ({"alpha": -0.1}, r"alpha must be in \[0, 1\], got -0.1"),
        ({"label_smoothing": 1.0}, r"label_smoothing must be in \[0, 1\), got 1.0"),
        ({"attention_window": 0}, "attention_window must be positive, got 0"),
        ({"attention_type": "global"}, r"attention_type must be one of \['bahdanau', 'luong'\], got 'global'"),
        ({"rnn_type": "tree"}, r"rnn_type must be one of \['gru', 'lstm', 'rnn'\], got 'tree'"),
        ({"encoder_layers": 0}, "encoder_layers must be positive, got 0"),
        ({"decoder_layers": -1}, "decoder_layers must be positive, got -1"),
        ({"relation_vocab_size": 0}, "relation_vocab_size must be positive, got 0"),
        ({"target_vocab_size": 0}, "target_vocab_size must be positive, or None for that of the source, got 0"),
        ({"hidden_size": 18}, "hidden_size holds the halves of both directions .* multiple of 4, got 18"),
        ({"hidden_size": 15}, "hidden_size holds .* must be even, got 15"),
        ({"gate": "modulus", "rnn_type": "rnn"}, "has no effect with rnn_type='rnn'"),
        ({"number_field": "real", "gate": "modulus"}, "needs number_field='complex'"),
        ({"number_field": "real", "lm_readout": "modulus"}, "lm_readout='modulus' needs number_field='complex'"),
        ({"use_relations": False}, "use_relations=False needs number_field='real'"),
        ({"tie_word_embeddings": True}, "tie_word_embeddings=True is not possible"),
        ({"pad_relation_id": 7}, r"pad_relation_id must lie in \[0, relation_vocab_size=7\), got 7"),
        (
            {"decoder_start_relation_id": 9},
            r"decoder_start_relation_id must lie in \[0, target_relation_vocab_size=7\)",
        ),
        (
            {"target_relation_vocab_size": 3, "pad_relation_id": 4},
            r"pad_relation_id must lie in .*target_relation_voc",
        ),
        (
            {"share_embeddings": True, "target_vocab_size": 9},
            "needs joint vocabularies: vocab_size=30 but target_vocab_",
        ),
        ({"share_embeddings": True, "target_relation_vocab_size": 9}, "joint vocabularies: relation_vocab_size=7"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(StrictDataclassClassValidationError, match=message):
        config(**changes)


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


def test_a_real_network_reads_the_same_embedding():
    ids, relations = torch.tensor([[3, 4, 3]]), torch.tensor([[1, 1, 2]])
    embedding = build().model.encoder.embed_tokens
    out = embedding(ids, relations)
    word, relation = out.chunk(2, -1)
    assert torch.equal(word[0, 0], word[0, 2])  # one word, two relations: equal real, other imaginary parts
    assert torch.equal(relation[0, 0], relation[0, 1])
    assert not torch.equal(relation[0, 0], relation[0, 2])


def test_vocabularies_of_two_sizes():
    model = build(target_vocab_size=20, target_relation_vocab_size=5)
    out = run(model, **source_of(model, 4), **target_of(model, 3))
    assert out.logits.shape == (1, 3, 20)
    assert out.relation_logits.shape == (1, 3, 5)
    with pytest.raises(ValueError, match="vocabularies of 30 and 20 words and cannot be resized to one size"):
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
    with pytest.raises(ValueError, match=r"vectors of 5 dimensions do not fill words of 8 numbers.* embedding_dim=10"):
        model.model.encoder.embed_tokens.load_vectors({"one": torch.zeros(5).numpy()}, {"one": 4})


def test_labels_make_the_decoder_inputs():
    model = build(decoder_start_relation_id=6)
    labels = {
        "labels": torch.tensor([[7, 8, END, -100], [9, END, -100, -100]]),
        "relation_labels": torch.tensor([[1, 2, 3, -100], [4, 5, -100, -100]]),
    }
    ids = model.prepare_decoder_input_ids_from_labels(labels["labels"])
    relations = model.prepare_decoder_relation_ids_from_labels(labels["relation_labels"])
    assert ids.tolist() == [[START, 7, 8, END], [START, 9, END, 0]]
    assert relations.tolist() == [[6, 1, 2, 3], [6, 4, 5, 0]]
    source = source_of(model, 5, batch=2)
    given = run(model, **source, decoder_input_ids=ids, decoder_relation_ids=relations, **labels)
    assert torch.equal(run(model, **source, **labels).loss, given.loss)
    # DataCollatorForSeq2Seq makes the words alone.
    assert torch.equal(run(model, **source, decoder_input_ids=ids, **labels).loss, given.loss)


def test_bad_inputs_are_refused_with_the_remedy():
    model = build()
    source, target, labels = source_of(model, 4), target_of(model, 3), labels_of(model, 3)
    with pytest.raises(ValueError, match="the target is missing: give decoder_input_ids"):
        model(**source)
    with pytest.raises(ValueError, match=r"^relation_ids are missing: give the dependency relation of every word"):
        model(input_ids=source["input_ids"], **target)
    with pytest.raises(ValueError, match="decoder_relation_ids are missing: give the dependency relation"):
        model(**source, decoder_input_ids=target["decoder_input_ids"])
    with pytest.raises(ValueError, match="relation_labels are missing"):
        model(**source, labels=labels["labels"])
    with pytest.raises(ValueError, match="relation_labels come with labels"):
        model(**source, **target, relation_labels=labels["relation_labels"])
    with pytest.raises(ValueError, match=r"relation_labels must have the shape of labels, \(1, 3\), got \(1, 2\)"):
        model(**source, labels=labels["labels"], relation_labels=labels["relation_labels"][:, :2])
    with pytest.raises(ValueError, match=r"relation_ids must have the shape of input_ids, \(1, 4\), got \(1, 3\)"):
        model(input_ids=source["input_ids"], relation_ids=source["relation_ids"][:, :3], **target)
    with pytest.raises(ValueError, match="the input is empty"):
        model(input_ids=source["input_ids"][:, :0], relation_ids=source["relation_ids"][:, :0], **target)
    with pytest.raises(ValueError, match="1 source texts, but 2 target texts"):
        model(**source, **target_of(model, 3, batch=2))
    with pytest.raises(ValueError, match="give encoder_hidden_states"):
        model.model.decoder(target["decoder_input_ids"])
    for name, limit in (("input_ids", 30), ("relation_ids", 7)):
        for wrong in (limit, -1):
            for inputs, side in ((source, ""), (target, "decoder_")):
                bad = inputs[side + name].clone()
                bad[0, 1] = wrong
                with pytest.raises(ValueError, match=rf"{name} must lie in \[0, {limit}\), got {wrong}"):
                    model(**{**source, **target, side + name: bad})
    embeds = model.get_input_embeddings()(source["input_ids"], source["relation_ids"])
    with pytest.raises(ValueError, match="inputs_embeds hold the relations: leave out relation_ids"):
        model(inputs_embeds=embeds, relation_ids=source["relation_ids"], **target)
    with pytest.raises(TypeError, match="must be real"):
        model(inputs_embeds=torch.zeros(1, 3, 8, dtype=torch.complex64), **target)


def test_a_model_of_words_refuses_relations():
    model = build(number_field="real", use_relations=False)
    source, target, relations = source_of(model, 4), target_of(model, 4), torch.ones(1, 4, dtype=torch.long)
    with pytest.raises(ValueError, match="words alone: leave out relation_ids"):
        model(**source, relation_ids=relations, **target)
    with pytest.raises(ValueError, match="words alone: leave out decoder_relation_ids"):
        model(**source, **target, decoder_relation_ids=relations)
    with pytest.raises(ValueError, match="words alone: leave out relation_labels"):
        model(**source, labels=relations, relation_labels=relations)


def test_without_a_first_word_the_error_says_what_to_set():
    model = build(decoder_start_token_id=None, bos_token_id=None)
    with pytest.raises(ValueError, match=r"set config\.decoder_start_token_id"):
        model(**source_of(model, 4), **labels_of(model, 3))


def test_nan_weights_do_not_hide():
    model = build()
    model.model.encoder.layers[0].rnn.input_proj[0].real.weight.data.fill_(float("nan"))
    assert run(model, **source_of(model, 4), **labels_of(model, 3)).loss.isnan()
