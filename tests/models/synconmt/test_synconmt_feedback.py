# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Whose relations the decoder reads while training, and the schedule of that and of alpha."""

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from small_synconmt import build, labels_of, source_of
from test_synconmt_training import trainer

from complex_transformers import RelationSchedule
from complex_transformers.models.synconmt import modeling_synconmt
from families import Case

LENGTH = 6


def batch(model):
    torch.manual_seed(5)
    labels = labels_of(model, LENGTH, 3)
    for name in labels:
        labels[name][1, 4:] = -100
    return {**source_of(model, 5, 3), **labels}


def relations_read(model, inputs):
    """What reaches the decoder in the last of its calls, and how many calls there were."""
    calls = []
    handle = model.model.decoder.register_forward_pre_hook(
        lambda module, args, kwargs: calls.append(kwargs["relation_ids"]), with_kwargs=True
    )
    model(**inputs)
    handle.remove()
    return calls[-1], len(calls)


def own_relations(model, inputs):
    """Word by word: what the model predicts behind true relations."""
    gold = model.prepare_decoder_relation_ids_from_labels(inputs["relation_labels"])
    words = model.prepare_decoder_input_ids_from_labels(inputs["labels"])
    source = {name: value for name, value in inputs.items() if "labels" not in name}
    rows = [gold[:, 0]]
    with torch.no_grad():
        for t in range(1, LENGTH):
            out = model(**source, decoder_input_ids=words[:, :t], decoder_relation_ids=gold[:, :t])
            rows.append(out.relation_logits[:, -1, 1:].argmax(-1) + 1)  # 0 is that of padding
    return torch.stack(rows, dim=1).where(gold != model.config.pad_relation_id, gold), gold


@pytest.mark.parametrize("changes", [{}, {"attention_type": "luong"}, {"number_field": "real"}], ids=str)
def test_own_relations_are_those_a_step_by_step_reader_predicts(changes):
    model = build(relation_feedback="predicted", hidden_dropout_prob=0.3, **changes)
    inputs = batch(model)
    own, gold = own_relations(model, inputs)
    assert (own != gold).any()
    found, calls = relations_read(model, inputs)
    assert torch.equal(found, own)
    assert calls == 2
    model.train()
    model.model.encoder.eval()  # frozen by hand: stays as it is
    found, _ = relations_read(model, inputs)
    assert torch.equal(found, own)
    assert model.training
    assert not model.model.encoder.training
    assert not model.model.encoder.dropout.training


def test_mixed_relations_are_its_own_as_often_as_the_schedule_says():
    model = build(relation_feedback="mixed").train()
    inputs = {name: value.repeat(300, 1) for name, value in batch(model).items()}
    own, gold = own_relations(model.eval(), inputs)
    differ = own != gold
    model.train()
    assert torch.equal(relations_read(model, inputs)[0], gold)
    assert relations_read(model, inputs)[1] == 1  # nothing to find out
    model.own_relations = 0.3
    found, _ = relations_read(model, inputs)
    assert ((found == own) | (found == gold)).all()
    assert (found[differ] == own[differ]).float().mean().item() == pytest.approx(0.3, abs=0.05)


def test_true_relations_and_given_ones_are_read_as_they_are():
    model = build().train()
    inputs = batch(model)
    gold = model.prepare_decoder_relation_ids_from_labels(inputs["relation_labels"])
    found, calls = relations_read(model, inputs)
    assert torch.equal(found, gold)
    assert calls == 1
    model = build(relation_feedback="predicted", alpha=1.0)
    given = {**inputs, "decoder_relation_ids": gold.flip(0)}
    del given["relation_labels"]
    assert torch.equal(relations_read(model, given)[0], gold.flip(0))


def test_schedule_raises_both_and_evaluation_has_the_last_alpha(tmp_path):
    model, seen = build(relation_feedback="mixed", alpha=0.9, hidden_dropout_prob=0.0), []
    run = trainer(model, tmp_path, max_steps=5)
    run.add_callback(RelationSchedule(own_relations=0.8, alpha_start=0.4))
    model.register_forward_pre_hook(lambda *_: seen.append((model.own_relations, model.training_alpha)))
    run.train()
    assert [pytest.approx((0.8 * t / 5, 0.4 + 0.5 * t / 5)) for t in range(5)] == seen
    inputs = batch(model)
    model.eval()
    fixed = build(relation_feedback="mixed", alpha=0.9)
    fixed.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(**inputs).loss, fixed(**inputs).loss)
    model.train()
    model.own_relations = 0.0  # what is read must not differ
    model.training_alpha = 1.0
    words = model(**inputs).loss
    model.training_alpha = 0.0
    relations = model(**inputs).loss
    model.training_alpha = 0.25
    torch.testing.assert_close(model(**inputs).loss, 0.25 * words + 0.75 * relations)


def test_mixed_relations_without_a_share_are_true_ones_with_a_warning(monkeypatch):
    said = []
    monkeypatch.setattr(modeling_synconmt.logger, "warning_once", said.append)
    model = build(relation_feedback="mixed", hidden_dropout_prob=0.0)
    inputs = batch(model)
    gold = model.prepare_decoder_relation_ids_from_labels(inputs["relation_labels"])
    model(**inputs)
    assert said == []  # evaluation reads its own
    found, _ = relations_read(model.train(), inputs)
    assert torch.equal(found, gold)
    (text,) = said
    assert "relation_feedback='mixed'" in text
    assert "RelationSchedule()" in text
    model.own_relations = 0.0
    model(**inputs)
    assert len(said) == 1


def test_bad_values():
    for changes, message in {
        "own": ({"relation_feedback": "own"}, r"relation_feedback must be one of \['gold', 'mixed', 'predicted'\]"),
    }.values():
        with pytest.raises(StrictDataclassClassValidationError, match=message):
            Case("synconmt", "bahdanau").config(**changes)
    for name in ("own_relations", "alpha_start"):
        with pytest.raises(ValueError, match=rf"{name} must be in \[0, 1\], got 1.5"):
            RelationSchedule(**{name: 1.5})


@pytest.mark.parametrize(
    ("changes", "share", "message"),
    [
        (
            {"number_field": "real", "use_relations": False},
            None,
            "model must have use_relations=True",
        ),
        (
            {"relation_feedback": "gold"},
            0.5,
            "relation_feedback must be 'mixed' with own_relations, got 'gold'",
        ),
    ],
    ids=["words", "gold"],
)
def test_a_schedule_that_would_do_nothing(tmp_path, changes, share, message):
    run = trainer(build(**changes), tmp_path, max_steps=1)
    run.add_callback(RelationSchedule(share))
    with pytest.raises(ValueError, match=message):
        run.train()
