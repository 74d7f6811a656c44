# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of Mamba-3."""

import math
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ...nn.recurrent.mamba import A_ACTIVATIONS, check_mamba_ranges, check_mamba_sizes, num_angles, state_shapes
from ..base.configuration import TextConfig, check_positive_field

__all__ = ["ComplexMambaConfig"]


@strict
class ComplexMambaConfig(TextConfig):
    """Configuration of Mamba-3 (Lahoti et al. 2026, arXiv 2603.15569), a causal language model with states.

    Hidden states are real in both number fields. ``number_field="complex"`` is the published network, whose states are
    complex and rotate; ``"real"`` is the same network without rotation. Besides the arguments of ``TextConfig``
    (options of embeddings with phases have no effect):

    Args:
        hidden_size: width of the hidden states, even.
        num_hidden_layers: layers, each with a mixer (``nn.Mamba3Mixer``) and a feed-forward network.
        state_size: stored width N of the state of a feature, even: N / 2 complex numbers.
        head_dim: features of a head of the mixer.
        expand: the heads of a mixer have ``expand * hidden_size`` features together.
        n_groups: groups of heads that share B and C.
        mimo_rank: rank of the input and output of a state; 1 (default) for SISO, more for MIMO.
        rope_fraction: share of the complex states that rotate, above 0 and at most 1.
        time_step_min, time_step_max: range of the initial time steps, which are log-uniform.
        time_step_floor: smallest initial time step.
        A_floor: smallest decay per unit of time.
        A_activation: function that makes decays positive: ``heavy_tail``, or ``softplus`` as in the first official
            release; see ``nn.Mamba3Mixer``.
        is_outproj_norm: RMS norm of every head before the gate of the mixer.
        chunk_size: steps that one product of matrices computes when many tokens are processed at once.
        intermediate_size: width of the gated feed-forward network of each layer, even; None for mixers only.
        hidden_act: activation of the gate of the feed-forward network, a name of ``ACT2CFN``.
        rms_norm_eps: added to the mean square by the norms of the layers and of the mixers.
        lm_readout: ``readout`` of the LM head, ``concat``, as of classification heads.
        tie_word_embeddings: share the embedding table with the LM head.
        vocab_size, hidden_dropout_prob, pad_token_id: as in ``ComplexConfig``, with other defaults; dropout applies to
            embeddings and to the output of each block.
        embedding_type: ``word``; a recurrence needs no positions.
        max_position_embeddings: length that the model is meant for, which evaluation tools read. It is not a limit.
        use_cache: return the states.

    Example:
        >>> from complex_transformers import ComplexMambaConfig
        >>> config = ComplexMambaConfig(hidden_size=256, state_size=64)
        >>> config.mixer_heads
        8
    """

    model_type = "complex_mamba"
    embedding_types: ClassVar[tuple[str, ...]] = ("word",)
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size", "state_size")
    positive_sizes: ClassVar[tuple[str, ...]] = (
        *("vocab_size", "num_hidden_layers", "head_dim", "expand", "n_groups", "mimo_rank", "chunk_size"),
    )
    # Read by the LM head of stateful models.
    cutoffs: ClassVar[tuple[int, ...]] = ()
    lm_bias: ClassVar[bool] = False

    vocab_size: int = 32000
    embedding_type: str = "word"
    lm_readout: str = "concat"
    tie_word_embeddings: bool = False
    hidden_dropout_prob: float | int = 0.0
    num_hidden_layers: int = 8
    state_size: int = 128
    head_dim: int = 64
    expand: int = 2
    n_groups: int = 1
    mimo_rank: int = 1
    rope_fraction: float | int = 0.5
    time_step_min: float | int = 0.001
    time_step_max: float | int = 0.1
    time_step_floor: float | int = 1e-4
    A_floor: float | int = 1e-4
    A_activation: str = "heavy_tail"
    is_outproj_norm: bool = False
    chunk_size: int = 64
    intermediate_size: int | None = 1408
    hidden_act: str = "split_silu"
    rms_norm_eps: float | int = 1e-5
    max_position_embeddings: int = 2048
    use_cache: bool = True
    pad_token_id: int | None = None

    def default_of(self, name: str) -> Any:
        return "concat" if name == "readout" else super().default_of(name)

    @property
    def mixer_heads(self) -> int:
        """Number of heads of a mixer."""
        return self.expand * self.hidden_size // self.head_dim

    @property
    def head_size(self) -> int:
        """Width of the input of the LM head."""
        return self.hidden_size

    @property
    def state_sizes(self) -> list[dict[str, int]]:
        """Name and number of elements of the states of each layer."""
        angles = num_angles(self.state_size, self.rope_fraction, self.number_field)
        shapes = state_shapes(self.mixer_heads, angles, self.head_dim, self.state_size, self.mimo_rank)
        return [{name: math.prod(shape) for name, shape in shapes.items()} for _ in range(self.num_hidden_layers)]

    def validate_sizes(self) -> None:
        super().validate_sizes()
        check_mamba_sizes(self.hidden_size, self.expand, self.head_dim, self.n_groups, self.state_size)

    def validate_probabilities(self) -> None:
        super().validate_probabilities()
        check_positive_field(self, "rms_norm_eps")
        names = ("rope_fraction", "time_step_min", "time_step_max", "time_step_floor", "A_floor")
        check_mamba_ranges(**{name: getattr(self, name) for name in names})

    def validate_names(self) -> None:
        super().validate_names()
        check_choice("lm_readout", self.lm_readout, ("concat",))
        check_choice("A_activation", self.A_activation, A_ACTIVATIONS)
        assert self.readout is not None  # __post_init__ has set it
        check_choice("readout", self.readout, ("concat",))
