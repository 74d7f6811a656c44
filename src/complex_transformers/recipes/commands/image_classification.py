# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train an image classifier from scratch on a folder of images, IDX or npz files, or a data set of the Hub.

Dense or convolutional layers (``--model_type``), widths by ``--hidden_sizes`` or ``--num_filters``, complex or real.

The best epoch is chosen on the validation split; the test split, if there is one, is scored once.

    complex-transformers run image-classification --dataset_name mnist --hidden_sizes 128 128
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from transformers import EvalPrediction, HfArgumentParser

from ...models.complex_mlp.image_processing_complex_mlp import ComplexImageProcessor
from ..arguments import RunArguments, arguments_of, arguments_of_networks, new_default
from ..datasets.images import load_image_dataset
from ..datasets.splits import check_labels, sample_training
from ..records import portable
from ..run import Run, prepare_run

if TYPE_CHECKING:
    from datasets import DatasetDict

NETWORKS = ("complex_mlp", "complex_convnet")
ModelArguments = arguments_of_networks(
    "AutoModelForImageClassification", *NETWORKS, without=("num_channels", "image_size", "bag_of_words")
)


@dataclass
class DataArguments(arguments_of(load_image_dataset)):
    """The data: a folder, files or a data set of the Hub, and the size of images."""

    max_train_samples: int | None = field(default=None, metadata={"help": "size of a random training sample"})
    num_channels: int | None = field(default=None, metadata={"help": "1 or 3; default: of the first image"})
    image_size: list[int] = field(
        default_factory=list, metadata={"help": "height and width; default: of the first image"}
    )

    def processor(self, parts: DatasetDict) -> ComplexImageProcessor:
        """Return an image processor with one size and number of channels."""
        first = parts["train"][0]["image"]
        channels = self.num_channels or (1 if first.mode in ("1", "L", "LA") or first.mode.startswith("I") else 3)
        if len(self.image_size) not in (0, 2):
            raise ValueError(f"--image_size must be height and width, got {self.image_size}.")
        height, width = self.image_size or (first.height, first.width)
        return ComplexImageProcessor(num_channels=channels, size={"height": height, "width": width})


@dataclass
class TrainingArguments(RunArguments):
    """``RunArguments`` with defaults for small models."""

    output_dir: str | None = "outputs/image-classification"
    num_train_epochs: float = new_default("num_train_epochs", 10, "small data sets need more passes")
    per_device_train_batch_size: int = new_default("per_device_train_batch_size", 128, "images are small")
    per_device_eval_batch_size: int = new_default("per_device_eval_batch_size", 500, "evaluation keeps no gradients")
    metric_for_best_model: str | None = new_default("metric_for_best_model", "accuracy", "what is reported")
    remove_unused_columns: bool = new_default("remove_unused_columns", False, "the column image becomes pixels")


def encode(parts: DatasetDict, processor: ComplexImageProcessor, label2id: dict[str, int]) -> DatasetDict:
    """Compute pixels and label ids of every split on access."""
    check_labels(parts, label2id)

    def pixels(batch: dict[str, list[Any]]) -> dict[str, Any]:
        values = processor(batch["image"], return_tensors="pt")["pixel_values"]
        return {"pixel_values": values, "labels": [label2id[label] for label in batch["label"]]}

    return parts.with_transform(pixels)


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Compute the accuracy."""
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main() -> dict[str, Any]:
    """Parse the command line, train, write the results and save the model with its image processor."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(training_args)
    parts = load_image_dataset(**data_args.given())
    parts = sample_training(parts, data_args.max_train_samples, data_args.split_seed)
    processor = data_args.processor(parts)
    labels = sorted(set(parts["train"]["label"]), key=lambda label: (len(label), label))  # "10" after "9"
    label2id = {label: index for index, label in enumerate(labels)}
    config = model_args.configuration(
        num_channels=processor.num_channels,
        image_size=[processor.size["height"], processor.size["width"]],
        id2label=dict(enumerate(labels)),
        label2id=label2id,
    )
    run = Run(
        model_args.model(config),
        encode(parts, processor, label2id),
        training_args,
        processing=processor,
        compute_metrics=accuracy,
    )
    run.figures = ("accuracy", "loss")
    results = run.run(checkpoint) | {"data": portable(asdict(data_args))}
    run.save(results, data_args.dataset_name or data_args.train_file)
    return results
