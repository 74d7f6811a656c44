# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What is special to the encoder; test_text_classifiers_oracle.py has its oracle."""

import copy
import math

import pytest
import torch
from transformers import AutoModelForMaskedLM

from complex_transformers import ComplexOrderModel
from complex_transformers.nn import ComplexLayerNorm, ComplexLinear
from families import CASES, Case
from family_inputs import batch, rows

VARIANTS = [case for case in CASES if case.family == "complex_order"]
WORDS = Case("complex_order", "words")
BATCH_NORM = Case("complex_order", "tied, batch norm")


@pytest.mark.parametrize(("init", "std"), [("normal", 1.0), ("uniform", math.pi / math.sqrt(3))])
def test_frequencies_start_as_configured(init, std):
    frequency = WORDS.build(vocab_size=500, hidden_size=128, frequency_init=init).model.embed_tokens.frequency
    assert frequency.std().item() == pytest.approx(std, abs=0.03)
    assert init == "normal" or frequency.abs().max() <= math.pi


@pytest.mark.parametrize("layer", ["whitening", "without bias"])
def test_layers_of_ones_own_start_as_any_other(tmp_path, layer):
    """Of a model from our layers, new and where a file does not hold them.

    The base class sets weight 1 wherever a class name says LayerNorm; the gain is I / sqrt 2 in our own parameter. A
    dense layer without bias has no tensor of its own, which Transformers takes for a sign that it has been loaded.
    """

    class Extended(ComplexOrderModel):
        def __init__(self, config):
            super().__init__(config)
            self.whitening = ComplexLayerNorm(config.hidden_size, norm="whitening")
            self.dense = ComplexLinear(128, 256, bias=False)
            self.post_init()

    config = WORDS.config()
    ComplexOrderModel(config).save_pretrained(tmp_path)
    for model in (Extended(config), Extended.from_pretrained(tmp_path)):
        if layer == "whitening":
            gain = torch.tensor([[0.5**0.5], [0.0], [0.5**0.5]]).expand(3, 8)
            torch.testing.assert_close(model.whitening.affine.gain.detach(), gain)
            assert not model.whitening.affine.bias.any()
        else:
            for part in (model.dense.real, model.dense.imag):
                assert part.weight.var().item() == pytest.approx(1.0 / (64 + 128), rel=0.12)


def test_batch_norm_statistics_leave_padding_out():
    model = BATCH_NORM.without_dropout()
    other, texts = copy.deepcopy(model), rows(model, (6, 6, 6, 6))
    before = dict(copy.deepcopy(model).named_buffers())
    plain = model(**batch(texts)).logits
    torch.testing.assert_close(other(**batch(texts, "left", 5)).logits[:, 5:], plain, atol=1e-5, rtol=1e-5)
    for (name, value), found in zip(model.named_buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(found, value, atol=1e-5, rtol=1e-5)
        assert not torch.equal(value, before[name])


@pytest.mark.parametrize("field", ["complex", "real"])
def test_sdpa_returns_no_weights(field):
    """Had it fallen back to eager, it would: that both give the same states would say nothing."""
    model = WORDS.build(number_field=field, attention_score="real", attn_implementation="sdpa")
    assert model.model.layers[0].self_attn(torch.randn(1, 3, 16))[1] is None


@pytest.mark.parametrize("case", VARIANTS, ids=str)
def test_attention_weights_are_of_words(case):
    model = case.build(attn_implementation="eager")
    out = model(**batch(rows(model, (5, 3))), output_attentions=True)
    for weights in out.attentions:
        complex_weights = model.config.attention_normalization == "split_softmax"
        for part in weights.chunk(2, -1) if complex_weights else [weights]:
            assert part.shape == (2, 2, 5, 5)
            assert part[1, :, :, 3:].abs().max() < 1e-20  # nothing attends to padding
            if model.config.attention_normalization not in ("probability_amplitude", "sigmoid"):
                torch.testing.assert_close(part.sum(-1), torch.ones(2, 2, 5))


ROADS = {
    "from_config": lambda model, dtype: AutoModelForMaskedLM.from_config(model.config, dtype=dtype),
    "to": lambda model, dtype: copy.deepcopy(model).to(dtype=dtype),
    "to_device": lambda model, dtype: copy.deepcopy(model).to(torch.empty(0, dtype=dtype)),
    "half": lambda model, dtype: getattr(copy.deepcopy(model), {torch.float16: "half"}.get(dtype, "bfloat16"))(),
    "double_first": lambda model, dtype: copy.deepcopy(model).double().to(dtype),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("road", ROADS)
def test_low_precision_weights_keep_angles_in_float32(road, dtype):
    model = WORDS.build(phase="learned", damping="learned", frequency_init="uniform")
    low = ROADS[road](model, dtype)
    if road == "from_config":
        low.load_state_dict(model.state_dict())
    exact = model.state_dict()
    for name, value in low.state_dict().items():
        angle = name.endswith(("frequency", "phase", "damping"))
        assert value.dtype == (torch.float32 if angle else dtype), name
        assert not angle or torch.equal(value, exact[name]), name
