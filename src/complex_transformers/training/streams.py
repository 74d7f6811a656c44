# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training on token streams: a ``Trainer`` that passes the memory from segment to segment (Dai et al., ACL 2019)."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers.trainer_utils import EvalLoopOutput

from ..data.stream import StreamDataset
from ..metrics.language_modeling import language_model_scores
from ..models.base.caches.stream import StreamCache
from .trainer import ComplexTrainer

__all__ = ["ComplexStreamTrainer"]


class ComplexStreamTrainer(ComplexTrainer):
    """``ComplexTrainer`` for models with a memory, on ``StreamDataset``.

    The memory after a micro-batch is passed to the next one. Each epoch starts at the first segment with an empty
    memory. Checkpoints contain the memory, so a resumed run equals the uninterrupted one. Each process has its own
    lanes.

    Evaluation has its own memory and scores every token once: ``loss`` (nats), ``perplexity`` (``not_a_perplexity``
    with ``config.reads_ahead``) and ``bits_per_token`` (bpc for characters).

    Args:
        *args, **kwargs: arguments of ``transformers.Trainer``. The lanes of a data set are the batch: their number is
            ``per_device_train_batch_size`` (``per_device_eval_batch_size``) times the number of processes.
        eval_mem_len: memory length in evaluation, for models that store tokens; None: ``config.mem_len``.

    Raises:
        FileNotFoundError: a checkpoint of another number of processes.
        ValueError: a number of lanes that is not the batch size, several GPUs in one process,
            ``label_smoothing_factor`` or ``compute_loss_func``, a checkpoint of another segment length,
            ``ignore_data_skip`` with a checkpoint.
    """

    def __init__(self, *args: Any, eval_mem_len: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.n_gpu > 1:
            raise ValueError(f"n_gpu must be 1 per process, got {self.args.n_gpu}. Start the script with torchrun.")
        if self.label_smoother is not None or self.compute_loss_func is not None:
            raise ValueError(
                "label_smoothing_factor must be 0 and compute_loss_func None for a stream, got "
                f"{self.args.label_smoothing_factor} and {self.compute_loss_func}"
            )
        self.model.new_memory(mem_len=eval_mem_len)  # raises before training if it does not fit
        self.eval_mem_len = eval_mem_len
        self.memory: StreamCache | None = None

    # --- data: an item is a batch, in the order of the stream ---

    def get_train_dataloader(self) -> DataLoader[dict[str, Tensor]]:
        """Return the segments of this process's lanes, in order."""
        return self._segments(self.train_dataset, "train")

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[dict[str, Tensor]]:
        """Return the segments of an evaluation data set, or of the one with this name."""
        if eval_dataset is None or isinstance(eval_dataset, str):
            eval_dataset = self.eval_dataset if eval_dataset is None else self.eval_dataset[eval_dataset]
        return self._segments(eval_dataset, "eval")

    def get_test_dataloader(self, test_dataset: Any) -> DataLoader[dict[str, Tensor]]:
        """Return the segments of a test data set."""
        return self.get_eval_dataloader(test_dataset)

    def _check_lanes(self, dataset: StreamDataset, kind: str) -> None:
        processes, batch_size = self.args.world_size, getattr(self.args, f"per_device_{kind}_batch_size")
        if dataset.num_lanes != batch_size * processes:
            raise ValueError(
                f"num_lanes of the {kind} data must be per_device_{kind}_batch_size * processes = "
                f"{batch_size * processes}, got {dataset.num_lanes}"
            )

    def _segments(self, dataset: Any, kind: str) -> DataLoader[dict[str, Tensor]]:
        self._check_lanes(dataset, kind)
        return DataLoader(
            dataset.shard(self.args.process_index, self.args.world_size),
            batch_size=1,
            collate_fn=itemgetter(0),
            generator=torch.Generator(),  # a starting loader draws from it, not from the generator of dropout
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )

    # --- training ---

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train with an empty memory, or with the memory of ``resume_from_checkpoint``."""
        evaluated = self.eval_dataset if isinstance(self.eval_dataset, dict) else {"": self.eval_dataset}
        for dataset in evaluated.values():  # before training
            if dataset is not None:
                self._check_lanes(dataset, "eval")
        self.memory = None
        return super().train(*args, **kwargs)

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the loss of one segment with the memory of the previous segments."""
        inputs = dict(inputs)
        memory = self._memory_before(int(inputs.pop("segment")))
        inputs |= {"cache": memory, "use_cache": True}
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        self.memory = outputs.cache
        return (loss, outputs) if return_outputs else loss

    def _memory_before(self, segment: int) -> StreamCache:
        """Return the memory of the previous segments."""
        start = segment * self.train_dataset.segment_length
        read = 0 if self.memory is None else self.memory.get_seq_length()
        if segment and read != start:
            raise ValueError(
                f"memory must have {start} tokens before segment {segment}, got {read}. Resume with the "
                "segment_length of the checkpoint."
            )
        # Always passed: with gradient checkpointing Transformers creates none.
        return self.memory if segment and self.memory is not None else self.model.new_memory(for_training=True)

    # --- checkpoints ---

    @property
    def _memory_file(self) -> str:
        return f"memory-{self.args.process_index}-of-{self.args.world_size}.safetensors"

    def _save_rng_state(self, output_dir: str) -> None:
        """Also save the memory of each process, before the state of the Trainer marks the checkpoint as complete."""
        super()._save_rng_state(output_dir)
        if self.memory is not None:
            save_file(self.memory.state_dict(), Path(output_dir) / self._memory_file)
        self.accelerator.wait_for_everyone()

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        if self.args.ignore_data_skip:
            raise ValueError("ignore_data_skip must be False to resume a stream, got True. Leave it out.")
        state = load_file(Path(checkpoint) / self._memory_file)
        self.memory = memory = self.model.new_memory(for_training=True)
        memory.load_state_dict({name: value.to(self.args.device) for name, value in state.items()})

    # --- evaluation ---

    def evaluation_loop(
        self, dataloader: DataLoader[dict[str, Tensor]], *args: Any, metric_key_prefix: str = "eval", **kwargs: Any
    ) -> EvalLoopOutput:
        """Evaluate all segments in order; no predictions are kept."""
        model = self._wrap_model(self.model, training=False).eval()
        total = torch.zeros((), dtype=torch.float64, device=self.args.device)
        tokens = torch.zeros((), dtype=torch.int64, device=self.args.device)
        memory = self.model.new_memory(mem_len=self.eval_mem_len)
        for inputs in dataloader:
            inputs = self._prepare_inputs(inputs)
            del inputs["segment"]
            with torch.no_grad(), self.compute_loss_context_manager():
                # With one item in the batch the loss is the sum over all tokens.
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
