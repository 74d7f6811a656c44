# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Weights of Fairy2i (Wang et al. 2025, arXiv:2512.02901) as a ``ComplexLlamaForCausalLM``.

    python -m complex_transformers.conversion.convert_fairy2i_checkpoint --model Fairy2i-W2 --output fairy2i-w2

A Llama 2 of real master weights (its names and shapes, safetensors). The network that was trained computes with
rounded ones: every matrix but that of the words is U z + V conj(z) on halves of its rows and columns as they stand,
and U and V are each a sum of ``stages`` tensors with entries in {s, -s, i s', -i s'} (``nn.round_to_units``, one pair
of scales for each tensor). These are lifted here; ``lift`` keeps master weights, for training. Heads are moved after
the rounding: q, k, v and o have the right function, but their U and V are no longer such sums.
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
from .files import check_numbers, listed
from .lift import lift_weights
from .lift_checkpoint import read_checkpoint

__all__ = ["Fairy2iArguments", "convert_fairy2i_checkpoint", "round_matrix"]


@dataclass
class Fairy2iArguments:
    """What is converted, and what its files do not say."""

    model: str = field(metadata={"help": "folder with config.json and safetensors, those of a Llama"})
    output: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    stages: int = field(
        default=2, metadata={"help": "of the rounding: 2 of Fairy2i-W2, 1 of W1; 0 where weights are rounded already"}
    )
    source: str | None = field(default=None, metadata={"help": "what the card calls the weights"})
    license: str | None = field(default=None, metadata={"help": "of the weights; default what their card says"})


def round_matrix(matrix: Tensor, stages: int) -> Tensor:
    """The real matrix whose U and V are rounded to ``stages`` sums of units.

    Raises:
        ValueError: an odd number of rows or columns, ``stages`` is not positive.
    """
    if matrix.shape[0] % 2 or matrix.shape[1] % 2:
        raise ValueError(f"a matrix of shape {tuple(matrix.shape)} has no halves: rows and columns must be even")
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
    """Convert the weights in a folder and save the model, in float32, with tokenizer and card; it is returned.

    Args:
        model: folder of a Llama, see ``read_checkpoint``.
        output: folder for ``from_pretrained``, another one.
        stages: of the rounding, see above; 0 takes the weights as they are.
        source: what the card calls the weights; default the name of the folder.
        license: of the weights, under its name on the Hub; default what their card says, else ``unknown``.

    Raises:
        FileNotFoundError, ValueError: see ``read_checkpoint`` and ``lift``; negative ``stages``, another network than
            a Llama, a layer of odd size.
    """
    check_output(model, output)
    if stages < 0:
        raise ValueError(f"stages must be 0 (weights that are rounded already) or more, got {stages}")
    read = read_checkpoint(model)
    if read.kind != "llama":
        raise ValueError(f"Fairy2i is a Llama, and {model} holds a {read.kind}: lift_checkpoint takes other networks")
    check_numbers(read.weights)
    weights = {name: value.float() for name, value in read.weights.items()}
    if stages:
        of_words = ("embed_tokens", "lm_head") if read.config.tie_word_embeddings else ("embed_tokens",)
        layers = [
            name
            for name, value in weights.items()
            if value.dim() == 2 and not any(words in name for words in of_words)
        ]
        shapes = {name: tuple(weights[name].shape) for name in layers}
        if odd := [f"{name} {shape}" for name, shape in shapes.items() if shape[0] % 2 or shape[1] % 2]:
            raise ValueError(f"rows and columns of layers are halves, and some of these are odd: {listed(odd)}")
        weights |= {name: round_matrix(weights[name], stages) for name in layers}
    converted = lift_weights(read.config, weights)
    note = f"Weights of all layers are rounded to sums of {stages} scaled units." if stages else ""
    write_converted(converted, read, output, source, license, note, "Those of the original.")
    return converted


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: see ``Fairy2iArguments``."""
    (given,) = HfArgumentParser(Fairy2iArguments).parse_args_into_dataclasses(arguments)
    converted = convert_fairy2i_checkpoint(**asdict(given))
    print(f"{given.output}: {converted.num_parameters():,} parameters, {given.stages} stages of rounding")


if __name__ == "__main__":
    main()
