# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gzip
import sys
import unicodedata

import pytest
import torch
from hypothesis import given, strategies as st
from tokenizers import Tokenizer, models, processors
from transformers import PreTrainedTokenizerFast

from complex_transformers import StreamDataset, build_tokenizer, encode_stream
from complex_transformers.data.stream import _PIECE, _joins, reads_characters
from complex_transformers.recipes import load_plain_text
from refusals import refused

# --- lanes ----------------------------------------------------------------------------------------------------------


def read_lanes(data: StreamDataset) -> list[list[tuple[int, int]]]:
    """For each lane the pairs (token, the token predicted from it), in the order of reading."""
    lanes: list[list[tuple[int, int]]] = [[] for _ in range(data.num_lanes)]
    for segment in range(len(data)):
        item = data[segment]
        assert int(item["segment"]) == segment
        assert torch.equal(item["input_ids"], item["labels"])
        assert item["input_ids"].dtype == item["shift_labels"].dtype == torch.int64
        for lane, (inputs, following) in enumerate(zip(item["input_ids"], item["shift_labels"], strict=True)):
            pairs = zip(inputs.tolist(), following.tolist(), strict=True)
            lanes[lane] += [pair for pair in pairs if pair[1] != -100]
    return lanes


@given(st.integers(2, 90), st.integers(1, 7), st.integers(1, 9))
def test_every_token_but_the_first_is_predicted_once_from_the_one_before(length, lanes, segment):
    tokens = torch.arange(length)
    if length <= lanes * segment:
        refused(
            rf"num_lanes \* segment_length = {lanes * segment}, got \[{length}\]",
            StreamDataset,
            tokens,
            lanes,
            segment,
        )
        return
    data = StreamDataset(tokens, lanes, segment)
    pairs = [pair for lane in read_lanes(data) for pair in lane]
    assert pairs == [(token, token + 1) for token in range(length - 1)]
    assert data.num_predicted == length - 1
    widths = [data[index]["input_ids"].shape for index in range(len(data))]
    assert all(shape == (lanes, segment) for shape in widths[:-1])
    assert 1 <= widths[-1][1] <= segment
    lengths = [len(lane) for lane in read_lanes(data)]
    assert max(lengths) - min(lengths) <= 1


def test_shards_are_the_lanes_of_the_whole_with_equally_many_segments():
    tokens = torch.randint(0, 50, (4 * 6 + 3,))  # lanes of 7, 7, 6 and 6: the second half has no seventh token
    whole = StreamDataset(tokens, 4, 3)
    shards = [whole.shard(index, 2) for index in range(2)]
    assert [len(shard) for shard in shards] == [3, 3]
    assert [shard.num_predicted for shard in shards] == [14, 12]
    for segment in range(3):
        for name in ("input_ids", "shift_labels"):
            parts = torch.cat([shard[segment][name] for shard in shards])
            assert torch.equal(parts, whole[segment][name])
    assert (shards[1][2]["shift_labels"] == -100).all()
    refused("num_lanes must be a multiple of the 3 processes, got 4", whole.shard, 0, 3)


@pytest.mark.parametrize("segment", [-1, 4])
def test_there_is_no_segment_beyond_the_stream(segment):
    with pytest.raises(IndexError, match=rf"must lie in \[0, 4\), got {segment}"):
        StreamDataset(torch.arange(9), 2, 1)[segment]


# --- text -----------------------------------------------------------------------------------------------------------


def test_an_alphabet_has_the_symbols_of_the_texts_and_nothing_else():
    text = "the quick brown fox jumps over the lazy dog"
    tokenizer = build_tokenizer([text], "character", special_tokens=False)
    assert sorted(tokenizer.get_vocab()) == sorted(set(text))
    assert len(tokenizer) == 27
    stream = encode_stream([text, " again"], tokenizer, by_character=True)
    assert stream.dtype == torch.int32
    assert tokenizer.decode(stream.tolist()) == text + " again"


def test_long_texts_are_read_in_pieces_without_loss():
    text = "abcdefghij " * 20_000
    tokenizer = build_tokenizer([text[:11]], "character", special_tokens=False)
    stream = encode_stream([text], tokenizer, by_character=True)
    assert torch.equal(stream, encode_stream([text], tokenizer))
    assert len(stream) == len(text)


def test_a_long_text_has_its_special_tokens_once():
    text = "ab" * 40_000 + " b"
    tokenizer = build_tokenizer([text], "character", append_eos=True)
    stream = encode_stream([text, "a"], tokenizer, by_character=True)
    assert torch.equal(stream, encode_stream([text, "a"], tokenizer))
    words = build_tokenizer(["ab"], "whitespace", append_eos=True)  # the pieces of white space have no token
    spaces = " " * (3 * _PIECE) + "ab "
    assert encode_stream([spaces], words, by_character=True).tolist() == encode_stream([spaces], words).tolist()
    assert (stream == tokenizer.eos_token_id).nonzero().flatten().tolist() == [len(text), len(text) + 2]
    frame = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 3), ("</s>", 4)])
    tokenizer.backend_tokenizer.post_processor = frame
    assert torch.equal(encode_stream([text], tokenizer, by_character=True), encode_stream([text], tokenizer))


@pytest.mark.parametrize("middle", ["e\u0301", "\u1112\u1161\u11ab", "a\u0323\u0307", "x<unk> x"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_no_piece_ends_within_what_is_one_symbol(middle, before):
    text = "a" * (_PIECE - before) + middle + "b"
    tokenizer = build_tokenizer([text, "<unk>"], "character")
    stream = encode_stream([text], tokenizer, by_character=True)
    assert torch.equal(stream, encode_stream([text], tokenizer))


def test_tokenizers_of_characters_are_known_as_such():
    kinds = ("word", "whitespace", "bpe", "character", "token")
    found = {kind: reads_characters(build_tokenizer(["ab c"], kind, vocab_size=300)) for kind in kinds}
    assert found == {kind: kind == "character" for kind in kinds}


def test_every_character_that_is_joined_to_one_before_it_is_known():
    for whole in map(chr, range(sys.maxunicode + 1)):
        parts = [int(part, 16) for part in unicodedata.decomposition(whole).split() if "<" not in part]
        if len(parts) == 2 and unicodedata.normalize("NFC", "".join(map(chr, parts))) == whole:
            assert _joins(chr(parts[1])), hex(parts[1])


def test_words_of_pieces_are_read_without_an_unknown_token():
    text = "the unknown zebra, é水"
    tokenizer = build_tokenizer(["the cat sat"], "bpe", vocab_size=300, special_tokens="end")
    assert tokenizer.decode(encode_stream([text], tokenizer).tolist()).strip() == text
    letters = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))  # drops other letters without a word
    refused(
        r"got 1 other\(s\): \['c'\]", encode_stream, ["ab", "abcab"], PreTrainedTokenizerFast(tokenizer_object=letters)
    )


def test_foreign_characters_are_listed():
    tokenizer = build_tokenizer(["abc "], "character", special_tokens=False)
    texts = ["cab", "dabé7 a", "a" * 70_000 + "z"]
    words = r"texts must have symbols of the vocabulary only, got 4 other\(s\): \['7', 'd', 'z', 'é'\]"
    refused(words, encode_stream, texts, tokenizer, by_character=True)
    refused("build the tokenizer with an unknown token", encode_stream, ["x"], tokenizer)


def test_lines_of_words_end_in_the_token_of_their_end():
    lines = ["the cat <unk> the mat", "", "a dog"]
    tokenizer = build_tokenizer(lines, "whitespace", lowercase=False, append_eos=True)
    stream = encode_stream(lines, tokenizer).tolist()
    words = tokenizer.convert_ids_to_tokens(stream)
    assert words == ["the", "cat", "<unk>", "the", "mat", "</s>", "</s>", "a", "dog", "</s>"]
    assert tokenizer.unk_token_id == stream[2]


def test_texts_must_be_several_and_hold_something():
    tokenizer = build_tokenizer(["ab"], "character", special_tokens=False)
    refused(r"Pass \[text\]", encode_stream, "ab", tokenizer, error=TypeError)
    for texts in ([], ["", ""]):
        refused("at least one token, got none", encode_stream, texts, tokenizer)


# --- files ----------------------------------------------------------------------------------------------------------


def test_plain_text_keeps_every_line_in_its_order(tmp_path):
    lines = ["one two\n", "\n", " three \n", "four"]
    (tmp_path / "train.txt").write_text("".join(lines), encoding="utf-8")
    with gzip.open(tmp_path / "valid.txt.gz", "wt", encoding="utf-8") as file:
        file.writelines(lines[:2])
    files = (str(tmp_path / "train.txt"), str(tmp_path / "valid.txt.gz"))
    parts = load_plain_text(*files, keep_linebreaks=True)
    assert parts["train"]["text"][:] == lines
    assert parts["validation"]["text"][:] == lines[:2]
    assert load_plain_text(*files)["train"]["text"][:] == [line.removesuffix("\n") for line in lines]


def test_plain_text_that_cannot_be_read(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a\n", encoding="utf-8")
    refused("exactly one of dataset_name and train_file must be given", load_plain_text)
    refused(
        r"No such file .*nowhere\.txt",
        load_plain_text,
        str(file),
        "nowhere.txt",
        error=FileNotFoundError,
    )
    refused("splits must be different files", load_plain_text, str(file), str(file))
    refused("validation_split must leave rows in both splits, got 0.1 of 1", load_plain_text, str(file))
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\xff")
    refused(
        r"(?s)'utf-8' codec .*b\.txt", load_plain_text, str(file), str(tmp_path / "b.txt"), error=UnicodeDecodeError
    )


def test_the_last_lines_of_the_training_text_are_the_validation_split(tmp_path):
    file, held = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_text("".join(f"line {number}\n" for number in range(10)), encoding="utf-8")
    held.write_text("another\n", encoding="utf-8")
    parts = load_plain_text(str(file), validation_split=0.3)
    assert parts["train"]["text"][:] == [f"line {number}" for number in range(7)]
    assert parts["validation"]["text"][:] == ["line 7", "line 8", "line 9"]
    parts = load_plain_text(str(file), str(held), validation_split=0.3)  # a file goes first
    assert [len(parts[name]) for name in ("train", "validation")] == [10, 1]
