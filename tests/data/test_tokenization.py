# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""build_tokenizer: what the ids mean, and that the saved file is a plain tokenizer."""

import json

import pytest
from transformers import AutoTokenizer
from transformers.generation import StopStringCriteria

from complex_transformers import build_tokenizer, encode_stream
from complex_transformers.data.tokenization import with_stop_string_prefix
from complex_transformers.recipes import pack_blocks
from refusals import refused

TEXTS = ["The cat sat on the mat.", "The dog sat, and the cat ran.", "A cat!"]
every_kind = pytest.mark.parametrize("kind", ["word", "whitespace", "bpe", "character"])


def build(kind, vocab_size=100, **options):
    return build_tokenizer(TEXTS, kind, vocab_size=300 if kind == "bpe" else vocab_size, **options)


def save(tokenizer, folder):
    """The tokenizer as it is read again without this package."""
    tokenizer.save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


@every_kind
def test_ids_have_no_holes_and_begin_with_the_special_tokens(kind):
    tokenizer = build(kind, vocab_size=30)
    vocabulary = tokenizer.get_vocab()
    assert sorted(vocabulary.values()) == list(range(len(tokenizer)))
    assert [vocabulary[token] for token in ("<pad>", "<unk>", "<mask>")] == [0, 1, 2]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.mask_token_id) == (0, 1, 2)


def test_kinds_split_as_they_say():
    def split(kind, text, **options):
        return build(kind, **options).tokenize(text)

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
    tokenizer = build("bpe", lowercase=False)
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


@every_kind
def test_saved_tokenizer_loads_without_this_package(tmp_path, kind):
    tokenizer = build(kind, model_max_length=4, padding_side="left")
    again = save(tokenizer, tmp_path)
    assert "auto_map" not in json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert again.get_vocab() == tokenizer.get_vocab()
    batch = ["The cat sat on the mat.", "a"]
    for one in (tokenizer, again):
        out = one(batch, padding=True, truncation=True)
        assert set(out) == {"input_ids", "attention_mask"}
        assert [len(row) for row in out["input_ids"]] == [4, 4]
        assert out["attention_mask"][0] == [1, 1, 1, 1]
        assert (out["attention_mask"][1][0], out["attention_mask"][1][-1]) == (0, 1)  # padded on the left
    assert again(batch)["input_ids"] == tokenizer(batch)["input_ids"]


ODD_TEXTS = ["The cat", "  two  spaces ", " ", "", "\n", "a <mask> b </s><pad> <s>", "don't  , stop ."]
ODD_TEXTS += ["Ünïcode Ω 漢字 🎉\u2028", "tabs\tand\nlines"]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_text_with_its_end_comes_back_exactly(tmp_path, text, lowercase):
    tokenizer = build("bpe", lowercase=lowercase, append_eos=True)
    for one in (tokenizer, save(tokenizer, tmp_path)):
        ids = one(text)["input_ids"]
        assert ids[-1] == one.eos_token_id
        assert not set(ids[:-1]) & set(one.all_special_ids)  # what a text spells is text
        padded = [one.bos_token_id, *ids, one.pad_token_id]
        assert one.decode(padded, skip_special_tokens=True) == (text.lower() if lowercase else text)
        assert len(set(one.batch_decode([padded, ids], skip_special_tokens=True))) == 1


@every_kind
def test_end_of_text(tmp_path, kind):
    tokenizer = build(kind, append_eos=True)
    for one in (tokenizer, save(tokenizer, tmp_path)):
        assert [one.convert_tokens_to_ids(t) for t in ("<pad>", "<unk>", "<mask>", "<s>", "</s>")] == [0, 1, 2, 3, 4]
        assert (one.bos_token_id, one.eos_token_id) == (3, 4)
        assert one("the cat")["input_ids"][-1] == 4
        assert one("the cat", add_special_tokens=False)["input_ids"] == one("the cat")["input_ids"][:-1]
        cut = one("the cat sat on the mat", truncation=True, max_length=3)["input_ids"]
        assert (len(cut), cut[-1]) == (3, 4)  # the end stays when the text is cut
        assert one(text_target="the cat")["input_ids"] == one("the cat")["input_ids"]
        batch = one(["the cat sat", "a"], padding=True)
        assert batch["attention_mask"][1][-1] == 0
    plain = build(kind)
    assert plain.eos_token is None
    assert "</s>" not in plain.get_vocab()


@every_kind
def test_presets_of_special_tokens(tmp_path, kind):
    def vocabulary(**options):
        tokenizer = build(kind, **options)
        again = save(tokenizer, tmp_path)
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
    if kind != "bpe":  # whose first word has no space in front with "causal"
        assert vocabulary(append_eos=True)[1] == boundaries
    ends, _ = vocabulary(special_tokens="end", append_eos=True)
    assert ends("the cat")["input_ids"] == [*end("the cat")["input_ids"], end.eos_token_id]


@every_kind
def test_a_stream_has_ends_and_a_prompt_goes_on(tmp_path, kind):
    """The tokens are those of texts that end; what follows a prompt begins with the space between the two."""
    tokenizer, ended = build(kind, append_eos="stream"), build(kind, append_eos=True)
    texts = [*TEXTS, *ODD_TEXTS]
    for one in (tokenizer, save(tokenizer, tmp_path)):
        assert one.get_vocab() == ended.get_vocab()
        assert encode_stream(texts, one).tolist() == [token for text in texts for token in ended(text)["input_ids"]]
        assert [block.tolist() for block in pack_blocks(texts, one, 7)] == [
            block.tolist() for block in pack_blocks(texts, ended, 7)
        ]
        for text in ODD_TEXTS:
            assert one(text)["input_ids"] == ended(text, add_special_tokens=False)["input_ids"]
        prompt, whole = (one(text)["input_ids"] for text in ("the cat", "the cat sat"))
        assert whole[: len(prompt)] == prompt
        assert one.decode(whole[len(prompt) :], skip_special_tokens=True) == " sat"


@every_kind
def test_a_causal_tokenizer_keeps_the_space_after_a_prompt(tmp_path, kind):
    tokenizer = build(kind, special_tokens="causal")
    for one in (tokenizer, save(tokenizer, tmp_path)):
        prompt, whole = (one(text)["input_ids"] for text in ("the cat", "the cat sat"))
        assert whole[: len(prompt)] == prompt
        assert one.decode(whole[len(prompt) :]) == " sat"
        # A word token does not know whether it is the first one: each decodes with its space.
        assert one.decode(whole) == ("the cat sat" if kind in ("bpe", "character") else " the cat sat")


@pytest.mark.parametrize("text", ["The cat", " a cat ", "Ünïcode Ω 漢字 🎉"])
def test_a_causal_byte_level_tokenizer_returns_the_text(text):
    tokenizer = build("bpe", lowercase=False, special_tokens="causal")
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@pytest.mark.parametrize(
    "options",
    [
        *({"special_tokens": name} for name in ("causal", "end", "none")),
        {},
        *({"append_eos": x} for x in (True, "stream")),
    ],
    ids=str,
)
@every_kind
def test_every_tokenizer_finds_stop_strings(kind, options):
    tokenizer = build(kind, **options)
    vocabulary = len(tokenizer)
    criterion = StopStringCriteria(with_stop_string_prefix(tokenizer), ["cat sat"])
    for text, stops in (("the cat sat", True), ("the cat sat on", False), ("cat the", False), ("sat", False)):
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        assert criterion(ids, None).tolist() == [stops]
    assert len(tokenizer) == vocabulary


@every_kind
def test_an_empty_text_is_its_end_alone(kind):
    tokenizer = build(kind, append_eos=True)
    batch = tokenizer(["", "the cat sat"], padding=True, return_tensors="pt")
    assert batch["attention_mask"].sum(1).tolist() == [1, len(tokenizer("the cat sat")["input_ids"])]
    assert batch["input_ids"][0, 0] == tokenizer.eos_token_id


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
    ("texts", "options", "words"),
    [
        (TEXTS, {"kind": "sentencepiece"}, r"\['bpe', 'character', 'token', 'whitespace', 'word'\], got 's"),
        (TEXTS, {"vocab_size": 3}, "at least 4, got 3"),
        (TEXTS, {"kind": "bpe", "vocab_size": 200}, "at least 259, got 200"),
        (TEXTS, {"vocab_size": 5, "append_eos": True}, "at least 6, got 5"),
        (TEXTS, {"kind": "bpe", "vocab_size": 260, "append_eos": True}, "at least 261, got 260"),
        (TEXTS, {"special_tokens": "bert"}, r"special_tokens must be one of \['causal', 'end', 'masked', 'n"),
        (
            TEXTS,
            {"special_tokens": "none", "append_eos": True},
            "special_tokens must be 'causal' for append_eos=True, got 'none'",
        ),
        (TEXTS, {"special_tokens": False, "append_eos": True}, "'causal'"),
        (
            TEXTS,
            {"special_tokens": "none", "append_eos": "stream"},
            "special_tokens must be 'causal' for append_eos='stream'",
        ),
        (TEXTS, {"append_eos": "always"}, r"append_eos must be one of \['stream'\], got 'always'"),
        (TEXTS, {"min_frequency": 99}, "occurs 99 times, got none"),
        ([], {}, "texts must have a token"),
        (["", "  "], {}, "texts must have a token"),
    ],
)
def test_bad_input(texts, options, words):
    refused(words, build_tokenizer, texts, **options)


def test_texts_that_are_none():
    refused(r"got one string. Pass \[text\]", build_tokenizer, "one string", error=TypeError)
    refused("expected string", build_tokenizer, ["a", None], error=TypeError)
