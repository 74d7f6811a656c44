# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Translate with a saved model, one text per line.

The search is the one the model was saved with, unless options change it.

    complex-transformers run translate --model outputs/translation < test.en > test.de
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import HfArgumentParser, pipeline

from ...data.files import whole_file
from ..datasets.parallel_text import read_texts
from ..run import limit_progress_bars

DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass
class Arguments:
    """Command line options: model, files and beam search."""

    model: str = field(metadata={"help": "folder or name on the Hub, as run translation saves it"})
    input_file: str | None = field(
        default=None, metadata={"help": "UTF-8, one text per line, also .gz; default: standard input"}
    )
    output_file: str | None = field(default=None, metadata={"help": "default: standard output"})
    num_beams: int | None = field(default=None, metadata={"help": "default: as saved"})
    length_penalty: float | None = None
    max_length: int | None = field(default=None, metadata={"help": "maximum tokens per text; default: as saved"})
    truncation: bool = field(default=False, metadata={"help": "truncate texts that are too long, with a warning"})
    batch_size: int = 32
    scores: bool = field(
        default=False, metadata={"help": "write the score and a tab first: log probability by length^length_penalty"}
    )
    empty: str = field(default="error", metadata={"help": "blank lines: error, or keep"})
    dtype: str = field(default="auto", metadata={"help": ", ".join(DTYPES)})
    device: str = field(default="cuda" if torch.cuda.is_available() else "cpu", metadata={"help": "cpu, cuda, ..."})

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"--dtype must be one of {list(DTYPES)}, got {self.dtype!r}.")
        for name in ("batch_size", "num_beams", "max_length"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, got {value}.")


def translations(args: Arguments, texts: list[str]) -> Iterator[dict[str, Any] | None]:
    """Yield the answer for each text, or None for a blank one; ``finished`` means that it ends in EOS."""
    given = {name: getattr(args, name) for name in ("num_beams", "length_penalty", "max_length")}
    translate = pipeline(
        "complex-text2text",
        model=args.model,
        dtype=args.dtype,
        device=args.device,
        batch_size=args.batch_size,
        truncation=args.truncation,
        return_text=True,
        return_tensors=True,
        return_scores=args.scores,
        **{name: value for name, value in given.items() if value is not None},
    )
    eos = translate.model.generation_config.eos_token_id
    lines = [number for number, text in enumerate(texts, 1) if text.strip()]
    answers = iter(translate(text for text in texts if text.strip()))
    for text in texts:
        if not text.strip():
            yield None
            continue
        try:
            (answer,) = next(answers)
        except ValueError as error:  # its text numbers count non-blank texts from 0
            raise ValueError(
                re.sub(r"^text (\d+)", lambda found: f"line {lines[int(found[1])]}", str(error))
            ) from error
        finished = answer["generated_token_ids"][-1] in (eos if isinstance(eos, list) else [eos])
        yield {**answer, "finished": finished}


def main() -> None:
    """Parse the command line and translate."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars(True)
    texts = read_texts(args.input_file, args.empty)
    unfinished = 0
    with whole_file(args.output_file) as file:
        for answer in translations(args, texts):
            line = "" if answer is None else " ".join(answer["generated_text"].split())
            score = f"{0.0 if answer is None else answer['score']:.4f}\t" if args.scores else ""
            file.write(f"{score}{line}\n")
            unfinished += answer is not None and not answer["finished"]
    if unfinished:
        print(f"{unfinished} translation(s) stop at the maximum length. Raise --max_length.", file=sys.stderr)
