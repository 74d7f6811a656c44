# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of text models with wave or position embeddings share: their embedding."""

from huggingface_hub.dataclasses import strict

from .configuration_utils import NetworkConfig
from .nn.embedding import (
    DAMPINGS,
    EMBEDDING_TYPES,
    FREQUENCY_INITS,
    PHASES,
    SHARINGS,
    check_choice,
    check_words_differ,
)

__all__ = ["TextConfig"]


@strict
class TextConfig(NetworkConfig):
    """Base of the configurations of text models; no model type of its own.

    Besides the arguments of ``NetworkConfig``, which has those of ``ComplexConfig``:

    Args:
        embedding_type: ``complex_order``, ``complex_vanilla`` (phase without position), ``word``,
            ``learned_position`` (PE) or ``sinusoidal_position`` (TPE).
        amplitude_sharing, frequency_sharing, phase, damping, frequency_init: see ``nn.ComplexOrderEmbedding``.
        max_position_embeddings: longest text, for ``learned_position`` only; the others have none.
    """

    embedding_type: str = "complex_order"
    amplitude_sharing: str = "none"
    frequency_sharing: str = "none"
    phase: str = "none"
    damping: str = "none"
    frequency_init: str = "sinusoidal"
    max_position_embeddings: int = 512

    def validate_names(self) -> None:
        """As in ``NetworkConfig``; also the embedding."""
        super().validate_names()
        check_choice("embedding_type", self.embedding_type, EMBEDDING_TYPES)

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
