# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""SetFit: a text classifier from few examples, over sentence vectors of ours."""

import pytest
import torch
from tool_models import TEXTS, encoder_sizes, sentence_encoder

from complex_transformers import ComplexOrderConfig, ComplexOrderModel

setfit = pytest.importorskip("setfit", reason="optional: make test-tools")
datasets = pytest.importorskip("datasets")


@pytest.mark.tool("setfit", "`Trainer`, saved and loaded: the same probabilities")
def test_training_from_few_examples(tmp_path):
    encoder = sentence_encoder(ComplexOrderModel(ComplexOrderConfig(**encoder_sizes())), tmp_path / "model")
    encoder.save_pretrained(str(tmp_path / "encoder"))
    model = setfit.SetFitModel.from_pretrained(str(tmp_path / "encoder"), local_files_only=True, device="cpu")
    arguments = setfit.TrainingArguments(
        str(tmp_path / "run"), max_steps=2, batch_size=4, report_to="none", save_strategy="no"
    )
    data = datasets.Dataset.from_dict({"text": TEXTS, "label": [0, 1, 0, 1]})
    before = model.encode(TEXTS)
    setfit.Trainer(model, arguments, data).train()
    assert abs(model.encode(TEXTS) - before).max() > 1e-6
    expected = model.predict_proba(TEXTS)
    assert expected.shape == (4, 2)
    model.save_pretrained(str(tmp_path / "saved"))
    loaded = setfit.SetFitModel.from_pretrained(str(tmp_path / "saved"), local_files_only=True, device="cpu")
    torch.testing.assert_close(loaded.predict_proba(TEXTS), expected)
