# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding against plain references: causality, positions, padding, caches and beams."""

import math
import subprocess
import sys

import pytest
import torch
from small_seq2seq import END, START, VARIANTS, build, logits, text
from transformers import AutoModelForSeq2SeqLM

from complex_transformers import ComplexSeq2SeqForConditionalGeneration

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())


def reference_beams(model, source, beams, length, penalty):
    """Beam search over whole sequences: every step scores every beam from the start; finished ones are set aside.

    Best first: texts and log probabilities divided by length ** penalty, the start token not counted.
    """
    running, finished = [(0.0, [START])], []
    for _ in range(length):
        candidates = []
        for total, ids in running:
            scores = torch.log_softmax(logits(model, source, torch.tensor([ids]))[0, -1], -1)
            candidates += [(total + float(scores[word]), [*ids, word]) for word in range(len(scores))]
        candidates.sort(key=lambda item: -item[0])
        best = candidates[: 2 * beams]
        running = [item for item in best if item[1][-1] != END][:beams]
        finished += [(total / (len(ids) - 1) ** penalty, ids) for total, ids in best[:beams] if ids[-1] == END]
        finished = sorted(finished, key=lambda item: -item[0])[:beams]
    finished += [(total / (len(ids) - 1) ** penalty, ids) for total, ids in running]
    return sorted(finished, key=lambda item: -item[0])[:beams]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@every_variant
def test_beam_search_equals_a_plain_reference(changes, penalty):
    model = build(**changes)
    model.double()  # no ties within rounding
    source = text(5, batch=3)
    out = model.generate(
        source,
        num_beams=3,
        num_return_sequences=3,
        max_new_tokens=5,
        do_sample=False,
        early_stopping="never",
        length_penalty=penalty,
        return_dict_in_generate=True,
        output_scores=True,
    )
    for row in range(3):
        expected = reference_beams(model, source[row : row + 1], 3, 5, penalty)
        for index, (score, ids) in enumerate(expected):
            found = out.sequences[3 * row + index].tolist()
            assert found[: len(ids)] == ids
            assert all(token == 0 for token in found[len(ids) :])
            assert float(out.sequences_scores[3 * row + index]) == pytest.approx(score, abs=1e-4)


def test_sampling_follows_the_probabilities():
    model = build()
    source = text(5)
    probability = torch.softmax(logits(model, source, torch.tensor([[START]]))[0, -1], -1)
    torch.manual_seed(0)
    drawn = model.generate(source.expand(2000, -1), do_sample=True, top_k=0, max_new_tokens=1)[:, -1]
    counts = torch.bincount(drawn, minlength=len(probability)) / 2000
    assert (counts - probability).abs().max() < 5 * math.sqrt(0.25 / 2000)
    assert counts.max() < 0.9


_SERVE = """
import sys, torch
import complex_transformers
from transformers import AutoModelForSeq2SeqLM
model = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1], dtype=sys.argv[2])
source = torch.load(sys.argv[1] + "/source.pt")
print(model.generate(source, num_beams=3, max_new_tokens=6).tolist())
"""


@every_variant
def test_beginnings_behind_padding_go_on_as_without_it(changes):
    model = build(**changes)
    source = text(6, batch=2)
    options = {"max_new_tokens": 4, "eos_token_id": None, "output_logits": True, "return_dict_in_generate": True}
    beginning = torch.tensor([[START, 9], [START, 4]])
    padded = torch.nn.functional.pad(beginning, (2, 0))
    alone = model.generate(source, decoder_input_ids=beginning, **options)
    out = model.generate(source, decoder_input_ids=padded, decoder_attention_mask=padded.ne(0).long(), **options)
    assert torch.equal(out.sequences[:, 2:], alone.sequences)
    assert torch.equal(out.sequences[:, :2], torch.zeros(2, 2, dtype=torch.long))
    torch.testing.assert_close(torch.stack(out.logits), torch.stack(alone.logits), rtol=1e-5, atol=1e-5)
    without = padded.masked_fill(padded == START, 0)  # Transformers puts the start token before it
    out = model.generate(source, decoder_input_ids=without, decoder_attention_mask=without.ne(0).long(), **options)
    torch.testing.assert_close(torch.stack(out.logits), torch.stack(alone.logits), rtol=1e-5, atol=1e-5)
    mixed = torch.stack([padded[0], without[1]])
    with pytest.raises(ValueError, match=r"row\(s\) \[1\] of decoder_input_ids do not begin with"):
        model.generate(source, decoder_input_ids=mixed, decoder_attention_mask=mixed.ne(0).long(), **options)


def test_beginnings_are_not_read_in_chunks():
    with pytest.raises(ValueError, match="prefill_chunk_size=2 is for models without an encoder"):
        build().generate(text(6), decoder_input_ids=text(5), prefill_chunk_size=2, max_new_tokens=2)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_new_process_generates_the_same(tmp_path, dtype):
    model = build(share_embeddings=False).to(getattr(torch, dtype))
    model.generation_config.num_beams = 2
    source = text(5, batch=4)
    model.save_pretrained(tmp_path)
    torch.save(source, tmp_path / "source.pt")
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=dtype)
    assert isinstance(again, ComplexSeq2SeqForConditionalGeneration)
    assert again.generation_config.num_beams == 2
    expected = model.generate(source, num_beams=3, max_new_tokens=6).tolist()
    assert again.generate(source, num_beams=3, max_new_tokens=6).tolist() == expected
    done = subprocess.run(
        [sys.executable, "-c", _SERVE, str(tmp_path), dtype], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().splitlines()[-1] == str(expected)
