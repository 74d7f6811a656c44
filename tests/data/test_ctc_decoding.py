# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Beam search for CTC against all alignments, and the language models that it uses."""

from collections import defaultdict
from itertools import groupby, product
from math import log

import numpy as np
import pytest
import torch

from complex_transformers import (
    CausalCharacterModel,
    CharacterNGram,
    ComplexRecurrentLMConfig,
    ComplexRecurrentLMForCausalLM,
    CTCBeamSearchDecoder,
    build_ctc_tokenizer,
    build_tokenizer,
)

TEXTS = ["abba", "aab", "b", "abb"]
TOKENIZER = build_ctc_tokenizer(TEXTS)  # <pad> (the blank), <unk>, |, a, b
NAMES = "-?|ab"
FRAMES = 6


def every_alignment(log_probs: np.ndarray) -> dict[str, float]:
    """P(l | x) of every transcript l: the sum over all sequences of frames that collapse to l."""
    found: dict[str, float] = defaultdict(float)
    for path in product((0, 3, 4), repeat=len(log_probs)):
        merged = "".join(NAMES[symbol] for symbol, _ in groupby(path)).replace("-", "")
        found[merged] += np.exp(sum(frame[symbol] for frame, symbol in zip(log_probs, path, strict=True)))
    return found


def smoothed(history: str, character: str) -> float:
    """P(c | h) of Witten-Bell smoothing by its recursive formula; ``<`` starts a text and ``>`` ends it."""
    padded = [f"<{text}>" for text in TEXTS]
    ends = [(text, i) for text in padded for i in range(1, len(text)) if text[:i].endswith(history)]
    after = [text[i] for text, i in ends]
    below = smoothed(history[1:], character) if history else 1 / 4  # |, a, b and the end
    return (after.count(character) + len({*after}) * below) / (len(after) + len({*after})) if after else below


def likelihood(text: str, order: int) -> float:
    """Log P(text), its end included, of an n-gram model."""
    padded = f"<{text}>"
    histories = [padded[max(0, i - order + 1) : i] for i in range(1, len(padded))]
    return sum(log(smoothed(h, c)) for h, c in zip(histories, padded[1:], strict=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("weight", "bonus"), [(0.0, 0.0), (0.7, 0.4)])
def test_a_wide_beam_finds_the_best_of_all_alignments(seed: int, weight: float, bonus: float) -> None:
    logits = 2 * torch.randn(FRAMES, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    logits[:, 2] = -torch.inf  # texts are stripped of spaces, so that several transcripts would have one text
    expected = every_alignment(logits.log_softmax(-1).numpy())
    scores = {text: log(p) + weight * likelihood(text, 3) + bonus * len(text) for text, p in expected.items()}
    language_model = CharacterNGram(TEXTS, order=3) if weight else None
    decoder = CTCBeamSearchDecoder(TOKENIZER, 500, language_model, weight, bonus)
    found = decoder.decode_beams(logits)
    assert {each.text for each in found} == {*expected}
    assert [each.text for each in found[:5]] == sorted(scores, key=lambda text: -scores[text])[:5]
    for each in found:
        assert each.log_probability == pytest.approx(log(expected[each.text]), abs=1e-9)
        assert each.score == pytest.approx(scores[each.text], abs=1e-9)
    narrow = CTCBeamSearchDecoder(TOKENIZER, 3, language_model, weight, bonus).decode_beams(logits)
    assert len(narrow) == 3
    assert all(each.log_probability <= log(expected[each.text]) + 1e-9 for each in narrow)


def test_one_beam_is_greedy_decoding_where_frames_are_sure() -> None:
    generator = torch.Generator().manual_seed(0)
    best = torch.randint(5, (30, 40), generator=generator)
    best[best == 1] = 0  # never <unk>
    probabilities = torch.full((30, 40, 5), 0.04).scatter(2, best.unsqueeze(-1), 0.84)
    found = CTCBeamSearchDecoder(TOKENIZER, num_beams=1).batch_decode(probabilities.log())
    assert found == TOKENIZER.batch_decode(best)
    assert len({*found}) == 30


def test_batches_and_padded_frames_change_nothing() -> None:
    logits = torch.randn(3, 20, 5, generator=torch.Generator().manual_seed(0))
    padding = torch.full((5, 5), -1e4)
    padding[:, 0] = 0  # as a CTC head writes it
    for decoder in (
        CTCBeamSearchDecoder(TOKENIZER),
        CTCBeamSearchDecoder(TOKENIZER, 4, CharacterNGram(TEXTS), length_bonus=1.0),
    ):
        alone = [decoder.decode(clip) for clip in logits]
        assert decoder.batch_decode(logits.numpy()) == alone
        assert [decoder.decode(torch.cat([clip, padding])) for clip in logits] == alone
        assert [decoder.decode(torch.cat([padding, clip])) for clip in logits] == alone
        assert all(alone)


def test_n_grams_are_smoothed_as_in_the_formula() -> None:
    for order in (1, 2, 4):
        language_model = CharacterNGram(iter(TEXTS), order)
        for text in ("", "a", "ab", "bbb", "abba"):
            found = language_model(text, ["|", "a", "b"])
            history = f"<{text}"[max(0, len(text) + 2 - order) :]
            assert np.exp(found).tolist() == pytest.approx([smoothed(history, c) for c in "|ab>"], abs=1e-12)
            assert np.exp(found).sum() == pytest.approx(1)


def test_a_causal_model_gives_the_likelihood_of_its_loss() -> None:
    tokenizer = build_tokenizer(TEXTS, kind="character", append_eos="stream", lowercase=False)
    torch.manual_seed(0)
    config = ComplexRecurrentLMConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=1,
        **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")},
    )
    language_model = CausalCharacterModel(ComplexRecurrentLMForCausalLM(config).eval(), tokenizer)
    places = {"a": 0, "b": 1}
    steps = [language_model("abb"[:i], "ab")[places["abb"[i]]] for i in range(3)]
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(["</s>", "a", "b", "b", "</s>"])])
    loss = language_model.model(input_ids=ids, labels=ids).loss.item()
    assert sum(steps) + language_model("abb", "ab")[-1] == pytest.approx(-4 * loss, abs=1e-5)
