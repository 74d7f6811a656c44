# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train tiny models on this process, or as one of torchrun's processes, and write their losses (rank 0).

python train_worker.py OUTPUT_JSON HEAD...

With CT_TEST_KERNELS=1 on the code paths of a GPU, its kernels interpreted.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import interpreter  # before anything else imports Triton

# isort: split
import torch
from datasets import Dataset
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from transformers import TrainingArguments, set_seed

from complex_transformers import ComplexTrainer, optimizer_groups
from complex_transformers.models.base.pretrained import ComplexPreTrainedModel
from families import Case

BATCH, STEPS, VOCABULARY, LENGTH = 8, 5, 30, 10
WORD_LABELS = ("mlm", "seq2seq", "llama", "mamba")  # the others have one label for each text


def make_data(head: str) -> Dataset:
    """Padded rows; where words are predicted every row has another number of labels."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for index in range(BATCH * STEPS):
        ids = torch.randint(3, VOCABULARY, (LENGTH,), generator=generator)
        mask = (torch.arange(LENGTH) < 4 + index % 7).long()
        labels = torch.where((torch.arange(LENGTH) <= index % 4), ids, -100) if head in WORD_LABELS else ids[0] % 2
        if head == "memory":  # a story of two sentences, and a question
            story = {"input_ids": ids.view(2, -1).tolist(), "question_ids": ids[:3].tolist()}
            rows.append({**story, "labels": labels.tolist()})
            continue
        if head == "convnet":
            pixels = torch.randn(HEADS[head].config().pixel_shape, generator=generator)
            rows.append({"pixel_values": pixels.tolist(), "labels": labels.tolist()})
            continue
        rows.append({"input_ids": (ids * mask).tolist(), "attention_mask": mask.tolist(), "labels": labels.tolist()})
    return Dataset.from_list(rows)


HEADS = {
    "classification": Case("complex_order", "real score"),
    "mlm": Case("complex_order", "words"),
    "fasttext": Case("complex_fasttext", "complex"),
    "cnn": Case("complex_text_cnn", "complex"),
    "rnn": Case("complex_text_rnn", "lstm"),
    "gcn": Case("complex_text_gcn", "complex"),
    "seq2seq": Case("complex_seq2seq", "modulus"),
    "mlp": Case("complex_mlp", "words"),
    "convnet": Case("complex_convnet", "complex"),
    "llama": Case("complex_llama", "complex"),
    "mamba": Case("complex_mamba", "complex"),
    "memory": Case("complex_memory_network", "complex"),
    "quantum": Case("complex_quantum", "complex"),
}


def make_model(head: str) -> ComplexPreTrainedModel:
    """The same weights in every process, and no dropout: each process would drop other units than the single one."""
    set_seed(0)
    changes = {"label_smoothing": 0.1} if head == "seq2seq" else {}
    return HEADS[head].without_dropout(**changes)


def train_with_trainer(head: str, accumulation: int, output_dir: Path) -> dict[str, Any]:
    """Trainer on one process, or DDP: ``{world_size, losses, grad_norms, eval_loss}``."""
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    args = TrainingArguments(
        output_dir=str(output_dir),
        use_cpu=True,
        max_steps=STEPS,
        per_device_train_batch_size=BATCH // world_size // accumulation,
        per_device_eval_batch_size=BATCH // world_size,
        gradient_accumulation_steps=accumulation,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        logging_steps=1,
        save_strategy="no",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        seed=0,
    )
    data = make_data(head)
    trainer = ComplexTrainer(make_model(head), args, train_dataset=data, eval_dataset=data)
    trainer.train()
    history = trainer.state.log_history
    return {
        "world_size": distributed.get_world_size() if distributed.is_initialized() else 1,
        "losses": [log["loss"] for log in history if "loss" in log],
        "grad_norms": [log["grad_norm"] for log in history if "grad_norm" in log],
        "eval_loss": trainer.evaluate()["eval_loss"],
    }


def train_sharded(head: str) -> dict[str, Any]:
    """FSDP2 on several processes, the same loop without it on one: ``{losses, grad_norms, sharded}``.

    By hand: Accelerate drops an FSDP plugin without a word when the processes are on the CPU, and trains with DDP.
    """
    world_size, rank = (
        (distributed.get_world_size(), distributed.get_rank()) if distributed.is_initialized() else (1, 0)
    )
    model = make_model(head)
    if world_size > 1:
        mesh = init_device_mesh("cpu", (world_size,))
        layers = [module for module in model.modules() if type(module).__name__ in model._no_split_modules]
        for module in [*layers, model]:
            fully_shard(module, mesh=mesh)
    optimizer = torch.optim.AdamW(optimizer_groups(model, weight_decay=0.01), lr=1e-2)
    data = make_data(head).with_format("torch")
    losses, norms = [], []
    for step in range(STEPS):
        batch = data[step * BATCH : (step + 1) * BATCH]
        # The mean over processes must be the mean over all labels, wherever they are.
        count = {"num_items_in_batch": (batch["labels"] != -100).sum() / world_size} if head in WORD_LABELS else {}
        share = {name: values.chunk(world_size)[rank] for name, values in batch.items()}
        loss = model(**share, **count).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss = loss.detach()
        if world_size > 1:
            distributed.all_reduce(loss)
        losses.append(loss.item() / world_size)
        norms.append((norm.full_tensor() if isinstance(norm, DTensor) else norm).item())
    sharded = all(isinstance(parameter, DTensor) for parameter in model.parameters())
    return {"losses": losses, "grad_norms": norms, "sharded": sharded}


def main() -> None:
    """Train several heads in every way: starting a process costs more than training."""
    output = Path(sys.argv[1])
    results: dict[str, Any] = {}
    launched = interpreter.compute_as_on_a_gpu() if os.environ.get("CT_TEST_KERNELS") else []
    for head in sys.argv[2:]:
        for accumulation in (1, 2):
            results[f"{head}-{accumulation}"] = train_with_trainer(head, accumulation, output.parent / "out")
        results[f"{head}-sharded"] = train_sharded(head)
    results["launched"] = sorted(set(launched))
    if os.environ.get("RANK", "0") == "0":
        output.write_text(json.dumps(results), encoding="utf-8")
    if distributed.is_initialized():
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
