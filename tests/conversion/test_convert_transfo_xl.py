# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights of both releases of Transformer-XL, converted, against a plain network that reads the originals."""

import importlib
import io
import json
import runpy
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save, save_file
from transfo_xl_releases import HEADS, NETWORKS, WIDTH, WORDS, plain_network, release

import complex_transformers
from complex_transformers import ComplexTransfoXLForCausalLM, MemoryCache
from complex_transformers.conversion.convert_transfo_xl_checkpoint import (
    convert_transfo_xl_checkpoint,
    convert_transfo_xl_weights,
)
from complex_transformers.conversion.files import read_weights
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
    """Saved as a file, converted, and read again."""
    torch.save({name: value.to(dtype) for name, value in weights.items()}, tmp_path / "weights.pt")
    (tmp_path / "config.json").write_text(json.dumps(known), encoding="utf-8")
    returned = convert_transfo_xl_checkpoint(tmp_path / "weights.pt", tmp_path / "model", tmp_path / "config.json")
    model = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path / "model", dtype=dtype).eval()
    assert returned.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(returned.state_dict()[name], value) for name, value in model.state_dict().items())
    return model


def assert_same_outputs(model, weights, known, cuts=CUTS, memory=None, zeros=None, tolerance=1e-8):
    """Log-probabilities of the stream, read in pieces with a memory, are those of the release."""
    expected = plain_network(weights, known, stream(), cuts, zeros)
    torch.testing.assert_close(ours(model, stream(), cuts, memory).double(), expected, rtol=0, atol=tolerance)


@every_network
@either_release
@pytest.mark.parametrize(
    ("lengths", "dtype"),
    [
        ({}, torch.float64),
        ({"clamp_len": 3}, torch.float64),
        ({"same_length": True}, torch.float64),
        ({}, torch.float32),
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


def test_the_releases_differ_in_the_order_of_the_tails():
    """Column -i of the authors' PyTorch code is tail i: the same tensors are another model in Transformers."""
    weights, known = release(**NETWORKS["words, tied"])
    renamed = {n if n.startswith("crit.") else f"transformer.{n}": value for n, value in weights.items()}
    difference = plain_network(weights, known, stream()) - plain_network(renamed, known, stream())
    assert difference.abs().max() > 0.1


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
    """safetensors leaves out all names of a tensor but one."""
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
    with pytest.raises(ValueError, match=r"missing: .*weight.*tie_weight"):
        convert_transfo_xl_checkpoint(file, tmp_path / "other", **{**known, "tie_weight": False})


def test_prefix_and_half_precision():
    weights, known = release(**NETWORKS["words, tied"])
    config, state = convert_transfo_xl_weights({f"module.{n}": value.half() for n, value in weights.items()}, known)
    assert config.dtype == torch.float16
    assert {value.dtype for value in state.values()} == {torch.float16}


def test_command_line(tmp_path, monkeypatch, capsys):
    """Its options come before the file of settings."""
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
    assert "30 words; mem_len=5, clamp_len=3, same_length=True, cutoffs=[6, 14], div_value=1" in out
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


# --- refusals -----------------------------------------------------------------------------------------------------


def test_originals_are_not_written_over(tmp_path):
    folders = tmp_path / "weights", tmp_path / "settings"
    for folder in folders:
        folder.mkdir()
    files = folders[0] / "model.safetensors", folders[1] / "config.json"
    for file in files:
        file.write_bytes(b"{")  # not even read
    for folder in folders:
        refused("output is the checkpoint itself", convert_transfo_xl_checkpoint, files[0], folder, files[1])
    refused("output is a file", convert_transfo_xl_checkpoint, files[0], files[1])
    assert [file.read_bytes() for file in files] == [b"{"] * 2
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1]


def refused_settings(words, weights=None, known=None, **changes):
    given, settings = release(**changes)
    refused(words, convert_transfo_xl_weights, {**given, **(weights or {})}, {**settings, **(known or {})})


def test_missing_and_extra_tensors_are_listed_together():
    weights, known = release(**NETWORKS["adaptive"])
    for name in (
        "layers.1.dec_attn.r_net.weight",
        "crit.cluster_bias",
        "layers.0.pos_ff.layer_norm.bias",
        "word_emb.emb_projs.1",
    ):
        del weights[name]
    weights |= {"layers.0.dec_attn.q.weight": torch.zeros(1), "crit.more": torch.zeros(1)}
    message = (
        r"missing: crit.cluster_bias, layers.0.pos_ff.layer_norm.bias, layers.1.dec_attn.r_net.weight, "
        r"word_emb.emb_projs.1; of no use: crit.more, layers.0.dec_attn.q.weight\. Give the settings"
    )
    refused(message, convert_transfo_xl_weights, weights, {**known, "tie_projs": None})
    with pytest.raises(ValueError, match=r"missing: crit.out_layers.0.bias, .*; of no use: a, b"):
        convert_transfo_xl_weights({"a": torch.zeros(1), "b": torch.zeros(1)}, {"mem_len": 4})
    shared = {"transformer.r_w_bias": torch.zeros(HEADS, WIDTH // HEADS)}  # not what the layers have
    refused_settings("missing: none; of no use: r_w_bias", shared, of_transformers=True)


def test_tensors_that_are_there_under_two_prefixes_are_listed():
    name = "layers.0.dec_attn.r_net.weight"
    other = torch.zeros(WIDTH, WIDTH)
    refused_settings(rf"have one name: {name} and module\.{name}; keep one of each", {f"module.{name}": other})
    refused_settings(
        rf"transformer\.r_w_bias and r_w_bias; transformer\.{name} and module\.transformer\.{name} and {name}; keep",
        {f"module.transformer.{name}": other, name: other, "r_w_bias": other, "transformer.r_w_bias": other},
        of_transformers=True,
    )


def test_names_without_end_are_of_no_use():
    names = ("layers.300000.foo", "crit.out_layers.1000000.foo", f"layers.{'9' * 5000}.foo", "layers.01.foo")
    refused_settings("missing: none; of no use: crit.out_layers.1000000.foo, ", dict.fromkeys(names, torch.zeros(1)))
    many = {f"a.{number:04}": torch.zeros(1) for number in range(1200)}
    refused_settings(r"of no use: a\.0000, .*, a\.0999 and 200 more\. Give", many)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (7, torch.zeros(1), r"weights must hold tensors by name, it holds a int, its keys are \['7', "),
        ("crit.more", None, "weights must hold tensors by name, it holds a NoneType"),
        ("r_w_bias", torch.zeros(2, 8, dtype=torch.long), r"not: r_w_bias \(torch.int64, torch.strided\)"),
        ("r_w_bias", torch.zeros(2, 8, dtype=torch.complex64), r"not: r_w_bias \(torch.complex64, torch.strided\)"),
        ("r_w_bias", torch.zeros(2, 8).to_sparse(), r"not: r_w_bias \(torch.float32, torch.sparse_coo\)"),
        ("r_w_bias", torch.zeros(2, 8, device="meta"), "must be dense tensors of floating-point numbers"),
    ],
)
def test_what_is_no_weight_is_named(tmp_path, name, value, message):
    refused_settings(message, {name: value})
    if not isinstance(value, torch.Tensor) or name == 7:
        torch.save({name: value}, tmp_path / "weights.pt")
        refused("must hold tensors by name", read_weights, tmp_path / "weights.pt")


def test_shapes_are_named():
    wrong = {
        "layers.1.pos_ff.CoreNet.3.weight": torch.zeros(3, 4),
        "layers.0.dec_attn.o_net.weight": torch.zeros(16, 8),
    }
    refused_settings(
        r"layers.0.dec_attn.o_net.weight \(16, 8\) instead of \(16, 16\); "
        r"layers.1.pos_ff.CoreNet.3.weight \(3, 4\) instead of \(16, 24\)",
        wrong,
    )


def test_heads_must_fill_the_model():
    weights, _ = release()
    for i in range(2):
        prefix = f"layers.{i}.dec_attn."
        weights |= {f"{prefix}qkv_net.weight": torch.zeros(30, 16), f"{prefix}r_net.weight": torch.zeros(10, 16)}
        weights |= {f"{prefix}o_net.weight": torch.zeros(16, 10)}
    weights |= {"r_w_bias": torch.zeros(2, 5), "r_r_bias": torch.zeros(2, 5)}
    with pytest.raises(ValueError, match="heads of 5 times 2 are 10 features and d_model is 16"):
        convert_transfo_xl_weights(weights, {"mem_len": 4})


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"attn_type": 2}, "attn_type must be 0, the relative attention of Transformer-XL, got 2"),
        ({"pre_lnorm": True}, "pre_lnorm=True is another network: it has no norm after its last layer"),
        ({"sample_softmax": 10}, "a sampled softmax"),
        ({"ext_len": 4}, "ext_len must be 0, got 4"),
        ({"mem_len": None}, "mem_len must be 1 or more, got None: the weights do not say .* mem_len=1600"),
        ({"mem_len": 0}, "mem_len must be 1 or more, got 0"),
        ({"mem_len": "12"}, "mem_len must be a whole number, got '12'"),
        ({"mem_len": 2.7, "n_layer": "2"}, r"n_layer must be .* got '2'; mem_len must be a whole number, got 2\.7"),
        ({"clamp_len": "x"}, "clamp_len must be a whole number, -1 for distances as they are, got 'x'"),
        ({"clamp_len": -2}, "clamp_len must be a whole number, -1 for distances as they are, got -2"),
        ({"div_val": "a"}, "div_val must be a whole number of 1 or more, got 'a'"),
        ({"div_val": 0}, "div_val must be a whole number of 1 or more, got 0"),
        ({"div_val": True}, "div_val must be a whole number of 1 or more, got True"),
        ({"cutoffs": "abc"}, "cutoffs must be a list of whole numbers, got 'abc'"),
        ({"cutoffs": 5}, "cutoffs must be a list of whole numbers, got 5"),
        ({"cutoffs": [6, "14"]}, r"cutoffs must be a list of whole numbers, got \[6, '14'\]"),
        ({"tie_projs": 5}, "tie_projs must be a list of true and false, got 5"),
        ({"same_length": "no"}, "same_length must be true or false, got 'no'"),
        ({"dropatt": "0.1"}, "dropatt must be a number, got '0.1'"),
        ({"cutoffs": None}, "is that of an adaptive softmax with 2 cutoffs, which are not in the weights"),
        ({"cutoffs": [6]}, r"crit.cluster_weight \(2, 16\) instead of \(1, 16\)"),
        ({"cutoffs": [14, 6]}, r"cutoffs must increase and leave words in each cluster, got \[14, 6\]"),
        ({"cutoffs": [6, 30]}, "cutoffs must increase and leave words in each cluster"),
        ({"n_layer": 3, "d_inner": 9}, r"stand in brackets: n_layer=3 \(2\), d_inner=9 \(24\)"),
        ({"div_val": 2}, r"div_val=2 \(clusters of \[16, 16, 16\] features\)"),
        ({"vocab_size": 31}, r"vocab_size=31 \(30\)"),
        ({"untie_r": True}, r"untie_r=True \(False\)"),
    ],
)
def test_settings_that_do_not_fit_are_refused(known, message):
    refused_settings(message, known=known, cutoffs=[6, 14])


def test_cutoffs_of_narrow_tables_are_in_the_weights():
    weights, _ = release(**NETWORKS["adaptive"])
    assert convert_transfo_xl_weights(weights, {"mem_len": 5})[0].cutoffs == [6, 14]
    refused_settings(r"cutoffs=\[5, 14\] \(\[6, 14\]\)", known={"cutoffs": [5, 14]}, **NETWORKS["adaptive"])


def test_other_networks_are_told_by_their_weights():
    refused_settings("got weights of another", {"r_emb": torch.zeros(1)})
    refused_settings("got weights of another", {"layers.0.dec_attn.kv_net.weight": torch.zeros(1)})
    refused_settings("a sampled softmax", {"out_layer.weight": torch.zeros(1)})
    refused_settings("not the frequencies of the paper", {"pos_emb.inv_freq": torch.zeros(8)})


def saved(value, **options):
    """As ``torch.save`` writes it."""
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (saved(torch.nn.Linear(2, 2)), r'run code of its maker.*torch.save\(torch.load\("model.pt"\).state_dict'),
        (b"no weights at all", r"or it is no file of torch\.save"),
        (saved({"model": {}, "epoch": 3}), r"by name, it holds a dict, its keys are \['epoch', 'model'\]"),
        (saved(torch.zeros(3)), "it holds a Tensor; save the state dict itself"),
    ],
    ids=["a whole module", "bytes", "weights under a name", "one tensor"],
)
def test_files_that_hold_no_weights(tmp_path, content, words):
    file = tmp_path / "weights.pt"
    file.write_bytes(content)
    refused(words, convert_transfo_xl_checkpoint, file, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_files_that_are_cut_short(tmp_path):
    weights, known = release()
    file, folder = tmp_path / "weights.pt", tmp_path / "model"
    whole = {".pt": saved(weights), ".bin": saved(weights, _use_new_zipfile_serialization=False)}
    whole[".safetensors"] = save({name: value.clone() for name, value in weights.items()})
    for ending, content in whole.items():
        file = tmp_path / f"weights{ending}"
        for size in (0, 30, len(content) // 2, len(content) - 500):
            file.write_bytes(content[:size])
            words = rf"is damaged or not complete \({size} bytes\)"
            refused(words, convert_transfo_xl_checkpoint, file, folder)
        file.write_bytes(content)
        convert_transfo_xl_checkpoint(file, tmp_path / f"from{ending}", **known)
    assert not folder.exists()
    (tmp_path / "weights.pt").write_bytes(whole[".safetensors"])  # under the name of another format
    assert read_weights(tmp_path / "weights.pt").keys() == weights.keys()


def test_files_of_settings_that_cannot_be_read(tmp_path):
    file, settings = tmp_path / "weights.pt", tmp_path / "config.json"
    arguments = (convert_transfo_xl_checkpoint, file, tmp_path / "model", settings)
    refused("no checkpoint at", *arguments[:3], error=FileNotFoundError)
    torch.save(release()[0], file)
    refused("no config_file at", *arguments, error=FileNotFoundError)
    for text, words in (("{", "is not json"), ("[1]", "must hold settings by name, it holds a list")):
        settings.write_text(text, encoding="utf-8")
        refused(words, *arguments)
    assert not (tmp_path / "model").exists()
