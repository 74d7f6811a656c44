# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``generate()``: how long a text may get, and, of encoder-decoder models, padded beginnings of targets."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import (
    GenerationConfig,
    GenerationMixin,
    MaxLengthCriteria,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StoppingCriteriaList,
)
from transformers.cache_utils import Cache

from ...data.tokenization import with_stop_string_prefix

__all__ = [
    "EncoderDecoderGenerationMixin",
    "OpenEndedGenerationMixin",
    "learned_positions",
    "mark_given_cache",
    "refuse_chunks",
]


def learned_positions(model: PreTrainedModel) -> int | None:
    """Number of positions where a model that writes has a table of them, and fails beyond it."""
    config = model.config
    if getattr(config, "position_period", None) is not None:
        return None  # they begin anew
    if (embedding_type := getattr(config, "embedding_type", None)) is not None:
        limited = embedding_type == "learned_position"
    else:
        limited = isinstance(getattr(model.get_encoder(), "embed_positions", None), nn.Embedding)
    return getattr(config, "max_position_embeddings", None) if limited else None


def refuse_chunks(generation_config: GenerationConfig) -> None:
    """Raise for ``prefill_chunk_size``."""
    if generation_config.prefill_chunk_size is not None:
        raise ValueError(
            f"prefill_chunk_size={generation_config.prefill_chunk_size} is for models without an encoder: leave it out"
        )


def mark_given_cache(given: Any) -> None:
    """Note that the caller of ``generate()`` has made this cache, as Transformers does; raise for what is none."""
    if not isinstance(given, Cache):
        raise TypeError(f"cache must be a cache that a model returned, got {type(given).__name__}")
    given._is_user_defined = True


class OpenEndedGenerationMixin(GenerationMixin):
    """``generate()`` that knows a longest text only where a table of positions ends, and reads no text twice.

    Transformers takes ``max_position_embeddings`` for that whatever the positions are: it cuts its default length
    there, so that longer beginnings are refused, and says of longer texts that they may fail. Of a cache that has read
    a beginning to its end it reads the beginning again.
    """

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        next_sequence_length: int | None = None,
        inputs_embeds: Tensor | None = None,  # Transformers looks for this name
        **kwargs: Any,
    ) -> dict[str, Any]:
        """As in Transformers; there must be something that the cache has not read."""
        if next_sequence_length is not None and next_sequence_length < 1:
            length = (input_ids if inputs_embeds is None else inputs_embeds).shape[1]
            raise ValueError(
                f"cache has read {length - next_sequence_length} tokens, the beginning has {length}: give "
                "all that was read and one new token or more"
            )
        kwargs.pop("tokenizer", None)  # of stop strings, which Transformers hands to every model
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(
            input_ids, next_sequence_length=next_sequence_length, inputs_embeds=inputs_embeds, **kwargs
        )
        return inputs

    def _get_candidate_generator(self, *args: Any, model_kwargs: dict[str, Any], **kwargs: Any) -> Any:
        """As in Transformers, which reads all of a beginning whatever its cache has read."""
        cache = model_kwargs.get("cache")
        if cache is not None and (read := cache.get_seq_length()):
            raise ValueError(
                f"generation with an assistant or by lookup cannot go on from cache, which have read {read} "
                "tokens: leave out cache, or assistant_model and prompt_lookup_num_tokens"
            )
        return super()._get_candidate_generator(*args, model_kwargs=model_kwargs, **kwargs)

    def _prepare_generated_length(
        self, generation_config: GenerationConfig, has_default_max_length: bool, *args: Any, **kwargs: Any
    ) -> GenerationConfig:
        """As in Transformers; by default as many new tokens after a long beginning as after a short one."""
        added = generation_config.max_length
        prepared = super()._prepare_generated_length(generation_config, has_default_max_length, *args, **kwargs)
        is_default = has_default_max_length and prepared.max_new_tokens is None
        if is_default and added is not None and learned_positions(self) is None:
            prepared.max_length = added + kwargs["input_ids_length"]
        return prepared

    def _get_stopping_criteria(
        self,
        generation_config: GenerationConfig,
        stopping_criteria: StoppingCriteriaList | None,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> StoppingCriteriaList:
        """Accept word-level tokenizers for stop strings; do not warn about lengths where positions have no limit."""
        if generation_config.stop_strings is not None and tokenizer is not None:
            tokenizer = with_stop_string_prefix(tokenizer)
        criteria = super()._get_stopping_criteria(generation_config, stopping_criteria, tokenizer)
        for criterion in criteria:
            if isinstance(criterion, MaxLengthCriteria):
                criterion.max_position_embeddings = learned_positions(self)
        return criteria


class EncoderDecoderGenerationMixin(OpenEndedGenerationMixin):
    """``generate()`` that finds the first token of a beginning behind its padding, and reads it whole."""

    def _prepare_decoder_input_ids_for_generation(
        self,
        batch_size: int,
        model_input_name: str,
        model_kwargs: dict[str, Any],
        decoder_start_token_id: Tensor,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, dict[str, Any]]:
        """As in Transformers, which looks for the start token in the first column and puts another before padding."""
        given, mask = model_kwargs.get("decoder_input_ids"), model_kwargs.get("decoder_attention_mask")
        if given is not None and mask is not None and mask.dim() == 2 and not (ends := mask[:, -1].bool()).all():
            raise ValueError(
                f"row(s) {(~ends).nonzero()[:, 0].tolist()} of decoder_input_ids end in padding, behind which there "
                "is nothing to go on from: pad beginnings on the left"
            )
        looked_at = given
        if given is not None and mask is not None and mask.shape == given.shape and not mask[:, 0].any():
            first = given.gather(1, mask.bool().long().argmax(-1, keepdim=True))
            starts = first == decoder_start_token_id.view(-1, 1)
            if starts.any() and not starts.all():
                rows = (~starts).nonzero()[:, 0].tolist()
                raise ValueError(
                    f"row(s) {rows} of decoder_input_ids do not begin with decoder_start_token_id, others do: put it "
                    "behind the padding of every row, or of none"
                )
            looked_at = given.masked_fill(~mask.bool(), int(first[0])) if starts.all() else given
            model_kwargs = {**model_kwargs, "decoder_input_ids": looked_at}
        ids, model_kwargs = super()._prepare_decoder_input_ids_for_generation(
            batch_size, model_input_name, model_kwargs, decoder_start_token_id, *args, **kwargs
        )
        return (given if ids is looked_at and given is not None else ids), model_kwargs

    def _prepare_cache_for_generation(self, generation_config: GenerationConfig, *args: Any, **kwargs: Any) -> Any:
        """As in Transformers, whose chunks are those of a model without an encoder."""
        refuse_chunks(generation_config)
        return super()._prepare_cache_for_generation(generation_config, *args, **kwargs)
