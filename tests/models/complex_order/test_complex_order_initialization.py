# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Initial values after post_init() and after from_pretrained."""

import math

import pytest
import torch
from safetensors.torch import save_file
from small_models import FIELDS, build, config
from torch import nn

from complex_transformers import (
    ComplexOrderForMaskedLM,
    ComplexOrderModel,
)
from complex_transformers.nn import ComplexLayerNorm
from complex_transformers.nn.linear import RealLinear


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
@pytest.mark.parametrize("init", ["glorot", "he", "unitary", "normal"])
@pytest.mark.parametrize("field", FIELDS)
def test_dense_layers_start_as_configured(tmp_path, field, init, source):
    model = _large(tmp_path, source, number_field=field, weight_init=init)
    layers = {name: m for name, m in model.named_modules() if hasattr(m, "real") or type(m) is RealLinear}
    assert len(layers) == 8  # q, k, v, out, up, down, and two of the head
    for name, layer in layers.items():
        if hasattr(layer, "real"):
            parts = [layer.real.weight, layer.imag.weight]
            correlation = torch.corrcoef(torch.stack([p.flatten() for p in parts]).detach())[0, 1]
            assert abs(correlation) < 0.05, name
        else:
            parts = [layer.weight]
        fan_out, fan_in = parts[0].shape
        variance = {
            "glorot": 2.0 / (fan_in + fan_out),
            "he": 2.0 / fan_in,
            "unitary": min(fan_in, fan_out) / (fan_in * fan_out),
            "normal": len(parts) * 0.02**2,
        }[init]
        for part in parts:
            assert part.var().item() == pytest.approx(variance / len(parts), rel=0.12), name
            assert abs(part.mean().item()) < 0.1 * part.std().item(), name
        if layer.bias is not None:
            assert torch.count_nonzero(layer.bias) == 0


@pytest.mark.parametrize("source", ["post_init", "from_pretrained"])
def test_embedding_and_norms_start_as_documented(tmp_path, source):
    model = _large(tmp_path, source, phase="learned", damping="learned", hidden_act="modrelu", norm_type="batch")
    table = model.model.embed_tokens
    expected = 10000.0 ** (-torch.arange(64, dtype=torch.float64) / 64)
    torch.testing.assert_close(table.frequency.double(), expected.expand(500, 64), rtol=1e-6, atol=0)
    assert table.amplitude[1:].std().item() == pytest.approx(0.02, rel=0.05)
    assert torch.count_nonzero(table.amplitude[0]) == 0
    assert table.phase.abs().max() <= math.pi
    assert table.phase.std().item() == pytest.approx(math.pi / math.sqrt(3), rel=0.02)
    torch.testing.assert_close(nn.functional.softplus(table.damping), torch.full_like(table.damping, 1e-3))
    norms = [m.batch_norm for m in model.modules() if hasattr(m, "batch_norm") and isinstance(m.batch_norm, nn.Module)]
    assert len(norms) == 2
    for norm in norms:
        assert torch.equal(norm.running_mean, torch.zeros(128))
        assert torch.equal(norm.running_var, torch.ones(128))
    for norm in [*norms, model.head_norm]:
        assert torch.equal(norm.weight, torch.ones(128))
        assert torch.equal(norm.bias, torch.zeros(128))
    assert isinstance(model.head_norm, ComplexLayerNorm)
    for module in model.modules():
        if type(module).__name__ == "ModReLU":
            assert torch.count_nonzero(module.bias) == 0


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
        ({"embedding_type": "learned_position"}, "position", lambda t: abs(t.std().item() - 0.02) < 0.001),
        ({"embedding_type": "word"}, "weight", lambda t: abs(t.std().item() - 0.02) < 0.001 and not t[0].any()),
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
