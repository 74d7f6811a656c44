# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of runs on speech: the features, the network that reads them, and a Trainer's settings that fit both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import TrainingArguments

from .models.spectral_transformer.configuration_spectral_transformer import SpectralTransformerConfig
from .models.spectral_transformer.feature_extraction_spectral_transformer import SpectralFeatureExtractor
from .nn.embedding import check_choice

__all__ = ["SPEECH_NETWORKS", "SpeechModelArguments", "SpeechTrainingArguments"]

# network -> features it reads unless told otherwise, and fields of its configuration
SPEECH_NETWORKS: dict[str, tuple[str, dict[str, str]]] = {
    "fully_spectral": ("spectrum", {"variant": "fully_spectral"}),
    "spectral_scaled": ("frames", {"variant": "spectral_scaled"}),
    "real": ("log_mel", {"number_field": "real"}),
}


@dataclass
class SpeechModelArguments:
    """Features and network of a run on speech; None leaves a field to its configuration.

    Args:
        network: ``fully_spectral``, ``spectral_scaled`` or ``real``, the twin of the same widths on real features.
        feature_type: of ``SpectralFeatureExtractor``; default ``spectrum``, ``frames`` or ``log_mel``.
        compression, num_mel_bins, normalize: of ``SpectralFeatureExtractor``.
        window_ms, hop_ms: milliseconds.
        hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, time_pool_size, hidden_dropout_prob,
            attention_probs_dropout_prob, attention_score, attention_normalization, position_phase, pooling,
            frequency_kernel, norm_position, norm_type, hidden_act, readout: of ``SpectralTransformerConfig``.
    """

    network: str = field(default="fully_spectral", metadata={"help": "fully_spectral, spectral_scaled or real"})
    feature_type: str | None = field(
        default=None,
        metadata={"help": "spectrum, modulus, phase, frames, log_mel or mfcc; default: that of the network"},
    )
    compression: str = field(default="none", metadata={"help": "of the moduli of a spectrum: none or log"})
    num_mel_bins: int = 80
    normalize: bool = True
    window_ms: float = 25.0
    hop_ms: float = 10.0
    hidden_size: int = 128
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    intermediate_size: int = 256
    time_pool_size: int = 2
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    attention_score: str | None = field(default=None, metadata={"help": "modulus or real; in the real field real"})
    attention_normalization: str | None = field(
        default=None, metadata={"help": "probability_amplitude or softmax; with --network real softmax"}
    )
    position_phase: str | None = field(default=None, metadata={"help": "add, rotate or none"})
    pooling: str | None = field(default=None, metadata={"help": "max or average"})
    frequency_kernel: bool | None = field(default=None, metadata={"help": "a learned factor for every bin"})
    norm_position: str | None = field(default=None, metadata={"help": "post or pre"})
    norm_type: str | None = field(default=None, metadata={"help": "layer, rms or batch"})
    hidden_act: str | None = None
    readout: str | None = field(default=None, metadata={"help": "modulus, squared_modulus, concat, feature_modulus"})

    def extractor(self, sampling_rate: int) -> SpectralFeatureExtractor:
        """The feature extractor for audio of ``sampling_rate`` Hz.

        Raises:
            ValueError: an unknown network; what the extractor raises.
        """
        check_choice("network", self.network, tuple(SPEECH_NETWORKS))
        return SpectralFeatureExtractor(
            sampling_rate=sampling_rate,
            feature_type=self.feature_type or SPEECH_NETWORKS[self.network][0],
            compression=self.compression,
            num_mel_bins=self.num_mel_bins,
            normalize=self.normalize,
            window_length=round(self.window_ms * sampling_rate / 1000),
            hop_length=round(self.hop_ms * sampling_rate / 1000),
        )

    def config(self, extractor: SpectralFeatureExtractor, **fields: Any) -> SpectralTransformerConfig:
        """The configuration of the network on that extractor; ``fields`` are those of a head."""
        own = set(SpectralTransformerConfig.__dataclass_fields__)
        given = {name: value for name, value in vars(self).items() if name in own and value is not None}
        if self.network == "real":  # as in `real_twin`
            given = {"attention_normalization": "softmax", **given}
        network = SPEECH_NETWORKS[self.network][1]
        return SpectralTransformerConfig.from_extractor(extractor, **{**given, **network, **fields})


@dataclass
class SpeechTrainingArguments(TrainingArguments):
    """``transformers.TrainingArguments`` with defaults that fit small models of speech.

    Args:
        num_train_epochs, learning_rate, lr_scheduler_type, warmup_steps, weight_decay: 40, 1e-3, ``linear``, 0.1 of
            all steps, 0.01.
        per_device_train_batch_size, per_device_eval_batch_size: 32, 64.
        eval_strategy, save_strategy, logging_strategy, save_total_limit: after each epoch; one checkpoint stays.
        load_best_model_at_end: the best epoch by ``metric_for_best_model`` of the script.
        dataloader_pin_memory: only where there is a GPU.
        resume_from_checkpoint: a checkpoint, or ``last``: the newest in ``output_dir``, if there is one.
        output_json: file of the results, by default ``results.json`` in ``output_dir``.
    """

    output_dir: str | None = "outputs/speech"
    num_train_epochs: float = 40
    learning_rate: float = 1e-3
    lr_scheduler_type: str = "linear"
    warmup_steps: float = 0.1
    weight_decay: float = 0.01
    per_device_train_batch_size: int = 32
    per_device_eval_batch_size: int = 64
    eval_strategy: str = "epoch"
    save_strategy: str = "epoch"
    logging_strategy: str = "epoch"
    save_total_limit: int | None = 1
    load_best_model_at_end: bool = True
    dataloader_pin_memory: bool = torch.cuda.is_available()  # without a GPU it only warns
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "a checkpoint, or last: the newest in output_dir, if there is one"}
    )
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})
