# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""CoNLL-U files, and batches of parsed sentences for the graph-convolutional classifier."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, TrainingArguments

from complex_transformers import (
    ComplexTextGCNConfig,
    ComplexTextGCNForSequenceClassification,
    ComplexTrainer,
    DependencyCollator,
    adjacency_from_heads,
    build_tokenizer,
    read_conllu,
)

DATA = Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", Path(__file__).parents[3] / "shared" / "data"))
EWT = DATA / "syntax" / "en_ewt-dev.conllu.gz"

SENTENCES = """\
# newdoc id = letters
# sent_id = letters-1
# text = Je vais au marché
1\tJe\tje\tPRON\t_\tNumber=Sing\t2\tnsubj\t2:nsubj\t_
2\tvais\taller\tVERB\t_\t_\t0\troot\t0:root\t_
3-4\tau\t_\t_\t_\t_\t_\t_\t_\t_
3\tà\tà\tADP\t_\t_\t5\tcase\t5:case\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t5:det\t_
5\tmarché\tmarché\tNOUN\t_\t_\t2\tobl\t2:obl\t_
5.1\tva\taller\tVERB\t_\t_\t_\t_\t2:conj\t_

# sent_id = letters-2
1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_
2\t1 000\t1 000\tNUM\t_\t_\t1\tnummod\t_\t_
"""


def line(number: object, head: object, form: str = "word") -> str:
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("ending", ["conllu", "conllu.gz"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_words_heads_and_comments_of_a_file(tmp_path, ending, line_end):
    pytest.importorskip("conllu")
    path = write(tmp_path / f"text.{ending}", SENTENCES.replace("\n", line_end))
    first, second = read_conllu(path)
    assert first == {
        "tokens": ["Je", "vais", "à", "le", "marché"],
        "heads": [2, 0, 5, 5, 2],
        "relations": ["nsubj", "root", "case", "det", "obl"],
        "upos": ["PRON", "VERB", "ADP", "DET", "NOUN"],
        "spaces": [True] * 5,
        "metadata": {"newdoc id": "letters", "sent_id": "letters-1", "text": "Je vais au marché"},
    }
    assert (second["tokens"], second["heads"]) == (["#", "1 000"], [0, 1])
    assert list(read_conllu(str(path))) == [first, second]


def test_files_without_sentences(tmp_path):
    pytest.importorskip("conllu")
    assert list(read_conllu(write(tmp_path / "empty.conllu", ""))) == []
    (comment,) = read_conllu(write(tmp_path / "comment.conllu", "# sent_id = 7\n\n"))
    assert comment.pop("metadata") == {"sent_id": "7"}
    assert set(map(tuple, comment.values())) == {()}


def test_sentences_come_one_by_one(tmp_path):
    pytest.importorskip("conllu")
    sentences = read_conllu(write(tmp_path / "half.conllu", SENTENCES + "\n" + line(1, 9)))
    assert [len(next(sentences)["tokens"]) for _ in range(2)] == [5, 2]  # before the broken one is read
    with pytest.raises(ValueError, match="sentence 3"):
        next(sentences)


BROKEN = {
    "head beyond the sentence": (line(1, 0) + line(2, 3), r"sentence 1: the head of token 2 must be .* got 3"),
    "negative head": (line(1, -1), "sentence 1: the head of token 1 must be .* got -1"),
    "head of itself": (line(1, 0) + line(2, 2), "sentence 1: the head of token 2 must be another token .* got 2"),
    "no head": (line(1, "_"), "sentence 1: the head of token 1 must be .* got None"),
    "a name": ("# sent_id = here\n" + line(1, 5), "sentence here: the head"),
    "head is a word": (line(1, "root"), "sentence 1 is no CoNLL-U: .*'head'.*'root'"),
    "words left out": (line(1, 0) + line(3, 1), "sentence 1: word 2 has the ID 3: words must be numbered from 1"),
    "words twice": (line(1, 0) + line(1, 0), "sentence 1: word 2 has the ID 1"),
    "no number": (line(1, 0) + line("_", 1), "sentence 1: word 2 has the ID None"),
    "too few columns": ("1\tword\tword\n", "sentence 1: word 1 has 3 of the 10 columns"),
    "no relation": ("1\tword\t_\t_\t_\t_\t0\n", "sentence 1: word 1 has 7 of the 10 columns"),
    "plain text": ("A text of plain words.\n", "sentence 1 is no CoNLL-U: Invalid line format"),
    "plain text with tabs": ("A\ttext\n", "sentence 1 is no CoNLL-U: .*'A' is not a valid ID"),
    "later": (SENTENCES + "\nplain text\n", "sentence 3 is no CoNLL-U"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_sentences_are_named(tmp_path, text, message):
    pytest.importorskip("conllu")
    path = write(tmp_path / "broken.conllu", text)
    with pytest.raises(ValueError, match=rf"broken\.conllu: {message}"):
        list(read_conllu(path))


def test_broken_files_are_named(tmp_path):
    pytest.importorskip("conllu")
    whole = gzip.compress("\n".join([SENTENCES] * 50).encode(), mtime=0)
    damaged = bytearray(whole)
    damaged[20:40] = bytes(20)
    broken = {
        "cut.conllu.gz": whole[:-20],
        "damaged.conllu.gz": bytes(damaged),
        "plain.conllu.gz": SENTENCES.encode(),
        "latin1.conllu": SENTENCES.encode("latin-1"),
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name}: sentence \d+ is no CoNLL-U"):
            list(read_conllu(tmp_path / name))
    for missing in (tmp_path / "absent.conllu", tmp_path):
        with pytest.raises(FileNotFoundError, match="no such file: "):
            list(read_conllu(missing))


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
        with pytest.raises(ValueError, match=r"must be another token of 1\.\.\d or 0"):
            adjacency_from_heads(heads)


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


def test_pieces_hang_on_the_first_piece_of_their_word():
    tokenizer = build_tokenizer(["dogs"] * 9, "bpe", vocab_size=262)  # merges " d", " do", " dog": no other word
    row = {"tokens": ["dogs", "cat", "I"], "heads": [2, 0, 2]}
    batch = DependencyCollator(tokenizer)([row])
    pieces = tokenizer.convert_ids_to_tokens(batch["input_ids"][0])
    words = [0] * pieces.index("Ġ") + [1] * 4 + [2] * 2
    assert pieces[len(pieces) - 6 :] == ["Ġ", "c", "a", "t", "Ġ", "i"]
    assert len(words) == len(pieces)
    dogs, cat, i = 0, words.index(1), words.index(2)
    inside = {(first, piece) for first in (dogs, cat, i) for piece, word in enumerate(words) if word == words[first]}
    expected = {(first, piece) for first, piece in inside if first < piece} | {(dogs, cat), (cat, i)}
    assert pairs(batch["adjacency"][0]) == expected
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


WRONG_ROWS = [
    ({"tokens": [], "heads": []}, "row 1 of the batch has no tokens; leave out empty sentences"),
    ({"tokens": ["a", "dog"], "heads": [2]}, "2 tokens need as many heads, got 1"),
    ({"tokens": ["a", "dog"], "heads": [2, 3]}, r"the head of token 2 must be another token of 1\.\.2 or 0, got 3"),
    ({"tokens": ["a", "dog"], "heads": [1, 0]}, "the head of token 1 must be another token"),
    ({"tokens": ["dog", " "], "heads": [0, 1], "label": 0}, "the tokenizer leaves out ' '"),
    ({"tokens": ["dog", ""], "heads": [0, 1], "label": 0}, "the tokenizer leaves out ''"),
    ({"tokens": ["dog"], "heads": [0]}, "1 of the 2 rows of the batch have a label"),
    ({"label": 1}, r"row 1 of the batch has no \['heads', 'tokens'\], only \['label'\].*remove_unused_columns=False"),
]


@pytest.mark.parametrize(("row", "message"), WRONG_ROWS)
def test_rows_that_do_not_fit_are_refused(row, message):
    collate = DependencyCollator(build_tokenizer(TEXTS, "whitespace"))
    with pytest.raises(ValueError, match=message):
        collate([ROWS[0], row])
    if "tokens" in row and "label" not in row and row["heads"] == [0]:
        with pytest.raises(ValueError, match="1 of the 2 rows"):  # nor may the labels of later rows get lost
            collate([row, ROWS[0]])


def make_model(vocabulary_size: int, number_field: str) -> ComplexTextGCNForSequenceClassification:
    config = ComplexTextGCNConfig(
        vocab_size=vocabulary_size,
        hidden_size=8,
        intermediate_size=8,
        num_labels=2,
        number_field=number_field,
        # Large enough for the words to decide the result.
        initializer_range=0.5,
    )
    return ComplexTextGCNForSequenceClassification(config).eval()


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", ["whitespace", "bpe"])
def test_a_row_in_a_batch_is_the_row_alone(kind, side, field):
    tokenizer = build_tokenizer(TEXTS, kind, vocab_size=262, padding_side=side)
    model = make_model(len(tokenizer), field)
    collate = DependencyCollator(tokenizer)
    with torch.no_grad():
        together = model(**collate(ROWS))
        alone = torch.cat([model(**collate([row])).logits for row in ROWS])
        torch.testing.assert_close(together.logits, alone, rtol=0.0, atol=1e-5)
        assert together.loss.isfinite()
        # Another tree over the same words is another result: the edges arrive.
        moved = model(**collate([{**ROWS[0], "heads": [0, 1, 2, 3, 4]}])).logits
    assert not torch.allclose(moved[0], together.logits[0], rtol=0.0, atol=1e-4)


def test_one_epoch_with_the_trainer(tmp_path):
    generator = random.Random(0)
    rows = []
    for _ in range(20):
        label, size = generator.randrange(2), generator.randrange(2, 6)
        tokens = generator.choices([["cat", "sat"], ["dog", "ran"]][label], k=size)
        rows.append({"tokens": tokens, "heads": [0, *(generator.randrange(1, n) for n in range(2, size + 1))]})
        rows[-1]["label"] = label
    tokenizer = build_tokenizer([" ".join(row["tokens"]) for row in rows], "whitespace")
    model = make_model(len(tokenizer), "complex")
    before = model.get_input_embeddings().frequency.detach().clone()
    options = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
    options |= {"num_train_epochs": 1, "per_device_train_batch_size": 4, "learning_rate": 1e-2}

    def trainer(**more: bool) -> ComplexTrainer:
        arguments = TrainingArguments(str(tmp_path), **options, **more)
        data = Dataset.from_list(rows)
        return ComplexTrainer(
            model, arguments, train_dataset=data, eval_dataset=data, data_collator=DependencyCollator(tokenizer)
        )

    with pytest.raises(ValueError, match=r"no \['heads', 'tokens'\].*remove_unused_columns=False"):
        trainer().train()
    training = trainer(remove_unused_columns=False)
    start = training.evaluate()["eval_loss"]
    assert training.train().global_step == 5
    assert training.evaluate()["eval_loss"] < start
    assert not torch.equal(model.get_input_embeddings().frequency, before)
    assert training.predict(Dataset.from_list(rows)).predictions.shape == (20, 2)


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
            assert make_model(len(tokenizer), "complex")(**batch).logits.isfinite().all()
