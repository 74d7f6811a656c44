# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the ComplexOrder encoder."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.activation import ACT2CFN
from ...nn.attention.multi_head import check_shared_parts
from ...nn.checks import check_choice
from ...nn.widely_linear import check_linear_type
from ..base.configuration import NORM_TYPES, LayersConfig, TextConfig, check_positive_field

__all__ = ["ComplexOrderConfig"]


@strict
class ComplexOrderConfig(LayersConfig, TextConfig):
    """Configuration of a ComplexOrder encoder (Wang et al., ICLR 2020, section 3.1 and App. B); the paper's size.

    Features of BERT (Devlin et al. 2019) are options, off by default; ``lift`` uses them to convert a BERT into this
    encoder. Besides the arguments of ``LayersConfig`` and ``TextConfig``:

    Args:
        lm_readout: ``readout`` of the LM head, default ``concat``.
        tie_word_embeddings: share the embedding table with the LM head: ``lm_readout="concat"`` with a free table,
            ``"feature_modulus"`` with unshared amplitudes.
        num_hidden_layers: encoder layers.
        norm_type: also ``stored_layer``, one mean and one variance over all stored elements of a token, as in a real
            network (Ba et al. 2016); in the real field the same as ``layer``.
        linear_type: dense layers, except the heads: ``complex`` W z (default), ``conjugate`` W conj(z) or
            ``widely_linear`` U z + V conj(z), every real matrix. The real field has ``real``.
        attention_scale: factor of the scores; default D^(-1/2), for ``cosine`` D^(1/2), for heads of D features,
            complex ones in the complex field, so half the stored width.
        type_vocab_size: number of token types, such as first and second sentence of a pair; their learned vectors are
            added to the embeddings (BERT). None, the default, for no types.
        embedding_norm: a norm of the embeddings, before dropout (BERT).
        add_pooling_layer: add ``pooler_output``, the first token through a dense layer and ``pooler_act`` (BERT); the
            sequence classification head then reads it instead of the mean of all tokens.
        pooler_act: activation of the pooling layer, a name of ``ACT2CFN``: ``split_tanh`` (BERT, default), or
            ``split_relu`` (DistilBERT).

    Example:
        >>> from complex_transformers import ComplexOrderConfig, ComplexOrderModel
        >>> model = ComplexOrderModel(ComplexOrderConfig(vocab_size=100, hidden_size=32, num_attention_heads=4))
        >>> model.config.complex_size
        16
    """

    model_type = "complex_order"
    positive_sizes: ClassVar[tuple[str, ...]] = (*LayersConfig.positive_sizes, "num_hidden_layers")
    norm_types: ClassVar[tuple[str, ...]] = (*NORM_TYPES, "stored_layer")
    complex_only: ClassVar[dict[str, Any]] = {**LayersConfig.complex_only, "linear_type": None}

    num_hidden_layers: int = 1
    lm_readout: str = "concat"
    tie_word_embeddings: bool = False
    linear_type: str | None = None
    attention_scale: float | int | None = None
    type_vocab_size: int | None = None
    embedding_norm: bool = False
    add_pooling_layer: bool = False
    pooler_act: str = "split_tanh"

    def __post_init__(self, **kwargs: Any) -> None:
        if self.linear_type is None:
            self.linear_type = self.default_of("linear_type")
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        if name == "linear_type":
            return "real" if self.number_field == "real" else "complex"
        return super().default_of(name)

    def validate_sizes(self) -> None:
        super().validate_sizes()
        check_positive_field(self, "type_vocab_size", "attention_scale")

    def validate_names(self) -> None:
        super().validate_names()
        assert self.linear_type is not None  # __post_init__ has set it
        check_linear_type(self.linear_type, self.number_field)
        check_shared_parts(self.share_parts, self.linear_type)
        check_choice("pooler_act", self.pooler_act, tuple(ACT2CFN))
