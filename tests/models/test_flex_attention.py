# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``flex_attention``, which PyTorch compiles, for scores that are dot products of halves."""

import pytest
import torch

from families import AMPLITUDES, REAL_SCORE, Case
from family_inputs import batch, results, rows

ENCODERS = [("complex_order", "lifted"), ("complex_order", "real")]
DECODERS = [
    ("complex_llama", "complex"),
    ("complex_llama", "widely linear"),
    ("complex_seq2seq", "real score"),
    ("complex_seq2seq", "real"),
]
MANY_TEXTS = {"position_ids": torch.tensor([[0, 1, 0, 0, 1, 2, 3, 4, 5]])}


@pytest.fixture
def as_it_is():
    """What would be compiled runs as it is written."""
    with torch.compiler.set_stance("force_eager"):
        yield


def pair(family, variant, other="eager"):
    case = Case(family, variant)
    models = [case.trained(attn_implementation=name) for name in (other, "flex_attention")]
    assert models[1].config._attn_implementation == "flex_attention"
    return models


def assert_same(models, *batches):
    """In evaluation: on the CPU ``flex_attention`` has no gradient."""
    other, flex = models
    for inputs in batches:
        for found, expected in zip(results(flex, inputs), results(other, inputs), strict=True):
            for name, value in found.items():
                torch.testing.assert_close(value, expected[name], atol=2e-5, rtol=1e-4, msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "variant"), ENCODERS)
def test_flex_attention_is_sdpa(family, variant):
    """Padding and rows of several texts have masks of blocks."""
    models = pair(family, variant, "sdpa")
    packed = {**batch(rows(models[0], (9,))), **MANY_TEXTS}
    assert_same(models, batch(rows(models[0])), batch(rows(models[0], (5, 5))), packed)


@pytest.mark.usefixtures("as_it_is")
@pytest.mark.parametrize(("family", "variant"), DECODERS)
def test_decoders(family, variant):
    """A decoder is causal, one of a pair looks at its source as well; padding on either side."""
    models = pair(family, variant)
    texts = rows(models[0])
    assert_same(models, batch(texts), batch(texts, "left"), batch(rows(models[0], (5, 5))))


@pytest.mark.usefixtures("as_it_is")
@pytest.mark.parametrize(("family", "variant"), [DECODERS[0], DECODERS[2]])
def test_texts_written_with_a_cache(family, variant):
    models = pair(family, variant)
    texts = batch(rows(models[0]), "left")
    source = {name: value for name, value in texts.items() if not name.startswith("decoder")}
    written = [model.generate(**source, max_new_tokens=4, do_sample=False) for model in models]
    assert torch.equal(*written)


@pytest.mark.usefixtures("as_it_is")
@pytest.mark.parametrize(("family", "variant"), [ENCODERS[1], DECODERS[0]])
@pytest.mark.parametrize("texts", [1, 2])
def test_masks_of_scores(family, variant, texts):
    """A boolean mask says which keys are seen, one of numbers is added, one for all texts is theirs."""
    models = pair(family, variant)
    inputs = batch(rows(models[0], (5, 5)))
    seen = torch.ones(5, 5).tril().bool().expand(texts, 1, 5, 5).clone()
    seen[..., 3:, :3] = False  # two texts in a row
    for mask in (seen, torch.where(seen, 0.0, -1e30)):
        with torch.no_grad():
            expected, found = (model(**inputs, attention_mask=mask).logits for model in models)
        torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("changes", [{}, {**REAL_SCORE, **AMPLITUDES}])
def test_other_attention_is_refused_by_name(changes):
    message = r"flex_attention' needs attention_score='real' or 'cosine' and attention_normalization='softmax'"
    case = Case("complex_order", "words")
    with pytest.raises(ValueError, match=message):
        case.build(attn_implementation="flex_attention", **changes)
    model = case.build(**changes)
    with pytest.raises(ValueError, match=message):
        model.set_attn_implementation("flex_attention")
    assert model.config._attn_implementation == "sdpa"


def test_families_without_it_say_so():
    with pytest.raises(ValueError, match="does not support an attention implementation through torch's flex"):
        Case("complex_transfo_xl", "adaptive").build(attn_implementation="flex_attention")
