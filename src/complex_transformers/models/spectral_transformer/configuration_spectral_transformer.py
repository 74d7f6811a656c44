# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the spectral Transformers."""

from typing import TYPE_CHECKING, Any, ClassVar, Self

from huggingface_hub.dataclasses import strict

from ...nn.attention.multi_head import KEY_NORMALIZATIONS, PRODUCT_SCORES
from ...nn.checks import check_choice
from ...nn.spectral import POSITION_PHASES, check_spectral_attention
from ..base.configuration import LayersConfig
from ..complex_seq2seq.configuration_complex_seq2seq import ComplexSeq2SeqConfig

if TYPE_CHECKING:
    from .feature_extraction_spectral_transformer import SpectralFeatureExtractor

__all__ = ["DECODER_FIELDS", "POOLINGS", "VARIANTS", "SpectralTransformerConfig"]

VARIANTS = ("fully_spectral", "spectral_scaled")
POOLINGS = ("max", "average")
# Feature types of [real | imag] bins.
SPECTRA = ("spectrum", "modulus", "phase")
# Fields that a decoder given as a dictionary takes from the encoder.
DECODER_FIELDS = (
    "hidden_size",
    "number_field",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "norm_type",
    "norm_position",
    "layer_norm_eps",
    "weight_init",
)


@strict
class SpectralTransformerConfig(LayersConfig):
    """Configuration of a spectral Transformer for speech (thesis, sections 5.3 and 5.4).

    Takes the arguments of ``LayersConfig`` and, in addition:

    Args:
        variant: ``fully_spectral`` (Eq. 5.7) runs complex frequency bins through a complex network; with
            ``number_field="real"`` it is the real twin, a plain Transformer on real features. ``spectral_scaled``
            (Eq. 5.8) runs frames of samples through a real network and computes attention weights from spectra.
        number_field: default ``complex`` for ``fully_spectral`` and ``real`` for ``spectral_scaled``.
        feature_size: width of a frame of features; must match the feature extractor.
        hop_length: hop length of the feature extractor, in samples.
        num_hidden_layers: number of encoder layers.
        attention_score, attention_normalization: see ``LayersConfig``, without ``cosine`` and ``sigmoid``; the default
            normalization is the thesis' (Eq. 2.43).
        frequency_kernel: multiply the bins by a learned kernel (Eq. 5.10). Only for complex features, where it is the
            default.
        position_phase: ``add`` adds the positional phase embedding to the bins (Eq. 5.7, 5.11), ``rotate`` rotates the
            hidden states by it (complex field only), ``none`` uses no positions. ``spectral_scaled`` applies either
            to its queries and keys (Eq. 5.8).
        pooling: ``max`` keeps the element of largest modulus (Eq. 2.29), ``average`` the mean modulus (Eq. 2.28).
        bin_pool_size, bin_pool_stride: size and stride of the pooling over bins, complex field only. The size is 2 by
            default, the stride equals the size.
        time_pool_size: size and stride of the pooling over frames, before the layers.
        input_projection: project the pooled bins to ``hidden_size``. With False, as in the thesis, the pooled bins are
            the hidden state and ``hidden_size`` must equal their width.
        vocab_size: size of the CTC vocabulary, including the blank.
        pad_token_id: id of the CTC blank.
        bos_token_id, eos_token_id: ids of the CTC tokenizer, if it has them; a decoder has its own.
        ctc_loss_reduction, ctc_zero_infinity: see ``torch.nn.functional.ctc_loss``; as in Wav2Vec2.
        decoder: decoder configuration of an encoder-decoder model, a ``ComplexSeq2SeqConfig`` or a dictionary of its
            fields. Fields in ``DECODER_FIELDS`` that a dictionary leaves out are copied from the encoder, and for
            ``fully_spectral`` also ``attention_score``. The decoder's encoder fields are not used.
        tie_word_embeddings: always False; the decoder has its own.

    Example:
        >>> from complex_transformers import SpectralTransformerConfig
        >>> SpectralTransformerConfig(feature_size=402, hop_length=160, time_pool_size=2).inputs_to_logits_ratio
        320
        >>> SpectralTransformerConfig(decoder={"vocab_size": 40, "decoder_start_token_id": 1}).decoder.hidden_size
        512
    """

    model_type = "spectral_transformer"
    sub_configs: ClassVar[dict[str, type]] = {"decoder": ComplexSeq2SeqConfig}
    positive_sizes: ClassVar[tuple[str, ...]] = (
        *LayersConfig.positive_sizes,
        "feature_size",
        "hop_length",
        "num_hidden_layers",
        "bin_pool_size",
        "bin_pool_stride",
        "time_pool_size",
    )
    attention_scores: ClassVar[tuple[str, ...]] = PRODUCT_SCORES
    attention_normalizations: ClassVar[tuple[str, ...]] = KEY_NORMALIZATIONS
    complex_only: ClassVar[dict[str, Any]] = {
        **LayersConfig.complex_only,
        "variant": "fully_spectral",
        "attention_normalization": "softmax",
        "frequency_kernel": None,
        "bin_pool_size": None,
        "bin_pool_stride": None,
    }

    variant: str = "fully_spectral"
    number_field: Any = None  # __post_init__ sets the default of the variant
    feature_size: int = 402
    hop_length: int = 160
    num_hidden_layers: int = 4
    attention_normalization: str = "probability_amplitude"
    frequency_kernel: bool | None = None
    position_phase: str = "add"
    pooling: str = "max"
    bin_pool_size: int | None = None
    bin_pool_stride: int | None = None
    time_pool_size: int = 1
    input_projection: bool = True
    vocab_size: int = 32
    ctc_loss_reduction: str = "sum"
    ctc_zero_infinity: bool = False
    decoder: Any = None  # __post_init__ makes a dictionary a configuration
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.number_field is None:
            self.number_field = "real" if self.variant == "spectral_scaled" else "complex"
        is_complex = self.number_field == "complex"
        if self.frequency_kernel is None:
            self.frequency_kernel = is_complex
        if self.bin_pool_size is None:
            self.bin_pool_size = 2 if is_complex else 1
        if self.bin_pool_stride is None:
            self.bin_pool_stride = self.bin_pool_size
        if self.attention_score is None and self.variant == "spectral_scaled":
            self.attention_score = "modulus"
        if isinstance(self.decoder, dict):
            shared = {name: getattr(self, name) for name in DECODER_FIELDS}
            if self.variant == "fully_spectral":  # a decoder has no spectral-scaled attention
                shared["attention_score"] = self.attention_score
            self.decoder = ComplexSeq2SeqConfig(**{**shared, **self.decoder})
        if not isinstance(self.decoder, ComplexSeq2SeqConfig | None):
            raise TypeError(f"decoder must be a ComplexSeq2SeqConfig or a dictionary, got {self.decoder!r}.")
        self.is_encoder_decoder = self.decoder is not None
        super().__post_init__(**kwargs)

    @classmethod
    def from_extractor(cls, extractor: "SpectralFeatureExtractor", **changes: Any) -> Self:
        """Return a configuration whose ``feature_size`` and ``hop_length`` match a feature extractor.

        Args:
            extractor: the feature extractor of the model.
            changes: other fields of the configuration.

        Raises:
            ValueError: ``feature_type`` of the extractor does not suit ``variant`` and ``number_field``.
        """
        config = cls(feature_size=extractor.feature_size, hop_length=extractor.hop_length, **changes)
        real = ("frames",) if config.variant == "spectral_scaled" else (*SPECTRA, "frames", "log_mel", "mfcc")
        types = SPECTRA if config.number_field == "complex" else real
        hint = f" for variant={config.variant!r} with number_field={config.number_field!r}"
        check_choice("feature_type of the extractor", extractor.feature_type, types, hint)
        return config

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        if "decoder" in kwargs:  # Transformers would set a dictionary as it is, after __post_init__
            config_dict = {**config_dict, "decoder": kwargs.pop("decoder")}
        return super().from_dict(config_dict, **kwargs)

    @property
    def pooled_size(self) -> int:
        """Stored width of a frame after pooling over bins."""
        if self.number_field == "real":
            return self.feature_size
        assert self.bin_pool_size is not None
        assert self.bin_pool_stride is not None
        return 2 * (1 + -(-max(self.feature_size // 2 - self.bin_pool_size, 0) // self.bin_pool_stride))

    @property
    def inputs_to_logits_ratio(self) -> int:
        """Audio samples per frame of logits."""
        return self.hop_length * self.time_pool_size

    def real_twin(self, **changes: Any) -> Self:
        """Return the real twin; ``position_phase="rotate"`` becomes ``"add"``, the decoder its own real twin."""
        if self.position_phase == "rotate":
            changes = {"position_phase": "add", **changes}
        if self.decoder is not None:
            changes = {"decoder": self.decoder.real_twin(), **changes}
        return super().real_twin(**changes)

    def validate_decoder(self) -> None:
        """Validate that the decoder has the width and the number field of the encoder, and that tying is set in it."""
        if self.tie_word_embeddings:
            raise ValueError("tie_word_embeddings must be False, got True. Set it in decoder={...}.")
        for name in ("hidden_size", "number_field"):
            expected = getattr(self, name)
            if self.decoder is not None and (found := getattr(self.decoder, name)) != expected:
                raise ValueError(f"{name} of decoder must be {expected!r}, got {found!r}.")

    def validate_names(self) -> None:
        """Validate named choices and their combination with the number field."""
        check_choice("variant", self.variant, VARIANTS)
        super().validate_names()
        reductions = ("mean", "sum")
        choices = {"position_phase": POSITION_PHASES, "pooling": POOLINGS, "ctc_loss_reduction": reductions}
        for name, valid in choices.items():
            check_choice(name, getattr(self, name), valid)
        if self.variant == "spectral_scaled" and self.number_field != "real":
            raise ValueError("number_field must be 'real' for variant='spectral_scaled', got 'complex'. Leave it out.")
        if self.number_field == "real" and self.variant == "fully_spectral" and self.position_phase == "rotate":
            raise ValueError("position_phase must be 'add' or 'none' with number_field='real', got 'rotate'.")

    def validate_features(self) -> None:
        """Validate that complex features have halves and that unprojected features fit the hidden size."""
        if self.number_field == "complex" and self.feature_size % 2:
            raise ValueError(f"feature_size must be even ([real | imag] halves), got {self.feature_size}.")
        if not self.input_projection and self.hidden_size != self.pooled_size:
            raise ValueError(f"hidden_size must be {self.pooled_size} without projection, got {self.hidden_size}.")

    def _check_attention(self) -> None:
        if self.variant != "spectral_scaled":
            super()._check_attention()
            return
        assert self.attention_score is not None
        check_spectral_attention(self.attention_score, self.attention_normalization)
