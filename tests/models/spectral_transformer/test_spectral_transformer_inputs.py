# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The CTC loss, the real twin, and input that is refused."""

import numpy as np
import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from small_spectral import build, clips, config, extractor, features, first

from complex_transformers import SpectralTransformerConfig, SpectralTransformerForCTC


def test_padding_says_blank():
    model = build(model_class=SpectralTransformerForCTC, time_pool_size=2, pad_token_id=3, vocab_size=6)
    batch = features("fully_spectral", clips(300, 100))
    logits = first(model, **batch)
    frames = model.output_lengths(batch["attention_mask"].sum(-1))
    assert (logits[1, frames[1] :].argmax(-1) == 3).all()
    assert logits.shape[1] == frames[0] > frames[1]


@pytest.mark.parametrize("network", ["fully_spectral", "spectral_scaled", "real"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_ctc_loss_of_short_clips_is_the_sum_over_all_paths(network, reduction):
    model = build(network, SpectralTransformerForCTC, vocab_size=3, ctc_loss_reduction=reduction)
    batch = features(network, clips(96, 64))  # five and three frames
    labels = torch.tensor([[1, 2, 2], [1, -100, -100]])
    with torch.no_grad():
        out = model(**batch, labels=labels)
    losses = []
    for row, length, target in ((0, 5, (1, 2, 2)), (1, 3, (1,))):
        probability = out.logits[row, :length].double().softmax(-1).numpy()
        total = 0.0
        for path in np.ndindex(*([3] * length)):
            merged = [s for t, s in enumerate(path) if t == 0 or s != path[t - 1]]
            if tuple(s for s in merged if s) == target:
                total += np.prod([probability[t, s] for t, s in enumerate(path)])
        losses.append(-np.log(total) / (len(target) if reduction == "mean" else 1))
    expected = sum(losses) if reduction == "sum" else np.mean(losses)
    assert out.loss.item() == pytest.approx(expected, rel=1e-5)


def test_real_twin_has_the_same_widths_and_no_complex_numbers():
    one = config("rotate")
    twin = one.real_twin(feature_size=10)
    assert (twin.number_field, twin.attention_score, twin.attention_normalization) == ("real", "real", "softmax")
    assert (twin.position_phase, twin.frequency_kernel, twin.bin_pool_size) == ("add", False, 1)
    assert (twin.hidden_size, twin.intermediate_size) == (one.hidden_size, one.intermediate_size)
    assert config("spectral_scaled").real_twin().variant == "fully_spectral"


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"variant": "spectral_scaled", "number_field": "complex"}, "number_field must be 'real' for variant"),
        (
            {"number_field": "real", "position_phase": "rotate"},
            "position_phase must be 'add' or 'none' with number_field='real', got 'rotate'",
        ),
        ({"feature_size": 401}, "feature_size must be even .*, got 401"),
        ({"input_projection": False}, "hidden_size must be 202 without projection, got 512"),
        (
            {"variant": "spectral_scaled", "attention_normalization": "split_softmax"},
            "got 'split_softmax'",
        ),
    ],
)
def test_bad_configuration(settings, match):
    with pytest.raises(StrictDataclassClassValidationError, match=match):
        SpectralTransformerConfig(**settings)


@pytest.mark.parametrize(
    ("feature_type", "settings", "match"),
    [
        ("frames", {}, r"feature_type of the extractor must be one of \['modulus', .*, got 'frames' for variant="),
        ("spectrum", {"variant": "spectral_scaled"}, r"must be one of \['frames'\], got 'spectrum'"),
    ],
)
def test_extractor_that_does_not_fit(feature_type, settings, match):
    with pytest.raises(ValueError, match=match):
        SpectralTransformerConfig.from_extractor(extractor(feature_type=feature_type), **settings)


GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
def test_labels_longer_than_their_clip(device):
    model = build(model_class=SpectralTransformerForCTC, vocab_size=5).to(device)
    batch = features("fully_spectral", clips(100, 64)).to(device)
    with pytest.raises(
        ValueError, match=r"labels of row 1 must fit into 3 frames, got labels that need 4\. .*zero_infinity=True"
    ):
        model(**batch, labels=torch.tensor([[1, 2, 3, 4], [1, 1, 2, -100]], device=device))


def test_bad_input():
    model = build(model_class=SpectralTransformerForCTC, vocab_size=5)
    batch = features("fully_spectral", clips(100, 64))
    x = batch["input_features"]
    with pytest.raises(ValueError, match=r"feature_size=34\], got \(2, 6, 30\)\. .*from_extractor"):
        model(x[..., :30])
    with pytest.raises(ValueError, match=r"non-empty .*, got \(2, 0, 34\)"):
        model(x[:, :0])
    with pytest.raises(TypeError, match=r"complex64\. Use nn\.from_complex"):
        model(torch.zeros(2, 6, 17, dtype=torch.complex64))
    with pytest.raises(ValueError, match=r"labels must be \[batch=2, symbols\], got \(1, 2\)"):
        model(**batch, labels=torch.ones(1, 2, dtype=torch.long))
    with pytest.raises(ValueError, match=r"id of the CTC blank, got None\. Use tokenizer\.pad_token_id"):
        SpectralTransformerForCTC(config(vocab_size=5, pad_token_id=None))
