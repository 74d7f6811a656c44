# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training on streams: a ``Trainer`` that carries a model's memory from segment to segment (Dai et al., ACL 2019)."""

from __future__ import annotations

import zipfile
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers.trainer_utils import EvalLoopOutput

from ..data.stream import StreamDataset
from ..metrics.language_modeling import language_model_scores
from ..models.base.caches.stream import StreamCache
from .trainer import ComplexTrainer

__all__ = ["ComplexStreamTrainer"]


def _check_whole(checkpoint: str) -> None:
    """Raise for a file of tensors that was not written to its end."""
    for path in sorted(Path(checkpoint).iterdir()):
        damage = None
        if path.suffix == ".safetensors":
            try:
                with safe_open(path, "pt"):
                    pass
            except SafetensorError as error:
                damage = str(error)
        elif path.suffix in (".bin", ".pt", ".pth") and not zipfile.is_zipfile(path):
            damage = "its end is missing"
        if damage is not None:
            raise ValueError(f"{path} is damaged ({damage}): resume from an earlier checkpoint")


class ComplexStreamTrainer(ComplexTrainer):
    """``ComplexTrainer`` for models with a memory, on data sets of the class ``StreamDataset``.

    The memory that a step returns is given to the next; with gradient accumulation from one part of the step to the
    next. Each epoch begins the lanes anew, without a memory. Checkpoints hold the memory: a resumed run goes on in
    the middle of the lanes with the numbers of the uninterrupted one. Each process has lanes of its own.

    Evaluation reads its lanes with a memory of its own and scores every token once: ``loss`` (nats), ``perplexity``
    (``not_a_perplexity``, where ``config.reads_ahead``) and ``bits_per_token`` (of characters: bpc).

    Args:
        *args, **kwargs: of ``transformers.Trainer``. The lanes of a data set are the batch: their number is
            ``per_device_train_batch_size`` (``per_device_eval_batch_size``) times the number of processes.
        eval_mem_len: tokens that evaluation keeps, of a model that keeps tokens; None: the ``mem_len`` of its
            configuration.

    Raises:
        TypeError: a data set that is no ``StreamDataset``.
        ValueError: lanes that are not the batch, an ``eval_mem_len`` that no memory can have, several GPUs in one
            process, ``label_smoothing_factor`` or ``compute_loss_func``, ``compute_metrics`` or what it would get,
            ``bf16_full_eval`` or ``fp16_full_eval``, a checkpoint of another text, number of processes, lanes or
            segment length, a damaged one, ``ignore_data_skip`` with a checkpoint.
    """

    def __init__(self, *args: Any, eval_mem_len: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.n_gpu > 1:
            raise ValueError(
                f"a memory cannot be shared by {self.args.n_gpu} GPUs of one process: start one process for each with "
                "torchrun"
            )
        if self.label_smoother is not None or self.compute_loss_func is not None:
            raise ValueError(
                "label_smoothing_factor and compute_loss_func would get the tokens of a segment as labels, not those "
                "that follow, and the model would learn to copy its input: leave them out"
            )
        if self.compute_metrics is not None or self.preprocess_logits_for_metrics is not None:
            raise ValueError(
                "compute_metrics and preprocess_logits_for_metrics would get no predictions: evaluation of a stream "
                "keeps none, and gives loss, perplexity and bits_per_token; leave them out"
            )
        for name in ("bf16_full_eval", "fp16_full_eval"):
            if getattr(self.args, name, False):
                raise ValueError(
                    f"{name}=True has no effect: evaluation of a stream leaves the weights as they are; leave it out, "
                    f"or use {name.partition('_')[0]}=True, for training too"
                )
        try:
            self.model.new_memory(mem_len=eval_mem_len)
        except (TypeError, ValueError) as error:
            raise type(error)(f"eval_mem_len={eval_mem_len}: {error}") from error
        self.eval_mem_len = eval_mem_len
        self.memory: StreamCache | None = None

    # --- data: an item is a batch, and its order is that of the stream ---

    def get_train_dataloader(self) -> DataLoader[dict[str, Tensor]]:
        """The segments of this process's lanes, in their order."""
        return self._segments(self.train_dataset, "train")

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[dict[str, Tensor]]:
        """As ``get_train_dataloader``, of a data set or the one with this name."""
        if eval_dataset is None or isinstance(eval_dataset, str):
            eval_dataset = self.eval_dataset if eval_dataset is None else self.eval_dataset[eval_dataset]
        return self._segments(eval_dataset, "eval")

    def get_test_dataloader(self, test_dataset: Any) -> DataLoader[dict[str, Tensor]]:
        """As ``get_eval_dataloader``."""
        return self.get_eval_dataloader(test_dataset)

    def _check_lanes(self, dataset: Any, kind: str) -> None:
        if not isinstance(dataset, StreamDataset):
            raise TypeError(f"the {kind} data must be a StreamDataset, got {type(dataset).__name__}")
        processes, batch_size = self.args.world_size, getattr(self.args, f"per_device_{kind}_batch_size")
        if dataset.num_lanes != batch_size * processes:
            raise ValueError(
                f"the {kind} data has {dataset.num_lanes} lanes, but per_device_{kind}_batch_size={batch_size} on "
                f"{processes} process(es) reads {batch_size * processes}: make the two equal"
            )

    def _segments(self, dataset: Any, kind: str) -> DataLoader[dict[str, Tensor]]:
        self._check_lanes(dataset, kind)
        return DataLoader(
            dataset.shard(self.args.process_index, self.args.world_size),
            batch_size=1,
            collate_fn=itemgetter(0),
            generator=torch.Generator(),  # a loader that starts draws a number: not one of those for dropout
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )

    # --- training ---

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """As in ``Trainer``; begins without a memory, or with that of ``resume_from_checkpoint``."""
        evaluated = self.eval_dataset if isinstance(self.eval_dataset, dict) else {"": self.eval_dataset}
        for dataset in evaluated.values():  # an error after the first steps would be late
            if dataset is not None:
                self._check_lanes(dataset, "eval")
        self.memory = None
        return super().train(*args, **kwargs)

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The loss of one segment, after those that the memory has read."""
        inputs = dict(inputs)
        memory = self._memory_before(int(inputs.pop("segment")))
        inputs |= {"cache": memory, "use_cache": True}
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        self.memory = outputs.cache
        return (loss, outputs) if return_outputs else loss

    def _memory_before(self, segment: int) -> StreamCache:
        """The memory that ends where this segment begins."""
        start = segment * self.train_dataset.segment_length
        read = 0 if self.memory is None else self.memory.get_seq_length()
        if segment and read != start:
            raise ValueError(
                f"segment {segment} begins at token {start} of each lane, but the memory has read {read}: resume with "
                "the same lanes and the same segment length"
            )
        # Given in any case: with gradient checkpointing Transformers makes none.
        return self.memory if segment and self.memory is not None else self.model.new_memory(for_training=True)

    # --- checkpoints ---

    @property
    def _memory_file(self) -> str:
        return f"memory-{self.args.process_index}-of-{self.args.world_size}.safetensors"

    def _save_rng_state(self, output_dir: str) -> None:
        """The memory, too: what each process has, before the state of the Trainer makes the checkpoint complete."""
        super()._save_rng_state(output_dir)
        if self.memory is not None:
            state = {**self.memory.state_dict(), "stream": torch.tensor(self.train_dataset.checksum)}
            save_file(state, Path(output_dir) / self._memory_file)
        self.accelerator.wait_for_everyone()

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        """As in ``Trainer``, of a checkpoint that is complete."""
        folder = Path(resume_from_checkpoint)
        suffix = f"_{self.args.process_index}" if self.args.world_size > 1 else ""
        for name in (self._memory_file, f"rng_state{suffix}.pth"):
            if not (folder / name).is_file():
                found = sorted(file.name for kind in ("memory-*", "rng_state*") for file in folder.glob(kind))
                raise ValueError(
                    f"{folder} has no {name}, only {found}: resume with as many processes as it was written by, or "
                    "from an earlier checkpoint"
                )
        _check_whole(resume_from_checkpoint)
        super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        if self.args.ignore_data_skip:
            raise ValueError("ignore_data_skip=True would begin the lanes anew in the middle of a run: leave it out")
        state = load_file(Path(checkpoint) / self._memory_file)
        read = state.pop("stream", None)  # what was trained before it was written has none
        if read is not None and int(read) != self.train_dataset.checksum:
            raise ValueError(f"{checkpoint} was trained on another text: resume with the same train data")
        self.memory = memory = self.model.new_memory(for_training=True)
        memory.load_state_dict({name: value.to(self.args.device) for name, value in state.items()})

    # --- evaluation ---

    def evaluation_loop(
        self, dataloader: DataLoader[dict[str, Tensor]], *args: Any, metric_key_prefix: str = "eval", **kwargs: Any
    ) -> EvalLoopOutput:
        """Read the lanes from their beginning; no predictions are kept."""
        model = self._wrap_model(self.model, training=False).eval()
        total = torch.zeros((), dtype=torch.float64, device=self.args.device)
        tokens = torch.zeros((), dtype=torch.int64, device=self.args.device)
        memory = self.model.new_memory(mem_len=self.eval_mem_len)
        for inputs in dataloader:
            inputs = self._prepare_inputs(inputs)
            del inputs["segment"]
            with torch.no_grad(), self.compute_loss_context_manager():
                # One item in the batch: the loss is the sum over all tokens.
                outputs = model(**inputs, cache=memory, use_cache=True, num_items_in_batch=1)
            total += outputs.loss
            tokens += (inputs["shift_labels"] != -100).sum()
            self.callback_handler.on_prediction_step(self.args, self.state, self.control)
        total, tokens = (self.accelerator.reduce(value) for value in (total, tokens))
        reads_ahead = getattr(self.model.config, "reads_ahead", False)
        scores = language_model_scores(total.item(), int(tokens), reads_ahead=reads_ahead)
        return EvalLoopOutput(
            predictions=None,
            label_ids=None,
            metrics={f"{metric_key_prefix}_{name}": value for name, value in scores.items()},
            num_samples=len(dataloader) * self.args.eval_batch_size * self.args.world_size,
        )
