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
    """Configuration of a recurrent language model (Thesis 4.3) or of a diagonal state space model (LRU).

    The defaults give a causal model; the non-causal variants of the thesis need ``position_length="sentence"`` or
    ``transform_axis="sequence"``. Takes the arguments of ``TextConfig`` and, in addition:

    Args:
        embedding_type: as in ``TextConfig`` (default ``word``), or real word vectors whose position is the imaginary
            part (``slot_position``, Thesis 4.3) or a phase (``phase_position``, Thesis 4.5).
        initializer_range: standard deviation of the word and slot tables, per real and imaginary part.
        word_parts: ``both`` for complex word vectors, ``real`` for real ones (``embedding_type="word"`` only).
        num_slots: number of slots of ``slot_position``, at most ``position_length``.
        position_length: positions of ``slot_position`` and ``phase_position`` count modulo this number. With
            ``"sentence"``, as in the thesis, it is the length of the input, and the model is not causal.
        transform: transform between the embedding and the layers: ``none``; ``fourier`` along ``transform_axis``;
            ``z`` of the features of each token (Thesis 4.8); ``causal_z`` along the tokens read so far
            (``nn.DiagonalRecurrence``).
        transform_axis: axis of ``fourier``: ``sequence``, as in the thesis and not causal, or ``features``.
        num_points: number of learned points of ``z``; None for one per feature.
        rnn_type: ``lstm``, ``gru``, ``rnn``, or ``lru`` for linear recurrent blocks (``nn.LinearRecurrentBlock``).
        num_hidden_layers: number of recurrent layers or blocks.
        recurrent_size: stored width of the recurrent states. It is also the width of the LM head's input, except with
            ``lru``, where that is ``hidden_size``.
        gate: gate of ``lstm`` and ``gru``, ``projected`` (default) or another of ``nn.GATES``; ``split`` for the real
            field and the other cells.
        state_activation: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS``; not used by ``lru``.
        min_modulus, max_modulus: range of the initial moduli of ``lru`` and ``causal_z``.
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
            self.gate = default_gate(self.rnn_type, self.number_field)
        super().__post_init__(**kwargs)

    def real_twin(self, **changes: Any) -> Self:
        """Return the real twin, without the transforms ``fourier`` and ``z``.

        ``word_parts="real"`` becomes ``"both"``: at equal stored width the word table is twice as large.
        """
        if self.transform in ("fourier", "z"):
            changes = {"transform": "none", **changes}
        return super().real_twin(**changes)

    @property
    def head_size(self) -> int:
        """Stored width of the input of the LM head."""
        return self.hidden_size if self.rnn_type == "lru" else self.recurrent_size

    @property
    def state_sizes(self) -> list[dict[str, int]]:
        """Name and stored width of the recurrent states of each layer; the first also holds the transform's."""
        names = ("hidden", "cell") if self.rnn_type == "lstm" else ("hidden",)
        sizes = [dict.fromkeys(names, self.recurrent_size) for _ in range(self.num_hidden_layers)]
        if self.transform == "causal_z":
            sizes[0]["transform"] = self.hidden_size
        return sizes

    @property
    def reads_ahead(self) -> bool:
        """Whether the model is not causal, so that it cannot generate."""
        along_sequence = self.transform == "fourier" and self.transform_axis == "sequence"
        return along_sequence or (self.embedding_type in PLACES and self.position_length == "sentence")

    def validate_names(self) -> None:
        """Validate named choices and their combination with the number field."""
        super().validate_names()
        choices = {"rnn_type": RNN_TYPES, "word_parts": WORD_PARTS, "transform": TRANSFORMS}
        for name, valid in {**choices, "transform_axis": TRANSFORM_AXES}.items():
            check_choice(name, getattr(self, name), valid)
        assert self.gate is not None  # set by __post_init__
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)
        for name, values in {"word_parts": ("real",), "transform": ("fourier", "z")}.items():
            if self.number_field == "real" and (value := getattr(self, name)) in values:
                raise ValueError(f"number_field must be 'complex' with {name}={value!r}, got 'real'.")

    def validate_stream(self) -> None:
        """Raise unless the position period and the adaptive softmax fit the embedding and the head."""
        check_stream(self)

    def validate_places(self) -> None:
        """Validate slots and position length."""
        check_place(self.embedding_type.removesuffix("_position"), self.num_slots, self.position_length)

    def validate_moduli(self) -> None:
        """Validate that the recurrence is stable."""
        check_moduli(self.min_modulus, self.max_modulus)

    def _validate_tying(self) -> None:
        super()._validate_tying()
        if self.word_parts == "real" or self.head_size != self.hidden_size:
            raise ValueError(
                f"word_parts must be 'both' and hidden_size {self.head_size} with tie_word_embeddings=True, got "
                f"{self.word_parts!r} and {self.hidden_size}."
            )
