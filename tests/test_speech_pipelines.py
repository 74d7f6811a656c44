# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""pipeline() for speech: audio classification, recognition by CTC with batches and chunks, and by a decoder."""

import json

import numpy as np
import pytest
import torch
from transformers import (
    Wav2Vec2Config,
    Wav2Vec2CTCTokenizer,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForSequenceClassification,
    pipeline,
)

from complex_transformers import (
    CharacterNGram,
    CTCBeamSearchDecoder,
    SpectralFeatureExtractor,
    SpectralTransformerConfig,
    SpectralTransformerForAudioClassification,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerProcessor,
    build_ctc_tokenizer,
    build_tokenizer,
    read_audio,
)
from refusals import refused

RATE = 8000
SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SYMBOLS = ["<pad>", "<s>", "</s>", "<unk>", "|", *"abcdefgh"]
NETWORKS = {
    "fully_spectral": ({}, {"time_pool_size": 2}),
    "spectral_scaled": ({"feature_type": "frames"}, {"variant": "spectral_scaled"}),
    "real": ({"feature_type": "log_mel", "num_mel_bins": 40}, {"number_field": "real"}),
}


@pytest.fixture(scope="module", params=NETWORKS)
def folder(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(request.param)
    (root / "vocab.json").write_text(json.dumps({symbol: i for i, symbol in enumerate(SYMBOLS)}))
    tokenizer = Wav2Vec2CTCTokenizer(root / "vocab.json", pad_token="<pad>", word_delimiter_token="|")
    settings, own = NETWORKS[request.param]
    extractor = SpectralFeatureExtractor(sampling_rate=RATE, normalize=False, **settings)
    config = SpectralTransformerConfig.from_extractor(
        extractor,
        **SIZES,
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        id2label={0: "yes", 1: "no", 2: "maybe"},
        **own,
    )
    torch.manual_seed(0)
    for head in (SpectralTransformerForAudioClassification, SpectralTransformerForCTC):
        head(config).save_pretrained(root / head.__name__)
        extractor.save_pretrained(root / head.__name__)
        tokenizer.save_pretrained(root / head.__name__)
    return root


def waves():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(n).astype(np.float32) for n in (4000, 6400, 2000)]


def logits_of(saved, wave):
    """What the model of a pipeline says of one clip."""
    with torch.no_grad():
        return saved.model(**saved.feature_extractor(wave, sampling_rate=RATE, return_tensors="pt")).logits[0]


def test_audio_classification(folder):
    path = str(folder / "SpectralTransformerForAudioClassification")
    classify = pipeline("audio-classification", model=path, top_k=3)
    for wave, batched in zip(waves(), classify(waves(), batch_size=3), strict=True):
        expected = dict(zip(("yes", "no", "maybe"), logits_of(classify, wave).softmax(-1).tolist(), strict=True))
        for found in (classify(wave), batched):
            assert {row["label"]: row["score"] for row in found} == pytest.approx(expected, abs=1e-5)
    refused("must have at least 200 samples, got 150", classify, waves()[0][:150])


def best_path(recognize, wave):
    """The symbols of the best path: repeats merged, blanks left out, | as a space."""
    ids = logits_of(recognize, wave).argmax(-1).tolist()
    merged = [s for t, s in enumerate(ids) if t == 0 or s != ids[t - 1]]
    return " ".join("".join(SYMBOLS[s] for s in merged if s != 0).replace("|", " ").split())


def test_recognition_alone_and_in_a_batch(folder):
    recognize = pipeline("automatic-speech-recognition", model=str(folder / "SpectralTransformerForCTC"))
    expected = [best_path(recognize, wave) for wave in waves()]
    assert all(expected)
    assert [recognize(wave)["text"] for wave in waves()] == expected
    assert [out["text"] for out in recognize(waves(), batch_size=3)] == expected
    assert recognize({"raw": waves()[0], "sampling_rate": RATE})["text"] == expected[0]


def test_beam_search_in_the_pipeline(folder):
    path = folder / "SpectralTransformerForCTC"
    decoder = CTCBeamSearchDecoder(Wav2Vec2CTCTokenizer.from_pretrained(path), 8, CharacterNGram(["abba", "cab"]))
    recognize = pipeline("automatic-speech-recognition", model=str(path), decoder=decoder)
    expected = [decoder.decode(logits_of(recognize, wave)) for wave in waves()]
    assert [recognize(wave)["text"] for wave in waves()] == expected
    assert [out["text"] for out in recognize(waves(), batch_size=3)] == expected


def test_chunks_give_the_whole_where_frames_do_not_look_around(folder):
    recognize = pipeline("automatic-speech-recognition", model=str(folder / "SpectralTransformerForCTC"))
    model = recognize.model
    assert model.config.inputs_to_logits_ratio == 80 * model.config.time_pool_size
    # Without layers and positions a frame of logits is a function of its own samples: chunks must line up.
    model.model.layers = torch.nn.ModuleList()
    model.model.embedding.position_phase = "none"
    wave = np.random.default_rng(1).standard_normal(20000).astype(np.float32)
    whole = recognize(wave)["text"]
    assert len(whole) > 10
    for batch_size in (1, 3):
        assert recognize(wave, chunk_length_s=0.6, stride_length_s=0.1, batch_size=batch_size)["text"] == whole
    stamped = recognize(wave, return_timestamps="char")["chunks"]
    assert 0 <= stamped[0]["timestamp"][0] < stamped[-1]["timestamp"][1] <= 2.5 + 0.02


@pytest.mark.parametrize("stride", [0.05, 0.13])
def test_chunks_of_long_steps_need_audio_of_whole_steps(folder, stride):
    path = folder / "SpectralTransformerForCTC"
    config = SpectralTransformerConfig.from_pretrained(path, time_pool_size=4, position_phase="none")
    torch.manual_seed(0)
    model = SpectralTransformerForCTC(config).eval()
    model.model.layers = torch.nn.ModuleList()
    parts = {"feature_extractor": SpectralFeatureExtractor.from_pretrained(path)}
    parts["tokenizer"] = Wav2Vec2CTCTokenizer.from_pretrained(path)
    recognize = pipeline("automatic-speech-recognition", model=model, **parts)
    wave = np.random.default_rng(2).standard_normal(20000).astype(np.float32)
    for size in range(19700, 20020, 40):
        filled = np.pad(wave[:size], (0, -size % config.inputs_to_logits_ratio))
        whole = recognize(filled)["text"]
        assert recognize(filled, chunk_length_s=0.6, stride_length_s=stride)["text"] == whole


@pytest.fixture(scope="module")
def transcribe(tmp_path_factory):
    root = tmp_path_factory.mktemp("decoder")
    tokenizer = build_tokenizer(["abcdefgh"], kind="character", append_eos=True)
    extractor = SpectralFeatureExtractor(sampling_rate=RATE)
    symbols = {
        "vocab_size": len(tokenizer),
        "decoder_layers": 1,
        "bos_token_id": tokenizer.bos_token_id,
        "decoder_start_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "initializer_range": 1.0,
    }
    torch.manual_seed(0)
    config = SpectralTransformerConfig.from_extractor(extractor, decoder=symbols, **SIZES)
    SpectralTransformerForConditionalGeneration(config).save_pretrained(root)
    SpectralTransformerProcessor(extractor, tokenizer).save_pretrained(root)
    return pipeline("complex-speech2text", model=str(root))


def test_speech_to_text_alone_and_in_a_batch(transcribe):
    options = {"max_new_tokens": 7, "suppress_tokens": [0, 1, 2, 3, 4], "no_repeat_ngram_size": 1}
    texts = {}
    for beams in (1, 3):
        expected = []
        for wave in waves():
            inputs = transcribe.feature_extractor(wave, sampling_rate=RATE, return_tensors="pt")
            ids = transcribe.model.generate(**inputs, num_beams=beams, **options)[0]
            expected.append(transcribe.tokenizer.decode(ids, skip_special_tokens=True))
        assert all(len(text) == 7 for text in expected)
        assert [transcribe(wave, num_beams=beams, **options)["text"] for wave in waves()] == expected
        batched = transcribe(waves(), batch_size=3, num_beams=beams, **options)
        assert [out["text"] for out in batched] == expected
        texts[beams] = expected
    # By one beam where nothing else is said.
    assert [transcribe(wave, **options)["text"] for wave in waves()] == texts[1] != texts[3]


def test_pipelines_of_transformers_resample(folder):
    wave = waves()[0]
    fast = {"raw": wave, "sampling_rate": 2 * RATE}
    slow = read_audio({"array": wave, "sampling_rate": 2 * RATE}, RATE)
    classify = pipeline("audio-classification", model=str(folder / "SpectralTransformerForAudioClassification"))
    assert classify(fast) == classify(slow) != classify(wave)
    refused("must have one channel, got 2", classify, {"raw": np.stack([wave, wave]), "sampling_rate": 2 * RATE})
    recognize = pipeline("automatic-speech-recognition", model=str(folder / "SpectralTransformerForCTC"))
    assert recognize(fast) == recognize(slow)
    assert recognize({"array": np.stack([2 * wave, 0 * wave]), "sampling_rate": 2 * RATE}) == recognize(slow)
    # What a chunk shares with its neighbours is said in samples as they were given.
    chunk = {"raw": slow, "sampling_rate": RATE, "stride": (800, 400)}
    assert recognize({**fast, "stride": (1600, 800)}) == recognize(chunk)
    assert "stride" not in fast
    assert fast["sampling_rate"] == 2 * RATE


def test_models_of_other_packages_have_the_pipeline_of_transformers(folder, monkeypatch):
    """Which asks for torchaudio, where there is none."""
    monkeypatch.setattr("transformers.pipelines.audio_classification.is_torchaudio_available", lambda: False)
    extractor = Wav2Vec2FeatureExtractor(sampling_rate=RATE)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = Wav2Vec2Config(**sizes, conv_dim=[8], conv_kernel=[400], conv_stride=[200], num_conv_pos_embeddings=8)
    theirs = Wav2Vec2ForSequenceClassification(config)
    classify = pipeline("audio-classification", model=theirs, feature_extractor=extractor)
    assert len(classify(waves()[0])) == 2
    refused("torchaudio", classify, {"raw": waves()[0], "sampling_rate": 2 * RATE}, error=ImportError)


def test_speech_to_text_refuses_what_it_cannot_do(transcribe, folder):
    for name, value in (("chunk_length_s", 5), ("return_timestamps", "char")):
        with pytest.raises(ValueError, match=f"{name} must not be given without a CTC model, got {value!r}"):
            transcribe(waves()[0], **{name: value})
    recognize = pipeline("automatic-speech-recognition", model=transcribe.model.name_or_path)
    refused(r"decoder_input_ids must be .* pipeline\('complex-speech2text'\)", recognize, waves()[0])
    ctc = SpectralTransformerForCTC.from_pretrained(folder / "SpectralTransformerForCTC")
    parts = {"feature_extractor": transcribe.feature_extractor, "tokenizer": build_ctc_tokenizer(["abc"])}
    with pytest.raises(ValueError, match=r"must be an encoder-decoder .* got SpectralTransformerForCTC"):
        pipeline("complex-speech2text", model=ctc, **parts)
    with pytest.raises(ValueError, match="must not be made for CTC, got Wav2Vec2CTCTokenizer"):
        pipeline("complex-speech2text", model=transcribe.model, **parts)


def test_speech_to_text_resamples_and_refuses_channels(transcribe):
    wave = waves()[0]
    for samples in (np.stack([wave, -wave]), torch.zeros(2, 4000)):
        with pytest.raises(ValueError, match=r"must be one waveform \[samples\], got shape \(2, \d+\). Average"):
            transcribe({"raw": samples, "sampling_rate": RATE})
        refused("Average or select channels", transcribe, samples)
    fast = {"array": wave, "sampling_rate": 2 * RATE, "path": "clip.wav"}
    expected = transcribe(read_audio(fast, RATE), max_new_tokens=7)["text"]
    assert transcribe(fast, max_new_tokens=7)["text"] == expected
    assert sorted(fast) == ["array", "path", "sampling_rate"]  # what was given is as it was
