# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of runs on speech: the recordings and the training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .arguments import RunArguments, arguments_of, own_default
from .datasets.audio_files import (
    load_audio_dataset,
)

if TYPE_CHECKING:
    from datasets import DatasetDict

__all__ = ["SpeechDataArguments", "SpeechTrainingArguments"]


_FileArguments: Any = arguments_of(load_audio_dataset, without=("target",))


@dataclass
class SpeechDataArguments(_FileArguments):
    """Recordings with a label or a transcript each, as ``load_audio_dataset`` finds them, and how they are read.

    Args:
        sampling_rate: Hz; other audio is resampled.
        mix_channels: average the channels of audio that has several.
        keep_features: keep features in memory.
    """

    sampling_rate: int | None = field(
        default=None, metadata={"help": "Hz; other audio is resampled; default: that of the model, 16000 of a new one"}
    )
    mix_channels: bool = field(default=False, metadata={"help": "average the channels of audio that has several"})
    keep_features: bool = field(
        default=False, metadata={"help": "keep features in memory, in place of making them in every epoch"}
    )

    def load(self, target: str) -> DatasetDict:
        """The parts, with the columns ``audio`` and ``target``: ``label`` or ``text``."""
        return load_audio_dataset(**self.given(), target=target)


@dataclass
class SpeechTrainingArguments(RunArguments):
    """``RunArguments`` with defaults for small speech models."""

    output_dir: str | None = "outputs/speech"
    num_train_epochs: float = own_default("num_train_epochs", 40, "small corpora need more passes")
    warmup_steps: float = own_default("warmup_steps", 0.1, "a high learning rate needs a warmup")
    weight_decay: float = own_default("weight_decay", 0.01, "small corpora overfit")
    per_device_train_batch_size: int = own_default("per_device_train_batch_size", 32, "clips are short")
    per_device_eval_batch_size: int = own_default("per_device_eval_batch_size", 64, "evaluation keeps no gradients")
