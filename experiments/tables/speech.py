# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of speech: spoken digits, digit strings, synthetic speech. Rows that were not run are left out."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.reporting import markdown_table

from experiments.grids.speech import SPEAKERS
from experiments.tables.runs import MISSING, SIZE, each, find_runs, mean_std, read_runs, run_table, score, seeds

__all__ = ["TABLES", "decoding_table", "leave_out_table", "official_table", "phase_table", "transcription_table"]

NETWORKS = {  # name of a run -> network and features
    "fully_spectral": ("Fully Spectral", "complex bins"),
    "fully_spectral-modulus": ("Fully Spectral", "moduli of bins"),
    "fully_spectral-thesis": ("Fully Spectral", "complex bins, as in the thesis"),
    "spectral_scaled": ("Spectral-Scaled", "samples"),
    "real": ("real", "log-mel"),
    "real-mfcc": ("real", "MFCC"),
}
WINDOWS = {"fully_spectral": "12 ms", "fully_spectral-25ms": "25 ms"}
# row suffix -> features
PHASE = {"": "modulus and phase", "-modulus": "modulus only", "-phase": "phase only"}
TRANSCRIBERS = {  # name of a run -> network and form
    "fully_spectral": ("Fully Spectral", "CTC"),
    "fully_spectral-modulus": ("Fully Spectral, moduli of bins", "CTC"),
    "spectral_scaled": ("Spectral-Scaled", "CTC"),
    "real": ("real, log-mel", "CTC"),
    "fully_spectral-decoder": ("Fully Spectral", "decoder"),
    "real-decoder": ("real, log-mel", "decoder"),
}
DECODED = {"random": "random digits", "dates": "dates DDMMYY", "espeak": "synthetic speech, IPA"}
DECODERS = {  # name of a decoding -> words
    "greedy": "greedy",
    "beam": "16 beams",
    "length_bonus": "16 beams, length bonus",
    "language_model": "16 beams, length bonus, 5-gram",
}
DECODING_FIGURES = ("validation/label_error_rate", "test/label_error_rate", "test/sequence_accuracy")
OFFICIAL = {
    "seeds": seeds,
    "validation": score("validation/accuracy"),
    "test": score("test/accuracy"),
    "test, per seed": each("test/accuracy"),
    **SIZE,
}
TRANSCRIPTION = {
    "seeds": seeds,
    "validation": score("validation/label_error_rate"),
    "test": score("test/label_error_rate"),
    "sequence accuracy": score("test/sequence_accuracy"),
    **SIZE,
}


def official_table(results: Path) -> str:
    """Tabulate the official split of the spoken digits, with the same speakers in training and test."""
    found = find_runs(results / "fsdd.jsonl", NETWORKS)
    return run_table(["network", "features"], OFFICIAL, NETWORKS, found)


def leave_out_table(results: Path) -> str:
    """Tabulate the test accuracy on held-out speakers."""
    rows = []
    for name, words in NETWORKS.items():
        if scores := _by_speaker(results, name):
            cells = [f"{100 * scores[speaker]:.1f}" if speaker in scores else "" for speaker in SPEAKERS]
            rows.append([*words, *cells, _over_speakers(scores)])
    return markdown_table(["network", "features", *SPEAKERS, "mean over speakers"], rows)


def phase_table(results: Path) -> str:
    """Tabulate one network on complex bins, moduli or phases, for short and long windows."""
    rows = []
    for network, window in WINDOWS.items():
        for features, words in PHASE.items():
            if runs := read_runs(results / "fsdd.jsonl", network + features):
                left_out = _over_speakers(_by_speaker(results, network + features))
                rows.append([words, window, seeds(runs), OFFICIAL["test"](runs), left_out])
    return markdown_table(
        ["bins of Fully Spectral", "windows", "seeds", "official test", "speaker left out, mean over speakers"], rows
    )


def transcription_table(results: Path, data: str) -> str:
    """Tabulate label error rates of CTC and decoders, in %."""
    found = find_runs(results / f"{data}.jsonl", TRANSCRIBERS)
    return run_table(["network", "method"], TRANSCRIPTION, TRANSCRIBERS, found)


def decoding_table(results: Path) -> str:
    """Tabulate the label error rates of one CTC model for each way of decoding, in %."""
    rows = []
    for data, runs in find_runs(results / "ctc-decoding.jsonl", DECODED).items():
        for name, words in DECODERS.items():
            columns = [score(f"{name}/{each}") for each in DECODING_FIGURES]
            chosen = runs[0][name]
            values = [f"{chosen[key]:g}" if key in chosen else "" for key in ("weight", "length_bonus")]
            rows.append([DECODED[data], words, seeds(runs), *values, *(column(runs) for column in columns)])
    labels = ["strings", "decoding", "seeds", "weight", "bonus"]
    return markdown_table([*labels, "validation", "test", "sequence accuracy"], rows)


def _by_speaker(results: Path, name: str) -> dict[str, float]:
    """Return mean test accuracy over seeds, for each held-out speaker."""
    runs = {speaker: read_runs(results / "fsdd-leave-out.jsonl", f"{speaker}/{name}") for speaker in SPEAKERS}
    return {speaker: statistics.mean(run["test"]["accuracy"] for run in of) for speaker, of in runs.items() if of}


def _over_speakers(scores: dict[str, float]) -> str:
    """Return mean and standard deviation over speakers if all are measured."""
    return mean_std(scores.values(), 1, 100) if len(scores) == len(SPEAKERS) else MISSING


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "examples/phonetic-transcription/README.md": {"espeak": partial(transcription_table, data="espeak")},
    "examples/speech/README.md": {
        "fsdd": official_table,
        "fsdd-leave-out": leave_out_table,
        "fsdd-phase": phase_table,
        "ctc-decoding": decoding_table,
        "digit-strings": partial(transcription_table, data="digit-strings"),
    },
}
