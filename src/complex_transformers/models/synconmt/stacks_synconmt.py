# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder and decoder stacks of SynCoNMT (Liu & Hou 2023, sections 3.1-3.2) and of its real twins."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from ...kernels.exporting import is_exporting
from ...nn import AdditiveAttention, AttentiveRecurrent, LocalAttention, SyntaxEmbedding, last_states, number_field
from ...nn.attention.alignment import run_steps
from ..base.caches.recurrent import RecurrentCache, RecurrentStateLayer
from ..base.inputs import check_mask, check_text_inputs, padding_mask
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import make_recurrent, run_recurrent
from .configuration_synconmt import SynCoNMTConfig

__all__ = ["SynCoNMTDecoder", "SynCoNMTEncoder", "SynCoNMTPreTrainedModel"]


class SynCoNMTEncoderLayer(GradientCheckpointingLayer):
    """One recurrent layer; if bidirectional, each direction has half the width."""

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__()
        width = config.hidden_size // (2 if config.bidirectional else 1)
        self.rnn = make_recurrent(config, config.hidden_size, width, config.bidirectional)

    def forward(self, hidden_states: Tensor, mask: Tensor | None) -> Tensor:
        """Run the layer, ``[B, S, width] -> [B, S, width]``; outputs are zero where ``mask [B, S]`` is false."""
        return run_recurrent(self.rnn, hidden_states, mask)[0]


class SynCoNMTDecoderLayer(GradientCheckpointingLayer):
    """One recurrent layer, with attention at its input (``bahdanau``), at its output (``luong``), or without it."""

    rnn: Any

    def __init__(self, config: SynCoNMTConfig, index: int) -> None:
        super().__init__()
        size = config.hidden_size
        rnn = make_recurrent(config, size, size)
        self.reads_context = config.attention_type == "bahdanau" and index == 0
        self.joins_context = config.attention_type == "luong" and index == config.decoder_layers - 1
        self.rnn = AttentiveRecurrent(rnn, AdditiveAttention(size, config.number_field)) if self.reads_context else rnn
        if self.joins_context:
            field = number_field(config.number_field)
            self.concatenate = field.numbers.concatenate
            self.attention = LocalAttention(size, config.attention_window, config.number_field)
            self.context_proj = field.Linear(2 * size, size)

    @property
    def alignment(self) -> AdditiveAttention | LocalAttention:
        """The attention of this layer."""
        return self.rnn.attention if self.reads_context else self.attention

    def forward(
        self,
        hidden_states: Tensor,
        mask: Tensor | None,
        source: Tensor,
        source_mask: Tensor | None,
        keys: Tensor | None,
        *state: Tensor,
    ) -> tuple[Tensor | None, ...]:
        """Run the layer from an initial ``state``, one or two tensors ``[B, width]``.

        Returns:
            States ``[B, T, width]``; attention weights ``[B, 1, T, S]`` (or halves) or None; the keys of the source,
            computed if ``keys`` is None, or None; the last state.
        """
        weights = None
        if self.reads_context:
            keys = self.alignment.keys(source) if keys is None else keys
            hidden_states, weights, state = self.rnn(hidden_states, state, keys, source, source_mask, mask)
        else:
            hidden_states, state = self.run(hidden_states, state, mask)
        if self.joins_context:
            keys = self.alignment.keys(source) if keys is None else keys
            context, weights = self.attention(hidden_states, keys, source, source_mask)
            hidden_states = torch.tanh(self.context_proj(self.concatenate([context, hidden_states])))
            hidden_states = hidden_states if mask is None else hidden_states.masked_fill(~mask.unsqueeze(-1), 0.0)
        return hidden_states, None if weights is None else weights.unsqueeze(1), keys, *state

    def run(self, x: Tensor, state: tuple[Tensor, ...], mask: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run the recurrent layer alone: in one call, or step by step for export, single steps and empty rows."""
        if is_exporting() or x.shape[1] == 1 or (mask is not None and not bool(mask.any(-1).all())):
            (out,), state = run_steps(self.rnn, x, state, mask)
            return out, state
        first = tuple(part.unsqueeze(0) for part in state)
        out, last = self.rnn(x, first if len(first) > 1 else first[0], mask)
        return out, tuple(part.squeeze(0) for part in (last if isinstance(last, tuple) else (last,)))


class SynCoNMTPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the SynCoNMT models."""

    config: SynCoNMTConfig
    _no_split_modules = ["SynCoNMTEncoderLayer", "SynCoNMTDecoderLayer"]
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False
    _is_stateful = True  # states cannot be rolled back: no assisted generation

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:
        """Resize the word embeddings of both sides and the word head.

        Raises:
            ValueError: source and target have different vocabulary sizes.
        """
        source, target = self.config.num_words
        if source != target:
            raise ValueError(f"target_vocab_size must equal vocab_size={source} to resize, got {target}.")
        embeddings = super().resize_token_embeddings(*args, **kwargs)
        if self.config.target_vocab_size is not None:
            self.config.target_vocab_size = self.config.vocab_size
        return embeddings


class _SyntaxStack(SynCoNMTPreTrainedModel):
    """Base class of encoder and decoder: the embedding (S 11) with dropout."""

    def __init__(self, config: SynCoNMTConfig, side: int) -> None:
        super().__init__(config)
        self.embed_tokens = SyntaxEmbedding(
            config.num_words[side],
            config.num_relations[side],
            config.hidden_size,
            padding_idx=config.pad_token_id,
            relation_padding_idx=config.pad_relation_id,
            std=config.initializer_range,
        )
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)
        self.gradient_checkpointing = False

    def embed(
        self,
        input_ids: Tensor | None,
        relation_ids: Tensor | None,
        attention_mask: Tensor | None,
        inputs_embeds: Tensor | None,
        side: str = "",
    ) -> Tensor:
        """Check and embed the inputs, ``[B, N, hidden_size]``, before dropout."""
        check_text_inputs(input_ids, inputs_embeds, attention_mask, self.config.hidden_size)
        wanted = inputs_embeds is None and self.config.use_relations
        if wanted == (relation_ids is None):
            reason = f"{side}input_ids and use_relations=True" if wanted else "inputs_embeds or use_relations=False"
            needed, found = ("[batch, length]", "None") if wanted else ("None", "a tensor")
            raise ValueError(f"{side}relation_ids must be {needed} with {reason}, got {found}.")
        return inputs_embeds if inputs_embeds is not None else self.embed_tokens(input_ids, relation_ids)


class SynCoNMTEncoder(_SyntaxStack):
    """Syntax embedding (S 11) and recurrent layers in one or both directions (S 12)."""

    _can_record_outputs = {"hidden_states": SynCoNMTEncoderLayer}

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__(config, side=0)
        self.layers = nn.ModuleList(SynCoNMTEncoderLayer(config) for _ in range(config.encoder_layers))
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutput:
        """Encode source texts.

        Args:
            input_ids: ``[B, S]``; or pass ``inputs_embeds``.
            attention_mask: ``[B, S]``, 1 for tokens, 0 for padding on either side.
            relation_ids: ``[B, S]``, the dependency relation of every token.
            inputs_embeds: ``[B, S, hidden_size]``, words and relations as halves.

        Raises:
            ValueError: empty input, missing relations, wrong shapes, ids outside the vocabulary.
        """
        hidden_states = self.embed(input_ids, relation_ids, attention_mask, inputs_embeds)
        check_mask(attention_mask, tuple(hidden_states.shape[:2]), scores=False)
        mask = padding_mask(attention_mask)
        for layer in self.layers:
            hidden_states = layer(self.dropout(hidden_states), mask)
        return BaseModelOutput(last_hidden_state=hidden_states)


class SynCoNMTDecoder(_SyntaxStack):
    """Syntax embedding and recurrent layers with attention to an encoder (S 12 to 14).

    The initial state of every layer is tanh(W h + b), where h is the last state of both encoder directions.
    """

    _can_record_outputs = {
        "hidden_states": SynCoNMTDecoderLayer,
        "cross_attentions": OutputRecorder(SynCoNMTDecoderLayer, index=1),
    }

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__(config, side=1)
        self.layers = nn.ModuleList(SynCoNMTDecoderLayer(config, index) for index in range(config.decoder_layers))
        self.state_names = ("hidden", "cell") if config.rnn_type == "lstm" else ("hidden",)
        linear = number_field(config.number_field).Linear
        count = config.decoder_layers * len(self.state_names)
        self.first_state_proj = nn.ModuleList(linear(config.hidden_size, config.hidden_size) for _ in range(count))
        self.post_init()

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Decode target texts or their next tokens.

        Args:
            input_ids: ``[B, T]``, the tokens that are not in the cache; or pass ``inputs_embeds``.
            attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side.
            relation_ids: ``[B, T]``, the dependency relation of every token.
            encoder_hidden_states: ``[B, S, hidden_size]``, output of the encoder.
            encoder_attention_mask: ``[B, S]``, the encoder's ``attention_mask``.
            cache: a ``RecurrentCache``, updated by this call.
            inputs_embeds: ``[B, T, hidden_size]``, words and relations as halves.
            use_cache: create and return a cache if none is passed.

        Raises:
            ValueError: no encoder states, empty input, missing relations, wrong shapes, another kind of cache, ids
                outside the vocabulary.
        """
        if encoder_hidden_states is None:
            raise ValueError("encoder_hidden_states must be the output of the encoder, got None.")
        inputs_embeds = self.embed(input_ids, relation_ids, None, inputs_embeds, side="decoder_")
        batch, length = inputs_embeds.shape[:2]
        if encoder_hidden_states.shape[0] != batch:
            raise ValueError(f"encoder_hidden_states must have batch size {batch}, got {len(encoder_hidden_states)}.")
        if use_cache and cache is None:
            cache = RecurrentCache(self.config)
        if cache is not None and not isinstance(cache, RecurrentCache):
            raise ValueError(f"cache must be a RecurrentCache, got {type(cache).__name__}. Leave it out.")
        past_length = 0 if cache is None else cache.get_seq_length()
        covered = (batch, past_length + length)
        check_mask(attention_mask, covered, "decoder_attention_mask", "[batch, cached and new tokens]", scores=False)
        check_mask(encoder_attention_mask, tuple(encoder_hidden_states.shape[:2]), scores=False)
        mask = padding_mask(attention_mask)
        mask = None if mask is None else mask[:, -length:]
        source_mask = padding_mask(encoder_attention_mask)
        known: Tensor | None = None
        hidden_states = inputs_embeds
        for index, layer in enumerate(self.layers):
            memory = None if cache is None else cache.layers[index]
            state = self.stored_state(memory, batch)
            if state is None:
                if known is None:
                    known = last_states(
                        encoder_hidden_states, source_mask, self.config.bidirectional, self.config.number_field
                    )
                first = index * len(self.state_names)
                projections = self.first_state_proj[first : first + len(self.state_names)]
                state = tuple(torch.tanh(projection(known)) for projection in projections)
            keys = None if memory is None else memory.source.get("keys")
            out = layer(self.dropout(hidden_states), mask, encoder_hidden_states, source_mask, keys, *state)
            hidden_states, _, keys, *last = out
            if memory is not None:
                memory.advance(length, **dict(zip(self.state_names, last, strict=True)))
                if keys is not None:
                    memory.source["keys"] = keys
        return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=hidden_states, cache=cache)

    def stored_state(self, memory: RecurrentStateLayer | None, batch: int) -> tuple[Tensor, ...] | None:
        """Return the state that a layer of the cache holds, or None."""
        if memory is None or memory.get_seq_length() == 0:
            return None
        state = tuple(memory.states[name] for name in self.state_names)
        if state[0].shape[0] != batch:
            raise ValueError(f"cache must have the batch size {batch}, got {len(state[0])}. Start with a new cache.")
        return state
