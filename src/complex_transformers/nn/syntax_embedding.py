# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words in the real part, dependency relations in the imaginary part (SynCoNMT Eq. 11)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_ids, check_shape
from .embedding import TableEmbedding

__all__ = ["SyntaxEmbedding"]


class SyntaxEmbedding(TableEmbedding):
    """s = w + i d: a word in the real part, its dependency relation in the imaginary part (SynCoNMT Eq. 11).

    ``[B, N]`` words and relations -> ``[B, N, embedding_dim]`` halves ``[w | d]``. A real network reads the halves as
    concatenated real vectors. Without relations the word table has the full width (real networks only).

    Args:
        num_embeddings: V, vocabulary size.
        num_relations: R, number of relations; None for words alone.
        embedding_dim: stored width.
        padding_idx, relation_padding_idx: ids whose rows are zero.
        std: standard deviation of both tables.

    Raises:
        ValueError: an odd width, missing or unexpected relations, relations of another shape than the words, an id
            outside its vocabulary.
    """

    no_weight_decay = ()

    def __init__(
        self,
        num_embeddings: int,
        num_relations: int | None,
        embedding_dim: int,
        padding_idx: int | None = None,
        relation_padding_idx: int | None = None,
        std: float = 0.02,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.num_relations = num_relations
        self.relation_padding_idx = relation_padding_idx
        self.std = std
        size = embedding_dim if num_relations is None else arithmetic("complex").num_features(embedding_dim)
        self.weight = nn.Parameter(torch.empty(num_embeddings, size))
        self.relation = None if num_relations is None else nn.Parameter(torch.empty(num_relations, size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the tables from N(0, ``std`` squared); the padding rows are zero."""
        torch.nn.init.normal_(self.weight, std=self.std)
        self._zero_row(self.weight, self.padding_idx)
        if self.relation is not None:
            torch.nn.init.normal_(self.relation, std=self.std)
            self._zero_row(self.relation, self.relation_padding_idx)

    def forward(self, input_ids: Tensor, relation_ids: Tensor | None = None) -> Tensor:
        """Embed words ``[B, N]`` with their relations ``[B, N]``."""
        self.check_ids(input_ids)
        words = F.embedding(input_ids, self.weight, self.padding_idx)
        if (relation_ids is None) != (self.relation is None):
            valid = "None without num_relations, got ids" if self.relation is None else "given, got None"
            raise ValueError(f"relation_ids must be {valid}")
        if self.relation is None or relation_ids is None:
            return words
        check_shape("relation_ids", relation_ids, input_ids.shape)
        remedy = "Use the relation vocabulary of the model"
        check_ids("relation_ids", relation_ids, self.num_relations or 0, remedy)
        return CF.join(words, F.embedding(relation_ids, self.relation, self.relation_padding_idx))

    def _vector_target(self, dimension: int) -> Tensor:
        self._check_dimension(dimension, self.weight.shape[1], factor=1 if self.relation is None else 2)
        return self.weight

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.num_relations}, {self.embedding_dim}"
