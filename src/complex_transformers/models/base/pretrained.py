# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The base class of all models: initialization, resizing, dtype rules, losses, saving with a model card."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ...nn import ComplexLinear, PackedLinear, Readout, initialize_
from ...nn.attention.multi_head import REAL_SCORES
from ...nn.embedding import TableEmbedding
from .hub import CARD_NAME, auto_map, model_tags, prepare_repository, write_file, write_hub_shim, write_model_card
from .loss import check_labels, classification_labels, label_count
from .parallel import tensor_parallel_plan

__all__ = ["ComplexPreTrainedModel", "added_mask"]

_PACKAGE = __name__.partition(".")[0]


class ComplexPreTrainedModel(PreTrainedModel):
    """Base class of all models. Hidden states are ``[real | imag]`` halves."""

    base_model_prefix = "model"
    main_input_name = "input_ids"
    input_modalities = ("text",)
    supports_gradient_checkpointing = True
    _no_split_modules = ["EncoderLayer"]
    _skip_keys_device_placement = ["cache"]
    _supports_sdpa = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    # With frequencies in bfloat16, phases would be off by whole rotations after a few hundred positions, and a rounded
    # running covariance may have no inverse root.
    _keep_in_fp32_modules_strict = {
        "frequency",
        "phase",
        "damping",
        "log_modulus",
        "running_mean",
        "running_var",
        "score_bias",
    }

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """Do nothing: the package registers its classes, and ``save_pretrained`` must not copy its files."""

    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        is_main_process: bool = True,
        state_dict: dict[str, Any] | None = None,
        push_to_hub: bool = False,
        **kwargs: Any,
    ) -> None:
        """Save the model with its shim for ``trust_remote_code``, and with a model card if the folder has none.

        With ``push_to_hub=True``, a repository without a card gets the card of the folder. The folder keeps its own.
        """
        self.config.auto_map = auto_map(self)
        if not self.config.auto_map:
            del self.config.auto_map
        path = Path(save_directory) / CARD_NAME
        own_card = path.read_text(encoding="utf-8") if push_to_hub and path.is_file() else None
        if push_to_hub and is_main_process:
            kwargs.setdefault("repo_id", Path(save_directory).name)
            prepare_repository(self, kwargs["repo_id"], own_card, kwargs.get("private"), kwargs.get("token"))
        if push_to_hub and path.is_symlink():
            path.unlink()  # Transformers would write the card of the repository to the target of the link
        try:
            super().save_pretrained(save_directory, is_main_process, state_dict, push_to_hub, **kwargs)
        finally:
            if own_card is not None and is_main_process:
                write_file(path, own_card)
        if is_main_process:
            write_hub_shim(save_directory, self)
            write_model_card(save_directory, self, overwrite=False)

    def push_to_hub(self, repo_id: str, **kwargs: Any) -> Any:
        """Upload the model with its shim; a repository without a model card gets one.

        With ``create_pr=True`` the main branch does not change; without a card there, the pull request has a template.
        """
        if not kwargs.get("create_pr"):  # the upload of Transformers has the shim
            prepare_repository(self, repo_id, None, kwargs.get("private"), kwargs.get("token"), with_shim=False)
        return super().push_to_hub(repo_id, **kwargs)

    def _flex_attn_can_dispatch(self, is_init_check: bool = False) -> bool:
        """Reject ``flex_attention`` unless attention is the softmax of dot products, all that it computes."""
        given = tuple(getattr(self.config, f"attention_{name}", None) for name in ("score", "normalization"))
        if self._supports_flex_attn and (given[0] not in REAL_SCORES or given[1] != "softmax"):
            raise ValueError(
                "attn_implementation='flex_attention' needs attention_score='real' or 'cosine' and "
                f"attention_normalization='softmax', got {given[0]!r} and {given[1]!r}. Use 'eager'."
            )
        return super()._flex_attn_can_dispatch(is_init_check)

    def train(self, mode: bool = True) -> Self:
        """Set training mode.

        Raises:
            ValueError: layers are packed and no parameter is frozen.
        """
        if mode and getattr(self, "hf_quantizer", None) is not None:
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
        """Return ``loss_function`` of logits ``[B, N, K]`` and labels ``[B, N]``; 0 if all labels are -100.

        Errors refer to the labels as ``name``.
        """
        labels = check_labels(labels, logits.shape[:-1], logits.shape[-1], name).to(logits.device).contiguous()
        options = {"vocab_size": logits.shape[-1], "config": self.config}
        options["num_items_in_batch"] = label_count(labels, num_items_in_batch)
        options.update({name: labels for name in kwargs if name == "shift_labels"})  # the checked labels replace them
        return self.loss_function(logits=logits, labels=labels, **{**kwargs, **options})

    def classification_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of ``config.problem_type`` for logits ``[B, K]``; 0 if all labels are -100."""
        labels, more = classification_labels(labels.to(logits.device), logits, self.config)
        return self.loss_function(labels=labels, pooled_logits=logits, config=self.config, **more)

    def post_init(self) -> None:
        """Finish construction; limit ``_keep_in_fp32_modules_strict`` to existing tensors, set the model card tags."""
        ends = {name.rpartition(".")[2] for name, _ in (*self.named_parameters(), *self.named_buffers())}
        self._keep_in_fp32_modules_strict = set(type(self)._keep_in_fp32_modules_strict) & ends
        super().post_init()
        self.add_model_tags(model_tags(self))

    def init_parallel_plans(self) -> None:
        """Set the tensor parallel plan, which is derived from the layers."""
        super().init_parallel_plans()
        self._tp_plan = tensor_parallel_plan(self)

    def _initialize_weights(self, module: nn.Module, is_custom_code: bool = False) -> None:
        """Initialize a module unless all tensors of the module and its children were loaded."""
        tensors = (*module.parameters(), *module.buffers())
        if all(getattr(tensor, "_is_hf_initialized", False) for tensor in tensors):
            module._is_hf_initialized = True  # type: ignore[assignment]
            return
        # For custom code Transformers checks the layer's own tensors only, so a layer without any, such as a
        # ComplexLinear without bias, would count as loaded. Our initializers check the mark of each tensor.
        super()._initialize_weights(module, is_custom_code and not _is_ours(module))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        # Children come first: a ComplexLinear initializes its two sub-layers again, as one complex weight.
        options = {"std": self.config.initializer_range} if self.config.weight_init == "normal" else {}
        if isinstance(module, ComplexLinear):
            module.reset_parameters(self.config.weight_init, **options)
        elif isinstance(module, nn.Linear):
            initialize_(self.config.weight_init, module.weight, **options)
        elif _is_ours(module) and not isinstance(module, nn.Embedding) and hasattr(module, "reset_parameters"):
            module.reset_parameters()  # type: ignore[operator]

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:
        """Resize the embedding; ``weight`` may have one row for all words, so the size comes from the layer."""
        embeddings = super().resize_token_embeddings(*args, **kwargs)
        if isinstance(embeddings, TableEmbedding):
            self.config.get_text_config().vocab_size = self.vocab_size = embeddings.num_embeddings
        return embeddings

    def _resize_token_embeddings(
        self, new_num_tokens: int | None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Module:
        """Resize every table of the embedding, and the LM head, in place.

        Raises:
            ValueError: a special token of the configuration is beyond the new size.
        """
        embeddings = self.get_input_embeddings()
        if not isinstance(embeddings, TableEmbedding):
            return super()._resize_token_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        if pad_to_multiple_of is not None:
            if not isinstance(pad_to_multiple_of, int):  # the text that Transformers' tests expect
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
        resized.validate_token_ids()  # a configuration with ids outside the vocabulary cannot be loaded
        head = getattr(self, "lm_head", None)
        if isinstance(head, Readout):  # before the tables: it may raise
            head.resize(new_num_tokens, mean_resizing)
            for module in head.modules():  # a later post_init() must not initialize them again
                module._is_hf_initialized = True  # type: ignore[assignment]
        for module in self.modules():  # an encoder and a decoder may have a table each
            if isinstance(module, TableEmbedding):
                module.resize(new_num_tokens, mean_resizing)
        return embeddings

    def tie_head_to(self, embedding: str) -> None:
        """Declare the weight that ``tie_word_embeddings`` shares with ``lm_head``: the table of ``embedding``."""
        table = "amplitude" if hasattr(self.get_submodule(embedding), "amplitude") else "weight"
        self._tied_weights_keys = {"lm_head.projection.weight": f"{embedding}.{table}"}

    def get_output_embeddings(self) -> nn.Module | None:
        """Return the projection of the LM head; None without one."""
        head = super().get_output_embeddings()
        return head.projection if isinstance(head, Readout) else head

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        if isinstance(getattr(self, "lm_head", None), Readout):
            self.lm_head.projection = new_embeddings
        else:
            super().set_output_embeddings(new_embeddings)


def _check_trainable(model: PreTrainedModel) -> None:
    """Raise if a model has packed layers, whose weights are fixed, and no frozen parameter.

    Adapters freeze the layers they adapt.
    """
    packed = sum(isinstance(module, PackedLinear) for module in model.modules())
    if packed and all(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            f"train() needs a model without packed layers, got {packed}. Train with "
            "ComplexQuantizationConfig(training=True), or freeze parameters with requires_grad_(False) to train the "
            "others."
        )


def added_mask(mask: Tensor, query: Tensor) -> Tensor:
    """Return a mask ``[B or 1, 1, T, S]`` as an additive mask ``[B, 1, T, S]``, as ``flex_attention`` needs it."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, torch.finfo(query.dtype).min)
    return mask.expand(query.shape[0], -1, -1, -1)


def _is_ours(module: nn.Module) -> bool:
    """Return True for a layer (not a model) of this package, or of a class derived from one."""
    return not isinstance(module, PreTrainedModel) and any(
        base.__module__.partition(".")[0] == _PACKAGE for base in type(module).__mro__
    )
