# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of one cell (network, embedding, data set, seed): epoch chosen on validation, tested once."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
from benchmarks.reporting import machine_facts
from transformers import (
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

import complex_transformers
from complex_transformers import ComplexTrainer, build_tokenizer
from complex_transformers.data.vectors import read_vectors
from experiments.paper.data import data_folder, load_parts
from experiments.paper.trained_positions import train_sinusoids

__all__ = [
    "EMBEDDINGS",
    "EPOCHS",
    "NETWORKS",
    "PAPER_NETWORKS",
    "VECTORS",
    "Cell",
    "build_model",
    "encoded",
    "run_cell",
    "settings",
    "train_cell",
    "training_options",
    "validate_cell",
]

VECTORS = "glove.6B.50d-excerpt.txt.gz"

# The rows of Table 2: embedding type and number field. The paper's networks without complex embeddings are real.
EMBEDDINGS: dict[str, tuple[str, str]] = {
    "none": ("word", "real"),
    "PE": ("learned_position", "real"),
    "TPE": ("sinusoidal_position", "real"),
    "complex-vanilla": ("complex_vanilla", "complex"),
    "complex-order": ("complex_order", "complex"),
}


@dataclass(frozen=True)
class Network:
    """A model family with its sizes and training options; the same for every embedding."""

    family: str
    sizes: dict[str, Any]
    training: dict[str, Any] = field(default_factory=dict)
    vectors: bool = True


# Stored width 100 is 50 complex features, the dimension of the word vectors; the paper uses no vectors in its
# Transformer. Options were chosen on the validation split of TREC, one seed.
_CLASSIC = {"hidden_size": 100, "hidden_dropout_prob": 0.3, "classifier_dropout": 0.5, "readout": "concat"}
# About the same number of steps on every data set.
EPOCHS = {"trec": 10, "subj": 5, "mr": 5, "sst2": 7}
_FAST = {"learning_rate": 2e-3}
NETWORKS: dict[str, Network] = {
    "FastText": Network("ComplexFastText", {**_CLASSIC, "intermediate_size": 128}, _FAST),
    "LSTM": Network("ComplexTextRNN", {**_CLASSIC, "recurrent_size": 128}, _FAST),
    "CNN": Network("ComplexTextCNN", {**_CLASSIC, "num_filters": 128, "intermediate_size": 128}, _FAST),
    "Transformer": Network(
        "ComplexOrder",
        {
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_attention_heads": 4,
            "hidden_dropout_prob": 0.5,
            "norm_position": "pre",
        },
        vectors=False,
    ),
    "GCN": Network("ComplexTextGCN", {**_CLASSIC, "intermediate_size": 128}, _FAST),
    # Not in the paper: quantum-like states of the words in place of layers.
    "Quantum": Network(
        "ComplexQuantum",
        {"hidden_size": 100, "num_measurements": 128, "hidden_dropout_prob": 0.1, "classifier_dropout": 0.1},
        _FAST,
    ),
}
PAPER_NETWORKS = tuple(name for name in NETWORKS if name != "Quantum")


@dataclass(frozen=True)
class Cell:
    """A training run without its seed; equal cells give the same result."""

    dataset: str
    network: str
    embedding: str
    seed: int
    fold: int = 0
    options: tuple[tuple[str, Any], ...] = ()  # configuration fields, and ``trained_positions`` of TPE
    training: tuple[tuple[str, Any], ...] = ()  # TrainingArguments fields

    @property
    def number_field(self) -> str:
        """The number field of the embedding."""
        return EMBEDDINGS[self.embedding][1]

    @property
    def row(self) -> str:
        """A name that is unique within a table, without the seed."""
        options = "".join(f",{name}={value}" for name, value in (*self.options, *self.training))
        fold = f",fold={self.fold}" if self.fold else ""
        return f"{self.dataset},{self.network},{self.embedding}{options}{fold}"


class KeepBest(TrainerCallback):
    """Callback that keeps the weights of the epoch with the best validation accuracy in memory."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.accuracies: list[float] = []
        self.best: dict[str, torch.Tensor] = {}

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **kwargs: Any) -> None:
        """Keep the first of equally good epochs."""
        if metrics["eval_accuracy"] > max(self.accuracies, default=-1.0):
            self.best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self.accuracies.append(metrics["eval_accuracy"])


def _accuracy(prediction: EvalPrediction) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


@cache
def _vectors() -> Any:
    return read_vectors(data_folder() / "vectors" / VECTORS)


@cache
def encoded(dataset: str, fold: int) -> tuple[dict[str, Any], PreTrainedTokenizerFast, list[str]]:
    """Return the tokenized splits of a data set, the tokenizer of its training split, and its labels."""
    parts = load_parts(dataset, fold)
    tokenizer = build_tokenizer(parts["train"]["text"], "whitespace", min_frequency=2)
    labels = sorted(set(parts["train"]["label"]))
    encoded = {
        name: part.map(
            lambda batch: {**tokenizer(batch["text"]), "label": [labels.index(label) for label in batch["label"]]},
            batched=True,
            remove_columns=["text"],
        )
        for name, part in parts.items()
    }
    return encoded, tokenizer, labels


def training_options(cell: Cell) -> dict[str, Any]:
    """Return the ``TrainingArguments`` that change the result, and the learning rates for ``ComplexTrainer``."""
    return {
        "learning_rate": 1e-3,
        "warmup_steps": 0.1,
        "weight_decay": 0.01,
        "per_device_train_batch_size": 32,
        "per_device_eval_batch_size": 128,
        "train_sampling_strategy": "group_by_length",
        **NETWORKS[cell.network].training,
        **dict(cell.training),
    }


def settings(cell: Cell) -> dict[str, Any]:
    """Return everything that a result depends on besides its cell."""
    network = NETWORKS[cell.network]
    training = {"num_train_epochs": EPOCHS[cell.dataset], **training_options(cell)}
    return {"sizes": network.sizes, "training": training, "vectors": network.vectors}


def build_model(cell: Cell, vocabulary: dict[str, int], num_labels: int) -> tuple[PreTrainedModel, float | None]:
    """Build the network of a cell; also return the share of words with a pretrained vector, None without vectors."""
    network = NETWORKS[cell.network]
    embedding_type, _ = EMBEDDINGS[cell.embedding]
    # Sinusoids have amplitude 1, so embeddings get the same scale (Vaswani et al. 2017 multiply them by sqrt d).
    scale = {"initializer_range": 1.0} if embedding_type == "sinusoidal_position" and not network.vectors else {}
    fields = {"embedding_type": embedding_type, "number_field": cell.number_field, **network.sizes, **scale}
    fields |= dict(cell.options)
    trained_positions = fields.pop("trained_positions", False)
    config = getattr(complex_transformers, f"{network.family}Config")(
        **fields, vocab_size=len(vocabulary), num_labels=num_labels
    )
    model = getattr(complex_transformers, f"{network.family}ForSequenceClassification")(config)
    if trained_positions:
        train_sinusoids(model)
    if not network.vectors:
        return model, None
    return model, model.get_input_embeddings().load_vectors(_vectors(), vocabulary)


def train_cell(cell: Cell) -> tuple[ComplexTrainer, dict[str, Any]]:
    """Train a cell and restore its best epoch on validation; the test split is not used."""
    parts, tokenizer, labels = encoded(cell.dataset, cell.fold)
    set_seed(cell.seed)
    model, coverage = build_model(cell, tokenizer.get_vocab(), len(labels))
    best = KeepBest(model)
    options = training_options(cell)
    rates = {name: options.pop(name) for name in ("frequency_learning_rate",) if name in options}
    with tempfile.TemporaryDirectory() as folder:
        trainer = ComplexTrainer(
            model,
            TrainingArguments(
                folder,
                seed=cell.seed,
                num_train_epochs=EPOCHS[cell.dataset],
                eval_strategy="epoch",
                save_strategy="no",
                logging_strategy="no",
                report_to="none",
                disable_tqdm=True,
                dataloader_pin_memory=torch.cuda.is_available(),
                **options,
            ),
            train_dataset=parts["train"],
            eval_dataset=parts["validation"],
            processing_class=tokenizer,
            compute_metrics=_accuracy,
            callbacks=[best],
            **rates,
        )
        start = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - start
    model.load_state_dict(best.best)
    return trainer, {
        "validation_accuracy": max(best.accuracies),
        "best_epoch": best.accuracies.index(max(best.accuracies)) + 1,
        "seconds": round(seconds, 1),
        "parameters": model.num_parameters(),
        "coverage": coverage,
        "machine": machine_facts(),
    }


def validate_cell(cell: Cell) -> dict[str, Any]:
    """Train a cell and score it on validation only, for tuning."""
    return train_cell(cell)[1]


def run_cell(cell: Cell) -> dict[str, Any]:
    """Train a cell, choose the epoch on validation, and score the test split once."""
    trainer, result = train_cell(cell)
    parts, _, _ = encoded(cell.dataset, cell.fold)
    prediction = trainer.predict(parts["test"])
    correct = prediction.predictions.argmax(-1) == prediction.label_ids
    return {
        "cell": asdict(cell),
        "test_accuracy": float(correct.mean()),
        **result,
        "rows": {name: len(part) for name, part in parts.items()},
        "correct": np.packbits(correct).tobytes().hex(),  # one bit per test text, for the signed-rank test
    }
