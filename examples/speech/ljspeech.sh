#!/usr/bin/env bash
# 100 utterances of LJ Speech, learned by heart: the model trains and is chosen on the same recordings. Then it reads ten
# of them joined into one long file, in chunks.
# Usage: bash examples/speech/ljspeech.sh SEEDS      (0 or 0,1,2)
#   OPTIONS="--num_train_epochs 5" is added to every run; RESULTS is the folder of results.
set -euo pipefail
cd "$(dirname "$0")/../.."
source examples/runs.sh
source examples/speech/networks.sh
declare -A ROWS=(
  [fully_spectral]="$FULLY_SPECTRAL $SHORT --time_pool_size 5"
)
choose "$@"

data=outputs/ljspeech/data
mkdir -p "$data"
[[ -e $data/wav ]] || tar -xzf "$DATA/speech/ljspeech100.tar.gz" -C "$data" --strip-components 1
cp "$DATA/speech/ljspeech100-transcripts.tsv" "$data/all.tsv"
run_rows ljspeech examples/speech/run_ctc.py --train_file "$data/all.tsv" --validation_file "$data/all.tsv" --overlap allow \
  --audio_column file --target_column transcript --sampling_rate 16000 --normalize false --keep_features true \
  --hidden_size 192 --num_hidden_layers 4 --num_attention_heads 4 --intermediate_size 512 \
  --hidden_dropout_prob 0 --attention_probs_dropout_prob 0 --num_train_epochs 100 --learning_rate 1e-3 \
  --per_device_train_batch_size 4 --train_sampling_strategy group_by_length

"$PYTHON" - "$data" <<'EOF'
import csv
import sys
from pathlib import Path

import numpy as np
import soundfile

data = Path(sys.argv[1])
with open(data / "all.tsv", encoding="utf-8") as table:
    rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))[:10]
waves = [soundfile.read(data / row["file"]) for row in rows]
soundfile.write(data / "long.wav", np.concatenate([wave for wave, _ in waves]), waves[0][1])
(data / "long.txt").write_text(" ".join(row["transcript"] for row in rows), encoding="utf-8")
EOF
for seed in "${SEEDS[@]}"; do
  model=$(output_of ljspeech fully_spectral "$seed")
  "$PYTHON" examples/speech/transcribe.py --model "$model" "$data/long.wav" --chunk_length_s 9 --stride_length_s 2 \
    --output_file "$model/long.json"
  "$PYTHON" - "$model/long.json" "$data/long.txt" "$RESULTS/ljspeech/long-seed-$seed.json" <<'EOF'
import json
import sys
from pathlib import Path

from complex_transformers import TranscriptionMetric

transcript, reference, results = map(Path, sys.argv[1:])
[read] = json.loads(transcript.read_text(encoding="utf-8"))
scores = TranscriptionMetric().compute(predictions=[read["text"]], references=[reference.read_text(encoding="utf-8")])
results.write_text(json.dumps({**read, **scores}, indent=2) + "\n", encoding="utf-8")
print(f"{read['seconds']:.0f} s in chunks: label error rate {scores['label_error_rate']:.4f}")
EOF
done
