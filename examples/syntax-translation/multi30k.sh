#!/usr/bin/env bash
# SynCoNMT on Multi30k, English to German, and its real twins: one run for each seed. Parsers and the parsed corpus are
# made first, where they are missing. A run whose results exist is left out; one that was stopped goes on.
# Usage: bash examples/syntax-translation/multi30k.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   OPTIONS="--num_train_epochs 20" is added to every run.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
EXAMPLE=examples/syntax-translation
CPU=$("$PYTHON" -c "import torch; print(not torch.cuda.is_available())") # bfloat16 on the CPU must be asked for
WORDS="--number_field real --use_relations false"
declare -A ROWS=(
  [synconmt-b]="--attention_type bahdanau"
  [bahdanau]="--attention_type bahdanau $WORDS"
  [bahdanau-relations]="--attention_type bahdanau --number_field real"
  [synconmt-l]="--attention_type luong"
  [luong]="--attention_type luong $WORDS"
  [luong-relations]="--attention_type luong --number_field real"
)
choose "$@"

[[ -e outputs/parser-en/meta.json && -e $RESULTS/parsers/en.json ]] || "$PYTHON" $EXAMPLE/train_parser.py --language en --epochs 12 \
  --train_files "$DATA/syntax/en_ewt-train.conllu.gz" --dev_files "$DATA/syntax/en_ewt-dev.conllu.gz" \
  --test_files "$DATA/syntax/en_ewt-test.conllu.gz" \
  --output_dir outputs/parser-en --output_json "$RESULTS/parsers/en.json"
[[ -e outputs/parser-de/meta.json && -e $RESULTS/parsers/de.json ]] || "$PYTHON" $EXAMPLE/train_parser.py --language de --epochs 20 \
  --train_files "$DATA/syntax/de_gsd-dev.conllu.gz" "$DATA/syntax/de_lit-all.conllu.gz" --dev_split 0.1 \
  --test_files "$DATA/syntax/de_gsd-test.conllu.gz" \
  --output_dir outputs/parser-de --output_json "$RESULTS/parsers/de.json"
M=$DATA/translation/multi30k
[[ -e outputs/multi30k-parsed/parsers.json ]] || "$PYTHON" $EXAMPLE/prepare.py --n_process 2 --sentences join \
  --train_files "$M/train.en.gz" "$M/train.de.gz" --validation_files "$M/val.en.gz" "$M/val.de.gz" \
  --test_files "$M/test_2016_flickr.en.gz" "$M/test_2016_flickr.de.gz" --overlap drop \
  --source_parser outputs/parser-en --target_parser outputs/parser-de --output_dir outputs/multi30k-parsed

run_rows synconmt $EXAMPLE/run_synconmt.py --data_dir outputs/multi30k-parsed --lowercase true \
  --min_frequency 2 --hidden_size 256 --hidden_dropout_prob 0.3 --label_smoothing 0.1 \
  --num_train_epochs 10 --per_device_train_batch_size 64 --learning_rate 1e-3 --lr_scheduler_type linear \
  --warmup_steps 300 --metric_for_best_model loss --length_penalty 0.6 1.0 1.4 --bf16 true --use_cpu "$CPU"
