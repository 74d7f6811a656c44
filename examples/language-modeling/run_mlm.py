# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a ComplexOrder masked language model from scratch on text files or a data set of the Hub, then fill masks.

    python examples/language-modeling/run_mlm.py --train_file train.txt --validation_file valid.txt

With ``--fill_mask "the film was directed by <mask> ."`` the saved model answers at the end.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import Dataset, DatasetDict
from torch import Tensor
from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    EvalPrediction,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    pipeline,
    set_seed,
)

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexTrainer,
    build_tokenizer,
    load_plain_text,
    portable,
    run_record,
    save_model,
    write_results,
)


@dataclass
class ModelArguments:
    """The network: fields of ``ComplexOrderConfig``, under the same names."""

    embedding_type: str = field(
        default="complex_order",
        metadata={"help": "complex_order, complex_vanilla, word, learned_position or sinusoidal_position"},
    )
    number_field: str = field(default="complex", metadata={"help": "complex, or real for the real twin"})
    hidden_size: int = field(default=256, metadata={"help": "width of the hidden states, real and imaginary together"})
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    intermediate_size: int = 1024
    attention_score: str | None = field(
        default=None, metadata={"help": "modulus, real or bilinear_modulus; default: modulus, in the real field real"}
    )
    amplitude_sharing: str = field(default="none", metadata={"help": "none, word or dimension"})
    frequency_sharing: str = field(default="none", metadata={"help": "none, word or dimension"})
    phase: str = field(default="none", metadata={"help": "initial phases: none, learned or per_dimension"})
    norm_position: str = field(default="post", metadata={"help": "post or pre"})
    lm_readout: str = field(default="concat", metadata={"help": "concat, modulus, squared_modulus or feature_modulus"})
    tie_word_embeddings: bool = False
    initializer_range: float = field(default=0.02, metadata={"help": "standard deviation of the embedding tables"})
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1


@dataclass
class DataArguments:
    """The data: a name on the Hub or text files, how text becomes tokens, and what is masked."""

    dataset_name: str | None = field(default=None, metadata={"help": "a data set of the Hub, or a folder"})
    dataset_config_name: str | None = None
    train_file: str | None = field(default=None, metadata={"help": "plain text, one paragraph a line, also .gz"})
    validation_file: str | None = None
    test_file: str | None = field(default=None, metadata={"help": "scored once, at the end"})
    text_column: str = "text"
    tokenizer: str = field(default="whitespace", metadata={"help": "word, whitespace, bpe or character"})
    vocab_size: int = 10000
    keep_case: bool = False
    block_size: int = field(default=128, metadata={"help": "tokens of a training example; lines are joined"})
    mlm_probability: float = 0.15
    mask_seed: int = field(default=0, metadata={"help": "of the masks of validation and test, which stay the same"})
    fill_mask: list[str] = field(default_factory=list, metadata={"help": "sentences with <mask> to fill at the end"})


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    """``transformers.TrainingArguments`` with defaults that fit small models."""

    output_dir: str | None = "outputs/language-modeling"
    num_train_epochs: float = 2
    learning_rate: float = 1e-3
    warmup_steps: float = 0.05
    weight_decay: float = 0.01
    per_device_train_batch_size: int = 8
    per_device_eval_batch_size: int = 8
    eval_strategy: str = "epoch"
    save_strategy: str = "epoch"
    logging_steps: float = 100
    save_total_limit: int | None = 1
    load_best_model_at_end: bool = True
    dataloader_pin_memory: bool = torch.cuda.is_available()  # without a GPU it only warns
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})


def load_parts(data_args: DataArguments) -> DatasetDict:
    """The parts ``train``, ``validation`` and, where given, ``test``, with the column ``text``; no empty lines."""
    parts = load_plain_text(
        data_args.train_file,
        data_args.validation_file,
        data_args.test_file,
        dataset_name=data_args.dataset_name,
        dataset_config_name=data_args.dataset_config_name,
        text_column=data_args.text_column,
    )
    return parts.filter(lambda row: bool(row["text"].strip()), desc="Leaving out empty lines")


def make_blocks(parts: DatasetDict, tokenizer: PreTrainedTokenizerFast, block_size: int) -> DatasetDict:
    """Join the lines and cut them into blocks; the last block of a part may be shorter."""
    if block_size < 2:
        raise ValueError(f"block_size must be at least 2, got {block_size}")

    def join_and_cut(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        ids = [token for line in tokenizer(batch["text"])["input_ids"] for token in line]
        return {"input_ids": [ids[start : start + block_size] for start in range(0, len(ids), block_size)]}

    # A batch is all that is in memory at once; each leaves one short block.
    return parts.map(join_and_cut, batched=True, batch_size=10_000, remove_columns=["text"], desc="Making blocks")


class Collator:
    """Masks training blocks anew each time; blocks that are masked already (they have labels) are only padded."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, mlm_probability: float, seed: int | None = None) -> None:
        self.mask = DataCollatorForLanguageModeling(tokenizer, mlm_probability=mlm_probability, seed=seed)
        self.pad = DataCollatorForTokenClassification(tokenizer)

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Tensor]:
        return self.pad(features) if "labels" in features[0] else self.mask(features)


def mask_once(part: Dataset, tokenizer: PreTrainedTokenizerFast, data_args: DataArguments) -> Dataset:
    """Mask a part for good, so that every epoch and every model is scored on the same tokens."""
    collator = Collator(tokenizer, data_args.mlm_probability, seed=data_args.mask_seed)
    blocks = (collator([{"input_ids": ids}]) for ids in part["input_ids"])
    rows = [{name: block[name][0].tolist() for name in ("input_ids", "labels")} for block in blocks]
    return Dataset.from_list(rows)


def token_scores(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Cross entropy and hit of each token, so that no logits ``[B, N, vocabulary]`` are kept."""
    losses = torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, reduction="none")
    return losses, (logits.argmax(-1) == labels).float()


def masked_metrics(prediction: EvalPrediction) -> dict[str, float]:
    """Perplexity and accuracy over all masked tokens; each token counts the same, whatever its batch."""
    losses, hits = prediction.predictions
    masked = prediction.label_ids != -100
    loss = float(losses[masked].mean())
    return {"masked_loss": loss, "perplexity": math.exp(loss), "masked_accuracy": float(hits[masked].mean())}


def main() -> dict[str, Any]:
    """Parse the command line, train, score, save and fill the masks of the given sentences."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    if training_args.metric_for_best_model is None:
        training_args.metric_for_best_model, training_args.greater_is_better = "masked_loss", False
    set_seed(training_args.seed)

    parts = load_parts(data_args)
    tokenizer = build_tokenizer(
        parts["train"]["text"], data_args.tokenizer, vocab_size=data_args.vocab_size, lowercase=not data_args.keep_case
    )
    if bad := [sentence for sentence in data_args.fill_mask if tokenizer.mask_token not in sentence]:
        raise ValueError(f"--fill_mask needs sentences with {tokenizer.mask_token}, got {bad[0]!r}")
    blocks = make_blocks(parts, tokenizer, data_args.block_size)
    scored = {name: mask_once(blocks[name], tokenizer, data_args) for name in blocks if name != "train"}
    config = ComplexOrderConfig(**asdict(model_args), vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    trainer = ComplexTrainer(
        ComplexOrderForMaskedLM(config),
        training_args,
        train_dataset=blocks["train"],
        eval_dataset=scored["validation"],
        data_collator=Collator(tokenizer, data_args.mlm_probability),
        processing_class=tokenizer,
        compute_metrics=masked_metrics,
        preprocess_logits_for_metrics=token_scores,
    )
    start = time.perf_counter()
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    results: dict[str, Any] = {
        **run_record(trainer, time.perf_counter() - start, training_args.resume_from_checkpoint is not None),
        "data": portable(asdict(data_args)),
        "blocks": {name: len(part) for name, part in blocks.items()},
        "validation": metrics_of(trainer.evaluate(), "eval_"),
    }
    if "test" in scored:
        results["test"] = metrics_of(trainer.predict(scored["test"]).metrics, "test_")
    for name in ("validation", "test"):
        if name in results:
            print(f"{name}: " + ", ".join(f"{metric} {value:.4g}" for metric, value in results[name].items()))
    print(f"parameters: {results['parameters']:,}; training: {results['seconds']:.0f} s, {results['steps']} steps")
    if trainer.is_world_process_zero():
        output_dir = Path(training_args.output_dir)
        source = data_args.dataset_name or Path(data_args.train_file).name
        save_model(output_dir, trainer.model, tokenizer, training_data=f"`{source}`", metrics=results["validation"])
        results["fill_mask"] = fill_masks(output_dir, data_args.fill_mask)
        write_results(training_args.output_json or output_dir / "results.json", results)
    return results


def metrics_of(metrics: dict[str, float], prefix: str) -> dict[str, float]:
    """The figures of ``masked_metrics`` without the Trainer's prefix."""
    return {name: metrics[prefix + name] for name in ("perplexity", "masked_accuracy", "masked_loss")}


def fill_masks(model_dir: Path, sentences: list[str]) -> dict[str, list[list[Any]]]:
    """The three likeliest words for the mask of each sentence, from the saved folder as a user would load it."""
    if not sentences:
        return {}
    fill = pipeline("fill-mask", model=str(model_dir), top_k=3, device="cpu")
    answers = {}
    for sentence in sentences:
        answers[sentence] = [[answer["token_str"], round(answer["score"], 4)] for answer in fill(sentence)]
        print(f"{sentence}: " + ", ".join(f"{word} ({score:.2f})" for word, score in answers[sentence]))
    return answers


if __name__ == "__main__":
    main()
