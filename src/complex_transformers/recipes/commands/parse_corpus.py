# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parse a parallel corpus once, into a ``datasets`` folder with words and dependency relations of both sides.

Text files are parsed by a spaCy pipeline for each language; CoNLL-U files (``.conllu``, ``.conllu.gz``) are parsed
already.

    complex-transformers run parse-corpus --train_file train.en train.de --validation_file val.en val.de \
        --source_parser outputs/parser-en --target_parser outputs/parser-de --output_dir outputs/parsed
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm
from transformers import HfArgumentParser

from ...data.extras import require_datasets
from ...data.syntax import SyntaxParser
from ..arguments import arguments_of
from ..datasets.parallel_text import load_parallel_dataset
from ..run import limit_progress_bars
from ..syntax_translation import load_parallel_conllu, parse_parallel_dataset

if TYPE_CHECKING:
    from datasets import DatasetDict

SIDES = ("source", "target")
PARSERS = "parsers.json"  # parsers and their relations, for the processor


@dataclass
class Arguments(arguments_of(load_parallel_dataset, load_parallel_conllu)):
    """Command line options: data and parsers; the files are texts, or two CoNLL-U files each."""

    source_parser: str | None = field(default=None, metadata={"help": "a spaCy pipeline: its folder, or its name"})
    target_parser: str | None = None
    sentences: str = field(default="error", metadata={"help": "texts with several sentences: error, join or drop"})
    n_process: int = field(default=1, metadata={"help": "parsing processes; -1: one per core"})
    batch_size: int = field(default=256, metadata={"help": "texts per batch of a process"})
    output_dir: str = "outputs/parsed"

    def __post_init__(self) -> None:
        if self.sentences not in ("error", "join", "drop"):
            raise ValueError(f"--sentences must be error, join or drop, got {self.sentences!r}.")
        if self.n_process < 1 and self.n_process != -1:
            raise ValueError(f"--n_process must be at least 1, or -1 for one per core, got {self.n_process}.")

    def is_conllu(self) -> bool:
        """Return whether the files are CoNLL-U; raise for a mixture."""
        files = [file for part in (self.train_file, self.validation_file, self.test_file) for file in part or ()]
        parsed = [file for file in files if file.removesuffix(".gz").endswith(".conllu")]
        if parsed and len(parsed) < len(files):
            other = next(file for file in files if file not in parsed)
            raise ValueError(f"files must be all CoNLL-U or all text, got {parsed[0]} and {other}.")
        return bool(parsed)


def load_parsed(args: Arguments) -> DatasetDict:
    """Load pairs from CoNLL-U files."""
    if args.source_parser is not None or args.target_parser is not None:
        given = f"{args.source_parser!r} and {args.target_parser!r}"
        raise ValueError(f"--source_parser and --target_parser must be left out for CoNLL-U files, got {given}.")
    return load_parallel_conllu(args.train_file or [], **args.given(load_parallel_conllu))


def make_parsers(args: Arguments) -> dict[str, SyntaxParser]:
    """Return the parsers of both sides."""
    parsers = {}
    for side, name in (("source", args.source_parser), ("target", args.target_parser)):
        if name is None:
            raise ValueError(f"--{side}_parser must be a spaCy pipeline for text files, got None.")
        parsers[side] = SyntaxParser(name, "error" if args.sentences == "error" else "join")
    return parsers


def load_and_parse(args: Arguments, parsers: dict[str, SyntaxParser]) -> DatasetDict:
    """Load and parse pairs of texts."""
    parts = load_parallel_dataset(**args.given(load_parallel_dataset))

    def progress(sentences: Iterable[Any], name: str, total: int) -> Iterable[Any]:
        return tqdm(sentences, desc=name, total=total, unit=" sentences", disable=None)

    return parse_parallel_dataset(
        parts,
        parsers["source"],
        parsers["target"],
        n_process=args.n_process,
        batch_size=args.batch_size,
        drop_joined=args.sentences == "drop",
        progress=progress,
    )


def main() -> DatasetDict:
    """Parse the command line and the corpus, write the folder."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    known: dict[str, Any] = {}
    if args.is_conllu():
        parts = load_parsed(args)
    else:
        parsers = make_parsers(args)
        # Reading the relations loads the pipelines, so that a missing one is found before parsing.
        known = {f"{side}_relations": parser.relations for side, parser in parsers.items()}
        known |= {f"{side}_parser": parser.name for side, parser in parsers.items()}
        known |= {"sentences": parsers["source"].sentences}
        parts = load_and_parse(args, parsers)
    parts.save_to_disk(args.output_dir)
    (Path(args.output_dir) / PARSERS).write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    for name, part in parts.items():
        words = {side: sum(map(len, part[f"{side}_tokens"])) for side in SIDES}
        print(f"{name}: {len(part)} pairs, words: " + ", ".join(f"{side} {count}" for side, count in words.items()))
    print(f"parsed: {args.output_dir}")
    return require_datasets().load_from_disk(args.output_dir)
