# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words in the real part, dependency relations in the imaginary part (SynCoNMT Eq. 11)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_ids
from .embedding import TableEmbedding

__all__ = ["SyntaxEmbedding"]


class SyntaxEmbedding(TableEmbedding):
    """s = w + i d: a word in the real part, its dependency relation in the imaginary part (SynCoNMT Eq. 11).

    ``[B, N]`` words and relations -> ``[B, N, embedding_dim]`` halves ``[w | d]``. A real network reads the same
    halves as real features: the vectors of word and relation side by side. Without relations the table of words has
    the whole width, for real networks alone.

    Args:
        num_embeddings: V, words.
        num_relations: R, relations; None for words alone.
        embedding_dim: stored width.
        padding_idx, relation_padding_idx: word and relation kept at zero.
        std: standard deviation of both tables.

    Raises:
        ValueError: an odd width, a missing or unwanted relation, relations of another shape than the words, an id
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
        """Normal tables of standard deviation ``std``; the padding rows zero."""
        torch.nn.init.normal_(self.weight, std=self.std)
        self._zero_row(self.weight, self.padding_idx)
        if self.relation is not None:
            torch.nn.init.normal_(self.relation, std=self.std)
            self._zero_row(self.relation, self.relation_padding_idx)

    def forward(self, input_ids: Tensor, relation_ids: Tensor | None = None) -> Tensor:
        """Embed words ``[B, N]`` with their relations ``[B, N]``."""
        self.check_ids(input_ids)
        words = F.embedding(input_ids, self.weight, self.padding_idx)
        if self.relation is None:
            if relation_ids is not None:
                raise ValueError("this embedding has words alone: leave out relation_ids")
            return words
        if relation_ids is None:
            raise ValueError("relation_ids are missing: every word has a dependency relation beside it")
        self._check_relations(input_ids, relation_ids)
        return CF.join(words, F.embedding(relation_ids, self.relation, self.relation_padding_idx))

    def _check_relations(self, input_ids: Tensor, relation_ids: Tensor) -> None:
        if relation_ids.shape != input_ids.shape:
            raise ValueError(
                f"relation_ids must have the shape of input_ids, {tuple(input_ids.shape)}, got "
                f"{tuple(relation_ids.shape)}"
            )
        remedy = "use the vocabulary of relations the model was trained with"
        check_ids("relation_ids", relation_ids, self.num_relations or 0, remedy)

    def _vector_target(self, dimension: int) -> Tensor:
        if dimension != self.weight.shape[1]:
            raise ValueError(
                f"vectors of {dimension} dimensions do not fill words of {self.weight.shape[1]} numbers; use "
                f"embedding_dim={dimension if self.relation is None else 2 * dimension} (a model's hidden_size)"
            )
        return self.weight

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.num_relations}, {self.embedding_dim}"
