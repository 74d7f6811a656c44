# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoders with a KV cache in onnxruntime generate the tokens of ``generate()`` for any batch and prompt size."""

from pathlib import Path

import pytest
import torch

from families import Case
from refusals import refused

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

from transformers import LlamaConfig, LlamaForCausalLM
from transformers.exporters import ExportedModel

from complex_transformers import lift
from complex_transformers.conversion.onnx_generation import export_generation, generate_greedy

pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporter
SIZES = ((2, 5), (1, 4), (3, 9))


def decoder():
    return Case("complex_llama", "complex").trained(num_hidden_layers=1)


def lifted_decoder():
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
    return lift(LlamaForCausalLM(LlamaConfig(vocab_size=30, initializer_range=0.5, **sizes)))


def encoder_decoder():
    model = Case("complex_seq2seq", "modulus").trained(encoder_layers=1, decoder_layers=1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # else nearly every token is the same
    return model


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(decoder, marks=pytest.mark.slow),
        pytest.param(lifted_decoder, marks=pytest.mark.slow),
        pytest.param(encoder_decoder, marks=pytest.mark.slow),
    ],
)
def models(request, tmp_path_factory):
    """Return a model and its graphs, saved and loaded."""
    folder = tmp_path_factory.mktemp("exported")
    torch.manual_seed(0)
    model = request.param().eval()
    model.generation_config.update(eos_token_id=None, pad_token_id=0)
    export_generation(model).save_pretrained(folder)
    return model, ExportedModel.from_pretrained(folder)


def padded(model, rows: int, length: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 25, (rows, length))
    mask = torch.ones_like(ids)
    mask[0, slice(-2, None) if model.config.is_encoder_decoder else slice(2)] = 0
    return {"input_ids": ids, "attention_mask": mask}


def test_graphs_generate_the_tokens_of_the_model(models):
    model, exported = models
    generated = set()
    for rows, length in SIZES:
        inputs = padded(model, rows, length)
        expected = model.generate(**inputs, max_new_tokens=8, do_sample=False)
        assert torch.equal(generate_greedy(exported, **inputs, max_new_tokens=8), expected)
        generated.update(expected[:, -8:].flatten().tolist())
    assert len(generated) > 2


def test_rows_end_at_the_end_token(models):
    model, exported = models
    inputs = padded(model, 3, 6)
    end = model.generate(**inputs, max_new_tokens=6, do_sample=False)[0, -3].item()
    for config in (model.generation_config, exported.generation_config):
        config.eos_token_id = end
    try:
        expected = model.generate(**inputs, max_new_tokens=9, do_sample=False)
        assert torch.equal(generate_greedy(exported, **inputs, max_new_tokens=9), expected)
    finally:
        for config in (model.generation_config, exported.generation_config):
            config.eos_token_id = None


def test_bfloat16_is_rejected(tmp_path: Path):
    refused(r"bfloat16.* model\.float\(\)", export_generation, Case("complex_llama", "complex").own().bfloat16())
