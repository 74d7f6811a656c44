# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training with Transformers' ``Trainer``: parameter groups without weight decay, label smoothing, checkpoints.

Frequencies and phases are angles: weight decay would pull every wave towards a constant, so the paper does not
regularize them (ComplexOrder section 3.1).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import Seq2SeqTrainer, Trainer, TrainerCallback
from transformers.modelcard import TrainingSummary
from transformers.trainer_pt_utils import LengthGroupedSampler, get_length_grouped_indices, get_parameter_names
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from transformers.utils.generic import find_labels

from ..models.base.hub import complete_card
from ..models.base.pretrained import ComplexPreTrainedModel
from .checkpoints import (
    clear_checkpoint,
    last_complete_checkpoint,
    read_mark,
    write_mark,
)

__all__ = ["ComplexSeq2SeqTrainer", "ComplexTrainer", "decay_parameter_names", "optimizer_groups"]

_NO_DECAY_PATTERNS = [r"bias", r"layernorm", r"rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]


def _marked(model: nn.Module) -> set[str]:
    marked = ((prefix, getattr(module, "no_weight_decay", ())) for prefix, module in model.named_modules())
    return {f"{prefix}.{name}".removeprefix(".") for prefix, names in marked for name in names}


def decay_parameter_names(model: nn.Module) -> list[str]:
    """Return the parameters with weight decay: no bias, gain, norm, frequency, phase, damping or learned transform."""
    names = get_parameter_names(model, [nn.LayerNorm], _NO_DECAY_PATTERNS)
    return [name for name in names if name not in _marked(model)]


def optimizer_groups(
    model: nn.Module,
    weight_decay: float,
    frequency_learning_rate: float | None = None,
    phase_learning_rate: float | None = None,
) -> list[dict[str, Any]]:
    """Return parameter groups for a torch optimizer: ``torch.optim.AdamW(optimizer_groups(model, 0.01), lr=1e-3)``.

    There are two groups, with and without weight decay, and one more for frequencies or phases with their own
    learning rate.

    Args:
        model: the model; only trainable parameters are included.
        weight_decay: weight decay of the first group.
        frequency_learning_rate, phase_learning_rate: learning rate of all parameters called ``frequency`` (of
            embeddings, rotary embeddings, linear recurrences) or ``phase`` (of embeddings, of a Z-transform); default
            the learning rate of the optimizer.

    Raises:
        ValueError: a learning rate for parameters that the model does not have.
    """
    decay = set(decay_parameter_names(model))
    parameters = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [value for name, value in parameters if name in decay], "weight_decay": weight_decay},
        {"params": [value for name, value in parameters if name not in decay], "weight_decay": 0.0},
    ]
    return groups + _with_own_rates(groups, model, frequency_learning_rate, phase_learning_rate)


def _with_own_rates(
    groups: list[dict[str, Any]], model: nn.Module, frequency: float | None, phase: float | None
) -> list[dict[str, Any]]:
    """Move frequencies and phases with their own learning rate from ``groups`` to new groups, and return these."""
    own = []
    for kind, rate in {"frequency": frequency, "phase": phase}.items():
        if rate is None:
            continue
        if rate < 0.0:  # torch checks the learning rate of the optimizer only
            raise ValueError(f"{kind}_learning_rate must be 0 or more, got {rate}")
        found = {id(p) for name, p in model.named_parameters() if name.rpartition(".")[2] == kind and p.requires_grad}
        taken = [p for group in groups for p in group["params"] if id(p) in found]
        if not taken:
            raise ValueError(f"{kind}_learning_rate must be None without trainable {kind}, got {rate}")
        for group in groups:
            group["params"] = [p for p in group["params"] if id(p) not in found]
        own.append({"params": taken, "weight_decay": 0.0, "lr": rate})
    return own


class _LengthSampler(LengthGroupedSampler):
    """Batches of similar lengths whose order depends on seed and epoch only, so that an epoch can be resumed."""

    def __init__(self, batch_size: int, lengths: list[int], seed: int) -> None:
        super().__init__(batch_size, lengths=lengths)
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; the Trainer calls this before each one."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(get_length_grouped_indices(self.lengths, self.batch_size, generator=generator))


class _SameLearningRates(TrainerCallback):
    """Raise if the scheduler of a checkpoint has replaced the learning rates of the arguments."""

    rates: list[float] | None = None  # initial learning rates of the optimizer

    def on_train_begin(self, args: Any, state: Any, control: Any, lr_scheduler: Any = None, **kwargs: Any) -> None:
        """Compare the learning rates of the arguments and of the loaded scheduler."""
        loaded = getattr(lr_scheduler, "base_lrs", self.rates)
        if self.rates is not None and loaded != self.rates:
            raise ValueError(
                f"learning_rate must equal {loaded} of the checkpoint, got {self.rates}. Start a new run to change it."
            )


class ComplexTrainer(Trainer):
    """``transformers.Trainer`` without weight decay on frequencies, phases and dampings.

    ``label_smoothing_factor`` shifts the labels for every causal language model.

    A resumed training ends with the weights of an uninterrupted one, also with
    ``train_sampling_strategy="group_by_length"``. A changed ``learning_rate``, which the checkpoint would override, is
    an error. ``train(resume_from_checkpoint=True)`` skips incomplete checkpoints. An existing checkpoint is removed
    before it is written again, so that a killed run does not leave a mixture of two.

    Args:
        *args, **kwargs: arguments of ``transformers.Trainer``.
        frequency_learning_rate, phase_learning_rate: see ``optimizer_groups``; default the values of ``RunArguments``,
            or ``learning_rate``.

    Raises:
        ValueError: one of these learning rates together with ``optimizers``, which would ignore it.
    """

    label_smoother: Any
    mark: Mapping[str, Any] | None = None  # identifies the run; written to its checkpoints

    def __init__(
        self,
        *args: Any,
        frequency_learning_rate: float | None = None,
        phase_learning_rate: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        given = {"frequency_learning_rate": frequency_learning_rate, "phase_learning_rate": phase_learning_rate}
        self.own_rates = [getattr(self.args, name, None) if rate is None else rate for name, rate in given.items()]
        if self.optimizer is not None and any(rate is not None for rate in self.own_rates):
            raise ValueError(
                "frequency_learning_rate and phase_learning_rate must be None with optimizers, got "
                f"{self.own_rates}. Pass them to optimizer_groups."
            )
        self.same_rates = _SameLearningRates()
        self.add_callback(self.same_rates)
        network = getattr(self.model, "get_base_model", lambda: self.model)()  # unwraps an adapter
        found = find_labels(type(network)) if hasattr(getattr(network, "config", None), "label_smoothing") else []
        if self.label_smoother is not None and len(found) > 1:
            raise ValueError(
                f"label_smoothing_factor must be 0 for a loss of {' and '.join(found)}, got "
                f"{self.args.label_smoothing_factor}. Set config.label_smoothing."
            )
        if self.label_smoother is not None and getattr(network, "loss_type", None) == "ForCausalLM":
            # Transformers shifts the labels for its own classes only; other models would learn to copy their input.
            self.label_smoother = partial(self.label_smoother, shift_labels=True)

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """Train as ``transformers.Trainer`` does; True resumes from the last complete checkpoint."""
        if resume_from_checkpoint is True:
            resume_from_checkpoint = last_complete_checkpoint(str(self.args.output_dir)) or True
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """Return ``decay_parameter_names``."""
        return decay_parameter_names(model)

    def create_scheduler(self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None) -> Any:
        """Create the scheduler; warn if the warmup does not end before the run."""
        if 0 < num_training_steps <= self.args.warmup_steps:  # a share of the run is below 1
            warnings.warn(
                f"warmup_steps={self.args.warmup_steps:g} covers all {num_training_steps} training steps, so the "
                "learning rate never reaches its maximum. Set a share of the run, such as 0.1.",
                stacklevel=2,
            )
        return super().create_scheduler(num_training_steps, optimizer)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Create the optimizer with groups for frequencies and phases with their own learning rate."""
        made = self.optimizer is None
        optimizer = super().create_optimizer(model)
        if made:
            network = self.model if model is None else model
            for group in _with_own_rates(optimizer.param_groups, network, *self.own_rates):
                optimizer.add_param_group(group)
            self.same_rates.rates = [group["lr"] for group in optimizer.param_groups]
        return optimizer

    def create_model_card(self, **kwargs: Any) -> None:
        """Write the model card with the training summary of Transformers' card.

        Args:
            **kwargs: arguments of ``Trainer.create_model_card``: ``language``, ``license``, ``tags``, ``dataset`` ...
        """
        model = self.accelerator.unwrap_model(self.model)
        if not isinstance(model, ComplexPreTrainedModel):  # an adapter has its own card
            super().create_model_card(**kwargs)
        elif self.is_world_process_zero():
            summary = TrainingSummary.from_trainer(self, **kwargs)
            complete_card(str(self.args.output_dir), model, summary, self.hub_model_id)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        sampler = super()._get_train_sampler(train_dataset)
        if type(sampler) is LengthGroupedSampler:
            seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
            return _LengthSampler(sampler.batch_size, sampler.lengths, seed)
        return sampler

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        folder = Path(self._get_output_dir(trial)) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        if self.args.should_save:
            clear_checkpoint(folder)
            if self.mark is not None:
                write_mark(folder, self.mark)
        self.accelerator.wait_for_everyone()
        super()._save_checkpoint(model, trial)

    def _load_best_model(self) -> None:
        best = self.state.best_model_checkpoint
        found = read_mark(best)
        if self.mark is not None and found and found["run"] != self.mark["run"]:
            raise ValueError(
                f"best checkpoint must be of this run, got {best} of run {found['run']}. Use another output_dir."
            )
        super()._load_best_model()


class ComplexSeq2SeqTrainer(ComplexTrainer, Seq2SeqTrainer):
    """``ComplexTrainer`` for ``generate()``; it evaluates the rows in the order of the data set.

    With ``train_sampling_strategy="group_by_length"`` Transformers shuffles the evaluation data as well, so that
    predictions would be compared with the references of other rows.
    """

    def _get_eval_sampler(self, eval_dataset: Any) -> None:
        """Return None: rows stay in order, also over several processes."""
