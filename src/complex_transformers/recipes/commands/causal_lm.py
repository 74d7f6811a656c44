# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a complex Llama from scratch, or continue training a saved or lifted one, then continue a prompt.

    complex-transformers run causal-lm --train_file train.txt --validation_file valid.txt

Texts are packed into blocks of ``--block_size`` tokens; with ``--streaming`` they are read during training.
The best checkpoint is chosen on the validation split; the test split, if there is one, is scored once at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transformers import HfArgumentParser, PreTrainedTokenizerFast

from ...models.complex_llama.configuration_complex_llama import ComplexLlamaConfig
from ...models.complex_llama.modeling_complex_llama import ComplexLlamaForCausalLM
from ..arguments import arguments_of
from ..packed_language_modeling import BlockDataArguments, BlockRunArguments, train_blocks

# Sizes that train in minutes.
SIZES = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 704}


@dataclass
class ModelArguments(arguments_of(ComplexLlamaConfig, shown=SIZES)):
    """The fields of ``ComplexLlamaConfig``."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "continue training this complex Llama, with its tokenizer and sizes"}
    )

    def model(self, tokenizer: PreTrainedTokenizerFast) -> ComplexLlamaForCausalLM:
        """Return a new model, or the saved one to train further."""
        if self.model_name_or_path is not None:
            return ComplexLlamaForCausalLM.from_pretrained(self.model_name_or_path, **self.given())
        special = ("bos_token_id", "eos_token_id", "pad_token_id")
        ids = {name: getattr(tokenizer, name) for name in special}
        config = ComplexLlamaConfig(vocab_size=len(tokenizer), **ids, **{**SIZES, **self.given()})
        return ComplexLlamaForCausalLM(config)


@dataclass
class TrainingArguments(BlockRunArguments):
    """``BlockRunArguments`` with another output folder."""

    output_dir: str | None = "outputs/complex-llama"


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, save and continue the prompts."""
    parser = HfArgumentParser((ModelArguments, BlockDataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    return train_blocks(model_args.model, data_args, args, model_args.model_name_or_path)
