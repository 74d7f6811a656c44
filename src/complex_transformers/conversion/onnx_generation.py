# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Generation with a KV cache in onnxruntime: prefill and one-step graphs by Transformers' ``OnnxExporter``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.exporters import ExportedModel, OnnxConfig, OnnxExporter

from .onnx_graph import check_runtime_dtype, example_inputs

__all__ = ["export_generation", "generate_greedy"]


_FAMILIES = ("complex_llama", "complex_seq2seq")


def export_generation(model: PreTrainedModel) -> ExportedModel:
    """Export the graphs ``prefill`` and ``decode``, and ``encoder`` for an encoder-decoder model.

    Batch size, prompt length and cache length stay dynamic.

    Args:
        model: a ``ComplexLlamaForCausalLM`` or ``ComplexSeq2SeqForConditionalGeneration``.

    Returns:
        Transformers' exported model, with ``save_pretrained`` and ``ExportedModel.from_pretrained``.

    Raises:
        ImportError: ``onnx`` or ``onnxscript`` is missing.
        ValueError: a model in bfloat16, which onnxruntime does not support; a model of another family, or with
            sliding windows, whose caches the exporter of Transformers does not trace.
    """
    check_runtime_dtype(model)
    windows = getattr(model.config, "sliding_window", None)
    if model.config.model_type not in _FAMILIES or not model.can_generate() or windows is not None:
        raise ValueError(
            f"model must be a generating complex_llama without sliding_window, or complex_seq2seq, got "
            f"{type(model).__name__} with sliding_window={windows}. Use generate()."
        )
    exporter, options = OnnxExporter(), OnnxConfig(dynamic=True)
    inputs = _sample_inputs(model)
    exported = exporter.export_for_generation(model.eval(), inputs, options, generation_config=model.generation_config)
    if model.config.is_encoder_decoder:
        source = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        exported.components["encoder"] = exporter.export(model.get_encoder(), source, options).components["model"]
    return exported


def _sample_inputs(model: PreTrainedModel) -> dict[str, Tensor]:
    """Return inputs of ``generate()`` without dynamic axes of size 1, which the exporter would fix."""
    given = example_inputs(model)
    ids, mask = given["input_ids"], given["attention_mask"]
    if not model.config.is_encoder_decoder:
        return {"input_ids": ids, "attention_mask": mask.flip(1)}  # padding on the left, as in generation
    start = torch.full((len(ids), 2), model.generation_config.decoder_start_token_id)
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": start}


def generate_greedy(
    exported: ExportedModel, input_ids: Tensor, attention_mask: Tensor | None = None, max_new_tokens: int = 20
) -> Tensor:
    """Return the tokens that ``model.generate(..., do_sample=False)`` returns, computed by onnxruntime.

    Args:
        exported: the result of ``export_generation``, or of ``ExportedModel.from_pretrained``.
        input_ids: ``[B, T]``, the prompts, padded on the left, or the source sequences.
        attention_mask: ``[B, T]``, 0 for padding.
        max_new_tokens: generation stops there, or when every row has reached the EOS token.
    """
    config, runners = exported.generation_config, exported.runners
    mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
    given: dict[str, Any] = {"attention_mask": mask}
    tokens, name, reads_source = input_ids, "input_ids", "encoder" in runners
    if reads_source:
        given["encoder_outputs"] = runners["encoder"](input_ids=input_ids, attention_mask=mask)
        tokens, name = input_ids.new_full((len(input_ids), 1), config.decoder_start_token_id), "decoder_input_ids"
    else:
        given["position_ids"] = mask.cumsum(-1) - 1
    ends = torch.tensor([] if config.eos_token_id is None else config.eos_token_id).flatten()
    finished = torch.zeros(len(input_ids), dtype=torch.bool)
    outputs = runners["prefill"](**{name: tokens}, **given)
    for step in range(max_new_tokens):
        if step:
            outputs = runners["decode"](**{name: tokens[:, -1:]}, cache=outputs.cache, **given)
        new = outputs.logits[:, -1].argmax(-1)
        new = new.masked_fill(finished, config.pad_token_id or 0)
        finished |= torch.isin(new, ends)
        tokens = torch.cat([tokens, new.unsqueeze(1)], 1)
        if finished.all():
            break
        if not reads_source:
            given["attention_mask"] = torch.cat([given["attention_mask"], mask.new_ones(len(mask), 1)], 1)
            given["position_ids"] = given["position_ids"][:, -1:] + 1
    return tokens
