# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Models that are divided among two processes say, learn, write and save what whole ones do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from families import LIFTED, Case
from launcher import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed"),
]
# Variants of the families, and what a model of them has besides.
MODELS: dict[str, tuple[Case, dict[str, Any]]] = {
    "order": (Case("complex_order", "words"), {}),
    "order, modrelu, shared parts": (
        Case("complex_order", "words"),
        {"hidden_act": "modrelu", "share_parts": True},
    ),
    "order, real": (Case("complex_order", "real"), {}),
    "lifted encoder": (Case("complex_order", "lifted"), {}),
    "seq2seq": (Case("complex_seq2seq", "modulus"), {}),
    "llama": (Case("complex_llama", "complex"), {"num_key_value_heads": 2, "num_attention_heads": 2}),
    "llama, normed": (
        Case("complex_llama", "complex"),
        {"num_key_value_heads": 2, "num_attention_heads": 2, "qk_norm": True, "linear_type": "conjugate"},
    ),
    "llama, lifted": (
        Case("complex_llama", "complex"),
        {"num_key_value_heads": 2, "num_attention_heads": 4, "attention_bias": True, "mlp_bias": True, **LIFTED},
    ),
    "llama, polar": (
        Case("complex_llama", "polar"),
        {"num_key_value_heads": 2, "num_attention_heads": 4, "head_dim": 8},
    ),
    "order, phase-coherent": (Case("complex_order", "phase-coherent"), {}),
    "llama, phase-coherent": (
        Case("complex_llama", "phase-coherent"),
        {"num_key_value_heads": 2, "num_attention_heads": 2},
    ),
    "mamba": (Case("complex_mamba", "complex"), {}),  # its feed-forward networks
    "streams": (Case("complex_transfo_xl", "modulus"), {}),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, dict[str, Any]]]:
    """The folder of the models, and what one and two processes found."""
    folder = tmp_path_factory.mktemp("models")
    for name, (case, changes) in MODELS.items():
        torch.manual_seed(0)
        model = case.without_dropout(**changes)
        with torch.no_grad():
            for parameter in model.parameters():  # biases that are there
                parameter.add_(0.1 * torch.randn_like(parameter))
        model.save_pretrained(folder / name)
    results = {}
    for processes in (1, 2):
        run("tensor_worker.py", folder, folder / "found.json", *MODELS, processes=processes)
        results[processes] = json.loads((folder / "found.json").read_text())
    return folder, results


@pytest.mark.parametrize("name", MODELS)
def test_divided_models_are_the_whole_ones(found: tuple[Path, dict[int, dict[str, Any]]], name: str) -> None:
    folder, results = found
    whole, divided = results[1][name], results[2][name]
    assert divided["divided"]
    assert not whole["divided"]
    biases = {part for part in divided["divided"] if part.endswith(("out_proj.bias", "down_proj.bias"))}
    assert all(share == (1.0 if part in biases else 0.5) for part, share in divided["divided"].items())
    assert {part for part in divided["divided"] if "q_proj" in part} == {
        part for part in load_file(folder / name / "model.safetensors") if "q_proj" in part
    }
    for key in ("logits", "losses", "norms"):
        assert divided[key] == pytest.approx(whole[key], rel=1e-4, abs=1e-5), key
    assert divided.get("texts") == whole.get("texts")
    saved = [load_file(folder / f"{name}-{processes}" / "model.safetensors") for processes in (1, 2)]
    assert saved[0].keys() == saved[1].keys()
    for part, value in saved[0].items():
        torch.testing.assert_close(saved[1][part], value, rtol=1e-4, atol=1e-5, msg=part)


def test_heads_that_cannot_be_divided(tmp_path: Path) -> None:
    Case("complex_order", "words").without_dropout(num_attention_heads=1).save_pretrained(tmp_path / "one head")
    with pytest.raises(AssertionError, match="tp_size must divide 1 for num_heads=1 of"):
        run("tensor_worker.py", tmp_path, tmp_path / "found.json", "one head", processes=2)
