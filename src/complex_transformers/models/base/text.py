# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text models: the embedding of a configuration, networks without attention, sequence classifiers."""

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
from .configuration import ComplexConfig, TextConfig
from .inputs import check_mask, check_position_ids, check_text_inputs, padding_mask, without_padding
from .packed_sequences import check_one_sequence
from .positions import packed_positions
from .pretrained import ComplexPreTrainedModel

__all__ = [
    "WITHOUT_POSITION",
    "ClassicPreTrainedModel",
    "ClassicTextModel",
    "LastTokenClassifier",
    "SequenceClassifier",
    "TextModel",
    "classification_head",
    "full_windows",
    "make_embedding",
    "make_recurrent",
    "run_recurrent",
    "run_text_model",
]

# Embedding types without positions.
WITHOUT_POSITION = ("word", "complex_vanilla", "real_word")


def make_embedding(config: TextConfig) -> TableEmbedding:
    """Return the embedding of ``config.embedding_type``."""
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
    """Base of text models: the embedding, with dropout. A subclass adds layers and calls ``post_init``."""

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
        """Validate the inputs and return embeddings ``[B, N, hidden_size]``, before dropout."""
        check_text_inputs(input_ids, inputs_embeds, attention_mask, self.config.hidden_size)
        if inputs_embeds is not None:
            if position_ids is not None:
                raise ValueError("position_ids must be None with inputs_embeds (positions included), got a tensor.")
            return without_padding(inputs_embeds, attention_mask)
        assert input_ids is not None
        check_position_ids(position_ids, tuple(input_ids.shape))
        if position_ids is not None and not self.reads_positions(position_ids, attention_mask):
            raise ValueError(f"position_ids must be None for {self.config.embedding_type!r} embeddings, got a tensor.")
        inputs_embeds = self.embed_tokens(input_ids, position_ids=position_ids, attention_mask=attention_mask)
        return without_padding(inputs_embeds, attention_mask)

    def reads_positions(self, position_ids: Tensor, attention_mask: Tensor | None) -> bool:
        """Return whether ``position_ids [B, N]`` have an effect."""
        return self.config.embedding_type not in WITHOUT_POSITION


class ClassicPreTrainedModel(ComplexPreTrainedModel):
    """Base of networks without attention (ComplexOrder Table 2) and of their classifiers."""

    supports_gradient_checkpointing = False
    _no_split_modules: list[str] = []
    _supports_sdpa = False
    _supports_attention_backend = False
    _can_compile_fullgraph = False


class ClassicTextModel(TextModel, ClassicPreTrainedModel):
    """Base of text models without attention. A subclass defines ``encode``."""

    pooled_size: int
    pooled_field: str | None = None  # number field of the pooled features, if not the configuration's

    def encode(self, hidden_states: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the last hidden states and the pooled features of embeddings ``[B, N, hidden_size]``."""
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
        """Encode a batch; inputs as in ``ComplexOrderModel``, except that ``attention_mask`` must be ``[B, N]``."""
        hidden_states = self.embed(input_ids, attention_mask, position_ids, inputs_embeds)
        check_mask(attention_mask, tuple(hidden_states.shape[:2]), scores=False)
        hidden_states, pooled = self.encode(hidden_states, padding_mask(attention_mask), **kwargs)
        return BaseModelOutputWithPooling(last_hidden_state=hidden_states, pooler_output=pooled)


def run_text_model(
    model: nn.Module,
    input_ids: Tensor | None,
    attention_mask: Tensor | None,
    position_ids: Tensor | None,
    inputs_embeds: Tensor | None,
    one_sequence_per_row: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the outputs of the model below a head; ``cu_seq_lens_q`` in ``kwargs`` becomes ``position_ids``.

    Raises:
        ValueError: ``one_sequence_per_row``, and a row holds several packed sequences.
    """
    tokens = input_ids if inputs_embeds is None else inputs_embeds
    position_ids = packed_positions(position_ids, tokens, **kwargs)
    outputs = model(input_ids, attention_mask, position_ids, inputs_embeds=inputs_embeds, return_dict=True, **kwargs)
    if one_sequence_per_row:
        check_one_sequence(position_ids, attention_mask)
    return outputs


class SequenceClassifier(ComplexPreTrainedModel):
    """A text model (``model_class``) and a classification head on its pooled features (ComplexOrder Table 2).

    Pooled features are the model's ``pooler_output``, or the masked mean of the last hidden state without one.
    """

    model_class: type[ComplexPreTrainedModel]
    output_class: type[ModelOutput] = SequenceClassifierOutput
    # Number of logits, where it is not the number of labels.
    num_outputs: ClassVar[int | None] = None
    # Regression and multi-label losses are plain means: Trainer must not expect a sum over a larger batch.
    accepts_loss_kwargs = False

    def __init__(self, config: ComplexConfig) -> None:
        super().__init__(config)
        self.loss_type = "ForSequenceClassification"  # Transformers would derive it from the name of the class
        self.model = self.model_class(config)
        self.num_labels = config.num_labels
        pooled = {name: getattr(self.model, f"pooled_{name}", None) for name in ("size", "field")}
        self.classifier: nn.Module
        self.dropout, self.classifier = classification_head(config, **pooled, num_labels=self.num_outputs)
        self.post_init()

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """Return the logits of the pooled features."""
        pooled: Tensor | None = getattr(outputs, "pooler_output", None)
        features = masked_mean(outputs.last_hidden_state, padding_mask(attention_mask)) if pooled is None else pooled
        return self.classifier(self.dropout(features))

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
        """Return logits ``[B, num_labels]`` and, with ``labels``, the loss of ``problem_type``.

        ``labels`` are ``[B]`` or ``[B, num_labels]``; the other arguments are the model's.
        """
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds)
        outputs = run_text_model(self.model, *inputs, one_sequence_per_row=True, **kwargs)
        logits = self.logits_of(outputs, attention_mask)
        loss = None if labels is None else self.classification_loss(logits, labels)
        return self.output_class(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class LastTokenClassifier(SequenceClassifier):
    """A decoder and a classification head on the last token of a sequence, which attends to all others.

    Without a mask the last token is the last one other than ``pad_token_id``, if the configuration has one.
    """

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
        use_cache: bool = False,
        **kwargs: TransformersKwargs,
    ) -> SequenceClassifierOutputWithPast:
        """Return logits ``[B, num_labels]`` and, with ``labels``, the loss of ``problem_type``.

        ``labels`` are ``[B]`` or ``[B, num_labels]``; the other arguments are the decoder's.
        """
        inputs = (input_ids, attention_mask, position_ids, inputs_embeds)
        kwargs = {**kwargs, "cache": cache, "use_cache": bool(use_cache)}
        outputs = run_text_model(self.model, *inputs, one_sequence_per_row=True, **kwargs)
        if input_ids is not None and self.config.pad_token_id is not None and padding_mask(attention_mask) is None:
            attention_mask = input_ids != self.config.pad_token_id
        logits = self.logits_of(outputs, attention_mask)
        return SequenceClassifierOutputWithPast(
            loss=None if labels is None else self.classification_loss(logits, labels),
            logits=logits,
            cache=outputs.cache,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )

    def logits_of(self, outputs: BaseModelOutput, attention_mask: Tensor | None) -> Tensor:
        """Return the logits of the last token of each sequence."""
        states = outputs.last_hidden_state
        tokens = padding_mask(attention_mask)
        if tokens is None:
            return self.classifier(self.dropout(states[:, -1]))
        last = states.shape[1] - 1 - tokens.flip(-1).long().argmax(-1)
        return self.classifier(self.dropout(states[torch.arange(states.shape[0], device=states.device), last]))


def classification_head(
    config: ComplexConfig, size: int | None = None, field: str | None = None, num_labels: int | None = None
) -> tuple[nn.Module, Readout]:
    """Return dropout and classification head for features of stored width ``size`` (default ``hidden_size``).

    ``field`` and ``num_labels`` default to the configuration's.
    """
    probability = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
    field = config.number_field if field is None else field
    size = config.hidden_size if size is None else size
    readout = Readout(size, config.num_labels if num_labels is None else num_labels, config.readout, field)
    return number_field(field).Dropout(probability), readout


def full_windows(lengths: Tensor, steps: int, kernel_size: int) -> Tensor:
    """Return where a kernel may start in sequences of ``lengths [B]``, ``[B, steps]``: inside, and always at 0."""
    last = torch.where(lengths > 0, (lengths - kernel_size).clamp(min=0), -1)
    return torch.arange(steps, device=lengths.device) <= last.unsqueeze(-1)


def make_recurrent(config: Any, input_size: int, hidden_size: int, bidirectional: bool = False) -> nn.Module:
    """Return a batch-first recurrent layer of ``rnn_type``, ``gate`` and ``state_activation`` of ``config``."""
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
    """Run a recurrent layer of ``nn`` over ``[B, N, width]``; return the states of all steps and of the last one.

    ``first`` are the initial states, ``[layers, B, width]`` each, default zeros; a row without tokens keeps its own.
    """
    hx = first if first is None or len(first) > 1 else first[0]
    if mask is None:
        states, last = rnn(hidden_states, hx)
        return states, last if isinstance(last, tuple) else (last,)
    empty = ~mask.any(-1, keepdim=True)  # [B, 1]; these rows read zeros
    states, last = rnn(hidden_states.masked_fill(empty.unsqueeze(-1), 0.0), hx, mask | empty)
    last = last if isinstance(last, tuple) else (last,)
    before = first or tuple(torch.zeros_like(part) for part in last)
    kept = tuple(torch.where(empty, old, new) for old, new in zip(before, last, strict=True))
    return states.masked_fill(empty.unsqueeze(-1), 0.0), kept
