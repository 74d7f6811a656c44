# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What stands beside a text, in its row or in other rows, changes nothing."""

import pytest
import torch
from laws import assert_same, gradients, law

from family_inputs import batch, embedded, mask_of, numbers_of, result, results, rows

CLOSE = 1e-5
NAN, INF = float("nan"), float("inf")
# What a mask may hold for a token.
YES = ((1, torch.bool), (1, torch.int32), (255, torch.uint8), (1, torch.float32), (0.5, torch.float32))


@law
def test_padding_changes_nothing(case):
    model = case.model()
    texts = rows(model)
    alone = [result(model, row) for row in texts]
    for side in ("left", "right"):
        for extra in (0, 3):
            for found, expected in zip(results(model, batch(texts, side, extra)), alone, strict=True):
                assert_same(found, expected, CLOSE)
    # The law would hold for a constant, too.
    other = result(model, rows(model, (6,), seed=2)[0])
    assert all((other[name] - value).abs().max() > 1e-3 for name, value in alone[0].items())


@law
def test_masks_are_of_any_dtype(case):
    model = case.model()
    inputs = batch(rows(model))
    expected = results(model, inputs)
    for yes, dtype in YES:
        masks = {name: (yes * value).to(dtype) for name, value in inputs.items() if name.endswith("mask")}
        for found, want in zip(results(model, {**inputs, **masks}), expected, strict=True):
            assert_same(found, want)


@law
def test_rows_do_not_see_each_other(case):
    for model in (case.model(), case.without_dropout()):
        texts = rows(model, (5, 5, 5))
        together = results(model, batch(texts))
        for order in ((0,), (2, 0), (1, 2, 0)):
            for found, place in zip(results(model, batch([texts[n] for n in order])), order, strict=True):
                assert_same(found, together[place], CLOSE)


@pytest.mark.parametrize("poison", [NAN, INF])
@law
def test_what_is_no_number_stays_in_its_row(case, poison):
    model = case.model()
    inputs = embedded(model, batch(rows(model, (5, 5, 5))))
    clean = results(model, inputs)
    for name in numbers_of(inputs):
        poisoned = {**inputs, name: inputs[name].clone()}
        poisoned[name][1, 2, 3] = poison
        found = results(model, poisoned)
        assert_same(found[0], clean[0])
        assert_same(found[2], clean[2])
        assert any(not torch.equal(value, clean[1][n]) for n, value in found[1].items())
        if poison != poison:
            assert any(value.isnan().any() for value in found[1].values())


def fill_padding(case, poison):
    """Padding of numbers changes no result and no gradient, and gets none."""
    model = case.own()
    inputs = embedded(model, batch(rows(model, labels=True), "left", 2))
    expected, filled = results(model, inputs), dict(inputs)
    padding = {name: inputs[mask_of(name)].unsqueeze(-1) == 0 for name in numbers_of(inputs)}
    for name, place in padding.items():
        filled[name] = inputs[name].masked_fill(place, poison).requires_grad_()
    for found, want in zip(results(model, filled), expected, strict=True):
        assert_same(found, want, CLOSE)
    assert all(value.isfinite().all() for value in gradients(model, filled).values())
    for name, place in padding.items():
        assert filled[name].grad.isfinite().all()
        assert not filled[name].grad.masked_select(place).any()


@law
def test_padding_holds_any_size(case):
    fill_padding(case, 0.0)
    fill_padding(case, 1e15)


@law
def test_padding_may_be_no_number(case):
    for poison in (1e30, INF, NAN):
        fill_padding(case, poison)


@law
def test_positions_are_counted_where_none_are_given(case):
    model = case.model()
    texts = rows(model, (6, 6))
    inputs, padded = batch(texts), batch(texts, "left", 2)
    positions = torch.arange(1, 7).expand(2, -1)
    expected = results(model, inputs)
    given = [
        results(model, {**inputs, "position_ids": positions}),
        results(model, {**padded, "position_ids": torch.nn.functional.pad(positions, (2, 0), value=1)}),
    ]
    for found in given:
        for row, want in zip(found, expected, strict=True):
            assert_same(row, want, CLOSE)
    moved = results(model, {**inputs, "position_ids": positions + 3})
    assert (moved[0]["hidden_states"] - expected[0]["hidden_states"]).abs().max() > 1e-3
    spread = {"position_ids": torch.tensor([[3, 1, 4, 1, 5, 9]] * 2)}  # the truth, whatever the mask says
    embeds = {"inputs_embeds": model.get_input_embeddings()(inputs["input_ids"], **spread).detach()}
    for row, want in zip(results(model, {**inputs, **spread}), results(model, embeds), strict=True):
        assert_same(row, want, CLOSE)


@law
def test_embeddings_stand_for_ids(case):
    model = case.model()
    for texts in (rows(model), rows(model, (5, 5))):
        inputs = batch(texts, "left")
        given = embedded(model, inputs)
        assert any(name.endswith("inputs_embeds") for name in given)
        for found, expected in zip(results(model, given), results(model, inputs), strict=True):
            assert_same(found, expected, CLOSE)
