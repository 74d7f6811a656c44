# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What is special in decoding with relations: a state instead of keys, relations beside words, in and out."""

import pytest
import torch
from small_synconmt import VARIANTS, build, build_variant, cut, every_variant, labels_of, run, source_of, target_of
from transformers import DynamicCache

from complex_transformers import SynCoNMTGenerateBeamOutput, SynCoNMTGenerateOutput
from families import END, START


def test_the_state_does_not_grow_but_for_the_ids_of_relations():
    model = build(rnn_type="lstm", decoder_layers=2)
    source, target = source_of(model, 6, 2), target_of(model, 9, 2)
    out = run(model, **source, **cut(target, columns=slice(1)))
    sizes = [{name: value.shape for name, value in layer.states.items()} for layer in out.cache.layers]
    keys = out.cache.layers[0].source["keys"]
    for step in range(1, 9):
        word = cut(target, columns=slice(step, step + 1))
        out = run(model, **source, **word, cache=out.cache)
    layers = out.cache.layers
    assert layers[0].states.pop("relations").shape == (2, 10)
    assert sizes[0].pop("relations") == (2, 2)
    assert sizes == [{name: value.shape for name, value in layer.states.items()} for layer in layers]
    assert layers[0].source["keys"] is keys  # projected once
    assert not layers[1].source


def test_transition_scores_are_of_the_words_of_the_target():
    model = build(target_vocab_size=19)
    out = model.generate(
        **source_of(model, 5, 2),
        num_beams=3,
        num_return_sequences=3,
        max_new_tokens=6,
        length_penalty=0.0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    assert isinstance(out, SynCoNMTGenerateBeamOutput)
    scores = model.compute_transition_scores(out.sequences, out.scores, out.beam_indices)
    torch.testing.assert_close(scores.sum(-1), out.sequences_scores)
    assert model.config.num_words == (30, 19)


def test_relations_behind_the_end_are_those_of_padding():
    model = build()
    source = source_of(model, 5, 16)
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


@pytest.mark.parametrize("options", [{}, {"num_beams": 2}], ids=["greedy", "beams"])
@pytest.mark.parametrize("variant", [name for name, (_, own) in VARIANTS.items() if own.get("use_relations", True)])
def test_a_text_that_has_begun_goes_on_from_its_relations(variant, options):
    model = build_variant(variant)
    source, begun = source_of(model, 5, 2), target_of(model, 3, 2)
    begun["decoder_input_ids"][:, 0] = START
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
    with pytest.raises(ValueError, match=r"decoder_relation_ids must be .*, got None"):
        model.generate(**source, decoder_input_ids=begun["decoder_input_ids"], **options)
    with pytest.raises(ValueError, match="decoder_relation_ids must be None without decoder_input_ids"):
        model.generate(**source, decoder_relation_ids=begun["decoder_relation_ids"], **options)
    begun["decoder_relation_ids"] = begun["decoder_relation_ids"].repeat(1, 2)
    with pytest.raises(ValueError, match=r"decoder_relation_ids must be \[2, 3\], got \[2, 6\]"):
        model.generate(**source, **begun, **options)


def test_marks_are_of_the_words_of_the_target():
    model = build(vocab_size=40, target_vocab_size=20)
    marked = model.generate(**source_of(model, 5, 2), max_new_tokens=4, watermarking_config={"bias": 2.0})
    assert marked.max() < 20


def test_what_a_trainer_passes_to_generate_changes_nothing():
    model = build()
    source, labels = source_of(model, 5, 2), labels_of(model, 4, 2)
    expected = model.generate(**source, max_new_tokens=5, num_beams=2)
    relations = model.prepare_decoder_relation_ids_from_labels(labels["relation_labels"])
    found = model.generate(**source, **labels, decoder_relation_ids=relations, max_new_tokens=5, num_beams=2)
    assert torch.equal(found, expected)


def test_caches_of_other_models_are_refused():
    model = build()
    source = source_of(model, 4)
    with pytest.raises(ValueError, match="cache must be a RecurrentCache, got DynamicCache"):
        run(model, **source, **target_of(model, 3), cache=DynamicCache(config=model.config))
    cache = run(model, **source, **target_of(model, 3)).cache
    with pytest.raises(ValueError, match="must be 0 for a recurrent state, got -1"):
        cache.crop(-1)
    cache.crop(0)


def test_texts_of_a_cache_can_be_repeated_selected_and_forgotten():
    model = build(decoder_layers=2)
    source, target = source_of(model, 5, 3), target_of(model, 4, 3)
    expected = run(model, **source, **target).logits[:, 3:]
    cache = run(model, **source, **cut(target, columns=slice(3))).cache
    cache.batch_repeat_interleave(2)
    cache.batch_select_indices(torch.tensor([4, 1]))
    part = torch.tensor([2, 0])
    last = cut(target, part, slice(3, 4))
    found = run(model, **cut(source, part), **last, cache=cache).logits
    torch.testing.assert_close(found, expected[part])
    cache.reorder_cache(torch.tensor([1, 0]))
    assert torch.equal(cache.layers[0].states["relations"][:, :3], target["decoder_relation_ids"][[0, 2], :3])
    cache.reset()
    assert cache.get_seq_length() == 0
    again = run(model, **source, **target, cache=cache).logits[:, 3:]
    torch.testing.assert_close(again, expected)
    with pytest.raises(TypeError, match="Use advance"):
        cache.update(torch.zeros(1), torch.zeros(1), 0)


@every_variant
def test_generation_shows_its_attention(variant):
    model = build_variant(variant)
    source = source_of(model, 5, 2)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    options = {"max_new_tokens": 4, "eos_token_id": None, "suppress_tokens": [model.config.pad_token_id]}
    shown = {"return_dict_in_generate": True, "output_attentions": True}
    out = model.generate(**source, attention_mask=mask, **options, **shown)
    target = {"decoder_input_ids": out.sequences[:, :-1]}
    if out.relations is not None:
        target["decoder_relation_ids"] = out.relations[:, :-1]
    expected = run(model, **source, **target, attention_mask=mask, output_attentions=True).cross_attentions
    assert len(expected) == 1
    torch.testing.assert_close(torch.cat([step[0] for step in out.cross_attentions], 2), expected[0])


def test_a_seed_of_words_that_were_embedded_goes_on_too():
    model = build()
    source, target = source_of(model, 5, 2), target_of(model, 3, 2)
    embeds = model.get_decoder().embed_tokens(target["decoder_input_ids"], target["decoder_relation_ids"])
    out = run(model, **source, decoder_inputs_embeds=embeds)
    expected = run(model, **source, **target)
    torch.testing.assert_close(out.logits, expected.logits)
    word = torch.tensor([[5], [6]])
    following = run(model, **source, decoder_input_ids=word, cache=out.cache)
    again = run(model, **source, decoder_input_ids=word, cache=expected.cache)
    torch.testing.assert_close(following.logits, again.logits)
