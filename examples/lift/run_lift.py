# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of the shape of Llama, lifted, saved, and evaluated beside the original on the same text.

python examples/lift/run_lift.py --model path/to/checkpoint --output_dir outputs/lift-example
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, PreTrainedModel

from complex_transformers import conjugate_share, limit_progress_bars, write_results
from complex_transformers.conversion.lift_checkpoint import lift_checkpoint
from complex_transformers.data.word_order import docstring_sentences


@dataclass
class Arguments:
    """What is lifted, and what it reads."""

    model: str = field(metadata={"help": "folder with config.json and safetensors, or a file .gguf"})
    output_dir: str = "outputs/lift-example"
    eval_file: str | None = field(
        default=None,
        metadata={"help": "a text; default sentences of Python's docstrings, which change with its version"},
    )
    eval_tokens: int = field(default=1024, metadata={"help": "read at most so many tokens of it"})
    segment: int = field(default=256, metadata={"help": "tokens that are read at once"})
    prompt: str = "The capital of France is"
    new_tokens: int = 20
    license: str | None = field(default=None, metadata={"help": "of the weights, for the card"})


@torch.no_grad()
def logits_of(model: PreTrainedModel, segments: tuple[Tensor, ...]) -> list[Tensor]:
    """Logits of each segment of a text, read on its own."""
    return [model(segment).logits[0] for segment in segments]


def perplexity(logits: list[Tensor], segments: tuple[Tensor, ...]) -> float:
    """exp of the mean cross entropy of all tokens but the first of each segment."""
    losses = [
        torch.nn.functional.cross_entropy(out[:-1], segment[0, 1:], reduction="none")
        for out, segment in zip(logits, segments, strict=True)
    ]
    return torch.cat(losses).mean().exp().item()


def shares_by_kind(model: PreTrainedModel) -> dict[str, float]:
    """The mean share of the conjugate of each kind of layer."""
    shares = defaultdict(list)
    for name, share in conjugate_share(model).items():
        shares[name.rpartition(".")[2]].append(share)
    return {kind: statistics.fmean(values) for kind, values in shares.items()}


def main() -> dict[str, Any]:
    """Lift, save, load, compare."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    source, folder = Path(args.model), Path(args.output_dir) / "model"
    lift_checkpoint(source, folder, license=args.license)
    files = {"pretrained_model_name_or_path": source}
    if source.suffix == ".gguf":
        files = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    original = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32).eval()
    lifted = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    text = ". ".join(docstring_sentences()[:500])
    if args.eval_file is not None:
        text = Path(args.eval_file).read_text(encoding="utf-8")
    segments = tokenizer(text, return_tensors="pt").input_ids[:, : args.eval_tokens].split(args.segment, dim=1)
    ours, theirs = logits_of(lifted, segments), logits_of(original, segments)
    prompt = tokenizer(args.prompt, return_tensors="pt")
    written = [
        model.generate(**prompt, max_new_tokens=args.new_tokens, do_sample=False)[0].tolist()
        for model in (lifted, original)
    ]
    results = {
        "parameters": lifted.num_parameters(),
        "perplexity": {"lifted": perplexity(ours, segments), "original": perplexity(theirs, segments)},
        "largest_difference": max((a - b).abs().max().item() for a, b in zip(ours, theirs, strict=True)),
        "text": tokenizer.decode(written[0], skip_special_tokens=True),
        "same_text": written[0] == written[1],
        "conjugate_share": shares_by_kind(lifted),
    }
    write_results(Path(args.output_dir) / "results.json", results)
    for name, value in results.items():
        print(f"{name}: {value}")
    return results


if __name__ == "__main__":
    main()
