# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small models of streams and their training, for the tests and for processes of their own.

python stream_training.py OUTPUT_DIR STEP_SECONDS [RNN_TYPE]    trains as far as it is let, and says its steps
"""

import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainingArguments, set_seed

from complex_transformers import (
    ComplexMambaConfig,
    ComplexMambaForCausalLM,
    ComplexRecurrentLMConfig,
    ComplexRecurrentLMForCausalLM,
    ComplexStreamTrainer,
    ComplexTransfoXLConfig,
    ComplexTransfoXLForCausalLM,
    StreamDataset,
)
from complex_transformers.training.checkpoints import last_complete_checkpoint

VOCABULARY, LANES, SEGMENT, MEMORY = 20, 4, 5, 8


def model(seed: int = 0, **changes: Any) -> ComplexTransfoXLForCausalLM:
    set_seed(seed)
    fields = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "mem_len": MEMORY,
        "initializer_range": 0.5,
        **changes,
    }
    return ComplexTransfoXLForCausalLM(ComplexTransfoXLConfig(**fields))


def mamba_model(seed: int = 0, **changes: Any) -> ComplexMambaForCausalLM:
    """With time steps that rotate and decay the states within a segment."""
    set_seed(seed)
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 8, "head_dim": 8}
    steps = {"time_step_min": 0.1, "time_step_max": 1.0, "chunk_size": 3, "initializer_range": 0.5}
    fields = {**sizes, **steps, "intermediate_size": 16, "hidden_dropout_prob": 0.1, **changes}
    return ComplexMambaForCausalLM(ComplexMambaConfig(**fields))


def recurrent_model(
    rnn_type: str = "lstm", seed: int = 0, transform: str = "causal_z", **changes: Any
) -> ComplexRecurrentLMForCausalLM | ComplexMambaForCausalLM:
    """With every kind of state: those of the cells, and of a transform before them; or ``mamba``."""
    if rnn_type == "mamba":
        return mamba_model(seed, **changes)
    set_seed(seed)
    fields = {"vocab_size": VOCABULARY, "hidden_size": 16, "recurrent_size": 12, **changes}
    return ComplexRecurrentLMForCausalLM(ComplexRecurrentLMConfig(**fields, rnn_type=rnn_type, transform=transform))


def tokens(length: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (length,), generator=torch.Generator().manual_seed(seed))


def trainer(folder: Path, length: int = 4 * 38 + 3, **changes: Any) -> ComplexStreamTrainer:
    """Training with dropout on lanes of 39, 39, 38 and 38 tokens: 8 segments, the last one shorter."""
    processes = changes.pop("processes", 1)
    arguments = {
        "output_dir": str(folder),
        "use_cpu": True,
        "num_train_epochs": 2,
        "per_device_train_batch_size": LANES // processes,
        "per_device_eval_batch_size": 2 // processes,
        "learning_rate": 1e-2,
        "max_grad_norm": 0.25,
        "logging_steps": 1,
        "save_steps": 3,
        "save_strategy": "steps",
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }
    functions = ("callbacks", "compute_loss_func", "compute_metrics", "preprocess_logits_for_metrics", "eval_mem_len")
    named = {name: changes.pop(name) for name in functions if name in changes}
    network = changes.pop("network", None)
    lanes = changes.pop("lanes", LANES)
    data = {"train_dataset": StreamDataset(tokens(length), lanes, SEGMENT)}
    data["eval_dataset"] = StreamDataset(tokens(70, seed=2), 2, 7)
    settings = TrainingArguments(**{**arguments, **changes})
    return ComplexStreamTrainer(model() if network is None else network, settings, **data, **named)


class Slow(TrainerCallback):
    """Says what step is done, then waits, so that another process can choose its moment."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        print(f"step {state.global_step}", flush=True)
        time.sleep(self.seconds)


def main() -> None:
    """Train from the last checkpoint, or from the beginning."""
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    network = recurrent_model(sys.argv[3]) if len(sys.argv) > 3 else None
    run = trainer(folder, network=network, num_train_epochs=6, save_steps=1, callbacks=[Slow(float(sys.argv[2]))])
    run.train(resume_from_checkpoint=last_complete_checkpoint(str(folder)))


if __name__ == "__main__":
    main()
