# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a low-bit checkpoint: lifted and quantized, or the original with rules for real weights.

``measure`` quantizes without training; ``measure_trained`` uses quantization-aware training; ``measure_precisions``
computes with the kernels of packed layers.
"""

from __future__ import annotations

import copy
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
from complex_transformers.kernels.native import low_bit
from complex_transformers.nn import PackedLinear
from experiments.lift.gptq import Grid, bits_of_grid, round_to_grid
from experiments.lift.learned_scales import LEARNED, round_with_learned_scales
from experiments.lift.packages import Packaged, fetch
from experiments.lift.real_rules import RULES, bits_of_rule, layers_to_round, round_by_hqq, round_straight_through

__all__ = [
    "Rounded",
    "Trained",
    "measure",
    "measure_precisions",
    "measure_trained",
    "precision_settings",
    "settings",
    "training_settings",
]

# Tokens of the test split for scoring, of the training split for calibration, and of the validation split for
# choosing a learning rate, in sequences of one length.
TEST_TOKENS, CALIBRATION_TOKENS, VALIDATION_TOKENS, LENGTH = 16384, 8192, 4096, 1024
CHARACTERS = 8  # tolerance of the mean loss per token
# Tokens per call of packed layers, few enough for lookups in tables, and tokens for scoring with them.
CHUNK, CHUNKS_TOKENS = 16, 4096
ROUNDING = ("avx2", "neon")  # instruction sets with tables of rounded inputs
# Training steps (one sequence each), and steps of the short runs that choose the learning rate.
STEPS, TRIAL_STEPS, RATES, TRAINING_LENGTH = 120, 20, (2e-4, 4e-4, 8e-4, 1.6e-3, 3.2e-3), 512


@dataclass(frozen=True)
class Rounded:
    """A checkpoint and its quantization rule.

    ``rule`` is ``float``, ``lifted`` (lifted, in float), ``units`` (sums of ``stages`` roundings to 1, i, -1, -i, or
    of the stages that ``module_stages`` names for some layers),
    ``hqq`` for HQQ with ``hqq_bits`` and a group size, ``grid`` for real weights on a uniform grid, or a rule of
    ``RULES`` for real weights. ``calibrated`` weights (``units`` and ``grid``) are rounded by GPTQ's error feedback.
    """

    checkpoint: Packaged
    rule: str = "float"
    stages: int | None = None
    granularity: str = "row"
    calibrated: bool = False
    hqq_bits: int | None = None
    hqq_group: int = 64
    grid: Grid | None = None
    module_stages: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Trained:
    """A checkpoint and the rule of its quantization-aware training.

    ``rule`` is ``units``, a rule for real weights, or one with learned scales. Training starts from the float weights,
    or from ``calibrated`` ones (``units`` and stretched grids). With ``distilled``, the loss is the KL divergence from
    the logits of the float model, otherwise the cross-entropy of the tokens.
    """

    checkpoint: Packaged
    rule: str
    stages: int | None = None
    calibrated: bool = False
    distilled: bool = False


def settings(rounded: Rounded) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    options = asdict(rounded)
    for name in ("grid", "module_stages"):
        if not options[name]:
            del options[name]
    if rounded.stages in (2, 3) and rounded.granularity == "row":
        options["scales"] = "joint"
    sizes = {"test_tokens": TEST_TOKENS, "length": LENGTH}
    return options | sizes | _calibration_settings(rounded)


def training_settings(trained: Trained) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    training = {"steps": STEPS, "trial_steps": TRIAL_STEPS, "rates": list(RATES), "training_length": TRAINING_LENGTH}
    sizes = {"test_tokens": TEST_TOKENS, "validation_tokens": VALIDATION_TOKENS, "length": LENGTH}
    return asdict(trained) | training | sizes | _calibration_settings(trained)


def _calibration_settings(options: Rounded | Trained) -> dict[str, Any]:
    return {"calibration_tokens": CALIBRATION_TOKENS} if options.calibrated else {}


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
    began = time.process_time()
    model, bits = quantized(model, rounded, calibration(tokenizer, rounded))
    seconds = time.process_time() - began
    found = {
        "perplexity": perplexity(model, wikitext(tokenizer, "test", TEST_TOKENS)),
        "bits": bits,
        "megabytes": (4 * others + bits * weights / 8) / 1e6,
    }
    print(found, flush=True)
    return {**found, "seconds": seconds, "machine": machine_facts("gguf", "hqq")}


def precision_settings(rounded: Rounded) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    return settings(rounded) | {"test_tokens": CHUNKS_TOKENS, "chunk": CHUNK}


def measure_precisions(rounded: Rounded, seed: int) -> dict[str, Any]:
    """Measure the perplexity of packed layers for each precision of float32 products, see ``kernels.native``.

    Raises:
        RuntimeError: this processor has no kernel for less precise products.
    """
    rounding = [place for place, name in enumerate(low_bit.paths()) if name in ROUNDING]
    if not rounding:
        raise RuntimeError(f"this processor must have AVX2 or NEON and a compiler, got {low_bit.paths()}")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model, tokenizer = load(rounded.checkpoint)
    assert rounded.stages is not None
    config = ComplexQuantizationConfig(rounded.stages, calibration=calibration(tokenizer, rounded))
    model = quantize(lift(model), config).eval()
    texts = wikitext(tokenizer, "test", CHUNKS_TOKENS)
    losses = {}
    before = low_bit.path, torch.get_float32_matmul_precision()
    low_bit.path = rounding[0]
    try:
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            losses[precision] = torch.cat([losses_by_chunks(model, text) for text in texts])
    finally:
        low_bit.path = before[0]
        torch.set_float32_matmul_precision(before[1])
    found = {
        "perplexity": {precision: loss.mean().exp().item() for precision, loss in losses.items()},
        "largest_difference": (losses["high"] - losses["highest"]).abs().max().item(),
    }
    print(found, flush=True)
    return {**found, "instructions": low_bit.paths()[rounding[0]], "machine": machine_facts("gguf")}


@torch.no_grad()
def losses_by_chunks(model: PreTrainedModel, text: Tensor) -> Tensor:
    """Return the loss of all but the first token of a sequence that is processed in chunks."""
    cache, logits = None, []
    for chunk in text.split(CHUNK):
        out = model(chunk[None], cache=cache, use_cache=True)
        cache = out.cache
        logits.append(out.logits[0])
    return nn.functional.cross_entropy(torch.cat(logits)[:-1].double(), text[1:], reduction="none")


def calibration(tokenizer: Any, options: Rounded | Trained) -> list[Tensor] | None:
    """Return the calibration sequences, ``[1, length]`` each; None without calibration."""
    return list(wikitext(tokenizer, "train", CALIBRATION_TOKENS).split(1)) if options.calibrated else None


def quantized(model: PreTrainedModel, rounded: Rounded, texts: list[Tensor] | None) -> tuple[PreTrainedModel, float]:
    """Return the model with quantized weights, computed in float, and its bits per weight."""
    if rounded.rule == "hqq":
        assert rounded.hqq_bits is not None
        return model, round_by_hqq(model, rounded.hqq_bits, rounded.hqq_group)
    if rounded.rule == "grid":
        assert rounded.grid is not None
        round_to_grid(model, rounded.grid, texts)
        return model, bits_of_grid(model, rounded.grid)
    if rounded.rule in RULES:
        round_straight_through(model, rounded.rule)
        return model, bits_of_rule(model, rounded.rule)
    if rounded.rule == "units":
        assert rounded.stages is not None
        own = dict(rounded.module_stages)
        config = ComplexQuantizationConfig(rounded.stages, rounded.granularity, calibration=texts, module_stages=own)
        model = quantize(lift(model), config)
        bits = bits_of_units(model)
        model.dequantize()  # the same function, without unpacking in every forward call
        return model, bits
    return lift(model) if rounded.rule == "lifted" else model, 32.0


def measure_trained(trained: Trained, seed: int) -> dict[str, Any]:
    """Train with quantized weights and the best learning rate of short runs; measure perplexities and times."""
    torch.set_num_threads(1)
    began = time.process_time()
    teacher, tokenizer = load(trained.checkpoint)
    start = trainable(copy.deepcopy(teacher), trained, calibration(tokenizer, trained))
    preparation = time.process_time() - began
    before = perplexity(start, wikitext(tokenizer, "test", TEST_TOKENS))
    common = start, teacher if trained.distilled else None, tokenizer, trained, seed
    trials = {rate: train(*common, rate, TRIAL_STEPS, "valid", VALIDATION_TOKENS) for rate in RATES}
    rate = min(trials, key=lambda rate: trials[rate]["perplexity"])
    found = train(*common, rate, STEPS, "test", TEST_TOKENS)
    print(found, flush=True)
    tried = {str(rate): trial["perplexity"] for rate, trial in trials.items()}
    facts = {
        "before": before,
        "rate": rate,
        "validation": tried,
        "preparation": preparation,
        "machine": machine_facts("gguf"),
    }
    return {**found, **facts}


def trainable(model: PreTrainedModel, trained: Trained, texts: list[Tensor] | None) -> PreTrainedModel:
    """Return a model that computes with quantized weights and trains float ones, initially calibrated if asked."""
    if trained.rule == "units":
        assert trained.stages is not None
        model = lift(model)
        if texts is not None:
            quantize(model, ComplexQuantizationConfig(trained.stages, calibration=texts)).dequantize()
        return quantize(model, ComplexQuantizationConfig(trained.stages, training=True))
    if trained.rule in LEARNED:
        learned = LEARNED[trained.rule]
        made = None if texts is None else round_to_grid(model, learned.grid, texts)
        round_with_learned_scales(model, learned, None if made is None else [rounding.scale for rounding in made])
        return model
    round_straight_through(model, trained.rule)
    return model


class Distillation(Trainer):
    """Minimise the mean KL divergence from the logits of ``teacher`` per token, instead of the cross-entropy."""

    teacher: PreTrainedModel | None = None

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], *arguments: Any, **options: Any) -> Any:
        if self.teacher is None:
            return super().compute_loss(model, inputs, *arguments, **options)
        with torch.no_grad():
            wanted = self.teacher(inputs["input_ids"], use_cache=False).logits.float().log_softmax(-1)
        found = model(inputs["input_ids"], use_cache=False).logits.float().log_softmax(-1)
        return nn.functional.kl_div(found.flatten(0, 1), wanted.flatten(0, 1), log_target=True, reduction="batchmean")


def train(
    start: PreTrainedModel,
    teacher: PreTrainedModel | None,
    tokenizer: Any,
    trained: Trained,
    seed: int,
    rate: float,
    steps: int,
    part: str,
    tokens: int,
) -> dict[str, Any]:
    """Train a copy of ``start`` for some steps; return the perplexity of a split."""
    model = copy.deepcopy(start)
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
            disable_tqdm=True,
            seed=seed,
        )
        data = [{"input_ids": text, "labels": text} for text in texts]
        trainer = Distillation(model, arguments, train_dataset=data)
        trainer.teacher = teacher
        began = time.process_time()
        trainer.train()
    seconds = time.process_time() - began
    if trained.rule == "units":
        quantize(model)
    return {
        "perplexity": perplexity(model, wikitext(tokenizer, part, tokens)),
        "bits": bits_of_trained(model, trained.rule),
        "seconds": seconds,
        "curve": [round(line["loss"], 3) for line in trainer.state.log_history if "loss" in line],
    }


def bits_of_trained(model: nn.Module, rule: str) -> float:
    """Return the bits per weight of a trained model, with scales."""
    if rule == "units":
        return bits_of_units(model)
    return bits_of_grid(model, LEARNED[rule].grid) if rule in LEARNED else bits_of_rule(model, rule)


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
