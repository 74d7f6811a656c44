# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``generate()`` that carries the relation with the word, through greedy search, sampling and beams."""

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
    """What ``generate(return_dict_in_generate=True)`` returns.

    Attributes:
        relations: ``[rows, length]``, the relation of every word of ``sequences``; None without relations.
    """

    relations: Tensor | None = None


@dataclass
class SynCoNMTGenerateBeamOutput(GenerateBeamEncoderDecoderOutput):
    """What ``generate(return_dict_in_generate=True)`` returns from beams.

    Attributes:
        relations: ``[rows, length]``, the relation of every word of ``sequences``; None without relations.
    """

    relations: Tensor | None = None


class RelationHistory(RecurrentCache):
    """The relations of the words so far and no state: what ``generate(use_cache=False)`` has to reorder with beams."""


class RelationGenerationMixin(ComplexGenerationMixin):
    """``generate()`` of words with their relations.

    Each step reads the word that was chosen and the relation that was predicted with it: the largest logit of the
    step that produced the word. The cache keeps the relations, so they move with their beams.
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
        """As in Transformers; a first word that it puts before the others gets the first relation."""
        given = model_kwargs.get("decoder_input_ids")
        relations = model_kwargs.get("decoder_relation_ids")
        if given is not None and relations is not None and relations.shape != given.shape:
            raise ValueError(
                f"decoder_relation_ids must have the shape of decoder_input_ids, {tuple(given.shape)}, got "
                f"{tuple(relations.shape)}: give the relation of every word"
            )
        ids, model_kwargs = super()._prepare_decoder_input_ids_for_generation(
            batch_size, model_input_name, model_kwargs, *args, **kwargs
        )
        if not self.config.use_relations:
            return ids, model_kwargs
        first = torch.full_like(ids[:, :1], self.config.decoder_start_relation_id)
        if given is None:
            if relations is not None and "labels" not in model_kwargs:  # a trainer passes what it trains with
                raise ValueError("decoder_relation_ids come with decoder_input_ids, their words: give both or neither")
            model_kwargs["decoder_relation_ids"] = first
        elif relations is not None and ids.shape[1] > given.shape[1]:
            model_kwargs["decoder_relation_ids"] = torch.cat([first, relations.to(first.device)], dim=-1)
        return ids, model_kwargs

    def prepare_inputs_for_generation(self, input_ids: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As in Transformers; only the first step is told relations, later ones find them in the cache."""
        for name in ("relation_labels", "relation_record"):
            kwargs.pop(name, None)
        relations = kwargs.pop("decoder_relation_ids", None)
        inputs = super().prepare_inputs_for_generation(input_ids, *args, **kwargs)
        if kwargs.get("is_first_iteration") and relations is not None:
            inputs["decoder_relation_ids"] = relations[:, -inputs["decoder_input_ids"].shape[1] :]
        return inputs

    def _update_model_kwargs_for_generation(
        self, outputs: ModelOutput, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """As in Transformers; notes the relation predicted with the next word, before beams are reordered."""
        model_kwargs = super()._update_model_kwargs_for_generation(outputs, model_kwargs, *args, **kwargs)
        if (record := model_kwargs.get("relation_record")) is not None:
            record.append(stored_relations(model_kwargs["cache"])[:, -1])
        return model_kwargs

    def _sample(self, *args: Any, **kwargs: Any) -> Any:
        """Greedy search and sampling, with ``relations`` in the output."""
        return self._with_relations(super()._sample, *args, **kwargs)

    def _beam_search(self, *args: Any, **kwargs: Any) -> Any:
        """Beam search and beam sampling, with ``relations`` in the output."""
        decode = super(RelationGenerationMixin, self._as_target())._beam_search
        return self._with_relations(decode, *args, **kwargs)

    def _get_logits_processor(self, *args: Any, **kwargs: Any) -> LogitsProcessorList:
        """As in Transformers, of the words of the target."""
        return super(RelationGenerationMixin, self._as_target())._get_logits_processor(*args, **kwargs)

    def compute_transition_scores(self, *args: Any, **kwargs: Any) -> Tensor:
        """As in Transformers, of the words of the target."""
        return super(RelationGenerationMixin, self._as_target()).compute_transition_scores(*args, **kwargs)

    def _as_target(self) -> Self:
        """This model with the words of the target in ``config.vocab_size``, by which Transformers decodes."""
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
            if prompt is None:  # a text that goes on: its relations are in the cache
                prompt = relations_so_far(kwargs["cache"], input_ids)
            kwargs["relation_record"] = record
        output = decode(input_ids, *args, **kwargs)
        beams = isinstance(output, GenerateBeamEncoderDecoderOutput)
        output_class = SynCoNMTGenerateBeamOutput if beams else SynCoNMTGenerateOutput
        if prompt is None:
            return output_class(**output)
        steps = torch.stack(record, dim=1)[:, : output.sequences.shape[1] - prompt.shape[1]]
        if beams:  # beam_indices: the row of each step from which a word came, -1 behind the end
            returned = len(prompt) // generation_config.num_beams * generation_config.num_return_sequences
            rows = torch.arange(returned, device=prompt.device) // generation_config.num_return_sequences
            prompt = prompt[rows * generation_config.num_beams]
            steps = steps.gather(0, output.beam_indices.clamp(min=0).long())
            steps = steps.masked_fill(output.beam_indices < 0, self.config.pad_relation_id)
        steps = steps.masked_fill(
            behind_end(output.sequences[:, prompt.shape[1] :], generation_config), self.config.pad_relation_id
        )
        return output_class(**output, relations=torch.cat([prompt, steps], dim=1))


def behind_end(words: Tensor, generation_config: GenerationConfig) -> Tensor:
    """``[rows, length]``: true behind the first last word of each row, and at padding."""
    ends = generation_config._eos_token_tensor
    padding = generation_config._pad_token_tensor
    behind = torch.zeros_like(words, dtype=torch.bool)
    if ends is not None:
        ended = torch.isin(words, ends.to(words.device)).cumsum(-1)
        behind[:, 1:] = ended[:, :-1] > 0
    if padding is not None and (ends is None or not bool(torch.isin(padding, ends).any())):
        behind |= words == padding.to(words.device)
    return behind


def stored_relations(cache: Cache) -> Tensor:
    """``[B, past + 1]``: the relations of the words in a cache, and of the one that comes next."""
    relations: Tensor = cache.layers[0].states["relations"]
    return relations


def relations_so_far(cache: Cache, input_ids: Tensor) -> Tensor:
    """Of words ``[B, T]`` of which the last is the next one of a cache."""
    if not isinstance(cache, RecurrentCache) or "relations" not in cache.layers[0].states:
        return known_relations(cache, input_ids)
    return stored_relations(cache)[:, -input_ids.shape[1] :]


def known_relations(cache: Cache | None, input_ids: Tensor) -> Tensor:
    """Of words ``[B, T]`` that follow those in a cache: the next one alone, unless the cache has relations of all."""
    known = None
    if isinstance(cache, RecurrentCache) and "relations" in cache.layers[0].states:
        known = stored_relations(cache)[:, cache.get_seq_length() :]
    if known is None or known.shape != input_ids.shape:
        raise ValueError(
            "decoder_relation_ids are missing: give the dependency relation of every word beside decoder_input_ids; "
            "a cache has that of the next word alone"
        )
    return known
