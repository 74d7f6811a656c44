# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention maps of words and dependency relations in SynCoNMT, and attention along dependencies (Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.syntax import JOINER, check_heads
from .plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from transformers import PreTrainedTokenizerFast

    from ..models.synconmt.modeling_synconmt import SynCoNMTForConditionalGeneration
    from ..models.synconmt.processing_synconmt import SynCoNMTProcessor

END = "</s>"

__all__ = ["AttentionMap", "attention_maps", "dependency_shares", "plot_attention"]


@dataclass(frozen=True)
class AttentionMap:
    """Attention of each target word (row) to each source word (column), including ``</s>``.

    Args:
        source_tokens, source_relations: labels of the columns.
        target_tokens, target_relations: labels of the rows; no relations for a model without them.
        word_weights: real part of the weights (SynCoNMT Eq. 14), ``[target][source]``; the only weights of a real
            network.
        relation_weights: imaginary part; None in a real network.
    """

    source_tokens: list[str]
    source_relations: list[str]
    target_tokens: list[str]
    target_relations: list[str] | None
    word_weights: list[list[float]]
    relation_weights: list[list[float]] | None

    def to_dict(self) -> dict[str, Any]:
        """Return lists and strings, for JSON."""
        return asdict(self)


@torch.no_grad()
def attention_maps(
    model: SynCoNMTForConditionalGeneration,
    processor: SynCoNMTProcessor,
    sources: Sequence[Any],
    targets: Sequence[Any] | None = None,
    **generate_kwargs: Any,
) -> list[AttentionMap]:
    """Return attention maps of generated or given translations.

    A row holds the attention of the step that predicts the word. Rows sum to 1 with ``bahdanau`` attention, and to
    less with the window of ``luong``.

    Args:
        model: a model in evaluation mode.
        processor: processor of the model.
        sources: texts or parsed sentences, as the processor takes them.
        targets: a translation for each source; None to generate them.
        generate_kwargs: arguments of ``generate()`` such as ``num_beams`` and ``max_new_tokens``.

    Raises:
        TypeError: a single text or sentence is given instead of a list.
        ValueError: the model is in training mode, ``generate_kwargs`` are given beside ``targets``, several
            translations are asked for, or the processor raises.
    """
    if model.training:
        raise ValueError("model must be in evaluation mode, got training mode. Call model.eval().")
    for name, rows in (("sources", sources), ("targets", targets)):
        if isinstance(rows, (str, Mapping)):
            raise TypeError(
                f"{name} must be a list of strings or parsed sentences, got one {type(rows).__name__}. Put it into a "
                "list."
            )
    if targets is not None and generate_kwargs:
        raise ValueError(f"targets must be None with generate() arguments, got {sorted(generate_kwargs)}. Drop one.")
    batch = dict(
        processor(list(sources), None if targets is None else list(targets), padding=True, return_tensors="pt").to(
            model.device
        )
    )
    words, relations = batch.pop("labels", None), batch.pop("relation_labels", None)
    source = {name: ids for name, ids in batch.items() if model.config.use_relations or name != "relation_ids"}
    if words is None:
        output = model.generate(**source, return_dict_in_generate=True, **generate_kwargs)
        words, relations = (None if ids is None else ids[:, 1:] for ids in (output.sequences, output.relations))
        if (number := len(output.sequences) // len(sources)) > 1:
            raise ValueError(f"num_return_sequences must be 1, got {number}")
    decoder = {"decoder_input_ids": model.prepare_decoder_input_ids_from_labels(words)}
    if model.config.use_relations:
        decoder["decoder_relation_ids"] = model.prepare_decoder_relation_ids_from_labels(relations)
    else:
        relations = None
    weights = model(**source, **decoder, output_attentions=True).cross_attentions[0][:, 0].float()

    maps = []
    for row, mask in enumerate(batch["attention_mask"].bool()):
        is_end = words[row] == processor.tokenizer.eos_token_id
        shown = ((is_end.cumsum(0) - is_end.long()) == 0) & (words[row] >= 0)  # to the first end token
        cut = weights[row][shown]
        parts = [part[:, mask].tolist() for part in cut.chunk(cut.shape[-1] // len(mask), dim=-1)]
        maps.append(
            AttentionMap(
                _names(processor.source_tokenizer, batch["input_ids"][row][mask]),
                _names(processor.source_relation_tokenizer, batch["relation_ids"][row][mask]),
                _names(processor.tokenizer, words[row][shown]),
                None if relations is None else _names(processor.relation_tokenizer, relations[row][shown]),
                parts[0],
                parts[1] if len(parts) > 1 else None,
            )
        )
    return maps


def _names(tokenizer: PreTrainedTokenizerFast, ids: Tensor) -> list[str]:
    """Return words or relations without the marker of a missing space."""
    return [token.removeprefix(JOINER) for token in tokenizer.convert_ids_to_tokens(ids.tolist())]


def dependency_shares(maps: Sequence[AttentionMap], heads: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return how much attention follows the dependencies of the source (SynCoNMT, section 4.5).

    For each target word let a be the source word with the largest word weight, N its head and dependents, and w the
    weights. The share is sum_{j in N} w_j / sum_{j != a} w_j, over source words without ``</s>``. Target words without
    weights beside a are left out, and so is ``</s>``.

    Args:
        maps: from ``attention_maps``.
        heads: heads of the words of each source, counted from 1; 0 for the root.

    Returns:
        ``words`` and, in complex networks, ``relations``: the mean share of the real and of the imaginary weights.
        ``chance``: the mean share of equal weights, |N| / (n - 1) for n source words. Empty if all words are left out.

    Raises:
        ValueError: not one list of heads for each map, or a list that does not fit its words.
    """
    if len(maps) != len(heads):
        raise ValueError(f"heads must be a list for each of {len(maps)} maps, got {len(heads)} lists")
    sums: dict[str, list[float]] = {}
    for attention, above in zip(maps, heads, strict=True):
        size = len(attention.source_tokens) - 1
        check_heads(above, size)
        tree = torch.zeros(size + 1, size + 1)
        tree[list(range(1, size + 1)), list(above)] = 1.0
        near = (tree + tree.T)[1:, 1:]  # row 0 is the head of the root
        is_word = torch.tensor([token != END for token in attention.target_tokens])
        words = torch.tensor(attention.word_weights)[is_word, :size]
        kinds = {"words": words, "chance": torch.ones_like(words)}
        if attention.relation_weights is not None:
            kinds["relations"] = torch.tensor(attention.relation_weights)[is_word, :size]
        nearest = words.argmax(-1)
        others = 1.0 - torch.eye(size)[nearest]
        counted = torch.stack([(weights * others).sum(-1) > 0 for weights in kinds.values()]).all(0)
        for name, weights in kinds.items():
            shares = (weights * near[nearest]).sum(-1) / (weights * others).sum(-1)
            sums.setdefault(name, []).extend(shares[counted].tolist())
    return {name: sum(shares) / len(shares) for name, shares in sums.items() if shares}


def plot_attention(attention: AttentionMap) -> Figure:
    """Plot the attention weights of words, and of relations beside them (SynCoNMT Fig. 5).

    Args:
        attention: a map from ``attention_maps``; the figure grows with the texts.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    shown = [("words", attention.source_tokens, attention.target_tokens, attention.word_weights)]
    if attention.relation_weights is not None:
        rows = attention.target_relations or attention.target_tokens
        shown.append(("relations", attention.source_relations, rows, attention.relation_weights))
    width, height = (0.35 * max(len(names), 8) + 1.5 for names in (attention.source_tokens, attention.target_tokens))
    figure = new_figure(width * len(shown), height)
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for axis, (title, columns, rows, weights) in zip(axes, shown, strict=True):
        image = axis.imshow(weights, vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
        axis.set_xticks(range(len(columns)), columns, rotation=90)
        axis.set_yticks(range(len(rows)), rows)
        axis.set(title=title, xlabel="source", ylabel="target")
    figure.colorbar(image, ax=list(axes), label="weight")
    return figure
