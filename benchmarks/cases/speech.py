# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""CTC models of ten million parameters and their real twin, with random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import pipeline

from benchmarks.race import Comparison, Outcome, race, row, sizes
from benchmarks.timing import Step, check_gradients, loss_step, time_rounds
from complex_transformers import (
    SpectralFeatureExtractor,
    SpectralTransformerConfig,
    SpectralTransformerForCTC,
    build_ctc_tokenizer,
)

__all__ = ["NETWORKS", "case", "clips", "network"]

RATE = 16000
# name -> its features, and its fields
NETWORKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fully spectral": ({"compression": "log"}, {"attention_normalization": "softmax"}),
    "fully spectral, filters": (  # the configuration of the examples
        {"compression": "log"},
        {
            "attention_normalization": "softmax",
            "bin_pool_size": 1,
            "pooling": "average",
            "position_phase": "rotate",
            "attention_score": "real",
            "readout": "concat",
        },
    ),
    "spectral-scaled": ({"feature_type": "frames"}, {"variant": "spectral_scaled"}),
    "real twin": ({"feature_type": "log_mel"}, {"number_field": "real", "attention_normalization": "softmax"}),
}
# Chunks overlap on both sides: n of them cover CHUNK + (n - 1) (CHUNK - 2 STRIDE) seconds. If
# every chunk takes the same time, time is linear in the length; 38 chunks are ten minutes.
CHUNK, STRIDE = 20, 2
SHORT, LONG = 4, 38
_TOKENIZER = build_ctc_tokenizer(["abcdefghijklmnopqrstuvwxyz' "])


def audio(seconds: float) -> np.ndarray:
    """Return noise."""
    return np.random.default_rng(0).standard_normal(int(seconds * RATE)).astype(np.float32)


def extractor(name: str) -> SpectralFeatureExtractor:
    """Return an extractor without loudness normalization, so that chunks have the features of the whole clip."""
    return SpectralFeatureExtractor(sampling_rate=RATE, normalize=False, **NETWORKS[name][0])


def network(name: str, **changes: int) -> SpectralTransformerForCTC:
    """Build six layers of stored width 512, feed-forward 2048, 8 heads; four frames are merged into one."""
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        **changes,
    }
    config = SpectralTransformerConfig.from_extractor(
        extractor(name),
        **sizes,
        time_pool_size=4,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        vocab_size=len(_TOKENIZER),
        pad_token_id=_TOKENIZER.pad_token_id,
        **NETWORKS[name][1],
    )
    return SpectralTransformerForCTC(config)


def clips(name: str, count: int = 8, seconds: int = 8, symbols: int = 60) -> dict[str, Tensor]:
    """Return features of 8 clips of 8 s with 60 labels each."""
    waves = [audio(seconds + 0.001 * i)[: seconds * RATE] for i in range(count)]
    labels = torch.randint(3, len(_TOKENIZER), (count, symbols), generator=torch.Generator().manual_seed(1))
    return {**extractor(name)(waves, sampling_rate=RATE, return_tensors="pt"), "labels": labels}


def extraction(name: str, seconds: float) -> Step:
    """Return a step that extracts the features of a recording."""
    extract, wave = extractor(name), audio(seconds)

    def step() -> None:
        extract(wave, sampling_rate=RATE)

    return step


def recognizer(model: SpectralTransformerForCTC, name: str) -> Any:
    """Return a pipeline from waveform to text."""
    parts = {"tokenizer": _TOKENIZER, "feature_extractor": extractor(name)}
    return pipeline("automatic-speech-recognition", model=model.eval(), device="cpu", **parts)


def length(chunks: int) -> int:
    """Return the seconds covered by a number of whole chunks."""
    return CHUNK + (chunks - 1) * (CHUNK - 2 * STRIDE)


def reading(recognize: Any, seconds: float) -> Step:
    """Return a step that transcribes a recording in chunks of 20 s that overlap by 2 s on both sides."""
    wave = audio(seconds)

    def step() -> None:
        recognize({"raw": wave, "sampling_rate": RATE}, chunk_length_s=CHUNK, stride_length_s=STRIDE)

    return step


def case(rounds: int) -> Outcome:
    """CTC models (6 layers, stored width 512, feed-forward 2048): training, features, transcription in chunks."""
    models = {name: network(name) for name in NETWORKS}
    steps = {name: loss_step(model, **clips(name)) for name, model in models.items()}
    for name, model in models.items():
        check_gradients(name, model, steps[name])
    comparisons = [Comparison(name, "real twin", 1.20) for name in NETWORKS if name != "real twin"]
    rows = race("8 clips of 8 s, training step", steps, comparisons, rounds)
    for name, model in models.items():
        recognize = recognizer(model, name)
        short, long = length(SHORT), length(LONG)
        features, text = f"features of {short} s", f"transcription of {short} s"
        steps = {features: extraction(name, short), text: reading(recognize, short), "long": reading(recognize, long)}
        taken = {what: [1e3 * s for s in values] for what, values in time_rounds(steps, rounds).items()}
        lasts = [1e3 * short] * rounds
        rows.append(row(name, Comparison(features, "audio duration", 1 / 200), taken[features], lasts, "ms"))
        rows.append(row(name, Comparison(text, "audio duration", 0.05), taken[text], lasts, "ms"))
        linear_in_length = Comparison(
            f"transcription of {long} s, a chunk", f"transcription of {short} s, a chunk", 1.10
        )
        chunk_of_long, chunk_of_short = ([ms / n for ms in taken[what]] for what, n in (("long", LONG), (text, SHORT)))
        rows.append(row(name, linear_in_length, chunk_of_long, chunk_of_short, "ms"))
    return Outcome(rows, sizes(models))
