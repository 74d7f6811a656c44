# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that benchmarks of decoders write for other processes and libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from benchmarks.cases.llama_cpp import write_gguf
from benchmarks.cases.packed_memory import write_checkpoint
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from complex_transformers.nn import PackedLinear

SIZES = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def test_a_gguf_file_is_the_same_llama(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason='needs the extra gguf: pip install -e ".[gguf]"')
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZES, num_key_value_heads=2, initializer_range=0.2)).eval()
    write_gguf(model, tmp_path / "llama.gguf")
    read = LlamaForCausalLM.from_pretrained(tmp_path, gguf_file="llama.gguf").eval()
    ids = torch.arange(3, 20).unsqueeze(0)
    with torch.no_grad():
        torch.testing.assert_close(read(ids).logits, model(ids).logits, rtol=0, atol=0.02)  # float16


def test_a_packed_checkpoint_has_every_layer(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SIZES)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    packed = [module for module in model.modules() if isinstance(module, PackedLinear)]
    assert len(packed) == 2 * 7
    assert all(torch.equal(one.codes, other.codes) for one, other in zip(packed[:7], packed[7:], strict=True))
    out = model.generate(torch.arange(3, 9).unsqueeze(0), max_new_tokens=3, min_new_tokens=3, do_sample=False)
    assert out.shape == (1, 9)
