# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mamba-3 (Lahoti et al. 2026, arXiv 2603.15569) as a causal model, and its heads."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...kernels.dispatch import shows_values
from ...nn import GatedFeedForward, Mamba3Mixer
from ..base.caches.recurrent import RecurrentCache
from ..base.inputs import check_position_ids, without_padding
from ..base.language_modeling import CausalLanguageModel
from ..base.packed_sequences import sequence_ids
from ..base.pretrained import ComplexPreTrainedModel
from ..base.stream_inputs import stream_inputs
from ..base.text import LastTokenClassifier, make_embedding
from .configuration_complex_mamba import ComplexMambaConfig

__all__ = [
    "ComplexMambaForCausalLM",
    "ComplexMambaForSequenceClassification",
    "ComplexMambaModel",
    "ComplexMambaPreTrainedModel",
]


class ComplexMambaLayer(GradientCheckpointingLayer):
    """A mixer and, unless ``intermediate_size`` is None, a feed-forward network, each added to its normed input."""

    def __init__(self, config: ComplexMambaConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mixer = make_mixer(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.post_mixer_layernorm = self.mlp = None
        if config.intermediate_size is not None:
            self.post_mixer_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
            self.mlp = GatedFeedForward(
                config.hidden_size, config.intermediate_size, config.hidden_act, number_field="real"
            )

    def forward(
        self, hidden_states: Tensor, mask: Tensor | None, starts: Tensor | None, *states: Tensor
    ) -> tuple[Tensor, ...]:
        """Return the output ``[B, T, hidden_size]`` and the last states, which continue from ``states`` if given."""
        mixed, last = self.mixer(self.input_layernorm(hidden_states), states or None, mask, starts)
        hidden_states = hidden_states + self.dropout(mixed)
        if self.mlp is not None and self.post_mixer_layernorm is not None:
            added = self.mlp(self.post_mixer_layernorm(hidden_states))
            hidden_states = hidden_states + self.dropout(added)
        return hidden_states, *last


def make_mixer(config: ComplexMambaConfig) -> Mamba3Mixer:
    """Return the mixer of a configuration."""
    return Mamba3Mixer(
        config.hidden_size,
        config.state_size,
        config.head_dim,
        config.expand,
        n_groups=config.n_groups,
        mimo_rank=config.mimo_rank,
        rope_fraction=config.rope_fraction,
        time_step_min=config.time_step_min,
        time_step_max=config.time_step_max,
        time_step_floor=config.time_step_floor,
        A_floor=config.A_floor,
        A_activation=config.A_activation,
        is_outproj_norm=config.is_outproj_norm,
        chunk_size=config.chunk_size,
        eps=config.rms_norm_eps,
        number_field=config.number_field,
    )


class ComplexMambaPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the models of Mamba-3."""

    config: ComplexMambaConfig
    _no_split_modules = ["ComplexMambaLayer"]
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False
    _is_stateful = True  # a state cannot be rolled back
    _keep_in_fp32_modules_strict = {*ComplexPreTrainedModel._keep_in_fp32_modules_strict, *Mamba3Mixer.full_precision}


class ComplexMambaModel(ComplexMambaPreTrainedModel):
    """Word embedding, layers of mixers and feed-forward networks, and a norm.

    Pass the ``cache`` of one call, a ``RecurrentCache`` of constant size, to the next one to continue with its states.
    Gradients do not flow through the cache.
    """

    _can_record_outputs = {"hidden_states": ComplexMambaLayer}
    pooled_field = "real"

    def __init__(self, config: ComplexMambaConfig) -> None:
        super().__init__(config)
        self.embed_tokens = make_embedding(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.layers = nn.ModuleList(ComplexMambaLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.gradient_checkpointing = False
        self.state_names = tuple(config.state_sizes[0])
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
        """Process the next tokens of every sequence of a batch.

        Args:
            input_ids: ``[B, T]``, the new tokens; or pass ``inputs_embeds``.
            attention_mask: ``[B, past + T]``, 1 for tokens, 0 for padding on either side, over all tokens so far; None
                without padding.
            position_ids: ``[B, T]`` or ``[1, T]``. Only their start has an effect: without a mask, another sequence
                starts where they return to the first position (packed sequences), after a cache where they are 0.
            cache: a ``RecurrentCache``, updated by this call.
            inputs_embeds: ``[B, T, hidden_size]`` embeddings.
            use_cache: create and return a cache if none is passed.

        Raises:
            TypeError: ``cache`` is not a ``RecurrentCache``.
            ValueError: empty input, wrong shapes, ids outside the vocabulary, a cache of another batch or model.
        """
        given = (input_ids, inputs_embeds, attention_mask, position_ids, cache, use_cache)
        tokens, mask, position_ids, cache, past_length = stream_inputs(self.config, *given, **kwargs)
        mask = without_full_mask(mask)
        check_position_ids(position_ids, tuple(tokens.shape))
        starts = sequence_starts(position_ids, attention_mask, past_length)
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        hidden_states = self.dropout(without_padding(inputs_embeds, mask))
        names = self.state_names
        for index, layer in enumerate(self.layers):
            held = {} if cache is None else cache.layers[index].states
            # By name: a file that was loaded may have them in another order.
            hidden_states, *last = layer(hidden_states, mask, starts, *(held[name] for name in names if held))
            if cache is not None:
                kept = {name: state.detach() for name, state in zip(names, last, strict=True)}
                cache.layers[index].advance(tokens.shape[1], **kept)
        return BaseModelOutputWithPast(last_hidden_state=self.norm(hidden_states), cache=cache)


def without_full_mask(mask: Tensor | None) -> Tensor | None:
    """Return None instead of a mask of real tokens only, on the CPU, where steps without a mask are faster."""
    return None if mask is None or (shows_values(mask) and bool(mask.all())) else mask


def sequence_starts(position_ids: Tensor | None, attention_mask: Tensor | None, past_length: int) -> Tensor | None:
    """Return where packed sequences start, ``[B or 1, T]``; None if every row continues one sequence."""
    is_first = not past_length
    if position_ids is None or attention_mask is not None or (is_first and position_ids.shape[1] == 1):
        return None
    if is_first:
        ids = sequence_ids(position_ids, attention_mask)
        return None if ids is None else ids.diff(dim=-1, prepend=torch.zeros_like(ids[:, :1])) > 0
    starts = position_ids == 0
    return starts if torch.compiler.is_compiling() or bool(starts.any()) else None


class ComplexMambaForCausalLM(ComplexMambaPreTrainedModel, CausalLanguageModel):
    """Mamba-3 with an LM head and ``generate()``; see ``CausalLanguageModel``."""

    model_class = ComplexMambaModel

    def new_memory(self, for_training: bool = False, mem_len: int | None = None) -> RecurrentCache:
        """Return an empty ``RecurrentCache``.

        Raises:
            ValueError: ``mem_len`` is given; a recurrent state has no length.
        """
        if mem_len is not None:
            raise ValueError(f"mem_len must be None for a recurrent model, got {mem_len}. Leave it out.")
        return RecurrentCache(self.config)


class ComplexMambaForSequenceClassification(LastTokenClassifier, ComplexMambaPreTrainedModel):
    """Mamba-3 and a classification head on the last token of each sequence."""

    model_class: Any = ComplexMambaModel
