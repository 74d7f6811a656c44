# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pretrained word vectors: what is copied, what is drawn, and files that are broken."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

from complex_transformers.data.vectors import read_vectors
from complex_transformers.nn import ComplexOrderEmbedding, WordPositionEmbedding
from refusals import refused

VECTORS = {"cat": np.array([1.0, 2.0, 3.0]), "dog": np.array([-1.0, 0.5, 0.25]), "unused": np.array([9.0, 9.0, 9.0])}
VOCABULARY = {"[PAD]": 0, "dog": 4, "cat": 2, "bird": 1}


def make(**kwargs):
    return ComplexOrderEmbedding(7, 6, padding_idx=0, **kwargs)


def check_loaded(load):
    embedding = make()
    before = embedding.amplitude.detach().clone()
    frequency = embedding.frequency.detach().clone()
    assert load(embedding) == pytest.approx(0.5)
    np.testing.assert_array_equal(embedding.amplitude.detach().numpy()[2], VECTORS["cat"])
    np.testing.assert_array_equal(embedding.amplitude.detach().numpy()[4], VECTORS["dog"])
    assert not torch.equal(embedding.amplitude[1], before[1])  # drawn anew: "bird" has no vector
    assert not embedding.amplitude[0].any()  # the padding word
    assert torch.equal(embedding.amplitude[[3, 5, 6]], before[[3, 5, 6]])  # not in the vocabulary
    assert torch.equal(embedding.frequency, frequency)
    assert embedding.amplitude.requires_grad


def test_amplitudes_from_a_mapping():
    check_loaded(lambda e: e.load_amplitudes(VECTORS, VOCABULARY))
    check_loaded(lambda e: e.load_vectors(VECTORS, VOCABULARY))


@pytest.mark.parametrize("header", [True, False], ids=["word2vec", "glove"])
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_amplitudes_from_a_text_file(tmp_path, header, suffix):
    path = tmp_path / f"vectors{suffix}"
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in VECTORS.items()]
    text = "\n".join(([f"{len(VECTORS)} 3"] if header else []) + lines) + "\n"
    with gzip.open(path, "wt") if suffix.endswith("gz") else open(path, "w") as file:
        file.write(text)
    check_loaded(lambda e: e.load_amplitudes(path, VOCABULARY))
    check_loaded(lambda e: e.load_amplitudes(str(path), VOCABULARY))


def test_amplitudes_from_gensim_and_a_binary_file(tmp_path):
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(vector_size=3)
    vectors.add_vectors(list(VECTORS), np.stack(list(VECTORS.values())))
    check_loaded(lambda e: e.load_amplitudes(vectors, VOCABULARY))
    vectors.save_word2vec_format(str(tmp_path / "vectors.bin"), binary=True)
    check_loaded(lambda e: e.load_amplitudes(tmp_path / "vectors.bin", VOCABULARY))


def test_unknown_words_follow_the_distribution_of_the_vectors():
    torch.manual_seed(0)
    mean, deviation = np.array([5.0, -2.0, 0.0]), np.array([0.1, 2.0, 1.0])
    known = {f"w{i}": mean + deviation * row for i, row in enumerate(np.random.default_rng(0).normal(size=(500, 3)))}
    vocabulary = {word: i for i, word in enumerate([*known, *(f"unknown{i}" for i in range(2000))])}
    embedding = ComplexOrderEmbedding(2500, 6)
    assert embedding.load_amplitudes(known, vocabulary) == pytest.approx(0.2)
    drawn = embedding.amplitude.detach().numpy()[500:]
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.2)
    np.testing.assert_allclose(drawn.std(0), deviation, rtol=0.1)


def test_a_seed_gives_the_same_vectors_whatever_the_order_of_the_vocabulary():
    tables = []
    for vocabulary in (VOCABULARY, dict(reversed(VOCABULARY.items()))):
        torch.manual_seed(0)
        embedding = make()
        embedding.load_vectors(VECTORS, vocabulary)
        tables.append(embedding.amplitude)
    assert torch.equal(*tables)


@pytest.mark.parametrize("kind", ["word", "learned_position", "sinusoidal_position"])
def test_vectors_fill_a_row_or_its_real_half(kind):
    half, whole = (WordPositionEmbedding(7, width, padding_idx=0, embedding_type=kind) for width in (6, 4))
    before = half.weight.detach().clone()
    half.load_vectors(VECTORS, VOCABULARY)
    np.testing.assert_array_equal(half.weight.detach().numpy()[2, :3], VECTORS["cat"])
    assert torch.equal(half.weight[:, 3:], before[:, 3:])
    whole.load_vectors({word: np.append(vector, 7.0) for word, vector in VECTORS.items()}, VOCABULARY)
    np.testing.assert_array_equal(whole.weight.detach().numpy()[4], [-1.0, 0.5, 0.25, 7.0])


def test_vectors_that_do_not_fit():
    five = {"cat": np.ones(5)}
    load = make().load_amplitudes
    refused("vectors must have 3 dimensions, got 5. Use embedding_dim=10", load, five, VOCABULARY)
    refused("ids of vocabulary must be below 7, got 9", load, VECTORS, {**VOCABULARY, "late": 9})
    refused("at least one word with a vector, got none", load, VECTORS, {"Cat": 1})
    refused("'cat' must be 1-D and finite", load, {"cat": np.array([1.0, np.nan, 0.0])}, VOCABULARY)
    shared = make(amplitude_sharing="word").load_amplitudes
    refused("amplitude_sharing must be 'none' to load vectors, got 'word'", shared, VECTORS, VOCABULARY)
    words = r"vectors must have 3 or 6 dimensions, got 5. Use embedding_dim=10"
    refused(words, WordPositionEmbedding(7, 6).load_vectors, five, VOCABULARY)


def test_words_of_glove_may_hold_spaces(tmp_path):
    words = [". . .", "at name@example.com", "2009", "to infinity", "a\xa0b", "\u2028", "-"]
    path = tmp_path / "glove.txt"
    for first in range(len(words)):  # from the first line the dimension is taken
        order = words[first:] + words[:first]
        path.write_text("".join(f"{word} {number} 0.5 -1e-3\n" for number, word in enumerate(order)), encoding="utf-8")
        vectors = read_vectors(path)
        assert list(vectors) == order
        for number, word in enumerate(order):
            np.testing.assert_array_equal(vectors[word], np.array([number, 0.5, -1e-3], np.float32))


def test_the_first_vector_of_a_word_counts(tmp_path):
    (tmp_path / "twice.txt").write_text("cat 1 2 \ndog 3 4 \ncat 5 6 \n")
    vectors = read_vectors(tmp_path / "twice.txt")
    assert {word: row.tolist() for word, row in vectors.items()} == {"cat": [1, 2], "dog": [3, 4]}


def test_files_that_are_broken(tmp_path):
    refused("nowhere", read_vectors, tmp_path / "nowhere.txt", error=FileNotFoundError)
    broken = {
        "short.txt": (b"3 3\ncat 1 2 3\ndog 1 2 3\n", ValueError, "3 vectors according to its header, got 2"),
        "ragged.txt": (b"cat 1 2 3\ndog 1 2\n", ValueError, "vector 2 must have 3 numbers"),
        "longer.txt": (b"cat 1 2 3\ndog 1 2 3 4\n", ValueError, "vector 2 must have 3 numbers"),
        "words.txt": (b"no numbers here\n", ValueError, "vector 1 must have 0 numbers, got b'no"),
        "latin.txt": (b"sch\xf6n 1 2 3\n", ValueError, "utf-8"),
        "binary.bin": (b"2 3\ncat " + np.ones(2, np.float32).tobytes(), EOFError, "unexpected end of input"),
        "noise.bin": (bytes(range(256)), ValueError, "invalid literal for int"),
        "cut.txt.gz": (gzip.compress(b"cat 1 2 3\n" * 1000)[:40], EOFError, "end-of-stream marker"),
    }
    for name, (content, error, message) in broken.items():
        (tmp_path / name).write_bytes(content)
        refused(rf"(?s){message}.*while reading .*{name}", read_vectors, tmp_path / name, error=error)
