# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Registration of our layers and embeddings with PEFT."""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

from peft import LoraConfig, PeftModel

from .lora import CUSTOM_MODULES
from .prompts import prompted_embedding

__all__ = ["register"]


@cache
def register() -> None:
    """Register LoRA layers for complex layers with every ``LoraConfig``, and our word embeddings with every prompt.

    PEFT's custom-module hook belongs to one configuration and is lost when it is loaded from a file. For word
    embeddings PEFT has no hook.
    """
    post_init, setup = LoraConfig.__post_init__, PeftModel._setup_prompt_encoder

    @wraps(post_init)
    def with_complex_layers(self: LoraConfig) -> None:
        post_init(self)
        self._register_custom_module(CUSTOM_MODULES)

    @wraps(setup)
    def with_word_embedding(self: PeftModel, *args: Any, **kwargs: Any) -> None:
        with prompted_embedding(self):
            setup(self, *args, **kwargs)

    LoraConfig.__post_init__ = with_complex_layers
    PeftModel._setup_prompt_encoder = with_word_embedding
