# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Folders of BERT and sentence-transformers are lifted with tokenizer, modules and card."""

import json
import re

from lifted_models import WORDS, real_encoder
from transformers import AutoModel

from complex_transformers import build_tokenizer
from complex_transformers.conversion.lift_checkpoint import lift_checkpoint
from complex_transformers.conversion.sentence_files import sentence_files
from refusals import refused

TEXTS = ["the dog bit the man", "the man bit the dog and the dog bit the man", "a dog"]
POOLING = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}


def saved(folder, kind="model", **options):
    model = real_encoder(kind, pad_token_id=0)  # that of the tokenizer
    model.save_pretrained(folder, **options)
    tokenizer = build_tokenizer(TEXTS)
    assert len(tokenizer) <= WORDS
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def with_modules(folder, paths=("", "1_Pooling", "2_Normalize")):
    """Write the modules of a sentence-transformers folder; the last one has no folder."""
    names = ("Transformer", "Pooling", "Normalize")
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, (path, name) in enumerate(zip(paths, names, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}', encoding="utf-8")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(POOLING), encoding="utf-8")
    return folder


def test_files_of_sentence_vectors_travel_along(tmp_path):
    saved(tmp_path / "real")
    with_modules(tmp_path / "real")
    lift_checkpoint(tmp_path / "real", tmp_path / "complex")
    for name in ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json"):
        assert (tmp_path / "complex" / name).read_bytes() == (tmp_path / "real" / name).read_bytes()
    assert not (tmp_path / "complex" / "2_Normalize").exists()
    assert AutoModel.from_pretrained(tmp_path / "complex").config.model_type == "complex_order"
    assert "`SentenceTransformer` returns" in (tmp_path / "complex" / "README.md").read_text(encoding="utf-8")


def test_what_is_refused_is_not_written(tmp_path):
    saved(tmp_path / "real")
    folder = with_modules(tmp_path / "real")
    words = "pairing must be 'halves' for sentence-transformers folders, got 'interleaved'"
    refused(words, lift_checkpoint, folder, tmp_path / "complex", "interleaved")
    for outside in ("../other", "/etc", ".", f"../{folder.name}/2_Normalize"):
        with_modules(folder, ("", outside, "2_Normalize"))
        words = f"modules.json must be folders within it, got {re.escape(repr(outside))}"
        refused(words, lift_checkpoint, folder, tmp_path / "complex")
    assert not (tmp_path / "complex").exists()
    assert sentence_files(tmp_path) == []
