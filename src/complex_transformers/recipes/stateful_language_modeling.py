# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language models with a memory: training on a token stream, evaluation, and continuation of prompts."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from ..data.files import named
from ..data.stream import StreamDataset, encode_stream, reads_characters
from ..data.tokenization import build_tokenizer
from ..models.base.language_modeling import CausalLanguageModel
from ..training.streams import ComplexStreamTrainer
from .arguments import RunArguments, arguments_of, new_default
from .datasets.plain_text import load_plain_text
from .records import portable, rounded
from .run import Run, prepare_run

__all__ = ["StreamDataArguments", "StreamRunArguments", "train_stream"]

_KIND = "kind"  # saved with a tokenizer: how it was built


@dataclass
class TextDataArguments(arguments_of(load_plain_text, without=("keep_linebreaks",))):  # type: ignore[misc]
    """The data (text files or a data set of the Hub), the tokenizer, and the prompts continued at the end."""

    default_tokenizer: ClassVar[str] = "character"

    tokenizer: str | None = field(
        default=None, metadata={"help": "character (default), whitespace or word (lines end in </s>), or bpe"}
    )
    tokenizer_name_or_path: str | None = field(
        default=None, metadata={"help": "a saved tokenizer, instead of one built from the training data"}
    )
    vocab_size: int = field(default=50_000, metadata={"help": "maximum; the rest is <unk>, an error for characters"})
    lowercase: bool = False
    prompt: list[str] = field(default_factory=list, metadata={"help": "prompts to continue after training"})
    max_new_tokens: int = field(default=200, metadata={"help": "per continuation, sampled with top_k 40"})

    @property
    def kind(self) -> str:
        """The kind of tokenizer to build."""
        return self.tokenizer or self.default_tokenizer

    def saved_tokenizer(self, *folders: str | None) -> PreTrainedTokenizerFast | None:
        """Load the tokenizer of ``tokenizer_name_or_path`` or else of the first folder; return None if all are None.

        Args:
            *folders: checkpoint and model, each may be None.

        Raises:
            ValueError: ``tokenizer`` names another kind.
        """
        source = next(filter(None, (self.tokenizer_name_or_path, *folders)), None)
        if source is None:
            return None
        tokenizer = AutoTokenizer.from_pretrained(source)
        if self.tokenizer not in (None, found := tokenizer.init_kwargs.get(_KIND)):
            raise ValueError(f"--tokenizer must be {found or 'left out'} with {source}, got {self.tokenizer}.")
        return tokenizer

    def reads_characters(self, saved: PreTrainedTokenizerFast | None) -> bool:
        """Return whether tokens are characters, including line breaks, in the saved or the new tokenizer."""
        return self.kind == "character" if saved is None else reads_characters(saved)


@dataclass
class StreamDataArguments(TextDataArguments):
    """``TextDataArguments`` with the segment lengths of the stream."""

    max_train_tokens: int | None = field(default=None, metadata={"help": "use only the first training tokens"})
    segment_length: int = field(default=128, metadata={"help": "tokens per lane and step"})
    eval_segment_length: int | None = field(default=None, metadata={"help": "default: segment_length"})


@dataclass
class StreamRunArguments(RunArguments):
    """``RunArguments`` with defaults for language models on streams, with lanes as batch."""

    num_train_epochs: float = new_default("num_train_epochs", 1, "the training text is long")
    lr_scheduler_type: str = new_default("lr_scheduler_type", "cosine", "as in Transformer-XL (Dai et al. 2019)")
    warmup_steps: float = new_default("warmup_steps", 0.05, "a high learning rate needs a warmup")
    max_grad_norm: float = new_default("max_grad_norm", 0.25, "as in Transformer-XL (Dai et al. 2019)")
    per_device_train_batch_size: int = new_default("per_device_train_batch_size", 16, "segments are short")
    per_device_eval_batch_size: int = new_default("per_device_eval_batch_size", 16, "as many lanes as in training")
    eval_strategy: str = new_default("eval_strategy", "steps", "an epoch is long")
    eval_steps: float | None = new_default("eval_steps", 1000, "evaluation should take a small share of the run")
    save_strategy: str = new_default("save_strategy", "steps", "an epoch is long")
    save_steps: float = new_default("save_steps", 1000, "every evaluated checkpoint is saved")
    logging_strategy: str = "steps"
    logging_steps: float = new_default("logging_steps", 100, "shows progress within a minute")


def make_tokenizer(texts: Iterable[str], data_args: TextDataArguments) -> PreTrainedTokenizerFast:
    """Build a tokenizer from the training data; a character tokenizer has exactly its symbols."""
    by_character = data_args.kind == "character"
    tokenizer = build_tokenizer(
        texts,
        data_args.kind,
        vocab_size=data_args.vocab_size,
        lowercase=data_args.lowercase,
        append_eos=False if by_character else "stream",
        special_tokens="end" if by_character else True,  # other libraries need an end token
    )
    tokenizer.init_kwargs[_KIND] = data_args.kind
    return tokenizer


def make_stream(texts: Iterable[str], tokenizer: PreTrainedTokenizerFast, name: str, by_character: bool) -> Tensor:
    """Return all tokens of a split and print how many are unknown."""
    with named(f"the {name} data"):
        stream = encode_stream(texts, tokenizer, by_character)
    if tokenizer.unk_token_id is not None and (unknown := int((stream == tokenizer.unk_token_id).sum())):
        print(f"the {name} data: {unknown:,} of {len(stream):,} tokens are {tokenizer.unk_token}")
    return stream


def make_prompts(data_args: TextDataArguments, tokenizer: PreTrainedTokenizerFast) -> dict[str, Tensor]:
    """Encode each prompt to ``[1, T]``; done before training, so that unknown symbols raise early."""
    with named("--prompt"):
        return {
            prompt: encode_stream([prompt], tokenizer, add_special_tokens=False).long()[None]
            for prompt in data_args.prompt
        }


class StreamRun(Run):
    """A run of a language model on streams.

    ``characters`` are the characters of each split, for bits per character; empty if each token is a character.
    """

    trainer_class = ComplexStreamTrainer
    figures = ("loss", "perplexity", "not_a_perplexity", "bits_per_token")
    characters: dict[str, int] = {}

    def evaluate(self, name: str) -> dict[str, float]:
        """Return the loss in nats per token and the metrics derived from it."""
        split, prefix = self.parts[name], "eval" if name == "validation" else name
        metrics = self.trainer.evaluate(split, metric_key_prefix=prefix)
        scores = {key: metrics[f"{prefix}_{key}"] for key in self.figures if f"{prefix}_{key}" in metrics}
        if name in self.characters:
            scores["bits_per_character"] = scores["bits_per_token"] * split.num_predicted / self.characters[name]
        return rounded(scores, 5)


def continue_prompts(
    model: CausalLanguageModel,
    tokenizer: PreTrainedTokenizerFast,
    prompts: dict[str, Tensor],
    max_new_tokens: int,
) -> dict[str, str]:
    """Sample a continuation of each prompt."""
    texts = {}
    for prompt, ids in prompts.items():
        generated = model.generate(ids.to(model.device), max_new_tokens=max_new_tokens, do_sample=True, top_k=40)
        decoded, whole = (tokenizer.decode(tokens, skip_special_tokens=True) for tokens in (ids[0], generated[0]))
        texts[prompt] = prompt + whole[len(decoded) :]
        print(f"> {texts[prompt]}")
    return texts


def train_stream(
    make_model: Callable[[PreTrainedTokenizerFast], CausalLanguageModel],
    data_args: StreamDataArguments,
    args: StreamRunArguments,
    name_or_path: str | None = None,
    eval_mem_len: int | None = None,
    analyse: Callable[[CausalLanguageModel, StreamDataset], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Train a language model with a memory on a stream, evaluate, save, and continue the prompts.

    Args:
        make_model: returns a model for a tokenizer.
        data_args: text files or a data set of the Hub, the tokenizer, the segments of the stream.
        args: the training arguments.
        name_or_path: the model to train further, whose tokenizer is used.
        eval_mem_len: as in ``ComplexStreamTrainer``.
        analyse: returns more results from the trained model and the test split (or else the validation split).

    Returns:
        The content of ``results.json``.

    Raises:
        ValueError: too few tokens, symbols in a prompt or a split that the tokenizer does not know, prompts for a
            model that is not causal.
    """
    checkpoint = prepare_run(args)

    saved = data_args.saved_tokenizer(checkpoint, name_or_path)
    by_character = data_args.reads_characters(saved)
    splits = load_plain_text(**data_args.given(), keep_linebreaks=by_character)
    tokenizer = make_tokenizer(splits["train"]["text"], data_args) if saved is None else saved
    prompts = make_prompts(data_args, tokenizer)
    streams = {name: make_stream(split["text"], tokenizer, name, by_character) for name, split in splits.items()}
    streams["train"] = streams["train"][: data_args.max_train_tokens]
    data = {}
    for name, stream in streams.items():
        train = name == "train"
        lanes = args.per_device_train_batch_size if train else args.per_device_eval_batch_size
        length = data_args.segment_length if train else data_args.eval_segment_length or data_args.segment_length
        data[name] = StreamDataset(stream, lanes * args.world_size, length)

    model = make_model(tokenizer)
    if prompts and getattr(model.config, "reads_ahead", False):
        raise ValueError(f"--prompt must be left out for a model that is not causal, got {next(iter(prompts))!r}.")
    run = StreamRun(model, data, args, processing=tokenizer, eval_mem_len=eval_mem_len)
    if not by_character:  # line breaks count
        run.characters = {
            name: sum(len(text) + 1 for text in splits[name]["text"]) for name in data.keys() - {"train"}
        }
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    results["tokens"] = {name: len(stream) for name, stream in streams.items()}
    if analyse is not None:
        results |= analyse(run.model, data.get("test", data["validation"]))
    run.save(results, data_args.dataset_name or data_args.train_file)
    if run.trainer.is_world_process_zero():
        results["texts"] = continue_prompts(run.model.eval(), tokenizer, prompts, data_args.max_new_tokens)
        run.write(results)
    return results
