# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of runs on speech: the recordings, the features and the network that reads them, the training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoFeatureExtractor, Seq2SeqTrainingArguments

from ..data.audio_files import load_audio_dataset
from ..models.spectral_transformer.configuration_spectral_transformer import SpectralTransformerConfig
from ..models.spectral_transformer.feature_extraction_spectral_transformer import SpectralFeatureExtractor
from ..nn.checks import check_choice

if TYPE_CHECKING:
    from datasets import DatasetDict

__all__ = ["SPEECH_NETWORKS", "SpeechDataArguments", "SpeechModelArguments", "SpeechTrainingArguments"]

DEFAULT_RATE = 16000
# network -> features it reads unless told otherwise, and fields of its configuration
SPEECH_NETWORKS: dict[str, tuple[str, dict[str, str]]] = {
    "fully_spectral": ("spectrum", {"variant": "fully_spectral"}),
    "spectral_scaled": ("frames", {"variant": "spectral_scaled"}),
    "real": ("log_mel", {"number_field": "real"}),
}


@dataclass
class SpeechDataArguments:
    """Recordings with a label or a transcript each, and how they are read.

    Args:
        train_file, validation_file, test_file, data_dir, dataset_name: of ``load_audio_dataset``.
        dataset_config_name, audio_column, target_column, validation_split, split_seed, overlap: as well.
        sampling_rate: Hz; other audio is resampled.
        mix_channels: average the channels of audio that has several.
        keep_features: keep features in memory.
    """

    train_file: str | None = field(
        default=None, metadata={"help": "csv, tsv, json or jsonl, also .gz; paths are relative to its folder"}
    )
    validation_file: str | None = None
    test_file: str | None = None
    data_dir: str | None = field(default=None, metadata={"help": "one folder of audio files for each label"})
    dataset_name: str | None = field(default=None, metadata={"help": "a data set of the Hub"})
    dataset_config_name: str | None = None
    audio_column: str | None = field(default=None, metadata={"help": "default: path; on the Hub audio"})
    target_column: str | None = field(default=None, metadata={"help": "default: label, or text of transcripts"})
    validation_split: float = field(
        default=0.1, metadata={"help": "share of the training part set aside, where no validation part is given"}
    )
    split_seed: int = field(default=0, metadata={"help": "of that split, the same for all seeds"})
    overlap: str = field(
        default="error", metadata={"help": "recordings in two parts: error, drop (from the earlier part) or allow"}
    )
    sampling_rate: int | None = field(
        default=None, metadata={"help": "Hz; other audio is resampled; default: that of the model, 16000 of a new one"}
    )
    mix_channels: bool = field(default=False, metadata={"help": "average the channels of audio that has several"})
    keep_features: bool = field(
        default=False, metadata={"help": "keep features in memory, in place of making them in every epoch"}
    )

    def load(self, target: str) -> DatasetDict:
        """The parts, with the columns ``audio`` and ``target``: ``label`` or ``text``."""
        return load_audio_dataset(
            self.train_file,
            self.validation_file,
            self.test_file,
            data_dir=self.data_dir,
            dataset_name=self.dataset_name,
            dataset_config_name=self.dataset_config_name,
            audio_column=self.audio_column,
            target=target,
            target_column=self.target_column,
            validation_split=self.validation_split,
            split_seed=self.split_seed,
            overlap=self.overlap,
        )


@dataclass
class SpeechModelArguments:
    """Features and network of a run on speech; None leaves a field to its configuration.

    Args:
        model_name_or_path: a saved model to fine-tune, with its features; all below is then its own.
        network: ``fully_spectral``, ``spectral_scaled`` or ``real``, the twin of the same widths on real features.
        feature_type: of ``SpectralFeatureExtractor``; default ``spectrum``, ``frames`` or ``log_mel``.
        compression, num_mel_bins, normalize: of ``SpectralFeatureExtractor``.
        window_ms, hop_ms: milliseconds.
        hidden_size, num_hidden_layers, num_attention_heads, intermediate_size: of ``SpectralTransformerConfig``.
        time_pool_size, bin_pool_size, pooling, position_phase, frequency_kernel: as well.
        hidden_dropout_prob, attention_probs_dropout_prob, attention_score, attention_normalization: as well.
        norm_position, norm_type, hidden_act, readout: as well.
    """

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "fine-tune this model, with its feature extractor"}
    )
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
    bin_pool_size: int | None = field(default=None, metadata={"help": "bins pooled into one; 1 keeps them all"})
    frequency_kernel: bool | None = field(default=None, metadata={"help": "a learned factor for every bin"})
    norm_position: str | None = field(default=None, metadata={"help": "post or pre"})
    norm_type: str | None = field(default=None, metadata={"help": "layer, rms or batch"})
    hidden_act: str | None = None
    readout: str | None = field(default=None, metadata={"help": "modulus, squared_modulus, concat, feature_modulus"})

    @property
    def is_real(self) -> bool:
        """Whether all weights are real."""
        return self.network != "fully_spectral"

    def extractor(self, sampling_rate: int | None = None) -> SpectralFeatureExtractor:
        """The feature extractor for audio of ``sampling_rate`` Hz, 16,000 where not given, or that of a saved model.

        Raises:
            ValueError: an unknown network, options that a saved model does not heed, another sampling rate than its
                own; what the extractor raises.
        """
        if self.model_name_or_path is not None:
            return self._saved_extractor(sampling_rate)
        check_choice("network", self.network, tuple(SPEECH_NETWORKS))
        sampling_rate = DEFAULT_RATE if sampling_rate is None else sampling_rate
        return SpectralFeatureExtractor(
            sampling_rate=sampling_rate,
            feature_type=self.feature_type or SPEECH_NETWORKS[self.network][0],
            compression=self.compression,
            num_mel_bins=self.num_mel_bins,
            normalize=self.normalize,
            window_length=round(self.window_ms * sampling_rate / 1000),
            hop_length=round(self.hop_ms * sampling_rate / 1000),
        )

    def _saved_extractor(self, sampling_rate: int | None) -> Any:
        default = type(self)(model_name_or_path=self.model_name_or_path)
        if idle := [name for name, value in vars(self).items() if value != getattr(default, name)]:
            raise ValueError(f"--{idle[0]} has no effect with --model_name_or_path: leave it out")
        extractor = AutoFeatureExtractor.from_pretrained(self.model_name_or_path)
        if sampling_rate not in (None, extractor.sampling_rate):
            raise ValueError(
                f"--sampling_rate {sampling_rate} does not fit {self.model_name_or_path}, which reads "
                f"{extractor.sampling_rate} Hz: leave it out, audio is resampled"
            )
        return extractor

    def config(self, extractor: SpectralFeatureExtractor, **fields: Any) -> SpectralTransformerConfig:
        """The configuration of the network on that extractor; ``fields`` are those of a head."""
        own = set(SpectralTransformerConfig.__dataclass_fields__)
        given = {name: value for name, value in vars(self).items() if name in own and value is not None}
        if self.network == "real":  # as in `real_twin`
            given = {"attention_normalization": "softmax", **given}
        network = SPEECH_NETWORKS[self.network][1]
        return SpectralTransformerConfig.from_extractor(extractor, **{**given, **network, **fields})


@dataclass
class SpeechTrainingArguments(Seq2SeqTrainingArguments):
    """``transformers.Seq2SeqTrainingArguments`` with defaults that fit small models of speech.

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
