# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentence vectors by sentence-transformers: of an encoder that is trained, and of a lifted BERT."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tool_models import TEXTS, encoder_sizes, sentence_encoder
from transformers import AutoConfig, AutoModel

from complex_transformers import ComplexOrderConfig, ComplexOrderModel
from complex_transformers.conversion.lift_checkpoint import lift_checkpoint

library = pytest.importorskip("sentence_transformers", reason="optional: make test-tools")
datasets = pytest.importorskip("datasets")
ROOT = Path(__file__).parents[2]


@pytest.mark.tool("sentence-transformers", "`SentenceTransformerTrainer`, saved and loaded: the same vectors")
def test_training_of_sentence_vectors(tmp_path):
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    encoder = sentence_encoder(ComplexOrderModel(ComplexOrderConfig(**encoder_sizes())), tmp_path / "model")
    before = encoder.encode(TEXTS)
    arguments = library.SentenceTransformerTrainingArguments(
        str(tmp_path / "run"), max_steps=2, use_cpu=True, report_to="none", save_strategy="no", learning_rate=1e-2
    )
    data = datasets.Dataset.from_dict({"anchor": TEXTS, "positive": [text.upper() for text in TEXTS]})
    loss = MultipleNegativesRankingLoss(encoder)
    library.SentenceTransformerTrainer(encoder, arguments, data, loss=loss).train()
    found = encoder.encode(TEXTS)
    assert np.abs(found - before).max() > 1e-3
    encoder.save_pretrained(str(tmp_path / "saved"))
    loaded = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu", local_files_only=True)
    np.testing.assert_allclose(loaded.encode(TEXTS), found, atol=1e-6)


@pytest.mark.tool("sentence-transformers", "a lifted BERT, RoBERTa and DistilBERT: the vectors of the originals")
@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_vectors_of_a_lifted_model(tmp_path, name):
    config = AutoConfig.for_model(name, **encoder_sizes(initializer_range=0.3, pad_token_id=0))
    real = sentence_encoder(AutoModel.from_config(config), tmp_path / "model")
    real.save_pretrained(str(tmp_path / "real"))
    lift_checkpoint(tmp_path / "real", tmp_path / "complex")
    ours = library.SentenceTransformer(str(tmp_path / "complex"), device="cpu", local_files_only=True)
    assert type(ours[0].auto_model).__name__ == "ComplexOrderModel"
    found, expected = ours.encode(TEXTS), real.encode(TEXTS)
    assert np.abs(expected[0] - expected[1]).max() > 1e-2
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_examples_of_the_page(tmp_path):
    command = [sys.executable, str(ROOT / "tests" / "run_snippets.py"), str(ROOT / "docs" / "embeddings.md")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "run pip install in a clone" in done.stdout
