# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A trained and saved translator answers the same in a new process, in bfloat16 and on two processes at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import pipeline

from complex_transformers import ComplexSeq2SeqConfig, ComplexSeq2SeqForConditionalGeneration, build_tokenizer

WORKER = Path(__file__).with_name("serve_worker.py")
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SOURCES = [" ".join(WORDS[(first + 3 * step) % 10] for step in range(2 + first % 5)) for first in range(10)]
TARGETS = [" ".join(reversed(source.split())) for source in SOURCES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned ten sentences by heart, saved with its tokenizer."""
    torch.manual_seed(0)
    tokenizer = build_tokenizer([*SOURCES, *TARGETS], "bpe", vocab_size=300, append_eos=True)
    config = ComplexSeq2SeqConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        encoder_layers=1,
        decoder_layers=1,
        num_attention_heads=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=1.0,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
    )
    model = ComplexSeq2SeqForConditionalGeneration(config)
    source = tokenizer(SOURCES, padding=True, return_tensors="pt")
    labels = tokenizer(TARGETS, padding=True, return_tensors="pt")["input_ids"]
    labels = labels.masked_fill(labels == tokenizer.pad_token_id, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(150):
        loss = model(source["input_ids"], attention_mask=source["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    path = tmp_path_factory.mktemp("translator")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_same_translations_wherever_they_are_made(folder: Path, tmp_path: Path, dtype: str) -> None:
    here = pipeline("complex-text2text", model=str(folder), dtype=dtype)(SOURCES, num_beams=3)
    assert [answer[0]["generated_text"] for answer in here] == TARGETS
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    texts = folder / "texts.txt"
    texts.write_text("\n".join(SOURCES), encoding="utf-8")
    for name, launch in (("alone-", []), ("both-", torchrun)):
        subprocess.run(
            [sys.executable, *launch, str(WORKER), str(folder), dtype, str(texts), str(tmp_path / name)],
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            check=True,
            text=True,
            capture_output=True,
        )
    answers = sorted(tmp_path.iterdir())
    assert [path.name for path in answers] == ["alone-0.json", "both-0.json", "both-1.json"]
    for path in answers:
        assert json.loads(path.read_text()) == TARGETS
