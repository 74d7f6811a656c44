# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Spectral Transformers for speech (thesis, chapter 5): Fully Spectral, Spectral-Scaled, real twin, and heads."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput, Seq2SeqLMOutput, SequenceClassifierOutput
from transformers.utils import TransformersKwargs
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...nn import Readout, SpectralScaledAttention, number_field
from ...nn.attention.multi_head import HeadedAttention
from ..base.encoder_decoder import Seq2SeqHead, as_encoder_output, join_outputs
from ..base.generation import ComplexGenerationMixin
from ..base.layers import EncoderLayer, TransformerStack, attend_by_interface
from ..base.loss import check_labels
from ..base.pretrained import ComplexPreTrainedModel
from ..base.text import SequenceClassifier
from ..complex_seq2seq.configuration_complex_seq2seq import ComplexSeq2SeqConfig
from ..complex_seq2seq.modeling_complex_seq2seq import ComplexSeq2SeqDecoder
from .configuration_spectral_transformer import SpectralTransformerConfig
from .embedding_spectral_transformer import SpectralEmbedding, check_features, frames_first, length_mask

__all__ = [
    "SpectralTransformerForAudioClassification",
    "SpectralTransformerForCTC",
    "SpectralTransformerForConditionalGeneration",
    "SpectralTransformerModel",
    "SpectralTransformerPreTrainedModel",
]


class SpectralSelfAttention(SpectralScaledAttention):
    """``nn.SpectralScaledAttention`` with Transformers' ``AttentionInterface``."""

    def __init__(self, config: SpectralTransformerConfig) -> None:
        assert config.attention_score is not None  # set by __post_init__
        super().__init__(
            config.hidden_size,
            config.num_attention_heads,
            dropout=config.attention_probs_dropout_prob,
            score=config.attention_score,
            normalization=config.attention_normalization,
            position_phase=config.position_phase,
            attention_function=attend_by_interface,
        )
        self.config = config

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        return self.attend_from(hidden_states, attention_mask, **kwargs)


class SpectralScaledLayer(EncoderLayer):
    """A real encoder layer with spectral-scaled self-attention (thesis, Eq. 5.8, Fig. 5.5)."""

    def make_attention(self, config: SpectralTransformerConfig, layer_idx: int | None) -> nn.Module:
        return SpectralSelfAttention(config)


class SpectralTransformerPreTrainedModel(ComplexPreTrainedModel):
    """Base class of the spectral Transformer models."""

    config: SpectralTransformerConfig
    main_input_name = "input_features"
    input_modalities = ("audio",)
    _input_embed_layer = "embedding"
    _no_split_modules = ["EncoderLayer", "SpectralScaledLayer", "DecoderLayer"]

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Return the number of output frames, ceil(T / time_pool_size), for ``lengths`` feature frames."""
        return (lengths + self.config.time_pool_size - 1) // self.config.time_pool_size

    def output_mask(self, hidden_states: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return a mask ``[B, T']`` that is true for the real frames of ``hidden_states [B, T', ...]``."""
        batch, size = hidden_states.shape[:2]
        if attention_mask is None:
            return torch.ones(batch, size, dtype=torch.bool, device=hidden_states.device)
        return length_mask(self.output_lengths(attention_mask.to(torch.bool).sum(-1)), size)


class FrameModel(SpectralTransformerPreTrainedModel):
    """The embedding of frames with dropout; takes the place of ``TextModel`` beside ``TransformerStack``."""

    def __init__(self, config: SpectralTransformerConfig) -> None:
        super().__init__(config)
        self.embedding = SpectralEmbedding(config)
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)


class SpectralTransformerModel(TransformerStack, FrameModel):
    """Spectral Transformer: embedding of frames and encoder layers (thesis, Fig. 5.4 and 5.5).

    Returns hidden states ``[B, ceil(T / time_pool_size), hidden_size]``, halves in the complex field.
    Padding comes last in the output, on whichever side of the input it was.
    """

    _can_record_outputs = {"hidden_states": EncoderLayer, "attentions": HeadedAttention}

    def __init__(self, config: SpectralTransformerConfig) -> None:
        layer = SpectralScaledLayer if config.variant == "spectral_scaled" else EncoderLayer
        super().__init__(config, layer, config.num_hidden_layers)

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self, input_features: Tensor, attention_mask: Tensor | None = None, **kwargs: TransformersKwargs
    ) -> BaseModelOutput:
        """Encode a batch of clips.

        Args:
            input_features: ``[B, T, feature_size]``, from ``SpectralFeatureExtractor``.
            attention_mask: ``[B, T]``, 1 for frames, 0 for padding on either side.

        Raises:
            TypeError: integer or complex features.
            ValueError: empty input, wrong shapes.
        """
        check_features(input_features, attention_mask, self.config.feature_size)
        features, lengths = frames_first(input_features, attention_mask)
        hidden_states = self.embedding(features.to(self.dtype), lengths)
        frames = None
        if attention_mask is not None:
            keep = length_mask(self.output_lengths(lengths), hidden_states.shape[1])
            # Padded bins hold positions alone, all of one modulus, so that max pooling would depend on rounding.
            hidden_states, frames = hidden_states.masked_fill(~keep.unsqueeze(-1), 0.0), keep.to(torch.long)
        score_mask = create_bidirectional_mask(config=self.config, inputs_embeds=hidden_states, attention_mask=frames)
        return BaseModelOutput(last_hidden_state=self.run_layers(hidden_states, score_mask, frames, **kwargs))


class SpectralTransformerForAudioClassification(SequenceClassifier, SpectralTransformerPreTrainedModel):
    """Spectral Transformer with a classification head on the mean of the last hidden state over the frames."""

    model_class = SpectralTransformerModel

    @can_return_tuple
    def forward(
        self,
        input_features: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> SequenceClassifierOutput:
        """Classify clips.

        Args:
            input_features, attention_mask: see ``SpectralTransformerModel``.
            labels: ``[B]`` or ``[B, num_labels]``, for the loss of ``config.problem_type``.

        Returns:
            Logits ``[B, num_labels]`` and, with ``labels``, the loss.
        """
        outputs = self.model(input_features, attention_mask=attention_mask, return_dict=True, **kwargs)
        logits = self.logits_of(outputs, self.output_mask(outputs.last_hidden_state, attention_mask))
        loss = None if labels is None else self.classification_loss(logits, labels)
        return SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


def ctc_loss(
    logits: Tensor,
    labels: Tensor,
    logit_lengths: Tensor,
    blank_token_id: int,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the CTC loss (Graves et al., 2006) of ``logits [B, T, vocab_size]`` and ``labels [B, U]``.

    Only the first ``logit_lengths [B]`` frames count, and labels of -100 are ignored. Computed in float32 and without
    cuDNN, which needs another layout of labels.
    """
    labels = labels.to(logits.device)
    symbols = (labels >= 0) & (labels != blank_token_id)
    log_probs = logits.log_softmax(-1, dtype=torch.float32).transpose(0, 1)
    with torch.backends.cudnn.flags(enabled=False):
        return F.ctc_loss(
            log_probs,
            labels[symbols],
            logit_lengths,
            symbols.sum(-1),
            blank=blank_token_id,
            reduction=reduction,
            zero_infinity=zero_infinity,
        )


class SpectralTransformerForCTC(SpectralTransformerPreTrainedModel):
    """Spectral Transformer with a CTC head: the readout of every frame.

    Padded frames predict the blank, so that batched decoding equals decoding clip by clip.
    """

    accepts_loss_kwargs = False

    def __init__(self, config: SpectralTransformerConfig) -> None:
        super().__init__(config)
        if config.pad_token_id is None:
            raise ValueError("pad_token_id must be the id of the CTC blank, got None. Use tokenizer.pad_token_id.")
        self.model = SpectralTransformerModel(config)
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)
        self.lm_head = Readout(config.hidden_size, config.vocab_size, config.readout, config.number_field)
        self.loss_function: Callable[..., Tensor] = ctc_loss
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_features: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> CausalLMOutput:
        """Return logits ``[B, T', vocab_size]`` and, with ``labels [B, U]``, the CTC loss.

        Labels of -100 are ignored; a clip without labels is trained to predict blanks only.

        Raises:
            ValueError: labels of a wrong shape, outside the vocabulary, or longer than their clip without
                ``ctc_zero_infinity``.
        """
        outputs = self.model(input_features, attention_mask=attention_mask, return_dict=True, **kwargs)
        logits = self.lm_head(self.dropout(outputs.last_hidden_state))
        frames = self.output_mask(logits, attention_mask)
        loss = None
        if labels is not None:
            self.check_labels(labels.cpu(), frames.sum(-1).cpu())  # the loss copies them to the CPU as well
            loss = self.loss_function(
                logits=logits,
                labels=labels,
                logit_lengths=frames.sum(-1),
                blank_token_id=self.config.pad_token_id,
                reduction=self.config.ctc_loss_reduction,
                zero_infinity=self.config.ctc_zero_infinity,
            )
        if attention_mask is not None:
            blank = F.one_hot(torch.tensor(self.config.pad_token_id, device=logits.device), logits.shape[-1])
            logits = torch.where(frames.unsqueeze(-1), logits, ((blank - 1) * 1e4).to(logits.dtype))
        return CausalLMOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )

    def check_labels(self, labels: Tensor, lengths: Tensor) -> None:
        """Raise for labels ``[B, U]`` that clips of ``lengths [B]`` frames cannot produce; both on the CPU."""
        if labels.dim() != 2 or len(labels) != len(lengths):
            raise ValueError(f"labels must be [batch={len(lengths)}, symbols], got {tuple(labels.shape)}.")
        labels = check_labels(labels, labels.shape, self.config.vocab_size)
        if torch.compiler.is_compiling() or self.config.ctc_zero_infinity:
            return
        needed = frames_needed(labels, self.config.pad_token_id)
        if (short := (needed > lengths).nonzero().flatten()).numel():
            row = int(short[0])
            found = f"labels that need {int(needed[row])}"
            raise ValueError(
                f"labels of row {row} must fit into {int(lengths[row])} frames, got {found}. Drop the clip or set "
                "ctc_zero_infinity=True."
            )


def frames_needed(labels: Tensor, blank_token_id: int | None) -> Tensor:
    """Return the least number of frames ``[B]`` for ``labels [B, U]``: CTC puts a blank between equal symbols."""
    symbols = (labels >= 0) & (labels != blank_token_id)
    repeats = (labels[:, 1:] == labels[:, :-1]) & symbols[:, 1:]
    return symbols.sum(-1) + repeats.sum(-1)


class SpectralTransformerForConditionalGeneration(
    SpectralTransformerPreTrainedModel, Seq2SeqHead, ComplexGenerationMixin
):
    """Spectral Transformer encoder with the decoder and LM head of ``ComplexSeq2Seq``, and ``generate()``.

    To start from an encoder trained with CTC, call ``from_pretrained(folder, decoder={...},
    ignore_mismatched_sizes=True)``.
    """

    def __init__(self, config: SpectralTransformerConfig) -> None:
        super().__init__(config)
        if config.decoder is None:
            raise ValueError("decoder must be set in the configuration, got None. For CTC use AutoModelForCTC.")
        self.model = SpectralTransformerModel(config)
        self.decoder = ComplexSeq2SeqDecoder(config.decoder)
        head = config.decoder
        self.lm_head = Readout(config.hidden_size, head.vocab_size, head.lm_readout, head.number_field)
        self.tie_head_to("decoder.embed_tokens")
        self.post_init()

    def get_expanded_tied_weights_keys(self, all_submodels: bool = False) -> dict[str, str]:
        return dict(self._tied_weights_keys or {}) if self.config.decoder.tie_word_embeddings else {}

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        return self.model

    def get_input_embeddings(self) -> nn.Module:
        return self.decoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.decoder.embed_tokens = value  # type: ignore[assignment]

    @property
    def decoder_config(self) -> ComplexSeq2SeqConfig:
        """The configuration of the decoder."""
        return self.config.decoder

    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    @can_return_tuple
    def forward(
        self,
        input_features: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: Cache | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: TransformersKwargs,
    ) -> Seq2SeqLMOutput:
        """Return logits ``[B, U, vocab_size]`` and, with ``labels [B, U]``, the cross entropy.

        Args:
            input_features, attention_mask: see ``SpectralTransformerModel``.
            encoder_outputs: encoder outputs of an earlier call with the same mask, instead of ``input_features``.
            decoder_input_ids, decoder_attention_mask, decoder_inputs_embeds, cache, use_cache: the target, see
                ``ComplexSeq2SeqModel``.
            labels: the next token of every position, -100 to ignore it; default ``decoder_input_ids`` are made from
                them.

        Raises:
            ValueError: no features, no target, wrong shapes, ids outside the vocabulary.
        """
        if labels is not None and decoder_input_ids is None and decoder_inputs_embeds is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if decoder_input_ids is None and decoder_inputs_embeds is None:
            raise ValueError("decoder_input_ids must be given, got None. Or use pipeline('complex-speech2text').")
        if encoder_outputs is None:
            if input_features is None:
                raise ValueError("input_features must be a tensor, got None. Or pass encoder_outputs.")
            source: BaseModelOutput = self.model(
                input_features, attention_mask=attention_mask, return_dict=True, **kwargs
            )
        else:
            source = as_encoder_output(encoder_outputs)
        frames = None if attention_mask is None else self.output_mask(source.last_hidden_state, attention_mask)
        target = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            encoder_hidden_states=source.last_hidden_state,
            encoder_attention_mask=frames,
            cache=cache,
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        logits = self.lm_head(target.last_hidden_state)
        loss = None if labels is None else self.smoothed_loss(logits, labels, kwargs.get("num_items_in_batch"))
        return self.head_output(join_outputs(source, target), loss, logits)
