# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches of parsed sentences for the graph-convolutional classifier."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from complex_transformers import (
    DependencyCollator,
    adjacency_from_heads,
    build_tokenizer,
    read_conllu,
)
from families import Case
from refusals import refused

DATA = Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", Path(__file__).parents[3] / "shared" / "data"))
EWT = DATA / "syntax" / "en_ewt-dev.conllu.gz"


def test_adjacency_by_hand():
    expected = torch.tensor(
        [
            [0.0, 1.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 1.0, 1.0, 0.0],
        ]
    )
    assert torch.equal(adjacency_from_heads([2, 0, 4, 2]), expected)
    assert torch.equal(adjacency_from_heads([0]), torch.zeros(1, 1))
    assert adjacency_from_heads([]).shape == (0, 0)
    for heads in ([2, 3], [1], [-1, 0], [0, None]):
        refused(r"heads must be \d other tokens \(1 to \d\) or 0", adjacency_from_heads, heads)


NETWORK = Case("complex_text_gcn", "complex")
# "the dog saw a cat" and "it slept"
ROWS = [
    {"tokens": ["the", "dog", "saw", "a", "cat"], "heads": [2, 3, 0, 5, 3], "label": 1},
    {"tokens": ["it", "slept"], "heads": [2, 0], "label": 0},
]
TEXTS = [" ".join(row["tokens"]) for row in ROWS]


def pairs(adjacency: torch.Tensor) -> set[tuple[int, int]]:
    """Edges from the upper triangle; the lower one must mirror it."""
    assert torch.equal(adjacency, adjacency.T)
    assert set(adjacency.unique().tolist()) <= {0.0, 1.0}
    assert not adjacency.diagonal().any()
    return {(i, j) for i, j in adjacency.nonzero().tolist() if i < j}


@pytest.mark.parametrize("side", ["right", "left"])
def test_batch_of_whole_words(side):
    tokenizer = build_tokenizer(TEXTS, "whitespace", padding_side=side)
    batch = DependencyCollator(tokenizer)(ROWS)
    assert set(batch) == {"input_ids", "attention_mask", "adjacency", "labels"}
    shift = 3 if side == "left" else 0
    mask = [0, 0, 0, 1, 1] if side == "left" else [1, 1, 0, 0, 0]
    assert batch["attention_mask"].tolist() == [[1] * 5, mask]
    assert tokenizer.convert_ids_to_tokens(batch["input_ids"][1][shift : shift + 2]) == ["it", "slept"]
    assert pairs(batch["adjacency"][0]) == {(0, 1), (1, 2), (2, 4), (3, 4)}
    assert pairs(batch["adjacency"][1]) == {(shift, shift + 1)}
    assert torch.equal(batch["adjacency"][0], adjacency_from_heads(ROWS[0]["heads"]))
    assert batch["labels"].tolist() == [1, 0]


@pytest.mark.parametrize("side", ["right", "left"])
def test_pieces_hang_on_the_first_piece_of_their_word(side):
    # Merges pieces of "dogs": no other word.
    tokenizer = build_tokenizer(["dogs"] * 9, "bpe", vocab_size=262, padding_side=side)
    batch = DependencyCollator(tokenizer)(
        [{"tokens": ["dogs", "cat", "I"], "heads": [2, 0, 2]}, {"tokens": ["a"] * 9, "heads": [0] * 9}]
    )
    pieces = tokenizer.convert_ids_to_tokens(batch["input_ids"][0])
    assert [piece for piece in pieces if piece != "<pad>"] == ["Ġdo", "gs", "Ġ", "c", "a", "t", "Ġ", "i"]
    dogs = pieces.index("Ġdo")
    cat, i = dogs + 2, dogs + 6
    inside = {(dogs, dogs + 1), (i, i + 1), *((cat, cat + number) for number in (1, 2, 3))}
    assert pairs(batch["adjacency"][0]) == inside | {(dogs, cat), (cat, i)}
    assert "labels" not in batch


def test_special_tokens_around_a_sentence_have_no_edges():
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "it": 4, "slept": 5}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]")
    batch = DependencyCollator(tokenizer)(ROWS[1:])
    assert batch["input_ids"].tolist() == [[2, 4, 5, 3]]
    assert pairs(batch["adjacency"][0]) == {(1, 2)}


def test_unknown_words_keep_their_place_in_the_tree():
    batch = DependencyCollator(build_tokenizer(["the a saw"], "whitespace"))(ROWS[:1])
    assert batch["input_ids"][0].tolist().count(1) == 2
    assert torch.equal(batch["adjacency"][0], adjacency_from_heads(ROWS[0]["heads"]))


RELATED = [
    {"tokens": ["dogs", "I"], "relations": ["obj", "nsubj:pass"], "label": 1},
    {"tokens": ["a"] * 5, "relations": ["root", "obj", "nsubj", "obl:tmod", "root"], "label": 0},
]
NAMES = ["root", "nsubj", "obj", "obl", "obl:tmod"]


@pytest.mark.parametrize("side", ["right", "left"])
def test_relations_of_words_and_their_pieces(side):
    tokenizer = build_tokenizer(["dogs"] * 9, "bpe", vocab_size=262, padding_side=side)
    batch = DependencyCollator(tokenizer, NAMES)(RELATED)
    assert set(batch) == {"input_ids", "attention_mask", "relation_ids", "labels"}
    assert tokenizer.convert_ids_to_tokens(batch["input_ids"][0][batch["attention_mask"][0] == 1])[:2] == ["Ġdo", "gs"]
    first, second = (row[mask == 1] for row, mask in zip(batch["relation_ids"], batch["attention_mask"], strict=True))
    assert first.tolist() == [2, 2, 1, 1]  # a subtype that is not named is its relation
    assert second[::2].tolist() == second[1::2].tolist() == [0, 2, 1, 4, 0]  # each "a" is two pieces


def test_relations_that_do_not_fit_are_refused():
    collate = DependencyCollator(build_tokenizer(TEXTS, "whitespace"), relations=NAMES)
    refused("relations", collate, ROWS, error=KeyError)
    refused("shorter than argument 1", collate, [{"tokens": ["a", "dog"], "relations": ["root"]}])
    refused("nmod", collate, [{"tokens": ["dog"], "relations": ["nmod:of"]}], error=KeyError)


WRONG_ROWS = [
    ({"tokens": ["a", "dog"], "heads": [2]}, r"heads must be 2 other tokens .* got \[2\]"),
    (
        {"tokens": ["a", "dog"], "heads": [2, 3]},
        r"heads must be 2 other tokens \(1 to 2\) or 0 \(root\), got \[2, 3\]",
    ),
    ({"tokens": ["dog", " "], "heads": [0, 1], "label": 0}, "a token per word, got none for ' '"),
    ({"tokens": ["dog", ""], "heads": [0, 1], "label": 0}, "a token per word, got none for ''"),
]


@pytest.mark.parametrize(("row", "message"), WRONG_ROWS)
def test_rows_that_do_not_fit_are_refused(row, message):
    collate = DependencyCollator(build_tokenizer(TEXTS, "whitespace"))
    refused(message, collate, [ROWS[0], row])


@pytest.mark.skipif(not EWT.is_file(), reason="no syntax/en_ewt-dev.conllu.gz in COMPLEX_TRANSFORMERS_DATA")
def test_a_real_file_from_end_to_end():
    pytest.importorskip("conllu")
    sentences = list(read_conllu(EWT))
    assert len(sentences) > 1000
    assert all(sentence["heads"].count(0) == 1 for sentence in sentences)
    # A tree of n words has n - 1 edges.
    assert all(adjacency_from_heads(s["heads"]).sum() == 2 * (len(s["tokens"]) - 1) for s in sentences)
    for kind in ("word", "bpe"):
        tokenizer = build_tokenizer((" ".join(s["tokens"]) for s in sentences), kind, vocab_size=2000)
        batch = DependencyCollator(tokenizer)(sentences[:16])
        tokens = batch["attention_mask"].sum(-1)
        # Pieces add one edge each, so the pieces of a sentence are a tree too.
        assert torch.equal(batch["adjacency"].sum((1, 2)), 2.0 * (tokens - 1))
        with torch.no_grad():
            assert NETWORK.build(vocab_size=len(tokenizer))(**batch).logits.isfinite().all()
