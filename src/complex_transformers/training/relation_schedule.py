# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What changes over a training of SynCoNMT: whose relations the decoder reads, and how much those of words weigh."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerState

__all__ = ["RelationSchedule"]


class RelationSchedule(TrainerCallback):
    """Raises the share of relations that are the model's own, and moves alpha, linearly over the steps of a training.

    At step t of T: share = ``own_relations`` t / T (scheduled sampling, Bengio et al. 2015), for
    ``relation_feedback="mixed"``; alpha = ``alpha_start`` + (``config.alpha`` - ``alpha_start``) t / T. Both follow
    from the step alone, so a resumed training goes on as it was; evaluation has ``config.alpha`` throughout.

    Args:
        own_relations: the share at the end, in [0, 1].
        alpha_start: weight of the words in the loss at the start, in [0, 1]; None: always ``config.alpha``.

    Raises:
        ValueError: a number outside [0, 1].
    """

    def __init__(self, own_relations: float = 1.0, alpha_start: float | None = None) -> None:
        for name, value in {"own_relations": own_relations, "alpha_start": alpha_start}.items():
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {value}")
        self.own_relations = own_relations
        self.alpha_start = alpha_start

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Set both for the next step."""
        network = getattr(model, "get_base_model", lambda: model)()  # of an adapter
        share = state.global_step / state.max_steps
        if network.config.relation_feedback == "mixed":
            network.own_relations = self.own_relations * share
        if self.alpha_start is not None:
            network.training_alpha = self.alpha_start + (network.config.alpha - self.alpha_start) * share
