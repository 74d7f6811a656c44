# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism: which layers are split across processes, and how halves are (Shoeybi et al. 2019)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers.integrations.tensor_parallel import (
    ALL_PARALLEL_STYLES,
    TensorParallelLayer,
    replace_layer_number_by_wildcard,
)

from ...nn import ComplexLinear

__all__ = ["tensor_parallel_plan"]


class Divided(TensorParallelLayer):
    """A module whose own parameters are sharded along their first axis.

    ``sizes`` are attributes of the module, such as ``num_heads``, that are divided by the number of processes.
    """

    def __init__(self, *sizes: str, halves: bool = False) -> None:
        self.sizes = sizes
        self.halves = halves

    def should_use_local_tensors(self, module: nn.Module) -> bool:
        """Return True: the forward pass of a layer also holds for its shard."""
        return True

    def shard_param(self, module: nn.Module, param: str, mesh: Any) -> None:
        """Replace a parameter by its local shard; with ``halves``, a shard of the real and of the imaginary half."""
        from torch.distributed.tensor import Shard, distribute_tensor
        from torch.distributed.tensor.placement_types import _StridedShard

        whole = module._parameters[param]
        if whole is None:
            return
        placement = _StridedShard(dim=0, split_factor=2) if self.halves else Shard(0)
        part = distribute_tensor(whole, mesh, [placement], src_data_rank=None)
        module._parameters[param] = nn.Parameter(part, requires_grad=whole.requires_grad)

    def install_forward(self, module: nn.Module, mesh: Any) -> nn.Module:
        """Divide the size attributes of ``module`` by the number of processes.

        Raises:
            ValueError: the number of processes does not divide a size.
        """
        for name in self.sizes:
            size, unit = getattr(module, name, None), 2 if self.halves else 1
            if size is None:
                continue
            if size % (unit * mesh.size()):
                raise ValueError(
                    f"tp_size must divide {size // unit} for {name}={size} of {type(module).__name__}, got "
                    f"{mesh.size()}."
                )
            setattr(module, name, size // mesh.size())
        return super().install_forward(module, mesh)


class DividedInput(Divided):
    """A row-parallel complex layer; its bias is added once, to the sum over the processes."""

    def shard_param(self, module: nn.Module, param: str, mesh: Any) -> None:
        """Keep the whole bias on every process."""


if torch.distributed.is_available():
    ALL_PARALLEL_STYLES.register("heads", Divided("num_heads", "num_key_value_heads"))
    ALL_PARALLEL_STYLES.register("features", Divided())
    ALL_PARALLEL_STYLES.register("complex_colwise", Divided("out_features", halves=True))
    ALL_PARALLEL_STYLES.register("complex_rowwise", DividedInput("in_features", halves=True))


def tensor_parallel_plan(model: nn.Module) -> dict[str, str]:
    """Return the tensor parallel plan of ``model``, derived from its modules.

    Layers in ``column_parallel`` of an attention or feed-forward module are split by outputs, layers in
    ``row_parallel`` by inputs. Both sub-layers of a complex weight are split alike, so a process has both halves of
    its complex features. A module with a norm between the two layers stays whole, since the norm needs all features.
    """
    plan: dict[str, str] = {}
    for name, module in model.named_modules():
        if not hasattr(module, "column_parallel") or getattr(module, "sub_norm", None) is not None:
            continue
        if getattr(module, "qk_norm", False) == "all_heads":
            continue
        for ways, style in ((module.column_parallel, "colwise"), (module.row_parallel, "rowwise")):
            for layer in ways:
                plan |= _rules_of_linear(f"{name}.{layer}", getattr(module, layer), style)
        if hasattr(module, "num_heads"):
            plan[name] = "heads"
        for child, layer in module.named_children():
            if child in ("q_norm", "k_norm", "sigmoid"):  # shared by heads of all processes
                plan[f"{name}.{child}"] = "replicated_with_grad_allreduce"
            if child == "polar" or (child == "activation" and any(True for _ in layer.parameters())):
                plan[f"{name}.{child}"] = "features"
    return {replace_layer_number_by_wildcard(rule): style for rule, style in plan.items()}


def _rules_of_linear(name: str, layer: nn.Module, style: str) -> dict[str, str]:
    """Return the rules of a dense layer; for a complex layer, of its sub-layers and its own bias."""
    if not isinstance(layer, ComplexLinear):
        return {name: style}
    parts = {f"{name}.{child}": style for child, part in layer.named_children() if isinstance(part, nn.Linear)}
    return {**parts, name: f"complex_{style}"}
