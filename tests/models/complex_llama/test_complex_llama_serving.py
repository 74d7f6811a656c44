# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex Llama as it is used: a static cache, the pipeline, weights that change between texts."""

import pytest
import torch
from transformers import pipeline

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, build_tokenizer
from complex_transformers.nn import WidelyLinear

TEXTS = ["the cat sat on the mat", "a dog ran to the small cat"]
LIFTED = {"linear_type": "widely_linear", "gate_product": "parts", "norm_scale": "stored"}
TYPES = {"complex": {}, "conjugate": {"linear_type": "conjugate"}, "widely_linear": LIFTED}
every_type = pytest.mark.parametrize("changes", TYPES.values(), ids=TYPES)


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer(TEXTS, kind="character", append_eos=False, padding_side="left")


def make(tokenizer=None, **changes):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    words = 30 if tokenizer is None else len(tokenizer)
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**sizes, vocab_size=words, **changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def widely_linear_layers(model):
    return [layer for layer in model.modules() if isinstance(layer, WidelyLinear)]


SCORES = {
    "real": {},
    "modulus": {"attention_score": "modulus"},
    "bilinear": {"attention_score": "bilinear_modulus", "attention_normalization": "probability_amplitude"},
    "complex weights": {"attention_score": "modulus", "attention_normalization": "split_softmax"},
    "polar": {"position_type": "polar", "number_field": "real", "imaginary_heads": "equal_cache"},
    "complex polar": {"position_type": "polar"},
    "phase-coherent": {"attention_score": "cosine", "attention_normalization": "sigmoid"},
}


@pytest.mark.parametrize("changes", SCORES.values(), ids=SCORES)
def test_a_static_cache_needs_no_padding(changes):
    """Transformers then gives no mask for the first tokens, before which, in its place, comes the end of the cache."""
    model, ids = make(**changes, num_key_value_heads=1), torch.randint(3, 30, (2, 5))
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "output_scores": True}
    static = {"cache_implementation": "static", "disable_compile": True}
    outs = [
        model.generate(ids, **options, return_dict_in_generate=True, **more)
        for more in ({}, static, {**static, "prefill_chunk_size": 3})
    ]
    for out in outs[1:]:
        for found, expected in zip(out.scores, outs[0].scores, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


ONE_GRAPH = {
    "lifted": {**LIFTED, "qk_norm": True},
    "words turn": {"position_type": "rotary_word"},
    "polar": {"position_type": "polar", "number_field": "real", "imaginary_heads": "equal_cache"},
    "phase-coherent": SCORES["phase-coherent"],
    "waves": {"position_type": "complex_order", "attention_score": "modulus", "linear_type": "conjugate"},
}


@pytest.mark.full
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(changes, id=name, marks=pytest.mark.slow if name in ("words turn", "waves") else ())
        for name, changes in ONE_GRAPH.items()
    ],
)
def test_steps_with_a_static_cache_are_one_graph(changes):
    """Traced, not compiled: that takes minutes, and is a test of the suite."""
    model, ids = make(**changes), torch.randint(3, 30, (2, 5))
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(ids, **options)
    torch.compiler.reset()
    model.forward = torch.compile(model.forward, fullgraph=True, dynamic=False, backend="eager")
    static = model.generate(ids, cache_implementation="static", disable_compile=True, **options)
    assert static.tolist() == expected.tolist()


def test_weights_may_change_between_two_texts():
    model, ids = make(**LIFTED), torch.randint(3, 30, (1, 5))
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    before = model.generate(ids, **options)
    with torch.no_grad():
        for layer in widely_linear_layers(model):
            layer.real.weight.data.neg_()
    after = model.generate(ids, **options)
    assert after.tolist() != before.tolist()
    assert after.tolist() == model.generate(ids, **options, use_cache=False).tolist()
    with pytest.raises(ValueError, match="input_ids must lie in"):
        model.generate(torch.tensor([[99]]), **options)
    assert all(layer.matrix is None for layer in widely_linear_layers(model))  # after an error, too


@every_type
def test_pipeline_on_a_saved_folder(tokenizer, changes, tmp_path):
    model = make(tokenizer, **changes)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write = pipeline("text-generation", model=str(tmp_path))
    options = {"max_new_tokens": 6, "do_sample": False, "suppress_tokens": [0, 1, 2]}
    prompts = ["the cat", "a small dog"]  # of two lengths
    texts = [row[0]["generated_text"] for row in write(prompts, batch_size=2, **options)]
    for prompt, text in zip(prompts, texts, strict=True):
        assert text.startswith(prompt)
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        assert text == tokenizer.decode(model.generate(ids, pad_token_id=0, **options)[0])
        assert len(text) == len(prompt) + 6
