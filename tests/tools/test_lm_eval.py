# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The causal models under lm-eval, whose ``HFLM`` asks the tokenizer for an end token."""

import pytest
import torch

from complex_transformers import build_tokenizer
from families import Case

Instance = pytest.importorskip("lm_eval.api.instance", reason="optional: make test-tools").Instance
TEXTS = ["the cat sat on the mat", "a quick brown fox jumps", "dogs of wizards bark very glibly"]
STOP = {"until": ["zz"], "max_gen_toks": 3}


def requests(kind, *arguments):
    return [Instance(kind, {}, given, 0) for given in arguments]


@pytest.mark.tool("lm-eval", "`HFLM`: likelihoods of continuations and texts, generated texts")
@pytest.mark.parametrize("preset", ["causal", "end"])
@pytest.mark.parametrize(
    ("family", "variant"),
    [
        ("complex_llama", "complex"),
        ("complex_llama", "real"),
        ("complex_mamba", "complex"),
        ("complex_transfo_xl", "modulus"),
        ("complex_recurrent_lm", "lstm"),
        ("complex_recurrent_lm", "adaptive lru"),
    ],
)
def test_likelihoods_are_those_of_the_model(family, variant, preset):
    from lm_eval.models.huggingface import HFLM

    tokenizer = build_tokenizer(TEXTS, "character", special_tokens=preset)
    ids = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    model = Case(family, variant).build(vocab_size=len(tokenizer), **ids)
    scorer = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=2, max_length=64)

    def likelihood(prefix, words):
        """log p of ``words`` after ``prefix``."""
        with torch.no_grad():
            logits = model(torch.tensor([[*prefix, *words]])).logits[0].log_softmax(-1)
        places = range(len(prefix) - 1, len(prefix) + len(words) - 1)
        return sum(float(logits[place, word]) for place, word in zip(places, words, strict=True))

    def encode(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    pairs = [("the cat", " sat"), ("a", " quick fox"), ("dogs bark", " at glib cats")]
    expected = [likelihood(encode(context), encode(words)) for context, words in pairs]
    found = [value for value, _ in scorer.loglikelihood(requests("loglikelihood", *pairs))]
    assert found == pytest.approx(expected, rel=1e-4)
    first = [scorer.prefix_token_id]
    expected = [likelihood(first, encode(text)) for text in TEXTS]
    rolled = scorer.loglikelihood_rolling(requests("loglikelihood_rolling", *((text,) for text in TEXTS)))
    assert rolled == pytest.approx(expected, rel=1e-4)
    written = scorer.generate_until(requests("generate_until", *((text, STOP) for text in TEXTS)))
    assert len(written) == len(TEXTS)
