# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the syntax-aware complex-valued translation model SynCoNMT."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.attention.alignment import ALIGNMENTS
from ...nn.checks import check_choice
from ...nn.readout import check_readout
from ...nn.recurrent.gates import check_cell, default_gate
from ..base.configuration import ComplexConfig

__all__ = ["SynCoNMTConfig"]

RNN_TYPES = ("gru", "lstm", "rnn")
RELATION_FEEDBACKS = ("gold", "predicted", "mixed")


@strict
class SynCoNMTConfig(ComplexConfig):
    """Configuration of SynCoNMT (Liu & Hou 2023), a recurrent encoder-decoder over words and dependency relations.

    The paper uses 512 complex features, which is ``hidden_size=1024`` here. Takes the arguments of ``ComplexConfig``
    and, in addition:

    Args:
        vocab_size, target_vocab_size: vocabulary sizes of source and target; the second defaults to the first.
        relation_vocab_size, target_relation_vocab_size: numbers of dependency relations of source and target, special
            ones included; the second defaults to the first.
        hidden_size: stored width of the embeddings, of the encoder states (both directions together) and of the
            decoder states.
        encoder_layers, decoder_layers: numbers of recurrent layers; ``num_hidden_layers`` is an alias of the first.
        rnn_type: ``gru`` (default), ``lstm`` or ``rnn``, for encoder and decoder. Equation S 12 is ``rnn``; the paper
            does not name the cell of its experiments.
        bidirectional: run the encoder in both directions, with half the width each.
        gate: ``projected`` (default) or another of ``nn.GATES``, see ``nn.ComplexRNN``; ``split`` for the real field
            and ``rnn``.
        state_activation: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS``.
        attention_type: ``bahdanau``, global additive attention that feeds the first decoder layer, or ``luong``, local
            attention around a predicted position, concatenated to the states of the last decoder layer.
        attention_window: D of ``luong``: number of words on either side of the predicted position.
        use_relations: False for a real network of words alone; complex networks need relations.
        share_embeddings: use the same embedding tables for source and target, for joint vocabularies.
        lm_readout: readout of both heads, see ``nn.Readout``: ``concat`` (default), ``modulus`` (the paper, S 15, 16),
            ``scaled_modulus`` or others; only ``concat`` in the real field.
        relation_feedback: relations the decoder reads if ``relation_labels`` are given: ``gold`` the labels (teacher
            forcing, default, S 11); ``predicted`` its own predictions, as in generation; ``mixed`` its own with a
            probability that ``RelationSchedule`` raises during training (scheduled sampling). Predictions for all
            words come from one extra pass with gold relations (Mihaylova & Martins 2019). Evaluation uses predictions
            with ``predicted`` and ``mixed``.
        alpha: weight of the word loss; the relation loss has weight 1 - alpha (S 17). Not given in the paper. Without
            relations only the word loss is used.
        label_smoothing: label smoothing of both losses (Szegedy et al. 2016), during training only.
        initializer_range: standard deviation of the embedding tables.
        pad_relation_id: relation of padding; its embedding is zero, and it is never predicted.
        decoder_start_token_id, decoder_start_relation_id: first token of every target and its relation, by default
            ``pad_relation_id``.
        use_cache: keep the decoder states between the steps of ``generate``.
        is_encoder_decoder: always True.
        tie_word_embeddings: always False, as the head and the word table have different shapes.

    Example:
        >>> from complex_transformers import SynCoNMTConfig
        >>> config = SynCoNMTConfig(vocab_size=8000, relation_vocab_size=50, hidden_size=256)
        >>> config.real_twin(use_relations=False).number_field
        'real'
    """

    model_type = "synconmt"
    attribute_map: ClassVar[dict[str, str]] = {"num_hidden_layers": "encoder_layers"}
    positive_sizes: ClassVar[tuple[str, ...]] = (
        "vocab_size",
        "relation_vocab_size",
        "encoder_layers",
        "decoder_layers",
        "attention_window",
    )
    complex_only: ClassVar[dict[str, Any]] = {"gate": None, "lm_readout": "concat"}

    relation_vocab_size: int = 64
    target_vocab_size: int | None = None
    target_relation_vocab_size: int | None = None
    hidden_size: int = 1024
    encoder_layers: int = 1
    decoder_layers: int = 1
    rnn_type: str = "gru"
    bidirectional: bool = True
    gate: str | None = None
    state_activation: str = "split_tanh"
    attention_type: str = "bahdanau"
    attention_window: int = 10
    use_relations: bool = True
    share_embeddings: bool = False
    lm_readout: str = "concat"
    relation_feedback: str = "gold"
    alpha: float | int = 0.5
    label_smoothing: float | int = 0.0
    initializer_range: float | int = 0.1
    pad_relation_id: int = 0
    decoder_start_token_id: int | None = None
    decoder_start_relation_id: int | None = None
    use_cache: bool = True
    is_encoder_decoder: bool = True
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.gate is None:
            self.gate = default_gate(self.rnn_type, self.number_field)
        if self.decoder_start_relation_id is None:
            self.decoder_start_relation_id = self.pad_relation_id
        super().__post_init__(**kwargs)

    @property
    def num_words(self) -> tuple[int, int]:
        """Vocabulary sizes of source and target."""
        return self.vocab_size, self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @property
    def num_relations(self) -> tuple[int, int] | tuple[None, None]:
        """Numbers of relations of source and target, or None without relations."""
        if not self.use_relations:
            return None, None
        size = self.relation_vocab_size
        return size, size if self.target_relation_vocab_size is None else self.target_relation_vocab_size

    def vocabulary_of(self, name: str) -> tuple[str, int]:
        """Return the vocabulary of a special token: the smaller one for padding, else the target's."""
        source, target = self.num_words
        size = source if name == "pad_token_id" and source < target else target
        return "vocab_size" if size == source else "target_vocab_size", size

    def validate_sizes(self) -> None:
        """Validate that sizes are positive and that directions and halves divide the hidden size."""
        super().validate_sizes()
        for name in ("target_vocab_size", "target_relation_vocab_size"):
            if (size := getattr(self, name)) is not None and size < 1:
                raise ValueError(f"{name} must be positive or None, got {size}.")
        parts = (2 if self.number_field == "complex" else 1) * (2 if self.bidirectional else 1)
        if self.hidden_size % parts:
            raise ValueError(
                f"hidden_size must be a multiple of {parts} (halves x directions), got {self.hidden_size}"
            )

    def validate_names(self) -> None:
        """Validate named choices and their combination with the number field."""
        super().validate_names()
        choices = {"rnn_type": RNN_TYPES, "attention_type": tuple(ALIGNMENTS), "relation_feedback": RELATION_FEEDBACKS}
        for name, valid in choices.items():
            check_choice(name, getattr(self, name), valid)
        assert self.gate is not None  # set by __post_init__
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)
        check_readout(self.lm_readout, self.number_field, "lm_readout")
        if self.number_field == "complex" and not self.use_relations:
            raise ValueError("use_relations must be True with number_field='complex', got False.")
        if self.tie_word_embeddings:
            raise ValueError("tie_word_embeddings must be False for SynCoNMT, got True.")

    def validate_relations(self) -> None:
        """Validate special relations and the sizes of shared tables."""
        source, target = self.num_relations
        sides = (("", source, "pad"), ("target_", target, "pad"), ("target_", target, "decoder_start"))
        for side, size, special in sides:
            name = f"{special}_relation_id"
            if size and size > 0 and not 0 <= (value := getattr(self, name)) < size:  # see validate_sizes
                raise ValueError(f"{name} must lie in [0, {side}relation_vocab_size={size}), got {value}.")
        for name, sizes in (("vocab_size", self.num_words), ("relation_vocab_size", self.num_relations)):
            if self.share_embeddings and sizes[0] != sizes[1]:
                raise ValueError(f"target_{name} must be {sizes[0]} with share_embeddings=True, got {sizes[1]}.")

    def validate_loss(self) -> None:
        """Validate the weight of the word loss."""
        if not 0.0 <= self.alpha <= 1.0:
            raise ValueError(f"alpha must be in [0, 1], got {self.alpha}.")
