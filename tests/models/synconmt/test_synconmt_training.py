# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training with Trainer: both losses under accumulation, evaluation by generation, the real twin of words."""

import numpy as np
import pytest
import torch
from small_synconmt import END, build
from transformers import Seq2SeqTrainingArguments, default_data_collator

from complex_transformers import ComplexSeq2SeqTrainer

pytest.importorskip("accelerate")


def sentences(relations=True, count=16):
    """Rows with other numbers of words each: a mean of means would give another loss."""
    generator = torch.Generator().manual_seed(1)
    data = []
    for index in range(count):
        words, kinds = torch.randint(3, 30, (6,), generator=generator), torch.randint(1, 7, (6,), generator=generator)
        length = 2 + index % 4
        row = {"input_ids": words, "attention_mask": torch.ones(6, dtype=torch.long), "labels": words.clone()}
        row["labels"][length:] = -100
        row["labels"][length - 1] = END
        if relations:
            row.update(relation_ids=kinds, relation_labels=kinds.masked_fill(torch.arange(6) >= length, -100))
        data.append(row)
    return data


def trainer(model, data, folder, **changes):
    options = {
        "use_cpu": True,
        "max_steps": 2,
        "per_device_train_batch_size": 8,
        "learning_rate": 1e-2,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "report_to": "none",
        "seed": 0,
    }
    args = Seq2SeqTrainingArguments(output_dir=str(folder), **{**options, **changes})
    return ComplexSeq2SeqTrainer(
        model, args, train_dataset=data, eval_dataset=data, data_collator=default_data_collator
    )


def test_accumulation_changes_nothing(tmp_path):
    histories = []
    for accumulation in (1, 2, 4):
        model = build(hidden_dropout_prob=0.0, label_smoothing=0.1)
        sizes = {"per_device_train_batch_size": 8 // accumulation, "gradient_accumulation_steps": accumulation}
        run = trainer(model, sentences(), tmp_path, **sizes)
        run.train()
        logs = [(log["loss"], log["grad_norm"]) for log in run.state.log_history if "loss" in log]
        assert len(logs) == 2
        histories.append(logs)
    for logs in histories[1:]:
        np.testing.assert_allclose(logs, histories[0], rtol=1e-4)


def test_evaluation_generates_and_has_a_loss(tmp_path):
    model, data = build(), sentences()
    run = trainer(model, data, tmp_path, predict_with_generate=True, generation_max_length=7)
    out = run.predict(data[:5])
    expected = model.generate(
        input_ids=torch.stack([row["input_ids"] for row in data[:5]]),
        relation_ids=torch.stack([row["relation_ids"] for row in data[:5]]),
        max_length=7,
    )
    assert out.predictions[:, : expected.shape[1]].tolist() == expected.tolist()
    assert not out.predictions[:, expected.shape[1] :].any()  # the trainer pads to the longest that may be
    batch = default_data_collator(data[:5])
    with torch.no_grad():
        assert out.metrics["test_loss"] == pytest.approx(float(model(**batch).loss), rel=1e-5)


def test_the_real_twin_of_words_is_evaluated_on_its_labels(tmp_path):
    model = build(number_field="real", use_relations=False)
    run = trainer(model, sentences(relations=False), tmp_path, label_names=["labels"])
    run.train()
    assert np.isfinite(run.evaluate()["eval_loss"])
    assert "eval_loss" not in trainer(model, sentences(relations=False), tmp_path).evaluate()  # as its page says
