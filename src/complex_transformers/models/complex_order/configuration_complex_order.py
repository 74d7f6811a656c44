# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the ComplexOrder encoder."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.activation import ACT2CFN
from ...nn.attention.multi_head import check_shared_parts
from ...nn.checks import check_choice
from ...nn.widely_linear import check_linear_type
from ..base.configuration import NORM_TYPES, LayersConfig, TextConfig

__all__ = ["ComplexOrderConfig"]


@strict
class ComplexOrderConfig(LayersConfig, TextConfig):
    """Configuration of a ComplexOrder encoder (Wang et al., ICLR 2020, section 3.1 and App. B); the paper's size.

    What BERT (Devlin et al. 2019) has besides is an option, off by default: with all of them ``lift`` makes this
    encoder of a BERT. Besides the arguments of ``TransformerConfig``, which has those of ``TextConfig``:

    Args:
        num_hidden_layers: encoder layers.
        norm_type: also ``stored_layer``, one mean and one variance of all stored numbers of a token, that of a real
            network (Ba et al. 2016); in the real field the same as ``layer``.
        linear_type: of all layers but the readouts: ``complex`` W z (default), ``conjugate`` W conj(z) or
            ``widely_linear`` U z + V conj(z), every real matrix. The real field has ``real``.
        attention_scale: factor of the scores; default D^(-1/2) for heads of D features, complex ones in the complex
            field (a head of BERT has twice as many numbers).
        type_vocab_size: types of tokens, such as the first and the second text of a pair; a learned vector of each
            is added to the embeddings (BERT). None, the default, for no types.
        embedding_norm: a norm of the embeddings, before their dropout (BERT).
        add_pooling_layer: ``pooler_output``, the first token through a dense layer and ``pooler_act`` (BERT), which
            classifies sequences in place of the mean of their tokens.
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
        """As in ``TransformerConfig``; the type of the layers is that of the number field."""
        if name == "linear_type":
            return "real" if self.number_field == "real" else "complex"
        return super().default_of(name)

    def validate_sizes(self) -> None:
        """As in ``TransformerConfig``; types of tokens are some, or None."""
        super().validate_sizes()
        if self.type_vocab_size is not None and self.type_vocab_size < 1:
            raise ValueError(f"type_vocab_size must be positive, or None for no types, got {self.type_vocab_size}")

    def validate_probabilities(self) -> None:
        """As in ``TransformerConfig``; a scale of scores is positive."""
        super().validate_probabilities()
        if self.attention_scale is not None and self.attention_scale <= 0.0:
            raise ValueError(f"attention_scale must be positive, got {self.attention_scale}")

    def validate_names(self) -> None:
        """As in ``TransformerConfig``; also the layers."""
        super().validate_names()
        assert self.linear_type is not None  # __post_init__ has filled it in
        check_linear_type(self.linear_type, self.number_field)
        check_shared_parts(self.share_parts, self.linear_type)
        check_choice("pooler_act", self.pooler_act, tuple(ACT2CFN))
