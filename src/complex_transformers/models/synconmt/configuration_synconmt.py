# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the syntax-aware complex-valued translation model."""

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

    The paper has 512 everywhere: 512 complex features, which are stored as 1024 real numbers. Besides the arguments
    of ``ComplexConfig``:

    Args:
        vocab_size, target_vocab_size: words of the source and of the target; the second defaults to the first.
        relation_vocab_size, target_relation_vocab_size: dependency relations of both sides, those of padding and of
            special words counted; the second defaults to the first.
        hidden_size: stored width of embeddings, of the encoder's states (both directions side by side) and of the
            decoder's.
        encoder_layers, decoder_layers: recurrent layers; ``num_hidden_layers`` is another name of the first.
        rnn_type: ``gru``, ``lstm`` or ``rnn``, of encoder and decoder.
        bidirectional: the encoder reads in both directions, with half the width each.
        gate: ``projected`` (default) or another of ``nn.GATES``, see ``nn.ComplexRNN``; ``modulus`` is the paper's.
            The real field and ``rnn`` have ``split``.
        state_activation: ``split_tanh`` (default) or another of ``nn.STATE_ACTIVATIONS``.
        attention_type: ``bahdanau``, global and additive, its context read by the first decoder layer; or ``luong``,
            local around a predicted place, its context joined to the states of the last decoder layer.
        attention_window: D of ``luong``, words to either side of the predicted place.
        use_relations: False for the real network of words alone; a complex network has relations.
        share_embeddings: one table of words and one of relations for both sides, for joint vocabularies.
        lm_readout: of both heads, see ``nn.Readout``: ``concat`` (default), ``modulus`` (the paper's, S 15, 16),
            ``scaled_modulus`` and the others; the real field has ``concat``.
        relation_feedback: which relations the decoder reads where those of ``relation_labels`` are known: ``gold``
            these (default, S 11), ``predicted`` its own, as in translation, or ``mixed``, where each word has its own
            with the probability that ``RelationSchedule`` raises over training. They are found for all words at once
            by a first pass over the true ones (Mihaylova & Martins 2019). Except in ``gold``, evaluation reads its
            own: a loss with true relations flatters what will have none.
        alpha: weight of the words in the loss; that of the relations is 1 - alpha (S 17). The paper does not give
            its value. Without relations the loss is that of the words, and has no weight.
        label_smoothing: epsilon of both losses (Szegedy et al. 2016), while training only.
        initializer_range: standard deviation of the tables of words and relations.
        pad_relation_id: the relation of padding, whose vector is zero; it is never predicted.
        decoder_start_token_id, decoder_start_relation_id: the first word of every target, and its relation, by
            default ``pad_relation_id``.
        use_cache: keep the decoder's state between the steps of ``generate``.
        is_encoder_decoder: what Transformers reads to know the kind of model.
        tie_word_embeddings: always False: a head has two rows for each word, the table one.

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
        """Words of the source and of the target."""
        return self.vocab_size, self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @property
    def num_relations(self) -> tuple[int, int] | tuple[None, None]:
        """Relations of the source and of the target; None where there are none."""
        if not self.use_relations:
            return None, None
        size = self.relation_vocab_size
        return size, size if self.target_relation_vocab_size is None else self.target_relation_vocab_size

    def vocabulary_of(self, name: str) -> tuple[str, int]:
        """As in ``ComplexConfig``; padding is in both vocabularies, other tokens are those of the target."""
        source, target = self.num_words
        own = source if name == "pad_token_id" and source < target else target
        return "vocab_size" if own == source else "target_vocab_size", own

    def validate_sizes(self) -> None:
        """Counts are positive; a width can be shared out to parts and directions."""
        super().validate_sizes()
        for name in ("target_vocab_size", "target_relation_vocab_size"):
            if (size := getattr(self, name)) is not None and size < 1:
                raise ValueError(f"{name} must be positive, or None for that of the source, got {size}")
        parts = (2 if self.number_field == "complex" else 1) * (2 if self.bidirectional else 1)
        if self.hidden_size % parts:
            raise ValueError(
                f"hidden_size holds the halves of both directions of the encoder and must be a multiple of {parts}, "
                f"got {self.hidden_size}"
            )

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        check_choice("rnn_type", self.rnn_type, RNN_TYPES)
        check_choice("attention_type", self.attention_type, tuple(ALIGNMENTS))
        check_choice("relation_feedback", self.relation_feedback, RELATION_FEEDBACKS)
        assert self.gate is not None  # __post_init__ has filled it in
        check_cell(self.rnn_type, self.gate, self.state_activation, self.number_field)
        check_readout(self.lm_readout, self.number_field, "lm_readout")
        if self.number_field == "complex" and not self.use_relations:
            raise ValueError(
                "use_relations=False needs number_field='real': in a complex network relations are the imaginary part"
            )
        if self.tie_word_embeddings:
            raise ValueError(
                "tie_word_embeddings=True is not possible: words are the real part of the embedding, a head reads both"
            )

    def validate_relations(self) -> None:
        """Special relations are in the vocabularies, and shared tables have one size."""
        source, target = self.num_relations
        sides = (("", source, "pad"), ("target_", target, "pad"), ("target_", target, "decoder_start"))
        for side, size, special in sides:
            name = f"{special}_relation_id"
            if size and size > 0 and not 0 <= getattr(self, name) < size:  # validate_sizes refuses other sizes
                raise ValueError(
                    f"{name} must lie in [0, {side}relation_vocab_size={size}), got {getattr(self, name)}"
                )
        if not self.share_embeddings:
            return
        for name, sizes in (("vocab_size", self.num_words), ("relation_vocab_size", self.num_relations)):
            if sizes[0] != sizes[1]:
                raise ValueError(
                    f"share_embeddings=True needs joint vocabularies: {name}={sizes[0]} but target_{name}={sizes[1]}"
                )

    def validate_loss(self) -> None:
        """The weight of the words lies in [0, 1]."""
        if not 0.0 <= self.alpha <= 1.0:
            raise ValueError(f"alpha must be in [0, 1], got {self.alpha}")
