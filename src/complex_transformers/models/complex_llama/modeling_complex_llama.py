# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Causal decoder: Llama (Touvron et al. 2023) with complex or real layers, and its heads."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast, TokenClassifierOutput
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import (
    GatedFeedForward,
    GroupedQueryAttention,
    Readout,
    RotaryWordPositions,
    drop_conjugate,
    folded,
    number_field,
    rms_norm,
)
from ..base.generation import ComplexGenerationMixin
from ..base.inputs import check_cache_batch, check_mask, check_position_ids, check_text_inputs, finite_padding
from ..base.language_modeling import causal_lm_output
from ..base.layers import attend_by_interface
from ..base.positions import packed_positions, token_positions
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import LastTokenClassifier, TextModel, classification_head, run_text_model
from .configuration_complex_llama import ComplexLlamaConfig
from .rotary_complex_llama import RotaryByLayerType, make_positions

__all__ = [
    "ComplexLlamaForCausalLM",
    "ComplexLlamaForSequenceClassification",
    "ComplexLlamaForTokenClassification",
    "ComplexLlamaModel",
    "ComplexLlamaPreTrainedModel",
]

MASKS = {"full_attention": create_causal_mask, "sliding_attention": create_sliding_window_causal_mask}
# Position of the norms -> their names before and after attention, before and after the feed-forward network.
NORMS = {
    "pre": ("input_layernorm", None, "post_attention_layernorm", None),
    "output": (None, "post_attention_layernorm", None, "post_feedforward_layernorm"),
    "both": (
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
}


class ComplexLlamaAttention(GroupedQueryAttention):
    """``nn.GroupedQueryAttention`` with Transformers' ``AttentionInterface``."""

    def __init__(self, config: ComplexLlamaConfig, layer_idx: int) -> None:
        super().__init__(
            config.hidden_size,
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
            dropout=config.attention_probs_dropout_prob,
            bias=config.attention_bias,
            output_bias=config.attention_output_bias,
            score=config.attention_score,
            normalization=config.attention_normalization,
            scaling=config.attention_scale,
            linear_type=config.linear_type,
            qk_norm=config.qk_norm,
            sub_norm=config.sub_norms,
            norm_scale=config.norm_scale,
            eps=config.rms_norm_eps,
            activation_bits=config.activation_bits,
            softcap=config.attn_logit_softcapping,
            polar=config.is_polar,
            imaginary_heads=config.imaginary_heads,
            layer_idx=layer_idx,
            number_field=config.number_field,
            attention_function=attend_by_interface,
            training_length=config.max_position_embeddings,
        )
        self.config = config

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        factors: Tensor | None = None,
        cache: Cache | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        return self.attend_from(hidden_states, attention_mask, factors, cache, **kwargs)


class ComplexLlamaLayer(GradientCheckpointingLayer):
    """Attention and feed-forward network, each added to its input, with dropout and norms by ``norm_position``."""

    def __init__(self, config: ComplexLlamaConfig, layer_idx: int) -> None:
        super().__init__()
        self.self_attn = ComplexLlamaAttention(config, layer_idx)
        self.mlp = GatedFeedForward(
            config.hidden_size,
            config.intermediate_size,
            config.hidden_act,
            config.gate_product,
            bias=config.mlp_bias,
            linear_type=config.linear_type,
            sub_norm=config.sub_norms,
            norm_scale=config.norm_scale,
            eps=config.rms_norm_eps,
            activation_bits=config.activation_bits,
            number_field=config.number_field,
        )
        self.norms = NORMS[config.norm_position]
        for name in filter(None, self.norms):
            self.add_module(name, make_norm(config))
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None, factors: Tensor | None, **kwargs: Any
    ) -> Tensor:
        """Map ``[B, T, 2d] -> [B, T, 2d]`` with a mask of scores and the factors of rotary positions."""
        before_attention, after_attention, before_mlp, after_mlp = self.norms
        attended, _ = self.self_attn(self.normed(before_attention, hidden_states), attention_mask, factors, **kwargs)
        hidden_states = hidden_states + self.dropout(self.normed(after_attention, attended))
        added = self.mlp(self.normed(before_mlp, hidden_states))
        return hidden_states + self.dropout(self.normed(after_mlp, added))

    def normed(self, name: str | None, hidden_states: Tensor) -> Tensor:
        """Apply the norm of this name, unless it is None."""
        return hidden_states if name is None else getattr(self, name)(hidden_states)


def make_norm(config: ComplexLlamaConfig) -> nn.Module:
    """Return an RMS norm of the residual stream."""
    return rms_norm(config.hidden_size, config.rms_norm_eps, config.norm_scale, config.number_field)


class ComplexLlamaPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the family."""

    config: ComplexLlamaConfig
    _no_split_modules = ["ComplexLlamaLayer"]
    _supports_flex_attn = True


class ComplexLlamaModel(TextModel, ComplexLlamaPreTrainedModel):
    """Word embedding, ``config.num_hidden_layers`` causal layers and a final norm.

    Positions count real tokens, also in beams and left-padded batches; a cache holds rotated keys.
    """

    config: ComplexLlamaConfig
    _can_record_outputs = {"hidden_states": ComplexLlamaLayer, "attentions": ComplexLlamaAttention}

    def __init__(self, config: ComplexLlamaConfig) -> None:
        super().__init__(config)
        self.rotary = make_positions(config)
        self.layers = nn.ModuleList([ComplexLlamaLayer(config, index) for index in range(config.num_hidden_layers)])
        self.norm = make_norm(config)
        drop_conjugate(self, config.complex_layers or ())
        self.gradient_checkpointing = False
        self.post_init()

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
        """Encode a batch of sequences, or their next tokens.

        Args:
            input_ids: ``[B, T]``, the tokens that are not in the cache, unless ``inputs_embeds`` are given.
            attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side; or ``[B, 1, T, keys]``, True
                (or 0, where -1e4 and less hide) for the keys of each token: positions count the keys up to its own.
            position_ids: ``[B, T]`` or ``[1, T]`` positions from 0; default: counted along the mask. Without a mask
                and a cache, a step other than one starts another sequence of the row (packed sequences).
            cache: a KV cache, extended by this call.
            inputs_embeds: ``[B, T, hidden_size]`` embeddings as halves, with ``position_type="complex_order"``
                positions included.
            use_cache: create a cache if none is given, and return it.

        Raises:
            ValueError: empty input, shapes that do not match, ids outside the vocabulary, a cache of another batch
                size, ``inputs_embeds`` with position types that have frequencies per token.
        """
        check_text_inputs(input_ids, inputs_embeds, None, self.config.hidden_size)
        given_cache = cache
        if use_cache and cache is None:
            cache = DynamicCache(config=self.config)
        first = input_ids if inputs_embeds is None else inputs_embeds[..., 0]
        assert first is not None
        check_cache_batch(cache, first.shape[0])
        position_ids = packed_positions(position_ids, first, **kwargs)
        positions = self.positions(first, attention_mask, position_ids, cache)
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids, position_ids=positions)
        else:
            inputs_embeds = finite_padding(inputs_embeds, attention_mask)
        # Without the new cache, since with any cache Transformers does not separate packed sequences.
        masks = self.score_masks(inputs_embeds, attention_mask, given_cache, position_ids)
        factors = self.factors(input_ids, positions, inputs_embeds.dtype)
        rotates = self.config.no_rope_layers or [1] * len(self.layers)
        hidden_states = self.dropout(inputs_embeds)
        layers = self.layers[: self.config.num_hidden_layers]  # fewer for an early exit
        for layer, kind, rotated in zip(layers, self.config.layer_types or (), rotates, strict=False):
            angles = factors[kind] if rotated else None
            hidden_states = layer(hidden_states, masks[kind], angles, cache=cache, **kwargs)
        return BaseModelOutputWithPast(last_hidden_state=self.norm(hidden_states), cache=cache)

    def score_masks(
        self, inputs_embeds: Tensor, attention_mask: Any, cache: Cache | None, position_ids: Tensor | None
    ) -> dict[str, Any]:
        """Return the mask of the scores for each layer type; ``generate()`` may have created them."""
        if isinstance(attention_mask, dict):
            return attention_mask
        given = {"config": self.config, "inputs_embeds": inputs_embeds, "attention_mask": attention_mask}
        given |= {"cache": cache, "position_ids": position_ids}
        return {kind: MASKS[kind](**given) for kind in set(self.config.layer_types or ())}

    @staticmethod
    def positions(
        input_ids: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None, cache: Cache | None
    ) -> Tensor:
        """Return positions ``[B or 1, T]`` from 1: ``position_ids`` plus 1, or counted along the mask."""
        if position_ids is not None:
            check_position_ids(position_ids, tuple(input_ids.shape))
            return position_ids + 1
        past_length = 0 if cache is None else cache.get_seq_length()
        if not torch.compiler.is_compiling():
            covered = (input_ids.shape[0], int(past_length) + input_ids.shape[1])
            check_mask(attention_mask, covered, layout="[batch, cached and new tokens]")
        return token_positions(input_ids, attention_mask, past_length)

    def factors(self, input_ids: Tensor | None, positions: Tensor, dtype: torch.dtype) -> dict[str, Tensor | None]:
        """Return the rotation factors of queries and keys, ``[B or 1, 1, T, 2D]`` or None, for each layer type.

        Polar positions have ``[B or 1, 1, T, 4D]``.
        """
        positions = positions - 1  # the first token is not rotated, as in Llama
        types = set(self.config.layer_types or ())
        if isinstance(self.rotary, RotaryByLayerType):
            return {kind: self.rotary[kind](positions, dtype) for kind in types}
        if self.rotary is None:
            common = None
        elif not isinstance(self.rotary, RotaryWordPositions):
            common = self.rotary(positions, dtype)
        elif input_ids is None:
            position_type = self.config.position_type
            raise ValueError(f"input_ids must be given with position_type={position_type!r}, got inputs_embeds.")
        else:
            common = self.rotary(input_ids, positions, dtype)
        return dict.fromkeys(types, common)


class SoftcappedReadout(Readout):
    """A readout whose logits l are limited to ``softcap`` c: c tanh(l / c) (Gemma 2)."""

    def __init__(self, *args: Any, softcap: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.softcap = softcap

    def forward(self, x: Tensor) -> Tensor:
        return self.softcap * torch.tanh(super().forward(x) / self.softcap)


class ComplexLlamaForCausalLM(ComplexLlamaPreTrainedModel, ComplexGenerationMixin):
    """The decoder with an LM head, ``config.lm_readout``, and ``generate()``."""

    lm_head: Readout

    def __init__(self, config: ComplexLlamaConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForCausalLM"  # Transformers would derive it from the name of the class
        self.model = ComplexLlamaModel(config)
        self.lm_head = make_head(config)
        self.tie_head_to("model.embed_tokens")
        self.post_init()

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: TransformersKwargs,
    ) -> CausalLMOutputWithPast:
        """Return logits ``[B, T, vocab_size]`` and, with ``labels [B, T]`` (-100 is ignored), the cross entropy.

        ``labels`` are the tokens themselves, each predicted from the tokens before it; ``shift_labels [B, T]`` are
        the next tokens. ``logits_to_keep``: number of last tokens, or their indices. Other arguments as in the model.
        """
        # `shift_labels` is in kwargs: `Trainer` would expect an argument in every batch before it returns a loss.
        inputs = (input_ids, attention_mask, position_ids, cache, inputs_embeds)
        return causal_lm_output(self, inputs, use_cache, labels, logits_to_keep, **kwargs)

    def init_continuous_batching(self, *args: Any, **kwargs: Any) -> Any:
        """Start continuous batching, the engine of ``generate_batch``; see ``GenerationMixin``.

        Raises:
            ValueError: keys are wider than values, which its cache cannot store.
        """
        if self.config.is_polar:
            raise ValueError(
                f"generate_batch needs keys as wide as values, got position_type={self.config.position_type!r}. "
                "Use generate."
            )
        return super().init_continuous_batching(*args, **kwargs)

    def _get_static_cache_init_shape(self) -> Any:
        """Return None for keys wider than values, which a cache is then told by its first tokens."""
        return None if self.config.is_polar else super()._get_static_cache_init_shape()

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """Generate as Transformers does; widely linear layers fold their real matrices once for the whole call."""
        with folded(self):
            return super().generate(*args, **kwargs)


def make_head(config: ComplexLlamaConfig) -> Readout:
    """Return the LM head of a configuration."""
    head = (config.hidden_size, config.vocab_size, config.lm_readout, config.number_field)
    if config.final_logit_softcapping is None:
        return Readout(*head, bias=False)
    return SoftcappedReadout(*head, bias=False, softcap=config.final_logit_softcapping)


class ComplexLlamaForSequenceClassification(LastTokenClassifier, ComplexLlamaPreTrainedModel):
    """The decoder and a classification head on the last token of each sequence."""

    model_class = ComplexLlamaModel


class ComplexLlamaForTokenClassification(ComplexLlamaPreTrainedModel):
    """The decoder and a classification head on every token."""

    def __init__(self, config: ComplexLlamaConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForTokenClassification"  # Transformers would derive it from the name of the class
        self.model = ComplexLlamaModel(config)
        self.num_labels = config.num_labels
        self.dropout, self.classifier = classification_head(config)
        self.post_init()

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool = False,
        **kwargs: TransformersKwargs,
    ) -> TokenClassifierOutput:
        """Return logits ``[B, T, num_labels]`` and, with ``labels [B, T]`` (-100 is ignored), the cross entropy.

        The other arguments are the model's.
        """
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds)
        outputs = run_text_model(self.model, *inputs, cache=cache, use_cache=bool(use_cache), **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        return TokenClassifierOutput(
            loss=None if labels is None else self.token_loss(logits, labels, **kwargs),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
