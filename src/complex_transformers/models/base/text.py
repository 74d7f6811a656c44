# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all text models share: the embedding of a configuration and the classification of whole texts."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPooling,
    SequenceClassifierOutput,
    SequenceClassifierOutputWithPast,
)
from transformers.utils import ModelOutput, TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import (
    ComplexOrderEmbedding,
    Readout,
    RealWordEmbedding,
    WordPositionEmbedding,
    masked_mean,
    number_field,
)
from ...nn.embedding import TableEmbedding
from .configuration import NetworkConfig, TextConfig
from .inputs import check_mask, check_position_ids, check_text_inputs, padding_mask, without_padding
from .packed_sequences import check_one_text
from .positions import packed_positions
from .pretrained import ComplexPreTrainedModel

__all__ = [
    "WITHOUT_POSITION",
    "ClassicPreTrainedModel",
    "ClassicTextModel",
    "DecoderHead",
    "LastTokenClassifier",
    "SequenceClassifier",
    "TextHead",
    "TextModel",
    "classification_head",
    "full_windows",
    "make_embedding",
    "make_recurrent",
    "run_recurrent",
]

# Embeddings that do not read positions.
WITHOUT_POSITION = ("word", "complex_vanilla", "real_word")


def make_embedding(config: TextConfig) -> TableEmbedding:
    """The embedding of ``config.embedding_type``."""
    table: dict[str, Any] = {
        "num_embeddings": config.vocab_size,
        "embedding_dim": config.hidden_size,
        "padding_idx": config.pad_token_id,
        "embedding_type": config.embedding_type,
        "amplitude_std": config.initializer_range,
    }
    if config.embedding_type == "real_word":
        del table["embedding_type"]
        return RealWordEmbedding(**table)
    if config.embedding_type not in ("complex_order", "complex_vanilla"):
        multiplier = getattr(config, "embedding_multiplier", 1.0)
        longest = config.max_position_embeddings
        return WordPositionEmbedding(**table, max_position_embeddings=longest, multiplier=multiplier)
    return ComplexOrderEmbedding(
        **table,
        amplitude_sharing=config.amplitude_sharing,
        frequency_sharing=config.frequency_sharing,
        phase=config.phase,
        damping=config.damping,
        frequency_init=config.frequency_init,
        frequency_scale=config.frequency_scale,
    )


class TextModel(ComplexPreTrainedModel):
    """Base of the models: the embedding of the words, with dropout. A subclass adds layers and calls ``post_init``."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__(config)
        self.embed_tokens = make_embedding(config)
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)

    def embed(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        inputs_embeds: Tensor | None,
    ) -> Tensor:
        """Checked inputs as embeddings ``[B, N, hidden_size]``, before dropout."""
        check_text_inputs(input_ids, inputs_embeds, attention_mask, self.config.hidden_size)
        if inputs_embeds is not None:
            if position_ids is not None:
                raise ValueError("inputs_embeds hold the positions: leave out position_ids")
            return without_padding(inputs_embeds, attention_mask)
        assert input_ids is not None
        check_position_ids(position_ids, tuple(input_ids.shape))
        if position_ids is not None and not self.reads_positions(position_ids, attention_mask):
            raise ValueError(
                f"position_ids have no effect with embedding_type={self.config.embedding_type!r}: leave them out"
            )
        inputs_embeds = self.embed_tokens(input_ids, position_ids=position_ids, attention_mask=attention_mask)
        return without_padding(inputs_embeds, attention_mask)

    def reads_positions(self, position_ids: Tensor, attention_mask: Tensor | None) -> bool:
        """Whether ``position_ids [B, N]`` say anything to this model."""
        return self.config.embedding_type not in WITHOUT_POSITION


class ClassicPreTrainedModel(ComplexPreTrainedModel):
    """Base of the networks without attention (ComplexOrder Table 2) and of their classifiers: what they support."""

    supports_gradient_checkpointing = False
    _no_split_modules: list[str] = []
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False


class ClassicTextModel(TextModel, ClassicPreTrainedModel):
    """Base of the networks without attention."""

    pooled_size: int
    pooled_field: str | None = None  # of the pooled features, where it is not that of the configuration

    def encode(self, hidden_states: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The network on embeddings ``[B, N, hidden_size]``: its last hidden states and the pooled features."""
        raise NotImplementedError

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> BaseModelOutputWithPooling:
        """Inputs as in ``ComplexOrderModel``; a mask of scores, which these networks do not have, is refused."""
        hidden_states = self.embed(input_ids, attention_mask, position_ids, inputs_embeds)
        check_mask(attention_mask, tuple(hidden_states.shape[:2]), scores=False)
        hidden_states, pooled = self.encode(hidden_states, padding_mask(attention_mask), **kwargs)
        return BaseModelOutputWithPooling(last_hidden_state=hidden_states, pooler_output=pooled)


class TextHead(ComplexPreTrainedModel):
    """A text model and what a head makes of its states: logits and, with labels, their loss.

    A subclass names the model by ``model_class`` and what it is made with, adds layers and calls ``post_init``.
    """

    model_class: type[ComplexPreTrainedModel]
    model_options: ClassVar[dict[str, Any]] = {}
    output_class: type[ModelOutput]
    returned: ClassVar[tuple[str, ...]] = ("hidden_states", "attentions")  # fields of the model's output
    one_sequence_per_row: ClassVar[bool] = False

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        self.model = self.model_class(config, **self.model_options)

    def read(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        inputs_embeds: Tensor | None,
        **kwargs: Any,
    ) -> Any:
        """Return the outputs of the model.

        Raises:
            ValueError: rows of several packed sequences, for a head with one output per row.
        """
        tokens = input_ids if inputs_embeds is None else inputs_embeds
        position_ids = packed_positions(position_ids, tokens, **kwargs)
        inputs = (input_ids, attention_mask, position_ids)
        outputs = self.model(*inputs, inputs_embeds=inputs_embeds, return_dict=True, **kwargs)
        if self.one_sequence_per_row:
            check_one_text(position_ids, attention_mask)
        return outputs

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """The logits of the model's outputs."""
        raise NotImplementedError

    def read_mask(self, input_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
        """The mask by which ``logits_of`` tells tokens from padding: that of the model."""
        return attention_mask

    def loss_of(self, logits: Tensor, labels: Tensor, **kwargs: Any) -> Tensor:
        """The loss of the logits: the cross entropy of every token."""
        return self.token_loss(logits, labels, **kwargs)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> Any:
        """Logits and, with ``labels``, their loss; other arguments as in the model.

        Of texts logits are ``[B, num_labels]``, labels ``[B]`` or ``[B, num_labels]``, and the loss is that of
        ``problem_type``; of tokens they are ``[B, N, words or num_labels]`` and ``[B, N]`` (-100 is ignored), and the
        loss is the cross entropy.
        """
        outputs = self.read(input_ids, attention_mask, position_ids, inputs_embeds, **kwargs)
        logits = self.logits_of(outputs, self.read_mask(input_ids, attention_mask))
        loss = None if labels is None else self.loss_of(logits, labels, **kwargs)
        more = {name: outputs[name] for name in self.returned if name in outputs}
        return self.output_class(loss=loss, logits=logits, **more)


class SequenceClassifier(TextHead):
    """A text model, its pooled features, dropout and the readout (models of ComplexOrder Table 2).

    Pooled features are the model's ``pooler_output``, or the masked mean of the last hidden state where it has none.
    """

    output_class: type[ModelOutput] = SequenceClassifierOutput
    one_sequence_per_row = True
    # Logits, where their number is not that of the labels.
    num_outputs: ClassVar[int | None] = None
    # Regression and multi-label losses are plain means: Trainer must not expect a sum over a larger batch.
    accepts_loss_kwargs = False

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForSequenceClassification"  # of config.problem_type, whatever the class is called
        self.num_labels = config.num_labels
        pooled = {name: getattr(self.model, f"pooled_{name}", None) for name in ("size", "field")}
        self.classifier: nn.Module
        self.dropout, self.classifier = classification_head(config, **pooled, num_labels=self.num_outputs)
        self.post_init()

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """The readout of the pooled features."""
        pooled: Tensor | None = getattr(outputs, "pooler_output", None)
        features = masked_mean(outputs.last_hidden_state, padding_mask(attention_mask)) if pooled is None else pooled
        return self.classifier(self.dropout(features))

    def loss_of(self, logits: Tensor, labels: Tensor, **kwargs: Any) -> Tensor:
        """The loss of ``problem_type``."""
        return self.classification_loss(logits, labels)


class DecoderHead(TextHead):
    """A classification head on a decoder, which also accepts a cache, as the heads of Llama do."""

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> Any:
        """Return logits and, with ``labels``, their loss; see ``TextHead`` and the decoder for the arguments."""
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds, labels)
        use_cache = False if use_cache is None else use_cache  # a classifier needs no cache unless it is asked for
        return super().forward(*inputs, cache=cache, use_cache=use_cache, **kwargs)


class LastTokenClassifier(DecoderHead, SequenceClassifier):
    """A decoder and the ``readout`` of the last token of a text, the one that has seen all of it.

    Without a mask it is the last that is not ``pad_token_id``, where the configuration has one.
    """

    output_class = SequenceClassifierOutputWithPast
    returned = (*TextHead.returned, "cache")

    def read_mask(self, input_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
        """As in ``TextHead``; without a mask padding is told by its id."""
        if input_ids is None or self.config.pad_token_id is None or padding_mask(attention_mask) is not None:
            return attention_mask
        return input_ids != self.config.pad_token_id

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """The readout of the last token of each text."""
        states = outputs.last_hidden_state
        tokens = padding_mask(attention_mask)
        if tokens is None:
            return self.classifier(self.dropout(states[:, -1]))
        last = states.shape[1] - 1 - tokens.flip(-1).long().argmax(-1)
        return self.classifier(self.dropout(states[torch.arange(states.shape[0], device=states.device), last]))


def classification_head(
    config: NetworkConfig, size: int | None = None, field: str | None = None, num_labels: int | None = None
) -> tuple[nn.Module, Readout]:
    """Dropout and readout of ``size`` (default ``hidden_size``) stored features of a number field.

    ``num_labels`` logits where their number is not that of the configuration.
    """
    probability = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
    field = config.number_field if field is None else field
    size = config.hidden_size if size is None else size
    readout = Readout(size, config.num_labels if num_labels is None else num_labels, config.readout, field)
    return number_field(field).Dropout(probability), readout


def full_windows(lengths: Tensor, steps: int, kernel_size: int) -> Tensor:
    """Where a kernel may start in texts ``[B, steps]`` of these lengths ``[B]``: inside, and always at token 0."""
    last = torch.where(lengths > 0, (lengths - kernel_size).clamp(min=0), -1)
    return torch.arange(steps, device=lengths.device) <= last.unsqueeze(-1)


def make_recurrent(config: Any, input_size: int, hidden_size: int, bidirectional: bool = False) -> nn.Module:
    """One recurrent layer, batch first, by ``rnn_type``, ``gate`` and ``state_activation`` of a configuration."""
    field = number_field(config.number_field)
    return {"lstm": field.LSTM, "gru": field.GRU, "rnn": field.RNN}[config.rnn_type](
        input_size,
        hidden_size,
        batch_first=True,
        bidirectional=bidirectional,
        gate=config.gate,
        activation=config.state_activation,
    )


def run_recurrent(
    rnn: nn.Module, hidden_states: Tensor, mask: Tensor | None, first: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """All states and the last ones (an LSTM's cells too) of a layer of ``nn`` over the tokens of ``[B, N, width]``.

    ``first`` are the states before, ``[layers, B, width]`` each, default zeros; a text without tokens keeps its own.
    """
    hx = first if first is None or len(first) > 1 else first[0]
    if mask is None:
        states, last = rnn(hidden_states, hx)
        return states, last if isinstance(last, tuple) else (last,)
    empty = ~mask.any(-1, keepdim=True)  # [B, 1]; such rows run over zeros
    states, last = rnn(hidden_states.masked_fill(empty.unsqueeze(-1), 0.0), hx, mask | empty)
    last = last if isinstance(last, tuple) else (last,)
    before = first or tuple(torch.zeros_like(part) for part in last)
    kept = tuple(torch.where(empty, old, new) for old, new in zip(before, last, strict=True))
    return states.masked_fill(empty.unsqueeze(-1), 0.0), kept
