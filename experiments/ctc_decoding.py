# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Greedy decoding, beam search, and beam search with a language model, of one CTC model: grid ``ctc-decoding``.

The strings are those of ``run ctc`` (``random``), dates of the 20th century as six digits DDMMYY (``dates``), or the
recordings of the tables as they are (``none``). The n-gram model is estimated on training transcripts, without the
dates of validation and test. Weight and length bonus are chosen on validation, the bonus also without a language
model.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import torch
from benchmarks.reporting import machine_facts
from torch import Tensor
from transformers.utils import logging

from complex_transformers import (
    CharacterNGram,
    ClipDataset,
    ConcatenatedClips,
    CTCBeamSearchDecoder,
    SpectralTransformerForCTC,
    SpectralTransformerProcessor,
    TranscriptionMetric,
)
from complex_transformers.recipes import command_line, write_results
from complex_transformers.recipes.records import rounded
from complex_transformers.recipes.speech_models import transcription_items

SIZES = {"train": 5000, "validation": 300, "test": 300}
SEEDS = {"train": 3, "validation": 1, "test": 2}
RUN_CTC_SEEDS = {**SEEDS, "validation": 0, "test": 0}
WEIGHTS, BONUSES = (0.0, 0.25, 0.5, 1.0), (0.0, 0.5, 1.0)
BEAMS, ORDER = 16, 5
FIRST_DAY, DAYS = date(1900, 1, 1), 36525


class DateStrings(ConcatenatedClips):
    """Dates, spoken as six digits: day, month and year of the century."""

    def draw(self, index: int) -> list[int]:
        generator = torch.Generator().manual_seed((self.seed or 0) * self.size + index)
        day = FIRST_DAY + timedelta(days=int(torch.randint(DAYS, (), generator=generator)))
        return [self.spoken(digit, generator) for digit in day.strftime("%d%m%y")]

    def spoken(self, digit: str, generator: torch.Generator) -> int:
        """Return the index of a random clip of a digit."""
        clips = [index for index, target in enumerate(self.targets) if target == digit]
        return clips[int(torch.randint(len(clips), (), generator=generator))]


def read_split(args: argparse.Namespace, part: str, prepare: Any, rate: int) -> ClipDataset:
    """Return the strings of a split; those of validation and test with ``random`` are those of ``run ctc``."""
    with (args.data / f"{part}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    clips, targets = [args.data / row["path"] for row in rows], [row[args.column] for row in rows]
    if args.strings == "none":
        return ClipDataset(clips, targets, prepare, rate)
    kind, seed = (DateStrings, SEEDS[part]) if args.strings == "dates" else (ConcatenatedClips, RUN_CTC_SEEDS[part])
    return kind(clips, targets, prepare, rate, shortest=3, longest=7, size=SIZES[part], seed=seed)


def transcripts(split: ClipDataset) -> list[str]:
    """Return the transcript of every string."""
    if not isinstance(split, ConcatenatedClips):
        return list(split.targets)
    return ["".join(split.targets[clip] for clip in split.draw(index)) for index in range(len(split))]


def error(scores: Mapping[str, Any]) -> float:
    """Return the label error rate."""
    return scores["label_error_rate"]


class Comparison:
    """Ways to decode the logits of a model on validation and test."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.model = SpectralTransformerForCTC.from_pretrained(args.model).eval()
        self.processor = SpectralTransformerProcessor.from_pretrained(args.model)
        rate, prepare = self.processor.feature_extractor.sampling_rate, transcription_items(self.model, self.processor)
        splits = {part: read_split(args, part, prepare, rate) for part in SIZES}
        self.texts = {part: transcripts(split) for part, split in splits.items()}
        self.logits = {part: self.frames(splits[part]) for part in ("validation", "test")}
        held_out = {*self.texts["validation"], *self.texts["test"]} if args.strings == "dates" else set()
        self.language_model = CharacterNGram([t for t in self.texts["train"] if t not in held_out], ORDER)

    @torch.no_grad()
    def frames(self, split: ClipDataset) -> list[Tensor]:
        """Return the logits ``[T, V]`` of every string; padded frames predict the blank."""
        features = [{"input_features": split[index]["input_features"]} for index in range(len(split))]
        batches = (self.processor.pad(features[first : first + 50]) for first in range(0, len(features), 50))
        return [clip for batch in batches for clip in self.model(**batch).logits]

    def scored(self, part: str, found: Iterable[str]) -> dict[str, Any]:
        """Return the label error rates of transcripts."""
        return rounded(TranscriptionMetric().compute(predictions=list(found), references=self.texts[part]))

    def greedy(self, part: str) -> dict[str, Any]:
        """Score the best symbol of every frame."""
        best = [clip.argmax(-1).tolist() for clip in self.logits[part]]
        return self.scored(part, self.processor.tokenizer.batch_decode(best))

    def beam(self, part: str, weight: float = 0.0, bonus: float = 0.0) -> dict[str, Any]:
        """Score a beam search, with the language model if its weight is not 0."""
        language_model = self.language_model if weight else None
        decoder = CTCBeamSearchDecoder(self.processor.tokenizer, BEAMS, language_model, weight, bonus)
        return self.scored(part, map(decoder.decode, self.logits[part]))

    def best(self, tried: Mapping[tuple[float, float], dict[str, Any]]) -> dict[str, Any]:
        """Return the weight and bonus with the fewest errors on validation, and their scores."""
        weight, bonus = min(tried, key=lambda trial: error(tried[trial]))
        scores = {"validation": tried[weight, bonus], "test": self.beam("test", weight, bonus)}
        return {"weight": weight, "length_bonus": bonus, **scores}

    def results(self) -> dict[str, Any]:
        """Return the scores of every way to decode."""
        started = time.perf_counter()
        beam = {part: self.beam(part) for part in self.logits}
        seconds = (time.perf_counter() - started) / sum(map(len, self.logits.values()))
        tried = {(w, b): self.beam("validation", w, b) for w in WEIGHTS for b in BONUSES}
        return {
            "greedy": {part: self.greedy(part) for part in self.logits},
            "beam": {"beams": BEAMS, "seconds_per_string": round(seconds, 4), **beam},
            "length_bonus": self.best({trial: scores for trial, scores in tried.items() if trial[0] == 0}),
            "language_model": {"order": ORDER, **self.best({t: scores for t, scores in tried.items() if t[0] > 0})},
            "trials": [[*trial, error(scores)] for trial, scores in tried.items()],
        }


def epoch_of(model: Path) -> dict[str, float]:
    """Return the epoch of a checkpoint; nothing for a finished model."""
    state = model / "trainer_state.json"
    return {"epoch": json.loads(state.read_text(encoding="utf-8"))["epoch"]} if state.exists() else {}


def main() -> None:
    """Parse the command line, decode, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "data", "output_dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--strings", choices=["random", "dates", "none"], default="none")
    parser.add_argument("--column", default="label", help="the column of the transcripts")
    args = parser.parse_args()
    logging.disable_progress_bar()
    started = time.perf_counter()
    results = {
        "command": command_line(),
        **epoch_of(args.model),
        **Comparison(args).results(),
        "environment": machine_facts(),
    }
    args.output_dir.mkdir(parents=True, exist_ok=True)
    write_results(args.output_dir / "results.json", {**results, "seconds": round(time.perf_counter() - started, 1)})
    for name in ("greedy", "beam", "length_bonus", "language_model"):
        print(f"{name}: label error rate {error(results[name]['test']):.4f} on the test split")


if __name__ == "__main__":
    main()
