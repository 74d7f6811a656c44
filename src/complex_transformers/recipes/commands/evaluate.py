# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Score a saved model on a file: perplexity of a text, accuracy of a classifier, or BLEU and chrF of translations.

    complex-transformers evaluate --model outputs/causal-lm --eval_file test.txt
    complex-transformers evaluate --model outputs/text-classification --eval_file test.csv
    complex-transformers evaluate --model outputs/causal-lm --eval_file test.txt --segment 4096 --plot_file plot.png

A causal language model scores a text file; a text classifier a table with the columns ``text`` and ``label``; an
encoder-decoder a table with the columns ``source`` and ``target``. Tables are csv, tsv, json, jsonl or parquet.
Files may be compressed (.gz, .bz2, .xz). ``--by_position`` adds the perplexity by position in a segment, which shows
whether a model can read longer sequences than it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, HfArgumentParser, PreTrainedModel, pipeline

from ...analysis import perplexity_by_position, perplexity_by_range, plot_perplexity_by_position
from ...data.files import read_text
from ...metrics.language_modeling import language_model_scores
from ...metrics.translation import TranslationMetric
from ..datasets.splits import read_table, strings_of
from ..records import rounded, write_results
from ..run import limit_progress_bars
from ..saved_models import load_model


@dataclass
class Arguments:
    """Command line options: the model and the file it is scored on."""

    model: str = field(metadata={"help": "folder or name on the Hub"})
    eval_file: str = field(metadata={"help": "a UTF-8 text, or a table: see above"})
    output_file: str | None = field(default=None, metadata={"help": "JSON file for the scores"})
    segment: int = field(default=256, metadata={"help": "tokens that a language model sees at once"})
    by_position: bool = field(default=False, metadata={"help": "perplexity of positions n/2 + 1 to n of a segment"})
    plot_file: str | None = field(default=None, metadata={"help": "image of the perplexity by position"})
    batch_size: int = field(default=32, metadata={"help": "rows of a table that a model sees at once"})
    text_column: str = "text"
    label_column: str = "label"
    source_column: str = "source"
    target_column: str = "target"
    device: str = field(default="cuda" if torch.cuda.is_available() else "cpu", metadata={"help": "cpu, cuda, ..."})


@torch.no_grad()
def score_text(args: Arguments, model: PreTrainedModel) -> dict[str, Any]:
    """Return the perplexity of a text, cut into segments that are scored independently without their first token."""
    text = read_text(args.eval_file)
    if not text:
        raise ValueError(f"--eval_file must contain text, got the empty file {args.eval_file}.")
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    ids = tokenizer(text, return_tensors="pt", verbose=False).input_ids.to(args.device)
    total, tokens = 0.0, 0
    for segment in ids.split(args.segment, dim=1):
        if (scored := segment.shape[1] - 1) > 0:
            total += model(input_ids=segment, labels=segment).loss.item() * scored
            tokens += scored
    scores = {**language_model_scores(total, tokens), "tokens": tokens}
    return scores | (score_positions(args, model, ids) if args.by_position or args.plot_file else {})


def score_positions(args: Arguments, model: PreTrainedModel, ids: Tensor) -> dict[str, Any]:
    """Return the perplexity by range of positions in a segment of the tokens ``[1, N]``, and plot it by position."""
    segments = [segment for segment in ids.split(args.segment, dim=1) if segment.shape[1] > 1]
    windows = ({"input_ids": segment[:, :-1], "shift_labels": segment[:, 1:]} for segment in segments)
    curve = perplexity_by_position(model, windows)
    if args.plot_file is not None:
        plot_perplexity_by_position({args.model: curve}).savefig(args.plot_file)
    return {"perplexity_by_position": {str(last): value for last, value in perplexity_by_range(curve).items()}}


def score_labels(args: Arguments, model: PreTrainedModel) -> dict[str, Any]:
    """Return the accuracy of a text classifier."""
    table = read_table(args.eval_file, [args.text_column, args.label_column])
    if not len(table):
        raise ValueError(f"--eval_file must have rows, got the empty table {args.eval_file}.")
    texts = strings_of("evaluation", table, args.text_column, "text")
    labels = strings_of("evaluation", table, args.label_column, "label")
    known = sorted(model.config.id2label.values())
    if unknown := sorted(set(labels).difference(known)):
        raise ValueError(f"labels of {args.eval_file} must be labels of the model, {known}, got {unknown}.")
    classify = _pipeline("text-classification", args, model, truncation=True)
    answers = [answer["label"] for answer in classify(texts)]
    hits = [label == answer for label, answer in zip(labels, answers, strict=True)]
    return {"accuracy": sum(hits) / len(hits), "rows": len(hits)}


def score_translations(args: Arguments, model: PreTrainedModel) -> dict[str, Any]:
    """Return BLEU and chrF of an encoder-decoder with the generation settings it was saved with."""
    table = read_table(args.eval_file, [args.source_column, args.target_column])
    translate = _pipeline("complex-text2text", args, model)
    answers = [answer[0]["generated_text"] for answer in translate(list(table[args.source_column]))]
    scores = TranslationMetric().compute(predictions=answers, references=list(table[args.target_column]))
    return {**scores, "rows": len(answers)}


def _pipeline(task: str, args: Arguments, model: PreTrainedModel, **options: Any) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    return pipeline(task, model=model, tokenizer=tokenizer, device=args.device, batch_size=args.batch_size, **options)


# End of the name of a model's class -> its scores.
SCORES: dict[str, Callable[[Arguments, PreTrainedModel], dict[str, Any]]] = {
    "ForCausalLM": score_text,
    "ForSequenceClassification": score_labels,
    "ForConditionalGeneration": score_translations,
}


def main() -> dict[str, Any]:
    """Parse the command line, score the model and print and save the scores."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    model = load_model(args.model).to(args.device)
    name = type(model).__name__
    score = next((score for ending, score in SCORES.items() if name.endswith(ending)), None)
    if score is None or model.main_input_name != "input_ids":
        raise ValueError(f"--model must be a text model whose class ends in {', '.join(SCORES)}, got {name}.")
    scores: dict[str, Any] = rounded(score(args, model), 6)
    for metric, value in scores.items():
        print(f"{metric}: {value}")
    if args.output_file is not None:
        write_results(args.output_file, scores)
    return scores
