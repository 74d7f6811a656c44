# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``generate()`` for words with relations: greedy search, sampling and beam search."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList
from transformers.cache_utils import Cache
from transformers.generation.utils import GenerateBeamEncoderDecoderOutput, GenerateEncoderDecoderOutput
from transformers.utils import ModelOutput

from ..base.caches.recurrent import RecurrentCache
from ..base.generation import ComplexGenerationMixin, check_own_cache

__all__ = [
    "RelationGenerationMixin",
    "RelationHistory",
    "SynCoNMTGenerateBeamOutput",
    "SynCoNMTGenerateOutput",
    "known_relations",
]


@dataclass
class SynCoNMTGenerateOutput(GenerateEncoderDecoderOutput):
    """Output of ``generate(return_dict_in_generate=True)``.

    Attributes:
        relations: ``[sequences, length]``, the relation of every token in ``sequences``; None without relations.
    """

    relations: Tensor | None = None


@dataclass
class SynCoNMTGenerateBeamOutput(GenerateBeamEncoderDecoderOutput):
    """Output of ``generate(return_dict_in_generate=True)`` with beam search.

    Attributes:
        relations: ``[sequences, length]``, the relation of every token in ``sequences``; None without relations.
    """

    relations: Tensor | None = None


class RelationHistory(RecurrentCache):
    """A cache of relations without states, which ``generate(use_cache=False)`` reorders with the beams."""


class RelationGenerationMixin(ComplexGenerationMixin):
    """``generate()`` of tokens with their relations.

    Each step reads the selected token and the most probable relation predicted with it. The cache holds the relations,
    so that they are reordered with the beams.
    """

    def _prepare_cache_for_generation(
        self, generation_config: GenerationConfig, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Create a ``RecurrentCache`` where no cache is given; Transformers would create a KV cache."""
        check_own_cache(self, generation_config)
        if model_kwargs.get("cache") is None:
            if generation_config.use_cache is not False:
                model_kwargs["cache"] = RecurrentCache(self.config)
            elif self.config.use_relations:
                model_kwargs["cache"] = RelationHistory(self.config)
        return super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)

    def _prepare_decoder_input_ids_for_generation(
        self, batch_size: int, model_input_name: str, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> tuple[Tensor, dict[str, Any]]:
        """Prepare the decoder's prompt; the start token gets the start relation."""
        given = model_kwargs.get("decoder_input_ids")
        relations = model_kwargs.get("decoder_relation_ids")
        if given is not None and relations is not None and relations.shape != given.shape:
            raise ValueError(f"decoder_relation_ids must be {list(given.shape)}, got {list(relations.shape)}.")
        ids, model_kwargs = super()._prepare_decoder_input_ids_for_generation(
            batch_size, model_input_name, model_kwargs, *args, **kwargs
        )
        if not self.config.use_relations:
            return ids, model_kwargs
        first = torch.full_like(ids[:, :1], self.config.decoder_start_relation_id)
        if given is None:
            if relations is not None and "labels" not in model_kwargs:  # a trainer passes its whole batch
                raise ValueError("decoder_relation_ids must be None without decoder_input_ids, got a tensor.")
            model_kwargs["decoder_relation_ids"] = first
        elif relations is not None and ids.shape[1] > given.shape[1]:
            model_kwargs["decoder_relation_ids"] = torch.cat([first, relations.to(first.device)], dim=-1)
        return ids, model_kwargs

    def prepare_inputs_for_generation(self, input_ids: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
        for name in ("relation_labels", "relation_record"):
            kwargs.pop(name, None)
        relations = kwargs.pop("decoder_relation_ids", None)  # later steps find relations in the cache
        inputs = super().prepare_inputs_for_generation(input_ids, *args, **kwargs)
        if kwargs.get("is_first_iteration") and relations is not None:
            inputs["decoder_relation_ids"] = relations[:, -inputs["decoder_input_ids"].shape[1] :]
        return inputs

    def _update_model_kwargs_for_generation(
        self, outputs: ModelOutput, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """Record the relation predicted with the next token, before beams are reordered."""
        model_kwargs = super()._update_model_kwargs_for_generation(outputs, model_kwargs, *args, **kwargs)
        if (record := model_kwargs.get("relation_record")) is not None:
            record.append(stored_relations(model_kwargs["cache"])[:, -1])
        return model_kwargs

    def _sample(self, *args: Any, **kwargs: Any) -> Any:
        return self._with_relations(super()._sample, *args, **kwargs)

    def _beam_search(self, *args: Any, **kwargs: Any) -> Any:
        decode = super(RelationGenerationMixin, self._as_target())._beam_search
        return self._with_relations(decode, *args, **kwargs)

    def _get_logits_processor(self, *args: Any, **kwargs: Any) -> LogitsProcessorList:
        return super(RelationGenerationMixin, self._as_target())._get_logits_processor(*args, **kwargs)

    def compute_transition_scores(self, *args: Any, **kwargs: Any) -> Tensor:
        return super(RelationGenerationMixin, self._as_target()).compute_transition_scores(*args, **kwargs)

    def _as_target(self) -> Self:
        """Return this model with the target vocabulary size in ``config.vocab_size``, which Transformers reads."""
        source, target = self.config.num_words
        if source == target:
            return self
        model = copy.copy(self)  # shares all weights
        model.config = copy.copy(self.config)
        model.config.vocab_size = target
        return model

    def _with_relations(self, decode: Callable[..., Any], input_ids: Tensor, *args: Any, **kwargs: Any) -> Any:
        generation_config: GenerationConfig = kwargs["generation_config"]
        if not generation_config.return_dict_in_generate:
            return decode(input_ids, *args, **kwargs)
        record: list[Tensor] = []
        prompt: Tensor | None = None
        if self.config.use_relations:
            prompt = kwargs.get("decoder_relation_ids")
            if prompt is None:  # continued from a cache, which holds the relations
                prompt = relations_so_far(kwargs["cache"], input_ids)
            kwargs["relation_record"] = record
        output = decode(input_ids, *args, **kwargs)
        beams = isinstance(output, GenerateBeamEncoderDecoderOutput)
        output_class = SynCoNMTGenerateBeamOutput if beams else SynCoNMTGenerateOutput
        if prompt is None:
            return output_class(**output)
        steps = torch.stack(record, dim=1)[:, : output.sequences.shape[1] - prompt.shape[1]]
        if beams:  # beam_indices: the beam of each step that produced the token, -1 after the end
            returned = len(prompt) // generation_config.num_beams * generation_config.num_return_sequences
            rows = torch.arange(returned, device=prompt.device) // generation_config.num_return_sequences
            prompt = prompt[rows * generation_config.num_beams]
            steps = steps.gather(0, output.beam_indices.clamp(min=0).long())
            steps = steps.masked_fill(output.beam_indices < 0, self.config.pad_relation_id)
        steps = steps.masked_fill(
            after_end(output.sequences[:, prompt.shape[1] :], generation_config), self.config.pad_relation_id
        )
        return output_class(**output, relations=torch.cat([prompt, steps], dim=1))


def after_end(tokens: Tensor, generation_config: GenerationConfig) -> Tensor:
    """Return a mask ``[rows, length]`` that is true after the first EOS token of each row and at padding."""
    ends = generation_config._eos_token_tensor
    padding = generation_config._pad_token_tensor
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    if ends is not None:
        ended = torch.isin(tokens, ends.to(tokens.device)).cumsum(-1)
        mask[:, 1:] = ended[:, :-1] > 0
    if padding is not None and (ends is None or not bool(torch.isin(padding, ends).any())):
        mask |= tokens == padding.to(tokens.device)
    return mask


def stored_relations(cache: Cache) -> Tensor:
    """Return the relations ``[B, past + 1]`` of the tokens in a cache and of the next token."""
    relations: Tensor = cache.layers[0].states["relations"]
    return relations


def relations_so_far(cache: Cache, input_ids: Tensor) -> Tensor:
    """Return the relations of tokens ``[B, T]`` that end with the next token of a cache."""
    if not isinstance(cache, RecurrentCache) or "relations" not in cache.layers[0].states:
        return known_relations(cache, input_ids)
    return stored_relations(cache)[:, -input_ids.shape[1] :]


def known_relations(cache: Cache | None, input_ids: Tensor) -> Tensor:
    """Return the relations of tokens ``[B, T]`` that follow a cache, as far as the cache holds them.

    Raises:
        ValueError: the cache does not hold the relations of all ``T`` tokens.
    """
    known = None
    if isinstance(cache, RecurrentCache) and "relations" in cache.layers[0].states:
        known = stored_relations(cache)[:, cache.get_seq_length() :]
    if known is None or known.shape != input_ids.shape:
        found = None if known is None else tuple(known.shape)
        raise ValueError(f"decoder_relation_ids must be [batch, length] = {tuple(input_ids.shape)}, got {found}.")
    return known
