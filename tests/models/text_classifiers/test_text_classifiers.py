# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The five text classifiers: what they refuse, what comes out, the order of words, loading, Trainer."""

import pytest
import torch
from small_classifiers import CLASSIC, EMBEDDINGS, FIELDS, TEXTS, WORDS, classifier, first, text
from torch.nn import functional as F
from transformers import TrainingArguments

from complex_transformers import ComplexTrainer, write_model_card
from complex_transformers.nn import from_complex

every_family = pytest.mark.parametrize("family", TEXTS)


@every_family
def test_inputs_no_text_model_can_use(family):
    head = classifier(family, embedding_type="learned_position", max_position_embeddings=6)
    ids, embeds = text(4, batch=2), torch.randn(2, 4, 16)
    halves = torch.randn(2, 4, 8, dtype=torch.complex64)
    cases = [
        ({}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids, "inputs_embeds": embeds}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids[0]}, ValueError, r"\[batch, length\] and not empty, got \(4,\)"),
        ({"input_ids": torch.tensor([[5, -1]])}, ValueError, rf"\[0, {WORDS}\), got -1.*resize_token_embeddings"),
        ({"input_ids": ids[:0]}, ValueError, r"empty.*\(0, 4\)"),
        ({"inputs_embeds": embeds[:, :0]}, ValueError, r"empty.*\(2, 0, 16\).*Leave out empty texts"),
        ({"inputs_embeds": embeds[..., :8]}, ValueError, r"hidden_size=16\] and not empty, got \(2, 4, 8\)"),
        ({"inputs_embeds": embeds[0]}, ValueError, r"hidden_size=16\] and not empty, got \(4, 16\)"),
        ({"inputs_embeds": halves}, TypeError, r"halves, got torch.complex64.*from_complex"),
        ({"input_ids": text(7)}, ValueError, "got 7. Truncate to max_position_embeddings=6"),
        ({"input_ids": ids, "position_ids": torch.tensor([[-1, 1, 2, 3]])}, ValueError, r"\[1, 7\), got -1"),
    ]
    for inputs, error, message in cases:
        with pytest.raises(error, match=message):
            head(**inputs)
    # The remedies work.
    assert first(head, inputs_embeds=from_complex(halves)).isfinite().all()
    padded, mask = F.pad(ids, (0, 5)), F.pad(torch.ones_like(ids), (0, 5))
    torch.testing.assert_close(first(head, input_ids=padded, attention_mask=mask), first(head, input_ids=ids))
    assert first(classifier(family), input_ids=text(300)).isfinite().all()  # no longest text


# family -> changes, width of the last hidden state, of the pooled features, recorded hidden states
SHAPES = [
    ("complex_fasttext", {}, 16, 12, [16]),
    ("complex_text_cnn", {}, 30, 12, [16, 30]),
    ("complex_text_rnn", {"bidirectional": True, "num_hidden_layers": 2}, 24, 24, [16, 24, 24]),
    ("complex_text_gcn", {}, 12, 12, [16, 12, 12]),
]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes", "hidden", "pooled", "recorded"), SHAPES)
def test_widths_of_outputs(family, changes, hidden, pooled, recorded, field):
    head = classifier(family, number_field=field, **changes)
    ids, mask = text(5, batch=2), torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    out = head.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    assert (out.last_hidden_state.shape, out.pooler_output.shape) == ((2, 5, hidden), (2, pooled))
    assert [state.shape for state in out.hidden_states] == [(2, 5, width) for width in recorded]
    torch.testing.assert_close(out.hidden_states[-1], out.last_hidden_state)
    embeds = head.get_input_embeddings()(ids, attention_mask=mask)
    torch.testing.assert_close(out.hidden_states[0], embeds * mask.unsqueeze(-1))
    if family in ("complex_text_cnn", "complex_text_rnn"):
        assert not out.last_hidden_state[mask == 0].any()


@every_family
def test_dropout_of_the_classifier_is_its_own(family):
    dropout = {"hidden_dropout_prob": 0.0, "classifier_dropout": 0.5}
    attention = {"attention_probs_dropout_prob": 0.0} if family == "complex_order" else {}
    head, ids = classifier(family, **dropout, **attention).train(), text(6)
    assert torch.equal(first(head.model, input_ids=ids), first(head.model, input_ids=ids))
    assert not torch.equal(first(head, input_ids=ids), first(head, input_ids=ids))


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@every_family
def test_order_matters_exactly_where_it_should(family, embedding):
    frequency = {"frequency_init": "uniform"} if embedding == "complex_order" else {}
    # One word under a kernel, and a graph of all words, see no order of their own. Nor do means: the mean of
    # word + position is the same for every order, which that of waves is not.
    blind = {"complex_text_cnn": {"kernel_sizes": [1]}, "complex_text_gcn": {"window_size": 7}}.get(family, {})
    module = classifier(family, embedding_type=embedding, **frequency, **blind)
    ids = text(7)
    difference = (first(module, input_ids=ids) - first(module, input_ids=ids.flip(1))).abs().max()
    means = family in ("complex_fasttext", "complex_text_gcn")
    added = means and embedding in ("learned_position", "sinusoidal_position")
    if family != "complex_text_rnn" and (added or embedding in ("word", "complex_vanilla")):
        assert difference < 1e-5
    else:
        assert difference > 1e-4


def test_directions_of_a_recurrent_layer_do_not_start_equal():
    forward, backward = classifier("complex_text_rnn", bidirectional=True).model.layers[0].rnn.recurrent_proj
    assert not torch.equal(forward.real.weight, backward.real.weight)


@pytest.mark.parametrize("family", CLASSIC)
def test_what_a_family_does_not_have_is_not_in_its_card(tmp_path, family):
    body = write_model_card(tmp_path, classifier(family)).read_text()
    assert "heads" not in body
    assert ("layer(s)" in body) == (family in ("complex_text_rnn", "complex_text_gcn"))


def test_trainer_gives_the_graph_to_the_model(tmp_path):
    # A graph of no edges but to one word: Trainer must not drop the column and fall back to the window.
    pytest.importorskip("accelerate")
    rows = [{"input_ids": text(6)[0], "adjacency": torch.zeros(6, 6), "labels": torch.tensor(1)} for _ in range(4)]
    module, seen = classifier("complex_text_gcn"), []
    module.model.layers[0].register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1].detach()))
    arguments = TrainingArguments(str(tmp_path), use_cpu=True, max_steps=2, save_strategy="no", disable_tqdm=True)
    ComplexTrainer(module, arguments, train_dataset=rows).train()
    assert len(seen) == 2
    for normalized in seen:  # loops alone
        assert torch.equal(normalized, torch.diag_embed(normalized.diagonal(dim1=-2, dim2=-1)))
