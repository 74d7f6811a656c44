# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Saving and loading, also of files that are broken or foreign."""

import math
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import HEADS, build, first, text

from complex_transformers import (
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderModel,
)


def test_head_loads_a_base_model_and_back(tmp_path):
    base = build(norm_position="pre")
    base.save_pretrained(tmp_path / "base")
    head = ComplexOrderForMaskedLM.from_pretrained(tmp_path / "base")
    for name, value in base.state_dict().items():
        assert torch.equal(head.model.state_dict()[name], value)
    torch.nn.init.normal_(head.head_norm.weight)
    head.save_pretrained(tmp_path / "head")
    for name, value in ComplexOrderModel.from_pretrained(tmp_path / "head").state_dict().items():
        assert torch.equal(base.state_dict()[name], value), name


_RELOAD = """
import sys, torch
import complex_transformers
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification
from transformers import AutoModelForTokenClassification
folder = sys.argv[1]
for auto in (AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoModelForTokenClassification):
    name = auto.__name__
    case = torch.load(f"{folder}/{name}.pt")
    model = auto.from_pretrained(f"{folder}/{name}")
    assert not model.training
    assert type(model).__name__ == case["class"], type(model)
    with torch.no_grad():
        assert torch.equal(model(**case["inputs"])[0], case["output"]), name
print("equal")
"""


@pytest.mark.full
def test_saved_models_load_by_auto_classes_in_a_new_process(tmp_path):
    inputs = {"input_ids": text(6, batch=2), "attention_mask": torch.tensor([[1] * 6, [0] * 2 + [1] * 4])}
    for head in (ComplexOrderModel, *HEADS):
        name = head.__name__.replace("ComplexOrder", "Auto").replace("AutoFor", "AutoModelFor")
        model = build(head)
        model.save_pretrained(tmp_path / name)
        case = {"class": head.__name__, "inputs": inputs, "output": first(model, **inputs)}
        torch.save(case, tmp_path / f"{name}.pt")
    run = subprocess.run([sys.executable, "-c", _RELOAD, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.stdout.strip().endswith("equal"), run.stderr


def _saved(tmp_path):
    build(ComplexOrderForSequenceClassification).save_pretrained(tmp_path)
    return tmp_path / "model.safetensors"


def test_truncated_file_is_an_error(tmp_path):
    file = _saved(tmp_path)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(Exception, match=r"(?i)incomplete|truncat|header|size"):
        ComplexOrderForSequenceClassification.from_pretrained(tmp_path)


def test_file_that_is_no_safetensors_is_an_error(tmp_path):
    file = _saved(tmp_path)
    file.write_bytes(b"these are not weights at all")
    with pytest.raises(Exception, match=r"(?i)header|safetensors"):
        ComplexOrderForSequenceClassification.from_pretrained(tmp_path)


def test_weights_of_another_size_name_the_tensors(tmp_path, caplog):
    file = _saved(tmp_path)
    state = load_file(file)
    state["model.embed_tokens.amplitude"] = torch.zeros(11, 8)
    save_file(state, file, metadata={"format": "pt"})
    from transformers.utils import logging

    logging.enable_propagation()
    try:
        with pytest.raises(RuntimeError, match="mismatched"):
            ComplexOrderForSequenceClassification.from_pretrained(tmp_path)
    finally:
        logging.disable_propagation()
    assert "embed_tokens.amplitude" in caplog.text
    assert "11" in caplog.text


def test_missing_and_foreign_tensors_are_reported_and_initialised(tmp_path):
    file = _saved(tmp_path)
    state = load_file(file)
    del state["classifier.projection.real.weight"]
    state["bert.pooler.dense.weight"] = torch.zeros(2, 2)
    save_file(state, file, metadata={"format": "pt"})
    model, info = ComplexOrderForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert set(info["missing_keys"]) == {"classifier.projection.real.weight"}
    assert set(info["unexpected_keys"]) == {"bert.pooler.dense.weight"}
    # E|w|^2 = 2 / (fan_in + fan_out), half of it in the real part; what was loaded is left alone.
    missing = model.classifier.projection.real.weight
    assert 0.2 < missing.std().item() / math.sqrt(1.0 / (8 + 3)) < 2.0
    assert torch.equal(model.classifier.projection.imag.weight, state["classifier.projection.imag.weight"])
