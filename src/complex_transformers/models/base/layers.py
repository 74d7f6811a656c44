# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformer layers and stacks, and attention through Transformers' ``AttentionInterface``."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.masking_utils import (
    AttentionMaskInterface,
    create_bidirectional_mask,
    create_causal_mask,
    eager_mask,
    packed_sequence_mask_function,
)
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from ...nn import ComplexMultiheadAttention, NumberField, complex_attention, number_field
from ...nn.attention.multi_head import ATTENTION_FUNCTIONS, REAL_SCORES, as_wide_as
from .configuration import LayersConfig
from .inputs import check_cache_batch, check_mask, check_text_inputs, padding_mask, without_padding
from .packed_sequences import counted_from_one, sequence_ids
from .positions import token_positions
from .pretrained import ComplexPreTrainedModel, added_mask
from .text import TextModel

__all__ = [
    "Attention",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerStack",
    "attend_by_interface",
    "attention_implementation_name",
]


def attention_implementation_name(score: str, normalization: str) -> str:
    """Return the name of a score and a normalization in Transformers' ``AttentionInterface``."""
    return f"complex_{score}_{normalization}"


for (_score, _normalization), _function in ATTENTION_FUNCTIONS.items():
    _name = attention_implementation_name(_score, _normalization)
    AttentionInterface.register(_name, _function)
    # Without a mask function of the same name Transformers passes no mask, so padding would be attended to.
    AttentionMaskInterface.register(_name, eager_mask)

_eager_attention = partial(complex_attention, score="real", normalization="softmax")


def attend_by_interface(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """Attend with the function that Transformers' ``AttentionInterface`` has for ``module``, a layer with ``config``.

    Scores ``real`` and ``cosine`` with ``softmax`` are dot products of halves and follow ``attn_implementation``
    (sdpa, eager, ...). Every other pair is registered under its own name. Weights are returned for ``eager``
    attention, or on request.
    """
    name = module.config._attn_implementation
    wanted = kwargs.get("output_attentions", getattr(module.config, "output_attentions", False))
    kwargs["need_weights"] = bool(wanted) or name == "eager"
    length, width = query.shape[-2], value.shape[-1]
    if name == "flex_attention" and isinstance(attention_mask, Tensor):
        attention_mask = added_mask(attention_mask, query)
    if attention_mask is None and module.is_causal and 1 < length < key.shape[-2]:
        # For the first tokens of a static cache Transformers creates no mask, so its unused slots are cut off.
        key, value = key[:, :, :length], value[:, :, :length]
    if module.normalization != "softmax" or module.score not in REAL_SCORES:
        name = attention_implementation_name(module.score, module.normalization)
    elif name == "sdpa" and (kwargs.get("softcap") is not None or key.shape[-1] > value.shape[-1]):
        name = "eager"  # sdpa has no softcap, and needs values as wide as keys
    elif name != "eager":
        value = as_wide_as(key, value)
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(name, _eager_attention)
    context, weights = attend(module, query, key, value, attention_mask, **kwargs)
    return context[..., :width], weights


class Attention(ComplexMultiheadAttention):
    """``nn.ComplexMultiheadAttention`` with Transformers' ``AttentionInterface`` and caches.

    Cross-attention projects the encoder's states once and then reads keys and values from the cache. ``options`` are
    arguments of the layer that only some configurations have.
    """

    def __init__(
        self,
        config: LayersConfig,
        layer_idx: int | None = None,
        is_causal: bool = False,
        is_cross_attention: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            config.hidden_size,
            config.num_attention_heads,
            dropout=config.attention_probs_dropout_prob,
            score=config.attention_score,
            normalization=config.attention_normalization,
            share_parts=config.share_parts,
            is_causal=is_causal,
            layer_idx=layer_idx,
            number_field=config.number_field,
            attention_function=attend_by_interface,
            training_length=getattr(config, "max_position_embeddings", 512),
            **options,
        )
        self.config = config
        self.is_cross_attention = is_cross_attention

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        key: Tensor | None = None,
        cache: Cache | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``hidden_states`` to themselves, or to ``key`` (cross-attention)."""
        return self.attend_from(hidden_states, attention_mask, key, cache, **kwargs)

    def keys_and_values(self, key: Tensor, value: Tensor, cache: Cache | None) -> tuple[Tensor, Tensor]:
        """Return keys and values from this layer's half of an ``EncoderDecoderCache``."""
        if not isinstance(cache, EncoderDecoderCache):
            return super().keys_and_values(key, value, cache)
        if not self.is_cross_attention:
            return super().keys_and_values(key, value, cache.self_attention_cache)
        if cache.is_updated.get(self.layer_idx):
            layer = cache.cross_attention_cache.layers[self.layer_idx]
            return layer.keys, layer.values
        cache.is_updated[self.layer_idx] = True
        return super().keys_and_values(key, value, cache.cross_attention_cache)


class FeedForward(nn.Module):
    """W_2 f(W_1 z + b_1) + b_2 with complex layers (ComplexOrder App. B)."""

    column_parallel: ClassVar[tuple[str, ...]] = ("up_proj",)
    row_parallel: ClassVar[tuple[str, ...]] = ("down_proj",)

    def __init__(self, config: LayersConfig, field: NumberField, linear: type[nn.Module] | None = None) -> None:
        super().__init__()
        linear = field.Linear if linear is None else linear
        self.up_proj = linear(config.hidden_size, config.intermediate_size)
        self.activation = field.activation(config.hidden_act, num_features=config.intermediate_size)
        self.down_proj = linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.up_proj(hidden_states)))


class TokenBatchNorm(nn.Module):
    """Batch norm over the non-padding tokens of ``[B, N, 2d]`` with mask ``[B, N]`` (ComplexOrder App. B)."""

    def __init__(self, batch_norm: nn.Module) -> None:
        super().__init__()
        self.batch_norm = batch_norm

    def forward(self, hidden_states: Tensor, padding_mask: Tensor | None) -> Tensor:
        mask = None if padding_mask is None else padding_mask.flatten()
        return self.batch_norm(hidden_states.flatten(0, 1), mask).view_as(hidden_states)


def make_norm(config: LayersConfig, field: NumberField) -> nn.Module:
    """Return the norm of ``config.norm_type``, to be called by ``apply_norm``."""
    if config.norm_type == "batch":
        return TokenBatchNorm(field.BatchNorm1d(config.hidden_size, eps=config.layer_norm_eps))
    norms = {"layer": field.LayerNorm, "stored_layer": nn.LayerNorm, "rms": field.RMSNorm}
    return norms[config.norm_type](config.hidden_size, eps=config.layer_norm_eps)


def apply_norm(norm: nn.Module, hidden_states: Tensor, padding_mask: Tensor | None) -> Tensor:
    """Apply a norm to every token; batch statistics ignore padding."""
    return norm(hidden_states, padding_mask) if isinstance(norm, TokenBatchNorm) else norm(hidden_states)


class EncoderLayer(GradientCheckpointingLayer):
    """Self-attention and feed-forward network, each with dropout, residual and norm (ComplexOrder App. B).

    ``norm_position="post"``: norm(z + f(z)) (Vaswani et al. 2017); ``"pre"``: z + f(norm(z)).
    """

    is_causal = False

    def __init__(self, config: LayersConfig, layer_idx: int | None = None) -> None:
        super().__init__()
        field = number_field(config.number_field)
        self.pre_norm = config.norm_position == "pre"
        self.self_attn = self.make_attention(config, layer_idx)
        self.feed_forward = self.make_feed_forward(config, field)
        self.self_attn_norm = make_norm(config, field)
        self.feed_forward_norm = make_norm(config, field)
        self.dropout = field.Dropout(config.hidden_dropout_prob)

    def make_attention(self, config: LayersConfig, layer_idx: int | None) -> nn.Module:
        """Return the self-attention of the layer."""
        return Attention(config, layer_idx, is_causal=self.is_causal)

    def make_feed_forward(self, config: LayersConfig, field: NumberField) -> FeedForward:
        """Return the feed-forward network of the layer."""
        return FeedForward(config, field)

    def residual(
        self, norm: nn.Module, sublayer: Callable[[Tensor], Tensor], x: Tensor, padding_mask: Tensor | None = None
    ) -> Tensor:
        """Return norm(x + f(x)), or x + f(norm(x)), where f is the sublayer followed by dropout."""
        if self.pre_norm:
            return x + self.dropout(sublayer(apply_norm(norm, x, padding_mask)))
        return apply_norm(norm, x + self.dropout(sublayer(x)), padding_mask)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        padding_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """Map ``[B, N, 2d] -> [B, N, 2d]``; ``padding_mask [B, N]`` is for batch norms."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, attention_mask, **kwargs)[0]

        hidden_states = self.residual(self.self_attn_norm, attend, hidden_states, padding_mask)
        return self.residual(self.feed_forward_norm, self.feed_forward, hidden_states, padding_mask)


class DecoderLayer(EncoderLayer):
    """An encoder layer with causal self-attention, and cross-attention before the feed-forward network."""

    is_causal = True

    def __init__(self, config: LayersConfig, layer_idx: int | None = None) -> None:
        super().__init__(config, layer_idx)
        self.cross_attn = Attention(config, layer_idx, is_cross_attention=True)
        self.cross_attn_norm = make_norm(config, number_field(config.number_field))

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        encoder_hidden_states: Tensor,
        encoder_attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """Map ``[B, T, 2d] -> [B, T, 2d]`` with the encoder's ``[B, S, 2d]``; both masks are masks of scores."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, attention_mask, cache=cache, **kwargs)[0]

        def attend_source(x: Tensor) -> Tensor:
            options = {**kwargs, "cache": cache}
            return self.cross_attn(x, encoder_attention_mask, encoder_hidden_states, **options)[0]

        hidden_states = self.residual(self.self_attn_norm, attend, hidden_states)
        hidden_states = self.residual(self.cross_attn_norm, attend_source, hidden_states)
        return self.residual(self.feed_forward_norm, self.feed_forward, hidden_states)


class TransformerStack(ComplexPreTrainedModel):
    """Layers of one kind and, after pre-norm layers, a final norm.

    A subclass also derives from a model that makes the embedding and the dropout, such as ``TextModel``.
    """

    dropout: nn.Module

    def __init__(self, config: LayersConfig, layer_class: type[EncoderLayer], num_layers: int) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList([layer_class(config, index) for index in range(num_layers)])
        self.norm = make_norm(config, number_field(config.number_field)) if config.norm_position == "pre" else None
        self.gradient_checkpointing = False
        self.post_init()

    def last_norm(self, hidden_states: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """Apply the final norm, if there is one: ``[B, N, 2d] -> [B, N, 2d]``."""
        return hidden_states if self.norm is None else apply_norm(self.norm, hidden_states, padding_mask)

    def run_layers(
        self, hidden_states: Tensor, attention_mask: Tensor | None, padding_mask: Tensor | None, **kwargs: Any
    ) -> Tensor:
        """Apply dropout, encoder layers and the final norm: ``[B, N, 2d] -> [B, N, 2d]``, masks as in the layer."""
        hidden_states = self.dropout(hidden_states)
        for layer in self.layers:
            hidden_states = layer(hidden_states, attention_mask, padding_mask, **kwargs)
        return self.last_norm(hidden_states, padding_mask)


class TransformerEncoder(TransformerStack, TextModel):
    """Embedding (ComplexOrder Eq. 5) and ``config.num_hidden_layers`` encoder layers (Eq. 13, 14, App. B).

    It returns hidden states ``[B, N, hidden_size]`` of ``[real | imag]`` halves.
    """

    _can_record_outputs = {"hidden_states": EncoderLayer, "attentions": Attention}
    layer_class: type[EncoderLayer] = EncoderLayer

    def __init__(self, config: LayersConfig) -> None:
        super().__init__(config, self.layer_class, config.num_hidden_layers)

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutput:
        """Encode a batch of sequences.

        Args:
            input_ids: ``[B, N]`` token ids, unless ``inputs_embeds`` are given.
            attention_mask: ``[B, N]``, 1 for tokens, 0 for padding on either side. Outputs of an all-padding row are
                finite but meaningless; its pooled features are zero.
            position_ids: ``[B, N]`` positions of the tokens, see ``embed``; default 1, 2, ... over real tokens.
            inputs_embeds: ``[B, N, hidden_size]`` embeddings, positions included, as halves.

        Raises:
            ValueError: empty input, shapes that do not match, ids outside the vocabulary, positions without effect.
        """
        inputs_embeds = self.embed(input_ids, attention_mask, position_ids, inputs_embeds)
        hidden_states = self.encode(inputs_embeds, attention_mask, position_ids, **kwargs)
        return BaseModelOutput(last_hidden_state=hidden_states)

    def embed(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        inputs_embeds: Tensor | None,
    ) -> Tensor:
        """Return embeddings; positions count from 1 or, in a row with a token at 0, from 0, as in Transformers.

        Positions that return to the first one of a row start another packed sequence.
        """
        return super().embed(input_ids, attention_mask, counted_from_one(position_ids, attention_mask), inputs_embeds)

    def reads_positions(self, position_ids: Tensor, attention_mask: Tensor | None) -> bool:
        """Return whether positions have an effect: on the embedding, or as boundaries of packed sequences."""
        return super().reads_positions(position_ids, attention_mask) or (
            sequence_ids(position_ids, attention_mask) is not None
        )

    def encode(
        self, inputs_embeds: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None = None, **kwargs: Any
    ) -> Tensor:
        """Return the last hidden states of embeddings ``[B, N, 2d]``.

        A token attends to the tokens of its own sequence. Without a mask, ``position_ids`` that restart within a row
        separate packed sequences.
        """
        tokens = padding_mask(attention_mask)
        sequences = sequence_ids(position_ids, attention_mask)
        sequences = None if sequences is None else sequences.expand(len(inputs_embeds), -1)
        score_mask = create_bidirectional_mask(
            config=self.config,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            and_mask_function=None if sequences is None else packed_sequence_mask_function(sequences),
        )
        return self.run_layers(inputs_embeds, score_mask, tokens, **kwargs)


class TransformerDecoder(TransformerStack, TextModel):
    """Embedding and ``config.decoder_layers`` decoder layers: causal, with cross-attention and a KV cache.

    Positions count real tokens, also in beams and left-padded batches.
    """

    _can_record_outputs = {
        "hidden_states": DecoderLayer,
        "attentions": OutputRecorder(Attention, index=1, layer_name="self_attn"),
        "cross_attentions": OutputRecorder(Attention, index=1, layer_name="cross_attn"),
    }

    def __init__(self, config: LayersConfig) -> None:
        super().__init__(config, DecoderLayer, config.decoder_layers)

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Decode a batch of target sequences, or their next tokens.

        Args:
            input_ids: ``[B, T]``, the tokens that are not in the cache, unless ``inputs_embeds`` are given.
            attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side; or ``[B, 1, T, keys]``, see
                ``token_positions``.
            encoder_hidden_states: ``[B, S, hidden_size]``, the output of the encoder.
            encoder_attention_mask: ``[B, S]``, as given to the encoder.
            cache: an ``EncoderDecoderCache``, extended by this call; it must belong to the same source.
            inputs_embeds: ``[B, T, hidden_size]`` embeddings, positions included, as halves.
            use_cache: create a cache if none is given, and return it.

        Raises:
            TypeError: another cache than an ``EncoderDecoderCache``.
            ValueError: no encoder states, empty input, shapes that do not match, ids outside the vocabulary.
        """
        if encoder_hidden_states is None:
            raise ValueError("encoder_hidden_states must be the output of the encoder, got None.")
        check_text_inputs(input_ids, inputs_embeds, None, self.config.hidden_size)
        check_text_inputs(None, encoder_hidden_states, encoder_attention_mask, self.config.hidden_size)
        target = inputs_embeds if input_ids is None else input_ids
        if encoder_hidden_states.shape[0] != target.shape[0]:  # type: ignore[union-attr]
            raise ValueError(
                f"encoder_hidden_states must have the batch size {target.shape[0]} of the target, got "  # type: ignore[union-attr]
                f"{encoder_hidden_states.shape[0]}."
            )
        if use_cache and cache is None:
            cache = EncoderDecoderCache(DynamicCache(config=self.config), DynamicCache(config=self.config))
        if cache is not None and not isinstance(cache, EncoderDecoderCache):
            raise TypeError(f"cache must be an EncoderDecoderCache, got {type(cache).__name__}.")
        check_cache_batch(cache, encoder_hidden_states.shape[0])
        past_length = 0 if cache is None else cache.get_seq_length()
        if not torch.compiler.is_compiling():
            covered = (target.shape[0], int(past_length) + target.shape[1])  # type: ignore[union-attr]
            check_mask(attention_mask, covered, "decoder_attention_mask", "[batch, cached and new tokens]")
        if inputs_embeds is None:
            assert input_ids is not None
            positions = token_positions(input_ids, attention_mask, past_length)
            inputs_embeds = self.embed_tokens(input_ids, position_ids=positions)
        inputs_embeds = without_padding(inputs_embeds, attention_mask)
        own_cache = None if cache is None else cache.self_attention_cache
        score_mask = create_causal_mask(
            config=self.config, inputs_embeds=inputs_embeds, attention_mask=attention_mask, cache=own_cache
        )
        source_mask = create_bidirectional_mask(
            config=self.config,
            inputs_embeds=inputs_embeds,
            attention_mask=encoder_attention_mask,
            encoder_hidden_states=encoder_hidden_states,
        )
        hidden_states = self.dropout(inputs_embeds)
        for layer in self.layers:
            hidden_states = layer(
                hidden_states,
                score_mask,
                encoder_hidden_states,
                encoder_attention_mask=source_mask,
                cache=cache,
                **kwargs,
            )
        hidden_states = self.last_norm(hidden_states)
        return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=hidden_states, cache=cache)
