# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Convert a checkpoint of a real decoder or encoder into a complex model that computes the same function.

    python -m complex_transformers.conversion.lift_checkpoint --model SmolLM2-135M --output SmolLM2-135M-complex

It reads a folder of ``save_pretrained`` (safetensors, one file or shards) or a GGUF file (extra ``gguf``). Tokenizer,
generation config and the pooling modules of ``sentence-transformers`` are copied. The model card states the source and
the licence of the weights. See ``lift``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from transformers import AutoConfig, HfArgumentParser

from .checkpoint import Checkpoint, check_output, read_checkpoint_folder, write_converted
from .features import PAIRINGS, learned
from .gguf_files import read_gguf
from .lift import LiftedModel, check_liftable, lift_weights, network_of
from .sentence_files import copy_sentence_files, sentence_files

__all__ = ["LiftArguments", "lift_checkpoint", "read_checkpoint"]

DTYPES = ("float32", "bfloat16", "float16", "float64")


@dataclass
class LiftArguments:
    """Command line options of the conversion of a checkpoint to a complex model."""

    model: str = field(metadata={"help": "folder with config.json and safetensors, or a file .gguf"})
    output: str = field(metadata={"help": "folder of the complex model, for from_pretrained"})
    pairing: str = field(
        default="halves",
        metadata={"help": "features that become real and imaginary part of one", "choices": list(PAIRINGS)},
    )
    dtype: str = field(
        default="float32",
        metadata={"help": "of the weights; float32 holds sums of 16-bit weights exactly", "choices": list(DTYPES)},
    )
    source: str | None = field(
        default=None, metadata={"help": "name of the weights in the card; default the name of the folder or file"}
    )
    license: str | None = field(
        default=None, metadata={"help": "of the weights; default: the licence in their card or file, else unknown"}
    )


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a folder of ``save_pretrained``, or a GGUF file, which is dequantized to float32.

    Raises:
        OSError: the path, or a file that belongs there, is missing.
        ValueError: ``lift`` does not support the configuration; raised before any weight is read.
        ImportError: ``gguf`` is missing (extra ``gguf``).
    """
    path = Path(path)
    if path.suffix == ".gguf":
        return read_gguf(path)
    if not path.is_dir():  # from_pretrained would look for a repository of this name on the Hub
        raise FileNotFoundError(f"model must be a folder with config.json or a .gguf file, got {path}.")
    config = AutoConfig.from_pretrained(path)
    check_liftable(config)
    network_of(config)
    return read_checkpoint_folder(path, config.model_type, config)


def lift_checkpoint(
    model: str | Path,
    output: str | Path,
    pairing: str = "halves",
    dtype: str = "float32",
    source: str | None = None,
    license: str | None = None,
) -> LiftedModel:
    """Lift a checkpoint and save it with its tokenizer, generation config and model card.

    The modules of a ``sentence-transformers`` folder are copied: with ``complex_transformers`` imported,
    ``SentenceTransformer(output)`` returns the embeddings of the original.

    Args:
        model: a folder or a file, see ``read_checkpoint``.
        output: another folder, for ``from_pretrained``. Nothing is written if the lift fails.
        pairing: see ``lift``.
        dtype: ``float32``, ``bfloat16``, ``float16`` or ``float64``. Sums of two 16-bit weights are exact in float32;
            16-bit dtypes round them, and so change the function.
        source: name of the weights in the card, for instance their repository; default the name of folder or file.
        license: licence identifier of the Hub; default the licence in the card or file, else ``unknown``.

    Returns:
        The model, in evaluation mode.

    Raises:
        OSError, ImportError, ValueError, RuntimeError: see ``read_checkpoint`` and ``lift``; the output is the
            checkpoint itself; another pairing than ``halves`` for sentence embeddings, whose order it would change.
    """
    check_output(model, output)
    modules = sentence_files(model)
    if modules and pairing != "halves":
        raise ValueError(f"pairing must be 'halves' for sentence-transformers folders, got {pairing!r}.")
    read = read_checkpoint(model)
    weights = {
        name: value.to(getattr(torch, dtype)) if value.is_floating_point() else value
        for name, value in learned(read.weights).items()
    }
    lifted = lift_weights(read.config, weights, pairing)
    note = "Each real layer is written as U z + V conj(z); nothing was trained."
    if modules:
        note += " `SentenceTransformer` returns the sentence embeddings of the original."
    write_converted(lifted, read, output, source, license, note, "Same as the original model.")
    copy_sentence_files(model, output, modules)
    return lifted


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, see ``LiftArguments``."""
    (given,) = HfArgumentParser(LiftArguments).parse_args_into_dataclasses(arguments)
    lifted = lift_checkpoint(**asdict(given))
    config = lifted.config
    print(
        f"{given.output}: {lifted.num_parameters():,} parameters in {config.num_hidden_layers} layers, "
        f"{config.complex_size} complex features, {config.vocab_size} tokens"
    )


if __name__ == "__main__":
    main()
