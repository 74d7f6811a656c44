# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Load saved models divided among torchrun's processes, or whole; their logits, training, texts and what they save.

python tensor_worker.py FOLDER OUTPUT_JSON MODEL...
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.distributed.tensor import DTensor
from transformers.distributed import DistributedConfig

import complex_transformers

STEPS, LENGTH, PROMPT = 3, 9, 4


def inputs_of(model: Any) -> dict[str, torch.Tensor]:
    """A batch of two texts, the second one padded."""
    ids = torch.randint(3, model.config.vocab_size, (2, LENGTH), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, LENGTH - 2 :] = 0
    batch = {"input_ids": ids, "attention_mask": mask, "labels": torch.where(mask == 1, ids, -100)}
    if type(model).__name__.startswith("ComplexTransfoXL"):  # reads streams
        del batch["attention_mask"]
    return batch


def look_at(folder: Path, saved: Path | None) -> dict[str, Any]:
    """What a model says before and after a few steps, and which of its parameters are divided."""
    model_class = getattr(complex_transformers, json.loads((folder / "config.json").read_text())["architectures"][0])
    options = {} if size() == 1 else {"distributed_config": DistributedConfig(tp_size=size())}
    model = model_class.from_pretrained(folder, **options).eval()
    batch = inputs_of(model)
    found: dict[str, Any] = {"logits": model(**batch).logits.flatten().tolist(), "losses": [], "norms": []}
    if model.can_generate():
        prompt = {name: value[:, :PROMPT] for name, value in batch.items() if name != "labels"}
        found["texts"] = model.generate(**prompt, max_new_tokens=5, do_sample=False).tolist()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        loss = model(**batch).loss
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        wholes = [grad.full_tensor() if isinstance(grad, DTensor) else grad for grad in gradients]
        optimizer.step()
        optimizer.zero_grad()
        found["losses"].append(loss.item())
        found["norms"].append(torch.nn.utils.get_total_norm(wholes).item())
    divided = {name: value for name, value in model.named_parameters() if isinstance(value, DTensor)}
    found["divided"] = {name: value.to_local().numel() / value.numel() for name, value in divided.items()}
    if saved is not None:
        model.save_pretrained(saved)
    return found


def size() -> int:
    """Processes under torchrun, or one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def main() -> None:
    """All models in one set of processes: starting them costs more than anything else."""
    folder, output = Path(sys.argv[1]), Path(sys.argv[2])
    results = {name: look_at(folder / name, folder / f"{name}-{size()}") for name in sys.argv[3:]}
    if os.environ.get("RANK", "0") == "0":
        output.write_text(json.dumps(results), encoding="utf-8")
    if distributed.is_initialized():
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
