# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel for NVIDIA processors, which needs none of them: ``python tests/kernels/compile_kernels.py``.

Prints a line of JSON for each: its name, the processor, and the shared memory it takes, in bytes. The interpreter of
the other tests takes code that the compiler refuses, and knows nothing of memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from complex_transformers.kernels.accelerator import attention_kernels, attention_launch, wave_kernels

CAPABILITIES = (80, 90)
POINTERS = {torch.float32: "*fp32", torch.bfloat16: "*bf16"}
Variant = tuple[triton.JITFunction, dict[str, str], dict[str, object], dict[str, int]]


def attention_variants() -> Iterator[Variant]:
    """The kernels of attention with all that they can do, and with the least: a head, a query, a key."""
    rows = {"row_max": "*fp32", "row_sum": "*fp32", "inner": "*fp32"}
    numbers = {"scale": "fp32", "lowest": "fp32", "dropout": "fp32", "seed": "i64"}
    ones = dict.fromkeys(("heads", "groups", "length", "size"), 1)
    kernels = attention_kernels.forward, attention_kernels.backward_query, attention_kernels.backward_key
    for width, dtype, score, mask, few in (
        (128, torch.bfloat16, "modulus", torch.float32, False),
        (256, torch.bfloat16, "bilinear_modulus", torch.bool, False),
        (128, torch.float32, "modulus", torch.float32, False),
        (64, torch.float32, "modulus", None, True),
    ):
        query = torch.empty(1, 1, 1, width, dtype=dtype)
        given = None if mask is None else torch.empty(1, 1, 1, 1, dtype=mask)
        number = attention_launch.SCORES.index(score)
        constants = attention_launch.Call(
            query, query, query, given, number, 1.0, 1, True, 0.0 if few else 0.1, 0
        ).constants
        options = {name: constants.pop(name) for name in ("num_warps", "num_stages")}
        pointer = POINTERS[dtype]
        types = {**rows, **numbers, "mask": pointer if mask is None else "*u8" if mask == torch.bool else "*fp32"}
        for kernel in kernels:
            names = kernel.arg_names
            strides = {name: ("i64", "i64", "i64", "constexpr") for name in names if name.endswith("_strides")}
            tensors = dict.fromkeys(names[: names.index("q_strides")], pointer)
            yield kernel, {**tensors, **types, **strides}, {**constants, **(ones if few else {})}, options


def other_variants() -> Iterator[Variant]:
    """The waves."""
    pair = ("i64", "constexpr")
    tables = {"ids": "*i64", "positions": "*i64", "amplitude": "*bf16", "frequency": "*fp32", "phase": "*fp32"}
    grads = {
        "out": "*bf16",
        "grad": "*bf16",
        **{f"grad_{name}": "*fp32" for name in ("amplitude", "frequency", "phase")},
    }
    types = tables | grads | dict.fromkeys(("a_strides", "f_strides", "p_strides"), pair)
    sizes = {"F": True, "P": True, "T": 16, "D": 64}
    yield wave_kernels.forward, types, sizes, {}
    shared = {
        "A_WORD": True,
        "A_FEATURE": True,
        "F_WORD": True,
        "F_FEATURE": False,
        "P_WORD": False,
        "P_FEATURE": True,
    }
    yield wave_kernels.backward, types, sizes | shared, {}


def source(kernel: triton.JITFunction, types: dict, constants: dict) -> ASTSource:
    """A kernel with integers for what ``types`` does not name; the last stride of every tensor is 1."""
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in kernel.arg_names}
    values = {}
    for place, name in enumerate(kernel.arg_names):
        if name in constants:
            values[place,] = constants[name]
        elif name.endswith("_strides"):
            values[place, len(signature[name]) - 1] = 1
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if isinstance(signature[name], str) and signature[name].startswith("*")
    }
    return ASTSource(kernel, signature, values, aligned)


def main() -> None:
    """Compile them all."""
    for variants in (attention_variants(), other_variants()):
        for kernel, types, constants, options in variants:
            for capability in CAPABILITIES:
                compiled = triton.compile(
                    source(kernel, types, constants), target=GPUTarget("cuda", capability, 32), options=options
                )
                print(json.dumps([kernel.fn.__name__, capability, compiled.metadata.shared]), flush=True)


if __name__ == "__main__":
    main()
