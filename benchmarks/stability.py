# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Does training diverge? Every activation, norm, attention score, initialiser and recurrent cell, from many seeds.

    python -m benchmarks.stability --seeds 20 --processes 2

trains a small classifier from each seed in each setting, everything else at its default (dropout included), without
warm-up and without gradient clipping, which would hide what is looked for. A run

* *diverged* when a loss or a gradient is not finite;
* *did not learn* when it did not diverge and its mean training loss over the last 10 steps is above 0.9 ln 2: the task
  has two equally frequent classes, so ln 2 is the loss of an answer by chance.

Each run is one line of ``benchmarks/results/stability.jsonl``; runs that are there already are not repeated, so that a
stopped measurement goes on where it stood. The table goes to ``docs/stability.md``.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

import complex_transformers
from benchmarks.reporting import DOCS, RESULTS, machine_facts, machine_line, markdown_table, write_part
from complex_transformers import build_tokenizer, optimizer_groups, word_order_dataset
from complex_transformers.models.base.configuration import NORM_POSITIONS, NORM_TYPES
from complex_transformers.models.complex_text_rnn.configuration_complex_text_rnn import RNN_TYPES
from complex_transformers.nn import ACT2CFN, ATTENTION_FUNCTIONS, INITIALIZERS, STATE_ACTIVATIONS

CHANCE = math.log(2.0)
LEARNED_BELOW = 0.9 * CHANCE
LAST_STEPS = 10

# Whatever changes the outcome of a run. Lines measured under another protocol are refused, not mixed in.
PROTOCOL: dict[str, Any] = {
    "task": "word_order_dataset(max_sentences=160), split train: 256 texts, half of them shuffled",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "steps": 100,
    "batch_size": 32,
    "optimizer": "AdamW",
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
    "warmup_steps": 0,
    "max_grad_norm": None,
    "threads": 1,
}


@dataclass(frozen=True)
class Setting:
    """A change of the default configuration of a family and the group of the table it belongs to."""

    group: str
    changes: tuple[tuple[str, str], ...]
    family: str = "ComplexOrder"

    @property
    def name(self) -> str:
        """Key in the results; the default configuration stands in every group but is measured once."""
        changes = ", ".join(f"{key}={value}" for key, value in self.changes)
        if self.family != "ComplexOrder":
            return f"{self.family}, {changes}"
        return "default" if self.is_default() else changes

    @property
    def label(self) -> str:
        """Row of the table."""
        return ", ".join(f"`{value}`" for _, value in self.changes)

    def is_default(self) -> bool:
        """Whether this is the default configuration of the family."""
        config = getattr(complex_transformers, f"{self.family}Config")()
        return all(getattr(config, key) == value for key, value in self.changes)


def settings() -> list[Setting]:
    """Everything the registries hold, so that a new activation or norm cannot be forgotten here."""
    rows = [Setting("Activation", (("hidden_act", name),)) for name in ACT2CFN]
    rows += [
        Setting("Norm and its position", (("norm_type", norm), ("norm_position", position)))
        for norm in NORM_TYPES
        for position in NORM_POSITIONS
    ]
    rows += [
        Setting(
            "Attention score and normalisation",
            (("attention_score", score), ("attention_normalization", normalization)),
        )
        for score, normalization in ATTENTION_FUNCTIONS
    ]
    rows += [Setting("Initialiser", (("weight_init", name),)) for name in INITIALIZERS]
    rows += [
        Setting(f"Recurrent classifier, {kind}", (("rnn_type", kind), *changes), "ComplexTextRNN")
        for kind in RNN_TYPES
        for changes in _recurrent_changes(kind)
    ]
    return rows


def _recurrent_changes(kind: str) -> list[tuple[tuple[str, str], ...]]:
    """Every gate of the default activation and every activation of the default gate; a plain RNN has no gate."""
    activations = [(("state_activation", name),) for name in STATE_ACTIVATIONS]
    return activations if kind == "rnn" else [*activations, (("gate", "split"),)]


@cache
def training_data() -> tuple[Tensor, Tensor, Tensor, int]:
    """Ids, mask and labels of all training texts, and the size of the vocabulary."""
    split = word_order_dataset(max_sentences=160)["train"]
    texts, labels = list(split["text"]), torch.tensor(list(split["label"]))
    if labels.double().mean() != 0.5:
        raise AssertionError("the classes must be balanced: ln 2 is taken as the loss of chance")
    tokenizer = build_tokenizer(texts, vocab_size=2000)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    return batch["input_ids"], batch["attention_mask"], labels, len(tokenizer)


def _batches(size: int, generator: torch.Generator) -> Iterator[Tensor]:
    while True:
        yield from torch.randperm(size, generator=generator).split(PROTOCOL["batch_size"])


def make_model(setting: Setting, vocab_size: int) -> PreTrainedModel:
    """The classifier of a setting; states of a recurrent one are as wide as the hidden states of the others."""
    config_class = getattr(complex_transformers, f"{setting.family}Config")
    sizes = {key: value for key, value in PROTOCOL.items() if hasattr(config_class, key)}
    if hasattr(config_class, "recurrent_size"):
        sizes = {"hidden_size": PROTOCOL["hidden_size"], "recurrent_size": PROTOCOL["hidden_size"]}
    config = config_class(vocab_size=vocab_size, **sizes, **dict(setting.changes))
    return getattr(complex_transformers, f"{setting.family}ForSequenceClassification")(config)


def train(setting: Setting, seed: int) -> dict[str, Any]:
    """One run: weights, dropout and the order of the batches follow from ``seed``."""
    torch.set_num_threads(PROTOCOL["threads"])
    input_ids, attention_mask, labels, vocab_size = training_data()
    torch.manual_seed(seed)
    model = make_model(setting, vocab_size)
    model.train()
    optimizer = torch.optim.AdamW(optimizer_groups(model, PROTOCOL["weight_decay"]), lr=PROTOCOL["learning_rate"])
    losses: list[float] = []
    largest_gradient = 0.0
    diverged_at: str | None = None
    start = time.perf_counter()
    batches = _batches(len(labels), torch.Generator().manual_seed(seed))
    for step, rows in zip(range(PROTOCOL["steps"]), batches, strict=False):
        optimizer.zero_grad()
        loss = model(input_ids[rows], attention_mask=attention_mask[rows], labels=labels[rows]).loss
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            diverged_at = f"loss {losses[-1]} at step {step}"
            break
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients).item()
        if not math.isfinite(norm):
            broken = [n for n, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
            diverged_at = f"gradient of {', '.join(broken) or 'too large a norm'} at step {step}"
            break
        largest_gradient = max(largest_gradient, norm)
        optimizer.step()
    final = statistics.fmean(losses[-LAST_STEPS:]) if diverged_at is None else None
    return {
        "first_loss": losses[0] if math.isfinite(losses[0]) else None,
        "final_loss": final,
        "largest_gradient_norm": largest_gradient,
        "diverged": diverged_at,
        "did_not_learn": final is not None and final > LEARNED_BELOW,
        "seconds": round(time.perf_counter() - start, 2),
    }


def read_runs(path: Path) -> tuple[dict[str, Any] | None, dict[tuple[str, int], dict[str, Any]]]:
    """The first line (protocol and machine) and the runs by setting and seed."""
    if not path.exists():
        return None, {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return lines[0], {(line["setting"], line["seed"]): line for line in lines[1:]}


def measure(path: Path, seeds: int, processes: int, chosen: list[Setting]) -> None:
    """Run what is missing in ``path`` and append it, one line as each run ends."""
    head, done = read_runs(path)
    if head is None:
        torch.set_num_threads(PROTOCOL["threads"])
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"protocol": PROTOCOL, "machine": machine_facts()}
        path.write_text(json.dumps(head) + "\n", encoding="utf-8")
    elif head["protocol"] != PROTOCOL:
        raise SystemExit(f"{path} was measured under another protocol: remove it, or pass another --output")
    distinct = list({setting.name: setting for setting in chosen}.values())
    todo = [(setting, seed) for seed in range(seeds) for setting in distinct if (setting.name, seed) not in done]
    with path.open("a", encoding="utf-8") as file:

        def write(setting: Setting, seed: int, result: dict[str, Any]) -> None:
            file.write(json.dumps({"setting": setting.name, "seed": seed, **result}) + "\n")
            file.flush()
            failure = result["diverged"] or ("did not learn" if result["did_not_learn"] else "")
            print(f"{setting.name}  seed {seed}  loss {result['final_loss']}  {failure}", flush=True)

        if processes == 1:
            for setting, seed in todo:
                write(setting, seed, train(setting, seed))
            return
        # A forked child would inherit torch's threads in an unknown state.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            jobs = {pool.submit(train, setting, seed): (setting, seed) for setting, seed in todo}
            for job in as_completed(jobs):
                write(*jobs[job], job.result())


def render(path: Path, page: Path) -> None:
    """Write the table of failures of the runs in ``path`` into ``page``."""
    head, runs = read_runs(path)
    if head is None:
        raise SystemExit(f"{path} holds no runs")
    rows: list[list[str]] = []
    group = ""
    for setting in settings():
        mine = [run for (name, _), run in runs.items() if name == setting.name]
        if not mine:
            continue
        if setting.group != group:
            group = setting.group
            rows.append([f"**{group}**", "", "", "", "", ""])
        diverged = sum(run["diverged"] is not None for run in mine)
        idle = sum(run["did_not_learn"] for run in mine)
        final = sorted(run["final_loss"] for run in mine if run["final_loss"] is not None)
        spread = f"{statistics.median(final):.3f} ({final[0]:.3f} to {final[-1]:.3f})" if final else "none"
        gradient = statistics.median(run["largest_gradient_norm"] for run in mine)
        rows.append(
            [
                setting.label + (" (default)" if setting.is_default() else ""),
                str(len(mine)),
                str(diverged),
                str(idle),
                spread,
                f"{gradient:.3g}",
            ]
        )
    table = markdown_table(
        ["setting", "runs", "diverged", "did not learn", "final loss: median (range)", "largest gradient norm"], rows
    )
    failures = sum(run["diverged"] is not None for run in runs.values())
    summary = f"{len(runs)} runs, {failures} of them diverged. {machine_line(head['machine'])}"
    write_part(page, "stability", f"{table}\n\n{summary}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="seeds 0, 1, ... of each setting (default 20)")
    parser.add_argument("--processes", type=int, default=2, help="runs at a time, one thread each (default 2)")
    parser.add_argument("--only", default="", help="only settings whose name contains this text")
    parser.add_argument("--output", type=Path, default=RESULTS / "stability.jsonl", help="JSON lines")
    parser.add_argument("--page", type=Path, default=DOCS / "stability.md", help="page that shows the table")
    parser.add_argument("--render-only", action="store_true", help="write the table from what has been measured")
    arguments = parser.parse_args()
    if not arguments.render_only:
        chosen = [setting for setting in settings() if arguments.only in setting.name]
        measure(arguments.output, arguments.seeds, arguments.processes, chosen)
    render(arguments.output, arguments.page)


if __name__ == "__main__":
    main()
