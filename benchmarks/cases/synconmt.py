# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""SynCoNMT with both attentions in both number fields, with random weights."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from benchmarks.race import Comparison, Outcome, race, sizes
from benchmarks.timing import Step, model_steps, writing_step
from complex_transformers import SynCoNMTConfig, SynCoNMTForConditionalGeneration

__all__ = ["FIELDS", "case", "pairs", "translator"]

FIELDS: dict[str, dict[str, Any]] = {
    "complex": {},
    "real twin": {"number_field": "real"},
    "real twin, words": {"number_field": "real", "use_relations": False},
}
NEW_WORDS = 32
_WORDS, _RELATIONS, _START = 8000, 50, 1


def translator(
    field: str, attention_type: str, hidden_size: int, words: int = _WORDS
) -> SynCoNMTForConditionalGeneration:
    """Build a model with one layer per direction, GRU cells, 8,000 tokens and 50 relations on both sides."""
    torch.manual_seed(0)
    config = SynCoNMTConfig(
        vocab_size=words,
        relation_vocab_size=_RELATIONS,
        hidden_size=hidden_size,
        attention_type=attention_type,
        hidden_dropout_prob=0.0,
        bos_token_id=_START,
        eos_token_id=2,
        decoder_start_token_id=_START,
        **FIELDS[field],
    )
    return SynCoNMTForConditionalGeneration(config)


def pairs(model: SynCoNMTForConditionalGeneration, batch: int, length: int) -> dict[str, Tensor]:
    """Return sources of ``length`` tokens, every other one a quarter shorter, and targets of that length."""
    generator = torch.Generator().manual_seed(1)
    source, labels = torch.randint(3, model.config.vocab_size, (2, batch, length), generator=generator)
    relations, relation_labels = torch.randint(3, _RELATIONS, (2, batch, length), generator=generator)
    mask = torch.ones_like(source)
    mask[::2, -(length // 4) :] = 0
    inputs = {"input_ids": source, "attention_mask": mask, "labels": labels}
    if model.config.use_relations:
        inputs |= {"relation_ids": relations, "relation_labels": relation_labels}
    return inputs


def _source(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value for name, value in batch.items() if "labels" not in name}


def search(model: SynCoNMTForConditionalGeneration, batch: dict[str, Tensor], num_beams: int) -> Step:
    """Return a step that generates ``NEW_WORDS`` tokens for every source, by greedy or beam search."""
    return writing_step(model, 1, NEW_WORDS, lambda: {**_source(batch), "num_beams": num_beams})


def continuation(model: SynCoNMTForConditionalGeneration, batch: dict[str, Tensor], place: int) -> Step:
    """Return a step that generates ``NEW_WORDS`` tokens greedily after targets of ``place`` random tokens."""
    model.eval()
    begun = random_targets(len(batch["input_ids"]), place)
    decoder = {"decoder_input_ids": begun[0]}
    if model.config.use_relations:
        decoder["decoder_relation_ids"] = begun[1]
    with torch.no_grad():
        out = model(**_source(batch), **decoder, use_cache=True)
    text = torch.cat([begun[0], out.logits[:, -1:].argmax(-1)], dim=1)

    begun_text = {"decoder_input_ids": text, "decoder_attention_mask": torch.ones_like(text)}

    def inputs() -> dict[str, Any]:
        return {**_source(batch), **begun_text, "cache": copy.deepcopy(out.cache)}

    return writing_step(model, place + 1, NEW_WORDS, inputs)


def random_targets(batch: int, length: int) -> tuple[Tensor, Tensor]:
    """Return random words and relations; the first word is the start token."""
    generator = torch.Generator().manual_seed(2)
    words = torch.randint(3, _WORDS, (batch, length), generator=generator)
    words[:, 0] = _START
    return words, torch.randint(3, _RELATIONS, (batch, length), generator=generator)


@torch.no_grad()
def check_twins(models: dict[str, SynCoNMTForConditionalGeneration]) -> None:
    """Raise AssertionError unless stored widths are equal and step-by-step decoding equals one pass."""
    if len({model.config.hidden_size for model in models.values()}) > 1:
        raise AssertionError("the networks have unequal widths")
    for model in models.values():
        model.eval()
        batch = pairs(model, 2, 8)
        words, relations = random_targets(2, 6)
        target = {"decoder_input_ids": words}
        if model.config.use_relations:
            target["decoder_relation_ids"] = relations
        whole = model(**_source(batch), **target).logits
        cache, steps = None, []
        for place in range(6):
            piece = {name: value[:, place : place + 1] for name, value in target.items()}
            out = model(**_source(batch), **piece, cache=cache, use_cache=True)
            cache = out.cache
            steps.append(out.logits)
        torch.testing.assert_close(torch.cat(steps, dim=1), whole, rtol=1e-4, atol=1e-4)


def case(rounds: int) -> Outcome:
    """SynCoNMT of the paper's width (512 complex features), 8,000 tokens, 32 x 24 tokens, against its real twins."""
    rows, notes = [], []
    for attention in ("bahdanau", "luong"):
        models = {name: translator(name, attention, 1024) for name in FIELDS}
        check_twins(models)
        notes += [f"{attention}, {note}" for note in sizes(models)]
        steps = model_steps(models, lambda model: pairs(model, 32, 24))
        comparisons = [Comparison("complex", "real twin", 1.30), Comparison("complex", "real twin, words", 1.30)]
        rows += race(f"{attention}, training step", steps, comparisons, rounds)
        model = models["complex"]
        batch = pairs(model, 32, 24)
        steps = {f"after {place} words": continuation(model, batch, place) for place in (10, 400)}
        comparisons = [Comparison("after 400 words", "after 10 words", 1.10)]
        rows += race(f"{attention}, {NEW_WORDS} words, greedy decoding", steps, comparisons, rounds)
        many = pairs(model, 160, 24)
        steps = {"5 beams, 32 sentences": search(model, batch, 5)}
        steps["greedy, 160 sentences"] = search(model, many, 1)
        comparisons = [Comparison("5 beams, 32 sentences", "greedy, 160 sentences", 1.20)]
        rows += race(f"{attention}, {NEW_WORDS} words", steps, comparisons, rounds)
    return Outcome(rows, notes)
