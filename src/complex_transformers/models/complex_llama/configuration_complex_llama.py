# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the complex Llama."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.attention.grouped_query import check_heads, num_query_heads
from ...nn.attention.multi_head import check_attention
from ...nn.attention.rotary import check_rope_theta
from ...nn.checks import check_choice
from ...nn.embedding import EMBEDDING_TYPES
from ...nn.feed_forward import check_gate_product
from ...nn.low_bit.rounding import check_activation_bits
from ...nn.normalization import check_norm_scale
from ...nn.widely_linear import check_linear_type
from ..base.configuration import TextConfig, check_positive_field

__all__ = ["LAYER_TYPES", "ROPE_TYPES", "ComplexLlamaConfig"]

POSITION_TYPES = ("rotary", "rotary_word", "polar", "polar_word", "complex_order")
ROPE_TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3")
PLAIN_TYPES = ("rotary_word", "polar", "polar_word")  # position types without scaled frequencies
LAYER_TYPES = ("full_attention", "sliding_attention")
NORM_POSITIONS = ("pre", "output", "both")


@strict
class ComplexLlamaConfig(TextConfig):
    """Configuration of a causal decoder: Llama (Touvron et al. 2023) with complex layers, as in iFairy (2025).

    Fields have the names that Llama gives them. With ``number_field="real"`` and ``position_type="rotary"`` the
    network is ``LlamaForCausalLM``, weight by weight. Besides the arguments of ``TextConfig``:

    Args:
        lm_readout: ``readout`` of the LM head, default ``concat``.
        tie_word_embeddings: share the embedding table with the LM head: ``lm_readout="concat"`` with a free table,
            ``"feature_modulus"`` with unshared amplitudes.
        num_hidden_layers: decoder layers.
        num_attention_heads: heads of queries.
        num_key_value_heads: heads of keys and values, a divisor of ``num_attention_heads``; default the same.
        head_dim: stored width of a head, even; default ``hidden_size / num_attention_heads``.
        intermediate_size: stored width of the gated feed-forward network, even.
        hidden_act: activation of the gate, a name of ``ACT2CFN``: ``split_silu`` (default), ``relu2`` (iFairy), ...
        gate_product: ``complex`` (default), ``conj`` (iFairy) or ``parts``; see ``nn.GatedFeedForward``. The real
            field has ``parts``.
        linear_type: dense layers, except the head: ``complex`` W z (default), ``conjugate`` W conj(z) (iFairy) or
            ``widely_linear`` U z + V conj(z), every real matrix. The real field has ``real``.
        complex_layers: names of layers without V in a ``widely_linear`` model, such as ``layers.0.mlp.up_proj``; see
            ``prune_conjugate``.
        norm_scale: RMS norms divide by the root mean square of the moduli |z| (``modulus``, default) or of the stored
            elements (``stored``, smaller by sqrt(2)). The real field has ``stored``.
        rms_norm_eps: added to the mean square.
        sub_norms: a norm before ``o_proj`` and before ``down_proj`` (iFairy).
        norm_position: position of the norms in a layer: ``pre``, at the input of attention and feed-forward network
            (Llama, default); ``output``, at their output (OLMo 2); or ``both`` (Gemma 2).
        qk_norm: True for a norm over each head of queries and keys (Qwen3), ``"all_heads"`` for one norm over all
            heads together (OLMo 2).
        activation_bits: bits of the inputs of all dense layers except the head, rounded per token and half (iFairy:
            8); None, the default, for no rounding.
        attention_bias: biases of q, k, v and o.
        attention_output_bias: bias of o; default ``attention_bias`` (Qwen2: biases of q, k and v only).
        mlp_bias: biases of the feed-forward network.
        attention_score: ``real`` Re(q k^H) through SDPA (default), ``modulus``, ``bilinear_modulus``, or ``cosine``,
            Re(q k^H) of unit vectors; the real field has ``real`` and ``cosine``.
        attention_normalization: ``softmax``, ``probability_amplitude``, ``split_softmax``, or ``sigmoid``,
            sigmoid(s + b) with one learned b per layer, which starts at -log ``max_position_embeddings``. ``cosine``
            has ``softmax`` and ``sigmoid``, which together are the attention of the preprint of Hioki (2026, arXiv
            2605.10123).
        attention_scale: factor of the scores; default D^(-1/2), for ``cosine`` D^(1/2), for heads of D complex
            features, in the real field of D = ``head_dim`` real ones.
        attn_logit_softcapping: c, for attention scores c tanh(s / c) (Gemma 2); default no limit. ``sdpa`` cannot
            compute it, so these layers use the eager attention of this package.
        final_logit_softcapping: the same limit for the logits of the LM head (Gemma 2).
        attention_probs_dropout_prob: dropout probability of the attention weights.
        position_type: ``polar``: queries and keys have moduli that depend on content and phases that depend on
            positions, and keys are twice as wide as values, ``nn.PolarHeads`` (PoPE); ``rotary``: D complex features
            rotate by the angles of Llama; ``polar_word``, ``rotary_word``: the same with frequencies per token,
            ``nn.RotaryWordPositions``; ``complex_order``: phases in the embedding (ComplexOrder Eq. 5), no rotation in
            attention. The default is ``rotary`` with ``imaginary_heads``, ``no_rope_layers``, or ``rope_parameters``
            that ``polar`` does not have, and ``polar`` otherwise. A saved configuration without this field has
            ``rotary``.
        imaginary_heads: ``none`` (default), ``equal_heads`` or ``equal_cache``: heads whose score is the imaginary
            part Im(q k^H), see ``nn.GroupedQueryAttention`` (RoPE++). ``equal_heads`` halves the KV cache: the default
            of ``num_key_value_heads`` is then ``num_attention_heads / 2``.
        rope_parameters: as in Transformers, default ``{"rope_type": "default", "rope_theta": 10000.0}``. Types are
            ``default``, ``linear``, ``dynamic``, ``yarn``, ``longrope`` and ``llama3``; ``partial_rotary_factor`` is
            the share of a head that rotates. Layer types may have one dictionary each (Gemma 3). ``rotary_word``,
            ``polar`` and ``polar_word`` have ``default`` only.
        no_rope_layers: for each layer 1 to rotate queries and keys, or 0 (SmolLM3); default 1 for all.
        sliding_window: tokens that a layer of type ``sliding_attention`` attends to, its own included (Mistral).
        layer_types: ``full_attention`` or ``sliding_attention`` for each layer; default ``sliding_attention`` for all
            layers if ``sliding_window`` is set.
        embedding_multiplier: factor of the word embeddings; Gemma has ``hidden_size ** 0.5``.
        embedding_type: set by ``position_type``.
        max_position_embeddings: length that the model is meant for, which evaluation harnesses and other tools read.
            It is not a limit, since positions have no table. With sigmoid weights it should be the length of training
            sequences.
        vocab_size, hidden_dropout_prob, pad_token_id: as in ``ComplexConfig``, with the defaults of Llama; dropout
            applies to embeddings and to the output of each block.
        use_cache: return a KV cache.

    Example:
        >>> from complex_transformers import ComplexLlamaConfig
        >>> config = ComplexLlamaConfig(hidden_size=512, num_attention_heads=8)
        >>> config.head_dim, config.rope_parameters["rope_theta"]
        (64, 10000.0)
    """

    model_type = "complex_llama"
    embedding_types: ClassVar[tuple[str, ...]] = ("word", "complex_order")
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size")
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size", "num_hidden_layers", "num_attention_heads")
    complex_only: ClassVar[dict[str, Any]] = {
        **TextConfig.complex_only,
        "complex_layers": None,
        "gate_product": None,
        "linear_type": None,
        "norm_scale": None,
        "attention_score": "real",
    }

    vocab_size: int = 32000
    lm_readout: str = "concat"
    tie_word_embeddings: bool = False
    hidden_dropout_prob: float | int = 0.0
    attention_probs_dropout_prob: float | int = 0.0
    num_hidden_layers: int = 8
    num_attention_heads: int = 8
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int = 1408
    hidden_act: str = "split_silu"
    gate_product: str | None = None
    linear_type: str | None = None
    complex_layers: list[str] | None = None
    norm_scale: str | None = None
    rms_norm_eps: float | int = 1e-6
    sub_norms: bool = False
    norm_position: str = "pre"
    qk_norm: bool | str = False
    activation_bits: int | None = None
    attention_bias: bool = False
    attention_output_bias: bool | None = None
    mlp_bias: bool = False
    attention_score: str = "real"
    attention_normalization: str = "softmax"
    attention_scale: float | int | None = None
    attn_logit_softcapping: float | int | None = None
    final_logit_softcapping: float | int | None = None
    position_type: str | None = None
    imaginary_heads: str = "none"
    rope_parameters: dict | None = None
    no_rope_layers: list[int] | None = None
    sliding_window: int | None = None
    layer_types: list[str] | None = None
    embedding_multiplier: float | int = 1.0
    embedding_type: str | None = None  # type: ignore[assignment]
    max_position_embeddings: int = 2048
    use_cache: bool = True
    pad_token_id: int | None = None

    ignore_keys_at_rope_validation: ClassVar[set[str]] = {"partial_rotary_factor"}

    def __post_init__(self, **kwargs: Any) -> None:
        for name in ("gate_product", "linear_type", "norm_scale", "embedding_type", "attention_output_bias"):
            if getattr(self, name) is None:
                setattr(self, name, self.default_of(name))
        if self.num_key_value_heads is None:
            self.num_key_value_heads = num_query_heads(self.num_attention_heads, self.imaginary_heads)
        if self.head_dim is None and self.num_attention_heads > 0 == self.hidden_size % self.num_attention_heads:
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.layer_types is None:
            kind = "full_attention" if self.sliding_window is None else "sliding_attention"
            self.layer_types = [kind] * self.num_hidden_layers
        super().__post_init__(**kwargs)
        if self.position_type is None:  # `rope_parameters` now include the keywords of older versions
            self.position_type = self.default_of("position_type")

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Return the configuration of a dictionary; without ``position_type`` it has rotary positions."""
        return super().from_dict({"position_type": "rotary", **config_dict}, **kwargs)

    def default_of(self, name: str) -> Any:
        """Return the default of a field, which may depend on other fields."""
        is_real = self.number_field == "real"
        follows = {
            "gate_product": "parts" if is_real else "complex",
            "linear_type": "real" if is_real else "complex",
            "norm_scale": "stored" if is_real else "modulus",
            "embedding_type": "complex_order" if self.position_type == "complex_order" else "word",
            "attention_output_bias": self.attention_bias,
            "position_type": "rotary" if self.needs_rotations() else "polar",
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        }
        return follows[name] if name in follows else super().default_of(name)

    @property
    def is_polar(self) -> bool:
        """Return True if queries and keys have polar form."""
        return self.position_type in ("polar", "polar_word")

    def needs_rotations(self) -> bool:
        """Return True if another field decides for rotary positions; see ``position_type``."""
        rotates = self.imaginary_heads != "none" or self.no_rope_layers is not None
        return rotates or not self.has_plain_frequencies()

    def has_plain_frequencies(self) -> bool:
        """Return True if ``rope_parameters`` are the same for all features and layers, and unscaled."""
        given = self.rope_parameters or {}
        is_plain = given.get("rope_type", "default") == "default" and given.get("partial_rotary_factor", 1.0) == 1.0
        return is_plain and not self.nested_rope_parameter_keys(given)

    def validate_sizes(self) -> None:
        super().validate_sizes()
        assert self.num_key_value_heads is not None  # __post_init__ has set it
        heads = (self.num_attention_heads, self.num_key_value_heads, self.head_dim)
        check_heads(self.hidden_size, *heads, self.imaginary_heads)

    def validate_probabilities(self) -> None:
        super().validate_probabilities()
        factors = ("attention_scale", "attn_logit_softcapping", "final_logit_softcapping", "embedding_multiplier")
        check_positive_field(self, "rms_norm_eps", *factors)

    def validate_embedding(self) -> None:
        """Raise for an unknown position type, and for an embedding that does not belong to it."""
        check_choice("position_type", self.position_type or "", POSITION_TYPES)
        follows = self.default_of("embedding_type")
        if self.embedding_type in EMBEDDING_TYPES and self.embedding_type != follows:
            raise ValueError(
                f"embedding_type must be {follows!r} for position_type={self.position_type!r}, got "
                f"{self.embedding_type!r}. Leave it out."
            )
        super().validate_embedding()

    def validate_names(self) -> None:
        """Raise for unknown names, and for those that the number field or another field excludes."""
        super().validate_names()
        assert self.gate_product is not None  # __post_init__ has set all three
        assert self.linear_type is not None
        assert self.norm_scale is not None
        check_gate_product(self.gate_product, self.number_field)
        check_linear_type(self.linear_type, self.number_field)
        check_norm_scale(self.norm_scale, self.number_field)
        check_activation_bits(self.activation_bits)
        check_choice("norm_position", self.norm_position, NORM_POSITIONS)
        if isinstance(self.qk_norm, str):
            check_choice("qk_norm", self.qk_norm, ("all_heads",), ", or True or False")
        if self.attn_logit_softcapping is not None and self.attention_normalization == "split_softmax":
            raise ValueError(
                "attention_normalization must be 'softmax' with attn_logit_softcapping, got 'split_softmax'."
            )
        check_attention(self.attention_score, self.attention_normalization, self.number_field)

    def validate_windows(self) -> None:
        """Raise for unknown layer types, and for sliding layers without a window."""
        assert self.layer_types is not None  # __post_init__ has set it
        for layer_type in self.layer_types:
            check_choice("layer_types", layer_type, LAYER_TYPES)
        check_positive_field(self, "sliding_window")
        if "sliding_attention" in self.layer_types and self.sliding_window is None:
            raise ValueError("sliding_window must be positive for layer_types with 'sliding_attention', got None.")
        if (rotates := self.no_rope_layers) is not None and len(rotates) < self.num_hidden_layers:
            raise ValueError(f"no_rope_layers must have at least {self.num_hidden_layers} entries, got {rotates}.")

    def rope_parameters_of(self, layer_type: str) -> dict[str, Any]:
        """Return the rotary parameters of the layers of one type."""
        given = self.rope_parameters or {}
        return given[layer_type] if self.nested_rope_parameter_keys(given) else given

    def validate_rope(self) -> None:
        """Raise for rotary types that are not supported here; Transformers checks the keys of each type."""
        super().validate_rope()
        for layer_type in sorted(set(self.layer_types or ())):
            parameters = self.rope_parameters_of(layer_type)
            rope_type = parameters.get("rope_type", "default")
            check_choice("rope_type", rope_type, ROPE_TYPES)
            check_rope_theta(parameters.get("rope_theta", 10000.0))
        if self.position_type in PLAIN_TYPES and not self.has_plain_frequencies():
            raise ValueError(
                "rope_parameters must have rope_type='default', no partial_rotary_factor and no layer types for "
                f"position_type={self.position_type!r}, got {self.rope_parameters}."
            )
