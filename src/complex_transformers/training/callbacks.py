# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Trainer callbacks: the linear start of memory networks, and the schedules of SynCoNMT."""

from __future__ import annotations

import math
import warnings
from typing import Any

from transformers import PreTrainedConfig, TrainerCallback, TrainerControl, TrainerState
from transformers.trainer_callback import ExportableState

from ..nn.checks import check_positive

__all__ = ["LinearStart", "RelationSchedule"]


class LinearStart(TrainerCallback, ExportableState):
    """Linear scores until the validation loss stops falling, then ``config.attention_normalization``.

    p_i = s(u, m_i), and once ``patience`` evaluations together have found no lower loss, or from ``max_epochs`` on,
    p_i = softmax_i s(u, m_i): a softmax that begins near 1/M hides from the tables which sentence would have helped
    (Sukhbaatar et al. 2015, 4.2). Losses of the linear network rise and fall: where it ends at the first rise, chains
    of sentences are not found; the released code has 20 linear epochs of 100, whatever the loss.

    The trainer must evaluate, best at every epoch. Evaluations of the linear network never choose the best checkpoint;
    a resumed training goes on as it was, one without a linear start without. A trained model has its normalisation
    back in any case, with a warning where no evaluation was one with it. Evaluations before and after training do not
    count.

    Args:
        max_epochs: longest linear start; None: until the loss stops falling.
        patience: evaluations without a lower loss that end it; None: ``max_epochs`` alone does.

    Raises:
        ValueError: ``max_epochs`` or ``patience`` below 1, or neither given; in training, a network that is no memory
            network of sentences or is linear already, or an evaluation without ``eval_loss``.
    """

    def __init__(self, max_epochs: int | None = None, patience: int | None = 1) -> None:
        if max_epochs is None and patience is None:
            raise ValueError("LinearStart(max_epochs=None, patience=None) would never end: give one of them")
        given = {"max_epochs": max_epochs, "patience": patience}
        check_positive(**{name: value for name, value in given.items() if value is not None})
        self.max_epochs = max_epochs
        self.patience = patience
        self._reset()

    def _reset(self) -> None:
        self.is_training = False
        self.is_linear = True
        self.evaluated_linear = False
        self.best_loss: float | None = None
        self.stalled = 0  # evaluations since then
        self.normalization: str | None = None  # of the network, while it is linear

    def begin(self, config: PreTrainedConfig) -> None:
        """Take the softmax out."""
        if getattr(config, "variant", None) != "sentence_memory":
            raise ValueError(
                f"LinearStart needs a memory network with variant='sentence_memory', got {config.model_type!r} with "
                f"variant={getattr(config, 'variant', None)!r}"
            )
        self.is_training = True
        if not self.is_linear:
            return
        if config.attention_normalization != "linear":
            self.normalization, config.attention_normalization = config.attention_normalization, "linear"
        elif self.normalization is None:
            raise ValueError(
                "attention_normalization is 'linear' before LinearStart begins, which could not tell what to go on "
                "with: set model.config.attention_normalization='softmax', or to what the network shall end with"
            )

    def after_evaluation(self, config: PreTrainedConfig, loss: float, epoch: float) -> None:
        """Put it back once the loss no longer falls."""
        self.evaluated_linear = self.is_linear
        if self.best_loss is None or loss < self.best_loss:
            self.best_loss, self.stalled = loss, 0
        else:
            self.stalled += 1
        stalls = not math.isfinite(loss) or self.stalled >= (self.patience or math.inf)
        if self.is_linear and (stalls or epoch >= (self.max_epochs or math.inf)):
            self.is_linear = False
            self.end(config)

    def end(self, config: PreTrainedConfig) -> None:
        """The network has its normalisation again."""
        if self.normalization is not None:
            config.attention_normalization, self.normalization = self.normalization, None

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        names = ("is_linear", "evaluated_linear", "best_loss", "stalled", "normalization")
        given = {"max_epochs": self.max_epochs, "patience": self.patience}
        return {"args": given, "attributes": {name: getattr(self, name) for name in names}}

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Begin, or go on where a checkpoint was."""
        config = _network(model).config
        self.end(config)  # of a training that was broken off
        self._reset()
        saved = state.stateful_callbacks.get(type(self).__name__)
        if state.global_step:  # of a checkpoint; before the first step it is what this object was
            for name, value in (saved["attributes"] if saved else {"is_linear": False}).items():
                setattr(self, name, value)
        self.begin(config)
        self._forget_the_best(state)

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        metrics: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Hear the loss."""
        if not self.is_training:
            return
        if metrics is None or "eval_loss" not in metrics:
            raise ValueError(f"LinearStart waits for eval_loss, and the evaluation has only {sorted(metrics or {})}")
        self._forget_the_best(state)  # of the evaluation before this one, where no checkpoint followed it
        self.after_evaluation(_network(model).config, metrics["eval_loss"], state.epoch or 0.0)

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """A checkpoint of the linear network is never the best."""
        self._forget_the_best(state)

    def on_train_end(
        self, args: Any, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """End, also of a training that was linear throughout, which it says."""
        self.is_training = False
        config = _network(model).config
        self.end(config)
        if self.is_linear or self.evaluated_linear:
            warnings.warn(
                f"LinearStart(max_epochs={self.max_epochs}, patience={self.patience}) was not over before the last "
                f"evaluation: the network now has attention_normalization={config.attention_normalization!r}, with "
                "which it was not trained; train longer, or make the linear start shorter",
                stacklevel=2,
            )

    def _forget_the_best(self, state: TrainerState) -> None:
        if self.evaluated_linear:
            state.best_metric = state.best_global_step = state.best_model_checkpoint = None


def _network(model: Any) -> Any:
    """The network of an adapter."""
    return getattr(model, "get_base_model", lambda: model)()


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
