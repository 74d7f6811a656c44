# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The exact lift: a real decoder of the shape of Llama, or an encoder of that of BERT, as a complex one.

Every real matrix on halves is widely linear, U z + V conj(z) (``nn.WidelyLinear.from_real``), and rotary positions
pair feature k of a real head with k + D/2: the turn of a complex number. What remains is to move features: those of
the residual stream into pairs, those of each head (rows of q, k, v and columns of o) into the halves of all heads.
Encoders are in ``lift_encoder``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from ..models.complex_llama.configuration_complex_llama import ComplexLlamaConfig
from ..models.complex_llama.modeling_complex_llama import ComplexLlamaForCausalLM
from ..models.complex_order.modeling_complex_order import ComplexOrderPreTrainedModel
from .features import halves_of_heads, learned, moved, pairing_order, widely_linear_state
from .files import check_names, check_numbers, check_shapes
from .lift_encoder import lift_encoder, network_of
from .liftable import ACTIVATIONS, ENCODER_TYPES, attention_biases, check_liftable, head_dim

__all__ = ["LiftedModel", "lift", "lift_weights"]

LAYER = "model.layers.{}."
# Layer -> where its rows come from and where its columns do.
MATRICES = {
    "self_attn.q_proj": ("queries", "stream"),
    "self_attn.k_proj": ("keys", "stream"),
    "self_attn.v_proj": ("keys", "stream"),
    "self_attn.o_proj": ("stream", "queries"),
    "mlp.gate_proj": ("inner", "stream"),
    "mlp.up_proj": ("inner", "stream"),
    "mlp.down_proj": ("stream", "inner"),
}
NORMS = {"input_layernorm": "stream", "post_attention_layernorm": "stream"}
HEAD_NORMS = {"self_attn.q_norm": "head", "self_attn.k_norm": "head"}


LiftedModel: TypeAlias = ComplexLlamaForCausalLM | ComplexOrderPreTrainedModel


def lift(model: PreTrainedModel, pairing: str | Sequence[int] | Tensor = "halves") -> LiftedModel:
    """The complex network that computes what a real one does, to rounding: same logits, same texts, same widths.

    Layers are widely linear (U z + V conj(z), as many weights as before), norms are over stored numbers, the gate's
    product is that of the parts, scores have the scale of the real head; a tied head stays tied. In bfloat16 and
    float16 the sums of blocks are rounded: lift a model that was loaded in float32, which is then exact where its
    checkpoint is in one of these.

    Args:
        model: a ``LlamaForCausalLM``, ``MistralForCausalLM``, ``Qwen2ForCausalLM`` or ``Qwen3ForCausalLM`` (SmolLM2 is
            a Llama). It is not changed, and shares no weights with the result.
        pairing: which features of the residual stream become real and imaginary parts: ``halves`` as they stand,
            feature j with j + n/2; ``interleaved``, 2j with 2j + 1; or the features in their new order.

    Returns:
        The model, with the generation config of the original and in its mode, training or evaluation.

    Raises:
        ValueError: what the family does not have (a sliding window, experts, interleaved or scaled rotary positions,
            odd widths, a bias of another kind, relative positions, a decoder of BERT, quantised weights), tensors
            that are missing or do not fit, a pairing that is no order of the features.

    Source:
        Wang et al. 2025 (Fairy2i, arXiv:2512.02901) for the widely linear form; Picinbono and Chevalier 1995.
        Devlin et al. 2019 for BERT.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from complex_transformers import lift
        >>> config = LlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=64, num_attention_heads=2,
        ...                      num_hidden_layers=1)
        >>> lift(LlamaForCausalLM(config)).model.layers[0].mlp.down_proj
        WidelyLinear(
          in_features=64, out_features=32, bias=False
          (real): Linear(in_features=32, out_features=16, bias=False)
          (imag): Linear(in_features=32, out_features=16, bias=False)
          (conj_real): Linear(in_features=32, out_features=16, bias=False)
          (conj_imag): Linear(in_features=32, out_features=16, bias=False)
        )
    """
    if not isinstance(model, PreTrainedModel):
        raise ValueError(f"model must be a model of Transformers, got a {type(model).__name__}")
    check_liftable(model.config)
    lifted: LiftedModel
    if model.config.model_type in ENCODER_TYPES:
        lifted = lift_encoder(type(model).__name__, model.config, model.state_dict(), pairing)
    elif hasattr(model, "lm_head"):
        lifted = _lift_decoder(model.config, model.state_dict(), pairing)
    else:
        raise ValueError(f"{type(model).__name__} has no lm_head: give a model for causal language modeling")
    if getattr(model, "generation_config", None) is not None:
        lifted.generation_config = copy.deepcopy(model.generation_config)
    return lifted.train(model.training)


def lift_weights(
    config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor = "halves"
) -> LiftedModel:
    """As ``lift``, of a configuration and the tensors of its checkpoint by name.

    Of an encoder ``config.architectures`` says which head it has; none where it does not.
    """
    check_liftable(config)
    if config.model_type in ENCODER_TYPES:
        return lift_encoder(network_of(config), config, weights, pairing)
    return _lift_decoder(config, weights, pairing)


@torch.no_grad()
def _lift_decoder(
    config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor
) -> ComplexLlamaForCausalLM:
    """The lift of a decoder that ``check_liftable`` has taken."""
    weights = learned(weights)
    check_numbers(weights)
    if config.tie_word_embeddings:
        weights = _without_tied_head(weights)
    biases = attention_biases(config, weights)
    orders = _orders(config, pairing)
    roles = _roles(config, biases)
    remedy = "Give the checkpoint of a language model, whole; adapters are merged first (merge_and_unload)"
    check_names(weights, roles, f"a {config.model_type} with a head, as its configuration says", remedy)
    sizes = {name: len(order) for name, order in orders.items()}
    check_shapes(weights, {name: tuple(sizes[axis] for axis in axes) for name, axes in roles.items()})
    dtype = weights["model.embed_tokens.weight"].dtype
    with torch.device("meta"):
        lifted = ComplexLlamaForCausalLM(_lifted_config(config, biases, dtype))
    state = _lifted_state(weights, roles, orders)
    if config.tie_word_embeddings:
        state["lm_head.projection.weight"] = state["model.embed_tokens.weight"]
    lifted.load_state_dict(state, assign=True)
    lifted.tie_weights()
    return lifted.eval()


def _lifted_config(config: PreTrainedConfig, biases: dict[str, bool], dtype: torch.dtype) -> ComplexLlamaConfig:
    """The configuration of the complex network."""
    return ComplexLlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        num_key_value_heads=config.num_key_value_heads,
        head_dim=head_dim(config),
        hidden_act=ACTIVATIONS[config.hidden_act],
        gate_product="parts",
        linear_type="widely_linear",
        norm_scale="stored",
        rms_norm_eps=config.rms_norm_eps,
        max_position_embeddings=config.max_position_embeddings,
        qk_norm=config.model_type == "qwen3",
        **biases,
        attention_scale=head_dim(config) ** -0.5,
        attention_probs_dropout_prob=config.attention_dropout or 0.0,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_parameters["rope_theta"]},
        lm_readout="concat",
        tie_word_embeddings=config.tie_word_embeddings,
        weight_init="normal",
        initializer_range=config.initializer_range,
        use_cache=config.use_cache,
        pad_token_id=config.pad_token_id,
        bos_token_id=config.bos_token_id,
        eos_token_id=config.eos_token_id,
        dtype=dtype,
    )


def _orders(config: PreTrainedConfig, pairing: str | Sequence[int] | Tensor) -> dict[str, Tensor]:
    """Where the features of each kind come from."""
    width = head_dim(config)
    keys = config.num_key_value_heads or config.num_attention_heads
    return {
        "words": torch.arange(config.vocab_size),
        "stream": pairing_order(pairing, config.hidden_size),
        "inner": torch.arange(config.intermediate_size),
        "head": torch.arange(width),
        "queries": halves_of_heads(config.num_attention_heads, width),
        "keys": halves_of_heads(keys, width),
    }


def _roles(config: PreTrainedConfig, biases: Mapping[str, bool]) -> dict[str, tuple[str, ...]]:
    """Every tensor of the real network and the kinds of features along its axes."""
    roles: dict[str, tuple[str, ...]] = {
        "model.embed_tokens.weight": ("words", "stream"),
        "model.norm.weight": ("stream",),
    }
    if not config.tie_word_embeddings:
        roles["lm_head.weight"] = ("words", "stream")
    norms = NORMS | (HEAD_NORMS if config.model_type == "qwen3" else {})
    for index in range(config.num_hidden_layers):
        prefix = LAYER.format(index)
        roles |= {f"{prefix}{name}.weight": (features,) for name, features in norms.items()}
        for name, (rows, columns) in MATRICES.items():
            roles[f"{prefix}{name}.weight"] = (rows, columns)
            kind = "mlp_bias" if name.startswith("mlp") else "attention_bias"
            if biases["attention_output_bias" if name.endswith("o_proj") else kind]:
                roles[f"{prefix}{name}.bias"] = (rows,)
    return roles


def _lifted_state(
    weights: Mapping[str, Tensor], roles: Mapping[str, tuple[str, ...]], orders: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The state dict of the complex network."""
    state: dict[str, Tensor] = {}
    for name, axes in roles.items():
        value = moved(weights[name], axes, orders)
        layer, _, leaf = name.rpartition(".")
        if leaf == "weight" and layer.partition(".layers.")[2].partition(".")[2] in MATRICES:
            state |= widely_linear_state(layer, value)
        else:
            state["lm_head.projection.weight" if name == "lm_head.weight" else name] = value
    return state


def _without_tied_head(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a network with a tied head, each once."""
    head, words = weights.get("lm_head.weight"), weights.get("model.embed_tokens.weight")
    if head is not None and words is not None and (head.shape != words.shape or not torch.equal(head, words)):
        raise ValueError(
            "tie_word_embeddings=True, but lm_head.weight and model.embed_tokens.weight are not the same: shapes "
            f"{tuple(head.shape)} and {tuple(words.shape)}; set tie_word_embeddings=False where both are meant"
        )
    return {name: value for name, value in weights.items() if name != "lm_head.weight"}
