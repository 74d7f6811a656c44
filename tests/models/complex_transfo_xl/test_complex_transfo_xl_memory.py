# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Reading a stream in segments: what the memory covers is as if it had been read at once."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_transfo_xl import at_once, build, in_segments
from transformers import DynamicCache

from complex_transformers import ComplexTransfoXLConfig, MemoryCache
from complex_transformers.models.base.caches.memory import MEMORY_KINDS, MemoryLayer
from complex_transformers.nn.embedding import EMBEDDING_TYPES
from families import FAMILIES
from family_inputs import checkpoint, words

VARIANTS = FAMILIES["complex_transfo_xl"].variants | FAMILIES["complex_transfo_xl"].more
every_variant = pytest.mark.parametrize("changes", [changes for _, changes in VARIANTS.values()], ids=VARIANTS)
SPLITS = [(6,), (1, 2, 3), (4, 5, 11), tuple(range(1, 14))]
COMPLEX = [(kind, "complex") for kind in EMBEDDING_TYPES]
REAL = [(kind, "real") for kind in EMBEDDING_TYPES if not kind.startswith("complex_")]


def assert_segments_are_one_pass(model, splits=SPLITS, memory_length=None):
    ids = words(14, 3)
    expected = at_once(model, ids)
    for cuts in splits:
        memory = None if memory_length is None else MemoryCache(model.config, mem_len=memory_length)
        torch.testing.assert_close(in_segments(model, ids, cuts, memory), expected, rtol=1e-5, atol=1e-5)
    return ids, expected


@pytest.mark.parametrize(("embedding_type", "number_field"), COMPLEX + REAL)
def test_every_embedding_goes_on_in_the_next_segment(embedding_type, number_field):
    changes = {"embedding_type": embedding_type, "number_field": number_field}
    assert_segments_are_one_pass(build(**changes, position_period=9))


@every_variant
def test_with_the_same_length_a_short_memory_is_enough(changes):
    ids, logits = assert_segments_are_one_pass(build(**{**changes, "same_length": True, "mem_len": 4}))
    without = build(**{**changes, "same_length": False})
    assert (logits - at_once(without, ids)).abs().max() > 1e-3


@pytest.mark.parametrize("same_length", [False, True])
@every_variant
def test_a_token_sees_itself_and_earlier_ones_as_far_as_the_memory_reaches(changes, same_length):
    model = build(**{**changes, "mem_len": 3, "same_length": same_length, "num_hidden_layers": 1}).double()
    ids, cuts = words(12), (4, 8)
    before = in_segments(model, ids, cuts)
    for position in (0, 2, 5, 9):
        changed = ids.clone()
        changed[0, position] = 3 + (changed[0, position] - 2) % 27
        difference = (in_segments(model, changed, cuts) - before).abs().amax(-1)[0]
        begins = [0] * 4 + [1] * 4 + [5] * 4  # first token seen: the segment and the three tokens before it
        for place in range(12):
            first = max(begins[place], place - 2) if same_length else begins[place]
            assert (difference[place] > 1e-9) == (first <= position <= place), (position, place)


@pytest.mark.parametrize("mask", [False, True])
def test_positions_of_words_repeat_with_the_period(mask):
    model = build(position_period=6)
    seen = []
    model.model.embed_tokens.register_forward_hook(lambda module, inputs, out: seen.append(out))
    ids = words(20, 2)
    attention_mask = torch.ones_like(ids)
    attention_mask[1, :3] = 0 if mask else 1  # padding is not counted
    expected = [model.model.embed_tokens(ids[:, t : t + 1], torch.full((2, 1), t % 6 + 1)) for t in range(20)]
    shifted = [model.model.embed_tokens(ids[1:, t : t + 1], torch.tensor([[(t - 3) % 6 + 1]])) for t in range(3, 20)]
    seen.clear()
    in_segments(model, ids, (1, 4, 10, 11), mask=attention_mask if mask else None)
    embedded = torch.cat(seen, 1)
    torch.testing.assert_close(embedded[:1], torch.cat(expected, 1)[:1], rtol=0, atol=0)
    torch.testing.assert_close(embedded[1:, 3:], torch.cat(shifted if mask else expected[3:], 1)[-1:], rtol=0, atol=0)
    without = build(position_period=None)(ids).logits
    assert not torch.allclose(without, model(ids).logits, atol=1e-3)


@pytest.mark.parametrize("same_length", [False, True])
def test_padding_sees_itself_where_it_sees_no_token(same_length):
    model = build(same_length=same_length, mem_len=3)
    ids, mask = words(8), torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]])
    weights = model(ids, attention_mask=mask, output_attentions=True).attentions[0][0]
    torch.testing.assert_close(weights[:, :3], torch.eye(8)[:3].expand(2, -1, -1))
    assert weights[:, 3:, :3].abs().max() == 0
    torch.testing.assert_close(in_segments(model, ids, (2, 5), mask=mask)[:, :2], at_once(model, ids, mask)[:, :2])


@every_variant
def test_states_and_keys_are_the_same_memory_in_evaluation(changes):
    model = build(**changes, mem_len=5).double()
    ids = words(14, 2)
    for cuts in SPLITS:
        by_kind = [in_segments(model, ids, cuts, MemoryCache(model.config, keeps=kind)) for kind in MEMORY_KINDS]
        torch.testing.assert_close(*by_kind, rtol=0, atol=1e-10)


def test_a_new_memory_is_of_states_in_training_and_of_keys_in_evaluation():
    model = build(mem_len=3)
    ids = words(5, 2)
    assert model(ids).cache.keeps == "keys"
    memory = model.train()(ids).cache
    assert memory.keeps == "states"
    assert [tuple(layer.states.shape) for layer in memory.layers] == [(2, 3, 16)] * 2
    assert all(layer.keys is None and layer.values is None for layer in memory.layers)
    assert model.eval()(ids, cache=memory).cache is memory
    assert memory.keeps == "states"


@pytest.mark.parametrize("keeps", MEMORY_KINDS)
def test_streams_can_be_chosen_repeated_and_ended(keeps):
    model = build()
    ids = words(12, 3)

    def first_half():
        return model(ids[:, :6], cache=MemoryCache(model.config, keeps=keeps)).cache

    for order in ([2, 0], [1], [0, 0, 1, 1, 2, 2], [2, 1, 1]):
        memory = first_half()
        if len(order) == 6:
            memory.batch_repeat_interleave(2)
        elif len(order) == 3:
            memory.reorder_cache(torch.tensor(order))
        else:
            memory.batch_select_indices(torch.tensor(order))
        rest = model(ids[order, 6:], cache=memory).logits
        torch.testing.assert_close(rest, at_once(model, ids[order])[:, 6:], rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"batch size and features of the memory, \(3, .*, got \(2, "):
        model(ids[:2, 6:], cache=first_half())
    empty = MemoryCache(model.config, keeps=keeps)
    empty.batch_repeat_interleave(2)
    empty.reorder_cache(torch.tensor([0]))
    assert empty.get_seq_length() == 0


@pytest.mark.parametrize("keeps", MEMORY_KINDS)
def test_beams_read_and_reorder_either_memory(keeps):
    model = build(mem_len=4, same_length=True)
    options = {"max_new_tokens": 8, "num_beams": 3, "do_sample": False}
    prompt = words(6, 2)
    out = model.generate(prompt, cache=MemoryCache(model.config, keeps=keeps), **options)
    assert out.tolist() == model.generate(prompt, use_cache=False, **options).tolist()


@pytest.mark.parametrize("keeps", MEMORY_KINDS)
def test_a_saved_memory_goes_on_bit_for_bit(keeps, tmp_path):
    model = build(mem_len=5)
    ids = words(24, 2)
    for cut in (0, 3, 5, 12):  # empty, filling, full, forgetting
        memory, again = (MemoryCache(model.config, keeps=keeps) for _ in range(2))
        if cut:
            in_segments(model, ids[:, :cut], (cut // 2,), memory)
        state = memory.state_dict()
        assert all(tensor.is_contiguous() for tensor in state.values())
        save_file(state, tmp_path / "memory.safetensors")
        again.update_states(torch.zeros(1, 4, 16), 0) if keeps == "states" else None  # is forgotten
        again.load_state_dict(load_file(tmp_path / "memory.safetensors"))
        assert again.get_seq_length() == cut
        assert again.get_mask_sizes(2, 0) == memory.get_mask_sizes(2, 0)
        for start in (cut, cut + 1, cut + 7):
            segment = ids[:, start : start + 5]
            outputs = [model(segment, cache=m).logits for m in (memory, again)]
            assert torch.equal(*outputs)
        assert again.state_dict().keys() == memory.state_dict().keys()
        for name, tensor in memory.state_dict().items():
            assert torch.equal(again.state_dict()[name], tensor), name


def test_a_state_shares_nothing_with_its_memory():
    model = build()
    memory = model(words(5)).cache
    state = memory.state_dict()
    again = MemoryCache(model.config)
    again.load_state_dict(state)
    for tensor in state.values():
        tensor.zero_()
    assert all(layer.keys.abs().max() > 0 for cache in (memory, again) for layer in cache.layers)


def test_states_of_other_memories_are_refused():
    model = build(mem_len=4)
    state = model(words(6, 2)).cache.state_dict()
    for other, message in (
        (MemoryCache(build(num_hidden_layers=3).config, mem_len=4), "'num_layers': 3"),
        (MemoryCache(model.config, mem_len=7), "'mem_len': 7"),
        (MemoryCache(model.config, keeps="states"), "'keeps_states': 1"),
    ):
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(state)
    memory = MemoryCache(model.config)
    with pytest.raises(KeyError, match="num_layers"):
        memory.load_state_dict({"layers.0.keys": torch.zeros(2, 2, 4, 8)})
    incomplete = {name: tensor for name, tensor in state.items() if name != "layers.1.values"}
    with pytest.raises(ValueError, match=r"must have the tensors \['layers.0.keys', .*'layers.1.values'\], got"):
        memory.load_state_dict(incomplete)
    with pytest.raises(ValueError, match=r"layers\.0\.keys must have 4 tokens on axis -2"):
        memory.load_state_dict({**state, "layers.0.keys": state["layers.0.keys"][:, :, 1:]})
    assert memory.get_seq_length() == 0


def test_memories_of_other_models_are_refused():
    model = build(same_length=True, mem_len=5)
    ids = words(6)
    for changes, message in (
        ({"num_hidden_layers": 1}, "cache must have 2 layers, got 1"),
        ({"hidden_size": 32}, r"the memory, \(1, 2, 16\), got \(1, 2, 8\)"),
        ({"num_attention_heads": 4}, r"the memory, \(1, 4, 4\), got \(1, 2, 8\)"),
        ({"mem_len": 3}, "mem_len must be at least 4 with same_length, got 3"),
    ):
        memory = build(**changes)(ids).cache
        with pytest.raises(ValueError, match=message):
            model(ids, cache=memory)


def test_a_memory_of_another_length():
    model = build(same_length=True, mem_len=5)
    for length in (4, 5, 9):
        assert_segments_are_one_pass(model, [(6, 10)], length)
    with pytest.raises(ValueError, match="mem_len must be at least 4 with same_length, got 3"):
        MemoryCache(model.config, mem_len=3)
    model = build(mem_len=2)
    ids, logits = assert_segments_are_one_pass(model, [(6, 10)], 14)
    assert (in_segments(model, ids, (6, 10)) - logits).abs().max() > 1e-3


def test_a_memory_takes_what_it_keeps():
    with pytest.raises(ValueError, match=r"keeps must be one of \['keys', 'states'\], got 'values'"):
        MemoryCache(build().config, keeps="values")


def test_shifted_labels_count_the_first_token_of_the_next_segment():
    model = build()
    ids = words(9, 2)
    whole = model(ids, labels=ids, use_cache=False).loss
    memory, total = None, 0.0
    for start in (0, 4):
        out = model(
            ids[:, start : start + 4],
            shift_labels=ids[:, start + 1 : start + 5].contiguous(),
            cache=memory,
            use_cache=True,
        )
        memory, total = out.cache, total + out.loss / 2
    torch.testing.assert_close(total, whole)


def test_generating_goes_on_without_end_at_constant_size():
    model = build(mem_len=4, same_length=True)
    out = model.generate(words(6), max_new_tokens=40, do_sample=False, return_dict_in_generate=True)
    memory = out.cache
    assert memory.get_seq_length() == 45
    assert all(layer.keys.shape[-2] == 4 for layer in memory.layers)
    expected = model.generate(out.sequences[:, :6], max_new_tokens=40, do_sample=False, use_cache=False)
    assert out.sequences.tolist() == expected.tolist()


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("keeps", [None, *MEMORY_KINDS])
def test_checkpointing_learns_the_same_and_writes_once(keeps, reentrant):
    """Layers that are computed twice read the memory as it was, even when a later segment has been written."""
    ids = words(18, 2)
    results = []
    for checkpointing in (False, True):
        model = build(hidden_dropout_prob=0.0, mem_len=7).train()
        if checkpointing:
            checkpoint(model, {"use_reentrant": reentrant})
            model.enable_input_require_grads()
        memory = None if keeps is None else MemoryCache(model.config, keeps=keeps)
        loss = 0.0
        for segment in ids.split(6, dim=1):
            out = model(segment, labels=segment, cache=memory, use_cache=keeps is not None)
            loss = loss + out.loss
        loss.backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        results.append((gradients, {} if memory is None else memory.state_dict()))
    for plain, checkpointed in zip(*results, strict=True):
        assert plain.keys() == checkpointed.keys()
        for name, tensor in plain.items():
            torch.testing.assert_close(checkpointed[name], tensor, msg=name)


def test_checkpointing_refuses_a_cache_that_would_be_written_twice():
    model = build().train()
    checkpoint(model)
    with pytest.raises(ValueError, match="cache must be a MemoryCache with gradient checkpointing, got DynamicCache"):
        model(words(8), cache=DynamicCache())


@pytest.mark.parametrize("keeps", MEMORY_KINDS)
def test_a_memory_is_rolled_back_only_as_far_as_it_reaches(keeps):
    with pytest.raises(ValueError, match=r"mem_len must be 1 or more, got 0\. Without a memory, pass use_cache=False"):
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
    with pytest.raises(ValueError, match=r"tokens_to_remove must lie in \[-2, 0\], got 2"):
        layer.crop(2)
    with pytest.raises(ValueError, match=r"tokens_to_remove must lie in \[-2, 0\], got -3"):
        layer.crop(-3)
    assert extend(steps[:, :, 2:]).flatten().tolist() == steps.flatten().tolist()
    assert all(tensor.flatten().tolist() == [2.0, 3.0, 4.0, 5.0] for tensor in layer.tensors().values())
    assert (layer.get_seq_length(), layer.get_max_length(), layer.get_mask_sizes(1)) == (6, -1, (5, 2))
    with pytest.raises(ValueError, match="at least the 6 tokens read so far to crop the memory, got 4"):
        layer.crop(-1)
    layer.reset()
    assert layer.get_mask_sizes(2) == (2, 0)
    assert extend(steps).shape == steps.shape


@pytest.mark.parametrize(
    "changes",
    [
        {"mem_len": 1600, "clamp_len": 1000, "same_length": True},  # as WikiText-103 is evaluated
        {"mem_len": 3, "clamp_len": 2, "same_length": True},
        {"mem_len": 2, "clamp_len": 5},
        {"embedding_type": "learned_position", "max_position_embeddings": 512},
        {"embedding_type": "learned_position", "position_period": None},
    ],
)
def test_settings_at_the_edge_are_taken(changes):
    taken = ComplexTransfoXLConfig(**changes)
    assert {name: getattr(taken, name) for name in changes} == changes


def test_logits_are_kept_for_the_last_tokens_only():
    model, ids = build(), words(7, 2)
    last = model(ids, logits_to_keep=2, use_cache=False).logits
    torch.testing.assert_close(last, at_once(model, ids)[:, -2:])


def test_a_mask_must_cover_the_stream():
    model, ids = build(), words(8, 2)
    memory = model(ids[:, :5]).cache
    message = r"all tokens read so far and the new ones\] = \(2, 8\), got \(2, 3\)"
    with pytest.raises(ValueError, match=message):
        model(ids[:, 5:], attention_mask=torch.ones(2, 3), cache=memory)
