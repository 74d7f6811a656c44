# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Losses of all heads: labels that are checked, means over those that count, and 0 with a graph where none does.

A batch without a label, the last of an epoch for instance, is no step: a loss of 0 with a graph lets all processes of
a distributed training go on, where NaN would end it and an error would hang the others.
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
    """Labels of ``shape``, the argument ``name`` of a model, as int64.

    Raises:
        TypeError: labels that are no integers.
        ValueError: another shape; on the CPU, labels that are neither in [0, ``num_classes``) nor -100.
    """
    # An empty list becomes a tensor of float32.
    if labels.numel() and (labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool):
        raise TypeError(f"{name} must be integers, the numbers of the classes, got dtype {labels.dtype}")
    if labels.shape != shape:
        raise ValueError(f"{name} must have the shape {tuple(shape)}, got {tuple(labels.shape)}")
    if shows_values(labels):
        wrong = labels[(labels != IGNORED) & ((labels < 0) | (labels >= num_classes))]
        if wrong.numel():
            raise ValueError(
                f"{name} must lie in [0, {num_classes}), or be {IGNORED} for no prediction, got {int(wrong[0])}"
            )
    return labels.to(torch.int64)


def label_count(labels: Tensor, num_items: Tensor | int | None = None) -> Tensor:
    """What a sum over labels is divided by: ``num_items``, or the labels that count; at least 1."""
    count = (labels != IGNORED).sum() if num_items is None else torch.as_tensor(num_items, device=labels.device)
    return count.clamp(min=1)


def classification_labels(labels: Tensor, logits: Tensor, config: PreTrainedConfig) -> tuple[Tensor, dict[str, Any]]:
    """Labels as the loss of ``config.problem_type`` takes them for ``logits [B, K]``, and its other arguments.

    Raises:
        TypeError, ValueError: as in ``check_labels``; targets of another shape than the logits, or, of several
            labels, outside [0, 1].
    """
    classes = logits.shape[-1]
    several = "multi_label_classification" if labels.is_floating_point() else "single_label_classification"
    problem = config.problem_type or ("regression" if classes == 1 else several)
    if problem == "single_label_classification":
        labels = check_labels(labels.squeeze(-1) if labels.dim() == 2 else labels, logits.shape[:1], classes)
        return labels, {"num_items_in_batch": label_count(labels)}
    expected = {tuple(logits.shape), tuple(logits.shape[:1])} if classes == 1 else {tuple(logits.shape)}
    if tuple(labels.shape) not in expected:
        raise ValueError(f"labels must have the shape {tuple(logits.shape)} of the logits, got {tuple(labels.shape)}")
    if problem == "multi_label_classification" and shows_values(labels) and bool(((labels < 0) | (labels > 1)).any()):
        raise ValueError(
            f"labels of problem_type='multi_label_classification' must lie in [0, 1], got {labels.min()} to "
            f"{labels.max()}"
        )
    return (labels if labels.is_floating_point() else labels.to(logits.dtype)).view_as(logits), {}


def shift_right(labels: Tensor, start_token_id: int | None, pad_token_id: int | None) -> Tensor:
    """What the decoder reads to predict ``labels [B, T]``: the start token, then all labels but the last."""
    if start_token_id is None:
        raise ValueError(
            "the first token of a target is not known: set config.decoder_start_token_id (often the tokenizer's "
            "pad_token_id or bos_token_id)"
        )
    if labels.dim() != 2:
        raise ValueError(f"labels must be [batch, length], got {tuple(labels.shape)}")
    shifted = F.pad(labels[:, :-1], (1, 0), value=start_token_id)
    # What is not predicted is read as padding; a causal decoder never sees it before a real label.
    return shifted.masked_fill(shifted == IGNORED, start_token_id if pad_token_id is None else pad_token_id)


def smoothed_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    label_smoothing: float = 0.0,
    num_items: Tensor | int | None = None,
    name: str = "labels",
) -> Tensor:
    """Cross entropy of ``[B, T, V]`` and ``[B, T]`` (-100 is ignored): the mean, or a sum over ``num_items``.

    Errors call the labels ``name``.

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
