# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Chunked transcription of ten LJ Speech recordings joined into one file, for the grid ``ljspeech-long``."""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import soundfile
from benchmarks.reporting import ROOT

from complex_transformers import TranscriptionMetric
from complex_transformers.recipes import command_line, write_results

CHUNKS = ("--chunk_length_s", "9", "--stride_length_s", "2")


def unpack(data: Path, archives: Path) -> None:
    """Unpack the recordings and the table of their transcripts."""
    data.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xzf", archives / "ljspeech100.tar.gz", "-C", data, "--strip-components", "1"], check=True)
    shutil.copy(archives / "ljspeech100-transcripts.tsv", data / "all.tsv")


def read(data: Path, model: Path, output: Path) -> None:
    """Join the recordings, transcribe them in chunks, and score."""
    with open(data / "all.tsv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))[:10]
    waves = [soundfile.read(data / row["file"]) for row in rows]
    soundfile.write(data / "long.wav", np.concatenate([wave for wave, _ in waves]), waves[0][1])
    output.mkdir(parents=True, exist_ok=True)
    words = ["examples/speech/transcribe.py", "--model", model, data / "long.wav", *CHUNKS]
    subprocess.run([sys.executable, *words, "--output_file", output / "long.json"], cwd=ROOT, check=True)
    [found] = json.loads((output / "long.json").read_text(encoding="utf-8"))
    reference = " ".join(row["transcript"] for row in rows)
    scores = TranscriptionMetric().compute(predictions=[found["text"]], references=[reference])
    write_results(output / "results.json", {"command": command_line(), **found, **scores})
    print(f"{found['seconds']:.0f} s in chunks: label error rate {scores['label_error_rate']:.4f}")


def main() -> None:
    """Parse the command line and run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["unpack", "read"])
    for name in ("data", "archives", "model", "output_dir"):
        parser.add_argument(f"--{name}", type=Path)
    args = parser.parse_args()
    if args.action == "unpack":
        unpack(args.data, args.archives)
    else:
        read(args.data, args.model, args.output_dir)


if __name__ == "__main__":
    main()
