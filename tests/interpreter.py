# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Triton's interpreter for the tests of the kernels, on the CPU; or a GPU, with ``CT_TEST_DEVICE=cuda``.

Triton decides when a function is decorated whether it will be compiled or interpreted, also for the functions of its
own language. Triton and the kernels are therefore imported here, before anything else does it, with
``TRITON_INTERPRET`` set for as long as that takes: nothing else that a worker runs sees the variable. Kernels of
others could not be compiled any more in such a process, but without a GPU there are none.
"""

import os
import sys
from importlib.util import find_spec

DEVICE = os.environ.get("CT_TEST_DEVICE", "cpu")
HAS_TRITON = find_spec("triton") is not None


def compute_as_on_a_gpu() -> list[str]:
    """Take the code paths of a GPU on the CPU, for the rest of the process; return the list of kernels that ran."""
    from complex_transformers.kernels.accelerator import switch
    from complex_transformers.nn.recurrent import layers

    for module in [module for name, module in sys.modules.items() if name.startswith("complex_transformers")]:
        for name, value in (("is_plain_cpu", False), ("is_eager_cpu", False), ("is_eager_gpu", True)):
            if hasattr(module, name):
                setattr(module, name, lambda x, value=value: value)
    launched: list[str] = []
    launch = switch.launch

    def counted(kernel, *arguments, **constants):
        launched.append(kernel.fn.__name__)
        launch(kernel, *arguments, **constants)

    switch.launch, switch.DEVICES, layers.TORCH_DEVICES = counted, ("cpu",), ("cpu",)
    return launched


def _import_interpreted() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        from triton.runtime import interpreter, jit

        jit.mangle_type(0)  # imports what else looks at the variable
        from complex_transformers.kernels.accelerator import (
            attention_kernels,
            half_kernels,
            low_bit_kernels,
            recurrent_weight_kernels,
            step_kernels,
            weight_kernels,
        )
    finally:
        del os.environ["TRITON_INTERPRET"]
    kernels = [
        attention_kernels.forward,
        half_kernels.product,
        low_bit_kernels.low_bit_one,
        weight_kernels.real_matrix,
    ]
    for function in (
        *kernels,
        step_kernels.gru_forward,
        recurrent_weight_kernels.recurrent_rows,
        weight_kernels.tl.sum,
    ):
        assert isinstance(function, interpreter.InterpretedFunction), "Triton or the kernels were imported too early"
    _repair_bfloat16(interpreter.InterpreterBuilder, attention_kernels.tl)


def _repair_bfloat16(builder, tl) -> None:
    """Compute products and signs of bfloat16 in float32: the interpreter holds its bits as integers and takes these.

    Triton negates by ``create_fneg``, before 3.5 by ``create_fsub`` from zero.
    """
    dot = builder.create_dot

    def widened(self, value):
        return self.create_fp_ext(value, tl.float32) if value.dtype.scalar == tl.bfloat16 else value

    def create_dot(self, a, b, *rest):
        return dot(self, widened(self, a), widened(self, b), *rest)

    def in_float32(function):
        def compute(self, *values):
            result = function(self, *(widened(self, value) for value in values))
            return self.create_fp_trunc(result, tl.bfloat16) if values[0].dtype.scalar == tl.bfloat16 else result

        return compute

    builder.create_dot = create_dot
    negate = "create_fneg" if hasattr(builder, "create_fneg") else "create_fsub"
    setattr(builder, negate, in_float32(getattr(builder, negate)))


if HAS_TRITON and DEVICE == "cpu":
    _import_interpreted()
