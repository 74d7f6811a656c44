# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mamba-3 as a language model: against its formula in float64, its real twin, packed rows, and its states."""

import copy
import math

import pytest
import torch
from safetensors.torch import load_file, save_file

from complex_transformers import ComplexMambaConfig, ComplexMambaForCausalLM, RecurrentCache
from complex_transformers.nn import Mamba3Mixer
from nn.test_mamba import recurrence, rms, sigmoid
from oracles import assert_close, assert_refused, r, randomize

TINY = {
    "vocab_size": 12,
    "hidden_size": 8,
    "state_size": 4,
    "head_dim": 4,
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "chunk_size": 3,
}
MIXERS = {"intermediate_size": None}
VARIANTS = {
    "complex": {},
    "real": {"number_field": "real"},
    "mimo": {"mimo_rank": 2},
    "mixers": {"intermediate_size": None},
}


def make(dtype=torch.float64, **changes):
    torch.manual_seed(0)
    return randomize(ComplexMambaForCausalLM(ComplexMambaConfig(**{**TINY, **changes}))).to(dtype).eval()


def ids(length=9, count=2):
    return torch.randint(0, 12, (count, length), generator=torch.Generator().manual_seed(3))


def logits_of(model, tokens):
    """Pre-norm residual blocks of a mixer and a SwiGLU network, in float64."""
    u = r(model.model.embed_tokens.weight)[tokens]
    for layer in model.model.layers:
        u = u + recurrence(layer.mixer, rms(u, r(layer.input_layernorm.weight)))[0]
        if layer.mlp is not None:
            x = rms(u, r(layer.post_mixer_layernorm.weight))
            gate, up = x @ r(layer.mlp.gate_proj.weight).T, x @ r(layer.mlp.up_proj.weight).T
            u = u + (gate * sigmoid(gate) * up) @ r(layer.mlp.down_proj.weight).T
    return rms(u, r(model.model.norm.weight)) @ r(model.lm_head.projection.weight).T


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_the_formula(variant):
    model, tokens = make(**VARIANTS[variant]), ids()
    logits = model(tokens).logits
    for row in range(2):
        assert_close(r(logits[row]), logits_of(model, tokens[row].numpy()))


def test_the_twin_lacks_the_angles_alone():
    model = make()
    twin = ComplexMambaForCausalLM(model.config.real_twin())
    found = {name: value.shape for name, value in twin.state_dict().items()}
    for name, value in model.state_dict().items():
        rows = value.shape[0] - (1 if name.endswith("in_proj.weight") else 0)
        assert found.pop(name) == (rows, *value.shape[1:])
    assert not found
    assert model.num_parameters() - twin.num_parameters() == 2 * 8


def test_packed_rows_are_apart_also_after_a_cache():
    model, tokens = make(), ids(9, 1)
    alone = [model(piece).logits for piece in tokens.split([2, 4, 3], dim=1)]
    expected = torch.cat(alone, 1)
    positions = torch.tensor([[0, 1, 0, 1, 2, 3, 0, 1, 2]])
    assert_close(r(model(tokens, position_ids=positions).logits), r(expected))
    assert_close(r(model(tokens, cu_seq_lens_q=torch.tensor([0, 2, 6, 9])).logits), r(expected))
    for sizes in ([4, 5], [1] * 9):
        cache, found = model.new_memory(), []
        for piece, places in zip(tokens.split(sizes, dim=1), positions.split(sizes, dim=1), strict=True):
            found.append(model(piece, position_ids=places, cache=cache).logits)
        assert_close(r(torch.cat(found, 1)), r(expected))


EXACT = {torch.float64: 1e-10, torch.float32: 1e-5}


@pytest.mark.parametrize("dtype", EXACT, ids=str)
@pytest.mark.parametrize("variant", ["complex", "mimo"])
@torch.no_grad()
def test_every_way_to_compute_a_sequence_is_within_rounding(variant, dtype):
    model, tokens = make(dtype, chunk_size=16, **VARIANTS[variant]), ids(100)
    chunks = r(model(tokens).logits)
    cache, steps = model.new_memory(), []
    for token in tokens.split(1, dim=1):
        steps.append(model(token, cache=cache).logits)
    padded, mask = torch.nn.functional.pad(tokens, (7, 3)), torch.nn.functional.pad(torch.ones_like(tokens), (7, 3))
    packed = model(tokens.view(1, -1), position_ids=torch.arange(100).repeat(2)[None]).logits
    for found in (
        torch.cat(steps, 1),
        torch.cat([model(row[None]).logits for row in tokens]),
        model(padded, attention_mask=mask).logits[:, 7:-3],
        packed.view(2, 100, -1),
    ):
        assert_close(r(found), chunks, EXACT[dtype])


def test_tokens_after_a_padded_prompt_take_one_step(monkeypatch):
    model, tokens = make(num_hidden_layers=1), ids()
    mask = torch.ones_like(tokens)
    mask[1, :3] = 0
    expected = model.generate(tokens[1:, 3:], max_new_tokens=4, min_new_tokens=4, do_sample=False)[0, 6:]
    lengths, step = [], Mamba3Mixer._one_step
    monkeypatch.setattr(Mamba3Mixer, "_one_step", lambda self, x, first: lengths.append(1) or step(self, x, first))
    found = model.generate(tokens, attention_mask=mask, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    assert torch.equal(found[1, 9:], expected)
    assert len(lengths) == 3


@pytest.mark.slow
@torch.no_grad()
def test_a_graph_without_breaks_takes_masks_packed_rows_and_states():
    model, tokens = make(torch.float32), ids()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    mask = torch.ones_like(tokens)
    mask[1, :2] = 0
    cases = ({"attention_mask": mask}, {"position_ids": torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4, 5]])})
    for options in cases:
        torch.testing.assert_close(compiled(tokens, **options).logits, model(tokens, **options).logits)
    cache, other = compiled(tokens, use_cache=True).cache, model(tokens, use_cache=True).cache
    found, expected = compiled(tokens[:, :1], cache=cache), model(tokens[:, :1], cache=other)
    torch.testing.assert_close(found.logits, expected.logits)


def test_a_state_that_is_not_finite_stays_in_its_sequence():
    model, tokens = make(), ids()
    cache = model(tokens, use_cache=True).cache
    expected = model(tokens[:, :3], cache=copy.deepcopy(cache)).logits
    cache.layers[0].states["angle"][0] = math.nan
    found = model(tokens[:, :3], cache=cache).logits
    assert found[0].isnan().all()
    assert torch.equal(found[1], expected[1])


def test_the_cache_does_not_grow_and_is_saved(tmp_path):
    model, tokens = make(), ids(30)
    cache = model(tokens[:, :5], use_cache=True).cache
    sizes = [state.shape for layer in cache.layers for state in layer.states.values()]
    model(tokens[:, 5:20], cache=cache)
    assert [state.shape for layer in cache.layers for state in layer.states.values()] == sizes
    again = RecurrentCache(model.config)
    save_file(cache.state_dict(), tmp_path / "states.safetensors")
    again.load_state_dict(load_file(tmp_path / "states.safetensors"))
    found, resumed = (model(tokens[:, 20:], cache=memory).logits for memory in (cache, again))
    assert torch.equal(resumed, found)
    assert_close(r(found), r(model(tokens).logits[:, 20:]))


def test_states_of_another_model_are_named():
    model, other = make(), make(state_size=8)
    cache = other(ids(), use_cache=True).cache
    assert_refused(
        r"cache must have states of sizes \[\{'angle': 4, 'ssm': 64, .*'ssm': 128", model, ids(), cache=cache
    )
    shallow = make(num_hidden_layers=1)(ids(), use_cache=True).cache
    assert_refused("cache must have states of sizes", model, ids(), cache=shallow)
    cache = model(ids(), use_cache=True).cache
    assert_refused("cache must have the batch size 3, got 2", model, ids(count=3), cache=cache)
    for words, fields in (
        (r"state_size must be even \(.*\), got 5\. Use 6", {"state_size": 5}),
        ("head_dim and n_groups must divide", {"hidden_size": 40, "head_dim": 64}),
        ("readout must be one of", {"readout": "modulus"}),
    ):
        assert_refused(words, ComplexMambaConfig, error=Exception, **fields)
