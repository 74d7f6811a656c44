# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Translate with a saved model: one text a line in, one translation a line out.

python examples/translation/translate.py --model outputs/translation < test.en > test.de
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, HfArgumentParser

from complex_transformers.data.parallel_text import read_lines, split_lines

DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass
class Arguments:
    """What to translate, with which model, and how."""

    model: str = field(metadata={"help": "folder or name on the Hub, as run_translation.py saves it"})
    input_file: str | None = field(
        default=None, metadata={"help": "UTF-8, one text a line, also .gz; default: standard input"}
    )
    output_file: str | None = field(default=None, metadata={"help": "default: standard output"})
    num_beams: int | None = field(default=None, metadata={"help": "default: as the model was saved"})
    length_penalty: float | None = None
    max_length: int | None = field(default=None, metadata={"help": "tokens of a translation; default as saved"})
    batch_size: int = 32
    scores: bool = field(
        default=False, metadata={"help": "write the score and a tab first: log probability by length^length_penalty"}
    )
    empty: str = field(default="error", metadata={"help": "empty lines: error, or keep (an empty line comes out)"})
    dtype: str = field(default="auto", metadata={"help": ", ".join(DTYPES)})
    device: str = field(default="cuda" if torch.cuda.is_available() else "cpu", metadata={"help": "cpu, cuda, ..."})

    def __post_init__(self) -> None:
        for name, allowed in (("empty", ("error", "keep")), ("dtype", DTYPES)):
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"--{name} must be one of {list(allowed)}, got {value!r}")
        for name in ("batch_size", "num_beams", "max_length"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, got {value}")


def until_end(sequences: Tensor, eos: int | list[int]) -> Tensor:
    """1 for each token up to the first end of text, which counts, and 0 behind it; like ``sequences [B, T]``."""
    ends = torch.isin(sequences, torch.tensor(eos, device=sequences.device)).long()
    return (ends.cumsum(1) - ends).eq(0).long()


class Translator:
    """A saved model with its tokenizer and the way to search."""

    def __init__(self, args: Arguments) -> None:
        self.args = args
        self.tokenizer = AutoTokenizer.from_pretrained(args.model)
        model = AutoModelForSeq2SeqLM.from_pretrained(args.model, dtype=args.dtype)
        self.model = model.to(args.device).eval()
        given = {name: getattr(args, name) for name in ("num_beams", "length_penalty", "max_length")}
        self.config: GenerationConfig = self.model.generation_config
        self.config.update(**{name: value for name, value in given.items() if value is not None})
        self.config.num_beams = self.config.num_beams or 1
        self.config.return_dict_in_generate = True
        self.config.output_logits = self.config.num_beams == 1
        self.config.output_scores = not self.config.output_logits  # beams: their own scores come with these

    def limit(self) -> int:
        """The longest source, in tokens."""
        config, limits = self.model.config, [self.tokenizer.model_max_length]
        if getattr(config, "embedding_type", "learned_position") == "learned_position":
            limits.append(getattr(config, "max_position_embeddings", None) or limits[0])
        return min(limits)

    def check(self, texts: list[str]) -> None:
        """Name the first line that cannot be translated, before any work is done."""
        empty = [number for number, text in enumerate(texts, 1) if not text.strip()]
        if empty and self.args.empty == "error":
            raise ValueError(
                f"{len(empty)} empty line(s), the first is line {empty[0]}: remove them, or use --empty keep"
            )
        limit = self.limit()
        for number, text in enumerate(texts, 1):
            if (length := len(self.tokenizer(text, verbose=False)["input_ids"])) > limit:
                raise ValueError(f"line {number} has {length} tokens, but the model reads at most {limit}: split it")

    def batch(self, texts: list[str]) -> list[tuple[str, float, bool]]:
        """Translation, score and whether it came to its end, for each text."""
        inputs = self.tokenizer(texts, padding=True, return_tensors="pt").to(self.model.device)
        output: Any = self.model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            generation_config=self.config,
        )
        tokens = output.sequences[:, 1:]  # the first one started the decoder
        kept = until_end(tokens, self.config.eos_token_id)
        finished = torch.isin(tokens, torch.tensor(self.config.eos_token_id, device=tokens.device)).any(1)
        if self.config.output_logits:
            steps = torch.stack(output.logits, 1).float().log_softmax(-1).gather(2, tokens[..., None]).squeeze(2)
            scores = (steps * kept).sum(1) / kept.sum(1) ** (self.config.length_penalty or 1.0)
        else:
            scores = output.sequences_scores
        lines = [" ".join(t.split()) for t in self.tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        return list(zip(lines, scores.tolist(), finished.tolist(), strict=True))

    def __call__(self, texts: list[str]) -> Iterator[tuple[str, float, bool]]:
        """As ``batch``, for any number of texts; an empty text stays empty."""
        for start in range(0, len(texts), self.args.batch_size):
            batch = texts[start : start + self.args.batch_size]
            full = [text for text in batch if text.strip()]
            results = iter(self.batch(full) if full else [])
            yield from (next(results) if text.strip() else ("", 0.0, True) for text in batch)


def main() -> None:
    """Parse the command line and translate."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    transformers.utils.logging.disable_progress_bar()
    path = args.input_file
    texts = split_lines(sys.stdin.buffer.read(), "standard input") if path is None else read_lines(path)
    translator = Translator(args)
    translator.check(texts)
    unfinished = 0
    with (
        nullcontext(sys.stdout)
        if args.output_file is None
        else Path(args.output_file).open("w", encoding="utf-8") as file
    ):
        for line, score, finished in translator(texts):
            file.write(f"{score:.4f}\t{line}\n" if args.scores else f"{line}\n")
            unfinished += not finished
    if unfinished:
        limit = translator.config.max_length
        print(f"{unfinished} translation(s) stop at {limit} tokens: raise --max_length", file=sys.stderr)


if __name__ == "__main__":
    main()
