# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all models share with Transformers: the base class and the checks of their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from ...nn import ComplexLinear, Readout, initialize_
from ...nn.embedding import _TableEmbedding
from .hub import ModelHubMixin

__all__ = ["ComplexPreTrainedModel", "check_text_inputs", "shift_right", "smoothed_cross_entropy"]


def check_text_inputs(
    input_ids: Tensor | None, inputs_embeds: Tensor | None, attention_mask: Tensor | None, hidden_size: int
) -> None:
    """Raise for inputs no text model can use; values are looked at on the CPU only, shapes everywhere."""
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("give exactly one of input_ids and inputs_embeds")
    given = {"input_ids": input_ids, "inputs_embeds": inputs_embeds, "attention_mask": attention_mask}
    for name, value in given.items():
        _check_no_array(name, value)
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
    if input_ids is not None and input_ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"input_ids must be integers (int64 or int32), got dtype {input_ids.dtype}")
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


def _check_no_array(name: str, value: Any) -> None:
    """Raise for what a tokenizer gives without ``return_tensors="pt"``; masks of other classes are Transformers'."""
    if isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(
            f"{name} must be a torch tensor, got {type(value).__name__}: give torch.as_tensor({name}), or call the "
            'tokenizer with return_tensors="pt"'
        )


def shift_right(labels: Tensor, start_token_id: int | None, pad_token_id: int | None) -> Tensor:
    """What the decoder reads to predict ``labels [B, T]``: the start token, then all labels but the last."""
    if start_token_id is None:
        raise ValueError(
            "the first token of a target is not known: set config.decoder_start_token_id (often the tokenizer's "
            "pad_token_id or bos_token_id)"
        )
    _check_no_array("labels", labels)
    if labels.dim() != 2:
        raise ValueError(f"labels must be [batch, length], got {tuple(labels.shape)}")
    shifted = F.pad(labels[:, :-1], (1, 0), value=start_token_id)
    # What is not predicted is read as padding; a causal decoder never sees it before a real label.
    return shifted.masked_fill(shifted == -100, start_token_id if pad_token_id is None else pad_token_id)


def smoothed_cross_entropy(
    logits: Tensor, labels: Tensor, label_smoothing: float = 0.0, num_items: Tensor | int | None = None
) -> Tensor:
    """Cross entropy of ``[B, T, V]`` and ``[B, T]`` (-100 is ignored): the mean, or a sum over ``num_items``.

    Raises:
        ValueError: labels outside the vocabulary (on the CPU; elsewhere the check would wait for the device).
    """
    if labels.device.type == "cpu" and not torch.compiler.is_compiling():
        wrong = labels[(labels != -100) & ((labels < 0) | (labels >= logits.shape[-1]))]
        if wrong.numel():
            raise ValueError(
                f"labels must lie in [0, {logits.shape[-1]}), or be -100 for no prediction, got {int(wrong[0])}"
            )
    loss = F.cross_entropy(
        logits.flatten(0, 1).to(torch.promote_types(logits.dtype, torch.float32)),
        labels.flatten().to(logits.device),
        ignore_index=-100,
        reduction="mean" if num_items is None else "sum",
        label_smoothing=label_smoothing,
    )
    return loss if num_items is None else loss / torch.as_tensor(num_items, device=loss.device)


class ComplexPreTrainedModel(ModelHubMixin, PreTrainedModel):
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
            self.config.get_text_config().vocab_size = self.vocab_size = embeddings.num_embeddings
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
        head = getattr(self, "lm_head", None)
        if isinstance(head, Readout):  # first: it may refuse
            head.resize(new_num_tokens, mean_resizing)
            for module in head.modules():  # a later post_init() must not draw them again
                module._is_hf_initialized = True  # type: ignore[assignment]
        for module in self.modules():  # an encoder and a decoder may have one each
            if isinstance(module, _TableEmbedding):
                module.resize(new_num_tokens, mean_resizing)
        return embeddings


def _is_ours(module: nn.Module) -> bool:
    """True for a layer, not a model, of this package or of a class derived from one."""
    return not isinstance(module, PreTrainedModel) and any(
        base.__module__.startswith(f"{__package__}.") for base in type(module).__mro__
    )
