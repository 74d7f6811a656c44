# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding against plain references: causality, padding, the state in a cache, beams that carry relations."""

import subprocess
import sys

import pytest
import torch
from small_synconmt import END, START, VARIANTS, VOCABULARY, build, columns, labels_of, rows, run, source_of, target_of
from transformers import AutoModelForSeq2SeqLM, DynamicCache

from complex_transformers import (
    RecurrentCache,
    SynCoNMTForConditionalGeneration,
    SynCoNMTGenerateBeamOutput,
    SynCoNMTGenerateOutput,
)

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
with_relations = pytest.mark.parametrize(
    "changes",
    [value for value in VARIANTS.values() if value.get("use_relations", True)],
    ids=[name for name, value in VARIANTS.items() if value.get("use_relations", True)],
)


@every_variant
def test_cached_steps_equal_one_pass(changes):
    model = build(**changes)
    source, target = source_of(model, 6, batch=3), target_of(model, 8, batch=3)
    mask, target_mask = torch.ones(3, 6), torch.ones(3, 8)
    mask[1, 4:], target_mask[2, :5] = 0, 0
    expected = run(model, **source, **target, attention_mask=mask, decoder_attention_mask=target_mask).logits
    cache, pieces = None, []
    for start, end in ((0, 4), (4, 5), (5, 8)):  # a prompt (one row of it padding only), a step, several words
        out = run(
            model,
            **source,
            **columns(target, slice(start, end)),
            attention_mask=mask,
            decoder_attention_mask=target_mask[:, :end],
            past_key_values=cache,
        )
        cache = out.past_key_values
        assert isinstance(cache, RecurrentCache)
        assert cache.get_seq_length() == end
        pieces.append(out.logits)
    torch.testing.assert_close(torch.cat(pieces, 1)[:2], expected[:2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.cat(pieces, 1)[2, 5:], expected[2, 5:], rtol=1e-4, atol=1e-5)
    if model.config.use_relations:  # those that were given, and the one predicted with the next word
        relations = cache.layers[0].states["relations"]
        assert torch.equal(relations[:, :8], target["decoder_relation_ids"])
        assert torch.equal(relations[:, 8], model.predict_relations(out.relation_logits[:, -1]))


def test_the_state_does_not_grow_but_for_the_ids_of_relations():
    model = build(rnn_type="lstm", decoder_layers=2)
    source, target = source_of(model, 6, batch=2), target_of(model, 9, batch=2)
    out = run(model, **source, **columns(target, slice(1)))
    sizes = [{name: value.shape for name, value in layer.states.items()} for layer in out.past_key_values.layers]
    keys = out.past_key_values.layers[0].source["keys"]
    for step in range(1, 9):
        out = run(model, **source, **columns(target, slice(step, step + 1)), past_key_values=out.past_key_values)
    layers = out.past_key_values.layers
    assert layers[0].states.pop("relations").shape == (2, 10)
    assert sizes[0].pop("relations") == (2, 2)
    assert sizes == [{name: value.shape for name, value in layer.states.items()} for layer in layers]
    assert layers[0].source["keys"] is keys  # projected once
    assert not layers[1].source


def reference_beams(model, source, beams, length, penalty):
    """Beam search over whole sequences: every step scores every beam from the start; finished ones are set aside.

    A beam is its words and their relations: that of a new word is predicted by the step that scores it. Best first:
    texts, relations and log probabilities divided by length ** penalty, the start token not counted.
    """
    running, finished = [(0.0, [START], [model.config.decoder_start_relation_id])], []
    for _ in range(length):
        candidates = []
        for total, ids, relations in running:
            given = {"decoder_input_ids": torch.tensor([ids])}
            if model.config.use_relations:
                given["decoder_relation_ids"] = torch.tensor([relations])
            out = run(model, **source, **given, use_cache=False)
            following = 0
            if model.config.use_relations:
                following = 1 + int(out.relation_logits[0, -1, 1:].argmax())  # 0 is that of padding
            scores = torch.log_softmax(out.logits[0, -1], -1)
            candidates += [
                (total + float(scores[word]), [*ids, word], [*relations, following]) for word in range(len(scores))
            ]
        candidates.sort(key=lambda item: -item[0])
        best = candidates[: 2 * beams]
        running = [item for item in best if item[1][-1] != END][:beams]
        for total, ids, relations in best[:beams]:
            if ids[-1] == END:
                finished.append((total / (len(ids) - 1) ** penalty, ids, relations))
        finished = sorted(finished, key=lambda item: -item[0])[:beams]
    finished += [(total / (len(ids) - 1) ** penalty, ids, relations) for total, ids, relations in running]
    return sorted(finished, key=lambda item: -item[0])[:beams]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@every_variant
def test_beam_search_equals_a_plain_reference_with_relations(changes, penalty):
    model = build(**changes)
    model.double()  # no ties within rounding
    source = source_of(model, 5, batch=3)
    out = model.generate(
        **source,
        num_beams=3,
        num_return_sequences=2,
        max_new_tokens=5,
        do_sample=False,
        early_stopping="never",
        length_penalty=penalty,
        return_dict_in_generate=True,
        output_scores=True,
    )
    assert isinstance(out, SynCoNMTGenerateBeamOutput)
    ended = False
    for row in range(3):
        expected = reference_beams(model, rows(source, slice(row, row + 1)), 3, 5, penalty)
        for index, (score, ids, relations) in enumerate(expected[:2]):
            found = out.sequences[2 * row + index].tolist()
            assert found[: len(ids)] == ids
            assert float(out.sequences_scores[2 * row + index]) == pytest.approx(score, abs=1e-4)
            if model.config.use_relations:
                padding = [0] * (len(found) - len(ids))
                assert out.relations[2 * row + index].tolist() == relations + padding
                ended = ended or bool(padding)
            else:
                assert out.relations is None


@with_relations
def test_the_relation_of_the_beam_is_read_with_its_word(changes):
    """Read again with their relations, the words of beams have the scores that the search gave them."""
    model = build(**changes).double()
    source = source_of(model, 5, batch=2)
    out = model.generate(
        **source,
        num_beams=4,
        max_new_tokens=6,
        eos_token_id=None,
        length_penalty=0.0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    target = {"decoder_input_ids": out.sequences[:, :-1], "decoder_relation_ids": out.relations[:, :-1]}
    again = run(model, **source, **target)
    scores = torch.log_softmax(again.logits, -1).gather(-1, out.sequences[:, 1:, None]).sum((1, 2))
    torch.testing.assert_close(scores, out.sequences_scores.double(), rtol=1e-5, atol=1e-5)
    assert torch.equal(model.predict_relations(again.relation_logits), out.relations[:, 1:])


def test_transition_scores_are_of_the_words_of_the_target():
    model = build(target_vocab_size=19)
    out = model.generate(
        **source_of(model, 5, batch=2),
        num_beams=3,
        num_return_sequences=3,
        max_new_tokens=6,
        length_penalty=0.0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    scores = model.compute_transition_scores(out.sequences, out.scores, out.beam_indices)
    torch.testing.assert_close(scores.sum(-1), out.sequences_scores)
    assert model.config.num_words == (30, 19)


def test_relations_behind_the_end_are_those_of_padding():
    model = build()
    source = source_of(model, 5, batch=16)
    options = {"do_sample": True, "max_new_tokens": 12, "return_dict_in_generate": True, "suppress_tokens": [0]}
    torch.manual_seed(1)
    out = model.generate(**source, **options)
    assert isinstance(out, SynCoNMTGenerateOutput)
    assert out.relations.shape == out.sequences.shape
    lengths = []
    for words, relations in zip(out.sequences.tolist(), out.relations.tolist(), strict=True):
        length = words.index(END) + 1 if END in words else len(words)
        lengths.append(length)
        assert all(relations[1:length])  # predicted, and never the relation of padding
        assert relations[0] == 0
        assert not any(relations[length:])
    assert min(lengths) < out.sequences.shape[1]
    # A last word that is the padding word too keeps its relation.
    model.generation_config.pad_token_id = END
    torch.manual_seed(1)
    again = model.generate(**source, **options)
    assert torch.equal(again.relations, out.relations)


def test_relation_of_padding_is_never_predicted():
    model = build(pad_relation_id=3, decoder_start_relation_id=1)
    logits = torch.zeros(2, 7)
    logits[:, 3], logits[1, 5] = 9.0, 1.0
    assert model.predict_relations(logits).tolist() == [0, 5]
    out = model.generate(**source_of(model, 4), max_new_tokens=4, return_dict_in_generate=True, eos_token_id=None)
    assert out.relations[0, 0] == 1
    assert 3 not in out.relations[0, 1:].tolist() or 0 in out.sequences[0].tolist()


@with_relations
def test_a_text_that_has_begun_goes_on_from_its_relations(changes):
    model = build(**changes)
    source, begun = source_of(model, 5, batch=2), target_of(model, 3, batch=2)
    begun["decoder_input_ids"][:, 0] = START
    for options in ({}, {"num_beams": 2}):
        options = {"max_new_tokens": 3, "return_dict_in_generate": True, "eos_token_id": None, **options}
        out = model.generate(**source, **begun, **options)
        for name, found in (("decoder_input_ids", out.sequences), ("decoder_relation_ids", out.relations)):
            assert torch.equal(found[:, :3], begun[name])
        # A first word that is left out is put there, with its relation.
        without = {name: value[:, 1:] for name, value in begun.items()}
        begun["decoder_relation_ids"][:, 0] = 0
        expected = model.generate(**source, **begun, **options)
        again = model.generate(**source, **without, **options)
        assert torch.equal(again.sequences, expected.sequences)
        assert torch.equal(again.relations, expected.relations)
        with pytest.raises(ValueError, match="decoder_relation_ids are missing"):
            model.generate(**source, decoder_input_ids=begun["decoder_input_ids"], **options)
        with pytest.raises(ValueError, match="decoder_relation_ids come with decoder_input_ids"):
            model.generate(**source, decoder_relation_ids=begun["decoder_relation_ids"], **options)


def test_what_a_trainer_passes_to_generate_changes_nothing():
    model = build()
    source, labels = source_of(model, 5, batch=2), labels_of(model, 4, batch=2)
    expected = model.generate(**source, max_new_tokens=5, num_beams=2)
    relations = model.prepare_decoder_relation_ids_from_labels(labels["relation_labels"])
    found = model.generate(**source, **labels, decoder_relation_ids=relations, max_new_tokens=5, num_beams=2)
    assert torch.equal(found, expected)


def test_caches_of_other_models_are_refused():
    model = build()
    source = source_of(model, 4)
    with pytest.raises(ValueError, match="must be a RecurrentCache, as this model returns it, got DynamicCache"):
        run(model, **source, **target_of(model, 3), past_key_values=DynamicCache(config=model.config))
    with pytest.raises(ValueError, match="cache_implementation='static' is not for this model"):
        model.generate(**source, cache_implementation="static")
    with pytest.raises(ValueError, match="prefill_chunk_size=2 is for models without an encoder"):
        model.generate(**source, prefill_chunk_size=2)
    cache = run(model, **source, **target_of(model, 3)).past_key_values
    two = {**source_of(model, 4, batch=2), **target_of(model, 1, batch=2)}
    with pytest.raises(ValueError, match=r"past_key_values hold 1 texts, the input 2"):
        run(model, **two, past_key_values=cache)
    with pytest.raises(ValueError, match="cannot be rolled back"):
        cache.crop(-1)
    cache.crop(0)


def test_texts_of_a_cache_can_be_repeated_selected_and_forgotten():
    model = build(decoder_layers=2)
    source, target = source_of(model, 5, batch=3), target_of(model, 4, batch=3)
    expected = run(model, **source, **target).logits[:, 3:]
    cache = run(model, **source, **columns(target, slice(3))).past_key_values
    cache.batch_repeat_interleave(2)
    cache.batch_select_indices(torch.tensor([4, 1]))
    part = torch.tensor([2, 0])
    last = rows(columns(target, slice(3, 4)), part)
    found = run(model, **rows(source, part), **last, past_key_values=cache).logits
    torch.testing.assert_close(found, expected[part])
    cache.reorder_cache(torch.tensor([1, 0]))
    assert torch.equal(cache.layers[0].states["relations"][:, :3], target["decoder_relation_ids"][[0, 2], :3])
    cache.reset()
    assert cache.get_seq_length() == 0
    again = run(model, **source, **target, past_key_values=cache).logits[:, 3:]
    torch.testing.assert_close(again, expected)
    with pytest.raises(TypeError, match="use advance"):
        cache.update(torch.zeros(1), torch.zeros(1), 0)


@every_variant
def test_generation_shows_its_attention(changes):
    model = build(**changes)
    source = source_of(model, 5, batch=2)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    options = {"max_new_tokens": 4, "eos_token_id": None, "return_dict_in_generate": True, "output_attentions": True}
    out = model.generate(**source, attention_mask=mask, **options)
    target = {"decoder_input_ids": out.sequences[:, :-1]}
    if out.relations is not None:
        target["decoder_relation_ids"] = out.relations[:, :-1]
    expected = run(model, **source, **target, attention_mask=mask, output_attentions=True).cross_attentions
    assert len(expected) == 1
    torch.testing.assert_close(torch.cat([step[0] for step in out.cross_attentions], 2), expected[0])


def test_a_seed_of_words_that_were_embedded_goes_on_too():
    model = build()
    source, target = source_of(model, 5, batch=2), target_of(model, 3, batch=2)
    embeds = model.get_decoder().embed_tokens(target["decoder_input_ids"], target["decoder_relation_ids"])
    out = run(model, **source, decoder_inputs_embeds=embeds)
    expected = run(model, **source, **target)
    torch.testing.assert_close(out.logits, expected.logits)
    word = torch.tensor([[5], [6]])
    following = run(model, **source, decoder_input_ids=word, past_key_values=out.past_key_values)
    again = run(model, **source, decoder_input_ids=word, past_key_values=expected.past_key_values)
    torch.testing.assert_close(following.logits, again.logits)


_SERVE = """
import sys, torch
import complex_transformers
from transformers import AutoModelForSeq2SeqLM
model = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1])
source = torch.load(sys.argv[1] + "/source.pt")
out = model.generate(**source, num_beams=3, max_new_tokens=6, return_dict_in_generate=True)
print(out.sequences.tolist(), out.relations.tolist())
"""


@pytest.mark.full
def test_a_new_process_generates_the_same(tmp_path):
    model = build()
    source = source_of(model, 5, batch=4)
    model.save_pretrained(tmp_path)
    torch.save(source, tmp_path / "source.pt")
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert isinstance(again, SynCoNMTForConditionalGeneration)
    options = {"num_beams": 3, "max_new_tokens": 6, "return_dict_in_generate": True}
    expected = model.generate(**source, **options)
    assert torch.equal(again.generate(**source, **options).relations, expected.relations)
    done = subprocess.run([sys.executable, "-c", _SERVE, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == f"{expected.sequences.tolist()} {expected.relations.tolist()}"
    assert len(set(map(tuple, expected.sequences.tolist()))) > 1
    assert expected.sequences.max() < VOCABULARY
