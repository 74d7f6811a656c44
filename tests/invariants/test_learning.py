# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training: gradients that are slopes, the same loss however a batch is cut, no NaN from any seed.

Evaluation repeats.
"""

import functools

import pytest
import torch
from laws import FIRST, as_dtype, assert_same, gradients, law, law_of_families, law_of_first, loss_of

from families import CASES, START, WRITER
from family_inputs import assert_slopes, batch, results, rows

law_of_writers = functools.partial(law, cases=[case for case in CASES if case.head[0] == WRITER])

# Softmax does not change where all keys move alike.
WITHOUT_EFFECT = ("k_proj.bias",)

# The other families differ by layers, whose gradients are those of tests/nn.
WRITERS = ("complex_seq2seq", "complex_transfo_xl", "synconmt")
SLOPES = [case for case in CASES if case.is_default or case.family in WRITERS]
law_of_slopes = functools.partial(
    law, cases=SLOPES, rest=[case for case in SLOPES if case not in FIRST], rest_mark=pytest.mark.slow
)


@law
def test_every_parameter_learns(case):
    model = case.without_dropout()
    found = gradients(model, batch(rows(model, labels=True)))
    assert found.keys() == {name for name, _ in model.named_parameters()}
    for name, value in found.items():
        assert value.isfinite().all(), name
        assert value.any() or name.endswith(WITHOUT_EFFECT), name


@law_of_slopes
def test_gradients_are_slopes_of_the_loss(case):
    model = case.own().double()
    inputs = as_dtype(batch(rows(model, (6, 6), labels=True)), torch.float64)

    def loss():
        found = loss_of(model, inputs)
        # Losses of Transformers are float32, of which no slope can be seen.
        return found if found.dtype == torch.float64 else model(**inputs).logits.square().mean()

    assert_slopes(model, loss)


@law_of_writers
def test_labels_make_the_decoder_inputs(case):
    model = case.model()
    inputs = {name: value for name, value in batch(rows(model, labels=True)).items() if "decoder" not in name}
    labels = inputs["labels"]
    assert (labels == -100).any()
    before = torch.nn.functional.pad(labels, (1, -1), value=START)
    shifted = model.prepare_decoder_input_ids_from_labels(labels)
    assert torch.equal(shifted, before.where(before != -100, 0))
    # A collator of Transformers makes the words alone.
    assert torch.equal(model(**inputs).loss, model(**inputs, decoder_input_ids=shifted).loss)


@law
def test_the_loss_does_not_depend_on_how_a_batch_is_cut(case):
    model = case.own()
    texts = rows(model, (6, 4, 7, 5), labels=True)
    whole = batch(texts)
    if "labels" not in whole:
        pytest.skip("a model without a head has no loss")
    pieces = [batch(texts[:1]), batch(texts[1:3], "left"), batch(texts[3:])]
    if getattr(model, "accepts_loss_kwargs", None) is False:  # a mean, or for CTC a sum, over rows
        summed = getattr(model.config, "ctc_loss_reduction", None) == "sum" and type(model).__name__.endswith("CTC")
        shares = [1.0 if summed else len(piece["labels"]) / 4 for piece in pieces]
        losses = [share * loss_of(model, piece) for share, piece in zip(shares, pieces, strict=True)]
    else:  # Trainer counts the labels of all pieces
        shift = 1 if type(model).__name__.endswith("ForCausalLM") else 0
        items = (whole["labels"][:, shift:] != -100).sum()
        losses = [loss_of(model, piece, num_items_in_batch=items) for piece in pieces]
    torch.testing.assert_close(sum(losses), loss_of(model, whole), rtol=1e-5, atol=1e-5)
    expected = gradients(model, whole)
    model.zero_grad()
    sum(losses).backward()
    for name, value in expected.items():
        torch.testing.assert_close(model.get_parameter(name).grad, value, rtol=1e-4, atol=1e-4, msg=name)


@law_of_families
def test_a_derived_class_learns_alike(case):
    model = case.own()
    inputs = batch(rows(model, labels=True))
    if "labels" not in inputs:
        pytest.skip("a model without a head has no loss")
    derived = type("Own", (type(model),), {})(model.config).eval()  # a name that says nothing of its loss
    derived.load_state_dict(model.state_dict())
    assert torch.equal(derived(**inputs).loss, model(**inputs).loss)


@law
def test_evaluation_repeats_and_training_has_dropout(case):
    model = case.own()
    inputs = batch(rows(model))
    for found, expected in zip(results(model, inputs), results(model, inputs), strict=True):
        assert_same(found, expected)
    model.train()
    first, second = (results(model, inputs)[0] for _ in range(2))
    assert any(not torch.equal(first[name], second[name]) for name in first)


@law_of_families
def test_every_dropout_acts_by_itself(case):
    names = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
    if case.head[0].endswith("Classification"):
        names.append("classifier_dropout")
    for name in names:
        if not hasattr(case.config(), name):
            continue
        model = case.without_dropout(**{name: 0.5})
        inputs = batch(rows(model))
        first, second = (results(model, inputs)[0] for _ in range(2))
        assert any(not torch.equal(first[key], second[key]) for key in first), name


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 20), marks=pytest.mark.slow)], ids=str)
@law_of_families
def test_no_seed_diverges_at_once(case, seeds):
    for seed in seeds:
        model = case.build(seed=seed).train()
        inputs = batch(rows(model, labels=True, seed=seed))
        assert all(value.isfinite().all() for value in gradients(model, inputs).values())
        torch.optim.Adam(model.parameters(), lr=1e-2).step()
        assert loss_of(model, inputs).isfinite()
        assert all(value.isfinite().all() for value in model.parameters())


@law_of_first
def test_the_real_twin_has_the_widths_and_no_imaginary_part(case):
    model = case.build()
    changes = {}
    if getattr(model.config, "embedding_type", "").startswith("complex") or case.head[1].get("decoder"):
        changes["embedding_type"] = "word"
    config = model.config.real_twin(**changes)
    twin = case.model_class(config).eval()
    assert config.real_twin().to_dict() == config.to_dict()
    assert model.config.number_field == "complex"  # unchanged
    assert not any(part in name for name, _ in twin.named_parameters() for part in (".imag", ".real"))
    layers = [type(m) for m in twin.modules() if ".nn." in type(m).__module__]
    assert not [layer for layer in layers if layer.__name__.startswith("Complex")]
    for found, expected in zip(results(twin, batch(rows(twin))), results(model, batch(rows(model))), strict=True):
        assert {name: value.shape for name, value in found.items()} == {n: v.shape for n, v in expected.items()}

    def weights(module):
        kept = [(name, p.numel()) for name, p in module.model.named_parameters() if p.dim() > 1]
        return sum(
            size
            for name, size in kept
            if "embed_tokens" not in name and not name.endswith(("words.weight", "vectors"))
        )

    assert weights(twin) > weights(model) > 0 or weights(twin) == weights(model) == 0
