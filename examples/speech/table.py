# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the speech examples from the results of their scripts: python examples/speech/table.py."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1]
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
NETWORKS = {  # name of a run -> network and features
    "fully_spectral": ("Fully Spectral", "complex bins"),
    "fully_spectral-thesis": ("Fully Spectral", "complex bins, as in the thesis"),
    "spectral_scaled": ("Spectral-Scaled", "samples"),
    "real": ("real", "log-mel"),
    "real-mfcc": ("real", "MFCC"),
}
PHASE = {  # name of a run -> what is left of the bins
    "fully_spectral": "modulus and phase",
    "fully_spectral-modulus": "modulus alone",
    "fully_spectral-phase": "phase alone",
}
TRANSCRIBERS = {  # name of a run -> network and form
    "fully_spectral": ("Fully Spectral", "CTC"),
    "spectral_scaled": ("Spectral-Scaled", "CTC"),
    "real": ("real, log-mel", "CTC"),
    "fully_spectral-decoder": ("Fully Spectral", "decoder"),
    "real-decoder": ("real, log-mel", "decoder"),
}
MISSING = "not measured yet"


def spread(values: Iterable[float]) -> str:
    """Mean and standard deviation in %; one value has no deviation."""
    values = [100 * value for value in values]
    return f"{statistics.mean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")


def line(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def header(names: list[str]) -> list[str]:
    """The first two lines of a table."""
    return [line(names), "|" + "---|" * len(names)]


def read_runs(folder: Path, name: str) -> list[dict[str, Any]]:
    """The results of all seeds of one network."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob(f"{name}-seed-*.json")]
    if len(sizes := {run["parameters"] for run in runs}) > 1:
        raise ValueError(f"{folder.name}, {name}: the seeds have unequal numbers of parameters {sorted(sizes)}")
    return sorted(runs, key=lambda run: run["seed"])


def accuracies(runs: list[dict[str, Any]], part: str = "test") -> list[float]:
    """Accuracy of a part, seed by seed."""
    return [run[part]["accuracy"] for run in runs]


def by_speaker(results: Path, name: str) -> dict[str, float]:
    """Mean test accuracy over the seeds, for each speaker that was left out."""
    runs = {speaker: read_runs(results / "fsdd-leave-out" / speaker, name) for speaker in SPEAKERS}
    return {speaker: statistics.mean(accuracies(of)) for speaker, of in runs.items() if of}


def over_speakers(scores: dict[str, float]) -> str:
    """Mean and standard deviation over the speakers, once all are measured."""
    return spread(scores.values()) if len(scores) == len(SPEAKERS) else MISSING


def official_table(results: Path) -> str:
    """The official split: speakers that the network knows."""
    columns = ["network", "features", "seeds", "validation", "test", "test, seed by seed", "parameters", "training"]
    lines = header(columns)
    for name, words in NETWORKS.items():
        runs = read_runs(results / "fsdd", name)
        cells = [MISSING, "", "", "", "", ""]
        if runs:
            seconds = [run["seconds"] for run in runs if not run["resumed"]]
            cells = [
                " ".join(str(run["seed"]) for run in runs),
                spread(accuracies(runs, "validation")),
                spread(accuracies(runs)),
                " ".join(f"{100 * accuracy:.1f}" for accuracy in accuracies(runs)),
                f"{runs[0]['parameters'] / 1e6:.2f} M",
                f"{statistics.mean(seconds):.0f} s" if seconds else "stopped and resumed",
            ]
        lines.append(line([*words, *cells]))
    return "\n".join(lines)


def leave_out_table(results: Path) -> str:
    """A speaker that the network does not know."""
    lines = header(["network", "features", *SPEAKERS, "mean over speakers"])
    for name, words in NETWORKS.items():
        scores = by_speaker(results, name)
        cells = [f"{100 * scores[speaker]:.1f}" if speaker in scores else "" for speaker in SPEAKERS]
        lines.append(line([*words, *cells, over_speakers(scores)]))
    return "\n".join(lines)


def phase_table(results: Path) -> str:
    """One network on bins, on their moduli and on their phases."""
    lines = header(["bins of Fully Spectral", "seeds", "official test", "speaker left out, mean over speakers"])
    for name, words in PHASE.items():
        runs = read_runs(results / "fsdd", name)
        official = spread(accuracies(runs)) if runs else MISSING
        seeds = " ".join(str(run["seed"]) for run in runs)
        lines.append(line([words, seeds, official, over_speakers(by_speaker(results, name))]))
    return "\n".join(lines)


def transcription_table(results: Path, data: str) -> str:
    """Label error rates of CTC and of decoders."""
    columns = [
        "network",
        "form",
        "seeds",
        "validation",
        "test",
        "sequences without an error",
        "parameters",
        "training",
    ]
    lines = header(columns)
    for name, words in TRANSCRIBERS.items():
        runs = read_runs(results / data, name)
        cells = [MISSING, "", "", "", "", ""]
        if runs:
            seconds = [run["seconds"] for run in runs if not run["resumed"]]
            cells = [
                " ".join(str(run["seed"]) for run in runs),
                spread(run["validation"]["label_error_rate"] for run in runs),
                spread(run["test"]["label_error_rate"] for run in runs),
                spread(run["test"]["sequence_accuracy"] for run in runs),
                f"{runs[0]['parameters'] / 1e6:.2f} M",
                f"{statistics.mean(seconds):.0f} s" if seconds else "stopped and resumed",
            ]
        lines.append(line([*words, *cells]))
    return "\n".join(lines)


# README -> marker -> table
TABLES = {
    "speech": {
        "fsdd": official_table,
        "fsdd-leave-out": leave_out_table,
        "fsdd-phase": phase_table,
        "digit-strings": partial(transcription_table, data="digit-strings"),
    },
    "phonetic-transcription": {"espeak": partial(transcription_table, data="espeak")},
}


def main() -> None:
    """Replace every table between its markers."""
    for folder, tables in TABLES.items():
        write_tables(EXAMPLES / folder / "README.md", tables)


def write_tables(readme: Path, tables: Mapping[str, Callable[[Path], str]]) -> None:
    """Replace the tables of one README."""
    text = readme.read_text(encoding="utf-8")
    for name, table in tables.items():
        start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
        content = f"{start}\n{table(RESULTS)}\n{end}"
        pattern = re.compile(f"{re.escape(start)}.*{re.escape(end)}", re.DOTALL)
        text, count = pattern.subn(lambda _, content=content: content, text)
        if count != 1:
            raise ValueError(f"{readme} must hold the markers {start} and {end} once, found {count}")
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
