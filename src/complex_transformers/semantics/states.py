# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""States, their composition, evolution and measurement (Thesis 4.5.1 to 4.5.7), in complex128.

A pure state |phi> is a vector ``[d]`` of norm 1; a density matrix rho is ``[d, d]``, Hermitian, positive
semi-definite, of trace 1. Functions of states take either, and raise ValueError if these properties do not hold within
1e-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "after_measurement",
    "after_unread_measurement",
    "commutator",
    "density",
    "effects",
    "entropy",
    "evolve",
    "expectation",
    "fidelity",
    "hadamard",
    "ket",
    "measure",
    "measure_effects",
    "measure_general",
    "mixture",
    "partial_trace",
    "phase_shift",
    "projectors",
    "purity",
    "spectral_decomposition",
    "tensor",
    "trace_distance",
]

Array: TypeAlias = NDArray[numpy.complex128]
_TOLERANCE = 1e-8


# Checks


def _finite(name: str, values: ArrayLike, dimensions: Sequence[int]) -> Array:
    array = numpy.asarray(values, dtype=numpy.complex128)
    if array.ndim not in dimensions or array.size == 0:
        wanted = " or ".join({1: "a vector [d]", 2: "a matrix [d, d]"}[number] for number in dimensions)
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    if array.ndim == 2 and array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    if not numpy.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~numpy.isfinite(array)][0]}")
    return array


def _hermitian(name: str, values: ArrayLike) -> Array:
    matrix = _finite(name, values, (2,))
    deviation = abs(matrix - matrix.conj().T).max()
    if deviation > _TOLERANCE * max(1.0, abs(matrix).max()):
        raise ValueError(
            f"{name} must be Hermitian, got a matrix that differs from its conjugate transpose by {deviation:.3g}"
        )
    return matrix


def _positive(name: str, values: ArrayLike) -> Array:
    matrix = _hermitian(name, values)
    smallest = numpy.linalg.eigvalsh(matrix)[0]
    if smallest < -_TOLERANCE:
        raise ValueError(f"{name} must be positive semi-definite, got an eigenvalue of {smallest:.3g}")
    return matrix


def _unitary(name: str, values: ArrayLike, size: int) -> Array:
    matrix = _finite(name, values, (2,))
    _same_size(name, matrix, size)
    deviation = abs(matrix.conj().T @ matrix - numpy.eye(size)).max()
    if deviation > _TOLERANCE:
        raise ValueError(f"{name} must be unitary, got U^H U that differs from the identity by {deviation:.3g}")
    return matrix


def _state(values: ArrayLike) -> Array:
    """Check a pure state or a density matrix."""
    state = _finite("a state", values, (1, 2))
    if state.ndim == 1:
        if abs((norm := numpy.linalg.norm(state)) - 1.0) > _TOLERANCE:
            raise ValueError(f"state must have norm 1, got {norm:.10g}. Normalize it with ket().")
        return state
    _positive("a density matrix", state)
    if abs((trace := numpy.trace(state)) - 1.0) > _TOLERANCE:
        raise ValueError(f"density matrix must have trace 1, got {trace:.10g}. Divide it by its trace.")
    return state


def _density(values: ArrayLike) -> Array:
    """Return the density matrix of a pure state or of a density matrix (Thesis 4.17)."""
    state = _state(values)
    return numpy.outer(state, state.conj()) if state.ndim == 1 else state


def _same_size(name: str, matrix: Array, size: int) -> None:
    if matrix.shape[0] != size:
        raise ValueError(f"{name} must have the size of the state, {size}, got {matrix.shape[0]}")


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    matrices = _density(first), _density(second)
    if matrices[0].shape != matrices[1].shape:
        raise ValueError(f"states must have equal sizes, got {len(matrices[0])} and {len(matrices[1])}")
    return matrices


def _complete(name: str, matrices: Iterable[Array], size: int) -> None:
    """Check that matrices sum to the identity (Thesis 4.49, 4.54)."""
    total = numpy.zeros((size, size), dtype=numpy.complex128)
    for matrix in matrices:
        _same_size(name, matrix, size)
        total += matrix
    deviation = abs(total - numpy.eye(size)).max()
    if deviation > _TOLERANCE:
        raise ValueError(f"{name} must sum to the identity, got a difference of {deviation:.3g}. Add outcomes.")


# States


def ket(amplitudes: ArrayLike, phases: ArrayLike | None = None) -> Array:
    """Return the pure state sum_j a_j exp(i theta_j) |beta_j>, normalised (Thesis 4.15, 4.61).

    Args:
        amplitudes: ``[d]``, real or complex; square roots of probabilities for Thesis 4.19.
        phases: theta ``[d]``, in radians; None for zeros.

    Raises:
        ValueError: amplitudes or phases are not finite vectors of one length, or all amplitudes are 0.
    """
    state = _finite("amplitudes", amplitudes, (1,))
    largest = abs(state).max()
    if largest == 0.0:
        raise ValueError(f"amplitudes must not all be 0, got {state.shape[0]} zeros")
    # Squares neither overflow nor vanish; NumPy 1 divides complex subnormal numbers to NaN.
    state = state.real / largest + 1j * (state.imag / largest)
    if phases is not None:
        angles = numpy.asarray(phases, dtype=numpy.float64)
        if angles.shape != state.shape or not numpy.isfinite(angles).all():
            raise ValueError(f"phases must be {state.shape[0]} finite numbers, got {phases!r}")
        state = state * numpy.exp(1j * angles)
    return state / numpy.linalg.norm(state)


def density(state: ArrayLike) -> Array:
    """Return |phi><phi| of a pure state (Thesis 4.17); return a density matrix unchanged.

    Raises:
        ValueError: ``state`` is not a state.
    """
    return _density(state)


def mixture(states: Sequence[ArrayLike], weights: ArrayLike | None = None) -> Array:
    """Return the density matrix of a mixture, rho = sum_j p_j rho_j (Thesis 4.18, 4.30, 4.31, 4.63).

    Args:
        states: pure states or density matrices of one size.
        weights: probabilities p_j; None for equal ones.

    Raises:
        ValueError: ``states`` is empty, their sizes differ, or the weights are not probabilities.
    """
    matrices = [_density(state) for state in states]
    if not matrices:
        raise ValueError("states must have at least one state, got none")
    if len(sizes := {len(matrix) for matrix in matrices}) > 1:
        raise ValueError(f"states must have equal sizes, got {sorted(sizes)}")
    given = numpy.full(len(matrices), 1 / len(matrices)) if weights is None else numpy.asarray(weights, dtype=float)
    if given.shape != (len(matrices),) or not (given >= 0).all() or abs(given.sum() - 1.0) > _TOLERANCE:
        raise ValueError(f"weights must be {len(matrices)} probabilities of sum 1, got {given.tolist()}")
    return numpy.tensordot(given, numpy.stack(matrices), axes=1)


def tensor(*factors: ArrayLike) -> Array:
    """Return the Kronecker product of vectors or of matrices (Thesis 4.39 to 4.43).

    Raises:
        ValueError: ``factors`` is empty, or vectors and matrices are mixed.
    """
    arrays = [numpy.asarray(factor, dtype=numpy.complex128) for factor in factors]
    if not arrays or len({array.ndim for array in arrays}) > 1:
        raise ValueError(
            f"factors must be all vectors or all matrices, got {[array.shape for array in arrays]}. Use density()."
        )
    product = arrays[0]
    for array in arrays[1:]:
        product = numpy.asarray(numpy.kron(product, array), dtype=numpy.complex128)
    return product


def partial_trace(state: ArrayLike, sizes: Sequence[int], keep: int | Sequence[int]) -> Array:
    """Return the density matrix of some subsystems of a composed state, tracing out the others.

    Args:
        state: state of all subsystems, in the order of ``tensor``.
        sizes: dimension d of each subsystem.
        keep: indices of the subsystems to keep, in rising order.

    Raises:
        ValueError: the sizes do not multiply to the size of the state, or ``keep`` is not valid.
    """
    rho, number = _density(state), len(sizes)
    kept = [keep] if isinstance(keep, int) else list(keep)
    if numpy.prod(sizes) != len(rho):
        raise ValueError(f"sizes must have the product {len(rho)}, the size of the state, got {list(sizes)}")
    if not kept or sorted(set(kept)) != kept or not 0 <= kept[0] <= kept[-1] < number:
        raise ValueError(f"keep must be rising indices from 0 to {number - 1}, got {keep!r}")
    rho = rho.reshape(*sizes, *sizes)
    for place in reversed([place for place in range(number) if place not in kept]):
        rho = rho.trace(axis1=place, axis2=place + rho.ndim // 2)
    size = int(numpy.prod([sizes[place] for place in kept]))
    return rho.reshape(size, size)


# Evolution


def evolve(state: ArrayLike, unitary: ArrayLike) -> Array:
    """Return U |phi>, or U rho U^H (Thesis 4.36).

    Raises:
        ValueError: the matrix is not unitary or not of the size of the state.
    """
    values = _state(state)
    matrix = _unitary("unitary", unitary, len(values))
    return matrix @ values if values.ndim == 1 else matrix @ values @ matrix.conj().T


def hadamard(parts: int = 1) -> Array:
    """Return the Hadamard gate on ``parts`` qubits (Thesis 4.37): ``[2^parts, 2^parts]``."""
    return tensor(*[numpy.array([[1, 1], [1, -1]]) / numpy.sqrt(2)] * parts)


def phase_shift(phases: ArrayLike) -> Array:
    """Return diag(exp(i theta_j)) (Thesis 4.38, 4.77).

    Raises:
        ValueError: ``phases`` is not a vector of finite real numbers.
    """
    angles = numpy.asarray(phases, dtype=numpy.float64)
    if angles.ndim != 1 or not angles.size or not numpy.isfinite(angles).all():
        raise ValueError(f"phases must be a vector of finite numbers, got {phases!r}")
    return numpy.diag(numpy.exp(1j * angles))


# Measurement


def projectors(observable: ArrayLike) -> tuple[NDArray[numpy.float64], list[Array]]:
    """Decompose an observable A = sum_j lambda_j P_j (Thesis 4.45) into rising eigenvalues and projectors.

    Eigenvalues within 1e-8 of each other, relative to the largest, share one projector.

    Raises:
        ValueError: the matrix is not Hermitian.
    """
    values, vectors = numpy.linalg.eigh(_hermitian("observable", observable))
    distance = _TOLERANCE * max(1.0, abs(values).max())
    groups = numpy.cumsum(numpy.diff(values, prepend=values[0]) > distance)
    outcomes = [vectors[:, groups == group] for group in range(groups[-1] + 1)]
    means = numpy.array([values[groups == group].mean() for group in range(groups[-1] + 1)])
    return means, [outcome @ outcome.conj().T for outcome in outcomes]


def effects(operators: Sequence[ArrayLike]) -> list[Array]:
    """Return the POVM E_j = M_j^H M_j of a general measurement (Thesis 4.54).

    Raises:
        ValueError: the effects do not sum to the identity.
    """
    matrices = [_finite("a measurement operator", operator, (2,)) for operator in operators]
    if not matrices:
        raise ValueError("operators must have at least one matrix, got none")
    found = [matrix.conj().T @ matrix for matrix in matrices]
    _complete("M^H M of the measurement operators", found, len(found[0]))
    return found


def _probabilities(state: ArrayLike, found: Sequence[Array]) -> NDArray[numpy.float64]:
    """Return tr(E_j rho) for each outcome."""
    values = _state(state)
    _same_size("measurement operators", found[0], len(values))
    if values.ndim == 1:
        return numpy.array([numpy.vdot(values, effect @ values).real for effect in found])
    return numpy.array([numpy.sum(effect * values.T).real for effect in found])


def measure(state: ArrayLike, projections: Sequence[ArrayLike]) -> NDArray[numpy.float64]:
    """Return the outcome probabilities of a projective measurement, p_j = tr(P_j rho) (Thesis 4.29, 4.46, 4.50).

    Args:
        state: pure or mixed.
        projections: P_j, from ``projectors`` or densities of a basis; P_j P_k = 0, sum_j P_j = I (Thesis 4.49).

    Raises:
        ValueError: the matrices are not projectors, or do not sum to the identity.
    """
    matrices = [_hermitian("a projector", matrix) for matrix in projections]
    if not matrices:
        raise ValueError("projections must have at least one matrix, got none")
    for matrix in matrices:
        if (deviation := abs(matrix @ matrix - matrix).max()) > _TOLERANCE:
            raise ValueError(f"projections must satisfy P P = P, got a difference of {deviation:.3g}")
    # Projectors that sum to the identity are orthogonal to each other.
    _complete("projectors", matrices, len(matrices[0]))
    return _probabilities(state, matrices)


def measure_general(state: ArrayLike, operators: Sequence[ArrayLike]) -> NDArray[numpy.float64]:
    """Return the outcome probabilities of a general measurement, p_j = tr(M_j^H M_j rho) (Thesis 4.55, 4.57).

    Raises:
        ValueError: the M_j^H M_j do not sum to the identity.
    """
    return _probabilities(state, effects(operators))


def measure_effects(state: ArrayLike, povm: Sequence[ArrayLike]) -> NDArray[numpy.float64]:
    """Return the outcome probabilities of a POVM, p_j = tr(E_j rho).

    Raises:
        ValueError: the effects are not positive or do not sum to the identity.
    """
    matrices = [_positive("an effect", matrix) for matrix in povm]
    if not matrices:
        raise ValueError("povm must have at least one matrix, got none")
    _complete("effects", matrices, len(matrices[0]))
    return _probabilities(state, matrices)


def expectation(state: ArrayLike, observable: ArrayLike) -> float:
    """Return the expectation <A> = tr(rho A) (Thesis 4.47, 4.51).

    Raises:
        ValueError: the observable is not Hermitian.
    """
    return float(_probabilities(state, [_hermitian("observable", observable)])[0])


def after_measurement(state: ArrayLike, operator: ArrayLike) -> Array:
    """Return the state after the outcome of M: M |phi> / sqrt(p) or M rho M^H / p (Thesis 4.48, 4.52, 4.56, 4.58).

    Args:
        state: pure or mixed.
        operator: the projector or the measurement operator of the outcome.

    Raises:
        ValueError: the outcome has probability 0.
    """
    values, matrix = _state(state), _finite("operator", operator, (2,))
    _same_size("operator", matrix, len(values))
    probability = _probabilities(values, [matrix.conj().T @ matrix])[0]
    if probability <= _TOLERANCE**2:
        raise ValueError(f"operator must belong to a possible outcome, got probability {probability:.3g}")
    if values.ndim == 1:
        return matrix @ values / numpy.sqrt(probability)
    return matrix @ values @ matrix.conj().T / probability


def after_unread_measurement(state: ArrayLike, operators: Sequence[ArrayLike]) -> Array:
    """Return the ensemble after a measurement with unknown outcome, sum_j M_j rho M_j^H (Thesis 4.53, 4.59).

    Raises:
        ValueError: the M_j^H M_j do not sum to the identity.
    """
    rho = _density(state)
    _same_size("measurement operators", effects(operators)[0], len(rho))
    matrices = [numpy.asarray(operator, dtype=numpy.complex128) for operator in operators]
    return sum((matrix @ rho @ matrix.conj().T for matrix in matrices), numpy.zeros_like(rho))


# Properties of states


def spectral_decomposition(state: ArrayLike) -> tuple[NDArray[numpy.float64], Array]:
    """Return falling eigenvalues and eigenvectors (as columns) of rho = U Lambda U^H (Thesis 4.66)."""
    values, vectors = numpy.linalg.eigh(_density(state))
    return numpy.clip(values[::-1], 0.0, None), vectors[:, ::-1]


def purity(state: ArrayLike) -> float:
    """Return tr rho^2, from 1/d to 1 for a pure state."""
    return float((abs(_density(state)) ** 2).sum())


def entropy(state: ArrayLike) -> float:
    """Return the von Neumann entropy S = -tr(rho ln rho) = -sum_i lambda_i ln lambda_i (Thesis 4.64, 4.65), in nats.

    It is 0 for a pure state and at most ln k for a mixture of k states.
    """
    values = spectral_decomposition(state)[0]
    values = values[values > 0]
    return max(0.0, float(-(values * numpy.log(values)).sum()))


def _root(matrix: Array) -> Array:
    values, vectors = numpy.linalg.eigh(matrix)
    return (vectors * numpy.sqrt(numpy.clip(values, 0.0, None))) @ vectors.conj().T


def fidelity(first: ArrayLike, second: ArrayLike) -> float:
    """Return F = (tr sqrt(sqrt(rho) sigma sqrt(rho)))^2, |<phi|psi>|^2 for pure states (Uhlmann 1976).

    Raises:
        ValueError: the states differ in size.
    """
    rho, sigma = _pair(first, second)
    # The singular values of sqrt(rho) sqrt(sigma): no roots of eigenvalues that are zero to rounding.
    return min(1.0, float(numpy.linalg.svd(_root(rho) @ _root(sigma), compute_uv=False).sum()) ** 2)


def trace_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return tr |rho - sigma| / 2, from 0 (equal) to 1 (perfectly distinguishable).

    Raises:
        ValueError: the states differ in size.
    """
    rho, sigma = _pair(first, second)
    return float(abs(numpy.linalg.eigvalsh(rho - sigma)).sum() / 2)


def commutator(first: ArrayLike, second: ArrayLike) -> Array:
    """Return [A, B] = A B - B A: zero if two measurements do not disturb each other.

    Raises:
        ValueError: the matrices are not square or differ in size.
    """
    matrices = _finite("first", first, (2,)), _finite("second", second, (2,))
    _same_size("second", matrices[1], len(matrices[0]))
    return matrices[0] @ matrices[1] - matrices[1] @ matrices[0]
