# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all text models share: words, number field, embedding, readout, initialisation."""

from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .hub import HubMixin
from .nn.activation import ACT2CFN
from .nn.arithmetic import arithmetic
from .nn.embedding import (
    DAMPINGS,
    EMBEDDING_TYPES,
    FREQUENCY_INITS,
    PHASES,
    SHARINGS,
    check_choice,
    check_words_differ,
)
from .nn.initialization import INITIALIZERS
from .nn.readout import check_readout

__all__ = ["TextConfig"]


@strict
class TextConfig(HubMixin, PreTrainedConfig):
    """Base of the configurations of text models; no model type of its own.

    Widths count stored real numbers: ``hidden_size`` is the width of ``hidden_states``, ``[real | imag]`` halves of
    ``complex_size = hidden_size // 2`` complex features. A complex model costs what a real one of the same widths
    costs and has half its weights in each layer.

    Args:
        vocab_size: words.
        hidden_size: width of the embedding and the hidden states, even.
        hidden_act: a name of ``ACT2CFN``.
        hidden_dropout_prob, classifier_dropout: probabilities; the second defaults to the first.
        number_field: ``complex``, or ``real`` for the real twin of the same widths.
        embedding_type: ``complex_order``, ``complex_vanilla`` (phase without position), ``word``,
            ``learned_position`` (PE) or ``sinusoidal_position`` (TPE).
        amplitude_sharing, frequency_sharing, phase, damping, frequency_init: see ``nn.ComplexOrderEmbedding``.
        readout: of the classification heads: ``modulus`` (default), ``squared_modulus``, ``concat`` or
            ``feature_modulus``; the real field has ``concat``.
        weight_init: ``glorot``, ``he``, ``unitary`` or ``normal`` for the dense layers.
        initializer_range: standard deviation of embedding tables (amplitudes; each part of a complex table) and of
            ``weight_init="normal"``.
        max_position_embeddings: longest text, for ``learned_position`` only; the others have none.
        pad_token_id: its amplitude is zero and stays so; None for no such word.
        bos_token_id, eos_token_id: for tokenizers that have them; no model here reads them.
    """

    keys_to_ignore_at_inference: ClassVar[list[str]] = []
    # Widths of halves and other counts of a subclass, checked by `validate_sizes`.
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size",)
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size",)
    # Fields of a subclass that the real field cannot have -> their value in the real twin.
    complex_only: ClassVar[dict[str, Any]] = {}

    vocab_size: int = 30522
    hidden_size: int = 512
    hidden_act: str = "split_gelu"
    hidden_dropout_prob: float | int = 0.1
    classifier_dropout: float | int | None = None
    number_field: str = "complex"
    embedding_type: str = "complex_order"
    amplitude_sharing: str = "none"
    frequency_sharing: str = "none"
    phase: str = "none"
    damping: str = "none"
    frequency_init: str = "sinusoidal"
    readout: str | None = None
    weight_init: str = "glorot"
    initializer_range: float | int = 0.02
    max_position_embeddings: int = 512
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if self.readout is None:
            self.readout = "concat" if self.number_field == "real" else "modulus"
        super().__post_init__(**kwargs)

    @property
    def complex_size(self) -> int:
        """Complex features of a hidden state, ``hidden_size // 2``."""
        return self.hidden_size // 2

    def real_twin(self, **changes: Any) -> Self:
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        fields = {**self.to_dict(), "number_field": "real", "readout": None, **type(self).complex_only}
        return type(self).from_dict({**fields, **changes})

    def validate_sizes(self) -> None:
        """Counts are positive, widths of halves even."""
        for name in (*self.positive_sizes, *self.even_sizes):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in self.even_sizes:
            if (size := getattr(self, name)) % 2:
                raise ValueError(f"{name} holds [real | imag] halves and must be even, got {size}; use {size + 1}")

    def validate_probabilities(self) -> None:
        """Dropout probabilities lie in [0, 1), deviations are positive."""
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"):
            value = getattr(self, name, None)
            if value is not None and not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be in [0, 1), got {value}")
        for name in ("layer_norm_eps", "initializer_range"):
            if (value := getattr(self, name, None)) is not None and value <= 0.0:
                raise ValueError(f"{name} must be positive, got {value}")

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        arithmetic(self.number_field)
        check_choice("hidden_act", self.hidden_act, tuple(ACT2CFN))
        check_choice("weight_init", self.weight_init, tuple(INITIALIZERS))
        check_choice("embedding_type", self.embedding_type, EMBEDDING_TYPES)
        assert self.readout is not None  # __post_init__ has filled it in
        check_readout(self.readout, self.number_field)

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
