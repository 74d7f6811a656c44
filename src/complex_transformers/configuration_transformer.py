# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all Transformers share: attention, feed-forward layers, norms, language-model head."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from typing_extensions import Self

from .configuration_text import TextConfig
from .configuration_utils import NetworkConfig
from .nn.attention import ATTENTION_SCORES, check_attention
from .nn.embedding import check_choice
from .nn.readout import check_readout

__all__ = ["NORM_POSITIONS", "NORM_TYPES", "LayersConfig", "TransformerConfig"]

NORM_TYPES = ("layer", "rms", "batch")
NORM_POSITIONS = ("post", "pre")


@strict
class LayersConfig(NetworkConfig):
    """Base of the configurations with Transformer layers (ComplexOrder App. B); no model type of its own.

    Besides the arguments of ``NetworkConfig``:

    Args:
        num_attention_heads: of every layer; they divide the complex features.
        intermediate_size: width of the feed-forward layer, even.
        attention_probs_dropout_prob: a probability.
        attention_score: ``modulus`` |q k^H| (Eq. 14, default), ``real`` Re(q k^H) through SDPA, or
            ``bilinear_modulus`` |q k^T| (the released code); the real field has ``real``.
        attention_normalization: ``softmax``, ``probability_amplitude`` (Thesis 2.37) or ``split_softmax``
            (SynCoNMT Eq. 14).
        share_parts: Re(W) = Im(W) in q, k, v (Table 4).
        norm_type: ``layer`` (each part on its own), ``rms`` (by modulus) or ``batch`` (the paper's text).
        norm_position: ``post`` (Vaswani et al. 2017) or ``pre``.
        layer_norm_eps: added to the variances of every norm.
    """

    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size")
    positive_sizes: ClassVar[tuple[str, ...]] = (*NetworkConfig.positive_sizes, "num_attention_heads")
    attention_scores: ClassVar[tuple[str, ...]] = ATTENTION_SCORES
    complex_only: ClassVar[dict[str, Any]] = {"attention_score": None, "share_parts": False}

    num_attention_heads: int = 8
    intermediate_size: int = 1024
    attention_probs_dropout_prob: float | int = 0.1
    attention_score: str | None = None
    attention_normalization: str = "softmax"
    share_parts: bool = False
    norm_type: str = "layer"
    norm_position: str = "post"
    layer_norm_eps: float | int = 1e-5

    def __post_init__(self, **kwargs: Any) -> None:
        if self.attention_score is None:
            self.attention_score = "real" if self.number_field == "real" else "modulus"
        super().__post_init__(**kwargs)

    def real_twin(self, **changes: Any) -> Self:
        """As in ``NetworkConfig``; complex attention weights become ``softmax``."""
        if self.attention_normalization == "split_softmax":
            changes = {"attention_normalization": "softmax", **changes}
        return super().real_twin(**changes)

    def validate_sizes(self) -> None:
        """Widths are positive and even, heads divide the features."""
        super().validate_sizes()
        features = self.hidden_size if self.number_field == "real" else self.complex_size
        if features % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads must divide the {features} {self.number_field} features of "
                f"hidden_size={self.hidden_size}, got {self.num_attention_heads}"
            )

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        self._check_attention()
        check_choice("norm_type", self.norm_type, NORM_TYPES)
        check_choice("norm_position", self.norm_position, NORM_POSITIONS)
        if self.share_parts and self.number_field == "real":
            raise ValueError("share_parts=True needs number_field='complex': a real weight has one part")

    def _check_attention(self) -> None:
        assert self.attention_score is not None  # __post_init__ has filled it in
        check_attention(self.attention_score, self.attention_normalization, self.number_field, self.attention_scores)


@strict
class TransformerConfig(LayersConfig, TextConfig):
    """Base of the configurations of Transformers for text; no model type of its own.

    Besides the arguments of ``LayersConfig`` and ``TextConfig``:

    Args:
        lm_readout: ``readout`` of a language-model head, default ``concat``.
        tie_word_embeddings: use the word table as the weight of the language-model head: ``lm_readout="concat"`` with
            a free table, ``"feature_modulus"`` with unshared amplitudes.
    """

    complex_only: ClassVar[dict[str, Any]] = {**LayersConfig.complex_only, "lm_readout": "concat"}

    lm_readout: str = "concat"
    tie_word_embeddings: bool = False

    def validate_names(self) -> None:
        """As in ``LayersConfig``; also the readout of a language-model head."""
        super().validate_names()
        check_readout(self.lm_readout, self.number_field, "lm_readout")

    def validate_embedding(self) -> None:
        """As in ``TextConfig``; a tied head has the shape of the word table."""
        super().validate_embedding()
        if self.tie_word_embeddings:
            self._validate_tying()

    def _validate_tying(self) -> None:
        free_table = self.embedding_type in ("word", "learned_position", "sinusoidal_position")
        fits = self.lm_readout == "concat" if free_table else self.lm_readout == "feature_modulus"
        if not fits or self.amplitude_sharing != "none":
            raise ValueError(
                "tie_word_embeddings=True needs a head of the shape of the word table: lm_readout='concat' with a "
                "free table (word, learned_position, sinusoidal_position), or lm_readout='feature_modulus' with "
                f"unshared amplitudes; got lm_readout={self.lm_readout!r}, embedding_type={self.embedding_type!r}, "
                f"amplitude_sharing={self.amplitude_sharing!r}"
            )
