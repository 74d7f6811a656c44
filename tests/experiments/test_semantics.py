# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as quantum states: tables on a small corpus, and states that learn a table of counts."""

from __future__ import annotations

import numpy
import pytest
import torch
from benchmarks.reporting import add_line
from experiments.grids import GRIDS
from experiments.grids.thesis_semantics import (
    phase_rows,
)
from experiments.tables.semantics import TABLES
from experiments.thesis import born, semantics
from experiments.thesis.printed_semantics import PRINTED_PHRASES, PRINTED_WORDS
from scipy import sparse

from complex_transformers.semantics import Cooccurrences
from table_files import write_text

WIKI = [
    "the <unk> Cat sleeps near the dog",
    "a dog barks near the river and a cat sleeps the whole day while it barks <unk>",
    "",
    "the river",
]
PHRASES = (("cat sleeps dog barks", 6, 7), ("cat day river the", 1, 2), ("dog day cat barks", 3, 3))
ROWS = {
    "simlex999": ["word1 word2 similarity", "cat dog 8", "cat river 1", "dog barks 5", "cat absent 3"],
    "gs2011": [
        "verb subject object landmark rating",
        *[f"sleeps {who} day barks {rating}" for who, rating in (("cat", 6), ("dog", 5))],
        *[f"sleeps {who} day near 2" for who in ("cat", "dog")],
    ],
    "ks2014": [
        "subject1 verb1 object1 subject2 verb2 object2 rating",
        "cat sleeps day dog barks day 5",
        "cat barks dog dog sleeps cat 2",
        "dog barks day cat sleeps river 3",
    ],
}
for kind in ("noun-noun", "adjective-noun", "verb-object"):
    ROWS[f"ml2010-{kind}"] = [
        "participant version phrase1_word1 phrase1_word2 phrase2_word1 phrase2_word2 rating",
        *[f"{who} 0 {pair} {ratings[who]}" for who in (0, 1) for pair, *ratings in PHRASES],
    ]


@pytest.fixture
def data(tmp_path, monkeypatch):
    for cached in (semantics.vocabulary, semantics.counts_of, semantics.topics_of, semantics.rated_sets):
        cached.cache_clear()
    monkeypatch.setenv("COMPLEX_TRANSFORMERS_DATA", str(tmp_path))
    monkeypatch.setattr(semantics, "MIN_COUNT", 1)
    monkeypatch.setattr(semantics, "LINE_OF_TEXT8", 4)
    monkeypatch.setattr(semantics, "TOPIC_OPTIONS", {"epochs": 1})
    write_text(tmp_path / "lm/wikitext-2/train.txt.gz", "\n".join(WIKI))
    write_text(tmp_path / "lm/text8/train-5.8m.txt.gz", " the cat barks the river dog sleeps")
    write_text(tmp_path / "classification/reuters/modapte90-train.tsv.gz", "label\ttext\nx\tThe Cat, (the dog)\n")
    for name, rows in ROWS.items():
        write_text(tmp_path / f"semantics/{name}.tsv", "".join("\t".join(row.split()) + "\n" for row in rows))
    yield tmp_path
    for cached in (semantics.vocabulary, semantics.counts_of, semantics.topics_of, semantics.rated_sets):
        cached.cache_clear()


def test_the_corpus_and_its_counts(data):
    lines = list(semantics.corpus())
    assert lines[0] == ["the", "cat", "sleeps", "near", "the", "dog"]
    assert lines[-2:] == [["the", "cat", "barks", "the"], ["river", "dog", "sleeps"]]
    assert list(semantics.documents()) == [WIKI[1].lower().split(), ["the", "cat", "the", "dog"]]
    assert semantics.vocabulary()[0] == "the"
    counts = semantics.counts_of(2, dropped=1)
    assert "the" in counts.words
    assert "the" not in counts.contexts
    cat, barks = counts.words.index("cat"), counts.contexts.index("barks")
    assert counts.counts[cat, barks] == 1


def test_rows_and_what_they_say(data, tmp_path):
    grid = GRIDS["thesis-semantics"]
    assert {name.partition(",")[2] for name in grid.rows if name.startswith("w5,")} >= set(semantics.COUNT_SPACES)
    tables = TABLES["docs/semantics.md"]
    assert {table(tmp_path) for table in tables.values()} == {"not measured yet"}
    chosen = ["w2,npmi_b", "w5,npmi_b", "w2,npmi_b phases", "w2,npmi_b - cos pmi_b", "w2,npmi_b phases - npmi_b"]
    chosen += ["w2,senses,npmi_b", "w2,without 100,npmi_b", "quantum topics,50", "w2,cos pmi_b"]
    for row in chosen:
        cell = grid.rows[row]
        if row.startswith("w2,without"):
            cell = semantics.SpaceCell(cell.space, cell.window, 1)
        add_line(tmp_path / "thesis-semantics.jsonl", {"row": row, "seed": 0, **semantics.run(cell, 0)})
    lines = {name: table(tmp_path).splitlines()[2:] for name, table in tables.items()}
    assert lines["semantics-coverage"][0].split(" | ")[2:4] == ["3 / 4", "3 / 3"]
    assert lines["semantics-words"][1].startswith("| npmi_b | ")
    assert lines["semantics-words"][1].endswith("| 3 / 4 | 0.235 | 0.394 |")
    assert lines["semantics-add-2"][1].count("(") == 4
    assert "(0.308)" in lines["semantics-add-2"][1]
    assert len(lines["semantics-cosines"]) == len(lines["semantics-baselines"]) == 1
    assert lines["semantics-cosines"][0].startswith("| npmi_b - cos pmi_b | 2 | ")
    assert lines["semantics-senses"][0].startswith("| npmi_b | 2 | 2 | ")
    assert len(lines["semantics-dropped"]) == 3
    assert len(lines["semantics-variants"]) == 3 * 5
    assert lines["semantics-conventions"][-1].startswith("| quantum topics,50 | ")
    assert lines["semantics-phases"] == []


def test_differences_that_are_none_and_senses(data):
    same = semantics.DifferenceCell(*[semantics.SpaceCell("npmi_a", 2)] * 2)
    found = semantics.run(same, 0)["differences"]
    assert found["simlex"] == {"words": {"difference": 0.0, "low": 0.0, "high": 0.0, "pairs": 3}}
    assert set(found["gs2011"]) == {"add", "multiply"}
    cases = semantics._sense_cases()
    assert cases == [(("cat", "sleeps", "day"), "barks", "near"), (("dog", "sleeps", "day"), "barks", "near")]


def test_any_pairs(data, capsys):
    semantics.main([write_text(data / "some.csv", "Word 1,Word 2,Human\nCat,dog,7\ncat,river,2\nbarks,dog,3\n")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(semantics.COUNT_SPACES)
    assert f"| npmi_b | {data / 'some.csv'} | 3/3 | " in "\n".join(lines)


def test_what_the_thesis_prints():
    assert len(PRINTED_WORDS) == 2 * 16
    assert [len(table) for table in PRINTED_PHRASES.values()] == [4 * 16] * 2
    assert PRINTED_WORDS["npmi_b phases", "wordsim"] == 0.17549
    assert PRINTED_PHRASES["multiply"]["quantum topics,200", "adjective-noun"] == -0.018
    assert max(PRINTED_PHRASES["add"].items(), key=lambda item: item[1]) == (
        ("quantum topics,200", "noun-noun"),
        0.60321,
    )


def table_of(p, total=1e6):
    """Return counts with known p(c | w)."""
    p = numpy.asarray(p)
    counts = sparse.csr_matrix(numpy.round(p * total))
    names = tuple("abcd"[: p.shape[1]])
    frequencies = numpy.full(p.shape[1], total)
    return Cooccurrences(tuple("abcd"[: p.shape[0]]), names, counts, frequencies, frequencies, int(total * 4), 1)


@pytest.mark.parametrize("phases", born.PHASES)
def test_probabilities_are_those_of_born(phases):
    fixed = (torch.rand(3, 5), torch.rand(4, 5)) if phases == "arccos" else None
    q = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    start = (torch.randn(3, 5), torch.randn(4, 5))
    model = born.BornStates(start, phases, q, fixed)
    states = model.states()
    numpy.testing.assert_allclose((abs(states) ** 2).sum(axis=1), numpy.ones(3), rtol=1e-6)
    real, imag = model.rows(1).detach().double().chunk(2, dim=-1)
    contexts = (real + 1j * imag).numpy()
    expected = abs(contexts.conj() @ states.T).T ** 2 * model.scale
    numpy.testing.assert_allclose(model.ratios(model.rows(0), model.rows(1)).detach(), expected, rtol=1e-4, atol=1e-6)
    ids = torch.tensor([2, 0, 1])
    pairs = model.pair_ratios(model.rows(0, ids), model.rows(1, ids)).detach()
    numpy.testing.assert_allclose(pairs, numpy.diag(expected)[ids], rtol=1e-4, atol=1e-6)
    assert (expected @ q.numpy()).mean() == pytest.approx(1, rel=1e-4)  # p(c | w) sums to 1 in the mean, at first
    assert (abs(states.imag).max() > 0.01) == (phases not in ("zero", "signs"))
    assert (states.real.min() < 0) == (phases not in ("zero", "arccos"))
    if phases == "signs":
        numpy.testing.assert_allclose(states.real, torch.nn.functional.normalize(start[0], dim=1), atol=1e-6)
    if fixed:
        numpy.testing.assert_allclose(numpy.angle(states), fixed[0], atol=1e-6)


P = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.5, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25], [0.05, 0.05, 0.2, 0.7]]


def small_recipe(monkeypatch, **changes):
    recipe = {**born.RECIPE, "pairs": 40_000, "batch_size": 500, "drawn": 16, "subsampling": 1e9, **changes}
    monkeypatch.setattr(born, "RECIPE", recipe)


def test_the_start_is_the_best_real_state(monkeypatch):
    """Check sqrt(p(c | w)) with all contexts, and with fewer its best approximation of rank d, rows of norm 1."""
    small_recipe(monkeypatch, power=1.0)
    pairs = born.Pairs(table_of(P), torch.Generator())
    words, contexts = (rows.double().numpy() for rows in born.spectral_start(pairs, 2, 0))
    u, s, v = numpy.linalg.svd(numpy.sqrt(P))
    best = (u[:, :2] * s[:2]) @ v[:2]
    best /= numpy.linalg.norm(u[:, :2] * s[:2], axis=1, keepdims=True)
    found = words @ (contexts * pairs.noise.numpy()[:, None] ** 0.5).T
    numpy.testing.assert_allclose(found / numpy.linalg.norm(found), best / numpy.linalg.norm(best), atol=1e-5)
    numpy.testing.assert_allclose([(words**2).mean(), (contexts**2).mean()], [1, 1], rtol=1e-5)


def test_states_learn_what_stands_beside_a_word(monkeypatch):
    small_recipe(monkeypatch, learning_rate=0.1)
    model, pairs, losses = born.train(born.BornCell("learned", 3), table_of(P), 0)
    assert losses[-1] < losses[0]
    learned = (model.ratios(model.rows(0), model.rows(1)) * pairs.noise.float()).detach().numpy()
    numpy.testing.assert_allclose(learned, P, atol=0.05)
    mean, deviation = born.total_probability(model, pairs.noise)
    assert mean == pytest.approx(1, abs=0.05)
    assert deviation < 0.05


def test_given_phases_stay(monkeypatch):
    small_recipe(monkeypatch, pairs=0, batch_size=50)
    counts = table_of(P)
    fixed = born.phases_of_npmi(counts, 3)[0]
    model, *_ = born.train(born.BornCell("arccos", 3), counts, 0)
    numpy.testing.assert_allclose(numpy.angle(model.states()), fixed, atol=1e-5)
    total = counts.counts.sum()
    words, contexts = (numpy.asarray(counts.counts.sum(axis=axis)).ravel() for axis in (1, 0))
    f = counts.counts[1, 1]
    npmi = numpy.log(f * total / (words[1] * contexts[1])) / -numpy.log(f / total)
    assert fixed[1, 1].item() == pytest.approx(numpy.arccos(npmi), abs=1e-5)
    assert set(phase_rows()) == {*born.PHASES, "signs, twice the numbers"}
