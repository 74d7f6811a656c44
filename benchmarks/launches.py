# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts of the kernels that a training step launches on a GPU, complex and real, found without a GPU.

The operations of a step in bfloat16 autocast are counted on the CPU, with the code paths of a GPU. Views and
allocations launch nothing; dropout is one operation, as on a GPU.

    python -m benchmarks.launches
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.reporting import RESULTS, add_line, machine_facts
from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexOrderConfig,
    ComplexOrderModel,
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    SpectralTransformerConfig,
    SpectralTransformerForCTC,
)
from complex_transformers.kernels import dispatch
from complex_transformers.kernels.accelerator import attention_launch, switch, waves, weights
from complex_transformers.nn.recurrent import layers as recurrent

__all__ = ["CASES", "LIMIT", "launches", "layer_launches"]

LIMIT = 1.15  # at most so many times the launches of the real twin
SIZES = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 40}

# Operations that run no kernel although they are no views by their schema.
_ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "_unsafe_view"}
_ON_THE_CPU = {"randint", "_local_scalar_dense"}  # seeds of dropout
_FREE = {*_ALLOCATIONS, *_ON_THE_CPU, "lift_fresh"}


class _OfAGPU(TorchFunctionMode):
    """Dropout and RMS norm as one operation each; layer norm stands for the latter, which the CPU has not fused."""

    def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        if function is F.dropout:
            x, p, training, _ = [*args, *[None] * 4][:4]
            p = kwargs.get("p", 0.5 if p is None else p)
            training = kwargs.get("training", True if training is None else training)
            return torch.native_dropout(x, p, True)[0] if training and p else x
        if function is F.rms_norm:
            x, shape, weight, eps = [*args, *[None] * 4][:4]
            weight, eps = kwargs.get("weight", weight), kwargs.get("eps", eps) or 1e-6
            return torch.native_layer_norm(x, shape, None if weight is None else weight.to(x.dtype), None, eps)[0]
        return function(*args, **kwargs)


class _Operations(TorchDispatchMode):
    """Counts operations that launch a kernel, by name."""

    def __init__(self, found: Counter[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = function.overloadpacket.__name__
        if function.namespace == "aten" and not function.is_view and name not in _FREE:
            self.found[name] += 1
        return function(*args, **(kwargs or {}))


@contextmanager
def launches() -> Iterator[Counter[str]]:
    """Count the launches of a block by operation, on the CPU with the code paths of a GPU."""
    found: Counter[str] = Counter()

    def launch(kernel: Any, *arguments: Any, **constants: Any) -> None:
        found[kernel.fn.__name__] += 1

    with ExitStack() as stack:
        for module in [module for name, module in sys.modules.items() if name.startswith("complex_transformers")]:
            for name, value in (("is_plain_cpu", False), ("is_eager_cpu", False), ("is_eager_gpu", True)):
                if hasattr(module, name):
                    stack.enter_context(mock.patch.object(module, name, lambda x, value=value: value))
        stack.enter_context(mock.patch.object(switch, "launch", launch))
        stack.enter_context(mock.patch.object(switch, "DEVICES", ("cpu",)))
        stack.enter_context(mock.patch.object(recurrent, "TORCH_DEVICES", ("cpu",)))
        stack.enter_context(_OfAGPU())
        stack.enter_context(_Operations(found))
        yield found


def step_launches(model: nn.Module, batch: Mapping[str, Tensor]) -> Counter[str]:
    """Count the launches of the forward and backward pass of a training step in bfloat16 autocast."""
    model.train()
    with launches() as found:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(**batch)
        first = out[0] if isinstance(out, tuple) else next(iter(out.values()))
        first.float().sum().backward()
    return found


def layer_launches(network: Callable[[int], nn.Module], batch: Mapping[str, Tensor]) -> Counter[str]:
    """Count the launches of one layer: those of a network of two layers without those of a network of one."""
    two, one = step_launches(network(2), batch), step_launches(network(1), batch)
    return Counter({name: count - one[name] for name, count in two.items() if count != one[name]})
