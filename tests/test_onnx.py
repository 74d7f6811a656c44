# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Export every family to ONNX: any batch size and length, outputs equal to the model within 1e-4."""

import math
from pathlib import Path

import pytest
import torch

from complex_transformers.conversion.onnx_graph import (
    example_inputs,
    export_onnx,
    fold_constants,
    largest_difference,
    open_axes,
    open_graph,
    outputs_of,
    quantize_graph,
    run_graph,
    without_cache,
)
from complex_transformers.kernels import exporting
from complex_transformers.nn import functional as CF, transforms
from complex_transformers.nn.padding_order import real_first
from families import CASES, FAMILIES, Case
from family_inputs import batch, mask_of, rows
from refusals import refused

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = [
    pytest.mark.skipif(not hasattr(torch.compiler, "is_exporting"), reason="this torch does not say that it exports"),
    pytest.mark.filterwarnings("ignore"),  # of the exporter
]

# The first variant of each family, and those whose operators the first one does not have.
MORE = {
    "complex_order": ("tied, batch norm", "complex weights", "lifted texts"),
    "complex_seq2seq": ("real",),
    "complex_transfo_xl": ("adaptive",),
    "complex_llama": ("widely linear", "waves"),
    "complex_mamba": ("mimo",),
    "complex_recurrent_lm": ("real", "adaptive lru", "causal z"),
    "complex_memory_network": ("words",),
    "complex_text_rnn": ("real gru",),
    "complex_quantum": ("complete", "windows"),
    "complex_convnet": ("real", "residual", "spectrum"),
    "complex_mlp": ("words",),
    "synconmt": ("real luong",),
    "spectral_transformer": ("scaled", "decoder"),
}
QUICK = ("complex_fasttext: complex",)
IN_THE_FULL_SET = ("complex_llama",)  # others: make test-slow
# One for each set of inputs.
READERS = [
    Case(*name.split(": "))
    for name in (
        *("complex_fasttext: complex", "complex_convnet: complex", "complex_mlp: words", "complex_llama: complex"),
        *("complex_memory_network: complex", "complex_memory_network: words", "complex_seq2seq: modulus"),
        *(
            "synconmt: bahdanau",
            "synconmt: real luong",
            "spectral_transformer: symbols",
            "spectral_transformer: decoder",
        ),
    )
]
EXPORTED = [
    Case(family, variant)
    for family in FAMILIES
    for variant in (next(iter(FAMILIES[family].variants)), *MORE.get(family, ()))
]


def marks(case: Case) -> list[pytest.MarkDecorator]:
    if str(case) in QUICK:
        return []
    full = case.family in IN_THE_FULL_SET and case.variant not in MORE.get(case.family, ())
    return [pytest.mark.full if full else pytest.mark.slow]


PARAMS = [pytest.param(case, id=str(case), marks=marks(case)) for case in EXPORTED]


def inputs(model, lengths, extra, seed):
    """Return padded inputs with all masks, since a graph needs all of its inputs in every call."""
    given = batch(rows(model, lengths, seed=seed), extra=extra)
    for name in [name for name in given if name.endswith(("input_ids", "question_ids", "input_features"))]:
        axes = 2 if given[name].is_floating_point() else given[name].dim()
        given.setdefault(mask_of(name), torch.ones(given[name].shape[:axes], dtype=torch.long))
    return given


@pytest.mark.parametrize("case", PARAMS)
def test_a_graph_says_what_the_model_says(case: Case, tmp_path: Path) -> None:
    # One layer of each kind tells as much as two, in half the time.
    one = {"num_hidden_layers": 1, "encoder_layers": 1, "decoder_layers": 1}
    model = case.trained(**{name: count for name, count in one.items() if name in vars(case.config())})
    path = tmp_path / "model.onnx"
    export_onnx(model, inputs(model, (6, 4, 7), 1, seed=1), path)
    graph = onnx.load(path).graph
    assert not [node.op_type for node in graph.node if "Complex" in node.op_type or "DFT" in node.op_type]
    session = open_graph(path)
    for lengths, extra in (((5, 9), 2), ((4, 3, 10, 5, 6), 0)):
        given = inputs(model, lengths, extra, seed=2)
        assert {node.name for node in session.get_inputs()} == set(given)
        expected = outputs_of(model, given)
        assert max(value.abs().max() for value in expected.values()) > 0.05
        assert largest_difference(run_graph(session, given), expected) < 1e-4


def test_every_family_is_exported() -> None:
    assert {case.family for case in EXPORTED} == set(FAMILIES)
    assert all(case in CASES for case in EXPORTED)


@pytest.mark.full
def test_an_exported_program_is_the_model_for_any_size() -> None:
    for name in ("complex_llama", "complex_text_cnn"):
        model = Case(name, "complex").own()
        model.config.use_cache = False
        first, second = inputs(model, (6, 4, 7), 1, seed=1), inputs(model, (5, 9), 2, seed=2)
        shapes = {key: dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for key, axes in open_axes(first).items()}
        with torch.no_grad():
            program = torch.export.export(model, (), first, dynamic_shapes=shapes, strict=False).module()
            torch.testing.assert_close(program(**second).logits, model(**second).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.full
def test_int8_is_near_and_small(tmp_path: Path) -> None:
    from complex_transformers import ComplexMLPConfig, ComplexMLPForSequenceClassification

    torch.manual_seed(0)
    model = ComplexMLPForSequenceClassification(
        ComplexMLPConfig(vocab_size=400, bag_of_words="count", hidden_sizes=[256, 128], num_labels=3)
    )
    given = example_inputs(model, 8, 12)
    float_path, folded, int8 = (tmp_path / f"{name}.onnx" for name in ("float", "folded", "int8"))
    export_onnx(model, given, float_path)
    fold_constants(float_path, folded)
    quantize_graph(float_path, int8)
    expected = outputs_of(model, given)
    assert largest_difference(run_graph(open_graph(folded), given), expected) < 1e-6
    assert {"MatMulInteger"} & {node.op_type for node in onnx.load(int8).graph.node}
    assert 0 < largest_difference(run_graph(open_graph(int8), given), expected) < 0.1 * expected["logits"].abs().max()
    assert int8.stat().st_size < folded.stat().st_size / 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["float.onnx", "folded.onnx", "int8.onnx"]
    with pytest.raises(ValueError, match=r"graph must have the output shapes .*, got"):
        largest_difference({"logits": expected["logits"][:1]}, expected)


def test_example_inputs_and_the_state_of_a_model() -> None:
    for case in READERS:
        model = case.own().train()
        given = example_inputs(model, 4, 9)
        names = set(inputs(model, (6, 4), 1, seed=1))
        assert set(given) == names
        assert set(open_axes(given)) == names
        before = getattr(model.config, "use_cache", None)
        found = outputs_of(model, given)
        assert all(value.shape[0] == 4 for value in found.values())
        assert model.training
        assert getattr(model.config, "use_cache", None) == before


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_nan_is_no_small_difference(place: str) -> None:
    expected = {"first": torch.zeros(2), "last": torch.zeros(3)}
    found = {**expected, place: torch.full_like(expected[place], torch.nan)}
    assert math.isnan(largest_difference(found, expected))


def test_inputs_that_would_close_an_axis_and_numbers_without_a_runtime(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = Case("complex_fasttext", "complex").own()
    for size, words in (((1, 8), "input_ids .* on axis batch, got 1"), ((2, 1), "input_ids .* on axis length, got 1")):
        refused(words, export_onnx, model, example_inputs(model, *size), path)
    words = r"model must not be in bfloat16.* model\.float\(\)"
    refused(words, export_onnx, model.bfloat16(), example_inputs(model), path)
    assert not path.exists()


@pytest.mark.parametrize(
    "case", [Case("complex_seq2seq", "modulus"), Case("spectral_transformer", "decoder")], ids=str
)
def test_outputs_are_named_whatever_else_a_configuration_asks_for(case: Case) -> None:
    model = case.own()
    configs = [model.config, *filter(None, [getattr(model.config, "decoder", None)])]
    given = example_inputs(model)
    expected = outputs_of(model, given)
    for config in configs:
        config.output_hidden_states = True
    with without_cache(model):
        assert list(model(**given)) == list(expected)
    assert all(config.output_hidden_states for config in configs)


@pytest.fixture
def _exporting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.compiler, "_is_exporting_flag", True)


@pytest.mark.usefixtures("_exporting")
def test_the_modulus_of_a_graph_does_not_overflow() -> None:
    parts = torch.tensor([[3e38, 0.0, -3.0, 1e-30, 1e-45], [3e37, 0.0, 4.0, 1e-30, 0.0]])
    torch.testing.assert_close(exporting.hypot(*parts), torch.hypot(*parts), rtol=1e-6, atol=0)
    torch.testing.assert_close(CF.modulus(parts.flatten()), torch.hypot(*parts), rtol=1e-6, atol=0)


@pytest.mark.usefixtures("_exporting")
@pytest.mark.parametrize("n", [1, 2, 7, 12, 512])
def test_fourier_transforms_of_a_graph(n: int) -> None:
    torch.manual_seed(0)
    z = torch.randn(2, 3, n, dtype=torch.complex64)
    expected = {
        transforms.dft: (CF.from_complex(z), CF.from_complex(torch.fft.fft(z))),
        transforms.sequence_dft: (CF.from_complex(z.mT), CF.from_complex(torch.fft.fft(z.mT, dim=1))),
        transforms.real_dft: (z.real, CF.from_complex(torch.fft.rfft(z.real, norm="ortho"))),
        transforms.spectrum2d: (z.real, CF.from_complex(torch.fft.fft2(z.real, norm="ortho"))),
    }
    for transform, (x, result) in expected.items():
        torch.testing.assert_close(transform(x), result, rtol=1e-5, atol=1e-6 * n)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_the_inverse_of_a_graph(size: float) -> None:
    torch.manual_seed(0)
    skew = size * torch.randn(2, 24, 24)
    matrix = torch.eye(24) + skew - skew.mT
    found = exporting.inverse(matrix)
    torch.testing.assert_close(found, torch.linalg.inv(matrix.double()).float(), rtol=1e-5, atol=1e-6 / size)


def test_maps_by_their_numbers_are_the_same_in_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    from complex_transformers.nn import UnitaryLinear

    torch.manual_seed(0)
    for field in ("complex", "real"):
        layer = UnitaryLinear(8, std=0.5, number_field=field, num_maps=3)
        x, ids = torch.randn(2, 5, 8), torch.randint(3, (2, 5))
        expected = layer(x, ids)
        with monkeypatch.context() as patch:
            patch.setattr(torch.compiler, "_is_exporting_flag", True)
            torch.testing.assert_close(layer(x, ids), expected, rtol=1e-5, atol=1e-6)


def test_the_order_without_a_sort() -> None:
    torch.manual_seed(0)
    mask = torch.rand(6, 9) < torch.linspace(0, 1, 6).unsqueeze(-1)
    for dim, kept in ((1, mask), (0, mask.t())):
        order, back = real_first(kept, dim)
        assert torch.equal(order, torch.argsort(~kept, dim=dim, stable=True))
        assert torch.equal(back, order.argsort(dim))


def test_halves_are_views() -> None:
    x = torch.randn(4, 6)
    for dim in (0, 1, -1, -2):
        first, second = x.chunk(2, dim)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.compiler, "_is_exporting_flag", True)
            found = exporting.halves(x, dim)
        assert [part.data_ptr() for part in found] == [first.data_ptr(), second.data_ptr()]
        assert torch.equal(found[1], second)
    assert isinstance(exporting.is_exporting(), bool)
    assert not exporting.is_exporting()


def test_what_is_compiled_for_this_process_is_no_export() -> None:
    class Network(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return -x if exporting.is_exporting() else x

    x = torch.ones(2)
    torch._dynamo.reset()
    assert torch.equal(torch.compile(Network(), backend="eager", fullgraph=True)(x), x)
    for strict in (True, False):
        assert torch.equal(torch.export.export(Network(), (x,), strict=strict).module()(x), -x)
