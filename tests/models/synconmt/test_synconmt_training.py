# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training with Trainer: evaluation by generation, the real twin of words."""

import numpy as np
import pytest
import torch
from small_synconmt import build
from transformers import Seq2SeqTrainingArguments, default_data_collator

from complex_transformers import ComplexSeq2SeqTrainer
from family_inputs import rows

pytest.importorskip("accelerate")


def trainer(model, folder, **changes):
    options = {"max_steps": 2, "save_strategy": "no", "use_cpu": True, "disable_tqdm": True, "report_to": "none"}
    args = Seq2SeqTrainingArguments(output_dir=str(folder), **{**options, **changes})
    data = [
        {name: value for name, value in row.items() if not name.startswith("decoder_")}
        for row in rows(model, (6,) * 8, labels=True)
    ]
    return ComplexSeq2SeqTrainer(
        model, args, train_dataset=data, eval_dataset=data, data_collator=default_data_collator
    )


def test_evaluation_generates_and_has_a_loss(tmp_path):
    model = build()
    run = trainer(model, tmp_path, predict_with_generate=True, generation_max_length=7)
    data = run.eval_dataset[:5]
    out, batch = run.predict(data), default_data_collator(data)
    expected = model.generate(input_ids=batch["input_ids"], relation_ids=batch["relation_ids"], max_length=7)
    assert out.predictions[:, : expected.shape[1]].tolist() == expected.tolist()
    assert not out.predictions[:, expected.shape[1] :].any()  # the trainer pads to the longest that may be
    with torch.no_grad():
        assert out.metrics["test_loss"] == pytest.approx(float(model(**batch).loss), rel=1e-5)


def test_the_real_twin_of_words_is_evaluated_on_its_labels(tmp_path):
    model = build(number_field="real", use_relations=False)
    run = trainer(model, tmp_path, label_names=["labels"])
    run.train()
    assert np.isfinite(run.evaluate()["eval_loss"])
    assert "eval_loss" not in trainer(model, tmp_path).evaluate()  # as its page says


def test_smoothed_labels_are_those_of_the_configuration(tmp_path):
    with pytest.raises(ValueError, match=r"label_smoothing_factor must be 0 .* Set config\.label_smoothing"):
        trainer(build(), tmp_path, label_smoothing_factor=0.1)
