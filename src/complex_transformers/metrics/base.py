# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all metrics share: they keep what is added, score it, and forget it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["Metric"]


class Metric(ABC):
    """The methods of an ``evaluate`` module: ``add``, ``add_batch``, ``compute``; nothing of it needs a network."""

    noun: str  # one of what is scored
    options: tuple[str, ...] = ()  # that ``compute`` takes

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def add(self, *, prediction: Any, reference: Any) -> None:
        """Keep one prediction for ``compute``."""
        self.add_batch(predictions=[prediction], references=[reference])

    @abstractmethod
    def add_batch(self, *, predictions: Any, references: Any) -> None:
        """Keep predictions for ``compute``."""

    @abstractmethod
    def _score(self, kept: list[Any], **options: Any) -> dict[str, Any]:
        """The scores of what was kept, which is something."""

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """Scores of what was added and of what is given here; the metric is empty afterwards.

        Args:
            predictions, references: as in ``add_batch``; None for nothing more.
            **options: of the metric, which names them.

        Raises:
            ValueError: nothing to score, or one of the arguments alone; and what ``add_batch`` raises.
            TypeError: another option; all that was added is kept.
        """
        if unknown := sorted(options.keys() - set(self.options)):
            raise TypeError(
                f"compute of {type(self).__name__} has no option {', '.join(unknown)}, only {list(self.options)}: "
                "an option of the metric itself is given when it is made"
            )
        if (predictions is None) != (references is None):
            raise ValueError("give both predictions and references, or neither")
        if predictions is not None:
            self.add_batch(predictions=predictions, references=references)
        if not self._kept:
            raise ValueError(f"there is nothing to score: no {self.noun} was given")
        kept, self._kept = self._kept, []
        return self._score(kept, **options)

    def _check_lists(self, predictions: Sequence[Any], references: Sequence[Any]) -> None:
        """Raise unless there is one reference for every prediction."""
        for name, values in (("predictions", predictions), ("references", references)):
            if isinstance(values, str):
                raise TypeError(f"{name} must be a list of {self.noun}s, got one string; pass [text]")
        if len(predictions) != len(references):
            raise ValueError(
                f"each prediction needs a reference, got {len(predictions)} predictions and {len(references)} "
                "references"
            )
