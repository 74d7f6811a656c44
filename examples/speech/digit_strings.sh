#!/usr/bin/env bash
# Strings of 3 to 7 spoken digits, put together from recordings of each part: the networks of the README, one run for each
# seed. A run whose results exist is left out; one that was stopped goes on from its last checkpoint.
# A decoder begins with the encoder that CTC has trained.
# Usage: bash examples/speech/digit_strings.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   OPTIONS="--num_train_epochs 5" is added to every run; RESULTS is the folder of results.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
source examples/speech/networks.sh
SIZES="--hidden_size 128 --num_hidden_layers 3 --num_attention_heads 4 --intermediate_size 256"
SHORT="$SHORT --time_pool_size 4"
MEL="$LONG --time_pool_size 2 --num_mel_bins 40"
WRITE="$DECODER --generation_max_length 10"
transcribers "$SIZES $SHORT" "$SIZES $MEL" "$WRITE"
choose "$@"

data=outputs/fsdd/data
[[ -e $data/test.csv ]] || "$PYTHON" examples/speech/fsdd.py --output_dir "$data"
run_rows digit-strings examples/speech/run_ctc.py --target_column label --concatenate 3 7 --string_counts 1000 300 300 \
  --train_file "$data/train.csv" --validation_file "$data/validation.csv" --test_file "$data/test.csv" \
  --sampling_rate 8000 --num_train_epochs 40 --learning_rate 1e-3 --per_device_train_batch_size 8
