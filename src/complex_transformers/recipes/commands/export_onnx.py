# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Export a saved model to ONNX, compare it with PyTorch, quantize it to int8, and measure latency.

complex-transformers export --model path/to/model --output_dir outputs/export-example --int8
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, HfArgumentParser, PreTrainedModel
from transformers.exporters import ExportedModel

import complex_transformers

from ...conversion.onnx_generation import export_generation, generate_greedy
from ...conversion.onnx_graph import (
    example_inputs,
    export_onnx,
    largest_difference,
    open_graph,
    outputs_of,
    quantize_graph,
    run_graph,
    without_cache,
)
from ...data.files import read_lines
from ...nn import WidelyLinear, folded
from ..records import write_results
from ..run import limit_progress_bars


@dataclass
class Arguments:
    """Command line options: model, formats, inputs."""

    model: str = field(metadata={"help": "folder of a saved model of this package"})
    output_dir: str = "outputs/export-example"
    int8: bool = field(default=False, metadata={"help": "also export a graph with int8 weights and compare it"})
    generation: bool = field(
        default=False,
        metadata={"help": "also export graphs with a KV cache (complex_llama, complex_seq2seq)"},
    )
    text_file: str | None = field(
        default=None,
        metadata={"help": "file with one text per line; default random inputs"},
    )
    batch_size: int = field(default=8, metadata={"help": "batch size; at least 2"})
    length: int = field(default=32, metadata={"help": "maximum number of tokens or frames"})
    tolerance: float = field(default=1e-4, metadata={"help": "largest allowed difference between graph and model"})
    rounds: int = field(default=15, metadata={"help": "rounds of timing, each with all runtimes; 0 for none"})
    threads: int = field(default=1, metadata={"help": "threads of PyTorch and of onnxruntime"})


def load(folder: str) -> PreTrainedModel:
    """Load the model of a folder with the class it was saved as."""
    config = AutoConfig.from_pretrained(folder)
    if hasattr(config, "quantization_config"):
        raise ValueError(f"--model must not be quantized, got {folder}. Save a copy after model.dequantize().")
    return getattr(complex_transformers, config.architectures[0]).from_pretrained(folder).eval()


def batches(args: Arguments, model: PreTrainedModel) -> list[dict[str, Tensor]]:
    """Return batches of the texts of a file, or two random batches of different sizes."""
    if args.text_file is None:
        sizes = [(args.batch_size, args.length), (args.batch_size + 1, max(2, args.length // 2))]
        return [example_inputs(model, *size, seed=seed) for seed, size in enumerate(sizes)]
    texts = [line for line in read_lines(args.text_file) if line.strip()]
    if not texts:
        raise ValueError(f"--text_file must contain one text per line, got the empty file {args.text_file}.")
    if more := sorted(example_inputs(model).keys() - {"input_ids", "attention_mask"}):
        raise ValueError(f"--text_file must be left out for a model that also reads {more}, got {args.text_file}.")
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    options = {"padding": True, "truncation": True, "max_length": args.length, "return_tensors": "pt"}
    parts = [texts[start : start + args.batch_size] for start in range(0, len(texts), args.batch_size)]
    return [{name: tokenizer(part, **options)[name] for name in ("input_ids", "attention_mask")} for part in parts]


def median_times(steps: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each step over interleaved rounds, so that other load affects all equally."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: round(statistics.median(values), 3) for name, values in times.items()}


def same_answers(found: list[dict[str, Tensor]], expected: list[dict[str, Tensor]]) -> float:
    """Return the share of predictions (argmax of the logits) that are equal."""
    equal = [a["logits"].argmax(-1) == b["logits"].argmax(-1) for a, b in zip(found, expected, strict=True)]
    return torch.cat([each.flatten() for each in equal]).double().mean().item()


def difference(found: list[dict[str, Tensor]], expected: list[dict[str, Tensor]]) -> float:
    """Return the largest difference over all batches; NaN if one is NaN."""
    return torch.tensor(list(map(largest_difference, found, expected)), dtype=torch.float64).max().item()


def same_tokens(model: PreTrainedModel, folder: Path, batch: dict[str, Tensor]) -> float:
    """Save the graphs of ``export_generation`` and return the share of greedy tokens that equal the model's."""
    export_generation(model).save_pretrained(folder)
    inputs = {"input_ids": batch["input_ids"][batch["attention_mask"].bool().all(1)]}
    expected = model.generate(**inputs, max_new_tokens=20, do_sample=False)
    found = generate_greedy(ExportedModel.from_pretrained(folder), **inputs, max_new_tokens=20)
    length = min(found.shape[1], expected.shape[1])
    return (found[:, :length] == expected[:, :length]).double().mean().item()


def main() -> dict[str, Any]:
    """Export a model to ONNX, compare its outputs, quantize it and measure its speed."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    torch.set_num_threads(args.threads)
    model, folder = load(args.model), Path(args.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    given = batches(args, model)
    paths = {"onnx": folder / "model.onnx"}
    export_onnx(model, example_inputs(model), paths["onnx"])
    if args.int8:
        paths["onnx_int8"] = folder / "model.int8.onnx"
        quantize_graph(paths["onnx"], paths["onnx_int8"])
    sessions = {name: open_graph(path, args.threads) for name, path in paths.items()}
    expected = [outputs_of(model, batch) for batch in given]
    results: dict[str, Any] = {"parameters": model.num_parameters()}
    for name, session in sessions.items():
        found = [run_graph(session, batch) for batch in given]
        results[name] = {
            "bytes": paths[name].stat().st_size,
            "largest_difference": difference(found, expected),
        }
        if "logits" in expected[0]:
            results[name]["same_answers"] = same_answers(found, expected)
    if not results["onnx"]["largest_difference"] <= args.tolerance:
        found = results["onnx"]["largest_difference"]
        raise ValueError(f"graph and model must agree within --tolerance {args.tolerance:.1e}, got {found:.1e}.")
    if args.generation:
        results["same_tokens"] = same_tokens(model, folder / "generation", given[0])
    if args.rounds:
        results["milliseconds"] = latency(model, sessions, given[0], args.rounds)
    write_results(folder / "results.json", results)
    for name, value in results.items():
        print(f"{name}: {value}")
    return results


def latency(
    model: PreTrainedModel, sessions: dict[str, Any], batch: dict[str, Tensor], rounds: int
) -> dict[str, float]:
    """Return milliseconds per batch of PyTorch, with and without folded widely linear layers, and of each graph."""
    with ExitStack() as stack:
        stack.enter_context(without_cache(model))
        steps: dict[str, Callable[[], object]] = {"pytorch": lambda: model(**batch)}
        if any(isinstance(layer, WidelyLinear) for layer in model.modules()):
            kept = copy.deepcopy(model)
            stack.enter_context(folded(kept))
            steps["pytorch_folded"] = lambda: kept(**batch)
        for name, session in sessions.items():
            steps[name] = lambda session=session: run_graph(session, batch)
        return median_times(steps, rounds)
