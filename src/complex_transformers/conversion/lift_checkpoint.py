# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Convert a checkpoint of a real decoder or encoder into a complex network of the same function, see ``lift``.

    python -m complex_transformers.conversion.lift_checkpoint --model SmolLM2-135M --output SmolLM2-135M-complex

It reads a folder of ``save_pretrained`` (safetensors, in one file or several) or a GGUF file (extra ``gguf``).
Tokenizer and generation config travel along, and so does what makes sentence vectors of a folder of
``sentence-transformers``; the model card says where the weights come from and under which licence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from transformers import AutoConfig, HfArgumentParser

from ..nn.checks import check_choice
from .checkpoint import Checkpoint, check_output, read_checkpoint_folder, write_converted
from .features import PAIRINGS, learned
from .files import check_numbers, read_json
from .gguf_files import read_gguf
from .lift import LiftedModel, lift_weights, network_of
from .liftable import check_liftable
from .sentence_files import copy_sentence_files, sentence_files

__all__ = ["LiftArguments", "lift_checkpoint", "read_checkpoint"]

DTYPES = ("float32", "bfloat16", "float16", "float64")


@dataclass
class LiftArguments:
    """What is lifted, and what its files do not say."""

    model: str = field(metadata={"help": "folder with config.json and safetensors, or a file .gguf"})
    output: str = field(metadata={"help": "folder of the complex model, for from_pretrained"})
    pairing: str = field(
        default="halves",
        metadata={"help": "features that become real and imaginary parts", "choices": list(PAIRINGS)},
    )
    dtype: str = field(
        default="float32",
        metadata={"help": "of the numbers; float32 holds sums of 16-bit weights exactly", "choices": list(DTYPES)},
    )
    source: str | None = field(
        default=None, metadata={"help": "what the card calls the weights; default the name of the folder or file"}
    )
    license: str | None = field(
        default=None, metadata={"help": "of the weights; default what their card or file says, else unknown"}
    )


def read_checkpoint(path: str | Path) -> Checkpoint:
    """A folder of ``save_pretrained``, or a GGUF file, whose numbers are then float32.

    Raises:
        FileNotFoundError: the path, or a file that belongs there, is missing.
        ValueError: what ``lift`` refuses, before any weight is read; a damaged file, by its name.
        ImportError: ``gguf`` is missing (extra ``gguf``).
    """
    path = Path(path)
    if path.is_dir():
        read_json(path / "config.json", "configuration")  # which says what is wrong with it
        config = AutoConfig.from_pretrained(path)
        check_liftable(config)
        network_of(config)
        return read_checkpoint_folder(path, config.model_type, config)
    if path.suffix == ".gguf" and path.is_file():
        return read_gguf(path)
    raise FileNotFoundError(f"no checkpoint at {path}: give a folder with config.json, or a file that ends in .gguf")


def lift_checkpoint(
    model: str | Path,
    output: str | Path,
    pairing: str = "halves",
    dtype: str = "float32",
    source: str | None = None,
    license: str | None = None,
) -> LiftedModel:
    """Lift a checkpoint and save it with its tokenizer, generation config and card; nothing is written on an error.

    Of a folder of ``sentence-transformers`` the modules after its network are copied: with ``complex_transformers``
    imported, ``SentenceTransformer(output)`` has the vectors of the original.

    Args:
        model: a folder or a file, see ``read_checkpoint``.
        output: folder for ``from_pretrained``, another one.
        pairing: see ``lift``.
        dtype: of the numbers, ``float32``, ``bfloat16``, ``float16`` or ``float64``. Sums of two weights of 16 bits
            are exact in float32; in 16 bits they are rounded, and so is the function.
        source: what the card calls the weights, for instance their repository; default the name of folder or file.
        license: of the weights, under its name on the Hub; default what their card or file says, else ``unknown``.

    Returns:
        The model, in evaluation mode.

    Raises:
        FileNotFoundError, ImportError, ValueError: see ``read_checkpoint`` and ``lift``; an output that is the
            checkpoint itself; a pairing of the features of sentence vectors, which modules read in their order.
    """
    check_choice("dtype", dtype, DTYPES)
    check_output(model, output)
    modules = sentence_files(model)
    if modules and pairing != "halves":
        raise ValueError(
            f"pairing={pairing!r} would change the order of the features in the sentence vectors of {model}: leave it "
            "at 'halves'"
        )
    read = read_checkpoint(model)
    weights = learned(read.weights)
    check_numbers(weights)
    numbers = {name: value.to(getattr(torch, dtype)) for name, value in weights.items()}
    lifted = lift_weights(read.config, numbers, pairing)
    note = "Each real layer is written as U z + V conj(z); nothing was trained."
    if modules:
        note += " `SentenceTransformer` makes sentence vectors of the folder, those of the original."
    write_converted(lifted, read, output, source, license, note, "Those of the original, whose function this is.")
    copy_sentence_files(model, output, modules)
    return lifted


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: see ``LiftArguments``."""
    (given,) = HfArgumentParser(LiftArguments).parse_args_into_dataclasses(arguments)
    lifted = lift_checkpoint(**asdict(given))
    config = lifted.config
    print(
        f"{given.output}: {lifted.num_parameters():,} parameters in {config.num_hidden_layers} layers, "
        f"{config.complex_size} complex features, {config.vocab_size} words"
    )


if __name__ == "__main__":
    main()
