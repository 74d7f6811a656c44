# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Read a checkpoint folder with its tokenizer and model card, and save the converted model with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub.repocard import metadata_load
from torch import Tensor
from transformers import AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from ..models.base.hub import CARD_NAME, write_model_card
from ..models.base.pretrained import ComplexPreTrainedModel
from .files import read_folder

__all__ = ["Checkpoint", "check_output", "read_checkpoint_folder", "write_converted"]

# Each of these files suffices to load a tokenizer; older folders hold only a vocabulary.
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    *("vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model"),
)
UNKNOWN = "unknown"  # the Hub's name for a licence that is not stated


@dataclass
class Checkpoint:
    """A model as read from its files; files that do not exist are None. ``kind`` is the model type."""

    name: str
    kind: str
    config: Any
    weights: dict[str, Tensor]
    generation_config: GenerationConfig | None
    tokenizer: PreTrainedTokenizerBase | None
    license: str | None


def read_checkpoint_folder(path: Path, kind: str, config: Any) -> Checkpoint:
    """Read a folder of ``save_pretrained`` whose configuration has been read already."""
    card = path / CARD_NAME
    has_tokenizer = any((path / name).is_file() for name in TOKENIZER_FILES)
    has_generation_config = (path / "generation_config.json").is_file()
    return Checkpoint(
        name=path.resolve().name,
        kind=kind,
        config=config,
        weights=read_folder(path),
        generation_config=GenerationConfig.from_pretrained(path) if has_generation_config else None,
        tokenizer=AutoTokenizer.from_pretrained(path) if has_tokenizer else None,
        license=(metadata_load(card) or {}).get("license") if card.is_file() else None,
    )


def check_output(model: str | Path, output: str | Path) -> None:
    """Raise if the output folder is the checkpoint itself, which would be overwritten."""
    if Path(model).resolve() == Path(output).resolve():
        raise ValueError(f"output must not be the folder of the checkpoint, got {output}. Give another folder.")


def write_converted(
    model: ComplexPreTrainedModel,
    read: Checkpoint,
    output: str | Path,
    source: str | None,
    license: str | None,
    note: str,
    limits: str,
) -> None:
    """Save a converted model with the tokenizer and generation config of its checkpoint, and a card that cites it."""
    if read.generation_config is not None:
        model.generation_config = read.generation_config
    model.save_pretrained(output)
    if read.tokenizer is not None:
        read.tokenizer.save_pretrained(output)
    license = license or read.license or UNKNOWN
    data = (
        f"Same as the original model: these are the weights of `{source or read.name}` (model type `{read.kind}`), "
        f"under the licence `{license}`. {note}"
    )
    write_model_card(output, model, license=license, training_data=data.strip(), limits=limits)
