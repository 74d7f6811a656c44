# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Evaluation of a trained recurrent language model from zero states and from the last states of its training.

    python -m experiments.carried_states --model outputs/run --train_file train.txt --validation_file valid.txt \
        --output_dir outputs/states

A network that forgets quickly scores the same from both. Used by the grid ``thesis-language-states``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint

from complex_transformers import StreamDataset, encode_stream
from complex_transformers.recipes import command_line, load_plain_text, write_results


def read(model: Any, text: StreamDataset, states: dict[str, Tensor]) -> tuple[float, dict[str, Tensor]]:
    """Return the mean loss (nats per token) of a text from initial ``states`` (empty: zero), and the final states."""
    memory = model.new_memory()
    if states:
        memory.load_state_dict(states)
    loss = 0.0
    for segment in range(len(text)):
        inputs = text[segment]
        del inputs["segment"]
        loss += model(**inputs, cache=memory, use_cache=True, num_items_in_batch=1).loss.item()
    return loss / text.num_predicted, memory.state_dict()


def largest(states: dict[str, Tensor]) -> float:
    """Return the largest absolute value in the states of a memory."""
    return max(state.abs().max().item() for name, state in states.items() if name.startswith("layers."))


@torch.no_grad()
def measure(folder: Path, texts: dict[str, str], segment_length: int) -> dict[str, float]:
    """Return the validation loss from both initial states, and the largest absolute state before and after."""
    checkpoint = get_last_checkpoint(str(folder))  # holds the memory of training beside the weights
    if checkpoint is None:
        raise FileNotFoundError(f"model must be an output folder of run_clm_rnn.py, got {folder} without checkpoint")
    model = AutoModelForCausalLM.from_pretrained(checkpoint).eval()
    states = load_file(Path(checkpoint) / "memory-0-of-1.safetensors")
    lanes = len(next(state for name, state in states.items() if name.startswith("layers.")))
    stream = encode_stream(load_plain_text(**texts)["validation"]["text"], AutoTokenizer.from_pretrained(checkpoint))
    text = StreamDataset(stream, lanes, segment_length)
    found = {"largest_of_training": largest(states)}
    for start, before in (("empty", {}), ("training", states)):
        found[f"loss_from_{start}"], after = read(model, text, before)
        found[f"largest_from_{start}"] = largest(after)
    return found


def main() -> None:
    """Parse the command line and run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "output_dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("train_file", "validation_file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--segment_length", type=int, default=35)
    args = parser.parse_args()
    texts = {"train_file": args.train_file, "validation_file": args.validation_file}
    found = measure(args.model, texts, args.segment_length)
    args.output_dir.mkdir(parents=True, exist_ok=True)
    write_results(args.output_dir / "results.json", {"command": command_line(), **found})
    print(found)


if __name__ == "__main__":
    main()
