# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers: saved and loaded, by their own and by Auto classes; loaded weights are never drawn again."""

import subprocess
import sys

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from small_classifiers import FAMILIES, FIELDS, VARIANTS, classifier, config, first, model, name_of, shaken, text
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from complex_transformers import write_model_card


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_auto_classes(tmp_path, family, field):
    head = classifier(family, number_field=field)
    ids = text(6, batch=2)
    head.save_pretrained(tmp_path / "head")
    head.model.save_pretrained(tmp_path / "base")
    assert type(AutoConfig.from_pretrained(tmp_path / "head")) is type(head.config)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "head")
    assert type(again) is type(head)
    assert torch.equal(first(again, input_ids=ids), first(head, input_ids=ids))
    for folder in ("head", "base"):
        base = AutoModel.from_pretrained(tmp_path / folder)
        assert type(base) is type(head.model)
        assert torch.equal(first(base, input_ids=ids), first(head.model, input_ids=ids))
    assert type(AutoModelForSequenceClassification.from_config(config(family))) is type(head)


_RELOAD = """
import sys, torch
import complex_transformers
from transformers import AutoModelForSequenceClassification
for family in sys.argv[2:]:
    case = torch.load(f"{sys.argv[1]}/{family}.pt")
    model = AutoModelForSequenceClassification.from_pretrained(f"{sys.argv[1]}/{family}")
    with torch.no_grad():
        assert torch.equal(model(**case["inputs"])[0], case["output"]), family
print("equal")
"""


@pytest.mark.full
def test_saved_classifiers_load_in_a_new_process(tmp_path):
    inputs = {"input_ids": text(6, batch=2), "attention_mask": torch.tensor([[1] * 6, [0] * 2 + [1] * 4])}
    for family in FAMILIES:
        head = classifier(family)
        head.save_pretrained(tmp_path / family)
        torch.save({"inputs": inputs, "output": first(head, **inputs)}, tmp_path / f"{family}.pt")
    command = [sys.executable, "-c", _RELOAD, str(tmp_path), *FAMILIES]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout.strip().endswith("equal"), run.stderr


@pytest.mark.full
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes"), VARIANTS, ids=name_of)
def test_loaded_weights_are_never_drawn_again(tmp_path, family, changes, field):
    head = shaken(classifier(family, number_field=field, **changes), 1.0)
    head.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    state = load_file(file)
    for missing in state:
        save_file({name: v for name, v in state.items() if name != missing}, file, metadata={"format": "pt"})
        again, info = type(head).from_pretrained(tmp_path, output_loading_info=True)
        assert set(info["missing_keys"]) == {missing}
        for name, value in again.state_dict().items():
            assert torch.equal(value, state[name]) == (name != missing), (name, missing)


@pytest.mark.parametrize("family", FAMILIES)
def test_head_loads_a_base_model(tmp_path, family):
    base = shaken(model(family), 1.0)
    base.save_pretrained(tmp_path)
    head, info = FAMILIES[family][2].from_pretrained(tmp_path, num_labels=5, output_loading_info=True)
    assert all(name.startswith("classifier.") for name in info["missing_keys"])
    assert first(head, input_ids=text(4)).shape == (1, 5)
    for name, value in base.state_dict().items():
        assert torch.equal(head.model.state_dict()[name], value), name


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_another_number_of_labels_draws_the_readout_alone(tmp_path, family, field):
    head = shaken(classifier(family, number_field=field), 1.0)
    head.save_pretrained(tmp_path)
    with pytest.raises(RuntimeError, match="mismatched"):
        type(head).from_pretrained(tmp_path, num_labels=42)
    again = type(head).from_pretrained(tmp_path, num_labels=42, ignore_mismatched_sizes=True)
    for name, value in again.state_dict().items():
        assert name.startswith("classifier.") or torch.equal(value, head.state_dict()[name]), name
    weights = [p for name, p in again.classifier.named_parameters() if name.endswith("weight")]
    fan_out, fan_in = weights[0].shape
    for weight in weights:
        assert weight.var().item() == pytest.approx(2 / (fan_in + fan_out) / len(weights), rel=0.4)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_model_card_and_shim(tmp_path, family, field):
    head = classifier(family, number_field=field)
    head.save_pretrained(tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"config.json", "model.safetensors", "README.md", "complex_transformers_hub.py"}
    assert type(head).__name__ in (tmp_path / "complex_transformers_hub.py").read_text()
    _, header, body = write_model_card(tmp_path, head, limits="Small.").read_text().split("---\n", 2)
    metadata = yaml.safe_load(header)
    assert metadata["pipeline_tag"] == "text-classification"
    assert head.config.model_type in metadata["tags"]
    assert f"{sum(p.numel() for p in head.parameters()):,} parameters" in body
    assert ("8 complex features" in body) == (field == "complex")
    # What a family does not have is not in its card.
    assert "heads" not in body
    assert ("layer(s)" in body) == (family in ("rnn", "gcn"))
    assert "AutoModelForSequenceClassification.from_pretrained" in body
