# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of ratings, Spearman's rho against ranks by counting, and the bootstrap against samples that are drawn."""

import math

import numpy
import pytest

from complex_transformers.semantics import (
    RatedPairs,
    WordSpace,
    bootstrap_difference,
    evaluation,
    read_rated_pairs,
    score_pairs,
)
from refusals import refused
from table_files import write_text


def rho(*sides):
    """Pearson's correlation of ranks by counting."""
    columns = [numpy.asarray(values)[:, None] for values in sides]
    ranks = [(v > v.T).sum(axis=1) + (v == v.T).sum(axis=1) / 2 for v in columns]
    return numpy.corrcoef(*ranks)[0, 1]


ML = "participant version phrase1_word1 phrase1_word2 phrase2_word1 phrase2_word2 rating"
GS = "verb subject object landmark rating"
KS = "subject1 verb1 object1 subject2 verb2 object2 rating"


def written(path, header, rows):
    return write_text(path, "".join("\t".join(line.split()) + "\n" for line in [header, *rows]))


@pytest.mark.parametrize(
    ("header", "row", "pair"),
    [
        ("word1 word2 similarity", "old New 1.5", (("old",), ("New",))),
        (ML, "7 0 old dog new cat 1.5", (("old", "dog"), ("new", "cat"))),
        (GS, "write pupil name spell 1.5", (("pupil", "write", "name"), ("pupil", "spell", "name"))),
        (KS, "a b c d e f 1.5", (("a", "b", "c"), ("d", "e", "f"))),
    ],
)
def test_tables(header, row, pair, tmp_path):
    rated = read_rated_pairs(written(tmp_path / "some.set.tsv.gz", header, [row, row.replace("1.5", "2")]))
    assert rated.name == "some.set"
    assert rated.pairs == (pair,)
    assert rated.ratings.tolist() == [1.5, 2.0]
    assert rated.mean_ratings().tolist() == [1.75]
    assert rated.participants == (("7", "7") if header == ML else None)


@pytest.mark.parametrize("mark", ["\t", ",", ";", " ", "  "])
@pytest.mark.parametrize("header", [[], ["Word 1", "Word 2", "Human (mean)"]])
def test_any_pairs(mark, header, tmp_path):
    rows = [["Love", "sex", "6.77"], ["tiger", "cat", "-7e0"], ["Love", "SEX", "7"]]
    text = "".join(mark.join(row) + "\r\n" for row in ([header] if header and mark.strip(" ") else []) + rows) + "\n"
    rated = read_rated_pairs(write_text(tmp_path / "pairs.csv", text), lowercase=True)
    assert rated.pairs == ((("love",), ("sex",)), (("tiger",), ("cat",)))
    assert rated.places.tolist() == [0, 1, 0]
    assert rated.ratings.tolist() == [6.77, -7.0, 7.0]


@pytest.mark.parametrize("header", ["", "Word 1\tWord 2\tHuman (mean)\n"])
def test_comments_are_no_pairs(header, tmp_path):
    text = f"# WordSim-353\n{header}cat\tdog\t7\n#cat\tmouse\t1\ncat\tmouse\t3\n"
    rated = read_rated_pairs(write_text(tmp_path / "pairs.tsv", text))
    assert rated.pairs == ((("cat",), ("dog",)), (("cat",), ("mouse",)))
    assert rated.ratings.tolist() == [7.0, 3.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "two words and a score, got none"),
        ("word1\tword2\tsimilarity\n", "must have pairs below its header, got none"),
        ("word1\tword2\tsimilarity\na\tb\t1\na\tb\n", "line 3 must have the 3 fields word1 word2 similarity"),
        ("word1\tword2\tsimilarity\na\tb\tmany\n", "line 2 must have .* a number, got 'a.*many'"),
        ("word1\tword2\tsimilarity\na\t\t1\n", "line 2"),
        ("a b 1\n\na b nan\n", "line 3 must have the 3 fields word1 word2 score"),
        ("a b 1\na b 1_0\n", "line 2"),
        ("a b 1e999\na b 1\nb c x", "line 1"),
        ("a b 1\na b c 2\n", "line 2"),
        ("a b\n", "line 1"),
        ("cat dog NA\ncat mouse 3\n", "line 1 must have .* got 'cat dog NA'"),
        ("cat,dog,\ncat,mouse,3\n", "line 1"),
        *(
            (f"cat dog {bad}\ncat mouse 3\n", f"line 1 must .*{bad}")
            for bad in ("7,5", "1e999", "inf", "7..5", "high")
        ),
        ("# pairs\n\ncat dog x\n", "line 3 must have .* got 'cat dog x'"),
        (
            "\t".join(ML.split()) + "\n" + "\t".join(["7", "0", "old", "dog", "new", "1"]),
            "line 2 must have the 7 fields",
        ),
    ],
)
def test_broken_files(text, words, tmp_path):
    refused(words, read_rated_pairs, write_text(tmp_path / "pairs.tsv", text))


def drawn(seed, number=30, people=4):
    """Everyone rates half of the pairs; similarities with ties, two pairs without."""
    generator = numpy.random.default_rng(seed)
    rows = [(place, str(person)) for person in range(people) for place in range(person % 2, number, 2)]
    rows += [(place, "4") for place in range(number)]
    places = numpy.array([place for place, _ in rows])
    ratings = generator.integers(1, 8, len(rows)).astype(float)
    similarities = generator.integers(0, 9, number) / 8 + ratings[:number] * 0.05
    similarities[[3, 8]] = math.nan
    pairs = tuple(((f"a{place}",), (f"b{place}",)) for place in range(number))
    return RatedPairs("drawn", pairs, places, ratings, tuple(person for _, person in rows)), similarities


@pytest.mark.parametrize("seed", range(3))
def test_three_conventions(seed):
    rated, similarities = drawn(seed)
    found = score_pairs(similarities, rated)
    kept = [place for place in range(30) if place not in (3, 8)]
    means = [numpy.mean([r for r, p in zip(rated.ratings, rated.places, strict=True) if p == place]) for place in kept]
    assert found.mean_rating == pytest.approx(rho(similarities[kept], means))
    rows = [row for row, place in enumerate(rated.places) if place in kept]
    single = rho([similarities[rated.places[row]] for row in rows], rated.ratings[rows])
    assert found.single_ratings == pytest.approx(single)
    by_person = []
    for person in "01234":
        own = [row for row in rows if rated.participants[row] == person]
        by_person.append(rho(similarities[rated.places[own]], rated.ratings[own]))
    assert found.participants == pytest.approx(numpy.mean(by_person))
    assert (found.covered, found.pairs) == (28, 30)


def test_participants_that_rate_all_alike_do_not_count():
    rated, similarities = drawn(0)
    flat = numpy.array(
        [4.0 if person == "1" else r for person, r in zip(rated.participants, rated.ratings, strict=True)]
    )
    others = RatedPairs("others", rated.pairs, rated.places, flat, rated.participants)
    without = [row for row, person in enumerate(rated.participants) if person != "1"]
    people = tuple(rated.participants[row] for row in without)
    expected = RatedPairs("without", rated.pairs, rated.places[without], rated.ratings[without], people)
    assert score_pairs(similarities, others).participants == score_pairs(similarities, expected).participants
    unknown = RatedPairs("unknown", rated.pairs, rated.places, rated.ratings)
    assert score_pairs(similarities, unknown).participants is None
    same = score_pairs(numpy.ones(30), unknown)
    assert math.isnan(same.mean_rating)  # nothing is ranked


def test_the_bootstrap_of_a_difference(monkeypatch):
    rated, first = drawn(1)
    second = first + numpy.random.default_rng(5).normal(size=30)
    second[4] = math.nan
    found = bootstrap_difference(first, second, rated, draws=400)
    kept = [place for place in range(30) if place not in (3, 4, 8)]
    means = rated.mean_ratings()[kept]
    x, y = (rho(values[kept], means) for values in (first, second))
    assert found.difference == pytest.approx(x - y)
    assert found.pairs == 27
    assert found.low < found.difference < found.high
    counts = numpy.random.default_rng(0).multinomial(27, [1 / 27] * 27, size=400)
    differences = []
    for row in counts:
        sample = numpy.repeat(kept, row)
        ratings = rated.mean_ratings()[sample]
        x, y = (rho(values[sample], ratings) for values in (first, second))
        differences.append(x - y)
    assert [found.low, found.high] == pytest.approx(numpy.percentile(differences, [2.5, 97.5]).tolist())
    monkeypatch.setattr(evaluation, "_DRAWS_AT_ONCE", 170)
    again = bootstrap_difference(first, second, rated, draws=400)
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=0.05)
    same = bootstrap_difference(first, first, rated, draws=10)
    assert (same.difference, same.low, same.high) == (0, 0, 0)


def test_similarities_of_pairs():
    space = WordSpace(["a", "b", "c"], [[1, 1j], [1, -1], [0, 2]])
    pairs = ((("a",), ("b",)), (("a", "b"), ("c", "a")), (("a", "b"), ("a", "d")))
    rated = RatedPairs("three", pairs, numpy.arange(3), numpy.arange(3.0))
    by_sum = space.similarities(rated.pairs)
    assert by_sum[:2].tolist() == pytest.approx([math.sqrt(2), abs((2 - 0j) * 1 + (-1 - 1j) * (2 + 1j))])
    assert math.isnan(by_sum[2])
    assert space.similarities(rated.pairs, "multiply")[1] == pytest.approx(abs((1j * -1).conjugate() * 2j))
    assert space.similarities(rated.pairs, "add", "real")[0] == pytest.approx(1)
    refused("must cover at least 3 pairs of three, got 2 of 3", score_pairs, by_sum, rated)


def test_refusals():
    rated, similarities = drawn(0)
    refused("must have shape \\(30,\\), got \\(29,\\)", score_pairs, similarities[1:], rated)
    refused("got 0 of 30", bootstrap_difference, similarities, numpy.full(30, math.nan), rated)
