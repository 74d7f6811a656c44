# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the quantum-inspired text classifier."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.arithmetic import arithmetic
from ...nn.checks import check_choice
from ...nn.embedding import EMBEDDING_TYPES
from ...nn.quantum import MIXTURES, check_measurement
from ..base.configuration import TextConfig

__all__ = ["ComplexQuantumConfig"]

EVOLUTIONS = ("none", "shared", "by_relation")
POOLINGS = ("sentence", "max")


@strict
class ComplexQuantumConfig(TextConfig):
    """Configuration of a quantum-inspired text classifier (Thesis 4.5; Li et al. 2019, CNM).

    Takes the arguments of ``TextConfig`` and, in addition:

    Args:
        embedding_type: as in ``TextConfig``, or ``real_word``. Phases of the word vectors are free with
            ``complex_vanilla`` (default), depend on the position with ``complex_order`` and are absent with
            ``real_word``.
        num_measurements: number of outcomes, per window size with ``pooling="max"``.
        measurement: ``projectors``, one independent projector per outcome, or ``povm``, whose outcome probabilities
            sum to 1 (needs at least as many outcomes as features of the number field).
        mixture: weights of the words in a text: ``weight`` (learned per word), ``norm`` (softmax of the vector norms)
            or ``mean``.
        evolution: unitary map of the states before the measurement: ``none``, ``shared`` for all words, or
            ``by_relation``, one per grammatical relation, passed as ``relation_ids``.
        relations: names of the grammatical relations by id (``evolution="by_relation"`` only).
        pooling: ``sentence`` measures the mixture of all words, ``max`` takes the largest outcome over n-grams.
        window_sizes: sizes of the n-grams (``pooling="max"`` only).
        text_pairs: classify pairs of texts, separated by ``token_type_ids``.
        readout: only ``concat``; the outcomes are real in both fields.
    """

    model_type = "complex_quantum"
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size", "num_measurements")
    embedding_types: ClassVar[tuple[str, ...]] = (*EMBEDDING_TYPES, "real_word")

    embedding_type: str = "complex_vanilla"
    num_measurements: int = 256
    measurement: str = "projectors"
    mixture: str = "weight"
    evolution: str = "none"
    relations: list[str] | tuple[str, ...] | None = None
    pooling: str = "sentence"
    window_sizes: list[int] | tuple[int, ...] = (1, 2, 3)
    text_pairs: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        self.window_sizes = list(self.window_sizes)  # JSON has no tuples
        self.relations = None if self.relations is None else list(self.relations)
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        return "concat" if name == "readout" else super().default_of(name)  # outcomes are real in both fields

    def validate_sizes(self) -> None:
        """Validate sizes, window sizes included."""
        super().validate_sizes()
        if not self.window_sizes or min(self.window_sizes) < 1:
            raise ValueError(f"window_sizes must be a non-empty list of positive sizes, got {self.window_sizes}.")

    def validate_names(self) -> None:
        """Validate named choices."""
        super().validate_names()
        for name, valid in {"mixture": MIXTURES, "evolution": EVOLUTIONS, "pooling": POOLINGS}.items():
            check_choice(name, getattr(self, name), valid)

    def validate_relations(self) -> None:
        """Validate that ``evolution="by_relation"`` has distinct relations."""
        names = self.relations or []
        if self.evolution == "by_relation" and (not names or len(set(names)) < len(names)):
            raise ValueError(f"relations must be distinct names with evolution='by_relation', got {self.relations}.")

    def validate_measurement(self) -> None:
        """Validate the measurement and its number of outcomes."""
        if min(self.hidden_size, self.num_measurements) > 0 and self.hidden_size % 2 == 0:  # see validate_sizes
            features = arithmetic(self.number_field).num_features(self.hidden_size)
            check_measurement(self.num_measurements, self.measurement, features, self.number_field)
