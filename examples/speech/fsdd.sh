#!/usr/bin/env bash
# Spoken digits: the networks and features of the README, one run for each seed. A run whose results exist is left out;
# one that was stopped goes on from its last checkpoint.
# Usage: bash examples/speech/fsdd.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   LEAVE_OUT=theo tests on a speaker that does not train; RESULTS is the folder of results; OPTIONS="--num_train_epochs 5" is added to every run.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
LEAVE_OUT=${LEAVE_OUT:-}
SHORT="--window_ms 12 --hop_ms 6 --time_pool_size 4" # a period or two of a voice; 25 ms did worse on validation
LONG="--window_ms 25 --hop_ms 10 --time_pool_size 2"
MEL="$LONG --num_mel_bins 40"
FILTERS="--bin_pool_size 1 --pooling average --position_phase rotate --attention_normalization softmax"
declare -A ROWS=(
  [fully_spectral]="--network fully_spectral --compression log $FILTERS $SHORT"
  [fully_spectral-modulus]="--network fully_spectral --feature_type modulus --compression log $FILTERS $SHORT"
  [fully_spectral-phase]="--network fully_spectral --feature_type phase $FILTERS $SHORT"
  [fully_spectral-25ms]="--network fully_spectral --compression log $FILTERS $LONG"
  [fully_spectral-25ms-modulus]="--network fully_spectral --feature_type modulus --compression log $FILTERS $LONG"
  [fully_spectral-25ms-phase]="--network fully_spectral --feature_type phase $FILTERS $LONG"
  [fully_spectral-thesis]="--network fully_spectral --compression log $SHORT" # largest modulus of two bins, positions added
  [spectral_scaled]="--network spectral_scaled $SHORT"
  [real]="--network real $MEL"
  [real-mfcc]="--network real --feature_type mfcc $MEL"
)
choose "$@"

split=fsdd${LEAVE_OUT:+-leave-out/$LEAVE_OUT}
data=outputs/$split/data
[[ -e $data/test.csv ]] || "$PYTHON" examples/speech/fsdd.py --output_dir "$data" ${LEAVE_OUT:+--leave_out "$LEAVE_OUT"}
run_rows "$split" examples/speech/run_audio_classification.py \
  --train_file "$data/train.csv" --validation_file "$data/validation.csv" --test_file "$data/test.csv" \
  --sampling_rate 8000 --hidden_size 128 --num_hidden_layers 3 --num_attention_heads 4 --intermediate_size 256 \
  --num_train_epochs 40 --learning_rate 1e-3 --per_device_train_batch_size 32 \
  --train_sampling_strategy group_by_length --keep_features true
