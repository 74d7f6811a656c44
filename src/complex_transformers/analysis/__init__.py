# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Inspect trained models: attention, phases, frequencies, weights, states."""

from .attention import AttentionMap, attention_maps, dependency_shares, plot_attention
from .conjugate import conjugate_share, prune_conjugate
from .frequencies import WordFrequency, frequency_table, period_summary, plot_frequency_density
from .memories import memory_hit_rates, plot_memories
from .parameters import count_parameters
from .phases import phase_colours, plot_phases, plot_spectrum
from .positions import perplexity_by_position, perplexity_by_range, plot_perplexity_by_position
from .states import (
    Interference,
    OutcomeWords,
    TextState,
    interference,
    outcome_words,
    plot_interference,
    plot_outcome_words,
    plot_text_state,
    text_states,
)
from .translation import bleu_by_length, token_accuracy
from .waves import plot_waves
from .weights import PartCoupling, WeightMeans, WeightTrace, part_coupling, plot_weight_trace

__all__ = [
    "AttentionMap",
    "Interference",
    "OutcomeWords",
    "PartCoupling",
    "TextState",
    "WeightMeans",
    "WeightTrace",
    "WordFrequency",
    "attention_maps",
    "bleu_by_length",
    "conjugate_share",
    "count_parameters",
    "dependency_shares",
    "frequency_table",
    "interference",
    "memory_hit_rates",
    "outcome_words",
    "part_coupling",
    "period_summary",
    "perplexity_by_position",
    "perplexity_by_range",
    "phase_colours",
    "plot_attention",
    "plot_frequency_density",
    "plot_interference",
    "plot_memories",
    "plot_outcome_words",
    "plot_perplexity_by_position",
    "plot_phases",
    "plot_spectrum",
    "plot_text_state",
    "plot_waves",
    "plot_weight_trace",
    "prune_conjugate",
    "text_states",
    "token_accuracy",
]
