# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line of language models without a memory: texts packed into blocks, in memory or as they are read."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from ..data.extras import (
    require_datasets,
)
from ..metrics.language_modeling import language_model_scores
from ..models.base.language_modeling import CausalLanguageModel
from .datasets.packing import BlockCollator, BlockStream, stream_plain_text
from .datasets.plain_text import load_plain_text
from .records import portable, rounded
from .run import Run, prepare_run
from .stateful_language_modeling import (
    StreamRunArguments,
    TextDataArguments,
    make_prompts,
    make_stream,
    make_tokenizer,
    write_on,
)

__all__ = ["BlockDataArguments", "BlockRunArguments", "train_blocks"]


@dataclass
class BlockDataArguments(TextDataArguments):
    """``TextDataArguments``, the length of a block, and whether the training part is held."""

    default_tokenizer: ClassVar[str] = "bpe"

    tokenizer: str | None = field(
        default=None, metadata={"help": "bpe (default), whitespace or word (a line ends in </s>), or character"}
    )
    block_size: int = field(default=256, metadata={"help": "tokens of a training example; lines are joined"})
    streaming: bool = field(
        default=False,
        metadata={"help": "read the training part while it is trained on, in its order; needs max_steps, a tokenizer"},
    )


@dataclass
class BlockRunArguments(StreamRunArguments):
    """``StreamRunArguments``; a batch is a number of blocks."""

    max_grad_norm: float = 1.0


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Nats of each token but the first of a block, so that no logits ``[B, T, vocabulary]`` are kept."""
    targets = labels[:, 1:]
    return torch.nn.functional.cross_entropy(logits[:, :-1].float().transpose(1, 2), targets, reduction="none")


def split_blocks(stream: Tensor, block_size: int, name: str) -> list[np.ndarray]:
    """The tokens of a part as blocks; one that is left over predicts nothing and is none, as in ``pack_blocks``.

    Raises:
        ValueError: there is no other token.
    """
    blocks = [block.numpy() for block in stream.split(block_size) if len(block) > 1]
    if not blocks:
        raise ValueError(f"the {name} data: one token alone, and none that follows it; give longer texts")
    return blocks


class BlockRun(Run):
    """A run on blocks; ``tokens`` of a part, and ``characters`` that they stand for, where a token is not one."""

    figures = ("loss", "perplexity", "not_a_perplexity", "bits_per_token")
    tokens: dict[str, int] = {}
    characters: dict[str, int] = {}

    def evaluate(self, name: str) -> dict[str, float]:
        """Loss in nats, and what follows from it: each token counts the same, whatever its block.

        Bits of a character are those of a token by the tokens of a character: the first token of a block, which
        nothing predicts, costs what others do, or small blocks would read for nothing.
        """
        predicted = self.trainer.predict(self.parts[name])
        scored = predicted.label_ids[:, 1:] != -100
        total, tokens = float(predicted.predictions[scored].sum(dtype="float64")), int(scored.sum())
        reads_ahead = getattr(self.model.config, "reads_ahead", False)
        scores = language_model_scores(total, tokens, reads_ahead=reads_ahead)
        if name in self.characters:
            scores["bits_per_character"] = scores["bits_per_token"] * self.tokens[name] / self.characters[name]
        return rounded(scores, 5)


def _parts(data_args: BlockDataArguments, by_character: bool) -> tuple[Callable[[], Any], dict[str, Any], int]:
    """What begins to read the training texts, the texts of the other parts, and the number that tells the first."""
    options = {**data_args.given(), "keep_linebreaks": by_character}
    if data_args.streaming:
        del options["cache_dir"], options["validation_split"]  # the stream is read once: nothing is set aside
        return stream_plain_text(**options)
    parts = load_plain_text(**options)
    train = parts.pop("train")
    return lambda: train["text"], {name: part["text"] for name, part in parts.items()}, 0


def train_blocks(
    make_model: Callable[[PreTrainedTokenizerFast], CausalLanguageModel],
    data_args: BlockDataArguments,
    args: BlockRunArguments,
    name_or_path: str | None = None,
) -> dict[str, Any]:
    """Train a causal language model on packed blocks, score, save and write on from the prompts.

    Args:
        make_model: a new model for a tokenizer, or the one to go on with.
        data_args: text files or a name on the Hub, the tokenizer, the length of the blocks.
        args: of the run.
        name_or_path: the model to go on with, whose tokenizer is taken.

    Returns:
        What stands in ``results.json``.

    Raises:
        ValueError: a block or a part of fewer than two tokens, ``streaming`` without a tokenizer or ``max_steps``, a
            prompt or a part that the tokenizer cannot read.
    """
    checkpoint = prepare_run(args)
    given = data_args.tokenizer_name_or_path or checkpoint or name_or_path
    if data_args.streaming and (given is None or args.max_steps < 1):
        raise ValueError(
            "streaming never sees the whole training part: give tokenizer_name_or_path (or model_name_or_path), as no "
            f"tokenizer can be made of it, and max_steps, now {args.max_steps}, as its length is not known"
        )
    saved = data_args.saved_tokenizer(checkpoint, name_or_path)
    by_character = data_args.reads_characters(saved)
    read_train, held, checksum = _parts(data_args, by_character)
    tokenizer = make_tokenizer(read_train(), data_args) if saved is None else saved
    prompts = make_prompts(data_args, tokenizer)
    texts = held if data_args.streaming else {"train": read_train(), **held}
    streams = {name: make_stream(part, tokenizer, name, by_character) for name, part in texts.items()}
    data: dict[str, Any] = {
        name: require_datasets().Dataset.from_dict({"input_ids": split_blocks(stream, data_args.block_size, name)})
        for name, stream in streams.items()
    }
    if data_args.streaming:
        stream = BlockStream(read_train, tokenizer, data_args.block_size, by_character, checksum)
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
        run.characters = {name: sum(len(text) + 1 for text in part) for name, part in held.items()}
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    results["blocks"] = results.pop("rows")
    results["tokens"] = run.tokens
    run.save(results, data_args.dataset_name or data_args.train_file)
    if run.trainer.is_world_process_zero():
        results["texts"] = write_on(run.model.eval(), tokenizer, prompts, data_args.max_new_tokens)
        run.write(results)
    return results
