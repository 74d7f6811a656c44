# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers: initial values, of a new model and of what a file does not hold."""

import pytest
import torch
from safetensors.torch import save_file
from small_classifiers import FAMILIES, FIELDS

from complex_transformers.nn import ComplexLinear

SOURCES = ("post_init", "from_pretrained")
INITS = ("glorot", "he", "unitary", "normal")
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
LARGE = {
    "fasttext": {"intermediate_size": 256},
    "cnn": {"num_filters": 64, "intermediate_size": 256, "kernel_sizes": [1, 3]},
    "rnn": {"recurrent_size": 96},
    "gcn": {"intermediate_size": 256},
}


def large(tmp_path, source, family, **changes):
    """A classifier large enough for statistics: new, or from a file with one tensor of no meaning."""
    cls = FAMILIES[family][2]
    config = FAMILIES[family][0](vocab_size=300, hidden_size=128, num_labels=60, **{**LARGE[family], **changes})
    if source == "post_init":
        return cls(config)
    config.save_pretrained(tmp_path)
    save_file({"nothing": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return cls.from_pretrained(tmp_path)


def parts_of(layer):
    """The parts of a weight."""
    return [layer.real.weight, layer.imag.weight] if hasattr(layer, "real") else [layer.weight]


def assert_variance(parts, variance, name):
    """E|w|^2 over all parts, shared equally by them."""
    for part in parts:
        assert part.var().item() == pytest.approx(variance / len(parts), rel=0.12), name
        assert abs(part.mean().item()) < 0.1 * part.std().item(), name
    if len(parts) == 2:
        assert abs(torch.corrcoef(torch.stack([p.detach().flatten() for p in parts]))[0, 1]) < 0.1, name


def assert_unitary(parts, name):
    weight = (torch.complex(*parts) if len(parts) == 2 else parts[0]).detach()
    torch.testing.assert_close(weight @ weight.mH, torch.eye(len(weight), dtype=weight.dtype), atol=1e-5, rtol=0)
    assert weight.abs().std() > 0.01, name  # drawn, not the identity of every layer


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("field", FIELDS)
def test_recurrent_layers_keep_their_own_start(tmp_path, field, kind, init, source):
    # Whatever weight_init is: Glorot for the inputs and unitary for the states, gate by gate.
    options = {"number_field": field, "weight_init": init, "rnn_type": kind, "bidirectional": True}
    module = large(tmp_path, source, "rnn", num_hidden_layers=2, **options)
    seen = 0
    for layer in module.model.layers:
        rnn = layer.rnn
        if field == "complex":
            inputs, recurrents = map(list, (rnn.input_proj, rnn.recurrent_proj))
            pairs = [(parts_of(w), parts_of(u)) for w, u in zip(inputs, recurrents, strict=True)]
            biases = [linear.bias for linear in (*inputs, *recurrents) if linear.bias is not None]
        else:
            ends = ("_l0", "_l0_reverse")
            pairs = [([getattr(rnn, f"weight_ih{end}")], [getattr(rnn, f"weight_hh{end}")]) for end in ends]
            biases = [value for name, value in rnn.named_parameters() if name.startswith("bias")]
        for inputs, recurrent in pairs:
            for gate in range(GATES[kind]):
                one = [part.chunk(GATES[kind])[gate] for part in inputs]
                assert_variance(one, 2.0 / sum(one[0].shape), f"input gate {gate}")
                assert_unitary([part.chunk(GATES[kind])[gate] for part in recurrent], f"recurrent gate {gate}")
                seen += 1
        assert biases
        assert not any(bias.any() for bias in biases)
    assert seen == 4 * GATES[kind]


def test_dense_layer_without_bias_starts_as_any_other(tmp_path):
    # It has no tensor of its own, which Transformers takes for a sign that it has been loaded.
    class Extended(FAMILIES["fasttext"][1]):
        def __init__(self, config):
            super().__init__(config)
            self.extra = ComplexLinear(128, 256, bias=False)
            self.post_init()

    base = large(tmp_path, "post_init", "fasttext").model
    base.save_pretrained(tmp_path)
    for module in (Extended(base.config), Extended.from_pretrained(tmp_path)):
        assert_variance(parts_of(module.extra), 2.0 / (64 + 128), "extra")


def test_two_layers_do_not_start_equal():
    module = FAMILIES["rnn"][2](FAMILIES["rnn"][0](vocab_size=9, hidden_size=8, recurrent_size=8, bidirectional=True))
    forward, backward = module.model.layers[0].rnn.recurrent_proj
    assert not torch.equal(forward.real.weight, backward.real.weight)
