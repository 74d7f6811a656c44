# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration fields that several families share: sizes, embeddings, Transformer layers, LM heads."""

import difflib
import math
import warnings
from dataclasses import fields
from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from ...nn.activation import ACT2CFN
from ...nn.arithmetic import arithmetic
from ...nn.attention.multi_head import ATTENTION_NORMALIZATIONS, ATTENTION_SCORES, check_attention
from ...nn.checks import check_choice
from ...nn.embedding import (
    DAMPINGS,
    EMBEDDING_TYPES,
    FREQUENCY_INITS,
    PHASES,
    SHARINGS,
    check_frequency_scale,
    check_words_differ,
)
from ...nn.initialization import INITIALIZERS
from ...nn.readout import check_readout
from .. import model_families

__all__ = ["NORM_POSITIONS", "NORM_TYPES", "ComplexConfig", "LayersConfig", "TextConfig"]

NORM_TYPES = ("layer", "rms", "batch")
NORM_POSITIONS = ("post", "pre")
# Field names of other models -> ours, for families that have only the second.
ALIASES = {
    "attention_dropout": "attention_probs_dropout_prob",
    "layer_norm_eps": "rms_norm_eps",
    "rms_norm_eps": "layer_norm_eps",
}


@strict
class ComplexConfig(PreTrainedConfig):
    """Base class of all configurations.

    ``hidden_size`` is the stored width of ``hidden_states``: ``[real | imag]`` halves of ``complex_size =
    hidden_size // 2`` complex features. At equal widths a complex model costs as much as a real one and has half its
    parameters per layer.

    ``attention_dropout`` is an alias of ``attention_probs_dropout_prob``, and ``rms_norm_eps`` and ``layer_norm_eps``
    are aliases of each other. An unknown keyword that resembles a field warns.

    Args:
        vocab_size: size of the vocabulary.
        hidden_size: stored width of the embedding and the hidden states, even.
        hidden_dropout_prob: dropout probability.
        number_field: ``complex``, or ``real`` for the real twin of the same widths.
        weight_init: initializer of dense layers: ``glorot``, ``he``, ``unitary`` or ``normal``. Recurrent layers use
            Glorot's for their inputs and unitary weights for their states.
        initializer_range: standard deviation of embedding tables (amplitudes, or each half of a complex table) and of
            ``weight_init="normal"``.
        pad_token_id: token whose embedding is zero and stays zero; None for no such token.
        bos_token_id, eos_token_id: for ``generate()``, which accepts several EOS tokens, and for tokenizers.
    """

    keys_to_ignore_at_inference: ClassVar[list[str]] = ["cache"]
    # Names of fields that must be positive, and of stored widths, which must be even too; see `validate_sizes`.
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size",)
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size",)
    # Fields whose complex values do not exist in the real field -> their value in the real twin.
    complex_only: ClassVar[dict[str, Any]] = {"lm_readout": "concat"}

    vocab_size: int = 30522
    hidden_size: int = 512
    hidden_dropout_prob: float | int = 0.1
    number_field: str = "complex"
    weight_init: str = "glorot"
    initializer_range: float | int = 0.02
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def __init_subclass__(cls, *args: Any, **kwargs: Any) -> None:
        super().__init_subclass__(*args, **kwargs)
        names = {field.name for field in fields(cls)}
        aliases = {alias: name for alias, name in ALIASES.items() if name in names} | cls.attribute_map
        cls.attribute_map = {alias: name for alias, name in aliases.items() if alias not in names}

    def __post_init__(self, **kwargs: Any) -> None:
        if getattr(self, "readout", "") is None:
            self.readout = self.default_of("readout")
        super().__post_init__(**kwargs)
        if self.transformers_version is None:  # a saved configuration may have more fields
            warn_of_misspelled(self, [name for name in kwargs if name in vars(self)])

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """Do nothing: the package registers its classes, and ``save_pretrained`` must not copy its files."""

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Return the configuration of a dictionary; reject the dictionary of another model."""
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        found = config_dict.get("model_type")
        accepted = {getattr(base, "model_type", None) for base in cls.__mro__}
        if found not in accepted and (found in CONFIG_MAPPING_NAMES or found in model_families()):
            raise ValueError(
                f"model_type must be {cls.model_type!r} for {cls.__name__}, got {found!r}. Load the folder with "
                "AutoModel."
            )
        return super().from_dict(config_dict, **kwargs)

    @property
    def complex_size(self) -> int:
        """Number of complex features of a hidden state, ``hidden_size // 2``."""
        return self.hidden_size // 2

    def real_twin(self, **changes: Any) -> Self:
        """Return the configuration of the real twin, of equal widths and cost; ``changes`` override fields."""
        names = {field.name for field in fields(self)} - {"transformers_version"}
        fixed = {"number_field": "real", "readout": None, **type(self).complex_only}
        if getattr(self, "attention_normalization", None) == "split_softmax":
            fixed["attention_normalization"] = "softmax"
        if getattr(self, "attention_score", None) == "cosine":  # both fields have it
            del fixed["attention_score"]
        values = {**self.to_dict(), **{name: value for name, value in fixed.items() if name in names}}
        return type(self).from_dict({**values, "transformers_version": None, **changes})

    def default_of(self, name: str) -> Any:
        """Return the default of a field; it may depend on other fields."""
        if name == "readout":
            return "concat" if self.number_field == "real" else "modulus"
        return type(self).__dataclass_fields__[name].default

    def vocabulary_of(self, name: str) -> tuple[str, int]:
        """Return the name of the field with the vocabulary size for ``name``, a ``..._token_id``, and the size."""
        return "vocab_size", self.vocab_size

    def validate_sizes(self) -> None:
        """Raise unless sizes are positive and stored widths are even."""
        for name in (*self.positive_sizes, *self.even_sizes):
            check_positive_field(self, name)
        for name in self.even_sizes:
            if (size := getattr(self, name) or 0) % 2:
                raise ValueError(f"{name} must be even ([real | imag] halves), got {size}. Use {size + 1}.")

    def validate_token_ids(self) -> None:
        """Raise unless the special tokens are in the vocabulary."""
        for name, value in vars(self).items():
            if not name.endswith("_token_id"):
                continue
            source, size = self.vocabulary_of(name)
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, int) and not 0 <= token < size:
                    raise ValueError(f"{name} must lie in [0, {source}={size}), or be None, got {token}.")

    def validate_probabilities(self) -> None:
        """Raise unless dropout and label smoothing are in [0, 1) and epsilon and initializer range are positive."""
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "label_smoothing"):
            value = vars(self).get(name)
            if value is not None and not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be in [0, 1), got {value}.")
        for name in ("layer_norm_eps", "initializer_range"):
            check_positive_field(self, name)

    def validate_names(self) -> None:
        """Raise unless every choice by name is known and fits the number field."""
        arithmetic(self.number_field)
        check_choice("weight_init", self.weight_init, tuple(INITIALIZERS))
        if (hidden_act := getattr(self, "hidden_act", None)) is not None:
            check_choice("hidden_act", hidden_act, tuple(ACT2CFN))
        for name in ("readout", "lm_readout"):
            if (readout := getattr(self, name, None)) is not None:
                check_readout(readout, self.number_field, name)


def check_positive_field(config: PreTrainedConfig, *names: str) -> None:
    """Raise unless the fields, where they exist and are not None, are positive."""
    for name in names:
        if (value := vars(config).get(name)) is not None and not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive, got {value}.")


def warn_of_misspelled(config: PreTrainedConfig, names: list[str]) -> None:
    """Warn of keywords that are not fields but resemble one: Transformers stores them without effect."""
    known = [field.name for field in fields(config)]
    for name in names:
        for similar in difflib.get_close_matches(name, known, n=1, cutoff=0.75):
            message = f"{type(config).__name__} has no field {name!r}, did you mean {similar!r}?"
            warnings.warn(message, stacklevel=2)


@strict
class TextConfig(ComplexConfig):
    """Base class of the configurations of text models.

    Besides the arguments of ``ComplexConfig``:

    Args:
        hidden_act: activation, a name of ``ACT2CFN``.
        classifier_dropout: dropout probability of classification heads, by default ``hidden_dropout_prob``.
        readout: how classification heads make real logits, see ``nn.Readout``: ``modulus`` (default),
            ``squared_modulus``, both also ``scaled_...``, ``probability_amplitude``, ``concat`` or
            ``feature_modulus``; the real field has ``concat``.
        embedding_type: ``complex_order``, ``complex_vanilla`` (phase without position), ``word``,
            ``learned_position`` (PE) or ``sinusoidal_position`` (TPE).
        amplitude_sharing, frequency_sharing: ``none``, ``word`` or ``dimension``; see ``nn.ComplexOrderEmbedding``.
        phase: initial phases: ``none``, ``learned`` or ``per_dimension``.
        damping: ``none`` or ``learned``.
        frequency_init: ``sinusoidal``, ``normal`` or ``uniform``.
        frequency_scale: factor of the initial frequencies.
        max_position_embeddings: maximum length of ``learned_position``; the other types have none. Sigmoid weights
            start from it, see ``LayersConfig``.
    """

    embedding_types: ClassVar[tuple[str, ...]] = EMBEDDING_TYPES

    hidden_act: str = "split_gelu"
    classifier_dropout: float | int | None = None
    readout: str | None = None
    embedding_type: str = "complex_order"
    amplitude_sharing: str = "none"
    frequency_sharing: str = "none"
    phase: str = "none"
    damping: str = "none"
    frequency_init: str = "sinusoidal"
    frequency_scale: float | int = 1.0
    max_position_embeddings: int = 512

    def validate_sizes(self) -> None:
        super().validate_sizes()
        check_positive_field(self, "max_position_embeddings")

    def validate_embedding(self) -> None:
        """Raise unless the options of the embedding are known and fit together and the tied head."""
        choices = {
            "embedding_type": self.embedding_types,
            "amplitude_sharing": SHARINGS,
            "frequency_sharing": SHARINGS,
            "phase": PHASES,
            "damping": DAMPINGS,
            "frequency_init": FREQUENCY_INITS,
        }
        for name, valid in choices.items():
            check_choice(name, getattr(self, name), valid)
        check_frequency_scale(self.frequency_scale)
        if self.embedding_type == "complex_order":
            check_words_differ(self.amplitude_sharing, self.frequency_sharing, self.phase)
        if getattr(self, "tie_word_embeddings", False):
            self._validate_tying()

    def _validate_tying(self) -> None:
        """Raise unless a tied head has the shape of the embedding table."""
        lm_readout = vars(self)["lm_readout"]
        stores_vectors = self.embedding_type in ("word", "learned_position", "sinusoidal_position")
        expected = "concat" if stores_vectors else "feature_modulus"
        if lm_readout != expected:
            raise ValueError(
                f"lm_readout must be {expected!r} with tie_word_embeddings=True and embedding_type="
                f"{self.embedding_type!r}, got {lm_readout!r}. Or set tie_word_embeddings=False."
            )
        if not stores_vectors and self.amplitude_sharing != "none":
            raise ValueError(f"amplitude_sharing must be 'none' with a tied head, got {self.amplitude_sharing!r}.")

    def validate_windows(self) -> None:
        """Raise for fields that make Transformers' caches drop keys: attention here has no mask for dropped keys."""
        for name in ("sliding_window", "attention_chunk_size", "layer_types"):
            if (value := getattr(self, name, None)) is not None:
                raise ValueError(f"{name} must be None (attention is to all earlier tokens), got {value!r}.")


@strict
class LayersConfig(ComplexConfig):
    """Base class of the configurations with Transformer layers (ComplexOrder App. B).

    Besides the arguments of ``ComplexConfig``:

    Args:
        hidden_act, classifier_dropout, readout: as in ``TextConfig``.
        num_attention_heads: heads of every layer; they divide the complex features.
        intermediate_size: stored width of the feed-forward layer, even.
        attention_probs_dropout_prob: dropout probability of the attention weights.
        attention_score: ``modulus`` |q k^H| (Eq. 14, default), ``real`` Re(q k^H) through SDPA,
            ``bilinear_modulus`` |q k^T| (the released code), or ``cosine`` Re(q k^H) of unit vectors q and k, times
            the square root of the features of a head; the real field has ``real`` and ``cosine``.
        attention_normalization: ``softmax``, ``probability_amplitude`` (Thesis 2.37), ``split_softmax``
            (SynCoNMT Eq. 14), or ``sigmoid``, sigmoid(s + b) without normalization over the keys, where each layer
            learns b from -log ``max_position_embeddings``: set that field to the length of training sequences.
            ``cosine`` has ``softmax`` and ``sigmoid``, which together are the attention of the preprint of Hioki
            (2026, arXiv 2605.10123).
        share_parts: Re(W) = Im(W) in q, k, v (Table 4).
        norm_type: ``layer`` (each half normalized separately), ``rms`` (by modulus) or ``batch`` (the paper's text).
        norm_position: ``post`` (Vaswani et al. 2017) or ``pre``.
        layer_norm_eps: added to the variances of every norm.
    """

    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size")
    positive_sizes: ClassVar[tuple[str, ...]] = (*ComplexConfig.positive_sizes, "num_attention_heads")
    attention_scores: ClassVar[tuple[str, ...]] = ATTENTION_SCORES
    attention_normalizations: ClassVar[tuple[str, ...]] = ATTENTION_NORMALIZATIONS
    norm_types: ClassVar[tuple[str, ...]] = NORM_TYPES
    complex_only: ClassVar[dict[str, Any]] = {
        **ComplexConfig.complex_only,
        "attention_score": None,
        "share_parts": False,
    }

    hidden_act: str = "split_gelu"
    classifier_dropout: float | int | None = None
    readout: str | None = None
    num_attention_heads: int = 8
    intermediate_size: int = 1024
    attention_probs_dropout_prob: float | int = 0.1
    attention_score: str | None = None
    attention_normalization: str = "softmax"
    share_parts: bool = False
    norm_type: str = "layer"
    norm_position: str = "post"
    layer_norm_eps: float | int = 1e-5

    def __post_init__(self, **kwargs: Any) -> None:
        if self.attention_score is None:
            self.attention_score = "real" if self.number_field == "real" else "modulus"
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        super().validate_sizes()
        features = self.hidden_size if self.number_field == "real" else self.complex_size
        if features % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads must divide the {features} {self.number_field} features of "
                f"hidden_size={self.hidden_size}, got {self.num_attention_heads}."
            )

    def validate_names(self) -> None:
        super().validate_names()
        self._check_attention()
        check_choice("norm_type", self.norm_type, self.norm_types)
        check_choice("norm_position", self.norm_position, NORM_POSITIONS)
        if self.share_parts and self.number_field == "real":
            raise ValueError("share_parts must be False with number_field='real', got True.")

    def _check_attention(self) -> None:
        assert self.attention_score is not None  # __post_init__ has set it
        known = self.attention_scores, self.attention_normalizations
        check_attention(self.attention_score, self.attention_normalization, self.number_field, *known)


def check_causal_norm(config: LayersConfig) -> None:
    """Raise for batch norms in a decoder: their statistics would depend on the tokens to predict."""
    if config.norm_type == "batch":
        raise ValueError("norm_type must be 'layer' or 'rms' in a decoder, got 'batch', which leaks later tokens.")
