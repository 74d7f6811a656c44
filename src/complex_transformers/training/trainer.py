# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training with Transformers' ``Trainer``: what weight decay must leave alone, and smoothed labels of the next token.

Frequencies and phases are angles: decay would pull every wave towards the constant, which the paper names as the
reason not to regularise them (ComplexOrder section 3.1).
"""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import transformers
from torch import nn
from transformers import Seq2SeqTrainer, Trainer, TrainingArguments
from transformers.modelcard import TrainingSummary
from transformers.trainer_pt_utils import get_parameter_names
from transformers.trainer_utils import sort_checkpoints

from ..models.base.hub import ModelHubMixin, complete_card

__all__ = [
    "ComplexSeq2SeqTrainer",
    "ComplexTrainer",
    "decay_parameter_names",
    "last_complete_checkpoint",
    "optimizer_groups",
    "prepare_run",
]

_NO_DECAY_PATTERNS = [r"bias", r"layernorm", r"rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]


def _angles(model: nn.Module) -> set[str]:
    names = set()
    for prefix, module in model.named_modules():
        for name in getattr(module, "no_weight_decay", ()):
            names.add(f"{prefix}.{name}" if prefix else name)
    return names


def decay_parameter_names(model: nn.Module) -> list[str]:
    """Parameters that weight decay applies to: no bias, no norm, no frequency, phase or damping."""
    names = get_parameter_names(model, [nn.LayerNorm], _NO_DECAY_PATTERNS)
    return [name for name in names if name not in _angles(model)]


def optimizer_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two parameter groups for any torch optimizer: ``torch.optim.AdamW(optimizer_groups(model, 0.01), lr=1e-3)``."""
    decay = set(decay_parameter_names(model))
    parameters = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    return [
        {"params": [value for name, value in parameters if name in decay], "weight_decay": weight_decay},
        {"params": [value for name, value in parameters if name not in decay], "weight_decay": 0.0},
    ]


def last_complete_checkpoint(output_dir: str) -> str | None:
    """The newest checkpoint of a ``Trainer`` in ``output_dir`` to resume from; None where there is none.

    A run that is killed while it writes leaves half a checkpoint, which would be taken for the newest. The state of
    the Trainer is what it writes last: a folder without it, or with half of it, is passed over with a warning.
    """
    if not Path(output_dir).is_dir():
        return None
    checkpoints = sort_checkpoints(output_dir=output_dir)
    for checkpoint in sorted(checkpoints, key=lambda path: int(path.rsplit("-", 1)[-1]), reverse=True):
        try:
            json.loads((Path(checkpoint) / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            warnings.warn(f"{checkpoint} was not written to its end and is passed over", stacklevel=2)
        else:
            return checkpoint
    return None


def prepare_run(args: TrainingArguments) -> str | None:
    """Begin a run: no progress bars with ``disable_tqdm``, seeds everywhere; gives the checkpoint to go on from.

    Args:
        args: its ``resume_from_checkpoint`` may be ``last``: the newest in ``output_dir``, if there is one.
    """
    if args.disable_tqdm:
        import datasets

        datasets.disable_progress_bars()
        transformers.utils.logging.disable_progress_bar()
    transformers.set_seed(args.seed)
    if args.resume_from_checkpoint != "last":
        return args.resume_from_checkpoint
    return last_complete_checkpoint(str(args.output_dir))


class ComplexTrainer(Trainer):
    """``transformers.Trainer`` without weight decay on frequencies, phases and dampings.

    ``label_smoothing_factor`` smooths the labels of the next token for every ``...ForCausalLM``.

    Args:
        *args, **kwargs: of ``transformers.Trainer``.
    """

    label_smoother: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        network = getattr(self.model, "get_base_model", lambda: self.model)()  # of an adapter
        if self.label_smoother is not None and type(network).__name__.endswith("ForCausalLM"):
            # Transformers shifts the labels of its own classes alone: others would learn to copy their input.
            self.label_smoother = partial(self.label_smoother, shift_labels=True)

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """See ``decay_parameter_names``."""
        return decay_parameter_names(model)

    def create_model_card(self, **kwargs: Any) -> None:
        """The card of the model with what Transformers' would say of its training, which alone says less.

        Args:
            **kwargs: of ``Trainer.create_model_card``: ``language``, ``license``, ``tags``, ``dataset`` and the like.
        """
        model = self.accelerator.unwrap_model(self.model)
        if not isinstance(model, ModelHubMixin):  # an adapter has a card of its own
            super().create_model_card(**kwargs)
        elif self.is_world_process_zero():
            summary = TrainingSummary.from_trainer(self, **kwargs)
            complete_card(str(self.args.output_dir), model, summary, self.hub_model_id)


class ComplexSeq2SeqTrainer(ComplexTrainer, Seq2SeqTrainer):
    """``ComplexTrainer`` for models that write text; it evaluates the rows in the order of the data set.

    ``train_sampling_strategy="group_by_length"`` shuffles what Transformers evaluates, too: predictions would come
    back in an order that no caller sees, and be compared with the references of other rows.
    """

    def _get_eval_sampler(self, eval_dataset: Any) -> None:
        """No sampler: the rows as they are, shared out and put together again in this order by several processes."""
