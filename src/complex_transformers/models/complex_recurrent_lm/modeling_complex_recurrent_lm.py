# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent language models over both number fields (Thesis 4.3), and diagonal state space models (LRU)."""

from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import DiagonalRecurrence, LinearRecurrentBlock, RealWordEmbedding, ZTransform, dft, number_field
from ...nn.embedding import TableEmbedding
from ...nn.transforms import sequence_dft
from ..base.caches.recurrent import RecurrentCache
from ..base.inputs import without_padding
from ..base.language_modeling import CausalLanguageModel
from ..base.positions import check_stream_positions, periodic, token_positions
from ..base.pretrained import ComplexPreTrainedModel
from ..base.stream_inputs import stream_inputs
from ..base.text import make_embedding, make_recurrent, run_recurrent
from .configuration_complex_recurrent_lm import PLACES, ComplexRecurrentLMConfig

__all__ = ["ComplexRecurrentLMForCausalLM", "ComplexRecurrentLMModel", "ComplexRecurrentLMPreTrainedModel"]

States = tuple[Tensor, ...]


def make_word_embedding(config: ComplexRecurrentLMConfig) -> TableEmbedding:
    """Return the embedding of ``config.embedding_type``."""
    has_place = config.embedding_type in PLACES
    if not has_place and (config.word_parts == "both" or config.embedding_type != "word"):
        return make_embedding(config)
    return RealWordEmbedding(
        config.vocab_size,
        config.hidden_size,
        config.pad_token_id,
        place=config.embedding_type.removesuffix("_position") if has_place else "none",
        num_slots=config.num_slots,
        position_length=config.position_length,
        amplitude_std=config.initializer_range,
    )


class StateLayer(GradientCheckpointingLayer):
    """Base class of layers that return their output ``[B, T, width]`` and their last states, ``[B, size]`` each."""


class RecurrentLayer(StateLayer):
    """One recurrent layer after dropout (Zaremba et al. 2014)."""

    def __init__(self, config: ComplexRecurrentLMConfig, input_size: int) -> None:
        super().__init__()
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)
        self.rnn = make_recurrent(config, input_size, config.recurrent_size)

    def forward(self, hidden_states: Tensor, mask: Tensor | None, *states: Tensor) -> tuple[Tensor, ...]:
        """Run the layer from initial ``states [B, size]``, in any dtype, or from zeros if there are none."""
        first = tuple(state.unsqueeze(0).to(hidden_states.dtype) for state in states) or None
        out, last = run_recurrent(self.rnn, self.dropout(hidden_states), mask, first)
        return out, *(state.squeeze(0) for state in last)


class LinearRecurrentLayer(StateLayer):
    """One linear recurrent block (LRU)."""

    def __init__(self, config: ComplexRecurrentLMConfig) -> None:
        super().__init__()
        self.block = LinearRecurrentBlock(
            config.hidden_size,
            config.recurrent_size,
            config.hidden_dropout_prob,
            number_field=config.number_field,
            min_modulus=config.min_modulus,
            max_modulus=config.max_modulus,
            batch_first=True,
        )

    def forward(self, hidden_states: Tensor, mask: Tensor | None, state: Tensor | None = None) -> tuple[Tensor, ...]:
        """Run the block from an initial ``state``, None for zeros."""
        out: tuple[Tensor, ...] = self.block(hidden_states, state, mask)
        return out


class ComplexRecurrentLMPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the recurrent language models."""

    config: ComplexRecurrentLMConfig
    _no_split_modules = ["RecurrentLayer", "LinearRecurrentLayer"]
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False
    _is_stateful = True  # a state cannot be rolled back


class ComplexRecurrentLMModel(ComplexRecurrentLMPreTrainedModel):
    """Word embedding, an optional transform and recurrent layers.

    Pass the ``cache`` of one call, a ``RecurrentCache``, to the next one to continue with its states. Gradients do not
    flow through the cache.
    """

    _can_record_outputs = {"hidden_states": StateLayer}

    def __init__(self, config: ComplexRecurrentLMConfig) -> None:
        super().__init__(config)
        field = number_field(config.number_field)
        self.embed_tokens = make_word_embedding(config)
        self.transform = self.make_transform(config)
        self.dropout = field.Dropout(config.hidden_dropout_prob)
        self.is_residual = config.rnn_type == "lru"
        if self.is_residual:
            layers: list[nn.Module] = [LinearRecurrentLayer(config) for _ in range(config.num_hidden_layers)]
        else:
            widths = [config.hidden_size] + [config.recurrent_size] * (config.num_hidden_layers - 1)
            layers = [RecurrentLayer(config, width) for width in widths]
        self.layers = nn.ModuleList(layers)
        self.last_norm = field.LayerNorm(config.hidden_size) if self.is_residual else nn.Identity()
        self.gradient_checkpointing = False
        self.post_init()

    @staticmethod
    def make_transform(config: ComplexRecurrentLMConfig) -> nn.Module | None:
        """Return the learnable transform of ``config.transform``, or None."""
        if config.transform == "z":
            return ZTransform(config.hidden_size, config.num_points)
        if config.transform == "causal_z":
            return DiagonalRecurrence(
                config.hidden_size,
                config.number_field,
                config.min_modulus,
                config.max_modulus,
                frequency_init="harmonic",
                batch_first=True,
            )
        return None

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
        """Process the next segment of every sequence of a batch.

        Args:
            input_ids: ``[B, T]``, the new tokens; or pass ``inputs_embeds``.
            attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side, over all tokens so far; None
                without padding.
            position_ids: must number the tokens of each stream from 0, as the model does itself.
            cache: a ``RecurrentCache``, updated by this call.
            inputs_embeds: ``[B, T, hidden_size]`` halves, including positions, before the transform.
            use_cache: create and return a cache if none is passed.

        Raises:
            TypeError: ``cache`` is not a ``RecurrentCache``.
            ValueError: empty input, wrong shapes, ids outside the vocabulary, a cache of another batch or model.
        """
        given = (input_ids, inputs_embeds, attention_mask, position_ids, cache, use_cache)
        tokens, mask, position_ids, cache, past_length = stream_inputs(self.config, *given, **kwargs)
        check_stream_positions(position_ids, tokens, attention_mask, past_length)
        if inputs_embeds is None:
            assert input_ids is not None
            inputs_embeds = self.embed(input_ids, attention_mask, mask, past_length)
        words = without_padding(inputs_embeds, mask)
        hidden_states, carried = self.transformed(words, mask, states_of(cache, 0, "transform"))
        if self.is_residual:
            hidden_states = self.dropout(hidden_states)
        for index, layer in enumerate(self.layers):
            hidden_states, *last = layer(hidden_states, mask, *states_of(cache, index, "hidden", "cell"))
            if cache is not None:
                carried |= dict(zip(("hidden", "cell"), last, strict=False))
                kept = {name: state.detach() for name, state in carried.items()}
                cache.layers[index].advance(tokens.shape[1], **kept)
                carried = {}
        hidden_states = self.dropout(self.last_norm(hidden_states))
        return BaseModelOutputWithPast(last_hidden_state=hidden_states, cache=cache)

    def embed(self, input_ids: Tensor, attention_mask: Tensor | None, mask: Tensor | None, past_length: int) -> Tensor:
        """Embed tokens at their positions in the stream, or in this call with ``position_length="sentence"``."""
        if self.config.embedding_type in PLACES and self.config.position_length == "sentence":
            return self.embed_tokens(input_ids, attention_mask=mask)
        positions = token_positions(input_ids, attention_mask, past_length)
        if self.config.embedding_type not in PLACES:  # PLACES count modulo position_length
            positions = periodic(positions, self.config.position_period)
        return self.embed_tokens(input_ids, position_ids=positions)

    def transformed(self, words: Tensor, mask: Tensor | None, states: States) -> tuple[Tensor, dict[str, Tensor]]:
        """Transform embeddings ``[B, T, hidden_size]``; also return the state of the transform."""
        if isinstance(self.transform, DiagonalRecurrence):
            out, last = self.transform(words, *(states or (None,)), mask)
            return out, {"transform": last}
        if self.transform is not None:
            return self.transform(words), {}
        if self.config.transform == "fourier":
            along_sequence = self.config.transform_axis == "sequence"
            return (sequence_dft(words, mask) if along_sequence else dft(words)), {}
        return words, {}


def states_of(cache: Cache | None, index: int, *names: str) -> States:
    """Return the states of these names that a cache holds for a layer."""
    found = {} if cache is None else cache.layers[index].states
    return tuple(found[name] for name in names if name in found)


class ComplexRecurrentLMForCausalLM(ComplexRecurrentLMPreTrainedModel, CausalLanguageModel):
    """Recurrent language model with an LM head and ``generate()``; see ``CausalLanguageModel``."""

    model_class = ComplexRecurrentLMModel

    def new_memory(self, for_training: bool = False, mem_len: int | None = None) -> RecurrentCache:
        """Return an empty ``RecurrentCache``.

        Raises:
            ValueError: ``mem_len`` is given; a recurrent state has no length.
        """
        if mem_len is not None:
            raise ValueError(f"mem_len must be None for a recurrent model, got {mem_len}. Leave it out.")
        return RecurrentCache(self.config)

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """Generate as in Transformers.

        Raises:
            ValueError: the model is not causal.
        """
        if self.config.reads_ahead:
            raise ValueError(
                f"model must be causal for generate(), got transform={self.config.transform!r} and position_length="
                f"{self.config.position_length!r}. Use transform='causal_z' or an integer position_length."
            )
        return super().generate(*args, **kwargs)
