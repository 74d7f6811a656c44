# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a lifted sentence encoder with its original: embeddings, a new process, forward and training time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch
from benchmarks.race import Comparison, race
from benchmarks.reporting import ROOT, machine_facts
from benchmarks.timing import Step
from torch import nn
from transformers import AutoModel, BertModel, PreTrainedModel

from complex_transformers import lift
from complex_transformers.conversion.lift_checkpoint import lift_checkpoint
from complex_transformers.nn import folded
from experiments.lift.packages import Packaged, fetch

__all__ = ["SentenceEncoder", "compare_sentences", "sentence_settings"]

# Sentences in every copy of the repository.
TEXT = ROOT / "LICENSE"
DIFFERENCES = (
    ("lifted", "original"),
    ("lifted", "float64"),
    ("original", "float64"),
    ("lifted, float64", "float64"),
)
FORWARD = ((1, 16), (32, 32))
TRAINING = ((32, 32), (8, 128))
ROUNDS = 5
BAR = 1.05

# A new process that loads the saved folder.
ENCODE = """
import json, sys
import complex_transformers
from sentence_transformers import SentenceTransformer
encoder = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
print(json.dumps(encoder.encode(json.loads(sys.argv[2])).tolist()))
"""


@dataclass(frozen=True)
class SentenceEncoder:
    """An archived sentence-transformers folder, and the licence of its weights."""

    checkpoint: Packaged
    license: str


def sentence_settings(encoder: SentenceEncoder) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    sizes = {"forward": [list(size) for size in FORWARD], "training": [list(size) for size in TRAINING]}
    return {**asdict(encoder), "text": TEXT.name, **sizes, "rounds": ROUNDS}


def compare_sentences(encoder: SentenceEncoder, seed: int) -> dict[str, Any]:
    """Run all comparisons of one encoder; only the tokens of the timed steps are random."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    source = unpacked(encoder.checkpoint)
    folder = ROOT / "outputs" / "lift" / source.parent.name
    lift_checkpoint(source, folder, source=encoder.checkpoint.source, license=encoder.license)
    original = BertModel.from_pretrained(source, dtype=torch.float32).eval()
    lifted = AutoModel.from_pretrained(folder).eval()
    found = {
        "parameters": {"lifted": lifted.num_parameters(), "original": original.num_parameters()},
        "equal_weights": equal_weights(lifted, original),
        **vectors(source, folder, encoder),
        "new_process": new_process(folder),
        "times": [*forward_times(lifted, original), *training_times(lifted, original)],
    }
    return {**found, "machine": machine_facts("sentence-transformers")}


def unpacked(checkpoint: Packaged) -> Path:
    """Unpack the archive of a package beside it and return the folder."""
    archive = fetch(checkpoint)
    folder = archive.with_suffix("")
    if not (folder / "config.json").is_file():
        with ZipFile(archive) as files:
            files.extractall(folder)
    return folder


def sentences() -> list[str]:
    """Return the lines and paragraphs of the text; the tokenizer truncates the longest."""
    text = TEXT.read_text(encoding="utf-8")
    lines = [" ".join(line.split()) for line in text.split("\n")]
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return [piece for piece in (*lines, *paragraphs) if piece]


def load(folder: Path) -> Any:
    """Load a folder with ``sentence-transformers``."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def vectors(source: Path, folder: Path, encoder: SentenceEncoder) -> dict[str, Any]:
    """Return the largest differences of normalised embeddings: lifted and original, float32 and float64."""
    wide = folder.with_name(f"{folder.name}-float64")
    lift_checkpoint(source, wide, dtype="float64", source=encoder.checkpoint.source, license=encoder.license)
    texts, original = sentences(), load(source)
    networks = {"lifted": load(folder), "lifted, float64": load(wide).double()}
    found = {"original": original.encode(texts, convert_to_tensor=True).double()}
    networks["float64"] = original.double()
    for name, network in networks.items():  # as tensors, because arrays would be float32
        found[name] = network.encode(texts, convert_to_tensor=True)
        assert found[name].dtype == (torch.float64 if "float64" in name else torch.float32)
    rows = {f"{a} - {b}": (found[a].double() - found[b]).abs().max().item() for a, b in DIFFERENCES}
    print(rows, flush=True)
    return {"sentences": len(texts), "vectors": rows, "largest": found["original"].abs().max().item()}


def new_process(folder: Path) -> dict[str, Any]:
    """Compare embeddings of a new process with those computed here."""
    texts = sentences()[:20]
    command = [sys.executable, "-c", ENCODE, str(folder), json.dumps(texts)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    there = np.array(json.loads(done.stdout.splitlines()[-1]))
    difference = float(np.abs(there - load(folder).encode(texts)).max())
    return {"sentences": len(texts), "difference": difference}


@torch.no_grad()
def equal_weights(lifted: PreTrainedModel, original: PreTrainedModel) -> float:
    """Return the share of feed-forward weights that are recovered bit for bit."""
    pairs = [
        pair
        for ours, theirs in zip(lifted.layers, original.encoder.layer, strict=True)
        for pair in (
            (ours.feed_forward.up_proj.real_matrix(), theirs.intermediate.dense.weight),
            (ours.feed_forward.down_proj.real_matrix(), theirs.output.dense.weight),
        )
    ]
    return sum((a == b).sum().item() for a, b in pairs) / sum(a.numel() for a, _ in pairs)


def forward_times(lifted: PreTrainedModel, original: PreTrainedModel) -> list[dict[str, Any]]:
    """Time forward steps in interleaved rounds, plain and folded."""
    kept = lift(original)
    rows = []
    comparisons = [Comparison("lifted", "original", BAR), Comparison("lifted, folded", "original", BAR)]
    with folded(kept):
        for batch, length in FORWARD:
            ids = torch.randint(1000, 20000, (batch, length))
            models = {"lifted": lifted, "lifted, folded": kept, "original": original}
            steps = {name: forward_step(model, ids) for name, model in models.items()}
            rows += race(f"forward step, {batch} x {length} tokens", steps, comparisons, ROUNDS)
    return rows


def forward_step(model: nn.Module, ids: torch.Tensor) -> Step:
    """Compute the hidden states of a batch in evaluation mode."""

    def step() -> None:
        with torch.no_grad():
            model.eval()(ids)

    return step


def training_times(lifted: PreTrainedModel, original: PreTrainedModel) -> list[dict[str, Any]]:
    """Time training steps on the mean square of the hidden states in interleaved rounds."""
    rows = []
    for batch, length in TRAINING:
        ids = torch.randint(1000, 20000, (batch, length))
        steps = {name: states_step(model, ids) for name, model in (("lifted", lifted), ("original", original))}
        comparisons = [Comparison("lifted", "original", BAR)]
        rows += race(f"training step, {batch} x {length} tokens", steps, comparisons, ROUNDS)
    return rows


def states_step(model: nn.Module, ids: torch.Tensor) -> Step:
    """Run a training step of a model without a head."""

    def step() -> None:
        model.train()
        model.zero_grad(set_to_none=True)
        model(ids).last_hidden_state.square().mean().backward()

    return step
