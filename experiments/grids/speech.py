# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Speech: spoken digits, digit strings, synthetic speech, read sentences."""

from __future__ import annotations

from experiments.grid import Commands, Need

__all__ = ["GRIDS", "SPEAKERS"]

SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
SHORT = "--window_ms 12 --hop_ms 6"  # one or two periods of a voice
LONG = "--window_ms 25 --hop_ms 10"
# Features per bin, means over time, rotary positions, scores Re(q k^H) and `concat` logits: chosen on
# validation, docs/decisions/0007-positions-in-speech.md.
FILTERS = (
    "--bin_pool_size 1 --pooling average --position_phase rotate --attention_score real "
    "--attention_normalization softmax"
)
FULLY_SPECTRAL = f"--network fully_spectral --compression log {FILTERS} --readout concat"
SPECTRAL_SCALED = "--network spectral_scaled"
PHASE = "--feature_type phase --compression none"
TRAINING = "--train_sampling_strategy group_by_length"


def parts(folder: str) -> str:
    """Return the options of the three splits in a folder."""
    return " ".join(f"--{part}_file {folder}/{part}.csv" for part in ("train", "validation", "test"))


# --- digits -------------------------------------------------------------------------------------------------------

DIGITS = "outputs/fsdd/data"
FSDD = "examples/speech/fsdd.py --output_dir"
CLASSIFIER = (
    "--sampling_rate 8000 --hidden_size 128 --num_hidden_layers 3 --num_attention_heads 4 --intermediate_size 256 "
    f"--num_train_epochs 40 --learning_rate 1e-3 --per_device_train_batch_size 32 {TRAINING} --keep_features true"
)
NETWORKS = {
    "fully_spectral": f"{FULLY_SPECTRAL} {SHORT} --time_pool_size 4",
    "fully_spectral-modulus": f"{FULLY_SPECTRAL} {SHORT} --time_pool_size 4 --feature_type modulus",
    "fully_spectral-phase": f"{FULLY_SPECTRAL} {SHORT} --time_pool_size 4 {PHASE}",
    "fully_spectral-25ms": f"{FULLY_SPECTRAL} {LONG} --time_pool_size 2",
    "fully_spectral-25ms-modulus": f"{FULLY_SPECTRAL} {LONG} --time_pool_size 2 --feature_type modulus",
    "fully_spectral-25ms-phase": f"{FULLY_SPECTRAL} {LONG} --time_pool_size 2 {PHASE}",
    # the largest modulus of two bins, positions added
    "fully_spectral-thesis": f"--network fully_spectral --compression log {SHORT} --time_pool_size 4",
    "spectral_scaled": f"{SPECTRAL_SCALED} {SHORT} --time_pool_size 4",
    "real": f"--network real {LONG} --time_pool_size 2 --num_mel_bins 40",
    "real-mfcc": f"--network real {LONG} --time_pool_size 2 --num_mel_bins 40 --feature_type mfcc",
}


# --- transcription: CTC, and a decoder on the encoder trained with CTC ---------------------------------------------


def transcribers(grid: str, spectral: str, mel: str, write: str) -> dict[str, str]:
    """Return the rows of complex networks, real networks and decoders."""
    decoder = f"--decoder_layers 2 --label_smoothing 0.1 {write}"
    return {
        "fully_spectral": f"{FULLY_SPECTRAL} {spectral}",
        "fully_spectral-modulus": f"{FULLY_SPECTRAL} {spectral} --feature_type modulus",
        "spectral_scaled": f"{SPECTRAL_SCALED} {spectral}",
        "real": f"--network real {mel}",
        "fully_spectral-decoder": f"--model_name_or_path @{grid}/fully_spectral {decoder}",
        "real-decoder": f"--model_name_or_path @{grid}/real {decoder}",
    }


SMALL = "--hidden_size 128 --num_hidden_layers 3 --num_attention_heads 4 --intermediate_size 256"
LARGE = "--hidden_size 192 --num_hidden_layers 4 --num_attention_heads 4 --intermediate_size 512"
SYNTHETIC = "outputs/espeak-en"
SENTENCES = "outputs/ljspeech/data"

GRIDS = (
    Commands(
        "fsdd",
        NETWORKS,
        script="examples/speech/run_audio_classification.py",
        common=f"{parts(DIGITS)} {CLASSIFIER}",
        needs=[Need(DIGITS, "test.csv", f"{FSDD} {DIGITS}")],
    ),
    Commands(  # tested on a held-out speaker
        "fsdd-leave-out",
        {
            f"{speaker}/{name}": f"{parts(f'outputs/fsdd-leave-out/{speaker}/data')} {options}"
            for speaker in SPEAKERS
            for name, options in NETWORKS.items()
        },
        script="examples/speech/run_audio_classification.py",
        common=CLASSIFIER,
        needs=[
            Need(folder, "test.csv", f"{FSDD} {folder} --leave_out {speaker}")
            for speaker in SPEAKERS
            for folder in [f"outputs/fsdd-leave-out/{speaker}/data"]
        ],
    ),
    Commands(
        "digit-strings",
        transcribers(
            "digit-strings",
            f"{SMALL} {SHORT} --time_pool_size 4",
            f"{SMALL} {LONG} --time_pool_size 2 --num_mel_bins 40",
            "--generation_max_length 10",
        ),
        script="examples/speech/run_ctc.py",
        common=(
            f"--target_column label --concatenate 3 7 --string_counts 1000 300 300 {parts(DIGITS)} "
            "--sampling_rate 8000 --num_train_epochs 40 --learning_rate 1e-3 --per_device_train_batch_size 8"
        ),
        needs=[Need(DIGITS, "test.csv", f"{FSDD} {DIGITS}")],
    ),
    Commands(  # greedy, beam search, and beam search with a language model, of one trained model
        "ctc-decoding",
        {
            "random": f"--model @digit-strings/fully_spectral --data {DIGITS} --strings random",
            "dates": f"--model @digit-strings/fully_spectral --data {DIGITS} --strings dates",
            "espeak": f"--model @espeak/fully_spectral --data {SYNTHETIC} --column ipa",
        },
        script="-m experiments.ctc_decoding",
        seed_options="",
        needs=[Need(DIGITS, "test.csv", f"{FSDD} {DIGITS}")],  # the grid espeak makes its corpus
    ),
    Commands(
        "espeak",
        transcribers(
            "espeak",
            f"{LARGE} {SHORT} --time_pool_size 5",  # 30 ms, like three frames of the real twin
            f"{LARGE} {LONG} --time_pool_size 3 --num_mel_bins 80",
            "--generation_max_length 120",
        ),
        script="examples/speech/run_ctc.py",
        common=(
            f"--target_column ipa --keep_features true {parts(SYNTHETIC)} --sampling_rate 16000 "
            f"--num_train_epochs 20 --learning_rate 1e-3 --per_device_train_batch_size 8 {TRAINING}"
        ),
        needs=[
            Need(
                SYNTHETIC,
                "test.csv",
                "examples/phonetic-transcription/make_espeak_corpus.py --utterances 3500 --max_words 8 --processes 2 "
                f"--text_files $DATA/translation/multi30k/train.en.gz --output_dir {SYNTHETIC}",
            )
        ],
    ),
    Commands(  # overfits on purpose: training and validation use the same recordings
        "ljspeech",
        {"fully_spectral": f"{FULLY_SPECTRAL} {SHORT} --time_pool_size 5"},
        script="examples/speech/run_ctc.py",
        common=(
            f"--train_file {SENTENCES}/all.tsv --validation_file {SENTENCES}/all.tsv --overlap allow "
            "--audio_column file --target_column transcript --sampling_rate 16000 --normalize false "
            f"--keep_features true {LARGE} --hidden_dropout_prob 0 --attention_probs_dropout_prob 0 "
            f"--num_train_epochs 100 --learning_rate 1e-3 --per_device_train_batch_size 4 {TRAINING}"
        ),
        needs=[
            Need(SENTENCES, "wav", f"-m experiments.long_recording unpack --data {SENTENCES} --archives $DATA/speech"),
        ],
    ),
    Commands(  # transcribes ten of those recordings, joined into one file, in chunks
        "ljspeech-long",
        {"fully_spectral": "--model @ljspeech/fully_spectral"},
        script="-m experiments.long_recording read",
        common=f"--data {SENTENCES}",
        seed_options="",
    ),
)
