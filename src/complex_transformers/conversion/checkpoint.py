# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint of Transformers consists of: read whole, and written again as what was made of it."""

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

# Any of these makes a tokenizer; older folders have its vocabulary alone.
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    *("vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model"),
)
UNKNOWN = "unknown"  # the Hub's word for a licence that is not stated


@dataclass
class Checkpoint:
    """A language model as its files have it: of which kind, and None for what they lack."""

    name: str
    kind: str
    config: Any
    weights: dict[str, Tensor]
    generation_config: GenerationConfig | None
    tokenizer: PreTrainedTokenizerBase | None
    license: str | None


def read_checkpoint_folder(path: Path, kind: str, config: Any) -> Checkpoint:
    """A folder of ``save_pretrained`` whose configuration has been read.

    Raises:
        FileNotFoundError, ValueError: see ``read_folder``; a card whose metadata is damaged.
    """
    generation = path / "generation_config.json"
    has_tokenizer = any((path / name).is_file() for name in TOKENIZER_FILES)
    known = _card_metadata(path / CARD_NAME)
    return Checkpoint(
        name=path.resolve().name,
        kind=kind,
        config=config,
        weights=read_folder(path),
        generation_config=GenerationConfig.from_pretrained(path) if generation.is_file() else None,
        tokenizer=AutoTokenizer.from_pretrained(path) if has_tokenizer else None,
        license=known.get("license"),
    )


def _card_metadata(card: Path) -> dict[str, Any]:
    """What a model card says of itself, none where it says nothing or is not there."""
    if not card.is_file():
        return {}
    try:
        return metadata_load(card) or {}
    except Exception as error:  # any: of YAML, of its encoding, of what it holds
        raise ValueError(
            f"{card} begins with metadata that cannot be read; mend it, or remove the file: {error}"
        ) from error


def check_output(model: str | Path, output: str | Path) -> None:
    """Raise where a checkpoint would be written over itself, or in place of a file."""
    if Path(model).resolve() == Path(output).resolve():
        raise ValueError(f"output is the checkpoint itself, {output}: give another folder")
    if Path(output).is_file():
        raise ValueError(f"output is a file, {output}: give a folder")


def write_converted(
    model: ComplexPreTrainedModel,
    read: Checkpoint,
    output: str | Path,
    source: str | None,
    license: str | None,
    note: str,
    limits: str,
) -> None:
    """Save a converted model with tokenizer and generation config of its checkpoint, and a card that names it."""
    if read.generation_config is not None:
        model.generation_config = read.generation_config
    model.save_pretrained(output)
    if read.tokenizer is not None:
        read.tokenizer.save_pretrained(output)
    license = license or read.license or UNKNOWN
    data = (
        f"That of the original: the weights are those of `{source or read.name}`, a `{read.kind}`, under the licence "
        f"`{license}`. {note}"
    )
    write_model_card(output, model, license=license, training_data=data.strip(), limits=limits)
