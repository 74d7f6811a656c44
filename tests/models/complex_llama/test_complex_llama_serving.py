# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex Llama as it is used: sampling and beams, streaming, the pipeline, LoRA, weights for generation."""

import copy
import threading

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, TextIteratorStreamer, pipeline

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, build_tokenizer, lift
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


@every_type
def test_every_way_to_write_needs_no_cache(changes):
    model, ids = make(**changes), torch.randint(3, 30, (2, 5))
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    for options in (
        {"do_sample": True, "top_k": 5, "temperature": 0.7},
        {"do_sample": True, "top_p": 0.9, "num_beams": 2},
        {"do_sample": False, "num_beams": 3, "num_return_sequences": 2},
    ):
        written = []
        for use_cache in (True, False):
            torch.manual_seed(1)
            out = model.generate(
                ids, attention_mask=mask, max_new_tokens=6, pad_token_id=0, use_cache=use_cache, **options
            )
            written.append(out.tolist())
        assert written[0] == written[1], options
    assert all(layer.matrix is None for layer in widely_linear_layers(model))


SCORES = {
    "real": {},
    "modulus": {"attention_score": "modulus"},
    "bilinear": {"attention_score": "bilinear_modulus", "attention_normalization": "probability_amplitude"},
    "complex weights": {"attention_score": "modulus", "attention_normalization": "split_softmax"},
}


@pytest.mark.parametrize("changes", SCORES.values(), ids=SCORES)
def test_a_static_cache_needs_no_padding(changes):
    """Transformers then gives no mask for the first tokens, before which, in its place, comes the end of the cache."""
    model, ids = make(**changes, num_key_value_heads=1), torch.randint(3, 30, (2, 5))
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "output_scores": True}
    outs = [
        model.generate(ids, **options, return_dict_in_generate=True, **more)
        for more in ({}, {"cache_implementation": "static", "disable_compile": True})
    ]
    for found, expected in zip(outs[1].scores, outs[0].scores, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


ONE_GRAPH = {
    "lifted": {**LIFTED, "qk_norm": True},
    "words turn": {"position_type": "rotary_word"},
    "waves": {"position_type": "complex_order", "attention_score": "modulus", "linear_type": "conjugate"},
}


@pytest.mark.full
@pytest.mark.parametrize("changes", ONE_GRAPH.values(), ids=ONE_GRAPH)
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


def test_texts_come_word_by_word(tokenizer):
    model = make(tokenizer)
    inputs = tokenizer("the cat", return_tensors="pt")
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "suppress_tokens": [0, 1, 2]}
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
    thread = threading.Thread(target=model.generate, kwargs={**inputs, **options, "streamer": streamer})
    thread.start()
    pieces = list(streamer)
    thread.join()
    expected = tokenizer.decode(model.generate(**inputs, **options)[0, inputs["input_ids"].shape[1] :])
    assert "".join(pieces) == expected
    assert len(pieces) > 2


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


def test_the_pipeline_keeps_the_space_between_words():
    tokenizer = build_tokenizer(TEXTS, special_tokens="causal")
    model = make(tokenizer)
    options = {"max_new_tokens": 3, "do_sample": False, "suppress_tokens": [0, 1, 2, 3, 4]}
    text = pipeline("text-generation", model=model, tokenizer=tokenizer)("the cat", **options)[0]["generated_text"]
    words = text.split(" ")
    assert words[:2] == ["the", "cat"]
    assert len(words) == 5
    assert set(words) <= set(tokenizer.get_vocab())
    prompt = tokenizer("the cat", return_tensors="pt")
    stopped = model.generate(**prompt, **options, stop_strings=[words[3]], tokenizer=tokenizer)
    assert tokenizer.decode(stopped[0]).split() == words[: words.index(words[3], 2) + 1]


def test_a_lifted_model_chats_like_its_original(tokenizer, tmp_path):
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    original = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.5, **sizes)).eval()
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    lift(original).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    options = {"max_new_tokens": 6, "do_sample": False, "suppress_tokens": [0, 1, 2]}
    written = [
        write([{"role": "user", "content": "a dog ran"}], **options)[0]["generated_text"]
        for write in (
            pipeline("text-generation", model=str(tmp_path)),
            pipeline("text-generation", model=original, tokenizer=tokenizer),
        )
    ]
    assert written[0] == written[1]
    assert written[0][-1]["role"] == "assistant"
    assert len(written[0][-1]["content"]) == 6


@every_type
def test_lora_learns_and_merges(changes, tmp_path):
    peft = pytest.importorskip("peft")
    model = make(**changes)
    ids = torch.randint(3, 30, (4, 9))
    before = model(ids).logits.detach()
    parts = ["real", "imag", "conj_real", "conj_imag"]
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=parts, task_type="CAUSAL_LM"))
    wrapped = [name for name, module in adapted.named_modules() if isinstance(module, peft.tuners.lora.Linear)]
    assert len(wrapped) == 2 * 7 * (4 if changes is LIFTED else 2)  # q, k, v, o, gate, up and down of two layers
    torch.testing.assert_close(adapted(input_ids=ids).logits, before, atol=1e-5, rtol=1e-5)
    optimizer = torch.optim.Adam([p for p in adapted.parameters() if p.requires_grad], lr=0.05)
    for _ in range(5):
        loss = adapted(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    adapted.eval()
    trained = adapted(input_ids=ids).logits.detach()
    assert (trained - before).abs().max() > 0.1
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    written = adapted.generate(input_ids=ids[:1, :4], **options)
    adapted.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(make(**changes), tmp_path).merge_and_unload()
    torch.testing.assert_close(again(ids).logits, trained, atol=1e-4, rtol=1e-4)
    assert again.generate(ids[:1, :4], **options).tolist() == written.tolist()
