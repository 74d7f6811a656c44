# For the scripts of the tables of speech, which source it from the root of the repository: the networks that they compare.
# shellcheck shell=bash disable=SC2034 # the scripts use them
SHORT="--window_ms 12 --hop_ms 6" # a period or two of a voice
LONG="--window_ms 25 --hop_ms 10"
# Every bin on its own, means over time, positions as a rotation, scores Re(q k^H) and logits of both parts: chosen on
# validation, docs/decisions/0007-positions-in-speech.md.
FILTERS="--bin_pool_size 1 --pooling average --position_phase rotate --attention_score real --attention_normalization softmax"
FULLY_SPECTRAL="--network fully_spectral --compression log $FILTERS --readout concat"
SPECTRAL_SCALED="--network spectral_scaled"
REAL="--network real"
DECODER="--decoder_layers 2 --label_smoothing 0.1"

# Rows that transcribe: by CTC, and by a decoder, which begins with the encoder that CTC has trained.
transcribers() { # SPECTRAL MEL WRITE: options of complex networks, of real ones and of decoders
  declare -gA ROWS=(
    [fully_spectral]="$FULLY_SPECTRAL $1"
    [fully_spectral-modulus]="$FULLY_SPECTRAL $1 --feature_type modulus"
    [spectral_scaled]="$SPECTRAL_SCALED $1"
    [real]="$REAL $2"
    [fully_spectral-decoder]="--model_name_or_path @fully_spectral $3"
    [real-decoder]="--model_name_or_path @real $3"
  )
}
