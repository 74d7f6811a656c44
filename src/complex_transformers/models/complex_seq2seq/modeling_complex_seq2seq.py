# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoder Transformer with complex words (Wang et al., ICLR 2020, section 3.2), for translation."""

from torch import Tensor
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple

from ...nn import Readout
from ..base.encoder_decoder import EncoderDecoderModel, Seq2SeqHead
from ..base.generation import ComplexGenerationMixin
from ..base.layers import TransformerDecoder, TransformerEncoder
from ..base.pretrained import ComplexPreTrainedModel
from .configuration_complex_seq2seq import ComplexSeq2SeqConfig

__all__ = [
    "ComplexSeq2SeqDecoder",
    "ComplexSeq2SeqEncoder",
    "ComplexSeq2SeqForConditionalGeneration",
    "ComplexSeq2SeqModel",
    "ComplexSeq2SeqPreTrainedModel",
]


class ComplexSeq2SeqPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the family."""

    config: ComplexSeq2SeqConfig
    _no_split_modules = ["EncoderLayer", "DecoderLayer"]
    _supports_flex_attn = True


class ComplexSeq2SeqEncoder(TransformerEncoder, ComplexSeq2SeqPreTrainedModel):
    """The encoder of ``ComplexOrderModel`` with ``config.encoder_layers`` layers."""


class ComplexSeq2SeqDecoder(TransformerDecoder, ComplexSeq2SeqPreTrainedModel):
    """Causal layers with cross-attention; see ``TransformerDecoder``."""


class ComplexSeq2SeqModel(EncoderDecoderModel, ComplexSeq2SeqPreTrainedModel):
    """Encoder and decoder (Wang et al., ICLR 2020, section 3.2) with shared or separate embeddings."""

    encoder_class = ComplexSeq2SeqEncoder
    decoder_class = ComplexSeq2SeqDecoder

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> Seq2SeqModelOutput:
        """Encode the source, unless ``encoder_outputs`` are given, and decode the target.

        Args:
            input_ids, attention_mask, inputs_embeds: the source, as in ``ComplexOrderModel``.
            decoder_input_ids, decoder_attention_mask, decoder_inputs_embeds: the target, as in
                ``ComplexSeq2SeqDecoder``.
            encoder_outputs: outputs of the encoder for the same source.
            cache, use_cache: as in ``ComplexSeq2SeqDecoder``.

        Raises:
            ValueError: no target, empty input, shapes that do not match, ids outside the vocabulary, a cache of
                another batch size.
        """
        source = {"input_ids": input_ids, "attention_mask": attention_mask, "inputs_embeds": inputs_embeds}
        target = {
            "input_ids": decoder_input_ids,
            "attention_mask": decoder_attention_mask,
            "cache": cache,
            "inputs_embeds": decoder_inputs_embeds,
            "use_cache": use_cache,
        }
        return self.encode_and_decode(source, target, encoder_outputs, **kwargs)


class ComplexSeq2SeqForConditionalGeneration(ComplexSeq2SeqPreTrainedModel, Seq2SeqHead, ComplexGenerationMixin):
    """Encoder and decoder with an LM head, ``config.lm_readout``, and ``generate()``."""

    def __init__(self, config: ComplexSeq2SeqConfig) -> None:
        super().__init__(config)
        self.model = ComplexSeq2SeqModel(config)
        self.lm_head = Readout(config.hidden_size, config.vocab_size, config.lm_readout, config.number_field)
        self.tie_head_to("model.encoder.embed_tokens" if config.share_embeddings else "model.decoder.embed_tokens")
        self.post_init()

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> Seq2SeqLMOutput:
        """Return logits ``[B, T, vocab_size]`` and, with ``labels [B, T]`` (-100 is ignored), the cross entropy.

        Labels are the next tokens after ``decoder_input_ids``, which default to the labels shifted right. Other
        arguments as in ``ComplexSeq2SeqModel``.
        """
        if labels is not None and decoder_input_ids is None and decoder_inputs_embeds is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            cache=cache,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        logits = self.lm_head(outputs.last_hidden_state)
        loss = None if labels is None else self.smoothed_loss(logits, labels, kwargs.get("num_items_in_batch"))
        return self.head_output(outputs, loss, logits)
