# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a checkpoint rounded to few bits without training: lifted to sums of units, or as it is by HQQ."""

from __future__ import annotations

import gzip
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from benchmarks.lift.packages import Packaged, fetch
from benchmarks.reporting import ROOT, machine_facts
from complex_transformers import ComplexQuantizationConfig, lift, quantize
from complex_transformers.nn import PackedLinear

__all__ = ["Rounded", "measure", "settings"]

# Tokens of the test part that are scored, and of the training part that calibrations read, in texts of one length.
TEST_TOKENS, CALIBRATION_TOKENS, LENGTH = 2048, 2048, 512
CHARACTERS = 8  # of a token, at most in the mean


@dataclass(frozen=True)
class Rounded:
    """A checkpoint, and how its layers are rounded: sums of units, HQQ with a group size, or not at all."""

    checkpoint: Packaged
    stages: int | None = None
    granularity: str = "row"
    calibrated: bool = False
    hqq_group: int | None = None


def settings(rounded: Rounded) -> dict[str, Any]:
    """What a result depends on besides the code."""
    sizes = {"test_tokens": TEST_TOKENS, "length": LENGTH}
    return asdict(rounded) | sizes | ({"calibration_tokens": CALIBRATION_TOKENS} if rounded.calibrated else {})


def wikitext(tokenizer: Any, part: str, count: int) -> Tensor:
    """The first ``count`` tokens of a part of WikiText-2, ``[texts, LENGTH]``."""
    folder = Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", ROOT.parent / "shared" / "data"))
    with gzip.open(folder / "lm" / "wikitext-2" / f"{part}.txt.gz", "rt", encoding="utf-8") as file:
        ids = tokenizer(file.read(CHARACTERS * count), return_tensors="pt").input_ids[0, :count]
    return ids.view(-1, LENGTH)


def measure(rounded: Rounded, seed: int) -> dict[str, Any]:
    """Perplexity, bits of each weight of the rounded layers with their scales, and processor time of the rounding."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    path = fetch(rounded.checkpoint)
    files = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(**files)
    original = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32).eval()
    began, bits, model = time.process_time(), 32.0, original
    if rounded.hqq_group is not None:
        bits = round_by_hqq(original, rounded.hqq_group)
    elif rounded.stages is not None:
        texts = list(wikitext(tokenizer, "train", CALIBRATION_TOKENS).split(1)) if rounded.calibrated else None
        config = ComplexQuantizationConfig(rounded.stages, rounded.granularity, calibration=texts)
        model = quantize(lift(original), config)
        bits = bits_of_units(model)
        model.dequantize()  # the same function, without unpacking in every call
    seconds = time.process_time() - began
    found = {"perplexity": perplexity(model, wikitext(tokenizer, "test", TEST_TOKENS)), "bits": bits}
    print(found, flush=True)
    return {**found, "seconds": seconds, "machine": machine_facts("gguf", "hqq")}


@torch.no_grad()
def perplexity(model: PreTrainedModel, texts: Tensor) -> float:
    """exp of the mean loss of all but the first token of every text."""
    losses = [model(text[None], labels=text[None], use_cache=False).loss for text in texts]
    return torch.stack(losses).mean().exp().item()


def bits_of_units(model: nn.Module) -> float:
    """Bits that packed layers take, scales included, for each real weight of the layers they equal."""
    layers = [module for module in model.modules() if isinstance(module, PackedLinear)]
    stored = sum(buffer.numel() * buffer.element_size() for layer in layers for buffer in layer.buffers())
    return 8 * stored / sum(layer.in_features * layer.out_features for layer in layers)


@torch.no_grad()
def round_by_hqq(model: nn.Module, group_size: int) -> float:
    """Round the same layers to 2 bits by HQQ (Badri and Shaji 2023), in place.

    Returns the bits of each weight: with a scale and a zero of 16 bits for each group.
    """
    from hqq.core.quantize import BaseQuantizeConfig, Quantizer

    options = BaseQuantizeConfig(nbits=2, group_size=group_size)["weight_quant_params"]
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear) and not name.endswith("lm_head"):
            codes, meta = Quantizer.quantize(layer.weight, device="cpu", compute_dtype=torch.float32, **options)
            layer.weight.copy_(Quantizer.dequantize(codes, meta))
    return 2 + 2 * 16 / group_size
