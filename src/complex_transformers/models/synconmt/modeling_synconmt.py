# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Syntax-aware complex-valued translation (SynCoNMT, Liu & Hou 2023) and its real twins, with ``generate()``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, GenerationMixin
from transformers.cache_utils import Cache
from transformers.generation.utils import GenerateBeamEncoderDecoderOutput, GenerateEncoderDecoderOutput
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqModelOutput,
)
from transformers.utils import ModelOutput, TransformersKwargs
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from ...cache import RecurrentCache, RecurrentStateLayer
from ...modeling_transformer import check_decoder_mask
from ...modeling_utils import ComplexPreTrainedModel, check_text_inputs, shift_right, smoothed_cross_entropy
from ...nn import (
    AdditiveAttention,
    AttentiveRecurrent,
    LocalAttention,
    Readout,
    SyntaxEmbedding,
    last_states,
    number_field,
)
from ...nn.alignment import run_steps
from .configuration_synconmt import SynCoNMTConfig

__all__ = [
    "SynCoNMTDecoder",
    "SynCoNMTEncoder",
    "SynCoNMTForConditionalGeneration",
    "SynCoNMTGenerateBeamOutput",
    "SynCoNMTGenerateOutput",
    "SynCoNMTModel",
    "SynCoNMTOutput",
    "SynCoNMTPreTrainedModel",
]


@dataclass
class SynCoNMTOutput(ModelOutput):
    """What ``SynCoNMTForConditionalGeneration`` returns.

    Args:
        loss: of ``labels`` and ``relation_labels`` (S 17).
        logits: of words, ``[B, T, target words]`` (S 15).
        relation_logits: of relations, ``[B, T, target relations]`` (S 16); None without relations.
        past_key_values: the decoder's state.
        decoder_hidden_states, encoder_hidden_states, encoder_last_hidden_state: of the two sides.
        cross_attentions: one ``[B, 1, T, S]`` of real weights, or ``[B, 1, T, 2S]``, ``[real | imag]`` halves.
        decoder_attentions, encoder_attentions: empty; there is no self-attention.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    relation_logits: Tensor | None = None
    past_key_values: Cache | None = None
    decoder_hidden_states: tuple[Tensor, ...] | None = None
    decoder_attentions: tuple[Tensor, ...] | None = None
    cross_attentions: tuple[Tensor, ...] | None = None
    encoder_last_hidden_state: Tensor | None = None
    encoder_hidden_states: tuple[Tensor, ...] | None = None
    encoder_attentions: tuple[Tensor, ...] | None = None


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


def make_rnn(config: SynCoNMTConfig, hidden_size: int, bidirectional: bool = False) -> nn.Module:
    """One recurrent layer of ``config.rnn_type`` (S 12) on inputs of ``config.hidden_size``."""
    field = number_field(config.number_field)
    return {"gru": field.GRU, "lstm": field.LSTM, "rnn": field.RNN}[config.rnn_type](
        config.hidden_size,
        hidden_size,
        batch_first=True,
        bidirectional=bidirectional,
        gate=config.gate,
        activation=config.state_activation,
    )


def token_mask(attention_mask: Tensor | None, name: str = "attention_mask") -> Tensor | None:
    """``[B, N]`` as booleans; other masks have no meaning for a recurrent network."""
    if attention_mask is not None and attention_mask.dim() != 2:
        raise ValueError(f"{name} must be [batch, length], got shape {tuple(attention_mask.shape)}")
    return None if attention_mask is None else attention_mask.to(torch.bool)


class SynCoNMTEncoderLayer(GradientCheckpointingLayer):
    """One recurrent layer; in both directions, half the width belongs to each."""

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__()
        width = config.hidden_size // (2 if config.bidirectional else 1)
        self.rnn = make_rnn(config, width, config.bidirectional)

    def forward(self, hidden_states: Tensor, mask: Tensor | None) -> Tensor:
        """``[B, S, width] -> [B, S, width]``, zero where ``mask [B, S]`` is false."""
        return self.rnn(hidden_states, mask=mask)[0]


class SynCoNMTDecoderLayer(GradientCheckpointingLayer):
    """One recurrent layer, which reads a context (``bahdanau``), joins one to its states (``luong``), or has none."""

    rnn: Any

    def __init__(self, config: SynCoNMTConfig, index: int) -> None:
        super().__init__()
        size = config.hidden_size
        rnn = make_rnn(config, size)
        self.reads_context = config.attention_type == "bahdanau" and index == 0
        self.joins_context = config.attention_type == "luong" and index == config.decoder_layers - 1
        self.rnn = AttentiveRecurrent(rnn, AdditiveAttention(size, config.number_field)) if self.reads_context else rnn
        if self.joins_context:
            field = number_field(config.number_field)
            self.concatenate = field.numbers.concatenate
            self.attention = LocalAttention(size, config.attention_window, config.number_field)
            self.context_proj = field.Linear(2 * size, size)

    def forward(
        self,
        hidden_states: Tensor,
        mask: Tensor | None,
        source: Tensor,
        source_mask: Tensor | None,
        keys: Tensor | None,
        *state: Tensor,
    ) -> tuple[Tensor | None, ...]:
        """Target states ``[B, T, width]`` from ``state``, one or two ``[B, width]``.

        Returns:
            States ``[B, T, width]``, weights ``[B, 1, T, S]`` (or halves) or None, the keys of the source (made where
            they are None) or None, and the last state.
        """
        weights = None
        if self.reads_context:
            keys = self.rnn.attention.keys(source) if keys is None else keys
            hidden_states, weights, state = self.rnn(hidden_states, state, keys, source, source_mask, mask)
        else:
            hidden_states, state = self.run(hidden_states, state, mask)
        if self.joins_context:
            keys = self.attention.keys(source) if keys is None else keys
            context, weights = self.attention(hidden_states, keys, source, source_mask)
            hidden_states = torch.tanh(self.context_proj(self.concatenate([context, hidden_states])))
            hidden_states = hidden_states if mask is None else hidden_states.masked_fill(~mask.unsqueeze(-1), 0.0)
        return hidden_states, None if weights is None else weights.unsqueeze(1), keys, *state

    def run(self, x: Tensor, state: tuple[Tensor, ...], mask: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The recurrent layer alone: all steps in one call, or a single step, or rows that have none."""
        if x.shape[1] == 1 or (mask is not None and not bool(mask.any(-1).all())):
            return run_steps(self.rnn, x, state, mask)
        first = tuple(part.unsqueeze(0) for part in state)
        out, last = self.rnn(x, first if len(first) > 1 else first[0], mask)
        return out, tuple(part.squeeze(0) for part in (last if isinstance(last, tuple) else (last,)))


class SynCoNMTPreTrainedModel(ComplexPreTrainedModel):
    """Base of the family: configuration, what must stay together, both vocabularies."""

    config: SynCoNMTConfig
    _no_split_modules = ["SynCoNMTEncoderLayer", "SynCoNMTDecoderLayer"]
    _skip_keys_device_placement = ["past_key_values"]
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False
    _is_stateful = True  # a state cannot be rolled back, so no assistant can be wrong

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:
        """Resize the words of both sides, and the head; relations stay as they are.

        Raises:
            ValueError: source and target have vocabularies of two sizes.
        """
        source, target = self.config.num_words
        if source != target:
            raise ValueError(
                f"source and target have vocabularies of {source} and {target} words and cannot be resized to one size"
            )
        embeddings = super().resize_token_embeddings(*args, **kwargs)
        if self.config.target_vocab_size is not None:
            self.config.target_vocab_size = self.config.vocab_size
        return embeddings


class _SyntaxStack(SynCoNMTPreTrainedModel):
    """What encoder and decoder share: the embedding (S 11), with dropout."""

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
        """Checked inputs as embeddings ``[B, N, hidden_size]``, before dropout."""
        check_text_inputs(input_ids, inputs_embeds, attention_mask, self.config.hidden_size)
        if inputs_embeds is not None:
            if relation_ids is not None:
                raise ValueError(f"{side}inputs_embeds hold the relations: leave out {side}relation_ids")
            return inputs_embeds
        if relation_ids is None and self.config.use_relations:
            raise ValueError(
                f"{side}relation_ids are missing: give the dependency relation of every word beside {side}input_ids"
            )
        if relation_ids is not None and not self.config.use_relations:
            raise ValueError(f"a model with use_relations=False has words alone: leave out {side}relation_ids")
        return self.embed_tokens(input_ids, relation_ids)


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
            input_ids: ``[B, S]`` words; or give ``inputs_embeds``.
            attention_mask: ``[B, S]``, 1 for words, 0 for padding on either side.
            relation_ids: ``[B, S]``, the dependency relation of every word.
            inputs_embeds: ``[B, S, hidden_size]``, words and relations as halves.

        Raises:
            ValueError: empty input, missing relations, a row of padding only, shapes that do not match, ids outside
                their vocabulary.
        """
        mask = token_mask(attention_mask)
        hidden_states = self.embed(input_ids, relation_ids, attention_mask, inputs_embeds)
        for layer in self.layers:
            hidden_states = layer(self.dropout(hidden_states), mask)
        return BaseModelOutput(last_hidden_state=hidden_states)


class SynCoNMTDecoder(_SyntaxStack):
    """Syntax embedding and recurrent layers with attention to an encoder (S 12 to 14).

    The first state of every layer is tanh(W h + b) of what both directions of the encoder know of the whole source.
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

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Decode target texts, or their next words.

        Args:
            input_ids: ``[B, T]`` the words that are not in the cache; or give ``inputs_embeds``.
            attention_mask: ``[B, past + T]``, 1 for words, 0 for padding on either side.
            relation_ids: ``[B, T]``, the dependency relation of every word.
            encoder_hidden_states: ``[B, S, hidden_size]`` of the encoder.
            encoder_attention_mask: ``[B, S]``, as given to the encoder.
            past_key_values: a ``RecurrentCache``, extended by this call.
            inputs_embeds: ``[B, T, hidden_size]``, words and relations as halves.
            use_cache: make a cache where none is given, and return it.

        Raises:
            ValueError: no encoder states, empty input, missing relations, shapes that do not match, another cache,
                ids outside their vocabulary.
        """
        if encoder_hidden_states is None:
            raise ValueError("the decoder attends to an encoder: give encoder_hidden_states")
        inputs_embeds = self.embed(input_ids, relation_ids, None, inputs_embeds, side="decoder_")
        batch, length = inputs_embeds.shape[:2]
        if encoder_hidden_states.shape[0] != batch:
            raise ValueError(f"{encoder_hidden_states.shape[0]} source texts, but {batch} target texts: give as many")
        if use_cache and past_key_values is None:
            past_key_values = RecurrentCache(self.config)
        if past_key_values is not None and not isinstance(past_key_values, RecurrentCache):
            kind = type(past_key_values).__name__
            raise ValueError(f"past_key_values must be a RecurrentCache, as this model returns it, got {kind}")
        past_length = 0 if past_key_values is None else past_key_values.get_seq_length()
        mask = token_mask(attention_mask, "decoder_attention_mask")
        check_decoder_mask(attention_mask, inputs_embeds[..., 0], past_length)
        mask = None if mask is None else mask[:, -length:]
        source_mask = token_mask(encoder_attention_mask)
        known: Tensor | None = None
        hidden_states = inputs_embeds
        for index, layer in enumerate(self.layers):
            memory = None if past_key_values is None else past_key_values.layers[index]
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
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=hidden_states, past_key_values=past_key_values
        )

    def stored_state(self, memory: RecurrentStateLayer | None, batch: int) -> tuple[Tensor, ...] | None:
        """The state in a layer of the cache, where there is one."""
        if memory is None or memory.get_seq_length() == 0:
            return None
        state = tuple(memory.states[name] for name in self.state_names)
        if state[0].shape[0] != batch:
            raise ValueError(
                f"past_key_values hold {state[0].shape[0]} texts, the input {batch}: give the texts of the cache, or "
                "begin with a new one"
            )
        return state


class SynCoNMTModel(SynCoNMTPreTrainedModel):
    """Encoder and decoder (S sections 3.1, 3.2) on embeddings of their own, or shared ones."""

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__(config)
        self.encoder = SynCoNMTEncoder(config)
        self.decoder = SynCoNMTDecoder(config)
        if config.share_embeddings:
            tables = [name for name, _ in self.encoder.embed_tokens.named_parameters()]
            self._tied_weights_keys = {f"decoder.embed_tokens.{t}": f"encoder.embed_tokens.{t}" for t in tables}
        self.post_init()

    def get_expanded_tied_weights_keys(self, all_submodels: bool = False) -> dict[str, str]:
        """The tables of a shared embedding, which ``tie_word_embeddings`` (that of a head) does not part."""
        return dict(self._tied_weights_keys or {})

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.embed_tokens = value  # type: ignore[assignment]
        if self.config.share_embeddings:
            self.decoder.embed_tokens = value  # type: ignore[assignment]

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        decoder_relation_ids: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> Seq2SeqModelOutput:
        """Encode source texts, unless ``encoder_outputs`` are given, and decode target texts.

        Args:
            input_ids, attention_mask, relation_ids, inputs_embeds: the source, as in ``SynCoNMTEncoder``.
            decoder_input_ids: ``[B, T]`` the target, or its words that are not in the cache; or give
                ``decoder_inputs_embeds``.
            decoder_attention_mask: ``[B, past + T]``, 1 for words, 0 for padding on either side.
            decoder_relation_ids: ``[B, T]``, the dependency relation of every word of ``decoder_input_ids``.
            encoder_outputs: of an earlier call with the same source.
            past_key_values: a ``RecurrentCache``, extended by this call.
            decoder_inputs_embeds: ``[B, T, hidden_size]``, words and relations as halves.
            use_cache: return a cache.

        Raises:
            ValueError: no target, missing relations, empty input, a row of padding only, shapes that do not match,
                ids outside their vocabulary.
        """
        if decoder_input_ids is None and decoder_inputs_embeds is None:
            raise ValueError("the target is missing: give decoder_input_ids, decoder_inputs_embeds or labels")
        if encoder_outputs is None:
            source: BaseModelOutput = self.encoder(
                input_ids=input_ids,
                attention_mask=attention_mask,
                relation_ids=relation_ids,
                inputs_embeds=inputs_embeds,
                **kwargs,
            )
        else:
            is_output = isinstance(encoder_outputs, BaseModelOutput)
            source = encoder_outputs if is_output else BaseModelOutput(*encoder_outputs)
        target = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            relation_ids=decoder_relation_ids,
            encoder_hidden_states=source.last_hidden_state,
            encoder_attention_mask=attention_mask,
            past_key_values=past_key_values,
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            **kwargs,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=target.last_hidden_state,
            past_key_values=target.past_key_values,
            decoder_hidden_states=target.hidden_states,
            decoder_attentions=target.attentions,
            cross_attentions=target.cross_attentions,
            encoder_last_hidden_state=source.last_hidden_state,
            encoder_hidden_states=source.hidden_states,
            encoder_attentions=source.attentions,
        )


class _RelationHistory(RecurrentCache):
    """The relations of the words so far and no state: what ``generate(use_cache=False)`` has to reorder with beams."""


class RelationGenerationMixin(GenerationMixin):
    """``generate()`` of words with their relations.

    Each step reads the word that was chosen and the relation that was predicted with it: the largest logit of the
    step that produced the word. The cache keeps the relations, so they move with their beams.
    """

    def _prepare_cache_for_generation(
        self, generation_config: GenerationConfig, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> bool:
        """A ``RecurrentCache`` where none is given: Transformers would make one of keys and values."""
        if generation_config.cache_implementation is not None:
            raise ValueError(
                f"cache_implementation={generation_config.cache_implementation!r} is not for this model, whose cache "
                "is the state of its decoder; leave it out"
            )
        if generation_config.prefill_chunk_size is not None:
            raise ValueError(
                "prefill_chunk_size is not for this model, which reads a beginning step by step: leave it out"
            )
        if (given := model_kwargs.get("past_key_values")) is not None:
            given._is_user_defined = True
        elif generation_config.use_cache is not False:
            model_kwargs["past_key_values"] = RecurrentCache(self.config)
        elif self.config.use_relations:
            model_kwargs["past_key_values"] = _RelationHistory(self.config)
        return False

    def _prepare_decoder_input_ids_for_generation(
        self, batch_size: int, model_input_name: str, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> tuple[Tensor, dict[str, Any]]:
        """As in Transformers; a first word that it puts before the others gets the first relation."""
        given = model_kwargs.get("decoder_input_ids")
        relations = model_kwargs.get("decoder_relation_ids")
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

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        next_sequence_length: int | None = None,
        is_first_iteration: bool | None = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """As in Transformers; only the first step is told relations, later ones find them in the cache."""
        for name in ("relation_labels", "relation_record"):
            kwargs.pop(name, None)
        relations = kwargs.pop("decoder_relation_ids", None)
        inputs = super().prepare_inputs_for_generation(
            input_ids, next_sequence_length=next_sequence_length, is_first_iteration=is_first_iteration, **kwargs
        )
        if is_first_iteration and relations is not None:
            inputs["decoder_relation_ids"] = relations[:, -inputs["decoder_input_ids"].shape[1] :]
        return inputs

    def _update_model_kwargs_for_generation(
        self, outputs: ModelOutput, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """As in Transformers; notes the relation predicted with the next word, before beams are reordered."""
        model_kwargs = super()._update_model_kwargs_for_generation(outputs, model_kwargs, *args, **kwargs)
        if (record := model_kwargs.get("relation_record")) is not None:
            record.append(stored_relations(model_kwargs["past_key_values"])[:, -1])
        return model_kwargs

    def _sample(self, input_ids: Tensor, *args: Any, generation_config: GenerationConfig, **kwargs: Any) -> Any:
        """Greedy search and sampling, with ``relations`` in the output."""
        return self._with_relations(super()._sample, input_ids, *args, generation_config=generation_config, **kwargs)

    def _beam_search(self, input_ids: Tensor, *args: Any, generation_config: GenerationConfig, **kwargs: Any) -> Any:
        """Beam search and beam sampling, with ``relations`` in the output."""
        decode = super()._beam_search
        return self._with_relations(decode, input_ids, *args, generation_config=generation_config, **kwargs)

    def _with_relations(
        self,
        decode: Callable[..., Any],
        input_ids: Tensor,
        *args: Any,
        generation_config: GenerationConfig,
        **kwargs: Any,
    ) -> Any:
        if not generation_config.return_dict_in_generate:
            return decode(input_ids, *args, generation_config=generation_config, **kwargs)
        record: list[Tensor] = []
        prompt: Tensor | None = None
        if self.config.use_relations:
            prompt = kwargs.get("decoder_relation_ids")
            if prompt is None:  # a text that goes on: its relations are in the cache
                prompt = relations_so_far(kwargs["past_key_values"], input_ids)
            kwargs["relation_record"] = record
        output = decode(input_ids, *args, generation_config=generation_config, **kwargs)
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


class SynCoNMTForConditionalGeneration(RelationGenerationMixin, SynCoNMTPreTrainedModel):
    """SynCoNMT with the heads of words and relations (S 15, 16), their joint loss (S 17) and ``generate()``."""

    def __init__(self, config: SynCoNMTConfig) -> None:
        super().__init__(config)
        self.model = SynCoNMTModel(config)
        field = number_field(config.number_field)
        self.dropout = field.Dropout(config.hidden_dropout_prob)
        self.lm_head = self.make_head(config.num_words[1])
        relations = config.num_relations[1]
        self.relation_head = None if relations is None else self.make_head(relations)
        self.post_init()

    def make_head(self, out_features: int) -> Readout:
        """Real logits of words or relations from the decoder's states."""
        return Readout(self.config.hidden_size, out_features, self.config.lm_readout, self.config.number_field)

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head.projection

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        self.lm_head.projection = new_embeddings  # type: ignore[assignment]

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """What the decoder reads to predict ``labels [B, T]``; ``DataCollatorForSeq2Seq`` asks for it."""
        return shift_right(labels, self.config.decoder_start_token_id, self.config.pad_token_id)

    def prepare_decoder_relation_ids_from_labels(self, relation_labels: Tensor) -> Tensor:
        """The relations the decoder reads to predict ``relation_labels [B, T]``."""
        return shift_right(relation_labels, self.config.decoder_start_relation_id, self.config.pad_relation_id)

    def predict_relations(self, relation_logits: Tensor) -> Tensor:
        """The relation of the largest logit, never that of padding: ``[..., relations] -> [...]``."""
        allowed = torch.arange(relation_logits.shape[-1], device=relation_logits.device) != self.config.pad_relation_id
        lowest = torch.finfo(relation_logits.dtype).min
        return relation_logits.masked_fill(~allowed, lowest).argmax(-1)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        relation_ids: Tensor | None = None,
        decoder_relation_ids: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        relation_labels: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> SynCoNMTOutput:
        """Logits of words and relations and, with labels of both, their loss.

        Other arguments as in ``SynCoNMTModel``. Where ``decoder_relation_ids`` are missing, they are made from
        ``relation_labels``, or taken from the cache, which holds the relation predicted with the next word.

        Args:
            labels: ``[B, T]``, the words that follow ``decoder_input_ids``, which are made from them where they are
                missing; -100 is ignored.
            relation_labels: ``[B, T]``, the relations of ``labels``; -100 and padding are ignored, and so is every
                relation whose word is.

        Raises:
            ValueError: labels of one kind without those of the other, or of another shape.
        """
        self.check_labels(labels, relation_labels)
        if labels is not None and decoder_input_ids is None and decoder_inputs_embeds is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if decoder_relation_ids is None and decoder_input_ids is not None and self.config.use_relations:
            if relation_labels is not None:
                decoder_relation_ids = self.prepare_decoder_relation_ids_from_labels(relation_labels)
            elif past_key_values is not None:
                decoder_relation_ids = known_relations(past_key_values, decoder_input_ids)
        history = past_key_values if isinstance(past_key_values, _RelationHistory) else None
        past_length = 0 if past_key_values is None else past_key_values.get_seq_length()
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            relation_ids=relation_ids,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            decoder_relation_ids=decoder_relation_ids,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values if history is None else None,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache if history is None else False,
            **kwargs,
        )
        hidden_states = self.dropout(outputs.last_hidden_state)
        logits = self.lm_head(hidden_states)
        relation_logits = None if self.relation_head is None else self.relation_head(hidden_states)
        cache = outputs.past_key_values if history is None else history
        if cache is not None and relation_logits is not None:
            self.remember_relations(cache, past_length, decoder_relation_ids, relation_logits)
        loss = None
        if labels is not None:
            loss = self.joint_loss(logits, labels, relation_logits, relation_labels, kwargs.get("num_items_in_batch"))
        return SynCoNMTOutput(
            loss=loss,
            logits=logits,
            relation_logits=relation_logits,
            past_key_values=outputs.past_key_values,
            decoder_hidden_states=outputs.decoder_hidden_states,
            decoder_attentions=outputs.decoder_attentions,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=outputs.encoder_last_hidden_state,
            encoder_hidden_states=outputs.encoder_hidden_states,
            encoder_attentions=outputs.encoder_attentions,
        )

    def check_labels(self, labels: Tensor | None, relation_labels: Tensor | None) -> None:
        """Raise for labels of one kind without those of the other, where the loss needs both."""
        if relation_labels is not None:
            if not self.config.use_relations:
                raise ValueError("a model with use_relations=False has words alone: leave out relation_labels")
            if labels is None:
                raise ValueError("relation_labels come with labels, those of the words: give both")
            if relation_labels.shape != labels.shape:
                raise ValueError(
                    f"relation_labels must have the shape of labels, {tuple(labels.shape)}, got "
                    f"{tuple(relation_labels.shape)}"
                )
        elif labels is not None and self.config.use_relations and self.config.alpha < 1.0:
            raise ValueError(
                "relation_labels are missing: the loss is that of words and relations; give the relation of every "
                "label, or set config.alpha=1.0 and give decoder_relation_ids"
            )

    def remember_relations(
        self, cache: Cache, past_length: int, relations: Tensor | None, relation_logits: Tensor
    ) -> None:
        """Write to the cache the relations ``[B, T]`` of the words just read, and that of the next word."""
        batch, length = relation_logits.shape[:2]
        states = cache.layers[0].states
        unknown = torch.full((batch, past_length + length), self.config.pad_relation_id, device=relation_logits.device)
        before = states.get("relations", unknown)[:, :past_length]
        if relations is None:  # words that were given as embeddings
            relations = unknown[:, past_length:]
        following = self.predict_relations(relation_logits[:, -1:])
        states["relations"] = torch.cat([before, relations.to(before), following], dim=-1)

    def joint_loss(
        self,
        logits: Tensor,
        labels: Tensor,
        relation_logits: Tensor | None = None,
        relation_labels: Tensor | None = None,
        num_items: Tensor | int | None = None,
    ) -> Tensor:
        """alpha L_w + (1 - alpha) L_d (S 17 to 19), with the configuration's label smoothing while training.

        Both are sums over the words divided by their number, or by ``num_items``, so that they add up alike over
        several batches.
        """
        smoothing = self.config.label_smoothing if self.training else 0.0
        count = (labels != -100).sum() if num_items is None else num_items
        loss = smoothed_cross_entropy(logits, labels, smoothing, count)
        if relation_logits is None:
            return loss
        loss = self.config.alpha * loss
        if relation_labels is None:
            return loss
        ignored = (labels == -100) | (relation_labels == self.config.pad_relation_id)
        relation_labels = relation_labels.masked_fill(ignored, -100)
        of_relations = smoothed_cross_entropy(relation_logits, relation_labels, smoothing, count)
        return loss + (1.0 - self.config.alpha) * of_relations
