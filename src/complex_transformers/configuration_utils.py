# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all models share: widths, number field, special tokens; activations and readouts."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig
from typing_extensions import Self

from .hub import HubMixin
from .nn.activation import ACT2CFN
from .nn.arithmetic import arithmetic
from .nn.embedding import check_choice
from .nn.initialization import INITIALIZERS
from .nn.readout import check_readout

__all__ = ["ComplexConfig", "NetworkConfig"]


@strict
class ComplexConfig(HubMixin, PreTrainedConfig):
    """Base of all configurations; no model type of its own.

    Widths count stored real numbers: ``hidden_size`` is the width of ``hidden_states``, ``[real | imag]`` halves of
    ``complex_size = hidden_size // 2`` complex features. A complex model costs what a real one of the same widths
    costs and has half its weights in each layer.

    Args:
        vocab_size: words.
        hidden_size: width of the embedding and the hidden states, even.
        hidden_dropout_prob: a probability.
        number_field: ``complex``, or ``real`` for the real twin of the same widths.
        weight_init: ``glorot``, ``he``, ``unitary`` or ``normal`` for the dense layers.
        initializer_range: standard deviation of embedding tables (amplitudes; each part of a complex table) and of
            ``weight_init="normal"``.
        pad_token_id: its embedding is zero and stays so; None for no such word.
        bos_token_id, eos_token_id: for tokenizers that have them, and for ``generate()``.
    """

    keys_to_ignore_at_inference: ClassVar[list[str]] = []
    # Widths of halves and other counts of a subclass, checked by `validate_sizes`.
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size",)
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size",)
    # Fields of a subclass that the real field cannot have -> their value in the real twin.
    complex_only: ClassVar[dict[str, Any]] = {}

    vocab_size: int = 30522
    hidden_size: int = 512
    hidden_dropout_prob: float | int = 0.1
    number_field: str = "complex"
    weight_init: str = "glorot"
    initializer_range: float | int = 0.02
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None

    @property
    def complex_size(self) -> int:
        """Complex features of a hidden state, ``hidden_size // 2``."""
        return self.hidden_size // 2

    def real_twin(self, **changes: Any) -> Self:
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        fields = {**self.to_dict(), "number_field": "real", **type(self).complex_only}
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
        check_choice("weight_init", self.weight_init, tuple(INITIALIZERS))


@strict
class NetworkConfig(ComplexConfig):
    """Base of the configurations with activations between layers and classification heads; no model type of its own.

    Besides the arguments of ``ComplexConfig``:

    Args:
        hidden_act: a name of ``ACT2CFN``.
        classifier_dropout: a probability, by default ``hidden_dropout_prob``.
        readout: of the classification heads: ``modulus`` (default), ``squared_modulus``, ``concat`` or
            ``feature_modulus``; the real field has ``concat``.
    """

    hidden_act: str = "split_gelu"
    classifier_dropout: float | int | None = None
    readout: str | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if self.readout is None:
            self.readout = "concat" if self.number_field == "real" else "modulus"
        super().__post_init__(**kwargs)

    def real_twin(self, **changes: Any) -> Self:
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        return super().real_twin(**{"readout": None, **changes})

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        check_choice("hidden_act", self.hidden_act, tuple(ACT2CFN))
        assert self.readout is not None  # __post_init__ has filled it in
        check_readout(self.readout, self.number_field)
