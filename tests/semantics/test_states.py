# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The postulates, as properties of drawn states and measurements, and matrices that are neither."""

import math

import numpy
import pytest
from hypothesis import given, strategies as st

from complex_transformers.semantics import (
    after_measurement,
    after_unread_measurement,
    commutator,
    density,
    effects,
    entropy,
    evolve,
    expectation,
    fidelity,
    hadamard,
    ket,
    measure,
    measure_effects,
    measure_general,
    mixture,
    partial_trace,
    phase_shift,
    projectors,
    purity,
    spectral_decomposition,
    tensor,
    trace_distance,
)
from refusals import refused

EXACT = {"rtol": 0, "atol": 1e-12}
SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 2**32 - 1)
LOPSIDED = numpy.array([[1.0, 1.0], [0.0, 0.0]])


def numbers(generator, *shape):
    return generator.normal(size=shape) + 1j * generator.normal(size=shape)


def drawn_ket(generator, size):
    return ket(numbers(generator, size))


def drawn_density(generator, size):
    root = numbers(generator, size, generator.integers(1, size + 1))
    rho = root @ root.conj().T
    return rho / numpy.trace(rho)


def drawn_unitary(generator, size):
    return numpy.linalg.qr(numbers(generator, size, size))[0]


def drawn_operators(generator, size, outcomes):
    """Blocks of an isometry: sum M^H M = I."""
    isometry = numpy.linalg.qr(numbers(generator, size * outcomes, size))[0]
    return list(isometry.reshape(outcomes, size, size))


def basis(unitary):
    return [density(column) for column in unitary.T]


def assert_density(rho):
    numpy.testing.assert_allclose(rho, rho.conj().T, **EXACT)
    assert abs(numpy.trace(rho) - 1) < 1e-12
    assert numpy.linalg.eigvalsh(rho)[0] > -1e-12


@given(
    st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(-1e3, 1e3)), min_size=1, max_size=6).filter(
        lambda rows: any(amplitude for amplitude, _ in rows)
    )
)
def test_a_ket_has_norm_1_and_its_phases(rows):
    amplitudes, phases = numpy.array(rows).T
    state = ket(amplitudes, phases)
    assert abs((abs(state) ** 2).sum() - 1) < 1e-12
    largest = int(abs(amplitudes).argmax())
    expected = amplitudes / amplitudes[largest] * numpy.exp(1j * (phases - phases[largest]))
    numpy.testing.assert_allclose(state / state[largest], expected, atol=1e-9)


@given(SEEDS, SIZES, st.integers(1, 4))
def test_a_mixture_is_a_density_matrix(seed, size, number):
    generator = numpy.random.default_rng(seed)
    states = [drawn_ket(generator, size) for _ in range(number)]
    weights = generator.dirichlet(numpy.ones(number))
    rho = mixture(states, weights)
    assert_density(rho)
    expected = [
        [
            sum(p * state[x] * state[y].conjugate() for p, state in zip(weights, states, strict=True))
            for y in range(size)
        ]
        for x in range(size)
    ]  # T 4.32
    numpy.testing.assert_allclose(rho, expected, **EXACT)
    assert 1 / size - 1e-12 <= purity(rho) <= 1 + 1e-12
    assert 0 <= entropy(rho) <= math.log(min(number, size)) + 1e-12
    assert entropy(states[0]) < 1e-12
    assert abs(purity(states[0]) - 1) < 1e-12
    numpy.testing.assert_allclose(mixture(states), mixture(states, [1 / number] * number), **EXACT)


@given(SEEDS, SIZES)
def test_entropy_is_that_of_the_spectrum(seed, size):
    generator = numpy.random.default_rng(seed)
    p = generator.dirichlet(numpy.ones(size))
    unitary = drawn_unitary(generator, size)
    rho = unitary @ numpy.diag(p) @ unitary.conj().T
    assert entropy(rho) == pytest.approx(-sum(x * math.log(x) for x in p), abs=1e-9)
    values, vectors = spectral_decomposition(rho)
    numpy.testing.assert_allclose(values, sorted(p, reverse=True), **EXACT)
    numpy.testing.assert_allclose((vectors * values) @ vectors.conj().T, rho, **EXACT)
    assert purity(rho) == pytest.approx((p**2).sum(), abs=1e-12)


@given(SEEDS, SIZES)
def test_born_is_the_trace_rule_and_probabilities_sum_to_1(seed, size):
    generator = numpy.random.default_rng(seed)
    state, rho, unitary = drawn_ket(generator, size), drawn_density(generator, size), drawn_unitary(generator, size)
    born = [abs(numpy.vdot(column, state)) ** 2 for column in unitary.T]  # T 4.29
    numpy.testing.assert_allclose(measure(state, basis(unitary)), born, **EXACT)
    numpy.testing.assert_allclose(measure(density(state), basis(unitary)), born, **EXACT)
    p = measure(rho, basis(unitary))
    numpy.testing.assert_allclose(p, [numpy.trace(rho @ projector).real for projector in basis(unitary)], **EXACT)
    assert abs(p.sum() - 1) < 1e-12
    assert p.min() > -1e-12


@given(SEEDS, SIZES, st.integers(1, 4))
def test_general_measurements(seed, size, outcomes):
    generator = numpy.random.default_rng(seed)
    operators, rho = drawn_operators(generator, size, outcomes), drawn_density(generator, size)
    p = measure_general(rho, operators)
    expected = [numpy.trace(operator.conj().T @ operator @ rho).real for operator in operators]
    numpy.testing.assert_allclose(p, expected, **EXACT)
    assert abs(p.sum() - 1) < 1e-12
    numpy.testing.assert_allclose(measure_effects(rho, effects(operators)), p, **EXACT)
    ensemble = sum(p[k] * after_measurement(rho, operators[k]) for k in range(outcomes))
    numpy.testing.assert_allclose(after_unread_measurement(rho, operators), ensemble, **EXACT)
    assert_density(ensemble)
    state = drawn_ket(generator, size)
    numpy.testing.assert_allclose(
        density(after_measurement(state, operators[0])), after_measurement(density(state), operators[0]), **EXACT
    )


@given(SEEDS, st.integers(2, 5))
def test_projective_measurements_can_be_repeated_and_general_ones_cannot(seed, size):
    generator = numpy.random.default_rng(seed)
    state, unitary = drawn_ket(generator, size), drawn_unitary(generator, size)
    first = basis(unitary)[0]
    outcomes = [first, numpy.eye(size) - first]
    for place, outcome in enumerate(outcomes):
        again = measure(after_measurement(state, outcome), outcomes)
        assert again[place] == pytest.approx(1, abs=1e-9)
    operators = drawn_operators(generator, size, 2)
    assert measure_general(after_measurement(state, operators[0]), operators)[0] < 1 - 1e-6


@given(SEEDS, SIZES)
def test_an_observable_is_its_outcomes(seed, size):
    generator = numpy.random.default_rng(seed)
    unitary, values = drawn_unitary(generator, size), generator.integers(-2, 3, size).astype(float)
    observable = (unitary * values) @ unitary.conj().T
    found, outcomes = projectors((observable + observable.conj().T) / 2)
    numpy.testing.assert_allclose(found, sorted(set(values)), **EXACT)  # equal eigenvalues are one outcome
    assert [round(numpy.trace(outcome).real) for outcome in outcomes] == [
        int(numpy.isclose(values, v).sum()) for v in found
    ]
    numpy.testing.assert_allclose(sum(v * P for v, P in zip(found, outcomes, strict=True)), observable, **EXACT)
    state, rho = drawn_ket(generator, size), drawn_density(generator, size)
    for given_state in (state, rho):
        mean = (found * measure(given_state, outcomes)).sum()
        assert expectation(given_state, observable) == pytest.approx(mean, abs=1e-10)
    assert expectation(rho, observable) == pytest.approx(numpy.trace(rho @ observable).real, abs=1e-10)


@given(SEEDS, SIZES)
def test_evolution_keeps_norm_entropy_and_distances(seed, size):
    generator = numpy.random.default_rng(seed)
    unitary, rho, sigma = (
        drawn_unitary(generator, size),
        drawn_density(generator, size),
        drawn_density(generator, size),
    )
    state = evolve(drawn_ket(generator, size), unitary)
    assert abs(numpy.linalg.norm(state) - 1) < 1e-12
    evolved = evolve(rho, unitary)
    assert_density(evolved)
    assert entropy(evolved) == pytest.approx(entropy(rho), abs=1e-9)
    assert trace_distance(evolved, evolve(sigma, unitary)) == pytest.approx(trace_distance(rho, sigma), abs=1e-10)
    assert fidelity(evolved, evolve(sigma, unitary)) == pytest.approx(fidelity(rho, sigma), abs=1e-7)
    turns = generator.normal(size=size)
    numpy.testing.assert_allclose(phase_shift(turns) @ numpy.ones(size), numpy.exp(1j * turns), **EXACT)
    numpy.testing.assert_allclose(abs(evolve(state, phase_shift(turns))), abs(state), **EXACT)


@given(SEEDS, st.lists(SIZES, min_size=2, max_size=3))
def test_a_partial_trace_undoes_a_product(seed, sizes):
    generator = numpy.random.default_rng(seed)
    parts = [drawn_density(generator, size) for size in sizes]
    product = tensor(*parts)
    assert_density(product)
    for place, part in enumerate(parts):
        numpy.testing.assert_allclose(partial_trace(product, sizes, place), part, **EXACT)
    numpy.testing.assert_allclose(partial_trace(product, sizes, range(len(sizes) - 1)), tensor(*parts[:-1]), **EXACT)
    kets = [drawn_ket(generator, size) for size in sizes]
    numpy.testing.assert_allclose(density(tensor(*kets)), tensor(*map(density, kets)), **EXACT)
    assert entropy(product) == pytest.approx(sum(map(entropy, parts)), abs=1e-9)


@given(SEEDS, SIZES)
def test_fidelity_and_trace_distance(seed, size):
    generator = numpy.random.default_rng(seed)
    x, y, rho, sigma = (draw(generator, size) for draw in [drawn_ket] * 2 + [drawn_density] * 2)
    overlap = abs(numpy.vdot(x, y)) ** 2
    assert fidelity(x, y) == pytest.approx(overlap, abs=1e-7)
    assert trace_distance(x, y) == pytest.approx(math.sqrt(max(0, 1 - overlap)), abs=1e-7)
    assert fidelity(rho, x) == pytest.approx((x.conj() @ rho @ x).real, abs=1e-7)
    assert fidelity(rho, sigma) == pytest.approx(fidelity(sigma, rho), abs=1e-7)
    root = math.sqrt(fidelity(rho, sigma))  # Fuchs & van de Graaf 1999
    assert 1 - root - 1e-6 <= trace_distance(rho, sigma) <= math.sqrt(1 - min(1, root**2)) + 1e-6
    assert fidelity(rho, rho) == pytest.approx(1, abs=1e-7)
    assert trace_distance(rho, rho) == pytest.approx(0, abs=1e-12)


@given(SEEDS, st.floats(-7, 7), st.floats(-7, 7))
def test_interference(seed, theta, phi):
    """|alpha + beta|^2 = a^2 + b^2 + 2ab cos(theta - phi) (T 4.27), as an outcome of a measurement."""
    a, b = numpy.random.default_rng(seed).random(2)
    state = ket([a, b], [theta, phi])
    expected = (a**2 + b**2 + 2 * a * b * math.cos(theta - phi)) / (2 * (a**2 + b**2))
    assert measure(state, basis(hadamard()))[0] == pytest.approx(expected, abs=1e-12)


def test_hadamard_and_commutator():
    numpy.testing.assert_allclose(hadamard(), numpy.array([[1, 1], [1, -1]]) / math.sqrt(2))
    signs = [[(-1) ** bin(x & y).count("1") for y in range(4)] for x in range(4)]
    numpy.testing.assert_allclose(hadamard(2), numpy.array(signs) / 2)
    x, y, z = (numpy.array(m) for m in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]))
    numpy.testing.assert_allclose(commutator(x, y), 2j * z)
    numpy.testing.assert_allclose(commutator(z, z @ z), numpy.zeros((2, 2)))
    entangled = ket([1, 0, 0, 1])
    numpy.testing.assert_allclose(partial_trace(entangled, [2, 2], 0), numpy.eye(2) / 2, atol=1e-15)
    assert entropy(partial_trace(entangled, [2, 2], 1)) == pytest.approx(math.log(2))


def test_no_states():
    refused("must not all be 0, got 3 zeros", ket, [0, 0, 0])
    refused("must be finite, got \\(?nan", ket, [1, math.nan])
    refused("must be finite, got \\(?inf", ket, [math.inf, 1])
    refused("must be a vector \\[d\\], got shape \\(0,\\)", ket, [])
    refused("must be a vector \\[d\\], got shape \\(1, 2\\)", ket, [[1, 2]])
    refused("phases must be 2 finite numbers", ket, [1, 2], [0.5])
    refused("phases must be 2 finite numbers", ket, [1, 2], [0.5, math.nan])
    refused("must have norm 1, got 1.41421356\\d*. Normalize it with ket", density, [1, 1])
    refused("must be Hermitian, got .* by 1", entropy, [[0.5, 1], [0, 0.5]])
    refused("must be positive semi-definite, got an eigenvalue of -0.5", entropy, [[1.5, 0], [0, -0.5]])
    refused("must have trace 1, got 2", purity, numpy.eye(2))
    refused("must be square, got shape \\(1, 2\\)", density, [[1, 0]])
    refused("states must have at least one state", mixture, [])
    refused("must have equal sizes, got \\[2, 3\\]", mixture, [[1, 0], [1, 0, 0]])
    for weights in ([0.5, 0.4], [1.5, -0.5], [1.0], [math.nan, 1]):
        refused("2 probabilities of sum 1, got .*", mixture, [[1, 0], [0, 1]], weights)
    refused("must be all vectors or all matrices, got \\[\\(2,\\), \\(2, 2\\)\\]", tensor, [1, 0], numpy.eye(2))
    refused("the product 2, the size of the state, got", partial_trace, [1, 0], [2, 2], 0)
    refused("from 0 to 1, got 2", partial_trace, [1, 0, 0, 0], [2, 2], 2)
    refused("from 0 to 1, got \\[\\]", partial_trace, [1, 0, 0, 0], [2, 2], [])
    refused("equal sizes, got 2 and 3", fidelity, [1, 0], [1, 0, 0])
    refused("equal sizes, got 2 and 3", trace_distance, [1, 0], [1, 0, 0])


def test_no_evolution():
    refused("must be unitary, got U\\^H U that differs from the identity by 1", evolve, [1, 0], LOPSIDED)
    refused("must have the size of the state, 2, got 3", evolve, [1, 0], numpy.eye(3))
    refused("phases must be a vector of finite numbers", phase_shift, [[0.0]])
    refused("size of the state, 2, got 3", commutator, numpy.eye(2), numpy.eye(3))


def test_no_measurement():
    up, down = numpy.diag([1.0, 0.0]), numpy.diag([0.0, 1.0])
    refused("projectors must sum to the identity, got .* of 1. Add outcomes", measure, [1, 0], [up])
    refused("must satisfy P P = P, got a difference of 0.25", measure, [1, 0], [up / 2, down + up / 2])
    refused("a projector must be Hermitian", measure, [1, 0], [LOPSIDED, numpy.eye(2) - LOPSIDED])
    refused("must sum to the identity", measure_general, [1, 0], [up, up])
    refused("must sum to the identity", after_unread_measurement, [1, 0], [up])
    refused("effects must sum to the identity", measure_effects, [1, 0], [up, down / 2])
    refused("an effect must be positive", measure_effects, [1, 0], [2 * up - down, 2 * down - up])
    for function in (measure, measure_effects, measure_general):
        refused("must have at least one matrix, got none", function, [1, 0], [])
        refused("the size of the state, 3, got 2", function, [1, 0, 0], [up, down])
    refused("observable must be Hermitian", projectors, LOPSIDED)
    refused("observable must be Hermitian", expectation, [1, 0], LOPSIDED)
    refused("possible outcome, got probability 0", after_measurement, [1, 0], down)
    refused("size of the state, 2, got 3", after_measurement, [1, 0], numpy.eye(3))
