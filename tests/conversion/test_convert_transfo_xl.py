# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights of both releases of Transformer-XL, converted, against a plain network that reads the originals."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file
from transfo_xl_releases import HEADS, NETWORKS, WIDTH, WORDS, plain_network, release

from complex_transformers import ComplexTransfoXLForCausalLM, MemoryCache
from complex_transformers.conversion.convert_transfo_xl_checkpoint import (
    convert_transfo_xl_checkpoint,
    convert_transfo_xl_weights,
    main,
    read_weights,
)
from complex_transformers.nn import AdaptiveReadout

every_network = pytest.mark.parametrize("changes", NETWORKS.values(), ids=NETWORKS.keys())
either_release = pytest.mark.parametrize("of_transformers", [False, True], ids=["authors", "Transformers"])
CUTS = (4, 7)


def stream(length=15):
    return torch.arange(length) * 7 % WORDS  # words of every cluster


@torch.no_grad()
def ours(model, ids, cuts=(), memory=None):
    pieces = []
    for start, end in zip((0, *cuts), (*cuts, len(ids)), strict=True):
        out = model(ids[None, start:end], past_key_values=memory, use_cache=True)
        memory = out.past_key_values
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


@every_network
@either_release
@pytest.mark.parametrize("lengths", [{}, {"clamp_len": 3}, {"same_length": True}], ids=["plain", "clamped", "same"])
def test_outputs_are_those_of_the_release(tmp_path, changes, of_transformers, lengths):
    weights, known = release(of_transformers, **changes, **lengths)
    model = converted(tmp_path, weights, known)
    assert model.dtype == torch.float64
    ids = stream()
    for cuts in ((), CUTS):
        expected = plain_network(weights, known, ids, cuts)
        torch.testing.assert_close(ours(model, ids, cuts), expected, rtol=0, atol=1e-8)
    if known["cutoffs"]:
        out = model(ids[None, :-1], shift_labels=ids[None, 1:])
        expected = -plain_network(weights, known, ids[:-1]).gather(-1, ids[1:, None]).mean()
        torch.testing.assert_close(out.loss, expected, rtol=0, atol=1e-8)


@every_network
@either_release
def test_in_float32(tmp_path, changes, of_transformers):
    weights, known = release(of_transformers, **changes)
    model = converted(tmp_path, weights, known, torch.float32)
    assert model.dtype == torch.float32
    expected = plain_network({name: value.float() for name, value in weights.items()}, known, stream(), CUTS)
    torch.testing.assert_close(ours(model, stream(), CUTS).double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "div_value", "tails"),
    [
        ("characters", None, 0),
        ("words, tied", 1, 2),
        ("narrow words", 1, 2),
        ("adaptive", 4, 2),
        ("adaptive, untied", 2, 3),
        ("adaptive, narrow", 1, 2),
    ],
)
def test_the_head_keeps_its_clusters(name, div_value, tails):
    config, _ = convert_transfo_xl_weights(*release(**NETWORKS[name]))
    head = ComplexTransfoXLForCausalLM(config).lm_head
    assert isinstance(head, AdaptiveReadout) == (tails > 0)
    assert len(config.cutoffs) == tails
    assert div_value is None or head.div_value == div_value


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
    torch.testing.assert_close(
        ours(model, stream(), CUTS), plain_network(weights, known, stream(), CUTS), rtol=0, atol=1e-8
    )


def test_the_memory_of_zeros_that_transformers_begins_with(tmp_path):
    weights, known = release(of_transformers=True, **NETWORKS["words, tied"])
    model = converted(tmp_path, weights, known)
    memory = MemoryCache(model.config, keeps="states")
    for layer in memory.layers:
        layer.extend(torch.zeros(1, known["mem_len"], WIDTH, dtype=torch.float64))
    zeros = [torch.zeros(known["mem_len"], WIDTH, dtype=torch.float64)] * len(memory.layers)
    expected = plain_network(weights, known, stream(), CUTS, zeros)
    torch.testing.assert_close(ours(model, stream(), CUTS, memory), expected, rtol=0, atol=1e-8)
    assert (expected - plain_network(weights, known, stream(), CUTS)).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["characters", "words, tied", "narrow words, shared projections", "adaptive"])
@pytest.mark.parametrize("kept", ["word_emb", "crit"])
def test_tied_tensors_may_be_there_once(tmp_path, name, kept):
    """safetensors leaves out all names of a tensor but one."""
    weights, known = release(of_transformers=True, **NETWORKS[name])
    whole, dropped = dict(weights), []
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
    torch.testing.assert_close(
        ours(model, stream(), CUTS), plain_network(whole, known, stream(), CUTS), rtol=0, atol=1e-8
    )
    with pytest.raises(ValueError, match=r"missing: .*weight.*tie_weight"):
        convert_transfo_xl_checkpoint(file, tmp_path / "other", **{**known, "tie_weight": False})


def test_prefix_and_half_precision():
    weights, known = release(**NETWORKS["words, tied"])
    config, state = convert_transfo_xl_weights({f"module.{n}": value.half() for n, value in weights.items()}, known)
    assert config.dtype == torch.float16
    assert {value.dtype for value in state.values()} == {torch.float16}


@pytest.mark.full
def test_command_line(tmp_path):
    weights, known = release(**NETWORKS["words, tied"])
    file = tmp_path / "weights.pt"
    torch.save(weights, file)
    module = "complex_transformers.conversion.convert_transfo_xl_checkpoint"
    options = ["--mem_len", "5", "--clamp_len", "3", "--same_length", "true", "--cutoffs", "6", "14"]
    command = [
        sys.executable,
        "-m",
        module,
        "--checkpoint",
        str(file),
        "--output_dir",
        str(tmp_path / "model"),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "30 words; mem_len=5, clamp_len=3, same_length=True, cutoffs=[6, 14], div_value=1" in done.stdout
    known |= {"clamp_len": 3, "same_length": True}
    model = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float64).eval()
    torch.testing.assert_close(
        ours(model, stream(), CUTS), plain_network(weights, known, stream(), CUTS), rtol=0, atol=1e-8
    )
    assert model.generate(stream(4)[None], max_new_tokens=3).shape == (1, 7)


# --- refusals -----------------------------------------------------------------------------------------------------


def refused(match, weights=None, known=None, **changes):
    given, settings = release(**changes)
    with pytest.raises(ValueError, match=match):
        convert_transfo_xl_weights({**given, **(weights or {})}, {**settings, **(known or {})})


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
    with pytest.raises(ValueError, match=message):
        convert_transfo_xl_weights(weights, {**known, "tie_projs": None})
    with pytest.raises(ValueError, match=r"missing: crit.out_layers.0.bias, .*; of no use: a, b"):
        convert_transfo_xl_weights({"a": torch.zeros(1), "b": torch.zeros(1)}, {"mem_len": 4})
    shared = {"transformer.r_w_bias": torch.zeros(HEADS, WIDTH // HEADS)}  # not what the layers have
    refused("missing: none; of no use: r_w_bias", shared, of_transformers=True)


def test_tensors_that_are_there_under_two_prefixes_are_listed():
    name = "layers.0.dec_attn.r_net.weight"
    other = torch.zeros(WIDTH, WIDTH)
    refused(rf"have one name: {name} and module\.{name}; keep one of each", {f"module.{name}": other})
    refused(
        rf"transformer\.r_w_bias and r_w_bias; transformer\.{name} and module\.transformer\.{name} and {name}; keep",
        {f"module.transformer.{name}": other, name: other, "r_w_bias": other, "transformer.r_w_bias": other},
        of_transformers=True,
    )


def test_names_without_end_are_of_no_use():
    names = ("layers.300000.foo", "crit.out_layers.1000000.foo", f"layers.{'9' * 5000}.foo", "layers.01.foo")
    refused("missing: none; of no use: crit.out_layers.1000000.foo, ", dict.fromkeys(names, torch.zeros(1)))
    many = {f"a.{number:04}": torch.zeros(1) for number in range(1200)}
    refused(r"of no use: a\.0000, .*, a\.0999 and 200 more\. Give", many)


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
    refused(message, {name: value})
    if not isinstance(value, torch.Tensor) or name == 7:
        torch.save({name: value}, tmp_path / "weights.pt")
        with pytest.raises(ValueError, match="must hold tensors by name"):
            read_weights(tmp_path / "weights.pt")


def test_shapes_are_named():
    wrong = {
        "layers.1.pos_ff.CoreNet.3.weight": torch.zeros(3, 4),
        "layers.0.dec_attn.o_net.weight": torch.zeros(16, 8),
    }
    refused(
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
    refused(message, known=known, cutoffs=[6, 14])


def test_cutoffs_of_narrow_tables_are_in_the_weights():
    weights, _ = release(**NETWORKS["adaptive"])
    config, _ = convert_transfo_xl_weights(weights, {"mem_len": 5})
    assert (config.cutoffs, config.div_value) == ([6, 14], 4)
    refused(r"cutoffs=\[5, 14\] \(\[6, 14\]\)", known={"cutoffs": [5, 14]}, **NETWORKS["adaptive"])


def test_other_networks_are_told_by_their_weights():
    refused("got weights of another", {"r_emb": torch.zeros(1)})
    refused("got weights of another", {"layers.0.dec_attn.kv_net.weight": torch.zeros(1)})
    refused("a sampled softmax", {"out_layer.weight": torch.zeros(1)})
    refused("not the frequencies of the paper", {"pos_emb.inv_freq": torch.zeros(8)})


def test_files_that_cannot_be_read(tmp_path):
    file, folder = tmp_path / "weights.pt", tmp_path / "model"
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        convert_transfo_xl_checkpoint(file, folder)
    torch.save(torch.nn.Linear(2, 2), file)
    with pytest.raises(
        ValueError, match=r'would run code of its maker.*torch.save\(torch.load\("model.pt"\).state_dict'
    ):
        convert_transfo_xl_checkpoint(file, folder)
    weights, known = release()
    for legacy in (True, False):
        torch.save(weights, file, _use_new_zipfile_serialization=not legacy)
        whole = file.read_bytes()
        for size in (0, 30, len(whole) // 2, len(whole) - 500):
            file.write_bytes(whole[:size])
            with pytest.raises(ValueError, match=rf"is damaged or not complete \({size} bytes\)"):
                convert_transfo_xl_checkpoint(file, folder)
        file.write_bytes(whole)
        convert_transfo_xl_checkpoint(file, tmp_path / f"legacy-{legacy}", **known)
    safe = tmp_path / "model.safetensors"
    save_file({name: value.clone() for name, value in weights.items()}, safe)
    file.write_bytes(safe.read_bytes())  # under the name of another format
    assert read_weights(file).keys() == weights.keys()
    safe.write_bytes(safe.read_bytes()[:-100])
    with pytest.raises(ValueError, match="is damaged or not complete"):
        convert_transfo_xl_checkpoint(safe, folder)
    file.write_bytes(b"no weights at all")
    with pytest.raises(ValueError, match=r"or it is no file of torch\.save"):
        convert_transfo_xl_checkpoint(file, folder)
    torch.save({"model": weights, "epoch": 3}, file)
    with pytest.raises(
        ValueError, match=r"must hold tensors by name, it holds a dict, its keys are \['epoch', 'model'\]"
    ):
        convert_transfo_xl_checkpoint(file, folder)
    torch.save(torch.zeros(3), file)
    with pytest.raises(ValueError, match="it holds a Tensor; save the state dict itself"):
        convert_transfo_xl_checkpoint(file, folder)
    torch.save(weights, file)
    with pytest.raises(FileNotFoundError, match="no config_file at"):
        convert_transfo_xl_checkpoint(file, folder, tmp_path / "config.json")
    for text, message in (("{", "is not json"), ("[1]", "must hold settings by name, it holds a list")):
        (tmp_path / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            convert_transfo_xl_checkpoint(file, folder, tmp_path / "config.json")
    assert not folder.exists()


def test_options_come_before_the_file(tmp_path):
    weights, known = release()
    torch.save(weights, tmp_path / "weights.pt")
    (tmp_path / "config.json").write_text(json.dumps({**known, "clamp_len": 7}), encoding="utf-8")
    files = ["--checkpoint", str(tmp_path / "weights.pt"), "--config_file", str(tmp_path / "config.json")]
    main([*files, "--output_dir", str(tmp_path / "model"), "--mem_len", "9"])
    model = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path / "model")
    assert (model.config.mem_len, model.config.clamp_len) == (9, 7)
