# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train small causal decoders, and measure perplexity by position in sequences longer than those of training."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from benchmarks.reporting import ROOT, machine_facts
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from transformers import PreTrainedModel

import complex_transformers
from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM, optimizer_groups
from complex_transformers.analysis import count_parameters, perplexity_by_position, perplexity_by_range
from complex_transformers.recipes.datasets.plain_text import load_plain_text
from complex_transformers.recipes.stateful_language_modeling import TextDataArguments, make_stream, make_tokenizer
from experiments.equal_parameters import even_size
from experiments.paper.data import data_folder

__all__ = ["DATA", "PROTOCOL", "Decoder", "settings", "train_and_test", "train_and_validate"]

# data -> files of the splits, tokenizer, size of its vocabulary
DATA: Mapping[str, tuple[tuple[str, str, str], str, int]] = {
    "text8": (("train-5.8m", "dev-0.5m", "test-0.5m"), "character", 28),
    "wikitext-2": (("train", "valid", "test"), "bpe", 4000),
}
SIZES = {"hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 3, "num_attention_heads": 2}
PROTOCOL: dict[str, Any] = {
    "tokens_per_step": 2048,
    "warmup_share": 0.1,
    "schedule": "cosine",
    "weight_decay": 0.1,
    "max_grad_norm": 1.0,
    "autocast": "bfloat16",
    "scored_windows": 16,
}
NUMBERS = ("learning_rate", "steps", "length", "window")
STEPS_PER_OCTAVE = 4  # of the curves in the results


@dataclass(frozen=True)
class Decoder:
    """A training run without its seed; equal runs give the same result.

    ``SIZES`` are defaults of ``complex_llama``. ``fitted`` is a field of the configuration that is set so that the
    model has the parameters of a complex Llama with ``SIZES``, as nearly as even sizes allow.
    """

    data: str
    options: tuple[tuple[str, Any], ...]  # configuration fields
    learning_rate: float
    steps: int
    length: int = 256  # tokens of a training sequence
    window: int = 4096  # tokens of a test sequence
    family: str = "ComplexLlama"
    fitted: str | None = None

    def cell(self, learning_rate: float) -> Decoder:
        """Return the run with a learning rate."""
        return replace(self, learning_rate=learning_rate)

    def sizes(self) -> dict[str, Any]:
        """Return the given configuration fields and the defaults of the family."""
        return {**(SIZES if self.family == "ComplexLlama" else {}), **dict(self.options)}

    def model(self) -> PreTrainedModel:
        """Return a new model."""
        fitted = {} if self.fitted is None else {self.fitted: self._fitted_size(self.fitted)}
        return self._model(self.family, {**self.sizes(), **fitted})

    def _fitted_size(self, name: str) -> int:
        """Return the value of a field with which the model has the parameters of the complex Llama."""
        wanted = self._count("ComplexLlama", SIZES)
        return even_size(lambda size: self._count(self.family, {**self.sizes(), name: size}), wanted)

    def _model(self, family: str, options: Mapping[str, Any]) -> PreTrainedModel:
        recorded = {"position_type": "rotary"} if family == "ComplexLlama" else {}  # the default of the results
        given = {**recorded, **options}
        config = getattr(complex_transformers, f"{family}Config")(vocab_size=DATA[self.data][2], **given)
        return getattr(complex_transformers, f"{family}ForCausalLM")(config)

    def _count(self, family: str, options: Mapping[str, Any]) -> int:
        with torch.device("meta"):
            return count_parameters(self._model(family, options))


def settings(run: Decoder) -> dict[str, Any]:
    """Return what a result depends on besides the row and the seed."""
    families = {"family": run.family, "fitted": run.fitted} if run.family != "ComplexLlama" else {}
    return {**PROTOCOL, **run.sizes(), **families, **{name: getattr(run, name) for name in NUMBERS}}


def train_and_validate(run: Decoder, seed: int) -> dict[str, Any]:
    """Train a decoder and return its loss in nats per token on validation sequences of the trained length."""
    splits = tokens(run.data)
    model, seconds = trained(run, splits["train"], seed)
    loss = mean_loss(model, splits["validation"][: 128 * (run.length + 1)], run.length)
    return {**_facts(model, seconds), "validation": {"loss": round(loss, 5)}}


def train_and_test(run: Decoder, seed: int) -> dict[str, Any]:
    """Train a decoder and return perplexities on test windows; rotary positions are also scaled to the window."""
    splits = tokens(run.data)
    model, seconds = trained(run, splits["train"], seed)
    test = splits["test"][: PROTOCOL["scored_windows"] * (run.window + 1)]
    curves = {"as trained": curve_of(model, test, run.window)}
    if is_plainly_rotary(model):
        for name, parameters in scaled_positions(run).items():
            curves[name] = curve_of(with_positions(model, parameters, run.window), test, run.window)
    return {**_facts(model, seconds), "perplexity_by_range": curves}


def is_plainly_rotary(model: PreTrainedModel) -> bool:
    """Return whether rotary positions are all that a model knows of the order of tokens."""
    plain = {"position_type": "rotary", "no_rope_layers": None, "imaginary_heads": "none"}
    return all(getattr(model.config, name, "missing") == value for name, value in plain.items())


def _facts(model: PreTrainedModel, seconds: float) -> dict[str, Any]:
    return {"parameters": count_parameters(model), "seconds": round(seconds, 1), "machine": machine_facts()}


def tokens(data: str) -> dict[str, Tensor]:
    """Return the tokens of the splits; they are kept in ``outputs/positions``."""
    path = ROOT / "outputs" / "positions" / f"{data}.pt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(_encode(data), path)
    return {name: stream.long() for name, stream in torch.load(path, weights_only=True).items()}


def _encode(data: str) -> dict[str, Tensor]:
    files, tokenizer, vocab_size = DATA[data]
    paths = [str(data_folder() / "lm" / data / f"{file}.txt.gz") for file in files]
    arguments = TextDataArguments(*paths, tokenizer=tokenizer, vocab_size=vocab_size)
    by_character = tokenizer == "character"
    splits = {name: split["text"] for name, split in load_plain_text(*paths, keep_linebreaks=by_character).items()}
    made = make_tokenizer(splits["train"], arguments)
    return {name: make_stream(texts, made, name, by_character) for name, texts in splits.items()}


def trained(run: Decoder, stream: Tensor, seed: int) -> tuple[PreTrainedModel, float]:
    """Train on windows at random places of the stream, and return the model and the seconds of training."""
    torch.manual_seed(seed)
    model, begin = run.model(), time.perf_counter()
    optimizer = torch.optim.AdamW(optimizer_groups(model, PROTOCOL["weight_decay"]), lr=run.learning_rate)
    schedule = LambdaLR(optimizer, lambda step: _share_of_rate(step, run.steps))
    model.train()
    for _ in range(run.steps):
        starts = torch.randint(len(stream) - run.length, (PROTOCOL["tokens_per_step"] // run.length,))
        batch = torch.stack([stream[start : start + run.length] for start in starts.tolist()])
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), PROTOCOL["max_grad_norm"])
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return model.eval(), time.perf_counter() - begin


def _share_of_rate(step: int, steps: int) -> float:
    """Return the share of the learning rate at a step: linear warmup, then half a cosine."""
    return min((step + 1) / (PROTOCOL["warmup_share"] * steps), (1 + math.cos(math.pi * step / steps)) / 2)


def _windows(stream: Tensor, length: int) -> list[dict[str, Tensor]]:
    """Cut a stream into sequences of ``length`` tokens, each with the tokens to predict."""
    cut = [part[None] for part in stream.split(length + 1) if len(part) == length + 1]
    return [{"input_ids": part[:, :-1], "shift_labels": part[:, 1:]} for part in cut]


def mean_loss(model: PreTrainedModel, stream: Tensor, length: int) -> float:
    """Return the mean loss in nats per token."""
    curve = perplexity_by_position(model, _windows(stream, length))
    return sum(map(math.log, curve)) / len(curve)


def curve_of(model: PreTrainedModel, stream: Tensor, window: int) -> dict[str, float]:
    """Return the perplexity by range of positions, by the last position of each range."""
    curve = perplexity_by_range(perplexity_by_position(model, _windows(stream, window)), STEPS_PER_OCTAVE)
    return {str(last): round(value, 4) for last, value in curve.items()}


def scaled_positions(run: Decoder) -> dict[str, dict[str, Any]]:
    """Return ``rope_parameters`` that fit the window into the trained length."""
    common = {"rope_theta": 10000.0, "factor": run.window / run.length}
    yarn = {**common, "rope_type": "yarn", "original_max_position_embeddings": run.length}
    return {"linear": {**common, "rope_type": "linear"}, "yarn": yarn}


def with_positions(model: PreTrainedModel, parameters: Mapping[str, Any], window: int) -> ComplexLlamaForCausalLM:
    """Return a copy of the model with other ``rope_parameters``."""
    changes = {"rope_parameters": parameters, "max_position_embeddings": window}
    changed = ComplexLlamaForCausalLM(ComplexLlamaConfig(**{**model.config.to_dict(), **changes}))
    changed.load_state_dict(model.state_dict())
    return changed.eval()
