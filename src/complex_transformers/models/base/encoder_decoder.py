# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoder models: two stacks with separate or shared embeddings, their joint output, and the loss."""

from typing import Any, ClassVar, TypeAlias

from torch import Tensor, nn
from transformers.configuration_utils import PretrainedConfig
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqLMOutput,
    Seq2SeqModelOutput,
)
from transformers.utils import ModelOutput

from .loss import check_labels, shift_right, smoothed_cross_entropy
from .pretrained import ComplexPreTrainedModel

__all__ = ["EncoderDecoderModel", "Seq2SeqHead", "as_encoder_output", "join_outputs"]

EncoderOutputs: TypeAlias = BaseModelOutput | tuple[Tensor, ...]


def as_encoder_output(encoder_outputs: EncoderOutputs) -> BaseModelOutput:
    """Convert the tuple of an encoder called with ``return_dict=False``."""
    return encoder_outputs if isinstance(encoder_outputs, BaseModelOutput) else BaseModelOutput(*encoder_outputs)


def join_outputs(source: BaseModelOutput, target: BaseModelOutputWithPastAndCrossAttentions) -> Seq2SeqModelOutput:
    """Join the outputs of an encoder and its decoder."""
    return Seq2SeqModelOutput(
        last_hidden_state=target.last_hidden_state,
        cache=target.cache,
        decoder_hidden_states=target.hidden_states,
        decoder_attentions=target.attentions,
        cross_attentions=target.cross_attentions,
        encoder_last_hidden_state=source.last_hidden_state,
        encoder_hidden_states=source.hidden_states,
        encoder_attentions=source.attentions,
    )


class EncoderDecoderModel(ComplexPreTrainedModel):
    """An encoder and a decoder, each with an embedding; ``config.share_embeddings`` ties the two."""

    encoder_class: ClassVar[type[ComplexPreTrainedModel]]
    decoder_class: ClassVar[type[ComplexPreTrainedModel]]

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__(config)
        self.encoder = self.encoder_class(config)
        self.decoder = self.decoder_class(config)
        if config.share_embeddings:
            tables = [name for name, _ in self.encoder.embed_tokens.named_parameters()]
            self._tied_weights_keys = {f"decoder.embed_tokens.{t}": f"encoder.embed_tokens.{t}" for t in tables}
        self.post_init()

    def get_expanded_tied_weights_keys(self, all_submodels: bool = False) -> dict[str, str]:
        """Return the tables of shared embeddings, whatever ``tie_word_embeddings`` says about the head."""
        return dict(self._tied_weights_keys or {})

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.embed_tokens = value
        if self.config.share_embeddings:
            self.decoder.embed_tokens = value

    def encode_and_decode(
        self, source: dict[str, Any], target: dict[str, Any], encoder_outputs: EncoderOutputs | None, **kwargs: Any
    ) -> Seq2SeqModelOutput:
        """Encode ``source``, unless ``encoder_outputs`` are given, and decode ``target``; both are keyword arguments.

        Raises:
            ValueError: the target is missing.
        """
        if target["input_ids"] is None and target["inputs_embeds"] is None:
            raise ValueError("decoder_input_ids must be given, got None. Or pass decoder_inputs_embeds or labels.")
        encoded = (
            self.encoder(**source, return_dict=True, **kwargs)
            if encoder_outputs is None
            else as_encoder_output(encoder_outputs)
        )
        decoded = self.decoder(
            **target,
            encoder_hidden_states=encoded.last_hidden_state,
            encoder_attention_mask=source["attention_mask"],
            return_dict=True,
            **kwargs,
        )
        return join_outputs(encoded, decoded)


class Seq2SeqHead(ComplexPreTrainedModel):
    """LM head of an encoder-decoder model: decoder inputs from labels, loss with label smoothing, output."""

    output_class: ClassVar[type[ModelOutput]] = Seq2SeqLMOutput

    @property
    def decoder_config(self) -> PretrainedConfig:
        """The configuration with the decoder's special tokens and ``label_smoothing``."""
        return self.config

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Return the decoder inputs for ``labels [B, T]`` (teacher forcing); ``DataCollatorForSeq2Seq`` calls it."""
        _, vocab_size = self.decoder_config.vocabulary_of("decoder_start_token_id")
        check_labels(labels, labels.shape, vocab_size)  # before they become input_ids: the error names labels
        return shift_right(labels, self.decoder_config.decoder_start_token_id, self.decoder_config.pad_token_id)

    def smoothed_loss(
        self, logits: Tensor, labels: Tensor, num_items: Tensor | int | None = None, name: str = "labels"
    ) -> Tensor:
        """Return the cross entropy, with label smoothing during training: the mean, or a sum over ``num_items``."""
        smoothing = self.decoder_config.label_smoothing if self.training else 0.0
        return smoothed_cross_entropy(logits, labels, smoothing, num_items, name)

    def head_output(self, outputs: Seq2SeqModelOutput, loss: Tensor | None, logits: Tensor, **more: Any) -> Any:
        """Return loss and logits with the other outputs of the model below the head."""
        others = {name: value for name, value in outputs.items() if name != "last_hidden_state"}
        return self.output_class(loss=loss, logits=logits, **more, **others)
