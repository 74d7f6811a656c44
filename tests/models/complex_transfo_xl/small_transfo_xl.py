# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small Transformer-XLs that read streams at once or in segments."""

import torch

from families import Case

build = Case("complex_transfo_xl", "modulus").trained


@torch.no_grad()
def in_segments(model, ids, cuts, memory=None, mask=None):
    """Logits ``[B, N, vocab_size]`` of a stream that is read in segments which end at ``cuts``."""
    pieces = []
    for start, end in zip((0, *cuts), (*cuts, ids.shape[1]), strict=True):
        seen = None if mask is None else mask[:, :end]
        out = model(ids[:, start:end], attention_mask=seen, cache=memory, use_cache=True)
        memory = out.cache
        pieces.append(out.logits)
    return torch.cat(pieces, 1)


@torch.no_grad()
def at_once(model, ids, mask=None):
    return model(ids, attention_mask=mask, use_cache=False).logits
