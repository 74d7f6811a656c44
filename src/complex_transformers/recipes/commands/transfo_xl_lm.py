# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a Transformer-XL, complex or real, on a stream of characters or words, then continue a prompt.

    complex-transformers run transfo-xl-lm --train_file train.txt --validation_file valid.txt

The text is a stream in parallel lanes; a memory of hidden states is passed from segment to segment. The best
checkpoint is chosen on the validation split; the test split, if there is one, is scored once at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transformers import HfArgumentParser, PreTrainedTokenizerFast

from ...models.complex_transfo_xl.configuration_complex_transfo_xl import ComplexTransfoXLConfig
from ...models.complex_transfo_xl.modeling_complex_transfo_xl import ComplexTransfoXLForCausalLM
from ..arguments import arguments_of
from ..stateful_language_modeling import StreamDataArguments, StreamRunArguments, train_stream


@dataclass
class ModelArguments(arguments_of(ComplexTransfoXLConfig, without=("classifier_dropout", "readout"))):
    """The network: fields of ``ComplexTransfoXLConfig``, with its defaults."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "continue training this model, with its tokenizer"}
    )

    def model(self, tokenizer: PreTrainedTokenizerFast) -> ComplexTransfoXLForCausalLM:
        """Return a new model, or the saved one to train further."""
        given = self.given()
        if given.get("position_period") == 0:  # same as `none`
            given["position_period"] = None
        if self.model_name_or_path is not None:
            return ComplexTransfoXLForCausalLM.from_pretrained(self.model_name_or_path, **given)
        config = ComplexTransfoXLConfig(
            vocab_size=len(tokenizer),
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **given,
        )
        return ComplexTransfoXLForCausalLM(config)


@dataclass
class DataArguments(StreamDataArguments):
    """``StreamDataArguments`` with the memory length in evaluation."""

    eval_mem_len: int | None = field(default=None, metadata={"help": "memory length in evaluation; default: mem_len"})


@dataclass
class TrainingArguments(StreamRunArguments):
    """``StreamRunArguments`` with another output folder."""

    output_dir: str | None = "outputs/transformer-xl"


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, save and continue the prompts."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    return train_stream(model_args.model, data_args, args, model_args.model_name_or_path, data_args.eval_mem_len)
