# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language models without a memory: training on texts packed into blocks, in memory or streamed."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from ..data.extras import require_datasets
from ..metrics.language_modeling import language_model_scores
from ..models.base.language_modeling import CausalLanguageModel
from .datasets.packing import BlockCollator, BlockStream, stream_plain_text
from .datasets.plain_text import load_plain_text
from .records import portable, rounded
from .run import Run, prepare_run
from .stateful_language_modeling import (
    StreamRunArguments,
    TextDataArguments,
    continue_prompts,
    make_prompts,
    make_stream,
    make_tokenizer,
)

__all__ = ["BlockDataArguments", "BlockRunArguments", "train_blocks"]


@dataclass
class BlockDataArguments(TextDataArguments):
    """``TextDataArguments`` with block size and streaming of the training split."""

    default_tokenizer: ClassVar[str] = "bpe"

    tokenizer: str | None = field(
        default=None, metadata={"help": "bpe (default), whitespace or word (lines end in </s>), or character"}
    )
    block_size: int = field(default=256, metadata={"help": "tokens per training example; lines are concatenated"})
    streaming: bool = field(
        default=False,
        metadata={"help": "read the training split during training, in order; needs max_steps and a tokenizer"},
    )


@dataclass
class BlockRunArguments(StreamRunArguments):
    """``StreamRunArguments`` for batches of blocks."""

    max_grad_norm: float = 1.0


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the loss in nats of each token after the first of a block, instead of logits ``[B, T, vocabulary]``."""
    targets = labels[:, 1:]
    return torch.nn.functional.cross_entropy(logits[:, :-1].float().transpose(1, 2), targets, reduction="none")


def split_blocks(stream: Tensor, block_size: int, name: str) -> list[np.ndarray]:
    """Cut the tokens of a split into blocks; a single token left over is dropped, as in ``pack_blocks``.

    Raises:
        ValueError: no block of two tokens or more.
    """
    blocks = [block.numpy() for block in stream.split(block_size) if len(block) > 1]
    if not blocks:
        raise ValueError(f"{name} data and block_size must have 2 tokens or more, got {len(stream)} and {block_size}.")
    return blocks


class BlockRun(Run):
    """A run on blocks; ``tokens`` per split, and ``characters`` unless a token is a character."""

    figures = ("loss", "perplexity", "not_a_perplexity", "bits_per_token")
    tokens: dict[str, int] = {}
    characters: dict[str, int] = {}

    def evaluate(self, name: str) -> dict[str, float]:
        """Return the loss in nats per token, over all blocks, and the metrics derived from it.

        Bits per character count the unpredicted first token of a block at the mean loss, so that they do not depend
        on the block size.
        """
        predicted = self.trainer.predict(self.parts[name])
        scored = predicted.label_ids[:, 1:] != -100
        total, tokens = float(predicted.predictions[scored].sum(dtype="float64")), int(scored.sum())
        reads_ahead = getattr(self.model.config, "reads_ahead", False)
        scores = language_model_scores(total, tokens, reads_ahead=reads_ahead)
        if name in self.characters:
            scores["bits_per_character"] = scores["bits_per_token"] * self.tokens[name] / self.characters[name]
        return rounded(scores, 5)


def _texts(data_args: BlockDataArguments, by_character: bool) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Return a function that reads the training texts, and the texts of the other splits."""
    options = {**data_args.given(), "keep_linebreaks": by_character}
    if data_args.streaming:
        del options["cache_dir"], options["validation_split"]  # a stream is not split
        return stream_plain_text(**options)
    splits = load_plain_text(**options)
    train = splits.pop("train")
    return lambda: train["text"], {name: split["text"] for name, split in splits.items()}


def train_blocks(
    make_model: Callable[[PreTrainedTokenizerFast], CausalLanguageModel],
    data_args: BlockDataArguments,
    args: BlockRunArguments,
    name_or_path: str | None = None,
) -> dict[str, Any]:
    """Train a causal language model on packed blocks, evaluate, save, and continue the prompts.

    Args:
        make_model: returns a model for a tokenizer.
        data_args: text files or a data set of the Hub, the tokenizer, the block size.
        args: the training arguments.
        name_or_path: the model to train further, whose tokenizer is used.

    Returns:
        The content of ``results.json``.

    Raises:
        ValueError: a block or a split with fewer than two tokens, ``streaming`` without a tokenizer or ``max_steps``,
            symbols in a prompt or a split that the tokenizer does not know.
    """
    checkpoint = prepare_run(args)
    given = data_args.tokenizer_name_or_path or checkpoint or name_or_path
    if data_args.streaming and (given is None or args.max_steps < 1):
        raise ValueError(f"tokenizer and max_steps must be given with streaming, got {given!r} and {args.max_steps}.")
    saved = data_args.saved_tokenizer(checkpoint, name_or_path)
    by_character = data_args.reads_characters(saved)
    read_train, held = _texts(data_args, by_character)
    tokenizer = make_tokenizer(read_train(), data_args) if saved is None else saved
    prompts = make_prompts(data_args, tokenizer)
    texts = held if data_args.streaming else {"train": read_train(), **held}
    streams = {name: make_stream(split, tokenizer, name, by_character) for name, split in texts.items()}
    data: dict[str, Any] = {
        name: require_datasets().Dataset.from_dict({"input_ids": split_blocks(stream, data_args.block_size, name)})
        for name, stream in streams.items()
    }
    if data_args.streaming:
        stream = BlockStream(read_train, tokenizer, data_args.block_size, by_character)
        data["train"] = stream.repeat()  # until max_steps
    run = BlockRun(
        make_model(tokenizer),
        data,
        args,
        processing=tokenizer,
        data_collator=BlockCollator(tokenizer.pad_token_id or 0),
        preprocess_logits_for_metrics=token_losses,
    )
    run.tokens = {name: len(stream) for name, stream in streams.items()}
    if not by_character:  # line breaks count
        run.characters = {name: sum(len(text) + 1 for text in split) for name, split in held.items()}
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    results["blocks"] = results.pop("rows")
    results["tokens"] = run.tokens
    run.save(results, data_args.dataset_name or data_args.train_file)
    if run.trainer.is_world_process_zero():
        results["texts"] = continue_prompts(run.model.eval(), tokenizer, prompts, data_args.max_new_tokens)
        run.write(results)
    return results
