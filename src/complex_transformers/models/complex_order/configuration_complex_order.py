# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the ComplexOrder encoder."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from ...hub import HubMixin
from ...nn.activation import ACT2CFN
from ...nn.attention import check_attention
from ...nn.embedding import (
    DAMPINGS,
    EMBEDDING_TYPES,
    FREQUENCY_INITS,
    PHASES,
    SHARINGS,
    check_choice,
    check_words_differ,
)
from ...nn.initialization import INITIALIZERS
from ...nn.readout import check_readout

__all__ = ["ComplexOrderConfig"]

NORM_TYPES = ("layer", "rms", "batch")
NORM_POSITIONS = ("post", "pre")


@strict
class ComplexOrderConfig(HubMixin, PreTrainedConfig):
    """Configuration of a ComplexOrder encoder (Wang et al., ICLR 2020, section 3.1 and App. B); the paper's size.

    Widths count stored real numbers: ``hidden_size`` is the width of ``hidden_states``, ``[real | imag]`` halves of
    ``complex_size = hidden_size // 2`` complex features. A complex model costs what a real one of the same
    ``hidden_size`` costs and has half its weights in each dense layer.

    Args:
        vocab_size: words.
        hidden_size: width of the hidden states, even.
        num_hidden_layers, num_attention_heads: the heads divide the complex features.
        intermediate_size: width of the feed-forward layer, even.
        hidden_act: a name of ``ACT2CFN``.
        hidden_dropout_prob, attention_probs_dropout_prob, classifier_dropout: probabilities; the last defaults to
            the first.
        number_field: ``complex``, or ``real`` for the real twin of the same widths.
        embedding_type: ``complex_order``, ``complex_vanilla`` (phase without position), ``word``,
            ``learned_position`` (PE) or ``sinusoidal_position`` (TPE).
        amplitude_sharing, frequency_sharing, phase, damping, frequency_init: see ``nn.ComplexOrderEmbedding``.
        attention_score: ``modulus`` |q k^H| (Eq. 14, default), ``real`` Re(q k^H) through SDPA, or
            ``bilinear_modulus`` |q k^T| (the released code); the real field has ``real``.
        attention_normalization: ``softmax``, ``probability_amplitude`` (Thesis 2.37) or ``split_softmax``
            (SynCoNMT Eq. 14).
        share_parts: Re(W) = Im(W) in q, k, v (Table 4).
        norm_type: ``layer`` (each part on its own), ``rms`` (by modulus) or ``batch`` (the paper's text).
        norm_position: ``post`` (Vaswani et al. 2017) or ``pre``.
        readout: of the classification heads: ``modulus`` (default), ``squared_modulus``, ``concat`` or
            ``feature_modulus``; the real field has ``concat``.
        lm_readout: the same for the masked language model, default ``concat``.
        weight_init: ``glorot``, ``he``, ``unitary`` or ``normal`` for the dense layers.
        initializer_range: standard deviation of embedding tables (amplitudes; each part of a complex table) and of
            ``weight_init="normal"``.
        layer_norm_eps: added to the variances of every norm.
        max_position_embeddings: longest text, for ``learned_position`` only; the others have none.
        pad_token_id: its amplitude is zero and stays so; None for no such word.
        bos_token_id, eos_token_id: for tokenizers that have them; no model here reads them.
        tie_word_embeddings: use the word table as the weight of the language-model head: ``lm_readout="concat"`` with
            a free table, ``"feature_modulus"`` with unshared amplitudes.

    Example:
        >>> from complex_transformers import ComplexOrderConfig, ComplexOrderModel
        >>> model = ComplexOrderModel(ComplexOrderConfig(vocab_size=100, hidden_size=32, num_attention_heads=4))
        >>> model.config.complex_size
        16
    """

    model_type = "complex_order"
    keys_to_ignore_at_inference: ClassVar[list[str]] = []

    vocab_size: int = 30522
    hidden_size: int = 512
    num_hidden_layers: int = 1
    num_attention_heads: int = 8
    intermediate_size: int = 1024
    hidden_act: str = "split_gelu"
    hidden_dropout_prob: float | int = 0.1
    attention_probs_dropout_prob: float | int = 0.1
    classifier_dropout: float | int | None = None
    number_field: str = "complex"
    embedding_type: str = "complex_order"
    amplitude_sharing: str = "none"
    frequency_sharing: str = "none"
    phase: str = "none"
    damping: str = "none"
    frequency_init: str = "sinusoidal"
    attention_score: str | None = None
    attention_normalization: str = "softmax"
    share_parts: bool = False
    norm_type: str = "layer"
    norm_position: str = "post"
    readout: str | None = None
    lm_readout: str = "concat"
    weight_init: str = "glorot"
    initializer_range: float | int = 0.02
    layer_norm_eps: float | int = 1e-5
    max_position_embeddings: int = 512
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.attention_score is None:
            self.attention_score = "real" if self.number_field == "real" else "modulus"
        if self.readout is None:
            self.readout = "concat" if self.number_field == "real" else "modulus"
        super().__post_init__(**kwargs)

    @property
    def complex_size(self) -> int:
        """Complex features of a hidden state, ``hidden_size // 2``."""
        return self.hidden_size // 2

    def real_twin(self, **changes: Any) -> "ComplexOrderConfig":
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        fields = {
            **self.to_dict(),
            "number_field": "real",
            "attention_score": None,
            "readout": None,
            "lm_readout": "concat",
            "share_parts": False,
        }
        if fields["attention_normalization"] == "split_softmax":
            fields["attention_normalization"] = "softmax"
        return type(self).from_dict({**fields, **changes})

    def validate_sizes(self) -> None:
        """Widths are positive and even, heads divide the features."""
        for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("hidden_size", "intermediate_size"):
            if getattr(self, name) % 2:
                size = getattr(self, name)
                raise ValueError(f"{name} holds [real | imag] halves and must be even, got {size}; use {size + 1}")
        features = self.hidden_size if self.number_field == "real" else self.complex_size
        if features % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads must divide the {features} {self.number_field} features of "
                f"hidden_size={self.hidden_size}, got {self.num_attention_heads}"
            )

    def validate_probabilities(self) -> None:
        """Dropout probabilities lie in [0, 1)."""
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be in [0, 1), got {value}")
        for name in ("layer_norm_eps", "initializer_range"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        check_choice("hidden_act", self.hidden_act, tuple(ACT2CFN))
        check_choice("weight_init", self.weight_init, tuple(INITIALIZERS))
        check_choice("embedding_type", self.embedding_type, EMBEDDING_TYPES)
        check_choice("norm_type", self.norm_type, NORM_TYPES)
        check_choice("norm_position", self.norm_position, NORM_POSITIONS)
        # __post_init__ has filled both in.
        assert self.attention_score is not None
        assert self.readout is not None
        check_attention(self.attention_score, self.attention_normalization, self.number_field)
        check_readout(self.readout, self.number_field)
        check_readout(self.lm_readout, self.number_field, "lm_readout")
        if self.share_parts and self.number_field == "real":
            raise ValueError("share_parts=True needs number_field='complex': a real weight has one part")

    def validate_embedding(self) -> None:
        """The fields of the complex-order embedding are known, and are used only with it."""
        choices = {
            "amplitude_sharing": SHARINGS,
            "frequency_sharing": SHARINGS,
            "phase": PHASES,
            "damping": DAMPINGS,
            "frequency_init": FREQUENCY_INITS,
        }
        for name, valid in choices.items():
            check_choice(name, getattr(self, name), valid)
        unused = {
            "complex_order": (),
            "complex_vanilla": ("frequency_sharing", "phase", "damping", "frequency_init"),
        }.get(self.embedding_type, tuple(choices))
        for name in unused:
            default = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no effect with embedding_type={self.embedding_type!r}; "
                    f"leave it at {default!r}, or use embedding_type='complex_order'"
                )
        if self.embedding_type == "complex_order":
            check_words_differ(self.amplitude_sharing, self.frequency_sharing, self.phase)
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
