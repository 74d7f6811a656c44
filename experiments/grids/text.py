# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text: question classification, language models, translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from experiments.grid import Commands, Need

__all__ = ["GRIDS", "STREAMS", "STREAM_FILES"]

FIELDS = {"": "complex", "-real": "real"}

# --- questions ----------------------------------------------------------------------------------------------------

EMBEDDINGS = {
    "complex_order": "",
    "complex_vanilla": "",
    "word": "",
    "learned_position": "",
    "sinusoidal_position": " --initializer_range 0.2",
}
TREC = Commands(
    "trec",
    {
        f"{name}{suffix}": f"--embedding_type {name} --number_field {field}{options}"
        for name, options in EMBEDDINGS.items()
        for suffix, field in FIELDS.items()
    },
    seeds=(0, 1, 2, 3, 4),
    script="examples/text-classification/run_classification.py",
    common=(
        "--train_file $DATA/classification/trec/train.tsv.gz --test_file $DATA/classification/trec/test.tsv.gz "
        "--overlap drop --num_train_epochs 8 --learning_rate 1e-3 --warmup_steps 0.1 --weight_decay 0.01 "
        "--per_device_train_batch_size 32 --train_sampling_strategy group_by_length --save_only_model true "
        "--hidden_dropout_prob 0.6 --norm_position pre --min_frequency 2"
    ),
    seed_options="--disable_tqdm true --seeds $SEED --resume_from_checkpoint last",
)

# --- language models ----------------------------------------------------------------------------------------------

# Equal width is about equal cost. A narrower real twin has the parameters of the complex network.
WIDE = "--hidden_size 256 --intermediate_size 1024"
CHARACTERS = "--hidden_size 180 --intermediate_size 720"
WORDS = "--hidden_size 228 --intermediate_size 912"  # most parameters are embeddings
STREAMS = {
    "complex_order": f"{WIDE} --position_period 128",
    "complex_order-word": f"{WIDE} --position_period 128 --frequency_sharing word",
    "real": f"{WIDE} --number_field real --embedding_type word",
    "real-equal-parameters": "--number_field real --embedding_type word",
}
# Half an hour each, with the score and phases chosen for translation (docs/decisions/0006-translation.md).
LONG_STREAMS = {
    "complex_order": f"{WIDE} --position_period 128 --attention_score real --phase learned",
    "complex_vanilla": f"{WIDE} --embedding_type complex_vanilla --attention_score real",
    "real": STREAMS["real"],
    "real-equal-parameters": STREAMS["real-equal-parameters"],
}
# data -> files of its splits, width of the narrow twin, options
STREAM_FILES = {
    "text8": ("train-5.8m", "dev-0.5m", "test-0.5m", CHARACTERS, ""),
    "wikitext2-char": ("train", "valid", "test", CHARACTERS, ""),
    "wikitext-2": ("train", "valid", "test", WORDS, " --tokenizer whitespace --cutoffs 2000 10000 --div_value 4"),
}
# The short runs use the embedding dropout of long trainings; LONG_CHOICE is tuned for two epochs.
SHORT_DROPOUT, LONG_DROPOUT = {"wikitext-2": "0.3"}, {"wikitext-2": "0"}
LONG_CHOICE = {
    f"{row},{dropout}": f"{LONG_STREAMS[row]} --hidden_dropout_prob {dropout}"
    for row in ("complex_vanilla", "real-equal-parameters")
    for dropout in ("0", "0.1")
}


def streams(
    data: str,
    kind: str,
    rows: dict[str, str],
    steps: int,
    seeds: Sequence[int],
    dropout: Mapping[str, str] = MappingProxyType({}),
) -> Commands:
    """Return stateful language models: complex ones, and real twins at equal cost and at equal parameters.

    ``dropout`` overrides the dropout of a data set, by default 0.1.
    """
    train, validation, test, narrow, options = STREAM_FILES[data]
    files = {"train": train, "validation": validation, "test": test}
    return Commands(
        f"{kind}-{data}",
        {
            row: f"{words}{' ' + narrow if row.startswith('real-equal-parameters') else ''}{options}"
            for row, words in rows.items()
        },
        seeds=seeds,
        script="examples/language-modeling/run_clm_xl.py",
        common=(
            " ".join(f"--{part}_file $DATA/lm/{data}/{file}.txt.gz" for part, file in files.items())
            + " --segment_length 128 --mem_len 128 --per_device_train_batch_size 8 --per_device_eval_batch_size 32 "
            f"--max_steps {steps} --learning_rate 1e-3 --warmup_steps 100 --max_grad_norm 0.25 "
            f"--hidden_dropout_prob {dropout.get(data, '0.1')} --initializer_range 0.5 "
            f"--eval_steps {steps // 2} --save_steps {steps // 2} "
            "--bf16 true --use_cpu $CPU --num_hidden_layers 4 --num_attention_heads 4"
        ),
    )


MLM = Commands(
    "mlm",
    {"complex_order": "--number_field complex", "complex_order-real": "--number_field real"},
    script="examples/language-modeling/run_mlm.py",
    common=(
        "--train_file $DATA/lm/wikitext-2/train.txt.gz --validation_file $DATA/lm/wikitext-2/valid.txt.gz "
        "--test_file $DATA/lm/wikitext-2/test.txt.gz --vocab_size 5000 --norm_position pre --initializer_range 0.5 "
        "--block_size 64 --per_device_train_batch_size 16 --hidden_dropout_prob 0 --attention_probs_dropout_prob 0 "
        "--learning_rate 2e-3 --hidden_size 128 --intermediate_size 512 --num_train_epochs 5 --fill_mask "
        "'the film was directed by <mask> .' 'he was born in <mask> york .' 'it is one of the <mask> in the world .'"
    ),
    seed_options="--seed $SEED",
)

# --- translation --------------------------------------------------------------------------------------------------

MULTI30K = "$DATA/translation/multi30k"
# Chosen on validation: docs/decisions/0006-translation.md.
WAVE, ADDED = "--initializer_range 0.3", "--initializer_range 1.0"
COMPLEX = "--number_field complex --attention_score real --norm_position post"
REAL = "--number_field real --norm_position pre"
# The real network with as many parameters as the complex one; later options override earlier ones.
EQUAL = "--hidden_size 228 --intermediate_size 456"
# Phase-coherent attention; a query sees about 16 keys.
COHERENT = "--attention_score cosine --attention_normalization sigmoid --max_position_embeddings 16"
TRANSLATORS = {
    "complex_order": f"--embedding_type complex_order {COMPLEX} --phase learned {WAVE}",
    "complex_order-real": f"--embedding_type complex_order {REAL} --phase learned {WAVE}",
    "complex_order-coherent": f"--embedding_type complex_order {COMPLEX} --phase learned {WAVE} {COHERENT}",
    "complex_vanilla": f"--embedding_type complex_vanilla {COMPLEX} {WAVE}",
    "sinusoidal_position": f"--embedding_type sinusoidal_position {COMPLEX} {ADDED}",
    "sinusoidal_position-real": f"--embedding_type sinusoidal_position {REAL} {ADDED}",
    "sinusoidal_position-real-coherent": f"--embedding_type sinusoidal_position {REAL} {ADDED} {COHERENT}",
    "sinusoidal_position-equal-parameters": f"--embedding_type sinusoidal_position {REAL} {ADDED} {EQUAL}",
    "learned_position": f"--embedding_type learned_position {COMPLEX} {ADDED}",
    "learned_position-real": f"--embedding_type learned_position {REAL} {ADDED}",
    "learned_position-equal-parameters": f"--embedding_type learned_position {REAL} {ADDED} {EQUAL}",
}


def pairs(source: str, target: str, test: bool = True) -> str:
    """Return the options for the splits of Multi30k in two languages."""
    files = {"train": "train", "validation": "val", **({"test": "test_2016_flickr"} if test else {})}
    return " ".join(
        f"--{part}_file {MULTI30K}/{name}.{source}.gz {MULTI30K}/{name}.{target}.gz" for part, name in files.items()
    )


def multi30k(source: str, target: str) -> Commands:
    """Return the embeddings in both number fields."""
    return Commands(
        f"multi30k-{source}-{target}",
        TRANSLATORS,
        script="examples/translation/run_translation.py",
        common=(
            f"{pairs(source, target)} --overlap drop --lowercase true --vocab_size 6000 --hidden_size 256 "
            "--encoder_layers 3 --decoder_layers 3 --num_attention_heads 4 --intermediate_size 512 "
            "--hidden_dropout_prob 0.15 --attention_probs_dropout_prob 0.0 --label_smoothing 0.1 "
            "--num_train_epochs 12 --metric_for_best_model loss --per_device_train_batch_size 64 --learning_rate 1e-3 "
            "--lr_scheduler_type linear --warmup_steps 300 --length_penalty 1.0 1.3 1.6 2.0 --bf16 true --use_cpu $CPU"
        ),
    )


# --- translation with syntax --------------------------------------------------------------------------------------

SYNTAX = "examples/syntax-translation"
PARSERS = {
    "en": (
        "--language en --epochs 12 --train_file $DATA/syntax/en_ewt-train.conllu.gz "
        "--validation_file $DATA/syntax/en_ewt-dev.conllu.gz --test_file $DATA/syntax/en_ewt-test.conllu.gz"
    ),
    "de": (
        "--language de --epochs 20 --train_file $DATA/syntax/de_gsd-dev.conllu.gz $DATA/syntax/de_lit-all.conllu.gz "
        "--validation_split 0.1 --test_file $DATA/syntax/de_gsd-test.conllu.gz"
    ),
    "zh": (
        "--language zh --segmenter jieba --epochs 20 --train_file $DATA/syntax/zh_gsd-dev.conllu.gz "
        "$DATA/syntax/zh_hk-all.conllu.gz --validation_split 0.1 --test_file $DATA/syntax/zh_gsd-test.conllu.gz"
    ),
}
# As printed (S 12, 15, 16): a recurrent layer without gates, and heads that are moduli.
PRINTED = "--rnn_type rnn --lm_readout modulus"
# A GRU whose gates and heads are moduli, then cumulative changes; `-projected` is our best.
MODULI = "--gate modulus --lm_readout modulus"
CONCAT = "--gate real_part --lm_readout concat"
FED_BACK = "--relation_feedback mixed --own_relations 1"
OWN_RELATIONS = f"{CONCAT} {FED_BACK}"
# The real twin with relations is trained like our best network.
TWIN, TWIN_OF_WORDS = f"--number_field real {FED_BACK} --alpha 0.9", "--number_field real --use_relations false"
LSTM = f"--attention_type luong {OWN_RELATIONS} --alpha 0.9 --rnn_type lstm"
NARROW = "--hidden_size 178"  # a real network without relations and with as many parameters as the complex one
SYNCONMT = Commands(
    "synconmt",
    {
        "synconmt-b-printed": f"--attention_type bahdanau {PRINTED}",
        "synconmt-b": f"--attention_type bahdanau {MODULI}",
        "synconmt-b-gates": "--attention_type bahdanau --gate real_part --lm_readout modulus",
        "synconmt-b-scaled": "--attention_type bahdanau --gate real_part --lm_readout scaled_modulus",
        "synconmt-b-concat": f"--attention_type bahdanau {CONCAT}",
        "synconmt-b-own-relations": f"--attention_type bahdanau {OWN_RELATIONS}",
        "synconmt-b-alpha": f"--attention_type bahdanau {OWN_RELATIONS} --alpha 0.9",
        "synconmt-b-projected": f"--attention_type bahdanau {OWN_RELATIONS} --alpha 0.9 --gate projected",
        "bahdanau": f"--attention_type bahdanau {TWIN_OF_WORDS}",
        "bahdanau-equal-parameters": f"--attention_type bahdanau {TWIN_OF_WORDS} {NARROW}",
        "bahdanau-relations": f"--attention_type bahdanau {TWIN}",
        "bahdanau-rnn": f"--attention_type bahdanau {TWIN_OF_WORDS} --rnn_type rnn",
        "bahdanau-rnn-relations": "--attention_type bahdanau --number_field real --rnn_type rnn",
        "synconmt-l-printed": f"--attention_type luong {PRINTED}",
        "synconmt-l": f"--attention_type luong {MODULI}",
        "synconmt-l-concat": f"--attention_type luong {CONCAT}",
        "synconmt-l-own-relations": f"--attention_type luong {OWN_RELATIONS}",
        "synconmt-l-alpha": f"--attention_type luong {OWN_RELATIONS} --alpha 0.9",
        "synconmt-l-projected": f"--attention_type luong {OWN_RELATIONS} --alpha 0.9 --gate projected",
        "synconmt-l-modulus": f"--attention_type luong {OWN_RELATIONS} --alpha 0.9 --gate modulus",
        "synconmt-l-lstm": f"{LSTM} --gate real_part",
        "synconmt-l-lstm-projected": f"{LSTM} --gate projected",
        "luong": f"--attention_type luong {TWIN_OF_WORDS}",
        "luong-equal-parameters": f"--attention_type luong {TWIN_OF_WORDS} {NARROW}",
        "luong-relations": f"--attention_type luong {TWIN}",
        "luong-rnn": f"--attention_type luong {TWIN_OF_WORDS} --rnn_type rnn",
        "luong-rnn-relations": "--attention_type luong --number_field real --rnn_type rnn",
    },
    script=f"{SYNTAX}/run_synconmt.py",
    common=(
        "--data_dir outputs/multi30k-parsed --lowercase true --min_frequency 2 --hidden_size 256 "
        "--hidden_dropout_prob 0.3 --label_smoothing 0.1 --num_train_epochs 10 --per_device_train_batch_size 64 "
        "--learning_rate 1e-3 --lr_scheduler_type linear --warmup_steps 300 --metric_for_best_model loss "
        "--length_penalty 0.6 1.0 1.4 --bf16 true --use_cpu $CPU"
    ),
    needs=[
        *(
            Need(
                f"outputs/parser-{language}",
                "meta.json",
                f"{SYNTAX}/train_parser.py {PARSERS[language]} --output_dir outputs/parser-{language}",
            )
            for language in ("en", "de")
        ),
        Need(
            "outputs/multi30k-parsed",
            "parsers.json",
            f"{SYNTAX}/prepare.py --n_process 2 --sentences join {pairs('en', 'de')} --overlap drop "
            "--source_parser outputs/parser-en --target_parser outputs/parser-de --output_dir outputs/multi30k-parsed",
        ),
    ],
)

GRIDS = (
    TREC,
    *(streams(data, "streams", STREAMS, 1200, (0,), SHORT_DROPOUT) for data in STREAM_FILES),
    *(streams(data, "long", LONG_STREAMS, 4000, (0, 1), LONG_DROPOUT) for data in ("text8", "wikitext-2")),
    streams("wikitext-2", "long-choice", LONG_CHOICE, 1000, (0,)),
    MLM,
    multi30k("en", "de"),
    multi30k("de", "en"),
    Commands("parsers", PARSERS, script=f"{SYNTAX}/train_parser.py", seed_options="--seed $SEED"),
    SYNCONMT,
)
