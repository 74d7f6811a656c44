# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformer-XL (Dai et al., ACL 2019) with complex embeddings (Wang et al., ICLR 2020, section 3.3)."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import RelativeMultiheadAttention, relative_positions
from ..base.caches.memory import MemoryCache
from ..base.configuration import LayersConfig
from ..base.inputs import check_cache_batch, check_mask, check_text_inputs, without_padding
from ..base.language_modeling import CausalLanguageModel
from ..base.layers import EncoderLayer, TransformerStack
from ..base.positions import check_stream_positions, packed_positions, periodic, token_positions
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import LastTokenClassifier, TextModel
from .configuration_complex_transfo_xl import ComplexTransfoXLConfig

__all__ = [
    "ComplexTransfoXLForCausalLM",
    "ComplexTransfoXLForSequenceClassification",
    "ComplexTransfoXLModel",
    "ComplexTransfoXLPreTrainedModel",
]


class RelativeAttention(RelativeMultiheadAttention):
    """``nn.RelativeMultiheadAttention`` as an attention layer of Transformers."""

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        """Attend with one mask; keywords for other attention layers are ignored."""
        return self.attend_from(hidden_states, attention_mask, positions, cache)


class TransfoXLLayer(EncoderLayer):
    """Relative self-attention and feed-forward network (Dai et al. 2019, section 3.3)."""

    is_causal = True
    _can_checkpoint_with_cache = True  # the model passes a cache that recomputation does not extend twice

    def make_attention(self, config: LayersConfig, layer_idx: int | None) -> nn.Module:
        return RelativeAttention(
            config.hidden_size,
            config.num_attention_heads,
            dropout=config.attention_probs_dropout_prob,
            score=config.attention_score,
            normalization=config.attention_normalization,
            share_parts=config.share_parts,
            layer_idx=layer_idx,
            bias_std=config.initializer_range,
            number_field=config.number_field,
        )


class ComplexTransfoXLPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the family."""

    config: ComplexTransfoXLConfig
    _no_split_modules = ["TransfoXLLayer"]
    # The layer itself computes relative scores. A memory cannot be rolled back.
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False
    _is_stateful = True


class ComplexTransfoXLModel(TransformerStack, TextModel, ComplexTransfoXLPreTrainedModel):
    """Embedding and ``config.num_hidden_layers`` causal layers with relative positions and a memory.

    A stream is processed in segments: pass the ``cache`` that a call returns, a ``MemoryCache``, to the next. Relative
    positions are distances between tokens. Positions in the embedding (ComplexOrder Eq. 4) count real tokens from 1 to
    ``config.position_period`` along the stream, so they do not depend on where the stream is cut.
    """

    _can_record_outputs = {"hidden_states": TransfoXLLayer, "attentions": RelativeAttention}

    def __init__(self, config: ComplexTransfoXLConfig) -> None:
        super().__init__(config, TransfoXLLayer, config.num_hidden_layers)

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPast:
        """Process a segment of every stream of a batch.

        Args:
            input_ids: ``[B, T]``, the new tokens, unless ``inputs_embeds`` are given.
            attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side of a stream; it covers all
                tokens read so far, including forgotten ones. None without padding.
            position_ids: accepted only if they count the tokens of each stream from 0, as the model itself does.
            cache: the memory, extended by this call: a ``MemoryCache`` of either kind.
            inputs_embeds: ``[B, T, hidden_size]`` embeddings, positions included, as halves.
            use_cache: create a memory if none is given, and return it: of hidden states in training mode, as in the
                paper, of keys and values in evaluation mode.

        Raises:
            ValueError: empty input, shapes that do not match, ids outside the vocabulary, a memory of another batch
                size or model, or too short for ``same_length``, gradient checkpointing with another cache than a
                ``MemoryCache``.
        """
        check_text_inputs(input_ids, inputs_embeds, None, self.config.hidden_size)
        cache = self.memory(cache, use_cache)
        past_length = 0 if cache is None else cache.get_seq_length()
        tokens = input_ids if inputs_embeds is None else inputs_embeds[..., 0]
        assert tokens is not None
        batch, length = tokens.shape
        check_cache_batch(None if isinstance(cache, MemoryCache) else cache, batch)
        # A stream may start in a later segment: its mask also covers the tokens of the other streams.
        layout = "[batch, all tokens read so far and the new ones]"
        check_mask(attention_mask, (batch, past_length + length), layout=layout, scores=False)
        position_ids = packed_positions(position_ids, tokens, **kwargs)
        check_stream_positions(position_ids, tokens, attention_mask, past_length)
        if inputs_embeds is None:
            assert input_ids is not None
            positions = token_positions(input_ids, attention_mask, past_length)
            positions = periodic(positions, self.config.position_period)
            inputs_embeds = self.embed_tokens(input_ids, position_ids=positions)
        inputs_embeds = without_padding(inputs_embeds, attention_mask)
        keys = length if cache is None else cache.get_mask_sizes(length, 0)[0]
        mask = self.score_mask(inputs_embeds, attention_mask, cache, keys)
        relative = relative_positions(
            keys, self.config.hidden_size, self.config.clamp_len, inputs_embeds.dtype, inputs_embeds.device
        )
        relative = self.dropout(relative)
        hidden_states = self.dropout(inputs_embeds)
        layer_cache = self.written_once(cache)
        for layer in self.layers:
            hidden_states = layer(hidden_states, mask, positions=relative, cache=layer_cache, **kwargs)
        hidden_states = self.last_norm(hidden_states)
        return BaseModelOutputWithPast(last_hidden_state=self.dropout(hidden_states), cache=cache)

    def memory(self, cache: Cache | None, use_cache: bool | None) -> Cache | None:
        """Return the given memory, a new one (of states in training, else of keys), or None."""
        if use_cache and cache is None:
            return MemoryCache(self.config, keeps="states" if self.training else "keys")
        if isinstance(cache, MemoryCache):
            cache.check(self.config)
        return cache

    def written_once(self, cache: Cache | None) -> Cache | None:
        """Return the cache for the layers: gradient checkpointing computes them twice, but must extend it once."""
        if cache is None or not (self.gradient_checkpointing and self.training):
            return cache
        if not isinstance(cache, MemoryCache):
            raise ValueError(f"cache must be a MemoryCache with gradient checkpointing, got {type(cache).__name__}.")
        return cache.written_once()

    def score_mask(
        self, inputs_embeds: Tensor, attention_mask: Tensor | None, cache: Cache | None, keys: int
    ) -> Tensor:
        """Return the additive mask ``[B or 1, 1, T, keys]`` that hides later keys and padding.

        With ``same_length`` it hides distant keys, too. Padding attends to itself: a query without any key would
        average all keys.
        """
        mask = create_causal_mask(
            config=self.config,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            cache=cache,
        )
        mask = mask[:1] if attention_mask is None else mask  # the same for all streams
        key = torch.arange(keys, device=mask.device)
        distance = key[keys - inputs_embeds.shape[1] :].unsqueeze(-1) - key
        if self.config.same_length:
            mask = mask.masked_fill(distance >= self.config.mem_len, torch.finfo(mask.dtype).min)
        return mask if attention_mask is None else mask.masked_fill(distance == 0, 0.0)


class ComplexTransfoXLForCausalLM(ComplexTransfoXLPreTrainedModel, CausalLanguageModel):
    """Transformer-XL with an LM head, ``config.lm_readout``, and ``generate()``; see ``CausalLanguageModel``."""

    model_class = ComplexTransfoXLModel

    def new_memory(self, for_training: bool = False, mem_len: int | None = None) -> MemoryCache:
        """Return an empty ``MemoryCache``: of hidden states for training, else of keys and values."""
        return MemoryCache(self.config, mem_len, keeps="states" if for_training else "keys")


class ComplexTransfoXLForSequenceClassification(LastTokenClassifier, ComplexTransfoXLPreTrainedModel):
    """Transformer-XL without memory, and a classification head on the last token of each sequence."""

    model_class = ComplexTransfoXLModel
