# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Base class of the metrics, which collects predictions, scores them and resets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["Metric"]


class Metric(ABC):
    """A metric with the methods of an ``evaluate`` module: ``add``, ``add_batch`` and ``compute``."""

    noun: str  # the name of one prediction in errors
    options: tuple[str, ...] = ()  # keyword arguments of ``compute``

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def add(self, *, prediction: Any, reference: Any) -> None:
        """Add one prediction."""
        self.add_batch(predictions=[prediction], references=[reference])

    @abstractmethod
    def add_batch(self, *, predictions: Any, references: Any) -> None:
        """Add predictions."""

    @abstractmethod
    def _score(self, kept: list[Any], **options: Any) -> dict[str, Any]:
        """Return the scores of at least one prediction."""

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """Score all added predictions and those given here, then empty the metric.

        Args:
            predictions, references: as in ``add_batch``, or None.
            **options: keyword arguments of the metric.

        Raises:
            ValueError: there is nothing to score, only one of the two arguments is given, or ``add_batch`` raises.
            TypeError: an unknown option; the added predictions are kept.
        """
        if unknown := sorted(options.keys() - set(self.options)):
            raise TypeError(
                f"arguments of {type(self).__name__}.compute() must be among {list(self.options)}, got "
                f"{', '.join(unknown)}. Pass other options to the constructor."
            )
        if (predictions is None) != (references is None):
            raise ValueError("predictions and references must be given together, got only one. Pass both or neither.")
        if predictions is not None:
            self.add_batch(predictions=predictions, references=references)
        if not self._kept:
            raise ValueError(f"predictions must have at least one {self.noun}, got none. Call add() first.")
        kept, self._kept = self._kept, []
        return self._score(kept, **options)

    def _check_lists(self, predictions: Sequence[Any], references: Sequence[Any]) -> None:
        """Raise unless each prediction has a reference."""
        for name, values in (("predictions", predictions), ("references", references)):
            if isinstance(values, str):
                raise TypeError(f"{name} must be a list of {self.noun}s, got one string. Pass [text].")
        if len(predictions) != len(references):
            raise ValueError(
                f"predictions and references must have equal lengths, got {len(predictions)} and {len(references)}"
            )
