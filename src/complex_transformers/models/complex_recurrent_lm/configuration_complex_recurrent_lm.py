# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the recurrent language model."""

from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ...nn.embedding import EMBEDDING_TYPES
from ...nn.real_embedding import check_place
from ...nn.recurrent.diagonal import check_moduli
from ...nn.recurrent.gates import check_cell, default_gate
from ..base.configuration import TextConfig
from ..base.stream_configuration import check_stream

__all__ = ["ComplexRecurrentLMConfig"]

RNN_TYPES = ("lstm", "gru", "rnn", "lru")
WORD_PARTS = ("both", "real")
TRANSFORMS = ("none", "fourier", "z", "causal_z")
TRANSFORM_AXES = ("sequence", "features")
PLACES = ("slot_position", "phase_position")


@strict
class ComplexRecurrentLMConfig(TextConfig):
    """Configuration of a recurrent language model (Thesis 4.3), or of a diagonal state space model (LRU).

    The default is causal; what the thesis prints is one named field away. Besides the arguments of
    ``TextConfig``:

    Args:
        embedding_type: of ``TextConfig`` (default ``word``), or real words with their place in the imaginary part
            (``slot_position``, Thesis 4.3) or as a phase (``phase_position``, Thesis 4.5).
        initializer_range: standard deviation of the tables of words and slots, each part.
        word_parts: the words of ``embedding_type="word"`` are complex (``both``), or ``real`` numbers.
        num_slots: of ``slot_position``; at most ``position_length``.
        position_length: places count the words modulo this number; ``"sentence"``, as printed: the words of the text,
            which shows how many are still to come.
        transform: between words and layers: ``none``; ``fourier``, along ``transform_axis``; ``z``, of the features of
            each word (Thesis 4.8); ``causal_z``, of the words read so far (``nn.DiagonalRecurrence``).
        transform_axis: of ``fourier``: the ``sequence``, as printed, where every word sees the words to come, or the
            ``features`` of each word.
        num_points: of ``z``: number of learned points; None for one for each feature.
        rnn_type: ``lstm``, ``gru``, ``rnn``, or ``lru``, blocks around a linear recurrence
            (``nn.LinearRecurrentBlock``).
        num_hidden_layers: recurrent layers or blocks.
        recurrent_size: stored width of the states. The head reads them; after ``lru`` blocks it reads ``hidden_size``.
        gate: of ``lstm`` and ``gru``: ``projected`` (default) or another of ``nn.GATES``; ``split`` of the real field.
        state_activation: of all but ``lru``: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS``.
        min_modulus, max_modulus: where the moduli of ``lru`` and ``causal_z`` start.
        lm_readout: ``readout`` of the LM head, default ``concat``.
        tie_word_embeddings: share the embedding table with the LM head: ``lm_readout="concat"`` with a free table,
            ``"feature_modulus"`` with unshared amplitudes.
        cutoffs: cutoffs of an adaptive softmax, increasing: the first words of its tails, in a vocabulary sorted by
            frequency. Empty for a plain softmax. It needs ``lm_readout`` ``concat`` or ``feature_modulus``.
        div_value: every tail of the adaptive softmax has this many times fewer features than the cluster before it; 1
            for a tied head.
        lm_bias: the head has a bias for each word; an adaptive softmax always has one.
        position_period: positions of embeddings count from 1 to this number and restart; None: they do not restart.
            At most ``max_position_embeddings`` for ``learned_position``.
        use_cache: return a memory.
        pad_token_id: token whose amplitude is zero and stays zero; None, as streams have no padding.

    Example:
        >>> from complex_transformers import ComplexRecurrentLMConfig
        >>> ComplexRecurrentLMConfig(rnn_type="lru", vocab_size=27).reads_ahead
        False
    """

    model_type = "complex_recurrent_lm"
    embedding_types: ClassVar[tuple[str, ...]] = (*EMBEDDING_TYPES, *PLACES)
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "recurrent_size")
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size", "num_hidden_layers")
    complex_only: ClassVar[dict[str, Any]] = {**TextConfig.complex_only, "gate": None, "word_parts": "both"}

    lm_readout: str = "concat"
    tie_word_embeddings: bool = False
    cutoffs: list[int] | tuple[int, ...] = ()
    div_value: int = 1
    lm_bias: bool = True
    position_period: int | None = 512
    use_cache: bool = True
    pad_token_id: int | None = None
    embedding_type: str = "word"
    initializer_range: float | int = 0.1
    word_parts: str = "both"
    num_slots: int = 5
    position_length: int | str = 35
    transform: str = "none"
    transform_axis: str = "sequence"
    num_points: int | None = None
    rnn_type: str = "lstm"
    num_hidden_layers: int = 2
    recurrent_size: int = 512
    gate: str | None = None
    state_activation: str = "split_tanh"
    min_modulus: float | int = 0.5
    max_modulus: float | int = 0.99

    def __post_init__(self, **kwargs: Any) -> None:
        self.cutoffs = list(self.cutoffs)  # as JSON restores it
        if self.gate is None:
            self.gate = self.default_of("gate")
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        """As in ``TextConfig``; the gate is that of the number field and the cell."""
        if name == "gate":
            return default_gate(self.rnn_type, self.number_field)
        return super().default_of(name)

    def real_twin(self, **changes: Any) -> Self:
        """As in ``ComplexConfig``; without the transforms of complex numbers.

        Words of ``word_parts="real"`` become those of the real field, ``both``: of the same stored width, so that
        their table is twice as large.
        """
        if self.transform in ("fourier", "z"):
            changes = {"transform": "none", **changes}
        return super().real_twin(**changes)

    @property
    def head_size(self) -> int:
        """Stored width of what the head reads."""
        return self.hidden_size if self.rnn_type == "lru" else self.recurrent_size

    @property
    def state_sizes(self) -> list[dict[str, int]]:
        """The states that each layer carries on, by name, with their stored widths; the first has the transform's."""
        names = ("hidden", "cell") if self.rnn_type == "lstm" else ("hidden",)
        sizes = [dict.fromkeys(names, self.recurrent_size) for _ in range(self.num_hidden_layers)]
        if self.transform == "causal_z":
            sizes[0]["transform"] = self.hidden_size
        return sizes

    @property
    def reads_ahead(self) -> bool:
        """Whether what is said of a word depends on words to come: no causal model, which cannot generate."""
        along_sequence = self.transform == "fourier" and self.transform_axis == "sequence"
        return along_sequence or (self.embedding_type in PLACES and self.position_length == "sentence")

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        check_choice("rnn_type", self.rnn_type, RNN_TYPES)
        check_choice("word_parts", self.word_parts, WORD_PARTS)
        check_choice("transform", self.transform, TRANSFORMS)
        check_choice("transform_axis", self.transform_axis, TRANSFORM_AXES)
        assert self.gate is not None  # __post_init__ has filled it in
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)
        if self.number_field == "real" and self.word_parts == "real":
            raise ValueError("word_parts='real' needs number_field='complex': all numbers of a real network are real")
        if self.number_field == "real" and self.transform in ("fourier", "z"):
            raise ValueError(
                f"transform={self.transform!r} needs number_field='complex': its numbers are complex; the real field "
                "has 'none' and 'causal_z'"
            )

    def validate_stream(self) -> None:
        check_stream(self)

    def validate_places(self) -> None:
        """There are slots and a length, and points for the features."""
        check_place(self.embedding_type.removesuffix("_position"), self.num_slots, self.position_length)
        if self.num_points is not None and not 1 <= self.num_points <= self.complex_size:
            raise ValueError(
                f"num_points must lie in [1, {self.complex_size}], the complex features of hidden_size="
                f"{self.hidden_size}, or be None for one for each, got {self.num_points}"
            )

    def validate_moduli(self) -> None:
        """The recurrence is stable, and there is one where moduli are given."""
        check_moduli(self.min_modulus, self.max_modulus)
        if self.rnn_type == "lru" or self.transform == "causal_z":
            return
        for name in ("min_modulus", "max_modulus"):
            if (value := getattr(self, name)) != (default := self.default_of(name)):
                raise ValueError(
                    f"{name}={value} has no effect with rnn_type={self.rnn_type!r} and transform={self.transform!r}; "
                    f"leave it at {default}, or use rnn_type='lru' or transform='causal_z'"
                )

    def _validate_tying(self) -> None:
        super()._validate_tying()
        if self.word_parts == "real" or self.head_size != self.hidden_size:
            raise ValueError(
                "tie_word_embeddings=True needs a head of the shape of the word table: word_parts='both', got "
                f"{self.word_parts!r}, and hidden_size={self.hidden_size} equal to the width {self.head_size} that "
                "the head reads"
            )
