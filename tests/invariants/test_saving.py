# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A model that is saved, copied or sent is the same model."""

import copy
import pickle

import pytest
import torch
import transformers
from laws import LOW, as_dtype, assert_same, law, law_of_families, narrow, ties
from torch import nn

import accelerate
from complex_transformers.models import model_families
from complex_transformers.nn import AttentiveRecurrent, ComplexGRU, ComplexLSTM, ComplexRNN
from family_inputs import batch, results, rows

TASKS = {
    "Model": "feature-extraction",
    "ForMaskedLM": "fill-mask",
    "ForCausalLM": "text-generation",
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForConditionalGeneration": "translation",
    "ForAudioClassification": "audio-classification",
    "ForImageClassification": "image-classification",
    "ForCTC": "automatic-speech-recognition",
}


def fields(config):
    """A configuration without what a model adds to it when it is saved."""
    config = config if isinstance(config, dict) else config.to_dict()
    added = ("architectures", "auto_map", "dtype", "transformers_version", "_name_or_path")
    return {
        name: fields(value) if isinstance(value, dict) else value
        for name, value in config.items()
        if name not in added
    }


def assert_equal(found, expected):
    """The same class, configuration, tensors, ties and results."""
    assert type(found) is type(expected)
    assert fields(found.config) == fields(expected.config)
    assert ties(found) == ties(expected)
    state, want = found.state_dict(), expected.state_dict()
    assert state.keys() == want.keys()
    for name, value in want.items():
        assert state[name].dtype == value.dtype, name
        assert torch.equal(state[name], value), name
    inputs = as_dtype(batch(rows(expected)), expected.dtype)
    # Recurrent layers, torch's and ours, add up in an order that depends on where in memory their weights are.
    recurrent = (nn.RNNBase, AttentiveRecurrent, ComplexGRU, ComplexLSTM, ComplexRNN)
    is_recurrent = any(isinstance(module, recurrent) for module in expected.modules())
    tolerance = 1e-6 if is_recurrent else 0.0
    for row, other in zip(results(found, inputs), results(expected, inputs), strict=True):
        assert_same(row, other, tolerance)


@law_of_families
def test_a_saved_model_loads_equal_in_every_dtype(case, tmp_path):
    name = case.model_class.__name__
    auto = [auto for auto, ours in model_families()[case.family].items() if ours == name]
    assert auto
    load = getattr(transformers, auto[0]).from_pretrained
    for dtype in (torch.float32, *LOW):
        model = narrow(case, dtype)
        model.save_pretrained(tmp_path / str(dtype))
        again = load(tmp_path / str(dtype), dtype=dtype)
        assert not again.training
        assert all(parameter.requires_grad for parameter in again.parameters())
        assert_equal(again, model)
    card = (tmp_path / "torch.float32" / "README.md").read_text(encoding="utf-8")
    task = TASKS[case.head[0]]
    if case.head[1].get("decoder"):
        task = TASKS["ForCTC"]
    assert f"\npipeline_tag: {task}\n" in card


@law_of_families
def test_float32_is_loaded_in_low_precision(case, tmp_path):
    case.model().save_pretrained(tmp_path)
    for dtype in LOW:
        assert_equal(case.model_class.from_pretrained(tmp_path, dtype=dtype), narrow(case, dtype))


@law_of_families
def test_its_base_is_that_of_the_head(case, tmp_path):
    model = case.model()
    model.save_pretrained(tmp_path / "head")
    base = transformers.AutoModel.from_pretrained(tmp_path / "head")
    inner = getattr(model, "model", model)
    state = inner.state_dict()
    assert type(base) is type(inner)
    assert base.state_dict().keys() == state.keys()
    assert all(torch.equal(value, state[name]) for name, value in base.state_dict().items())
    base.save_pretrained(tmp_path / "base")
    again = case.model_class.from_pretrained(tmp_path / "base")
    loaded = getattr(again, "model", again).state_dict()
    assert all(torch.equal(value, state[name]) for name, value in loaded.items())


@law
def test_copies_are_equal(case):
    model = case.trained()
    sent = pickle.dumps(
        model
    )  # before Transformers puts hooks that cannot be sent on a model whose states are asked for
    assert_equal(copy.deepcopy(model), model)
    assert_equal(pickle.loads(sent), model)
    config = model.config
    for other in (copy.deepcopy(config), pickle.loads(pickle.dumps(config)), type(config).from_dict(config.to_dict())):
        assert other.to_dict() == config.to_dict()
    changed = copy.deepcopy(model)
    for parameter in changed.parameters():
        parameter.data.zero_()
    assert all(value.any() for name, value in model.named_parameters() if "bias" not in name)


@law_of_families
def test_weights_on_a_disk_come_when_they_are_called(case, tmp_path):
    model = case.own()
    inputs = batch(rows(model), "left")
    expected = results(model, inputs)
    accelerate.disk_offload(model, str(tmp_path), execution_device=torch.device("cpu"), offload_buffers=True)
    assert all(value.is_meta for value in model.parameters())
    for found, row in zip(results(model, inputs), expected, strict=True):
        assert_same(found, row, 1e-5)


@law_of_families
def test_a_resized_vocabulary_keeps_its_words(case, tmp_path):
    for size in (37, 20):
        model = case.own()
        words = model.get_input_embeddings().num_embeddings
        kept = min(size, words)
        texts = [
            {
                name: value.clamp(max=kept - 1) if name.endswith(("input_ids", "question_ids")) else value
                for name, value in row.items()
            }
            for row in rows(model)
        ]
        inputs = batch(texts)
        expected = results(model, inputs)
        groups = ties(model)
        table = model.resize_token_embeddings(size)
        assert table is model.get_input_embeddings()
        assert table.num_embeddings == model.config.get_text_config().vocab_size == size
        assert ties(model) == groups
        found = results(model, inputs)
        for row, want in zip(found, expected, strict=True):
            if "logits" in row and row["logits"].shape != want["logits"].shape:  # a head of words
                assert row["logits"].shape[-1] == size
                row["logits"], want["logits"] = row["logits"][..., :kept], want["logits"][..., :kept]
            assert_same(row, want, 1e-6)
        ids = next(name for name in inputs if "input_ids" in name)
        with pytest.raises(ValueError, match=rf"\[0, {size}\), got {size}"):
            model(**{**inputs, ids: torch.full_like(inputs[ids], size)})
        for name in table.word_tables() if size > words else ():
            value = table.get_parameter(name)
            torch.testing.assert_close(value[words:], value[:words].mean(0).expand_as(value[words:]))
        new = {name: torch.full_like(v, size - 1) if "input_ids" in name else v for name, v in inputs.items()}
        assert all(value.isfinite().all() for row in results(model, new) for value in row.values())
    model.save_pretrained(tmp_path)
    assert_equal(case.model_class.from_pretrained(tmp_path), model)


@law
def test_a_head_is_tied_when_it_is_said_so(case):
    model = case.build()
    config = getattr(model.config, "decoder", None) or model.config
    head = model.get_output_embeddings()
    if head is None or not hasattr(head, "weight"):
        return  # no words are written, or by complex weights, which cannot be tied
    names = [name for name, value in model.named_parameters(remove_duplicate=False) if value is head.weight]
    assert (len(names) > 1) == bool(config.tie_word_embeddings), names
