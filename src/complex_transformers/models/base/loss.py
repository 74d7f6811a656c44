# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Losses of all heads: checked labels, the mean over labels other than -100, and 0 if there are none.

A batch may have no label at all, such as the last one of an epoch. A loss of 0 with a graph lets all processes of a
distributed run continue, where NaN would end the run and an error would block the other processes.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedConfig

from .inputs import shows_values

__all__ = ["check_labels", "classification_labels", "label_count", "shift_right", "smoothed_cross_entropy"]

IGNORED = -100


def check_labels(
    labels: Tensor, shape: tuple[int, ...] | torch.Size, num_classes: int, name: str = "labels"
) -> Tensor:
    """Return labels of ``shape``, the argument ``name`` of a model, as int64.

    Raises:
        TypeError: the labels are not integers.
        ValueError: another shape or, on the CPU, labels that are neither in [0, ``num_classes``) nor -100.
    """
    # An empty list becomes a tensor of float32.
    if labels.numel() and (labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool):
        raise TypeError(f"{name} must be integer class ids, got dtype {labels.dtype}.")
    if labels.shape != shape:
        raise ValueError(f"{name} must have the shape {tuple(shape)}, got {tuple(labels.shape)}.")
    if shows_values(labels):
        wrong = labels[(labels != IGNORED) & ((labels < 0) | (labels >= num_classes))]
        if wrong.numel():
            raise ValueError(f"{name} must lie in [0, {num_classes}), or be {IGNORED} (ignored), got {int(wrong[0])}.")
    return labels.to(torch.int64)


def label_count(labels: Tensor, num_items: Tensor | int | None = None) -> Tensor:
    """Return the divisor of a summed loss: ``num_items``, or the number of labels other than -100; at least 1."""
    count = (labels != IGNORED).sum() if num_items is None else torch.as_tensor(num_items, device=labels.device)
    return count.clamp(min=1)


def classification_labels(labels: Tensor, logits: Tensor, config: PreTrainedConfig) -> tuple[Tensor, dict[str, Any]]:
    """Return labels for the loss of ``config.problem_type`` with ``logits [B, K]``, and its other arguments.

    Raises:
        TypeError, ValueError: as in ``check_labels``; targets of another shape than the logits, or multi-label targets
            outside [0, 1].
    """
    classes = logits.shape[-1]
    default = "multi_label_classification" if labels.is_floating_point() else "single_label_classification"
    problem = config.problem_type or ("regression" if classes == 1 else default)
    if problem == "single_label_classification":
        labels = check_labels(labels.squeeze(-1) if labels.dim() == 2 else labels, logits.shape[:1], classes)
        return labels, {"num_items_in_batch": label_count(labels)}
    expected = {tuple(logits.shape), tuple(logits.shape[:1])} if classes == 1 else {tuple(logits.shape)}
    if tuple(labels.shape) not in expected:
        raise ValueError(f"labels must have the shape {tuple(logits.shape)} of the logits, got {tuple(labels.shape)}.")
    if problem == "multi_label_classification" and shows_values(labels) and bool(((labels < 0) | (labels > 1)).any()):
        raise ValueError(f"labels must lie in [0, 1] for {problem}, got {labels.min()} to {labels.max()}.")
    return (labels if labels.is_floating_point() else labels.to(logits.dtype)).view_as(logits), {}


def shift_right(labels: Tensor, start_token_id: int | None, pad_token_id: int | None) -> Tensor:
    """Return the decoder inputs for ``labels [B, T]``: the start token, then all labels but the last."""
    if start_token_id is None:
        raise ValueError(
            "decoder_start_token_id must be set in the config to train on labels, got None. Often it is the "
            "tokenizer's pad_token_id or bos_token_id."
        )
    if labels.dim() != 2:
        raise ValueError(f"labels must be [batch, length], got {tuple(labels.shape)}.")
    shifted = F.pad(labels[:, :-1], (1, 0), value=start_token_id)
    # Ignored labels become padding; a causal decoder never attends to it before a real label.
    return shifted.masked_fill(shifted == IGNORED, start_token_id if pad_token_id is None else pad_token_id)


def smoothed_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    label_smoothing: float = 0.0,
    num_items: Tensor | int | None = None,
    name: str = "labels",
) -> Tensor:
    """Return the cross entropy of ``[B, T, V]`` and ``[B, T]`` (-100 is ignored): the mean, or sum / ``num_items``.

    Errors refer to the labels as ``name``.

    Raises:
        TypeError, ValueError: as in ``check_labels``.
    """
    labels = check_labels(labels, logits.shape[:-1], logits.shape[-1], name).to(logits.device)
    loss = F.cross_entropy(
        logits.flatten(0, 1).to(torch.promote_types(logits.dtype, torch.float32)),
        labels.flatten(),
        ignore_index=IGNORED,
        reduction="sum",
        label_smoothing=label_smoothing,
    )
    return loss / label_count(labels, num_items)
