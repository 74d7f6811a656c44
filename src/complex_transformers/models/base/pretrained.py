# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all models share with Transformers: the base class."""

from __future__ import annotations

import copy
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ...nn import ComplexLinear, PackedLinear, Readout, initialize_
from ...nn.embedding import TableEmbedding
from .hub import ModelHubMixin
from .loss import check_labels, classification_labels, label_count
from .parallel import tensor_parallel_plan

__all__ = ["ComplexPreTrainedModel", "added_mask"]

_PACKAGE = __name__.partition(".")[0]


class ComplexPreTrainedModel(ModelHubMixin, PreTrainedModel):
    """Base of all models: initialisation, resizing, dtype rules and saving. Hidden states are halves."""

    base_model_prefix = "model"
    main_input_name = "input_ids"
    input_modalities = ("text",)
    supports_gradient_checkpointing = True
    _no_split_modules = ["EncoderLayer"]
    _skip_keys_device_placement = ["cache"]
    _supports_sdpa = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    # Phases of bf16 frequencies would be off by whole turns after a few hundred positions; the rounded covariance of
    # related parts has no inverse root.
    _keep_in_fp32_modules_strict = {"frequency", "phase", "damping", "log_modulus", "running_mean", "running_var"}

    def _flex_attn_can_dispatch(self, is_init_check: bool = False) -> bool:
        """As in Transformers; ``flex_attention`` computes the softmax of dot products, and no other attention."""
        given = tuple(getattr(self.config, f"attention_{name}", None) for name in ("score", "normalization"))
        if self._supports_flex_attn and given != ("real", "softmax"):
            raise ValueError(
                f"attn_implementation='flex_attention' has no attention_score={given[0]!r} with "
                f"attention_normalization={given[1]!r}: use attention_score='real' with 'softmax', or leave "
                "attn_implementation out"
            )
        return super()._flex_attn_can_dispatch(is_init_check)

    def train(self, mode: bool = True) -> Self:
        """As in PyTorch.

        Raises:
            ValueError: layers are packed, and nobody has chosen what of the rest trains.
        """
        if mode and getattr(self, "hf_quantizer", None) is not None:  # that of the whole, not of a part of it
            _check_trainable(self)
        return super().train(mode)

    def token_loss(
        self,
        logits: Tensor,
        labels: Tensor,
        num_items_in_batch: Tensor | int | None = None,
        name: str = "labels",
        **kwargs: Any,
    ) -> Tensor:
        """``loss_function`` of logits ``[B, N, K]`` and checked labels ``[B, N]``; 0 where none counts.

        Errors call the labels ``name``.
        """
        labels = check_labels(labels, logits.shape[:-1], logits.shape[-1], name).to(logits.device).contiguous()
        own = {"vocab_size": logits.shape[-1], "config": self.config}
        own["num_items_in_batch"] = label_count(labels, num_items_in_batch)
        own.update({name: labels for name in kwargs if name == "shift_labels"})  # then these are the labels
        return self.loss_function(logits=logits, labels=labels, **{**kwargs, **own})

    def classification_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """``loss_function`` of ``config.problem_type`` of logits ``[B, K]``, labels checked; 0 where none counts."""
        labels, more = classification_labels(labels.to(logits.device), logits, self.config)
        return self.loss_function(labels=labels, pooled_logits=logits, config=self.config, **more)

    def post_init(self) -> None:
        """As in Transformers; names only tensors that exist to be kept in float32 (an embedding has some or none)."""
        ends = {name.rpartition(".")[2] for name, _ in (*self.named_parameters(), *self.named_buffers())}
        self._keep_in_fp32_modules_strict = set(type(self)._keep_in_fp32_modules_strict) & ends
        super().post_init()

    def init_parallel_plans(self) -> None:
        """As in Transformers; how the layers are divided is read off the layers."""
        super().init_parallel_plans()
        self._tp_plan = tensor_parallel_plan(self)

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
        if isinstance(embeddings, TableEmbedding):
            self.config.get_text_config().vocab_size = self.vocab_size = embeddings.num_embeddings
        return embeddings

    def _resize_token_embeddings(
        self, new_num_tokens: int | None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Module:
        """Resize every table of the embedding, and the head of a language model, in place.

        Raises:
            ValueError: a token that the configuration names is beyond the new size.
        """
        embeddings = self.get_input_embeddings()
        if not isinstance(embeddings, TableEmbedding):
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
        resized = copy.deepcopy(self.config)
        resized.vocab_size = new_num_tokens
        resized.validate_token_ids()  # what is saved with tokens that are no words cannot be loaded
        head = getattr(self, "lm_head", None)
        if isinstance(head, Readout):  # before the tables: it may refuse
            head.resize(new_num_tokens, mean_resizing)
            for module in head.modules():  # a later post_init() must not draw them again
                module._is_hf_initialized = True  # type: ignore[assignment]
        for module in self.modules():  # an encoder and a decoder may have one each
            if isinstance(module, TableEmbedding):
                module.resize(new_num_tokens, mean_resizing)
        return embeddings


def _check_trainable(model: PreTrainedModel) -> None:
    """Raise for packed layers, which keep their weights, in a model all of whose parameters train.

    Adapters freeze what they adapt, and so does whoever wants to train no more than, say, the head.
    """
    packed = sum(isinstance(module, PackedLinear) for module in model.modules())
    if packed and all(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            f"the weights of {packed} layers of this {type(model).__name__} are packed and would stay as they are: "
            "train the float model with ComplexQuantizationConfig(training=True) and pack it then; to train adapters "
            "or some of the other parameters, freeze the rest first (requires_grad_(False))"
        )


def added_mask(mask: Tensor, query: Tensor) -> Tensor:
    """A mask of scores ``[B or 1, 1, T, S]`` as numbers for each text, all that ``flex_attention`` reads."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, torch.finfo(query.dtype).min)
    return mask.expand(query.shape[0], -1, -1, -1)


def _is_ours(module: nn.Module) -> bool:
    """True for a layer, not a model, of this package or of a class derived from one."""
    return not isinstance(module, PreTrainedModel) and any(
        base.__module__.partition(".")[0] == _PACKAGE for base in type(module).__mro__
    )
