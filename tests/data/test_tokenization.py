# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""build_tokenizer: what the ids mean, and that the saved file is a plain tokenizer."""

import json

import pytest
import torch
from transformers import AutoTokenizer

from complex_transformers import ComplexOrderConfig, ComplexOrderForSequenceClassification, build_tokenizer
from refusals import refused

TEXTS = ["The cat sat on the mat.", "The dog sat, and the cat ran.", "A cat!"]
KINDS = ("word", "whitespace", "bpe", "character")
SIZES = {"bpe": 300}


@pytest.mark.parametrize("kind", KINDS)
def test_ids_have_no_holes_and_begin_with_the_special_tokens(kind):
    tokenizer = build_tokenizer(TEXTS, kind, vocab_size=SIZES.get(kind, 30))
    vocabulary = tokenizer.get_vocab()
    assert sorted(vocabulary.values()) == list(range(len(tokenizer)))
    assert [vocabulary[token] for token in ("<pad>", "<unk>", "<mask>")] == [0, 1, 2]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.mask_token_id) == (0, 1, 2)


def test_kinds_split_as_they_say():
    def split(kind, text, **options):
        return build_tokenizer(TEXTS, kind, vocab_size=SIZES.get(kind, 100), **options).tokenize(text)

    assert split("word", "The cat, sat.") == ["the", "cat", ",", "sat", "."]
    assert split("word", "The cat", lowercase=False) == ["The", "cat"]
    assert split("whitespace", "The mat. sat") == ["the", "mat.", "sat"]
    assert split("character", "a cat") == ["a", " ", "c", "a", "t"]
    assert split("word", "the zebra <mask> ran") == ["the", "<unk>", "<mask>", "ran"]


def test_the_most_frequent_words_are_kept():
    texts = ["a a a b b c"]
    assert set(build_tokenizer(texts, vocab_size=5).get_vocab()) == {"<pad>", "<unk>", "<mask>", "a", "b"}
    assert set(build_tokenizer(texts, min_frequency=3).get_vocab()) == {"<pad>", "<unk>", "<mask>", "a"}


@pytest.mark.parametrize("text", ["any text", "Ünïcode Ω 漢字 🎉", "tabs\tand\nlines"])
def test_bytes_know_every_text(text):
    tokenizer = build_tokenizer(TEXTS, "bpe", vocab_size=300, lowercase=False)
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids).strip() == text


def test_characters_decode_to_the_text():
    tokenizer = build_tokenizer(TEXTS, "character", lowercase=False)
    assert tokenizer.decode(tokenizer("The mat sat")["input_ids"]) == "The mat sat"


def test_texts_that_spell_special_tokens_do_not_move_them():
    tokenizer = build_tokenizer(["the <unk> cat <unk> <UNK> <pad>"], "whitespace")
    assert tokenizer.get_vocab()["<unk>"] == 1
    assert sorted(tokenizer.get_vocab().values()) == list(range(5))


@pytest.mark.parametrize("kind", KINDS)
def test_saved_tokenizer_loads_without_this_package(tmp_path, kind):
    tokenizer = build_tokenizer(TEXTS, kind, vocab_size=SIZES.get(kind, 100), model_max_length=4, padding_side="left")
    tokenizer.save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert "auto_map" not in settings
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again.get_vocab() == tokenizer.get_vocab()
    batch = ["The cat sat on the mat.", "a"]
    for one in (tokenizer, again):
        out = one(batch, padding=True, truncation=True)
        assert set(out) == {"input_ids", "attention_mask"}
        assert [len(row) for row in out["input_ids"]] == [4, 4]
        assert out["attention_mask"][0] == [1, 1, 1, 1]
        assert out["attention_mask"][1][0] == 0  # padded on the left
        assert out["attention_mask"][1][-1] == 1
    assert again(batch)["input_ids"] == tokenizer(batch)["input_ids"]


ODD_TEXTS = [
    "The cat",
    "  two  spaces ",
    " ",
    "",
    "\n",
    "a <mask> b </s><pad> <s>",
    "don't  , stop .",
    "Ünïcode Ω 漢字 🎉\u2028",
    "tabs\tand\nlines",
]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_text_with_its_end_comes_back_exactly(tmp_path, text, lowercase):
    tokenizer = build_tokenizer(TEXTS, "bpe", vocab_size=320, lowercase=lowercase, append_eos=True)
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        ids = one(text)["input_ids"]
        assert ids[-1] == one.eos_token_id
        assert not set(ids[:-1]) & set(one.all_special_ids)  # what a text spells is text
        padded = [one.bos_token_id, *ids, one.pad_token_id]
        assert one.decode(padded, skip_special_tokens=True) == (text.lower() if lowercase else text)
        assert one.batch_decode([padded, ids], skip_special_tokens=True)[0] == one.decode(
            ids, skip_special_tokens=True
        )


@pytest.mark.parametrize("kind", KINDS)
def test_end_of_text(tmp_path, kind):
    size = SIZES.get(kind, 100)
    tokenizer = build_tokenizer(TEXTS, kind, vocab_size=size, append_eos=True)
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    for one in (tokenizer, again):
        assert [one.convert_tokens_to_ids(t) for t in ("<pad>", "<unk>", "<mask>", "<s>", "</s>")] == [0, 1, 2, 3, 4]
        assert (one.bos_token_id, one.eos_token_id) == (3, 4)
        assert one("the cat")["input_ids"][-1] == 4
        assert one("the cat", add_special_tokens=False)["input_ids"] == one("the cat")["input_ids"][:-1]
        cut = one("the cat sat on the mat", truncation=True, max_length=3)["input_ids"]
        assert len(cut) == 3
        assert cut[-1] == 4  # the end stays when the text is cut
        assert one(text_target="the cat")["input_ids"] == one("the cat")["input_ids"]
        batch = one(["the cat sat", "a"], padding=True)
        assert batch["attention_mask"][1][-1] == 0
    plain = build_tokenizer(TEXTS, kind, vocab_size=size)
    assert plain.eos_token is None
    assert "</s>" not in plain.get_vocab()


@pytest.mark.parametrize("kind", KINDS)
def test_presets_of_special_tokens(tmp_path, kind):
    def vocabulary(**options):
        tokenizer = build_tokenizer(TEXTS, kind, vocab_size=SIZES.get(kind, 100), **options)
        tokenizer.save_pretrained(tmp_path)
        again = AutoTokenizer.from_pretrained(tmp_path)
        for text in ("the cat", "A cat!", ""):
            assert again(text)["input_ids"] == tokenizer(text)["input_ids"]
        return tokenizer, again.get_vocab()

    none, own = vocabulary(special_tokens="none")
    assert none.all_special_tokens == []
    assert vocabulary(special_tokens=False)[1] == own
    end, with_end = vocabulary(special_tokens="end")
    assert (end.eos_token, end.eos_token_id, end.pad_token, end.unk_token) == ("</s>", len(end) - 1, None, None)
    assert {token: index for token, index in with_end.items() if token != "</s>"}.items() <= own.items()
    assert end("the cat")["input_ids"] == none("the cat")["input_ids"]  # nothing is added
    masked, plain = vocabulary(special_tokens="masked")
    assert (plain, masked.eos_token) == (vocabulary()[1], None)
    causal, boundaries = vocabulary(special_tokens="causal")
    assert [boundaries[token] for token in ("<pad>", "<unk>", "<mask>", "<s>", "</s>")] == [0, 1, 2, 3, 4]
    assert (causal.bos_token_id, causal.eos_token_id, causal.pad_token_id) == (3, 4, 0)
    assert 4 not in causal("the cat")["input_ids"]
    assert vocabulary(append_eos=True)[1] == boundaries
    ends, _ = vocabulary(special_tokens="end", append_eos=True)
    assert ends("the cat")["input_ids"] == [*end("the cat")["input_ids"], end.eos_token_id]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_is_its_end_alone(kind):
    tokenizer = build_tokenizer(TEXTS, kind, vocab_size=SIZES.get(kind, 100), append_eos=True)
    config = ComplexOrderConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    model = ComplexOrderForSequenceClassification(config).eval()
    batch = tokenizer(["", "the cat sat"], padding=True, return_tensors="pt")
    assert batch["attention_mask"].sum(1).tolist() == [1, len(tokenizer("the cat sat")["input_ids"])]
    logits = model(**batch).logits
    assert torch.isfinite(logits).all()
    alone = model(**tokenizer([""], return_tensors="pt")).logits
    assert torch.allclose(logits[:1], alone, atol=1e-6)


def test_a_first_word_is_the_word_it_is_elsewhere():
    tokenizer = build_tokenizer(["cat and cat"] * 5, "bpe", vocab_size=400, append_eos=True)
    first, *_, last = tokenizer("cat and cat", add_special_tokens=False)["input_ids"]
    assert first == last


def test_texts_are_read_once_from_any_iterable():
    reads = []

    def stream():
        for text in TEXTS:
            reads.append(text)
            yield text

    assert build_tokenizer(stream()).get_vocab() == build_tokenizer(TEXTS).get_vocab()
    assert reads == TEXTS


def test_tokens_that_are_given_stay_whole():
    tokenizer = build_tokenizer(["New York", "￭-", "￭based", "New York"], "token", lowercase=False, append_eos=True)
    ids = tokenizer.convert_tokens_to_ids(["New York", "￭-", "￭based", "New York"])
    assert ids == [5, 6, 7, 5]  # by frequency, then by spelling, behind the five special ones
    assert tokenizer("New York")["input_ids"] == [5, tokenizer.eos_token_id]
    assert tokenizer("York")["input_ids"] == [tokenizer.unk_token_id, tokenizer.eos_token_id]
    assert tokenizer.decode(ids) == "New York-based New York"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"texts": TEXTS, "kind": "sentencepiece"},
            ValueError,
            r"\['bpe', 'character', 'token', 'whitespace', 'word'\], got 's",
        ),
        ({"texts": TEXTS, "vocab_size": 3}, ValueError, "exceed the 3 special tokens, got 3"),
        ({"texts": TEXTS, "kind": "bpe", "vocab_size": 200}, ValueError, "at least 259 tokens, got 200"),
        ({"texts": TEXTS, "vocab_size": 5, "append_eos": True}, ValueError, "exceed the 5 special tokens, got 5"),
        (
            {"texts": TEXTS, "kind": "bpe", "vocab_size": 260, "append_eos": True},
            ValueError,
            "at least 261 tokens, got 260",
        ),
        (
            {"texts": TEXTS, "special_tokens": "bert"},
            ValueError,
            r"special_tokens must be one of \['causal', 'end', 'masked', 'n",
        ),
        ({"texts": TEXTS, "special_tokens": "none", "append_eos": True}, ValueError, r"append_eos=True needs </s>"),
        ({"texts": TEXTS, "special_tokens": False, "append_eos": True}, ValueError, "'causal'"),
        ({"texts": "one string"}, TypeError, r"got one string; pass \[text\]"),
        ({"texts": []}, ValueError, "no token was found"),
        ({"texts": ["", "  "]}, ValueError, "no token was found"),
        ({"texts": TEXTS, "min_frequency": 99}, ValueError, "min_frequency is too high"),
        ({"texts": ["a", None]}, TypeError, "text 1 is not a string but NoneType"),
    ],
)
def test_bad_input(arguments, error, message):
    refused(message, build_tokenizer, error=error, **arguments)
