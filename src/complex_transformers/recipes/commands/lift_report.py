# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Lift a Llama- or BERT-like checkpoint, optionally quantize it, and compare the results with the original.

complex-transformers run lift-report --model path/to/checkpoint --output_dir outputs/lift-example --stages 2 3
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.repocard import metadata_load
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, PreTrainedModel

import complex_transformers

from ...analysis import conjugate_share
from ...conversion.lift import network_of
from ...conversion.lift_checkpoint import lift_checkpoint
from ...conversion.lift_families import FAMILIES
from ...data.files import read_text
from ...models.base.hub import write_model_card
from ...quantization.configuration import ComplexQuantizationConfig
from ..datasets.word_order import docstring_sentences
from ..records import write_results
from ..run import limit_progress_bars


@dataclass
class Arguments:
    """Command line options: checkpoint, quantization, evaluation data."""

    model: str = field(metadata={"help": "folder with config.json and safetensors, or a file .gguf"})
    output_dir: str = "outputs/lift-example"
    stages: list[int] = field(
        default_factory=list,
        metadata={"help": "also quantize the lifted layers to these numbers of bits per real weight: any of 1 2 3"},
    )
    granularity: str = field(default="row", metadata={"help": "scales per row or per tensor"})
    calibration_file: str | None = field(
        default=None,
        metadata={"help": "text file for calibration; default the tokens after the evaluated ones"},
    )
    calibration_tokens: int = field(default=2048, metadata={"help": "maximum number; 0 for nearest rounding only"})
    eval_file: str | None = field(
        default=None,
        metadata={"help": "text file; default docstrings of Python's standard library, which depend on its version"},
    )
    eval_tokens: int = field(default=1024, metadata={"help": "maximum number of evaluated tokens"})
    segment: int = field(default=256, metadata={"help": "tokens per forward pass"})
    prompt: str = "The capital of France is"
    new_tokens: int = 20
    license: str | None = field(default=None, metadata={"help": "of the weights, for the model card"})

    def __post_init__(self) -> None:
        """Check the options before anything is written."""
        for stages in self.stages:
            ComplexQuantizationConfig(stages, self.granularity)
        for name, least in (("eval_tokens", 2), ("segment", 2), ("calibration_tokens", 0)):
            if (value := getattr(self, name)) < least:
                raise ValueError(f"--{name} must be at least {least}, got {value}.")
        if (file := self.calibration_file) is not None and not (self.stages and self.calibration_tokens):
            raise ValueError(
                f"--calibration_file must be left out without --stages or --calibration_tokens, got {file}."
            )


def read_texts(args: Arguments) -> tuple[str, str | None]:
    """Return the evaluation text, and the calibration text if it has its own file."""
    files = args.eval_file, args.calibration_file
    evaluated, calibrating = (None if file is None else read_text(file) for file in files)
    if evaluated is not None and not evaluated.strip():
        raise ValueError(f"--eval_file must contain text, got the empty file {args.eval_file}.")
    return evaluated or ". ".join(docstring_sentences()[:1000]), calibrating


def segments_of(
    args: Arguments, texts: tuple[str, str | None], tokenizer: Any, longest: int
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """Return segments of token ids ``[1, T]`` for evaluation and for calibration."""
    evaluated, calibrating = texts
    ids = tokenizer(evaluated, return_tensors="pt", verbose=False).input_ids
    ids, rest = ids[:, : args.eval_tokens], ids[:, args.eval_tokens :]
    if calibrating is not None:
        rest = tokenizer(calibrating, return_tensors="pt", verbose=False).input_ids
    rest = rest[:, : args.calibration_tokens]
    if args.stages and args.calibration_tokens and not rest.numel():
        raise ValueError(f"--eval_tokens must leave some for calibration, got {ids.shape[1]}. Use --calibration_file.")
    length = min(args.segment, longest)
    return ids.split(length, dim=1), rest.split(length, dim=1)


def roundings(args: Arguments, texts: Sequence[Tensor]) -> dict[str, ComplexQuantizationConfig]:
    """Return the configurations of all requested quantizations, without and with calibration."""
    calibrations = {"nearest": None, "calibrated": texts} if args.calibration_tokens else {"nearest": None}
    return {
        f"{stages}-bits-{name}": ComplexQuantizationConfig(stages, args.granularity, calibration=calibration)
        for stages in args.stages
        for name, calibration in calibrations.items()
    }


def load_original(source: Path) -> PreTrainedModel:
    """Load the real model in float32."""
    if source.suffix == ".gguf":
        files = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
        return AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32).eval()
    config = AutoConfig.from_pretrained(source)
    has_decoder = "ForCausalLM" in FAMILIES[config.model_type].heads
    kind = AutoModelForCausalLM if has_decoder else getattr(transformers, network_of(config))
    return kind.from_pretrained(source, dtype=torch.float32).eval()


def load(folder: Path, **options: Any) -> PreTrainedModel:
    """Load the complex model of a folder with the class it was saved as."""
    (network,) = AutoConfig.from_pretrained(folder).architectures
    return getattr(complex_transformers, network).from_pretrained(folder, **options).eval()


def save_packed(folder: Path, config: ComplexQuantizationConfig, target: Path) -> None:
    """Quantize the lifted model of a folder and save it with the same licence."""
    packed = load(folder, quantization_config=config)
    packed.save_pretrained(target)
    rule = "nearest" if config.calibration is None else "calibrated"
    write_model_card(
        target,
        packed,
        license=metadata_load(folder / "README.md")["license"],
        training_data="Same as the original model, which was lifted without training.",
        limits=f"Layers are quantized to {config.stages} bits per real weight ({rule} rounding).",
    )


def size_of(source: Path) -> int:
    """Return the size of the weight files in bytes."""
    files = source.glob("model*.safetensors") if source.is_dir() else [source]
    return sum(file.stat().st_size for file in files)


@torch.no_grad()
def outputs_of(model: PreTrainedModel, segments: Sequence[Tensor]) -> list[Tensor]:
    """Return the logits of each segment, or the hidden states of an encoder without a head."""
    return [model(segment)[0][0] for segment in segments]


def perplexity(logits: list[Tensor], segments: Sequence[Tensor]) -> float:
    """Compute exp of the mean cross entropy of all tokens but the first of each segment."""
    losses = [
        torch.nn.functional.cross_entropy(out[:-1], segment[0, 1:], reduction="none")
        for out, segment in zip(logits, segments, strict=True)
    ]
    return torch.cat(losses).mean().exp().item()


class Comparison:
    """Evaluates models on one text and compares them with the first, the original."""

    def __init__(self, args: Arguments, tokenizer: Any, segments: Sequence[Tensor]) -> None:
        self.prompt = tokenizer(args.prompt, return_tensors="pt")
        self.tokenizer, self.segments, self.new_tokens = tokenizer, segments, args.new_tokens
        self.original: list[Tensor] | None = None
        self.networks: dict[str, dict[str, Any]] = {}

    def add(self, name: str, model: PreTrainedModel, source: Path) -> None:
        """Evaluate a model; the original comes first. ``source`` holds its weights."""
        outputs = outputs_of(model, self.segments)
        self.original = outputs if self.original is None else self.original
        found: dict[str, Any] = {
            "largest_difference": max((a - b).abs().max().item() for a, b in zip(outputs, self.original, strict=True)),
            "bytes": size_of(source),
        }
        if model.can_generate():
            generated = model.generate(**self.prompt, max_new_tokens=self.new_tokens, do_sample=False)[0]
            text = self.tokenizer.decode(generated, skip_special_tokens=True)
            found |= {"perplexity": perplexity(outputs, self.segments), "text": text}
        self.networks[name] = found

    def table(self) -> str:
        """Return the results as a Markdown table."""
        header = "| model | perplexity | largest difference of outputs | bytes of the weight files |"
        rows = [
            f"| {name} | {format(found['perplexity'], ',.2f') if 'perplexity' in found else '-'} "
            f"| {found['largest_difference']:.1e} | {found['bytes']:,} |"
            for name, found in self.networks.items()
        ]
        return "\n".join([header, "|---|---:|---:|---:|", *rows])


def shares_by_kind(model: PreTrainedModel) -> dict[str, float]:
    """Return the mean conjugate share of each kind of layer."""
    shares = defaultdict(list)
    for name, share in conjugate_share(model).items():
        shares[name.rpartition(".")[2]].append(share)
    return {kind: statistics.fmean(values) for kind, values in shares.items()}


def main() -> dict[str, Any]:
    """Lift and quantize a checkpoint; compare each saved network with the original."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    source, output = Path(args.model), Path(args.output_dir)
    folder = output / "model"
    texts = read_texts(args)
    lift_checkpoint(source, folder, license=args.license)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    original, lifted = load_original(source), load(folder)
    evaluated, calibrating = segments_of(args, texts, tokenizer, original.config.max_position_embeddings)

    comparison = Comparison(args, tokenizer, evaluated)
    comparison.add("original", original, source)
    comparison.add("lifted", lifted, folder)
    for name, config in roundings(args, calibrating).items():
        save_packed(folder, config, output / name)
        tokenizer.save_pretrained(output / name)
        # Without a compiler, packed weights would be unpacked in every forward pass.
        comparison.add(name, load(output / name).dequantize(), output / name)
    generated = [comparison.networks[name].get("text") for name in ("original", "lifted")]
    results = {
        "parameters": lifted.num_parameters(),
        "networks": comparison.networks,
        "same_text": generated[0] == generated[1],
        "conjugate_share": shares_by_kind(lifted),
    }
    write_results(output / "results.json", results)
    for name, value in results.items():
        print(f"{name}: {value}")
    print(comparison.table())
    return results
