# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The fields of all configurations, on one page: numbers and widths, heads, embeddings, attention, language models."""

import difflib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from ...nn.activation import ACT2CFN
from ...nn.arithmetic import arithmetic
from ...nn.attention.multi_head import ATTENTION_SCORES, check_attention
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
from .hub import HubMixin

__all__ = [
    "NORM_POSITIONS",
    "NORM_TYPES",
    "NO_CLASSIFIER",
    "ComplexConfig",
    "LayersConfig",
    "NetworkConfig",
    "TextConfig",
    "TransformerConfig",
    "WritingConfig",
]

NORM_TYPES = ("layer", "rms", "batch")
NORM_POSITIONS = ("post", "pre")
# Names of fields in other configurations -> ours, where a family has that field and none of the other name.
ALIASES = {
    "attention_dropout": "attention_probs_dropout_prob",
    "layer_norm_eps": "rms_norm_eps",
    "rms_norm_eps": "layer_norm_eps",
}
# Fields of `LlamaConfig` and `BertConfig` that change what a model computes: an error where a family has none of them.
NAMES_OF_OTHERS = {
    *("add_cross_attention", "attention_bias", "attention_dropout", "attention_probs_dropout_prob"),
    *("classifier_dropout", "head_dim", "hidden_act", "hidden_dropout_prob", "intermediate_size", "is_decoder"),
    *("layer_norm_eps", "max_position_embeddings", "mlp_bias", "num_attention_heads", "num_hidden_layers"),
    *("num_key_value_heads", "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta", "tie_word_embeddings"),
    "type_vocab_size",
}
# For `read_with` of families that write and do not classify.
NO_CLASSIFIER = {"readout": "lm_readout, that of the language-model head", "classifier_dropout": "hidden_dropout_prob"}


@strict
class ComplexConfig(HubMixin, PreTrainedConfig):
    """Base of all configurations; no model type of its own.

    Widths count stored real numbers: ``hidden_size`` is the width of ``hidden_states``, ``[real | imag]`` halves of
    ``complex_size = hidden_size // 2`` complex features. A complex model costs what a real one of the same widths
    costs and has half its weights in each layer.

    ``attention_dropout`` is another name of ``attention_probs_dropout_prob``, and ``rms_norm_eps`` and
    ``layer_norm_eps`` are names of one field. A field of ``LlamaConfig`` or ``BertConfig`` that a family does not have
    raises; any other unknown name that resembles a field warns.

    Args:
        vocab_size: words.
        hidden_size: width of the embedding and the hidden states, even.
        hidden_dropout_prob: a probability.
        number_field: ``complex``, or ``real`` for the real twin of the same widths.
        weight_init: ``glorot``, ``he``, ``unitary`` or ``normal`` for the dense layers; recurrent ones begin
            with Glorot's, and unitary weights from state to state.
        initializer_range: standard deviation of embedding tables (amplitudes; each part of a complex table) and of
            ``weight_init="normal"``.
        pad_token_id: its embedding is zero and stays so; None for no such word.
        bos_token_id, eos_token_id: for tokenizers that have them, and for ``generate()``, which takes several ends.
    """

    keys_to_ignore_at_inference: ClassVar[list[str]] = ["cache"]
    # Widths of halves and other counts of a subclass, checked by `validate_sizes`.
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size",)
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size",)
    # Fields of a subclass that the real field cannot have -> their value in the real twin.
    complex_only: ClassVar[dict[str, Any]] = {}
    # Fields that are not always read -> the field that decides and those of its values with which they are; or, where
    # a family never reads an inherited field, what to set instead. Checked by `validate_unread_fields`.
    read_with: ClassVar[dict[str, tuple[str, tuple[str, ...]] | str]] = {}

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
        super().__post_init__(**kwargs)
        if self.transformers_version is None:  # a saved configuration may hold what it held before
            for name in [name for name in kwargs if name in vars(self)]:
                self._check_unknown(name)

    def _check_unknown(self, name: str) -> None:
        """Raise for a field of Llama or BERT that would have no effect; warn if the name resembles a field."""
        value, own = getattr(self, name), type(self).__name__
        if name in NAMES_OF_OTHERS and value not in (None, False):
            raise ValueError(f"{name} must be left out of {own}, which has no such field, got {value!r}.")
        if name not in NAMES_OF_OTHERS and (similar := similar_name(name, [field.name for field in fields(self)])):
            message = f"{own} has no field {name!r}: {name}={value!r} has no effect. Did you mean {similar!r}?"
            warnings.warn(message, stacklevel=2)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As in Transformers; refuses the configuration of another model by the name of that model."""
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        found = config_dict.get("model_type")
        own = {getattr(base, "model_type", None) for base in cls.__mro__}
        if found not in own and (found in CONFIG_MAPPING_NAMES or found in model_families()):
            raise ValueError(
                f"this is the configuration of a {found!r} model, and {cls.__name__} is for {cls.model_type!r}: load "
                f"its folder with AutoModel or the classes of {found!r}, or begin a new model with {cls.__name__}(...)"
            )
        unread = cls.unread_when_saved(config_dict)
        read = {name: value for name, value in config_dict.items() if name not in unread}
        loaded = super().from_dict(read, **kwargs)
        config = loaded[0] if isinstance(loaded, tuple) else loaded
        for name, where in unread.items():
            if (value := config_dict[name]) != config.default_of(name):
                message = f"{name}={value!r} of a saved configuration has no effect {where} and is left out"
                warnings.warn(message, stacklevel=2)
        return loaded

    @classmethod
    def unread_when_saved(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """The fields of a saved configuration that have no effect, and in what: an older version took some of them."""
        if "transformers_version" not in values:
            return {}
        unread = cls.unread_fields({field.name: field.default for field in fields(cls)} | dict(values))
        deciding = {name: name if isinstance(reader, str) else reader[0] for name, reader in cls.read_with.items()}
        return {name: where for name, (where, _) in unread.items() if {name, deciding[name]} <= values.keys()}

    @property
    def complex_size(self) -> int:
        """Complex features of a hidden state, ``hidden_size // 2``."""
        return self.hidden_size // 2

    def real_twin(self, **changes: Any) -> Self:
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        values = {**self.to_dict(), "number_field": "real", **type(self).complex_only, **changes}
        unread = self.unread_fields(values).keys() - changes.keys() | {"transformers_version"}
        return type(self).from_dict({name: value for name, value in values.items() if name not in unread})

    @classmethod
    def unread_fields(cls, values: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        """The fields that have no effect beside ``values`` -> in what, and what to do instead."""
        unread: dict[str, tuple[str, str]] = {}
        for name, reader in cls.read_with.items():
            if isinstance(reader, str):
                unread[name] = f"in {cls.__name__}", reader
            elif values[reader[0]] not in reader[1]:
                others = " or ".join(f"{reader[0]}={value!r}" for value in reader[1])
                unread[name] = f"with {reader[0]}={values[reader[0]]!r}", others
        return unread

    def default_of(self, name: str) -> Any:
        """The value of a field that is not given."""
        return type(self).__dataclass_fields__[name].default

    def vocabulary_of(self, name: str) -> tuple[str, int]:
        """The field with the size of the vocabulary that ``name``, a ``..._token_id``, belongs to, and the size."""
        return "vocab_size", self.vocab_size

    def validate_sizes(self) -> None:
        """Counts are positive, widths of halves even."""
        for name in (*self.positive_sizes, *self.even_sizes):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in self.even_sizes:
            if (size := getattr(self, name)) % 2:
                raise ValueError(f"{name} holds [real | imag] halves and must be even, got {size}; use {size + 1}")

    def validate_numbers(self) -> None:
        """No number is NaN or infinite."""
        for name in (field.name for field in fields(self)):
            if isinstance(value := getattr(self, name), float) and not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, got {value}")

    def validate_token_ids(self) -> None:
        """Special tokens are words of the vocabulary."""
        for name, value in vars(self).items():
            if not name.endswith("_token_id"):
                continue
            source, size = self.vocabulary_of(name)
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, int) and size > 0 and not 0 <= token < size:  # validate_sizes refuses other sizes
                    raise ValueError(
                        f"{name} must lie in [0, {source}={size}), or be None for no such token, got {token}; "
                        "len(tokenizer) is the size of a tokenizer's vocabulary"
                    )

    def validate_unread_fields(self) -> None:
        """Fields that nothing reads are left at their defaults."""
        for name, (where, instead) in self.unread_fields(vars(self)).items():
            if (value := getattr(self, name)) != (default := self.default_of(name)):
                raise ValueError(f"{name}={value!r} has no effect {where}; leave it at {default!r}, or use {instead}")

    def validate_probabilities(self) -> None:
        """Dropout probabilities and label smoothing lie in [0, 1), deviations are positive."""
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "label_smoothing"):
            value = vars(self).get(name)
            if value is not None and not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be in [0, 1), got {value}")
        for name in ("layer_norm_eps", "initializer_range"):
            if (value := vars(self).get(name)) is not None and value <= 0.0:
                raise ValueError(f"{name} must be positive, got {value}")

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        arithmetic(self.number_field)
        check_choice("weight_init", self.weight_init, tuple(INITIALIZERS))


def similar_name(name: str, names: Sequence[str]) -> str | None:
    """Return the most similar of the names that have all words of ``name`` or nearly its letters, else None."""
    words = set(name.split("_"))
    similar = [other for other in names if words < set(other.split("_"))]
    similar += difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return max(similar, key=lambda other: difflib.SequenceMatcher(None, name, other).ratio(), default=None)


@strict
class NetworkConfig(ComplexConfig):
    """Base of the configurations with activations between layers and classification heads; no model type of its own.

    Besides the arguments of ``ComplexConfig``:

    Args:
        hidden_act: a name of ``ACT2CFN``.
        classifier_dropout: a probability, by default ``hidden_dropout_prob``.
        readout: of the classification heads, see ``nn.Readout``: ``modulus`` (default), ``squared_modulus``, both also
            ``scaled_...``, ``probability_amplitude``, ``concat`` or ``feature_modulus``; the real field has
            ``concat``.
    """

    hidden_act: str = "split_gelu"
    classifier_dropout: float | int | None = None
    readout: str | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if self.readout is None:
            self.readout = self.default_of("readout")
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        """As in ``ComplexConfig``; the readout is that of the number field."""
        if name == "readout":
            return "concat" if self.number_field == "real" else "modulus"
        return super().default_of(name)

    def real_twin(self, **changes: Any) -> Self:
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        return super().real_twin(**{"readout": None, **changes})

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        check_choice("hidden_act", self.hidden_act, tuple(ACT2CFN))
        assert self.readout is not None  # __post_init__ has filled it in
        check_readout(self.readout, self.number_field)


@strict
class TextConfig(NetworkConfig):
    """Base of the configurations of text models; no model type of its own.

    Besides the arguments of ``NetworkConfig``, which has those of ``ComplexConfig``:

    Args:
        embedding_type: ``complex_order``, ``complex_vanilla`` (phase without position), ``word``,
            ``learned_position`` (PE) or ``sinusoidal_position`` (TPE).
        amplitude_sharing, frequency_sharing: ``none``, ``word`` or ``dimension``; see ``nn.ComplexOrderEmbedding``.
        phase: initial phases: ``none``, ``learned`` or ``per_dimension``.
        damping: ``none`` or ``learned``.
        frequency_init: ``sinusoidal``, ``normal`` or ``uniform``.
        frequency_scale: factor of the initial frequencies.
        max_position_embeddings: longest text, for ``learned_position`` only; the others have none.
    """

    read_with: ClassVar[dict[str, tuple[str, tuple[str, ...]] | str]] = {
        "amplitude_sharing": ("embedding_type", ("complex_order", "complex_vanilla")),
        "frequency_sharing": ("embedding_type", ("complex_order",)),
        "phase": ("embedding_type", ("complex_order",)),
        "damping": ("embedding_type", ("complex_order",)),
        "frequency_init": ("embedding_type", ("complex_order",)),
        "frequency_scale": ("embedding_type", ("complex_order",)),
        "max_position_embeddings": ("embedding_type", ("learned_position",)),
    }

    embedding_types: ClassVar[tuple[str, ...]] = EMBEDDING_TYPES

    embedding_type: str = "complex_order"
    amplitude_sharing: str = "none"
    frequency_sharing: str = "none"
    phase: str = "none"
    damping: str = "none"
    frequency_init: str = "sinusoidal"
    frequency_scale: float | int = 1.0
    max_position_embeddings: int = 512

    def validate_names(self) -> None:
        """As in ``NetworkConfig``; also the embedding."""
        super().validate_names()
        check_choice("embedding_type", self.embedding_type, self.embedding_types)

    def validate_sizes(self) -> None:
        """As in ``NetworkConfig``; there is a position."""
        super().validate_sizes()
        if self.max_position_embeddings < 1:
            raise ValueError(f"max_position_embeddings must be positive, got {self.max_position_embeddings}")

    def validate_embedding(self) -> None:
        """The fields of the complex-order embedding are known, and words differ."""
        choices = {
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


@strict
class LayersConfig(NetworkConfig):
    """Base of the configurations with Transformer layers (ComplexOrder App. B); no model type of its own.

    Besides the arguments of ``NetworkConfig``:

    Args:
        num_attention_heads: of every layer; they divide the complex features.
        intermediate_size: width of the feed-forward layer, even.
        attention_probs_dropout_prob: a probability.
        attention_score: ``modulus`` |q k^H| (Eq. 14, default), ``real`` Re(q k^H) through SDPA, or
            ``bilinear_modulus`` |q k^T| (the released code); the real field has ``real``.
        attention_normalization: ``softmax``, ``probability_amplitude`` (Thesis 2.37) or ``split_softmax``
            (SynCoNMT Eq. 14).
        share_parts: Re(W) = Im(W) in q, k, v (Table 4).
        norm_type: ``layer`` (each part on its own), ``rms`` (by modulus) or ``batch`` (the paper's text).
        norm_position: ``post`` (Vaswani et al. 2017) or ``pre``.
        layer_norm_eps: added to the variances of every norm.
    """

    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size")
    positive_sizes: ClassVar[tuple[str, ...]] = (*NetworkConfig.positive_sizes, "num_attention_heads")
    attention_scores: ClassVar[tuple[str, ...]] = ATTENTION_SCORES
    norm_types: ClassVar[tuple[str, ...]] = NORM_TYPES
    complex_only: ClassVar[dict[str, Any]] = {"attention_score": None, "share_parts": False}

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

    def real_twin(self, **changes: Any) -> Self:
        """As in ``NetworkConfig``; complex attention weights become ``softmax``."""
        if self.attention_normalization == "split_softmax":
            changes = {"attention_normalization": "softmax", **changes}
        return super().real_twin(**changes)

    def validate_sizes(self) -> None:
        """Widths are positive and even, heads divide the features."""
        super().validate_sizes()
        features = self.hidden_size if self.number_field == "real" else self.complex_size
        if features % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads must divide the {features} {self.number_field} features of "
                f"hidden_size={self.hidden_size}, got {self.num_attention_heads}"
            )

    def validate_names(self) -> None:
        """Every named choice is known and exists in the number field."""
        super().validate_names()
        self._check_attention()
        check_choice("norm_type", self.norm_type, self.norm_types)
        check_choice("norm_position", self.norm_position, NORM_POSITIONS)
        if self.share_parts and self.number_field == "real":
            raise ValueError("share_parts=True needs number_field='complex': a real weight has one part")

    def _check_attention(self) -> None:
        assert self.attention_score is not None  # __post_init__ has filled it in
        check_attention(self.attention_score, self.attention_normalization, self.number_field, self.attention_scores)


@strict
class WritingConfig(TextConfig):
    """Base of the configurations of models with a language-model head; no model type of its own.

    Besides the arguments of ``TextConfig``:

    Args:
        lm_readout: ``readout`` of a language-model head, default ``concat``.
        tie_word_embeddings: use the word table as the weight of the language-model head: ``lm_readout="concat"`` with
            a free table, ``"feature_modulus"`` with unshared amplitudes.
    """

    complex_only: ClassVar[dict[str, Any]] = {"lm_readout": "concat"}

    lm_readout: str = "concat"
    tie_word_embeddings: bool = False

    def validate_names(self) -> None:
        """As in ``TextConfig``; also the readout of a language-model head."""
        super().validate_names()
        check_readout(self.lm_readout, self.number_field, "lm_readout")

    def validate_windows(self) -> None:
        """No name by which Transformers' caches drop keys is given: attention here would see them without a cache."""
        for name in ("sliding_window", "attention_chunk_size", "layer_types"):
            if (value := getattr(self, name, None)) is not None:
                raise ValueError(f"{name}={value!r} is not supported: a token sees all before it; leave {name} out")

    def validate_embedding(self) -> None:
        """As in ``TextConfig``; a tied head has the shape of the word table."""
        super().validate_embedding()
        if self.tie_word_embeddings:
            self._validate_tying()

    def _validate_tying(self) -> None:
        free_table = self.embedding_type in ("word", "learned_position", "sinusoidal_position")
        fits = self.lm_readout == "concat" if free_table else self.lm_readout == "feature_modulus"
        if not fits or self.amplitude_sharing != "none":
            raise ValueError(
                "tie_word_embeddings=True needs a head of the shape of the word table: lm_readout='concat' with a "
                "free table (word, learned_position, sinusoidal_position), or lm_readout='feature_modulus' with "
                f"unshared amplitudes; got lm_readout={self.lm_readout!r}, embedding_type={self.embedding_type!r}, "
                f"amplitude_sharing={self.amplitude_sharing!r}"
            )


@strict
class TransformerConfig(LayersConfig, WritingConfig):
    """Base of the configurations of Transformers for text; no model type of its own.

    It has the arguments of ``LayersConfig`` and ``WritingConfig``, which has those of ``TextConfig``.
    """

    complex_only: ClassVar[dict[str, Any]] = {**LayersConfig.complex_only, **WritingConfig.complex_only}
