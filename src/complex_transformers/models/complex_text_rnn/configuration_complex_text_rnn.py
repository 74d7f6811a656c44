# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the recurrent text classifier."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ...nn.recurrent.gates import check_cell, default_gate
from ..base.configuration import TextConfig

__all__ = ["ComplexTextRNNConfig"]

RNN_TYPES = ("lstm", "gru", "rnn")
POOLINGS = ("last", "mean")


@strict
class ComplexTextRNNConfig(TextConfig):
    """Configuration of a recurrent text classifier with complex layers (ComplexOrder Eq. 12, Thesis 2.19-2.21).

    Takes the arguments of ``TextConfig`` (``weight_init`` applies to the classification head, ``hidden_act`` is not
    used) and, in addition:

    Args:
        rnn_type: ``lstm``, ``gru`` or ``rnn``.
        num_hidden_layers: number of recurrent layers.
        recurrent_size: stored width of the states per direction, even.
        bidirectional: run in both directions, which doubles the width.
        gate: ``projected`` (default) or another of ``nn.GATES``, see ``nn.ComplexRNN``; ``split`` for the real field
            and ``rnn``.
        state_activation: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS``.
        pooling: ``last`` for the last state or ``mean`` over the tokens.
    """

    model_type = "complex_text_rnn"
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "recurrent_size")
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size", "num_hidden_layers")
    complex_only: ClassVar[dict[str, Any]] = {"gate": None}

    rnn_type: str = "lstm"
    num_hidden_layers: int = 1
    recurrent_size: int = 256
    bidirectional: bool = False
    gate: str | None = None
    state_activation: str = "split_tanh"
    pooling: str = "last"

    def __post_init__(self, **kwargs: Any) -> None:
        if self.gate is None:
            self.gate = default_gate(self.rnn_type, self.number_field)
        super().__post_init__(**kwargs)

    def validate_names(self) -> None:
        """Validate named choices and their combination with the number field."""
        super().validate_names()
        check_choice("rnn_type", self.rnn_type, RNN_TYPES)
        check_choice("pooling", self.pooling, POOLINGS)
        assert self.gate is not None  # set by __post_init__
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)
