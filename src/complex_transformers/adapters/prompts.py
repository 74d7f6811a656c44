# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapt word embeddings to PEFT's prompt methods, which pass only token ids and prepend virtual tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from peft import PeftModel
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..nn.embedding import TableEmbedding, positions_from_mask

__all__ = ["PromptedEmbedding", "prompted_embedding"]


class PromptedEmbedding(nn.Module):
    """Embed tokens at the positions after the virtual tokens of the active prompt.

    k virtual tokens have the positions 1 to k, as in the attention mask that PEFT extends. Padding is recognised by
    ``pad_token_id``, since PEFT passes no mask.

    Args:
        embedding: the word embedding of the model.
        peft_model: the model with the active prompt.
    """

    peft_model: PeftModel

    def __init__(self, embedding: TableEmbedding, peft_model: PeftModel) -> None:
        super().__init__()
        self.embedding = embedding
        self.__dict__["peft_model"] = peft_model  # its parent, not a submodule

    @property
    def num_embeddings(self) -> int:
        """Return the size of the vocabulary."""
        return self.embedding.num_embeddings

    @property
    def weight(self) -> Tensor:
        """Return the embedding table, whose device PEFT reads."""
        return self.embedding.weight  # type: ignore[return-value]

    def forward(self, input_ids: Tensor) -> Tensor:
        """Embed the token ids ``[B, N]`` of sequences, or the ids ``[k]`` that initialise a prompt."""
        if input_ids.dim() == 1:
            return self.embedding(input_ids.unsqueeze(0))[0]
        padding = self.embedding.padding_idx
        positions = positions_from_mask(input_ids, None if padding is None else input_ids != padding)
        first = self.peft_model.active_peft_config.num_virtual_tokens
        return self.embedding(input_ids, position_ids=positions + first)


@contextmanager
def prompted_embedding(peft_model: PeftModel) -> Iterator[None]:
    """Expose our word embedding as ``embeddings.word_embeddings`` while PEFT sets up a prompt.

    PEFT would otherwise search for a layer whose weight has one row per token, but an amplitude table is a parameter.
    """
    model = peft_model.base_model
    embedding = model.get_input_embeddings() if isinstance(model, PreTrainedModel) else None
    if not isinstance(embedding, TableEmbedding):
        yield
        return
    model.embeddings = nn.ModuleDict({"word_embeddings": PromptedEmbedding(embedding, peft_model)})
    try:
        yield
    finally:
        del model.embeddings
