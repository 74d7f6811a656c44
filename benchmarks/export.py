# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Latency of exported models against PyTorch, with and without int8.

    python -m benchmarks.export [--model encoder ...] [--rounds N] [--results FILE]

Four models with random weights process a batch on one thread: PyTorch, PyTorch within ``nn.folded`` if it has
widely linear layers, an ONNX graph, and an ONNX graph with int8 matrices. They are interleaved; figures are
medians of CPU time over rounds. A model is a line of ``experiments/results/export.jsonl``, from which
``python -m experiments.tables docs/export.md`` writes the table.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

import complex_transformers as ct
from benchmarks.reporting import RESULTS, add_line, machine_facts
from benchmarks.timing import Quartiles, Step, ratio, time_rounds
from complex_transformers.conversion.onnx_graph import (
    example_inputs,
    export_onnx,
    largest_difference,
    open_graph,
    outputs_of,
    quantize_graph,
    run_graph,
    without_cache,
)
from complex_transformers.nn import WidelyLinear, folded

__all__ = ["EXPORT", "MODELS"]

EXPORT = RESULTS / "export.jsonl"
TEXT = {"vocab_size": 8000, "hidden_size": 256}
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
# Model, batch size and length; the length of an image is its side.
MODELS: dict[str, tuple[Callable[[], PreTrainedModel], int, int]] = {
    "encoder": (
        lambda: ct.ComplexOrderForSequenceClassification(ct.ComplexOrderConfig(**TEXT, **LAYERS, num_labels=6)),
        8,
        64,
    ),
    "convnet": (
        lambda: ct.ComplexConvNetForImageClassification(ct.ComplexConvNetConfig(num_filters=[32, 64], num_labels=10)),
        8,
        28,
    ),
    "decoder": (
        lambda: ct.ComplexLlamaForCausalLM(
            ct.ComplexLlamaConfig(**TEXT, **LAYERS, linear_type="widely_linear", position_type="rotary")
        ),
        2,
        64,
    ),
    "speech": (
        lambda: ct.SpectralTransformerForCTC(
            ct.SpectralTransformerConfig(feature_size=402, hidden_size=256, vocab_size=32, **LAYERS)
        ),
        2,
        100,
    ),
}


def without_padding(
    model: PreTrainedModel, batch: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return outputs without padded frames, whose CTC logits are the constants -10,000 and 0."""
    if not isinstance(model, ct.SpectralTransformerForCTC):
        return dict(outputs)
    return {name: value[model.output_mask(value, batch["attention_mask"])] for name, value in outputs.items()}


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Measure a model and return its line of the results."""
    make, rows, length = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    batch = example_inputs(model, rows, length)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        paths = {"onnx": Path(folder) / "model.onnx", "onnx_int8": Path(folder) / "model.int8.onnx"}
        export_onnx(model, batch, paths["onnx"])
        quantize_graph(paths["onnx"], paths["onnx_int8"])
        expected = without_padding(model, batch, outputs_of(model, batch))
        steps: dict[str, Step] = {"pytorch": lambda: model(**batch)}
        stack.enter_context(without_cache(model))
        if any(isinstance(layer, WidelyLinear) for layer in model.modules()):
            kept = copy.deepcopy(model)
            stack.enter_context(folded(kept))
            steps["pytorch_folded"] = lambda: kept(**batch)
        graphs = {}
        for kind, path in paths.items():
            session = open_graph(path)
            found = without_padding(model, batch, run_graph(session, batch))
            steps[kind] = lambda session=session: run_graph(session, batch)
            graphs[kind] = {
                "bytes": path.stat().st_size,
                "largest_difference": largest_difference(found, expected),
                "same_answers": (found["logits"].argmax(-1) == expected["logits"].argmax(-1)).double().mean().item(),
            }
        seconds = time_rounds(steps, rounds)
    return {
        "row": name,
        "class": type(model).__name__,
        "parameters": model.num_parameters(),
        "batch": [rows, length],
        "rounds": rounds,
        "largest_output": max(value.abs().max().item() for value in expected.values()),
        "graphs": graphs,
        "milliseconds": {kind: 1000 * Quartiles.of(values).median for kind, values in seconds.items()},
        "ratio": {kind: ratio(values, seconds["pytorch"]).to_dict() for kind, values in seconds.items()},
        "machine": machine_facts("onnxruntime"),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="one or more (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="at least 2")
    parser.add_argument("--results", type=Path, default=EXPORT, help="file of JSON lines")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in args.model or MODELS:
        add_line(args.results, line := measure(name, args.rounds))
        print(name, {kind: round(value, 2) for kind, value in line["milliseconds"].items()}, flush=True)


if __name__ == "__main__":
    main()
