#!/usr/bin/env bash
# The TREC table of the README: five embedding types and their real twins, five seeds each.
# Usage: bash examples/text-classification/trec.sh [NAME ...]    (default: every row; TREC names the data folder)
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
TREC=${TREC:-$DATA/classification/trec}
declare -A ROWS=(
  [complex_order]="--embedding_type complex_order --number_field complex"
  [complex_order-real]="--embedding_type complex_order --number_field real"
  [complex_vanilla]="--embedding_type complex_vanilla --number_field complex"
  [complex_vanilla-real]="--embedding_type complex_vanilla --number_field real"
  [word]="--embedding_type word --number_field complex"
  [word-real]="--embedding_type word --number_field real"
  [learned_position]="--embedding_type learned_position --number_field complex"
  [learned_position-real]="--embedding_type learned_position --number_field real"
  [sinusoidal_position]="--embedding_type sinusoidal_position --number_field complex --initializer_range 0.2"
  [sinusoidal_position-real]="--embedding_type sinusoidal_position --number_field real --initializer_range 0.2"
)
choose - "$@" # every run has its own five seeds
for name in "${NAMES[@]}"; do
  # shellcheck disable=SC2086 - the options of a row are words
  "$PYTHON" examples/text-classification/run_classification.py ${ROWS[$name]} \
    --train_file "$TREC/train.tsv.gz" --test_file "$TREC/test.tsv.gz" --overlap drop \
    --seeds 0 1 2 3 4 --num_train_epochs 8 --learning_rate 1e-3 --warmup_steps 0.1 --weight_decay 0.01 \
    --per_device_train_batch_size 32 --train_sampling_strategy group_by_length --save_only_model true \
    --hidden_dropout_prob 0.6 --norm_position pre --min_frequency 2 \
    --output_dir "outputs/trec/$name" --output_json "benchmarks/results/trec/$name.json"
done
