# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Causal language modeling: the loss and output of all causal heads, and the head of stateful models."""

from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationConfig
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple

from ...nn import AdaptiveReadout, Readout
from .caches.stream import StreamCache
from .generation import ComplexGenerationMixin, check_own_cache
from .loss import check_labels, label_count
from .pretrained import ComplexPreTrainedModel

__all__ = ["CausalLanguageModel", "causal_lm_output"]


def causal_lm_output(
    model: Any,
    inputs: tuple[Any, ...],
    use_cache: bool | None,
    labels: Tensor | None,
    logits_to_keep: int | Tensor,
    shift_labels: Tensor | None = None,
    **kwargs: Any,
) -> CausalLMOutputWithPast:
    """Run the decoder of a causal model and return logits and, with labels, the loss.

    Args:
        model: a model with ``model``, ``lm_head`` and ``token_loss``.
        inputs: the first arguments of the decoder, up to ``inputs_embeds``.
        use_cache: argument of the decoder.
        labels: ``[B, T]``, the tokens themselves: each is predicted from the tokens before it.
        logits_to_keep: number of last tokens, or indices of the tokens, to compute logits for; 0 for all.
        shift_labels: ``[B, T]``, the next token at every position, instead of ``labels``.
        kwargs: other arguments of the decoder and of ``token_loss``.
    """
    outputs: BaseModelOutputWithPast = model.model(*inputs, use_cache=use_cache, return_dict=True, **kwargs)
    kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
    hidden_states = outputs.last_hidden_state[:, kept]
    name, following = "shift_labels", shift_labels
    if following is None and labels is not None:
        name, following = "labels", F.pad(labels, (0, 1), value=-100)[..., 1:]
    logits = loss = None
    if following is not None and isinstance(model.lm_head, AdaptiveReadout):
        loss = adaptive_loss(model, hidden_states, following, name, kwargs.get("num_items_in_batch"))
    else:
        logits = model.lm_head(hidden_states)
        if following is not None:
            loss = model.token_loss(logits, following, **{**kwargs, "name": name, "shift_labels": following})
    return CausalLMOutputWithPast(
        loss=loss,
        logits=logits,
        cache=outputs.cache,
        hidden_states=outputs.hidden_states,
        attentions=getattr(outputs, "attentions", None),
    )


def adaptive_loss(
    model: Any, hidden_states: Tensor, labels: Tensor, name: str, num_items: Tensor | int | None
) -> Tensor:
    """Return the loss of an adaptive softmax, for which only the clusters of the labels are computed."""
    labels = check_labels(labels, hidden_states.shape[:2], model.config.vocab_size, name)
    nll = model.lm_head.nll(hidden_states, labels)
    return nll.sum() / label_count(labels, num_items).to(nll.device)


class CausalLanguageModel(ComplexPreTrainedModel, ComplexGenerationMixin):
    """A stateful decoder (``model_class``) with an LM head, ``config.lm_readout``, and ``generate()``.

    With ``config.cutoffs`` the head is an ``nn.AdaptiveReadout``: its logits are log-probabilities, and with labels
    ``logits`` is None, since only the clusters of the labels are computed. A subclass defines ``new_memory``.
    """

    model_class: ClassVar[type[nn.Module]]
    lm_head: Readout

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.loss_type = "ForCausalLM"  # Transformers would derive it from the name of the class
        self.model = self.model_class(config)
        self.lm_head = make_head(config)
        self.tie_head_to("model.embed_tokens")
        self.post_init()

    def new_memory(self, for_training: bool = False, mem_len: int | None = None) -> StreamCache:
        """Return an empty memory, optionally of another length than the configuration's.

        During training the memory stores hidden states, so keys are recomputed with the current weights.
        """
        raise NotImplementedError

    @property
    def has_narrow_tails(self) -> bool:
        """Whether an adaptive softmax projects rare words from fewer features."""
        return isinstance(self.lm_head, AdaptiveReadout) and self.config.div_value != 1

    def get_output_embeddings(self) -> nn.Module | None:
        """Return the projection to the whole vocabulary; None where an adaptive softmax has narrower tails."""
        return None if self.has_narrow_tails else super().get_output_embeddings()

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Replace the projection to the whole vocabulary."""
        if self.has_narrow_tails:
            raise ValueError(f"div_value must be 1 to set output embeddings, got {self.config.div_value}.")
        super().set_output_embeddings(new_embeddings)

    def _prepare_cache_for_generation(
        self, generation_config: GenerationConfig, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Create the memory of the model if no cache is given; Transformers would create a KV cache."""
        check_own_cache(self, generation_config)
        if model_kwargs.get("cache") is None and generation_config.use_cache is not False:
            model_kwargs["cache"] = self.new_memory()
        return super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)

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

        ``labels`` are the tokens themselves: each is predicted from the tokens before it, and the first token of a
        segment is not predicted. ``shift_labels [B, T]`` are the next tokens, so that the first token of the next
        segment counts too. ``logits_to_keep``: number of last tokens, or their indices. Other arguments as in the
        model.
        """
        # `shift_labels` is in kwargs: `Trainer` would expect an argument in every batch before it returns a loss.
        inputs = (input_ids, attention_mask, position_ids, cache, inputs_embeds)
        return causal_lm_output(self, inputs, use_cache, labels, logits_to_keep, **kwargs)


def make_head(config: Any) -> Readout:
    """Return the LM head of a configuration: an adaptive softmax if it has cutoffs."""
    if not config.cutoffs:
        return Readout(
            config.head_size, config.vocab_size, config.lm_readout, config.number_field, bias=config.lm_bias
        )
    return AdaptiveReadout(
        config.head_size,
        config.vocab_size,
        config.cutoffs,
        div_value=config.div_value,
        readout=config.lm_readout,
        number_field=config.number_field,
    )
