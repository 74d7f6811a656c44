# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the complex encoder-decoder Transformer."""

from typing import ClassVar

from huggingface_hub.dataclasses import strict

from ..base.configuration import LayersConfig, TextConfig, check_causal_norm

__all__ = ["ComplexSeq2SeqConfig"]


@strict
class ComplexSeq2SeqConfig(LayersConfig, TextConfig):
    """Configuration of an encoder-decoder Transformer (Wang et al., ICLR 2020, section 3.2); the paper's size.

    The paper has 6 layers, 8 heads, dropout 0.1 and 512 complex features, which are stored as 1024 real numbers.
    Besides the arguments of ``TransformerConfig``, which has those of ``TextConfig``:

    Args:
        hidden_size, intermediate_size: stored widths: twice the paper's 512 complex features, and four times that.
        encoder_layers, decoder_layers: ``num_hidden_layers`` is another name of the first.
        share_embeddings: one embedding of source and target words, for a joint vocabulary; else one for each.
        label_smoothing: epsilon of the training loss (Szegedy et al. 2016), (1 - epsilon) of which is the cross
            entropy of the label and epsilon that of all words alike; evaluation has none.
        decoder_start_token_id: first token of every target.
        use_cache: keep keys and values between the steps of ``generate``.
        is_encoder_decoder: what Transformers reads to know the kind of model.
        max_position_embeddings: longest source and target, for ``learned_position`` only; the others have none.

    Example:
        >>> from complex_transformers import ComplexSeq2SeqConfig
        >>> config = ComplexSeq2SeqConfig(vocab_size=8000, hidden_size=256, encoder_layers=3, decoder_layers=3)
        >>> config.real_twin(embedding_type="sinusoidal_position").number_field
        'real'
    """

    model_type = "complex_seq2seq"
    attribute_map: ClassVar[dict[str, str]] = {"num_hidden_layers": "encoder_layers"}
    positive_sizes: ClassVar[tuple[str, ...]] = (*LayersConfig.positive_sizes, "encoder_layers", "decoder_layers")

    hidden_size: int = 1024
    intermediate_size: int = 4096
    lm_readout: str = "concat"
    tie_word_embeddings: bool = False
    encoder_layers: int = 6
    decoder_layers: int = 6
    share_embeddings: bool = True
    label_smoothing: float | int = 0.0
    decoder_start_token_id: int | None = None
    use_cache: bool = True
    is_encoder_decoder: bool = True

    def validate_names(self) -> None:
        super().validate_names()
        check_causal_norm(self)
