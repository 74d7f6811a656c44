# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the spectral Transformers."""

from typing import TYPE_CHECKING, Any, ClassVar, Self

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ...nn.spectral import POSITION_PHASES, check_spectral_attention
from ..base.configuration import LayersConfig
from ..complex_seq2seq.configuration_complex_seq2seq import ComplexSeq2SeqConfig

if TYPE_CHECKING:
    from .feature_extraction_spectral_transformer import SpectralFeatureExtractor

__all__ = ["DECODER_FIELDS", "POOLINGS", "VARIANTS", "SpectralTransformerConfig"]

VARIANTS = ("fully_spectral", "spectral_scaled")
POOLINGS = ("max", "average")
# What a decoder has from its encoder where it is not said.
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
    """Configuration of a spectral Transformer (thesis, sections 5.3 and 5.4).

    Besides the arguments of ``LayersConfig``, which has those of ``NetworkConfig``:

    Args:
        variant: ``fully_spectral`` (Eq. 5.7): complex bins through a complex network; with ``number_field="real"``
            its real twin, a plain Transformer on real features. ``spectral_scaled`` (Eq. 5.8): frames of samples
            through a real network whose attention weights are those of spectra.
        number_field: by default that of the variant, ``complex`` or ``real``.
        feature_size: width of a frame of features, as the feature extractor has it.
        hop_length: samples from frame to frame in the feature extractor.
        num_hidden_layers: encoder layers.
        attention_normalization: as in ``LayersConfig``; the default is that of the thesis (Eq. 2.43).
        frequency_kernel: multiply the bins by a learned kernel (Eq. 5.10); default in the complex field only.
        position_phase: ``add`` the positional phase embedding to the bins (Eq. 5.7, 5.11), ``rotate`` the hidden
            states by it (the phase shift of the text; complex numbers only) or ``none``. ``spectral_scaled`` does
            either in its queries and keys (Eq. 5.8).
        pooling: ``max`` keeps the number of largest modulus (Eq. 2.29), ``average`` the mean modulus (Eq. 2.28).
        bin_pool_size, bin_pool_stride: bins pooled into one, in the complex field only; default 2, and as the size.
        time_pool_size: frames pooled into one before the layers.
        input_projection: a linear layer from the pooled bins to ``hidden_size``. Without (as in the thesis) they are
            the hidden state, and ``hidden_size`` must be their width.
        vocab_size: symbols of a CTC head, the blank included.
        pad_token_id: the blank.
        bos_token_id, eos_token_id: for tokenizers that have them; a decoder has its own.
        ctc_loss_reduction, ctc_zero_infinity: of ``torch.nn.functional.ctc_loss``, as in Wav2Vec2.
        decoder: of the encoder-decoder form, a ``ComplexSeq2SeqConfig`` or its fields; what a dictionary leaves out
            of ``DECODER_FIELDS`` is as in the encoder, and ``attention_score`` as in one that is Fully Spectral.
            Symbols, embedding, ``decoder_layers``, special tokens and label smoothing are the decoder's; its source
            side is not used.

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
    complex_only: ClassVar[dict[str, Any]] = {
        **LayersConfig.complex_only,
        "variant": "fully_spectral",
        "attention_normalization": "softmax",
        "frequency_kernel": None,
        "bin_pool_size": None,
        "bin_pool_stride": None,
    }

    variant: str = "fully_spectral"
    number_field: Any = None  # that of the variant, filled in below
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
    decoder: Any = None

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
            if self.variant == "fully_spectral":  # the scores of spectra are no decoder's
                shared["attention_score"] = self.attention_score
            self.decoder = ComplexSeq2SeqConfig(**{**shared, **self.decoder})
        if not isinstance(self.decoder, ComplexSeq2SeqConfig | None):
            raise TypeError(
                f"decoder must be a ComplexSeq2SeqConfig or a dictionary of its fields, got {self.decoder!r}"
            )
        self.is_encoder_decoder = self.decoder is not None
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        """As in ``LayersConfig``; a stride is as long as what is pooled."""
        return self.bin_pool_size if name == "bin_pool_stride" else super().default_of(name)

    @classmethod
    def from_extractor(cls, extractor: "SpectralFeatureExtractor", **changes: Any) -> Self:
        """The configuration that fits a feature extractor; ``changes`` are its other fields."""
        config = cls(feature_size=extractor.feature_size, hop_length=extractor.hop_length, **changes)
        spectra = ("spectrum", "modulus", "phase")
        if config.number_field == "complex" and extractor.feature_type not in spectra:
            raise ValueError(
                f"variant='fully_spectral' reads complex bins, and the extractor has feature_type="
                f"{extractor.feature_type!r}; use one of {list(spectra)}, or number_field='real' for the real twin"
            )
        if config.variant == "spectral_scaled" and extractor.feature_type != "frames":
            raise ValueError(
                "variant='spectral_scaled' reads windowed samples, and the extractor has feature_type="
                f"{extractor.feature_type!r}; use 'frames'"
            )
        return config

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As in Transformers, which would leave a dictionary given as ``decoder`` what it is."""
        if "decoder" in kwargs:
            config_dict = {**config_dict, "decoder": kwargs.pop("decoder")}
        return super().from_dict(config_dict, **kwargs)

    @property
    def pooled_size(self) -> int:
        """Stored width of a frame after pooling over bins: what the layers see without ``input_projection``."""
        if self.number_field == "real":
            return self.feature_size
        assert self.bin_pool_size is not None
        assert self.bin_pool_stride is not None
        return 2 * (1 + -(-max(self.feature_size // 2 - self.bin_pool_size, 0) // self.bin_pool_stride))

    @property
    def inputs_to_logits_ratio(self) -> int:
        """Samples for one frame of the output."""
        return self.hop_length * self.time_pool_size

    def real_twin(self, **changes: Any) -> Self:
        """As in ``LayersConfig``: the plain Transformer, of ``position_phase="add"`` for ``rotate``."""
        if self.position_phase == "rotate":
            changes = {"position_phase": "add", **changes}
        if self.decoder is not None:
            changes = {"decoder": self.decoder.real_twin(), **changes}
        return super().real_twin(**changes)

    def validate_decoder(self) -> None:
        """A decoder has the width and the number field of the encoder it attends to."""
        if self.decoder is None:
            return
        for name in ("hidden_size", "number_field"):
            if getattr(self.decoder, name) != getattr(self, name):
                raise ValueError(
                    f"the decoder attends to the encoder and needs its {name}={getattr(self, name)!r}, got "
                    f"{getattr(self.decoder, name)!r}"
                )

    def validate_names(self) -> None:
        """As in ``LayersConfig``; also the variant and what belongs to it."""
        check_choice("variant", self.variant, VARIANTS)
        super().validate_names()
        check_choice("position_phase", self.position_phase, POSITION_PHASES)
        check_choice("pooling", self.pooling, POOLINGS)
        check_choice("ctc_loss_reduction", self.ctc_loss_reduction, ("mean", "sum"))
        if self.variant == "spectral_scaled" and self.number_field != "real":
            raise ValueError(
                "variant='spectral_scaled' has real weights: use number_field='real', or leave it out; a complex "
                "network is variant='fully_spectral'"
            )
        if self.number_field == "real" and self.variant == "fully_spectral" and self.position_phase == "rotate":
            raise ValueError("position_phase='rotate' needs complex numbers; a real network has 'add' or 'none'")
        if self.number_field == "real" and (self.frequency_kernel or self.bin_pool_size != 1):
            raise ValueError(
                f"frequency_kernel={self.frequency_kernel} and bin_pool_size={self.bin_pool_size} work on complex "
                "bins; a real network has False and 1: leave them out"
            )

    def validate_features(self) -> None:
        """Bins are halves, and fit the hidden state where nothing projects them."""
        if self.number_field == "complex" and self.feature_size % 2:
            raise ValueError(
                f"feature_size={self.feature_size} holds [real | imag] halves of bins and must be even; a window of L "
                "samples has 2 (L // 2 + 1)"
            )
        if self.number_field == "complex" and self.bin_pool_size > self.feature_size // 2:  # type: ignore[operator]
            raise ValueError(
                f"bin_pool_size={self.bin_pool_size} is more than the {self.feature_size // 2} bins of "
                f"feature_size={self.feature_size}"
            )
        if not self.input_projection and self.hidden_size != self.pooled_size:
            raise ValueError(
                "input_projection=False makes the pooled features the hidden state: use "
                f"hidden_size={self.pooled_size}, got {self.hidden_size}"
            )
        if self.variant == "spectral_scaled" and (self.hidden_size // 2) % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads must divide the {self.hidden_size // 2} complex features of queries and keys, "
                f"got {self.num_attention_heads}"
            )

    def _check_attention(self) -> None:
        if self.variant != "spectral_scaled":
            super()._check_attention()
            return
        assert self.attention_score is not None
        check_spectral_attention(self.attention_score, self.attention_normalization)
