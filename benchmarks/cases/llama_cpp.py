# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed decoders beside Transformers' Llama and llama.cpp, with the same weights."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.cases.packed import READ, SMOLLM2
from benchmarks.gguf_file import gguf_writer, save_gguf
from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import Step, high_precision_step, writing_step
from complex_transformers import ComplexQuantizationConfig, lift, quantize
from complex_transformers.kernels.native import low_bit

__all__ = ["case", "write_gguf"]

PACKED, HIGH, LIFTED = "packed", "packed, precision high", "lifted, float32"
REAL = "Transformers' Llama, float32"
SEVEN_BILLION: dict[str, Any] = {
    "vocab_size": 1000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 2,
    "num_attention_heads": 32,
}
# Name -> sizes, generated tokens, formats of llama.cpp, limit of the faster packed decoder / llama.cpp.
# K formats need widths of k * 256.
DECODERS: Mapping[str, tuple[dict[str, Any], int, tuple[str, ...], float | None]] = {
    "shape of SmolLM2-135M": (SMOLLM2, 200, ("Q4_1",), None),
    "2 of 32 layers of Llama 7B": (SEVEN_BILLION, 64, ("Q4_1", "Q4_K_M", "Q2_K"), 0.9),
}


def write_gguf(model: LlamaForCausalLM, path: Path) -> None:
    """Write a Llama in float16, with a vocabulary of numbered tokens."""
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    others = model.config.vocab_size - len(special)
    kind = importlib.import_module("gguf").TokenType
    writer = gguf_writer(model, path)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*special, *(f"t{n}" for n in range(others))])
    writer.add_token_scores([0.0] * model.config.vocab_size)
    writer.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.BYTE] * 256, *[kind.NORMAL] * others])
    save_gguf(writer, model, torch.float16)


def quantized_gguf(library: Any, source: Path, kind: str) -> Path:
    """Quantize a GGUF file with llama.cpp and return the new file."""
    path = source.with_suffix(f".{kind}.gguf")
    parameters = library.llama_model_quantize_default_params()
    parameters.ftype = getattr(library, f"LLAMA_FTYPE_MOSTLY_{kind}")
    parameters.nthread = torch.get_num_threads()
    arguments = (str(source).encode(), str(path).encode(), ctypes.byref(parameters))
    if library.llama_model_quantize(*arguments):
        raise RuntimeError(f"kind must be a format that llama.cpp can write, got {kind}. See its messages above.")
    return path


def loaded(library: Any, path: Path) -> Any:
    """Load a GGUF file with as many threads as PyTorch has."""
    threads = torch.get_num_threads()
    return library.Llama(str(path), n_ctx=512, n_threads=threads, n_threads_batch=threads, verbose=False)


def check_logits(library: Any, llama: Any, model: LlamaForCausalLM, ids: Tensor) -> None:
    """Raise AssertionError unless llama.cpp has the logits of Transformers after a prompt."""
    llama.eval(ids[0].tolist())
    found = np.ctypeslib.as_array(library.llama_get_logits(llama.ctx), (llama.n_vocab(),))
    with torch.no_grad():
        expected = model(ids).logits[0, -1]
    similarity = cosine_similarity(torch.from_numpy(found), expected, dim=0).item()
    if similarity < 0.999:
        raise AssertionError(f"the cosine similarity of both logits must be at least 0.999, got {similarity:.4f}")


def llama_step(llama: Any, ids: Tensor, count: int) -> Step:
    """Return a step that generates ``count`` tokens greedily with llama.cpp."""

    def step() -> None:
        llama.reset()  # otherwise a second call would reuse the cached prompt
        written = llama.generate(ids[0].tolist(), temp=0.0, repeat_penalty=1.0)
        for _ in range(count):
            next(written)

    return step


def contestants(name: str, folder: Path) -> tuple[dict[str, Step], list[Comparison], list[str]]:
    """Return the steps of a decoder, their comparisons and notes on the sizes of the files."""
    library = importlib.import_module("llama_cpp")
    sizes, count, kinds, limit = DECODERS[name]
    torch.manual_seed(0)
    real = LlamaForCausalLM(LlamaConfig(**sizes, pad_token_id=None, eos_token_id=None)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quality does not matter here
        packed = quantize(lift(real).eval(), ComplexQuantizationConfig(stages=2))
    ids = torch.randint(300, 1000, (1, READ), generator=torch.Generator().manual_seed(1))
    prompt = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    ours = {PACKED: packed, LIFTED: lift(real).eval(), REAL: real}
    steps = {key: writing_step(model, READ, count, lambda: prompt) for key, model in ours.items()}
    steps[HIGH] = high_precision_step(steps[PACKED])
    comparisons = [Comparison(PACKED, LIFTED), Comparison(PACKED, REAL), Comparison(HIGH, PACKED)]
    source, notes = folder / "float16.gguf", []
    write_gguf(real, source)
    # Quantized random weights give other logits, so only the float16 file is compared.
    check_logits(library, loaded(library, source), real, ids)
    for kind in kinds:
        path = quantized_gguf(library, source, kind)
        steps[f"llama.cpp, {kind}"] = llama_step(loaded(library, path), ids, count)
        notes.append(f"{name}: {kind} {path.stat().st_size / 1e6:.0f} MB")
        # llama.cpp also quantizes activations.
        comparisons.append(Comparison(HIGH, f"llama.cpp, {kind}", None if kind == "Q2_K" else limit))
    return steps, comparisons, notes


def case(rounds: int) -> Outcome:
    """Packed decoders (2 stages), Transformers' Llama and llama.cpp with the same random weights, greedy decoding."""
    if not low_bit.load():
        raise RuntimeError("the kernels must be compiled for this case. Install g++.")
    if importlib.util.find_spec("llama_cpp") is None:
        raise RuntimeError('llama_cpp must be installed for this case. Run pip install -e ".[llama-cpp]".')
    rows, notes = [], []
    for name, (_, count, _, _) in DECODERS.items():
        with tempfile.TemporaryDirectory() as folder:
            steps, comparisons, sizes = contestants(name, Path(folder))
            group = f"{name}, {count} tokens"
            found = race(group, steps, comparisons, rounds)
        rows += found
        times = {row[key]: row[f"{key}_value"] for row in found for key in ("ours", "reference")}
        speeds = ", ".join(f"{key} {1e3 * count / value['median']:.1f}" for key, value in times.items())
        notes += [f"{name}, tokens per second, prompt included: {speeds}", *sizes]
    return Outcome(rows, notes)
