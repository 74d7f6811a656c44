# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A converted Fairy2i checkpoint equals a Llama whose matrices are rounded by a plain loop."""

import runpy
import sys

import pytest
import torch
from lifted_models import WORDS, real_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

from complex_transformers.conversion.convert_fairy2i_checkpoint import convert_fairy2i_checkpoint, round_matrix
from oracles import round_by_loop
from refusals import refused

MODULE = "complex_transformers.conversion.convert_fairy2i_checkpoint"


def rounded(matrix, stages):
    """Round the blocks U = ((R11 + R22) + i (R21 - R12)) / 2 and V = ((R11 - R22) + i (R21 + R12)) / 2 of R."""
    (r11, r12), (r21, r22) = ((row.chunk(2, 1)) for row in matrix.double().chunk(2))
    u, v = torch.complex(r11 + r22, r21 - r12) / 2, torch.complex(r11 - r22, r21 + r12) / 2
    u, v = (torch.tensor(round_by_loop(w.flatten().tolist(), stages), dtype=w.dtype).view_as(w) for w in (u, v))
    # The columns of a matrix of U z + V conj(z) are its values at 1 and at i.
    columns = [torch.cat([(u + v).real, (u + v).imag]), torch.cat([(1j * (u - v)).real, (1j * (u - v)).imag])]
    return torch.cat(columns, dim=1)


@torch.no_grad()
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_matrices_are_rounded_by_the_formulas(stages):
    matrix = torch.randn(6, 10, dtype=torch.float64)
    torch.testing.assert_close(round_matrix(matrix, stages), rounded(matrix, stages), rtol=1e-12, atol=1e-12)
    refused(r"matrix must have even numbers of rows and columns, got \(5, 4\)", round_matrix, torch.zeros(5, 4), 1)


@torch.no_grad()
@pytest.mark.parametrize("stages", [0, 1, 2])
def test_logits_are_those_of_the_rounded_llama(tmp_path, stages):
    model = real_model()
    model.save_pretrained(tmp_path / "real")
    converted = convert_fairy2i_checkpoint(tmp_path / "real", tmp_path / "ours", stages)
    if stages:
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and name != "model.embed_tokens.weight":
                parameter.copy_(rounded(parameter, stages))
    ids = torch.randint(3, WORDS, (2, 9))
    expected = model(ids).logits
    torch.testing.assert_close(converted(ids).logits, expected, rtol=1e-4, atol=1e-4)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "ours").eval()
    assert torch.equal(loaded(ids).logits, converted(ids).logits)


def test_command_line_and_refusals(tmp_path, monkeypatch, capsys):
    real_model().save_pretrained(tmp_path / "real")
    files = ["--model", str(tmp_path / "real"), "--output", str(tmp_path / "ours")]
    monkeypatch.setattr(sys, "argv", ["convert", *files, "--stages", "1", "--source", "someone/fairy2i"])
    monkeypatch.delitem(sys.modules, MODULE)
    runpy.run_module(MODULE, run_name="__main__")
    assert "1 rounding stages" in capsys.readouterr().out
    card = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert "the weights of `someone/fairy2i` (model type `llama`), under the licence `unknown`. All layers" in card
    refused("stages must be positive, got -1", convert_fairy2i_checkpoint, tmp_path / "real", tmp_path / "other", -1)
    words = "output must not be the folder of the checkpoint"
    refused(words, convert_fairy2i_checkpoint, tmp_path / "real", tmp_path / "real")
    BertModel(BertConfig(vocab_size=9, hidden_size=8, num_attention_heads=2)).save_pretrained(tmp_path / "bert")
    words = "model must be a llama checkpoint, got bert"
    refused(words, convert_fairy2i_checkpoint, tmp_path / "bert", tmp_path / "x")
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=9, **sizes)).save_pretrained(tmp_path / "odd")
    words = r"matrix must have even numbers of rows and columns, got \(9, 8\)"
    refused(words, convert_fairy2i_checkpoint, tmp_path / "odd", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@torch.no_grad()
def test_a_tied_head_that_is_there_twice_is_that_of_the_words(tmp_path):
    model = real_model("llama, tied, biases")
    model.save_pretrained(tmp_path / "real")
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    assert "lm_head.weight" in weights
    save_file(weights, tmp_path / "real" / "model.safetensors", metadata={"format": "pt"})
    converted = convert_fairy2i_checkpoint(tmp_path / "real", tmp_path / "ours", stages=1)
    assert converted.lm_head.projection.weight is converted.model.embed_tokens.weight
    assert torch.equal(converted.model.embed_tokens.weight, model.model.embed_tokens.weight)
