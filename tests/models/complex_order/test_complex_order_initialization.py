# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Initial values after post_init() and after from_pretrained."""

import math

import pytest
import torch
from safetensors.torch import save_file
from small_models import build, config

from complex_transformers import (
    ComplexOrderForMaskedLM,
    ComplexOrderModel,
)
from complex_transformers.nn import ComplexLayerNorm


def _large(tmp_path, source, **changes):
    """A model large enough for statistics: fresh, or as from_pretrained initialises what a file does not hold."""
    model = ComplexOrderForMaskedLM(config(vocab_size=500, hidden_size=128, intermediate_size=256, num_hidden_layers=1,
                                           initializer_range=0.02, **changes))  # fmt: skip
    if source == "post_init":
        return model
    model.config.save_pretrained(tmp_path)
    # One tensor of no meaning: everything else is missing, and drawn by _init_weights on what was a meta tensor.
    save_file({"nothing": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return ComplexOrderForMaskedLM.from_pretrained(tmp_path)


@pytest.mark.parametrize("source", ["post_init", "from_pretrained"])
@pytest.mark.parametrize(
    ("changes", "name", "check"),
    [
        ({"frequency_init": "normal"}, "frequency", lambda t: abs(t.std().item() - 1.0) < 0.02),
        (
            {"frequency_init": "uniform"},
            "frequency",
            lambda t: t.abs().max() <= math.pi and abs(t.std().item() - math.pi / math.sqrt(3)) < 0.03,
        ),
        ({"frequency_sharing": "dimension"}, "frequency", lambda t: torch.equal(t, torch.full((500, 1), 0.01))),
    ],
)
def test_other_tables_start_as_documented(tmp_path, source, changes, name, check):
    assert check(_large(tmp_path, source, **changes).model.embed_tokens.get_parameter(name).detach())


def test_whitening_norm_keeps_its_gain_inside_a_transformers_model(tmp_path):
    # The base class sets weight 1 wherever a class name says LayerNorm; the gain is I / sqrt 2 in our own parameter.
    class Whitened(ComplexOrderModel):
        def __init__(self, config):
            super().__init__(config)
            self.extra = ComplexLayerNorm(config.hidden_size, norm="whitening")
            self.post_init()

    base = build()
    base.save_pretrained(tmp_path)
    for model in (Whitened(config()), Whitened.from_pretrained(tmp_path)):
        expected = torch.tensor([[0.5**0.5], [0.0], [0.5**0.5]]).expand(3, 8)
        torch.testing.assert_close(model.extra.affine.gain.detach(), expected)
        assert torch.count_nonzero(model.extra.affine.bias) == 0
