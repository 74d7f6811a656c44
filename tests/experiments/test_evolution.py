# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Composition by evolution: similarities against numpy, folds that keep groups together, maps that find a rotation."""

import numpy as np
import pytest
import torch
from benchmarks.reporting import add_line
from experiments.grids.thesis_semantics import evolution_rows
from experiments.tables.semantics import TABLES
from experiments.thesis import evolution

from complex_transformers.semantics import RatedPairs, WordSpace

WORDS = [f"{letter}{number}" for letter in "ab" for number in range(12)]
rows = evolution_rows()


def space(field, seed=0, size=4):
    drawn = np.random.default_rng(seed).normal(size=(2, len(WORDS), size))
    states = drawn[0] + (1j * drawn[1] if field == "complex" else 0)
    return WordSpace(WORDS, states / np.linalg.norm(states, axis=1, keepdims=True))


def rated(ratings=None, seed=0):
    generator = np.random.default_rng(seed)
    pairs = [((f"a{i}", f"b{generator.integers(12)}"), (f"a{j}", f"b{j}")) for i in range(12) for j in (i, i // 2)]
    pairs = tuple(dict.fromkeys(pairs))
    values = generator.normal(size=len(pairs)) if ratings is None else ratings(pairs)
    return RatedPairs("drawn", pairs, np.arange(len(pairs)), np.asarray(values))


def evolved(words, pair, maps):
    return [
        np.stack([maps[role] @ words.vector(word).toarray()[0] for role, word in enumerate(side)]) for side in pair
    ]


def oracle(words, pair, maps, how):
    x, y = evolved(words, pair, maps)
    if how == "add":
        return abs(x.sum(0).conj() @ y.sum(0))
    rho, sigma = (sum(np.outer(w, w.conj()) for w in side) / len(side) for side in (x, y))
    return np.sqrt(np.trace(rho @ sigma).real)


@pytest.mark.parametrize("row", [name for name in rows if not name.startswith("drawn")])
def test_similarities_are_those_of_evolved_words(row):
    cell = rows[row]
    words, pairs = space(cell.number_field), rated()
    phrases = evolution.phrases_of(words, pairs, cell.number_field)
    model = evolution.Evolution(cell.evolution, 2, phrases.words.shape[-1], cell.number_field)
    with torch.no_grad():
        before = evolution.similarities(phrases.words, cell.how, cell.number_field)
        if cell.evolution != "roles":  # the others start at the identity
            torch.testing.assert_close(model(phrases.words), phrases.words)
        np.testing.assert_allclose(before, words.similarities(pairs.pairs, cell.how), atol=1e-6)
        for parameter in model.parameters():
            parameter.normal_()
        found = evolution.similarities(model(phrases.words), cell.how, cell.number_field)
    maps = [np.eye(4)] * 2
    if cell.evolution == "roles":
        maps = [np.kron(np.eye(2)[:, [role]], np.eye(4)) for role in (0, 1)]
    if cell.evolution == "unitary":
        maps = model.maps.matrix().detach().double().numpy()
        maps = maps if cell.number_field == "real" else maps[:, :4] + 1j * maps[:, 4:]
    if cell.evolution == "phase_shift":
        maps = [np.diag(np.exp(1j * angles)) for angles in model.angles.detach().double().numpy()]
    expected = [oracle(words, pair, maps, cell.how) for pair in pairs.pairs]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (found - before).abs().max() > 0.01 or cell.evolution == "none"


def test_folds_hold_whole_groups():
    groups = evolution.phrases_of(space("complex"), rated(), "complex").groups
    assert len(set(groups)) < len(groups)  # a first phrase occurs in several pairs
    scored = []
    for fit, score in evolution.folds(groups, 4, 0):
        assert not set(groups[fit]) & set(groups[score])
        assert sorted([*fit, *score]) == list(range(len(groups)))
        scored += score.tolist()
    assert sorted(scored) == list(range(len(groups)))
    sentences = (("a0", "b0", "a1"), ("a0", "b1", "a1")), (("a2", "b0", "a3"), ("a2", "b2", "a3"))
    of_verbs = RatedPairs("verbs", sentences, np.arange(2), np.array([1.0, 2.0]))
    assert len(set(evolution.phrases_of(space("real"), of_verbs, "real").groups)) == 1  # one verb


def test_a_word_without_a_state_leaves_its_pair_out():
    pairs = rated()
    known = WordSpace([word for word in WORDS if word != "a3"], space("real").vectors_[[w != "a3" for w in WORDS]])
    phrases = evolution.phrases_of(known, pairs, "real")
    assert phrases.places.tolist() == [n for n, pair in enumerate(pairs.pairs) if "a3" not in (*pair[0], *pair[1])]


@pytest.mark.full
def test_maps_that_made_the_ratings_are_found_on_pairs_that_were_held_out(monkeypatch):
    small = {"folds": 4, "inner_folds": 2, "steps": (20, 40), "penalties": (0.0, 1.0), "learning_rate": 0.1}
    monkeypatch.setattr(evolution, "RECIPE", small)
    cell = rows["learned,add,unitary"]
    words = space("complex", size=3)
    teacher = evolution.Evolution("unitary", 2, 6, "complex")
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.normal_()

    def ratings(pairs):
        maps = teacher.maps.matrix().detach().double().numpy()
        maps = maps[:, :3] + 1j * maps[:, 3:]
        return [oracle(words, pair, maps, "add") for pair in pairs]

    phrases = evolution.phrases_of(words, rated(ratings), "complex")
    found, chosen = evolution.cross_validated(cell, phrases, 0)
    plain, none = evolution.cross_validated(rows["learned,add,none"], phrases, 0)
    assert none == []
    assert len(chosen) == 4
    assert [0.0, 40] in chosen
    rho = [evolution._rho(values, phrases.ratings) for values in (found, plain)]
    assert rho[0] > rho[1] + 0.2


def test_rows_and_their_table(monkeypatch, tmp_path):
    table = TABLES["docs/semantics.md"]["semantics-evolution"]
    assert table(tmp_path) == "not measured yet"
    names = ("noun-noun", "adjective-noun", "verb-object", "gs2011", "ks2014")
    monkeypatch.setattr(evolution, "rated_sets", lambda: {"simlex": None, **{name: rated() for name in names}})
    monkeypatch.setattr(evolution, "states_of", lambda name: space("real" if name == "signs" else "complex"))
    monkeypatch.setattr(evolution, "RECIPE", {**evolution.RECIPE, "folds": 2, "inner_folds": 2, "steps": (1, 2)})
    for row in ("learned,add,none", "learned,add,roles", "learned,add,phase_shift"):
        for seed in (0, 1):
            result = evolution.run(rows[row], seed)
            assert set(result["sets"]) == set(names)
            add_line(tmp_path / "thesis-semantics-evolution.jsonl", {"row": row, "seed": seed, **result})
    none, apart, shifted = (line.split(" | ") for line in table(tmp_path).splitlines()[2:])
    assert none[:3] == ["| add", "learned", "none"]
    assert [cell.count("(") for cell in none[3:8]] == [0] * 5
    assert [cell.count("(") for cell in (*apart[3:8], *shifted[3:8])] == [1] * 10
    assert (apart[8], none[8]) == (" |", " |")
    assert -1 < float(shifted[8].removesuffix(" |")) < 1
    last = result["sets"]["noun-noun"]
    assert float(none[3]) == pytest.approx(last["scores"]["mean_rating"] - last["difference"]["difference"], abs=1e-3)
