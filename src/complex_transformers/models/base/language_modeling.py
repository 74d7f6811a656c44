# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language models that read a text, or a stream in segments, from left to right: head, loss and ``generate()``."""

from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationConfig
from transformers.cache_utils import Cache
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple

from ...nn import AdaptiveReadout, Readout
from .caches.stream import StreamCache
from .configuration import WritingConfig
from .generation import OpenEndedGenerationMixin, check_own_cache
from .layers import LanguageModelHead
from .loss import check_labels, label_count
from .stream_configuration import StreamConfig

__all__ = ["CausalHead", "CausalLanguageModel"]


def label_name(shift_labels: Tensor | None = None, **kwargs: Any) -> str:
    """Which of its arguments a model learns from."""
    return "labels" if shift_labels is None else "shift_labels"


class CausalHead(LanguageModelHead, OpenEndedGenerationMixin):
    """A model that reads from left to right and the ``lm_readout`` of every token, with ``generate()``.

    A subclass names the model.
    """

    config: WritingConfig
    model_class: ClassVar[type[nn.Module]]

    def __init__(self, config: WritingConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForCausalLM"  # whatever the class is called
        self.model = self.model_class(config)
        self.lm_head = self.make_head(config)
        self.tie_head_to("model.embed_tokens")
        self.post_init()

    def make_head(self, config: WritingConfig) -> Readout:
        """The head of ``config``."""
        return Readout(config.hidden_size, config.vocab_size, config.lm_readout, config.number_field, bias=False)

    def following(self, labels: Tensor | None, shift_labels: Tensor | None = None) -> Tensor | None:
        """The tokens to predict at every place, ``[B, T]``: ``shift_labels``, or ``labels`` one place on."""
        if shift_labels is not None or labels is None:
            return shift_labels
        return F.pad(labels, (0, 1), value=-100)[..., 1:]

    def predict(
        self, hidden_states: Tensor, following: Tensor | None, **kwargs: Any
    ) -> tuple[Tensor | None, Tensor | None]:
        """The logits of ``[B, T, width]`` and, where the tokens that follow are given, their loss."""
        logits = self.lm_head(hidden_states)
        if following is None:
            return logits, None
        named = {"name": label_name(**kwargs), "shift_labels": following}
        return logits, self.token_loss(logits, following, **{**kwargs, **named})

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
        """Logits ``[B, T, vocab_size]`` and, with ``labels [B, T]`` (-100 is ignored), the cross entropy.

        ``labels`` are the tokens themselves: each is predicted from those before it, the first of a segment from
        none. ``shift_labels [B, T]`` are the tokens that follow, so that the first of the next segment counts too.
        ``logits_to_keep``: that many last tokens, or these indices. Other arguments as in the model.
        """
        # Not named in the signature: `Trainer` would then expect `shift_labels` in every batch before it has a loss.
        shift_labels = kwargs.pop("shift_labels", None)
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            cache=cache,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        following = self.following(labels, shift_labels)
        logits, loss = self.predict(outputs.last_hidden_state[:, kept], following, shift_labels=shift_labels, **kwargs)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            cache=outputs.cache,
            hidden_states=outputs.hidden_states,
            attentions=getattr(outputs, "attentions", None),
        )


class CausalLanguageModel(CausalHead):
    """A model of streams and the ``lm_readout`` of every token, with ``generate()``.

    With ``config.cutoffs`` the head is an ``nn.AdaptiveReadout``: logits are log-probabilities, and where labels are
    given ``logits`` is None and only those that the loss needs are computed. A subclass names the model, and makes the
    cache that is its memory.
    """

    config: StreamConfig

    def make_head(self, config: StreamConfig) -> Readout:
        """The head of ``config``: of an adaptive softmax where it has cutoffs."""
        if not config.cutoffs:
            size, words = config.head_size, config.vocab_size
            return Readout(size, words, config.lm_readout, config.number_field, bias=config.lm_bias)
        return AdaptiveReadout(
            config.head_size,
            config.vocab_size,
            config.cutoffs,
            div_value=config.div_value,
            readout=config.lm_readout,
            number_field=config.number_field,
        )

    def new_memory(self, for_training: bool = False, mem_len: int | None = None) -> StreamCache:
        """The memory of a stream before its first token, of another length where the model's can have one.

        One for training keeps what today's weights can read again.
        """
        raise NotImplementedError

    def get_output_embeddings(self) -> nn.Module | None:  # type: ignore[override]
        """The layer of all words; None where each tail of the adaptive softmax has its own."""
        return super().get_output_embeddings() if self.config.div_value == 1 else None

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Replace the layer of all words."""
        if self.config.div_value != 1:
            raise ValueError(
                f"no one layer has the logits of all words with div_value={self.config.div_value}; replace lm_head"
            )
        super().set_output_embeddings(new_embeddings)

    def _prepare_cache_for_generation(
        self, generation_config: GenerationConfig, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Create the memory of the model where no cache is given; Transformers would create a KV cache."""
        check_own_cache(self, generation_config)
        if model_kwargs.get("cache") is None and generation_config.use_cache is not False:
            model_kwargs["cache"] = self.new_memory()
        return super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)

    def predict(
        self, hidden_states: Tensor, following: Tensor | None, **kwargs: Any
    ) -> tuple[Tensor | None, Tensor | None]:
        """The logits or, of an adaptive softmax, log-probabilities or the loss of the tokens that follow."""
        if following is None or not isinstance(self.lm_head, AdaptiveReadout):
            return super().predict(hidden_states, following, **kwargs)
        following = check_labels(following, hidden_states.shape[:2], self.config.vocab_size, label_name(**kwargs))
        nll = self.lm_head.nll(hidden_states, following)
        return None, nll.sum() / label_count(following, kwargs.get("num_items_in_batch")).to(nll.device)
