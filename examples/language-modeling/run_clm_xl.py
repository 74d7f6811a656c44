# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a Transformer-XL, complex or real, on a stream of characters or words, then write on from a prompt.

    python examples/language-modeling/run_clm_xl.py --train_file train.txt --validation_file valid.txt

The text is one stream in lanes; a memory carries what was read from segment to segment. The best checkpoint is chosen
on the validation part; the test part, where there is one, is scored once at the end.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import Dataset, DatasetDict
from torch import Tensor
from transformers import AutoTokenizer, HfArgumentParser, PreTrainedTokenizerFast, set_seed

from complex_transformers import (
    ComplexStreamTrainer,
    ComplexTransfoXLConfig,
    ComplexTransfoXLForCausalLM,
    StreamDataset,
    build_tokenizer,
    encode_stream,
    last_complete_checkpoint,
    load_plain_text,
    portable,
    run_record,
    save_model,
    write_results,
)


@dataclass
class ModelArguments:
    """The network: fields of ``ComplexTransfoXLConfig``, under the same names and with its defaults."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "go on training this model, with its tokenizer"}
    )
    embedding_type: str | None = field(
        default=None, metadata={"help": "complex_order, complex_vanilla, word, learned_position, sinusoidal_position"}
    )
    number_field: str | None = field(default=None, metadata={"help": "complex, or real for the real twin"})
    hidden_size: int | None = field(default=None, metadata={"help": "real and imaginary together"})
    num_hidden_layers: int | None = None
    num_attention_heads: int | None = None
    intermediate_size: int | None = None
    hidden_act: str | None = None
    hidden_dropout_prob: float | None = None
    attention_probs_dropout_prob: float | None = None
    attention_score: str | None = field(
        default=None, metadata={"help": "modulus, real, bilinear_modulus, sum_of_moduli; in the real field real"}
    )
    norm_position: str | None = field(default=None, metadata={"help": "post or pre"})
    amplitude_sharing: str | None = field(default=None, metadata={"help": "none, word or dimension"})
    frequency_sharing: str | None = field(default=None, metadata={"help": "none, word or dimension"})
    frequency_init: str | None = field(default=None, metadata={"help": "sinusoidal, normal or uniform"})
    phase: str | None = field(default=None, metadata={"help": "initial phases: none, learned or per_dimension"})
    share_parts: bool | None = field(default=None, metadata={"help": "equal real and imaginary weights in q, k, v"})
    lm_readout: str | None = field(default=None, metadata={"help": "concat, modulus, ... of the output layer"})
    initializer_range: float | None = field(default=None, metadata={"help": "deviation of the embedding tables"})
    tie_word_embeddings: bool | None = None
    mem_len: int | None = field(default=None, metadata={"help": "tokens of the memory"})
    clamp_len: int | None = field(default=None, metadata={"help": "greater distances count as this one"})
    same_length: bool | None = field(default=None, metadata={"help": "every token sees mem_len tokens, no more"})
    position_period: int | None = field(
        default=None, metadata={"help": "the words' own positions begin anew after this many tokens; 0: they run on"}
    )
    cutoffs: list[int] | None = field(
        default=None, metadata={"help": "borders of the adaptive softmax between frequent and rare words"}
    )
    div_value: int | None = field(default=None, metadata={"help": "each of its clusters is this much narrower"})

    def model(self, tokenizer: PreTrainedTokenizerFast) -> ComplexTransfoXLForCausalLM:
        """A new model with random weights, or the one to go on with."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if self.position_period == 0:
            given["position_period"] = None
        if given.pop("model_name_or_path", None) is not None:
            return ComplexTransfoXLForCausalLM.from_pretrained(self.model_name_or_path, **given)
        config = ComplexTransfoXLConfig(
            vocab_size=len(tokenizer),
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **given,
        )
        return ComplexTransfoXLForCausalLM(config)


@dataclass
class DataArguments:
    """The data: text files or a name on the Hub, how text becomes tokens, and how the stream is cut."""

    dataset_name: str | None = field(default=None, metadata={"help": "a data set of the Hub, or a folder"})
    dataset_config_name: str | None = None
    train_file: str | None = field(default=None, metadata={"help": "plain text, also .gz"})
    validation_file: str | None = None
    test_file: str | None = field(default=None, metadata={"help": "scored once, at the end"})
    text_column: str = "text"
    tokenizer: str = field(
        default="character", metadata={"help": "character, whitespace or word (a line ends in </s>), or bpe"}
    )
    tokenizer_name_or_path: str | None = field(
        default=None, metadata={"help": "instead of one from the training part"}
    )
    vocab_size: int = field(default=50_000, metadata={"help": "at most; the rest is <unk>, of characters an error"})
    lowercase: bool = False
    max_train_tokens: int | None = field(default=None, metadata={"help": "the beginning of the training part alone"})
    segment_length: int = field(default=128, metadata={"help": "tokens that are read at once"})
    eval_segment_length: int | None = field(default=None, metadata={"help": "default: segment_length"})
    eval_mem_len: int | None = field(default=None, metadata={"help": "memory of evaluation; default: mem_len"})
    prompt: list[str] = field(default_factory=list, metadata={"help": "texts to go on with at the end"})
    max_new_tokens: int = field(default=200, metadata={"help": "of each continuation, drawn with top_k 40"})


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    """``transformers.TrainingArguments`` with defaults that fit small models; a batch is a number of lanes."""

    output_dir: str | None = "outputs/transformer-xl"
    num_train_epochs: float = 1
    learning_rate: float = 1e-3
    lr_scheduler_type: str = "cosine"
    warmup_steps: float = 200
    max_grad_norm: float = 0.25
    per_device_train_batch_size: int = 16
    per_device_eval_batch_size: int = 16
    eval_strategy: str = "steps"
    eval_steps: float | None = 1000
    save_strategy: str = "steps"
    save_steps: float = 1000
    logging_steps: float = 100
    save_total_limit: int | None = 1
    load_best_model_at_end: bool = True
    metric_for_best_model: str | None = "loss"
    dataloader_pin_memory: bool = torch.cuda.is_available()  # without a GPU it only warns
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "a checkpoint, or last: the newest in output_dir, if there is one"}
    )
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})


def make_tokenizer(parts: DatasetDict, data_args: DataArguments, name_or_path: str | None) -> PreTrainedTokenizerFast:
    """The tokenizer given, or one from the training part: for characters exactly its symbols."""
    if name_or_path is not None:
        return AutoTokenizer.from_pretrained(name_or_path)
    characters = data_args.tokenizer == "character"
    return build_tokenizer(
        parts["train"]["text"],
        data_args.tokenizer,
        vocab_size=data_args.vocab_size,
        lowercase=data_args.lowercase,
        append_eos=not characters,
        special_tokens="end" if characters else True,  # libraries that go on training or score ask for an end token
    )


def make_stream(part: Dataset, tokenizer: PreTrainedTokenizerFast, name: str, by_character: bool) -> Tensor:
    """All tokens of a part; says how many of them are unknown."""
    try:
        stream = encode_stream(part["text"], tokenizer, by_character)
    except ValueError as error:
        raise ValueError(f"the {name} data: {error}") from error
    if tokenizer.unk_token_id is not None and (unknown := int((stream == tokenizer.unk_token_id).sum())):
        print(f"the {name} data: {unknown:,} of {len(stream):,} tokens are {tokenizer.unk_token}")
    return stream


def make_prompts(data_args: DataArguments, tokenizer: PreTrainedTokenizerFast) -> dict[str, Tensor]:
    """The tokens ``[1, T]`` of each prompt: what cannot be read is found before training."""
    if data_args.prompt and data_args.max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be 1 or more, got {data_args.max_new_tokens}")
    prompts = {}
    for prompt in data_args.prompt:
        try:
            prompts[prompt] = encode_stream([prompt], tokenizer, add_special_tokens=False).long()[None]
        except ValueError as error:
            raise ValueError(f"--prompt {prompt!r}: {error}") from error
    return prompts


def scores_of(trainer: ComplexStreamTrainer, part: StreamDataset, characters: int | None) -> dict[str, float]:
    """The figures of a part; ``characters`` that its tokens stand for, where a token is not one."""
    metrics = trainer.evaluate(part, metric_key_prefix="part")
    scores = {name: metrics[f"part_{name}"] for name in ("loss", "perplexity", "bits_per_token")}
    if characters is not None:
        scores["bits_per_character"] = scores["bits_per_token"] * part.num_predicted / characters
    return {name: round(value, 5) for name, value in scores.items()}


def write_on(
    model: ComplexTransfoXLForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: dict[str, Tensor],
    max_new_tokens: int,
) -> dict[str, str]:
    """A continuation of each prompt; a token costs the same however long the text is."""
    texts = {}
    for prompt, ids in prompts.items():
        written = model.generate(ids.to(model.device), max_new_tokens=max_new_tokens, do_sample=True, top_k=40)
        texts[prompt] = tokenizer.decode(written[0], skip_special_tokens=True)
        print(f"> {texts[prompt]}")
    return texts


def main() -> dict[str, Any]:
    """Parse the command line, train, score, save and write on from the prompts."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    if data_args.max_train_tokens is not None and data_args.max_train_tokens < 1:
        raise ValueError(f"max_train_tokens must be 1 or more, got {data_args.max_train_tokens}")
    set_seed(args.seed)
    checkpoint = args.resume_from_checkpoint
    if checkpoint == "last":
        checkpoint = last_complete_checkpoint(args.output_dir)

    by_character = data_args.tokenizer == "character"
    parts = load_plain_text(
        data_args.train_file,
        data_args.validation_file,
        data_args.test_file,
        dataset_name=data_args.dataset_name,
        dataset_config_name=data_args.dataset_config_name,
        text_column=data_args.text_column,
        keep_linebreaks=by_character,
    )
    given = checkpoint or data_args.tokenizer_name_or_path or model_args.model_name_or_path
    tokenizer = make_tokenizer(parts, data_args, given)
    prompts = make_prompts(data_args, tokenizer)
    streams = {name: make_stream(part, tokenizer, name, by_character) for name, part in parts.items()}
    streams["train"] = streams["train"][: data_args.max_train_tokens]
    data = {}
    for name, stream in streams.items():
        train = name == "train"
        lanes = args.per_device_train_batch_size if train else args.per_device_eval_batch_size
        length = data_args.segment_length if train else data_args.eval_segment_length or data_args.segment_length
        data[name] = StreamDataset(stream, lanes * args.world_size, length)

    trainer = ComplexStreamTrainer(
        model_args.model(tokenizer),
        args,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        processing_class=tokenizer,
        eval_mem_len=data_args.eval_mem_len,
    )
    start = time.perf_counter()
    trainer.train(resume_from_checkpoint=checkpoint)
    results: dict[str, Any] = {
        **run_record(trainer, time.perf_counter() - start, checkpoint is not None),
        "tokens": {name: len(stream) for name, stream in streams.items()},
        "data": portable(asdict(data_args)),
    }
    for name in data.keys() - {"train"}:
        characters = None if by_character else sum(len(text) + 1 for text in parts[name]["text"])  # with line breaks
        results[name] = scores_of(trainer, data[name], characters)
        print(f"{name}: " + ", ".join(f"{metric} {value:.4g}" for metric, value in results[name].items()))
    print(f"parameters: {results['parameters']:,}; training: {results['seconds']:.0f} s, {results['steps']} steps")

    if trainer.is_world_process_zero():
        source = portable(data_args.dataset_name) or Path(data_args.train_file).name
        save_model(
            args.output_dir, trainer.model, tokenizer, training_data=f"`{source}`", metrics=results["validation"]
        )
        output_json = args.output_json or Path(args.output_dir) / "results.json"
        write_results(output_json, results)
        results["texts"] = write_on(trainer.model.eval(), tokenizer, prompts, data_args.max_new_tokens)
        write_results(output_json, results)
    return results


if __name__ == "__main__":
    main()
