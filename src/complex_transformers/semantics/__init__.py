# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as quantum states (Thesis 4.5): counts, semantic spaces, topics, states and measurements, senses, evaluation.

Needs the extra ``semantics`` (scipy, scikit-learn), and neither torch nor Transformers.
"""

from ..data.extras import install_command

try:
    from .cooccurrence import Cooccurrences, build_vocabulary, count_cooccurrences
    from .evaluation import Difference, RatedPairs, Scores, bootstrap_difference, read_rated_pairs, score_pairs
    from .sense import PhraseSenses, phrase_senses, sense_probabilities
    from .spaces import PHASES, WEIGHTINGS, SemanticSpace
    from .states import (
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
    from .topics import TOPIC_METHODS, Topics, TopicSpace, find_topics
    from .word_space import COMPOSITIONS, SIMILARITIES, WordSpace
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in ("scipy", "sklearn"):
        raise
    raise ImportError(f"words as quantum states need {package}. {install_command('semantics')}") from error

__all__ = [
    "COMPOSITIONS",
    "PHASES",
    "SIMILARITIES",
    "TOPIC_METHODS",
    "WEIGHTINGS",
    "Cooccurrences",
    "Difference",
    "PhraseSenses",
    "RatedPairs",
    "Scores",
    "SemanticSpace",
    "TopicSpace",
    "Topics",
    "WordSpace",
    "after_measurement",
    "after_unread_measurement",
    "bootstrap_difference",
    "build_vocabulary",
    "commutator",
    "count_cooccurrences",
    "density",
    "effects",
    "entropy",
    "evolve",
    "expectation",
    "fidelity",
    "find_topics",
    "hadamard",
    "ket",
    "measure",
    "measure_effects",
    "measure_general",
    "mixture",
    "partial_trace",
    "phase_shift",
    "phrase_senses",
    "projectors",
    "purity",
    "read_rated_pairs",
    "score_pairs",
    "sense_probabilities",
    "spectral_decomposition",
    "tensor",
    "trace_distance",
]
