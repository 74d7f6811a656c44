# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as files: lifted with their tokenizer and card, or rejected before anything is written."""

import json
import runpy
import shutil
import sys

import pytest
import torch
from benchmarks.gguf_file import gguf_writer, save_gguf
from lifted_models import WORDS, real_encoder, real_model
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from complex_transformers import build_tokenizer
from complex_transformers.conversion.files import read_folder
from complex_transformers.conversion.lift_checkpoint import lift_checkpoint, read_checkpoint
from refusals import refused

MODULE = "complex_transformers.conversion.lift_checkpoint"
CARD = "---\nlicense: mit\n---\n\n# A model\n"
TEXT = "the dog bit the man"


def saved(folder, kind="llama", model=None, **options):
    model = real_model(kind) if model is None else model
    model.generation_config.eos_token_id = [2, 3]
    model.save_pretrained(folder, **options)
    return model


def same_logits(folder, model):
    loaded = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.randint(3, WORDS, (2, 9))
    with torch.no_grad():
        expected = model(ids).logits
        torch.testing.assert_close(loaded(ids).logits, expected, rtol=1e-5, atol=1e-5)
    return loaded


@pytest.mark.parametrize("kind", ["llama, tied, biases", "qwen3", "phi3, longrope, partial, window", "gemma3"])
def test_a_folder_with_all_that_belongs_to_it(tmp_path, kind):
    model = saved(tmp_path / "real", kind, max_shard_size="10KB")  # several files, a tied head once
    assert len(list((tmp_path / "real").glob("*.safetensors"))) > 1
    tokenizer = build_tokenizer([TEXT])
    tokenizer.save_pretrained(tmp_path / "real")
    (tmp_path / "real" / "README.md").write_text(CARD, encoding="utf-8")
    lift_checkpoint(tmp_path / "real", tmp_path / "complex")
    loaded = same_logits(tmp_path / "complex", model)
    assert loaded.generation_config.eos_token_id == [2, 3]
    assert AutoTokenizer.from_pretrained(tmp_path / "complex")(TEXT) == tokenizer(TEXT)
    card = (tmp_path / "complex" / "README.md").read_text(encoding="utf-8")
    assert "license: mit" in card
    assert f"the weights of `real` (model type `{model.config.model_type}`), under the licence `mit`" in card


def test_several_ends_without_a_generation_config(tmp_path):
    for kind, model in (("decoder", real_model(eos_token_id=[2, 3])), ("encoder", real_encoder(eos_token_id=[2, 3]))):
        model.save_pretrained(tmp_path / kind)
        (tmp_path / kind / "generation_config.json").unlink(missing_ok=True)
        assert lift_checkpoint(tmp_path / kind, tmp_path / "complex").config.eos_token_id == [2, 3]
        loaded = AutoModel.from_pretrained(tmp_path / "complex")
        assert loaded.config.eos_token_id == [2, 3]
    lift_checkpoint(tmp_path / "decoder", tmp_path / "complex")
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "complex").generation_config.eos_token_id == [2, 3]


def test_a_tokenizer_may_be_its_words_alone(tmp_path):
    real_encoder().save_pretrained(tmp_path / "real")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(TEXT.split()))]
    (tmp_path / "real" / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    lift_checkpoint(tmp_path / "real", tmp_path / "complex")
    found = AutoTokenizer.from_pretrained(tmp_path / "complex")(TEXT)["input_ids"]
    assert found == [words.index(word) for word in ["[CLS]", *TEXT.split(), "[SEP]"]]


def test_command_line(tmp_path, monkeypatch, capsys):
    saved(tmp_path / "real", model=real_model().to(torch.bfloat16))
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "real", dtype=torch.float32)
    files = ["--model", str(tmp_path / "real"), "--output", str(tmp_path / "complex")]
    monkeypatch.setattr(sys, "argv", ["lift", *files, "--pairing", "interleaved", "--source", "someone/model"])
    monkeypatch.delitem(sys.modules, MODULE)
    runpy.run_module(MODULE, run_name="__main__")
    assert "parameters in 2 layers, 16 complex features, 40 tokens" in capsys.readouterr().out
    assert same_logits(tmp_path / "complex", model).dtype == torch.float32
    card = (tmp_path / "complex" / "README.md").read_text(encoding="utf-8")
    assert "license: unknown" in card
    assert "the weights of `someone/model`" in card
    options = ["--dtype", "bfloat16", "--license", "mit"]
    monkeypatch.setattr(sys, "argv", ["lift", *files, *options])
    runpy.run_module(MODULE, run_name="__main__")
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "complex").dtype == torch.bfloat16
    assert "license: mit" in (tmp_path / "complex" / "README.md").read_text(encoding="utf-8")


def refused_checkpoint(words, folder, error=ValueError):
    output = folder.parent / "complex"
    refused(words, lift_checkpoint, folder, output, error=error)
    assert not output.exists()  # nothing is written


def test_missing_files_are_named(tmp_path):
    words = f"model must be a folder with config.json or a .gguf file, got {tmp_path}/none"
    refused_checkpoint(words, tmp_path / "none", FileNotFoundError)
    saved(tmp_path / "real", max_shard_size="10KB")
    first = sorted((tmp_path / "real").glob("*.safetensors"))[0]
    moved = first.rename(tmp_path / "moved")
    refused_checkpoint(str(first), tmp_path / "real", FileNotFoundError)
    moved.rename(first)
    (tmp_path / "real" / "model.safetensors.index.json").unlink()
    refused_checkpoint(f"{tmp_path}/real/model.safetensors.index.json", tmp_path / "real", FileNotFoundError)
    (tmp_path / "real" / "config.json").unlink()
    refused_checkpoint("Should have a `model_type` key in its config.json", tmp_path / "real")


def test_damaged_weights_are_not_lifted(tmp_path):
    saved(tmp_path / "real")
    file = tmp_path / "real" / "model.safetensors"
    whole = file.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 4, 0):
        file.write_bytes(whole[:size])
        refused_checkpoint("Error while deserializing header", tmp_path / "real", SafetensorError)


def test_one_file_comes_before_an_index_that_is_left_over(tmp_path):
    saved(tmp_path / "real", max_shard_size="10KB")
    index = (tmp_path / "real" / "model.safetensors.index.json").read_bytes()
    saved(tmp_path / "real")
    (tmp_path / "real" / "model.safetensors.index.json").write_bytes(index)
    expected = load_file(tmp_path / "real" / "model.safetensors")
    found = read_folder(tmp_path / "real")
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], value) for name, value in expected.items())


@pytest.mark.parametrize("place", ["../outside.safetensors", "/outside.safetensors"])
def test_an_index_names_no_file_outside_its_folder(place, tmp_path):
    (tmp_path / "real").mkdir()
    save_file({"a": torch.ones(2)}, tmp_path / "outside.safetensors")
    index = {"weight_map": {"a": place}}
    (tmp_path / "real" / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    refused(f"index.json must name files in its folder, got '{place}'", read_folder, tmp_path / "real")


def test_files_of_an_index_may_be_links(tmp_path):
    (tmp_path / "real").mkdir()
    save_file({"a": torch.ones(2)}, tmp_path / "blob")
    (tmp_path / "real" / "model-1.safetensors").symlink_to(tmp_path / "blob")  # as in a cache of the Hub
    index = {"weight_map": {"a": "model-1.safetensors"}}
    (tmp_path / "real" / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert read_folder(tmp_path / "real")["a"].tolist() == [1.0, 1.0]


def test_pickled_weights_are_read_last(tmp_path):
    (tmp_path / "real").mkdir()
    torch.save({"a": torch.ones(2)}, tmp_path / "real" / "pytorch_model.bin")
    assert read_folder(tmp_path / "real")["a"].tolist() == [1.0, 1.0]
    save_file({"a": torch.zeros(2)}, tmp_path / "real" / "shard.safetensors")
    index = tmp_path / "real" / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "shard.safetensors"}}), encoding="utf-8")
    assert read_folder(tmp_path / "real")["a"].tolist() == [0.0, 0.0]


def test_the_configuration_is_checked_before_any_weight(tmp_path):
    saved(tmp_path / "real", "mistral")
    path = tmp_path / "real" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_act": "mish"}), encoding="utf-8")
    (tmp_path / "real" / "model.safetensors").unlink()
    refused_checkpoint("hidden_act must be one of .* got 'mish'", tmp_path / "real")


def test_names_without_the_prefix_of_the_model(tmp_path):
    """Sentence encoders based on decoders are saved as causal language models without the prefix."""
    model = saved(tmp_path / "real", "qwen2")
    file = tmp_path / "real" / "model.safetensors"
    bare = {name.removeprefix("model."): value for name, value in load_file(file).items()}
    save_file(bare, file, metadata={"format": "pt"})
    lift_checkpoint(tmp_path / "real", tmp_path / "complex")
    same_logits(tmp_path / "complex", model)


def test_weights_of_another_kind_and_other_arguments(tmp_path):
    saved(tmp_path / "real")
    file = tmp_path / "real" / "model.safetensors"
    weights = load_file(file)
    name = "model.layers.0.mlp.up_proj.weight"
    save_file({**weights, name: weights[name].to(torch.int8)}, file, metadata={"format": "pt"})
    refused_checkpoint("up_proj.weight must have floats .* got torch.int8", tmp_path / "real")
    refused("output must not be the folder of the checkpoint", lift_checkpoint, tmp_path / "real", tmp_path / "real")
    save_file(weights, file, metadata={"format": "pt"})
    words = "must have floats .* got torch.int8"
    refused(words, lift_checkpoint, tmp_path / "real", tmp_path / "complex", dtype="int8")


def write_gguf(path, model, changes=(), tensors=()):
    """Write a Llama as llama.cpp does, with a byte-level tokenizer."""
    pytest.importorskip("gguf", reason='needs the extra gguf: pip install -e ".[gguf]"')
    writer = gguf_writer(model, path)
    writer.add_name("tiny")
    writer.add_license("mit")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*(chr(ord("A") + i) for i in range(WORDS - 1)), "AB"])
    writer.add_token_merges(["A B"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    for method, value in changes:
        getattr(writer, method)(value)
    for name, value in tensors:
        writer.add_tensor(name, value.numpy())
    save_gguf(writer, model)
    return path


def test_a_gguf_file_and_what_it_must_not_have(tmp_path):
    model = real_model()
    path = write_gguf(tmp_path / "tiny.gguf", model)
    lift_checkpoint(path, tmp_path / "out")
    same_logits(tmp_path / "out", model)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "license: mit" in card
    assert "the weights of `tiny`" in card
    assert AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab()["C"] == 2
    whole = path.read_bytes()
    for size in (len(whole) - 4000, len(whole) // 2, 30, 0):
        path.write_bytes(whole[:size])
        with pytest.raises((ValueError, IndexError)):  # of the package gguf, or of numpy
            lift_checkpoint(path, tmp_path / "complex")
    scaled = [("add_rope_scaling_type", pytest.importorskip("gguf").RopeScalingType.YARN)]
    refused_checkpoint(
        "must not scale rotary positions, got yarn. Lift its safetensors", write_gguf(path, model, scaled)
    )
    factors = [("rope_freqs.weight", torch.ones(4))]
    refused_checkpoint("must not scale rotary positions, got rope_freqs", write_gguf(path, model, tensors=factors))
    window = write_gguf(path, model, [("add_sliding_window", 16)])
    refused_checkpoint("must not have a sliding window, got 16", window)
    bias = write_gguf(path, model, tensors=[("blk.0.attn_q.bias", torch.zeros(32))])
    refused_checkpoint(
        "must have the tensors of llama, missing or unexpected: .*model.layers.0.self_attn.q_proj.bias", bias
    )


def test_without_the_package_gguf(tmp_path, monkeypatch):
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "gguf", None)
    refused(r'pip install -e "\.\[gguf\]"', read_checkpoint, tmp_path / "tiny.gguf", error=ImportError)
    shutil.rmtree(tmp_path)
