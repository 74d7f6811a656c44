# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a Mamba-3, complex or real, on a stream of characters or words, then continue a prompt.

    complex-transformers run state-space-lm --train_file train.txt --validation_file valid.txt

The text is a stream in parallel lanes; states are passed from segment to segment. The best checkpoint is chosen on the
validation split; the test split, if there is one, is scored once at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transformers import HfArgumentParser, PreTrainedTokenizerFast

from ...models.complex_mamba.configuration_complex_mamba import ComplexMambaConfig
from ...models.complex_mamba.modeling_complex_mamba import ComplexMambaForCausalLM
from ..arguments import arguments_of
from ..stateful_language_modeling import StreamDataArguments, StreamRunArguments, train_stream

# Sizes that train in minutes.
SIZES = {"hidden_size": 128, "num_hidden_layers": 2, "state_size": 32, "head_dim": 32, "intermediate_size": 352}
UNUSED = ("classifier_dropout", "readout", "embedding_type")


@dataclass
class ModelArguments(arguments_of(ComplexMambaConfig, without=UNUSED, shown=SIZES)):
    """The network: fields of ``ComplexMambaConfig``."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "continue training this model, with its tokenizer and sizes"}
    )

    def model(self, tokenizer: PreTrainedTokenizerFast) -> ComplexMambaForCausalLM:
        """Return a new model, or the saved one to train further."""
        if self.model_name_or_path is not None:
            return ComplexMambaForCausalLM.from_pretrained(self.model_name_or_path, **self.given())
        ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
        config = ComplexMambaConfig(vocab_size=len(tokenizer), **ids, **{**SIZES, **self.given()})
        return ComplexMambaForCausalLM(config)


@dataclass
class TrainingArguments(StreamRunArguments):
    """``StreamRunArguments`` with another output folder."""

    output_dir: str | None = "outputs/mamba"


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, save and continue the prompts."""
    parser = HfArgumentParser((ModelArguments, StreamDataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    return train_stream(model_args.model, data_args, args, model_args.model_name_or_path)
