# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of text models with wave or position embeddings share: embedding, readout, activation."""

from typing import Any

from huggingface_hub.dataclasses import strict
from typing_extensions import Self

from .configuration_utils import ComplexConfig
from .nn.activation import ACT2CFN
from .nn.embedding import (
    DAMPINGS,
    EMBEDDING_TYPES,
    FREQUENCY_INITS,
    PHASES,
    SHARINGS,
    check_choice,
    check_words_differ,
)
from .nn.readout import check_readout

__all__ = ["TextConfig"]


@strict
class TextConfig(ComplexConfig):
    """Base of the configurations of text models; no model type of its own.

    Besides the arguments of ``ComplexConfig``:

    Args:
        hidden_act: a name of ``ACT2CFN``.
        classifier_dropout: a probability, by default ``hidden_dropout_prob``.
        embedding_type: ``complex_order``, ``complex_vanilla`` (phase without position), ``word``,
            ``learned_position`` (PE) or ``sinusoidal_position`` (TPE).
        amplitude_sharing, frequency_sharing, phase, damping, frequency_init: see ``nn.ComplexOrderEmbedding``.
        readout: of the classification heads: ``modulus`` (default), ``squared_modulus``, ``concat`` or
            ``feature_modulus``; the real field has ``concat``.
        max_position_embeddings: longest text, for ``learned_position`` only; the others have none.
    """

    hidden_act: str = "split_gelu"
    classifier_dropout: float | int | None = None
    embedding_type: str = "complex_order"
    amplitude_sharing: str = "none"
    frequency_sharing: str = "none"
    phase: str = "none"
    damping: str = "none"
    frequency_init: str = "sinusoidal"
    readout: str | None = None
    max_position_embeddings: int = 512

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
