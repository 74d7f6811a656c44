#!/usr/bin/env bash
# Spoken digits: the networks and features of the README, one run for each seed. A run whose results exist is left out;
# one that was stopped goes on from its last checkpoint.
# Usage: bash examples/speech/fsdd.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   LEAVE_OUT=theo tests on a speaker that does not train; RESULTS is the folder of results; OPTIONS="--num_train_epochs 5" is added to every run.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
source examples/speech/networks.sh
LEAVE_OUT=${LEAVE_OUT:-}
SHORT="$SHORT --time_pool_size 4"
LONG="$LONG --time_pool_size 2"
MEL="$LONG --num_mel_bins 40"
PHASE="--feature_type phase --compression none"
declare -A ROWS=(
  [fully_spectral]="$FULLY_SPECTRAL $SHORT"
  [fully_spectral-modulus]="$FULLY_SPECTRAL $SHORT --feature_type modulus"
  [fully_spectral-phase]="$FULLY_SPECTRAL $SHORT $PHASE"
  [fully_spectral-25ms]="$FULLY_SPECTRAL $LONG"
  [fully_spectral-25ms-modulus]="$FULLY_SPECTRAL $LONG --feature_type modulus"
  [fully_spectral-25ms-phase]="$FULLY_SPECTRAL $LONG $PHASE"
  [fully_spectral-thesis]="--network fully_spectral --compression log $SHORT" # largest modulus of two bins, positions added
  [spectral_scaled]="$SPECTRAL_SCALED $SHORT"
  [real]="$REAL $MEL"
  [real-mfcc]="$REAL $MEL --feature_type mfcc"
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
