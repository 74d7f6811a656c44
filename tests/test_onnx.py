# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks for images and bags as ONNX graphs: no complex operators, any size of a batch, the same logits."""

from __future__ import annotations

import copy

import pytest
import torch

from complex_transformers import (
    ComplexConvNetConfig,
    ComplexConvNetForImageClassification,
    ComplexMLPConfig,
    ComplexMLPForImageClassification,
    ComplexMLPForSequenceClassification,
)
from families import BAG, TRABELSI

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

SIZES = {"num_channels": 2, "image_size": 6, "num_labels": 3}
MODELS = {
    "mlp": lambda: ComplexMLPForImageClassification(
        ComplexMLPConfig(**SIZES, hidden_sizes=[8, 6], hidden_act="modulus")
    ),
    "convnet": lambda: ComplexConvNetForImageClassification(ComplexConvNetConfig(**SIZES, num_filters=[8])),
    "bag of words": lambda: ComplexMLPForSequenceClassification(ComplexMLPConfig(**BAG, hidden_sizes=[8])),
    "residual": lambda: ComplexConvNetForImageClassification(
        ComplexConvNetConfig(**SIZES, **TRABELSI, num_filters=[8], padding="same", hidden_act="split_relu")
    ),
}
CASES = [pytest.param(name, marks=[] if name == "mlp" else pytest.mark.full) for name in MODELS]


def inputs(model, rows):
    if model.main_input_name == "pixel_values":
        return torch.randn(rows, 2, 6, 6)
    return torch.randint(3, model.config.vocab_size, (rows, 7))


@pytest.mark.filterwarnings("ignore")  # of the exporter
@pytest.mark.parametrize("name", CASES)
def test_logits_of_the_graph(name, tmp_path):
    torch.manual_seed(0)
    model = MODELS[name]()
    model.main_input_name = model.model.main_input_name
    for _ in range(3):  # running statistics that are not those of the start
        model(inputs(model, 8))
    model.eval()
    path = str(tmp_path / "model.onnx")
    torch.onnx.export(
        copy.deepcopy(model),
        kwargs={model.main_input_name: inputs(model, 2)},
        f=path,
        dynamo=True,
        dynamic_shapes={model.main_input_name: {0: "batch"}},
        verbose=False,
    )
    operators = {node.op_type for node in onnx.load(path).graph.node}
    assert not [name for name in operators if "Complex" in name or "DFT" in name]
    session = runtime.InferenceSession(path)
    values = inputs(model, 5)
    (found,) = session.run(None, {session.get_inputs()[0].name: values.numpy()})
    torch.testing.assert_close(
        torch.from_numpy(found), model(**{model.main_input_name: values}).logits, atol=1e-5, rtol=1e-5
    )


def test_the_modulus_of_a_graph_does_not_overflow():
    """What stands for hypot where a graph is exported."""
    from complex_transformers.kernels import modulus

    parts = torch.tensor([[3e38, 0.0, -3.0, 1e-30, 1e-45], [3e37, 0.0, 4.0, 1e-30, 0.0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modulus, "_is_exporting", lambda: True)
        found = modulus.hypot(*parts)
    torch.testing.assert_close(found, torch.hypot(*parts), rtol=1e-6, atol=0)
