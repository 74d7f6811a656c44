# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""build_tokenizer: what the ids mean, and that the saved file is a plain tokenizer."""

import json

import pytest
from transformers import AutoTokenizer

from complex_transformers import build_tokenizer

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


def test_texts_are_read_once_from_any_iterable():
    reads = []

    def stream():
        for text in TEXTS:
            reads.append(text)
            yield text

    assert build_tokenizer(stream()).get_vocab() == build_tokenizer(TEXTS).get_vocab()
    assert reads == TEXTS


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"texts": TEXTS, "kind": "sentencepiece"},
            ValueError,
            r"\['bpe', 'character', 'whitespace', 'word'\], got 's",
        ),
        ({"texts": TEXTS, "vocab_size": 3}, ValueError, "exceed the 3 special tokens, got 3"),
        ({"texts": TEXTS, "kind": "bpe", "vocab_size": 200}, ValueError, "at least 259 tokens, got 200"),
        ({"texts": "one string"}, TypeError, r"got one string; pass \[text\]"),
        ({"texts": []}, ValueError, "no token was found"),
        ({"texts": ["", "  "]}, ValueError, "no token was found"),
        ({"texts": TEXTS, "min_frequency": 99}, ValueError, "min_frequency is too high"),
        ({"texts": ["a", None]}, TypeError, "text 1 is not a string but NoneType"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        build_tokenizer(**arguments)
