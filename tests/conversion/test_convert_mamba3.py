# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Converted Mamba-3 weights equal a complex128 loop that reads the official weights in their own layout."""

import json
import runpy
import sys
from itertools import product

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from complex_transformers import ComplexMambaForCausalLM
from complex_transformers.conversion.convert_mamba3_checkpoint import (
    convert_mamba3_checkpoint,
    convert_mamba3_mixer_weights,
    convert_mamba3_weights,
)
from complex_transformers.nn import Mamba3Mixer
from oracles import r
from refusals import refused

MODULE = "complex_transformers.conversion.convert_mamba3_checkpoint"
WIDTH, HEADS, P, N, GROUPS, WORDS = 8, 4, 4, 8, 2, 16  # the vocabulary of 13 tokens is padded
SSM = {"layer": "Mamba3", "d_state": N, "headdim": P, "expand": 2, "ngroups": GROUPS}
SETTINGS = {
    "d_model": WIDTH,
    "d_intermediate": 100,  # rounded up to 128
    "n_layer": 2,
    "vocab_size": 13,
    "attn_layer_idx": [],
    "attn_cfg": {},
    "rms_norm": True,
    "residual_in_fp32": True,
    "fused_add_norm": True,
    "pad_vocab_size_multiple": 8,
    "tie_embeddings": False,
}
MIMO = {"is_mimo": True, "mimo_rank": 3, "chunk_size": 4}
NORM = {"is_outproj_norm": True, "fuse_pregate_headwise_norm": True}
FULL = {"rope_fraction": 1.0}
NETWORKS = {
    "siso": ({}, {}),
    "siso, norm, all rotate": ({"tie_embeddings": True, "d_intermediate": 0}, {**NORM, **FULL, "ngroups": 1}),
    "mimo": ({}, {**MIMO, "A_floor": 0.4}),
    "mimo, norm, all rotate": ({"tie_embeddings": True}, {**MIMO, **NORM, **FULL}),
}


def draw(*shape, scale=0.5):
    return scale * torch.randn(*shape, dtype=torch.float64)


def module_weights(d_state=N, ngroups=GROUPS, rope_fraction=0.5, is_mimo=False, mimo_rank=4, **options):
    """Return a state dict with the names and shapes of the official ``Mamba3`` module."""
    rank, inner = mimo_rank if is_mimo else 1, HEADS * P
    rows = 2 * inner + 2 * d_state * ngroups * rank + 3 * HEADS + int(d_state * rope_fraction) // 2
    shapes = {"D": (HEADS,), "dt_bias": (HEADS,), "B_bias": (HEADS, rank, N), "C_bias": (HEADS, rank, N)}
    shapes |= {"in_proj.weight": (rows, WIDTH), "B_norm.weight": (N,), "C_norm.weight": (N,)}
    shapes |= {f"mimo_{name}": (HEADS, rank, P) for name in "xzo" if is_mimo}
    shapes |= {"norm.weight": (inner,)} if options.get("is_outproj_norm") else {}
    return {name: draw(*shape) for name, shape in {**shapes, "out_proj.weight": (WIDTH, inner)}.items()}


def release(changes, ssm):
    """Return a state dict of ``MambaLMHeadModel`` and its configuration."""
    torch.manual_seed(2)
    settings = {**SETTINGS, **changes, "ssm_cfg": {**SSM, **ssm}}
    weights = {"backbone.embedding.weight": draw(WORDS, WIDTH, scale=1.0), "backbone.norm_f.weight": draw(WIDTH)}
    for index in range(2):
        layer = {f"mixer.{name}": value for name, value in module_weights(**settings["ssm_cfg"]).items()}
        layer["norm.weight"] = draw(WIDTH, scale=2.0)
        if settings["d_intermediate"]:
            layer |= {"norm2.weight": draw(WIDTH), "mlp.fc1.weight": draw(256, WIDTH)}
            layer["mlp.fc2.weight"] = draw(WIDTH, 128)
        weights |= {f"backbone.layers.{index}.{name}": value for name, value in layer.items()}
    tied = settings["tie_embeddings"]
    return weights | {"lm_head.weight": weights["backbone.embedding.weight"] if tied else draw(WORDS, WIDTH)}, settings


def softplus(x):
    return np.logaddexp(0.0, x)


def silu(x):
    return x / (1.0 + np.exp(-x))


def rms(x, gain):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * gain


def official_mixer(weights, u, ssm, a_activation="heavy_tail"):
    """Compute the output of one sequence ``[T, D]`` from official weights, step by step in complex128."""
    w = {name: r(value) for name, value in weights.items()}
    is_mimo, groups = ssm.get("is_mimo", False), ssm.get("ngroups", 1)
    rank, inner = w["B_bias"].shape[1], HEADS * P
    angles = int(N * ssm.get("rope_fraction", 0.5)) // 2

    def paired(x):  # the kernels without MIMO rotate neighbours, the kernels with MIMO rotate halves
        return x[..., : N // 2] + 1j * x[..., N // 2 :] if is_mimo else x[..., 0::2] + 1j * x[..., 1::2]

    sizes = [inner, inner, rank * groups * N, rank * groups * N, HEADS, HEADS, HEADS, angles]
    pieces = np.split(u @ w["in_proj.weight"].T, np.cumsum(sizes), axis=-1)
    assert pieces.pop().shape[-1] == 0
    scale = {name: w.get(f"mimo_{name}", np.ones((HEADS, 1, P))) for name in "xzo"}
    state = np.zeros((HEADS, P, N // 2), complex)
    before = np.zeros_like(state)  # the outer product of key and value of the step before
    theta = np.zeros((HEADS, N // 2))
    outputs = []
    for z, x, b, c, dd_dt, dd_a, trap, angle in zip(*pieces, strict=True):
        mixed = np.zeros((HEADS, P))
        for head in range(HEADS):
            dt = softplus(dd_dt[head] + w["dt_bias"][head])
            v = dd_a[head]
            rate = softplus(v) if a_activation == "softplus" else (1 + v if v >= 0 else 1 / (1 - v))
            alpha = np.exp(-max(rate, ssm.get("A_floor", 1e-4)) * dt)
            theta[head, :angles] += np.tanh(angle) * np.pi * dt
            group = head // (HEADS // groups)
            key, query = (
                paired(rms(p.reshape(rank, groups, N)[:, group], w[f"{n}_norm.weight"]) + w[f"{n}_bias"][head])
                * np.exp(1j * theta[head])
                for n, p in (("B", b), ("C", c))
            )
            value = x.reshape(HEADS, P)[head] * scale["x"][head]
            current = sum(np.outer(value[i], key[i]) for i in range(rank))
            lam = 1 / (1 + np.exp(-trap[head]))
            state[head] = alpha * state[head] + (1 - lam) * dt * alpha * before[head] + lam * dt * current
            before[head] = current
            for i in range(rank):
                y = (state[head] @ query[i].conj()).real + w["D"][head] * value[i]
                if "norm.weight" in w:
                    y = rms(y, w["norm.weight"].reshape(HEADS, P)[head])
                mixed[head] += y * silu(z.reshape(HEADS, P)[head] * scale["z"][head, i]) * scale["o"][head, i]
        outputs.append(mixed.flatten() @ w["out_proj.weight"].T)
    return np.stack(outputs)


def official_logits(weights, settings, ids):
    """Compute the logits of one sequence."""
    stream = r(weights["backbone.embedding.weight"])[ids]
    for index in range(2):
        prefix = f"backbone.layers.{index}."
        layer = {n.removeprefix(prefix): value for n, value in weights.items() if n.startswith(prefix)}
        mixer = {n.removeprefix("mixer."): value for n, value in layer.items() if n.startswith("mixer.")}
        stream = stream + official_mixer(mixer, rms(stream, r(layer["norm.weight"])), settings["ssm_cfg"])
        if "mlp.fc1.weight" in layer:
            value, gate = np.split(rms(stream, r(layer["norm2.weight"])) @ r(layer["mlp.fc1.weight"]).T, 2, axis=-1)
            stream = stream + (value * silu(gate)) @ r(layer["mlp.fc2.weight"]).T
    return rms(stream, r(weights["backbone.norm_f.weight"])) @ r(weights["lm_head.weight"]).T


def write(folder, weights, settings, pickled=False):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    if pickled:
        torch.save(weights, folder / "pytorch_model.bin")
    else:  # safetensors holds tied tensors once
        tied = settings["tie_embeddings"]
        kept = {n: value.clone() for n, value in weights.items() if not (tied and n == "lm_head.weight")}
        save_file(kept, folder / "model.safetensors")
    return folder


IDS = [3, 7, 3, 12, 0, 1, 1, 9, 5, 2, 11]


@torch.no_grad()
@pytest.mark.parametrize("a_activation", ["heavy_tail", "softplus"])
@pytest.mark.parametrize(
    ("mimo", "norm", "groups", "fraction"), list(product([False, True], [False, True], [1, 2], [0.5, 1.0]))
)
def test_a_module(mimo, norm, groups, fraction, a_activation):
    torch.manual_seed(1)
    ssm = {"is_mimo": mimo, "mimo_rank": 3, "is_outproj_norm": norm, "ngroups": groups, "rope_fraction": fraction}
    weights, u = module_weights(**ssm), draw(2, 9, WIDTH, scale=2.0)
    sizes = {"n_groups": groups, "rope_fraction": fraction, "mimo_rank": 3 if mimo else 1, "chunk_size": 4}
    mixer = Mamba3Mixer(WIDTH, N, P, **sizes, is_outproj_norm=norm, A_activation=a_activation).double()
    mixer.load_state_dict(convert_mamba3_mixer_weights(weights, mixer))
    for row in range(2):
        expected = torch.from_numpy(official_mixer(weights, r(u[row]), ssm, a_activation))
        assert expected.std() > 0.3
        torch.testing.assert_close(mixer(u)[0][row], expected, rtol=1e-10, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("pickled", [False, True], ids=["safetensors", "pickled"])
@pytest.mark.parametrize("name", NETWORKS)
def test_logits_are_computed_from_official_weights(tmp_path, name, pickled):
    weights, settings = release(*NETWORKS[name])
    folder = write(tmp_path / "official", weights, settings, pickled)
    converted = convert_mamba3_checkpoint(folder, tmp_path / "ours")
    expected = torch.from_numpy(official_logits(weights, settings, IDS))
    assert expected.std() > 0.5
    torch.testing.assert_close(converted(torch.tensor([IDS])).logits[0], expected, rtol=1e-9, atol=1e-9)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "ours").eval()
    assert type(loaded) is ComplexMambaForCausalLM
    assert loaded.config.tie_word_embeddings == settings["tie_embeddings"]
    assert all(torch.equal(loaded.state_dict()[n], value) for n, value in converted.state_dict().items())
    torch.testing.assert_close(loaded(torch.tensor([IDS])).logits[0], expected, rtol=1e-9, atol=1e-9)


def test_half_precision_keeps_its_dtype():
    weights, settings = release({}, {})
    halved = {name: value if name.endswith("dt_bias") else value.bfloat16() for name, value in weights.items()}
    config, state = convert_mamba3_weights(halved, settings)
    assert config.dtype == torch.bfloat16
    assert {value.dtype for name, value in state.items() if "dt_bias" not in name} == {torch.bfloat16}


def test_a_tied_head_takes_precedence():
    """The official code copies both tensors of a file into one, the LM head last."""
    weights, settings = release({"tie_embeddings": True}, {})
    weights["lm_head.weight"] = draw(WORDS, WIDTH)
    _, state = convert_mamba3_weights(weights, settings)
    for name in ("model.embed_tokens.weight", "lm_head.projection.weight"):
        assert torch.equal(state[name], weights["lm_head.weight"])


@torch.no_grad()
def test_the_command_line(tmp_path, monkeypatch, capsys):
    weights, settings = release(*NETWORKS["mimo"])
    folder = write(tmp_path / "official", weights, settings, pickled=True)
    files = ["--model", str(folder), "--output", str(tmp_path / "ours"), "--license", "apache-2.0"]
    monkeypatch.setattr(sys, "argv", ["convert", *files, "--A_activation", "softplus"])
    monkeypatch.delitem(sys.modules, MODULE)
    runpy.run_module(MODULE, run_name="__main__")
    out = capsys.readouterr().out
    assert "16 tokens; state_size=8, mimo_rank=3, rope_fraction=0.5, A_activation=softplus" in out
    assert "license: apache-2.0" in (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "ours").eval()
    assert {layer.mixer.A_activation for layer in loaded.model.layers} == {"softplus"}
    assert loaded.generate(torch.tensor([IDS[:4]]), max_new_tokens=3).shape == (1, 7)


def refused_release(words, weights=None, changes=None, **ssm):
    given, settings = release(changes or {}, ssm)
    refused(words, convert_mamba3_weights, {**given, **(weights or {})}, settings)


def test_another_split_is_rejected():
    """Sizes that differ from the weights, and the projection of Mamba-2, which has no trapezoid and no angles."""
    weights, settings = release({}, {})
    split = "z 16, x 16, B 16, C 16, dt 4, A 4, trap 4, angle 4"
    words = rf"in_proj: {split}\), got backbone.layers.0.mixer.in_proj.weight \(\(78, 8\) instead of \(80, 8\)\)"
    settings["ssm_cfg"]["rope_fraction"] = 1.0
    refused(words, convert_mamba3_weights, weights, settings)
    mixer = Mamba3Mixer(WIDTH, N, P, n_groups=GROUPS)
    module = {**module_weights(), "in_proj.weight": draw(68, WIDTH)}
    words = r"got in_proj.weight \(\(68, 8\) instead of \(78, 8\)\); 1 differ. Check d_state"
    refused(words, convert_mamba3_mixer_weights, module, mixer)


def test_missing_and_extra_tensors_are_listed():
    weights, settings = release({}, {})
    del weights["backbone.layers.1.mixer.D"]
    weights["backbone.layers.0.mixer.conv1d.weight"] = draw(4)
    words = (
        r"layers.0.mixer.conv1d.weight \(\(4,\) instead of None\), "
        r"backbone.layers.1.mixer.D \(None instead of \(4,\)\); 2 differ"
    )
    refused(words, convert_mamba3_weights, weights, settings)
    refused_release(
        r"\(142, 8\) instead of \(78, 8\).*B_bias \(\(4, 3, 8\) instead of .*12 differ", release({}, MIMO)[0]
    )
    refused_release(r"norm_f.bias \(\(8,\) instead of None\)", {"backbone.norm_f.bias": draw(WIDTH)})
    refused_release(r"layers.2.mixer.in_proj.weight \(None instead of \(78, 8\)\)", changes={"n_layer": 3})
    refused_release(r"embedding.weight \(\(16, 8\) instead of \(24, 8\)\)", changes={"vocab_size": 17})


@pytest.mark.parametrize(
    ("changes", "ssm", "message"),
    [
        ({"rms_norm": False}, {}, "rms_norm must be True, got False. Other networks"),
        ({"attn_layer_idx": [1]}, {}, r"attn_layer_idx must be \[\], got \[1\]"),
        ({}, {"layer": "Mamba2"}, "layer must be 'Mamba3', got 'Mamba2'"),
        ({}, {"layer": None}, "layer must be 'Mamba3', got 'Mamba1'"),
        (
            {"logit_scale": 2.0},
            {"d_conv": 4},
            "known fields, got d_conv, logit_scale. Remove fields without an effect",
        ),
    ],
)
def test_other_networks_are_rejected(changes, ssm, message):
    refused_release(message, changes=changes, **ssm)
