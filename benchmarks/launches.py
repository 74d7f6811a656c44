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

import complex_transformers as ct
from benchmarks.reporting import RESULTS, add_line, machine_facts
from complex_transformers.kernels.accelerator import switch
from complex_transformers.nn.recurrent import layers as recurrent

__all__ = ["CASES", "LAUNCHES", "LIMIT", "launches", "layer_launches", "measure"]

LAUNCHES = RESULTS / "launches.jsonl"
LIMIT = 1.15  # times the launches of the real twin
FEATURES = {"hidden_size": 32}
TEXT = {**FEATURES, "vocab_size": 40}
# A fused attention kernel has dropout of its own; the CPU's has not.
ROTARY = {"position_type": "rotary"}
HEADS = {"num_attention_heads": 2, "intermediate_size": 64, "attention_probs_dropout_prob": 0.0}
REAL_SCORE = {"attention_score": "real"}
PHASE_COHERENT = {"attention_score": "cosine", "attention_normalization": "sigmoid"}
LIFTED = {"linear_type": "widely_linear", "gate_product": "parts", "norm_scale": "stored"}

Network = Callable[[str, int], nn.Module]  # number field, layers -> a network


def encoder(field: str, layers: int) -> nn.Module:
    """Return a ComplexOrder encoder with the score of a real network."""
    config = ct.ComplexOrderConfig(number_field=field, num_hidden_layers=layers, **REAL_SCORE, **TEXT, **HEADS)
    return ct.ComplexOrderModel(config)


def modulus_encoder(field: str, layers: int) -> nn.Module:
    """Return a ComplexOrder encoder with scores |q k^H|; the real twin has its own score."""
    score = {} if field == "complex" else REAL_SCORE
    return ct.ComplexOrderModel(
        ct.ComplexOrderConfig(number_field=field, num_hidden_layers=layers, **score, **TEXT, **HEADS)
    )


def phase_coherent_encoder(field: str, layers: int) -> nn.Module:
    """Return a ComplexOrder encoder with cosine scores and sigmoid weights, in both fields."""
    config = ct.ComplexOrderConfig(number_field=field, num_hidden_layers=layers, **PHASE_COHERENT, **TEXT, **HEADS)
    return ct.ComplexOrderModel(config)


def encoder_decoder(field: str, layers: int) -> nn.Module:
    """Return an encoder-decoder with as many layers on both sides."""
    sizes = {"encoder_layers": layers, "decoder_layers": layers}
    return ct.ComplexSeq2SeqModel(ct.ComplexSeq2SeqConfig(number_field=field, **sizes, **REAL_SCORE, **TEXT, **HEADS))


def decoder(field: str, layers: int) -> nn.Module:
    """Return a decoder of Llama's shape."""
    config = ct.ComplexLlamaConfig(number_field=field, num_hidden_layers=layers, **ROTARY, **TEXT, **HEADS)
    return ct.ComplexLlamaModel(config)


def lifted_decoder(field: str, layers: int) -> nn.Module:
    """Return a decoder of widely linear layers, as lifted checkpoints have them."""
    options = {**ROTARY, **(LIFTED if field == "complex" else {})}
    config = ct.ComplexLlamaConfig(number_field=field, num_hidden_layers=layers, **options, **TEXT, **HEADS)
    return ct.ComplexLlamaModel(config)


def stream_decoder(field: str, layers: int) -> nn.Module:
    """Return a Transformer-XL."""
    sizes = {"num_hidden_layers": layers, "mem_len": 8}
    config = ct.ComplexTransfoXLConfig(number_field=field, **sizes, **REAL_SCORE, **TEXT, **HEADS)
    return ct.ComplexTransfoXLModel(config)


def speech_encoder(field: str, layers: int) -> nn.Module:
    """Return a speech encoder."""
    sizes = {"num_hidden_layers": layers, "feature_size": 16}
    config = ct.SpectralTransformerConfig(number_field=field, **sizes, **REAL_SCORE, **FEATURES, **HEADS)
    return ct.SpectralTransformerModel(config)


def linear_recurrence(field: str, layers: int) -> nn.Module:
    """Return blocks around a linear recurrence."""
    config = ct.ComplexRecurrentLMConfig(number_field=field, num_hidden_layers=layers, rnn_type="lru", **TEXT)
    return ct.ComplexRecurrentLMModel(config)


def state_space(field: str, layers: int) -> nn.Module:
    """Return a Mamba-3 with two chunks per sequence; the real twin does not rotate its states."""
    sizes = {"num_hidden_layers": layers, "state_size": 16, "head_dim": 16, "chunk_size": 8, "intermediate_size": 64}
    return ct.ComplexMambaModel(ct.ComplexMambaConfig(number_field=field, **sizes, **TEXT))


def graph_convolution(field: str, layers: int) -> nn.Module:
    """Return a text classifier of graph convolutions."""
    sizes = {"num_hidden_layers": layers, "intermediate_size": 32}
    return ct.ComplexTextGCNForSequenceClassification(ct.ComplexTextGCNConfig(number_field=field, **sizes, **TEXT))


def dense(field: str, layers: int) -> nn.Module:
    """Return an image classifier of dense layers."""
    config = ct.ComplexMLPConfig(number_field=field, hidden_sizes=[32] * (layers + 1), image_size=16)
    return ct.ComplexMLPForImageClassification(config)


def convolution(field: str, layers: int) -> nn.Module:
    """Return an image classifier of convolutions, without pooling."""
    sizes = {"num_filters": [8] * (layers + 1), "kernel_size": 3, "pool_size": 1, "image_size": 16}
    config = ct.ComplexConvNetConfig(number_field=field, padding="same", **sizes)
    return ct.ComplexConvNetForImageClassification(config)


IDS = torch.arange(1, 19).view(2, 9)
OF_TEXT, OF_IMAGES = {"input_ids": IDS}, {"pixel_values": torch.ones(2, 3, 16, 16)}
# Name of a layer -> network and batch.
CASES: dict[str, tuple[Network, dict[str, Tensor]]] = {
    "encoder": (encoder, OF_TEXT),
    "encoder, score modulus": (modulus_encoder, OF_TEXT),
    "encoder, phase-coherent": (phase_coherent_encoder, OF_TEXT),
    "encoder and decoder": (encoder_decoder, {**OF_TEXT, "decoder_input_ids": IDS}),
    "decoder": (decoder, OF_TEXT),
    "decoder, widely linear": (lifted_decoder, OF_TEXT),
    "Transformer-XL": (stream_decoder, OF_TEXT),
    "speech encoder": (speech_encoder, {"input_features": torch.ones(2, 12, 16)}),
    "linear recurrence": (linear_recurrence, OF_TEXT),
    "state space": (state_space, OF_TEXT),
    "graph convolution": (graph_convolution, OF_TEXT),
    "dense": (dense, OF_IMAGES),
    "convolution": (convolution, OF_IMAGES),
}

# Operations that run no kernel although they are no views by their schema.
_ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "_unsafe_view"}
_ON_THE_CPU = {"randint", "_local_scalar_dense", "promote_types"}  # seeds of dropout; dtypes
_FREE = {*_ALLOCATIONS, *_ON_THE_CPU, "lift_fresh"}


class _OfAGPU(TorchFunctionMode):
    """Dropout and RMS norm as one operation each; layer norm stands for the latter, which the CPU has not fused.

    The values of a matrix are not computed while launches are counted, so that a singular one is accepted.
    """

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
        if function is torch.linalg.solve:
            return torch.linalg.solve_ex(*args, **kwargs)[0]
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
def launches(kernels: bool = True) -> Iterator[Counter[str]]:
    """Count the launches of a block by operation, on the CPU with the code paths of a GPU.

    Args:
        kernels: False for the formulas that ``torch.compile`` gets, without kernels of our own and cuDNN.
    """
    found: Counter[str] = Counter()

    def launch(kernel: Any, *arguments: Any, **constants: Any) -> None:
        found[kernel.fn.__name__] += 1

    with ExitStack() as stack:
        for module in [module for name, module in sys.modules.items() if name.startswith("complex_transformers")]:
            for name, value in (("is_plain_cpu", False), ("is_eager_cpu", False), ("is_eager_gpu", kernels)):
                if hasattr(module, name):
                    stack.enter_context(mock.patch.object(module, name, lambda x, value=value: value))
        stack.enter_context(mock.patch.object(switch, "launch", launch))
        stack.enter_context(mock.patch.object(switch, "DEVICES", ("cpu",) if kernels else ()))
        stack.enter_context(mock.patch.object(recurrent, "TORCH_DEVICES", ("cpu",) if kernels else ()))
        stack.enter_context(_OfAGPU())
        stack.enter_context(_Operations(found))
        yield found


def step_launches(model: nn.Module, batch: Mapping[str, Tensor], kernels: bool = True) -> Counter[str]:
    """Count the launches of a forward and backward pass in bfloat16 autocast."""
    model.train()
    with launches(kernels) as found:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(**batch)
        out[0].float().sum().backward()
    return found


def layer_launches(name: str, field: str, kernels: bool = True) -> Counter[str]:
    """Count the launches of one layer: those of a network of two layers without those of a network of one."""
    network, batch = CASES[name]
    two, one = (step_launches(network(field, layers), batch, kernels) for layers in (2, 1))
    return Counter({operation: count - one[operation] for operation, count in two.items() if count != one[operation]})


def measure(name: str) -> dict[str, Any]:
    """Count the launches of one case and return its line of the results."""
    real, formulas = layer_launches(name, "real", False), layer_launches(name, "complex", False)
    twin, ours = layer_launches(name, "real"), layer_launches(name, "complex")
    counts = {"real_formulas": real, "formulas": formulas, "real": twin, "kernels": ours}
    return {
        "row": name,
        **{kind: sum(count.values()) for kind, count in counts.items()},
        "operations": dict(sorted(ours.items())),
        "machine": machine_facts(),
    }


def main() -> None:
    """Count the launches of all cases."""
    for name in CASES:
        add_line(LAUNCHES, line := measure(name))
        print(name, line["real"], line["formulas"], line["kernels"], flush=True)


if __name__ == "__main__":
    main()
