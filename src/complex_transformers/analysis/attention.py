# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What words and relations attend to in a SynCoNMT (S Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.syntax import JOINER
from .plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from transformers import PreTrainedTokenizerFast

    from ..models.synconmt.modeling_synconmt import SynCoNMTForConditionalGeneration
    from ..models.synconmt.processing_synconmt import SynCoNMTProcessor

__all__ = ["AttentionMap", "attention_maps", "plot_attention"]


@dataclass(frozen=True)
class AttentionMap:
    """Attention of each target word (a row) to each source word (a column), both with their ends ``</s>``.

    Args:
        source_tokens, source_relations: labels of the columns.
        target_tokens, target_relations: labels of the rows; None for a model of words alone.
        word_weights: the real part (S 14), ``[target][source]``; in a real network the only weights.
        relation_weights: the imaginary part; None in a real network.
    """

    source_tokens: list[str]
    source_relations: list[str]
    target_tokens: list[str]
    target_relations: list[str] | None
    word_weights: list[list[float]]
    relation_weights: list[list[float]] | None

    def to_dict(self) -> dict[str, Any]:
        """Lists and strings, for JSON."""
        return asdict(self)


@torch.no_grad()
def attention_maps(
    model: SynCoNMTForConditionalGeneration,
    processor: SynCoNMTProcessor,
    sources: Sequence[Any],
    targets: Sequence[Any] | None = None,
    **generate_kwargs: Any,
) -> list[AttentionMap]:
    """Attention while the model writes its own translations, or while it reads given ones.

    The row of a word is the attention of the step that predicts it. Rows of ``bahdanau`` sum to one, those of
    ``luong`` to less, as its window takes some away.

    Args:
        model: in evaluation mode.
        processor: of the model.
        sources: a list of texts, or of parsed sentences, as the processor takes them.
        targets: as many translations, of the same kinds; None for those of ``generate()``.
        generate_kwargs: of ``generate()``, such as ``num_beams`` and ``max_new_tokens``, but not
            ``return_dict_in_generate``; one translation for each source.

    Raises:
        TypeError: a single text or sentence in place of a list.
        ValueError: no source, a model in training mode, ``generate_kwargs`` beside ``targets`` or that do not belong
            here, and all that the processor raises.
    """
    if model.training:
        raise ValueError("attention maps need a model without dropout: call model.eval() first")
    for name, rows in (("sources", sources), ("targets", targets)):
        if isinstance(rows, (str, Mapping)):
            raise TypeError(f"{name} must be a list of texts or parsed sentences, got one {type(rows).__name__}")
    if "return_dict_in_generate" in generate_kwargs:
        raise ValueError("attention maps need the relations that are written: leave out return_dict_in_generate")
    if len(sources) == 0:
        raise ValueError("there is no source to look at")
    if targets is not None and generate_kwargs:
        raise ValueError(f"targets are given, so nothing is generated: leave out {sorted(generate_kwargs)}")
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
            raise ValueError(f"a source has one map, of one translation: num_return_sequences must be 1, got {number}")
    decoder = {"decoder_input_ids": model.prepare_decoder_input_ids_from_labels(words)}
    if model.config.use_relations:
        decoder["decoder_relation_ids"] = model.prepare_decoder_relation_ids_from_labels(relations)
    else:
        relations = None
    weights = model(**source, **decoder, output_attentions=True).cross_attentions[0][:, 0].float()

    maps = []
    for row, mask in enumerate(batch["attention_mask"].bool()):
        is_end = words[row] == processor.tokenizer.eos_token_id
        said = ((is_end.cumsum(0) - is_end.long()) == 0) & (words[row] >= 0)  # up to the first end
        cut = weights[row][said]
        parts = [part[:, mask].tolist() for part in cut.chunk(cut.shape[-1] // len(mask), dim=-1)]
        maps.append(
            AttentionMap(
                _names(processor.source_tokenizer, batch["input_ids"][row][mask]),
                _names(processor.source_relation_tokenizer, batch["relation_ids"][row][mask]),
                _names(processor.tokenizer, words[row][said]),
                None if relations is None else _names(processor.relation_tokenizer, relations[row][said]),
                parts[0],
                parts[1] if len(parts) > 1 else None,
            )
        )
    return maps


def _names(tokenizer: PreTrainedTokenizerFast, ids: Tensor) -> list[str]:
    """Words or relations without the mark of a missing space."""
    return [token.removeprefix(JOINER) for token in tokenizer.convert_ids_to_tokens(ids.tolist())]


def plot_attention(attention: AttentionMap) -> Figure:
    """The weights of words and, beside them, those of relations, each with its own labels (S Fig. 5).

    Args:
        attention: one of ``attention_maps``; the figure grows with its texts.

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
