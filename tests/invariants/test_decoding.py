# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What writes reads its own words in order: none before its time, from a cache or not."""

import pytest
import torch
from laws import as_dtype, law, law_of_families, law_of_first

from complex_transformers import build_tokenizer
from families import END, LEARNED, START, Case
from family_inputs import batch, embedded, numbers_of, results, rows


def target_names(model):
    """The inputs that are read step by step."""
    return ("decoder_input_ids", "decoder_relation_ids") if model.config.is_encoder_decoder else ("input_ids",)


@law
def test_nothing_is_seen_before_its_time(case):
    model = case.own().double()
    inputs = as_dtype(batch(rows(model, (7,))), torch.float64)
    before = results(model, inputs)[0]["logits"]
    names = set(target_names(model)) & inputs.keys()
    assert names
    for name in names:
        for position in (0, 3, 5):
            changed = {**inputs, name: inputs[name].clone()}
            changed[name][0, position] = 4 if inputs[name][0, position] != 4 else 3
            difference = (results(model, changed)[0]["logits"] - before).abs().amax(-1)
            assert not difference[:position].any()
            assert difference[position:].min() > 1e-9


@law
def test_steps_equal_one_pass(case):
    model = case.model()
    for side in ("right", "left"):
        inputs = batch(rows(model, (8, 6)), side)
        names = [name for name in target_names(model) if name in inputs]
        mask_name = "decoder_attention_mask" if model.config.is_encoder_decoder else "attention_mask"
        mask, length = inputs[mask_name], inputs[names[0]].shape[1]
        once = model(**inputs, use_cache=False)
        assert once.cache is None
        for cuts in ((4, 5), tuple(range(1, length))):  # a prompt, a step, several words; every word
            cache, pieces = None, []
            for start, end in zip((0, *cuts), (*cuts, length), strict=True):
                part = {name: inputs[name][:, start:end] for name in names}
                given = {**inputs, **part, mask_name: mask[:, :end]}
                with torch.no_grad():
                    out = model(**given, cache=cache, use_cache=True)
                cache = out.cache
                assert cache.get_seq_length() == end
                pieces.append(out.logits)
            found, real = torch.cat(pieces, 1), mask.bool()
            torch.testing.assert_close(found[real], once.logits[real], rtol=1e-4, atol=1e-5)


@law
def test_generation_needs_no_cache(case):
    model = case.model()
    inputs = batch(rows(model, (6, 6)))
    prompt = {name: value for name, value in inputs.items() if not name.startswith("decoder_")}
    options = {"do_sample": False, "max_new_tokens": 6, "min_new_tokens": 6, "pad_token_id": 0}
    with_cache = model.generate(**prompt, **options)
    assert with_cache.tolist() == model.generate(**prompt, **options, use_cache=False).tolist()
    assert with_cache.shape[1] == 6 + (1 if model.config.is_encoder_decoder else 6)
    for row in range(2):
        alone = model.generate(**{name: value[row : row + 1] for name, value in prompt.items()}, **options)
        assert alone[0].tolist() == with_cache[row].tolist()


WRITERS = [
    Case("complex_llama", "complex"),
    Case("complex_mamba", "complex"),
    Case("complex_recurrent_lm", "lstm"),
    Case("complex_transfo_xl", "modulus"),
    Case("complex_seq2seq", "modulus"),
]


def test_texts_end_where_a_table_of_positions_does():
    options = {**LEARNED, "max_position_embeddings": 9, "position_period": None}
    model = Case("complex_recurrent_lm", "lstm").build(**options).eval()
    ids, options = torch.full((1, 7), 4), {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    assert model.generate(ids, **options).shape[1] == 9
    with pytest.raises(ValueError, match="max_position_embeddings=9"):
        model.generate(ids, **options, max_new_tokens=5)


@pytest.mark.parametrize("case", [*WRITERS, Case("complex_seq2seq", "modulus"), Case("synconmt", "bahdanau")], ids=str)
def test_texts_end_at_a_string(case):
    model, tokenizer = case.model(), build_tokenizer(["a b"], "bpe", special_tokens="causal")
    prompt = {name: value for name, value in batch(rows(model, (4,))).items() if not name.startswith("decoder_")}
    options = {"do_sample": False, "max_new_tokens": 6, "pad_token_id": 0, "eos_token_id": None}
    plain = model.generate(**prompt, **options)[0]
    written = plain[-6:]
    stop = tokenizer.decode(written[2:3])
    assert len(stop) == 1
    found = model.generate(**prompt, **options, stop_strings=[stop], tokenizer=tokenizer)[0]
    count = written.tolist().index(written[2].item()) + 1
    assert found.tolist() == plain[: len(plain) - 6 + count].tolist()


def test_lookup_in_the_prompt_changes_no_token():
    model, ids = Case("complex_llama", "complex").model(), torch.tensor([[3, 4, 5, 6, 7]])
    options = {"max_new_tokens": 3, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    assert torch.equal(model.generate(ids, prompt_lookup_num_tokens=2, **options), model.generate(ids, **options))


@torch.no_grad()
def plain_beams(model, source, begin, count, length, penalty):
    """Beam search for all words but 0: every step scores every beam from the start; finished ones are set aside.

    A beam is its log probability, its words, and their relations where the model has them: that of a new word is
    predicted by the step that scores it. Best first; the log probabilities of new words are divided by their number
    to the power of ``penalty``.
    """
    has_relations = getattr(model.config, "use_relations", False)
    words, relations = target_names(model) if model.config.is_encoder_decoder else ("input_ids", None)

    def done(beam):
        return beam[0] / (len(beam[1]) - len(begin)) ** penalty, *beam[1:]

    running, finished = [(0.0, begin, [getattr(model.config, "decoder_start_relation_id", 0)])], []
    for _ in range(length):
        candidates = []
        for total, ids, kinds in running:
            target = {words: [ids], **({relations: [kinds]} if has_relations else {})}
            out = model(**source, **{name: torch.tensor(value) for name, value in target.items()}, use_cache=False)
            kind = 1 + int(out.relation_logits[0, -1, 1:].argmax()) if has_relations else 0  # 0 is that of padding
            scores = torch.log_softmax(out.logits[0, -1], -1).tolist()
            candidates += [(total + scores[word], [*ids, word], [*kinds, kind]) for word in range(1, len(scores))]
        best = sorted(candidates, key=lambda beam: -beam[0])[: 2 * count]
        running = [beam for beam in best if beam[1][-1] != END][:count]
        finished += [done(beam) for beam in best[:count] if beam[1][-1] == END]
        finished = sorted(finished, key=lambda beam: -beam[0])[:count]
    return sorted([*finished, *map(done, running)], key=lambda beam: -beam[0])[:count]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@law_of_families
def test_beam_search_equals_a_plain_reference(case, penalty):
    model = case.own().double()  # no ties within rounding
    inputs = as_dtype(batch(rows(model, (5, 5, 5))), torch.float64)
    source = {name: value for name, value in inputs.items() if not name.startswith("decoder_")}
    out = model.generate(
        **source,
        num_beams=3,
        num_return_sequences=2,
        max_new_tokens=5,
        do_sample=False,
        early_stopping="never",
        length_penalty=penalty,
        eos_token_id=END,
        pad_token_id=0,
        suppress_tokens=[0],
        return_dict_in_generate=True,
        output_scores=True,
    )
    for row in range(3):
        own, begin = {name: value[row : row + 1] for name, value in source.items()}, [START]
        if not model.config.is_encoder_decoder:
            own, begin = {}, own["input_ids"][0].tolist()
        for place, beam in enumerate(plain_beams(model, own, begin, 3, 5, penalty)[:2], 2 * row):
            score, *texts = beam
            assert float(out.sequences_scores[place]) == pytest.approx(score, abs=1e-4)
            for found, expected in zip((out.sequences, out.get("relations")), texts, strict=True):
                if found is not None:
                    assert found[place, : len(expected)].tolist() == expected
                    assert set(found[place, len(expected) :].tolist()) <= {0, END}


@pytest.mark.parametrize("angle", [3.141592653589793, 0.7])
@law_of_first
def test_a_common_phase_passes_through(case, angle):
    """Turning all inputs turns the states and leaves what is read off their moduli."""
    case = type(case)(case.family, "commuting")
    model = case.own().double()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.data.zero_()
    inputs = embedded(model, as_dtype(batch(rows(model), "left"), torch.float64))
    turned = {name: turn(value, angle) if name in numbers_of(inputs) else value for name, value in inputs.items()}
    for found, expected in zip(results(model, turned), results(model, inputs), strict=True):
        for name, value in expected.items():
            want = turn(value, angle) if "hidden" in name else value
            torch.testing.assert_close(found[name], want, rtol=1e-9, atol=1e-9, msg=name)


def turn(halves, angle):
    """``[..., real | imag]`` times exp(i angle)."""
    real, imag = halves.chunk(2, -1)
    angle = torch.tensor(angle, dtype=halves.dtype)
    return torch.cat([angle.cos() * real - angle.sin() * imag, angle.sin() * real + angle.cos() * imag], -1)
