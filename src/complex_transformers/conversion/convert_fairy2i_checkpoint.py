# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Convert a Fairy2i checkpoint (Wang et al. 2025, arXiv:2512.02901) into a ``ComplexLlamaForCausalLM``.

    python -m complex_transformers.conversion.convert_fairy2i_checkpoint --model Fairy2i-W2 --output fairy2i-w2

The checkpoint is a Llama 2 of real master weights. The trained network computes with rounded weights: every matrix but
the embedding is U z + V conj(z) on halves of its rows and columns, and U and V are each a sum of ``stages`` tensors
with entries in {s, -s, i s', -i s'} (``nn.round_to_units``, one pair of scales per tensor). This script lifts the
rounded weights; ``lift`` keeps the master weights, for training. The lift reorders the features of heads after the
rounding: q, k, v and o compute the same function, but their U and V are no longer such sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from transformers import HfArgumentParser

from ..kernels.linear import widely_matrix, widely_parts
from ..models.complex_llama.modeling_complex_llama import ComplexLlamaForCausalLM
from ..nn import round_to_units
from .checkpoint import check_output, write_converted
from .lift import lift_weights
from .lift_checkpoint import read_checkpoint

__all__ = ["Fairy2iArguments", "convert_fairy2i_checkpoint", "round_matrix"]


@dataclass
class Fairy2iArguments:
    """Command line options of the conversion."""

    model: str = field(metadata={"help": "folder of a Llama with config.json and safetensors"})
    output: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    stages: int = field(
        default=2, metadata={"help": "rounding stages: 2 for Fairy2i-W2, 1 for W1, 0 if weights are rounded already"}
    )
    source: str | None = field(default=None, metadata={"help": "name of the weights in the card"})
    license: str | None = field(default=None, metadata={"help": "of the weights; default the licence in their card"})


def round_matrix(matrix: Tensor, stages: int) -> Tensor:
    """Return a real matrix with U and V rounded to sums of ``stages`` scaled units.

    Raises:
        ValueError: an odd number of rows or columns, ``stages`` is not positive.
    """
    if matrix.shape[0] % 2 or matrix.shape[1] % 2:
        raise ValueError(f"matrix must have even numbers of rows and columns, got {tuple(matrix.shape)}.")
    real, imag, conj_real, conj_imag = widely_parts(matrix.float() if matrix.element_size() < 4 else matrix)
    rounded = *round_to_units(real, imag, stages), *round_to_units(conj_real, conj_imag, stages)
    return widely_matrix(*rounded).to(matrix.dtype)


@torch.no_grad()
def convert_fairy2i_checkpoint(
    model: str | Path,
    output: str | Path,
    stages: int = 2,
    source: str | None = None,
    license: str | None = None,
) -> ComplexLlamaForCausalLM:
    """Convert the weights in a folder to float32 and save the model with tokenizer and model card.

    Args:
        model: folder of a Llama, see ``read_checkpoint``.
        output: another folder, for ``from_pretrained``.
        stages: rounding stages; 0 keeps the weights unrounded.
        source: name of the weights in the card; default the name of the folder.
        license: licence identifier of the Hub; default the licence in the card, else ``unknown``.

    Returns:
        The model, in evaluation mode.

    Raises:
        OSError, ValueError, RuntimeError: see ``read_checkpoint``, ``lift`` and ``round_matrix``; the checkpoint is
            not a Llama.
    """
    check_output(model, output)
    read = read_checkpoint(model)
    if read.kind != "llama":
        raise ValueError(f"model must be a llama checkpoint, got {read.kind}. Use lift_checkpoint.")
    weights = {name: value.float() for name, value in read.weights.items()}
    if stages:
        embeddings = ("embed_tokens", "lm_head") if read.config.tie_word_embeddings else ("embed_tokens",)
        weights |= {
            name: round_matrix(value, stages)
            for name, value in weights.items()
            if value.dim() == 2 and not any(embedding in name for embedding in embeddings)
        }
    converted = lift_weights(read.config, weights)
    note = f"All layers are rounded to sums of {stages} scaled units." if stages else ""
    write_converted(converted, read, output, source, license, note, "Same as the original model.")
    return converted


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, see ``Fairy2iArguments``."""
    (given,) = HfArgumentParser(Fairy2iArguments).parse_args_into_dataclasses(arguments)
    converted = convert_fairy2i_checkpoint(**asdict(given))
    print(f"{given.output}: {converted.num_parameters():,} parameters, {given.stages} rounding stages")


if __name__ == "__main__":
    main()
