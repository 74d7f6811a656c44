# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Assisted generation and continuous batching, with models of Transformers on the other side."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, lift
from families import Case

SIZES = {
    "vocab_size": 30,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.5,
}
GREEDY = {"do_sample": False, "max_new_tokens": 8, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.tensor([[3, 4, 5]])


@pytest.fixture
def llama():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES)).eval()


def complex_llama(**options):
    torch.manual_seed(1)
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES, **options)).eval()


def test_models_assist_each_other(llama):
    ours = complex_llama()
    for model, assistant in ((llama, ours), (ours, llama), (llama, lift(llama)), (lift(llama), llama)):
        expected = model.generate(PROMPT, **GREEDY)
        assert torch.equal(model.generate(PROMPT, assistant_model=assistant, **GREEDY), expected)


def test_an_early_exit_assists_its_own_model():
    model = complex_llama()
    expected = model.generate(PROMPT, **GREEDY)
    assert torch.equal(model.generate(PROMPT, assistant_early_exit=1, **GREEDY), expected)


BATCHES = """
import torch
from transformers import ContinuousBatchingConfig, GenerationConfig
from test_generation_tools import GREEDY, complex_llama

model = complex_llama({options})
prompts = [[3, 4, 5], [7, 8], [9, 10, 11, 12]]
config = GenerationConfig(do_sample=False, max_new_tokens=4, eos_token_id=-1, pad_token_id=0)
few = ContinuousBatchingConfig(num_blocks=8, page_size=32, max_batch_tokens=32)  # not all of the memory
answers = model.generate_batch(prompts, config, few).values()
one = dict(GREEDY, max_new_tokens=4)
expected = [model.generate(torch.tensor([p]), **one)[0, len(p) :].tolist() for p in prompts]
assert sorted(answer.generated_tokens for answer in answers) == sorted(expected), answers
"""


@pytest.mark.full
@pytest.mark.parametrize("options", ["'rotary'", "'rotary', attention_score='modulus'", "'complex_order'"])
def test_continuous_batching_generates_what_generate_does(options):
    """Each in a process of its own: a second engine in one process never answers, with Llama neither."""
    code = BATCHES.format(options=f"position_type={options}")
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


NOT_PAGED = [
    ("complex_llama", "polar"),
    ("complex_mamba", "complex"),
    ("complex_transfo_xl", "modulus"),
    ("complex_seq2seq", "modulus"),
]


@pytest.mark.parametrize("case", [Case(*names) for names in NOT_PAGED], ids=str)
def test_continuous_batching_needs_a_paged_cache(case):
    model = case.model()
    with pytest.raises(ValueError, match="generate_batch"):
        model.generate_batch(inputs=[[3, 4]], generation_config=GenerationConfig(max_new_tokens=2))
