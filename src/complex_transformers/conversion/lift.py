# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The exact lift: rewrite a real decoder or encoder as a complex model that computes the same function.

A real matrix on halves is widely linear, U z + V conj(z) (``nn.WidelyLinear.from_real``). Rotary positions pair
feature k of a real head with k + D/2, which is the rotation of a complex number. The scores Re(q k^H) are the dot
products of the real heads. Norms and activations act on stored elements. So the lift only reorders features: the
residual stream into pairs, and each head (rows of q, k, v and columns of o) into halves over all heads.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from ..nn.checks import check_choice
from .features import halves_of_heads, learned, moved, pairing_order, widely_linear_state
from .lift_families import (
    ACTIVATIONS,
    FAMILIES,
    HALVES,
    Family,
    LiftedModel,
    head_dim,
    hidden_act,
    inner_size,
    num_positions,
    rotary_dim,
)

__all__ = ["LiftedModel", "check_liftable", "lift", "lift_weights", "network_of"]

Tensors = dict[str, Tensor]
# Options that would change the function, and the only value that the complex models support.
SUPPORTED = {
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",  # in configurations before Transformers 5
    "use_bidirectional_attention": False,
}
SAME_FIELDS = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "initializer_range"),
    *("pad_token_id", "bos_token_id", "eos_token_id"),
)


def lift(model: PreTrainedModel, pairing: str | Sequence[int] | Tensor = "halves") -> LiftedModel:
    """Return the complex model that computes the same function as a real one, with as many parameters.

    Layers are widely linear, U z + V conj(z). Tied heads stay tied. The real and imaginary parts of U and V are sums
    of two real weights, which bfloat16 and float16 round: load the original in float32 for an exact lift.

    Args:
        model: a decoder of Llama (1 to 3), Mistral, Qwen2, Qwen2.5, Qwen3, Phi-3, Gemma 2, Gemma 3 (text), SmolLM2,
            SmolLM3 or OLMo 2, bare or with a head for causal language modeling, sequence classification or token
            classification; or an encoder of BERT, RoBERTa, XLM-RoBERTa, CamemBERT or DistilBERT, bare or with a head
            for masked language modeling, sequence or token classification or question answering. It is not changed
            and shares no parameters with the result.
        pairing: which features of the residual stream become real and imaginary part of one complex feature:
            ``halves`` pairs feature j with j + n/2, ``interleaved`` 2j with 2j + 1; or a permutation of the features.

    Returns:
        The complex model, with the generation config and the mode (training or evaluation) of the original.

    Raises:
        ValueError: an unsupported architecture, class or option (see ``check_liftable``), a pairing that is not a
            permutation, a tensor of another shape than the configuration says.
        StrictDataclassClassValidationError: an option that the complex configuration rejects, such as ``rope_type``.
        RuntimeError: missing or unexpected tensors.

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
    check_liftable(model.config)
    lifted = _lift(_transformers_class(model), model.config, model.state_dict(), pairing)
    if getattr(model, "generation_config", None) is not None:
        lifted.generation_config = copy.deepcopy(model.generation_config)
    return lifted.train(model.training)


def lift_weights(
    config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor = "halves"
) -> LiftedModel:
    """Lift the tensors of a checkpoint, see ``lift`` and ``network_of``."""
    check_liftable(config)
    return _lift(network_of(config), config, weights, pairing)


def network_of(config: PreTrainedConfig) -> str:
    """Return the class that a checkpoint was saved from, by default a causal language model or a bare encoder.

    Raises:
        ValueError: a class that cannot be lifted.
    """
    heads = FAMILIES[config.model_type].heads
    network = (getattr(config, "architectures", None) or ["ForCausalLM" if "ForCausalLM" in heads else "Model"])[0]
    _head_of(network, heads)
    return network


def check_liftable(config: PreTrainedConfig) -> None:
    """Check that the complex model has every option of a configuration that would otherwise change the function.

    Raises:
        ValueError: another type of model, an unsupported activation, attention to later tokens, relative positions, an
            encoder used as a decoder, quantized weights.
    """
    check_choice("model_type", config.model_type, FAMILIES, ". Other architectures cannot be lifted.")
    check_choice("hidden_act", hidden_act(config), ACTIVATIONS, ". Other activations cannot be lifted.")
    for name, supported in SUPPORTED.items():
        if (value := getattr(config, name, None)) and value != supported:
            raise ValueError(f"{name} must be {supported!r} to be lifted, got {value!r}.")
    method = _quantization_method(config)
    if method not in (None, "gguf"):  # Transformers dequantizes GGUF files
        raise ValueError(f"quantization_config must be None, got {method}. Call model.dequantize() first.")


def _quantization_method(config: PreTrainedConfig) -> str | None:
    quantization: Any = getattr(config, "quantization_config", None)
    method = quantization.get("quant_method") if isinstance(quantization, dict) else quantization
    method = getattr(method, "quant_method", method)
    return getattr(method, "value", method)


def _head_of(network: str, heads: Collection[str]) -> str:
    """Return the suffix of a class of Transformers that names its head, ``Model`` for none."""
    head = next((head for head in heads if network.endswith(head)), None)
    if head is None or network.endswith("LMHeadModel"):
        raise ValueError(f"class must end in one of {', '.join(heads)} to be lifted, got {network}.")
    return head


def _transformers_class(model: PreTrainedModel) -> str:
    """Return the name of the class of Transformers that a model is, or is a subclass of."""
    classes = type(model).__mro__
    return next((one for one in classes if one.__module__.startswith("transformers.models")), classes[0]).__name__


@torch.no_grad()
def _lift(
    network: str, config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor
) -> LiftedModel:
    family = FAMILIES[config.model_type]
    head = _head_of(network, family.heads)
    if head == "ForMaskedLM" and family.lm_act not in (None, hidden_act(config)):
        raise ValueError(f"hidden_act must be {family.lm_act!r} for {network}, got {hidden_act(config)!r}.")
    tensors = {name.removeprefix(family.prefix): value for name, value in learned(weights).items()}
    for step in STEPS:
        tensors = step(family, head, config, tensors)
    with torch.device("meta"):
        lifted = family.classes[head](_lifted_config(family, head, config, tensors))
    lifted.load_state_dict(_lifted_state(family, head, config, tensors, _orders(config, pairing)), assign=True)
    lifted.tie_weights()
    return lifted.eval()


# --- steps: from checkpoint tensors to a plain network ---------------------------------------------


def _with_new_names(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Rename the gains and biases of norms in files that were converted from TensorFlow."""
    old = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
    for theirs, ours in old.items():
        weights = {name.replace(theirs, ours): value for name, value in weights.items()}
    return weights


def _with_tied_tensors(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Give a tied head its tensors, which a file may hold once or twice."""
    for name, source in family.tied.get(head, {}).items() if config.tie_word_embeddings else ():
        if source not in weights:
            continue
        if name in weights and not torch.equal(weights[name], weights[source]):
            raise ValueError(f"{name} must equal {source} with tie_word_embeddings=True, got other values.")
        weights = {**weights, name: weights[source]}
    return weights


def _without_other_heads(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Drop the tensors of heads that the class does not read; Transformers drops them as well."""
    read = family.places(head, 0)
    kept = (name for name in weights if not name.startswith(family.unread) or name.rpartition(".")[0] in read)
    return {name: weights[name] for name in kept}


def _with_separate_matrices(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Split fused matrices into q, k and v, and into gate and up projection (Phi-3)."""
    if not family.fused:
        return weights
    width = head_dim(config)
    keys = config.num_key_value_heads * width
    parts = {
        "qkv_proj": {"q_proj": config.num_attention_heads * width, "k_proj": keys, "v_proj": keys},
        "gate_up_proj": {"gate_proj": config.intermediate_size, "up_proj": config.intermediate_size},
    }
    separate = {}
    for name, value in weights.items():
        fused = next((fused for fused in parts if f".{fused}." in name), None)
        if fused is None:
            separate[name] = value
            continue
        for part, rows in zip(parts[fused], value.split(list(parts[fused].values())), strict=True):
            separate[name.replace(fused, part)] = rows
    return separate


def _with_full_gains(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Add 1 to the gains of norms that are stored without it (Gemma)."""
    if not family.one_plus_gain:
        return weights
    return {name: value + 1 if "norm" in name else value for name, value in weights.items()}


def _without_reserved_positions(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Drop the rows of the position table that only padding reads (RoBERTa)."""
    name = "embeddings.position_embeddings.weight"
    if not family.offset_positions or name not in weights:
        return weights
    return {**weights, name: weights[name][config.pad_token_id + 1 :]}


def _with_classifier_bias(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> Tensors:
    """Add a bias of zeros to the sequence classifier of decoders, which has none in Transformers."""
    if head != "ForSequenceClassification" or (score := weights.get("score.weight")) is None:
        return weights
    return {"score.bias": score.new_zeros(len(score)), **weights}


STEPS = (
    _with_new_names,
    _with_tied_tensors,
    _without_other_heads,
    _with_separate_matrices,
    _with_full_gains,
    _without_reserved_positions,
    _with_classifier_bias,
)


# --- the complex network --------------------------------------------------------------------------------------------


def _lifted_config(family: Family, head: str, config: PreTrainedConfig, weights: Tensors) -> PreTrainedConfig:
    return family.classes[head].config_class(
        **{name: getattr(config, name) for name in SAME_FIELDS},
        intermediate_size=inner_size(config),
        hidden_act=ACTIVATIONS[hidden_act(config)],
        linear_type="widely_linear",
        weight_init="normal",
        dtype=weights[f"{next(iter(family.tables))}.weight"].dtype,
        **family.constants,
        **family.fields(config, head, weights),
    )


def _orders(config: PreTrainedConfig, pairing: str | Sequence[int] | Tensor) -> Tensors:
    """Return for each kind of features their indices in the original, in the order of the complex model."""
    width, rotated, heads = head_dim(config), rotary_dim(config), config.num_attention_heads
    return {
        "tokens": torch.arange(config.vocab_size),
        "positions": torch.arange(num_positions(config)),
        "types": torch.arange(getattr(config, "type_vocab_size", 0)),
        "labels": torch.arange(config.num_labels),
        "ends": torch.arange(2),
        "stream": pairing_order(pairing, config.hidden_size),
        "inner": torch.arange(inner_size(config)),
        "head": halves_of_heads(1, width, rotated),
        "queries": halves_of_heads(heads, width, rotated),
        "keys": halves_of_heads(getattr(config, "num_key_value_heads", None) or heads, width, rotated),
    }


def _lifted_state(family: Family, head: str, config: PreTrainedConfig, weights: Tensors, orders: Tensors) -> Tensors:
    """Return the state dict of the complex model; unknown tensors keep their names, and loading rejects them."""
    places = family.places(head, config.num_hidden_layers)
    state: Tensors = {}
    for name, value in weights.items():
        layer, _, leaf = name.rpartition(".")
        if layer not in places or leaf not in ("weight", "bias"):
            state[name] = value
            continue
        ours, axes = places[layer]
        value = moved(name, value, axes if leaf == "weight" else axes[:1], orders)
        if value.dim() == 2 and HALVES.issuperset(axes):
            state |= widely_linear_state(ours, value)
        else:
            state[ours if ours.endswith(".position") else f"{ours}.{leaf}"] = value
    return state
