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
    """Configuration of a memory network: a story, a question, and one of ``num_labels`` answers (Thesis 4.4).

    The default reads sentences (Sukhbaatar et al. 2015), which Thesis 4.10-4.14 say; ``variant="word_memory"`` is what
    the thesis ran, there with ``gate="modulus"`` and ``readout="squared_modulus"``. Besides the arguments of
    ``ComplexConfig``:

    Args:
        hidden_act, classifier_dropout, readout: as in ``TextConfig``.
        variant: ``sentence_memory``, or ``word_memory``: every word of the story is compared with every word of the
            question, and a recurrent layer reads the result along the question.
        hidden_size: width of a sentence, or of a word of ``word_memory``.
        initializer_range: standard deviation of all tables, each part.
        hidden_dropout_prob: of the words, and of the last state where ``classifier_dropout`` is not given.
        num_hops: how often the memory is read, of ``sentence_memory``; so are those up to ``time_noise``.
        attention_score: ``real`` Re<m|u> (default), ``modulus`` or ``squared_modulus`` |<m|u>|^2 (Thesis 4.11); the
            real field has ``real``.
        attention_normalization: ``softmax``, ``probability_amplitude`` (Thesis 2.37), or ``linear`` for none: see
            ``LinearStart``.
        sentence_encoding: a sentence is the sum of its words: ``position``, with factors of their places (Sukhbaatar
            et al. 2015, 4.1); ``complex_order``, with phases (ComplexOrder Eq. 5); ``bag``, as they are.
        temporal: the age of a sentence is a ``learned`` vector, a ``phase``, or not said (``none``).
        weight_tying: tables of the hops: ``adjacent`` A^(k+1) = C^k, ``layer`` one pair and a map of the state
            between hops, or ``none``.
        memory_size: sentences that the model remembers.
        time_noise: probability in training that a sentence is followed by an empty one, which makes the others older
            (Sukhbaatar et al. 2015, 4.2).
        answer_token_ids: the word of every label, no two the same; then logits are the products of the last state with
            the words' vectors in the last table, W^T = C^K (Sukhbaatar et al. 2015, 2.2). With ``adjacent`` tables of
            vectors without phases. By default answers are no words, and have a ``readout``.
        story_length, question_length: words of ``word_memory``, whose weights they are in; shorter texts are filled
            up on the left. So are those below.
        softmax_axis: words that the weights sum to 1 over: of the ``question``, as run, or of the ``memory``.
        response: weights and the second table of the story: ``add``, as run, or ``multiply``.
        rnn_type: ``lstm``, ``gru`` or ``rnn``.
        recurrent_size: stored width of the states.
        gate: of ``lstm`` and ``gru``: ``projected`` (default) or another of ``nn.GATES``; ``split`` of the real field.
        state_activation: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS``.

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
            self.gate = self.default_of("gate")
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        """As in ``ComplexConfig``; the gate is that of the number field and the cell."""
        if name == "gate":
            return default_gate(self.rnn_type, self.number_field) if self.variant == "word_memory" else "split"
        return super().default_of(name)

    def real_twin(self, **changes: Any) -> Self:
        """As in ``ComplexConfig``; ages that are phases become learned vectors."""
        if self.temporal == "phase":
            changes = {"temporal": "learned", **changes}
        return super().real_twin(**changes)

    @property
    def num_tables(self) -> int:
        """Tables of words of ``sentence_memory``; the first is that of the question."""
        return {"adjacent": self.num_hops + 1, "layer": 3, "none": 2 * self.num_hops + 1}[self.weight_tying]

    def tables_of(self, hop: int) -> tuple[int, int]:
        """Which tables are A and C of a hop."""
        return {"adjacent": (hop, hop + 1), "layer": (1, 2), "none": (2 * hop + 1, 2 * hop + 2)}[self.weight_tying]

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        check_choice("variant", self.variant, VARIANTS)
        check_choice("sentence_encoding", self.sentence_encoding, SENTENCE_ENCODINGS)
        check_choice("weight_tying", self.weight_tying, WEIGHT_TYINGS)
        check_choice("softmax_axis", self.softmax_axis, SOFTMAX_AXES)
        check_choice("response", self.response, RESPONSES)
        check_choice("rnn_type", self.rnn_type, RNN_TYPES)
        check_memory(self.attention_score, self.attention_normalization, self.temporal, self.number_field)
        assert self.gate is not None  # __post_init__ has filled it in
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)

    def validate_time_noise(self) -> None:
        """A probability, and of ages that are said."""
        if not 0.0 <= self.time_noise < 1.0:
            raise ValueError(f"time_noise must be in [0, 1), got {self.time_noise}")
        if self.time_noise and self.temporal == "none":
            raise ValueError(
                f"time_noise={self.time_noise} has no effect with temporal='none': leave it at 0, or use "
                "temporal='learned' or 'phase'"
            )

    def validate_token_ids(self) -> None:
        """As in ``ComplexConfig``; answers are a word for every label, no padding, in a table without phases."""
        super().validate_token_ids()
        if (ids := self.answer_token_ids) is None:
            return
        if len(ids) != self.num_labels:
            raise ValueError(
                f"answer_token_ids has {len(ids)} words for num_labels={self.num_labels}: give one for each label, or "
                "None for answers that are no words"
            )
        if wrong := [word for word in ids if not 0 <= word < self.vocab_size]:
            raise ValueError(
                f"answer_token_ids must lie in [0, vocab_size={self.vocab_size}), got {wrong[0]}; "
                "MemoryProcessor.answer_words adds the answers to the vocabulary, and a smaller one keeps them"
            )
        if len(set(ids)) < len(ids):
            raise ValueError(
                f"answer_token_ids has a word twice, {ids}: two labels would have one logit for ever; give each a "
                "word of its own"
            )
        if self.pad_token_id in ids:
            raise ValueError(
                f"answer_token_ids has pad_token_id={self.pad_token_id}, whose row is zero: give a word of the "
                "vocabulary, as MemoryProcessor.answer_words does"
            )
        if self.variant == "word_memory" or self.sentence_encoding == "complex_order":
            raise ValueError(
                f"answer_token_ids needs variant='sentence_memory' with sentence_encoding='position' or 'bag', got "
                f"{self.variant!r} with {self.sentence_encoding!r}: leave it at None"
            )
