# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the memory network."""

from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ...nn.memory import check_memory
from ...nn.recurrent.gates import check_cell, default_gate
from ..base.configuration import ComplexConfig

__all__ = ["ComplexMemoryNetworkConfig"]

VARIANTS = ("sentence_memory", "word_memory")
SENTENCE_ENCODINGS = ("position", "complex_order", "bag")
WEIGHT_TYINGS = ("adjacent", "layer", "none")
SOFTMAX_AXES = ("question", "memory")
RESPONSES = ("add", "multiply")
RNN_TYPES = ("lstm", "gru", "rnn")


@strict
class ComplexMemoryNetworkConfig(ComplexConfig):
    """Configuration of a memory network that answers questions about stories (Thesis 4.4).

    The default, ``variant="sentence_memory"``, is the end-to-end memory network of Sukhbaatar et al. 2015 that Thesis
    4.10-4.14 describe. The experiments of the thesis used ``variant="word_memory"`` with ``gate="modulus"`` and
    ``readout="squared_modulus"``. Takes the arguments of ``ComplexConfig`` and, in addition:

    Args:
        hidden_act, classifier_dropout, readout: as in ``TextConfig``.
        variant: ``sentence_memory``, or ``word_memory``, which compares every word of the story with every word of the
            question and runs a recurrent layer along the question.
        hidden_size: width of sentence vectors, or of word vectors with ``word_memory``.
        initializer_range: standard deviation of all embedding tables, per real and imaginary part.
        hidden_dropout_prob: dropout of the word vectors, and of the last state unless ``classifier_dropout`` is given.
        num_hops: number of hops (``sentence_memory`` only).
        attention_score: ``real`` Re<m|u> (default), ``modulus`` or ``squared_modulus`` |<m|u>|^2 (Thesis 4.11); the
            real field has only ``real`` (``sentence_memory`` only).
        attention_normalization: ``softmax``, ``probability_amplitude`` (Thesis 2.37), or ``linear`` for none, see
            ``LinearStart`` (``sentence_memory`` only).
        sentence_encoding: a sentence is the sum of its word vectors: ``position`` with position factors (Sukhbaatar
            et al. 2015, 4.1), ``complex_order`` with phases (ComplexOrder Eq. 5), ``bag`` unweighted
            (``sentence_memory`` only).
        temporal: encoding of the age of a sentence: a ``learned`` vector, a ``phase`` or ``none`` (``sentence_memory``
            only).
        weight_tying: embedding tables of the hops: ``adjacent`` A^(k+1) = C^k, ``layer`` one pair with a linear map of
            the state between hops, or ``none`` (``sentence_memory`` only).
        memory_size: largest number of sentences (``sentence_memory`` only).
        time_noise: probability, during training, of an empty sentence after each sentence (Sukhbaatar et al. 2015,
            4.2) (``sentence_memory`` only).
        answer_token_ids: distinct token ids, one per label. The logits are then products of the last state with these
            rows of the last table, W^T = C^K (Sukhbaatar et al. 2015, 2.2), instead of a ``readout``. Needs
            ``sentence_encoding`` ``position`` or ``bag``. Default None.
        story_length, question_length: fixed lengths in words, which weight shapes depend on; shorter texts are padded
            on the left (``word_memory`` only).
        softmax_axis: the attention weights sum to 1 over the words of the ``question`` (as in the thesis) or of the
            ``memory`` (``word_memory`` only).
        response: ``add`` the weights to the second story embedding, as in the thesis, or ``multiply`` them
            (``word_memory`` only).
        rnn_type: ``lstm``, ``gru`` or ``rnn`` (``word_memory`` only).
        recurrent_size: stored width of the recurrent states (``word_memory`` only).
        gate: ``projected`` (default) or another of ``nn.GATES``; ``split`` for the real field and ``rnn``.
        state_activation: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS`` (``word_memory`` only).

    Example:
        >>> from complex_transformers import ComplexMemoryNetworkConfig
        >>> ComplexMemoryNetworkConfig(vocab_size=30, num_labels=6).num_tables
        4
    """

    model_type = "complex_memory_network"
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["cache", "memory_weights"]
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "recurrent_size")
    positive_sizes: ClassVar[tuple[str, ...]] = (
        *("vocab_size", "num_hops", "memory_size", "story_length", "question_length"),
    )
    complex_only: ClassVar[dict[str, Any]] = {"attention_score": "real", "gate": None}

    hidden_act: str = "split_gelu"
    classifier_dropout: float | int | None = None
    readout: str | None = None
    hidden_size: int = 64
    hidden_dropout_prob: float | int = 0.0
    initializer_range: float | int = 0.1
    variant: str = "sentence_memory"
    num_hops: int = 3
    attention_score: str = "real"
    attention_normalization: str = "softmax"
    sentence_encoding: str = "position"
    temporal: str = "learned"
    weight_tying: str = "adjacent"
    memory_size: int = 50
    time_noise: float | int = 0.0
    answer_token_ids: list[int] | None = None
    story_length: int = 100
    question_length: int = 10
    softmax_axis: str = "question"
    response: str = "add"
    rnn_type: str = "lstm"
    recurrent_size: int = 64
    gate: str | None = None
    state_activation: str = "split_tanh"

    def __post_init__(self, **kwargs: Any) -> None:
        if self.gate is None:
            self.gate = default_gate(self.rnn_type, self.number_field) if self.variant == "word_memory" else "split"
        super().__post_init__(**kwargs)

    def real_twin(self, **changes: Any) -> Self:
        """Return the real twin; ``temporal="phase"`` becomes ``"learned"``."""
        if self.temporal == "phase":
            changes = {"temporal": "learned", **changes}
        return super().real_twin(**changes)

    @property
    def num_tables(self) -> int:
        """Number of embedding tables of ``sentence_memory``; the first embeds the question."""
        return {"adjacent": self.num_hops + 1, "layer": 3, "none": 2 * self.num_hops + 1}[self.weight_tying]

    def tables_of(self, hop: int) -> tuple[int, int]:
        """Return the indices of the tables A and C of a hop."""
        return {"adjacent": (hop, hop + 1), "layer": (1, 2), "none": (2 * hop + 1, 2 * hop + 2)}[self.weight_tying]

    def validate_names(self) -> None:
        """Validate named choices and their combination with the number field."""
        super().validate_names()
        first = {"variant": VARIANTS, "softmax_axis": SOFTMAX_AXES, "response": RESPONSES}
        second = {"sentence_encoding": SENTENCE_ENCODINGS, "weight_tying": WEIGHT_TYINGS, "rnn_type": RNN_TYPES}
        for name, valid in (*first.items(), *second.items()):
            check_choice(name, getattr(self, name), valid)
        check_memory(self.attention_score, self.attention_normalization, self.temporal, self.number_field)
        assert self.gate is not None  # set by __post_init__
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)

    def validate_time_noise(self) -> None:
        """Validate that ``time_noise`` is a probability below 1."""
        if not 0.0 <= self.time_noise < 1.0:
            raise ValueError(f"time_noise must be in [0, 1), got {self.time_noise}.")

    def validate_token_ids(self) -> None:
        """Validate the special tokens and ``answer_token_ids``."""
        super().validate_token_ids()
        if (ids := self.answer_token_ids) is None:
            return
        valid = set(range(self.vocab_size)) - {self.pad_token_id}
        if not len(ids) == len(set(ids) & valid) == self.num_labels:
            raise ValueError(
                f"answer_token_ids must be num_labels={self.num_labels} distinct ids below vocab_size="
                f"{self.vocab_size}, without pad_token_id, got {ids}. Use MemoryProcessor.answer_words."
            )
        if self.variant == "word_memory" or self.sentence_encoding == "complex_order":
            raise ValueError(
                f"answer_token_ids must be None with variant={self.variant!r} and sentence_encoding="
                f"{self.sentence_encoding!r}, got {ids}."
            )
