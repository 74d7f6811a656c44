#!/usr/bin/env bash
# 100 utterances of LJ Speech, learned by heart: the model trains, is chosen and is tested on the same recordings. Then it
# reads some of them joined into one long file, in chunks.
# Usage: bash examples/speech/ljspeech.sh SEED
#   OPTIONS="--num_train_epochs 5" is added to the run.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ $# -eq 1 ]] || { sed -n 2,5p "$0"; exit 2; }
DATA=${COMPLEX_TRANSFORMERS_DATA:-../shared/data}
PYTHON=${PYTHON:-.venv/bin/python}
OPTIONS=${OPTIONS:-}
data=outputs/ljspeech/data
out=outputs/ljspeech/seed-$1
mkdir -p "$data"
[[ -e $data/wav ]] || tar -xzf "$DATA/speech/ljspeech100.tar.gz" -C "$data" --strip-components 1
cp "$DATA/speech/ljspeech100-transcripts.tsv" "$data/all.tsv"
# shellcheck disable=SC2086 - options are words
"$PYTHON" examples/speech/run_ctc.py --train_file "$data/all.tsv" --validation_file "$data/all.tsv" --overlap allow \
  --audio_column file --target_column transcript --sampling_rate 16000 --normalize false --network fully_spectral \
  --compression log --bin_pool_size 1 --pooling average --position_phase rotate --attention_normalization softmax \
  --hidden_size 192 --num_hidden_layers 4 --num_attention_heads 4 --intermediate_size 512 --time_pool_size 2 \
  --hidden_dropout_prob 0 --attention_probs_dropout_prob 0 --num_train_epochs 150 --learning_rate 1e-3 \
  --per_device_train_batch_size 8 --disable_tqdm true --seed "$1" --resume_from_checkpoint last --output_dir "$out" $OPTIONS
"$PYTHON" - "$data" <<'EOF'
import sys
from pathlib import Path

import numpy as np
import soundfile

recordings = [soundfile.read(path) for path in sorted(Path(sys.argv[1], "wav").glob("*.wav"))[:10]]
soundfile.write(Path(sys.argv[1]) / "long.wav", np.concatenate([wave for wave, _ in recordings]), recordings[0][1])
EOF
"$PYTHON" examples/speech/transcribe.py --model "$out" "$data/long.wav" --chunk_length_s 20 --stride_length_s 3 \
  --output_file "$out/long.json"
