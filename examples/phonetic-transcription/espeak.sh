#!/usr/bin/env bash
# Phonetic transcription of synthetic speech, by CTC and by a decoder: the networks of the README, one run for each seed.
# The corpus is made first, where it is missing. A run whose results exist is left out; one that was stopped goes on.
# Usage: bash examples/phonetic-transcription/espeak.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   OPTIONS="--num_train_epochs 5" is added to every run; RESULTS is the folder of results.
set -euo pipefail
cd "$(dirname "$0")/../.."
DATA=${COMPLEX_TRANSFORMERS_DATA:-../shared/data}
PYTHON=${PYTHON:-.venv/bin/python}
OPTIONS=${OPTIONS:-}
RESULTS=${RESULTS:-benchmarks/results}
RECIPE="--sampling_rate 16000 --hidden_size 192 --num_hidden_layers 4 --num_attention_heads 4 --intermediate_size 512
  --time_pool_size 3 --num_train_epochs 30 --learning_rate 1e-3 --per_device_train_batch_size 16"
FILTERS="--network fully_spectral --compression log --bin_pool_size 1 --pooling average --position_phase rotate
  --attention_normalization softmax"
DECODER="--decoder_layers 2 --label_smoothing 0.1 --generation_max_length 120"
declare -A ROWS=(
  [fully_spectral]="$FILTERS"
  [spectral_scaled]="--network spectral_scaled"
  [real]="--network real"
  [fully_spectral-decoder]="$FILTERS $DECODER"
  [real-decoder]="--network real $DECODER"
)
[[ $# -gt 0 ]] || { sed -n 2,5p "$0"; exit 2; }
IFS=, read -ra SEEDS <<<"$1"
shift
[[ $# -gt 0 ]] || set -- "${!ROWS[@]}"
data=outputs/espeak-en
[[ -e $data/test.csv ]] || "$PYTHON" examples/phonetic-transcription/make_espeak_corpus.py --utterances 3500 --max_words 8 \
  --processes 2 --text_files "$DATA/translation/multi30k/train.en.gz" --output_dir "$data"
for seed in "${SEEDS[@]}"; do
  for name in "$@"; do
    [[ -v ROWS[$name] ]] || { echo "no run $name; there are: ${!ROWS[*]}" >&2; exit 2; }
    results="$RESULTS/espeak/$name-seed-$seed.json"
    if [[ -e $results ]]; then echo "left out, as it has a result: $results"; continue; fi
    # shellcheck disable=SC2086 - the options of a row are words
    "$PYTHON" examples/speech/run_ctc.py ${ROWS[$name]} $RECIPE --target_column ipa \
      --train_file "$data/train.csv" --validation_file "$data/validation.csv" --test_file "$data/test.csv" \
      --disable_tqdm true --seed "$seed" --resume_from_checkpoint last \
      --output_dir "outputs/espeak/$name-seed-$seed" --output_json "$results" $OPTIONS
  done
done
