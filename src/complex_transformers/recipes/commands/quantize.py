# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quantize the complex layers of a saved model to 1, 2 or 3 stages of two bits per complex weight, and save it packed.

    complex-transformers quantize --model lifted --output packed --calibration_file train.txt

Without ``--calibration_file`` each weight is rounded to the nearest value, which loses more accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub.repocard import metadata_load
from transformers import AutoConfig, AutoProcessor, AutoTokenizer, HfArgumentParser

from ...data.files import read_text
from ...models.base.hub import write_model_card
from ...quantization.configuration import ComplexQuantizationConfig
from ..run import limit_progress_bars
from ..saved_models import load_model


@dataclass
class Arguments:
    """Command line options: the model, and how it is quantized."""

    model: str = field(metadata={"help": "folder or name on the Hub of a complex model"})
    output: str = field(metadata={"help": "folder of the quantized model"})
    stages: int = field(default=2, metadata={"help": "1 to 3; each takes two bits per complex weight"})
    module_stages: list[str] = field(
        default_factory=list, metadata={"help": "stages of some layers by name or ending of a name: down_proj=3"}
    )
    granularity: str = field(default="row", metadata={"help": "one scale per row, or per tensor"})
    calibration_file: str | None = field(default=None, metadata={"help": "UTF-8 text that calibrates the rounding"})
    calibration_tokens: int = field(default=2048, metadata={"help": "number of tokens of it that are used"})
    segment: int = field(default=256, metadata={"help": "tokens per sequence of the calibration"})


def stages_of_modules(args: Arguments) -> dict[str, int]:
    """Return the stages of layers that have their own.

    Raises:
        ValueError: an item that is not a name and a number.
    """
    pairs = [item.rpartition("=") for item in args.module_stages]
    if wrong := [name + sign + count for name, sign, count in pairs if not (name and count.isdecimal())]:
        raise ValueError(f"--module_stages must be like down_proj=3, got {' '.join(wrong)}.")
    return {name: int(count) for name, _, count in pairs}


def calibration_of(args: Arguments) -> list[Any] | None:
    """Return token ids ``[1, T]`` of the calibration text, or None without one."""
    if args.calibration_file is None:
        return None
    text = read_text(args.calibration_file)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    ids = tokenizer(text, return_tensors="pt", verbose=False).input_ids[:, : args.calibration_tokens]
    return list(ids.split(args.segment, dim=1))


def save_processor(args: Arguments) -> None:
    """Save the tokenizer or processor of the model, if it has one, beside the quantized weights."""
    try:
        processor = AutoProcessor.from_pretrained(args.model)
    except (OSError, ValueError):
        return
    processor.save_pretrained(args.output)


def main() -> None:
    """Parse the command line, quantize the model and save it with its tokenizer and card."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    if hasattr(AutoConfig.from_pretrained(args.model), "quantization_config"):
        raise ValueError(f"--model must not be quantized already, got {args.model}. Pass the model it was made from.")
    own = stages_of_modules(args)
    calibration = calibration_of(args)
    config = ComplexQuantizationConfig(args.stages, args.granularity, calibration=calibration, module_stages=own)
    model = load_model(args.model, quantization_config=config)
    model.save_pretrained(args.output)
    save_processor(args)
    card = Path(args.model) / "README.md"
    rule = "nearest" if config.calibration is None else "calibrated"
    others = "".join(f", {count} in {name}" for name, count in own.items())
    write_model_card(
        args.output,
        model,
        license=(metadata_load(card) or {}).get("license") if card.is_file() else None,
        training_data=f"Training data of {Path(args.model).name}.",
        limits=f"The complex layers are quantized with {args.stages} stages{others} ({rule} rounding).",
    )
    print(f"{args.output}: {sum(file.stat().st_size for file in Path(args.output).glob('*.safetensors')):,} bytes")
