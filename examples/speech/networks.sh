# For the scripts of the tables of speech, which source it from the root of the repository: the networks that they compare.
# shellcheck shell=bash disable=SC2034 # the scripts use them
SHORT="--window_ms 12 --hop_ms 6" # a period or two of a voice; 25 ms did worse on validation
LONG="--window_ms 25 --hop_ms 10"
# Every bin on its own, means over time, positions as a rotation, scores Re(q k^H) and logits of both parts: each did better
# on validation than what the thesis has, most of all in transcription.
FILTERS="--bin_pool_size 1 --pooling average --position_phase rotate --attention_score real --attention_normalization softmax"
FULLY_SPECTRAL="--network fully_spectral --compression log $FILTERS --readout concat"
SPECTRAL_SCALED="--network spectral_scaled"
REAL="--network real"
DECODER="--decoder_layers 2 --label_smoothing 0.1"
