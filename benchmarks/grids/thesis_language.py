# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The language models of chapter 4.3 of the thesis, as printed and in causal form, and linear recurrent units.

    python -m benchmarks.grid thesis-language-models            # some rows: thesis-language-models LM-R LRU

The table goes to ``docs/thesis.md``.
"""

from __future__ import annotations

from benchmarks.grid import Commands

__all__ = ["GRIDS", "LANGUAGE_MODELS", "READS_AHEAD"]

REAL_WORDS = "--word_parts real"
TWICE = "--hidden_size 512 --recurrent_size 512"
SLOTS, PHASES = "--embedding_type slot_position", "--embedding_type phase_position"
AS_PRINTED = "--gate modulus --state_activation hirose_tanh --lm_readout squared_modulus"
LANGUAGE_MODELS = {
    "LM-R": "--number_field real",
    "LM-R-equal-parameters": "--number_field real --hidden_size 236 --recurrent_size 236",
    "LM-C": "",
    "LM-C-as-printed": AS_PRINTED,
    "LM-C-real-words": REAL_WORDS,
    "LM-C-real-words-twice-the-units": f"{REAL_WORDS} {TWICE}",
    "slots": SLOTS,
    "slots-by-sentence": f"{SLOTS} --position_length sentence",
    "phases": PHASES,
    "phases-by-sentence": f"{PHASES} --position_length sentence",
    "Fourier-features": f"{REAL_WORDS} --transform fourier --transform_axis features",
    "Fourier-sequence": f"{REAL_WORDS} --transform fourier --transform_axis sequence",
    "Z": f"{REAL_WORDS} --transform z",
    "Z-twice-the-units": f"{REAL_WORDS} --transform z {TWICE}",
    "causal-Z": f"{REAL_WORDS} --transform causal_z",
    "LRU": "--rnn_type lru --num_hidden_layers 6",
    "LRU-real": "--rnn_type lru --num_hidden_layers 6 --number_field real",
}
# What these reach is no perplexity: they see words to come, or how many there are.
READS_AHEAD = ("slots-by-sentence", "phases-by-sentence", "Fourier-sequence")

GRIDS = (
    Commands(
        "thesis-language-models",
        # The printed head has no adaptive softmax.
        {
            row: f"{words}{'' if 'squared_modulus' in words else ' --cutoffs 2000'}"
            for row, words in LANGUAGE_MODELS.items()
        },
        seeds=(0, 1),
        script="examples/language-modeling/run_clm_rnn.py",
        common=(
            "--train_file $DATA/lm/wikitext-2/train.txt.gz --validation_file $DATA/lm/wikitext-2/valid.txt.gz "
            "--test_file $DATA/lm/wikitext-2/test.txt.gz --tokenizer whitespace --vocab_size 10000 "
            "--segment_length 35 --per_device_train_batch_size 16 --per_device_eval_batch_size 16 "
            "--learning_rate 2e-3 --max_grad_norm 0.25 --hidden_dropout_prob 0.1 --num_train_epochs 1 "
            "--hidden_size 256 --recurrent_size 256 --eval_strategy epoch --save_strategy epoch --save_total_limit 1"
        ),
    ),
)
