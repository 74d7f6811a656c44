# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of speech recipes: data and training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .arguments import RunArguments, arguments_of, new_default
from .datasets.audio_files import load_audio_dataset

if TYPE_CHECKING:
    from datasets import DatasetDict

__all__ = ["SpeechDataArguments", "SpeechTrainingArguments"]


_FileArguments: Any = arguments_of(load_audio_dataset, without=("target",))


@dataclass
class SpeechDataArguments(_FileArguments):
    """The arguments of ``load_audio_dataset`` and how its recordings are read.

    Args:
        sampling_rate: Hz; other audio is resampled.
        mix_channels: average the channels of audio with several.
        keep_features: keep features in memory.
    """

    sampling_rate: int | None = field(
        default=None, metadata={"help": "Hz; other audio is resampled; default: the rate of a saved model, or 16000"}
    )
    mix_channels: bool = field(default=False, metadata={"help": "average the channels of audio with several"})
    keep_features: bool = field(
        default=False, metadata={"help": "keep features in memory instead of computing them in every epoch"}
    )

    def load(self, target: str) -> DatasetDict:
        """Load the splits with the columns ``audio`` and ``target``: ``label`` or ``text``."""
        return load_audio_dataset(**self.given(), target=target)


@dataclass
class SpeechTrainingArguments(RunArguments):
    """``RunArguments`` with defaults for small speech models."""

    output_dir: str | None = "outputs/speech"
    num_train_epochs: float = new_default("num_train_epochs", 40, "small corpora need more passes")
    warmup_steps: float = new_default("warmup_steps", 0.1, "a high learning rate needs a warmup")
    weight_decay: float = new_default("weight_decay", 0.01, "small corpora overfit")
    per_device_train_batch_size: int = new_default("per_device_train_batch_size", 32, "clips are short")
    per_device_eval_batch_size: int = new_default("per_device_eval_batch_size", 64, "evaluation keeps no gradients")
