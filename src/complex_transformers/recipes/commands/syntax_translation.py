# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train SynCoNMT, or a real twin, on a corpus that ``parse-corpus`` has parsed.

The best epoch is chosen on the validation split, by BLEU or by loss; the test split, if there is one, is translated
once at the end with beam search, and scored by length of the source; words and relations are also counted one by one.
The attention of the test split along dependencies is measured, too.

    complex-transformers run syntax-translation --data_dir outputs/parsed --hidden_size 512
    complex-transformers run syntax-translation --data_dir outputs/parsed --hidden_size 512 \
        --number_field real --use_relations false
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch.utils.data import DataLoader
from transformers import AutoProcessor, HfArgumentParser

from ...analysis import attention_maps, bleu_by_length, dependency_shares, token_accuracy
from ...data.extras import require_datasets
from ...metrics.translation import TranslationMetric
from ...models.synconmt.configuration_synconmt import SynCoNMTConfig
from ...models.synconmt.modeling_synconmt import SynCoNMTForConditionalGeneration
from ...models.synconmt.processing_synconmt import SynCoNMTProcessor
from ...training.callbacks import RelationSchedule
from ..arguments import arguments_of
from ..datasets.splits import sample_training
from ..records import portable, rounded
from ..run import prepare_run
from ..syntax_translation import (
    SIDES,
    SyntaxTranslationCollator,
    build_syntax_processor,
    encode_syntax_dataset,
    parsed_side,
)
from ..translation import TranslationRun, TranslationTrainingArguments

if TYPE_CHECKING:
    from datasets import DatasetDict


@dataclass
class ModelArguments(arguments_of(SynCoNMTConfig)):
    """The fields of ``SynCoNMTConfig``."""

    model_name_or_path: str | None = field(default=None, metadata={"help": "fine-tune this model, with its processor"})

    def model(self, processor: SynCoNMTProcessor) -> SynCoNMTForConditionalGeneration:
        """Return a new model, or the saved one to fine-tune."""
        if self.model_name_or_path is not None:
            return SynCoNMTForConditionalGeneration.from_pretrained(self.model_name_or_path, **self.given())
        return SynCoNMTForConditionalGeneration(SynCoNMTConfig(**processor.vocabulary_arguments(), **self.given()))


KNOWN = ("source_parser", "target_parser", "sentences", "source_relations", "target_relations", "mark_joins")


@dataclass
class DataArguments(arguments_of(build_syntax_processor, without=KNOWN, min_frequency=2)):
    """The parsed corpus, with its parsers, and the vocabularies."""

    data_dir: str = field(default="outputs/parsed", metadata={"help": "folder that run parse-corpus wrote"})
    max_length: int | None = field(default=None, metadata={"help": "maximum words of either side of a training pair"})
    max_train_samples: int | None = field(default=None, metadata={"help": "size of a random training sample"})
    sample_seed: int = 0
    bleu_tokenize: str = field(default="13a", metadata={"help": "sacrebleu's tokenizer: 13a, intl, zh, char, none"})
    own_relations: float | None = field(
        default=None,
        metadata={"help": "with relation_feedback mixed, final share of predicted relations; default: 1"},
    )
    alpha_start: float | None = field(default=None, metadata={"help": "alpha at the start; default: constant"})
    length_group: int = field(default=10, metadata={"help": "group size in words of BLEU by length"})


def load_parts(data_args: DataArguments) -> tuple[DatasetDict, dict[str, Any]]:
    """Load the parsed splits and the description of the parsers."""
    folder = Path(data_args.data_dir)
    if not (folder / "dataset_dict.json").is_file():
        raise FileNotFoundError(f"--data_dir must be a folder of run parse-corpus, got {folder}.")
    parts = require_datasets().load_from_disk(str(folder))
    if missing := {"train", "validation"} - set(parts):
        raise ValueError(f"--data_dir must have train and validation splits, got no {sorted(missing)} in {folder}.")
    parts = sample_training(parts, data_args.max_train_samples, data_args.sample_seed)
    known = folder / "parsers.json"
    return parts, json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}


def make_processor(parts: DatasetDict, known: dict[str, Any], data_args: DataArguments) -> SynCoNMTProcessor:
    """Build the processor: training words, relations of the parsers and of the gold trees of all splits."""
    sides: list[Any] = []
    for side in ("source", "target"):
        columns = {key: parts["train"][f"{side}_{key}"] for key in ("tokens", "relations", "spaces")}
        sides.append(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        seen = {relation for part in parts.values() for row in part[f"{side}_relations"] for relation in row}
        known = {**known, f"{side}_relations": sorted(seen.union(known.get(f"{side}_relations", ())))}
    return build_syntax_processor(*sides, **data_args.given(), **known)


def without_long_pairs(parts: DatasetDict, max_length: int | None) -> DatasetDict:
    """Drop longer training pairs and print how many."""
    if max_length is None:
        return parts
    kept = [row for row, length in enumerate(parts["train"]["length"]) if length <= max_length]
    print(f"--max_length {max_length}: {len(parts['train']) - len(kept)} of {len(parts['train'])} pairs left out")
    parts["train"] = parts["train"].select(kept)
    return parts


def word_scores(run: TranslationRun, data_args: DataArguments) -> dict[str, Any]:
    """Return the accuracy of words and relations per scored split, and BLEU of the test split by source length."""
    results: dict[str, Any] = {}
    for name in run.parts.keys() - {"train"}:
        batches = DataLoader(run.parts[name], run.args.eval_batch_size, collate_fn=run.trainer.data_collator)
        results[f"{name}_accuracy"] = rounded(token_accuracy(run.model, batches))
        print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in results[f"{name}_accuracy"].items()))
    predictions = run.folder / "predictions.txt"
    if "test" in run.parts:
        part = run.parts["test"].sort("row")
        rows = bleu_by_length(
            [len(tokens) for tokens in part["source_tokens"]],
            predictions.read_text(encoding="utf-8").splitlines(),
            list(part["target"]),
            group=data_args.length_group,
            metric=run.metric,
        )
        results["bleu_by_length"] = [rounded(row) for row in rows]
        if "source_heads" in part.column_names:
            results["dependency_shares"] = rounded(shares_of_attention(run))
        for row in results["bleu_by_length"]:
            print(f"{row['shortest']} to {row['longest']} words: {row['sentences']} sentences, BLEU {row['bleu']:.2f}")
    return results


def shares_of_attention(run: TranslationRun) -> dict[str, float]:
    """Return ``dependency_shares`` of the test split, with its reference translations."""
    part, maps = run.parts["test"], []
    sides = [[parsed_side(row, side) for row in part] for side in SIDES]
    run.model.eval()
    for start in range(0, len(part), run.args.eval_batch_size):
        rows = slice(start, start + run.args.eval_batch_size)
        maps += attention_maps(run.model, run.processing, *(side[rows] for side in sides))
    return dependency_shares(maps, list(part["source_heads"]))


def main() -> dict[str, Any]:
    """Parse the command line, train, translate the test split, save model, translations and results."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TranslationTrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(args)
    parts, known = load_parts(data_args)
    given = checkpoint or model_args.model_name_or_path
    processor = AutoProcessor.from_pretrained(given) if given else make_processor(parts, known, data_args)
    parts = without_long_pairs(encode_syntax_dataset(parts, processor), data_args.max_length)
    model = model_args.model(processor)
    args.label_names = ["labels", "relation_labels"] if model.config.use_relations else ["labels"]
    run = TranslationRun(
        model,
        parts,
        args,
        collator=SyntaxTranslationCollator(processor, model),
        processing=processor,
        metric=TranslationMetric(data_args.lowercase, data_args.bleu_tokenize),
    )
    if model.config.use_relations or data_args.own_relations is not None:
        run.trainer.add_callback(RelationSchedule(data_args.own_relations, data_args.alpha_start))
    results = run.run(checkpoint)
    results["data"] = portable(asdict(data_args))
    if run.trainer.is_world_process_zero():
        results |= word_scores(run, data_args)
    run.save(results, training_data=data_args.data_dir)
    return results
