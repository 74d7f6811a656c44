# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Export any model of the package as an ONNX graph and run it with onnxruntime (extra ``onnx``).

``torch.onnx.export(model, ..., dynamo=True)`` works as well; this module adds the names and dynamic axes of inputs
and outputs. ``onnx_generation`` exports decoders with their KV cache.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from ..data.extras import require

__all__ = [
    "check_runtime_dtype",
    "example_inputs",
    "export_onnx",
    "fold_constants",
    "largest_difference",
    "open_axes",
    "open_graph",
    "outputs_of",
    "quantize_graph",
    "run_graph",
    "without_cache",
]

Tensors = dict[str, Tensor]
_NOT_IN_A_GRAPH = ("use_cache", "output_hidden_states", "output_attentions")


def example_inputs(model: PreTrainedModel, rows: int = 2, length: int = 8, seed: int = 0) -> Tensors:
    """Return random inputs of ``model.forward``: tokens, frames or images, with padding in half of the rows.

    Args:
        model: any model of the package.
        rows: batch size.
        length: tokens or frames of each input, target and question; sentences of a story, which have five tokens each.
            Models with a memory of tokens get at most as many as it holds.
        seed: of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    config: Any = model.config
    taken = inspect.signature(model.forward).parameters
    words = getattr(config, "num_words", (config.vocab_size,) * 2) if hasattr(config, "vocab_size") else (2, 2)

    def ids(end: int, *shape: int) -> Tensor:
        return torch.randint(min(1, end - 1), end, shape, generator=generator)

    if "input_features" in taken:
        inputs = {"input_features": torch.randn(rows, length, config.feature_size, generator=generator)}
    elif model.main_input_name == "pixel_values" or model.base_model.main_input_name == "pixel_values":
        return {"pixel_values": torch.randn(rows, *config.pixel_shape, generator=generator)}
    else:
        variant = getattr(config, "variant", None)
        length = min(length, config.story_length, config.question_length) if variant == "word_memory" else length
        inputs = {"input_ids": ids(words[0], rows, length, *((5,) if variant == "sentence_memory" else ()))}
    first = next(iter(inputs.values()))
    inputs["attention_mask"] = _padded(*(first.shape[:2] if first.is_floating_point() else first.shape))
    if "question_ids" in taken:
        inputs |= {"question_ids": ids(words[0], rows, length), "question_mask": _padded(rows, length)}
    relations = getattr(config, "num_relations", (None, None))
    if relations[0]:
        inputs["relation_ids"] = ids(relations[0], rows, length)
    if config.is_encoder_decoder:
        end = config.decoder.vocab_size if getattr(config, "decoder", None) else words[1]
        inputs["decoder_input_ids"] = ids(end, rows, length)
        inputs["decoder_attention_mask"] = _padded(rows, length)
        if relations[1]:
            inputs["decoder_relation_ids"] = ids(relations[1], rows, length)
    return inputs


def _padded(rows: int, *shape: int) -> Tensor:
    """Return a mask with padding at the end of every axis in the second half of the rows."""
    mask = torch.ones(rows, *shape, dtype=torch.long)
    for axis, size in enumerate(shape, 1):
        mask[(rows + 1) // 2 :].narrow(axis, size - size // 3, size // 3).zero_()
    return mask


def open_axes(inputs: Mapping[str, Tensor]) -> dict[str, dict[int, str]]:
    """Return the dynamic axes of each input: batch, tokens, frames or sentences."""
    axes = {}
    for name, value in inputs.items():
        side = next((kind for kind in ("decoder_", "question_") if name.startswith(kind)), "")
        if name == "pixel_values":
            axes[name] = {0: "batch"}
        elif value.dim() == 3 and not value.is_floating_point():
            axes[name] = {0: "batch", 1: "sentences", 2: "words"}
        else:
            axes[name] = {0: "batch", 1: f"{side}length"}
    return axes


@contextmanager
def without_cache(model: PreTrainedModel) -> Iterator[None]:
    """Put the model into evaluation mode without gradients, cache, hidden states and attention weights as outputs."""
    configs = [model.config, *filter(None, [getattr(model.config, "decoder", None)])]
    before = [{name: getattr(config, name, None) for name in _NOT_IN_A_GRAPH} for config in configs]
    training = model.training
    try:
        for config in configs:
            _set(config, dict.fromkeys(_NOT_IN_A_GRAPH, False))
        with torch.no_grad():
            yield model.eval()
    finally:
        model.train(training)
        for config, values in zip(configs, before, strict=True):
            _set(config, values)


def _set(config: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(config, name, value)


def outputs_of(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> Tensors:
    """Return the output tensors of ``model`` by name, in evaluation mode and without a cache, as its graph does."""
    with without_cache(model):
        return {name: value for name, value in model(**inputs).items() if isinstance(value, Tensor)}


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the log messages and warnings of exporter and quantizer."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def export_onnx(model: PreTrainedModel, inputs: Mapping[str, Tensor], path: str | Path) -> None:
    """Export the graph of ``model`` in evaluation mode, with the dynamic axes of ``open_axes``.

    Args:
        model: any model of the package; a decoder is exported without its cache.
        inputs: of ``forward``, by name, such as ``example_inputs``. The graph has exactly these inputs, so include the
            masks. Dynamic axes need size 2 or more, since the exporter fixes size 1.
        path: the file, with all weights.

    Raises:
        ImportError: ``onnx`` or ``onnxscript`` are missing.
        ValueError: a dynamic axis of size 1; a model in bfloat16, which onnxruntime does not support.
    """
    for package in ("onnx", "onnxscript"):
        _require(package)
    _check_open(inputs)
    check_runtime_dtype(model)
    names = list(outputs_of(model, inputs))
    with without_cache(model), _quiet():
        torch.onnx.export(
            model,
            kwargs=dict(inputs),
            f=str(path),
            input_names=list(inputs),
            output_names=names,
            dynamic_shapes=open_axes(inputs),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def _require(package: str) -> Any:
    return require(package, f"ONNX graphs need {package}", "onnx")


def check_runtime_dtype(model: PreTrainedModel) -> None:
    """Raise for a model in bfloat16, which onnxruntime does not support."""
    if torch.bfloat16 in {parameter.dtype for parameter in model.parameters()}:
        raise ValueError("model must not be in bfloat16 for onnxruntime, got torch.bfloat16. Export model.float().")


def _check_open(inputs: Mapping[str, Tensor]) -> None:
    """Raise for dynamic axes of size 1, which the exporter would fix."""
    for name, axes in open_axes(inputs).items():
        for axis, label in axes.items():
            if (size := inputs[name].shape[axis]) < 2:
                raise ValueError(f"{name} must have size 2 or more on axis {label}, got {size}. See example_inputs.")


def open_graph(path: str | Path, threads: int = 1) -> Any:
    """Return an ``onnxruntime.InferenceSession`` on the CPU."""
    onnxruntime = _require("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_graph(session: Any, inputs: Mapping[str, Tensor]) -> Tensors:
    """Run a graph and return its outputs by name."""
    found = session.run(None, {node.name: inputs[node.name].numpy() for node in session.get_inputs()})
    return {node.name: torch.from_numpy(value) for node, value in zip(session.get_outputs(), found, strict=True)}


def largest_difference(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> float:
    """Return the largest absolute difference over all elements of all outputs; NaN if an element is NaN.

    Raises:
        ValueError: different names or shapes of outputs.
    """
    shapes = [{name: tuple(value.shape) for name, value in outputs.items()} for outputs in (found, expected)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"graph must have the output shapes {shapes[1]}, got {shapes[0]}. Export it again.")
    differences = [(found[name] - value).abs().max() for name, value in expected.items()]
    return torch.stack(differences).max().item()  # Python's max would ignore NaN


def fold_constants(source: str | Path, target: str | Path) -> None:
    """Write a graph with constants precomputed from the weights: block matrices, unitary maps, sinusoids."""
    onnxruntime = _require("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath, options.log_severity_level = str(target), 3
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def quantize_graph(source: str | Path, target: str | Path) -> None:
    """Write a graph with int8 weights, one scale per column, in all products with constant matrices.

    Activations are quantized dynamically to eight bits (``onnxruntime.quantization.quantize_dynamic``). Convolutions
    and operators inside loops stay float32.
    """
    quantization = _require("onnxruntime.quantization")
    folded = Path(target).with_suffix(".folded.onnx")
    try:
        fold_constants(source, folded)
        options = {
            "op_types_to_quantize": ["MatMul", "Gemm"],
            "per_channel": True,
            "weight_type": quantization.QuantType.QInt8,
        }
        with _quiet():
            quantization.quantize_dynamic(folded, target, **options)
    finally:
        folded.unlink(missing_ok=True)
