# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Senses of a phrase from inner products, against the density matrix itself."""

import math

import numpy
import pytest

from complex_transformers.semantics import (
    WordSpace,
    entropy,
    ket,
    mixture,
    phrase_senses,
    sense_probabilities,
    spectral_decomposition,
)
from refusals import refused


@pytest.fixture
def space():
    generator = numpy.random.default_rng(0)
    vectors = generator.normal(size=(4, 6)) + 1j * generator.normal(size=(4, 6))
    vectors *= generator.random((4, 6)) > 0.3
    return WordSpace(["bank", "clerk", "river", "money"], vectors)


def state(space, word):
    return ket(space.vector(word).toarray()[0])


@pytest.mark.parametrize("words", [["bank"], ["bank", "clerk"], ["bank", "clerk", "river"], ["bank", "bank", "river"]])
def test_senses_are_eigenvectors_of_the_density_matrix(words, space):
    weights = 2.0 ** numpy.arange(len(words)) / (2 ** len(words) - 1)
    senses = phrase_senses(space.compose(words, "mixture", weights=weights))
    rho = mixture([state(space, word) for word in words], weights)
    values, vectors = spectral_decomposition(rho)
    number = len(set(words))
    numpy.testing.assert_allclose(senses.probabilities, values[:number], atol=1e-12)
    assert senses.probabilities.sum() == pytest.approx(1)
    overlaps = abs(senses.vectors.conj().toarray() @ vectors[:, :number])
    numpy.testing.assert_allclose(overlaps, numpy.eye(number), atol=1e-7)
    assert senses.entropy == pytest.approx(entropy(rho), abs=1e-9)
    born = [[abs(numpy.vdot(v, state(space, word))) ** 2 for word in words] for v in vectors[:, :number].T]
    numpy.testing.assert_allclose(senses.of_words, born, atol=1e-9)
    numpy.testing.assert_allclose(senses.of_words.sum(axis=0), numpy.ones(len(words)), atol=1e-9)


def test_entropy_of_words_with_everything_and_nothing_in_common():
    space = WordSpace(["x", "y", "z"], [[2, 0], [0, 1j], [-1j, 0]])
    assert phrase_senses(space.compose(["x", "z"], "mixture")).entropy == pytest.approx(0, abs=1e-12)
    assert phrase_senses(space.compose(["x", "y"], "mixture")).entropy == pytest.approx(math.log(2))


def test_probabilities_of_senses(space):
    alone = sense_probabilities(space, ["river", "money"], ["bank"])
    overlaps = [abs(numpy.vdot(state(space, sense), state(space, "bank"))) ** 2 for sense in ("river", "money")]
    numpy.testing.assert_allclose(alone, numpy.array(overlaps) / sum(overlaps))
    rho = mixture([state(space, "bank"), state(space, "clerk")])
    born = [(state(space, sense).conj() @ rho @ state(space, sense)).real for sense in ("river", "money")]
    within = sense_probabilities(space, ["river", "money"], ["bank", "clerk"])
    numpy.testing.assert_allclose(within, numpy.array(born) / sum(born))
    rows = space.compose(["bank", "clerk"], "mixture")
    numpy.testing.assert_allclose(sense_probabilities(space, ["river", space.vector("money")], rows), within)


def test_refusals(space):
    refused("trace 1, got [\\d.]+. Use compose\\(words, 'mixture'\\)", phrase_senses, space.compose(["bank"], "add"))
    refused("one of the 4 words of this space, got 'lion'", sense_probabilities, space, ["river", "lion"], ["bank"])
    apart = WordSpace(["x", "y", "z"], numpy.eye(3))
    refused("must not all be orthogonal to the phrase, got 2", sense_probabilities, apart, ["x", "y"], ["z"])
