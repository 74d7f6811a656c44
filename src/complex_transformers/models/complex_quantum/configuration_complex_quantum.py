# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the network of states and measurements."""

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
    """Configuration of a network of states and measurements (Thesis 4.5; Li et al. 2019, CNM) over either field.

    Besides the arguments of ``TextConfig``:

    Args:
        embedding_type: as in ``TextConfig``, and ``real_word``. Phases of the words are free with
            ``complex_vanilla`` (default), grow with the position with ``complex_order``, and there are none with
            ``real_word``.
        num_measurements: outcomes, those of one window size with ``pooling="max"``.
        measurement: ``projectors``, each outcome a question of its own, or ``povm``, one question whose outcomes have
            probabilities that sum to 1 (at least as many as complex features, or as real ones in the real field).
        mixture: weights of the words in a text: ``weight`` (learned for each word), ``norm`` (softmax of the norms of
            their vectors) or ``mean``.
        evolution: of the states before they are measured: ``none``; ``shared``, one unitary map for all words; or
            ``by_relation``, one for each grammatical relation, which the model reads as ``relation_ids``.
        relations: their names, by id.
        pooling: ``sentence``, the mixture of all words, or ``max``, the greatest outcome among local mixtures.
        window_sizes: words of the local mixtures.
        text_pairs: read two texts, told apart by ``token_type_ids``, and compare them.
        readout: ``concat``, a real layer on the outcomes, which are real numbers in both fields.
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
        self.window_sizes = list(self.window_sizes)  # as they are read from a file
        self.relations = None if self.relations is None else list(self.relations)
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        """As in ``TextConfig``; the readout is real in both fields."""
        values = {"readout": "concat", "window_sizes": [1, 2, 3]}  # lists, as they are read from a file
        return values.get(name, super().default_of(name))

    def validate_sizes(self) -> None:
        """As in ``TextConfig``; windows hold words."""
        super().validate_sizes()
        if not self.window_sizes or min(self.window_sizes) < 1:
            raise ValueError(f"window_sizes must be positive, at least one, got {self.window_sizes}")

    def validate_names(self) -> None:
        """As in ``TextConfig``; also what is done with states."""
        super().validate_names()
        check_choice("mixture", self.mixture, MIXTURES)
        check_choice("evolution", self.evolution, EVOLUTIONS)
        check_choice("pooling", self.pooling, POOLINGS)

    def validate_relations(self) -> None:
        """Where words evolve by their relations, there are some, each of one name."""
        if self.evolution != "by_relation":
            return
        if not self.relations:
            raise ValueError(
                "evolution='by_relation' needs relations, the names of the grammatical relations that words have, "
                f"got {self.relations}"
            )
        if repeated := sorted({name for name in self.relations if self.relations.count(name) > 1}):
            raise ValueError(f"relations must differ, got {repeated} twice")

    def validate_measurement(self) -> None:
        """There is such a measurement of these states."""
        if min(self.hidden_size, self.num_measurements) > 0 and self.hidden_size % 2 == 0:  # see validate_sizes
            features = arithmetic(self.number_field).num_features(self.hidden_size)
            check_measurement(self.num_measurements, self.measurement, features, self.number_field)
