# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Translate raw sentences with a saved SynCoNMT, with relations and attention maps.

complex-transformers run syntax-translate --model outputs/synconmt < test.en > test.de
complex-transformers run syntax-translate --model outputs/synconmt --format json --attention_dir maps < test.en
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import HfArgumentParser, pipeline

from ...analysis import attention_maps, plot_attention
from ...data.files import whole_file
from ..datasets.parallel_text import read_texts
from ..run import limit_progress_bars

FORMATS = ("text", "relations", "json")


@dataclass
class Arguments:
    """Command line options: model, files, output format and beam search."""

    model: str = field(metadata={"help": "folder or name on the Hub, as run syntax-translation saves it"})
    input_file: str | None = field(
        default=None, metadata={"help": "UTF-8, one sentence per line, also .gz; default: standard input"}
    )
    output_file: str | None = field(default=None, metadata={"help": "default: standard output"})
    format: str = field(
        default="text",
        metadata={"help": "text; relations: word/relation; json: one object per line"},
    )
    attention_dir: str | None = field(
        default=None, metadata={"help": "folder for the attention maps 0001.png ...; also written to json"}
    )
    source_parser: str | None = field(default=None, metadata={"help": "default: as saved"})
    sentences: str | None = field(
        default=None,
        metadata={"help": "texts with several sentences: error or join; default: as saved"},
    )
    num_beams: int | None = field(default=None, metadata={"help": "default: as saved"})
    length_penalty: float | None = None
    max_length: int | None = field(default=None, metadata={"help": "maximum words per sentence; default: as saved"})
    batch_size: int = 32
    device: str = field(default="cuda" if torch.cuda.is_available() else "cpu", metadata={"help": "cpu, cuda, ..."})

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"--format must be one of {list(FORMATS)}, got {self.format!r}.")
        for name in ("batch_size", "num_beams", "max_length"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, got {value}.")

    def reading(self) -> dict[str, str]:
        """Return the given options of the processor."""
        given = {"source_parser": self.source_parser, "sentences": self.sentences}
        return {name: value for name, value in given.items() if value is not None}

    def search(self) -> dict[str, Any]:
        """Return the given arguments of ``generate()``."""
        given = {name: getattr(self, name) for name in ("num_beams", "length_penalty", "max_length")}
        return {name: value for name, value in given.items() if value is not None}


def record_of(source: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return a source and its translation, with words and relations if the model has them."""
    words = {name: answer[f"generated_{name}"] for name in ("words", "relations") if f"generated_{name}" in answer}
    return {"source": source, "translation": " ".join(answer["generated_text"].split()), **words}


def line_of(record: dict[str, Any], format_: str) -> str:
    """Format one line of the output."""
    if format_ == "json":
        return json.dumps(record, ensure_ascii=False)
    if format_ == "text":
        return record["translation"]
    return " ".join(f"{word}/{name}" for word, name in zip(record["words"], record["relations"], strict=True))


def main() -> None:
    """Parse the command line, translate, write translations and maps."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars(True)
    texts = read_texts(args.input_file)
    translate = pipeline("complex-text2text", model=args.model, device=args.device, batch_size=args.batch_size)
    model, processor = translate.model, translate.processor
    if processor is None:
        raise ValueError(f"--model must be a SynCoNMT, got {args.model}. Use complex-transformers run translate.")
    if reading := args.reading():
        processor = translate.processor = type(processor).from_pretrained(args.model, **reading)
    with_relations = model.config.use_relations
    if args.format == "relations" and not with_relations:
        raise ValueError("--format must be text or json for a model without relations, got 'relations'.")
    answers = translate(iter(texts), return_relations=with_relations, **args.search())
    with whole_file(args.output_file) as file:
        for number, (text, (answer,)) in enumerate(zip(texts, answers, strict=True), 1):
            record = record_of(text, answer)
            if args.attention_dir is not None:
                (attention,) = attention_maps(model, processor, [text], **args.search())
                record["attention"] = attention.to_dict()
                folder = Path(args.attention_dir)
                folder.mkdir(parents=True, exist_ok=True)
                plot_attention(attention).savefig(folder / f"{number:04d}.png")
            file.write(f"{line_of(record, args.format)}\n")
