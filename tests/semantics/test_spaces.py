# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Weightings on ten sentences, by hand and by their formulas; compositions as products of states; files."""

import json
import math
import subprocess
import sys

import numpy
import pytest
from scipy import sparse
from sklearn.base import clone

from complex_transformers.semantics import (
    COMPOSITIONS,
    SIMILARITIES,
    WEIGHTINGS,
    Cooccurrences,
    SemanticSpace,
    WordSpace,
    count_cooccurrences,
    density,
    ket,
    mixture,
    tensor,
)
from refusals import refused

TEN = """a cat sleeps
a dog sleeps
a cat purrs
a dog barks
the cat sleeps
the dog barks loudly
a bank clerk
the bank clerk sleeps
the river bank
a river""".splitlines()
VOCABULARY = ["a", "the", "cat", "dog", "bank", "sleeps", "clerk", "barks", "river", "purrs", "loudly"]


@pytest.fixture(scope="module")
def counts():
    return count_cooccurrences(TEN, VOCABULARY, window=1)


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        ("raw", 2),
        ("probability", 2 / 6),
        ("probability_amplitude", math.sqrt(2 / 6)),
        ("pmi_a", math.log(1 + 2 * 42 / (6 * 4))),
        ("pmi_b", math.log(2 * 42 / (6 * 4))),
        ("pmi_c", math.log(2 * 31 / (3 * 4))),
        ("ppmi", math.log(2 * 42 / (6 * 4))),
        ("npmi_a", math.log(1 + 2 * 42 / (6 * 4)) / -math.log(2 / 42)),
        ("npmi_b", math.log(2 * 42 / (6 * 4)) / -math.log(2 / 42)),
        ("npmi_c", math.log(2 * 31 / (3 * 4)) / -math.log(2 / 31)),
    ],
)
def test_weights_of_cat_beside_sleeps(weighting, expected, counts):
    space = SemanticSpace(weighting, normalize=False).fit(counts)
    vector = space.vector("cat").toarray()[0]
    assert vector[VOCABULARY.index("sleeps")] == pytest.approx(expected, rel=1e-14)
    assert vector[VOCABULARY.index("barks")] == 0
    unit = SemanticSpace(weighting).fit(counts).vector("cat").toarray()[0]
    numpy.testing.assert_allclose(unit, vector / math.sqrt((vector**2).sum()), rtol=1e-14)


def test_all_weightings_are_tested():
    assert len(WEIGHTINGS) == 10
    assert SemanticSpace().get_params() == {"weighting": "npmi_b", "normalize": True, "phases": "none"}


def test_positive_weights():
    counts = count_cooccurrences(TEN, VOCABULARY, window=3)
    pmi = SemanticSpace("pmi_b", normalize=False).fit(counts).vectors_.toarray()
    ppmi = SemanticSpace("ppmi", normalize=False).fit(counts).vectors_
    assert (pmi < 0).any()
    numpy.testing.assert_allclose(ppmi.toarray(), numpy.maximum(pmi, 0))
    assert (ppmi.data > 0).all()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_counts_stay_as_they_are(weighting):
    counts, again = (count_cooccurrences(TEN, VOCABULARY, window=3) for _ in range(2))
    counts.counts.data[3] = again.counts.data[3] = 0  # one that is stored and none
    SemanticSpace(weighting).fit(counts)
    for name in ("data", "indices", "indptr"):
        assert getattr(counts.counts, name).tolist() == getattr(again.counts, name).tolist()


def test_phases_are_the_arc_cosine(counts):
    real = SemanticSpace("npmi_b", normalize=False).fit(counts).vectors_.toarray()
    turned = SemanticSpace("npmi_b", normalize=False, phases="arccos").fit(counts).vectors_.toarray()
    for x, z in zip(real.ravel(), turned.ravel(), strict=True):
        expected = abs(x) * complex(x, math.sqrt(1 - x * x))  # cos and sin of arccos x
        assert z == pytest.approx(expected, abs=1e-14)
    assert abs(turned.imag).max() > 0.1
    unit = SemanticSpace("npmi_b", phases="arccos").fit(counts)
    states = [ket(row) for row in turned]
    for i, word in enumerate(VOCABULARY[:4]):
        for j, other in enumerate(VOCABULARY[:4]):
            product = sum(x.conjugate() * y for x, y in zip(states[i], states[j], strict=True))  # T 4.35
            assert unit.similarity(word, other) == pytest.approx(abs(product), abs=1e-14)
            assert unit.similarity(word, other, "real") == pytest.approx(product.real, abs=1e-14)


def test_npmi_beyond_1_is_clipped_and_counted():
    """x and y, five times side by side in a row: f = 9, f' = 5 each, M = 20 with ten others."""
    lines = ["x y x y x y x y x y", *["z"] * 10]
    counts = count_cooccurrences(lines, ["x", "y", "z"], window=1)
    space = SemanticSpace("npmi_c", normalize=False, phases="arccos").fit(counts)
    npmi = math.log(9 * 20 / 25) / -math.log(9 / 20)
    assert npmi > 1
    assert space.clipped_ == 2
    assert space.vectors_[0, 1] == pytest.approx(npmi)  # arccos 1 = 0, the modulus as it is
    assert SemanticSpace("npmi_b", phases="arccos").fit(counts).clipped_ == 0


def test_words_that_come_later_have_the_contexts_that_were_fitted(counts):
    space = SemanticSpace("pmi_b", normalize=False)
    assert (space.fit_transform(counts) != space.transform(counts)).nnz == 0
    later = count_cooccurrences([*TEN, "a lion sleeps"], ["lion", *VOCABULARY], 1, VOCABULARY)
    vector = space.transform(later).toarray()[0]
    assert vector[VOCABULARY.index("sleeps")] == pytest.approx(math.log(1 * 42 / (2 * 4)))
    refused("the 11 contexts of fit, got 2", space.transform, count_cooccurrences(TEN, VOCABULARY, 1, 2))
    assert clone(space).get_params() == space.get_params()


def test_compositions_are_those_of_states(counts):
    space = SemanticSpace("npmi_b", phases="arccos").fit(counts)
    x, y, z = (space.vector(word).toarray()[0] for word in ("cat", "dog", "bank"))
    for how, expected in (("add", x + y + z), ("multiply", x * y * z)):
        composed = space.compose(["cat", "dog", "bank"], how)
        numpy.testing.assert_allclose(composed.toarray()[0], expected, atol=1e-15)
        unit = space.compose(["cat", "dog", "bank"], how, renormalize=True)
        numpy.testing.assert_allclose(unit.toarray()[0], ket(expected), atol=1e-15)
    product = space.compose(["cat", "dog"], "tensor")
    numpy.testing.assert_allclose(product.toarray()[0], tensor(x, y), atol=1e-15)
    first, second = space.compose(["cat", "dog"], "mixture", weights=[0.3, 0.7]), space.compose(["bank"], "mixture")
    rho = first.T @ first.conj()
    numpy.testing.assert_allclose(rho.toarray(), mixture([x, y], [0.3, 0.7]), atol=1e-15)
    born = numpy.trace(rho.toarray() @ density(z)).real
    assert space.similarity(first, second) == pytest.approx(math.sqrt(born), abs=1e-14)
    assert space.similarity("cat", "bank") == pytest.approx(abs(numpy.vdot(x, z)), abs=1e-14)


@pytest.mark.parametrize("phases", ["none", "arccos"])
@pytest.mark.parametrize("how", COMPOSITIONS)
def test_many_pairs_at_once(how, phases, counts):
    space = SemanticSpace("npmi_a", normalize=False, phases=phases).fit(counts)
    pairs = [
        (["cat"], ["dog"]),
        (["cat", "sleeps"], ["dog", "barks"]),
        (["cat", "lion"], ["bank"]),
        (["bank"], ["the"]),
    ]
    pairs += [] if how == "tensor" else [(["a", "river", "bank"], ["a", "clerk"])]
    for kind in ("modulus",) if how == "mixture" else SIMILARITIES:
        for unit in (False, True):
            found = space.similarities(pairs, how, kind, renormalize=unit)
            assert numpy.isnan(found).tolist() == ["lion" in first for first, _ in pairs]
            for value, pair in zip(found, pairs, strict=True):
                if not numpy.isnan(value):
                    first, second = (space.compose(phrase, how, renormalize=unit) for phrase in pair)
                    assert value == pytest.approx(space.similarity(first, second, kind), abs=1e-12)


def test_refusals(counts):
    refused("must be fitted, got no vectors", SemanticSpace().vector, "cat")
    assert "cat" not in SemanticSpace()
    for options, words in (
        ({"weighting": "tfidf"}, "weighting must be one of .*, got 'tfidf'"),
        ({"phases": "free"}, "phases must be one of .*, got 'free'"),
        ({"weighting": "pmi_b", "phases": "arccos"}, "phases must be 'none' for weighting='pmi_b', got 'arccos'"),
    ):
        refused(words, SemanticSpace(**options).fit, counts)
    space = SemanticSpace().fit(counts)
    refused("one of the 11 words of this space, got 'lion'", space.vector, "lion")
    refused("this space, got 'lion'", space.similarity, "cat", "lion")
    refused("words must have at least one word, got none", space.compose, [])
    refused("how must be one of .*, got 'sum'", space.compose, ["cat"], "sum")
    refused("weights must be None for how='add'", space.compose, ["cat"], weights=[1.0])
    refused("2 probabilities of sum 1", space.compose, ["cat", "dog"], "mixture", weights=[1, 1])
    refused("kind must be one of", space.similarity, "cat", "dog", "cosine")
    refused("equal sizes, got 11 and 121", space.similarity, "cat", space.compose(["cat", "dog"], "tensor"))
    words = "must be 'modulus' for mixtures"
    refused(words, space.similarity, "cat", space.compose(["cat", "dog"], "mixture"), "real")
    many = space.similarities
    refused("kind must be one of", many, [(["cat"], ["dog"])], kind="cosine")
    refused("how must be one of", many, [(["cat"], ["dog"])], how="sum")
    refused("kind must be 'modulus' for mixtures", many, [(["cat"], ["dog"])], "mixture", "real")
    refused("equal lengths for 'tensor', got 1 and 2 words", many, [(["cat"], ["dog", "barks"])], "tensor")
    refused("must not be empty, got pair 1", many, [(["cat"], ["dog"]), (["cat"], [])])
    assert many([]).tolist() == []
    empty = count_cooccurrences([*TEN, "lion"], ["lion", *VOCABULARY], 1)
    with_lion = SemanticSpace().fit(empty)
    assert "lion" not in with_lion
    refused("occur beside a context, got 'lion'", with_lion.vector, "lion")
    alone = Cooccurrences(("x",), ("y",), sparse.csr_matrix([[3.0]]), numpy.ones(1), numpy.ones(1), 2, 1)
    refused(
        "must be smaller than 3 for npmi_b, got 3 of 'x' with 'y'. Count more text", SemanticSpace("npmi_b").fit, alone
    )
    refused("must be smaller than 2 for npmi_c, got 3 of 'x' with 'y'", SemanticSpace("npmi_c").fit, alone)


def test_a_space_of_vectors_that_are_there():
    space = WordSpace(["up", "down"], [[1j, 0], [0, 2]])
    assert space.similarity("up", "up") == 1
    assert "left" not in space
    assert space.similarities([("up", "up"), (["down"], "down"), ("up", "left")]).tolist()[:2] == [1, 4]
    assert space.compose("down").toarray().tolist() == [[0, 2]]
    refused("equally many, got 2 and 1", WordSpace, ["a", "b"], [[1.0]])
    refused("words must be distinct, got 1 repeated", WordSpace, ["a", "a"], [[1.0], [2.0]])
    refused("NaN or infinity for 'b'", WordSpace, ["a", "b", "c"], [[1.0, 1.0], [2.0, math.nan], [0.0, 0.0]])


@pytest.mark.parametrize("phases", ["none", "arccos"])
def test_a_space_in_a_folder(phases, counts, tmp_path):
    space = SemanticSpace("npmi_a", normalize=False, phases=phases).fit(counts)
    space.save(tmp_path / "space")
    loaded = SemanticSpace.load(tmp_path / "space")
    assert loaded.get_params() == space.get_params()
    assert (loaded.words_, loaded.contexts_, loaded.clipped_) == (space.words_, space.contexts_, space.clipped_)
    assert (loaded.vectors_ != space.vectors_).nnz == 0
    assert loaded.vectors_.dtype == space.vectors_.dtype
    assert (loaded.transform(counts) != space.transform(counts)).nnz == 0
    assert sorted(path.name for path in (tmp_path / "space").iterdir()) == ["space.json", "space.npz"]


def test_folders_that_are_no_space(counts, tmp_path):
    SemanticSpace().fit(counts).save(tmp_path)
    refused("got a saved SemanticSpace. Use SemanticSpace.load", WordSpace.load, tmp_path)
    facts = json.loads((tmp_path / "space.json").read_text())
    for broken in ({**facts, "size": 1}, {**facts, "words": facts["words"][:-1]}, {"class": "SemanticSpace"}, []):
        (tmp_path / "space.json").write_text(json.dumps(broken))
        refused("must contain a saved SemanticSpace", SemanticSpace.load, tmp_path)
    (tmp_path / "space.json").write_text(json.dumps(facts))
    numpy.savez(tmp_path / "space.npz", data=numpy.array([{}], dtype=object))  # a pickle
    refused("must contain a saved SemanticSpace", SemanticSpace.load, tmp_path)
    (tmp_path / "space.npz").write_bytes(b"PK")
    refused("must contain a saved SemanticSpace", SemanticSpace.load, tmp_path)
    refused("space.json", SemanticSpace.load, tmp_path / "nowhere", error=FileNotFoundError)
    refused("must be fitted, got no vectors", SemanticSpace().save, tmp_path / "new")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("indptr", [0, -4, 0, 0, 0, 0]),  # ends in 0: scipy takes it for a matrix without a number
        ("indptr", [0, 9**9, 0, 0, 0, 0]),
        ("indices", [-1] * 12),
        ("indices", [10**6] * 12),
    ],
)
def test_indices_outside_the_arrays(name, values, counts, tmp_path):
    space = SemanticSpace("raw", normalize=False).fit(counts)
    space.save(tmp_path)
    arrays = dict(numpy.load(tmp_path / "space.npz"))
    changed = numpy.resize(numpy.array(values, arrays[name].dtype), arrays[name].shape)
    numpy.savez(tmp_path / "space.npz", **{**arrays, name: changed})
    refused("must contain a saved SemanticSpace: (indptr|indices)", SemanticSpace.load, tmp_path)


@pytest.mark.parametrize("name", ["similarity", "_rows", "__class__"])
def test_a_file_sets_no_attribute_but_parameters(name, counts, tmp_path):
    SemanticSpace().fit(counts).save(tmp_path)
    facts = json.loads((tmp_path / "space.json").read_text())
    facts["parameters"][name] = "changed"
    (tmp_path / "space.json").write_text(json.dumps(facts))
    refused(rf"parameters must be among .*, got \['{name}'\]", SemanticSpace.load, tmp_path)


@pytest.mark.full  # test_floors.py reads the imports
def test_the_room_needs_no_torch_and_names_its_extra():
    code = """
import sys
sys.modules["sklearn"] = None
try:
    import complex_transformers.semantics
except ImportError as error:
    print(error)
del sys.modules["sklearn"]
import complex_transformers.semantics
assert not {"torch", "transformers"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    start = 'words as quantum states need sklearn. Install it: pip install "complex_transformers[semantics]", or '
    assert done.stdout == start + 'pip install -e ".[semantics]" in a clone.\n', done.stderr
