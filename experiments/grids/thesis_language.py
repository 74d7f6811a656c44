# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The language models of chapter 4.3 of the thesis, as printed and in causal form, and linear recurrent units.

    python -m experiments.run thesis-language-models            # or single rows: thesis-language-models LM-R LRU
    python -m experiments.run thesis-language-gates             # gates and embedding scales, 500 steps each
    python -m experiments.run thesis-language-printed           # ablation of the printed form, 500 steps each
    python -m experiments.run thesis-language-states            # evaluation from zero and from training states

The tables go to ``docs/thesis.md``.
"""

from __future__ import annotations

from experiments.grid import Commands

__all__ = ["GATES", "GATE_ROWS", "GRIDS", "LANGUAGE_MODELS", "PRINTED_PARTS", "READS_AHEAD", "SCALES", "STATES"]

REAL_WORDS = "--word_parts real"
TWICE = "--hidden_size 512 --recurrent_size 512"
SLOTS, PHASES = "--embedding_type slot_position", "--embedding_type phase_position"
PRINTED_GATE, PRINTED_STATE = "--gate modulus", "--state_activation hirose_tanh"
PRINTED_HEAD = "--lm_readout squared_modulus --lm_bias false"
AS_PRINTED = f"{PRINTED_GATE} {PRINTED_STATE} {PRINTED_HEAD}"
ADAPTIVE = "--cutoffs 2000"
LARGE_WORDS = "--initializer_range 1.0"
ALL_WORDS = "--number_field real --vocab_size 33278 --cutoffs 2000 10000"
LRU = "--rnn_type lru --num_hidden_layers 6"
LONGER = "--num_train_epochs 3"
SHORT = "--max_steps 500 --eval_strategy steps --eval_steps 500 --save_strategy steps --save_steps 500"
LANGUAGE_MODELS = {
    "LM-R": "--number_field real",
    "LM-R-equal-parameters": "--number_field real --hidden_size 236 --recurrent_size 236",
    "LM-R-parameters-of-causal-Z": "--number_field real --hidden_size 190 --recurrent_size 190",
    "LM-R-all-words": ALL_WORDS,
    "LM-C": "",
    "LM-C-as-printed": AS_PRINTED,
    "LM-C-real-words": REAL_WORDS,
    "LM-C-real-words-twice-the-units": f"{REAL_WORDS} {TWICE}",
    "LM-C-real-words-twice-the-units-large-words": f"{REAL_WORDS} {TWICE} {LARGE_WORDS}",
    "slots": SLOTS,
    "slots-by-sentence": f"{SLOTS} --position_length sentence",
    "phases": PHASES,
    "phases-by-sentence": f"{PHASES} --position_length sentence",
    "Fourier-features": f"{REAL_WORDS} --transform fourier --transform_axis features",
    "Fourier-sequence": f"{REAL_WORDS} --transform fourier --transform_axis sequence",
    "Z": f"{REAL_WORDS} --transform z",
    "Z-large-words": f"{REAL_WORDS} --transform z {LARGE_WORDS}",
    "Z-twice-the-units": f"{REAL_WORDS} --transform z {TWICE}",
    "causal-Z": f"{REAL_WORDS} --transform causal_z",
    "LRU": LRU,
    "LRU-real": f"{LRU} --number_field real",
    "LRU-real-equal-parameters": f"{LRU} --number_field real --hidden_size 236 --recurrent_size 236",
    # Do the results of one epoch hold after three?
    "LM-R-three-epochs": f"--number_field real {LONGER}",
    "LM-R-all-words-three-epochs": f"{ALL_WORDS} {LONGER}",
    "LM-C-three-epochs": LONGER,
    "LRU-three-epochs": f"{LRU} {LONGER}",
}
# Not perplexities: these see future tokens or the sequence length.
READS_AHEAD = ("slots-by-sentence", "phases-by-sentence", "Fourier-sequence")

# Gates that can close or are printed, and the initial embedding scales.
GATES, SCALES = ("modulus", "split", "real_part", "projected"), ("0.1", "0.5", "1.0")
GATE_ROWS = {f"{gate},{scale}": f"--gate {gate} --initializer_range {scale}" for gate in GATES for scale in SCALES}
# The default network with one or two settings of the printed one; the printed head has no adaptive softmax.
PRINTED_PARTS = {
    "none": ADAPTIVE,
    "gate": f"{PRINTED_GATE} {ADAPTIVE}",
    "state-activation": f"{PRINTED_STATE} {ADAPTIVE}",
    "full-softmax": "",
    "head": PRINTED_HEAD,
    "gate-and-state-activation": f"{PRINTED_GATE} {PRINTED_STATE} {ADAPTIVE}",
    "gate-and-head": f"{PRINTED_GATE} {PRINTED_HEAD}",
    "all": AS_PRINTED,
}
# Models evaluated from zero states and from their training states.
_OF_PARTS = ("none", "gate", "gate-and-state-activation", "gate-and-head", "all")
STATES = {
    **{row: f"--model @thesis-language-printed/{row}" for row in _OF_PARTS},
    "LM-C-as-printed": "--model @thesis-language-models/LM-C-as-printed",
}
TEXTS = "--train_file $DATA/lm/wikitext-2/train.txt.gz --validation_file $DATA/lm/wikitext-2/valid.txt.gz"


def _adaptive(rows: dict[str, str]) -> dict[str, str]:
    """Add an adaptive softmax to rows that do not choose another head."""
    own = (PRINTED_HEAD, "--cutoffs")
    return {row: words if any(one in words for one in own) else f"{words} {ADAPTIVE}" for row, words in rows.items()}


def _commands(name: str, rows: dict[str, str], seeds: tuple[int, ...], length: str) -> Commands:
    """Return the commands of rows on WikiText-2."""
    return Commands(
        name,
        rows,
        seeds=seeds,
        script="examples/language-modeling/run_clm_rnn.py",
        common=(
            f"{TEXTS} --test_file $DATA/lm/wikitext-2/test.txt.gz --tokenizer whitespace --vocab_size 10000 "
            "--segment_length 35 --per_device_train_batch_size 16 --per_device_eval_batch_size 16 "
            f"--learning_rate 2e-3 --warmup_steps 200 --max_grad_norm 0.25 --hidden_dropout_prob 0.1 {length} "
            "--hidden_size 256 --recurrent_size 256 --save_total_limit 1"
        ),
    )


GRIDS = (
    _commands(
        "thesis-language-models",
        _adaptive(LANGUAGE_MODELS),
        (0, 1),
        "--num_train_epochs 1 --eval_strategy epoch --save_strategy epoch --position_segments 200",
    ),
    _commands("thesis-language-gates", _adaptive(GATE_ROWS), (0,), SHORT),
    _commands("thesis-language-printed", PRINTED_PARTS, (0,), SHORT),
    Commands(
        "thesis-language-states",
        STATES,
        script="-m experiments.carried_states",
        common=f"{TEXTS} --segment_length 35",
        seed_options="",
    ),
)
