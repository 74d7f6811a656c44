# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A converted iFairy checkpoint of random weights equals its formulas in complex128."""

import cmath
import json
import math
import runpy
import sys

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from complex_transformers import ComplexLlamaForCausalLM
from complex_transformers.conversion.convert_ifairy_checkpoint import convert_ifairy_checkpoint, convert_ifairy_weights
from refusals import refused

MODULE = "complex_transformers.conversion.convert_ifairy_checkpoint"
EPS = 1e-5
SETTINGS = {
    "vocab_size": 20,
    "hidden_size": 12,  # complex features
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "rms_norm_eps": EPS,
    "rope_theta": 10000.0,
    "max_position_embeddings": 64,
    "eos_token_id": 2,
}
HEADS, WIDTH = 3, 4


def released(dtype=torch.float64):
    torch.manual_seed(1)
    d, inner, words = 12, 10, 20
    shapes = {"lm_head.weight": (words, 2 * d)}
    for part in ("real", "imag"):
        shapes |= {f"token_embeddings_{part}.weight": (words, d), f"final_norm.weight_{part}": (d,)}
        for i in range(2):
            layer = {f"self_attn.{name}_proj": (d, d) for name in "qkvo"}
            layer |= {"mlp.gate_proj": (inner, d), "mlp.up_proj": (inner, d), "mlp.down_proj": (d, inner)}
            layer |= {"pre_layernorm": (d,), "post_layernorm": (d,), "self_attn.attn_layernorm": (d,)}
            layer |= {"mlp.ffn_layernorm": (inner,)}
            shapes |= {f"layer.{i}.{name}.weight_{part}": shape for name, shape in layer.items()}
    return {name: torch.randn(shape, dtype=torch.float64).to(dtype) for name, shape in shapes.items()}


def units(matrix):
    """Round each weight to the unit of its sector, times the mean of its axis."""
    nearest = [[cmath.exp(0.5j * math.pi * math.floor(cmath.phase(w) / (math.pi / 2) + 0.5)) for w in row]
               for row in matrix.tolist()]  # fmt: skip
    unit = torch.tensor(nearest, dtype=torch.complex128)
    real = unit.real.abs() > 0.5
    scales = matrix.real[real].abs().mean(), matrix.imag[~real].abs().mean()
    return torch.complex(unit.real.round() * scales[0], unit.imag.round() * scales[1])


def steps(z, bits):
    """Quantize both parts of the features of a token."""
    if bits is None:
        return z
    top = 2 ** (bits - 1) - 1
    parts = [(part * (top / part.abs().max())).round() / (top / part.abs().max()) for part in (z.real, z.imag)]
    return torch.complex(*parts)


def turned(place):
    """Compute exp(i w_k t) for the features of a head."""
    angles = [cmath.exp(1j * place * 10000.0 ** (-k / WIDTH)) for k in range(WIDTH)]
    return torch.tensor(angles, dtype=torch.complex128)


def oracle(weights, ids, rounded=True, bits=8):
    """Compute the logits of one sequence, token by token."""
    weights = {name: value.double() for name, value in weights.items()}

    def number(name, middle=".weight"):
        return torch.complex(weights[f"{name}{middle}_real"], weights[f"{name}{middle}_imag"])

    def layer(name, z):
        matrix = number(name)
        return (units(matrix) if rounded else matrix) @ steps(z, bits).conj()

    def norm(name, z):
        z = z / torch.sqrt((z.abs() ** 2).mean() + EPS)
        gain = number(name)
        return torch.complex(z.real * gain.real, z.imag * gain.imag)

    table = torch.complex(weights["token_embeddings_real.weight"], weights["token_embeddings_imag.weight"])
    stream = [table[word] for word in ids]
    for i in range(2):
        attention = f"layer.{i}.self_attn."
        seen = [norm(f"layer.{i}.pre_layernorm", z) for z in stream]
        turn = [turned(t) for t in range(len(ids))]
        queries, keys, values = (
            [layer(f"{attention}{name}_proj", z).view(HEADS, WIDTH) for z in seen] for name in "qkv"
        )
        queries, keys = ([heads * angle for heads, angle in zip(all_, turn, strict=True)] for all_ in (queries, keys))
        for t, query in enumerate(queries):
            scores = torch.stack([(query * keys[s].conj()).real.sum(-1) / math.sqrt(WIDTH) for s in range(t + 1)])
            shares = scores.softmax(0)
            context = sum(shares[s].unsqueeze(-1) * values[s] for s in range(t + 1)).flatten()
            stream[t] = stream[t] + layer(f"{attention}o_proj", norm(f"{attention}attn_layernorm", context))
        for t, z in enumerate(stream):
            z = norm(f"layer.{i}.post_layernorm", z)
            gate = layer(f"layer.{i}.mlp.gate_proj", z)
            dead = (gate.real < 0) & (gate.imag < 0)
            squared = torch.complex(gate.real**2, gate.imag**2).masked_fill(dead, 0)
            inner = squared.conj() * layer(f"layer.{i}.mlp.up_proj", z)
            stream[t] = stream[t] + layer(f"layer.{i}.mlp.down_proj", norm(f"layer.{i}.mlp.ffn_layernorm", inner))
    last = torch.stack([norm("final_norm", z) for z in stream])
    return torch.cat([last.real, last.imag], dim=-1) @ weights["lm_head.weight"].T


def write(folder, weights, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**SETTINGS, **changes}), encoding="utf-8")
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")
    return folder


IDS = [3, 7, 3, 19, 0]


@torch.no_grad()
@pytest.mark.parametrize(("rounded", "bits"), [(True, 8), (True, None), (False, None), (False, 4)])
def test_logits_are_those_of_the_formulas(tmp_path, rounded, bits):
    weights = released()
    folder = write(tmp_path / "ifairy", weights)
    converted = convert_ifairy_checkpoint(folder, tmp_path / "ours", rounded, bits)
    expected = oracle(weights, IDS, rounded, bits)
    assert expected.std() > 0.5
    torch.testing.assert_close(converted(torch.tensor([IDS])).logits[0], expected, rtol=1e-8, atol=1e-8)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "ours").eval()
    assert type(loaded) is ComplexLlamaForCausalLM
    assert all(torch.equal(loaded.state_dict()[name], value) for name, value in converted.state_dict().items())
    torch.testing.assert_close(loaded(torch.tensor([IDS])).logits[0], expected, rtol=1e-8, atol=1e-8)


@torch.no_grad()
def test_cached_texts_and_the_command_line(tmp_path, monkeypatch, capsys):
    folder = write(tmp_path / "ifairy", released(torch.float32))
    files = ["--model", str(folder), "--output", str(tmp_path / "ours"), "--license", "mit"]
    monkeypatch.setattr(sys, "argv", ["convert", *files, "--activation_bits", "0", "--round_weights", "false"])
    monkeypatch.delitem(sys.modules, MODULE)
    runpy.run_module(MODULE, run_name="__main__")
    assert "parameters, 12 complex features" in capsys.readouterr().out
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "ours").eval()
    assert model.config.activation_bits is None
    assert model.config.max_position_embeddings == SETTINGS["max_position_embeddings"]
    text = model.generate(torch.tensor([IDS]), max_new_tokens=6, do_sample=False, eos_token_id=None)
    for place in range(5, 11):
        assert model(text[:, :place]).logits[0, -1].argmax() == text[0, place]
    card = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert "license: mit" in card
    assert "the weights of `ifairy` (model type `iFairy`), under the licence `mit`. They are unrounded master" in card


def test_several_ends_and_bits_that_are_none():
    config, _ = convert_ifairy_weights(released(), {**SETTINGS, "eos_token_id": [2, 3]}, activation_bits=0)
    assert (config.eos_token_id, config.activation_bits) == ([2, 3], None)
    assert ComplexLlamaForCausalLM(config).generation_config.eos_token_id == [2, 3]


def test_the_base_of_the_angles_is_read_wherever_it_is_written():
    settings = {name: value for name, value in SETTINGS.items() if name != "rope_theta"}
    for written in ({"rope_theta": 500.0}, {"rope_parameters": {"rope_type": "default", "rope_theta": 500}}):
        config, _ = convert_ifairy_weights(released(), {**settings, **written})
        assert config.rope_parameters["rope_theta"] == 500.0
    for scaled in ({"rope_scaling": {"type": "linear", "factor": 2.0}}, {"rope_parameters": {"rope_type": "linear"}}):
        words = "rope_type must be 'default' for iFairy, got 'linear'"
        refused(words, convert_ifairy_weights, released(), {**settings, **scaled})


def test_numbers_of_16_bits_are_stored_in_32():
    halves = {name: value.bfloat16() for name, value in released().items()}
    config, state = convert_ifairy_weights(halves, SETTINGS)
    assert config.dtype == torch.float32
    assert {value.dtype for value in state.values()} == {torch.float32}


def test_tensors_and_settings_fit_together(tmp_path):
    weights = released()
    for name in ("hidden_size", "num_hidden_layers"):
        settings = {key: value for key, value in SETTINGS.items() if key != name}
        refused(name, convert_ifairy_weights, weights, settings, error=KeyError)
    name = "layer.1.mlp.ffn_layernorm.weight_imag"
    missing = {key: value for key, value in weights.items() if key != name}
    refused(name, convert_ifairy_weights, missing, SETTINGS, error=KeyError)
    folder = write(tmp_path / "ifairy", {**weights, "layer.0.self_attn.q_proj.bias": torch.zeros(12)})
    words = r"Unexpected key.*layer.0.self_attn.q_proj.bias"
    refused(words, convert_ifairy_checkpoint, folder, tmp_path / "ours", error=RuntimeError)
    write(folder, {**weights, "lm_head.weight": torch.zeros(20, 12)})
    words = "size mismatch for lm_head.projection.weight"
    refused(words, convert_ifairy_checkpoint, folder, tmp_path / "ours", error=RuntimeError)
    refused("output must not be the folder of the checkpoint", convert_ifairy_checkpoint, folder, folder)
    assert not (tmp_path / "ours").exists()
    computed = {**weights, "layer.0.self_attn.rotary_emb.inv_freq": torch.zeros(4)}
    assert convert_ifairy_weights(computed, SETTINGS)[0].hidden_size == 24
