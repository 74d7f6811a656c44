#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA on complex layers with PEFT: the update of a complex weight is a complex matrix of low rank.

A small ComplexOrder classifier is adapted to the built-in word-order data set. Its adapter is saved, loaded onto the
base model and merged; the merged model has plain complex layers and the same logits.

    python examples/drop-in/lora.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, HfArgumentParser, set_seed

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForSequenceClassification,
    ComplexTrainer,
    build_tokenizer,
)
from complex_transformers.data.extras import (
    require,
)
from complex_transformers.recipes import (
    RunArguments,
    limit_progress_bars,
    word_order_dataset,
)

peft = require("peft", "LoRA needs PEFT", "train", "peft")


@dataclass
class Arguments:
    """Sizes and lengths of the run."""

    rank: int = 8
    max_steps: int = 60
    max_sentences: int = 1000
    learning_rate: float = 2e-3
    seed: int = 0
    output_dir: str = "outputs/drop-in-lora"


@torch.no_grad()
def logits_of(model: torch.nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Return the logits in evaluation mode."""
    return model.eval()(**batch).logits


def main() -> dict[str, float]:
    """Train, save, load and merge the adapter; print the largest differences of the logits."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    set_seed(args.seed)
    output_dir = Path(args.output_dir)
    parts = word_order_dataset(max_sentences=args.max_sentences)
    tokenizer = build_tokenizer(parts["train"]["text"])
    base = ComplexOrderForSequenceClassification(
        ComplexOrderConfig(vocab_size=len(tokenizer), hidden_size=128, num_attention_heads=4, intermediate_size=256)
    )
    base.save_pretrained(output_dir / "base")

    lora = peft.LoraConfig(
        task_type="SEQ_CLS",
        r=args.rank,
        lora_alpha=2 * args.rank,
        target_modules=["q_proj", "k_proj", "v_proj", "out_proj", "up_proj", "down_proj"],  # of the encoder ...
        modules_to_save=["classifier"],  # ... and the classifier in full
    )
    model = peft.get_peft_model(base, lora)
    model.print_trainable_parameters()
    trainer = ComplexTrainer(
        model,
        RunArguments(
            output_dir=str(output_dir / "training"),
            max_steps=args.max_steps,
            learning_rate=args.learning_rate,
            per_device_train_batch_size=32,
            logging_strategy="steps",
            logging_steps=20,
            eval_strategy="no",
            save_strategy="no",
            load_best_model_at_end=False,
            seed=args.seed,
        ),
        train_dataset=parts["train"].map(lambda rows: tokenizer(rows["text"]), batched=True, remove_columns=["text"]),
        processing_class=tokenizer,
    )
    trainer.train()
    model.save_pretrained(output_dir / "adapter")

    batch = tokenizer(parts["test"]["text"][:32], padding=True, return_tensors="pt").to(model.device)
    trained = logits_of(model, batch)
    untouched = AutoModelForSequenceClassification.from_pretrained(output_dir / "base").to(model.device)
    before = logits_of(untouched, batch)
    loaded = peft.PeftModel.from_pretrained(untouched, output_dir / "adapter")
    after_loading = logits_of(loaded, batch)
    merged = loaded.merge_and_unload()
    merged.save_pretrained(output_dir / "merged")
    reloaded = AutoModelForSequenceClassification.from_pretrained(output_dir / "merged").to(model.device)
    results = {
        "adapted - base": (trained - before).abs().max().item(),
        "loaded - adapted": (after_loading - trained).abs().max().item(),
        "merged - adapted": (logits_of(reloaded, batch) - trained).abs().max().item(),
    }
    for name, difference in results.items():
        print(f"largest difference of the logits, {name}: {difference:.2e}")
    return results


if __name__ == "__main__":
    main()
