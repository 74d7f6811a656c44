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
        own_relations: the share at the end, in [0, 1]; None: all where ``relation_feedback="mixed"``.
        alpha_start: weight of the words in the loss at the start, in [0, 1]; None: always ``config.alpha``.

    Raises:
        ValueError: a number outside [0, 1]; when training begins, a model without relations, or ``own_relations`` for
            one that does not mix them.
    """

    def __init__(self, own_relations: float | None = None, alpha_start: float | None = None) -> None:
        for name, value in {"own_relations": own_relations, "alpha_start": alpha_start}.items():
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {value}")
        self.own_relations = own_relations
        self.alpha_start = alpha_start

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Refuse a model on which the schedule would do nothing."""
        config = model.config
        if not getattr(config, "use_relations", False):
            raise ValueError(
                f"RelationSchedule is for networks with relations, and this {type(config).__name__} has none: "
                "leave it out"
            )
        if self.own_relations is not None and config.relation_feedback != "mixed":
            raise ValueError(
                f"own_relations={self.own_relations}, but relation_feedback={config.relation_feedback!r} has no share "
                "of them: set relation_feedback='mixed', or leave own_relations out"
            )

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Set both for the next step."""
        network = getattr(model, "get_base_model", lambda: model)()  # of an adapter
        share = state.global_step / state.max_steps
        if network.config.relation_feedback == "mixed":
            network.own_relations = (1.0 if self.own_relations is None else self.own_relations) * share
        if self.alpha_start is not None:
            network.training_alpha = self.alpha_start + (network.config.alpha - self.alpha_start) * share
