# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel for NVIDIA processors, which needs none of them: ``python tests/kernels/compile_kernels.py``.

Prints a line of JSON for each: its name, the processor, and the shared memory it takes, in bytes. The
interpreter of the other tests takes code that the compiler refuses, and knows nothing of memory.

``--tuned`` adds the candidates of attention's autotuner, which skips those that exceed the memory of its GPU.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from complex_transformers.kernels.accelerator import (
    attention_kernels,
    attention_launch,
    attention_tuning,
    half_kernels,
    low_bit,
    low_bit_kernels,
    recurrent_weight_kernels,
    step_kernels,
    steps,
    weight_kernels,
)

CAPABILITIES = (80, 90)
H100_MEMORY = 227 * 2**10  # shared memory per block, in bytes
POINTERS = {torch.float32: "*fp32", torch.bfloat16: "*bf16"}
Variant = tuple[triton.JITFunction, dict[str, str], dict[str, object], dict[str, int]]


def attention_variants(tuned: bool) -> Iterator[Variant]:
    """Yield the attention kernels with every feature, and with the fewest: one head, one query, one key.

    With ``tuned``, also the candidates of the autotuner.
    """
    rows = {"row_max": "*fp32", "row_sum": "*fp32", "inner": "*fp32", "bias": "*fp32"}
    numbers = {"scale": "fp32", "lowest": "fp32", "dropout": "fp32", "seed": "i64"}
    ones = dict.fromkeys(("heads", "groups", "length", "size"), 1)
    kernels = attention_kernels.forward, attention_kernels.backward_query, attention_kernels.backward_key
    for width, dtype, score, mask, few, sigmoid in (
        (128, torch.bfloat16, "modulus", torch.float32, False, False),
        (256, torch.bfloat16, "bilinear_modulus", torch.bool, False, False),
        (128, torch.float32, "modulus", torch.float32, False, False),
        (64, torch.float32, "modulus", None, True, False),
        (128, torch.bfloat16, "modulus", torch.bool, False, True),
        (128, torch.bfloat16, "real", torch.float32, False, True),
        (64, torch.float32, "real", None, True, True),
    ):
        query = torch.empty(1, 1, 1, width, dtype=dtype)
        given = None if mask is None else torch.empty(1, 1, 1, 1, dtype=mask)
        number, bias = attention_launch.SCORES.index(score), torch.empty(1) if sigmoid else None
        call = attention_launch.Call(query, query, query, given, bias, number, 1.0, 1, True, 0.0 if few else 0.1, 0)
        pointer = POINTERS[dtype]
        numbers["seed"] = "*i64" if mask == torch.bool else "i64"  # in CUDA graphs it is a tensor
        types = {**rows, **numbers, "mask": pointer if mask is None else "*u8" if mask == torch.bool else "*fp32"}
        for kernel in kernels:
            names = kernel.arg_names
            strides = {name: ("i64", "i64", "i64", "constexpr") for name in names if name.endswith("_strides")}
            tensors = dict.fromkeys(names[: names.index("q_strides")], pointer)
            signature = {**tensors, **types, **strides}
            name, item = kernel.fn.__name__, query.element_size()
            for m, n, warps, stages in attention_tuning.candidates(
                name, call.constants, item, H100_MEMORY if tuned else 0, call.fixed
            ):
                constants = {**call.constants, **(ones if few else {}), "M": m, "N": n}
                yield kernel, signature, constants, {"num_warps": warps, "num_stages": stages}


def weight_variants() -> Iterator[Variant]:
    """The real matrix of two and of four parts, and its gradient."""
    names = ("a", "b", "c", "d")
    parts = dict.fromkeys(names, "*fp32") | {"matrix": "*bf16", "bias": "*fp32", "cast": "*bf16"}
    strides = dict.fromkeys((*(f"{name}_strides" for name in names), "strides"), ("i64", "constexpr"))
    for kernel in (weight_kernels.real_matrix, weight_kernels.parts_of):
        for four in (False, True):
            yield kernel, parts | strides, {"FOUR": four, "BIAS": four, "M": 32, "N": 64}, {}


def recurrent_weight_variants() -> Iterator[Variant]:
    """The rows of a real recurrent layer and the gradients of their parts, of weights and biases."""
    types = dict.fromkeys(("real", "imag", "learned", "grad_real", "grad_imag", "grad_learned"), "*fp32")
    types |= {"out": "*bf16", "grad": "*bf16"}
    for kernel in (recurrent_weight_kernels.recurrent_rows, recurrent_weight_kernels.recurrent_parts):
        for bias in (False, True):
            yield kernel, types, {"LEARNED": not bias, "BIAS": bias, "M": 16, "N": 64}, {}


def half_variants() -> Iterator[Variant]:
    """Element-wise functions of halves."""
    strides = ("i64", "i64", "i64", "constexpr")
    names = ("x_strides", "y_strides", "grad_strides", "strides")
    types = dict.fromkeys(names, strides) | {"sizes": ("i32",) * 4, "p": "fp32", "seed": "*i64"}
    types |= dict.fromkeys(("x", "y", "out", "grad", "grad_x", "grad_y"), "*bf16")
    yield half_kernels.product, types, {"N": 512}, {}
    yield half_kernels.product_backward, types, {"X": True, "Y": True, "N": 512}, {}
    yield half_kernels.dropout, types, {"N": 512}, {}
    yield half_kernels.modulus, types, {"LARGEST": 3.3895313892515355e38, "N": 512}, {}
    yield half_kernels.modulus_backward, types, {"N": 512}, {}


def low_bit_variants() -> Iterator[Variant]:
    """Packed layers with one, two and three stages; a layer of one feature, whose sizes are constants."""
    types = dict.fromkeys(("codes", "conj_codes"), "*u8") | dict.fromkeys(("scales", "conj_scales"), "*fp16")
    both = {"STAGES": 2, "CONJ_STAGES": 2, "PER_ROW": True}
    most = {"STAGES": 3, "CONJ_STAGES": 3, "PER_ROW": True}
    single = {"STAGES": 0, "CONJ_STAGES": 1, "PER_ROW": False} | dict.fromkeys(("rows", "columns", "width"), 1)
    for dtype, kinds in ((torch.bfloat16, both), (torch.bfloat16, single), (torch.float32, most)):
        given = types | dict.fromkeys(("x", "out", "matrix"), POINTERS[dtype])
        yield low_bit_kernels.low_bit_one, given, kinds | low_bit.ONE, {}
        yield low_bit_kernels.low_bit_matrix, given, kinds | low_bit.MATRIX, {}
        for count in (16, low_bit.MOST):
            tile = low_bit.tile_sizes(count, torch.empty(0, dtype=dtype).element_size())
            options = {name: tile.pop(name) for name in ("num_warps", "num_stages")}
            constants = {**kinds, **tile, "PRECISION": attention_launch.precision(dtype)}
            yield low_bit_kernels.low_bit_many, given | {"out": "*fp32"}, constants, options


def step_variants() -> Iterator[Variant]:
    """Recurrent steps with each kind of gate."""
    floats = {"weight": "*fp32", "grad_weight": "*fp32", "limit": "fp32"}
    names = ("v", "c", "h_new", "c_new", "grad_h", "grad_c", "grad_v", "grad_before", "x", "y", "h")
    types = floats | dict.fromkeys((*names, "grad", "grad_x", "grad_y"), "*bf16")
    for gate in range(len(steps.GATES)):
        for kernel in (
            step_kernels.lstm_forward,
            step_kernels.lstm_backward,
            step_kernels.gru_forward,
            step_kernels.gru_backward,
        ):
            yield kernel, types, {"GATE": gate, "N": 256}, {}


def source(kernel: triton.JITFunction, types: dict, constants: dict) -> ASTSource:
    """A kernel with integers for what ``types`` does not name; the last stride of every tensor is 1."""
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in kernel.arg_names}
    values = {}
    for place, name in enumerate(kernel.arg_names):
        if name in constants:
            values[place,] = constants[name]
        elif name.endswith("strides"):
            values[place, len(signature[name]) - 1] = 1
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if isinstance(signature[name], str) and signature[name].startswith("*")
    }
    if "bucket" in kernel.arg_names:  # attention: aligned rows, whose loads are pipelined through shared memory
        for place, name in enumerate(kernel.arg_names):
            if name.endswith("strides"):
                aligned |= {(place, axis): [["tt.divisibility", 16]] for axis in range(3)}
            elif name in ("width", "value_width"):
                aligned[place,] = [["tt.divisibility", 16]]
    return ASTSource(kernel, signature, values, aligned)


def main() -> None:
    """Compile them all."""
    attention = attention_variants("--tuned" in sys.argv)
    others = weight_variants(), recurrent_weight_variants(), half_variants(), low_bit_variants(), step_variants()
    for variants in (attention, *others):
        for kernel, types, constants, options in variants:
            for capability in CAPABILITIES:
                compiled = triton.compile(
                    source(kernel, types, constants), target=GPUTarget("cuda", capability, 32), options=options
                )
                print(json.dumps([kernel.fn.__name__, capability, compiled.metadata.shared]), flush=True)


if __name__ == "__main__":
    main()
