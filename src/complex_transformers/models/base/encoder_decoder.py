# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoder models: two stacks on one embedding or two, their outputs as one, the loss of what is written."""

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

__all__ = ["EncoderDecoderModel", "WritingHead", "as_encoder_output", "join_outputs"]

EncoderOutputs: TypeAlias = BaseModelOutput | tuple[Tensor, ...]


def as_encoder_output(encoder_outputs: EncoderOutputs) -> BaseModelOutput:
    """What an encoder returned, also where it is a tuple (``return_dict=False``)."""
    return encoder_outputs if isinstance(encoder_outputs, BaseModelOutput) else BaseModelOutput(*encoder_outputs)


def join_outputs(source: BaseModelOutput, target: BaseModelOutputWithPastAndCrossAttentions) -> Seq2SeqModelOutput:
    """The outputs of an encoder and of its decoder under the names of ``Seq2SeqModelOutput``."""
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
    """An encoder and a decoder with an embedding each; ``config.share_embeddings`` makes it one."""

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
        """The tables of a shared embedding, which ``tie_word_embeddings`` (that of a head) does not part."""
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
        """Encode ``source``, unless ``encoder_outputs`` are given, and decode ``target``: arguments of the stacks.

        Raises:
            ValueError: no target.
        """
        if target["input_ids"] is None and target["inputs_embeds"] is None:
            raise ValueError("the target is missing: give decoder_input_ids, decoder_inputs_embeds or labels")
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


class WritingHead(ComplexPreTrainedModel):
    """A head on a decoder that learns to write: targets from labels, the loss, the output."""

    output_class: ClassVar[type[ModelOutput]] = Seq2SeqLMOutput

    @property
    def writing_config(self) -> PretrainedConfig:
        """The configuration with the special tokens of the decoder and its ``label_smoothing``."""
        return self.config

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """What the decoder reads to predict ``labels [B, T]``; ``DataCollatorForSeq2Seq`` asks for it."""
        _, words = self.writing_config.vocabulary_of("decoder_start_token_id")
        check_labels(labels, labels.shape, words)  # before they are read: an error is about labels
        return shift_right(labels, self.writing_config.decoder_start_token_id, self.writing_config.pad_token_id)

    def smoothed_loss(
        self, logits: Tensor, labels: Tensor, num_items: Tensor | int | None = None, name: str = "labels"
    ) -> Tensor:
        """Cross entropy with the configuration's label smoothing while training; a sum over ``num_items`` if given."""
        smoothing = self.writing_config.label_smoothing if self.training else 0.0
        return smoothed_cross_entropy(logits, labels, smoothing, num_items, name)

    def written(self, outputs: Seq2SeqModelOutput, loss: Tensor | None, logits: Tensor, **more: Any) -> Any:
        """The output of the head."""
        others = {name: value for name, value in outputs.items() if name != "last_hidden_state"}
        return self.output_class(loss=loss, logits=logits, **more, **others)
