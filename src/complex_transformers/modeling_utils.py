# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all models share with Transformers: the base class, attention by its interface, the Transformer layer."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .hub import HubMixin, auto_map, write_hub_shim, write_model_card
from .nn import (
    ATTENTION_FUNCTIONS,
    ComplexLinear,
    ComplexMultiheadAttention,
    NumberField,
    Readout,
    complex_attention,
    initialize_,
    number_field,
)
from .nn.embedding import _TableEmbedding

__all__ = [
    "Attention",
    "ComplexPreTrainedModel",
    "EncoderLayer",
    "FeedForward",
    "attention_implementation_name",
    "check_text_inputs",
]


def attention_implementation_name(score: str, normalization: str) -> str:
    """Name under which Transformers' ``AttentionInterface`` knows a score and a normalisation."""
    return f"complex_{score}_{normalization}"


for (_score, _normalization), _function in ATTENTION_FUNCTIONS.items():
    _name = attention_implementation_name(_score, _normalization)
    AttentionInterface.register(_name, _function)
    # Without a mask function of the same name Transformers passes no mask at all, and padding would be attended.
    AttentionMaskInterface.register(_name, eager_mask)

_eager_attention = partial(complex_attention, score="real", normalization="softmax")


class Attention(ComplexMultiheadAttention):
    """``nn.ComplexMultiheadAttention`` whose function comes from Transformers' ``AttentionInterface``.

    Score ``real`` with ``softmax`` is the dot product of halves: it follows ``attn_implementation`` (sdpa, eager,
    ...). Every other pair is registered under its own name.
    """

    def __init__(self, config: Any, layer_idx: int | None = None, is_causal: bool = False) -> None:
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
        )
        self.config = config

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
        """As in the base class; weights are kept for ``eager`` attention or when they are asked for."""
        wanted = kwargs.get("output_attentions", getattr(self.config, "output_attentions", False))
        kwargs["need_weights"] = bool(wanted) or self.config._attn_implementation == "eager"
        return super().forward(hidden_states, *args, **kwargs)

    def attention_function(self) -> Callable[..., tuple[Tensor, Tensor | None]]:
        if (self.score, self.normalization) == ("real", "softmax"):
            return ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, _eager_attention)
        name = attention_implementation_name(self.score, self.normalization)
        return ALL_ATTENTION_FUNCTIONS.get_interface(name, _eager_attention)


class FeedForward(nn.Module):
    """W_2 f(W_1 z + b_1) + b_2 with complex layers (ComplexOrder App. B)."""

    def __init__(self, config: Any, field: NumberField) -> None:
        super().__init__()
        self.up_proj = field.Linear(config.hidden_size, config.intermediate_size)
        self.activation = field.activation(config.hidden_act, num_features=config.intermediate_size)
        self.down_proj = field.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.up_proj(hidden_states)))


class TokenBatchNorm(nn.Module):
    """Batch norm over the real tokens of a batch, ``[B, N, 2d]`` with mask ``[B, N]`` (ComplexOrder App. B)."""

    def __init__(self, batch_norm: nn.Module) -> None:
        super().__init__()
        self.batch_norm = batch_norm

    def forward(self, hidden_states: Tensor, padding_mask: Tensor | None) -> Tensor:
        mask = None if padding_mask is None else padding_mask.flatten()
        return self.batch_norm(hidden_states.flatten(0, 1), mask).view_as(hidden_states)


def make_norm(config: Any, field: NumberField) -> nn.Module:
    """The norm of ``config.norm_type``; every one takes ``(hidden_states)``, batch norm also a padding mask."""
    if config.norm_type == "batch":
        return TokenBatchNorm(field.BatchNorm1d(config.hidden_size, eps=config.layer_norm_eps))
    norm = field.LayerNorm if config.norm_type == "layer" else field.RMSNorm
    return norm(config.hidden_size, eps=config.layer_norm_eps)


class EncoderLayer(GradientCheckpointingLayer):
    """Self-attention and feed-forward network, each with dropout, residual and norm (ComplexOrder App. B).

    ``norm_position="post"``: norm(z + f(z)) (Vaswani et al. 2017); ``"pre"``: z + f(norm(z)).
    """

    def __init__(self, config: Any, layer_idx: int | None = None) -> None:
        super().__init__()
        field = number_field(config.number_field)
        self.pre_norm = config.norm_position == "pre"
        self.batch_norm = config.norm_type == "batch"
        self.self_attn = Attention(config, layer_idx)
        self.feed_forward = FeedForward(config, field)
        self.self_attn_norm = make_norm(config, field)
        self.feed_forward_norm = make_norm(config, field)
        self.dropout = field.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        padding_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """``[B, N, 2d] -> [B, N, 2d]``; ``attention_mask`` for the scores, ``padding_mask [B, N]`` for batch norms."""

        def norm(layer: nn.Module, x: Tensor) -> Tensor:
            return layer(x, padding_mask) if self.batch_norm else layer(x)

        def attend(x: Tensor) -> Tensor:
            return self.dropout(self.self_attn(x, attention_mask, **kwargs)[0])

        def feed(x: Tensor) -> Tensor:
            return self.dropout(self.feed_forward(x))

        if self.pre_norm:
            hidden_states = hidden_states + attend(norm(self.self_attn_norm, hidden_states))
            return hidden_states + feed(norm(self.feed_forward_norm, hidden_states))
        hidden_states = norm(self.self_attn_norm, hidden_states + attend(hidden_states))
        return norm(self.feed_forward_norm, hidden_states + feed(hidden_states))


def check_text_inputs(
    input_ids: Tensor | None, inputs_embeds: Tensor | None, attention_mask: Tensor | None, hidden_size: int
) -> None:
    """Raise for inputs no text model can use; values are looked at on the CPU only, shapes everywhere."""
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("give exactly one of input_ids and inputs_embeds")
    if input_ids is not None:
        shape = input_ids.shape
        if input_ids.dim() != 2:
            raise ValueError(f"input_ids must be [batch, length], got shape {tuple(shape)}")
    else:
        assert inputs_embeds is not None
        shape = inputs_embeds.shape[:2]
        if inputs_embeds.is_complex():
            raise TypeError(
                f"inputs_embeds must be real [real | imag] halves, got dtype {inputs_embeds.dtype}; "
                "convert them with complex_transformers.nn.from_complex(inputs_embeds)"
            )
        if inputs_embeds.dim() != 3 or inputs_embeds.shape[-1] != hidden_size:
            raise ValueError(
                f"inputs_embeds must be [batch, length, hidden_size={hidden_size}], got {tuple(inputs_embeds.shape)}"
            )
    if 0 in shape:
        raise ValueError(
            f"the input is empty: batch and length are {tuple(shape)}; leave out empty texts, or use a tokenizer that "
            "adds a token to every text"
        )
    if input_ids is not None and (input_ids.is_floating_point() or input_ids.is_complex()):
        raise TypeError(f"input_ids must be integers, got dtype {input_ids.dtype}")
    if attention_mask is None or attention_mask.dim() != 2:
        return
    if attention_mask.shape != shape:
        raise ValueError(f"attention_mask must be [batch, length] = {tuple(shape)}, got {tuple(attention_mask.shape)}")
    if attention_mask.device.type == "cpu" and not torch.compiler.is_compiling():
        empty = (~attention_mask.bool().any(dim=-1)).nonzero().flatten().tolist()
        if empty:
            raise ValueError(
                f"row(s) {empty} of attention_mask hold padding only; leave out empty texts, or use a tokenizer that "
                "adds a token to every text"
            )


class ComplexPreTrainedModel(HubMixin, PreTrainedModel):
    """Base of all models: initialisation, resizing, dtype rules and saving. Hidden states are halves."""

    base_model_prefix = "model"
    main_input_name = "input_ids"
    input_modalities = ("text",)
    supports_gradient_checkpointing = True
    _no_split_modules = ["EncoderLayer"]
    _supports_sdpa = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    # Phases of bf16 frequencies would be off by whole turns after a few hundred positions.
    _keep_in_fp32_modules_strict = {"frequency", "phase", "damping"}

    def post_init(self) -> None:
        """As in Transformers; names only tensors that exist to be kept in float32 (an embedding has some or none)."""
        ends = {name.rpartition(".")[2] for name, _ in self.named_parameters()}
        self._keep_in_fp32_modules_strict = set(type(self)._keep_in_fp32_modules_strict) & ends
        super().post_init()

    def _initialize_weights(self, module: nn.Module, is_custom_code: bool = False) -> None:
        """As in Transformers; also draws layers all of whose tensors are those of their children."""
        tensors = (*module.parameters(), *module.buffers())
        if all(getattr(tensor, "_is_hf_initialized", False) for tensor in tensors):
            module._is_hf_initialized = True  # type: ignore[assignment]
            return
        # Outside its own package Transformers takes a layer for loaded when its own tensors are: that is every layer
        # without any, such as a recurrent one or a ComplexLinear without bias. Ours heed the mark of each tensor.
        super()._initialize_weights(module, is_custom_code and not _is_ours(module))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        # Children come first: a ComplexLinear redraws its two sub-layers, which are drawn as plain layers before.
        options = {"std": self.config.initializer_range} if self.config.weight_init == "normal" else {}
        if isinstance(module, ComplexLinear):
            module.reset_parameters(self.config.weight_init, **options)
        elif isinstance(module, nn.Linear):
            initialize_(self.config.weight_init, module.weight, **options)
        elif _is_ours(module) and not isinstance(module, nn.Embedding) and hasattr(module, "reset_parameters"):
            module.reset_parameters()  # type: ignore[operator]

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:
        """As in Transformers, which reads the new size off ``weight``: one row where all words share it."""
        embeddings = super().resize_token_embeddings(*args, **kwargs)
        if isinstance(embeddings, _TableEmbedding):
            self.config.vocab_size = self.vocab_size = embeddings.num_embeddings
        return embeddings

    def _resize_token_embeddings(
        self, new_num_tokens: int | None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Module:
        """Resize every table of the embedding, and the head of a language model, in place."""
        embeddings = self.get_input_embeddings()
        if not isinstance(embeddings, _TableEmbedding):
            return super()._resize_token_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        if pad_to_multiple_of is not None:
            if not isinstance(pad_to_multiple_of, int):
                raise ValueError(
                    f"Asking to pad the embedding matrix to a multiple of `{pad_to_multiple_of}`, which is not and "
                    "integer. Please make sure to pass an integer"
                )
            size = embeddings.num_embeddings if new_num_tokens is None else new_num_tokens
            new_num_tokens = -(-size // pad_to_multiple_of) * pad_to_multiple_of
        if new_num_tokens is None or new_num_tokens == embeddings.num_embeddings:
            return embeddings
        embeddings.resize(new_num_tokens, mean_resizing)
        head = getattr(self, "lm_head", None)
        if isinstance(head, Readout):
            head.resize(new_num_tokens, mean_resizing)
            # A later post_init() must not draw it again.
            head.projection._is_hf_initialized = True  # type: ignore[assignment]
        return embeddings

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """As in Transformers; also writes the hub shim, and a model card where the folder has none."""
        self.config.auto_map = auto_map(self)
        super().save_pretrained(save_directory, *args, **kwargs)
        if kwargs.get("is_main_process", True):
            write_hub_shim(save_directory, self)
            write_model_card(save_directory, self, overwrite=False)


def _is_ours(module: nn.Module) -> bool:
    """True for a layer, not a model, of this package or of a class derived from one."""
    return not isinstance(module, PreTrainedModel) and any(
        base.__module__.startswith(f"{__package__}.") for base in type(module).__mro__
    )
