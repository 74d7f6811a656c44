# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Converted weights of both Transformer-XL releases equal a plain network that uses the originals."""

import importlib
import json
import runpy
import sys
from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch
from safetensors.torch import save_file
from transfo_xl_releases import HEADS, NETWORKS, WIDTH, WORDS, plain_network, release

import complex_transformers
from complex_transformers import ComplexTransfoXLForCausalLM, MemoryCache
from complex_transformers.conversion.convert_transfo_xl_checkpoint import (
    convert_transfo_xl_checkpoint,
    convert_transfo_xl_weights,
)
from refusals import refused

every_network = pytest.mark.parametrize("changes", NETWORKS.values(), ids=NETWORKS.keys())
either_release = pytest.mark.parametrize("of_transformers", [False, True], ids=["authors", "Transformers"])
CUTS = (4, 7)
MODULE = "complex_transformers.conversion.convert_transfo_xl_checkpoint"


def stream(length=15):
    return torch.arange(length) * 7 % WORDS  # words of every cluster


@torch.no_grad()
def ours(model, ids, cuts=(), memory=None):
    pieces = []
    for start, end in zip((0, *cuts), (*cuts, len(ids)), strict=True):
        out = model(ids[None, start:end], cache=memory, use_cache=True)
        memory = out.cache
        pieces.append(out.logits[0].log_softmax(-1))
    return torch.cat(pieces)


def converted(tmp_path, weights, known, dtype=torch.float64):
    """Save the weights, convert the file and load the converted model."""
    torch.save({name: value.to(dtype) for name, value in weights.items()}, tmp_path / "weights.pt")
    (tmp_path / "config.json").write_text(json.dumps(known), encoding="utf-8")
    returned = convert_transfo_xl_checkpoint(tmp_path / "weights.pt", tmp_path / "model", tmp_path / "config.json")
    model = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path / "model", dtype=dtype).eval()
    assert returned.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(returned.state_dict()[name], value) for name, value in model.state_dict().items())
    return model


def assert_same_outputs(model, weights, known, cuts=CUTS, memory=None, zeros=None, tolerance=1e-8):
    """Compare log-probabilities, computed in segments with a memory, with the release."""
    expected = plain_network(weights, known, stream(), cuts, zeros)
    torch.testing.assert_close(ours(model, stream(), cuts, memory).double(), expected, rtol=0, atol=tolerance)


@every_network
@either_release
@pytest.mark.parametrize(
    ("lengths", "dtype"),
    [
        ({}, torch.float64),
        pytest.param({"clamp_len": 3}, torch.float64, marks=pytest.mark.full),
        pytest.param({"same_length": True}, torch.float64, marks=pytest.mark.full),
        pytest.param({}, torch.float32, marks=pytest.mark.full),
    ],
    ids=["plain", "clamped", "same", "float32"],
)
def test_outputs_are_those_of_the_release(tmp_path, changes, of_transformers, lengths, dtype):
    weights, known = release(of_transformers, **changes, **lengths)
    model = converted(tmp_path, weights, known, dtype)
    assert model.dtype == dtype
    weights = {name: value.to(dtype) for name, value in weights.items()}
    tolerance = 1e-8 if dtype == torch.float64 else 1e-4
    for cuts in ((), CUTS):
        assert_same_outputs(model, weights, known, cuts, tolerance=tolerance)
    if known["cutoffs"]:
        ids = stream()
        out = model(ids[None, :-1], shift_labels=ids[None, 1:])
        expected = -plain_network(weights, known, ids[:-1]).gather(-1, ids[1:, None]).mean()
        torch.testing.assert_close(out.loss.double(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "cutoffs", "div_value"),
    [
        ("words, tied", [6, 14], 1),
        ("narrow words", [6, 14], 1),
        ("adaptive", [6, 14], 4),
        ("adaptive, untied", [6, 14, 20], 2),
        ("adaptive, narrow", [6, 14], 1),
    ],
)
def test_the_head_keeps_its_clusters(name, cutoffs, div_value):
    config, _ = convert_transfo_xl_weights(*release(**NETWORKS[name]))
    assert (config.cutoffs, config.div_value) == (cutoffs, div_value)


def test_each_layer_may_have_biases_of_its_own(tmp_path):
    weights, known = release(of_transformers=True, untie_r=True, **NETWORKS["adaptive"])
    model = converted(tmp_path, weights, known)
    biases = [layer.self_attn.content_bias for layer in model.model.layers]
    assert (biases[0] - biases[1]).abs().max() > 0.1
    assert_same_outputs(model, weights, known)


def test_the_memory_of_zeros_that_transformers_begins_with(tmp_path):
    weights, known = release(of_transformers=True, **NETWORKS["words, tied"])
    model = converted(tmp_path, weights, known)
    memory = MemoryCache(model.config, keeps="states")
    for layer in memory.layers:
        layer.extend(torch.zeros(1, known["mem_len"], WIDTH, dtype=torch.float64))
    zeros = [torch.zeros(known["mem_len"], WIDTH, dtype=torch.float64)] * len(memory.layers)
    assert_same_outputs(model, weights, known, memory=memory, zeros=zeros)
    with_zeros, without = (plain_network(weights, known, stream(), CUTS, first) for first in (zeros, None))
    assert (with_zeros - without).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["characters", "words, tied", "narrow words, shared projections", "adaptive"])
@pytest.mark.parametrize("kept", ["word_emb", "crit"])
def test_tied_tensors_may_be_there_once(tmp_path, name, kept):
    """Safetensors files hold tied tensors under one name only."""
    weights, known = release(of_transformers=True, **NETWORKS[name])
    dropped = []
    for table in range(3):
        pairs = [(f"transformer.word_emb.emb_layers.{table}.weight", f"crit.out_layers.{table}.weight")]
        if name == "adaptive" and table:
            pairs.append((f"transformer.word_emb.emb_projs.{table}", f"crit.out_projs.{table}"))
        if name.startswith("narrow") and kept == "word_emb" and table:
            pairs.append(("transformer.word_emb.emb_projs.0", f"crit.out_projs.{table}"))
        dropped += [
            other if kept == "word_emb" else one for one, other in pairs if one in weights and other in weights
        ]
    assert dropped
    file = tmp_path / "model.safetensors"
    save_file({n: value.clone() for n, value in weights.items() if n not in dropped}, file)
    model = convert_transfo_xl_checkpoint(file, tmp_path / "model", **known)
    assert_same_outputs(model, weights, known)
    with pytest.raises(ValueError, match=r"weights must be of one network, got .*weight.*tie_weight"):
        convert_transfo_xl_checkpoint(file, tmp_path / "other", **{**known, "tie_weight": False})


def test_prefix_and_half_precision():
    weights, known = release(**NETWORKS["words, tied"])
    config, state = convert_transfo_xl_weights({f"module.{n}": value.half() for n, value in weights.items()}, known)
    assert config.dtype == torch.float16
    assert {value.dtype for value in state.values()} == {torch.float16}


def test_command_line(tmp_path, monkeypatch, capsys):
    """Options take precedence over the file of settings."""
    weights, known = release(**NETWORKS["words, tied"])
    torch.save(weights, tmp_path / "weights.pt")
    (tmp_path / "config.json").write_text(json.dumps({**known, "mem_len": 9, "clamp_len": 3}), encoding="utf-8")
    names = {"checkpoint": "weights.pt", "config_file": "config.json", "output_dir": "model"}
    files = [part for option, name in names.items() for part in (f"--{option}", str(tmp_path / name))]
    options = ["--mem_len", "5", "--same_length", "true", "--cutoffs", "6", "14"]
    monkeypatch.setattr(sys, "argv", ["convert", *files, *options])
    monkeypatch.delitem(sys.modules, MODULE)
    runpy.run_module(MODULE, run_name="__main__")
    out = capsys.readouterr().out
    assert "30 tokens; mem_len=5, clamp_len=3, same_length=True, cutoffs=[6, 14], div_value=1" in out
    model = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float64).eval()
    assert_same_outputs(model, weights, {**known, "clamp_len": 3, "same_length": True})
    assert model.generate(stream(4)[None], max_new_tokens=3).shape == (1, 7)


def test_every_converter_has_its_script():
    package, scripts = Path(complex_transformers.__file__).parent, Path(__file__).parents[2] / "conversion"
    names = {path.stem for path in (package / "conversion").glob("convert_*.py")} | {"lift_checkpoint"}
    assert names == {path.stem for path in scripts.glob("*.py")}
    assert names
    for name in names:
        module = importlib.import_module(f"complex_transformers.conversion.{name}")
        assert runpy.run_path(str(scripts / f"{name}.py"))["main"] is module.main


def test_originals_are_not_written_over(tmp_path):
    folders = tmp_path / "weights", tmp_path / "settings"
    for folder in folders:
        folder.mkdir()
    files = folders[0] / "model.safetensors", folders[1] / "config.json"
    for file in files:
        file.write_bytes(b"{")  # not even read
    for folder in folders:
        words = "output must not be the folder of the checkpoint"
        refused(words, convert_transfo_xl_checkpoint, files[0], folder, files[1])
    assert [file.read_bytes() for file in files] == [b"{"] * 2
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1]


def refused_settings(words, weights=None, known=None, **changes):
    given, settings = release(**changes)
    refused(words, convert_transfo_xl_weights, {**given, **(weights or {})}, {**settings, **(known or {})})


def test_missing_extra_and_misshapen_tensors_are_listed():
    weights, known = release(**NETWORKS["adaptive"])
    del weights["layers.1.dec_attn.r_net.weight"]
    weights |= {"crit.more": torch.zeros(1), "layers.0.dec_attn.o_net.weight": torch.zeros(16, 8)}
    words = (
        r"crit.more \(\(1,\) instead of None\), layers.0.dec_attn.o_net.weight \(\(16, 8\) instead of \(16, 16\)\), "
        r"layers.1.dec_attn.r_net.weight \(None instead of \(16, 16\)\). Check cutoffs"
    )
    refused(words, convert_transfo_xl_weights, weights, known)
    shared = {"transformer.r_w_bias": torch.zeros(HEADS, WIDTH // HEADS)}  # differs from the biases of the layers
    refused_settings(r"r_w_bias \(\(2, 8\) instead of None\)", shared, of_transformers=True)
    for name in ("r_emb", "out_layer.weight", "layers.0.dec_attn.kv_net.weight"):  # other networks of the release
        refused_settings(rf"{name} \(\(1,\) instead of None\)", {name: torch.zeros(1)})


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"attn_type": 2}, "attn_type must be 0, got 2. Other networks are not supported"),
        ({"pre_lnorm": True}, "pre_lnorm must be False, got True"),
        ({"sample_softmax": 10}, "sample_softmax must be -1, got 10"),
        ({"ext_len": 4}, "ext_len must be 0, got 4"),
        ({"cutoffs": None}, r"crit.cluster_weight \(\(2, 16\) instead of None\)"),
        ({"cutoffs": [6]}, r"crit.cluster_weight \(\(2, 16\) instead of \(1, 16\)\)"),
        ({"n_layer": 3}, "n_layer must be 2 as in the weights, got 3"),
        ({"vocab_size": 31}, "vocab_size must be 30 as in the weights, got 31"),
    ],
)
def test_settings_that_do_not_fit_are_rejected(known, message):
    refused_settings(message, known=known, cutoffs=[6, 14])


def test_cutoffs_of_narrow_tables_are_in_the_weights():
    weights, _ = release(**NETWORKS["adaptive"])
    assert convert_transfo_xl_weights(weights, {"mem_len": 5})[0].cutoffs == [6, 14]


def test_files_without_a_state_dict(tmp_path):
    file = tmp_path / "weights.pt"
    for value, error, words in (
        (torch.nn.Linear(2, 2), UnpicklingError, "Weights only load failed"),
        ({"model": {}, "epoch": 3}, ValueError, "weights.pt must contain a state dict, got .*'epoch'"),
        (torch.zeros(3), ValueError, "weights.pt must contain a state dict"),
    ):
        torch.save(value, file)
        refused(words, convert_transfo_xl_checkpoint, file, tmp_path / "model", error=error)
    assert not (tmp_path / "model").exists()
