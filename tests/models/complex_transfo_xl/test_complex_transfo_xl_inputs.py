# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration, saving, and inputs no model can use."""

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from small_transfo_xl import VOCABULARY, at_once, build, config, stream

from complex_transformers import (
    ComplexTransfoXLConfig,
    MemoryCache,
    MemoryLayer,
)


def test_the_default_is_the_size_of_the_paper():
    cfg = ComplexTransfoXLConfig()
    assert (cfg.num_hidden_layers, cfg.num_attention_heads, cfg.complex_size, cfg.mem_len) == (6, 8, 512, 512)
    assert cfg.attention_score == "modulus"
    assert cfg.real_twin(embedding_type="word").attention_score == "real"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_hidden_layers": 0}, "num_hidden_layers must be positive, got 0"),
        ({"mem_len": 0}, "mem_len must be 1 or more, got 0; without a memory, use use_cache=False"),
        ({"mem_len": -1}, "mem_len must be 1 or more, got -1"),
        ({"position_period": 0}, "position_period must be 1 or more, or None for positions that run on, got 0"),
        ({"clamp_len": 0}, "clamp_len must be 1 or more, or None"),
        ({"clamp_len": -1}, "clamp_len must be 1 or more, or None for distances as they are, got -1"),
        (
            {"clamp_len": 16, "same_length": True},
            "clamp_len=16 has no effect with same_length=True and mem_len=16, where no token sees further than 15",
        ),
        (
            {"embedding_type": "learned_position", "max_position_embeddings": 511},
            "position_period=512 is more than the max_position_embeddings=511 of embedding_type='learned_position'",
        ),
        ({"norm_type": "batch"}, "norm_type='batch' is for encoders"),
        (
            {"attention_normalization": "split_softmax"},
            "not implemented for relative scores",
        ),
        (
            {"attention_score": "sum"},
            r"must be one of \['bilinear_modulus', 'modulus', 'real', 'sum_of_moduli'\], got 'sum'",
        ),
        (
            {"attention_score": "sum_of_moduli", "number_field": "real"},
            "'sum_of_moduli' .* needs number_field='complex'",
        ),
        ({"num_attention_heads": 3}, "num_attention_heads must divide the 8 complex features"),
        ({"tie_word_embeddings": True}, "tie_word_embeddings=True needs a head of the shape of the word table"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(StrictDataclassClassValidationError, match=message):
        config(**changes)


def test_settings_at_the_edge_are_taken():
    for changes in (
        {"mem_len": 1600, "clamp_len": 1000, "same_length": True},  # as WikiText-103 is evaluated
        {"mem_len": 3, "clamp_len": 2, "same_length": True},
        {"mem_len": 2, "clamp_len": 5},
        {"embedding_type": "learned_position", "max_position_embeddings": 512},
        {"embedding_type": "learned_position", "position_period": None},
    ):
        taken = config(**changes)
        assert {name: getattr(taken, name) for name in changes} == changes


def test_logits_are_kept_for_the_last_tokens_only():
    model = build()
    ids = stream(7, batch=2)
    whole = at_once(model, ids)
    last = model(ids, logits_to_keep=2, use_cache=False).logits
    torch.testing.assert_close(last, whole[:, -2:])


def test_without_a_memory_none_is_returned():
    model = build()
    assert model(stream(5), use_cache=False).past_key_values is None
    assert isinstance(model(stream(5)).past_key_values, MemoryCache)


def test_a_mask_must_cover_the_stream():
    model = build()
    ids = stream(8, batch=2)
    memory = model(ids[:, :5]).past_key_values
    message = r"all tokens read so far and the new ones\] = \(2, 8\), got \(2, 3\)"
    with pytest.raises(ValueError, match=message):
        model(ids[:, 5:], attention_mask=torch.ones(2, 3), past_key_values=memory)


def test_bad_inputs_are_refused_with_the_remedy():
    model = build()
    with pytest.raises(ValueError, match="the input is empty"):
        model(stream(5)[:, :0])
    with pytest.raises(ValueError, match="give exactly one of input_ids and inputs_embeds"):
        model()
    with pytest.raises(ValueError, match=rf"input_ids must lie in \[0, {VOCABULARY}\), got {VOCABULARY}"):
        model(torch.tensor([[VOCABULARY]]))
    with pytest.raises(ValueError, match="cache_implementation='static' is not for this model"):
        model.generate(stream(5), max_new_tokens=2, cache_implementation="static")


@pytest.mark.parametrize("keeps", ["keys", "states"])
def test_a_memory_is_rolled_back_only_as_far_as_it_reaches(keeps):
    with pytest.raises(ValueError, match="mem_len must be 1 or more, got 0; without a memory, pass use_cache=False"):
        MemoryLayer(0)
    layer = MemoryLayer(4, keeps)
    steps = torch.arange(6.0).view(1, 1, 6, 1)

    def extend(new):
        return layer.extend(*[new] * (1 if keeps == "states" else 2))[0]

    assert layer.kept == layer.get_seq_length() == 0
    extend(steps[:, :, :3])
    assert layer.get_mask_sizes(2) == (5, 0)
    layer.crop(-1)
    assert all(tensor.flatten().tolist() == [0.0, 1.0] for tensor in layer.tensors().values())
    layer.crop(0)
    with pytest.raises(ValueError, match="as a negative number, got 2"):
        layer.crop(2)
    with pytest.raises(ValueError, match="cannot remove 3 tokens from a memory of 2"):
        layer.crop(-3)
    assert extend(steps[:, :, 2:]).flatten().tolist() == steps.flatten().tolist()
    assert all(tensor.flatten().tolist() == [2.0, 3.0, 4.0, 5.0] for tensor in layer.tensors().values())
    assert (layer.get_seq_length(), layer.get_max_length(), layer.get_mask_sizes(1)) == (6, -1, (5, 2))
    with pytest.raises(ValueError, match="the memory of 4 tokens has forgotten 2 of 6 and cannot be rolled back"):
        layer.crop(-1)
    layer.reset()
    assert layer.get_mask_sizes(2) == (2, 0)
    assert extend(steps).shape == steps.shape
