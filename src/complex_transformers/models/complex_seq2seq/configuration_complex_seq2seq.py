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

    The paper has 6 layers, 8 heads, dropout 0.1 and 512 complex features, which is a stored width of 1024. Besides the
    arguments of ``LayersConfig`` and ``TextConfig``:

    Args:
        lm_readout: ``readout`` of the LM head, default ``concat``.
        tie_word_embeddings: share the embedding table with the LM head: ``lm_readout="concat"`` with a free table,
            ``"feature_modulus"`` with unshared amplitudes.
        hidden_size, intermediate_size: stored widths.
        encoder_layers, decoder_layers: number of layers; ``num_hidden_layers`` is an alias of the first.
        share_embeddings: share one embedding between encoder and decoder, for a joint vocabulary.
        label_smoothing: epsilon of label smoothing in the training loss (Szegedy et al. 2016); not used in evaluation.
        decoder_start_token_id: first token of every target.
        use_cache: use a KV cache in ``generate``.
        is_encoder_decoder: always True; read by Transformers.
        max_position_embeddings: maximum length of source and target with ``learned_position``; other types have none.
            Sigmoid weights start from it, see ``LayersConfig``.

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
