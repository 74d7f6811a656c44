# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Token embeddings as functions of position (ComplexOrder), and the baselines with separate position embeddings.

Positions count real tokens from 1 (ComplexOrder App. C): pos = 1, 2, ... along ``attention_mask``, so padding on
either side does not shift them. ``position_ids`` override them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.vectors import vector_rows
from ..kernels.waves import wave_phase
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice, check_ids
from .initialization import fill_
from .precision import FullPrecision

__all__ = [
    "ComplexEmbedding",
    "ComplexOrderEmbedding",
    "WordPositionEmbedding",
    "positions_from_mask",
    "sinusoidal_frequencies",
]

EMBEDDING_TYPES = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")

SHARINGS = ("none", "word", "dimension")
PHASES = ("none", "learned", "per_dimension")
FREQUENCY_INITS = ("sinusoidal", "normal", "uniform")
DAMPINGS = ("none", "learned")
VOCABULARY_REMEDY = "Use the tokenizer of the model, or model.resize_token_embeddings(len(tokenizer))"


def check_frequency_scale(frequency_scale: float) -> None:
    """Raise unless ``frequency_scale`` is finite and not negative."""
    if not 0.0 <= frequency_scale < math.inf:
        raise ValueError(f"frequency_scale must be finite and at least 0, got {frequency_scale}")


def check_words_differ(amplitude_sharing: str, frequency_sharing: str, phase: str) -> None:
    """Raise if the options give all tokens the same complex-order embedding."""
    if amplitude_sharing == frequency_sharing == "word" and phase != "learned":
        raise ValueError(
            "amplitude_sharing and frequency_sharing must not both be 'word', got 'word' twice: all tokens would be "
            "equal. Change one, or set phase='learned'."
        )


def sinusoidal_frequencies(num_features: int) -> Tensor:
    """Return omega_k = 10000^(-2k/(2d)), k = 0..d-1, in rad per position (ComplexOrder Eq. 7 with d_model = 2d)."""
    k = torch.arange(num_features, dtype=torch.float64)
    return torch.pow(10000.0, -k / num_features).float()


def positions_from_mask(input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    """Count real tokens, pos = 1, 2, ...: ``[B, N] -> [B, N]``, or ``[1, N]`` without a mask; 1 or more at padding."""
    if attention_mask is None or attention_mask.dim() != 2:
        return torch.arange(1, input_ids.shape[-1] + 1, device=input_ids.device).unsqueeze(0)
    return attention_mask.to(torch.bool).cumsum(-1).clamp(min=1)


class ComplexEmbedding(nn.Embedding):
    """Complex embedding table, token -> C^d (Thesis 2.14): ``nn.Embedding`` of width 2d in ``[real | imag]`` halves.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: stored width 2d.
        padding_idx: row kept at zero.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, **kwargs: Any) -> None:
        arithmetic("complex").num_features(embedding_dim)
        super().__init__(num_embeddings, embedding_dim, padding_idx=padding_idx, **kwargs)


class TableEmbedding(FullPrecision):
    """Base of token embeddings: the check of ids, resizing of all tables, loading of pretrained vectors."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx

    def check_ids(self, input_ids: Tensor) -> None:
        """Raise for ids outside the vocabulary."""
        check_ids("input_ids", input_ids, self.num_embeddings, VOCABULARY_REMEDY)

    @staticmethod
    def positions(input_ids: Tensor, position_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor:
        """Return positions ``[B, N]`` or ``[1, N]``: ``position_ids``, or 1, 2, ... along ``attention_mask``.

        Raises:
            ValueError: the shape of either does not fit ``input_ids [B, N]``.
        """
        positions = positions_from_mask(input_ids, attention_mask) if position_ids is None else position_ids
        *batch, length = positions.shape
        if length != input_ids.shape[-1] or batch not in ([], [1], [*input_ids.shape[:-1]]):
            name = "attention_mask" if position_ids is None else "position_ids"
            shapes = f"the shape of input_ids {tuple(input_ids.shape)}, got {tuple(positions.shape)}"
            raise ValueError(f"{name} must have {shapes}")
        return positions

    def word_tables(self) -> list[str]:
        """Return the names of the parameters with one row per token id."""
        return ["weight"]

    def reset_parameters(self) -> None:
        raise NotImplementedError

    @torch.no_grad()
    def resize(self, num_embeddings: int, mean_resizing: bool = True) -> None:
        """Resize every table of ``word_tables`` to ``num_embeddings`` rows; old rows keep their values.

        New rows start as the mean of the old ones, or by ``reset_parameters`` if ``mean_resizing`` is false.
        """
        old = {name: value.detach() for name, value in self.named_parameters(recurse=False)}
        words = self.word_tables()
        kept = min(num_embeddings, self.num_embeddings)
        for name in words:
            table = old[name].new_empty(num_embeddings, old[name].shape[1])
            setattr(self, name, nn.Parameter(table, requires_grad=self.get_parameter(name).requires_grad))
        shared = {name: old[name].clone() for name in old.keys() - set(words)}
        self.num_embeddings = num_embeddings
        if self.padding_idx is not None and self.padding_idx >= num_embeddings:
            self.padding_idx = None
        self.reset_parameters()
        for name, value in shared.items():
            self.get_parameter(name).copy_(value)
        for name in words:
            table = self.get_parameter(name)
            table[:kept] = old[name][:kept]
            if mean_resizing:
                table[kept:] = old[name].mean(dim=0)

    @torch.no_grad()
    def load_vectors(
        self, vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
    ) -> float:
        """Load pretrained word vectors into the table; they stay trainable.

        Rows without a vector are drawn from a normal distribution with mean and standard deviation of the vectors in
        each dimension. The padding row stays zero.

        Args:
            vectors: ``gensim`` ``KeyedVectors``, any mapping from word to vector, or the path of a word2vec or GloVe
                file (needs the extra ``vectors``).
            vocabulary: word -> id, as ``tokenizer.get_vocab()``.

        Returns:
            The fraction of the vocabulary that has a vector.

        Raises:
            ValueError: vectors of another dimension, shared amplitudes, a broken file, no word found.
        """
        rows = vector_rows(vectors, vocabulary)
        found = torch.stack(list(rows.values()))
        table = self._vector_target(found.shape[1])
        if (largest := max(vocabulary.values())) >= self.num_embeddings:
            raise ValueError(f"ids of vocabulary must be below {self.num_embeddings}, got {largest}. Resize first.")
        # Sorted, since tokenizers list their vocabulary in varying order and a seed must give the same vectors.
        unknown = sorted(set(vocabulary.values()) - rows.keys())
        drawn = torch.randn(len(unknown), found.shape[1])
        table[unknown] = (found.mean(0) + found.std(0, correction=0) * drawn).to(table)
        table[list(rows)] = found.to(table)
        if self.padding_idx is not None:
            table[self.padding_idx].zero_()
        return len(rows) / len(vocabulary)

    def _vector_target(self, dimension: int) -> Tensor:
        """Return the view of the table that vectors of this dimension fill."""
        raise NotImplementedError

    @staticmethod
    def _check_dimension(dimension: int, *fitting: int, factor: int = 2) -> None:
        if dimension not in fitting:
            raise ValueError(
                f"vectors must have {' or '.join(map(str, fitting))} dimensions, got {dimension}. Use "
                f"embedding_dim={factor * dimension} (a model's hidden_size)."
            )

    @staticmethod
    def _zero_row(table: Tensor, row: int | None) -> None:
        if row is not None and not getattr(table, "_is_hf_initialized", False):
            with torch.no_grad():
                table[row].zero_()


class ComplexOrderEmbedding(TableEmbedding):
    """z_j(pos) = r_j exp(i (omega_j pos + theta_j)) (ComplexOrder Eq. 5): ``[B, N]`` ids -> ``[B, N, 2d]`` halves.

    Tables: ``amplitude`` r ``[V, d]``, ``frequency`` omega ``[V, d]`` in rad per position, ``phase`` theta in rad.
    Sharing (the authors' slides, Table 4) replaces a table by one row or one column: ``word`` r_{.,d} ``[1, d]`` for
    all tokens, ``dimension`` r_{j,.} ``[V, 1]`` for all dimensions of a token. All tables except the amplitudes stay
    in float32 whatever the dtype of the model, so phases are exact to 1e-3 rad at position 1e6. The length is not
    limited.

    The embedding has ComplexOrder Property 1, z(pos + n) = z(pos) exp(i omega n), and Property 2, |z| <= r. A real
    network reads the halves as 2d real features.

    Args:
        num_embeddings: V, vocabulary size.
        embedding_dim: stored width 2d.
        padding_idx: token whose amplitude is zero and is not trained.
        embedding_type: ``complex_order``, or ``complex_vanilla`` with omega = 0 and a learned phase (Wang et al.
            2019).
        amplitude_sharing, frequency_sharing: ``none``, ``word`` or ``dimension``.
        phase: ``none`` (theta = 0), ``learned`` ``[V, d]`` or ``per_dimension`` ``[1, d]``; drawn from U(-pi, pi).
        damping: ``learned`` multiplies by |z_1|^pos with |z_1| = exp(-softplus(damping)) < 1 (ComplexOrder Eq. 4);
            ``none`` fixes |z_1| = 1 as the paper does.
        frequency_init: ``sinusoidal`` 10000^(-k/d) for every token (ComplexOrder App. A), ``normal`` N(0, 1) or
            ``uniform`` U(-pi, pi), the range of frequencies that integer positions distinguish.
        frequency_scale: factor on these initial frequencies, >= 0; near 0 training starts as a bag-of-words model. Our
            addition.
        amplitude_std: standard deviation of the normal amplitudes.

    Raises:
        ValueError: an odd width, an unknown name, an id outside the vocabulary, positions or a mask of another shape.
    """

    no_weight_decay = full_precision = ("frequency", "phase", "damping")

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        embedding_type: str = "complex_order",
        amplitude_sharing: str = "none",
        frequency_sharing: str = "none",
        phase: str = "none",
        damping: str = "none",
        frequency_init: str = "sinusoidal",
        frequency_scale: float = 1.0,
        amplitude_std: float = 0.02,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_choice("embedding_type", embedding_type, ("complex_order", "complex_vanilla"))
        check_choice("amplitude_sharing", amplitude_sharing, SHARINGS)
        check_choice("frequency_sharing", frequency_sharing, SHARINGS)
        check_choice("phase", phase, PHASES)
        check_choice("damping", damping, DAMPINGS)
        check_choice("frequency_init", frequency_init, FREQUENCY_INITS)
        check_frequency_scale(frequency_scale)
        if embedding_type == "complex_order":
            check_words_differ(amplitude_sharing, frequency_sharing, phase)
        self.num_features = arithmetic("complex").num_features(embedding_dim)
        self.embedding_type = embedding_type
        self.amplitude_sharing = amplitude_sharing
        self.frequency_sharing = frequency_sharing
        self.frequency_init = frequency_init
        self.frequency_scale = frequency_scale
        self.amplitude_std = amplitude_std
        vanilla = embedding_type == "complex_vanilla"
        self._sharing = {
            "amplitude": amplitude_sharing,
            "frequency": frequency_sharing,
            "phase": "word" if phase == "per_dimension" and not vanilla else "none",
            "damping": frequency_sharing,
        }
        self.amplitude = self._table("amplitude")
        self.frequency = None if vanilla else self._table("frequency")
        self.phase = self._table("phase") if vanilla or phase != "none" else None
        self.damping = self._table("damping") if damping == "learned" and not vanilla else None
        self.reset_parameters()

    def word_tables(self) -> list[str]:
        """Return the names of the tables that are not shared by all tokens."""
        return [name for name, _ in self.named_parameters(recurse=False) if self._sharing[name] != "word"]

    def _table(self, name: str) -> nn.Parameter:
        rows = 1 if self._sharing[name] == "word" else self.num_embeddings
        columns = 1 if self._sharing[name] == "dimension" else self.num_features
        dtype = self.full_precision_dtype() if name in self.full_precision else None
        return nn.Parameter(torch.empty(rows, columns, dtype=dtype))

    @property
    def weight(self) -> Tensor:
        """The amplitude table, which does not depend on the position."""
        return self.amplitude

    def reset_parameters(self) -> None:
        """Draw amplitudes from a normal, frequencies by ``frequency_init``, phases uniformly; set |z_1| = 0.999."""
        torch.nn.init.normal_(self.amplitude, std=self.amplitude_std)
        if self.amplitude_sharing != "word":
            self._zero_row(self.amplitude, self.padding_idx)
        if self.frequency is not None:
            self._reset_frequency(self.frequency)
        if self.phase is not None:
            torch.nn.init.uniform_(self.phase, -math.pi, math.pi)
        if self.damping is not None:
            torch.nn.init.constant_(self.damping, math.log(math.expm1(1e-3)))

    def _reset_frequency(self, frequency: Tensor) -> None:
        scale = self.frequency_scale
        if self.frequency_init == "normal":
            torch.nn.init.normal_(frequency, std=scale)
        elif self.frequency_init == "uniform":
            torch.nn.init.uniform_(frequency, -math.pi * scale, math.pi * scale)
        else:
            # With one frequency per token: the geometric mean of the range.
            shared = self.frequency_sharing == "dimension"
            start = torch.tensor([0.01]) if shared else sinusoidal_frequencies(self.num_features)
            fill_(frequency, scale * start)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Embed ids ``[B, N]`` at positions 1.. along ``attention_mask [B, N]``, or at ``position_ids [B, N]``."""
        self.check_ids(input_ids)
        positions = self.positions(input_ids, position_ids, attention_mask)
        amplitude = self._rows("amplitude", input_ids, self.padding_idx)
        if self.frequency is None:
            phase = CF.wide(self._rows("phase", input_ids))
        else:
            phase = wave_phase(self._rows("frequency", input_ids), positions)
            if self.phase is not None:
                phase = phase + self._rows("phase", input_ids)
            if self.damping is not None:
                decay = F.softplus(self._rows("damping", input_ids).to(phase.dtype))
                amplitude = amplitude * torch.exp(-decay * positions.unsqueeze(-1)).to(amplitude.dtype)
        unit = CF.join(phase.cos(), phase.sin()).to(amplitude.dtype)
        return CF.scale(unit, amplitude).expand(*input_ids.shape, self.embedding_dim)

    def _rows(self, name: str, input_ids: Tensor, padding_idx: int | None = None) -> Tensor:
        """Look up ids ``[B, N]`` in a table: ``[B, N, d]``, or ``[1, 1, d]`` if all tokens share one row."""
        table = getattr(self, name)
        if self._sharing[name] == "word":
            return table.unsqueeze(0)
        rows = F.embedding(input_ids, table, padding_idx)
        return rows if rows.shape[-1] == self.num_features else rows.expand(*rows.shape[:-1], self.num_features)

    def load_amplitudes(
        self, vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
    ) -> float:
        """Load word vectors of d dimensions as amplitudes (ComplexOrder section 3.1), see ``load_vectors``."""
        return self.load_vectors(vectors, vocabulary)

    def _vector_target(self, dimension: int) -> Tensor:
        if self.amplitude_sharing != "none":
            raise ValueError(f"amplitude_sharing must be 'none' to load vectors, got {self.amplitude_sharing!r}")
        self._check_dimension(dimension, self.num_features)
        return self.amplitude

    def extra_repr(self) -> str:
        return (
            f"{self.num_embeddings}, {self.embedding_dim}, embedding_type={self.embedding_type!r}, "
            f"amplitude_sharing={self.amplitude_sharing!r}, frequency_sharing={self.frequency_sharing!r}"
        )


class WordPositionEmbedding(TableEmbedding):
    """Token embedding table, optionally with added position vectors (ComplexOrder Eq. 1): ``[B, N] -> [B, N, 2d]``.

    - ``word``: the table alone (Thesis 2.14).
    - ``learned_position`` (PE, Gehring et al. 2017): adds a learned vector per position.
    - ``sinusoidal_position`` (TPE, Vaswani et al. 2017): adds exp(i pos 10000^(-k/d)) as ``[cos | sin]`` halves, the
      sines and cosines of ComplexOrder Eq. 7 with d_model = 2d (in the order of Eq. 8), for any length.

    In a complex network the table holds halves; in a real one it is an ordinary table of the same width.

    Args:
        num_embeddings: V, vocabulary size.
        embedding_dim: stored width.
        padding_idx: token kept at zero.
        embedding_type: one of the three above.
        max_position_embeddings: number of positions of ``learned_position``.
        amplitude_std: standard deviation of the table elements.
        multiplier: factor on the token vectors (Gemma).

    Raises:
        ValueError: an unknown name, an id outside the vocabulary, a position beyond ``max_position_embeddings``.
    """

    no_weight_decay = ()

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        embedding_type: str = "word",
        max_position_embeddings: int = 512,
        amplitude_std: float = 0.02,
        multiplier: float = 1.0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_choice("embedding_type", embedding_type, ("word", "learned_position", "sinusoidal_position"))
        self.multiplier = multiplier
        if embedding_type != "word":  # a single table may be real and have any width
            arithmetic("complex").num_features(embedding_dim)
        self.num_features = embedding_dim // 2
        self.embedding_type = embedding_type
        self.max_position_embeddings = max_position_embeddings
        self.amplitude_std = amplitude_std
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim))
        learned = embedding_type == "learned_position"
        self.position = nn.Parameter(torch.empty(max_position_embeddings, embedding_dim)) if learned else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the tables from N(0, ``amplitude_std`` squared); the padding row is zero."""
        torch.nn.init.normal_(self.weight, std=self.amplitude_std)
        self._zero_row(self.weight, self.padding_idx)
        if self.position is not None:
            torch.nn.init.normal_(self.position, std=self.amplitude_std)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Embed ids ``[B, N]`` at positions 1.. along ``attention_mask [B, N]``, or at ``position_ids [B, N]``."""
        self.check_ids(input_ids)
        words = F.embedding(input_ids, self.weight, self.padding_idx)
        words = words if self.multiplier == 1.0 else words * self.multiplier
        if self.embedding_type == "word":
            return words
        positions = self.positions(input_ids, position_ids, attention_mask)
        if self.position is None:
            phase = wave_phase(sinusoidal_frequencies(self.num_features).to(words.device), positions)
            return words + CF.join(phase.cos(), phase.sin()).to(words.dtype)
        self._check_positions(positions, given=position_ids is not None)
        return words + F.embedding(positions - 1, self.position)

    def _vector_target(self, dimension: int) -> Tensor:
        self._check_dimension(dimension, self.num_features, self.embedding_dim)  # the real part or whole rows
        return self.weight[:, :dimension]

    def _check_positions(self, positions: Tensor, given: bool) -> None:
        limit = self.max_position_embeddings
        remedy = f"Truncate to max_position_embeddings={limit} tokens or use embedding_type='complex_order'"
        if given or (positions.shape[-1] > limit and positions.is_cpu):  # a long row may be padding
            check_ids("positions", positions, limit, remedy, first=1)
        elif positions.shape[-1] > limit:
            raise ValueError(f"positions must be at most {limit}, got {positions.shape[-1]} tokens. {remedy}.")

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, embedding_type={self.embedding_type!r}"
