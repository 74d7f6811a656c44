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
    """Train with linear attention until the validation loss stops falling, then with the configured softmax.

    p_i = s(u, m_i), and after ``patience`` evaluations without a lower loss, or from ``max_epochs`` on,
    p_i = softmax_i s(u, m_i). A softmax near 1/M gives the embeddings little gradient about which sentence is relevant
    (Sukhbaatar et al. 2015, 4.2). The loss of the linear network fluctuates: if the linear start ends at the first
    increase, chains of sentences are not learned; the released code has 20 linear epochs of 100.

    The trainer must evaluate, best at every epoch. Evaluations of the linear network never choose the best checkpoint.
    A resumed training continues the linear start of the checkpoint, if it had one. A trained model always has its
    normalization restored, with a warning if it was never evaluated with it. Evaluations outside training do not
    count.

    Args:
        max_epochs: maximum length of the linear start; None: until the loss stops falling.
        patience: evaluations without a lower loss that end it; None: only ``max_epochs`` does.

    Raises:
        ValueError: neither is given, or one is below 1; in training, a model that is not a sentence memory network.
        KeyError: an evaluation without ``eval_loss``.
    """

    def __init__(self, max_epochs: int | None = None, patience: int | None = 1) -> None:
        if max_epochs is None and patience is None:
            raise ValueError("max_epochs or patience must be given, got None")
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
        self.stalled = 0  # evaluations since the lowest loss
        self.normalization: str | None = None  # the configured one, while the model is linear

    def begin(self, config: PreTrainedConfig) -> None:
        """Make the attention linear."""
        if getattr(config, "variant", None) != "sentence_memory":
            raise ValueError(
                f"model must have variant='sentence_memory' for LinearStart, got {config.model_type} with "
                f"{getattr(config, 'variant', None)!r}. Remove the callback."
            )
        self.is_training = True
        if self.is_linear and config.attention_normalization != "linear":
            self.normalization, config.attention_normalization = config.attention_normalization, "linear"
        elif self.is_linear and self.normalization is None:
            raise ValueError(
                "attention_normalization must not be 'linear' with LinearStart, got 'linear'. Set 'softmax'."
            )

    def after_evaluation(self, config: PreTrainedConfig, loss: float, epoch: float) -> None:
        """Restore the normalization once the loss no longer falls."""
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
        """Restore the normalization."""
        if self.normalization is not None:
            config.attention_normalization, self.normalization = self.normalization, None

    def state(self) -> dict[str, Any]:
        """Return the state for checkpoints."""
        names = ("is_linear", "evaluated_linear", "best_loss", "stalled", "normalization")
        given = {"max_epochs": self.max_epochs, "patience": self.patience}
        return {"args": given, "attributes": {name: getattr(self, name) for name in names}}

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Start, or restore the state of a checkpoint."""
        config = _network(model).config
        self.end(config)  # if a previous training was interrupted
        self._reset()
        saved = state.stateful_callbacks.get(type(self).__name__)
        if state.global_step:  # resumed; before the first step it is the state of this object
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
        """Follow the loss."""
        if not self.is_training:
            return
        self._forget_the_best(state)  # of the previous evaluation, if no checkpoint followed it
        self.after_evaluation(_network(model).config, (metrics or {})["eval_loss"], state.epoch or 0.0)

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Keep a checkpoint of the linear network from being the best."""
        self._forget_the_best(state)

    def on_train_end(
        self, args: Any, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Restore the normalization; warn if the model was never evaluated with it."""
        self.is_training = False
        config = _network(model).config
        self.end(config)
        if self.is_linear or self.evaluated_linear:
            warnings.warn(
                f"LinearStart lasted until the last evaluation, so the model was not trained with "
                f"{config.attention_normalization!r}. Train longer, or reduce max_epochs or patience.",
                stacklevel=2,
            )

    def _forget_the_best(self, state: TrainerState) -> None:
        if self.evaluated_linear:
            state.best_metric = state.best_global_step = state.best_model_checkpoint = None


def _network(model: Any) -> Any:
    """Return the base model of an adapter, or the model."""
    return getattr(model, "get_base_model", lambda: model)()


class RelationSchedule(TrainerCallback):
    """Scheduled sampling of relations, and a linear schedule of alpha over the training steps.

    At step t of T: share of predicted relations = ``own_relations`` t / T (scheduled sampling, Bengio et al. 2015),
    for ``relation_feedback="mixed"``; alpha = ``alpha_start`` + (``config.alpha`` - ``alpha_start``) t / T. Both
    depend only on the step, so a resumed training continues them; evaluation always uses ``config.alpha``.

    Args:
        own_relations: final share of predicted relations, in [0, 1]; None: 1 with ``relation_feedback="mixed"``.
        alpha_start: initial weight of the words in the loss, in [0, 1]; None: always ``config.alpha``.

    Raises:
        ValueError: a value outside [0, 1]; at the start of training, a model without relations, or ``own_relations``
            without ``relation_feedback="mixed"``.
    """

    def __init__(self, own_relations: float | None = None, alpha_start: float | None = None) -> None:
        for name, value in {"own_relations": own_relations, "alpha_start": alpha_start}.items():
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {value}")
        self.own_relations = own_relations
        self.alpha_start = alpha_start

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Raise for a model without relations, on which the schedule would have no effect."""
        config = model.config
        if not getattr(config, "use_relations", False):
            raise ValueError(
                f"model must have use_relations=True for RelationSchedule, got {config.model_type} without relations."
            )
        if self.own_relations is not None and config.relation_feedback != "mixed":
            raise ValueError(f"relation_feedback must be 'mixed' with own_relations, got {config.relation_feedback!r}")

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Set share and alpha for the next step."""
        network = getattr(model, "get_base_model", lambda: model)()  # unwraps an adapter
        share = state.global_step / state.max_steps
        if network.config.relation_feedback == "mixed":
            network.own_relations = (1.0 if self.own_relations is None else self.own_relations) * share
        if self.alpha_start is not None:
            network.training_alpha = self.alpha_start + (network.config.alpha - self.alpha_start) * share
