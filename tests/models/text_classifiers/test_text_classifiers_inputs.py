# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers: what goes in and comes out, wrong inputs, the vocabulary."""

import pytest
import torch
from small_classifiers import FAMILIES, FIELDS, classifier, first, model, text

from complex_transformers.nn import from_complex

# family -> changes, width of the last hidden state, of the pooled features, recorded hidden states
SHAPES = [
    ("fasttext", {}, 16, 12, [16]),
    ("cnn", {}, 30, 12, [16, 30]),
    ("rnn", {"bidirectional": True, "num_hidden_layers": 2}, 24, 24, [16, 24, 24]),
    ("gcn", {}, 12, 12, [16, 12, 12]),
]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes", "hidden", "pooled", "recorded"), SHAPES)
def test_outputs(family, changes, hidden, pooled, recorded, field):
    head = classifier(family, number_field=field, **changes)
    ids, mask = text(5, batch=2), torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    inputs = {"input_ids": ids, "attention_mask": mask}
    out = head.model(**inputs)
    assert out.last_hidden_state.shape == (2, 5, hidden)
    assert out.pooler_output.shape == (2, pooled)
    torch.testing.assert_close(head(**inputs).logits, head.classifier(out.pooler_output))
    assert head(**inputs).hidden_states is None
    states = head(**inputs, output_hidden_states=True).hidden_states
    assert [state.shape for state in states] == [(2, 5, width) for width in recorded]
    torch.testing.assert_close(states[-1], out.last_hidden_state)
    embeds = head.get_input_embeddings()(ids, attention_mask=mask)
    torch.testing.assert_close(states[0][mask == 1], embeds[mask == 1])
    logits, states = head(**inputs, output_hidden_states=True, return_dict=False)
    assert logits.shape == (2, 3)
    assert len(states) == len(recorded)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("problem", "labels", "loss"),
    [
        ("single_label_classification", torch.tensor([0, 2]), torch.nn.functional.cross_entropy),
        ("multi_label_classification", torch.rand(2, 3), torch.nn.functional.binary_cross_entropy_with_logits),
        ("regression", torch.randn(2, 3), torch.nn.functional.mse_loss),
    ],
)
def test_losses(family, problem, labels, loss):
    head = classifier(family, problem_type=problem, readout="concat")
    out = head(input_ids=text(4, batch=2), labels=labels)
    torch.testing.assert_close(out.loss, loss(out.logits, labels))


@pytest.mark.parametrize("family", FAMILIES)
def test_dropout_acts_in_training_alone(family):
    head = classifier(family, hidden_dropout_prob=0.5, classifier_dropout=0.0)
    ids = text(6)
    assert torch.equal(first(head, input_ids=ids), first(head, input_ids=ids))
    head.train()
    assert not torch.equal(first(head, input_ids=ids), first(head, input_ids=ids))
    head = classifier(family, hidden_dropout_prob=0.0, classifier_dropout=0.5).train()
    assert torch.equal(first(head.model, input_ids=ids), first(head.model, input_ids=ids))
    assert not torch.equal(first(head, input_ids=ids), first(head, input_ids=ids))


@pytest.mark.parametrize("bad", [-1, 40])
@pytest.mark.parametrize("family", FAMILIES)
def test_ids_outside_the_vocabulary(family, bad):
    with pytest.raises(ValueError, match=rf"\[0, 40\), got {bad}.*resize_token_embeddings"):
        classifier(family)(input_ids=torch.tensor([[5, bad, 7]]))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_inputs_no_text_model_can_use(family, field):
    head = classifier(family, number_field=field, embedding_type="learned_position", max_position_embeddings=6)
    ids, embeds = text(4, batch=2), torch.randn(2, 4, 16)
    halves = torch.randn(2, 4, 8, dtype=torch.complex64)
    cases = [
        ({}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids, "inputs_embeds": embeds}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids[0]}, ValueError, r"\[batch, length\], got shape \(4,\)"),
        ({"input_ids": ids.float()}, TypeError, "integers .*, got dtype torch.float32"),
        ({"input_ids": ids[:, :0]}, ValueError, r"empty.*\(2, 0\).*leave out empty texts"),
        ({"inputs_embeds": embeds[:, :0]}, ValueError, r"empty.*\(2, 0\).*leave out empty texts"),
        ({"inputs_embeds": torch.randn(2, 4, 8)}, ValueError, r"hidden_size=16\], got \(2, 4, 8\)"),
        ({"inputs_embeds": halves}, TypeError, r"halves, got dtype torch.complex64.*from_complex"),
        ({"input_ids": text(7)}, ValueError, "max_position_embeddings=6.*7.*shorter text"),
    ]
    for inputs, error, message in cases:
        with pytest.raises(error, match=message):
            head(**inputs)
    assert first(head, inputs_embeds=from_complex(halves)).isfinite().all()  # the remedy


def test_graph_that_does_not_fit():
    head = classifier("gcn")
    ids, mask = text(4, batch=2), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    graph = torch.rand(2, 4, 4)
    cases = [
        (graph[:, :3, :3], r"for the \(2, 4\) tokens of the batch, got shape \(2, 3, 3\)"),
        (graph[:1], r"for the \(2, 4\) tokens of the batch, got shape \(1, 4, 4\)"),
        (graph[0], r"\[batch, length, length\], got shape \(4, 4\)"),
        (graph[:, :, :3], r"\[batch, length, length\], got shape \(2, 4, 3\)"),
        (-graph, "finite and not negative"),
        (graph / 0.0, "finite and not negative"),
        (graph * float("nan"), "finite and not negative"),
    ]
    for adjacency, message in cases:
        with pytest.raises(ValueError, match=message):
            head(input_ids=ids, attention_mask=mask, adjacency=adjacency)
    assert first(head, input_ids=ids, attention_mask=mask, adjacency=graph).isfinite().all()


@pytest.mark.parametrize("family", FAMILIES)
def test_there_is_no_longest_text(family):
    assert first(classifier(family), input_ids=text(300)).isfinite().all()


def test_recurrent_layers_of_different_widths():
    network = model("rnn", hidden_size=20, recurrent_size=6, bidirectional=True, num_hidden_layers=3)
    assert first(network, input_ids=text(4)).shape == (1, 4, 12)


@pytest.mark.parametrize("family", ["fasttext", "cnn"])
def test_gradient_checkpointing_is_refused_where_there_are_no_layers(family):
    for module in (model(family), classifier(family)):
        with pytest.raises(ValueError, match="does not support activation checkpointing"):
            module.activation_checkpointing_enable()
