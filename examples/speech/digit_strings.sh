#!/usr/bin/env bash
# Strings of 3 to 7 spoken digits, put together from recordings of each part: the networks of the README, one run for each
# seed. A run whose results exist is left out; one that was stopped goes on from its last checkpoint.
# Usage: bash examples/speech/digit_strings.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   OPTIONS="--num_train_epochs 5" is added to every run; RESULTS is the folder of results.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-.venv/bin/python}
OPTIONS=${OPTIONS:-}
RESULTS=${RESULTS:-benchmarks/results}
RECIPE="--sampling_rate 8000 --hidden_size 128 --num_hidden_layers 3 --num_attention_heads 4 --intermediate_size 256
  --time_pool_size 2 --num_mel_bins 40 --num_train_epochs 40 --learning_rate 1e-3 --per_device_train_batch_size 16
  --concatenate 3 7 --string_counts 2000 300 300"
FILTERS="--bin_pool_size 1 --pooling average --position_phase rotate --attention_normalization softmax"
declare -A ROWS=(
  [fully_spectral]="--network fully_spectral --compression log $FILTERS"
  [spectral_scaled]="--network spectral_scaled"
  [real]="--network real"
  [fully_spectral-decoder]="--network fully_spectral --compression log $FILTERS --decoder_layers 2 --label_smoothing 0.1"
  [real-decoder]="--network real --decoder_layers 2 --label_smoothing 0.1"
)
[[ $# -gt 0 ]] || { sed -n 2,5p "$0"; exit 2; }
IFS=, read -ra SEEDS <<<"$1"
shift
[[ $# -gt 0 ]] || set -- "${!ROWS[@]}"
data=outputs/fsdd/data
[[ -e $data/test.csv ]] || "$PYTHON" examples/speech/fsdd.py --output_dir "$data"
for seed in "${SEEDS[@]}"; do
  for name in "$@"; do
    [[ -v ROWS[$name] ]] || { echo "no run $name; there are: ${!ROWS[*]}" >&2; exit 2; }
    results="$RESULTS/digit-strings/$name-seed-$seed.json"
    if [[ -e $results ]]; then echo "left out, as it has a result: $results"; continue; fi
    # shellcheck disable=SC2086 - the options of a row are words
    "$PYTHON" examples/speech/run_ctc.py ${ROWS[$name]} $RECIPE --target_column label \
      --train_file "$data/train.csv" --validation_file "$data/validation.csv" --test_file "$data/test.csv" \
      --disable_tqdm true --seed "$seed" --resume_from_checkpoint last --generation_max_length 10 \
      --output_dir "outputs/digit-strings/$name-seed-$seed" --output_json "$results" $OPTIONS
  done
done
