# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a recurrent language model, complex or real, on a stream of characters or words, then continue a prompt.

    complex-transformers run recurrent-lm --rnn_type lru --train_file train.txt --validation_file valid.txt

The text is a stream in parallel lanes; states are passed from segment to segment. The best checkpoint is chosen on the
validation split; the test split, if there is one, is scored once at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transformers import HfArgumentParser, PreTrainedTokenizerFast

from ...analysis import perplexity_by_position
from ...data.stream import StreamDataset
from ...models.complex_recurrent_lm.configuration_complex_recurrent_lm import ComplexRecurrentLMConfig
from ...models.complex_recurrent_lm.modeling_complex_recurrent_lm import ComplexRecurrentLMForCausalLM
from ..arguments import arguments_of
from ..stateful_language_modeling import StreamDataArguments, StreamRunArguments, train_stream


@dataclass
class ModelArguments(arguments_of(ComplexRecurrentLMConfig, without=("position_length",))):
    """The network: fields of ``ComplexRecurrentLMConfig``, with its defaults."""

    position_length: str | None = field(
        default=None, metadata={"help": "positions modulo this number, or sentence (as in the paper)"}
    )
    model_name_or_path: str | None = field(
        default=None, metadata={"help": "continue training this model, with its tokenizer"}
    )

    def model(self, tokenizer: PreTrainedTokenizerFast) -> ComplexRecurrentLMForCausalLM:
        """Return a new model, or the saved one to train further."""
        given = {name: value for name, value in self.given().items() if name != "position_length"}
        if (length := self.position_length) is not None:
            given["position_length"] = int(length) if length.isdecimal() else length
        if self.model_name_or_path is not None:
            return ComplexRecurrentLMForCausalLM.from_pretrained(self.model_name_or_path, **given)
        config = ComplexRecurrentLMConfig(
            vocab_size=len(tokenizer),
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **given,
        )
        return ComplexRecurrentLMForCausalLM(config)


@dataclass
class TrainingArguments(StreamRunArguments):
    """``StreamRunArguments`` with another output folder, and the perplexity by position."""

    output_dir: str | None = "outputs/recurrent-lm"
    position_segments: int = field(
        default=0,
        metadata={"help": "number of test (or validation) segments for the perplexity by position, without memory"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.position_segments < 0:
            raise ValueError(f"--position_segments must be 0 or more, got {self.position_segments}.")

    def by_position(self, model: ComplexRecurrentLMForCausalLM, part: StreamDataset) -> dict[str, Any]:
        """Return the perplexity at each position of a segment, if requested."""
        segments = [part[segment] for segment in range(min(self.position_segments, len(part)))]
        if not segments:
            return {}
        return {"perplexity_by_position": [round(value, 3) for value in perplexity_by_position(model, segments)]}


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, save and continue the prompts."""
    parser = HfArgumentParser((ModelArguments, StreamDataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    return train_stream(model_args.model, data_args, args, model_args.model_name_or_path, analyse=args.by_position)
