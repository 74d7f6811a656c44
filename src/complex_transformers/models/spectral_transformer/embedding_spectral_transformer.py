# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Embedding of speech features (thesis, chapter 5): frequency kernel, positions, pooling, projection."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...nn import FrequencyKernel, join, multiply, number_field, positional_phase, split
from ...nn.padding_order import real_first, reorder
from ..base.inputs import check_mask
from .configuration_spectral_transformer import SpectralTransformerConfig

__all__ = ["SpectralEmbedding", "check_features", "frames_first", "length_mask"]


def check_features(input_features: Tensor, attention_mask: Tensor | None, feature_size: int) -> None:
    """Raise for features of a wrong dtype or shape, and for a mask of another shape."""
    if not input_features.is_floating_point():
        raise TypeError(f"input_features must be real floats, got {input_features.dtype}. Use nn.from_complex.")
    shape = tuple(input_features.shape)
    if len(shape) != 3 or shape[-1] != feature_size or 0 in shape:
        raise ValueError(
            f"input_features must be a non-empty [batch, frames, feature_size={feature_size}], got {shape}. "
            "Use SpectralTransformerConfig.from_extractor."
        )
    check_mask(attention_mask, tuple(input_features.shape[:2]), layout="[batch, frames]", scores=False)


def frames_first(features: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Move padding, left or right, to the end and set it to zero.

    Returns:
        Features ``[B, T, C]`` and the number of frames ``[B]``.
    """
    if attention_mask is None:
        return features, features.new_full((features.shape[0],), features.shape[1], dtype=torch.long)
    mask = attention_mask.to(torch.bool)
    order, _ = real_first(mask, 1)
    return reorder(features.masked_fill(~mask.unsqueeze(-1), 0.0), order), mask.sum(-1)


def length_mask(lengths: Tensor, size: int) -> Tensor:
    """Return a mask, ``[B] -> [B, size]``, that is true for the first ``lengths[b]`` frames."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(-1)


class SpectralEmbedding(nn.Module):
    """Features to hidden states: pooling(K F(X) + i PPE) (thesis, Eq. 5.7, 5.10), projection, pooling over frames.

    With ``position_phase="rotate"`` the hidden states are rotated after the projection: rotating the bins would make
    the projection depend on the position. A real network projects the features, pools over frames and, if its layers
    have no positions of their own, adds positions.
    """

    def __init__(self, config: SpectralTransformerConfig) -> None:
        super().__init__()
        field = number_field(config.number_field)
        self.is_complex = config.number_field == "complex"
        self.position_phase = config.position_phase
        self.adds_to_hidden = config.variant == "fully_spectral" and not self.is_complex
        self.kernel = FrequencyKernel(config.feature_size) if config.frequency_kernel and self.is_complex else None
        pool = field.MaxPool1d if config.pooling == "max" else field.AvgPool1d
        self.bin_pool = None
        if config.pooled_size != config.feature_size:
            self.bin_pool = pool(config.bin_pool_size, config.bin_pool_stride)
        self.projection = field.Linear(config.pooled_size, config.hidden_size) if config.input_projection else None
        self.time_pool = pool(config.time_pool_size) if config.time_pool_size > 1 else None

    def forward(self, features: Tensor, lengths: Tensor) -> Tensor:
        """Embed features ``[B, T, C]`` with ``lengths [B]``.

        Returns:
            Hidden states ``[B, ceil(T / time_pool_size), hidden_size]``.
        """
        if self.is_complex:
            features = features if self.kernel is None else self.kernel(features)
            features = self.add_position(features) if self.position_phase == "add" else features
            features = features if self.bin_pool is None else self.pool_bins(features)
        hidden_states = features if self.projection is None else self.projection(features)
        if self.time_pool is not None:
            hidden_states = self.pool_frames(hidden_states, lengths)
        if self.is_complex and self.position_phase == "rotate":
            return multiply(hidden_states, position_of_frames(hidden_states))
        if self.adds_to_hidden and self.position_phase == "add":
            return hidden_states + position_of_frames(hidden_states)
        return hidden_states

    def add_position(self, bins: Tensor) -> Tensor:
        """Return F(X) + i PPE, ``[B, T, 2 bins]``."""
        real, imag = split(position_of_frames(bins))
        return bins + join(-imag, real)

    def pool_bins(self, bins: Tensor) -> Tensor:
        """Pool over bins, ``[B, T, 2 bins] -> [B, T, 2 pooled]``; the last window may be partial."""
        batch, frames, _ = bins.shape
        rows, mask = _fill(bins.unflatten(-1, (2, -1)).flatten(0, 1), self.bin_pool)  # type: ignore[arg-type]
        return self.bin_pool(rows, mask).flatten(-2).view(batch, frames, -1)  # type: ignore[misc]

    def pool_frames(self, hidden_states: Tensor, lengths: Tensor) -> Tensor:
        """Pool over frames, ``[B, T, C] -> [B, T', C]``; the last window of a clip may be partial."""
        rows, _ = _fill(hidden_states.transpose(1, 2), self.time_pool)  # type: ignore[arg-type]
        pooled = self.time_pool(rows, length_mask(lengths, rows.shape[-1]))  # type: ignore[misc]
        return pooled.transpose(1, 2)


def position_of_frames(hidden_states: Tensor) -> Tensor:
    """Return the positional phase embedding (thesis, Eq. 5.11), ``[T, C]`` halves, for ``[B, T, C]``."""
    frames, width = hidden_states.shape[-2:]
    return positional_phase(frames, width // 2, hidden_states)


def _fill(rows: Tensor, pool: nn.Module) -> tuple[Tensor, Tensor]:
    """Append zeros to ``[B, C, N]`` so that windows cover every step; also return the mask of the real steps."""
    (size,), (stride,) = pool.kernel_size, pool.stride  # type: ignore[misc]
    steps = rows.shape[-1]
    # Pooling would drop an incomplete last window. One padding for any N keeps exported graphs dynamic.
    filled = F.pad(rows, (0, max(stride - 1, size - steps)))
    return filled, torch.arange(filled.shape[-1], device=rows.device).lt(steps).expand(rows.shape[0], -1)
