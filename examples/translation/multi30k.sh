#!/usr/bin/env bash
# Multi30k, English to German: embeddings in both number fields, one run for each seed. A run whose results exist is
# left out; one that was stopped goes on from its last checkpoint.
# Usage: bash examples/translation/multi30k.sh SEEDS [NAME ...]      (SEEDS: 0 or 0,1,2; default: every NAME)
#   SOURCE=de TARGET=en turns the direction round; RESULTS is the folder of results; OPTIONS="--num_train_epochs 30" is added to every run.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
SOURCE=${SOURCE:-en} TARGET=${TARGET:-de}
CPU=$("$PYTHON" -c "import torch; print(not torch.cuda.is_available())") # bfloat16 on the CPU must be asked for
# What validation chose for each: docs/decisions/0006-translation.md.
WAVE="--initializer_range 0.3" ADDED="--initializer_range 1.0"
COMPLEX="--number_field complex --attention_score real --norm_position post" REAL="--number_field real --norm_position pre"
declare -A ROWS=(
  [complex_order]="--embedding_type complex_order $COMPLEX --phase learned $WAVE"
  [complex_order-real]="--embedding_type complex_order $REAL --phase learned $WAVE"
  [complex_vanilla]="--embedding_type complex_vanilla $COMPLEX $WAVE"
  [sinusoidal_position]="--embedding_type sinusoidal_position $COMPLEX $ADDED"
  [sinusoidal_position-real]="--embedding_type sinusoidal_position $REAL $ADDED"
  [learned_position]="--embedding_type learned_position $COMPLEX $ADDED"
  [learned_position-real]="--embedding_type learned_position $REAL $ADDED"
)
choose "$@"

M=$DATA/translation/multi30k
run_rows "multi30k/$SOURCE-$TARGET" examples/translation/run_translation.py \
  --train_files "$M/train.$SOURCE.gz" "$M/train.$TARGET.gz" \
  --validation_files "$M/val.$SOURCE.gz" "$M/val.$TARGET.gz" \
  --test_files "$M/test_2016_flickr.$SOURCE.gz" "$M/test_2016_flickr.$TARGET.gz" --overlap drop \
  --lowercase true --vocab_size 6000 --hidden_size 256 --encoder_layers 3 --decoder_layers 3 --num_attention_heads 4 \
  --intermediate_size 512 --hidden_dropout_prob 0.15 --attention_probs_dropout_prob 0.0 --label_smoothing 0.1 \
  --num_train_epochs 12 --metric_for_best_model loss --per_device_train_batch_size 64 --learning_rate 1e-3 \
  --lr_scheduler_type linear --warmup_steps 300 --length_penalty 1.0 1.3 1.6 2.0 --bf16 true --use_cpu "$CPU"
