#!/usr/bin/env bash
# Phonetic transcription of synthetic speech, by CTC and by a decoder: the networks of the README, one run for each seed.
# The corpus is made first, where it is missing. A run whose results exist is left out; one that was stopped goes on.
# A decoder begins with the encoder that CTC has trained.
# Usage: bash examples/phonetic-transcription/espeak.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   OPTIONS="--num_train_epochs 5" is added to every run; RESULTS is the folder of results.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
source examples/speech/networks.sh
SIZES="--hidden_size 192 --num_hidden_layers 4 --num_attention_heads 4 --intermediate_size 512"
SHORT="$SHORT --time_pool_size 5" # 30 ms, as the three frames of the twin
MEL="$LONG --time_pool_size 3 --num_mel_bins 80"
WRITE="$DECODER --generation_max_length 120"
transcribers "$SIZES $SHORT" "$SIZES $MEL" "$WRITE"
choose "$@"

data=outputs/espeak-en
[[ -e $data/test.csv ]] || "$PYTHON" examples/phonetic-transcription/make_espeak_corpus.py --utterances 3500 --max_words 8 \
  --processes 2 --text_files "$DATA/translation/multi30k/train.en.gz" --output_dir "$data"
run_rows espeak examples/speech/run_ctc.py --target_column ipa --keep_features true \
  --train_file "$data/train.csv" --validation_file "$data/validation.csv" --test_file "$data/test.csv" \
  --sampling_rate 16000 --num_train_epochs 20 --learning_rate 1e-3 --per_device_train_batch_size 8 --train_sampling_strategy group_by_length
