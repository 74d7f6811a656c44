# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts packed into blocks: every token once and in order, whatever is read at once; batches; streams of files."""

import random
from itertools import islice

import pytest
import torch
from torch.utils.data import DataLoader

from complex_transformers import build_tokenizer, encode_stream
from complex_transformers.recipes import BlockCollator, BlockStream, load_plain_text, pack_blocks, stream_plain_text
from complex_transformers.recipes.datasets import (
    packing as blocks,
)
from refusals import refused
from table_files import write_table

GENERATOR = random.Random(0)
TEXTS = [" ".join(GENERATOR.choices(["the", "cat", "sat", "", "mat"], k=GENERATOR.randrange(9))) for _ in range(50)]
TOKENIZER = build_tokenizer(TEXTS, "whitespace", append_eos=True)


@pytest.mark.parametrize("at_once", [1, 7, 256])
@pytest.mark.parametrize("size", [2, 5, 16, 500])
def test_blocks_hold_every_token_once(size, at_once, monkeypatch):
    monkeypatch.setattr(blocks, "_TEXTS", at_once)
    whole = encode_stream(TEXTS, TOKENIZER)
    found = list(pack_blocks(TEXTS, TOKENIZER, size))
    assert all(len(block) == size for block in found[:-1])
    joined = torch.cat(found)
    assert len(whole) - len(joined) == (1 if len(whole) % size == 1 else 0)
    assert torch.equal(joined, whole[: len(joined)].long())


def test_texts_are_read_when_their_blocks_are_asked_for():
    read = []

    def texts():
        for number in range(100_000):
            read.append(number)
            yield "the cat sat"

    assert len(next(pack_blocks(texts(), TOKENIZER, 8))) == 8
    assert len(read) <= 256


def test_a_stream_begins_anew_and_is_shared_among_workers():
    data = BlockStream(lambda: iter(TEXTS), TOKENIZER, 6)
    once, twice = ([block["input_ids"].tolist() for block in data] for _ in range(2))
    assert once == twice == [block.tolist() for block in pack_blocks(TEXTS, TOKENIZER, 6)]
    shared = [block["input_ids"][0].tolist() for block in DataLoader(data, num_workers=2)]
    assert sorted(shared) == sorted(once)
    in_pairs = [DataLoader(data, 2, num_workers=2, collate_fn=BlockCollator()) for _ in range(2)]
    first, again = ([batch["input_ids"].tolist() for batch in loader] for loader in in_pairs)
    assert first == again
    assert first[0] == [once[0], once[2]]  # of the first worker


@pytest.mark.parametrize("workers", [0, 2])
def test_a_repeated_stream_reads_the_same_blocks_in_every_pass(workers):
    data = BlockStream(lambda: iter(TEXTS), TOKENIZER, 6)
    once = [block["input_ids"].tolist() for block in data]
    read = DataLoader(data.repeat(), batch_size=None, num_workers=workers)
    blocks = [block["input_ids"].tolist() for block in islice(read, 3 * len(once))]
    assert blocks == once * 3
    assert len(list(data)) == len(once)  # the stream itself has an end


def test_batches():
    batch = BlockCollator(pad_token_id=9)([{"input_ids": [4, 5, 6]}, {"input_ids": torch.tensor([7, 9])}])
    assert batch["input_ids"].tolist() == [[4, 5, 6], [7, 9, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["labels"].tolist() == [[4, 5, 6], [7, 9, -100]]  # a word that is also padding counts where it stands


def test_files_and_folders_as_streams(tmp_path):
    for part in ("train", "validation"):
        (tmp_path / f"{part}.txt").write_text(f"{part} one\n\ntwo\n")
    files = {f"{part}_file": str(tmp_path / f"{part}.txt") for part in ("train", "validation")}
    train, held = stream_plain_text(**files)
    assert list(train()) == list(train()) == ["train one", "", "two"]
    assert held == {"validation": ["validation one", "", "two"]}
    (tmp_path / "train.txt").write_text("another one\n")
    train, held = stream_plain_text(dataset_name=str(tmp_path))  # as datasets reads a folder of texts
    assert list(train()) == ["another one"]
    assert held["validation"][0] == "validation one"
    refused("words", stream_plain_text, dataset_name=str(tmp_path), text_column="words", error=KeyError)


def test_files_beside_a_data_set_have_columns_of_their_own(tmp_path):
    """``text_column`` is that of the data set, whose validation part a file replaces."""
    data, file = tmp_path / "data", tmp_path / "held.txt"
    write_table(data / "train.jsonl", [("one",), ("two",)], ("content",))
    file.write_text("three\n")
    options = {"validation_file": str(file), "dataset_name": str(data), "text_column": "content"}
    for _ in range(2):
        train, held = stream_plain_text(**options)
        parts = load_plain_text(cache_dir=str(tmp_path / "cache"), **options)
        assert list(train()) == parts["train"]["text"][:] == ["one", "two"]
        assert held["validation"] == parts["validation"]["text"][:] == ["three"]
        write_table(data / "validation.jsonl", [("four",)], ("content",))


def test_bad_input(tmp_path):
    refused("block_size must be 2 or more, got 1", lambda: next(pack_blocks(TEXTS, TOKENIZER, 1)))
    refused("got one string. Pass", lambda: next(pack_blocks("a b c", TOKENIZER, 2)), error=TypeError)
    rows = [*TEXTS * 6, None]  # beyond those that are tokenized together
    refused("NoneType", lambda: list(pack_blocks(rows, TOKENIZER, 2)), error=TypeError)
    refused("NoneType", encode_stream, rows, TOKENIZER, error=TypeError)
    for texts, total in (([], 0), ([""], 1)):  # the second is </s> alone
        refused(f"must have 2 tokens or more, got {total}", lambda texts=texts: list(pack_blocks(texts, TOKENIZER, 4)))
    endless = BlockStream(list, TOKENIZER, 4).repeat()
    refused("must have 2 tokens or more, got 0", lambda: next(iter(endless)))
    plain = build_tokenizer(["ab"], "character", special_tokens="end")
    refused(
        r"symbols of the vocabulary only, got 2 other\(s\): \['c', 'd'\]", lambda: list(pack_blocks(["acd"], plain, 4))
    )
    refused("exactly one of dataset_name and train_file must be given", stream_plain_text)
    (tmp_path / "train.txt").write_text("one\n")
    refused("validation_file must be given", stream_plain_text, str(tmp_path / "train.txt"))
    refused(
        "splits must be different files", stream_plain_text, str(tmp_path / "train.txt"), str(tmp_path / "train.txt")
    )
