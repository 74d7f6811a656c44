# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The head as an adaptive softmax: its loss is that of its log-probabilities, tied or with narrow tails."""

import copy

import pytest
import torch
import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassClassValidationError
from small_transfo_xl import VOCABULARY, build, config, stream
from transformers import TrainingArguments

from complex_transformers import ComplexTrainer, ComplexTransfoXLConfig, ComplexTransfoXLForCausalLM
from complex_transformers.nn import AdaptiveReadout, Readout

ADAPTIVE = {
    "one width": {"cutoffs": (8, 20)},
    "narrow tails": {"cutoffs": (8, 20), "div_value": 2},
    "narrow tails of moduli": {"cutoffs": (8, 20), "div_value": 2, "lm_readout": "feature_modulus"},
    "tied to amplitudes": {"cutoffs": (30,), "tie_word_embeddings": True, "lm_readout": "feature_modulus"},
    "real, narrow tails": {"cutoffs": (8, 20), "div_value": 4, "number_field": "real", "embedding_type": "word"},
    "real, tied": {"cutoffs": (8, 20), "tie_word_embeddings": True, "number_field": "real", "embedding_type": "word"},
}
every_head = pytest.mark.parametrize("changes", ADAPTIVE.values(), ids=ADAPTIVE.keys())


@every_head
def test_the_loss_is_that_of_the_log_probabilities(changes):
    model = build(**changes)
    ids = stream(9, batch=3)
    out = model(ids)
    assert out.loss is None
    torch.testing.assert_close(out.logits.exp().sum(-1), torch.ones(3, 9))
    labels = ids.clone()
    labels[0, 4:] = -100
    items = torch.tensor(50)
    plain = {"logits": out.logits, "vocab_size": VOCABULARY}  # a softmax of log-probabilities is themselves
    for options in ({}, {"num_items_in_batch": items}, {"num_items_in_batch": 50}):
        given = model(ids, labels=labels, **options)
        assert given.logits is None
        torch.testing.assert_close(given.loss, model.loss_function(labels=labels, **plain, **options))
        shifted = model(ids, shift_labels=labels, **options).loss
        torch.testing.assert_close(shifted, model.loss_function(labels=None, shift_labels=labels, **plain, **options))
    assert model(ids, labels=torch.full_like(ids, -100), num_items_in_batch=items).loss == 0


@every_head
def test_full_logits_are_not_computed_for_the_loss(changes, monkeypatch):
    model = build(**changes)
    monkeypatch.setattr(AdaptiveReadout, "forward", lambda *args: pytest.fail("computed all log-probabilities"))
    model(stream(5), labels=stream(5)).loss.backward()
    assert all(p.grad is not None for p in model.parameters())


@every_head
def test_tied_weights_are_one_and_survive_saving(tmp_path, changes):
    model = build(**changes)
    model.save_pretrained(tmp_path)
    for again in (model, ComplexTransfoXLForCausalLM.from_pretrained(tmp_path)):
        embedding = again.model.embed_tokens
        table = embedding.amplitude if hasattr(embedding, "amplitude") else embedding.weight
        tied = again.lm_head.projection.weight.data_ptr() == table.data_ptr()
        assert tied == changes.get("tie_word_embeddings", False)
        assert (again.get_output_embeddings() is None) == ("div_value" in changes)
    ids = stream(6, batch=2)
    torch.testing.assert_close(again.eval()(ids).logits, model(ids).logits, rtol=0, atol=0)
    assert again.config.cutoffs == list(changes["cutoffs"])


@every_head
def test_it_generates(changes):
    model = build(**changes)
    ids = stream(5, batch=2)
    expected = ids
    for _ in range(6):
        expected = torch.cat([expected, model(expected, use_cache=False).logits[:, -1:].argmax(-1)], 1)
    assert model.generate(ids, max_new_tokens=6, do_sample=False).tolist() == expected.tolist()
    assert model.generate(ids, max_new_tokens=6, num_beams=3, do_sample=True).shape == (2, 11)


@every_head
def test_a_larger_vocabulary_keeps_its_results(tmp_path, changes):
    model = build(**changes)
    ids = stream(5)
    before = model(ids).logits
    model.resize_token_embeddings(VOCABULARY + 3)
    last = changes["cutoffs"][-1]
    torch.testing.assert_close(model(ids).logits[..., :last], before[..., :last])
    model.post_init()
    model.save_pretrained(tmp_path)
    again = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(again(ids).logits, model(ids).logits, rtol=0, atol=0)
    assert again(ids).logits.shape[-1] == again.config.vocab_size == VOCABULARY + 3
    with pytest.raises(ValueError, match=f"the last cluster begins at word {last}, and {last} words would leave none"):
        again.resize_token_embeddings(last)
    assert again(ids).logits.shape[-1] == VOCABULARY + 3


@pytest.mark.full
@every_head
def test_accumulated_gradients_are_those_of_the_batch(tmp_path, changes):
    """Through ``Trainer``, which passes ``num_items_in_batch``; rows of different numbers of labels."""
    dropout = {"hidden_dropout_prob": 0.0, "use_cache": False}
    ids = stream(7, batch=8)
    labels = ids.masked_fill(torch.arange(7) > torch.arange(8).unsqueeze(1) % 5, -100)
    rows = [{"input_ids": i, "labels": t} for i, t in zip(ids, labels, strict=True)]
    start, losses, weights = build(**changes, **dropout), [], []
    for size, steps in ((8, 1), (2, 4)):
        model = copy.deepcopy(start)
        arguments = TrainingArguments(
            str(tmp_path),
            per_device_train_batch_size=size,
            gradient_accumulation_steps=steps,
            max_steps=2,
            learning_rate=0.1,
            optim="sgd",
            logging_steps=1,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = ComplexTrainer(model, arguments, train_dataset=rows)
        trainer.train()
        losses.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
        weights.append(model.state_dict())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_the_plain_head_is_the_default():
    model = build()
    assert type(model.lm_head) is Readout
    assert model.config.cutoffs == []
    out = model(stream(5), labels=stream(5))
    assert out.logits.shape == (1, 5, VOCABULARY)


def test_low_precision():
    model = build(cutoffs=(8, 20), div_value=2)
    ids = stream(20, batch=2)
    expected = model(ids, labels=ids).loss
    for dtype in (torch.bfloat16, torch.float16):
        low = copy.deepcopy(model).to(dtype)
        assert low(ids).logits.dtype == torch.float32
        torch.testing.assert_close(low(ids, labels=ids).loss, expected, rtol=0.05, atol=0.0)
        with torch.autocast("cpu", dtype=dtype):
            torch.testing.assert_close(model(ids, labels=ids).loss, expected, rtol=0.05, atol=0.0)


def test_frequent_words_have_full_width_and_rare_ones_fewer_parameters():
    sizes = [
        sum(p.numel() for p in ComplexTransfoXLForCausalLM(config(cutoffs=(8, 20), div_value=d)).lm_head.parameters())
        for d in (1, 2, 4)
    ]
    assert sizes == [42 * 17, 10 * 17 + 8 * 16 + 12 * 9 + 4 * 16 + 20 * 5, 10 * 17 + 4 * 16 + 12 * 5 + 16 + 20 * 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cutoffs": (20, 8)}, r"cutoffs must be increasing word ids between 1 and 39, .* got \[20, 8\]"),
        ({"cutoffs": (40,)}, r"between 1 and 39, the last of 40 words, got \[40\]"),
        ({"div_value": 2}, "div_value=2 has no effect without cutoffs; leave it at 1"),
        ({"cutoffs": (8,), "div_value": 0}, "div_value must be 1 or more, got 0"),
        ({"cutoffs": (8,), "div_value": 17}, "div_value=17 leaves none of 16 features for tail 1"),
        ({"cutoffs": (8,), "lm_readout": "modulus"}, "and lm_readout='modulus' complex ones; use 'concat' or"),
        (
            {"cutoffs": (8,), "div_value": 2, "tie_word_embeddings": True, "lm_readout": "feature_modulus"},
            "div_value=2 makes its tails narrower; use div_value=1, or tie_word_embeddings=False",
        ),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(StrictDataclassClassValidationError, match=message):
        config(**changes)


def test_wrong_labels_and_layers_are_named():
    model = build(cutoffs=(8, 20), div_value=2)
    with pytest.raises(ValueError, match=r"labels must lie in \[0, 40\), or be -100 for no prediction, got 40"):
        model(stream(5), labels=torch.full((1, 5), 40))
    with pytest.raises(ValueError, match=r"labels must have the shape \(1, 2\), got \(1, 5\)"):
        model(stream(5), labels=stream(5), logits_to_keep=2)
    with pytest.raises(ValueError, match="no one layer has the logits of all words with div_value=2; replace lm_head"):
        model.set_output_embeddings(torch.nn.Linear(16, 40))


def test_the_real_twin_keeps_its_clusters():
    twin = config(cutoffs=(8, 20), lm_readout="feature_modulus").real_twin(embedding_type="word")
    assert (twin.cutoffs, twin.lm_readout, twin.number_field) == ([8, 20], "concat", "real")
    assert ComplexTransfoXLConfig.from_dict(twin.to_dict()).cutoffs == [8, 20]


def test_a_word_is_learnt_of_every_cluster():
    model = build(cutoffs=(8, 20), div_value=2, hidden_dropout_prob=0.0).train()
    ids = torch.tensor([[3, 12, 35, 5, 15, 39]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(100):
        optimizer.zero_grad()
        loss = model(ids, labels=ids, use_cache=False).loss
        loss.backward()
        optimizer.step()
    prediction = model.eval()(ids).logits
    assert prediction[0, :-1].argmax(-1).tolist() == ids[0, 1:].tolist()
    assert F.nll_loss(prediction[0, :-1], ids[0, 1:]) < 0.1
