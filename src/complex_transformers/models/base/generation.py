# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Overrides of Transformers' ``GenerationMixin`` that all generating models share."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import (
    GenerationConfig,
    GenerationMixin,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StoppingCriteriaList,
)

from ...data.tokenization import with_stop_string_prefix

__all__ = ["ComplexGenerationMixin", "check_own_cache", "learned_positions"]


def check_own_cache(model: PreTrainedModel, generation_config: GenerationConfig) -> None:
    """Raise if ``cache_implementation`` is set for a model that creates its own kind of cache."""
    if generation_config.cache_implementation is not None:
        raise ValueError(
            f"cache_implementation must be None for {type(model).__name__}, got "
            f"{generation_config.cache_implementation!r}. Leave it out: the model creates its cache."
        )


def learned_positions(model: PreTrainedModel) -> int | None:
    """Return the size of the table of learned positions, beyond which a model cannot generate; None without one."""
    config = model.config
    if getattr(config, "position_period", None) is not None:
        return None  # positions restart before the table ends
    if (embedding_type := getattr(config, "embedding_type", None)) is not None:
        limited = embedding_type == "learned_position"
    else:
        limited = isinstance(getattr(model.get_encoder(), "embed_positions", None), nn.Embedding)
    return getattr(config, "max_position_embeddings", None) if limited else None


class ComplexGenerationMixin(GenerationMixin):
    """``generate()`` for prompts padded on either side, with checks of the cache and of decoder prompts."""

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        next_sequence_length: int | None = None,
        inputs_embeds: Tensor | None = None,  # Transformers looks for this name
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the inputs of the next forward pass; reject a cache that already covers the whole prompt.

        Transformers would process the prompt a second time, after its own cached states.
        """
        if next_sequence_length is not None and next_sequence_length < 1:
            length = (input_ids if inputs_embeds is None else inputs_embeds).shape[1]
            raise ValueError(
                f"cache already covers {length - next_sequence_length} tokens and the prompt has only {length}. "
                "Pass the full prompt plus at least one new token."
            )
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(
            input_ids, next_sequence_length=next_sequence_length, inputs_embeds=inputs_embeds, **kwargs
        )
        return inputs

    def init_continuous_batching(self, *args: Any, **kwargs: Any) -> Any:
        """Start continuous batching, the engine of ``generate_batch``; see ``GenerationMixin``.

        Raises:
            ValueError: the model is an encoder-decoder, or carries a state instead of a KV cache.
        """
        if self.config.is_encoder_decoder or self._is_stateful:
            raise ValueError(f"generate_batch needs a decoder with KV cache, got {type(self).__name__}. Use generate.")
        return super().init_continuous_batching(*args, **kwargs)

    def _prepare_position_ids_for_generation(self, inputs_tensor: Tensor, model_kwargs: dict[str, Any]) -> Tensor:
        """Return positions that count real tokens; Transformers restarts at 0 in padding on the right."""
        mask = model_kwargs.get("attention_mask")
        if mask is None or mask.dim() != 2:
            return super()._prepare_position_ids_for_generation(inputs_tensor, model_kwargs)
        return mask.long().cumsum(-1) - 1  # -1 before the first token

    def _get_stopping_criteria(
        self,
        generation_config: GenerationConfig,
        stopping_criteria: StoppingCriteriaList | None,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> StoppingCriteriaList:
        """Return the stopping criteria of Transformers, whose stop strings also match word-level tokens."""
        if generation_config.stop_strings is not None and tokenizer is not None:
            tokenizer = with_stop_string_prefix(tokenizer)
        return super()._get_stopping_criteria(generation_config, stopping_criteria, tokenizer)

    def _prepare_decoder_input_ids_for_generation(
        self,
        batch_size: int,
        model_input_name: str,
        model_kwargs: dict[str, Any],
        decoder_start_token_id: Tensor,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return decoder prompts that begin with the start token, also after padding on the left.

        Transformers looks for the start token in the first column only, and would insert a second one before padding.
        """
        given, mask = model_kwargs.get("decoder_input_ids"), model_kwargs.get("decoder_attention_mask")
        if given is not None and mask is not None and mask.dim() == 2 and not (ends := mask[:, -1].bool()).all():
            raise ValueError(
                f"decoder_input_ids must be padded on the left, got padding at the end of row(s) "
                f"{(~ends).nonzero()[:, 0].tolist()}."
            )
        prompts = given
        if given is not None and mask is not None and mask.shape == given.shape and not mask[:, 0].any():
            first = given.gather(1, mask.bool().long().argmax(-1, keepdim=True))
            starts = first == decoder_start_token_id.view(-1, 1)
            if starts.any() and not starts.all():
                raise ValueError(
                    "decoder_input_ids must begin with decoder_start_token_id in every row or in none, got row(s) "
                    f"{(~starts).nonzero()[:, 0].tolist()} without it."
                )
            prompts = given.masked_fill(~mask.bool(), int(first[0])) if starts.all() else given
            model_kwargs = {**model_kwargs, "decoder_input_ids": prompts}
        ids, model_kwargs = super()._prepare_decoder_input_ids_for_generation(
            batch_size, model_input_name, model_kwargs, decoder_start_token_id, *args, **kwargs
        )
        return (given if ids is prompts and given is not None else ids), model_kwargs
