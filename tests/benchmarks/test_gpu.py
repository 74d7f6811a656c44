# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The GPU benchmark at toy sizes on the CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from benchmarks.gpu import layers
from benchmarks.gpu.__main__ import CASES, MODELS, main
from benchmarks.gpu.contest import FULL, TINY, Size
from benchmarks.gpu.models import TWIN
from benchmarks.reporting import read_lines
from experiments.tables.cases import gpu_table, gpu_tables

import interpreter
from complex_transformers.kernels.accelerator import switch

ATTENTION = {"attention_kernels.forward", "attention_kernels.backward_query", "attention_kernels.backward_key"}
WEIGHTS = {"weight_kernels.real_matrix", "weight_kernels.parts_of"}
PRODUCTS = {"half_kernels.product", "half_kernels.product_backward"}
(SIZE,) = TINY.sizes
# Kernels that run in the cases of layers.
KERNELS: dict[str, set[str]] = {
    "attention": ATTENTION,
    "encoder": ATTENTION | WEIGHTS,
    "decoder": ATTENTION | WEIGHTS | PRODUCTS,
    "dense": WEIGHTS,
    "packed": {f"low_bit_kernels.low_bit_{name}" for name in ("one", "many", "matrix")},
}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Record the kernels run by Triton's interpreter."""
    if not interpreter.HAS_TRITON:
        pytest.skip('Triton is not installed: pip install -e ".[kernels]"')
    if interpreter.DEVICE != "cpu":
        pytest.skip("Triton is not interpreted with CT_TEST_DEVICE")
    names = set()
    launch = switch.launch

    def noted(kernel: Any, *arguments: Any, **constants: Any) -> None:
        names.add(f"{kernel.fn.__module__.rpartition('.')[2]}.{kernel.fn.__name__}")
        launch(kernel, *arguments, **constants)

    monkeypatch.setattr(switch, "launch", noted)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    return names


def tiny(case: str, folder: Path) -> dict[str, Any]:
    """Return the line of a tiny run, and check that global state is unchanged."""
    path = folder / "bench-gpu.jsonl"
    before = switch.DEVICES, torch.get_num_threads()
    main(["--tiny", "--case", case, "--results", str(path)])
    assert (switch.DEVICES, torch.get_num_threads()) == before
    (line,) = read_lines(path)
    assert line["row"] == f"gpu-{case}"
    assert line["what"] in gpu_tables(folder)
    modes = {row["group"].removeprefix(str(SIZE)).partition(", ")[2] for row in line["rows"]}
    assert modes == MODES.get(case, {"float16", "float32", "float32, compiled"})
    assert bars(line) == BARS.get(case, {})
    return line


def test_a_size_names_its_tokens_per_step() -> None:
    size = Size.parse("16x1024x2048")
    assert size == Size(16, 1024, 2048)
    assert (size.tokens, size.heads) == (16_384, 32)
    assert str(size) == "16 x 1,024 tokens, width 2,048 (16,384 tokens per step)"
    assert str(FULL.sizes[0]) == "1 x 128 tokens, width 512 (128 tokens per step, launch-bound)"


@pytest.mark.parametrize("text", ["16x1024", "1x8x100", "0x8x128", "1x8x0", "-1x8x128", "1x8x128x2", "a"])
def test_refused_sizes(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=f"^size must .*, got {text}"):
        Size.parse(text)
    with pytest.raises(SystemExit):
        main(["--tiny", "--results", "unused", f"--sizes={text}"])
    assert "argument --sizes: size must" in capsys.readouterr().err


def test_chosen_sizes(tmp_path: Path) -> None:
    path = tmp_path / "bench-gpu.jsonl"
    main(["--tiny", "--case", "dense", "--sizes", "1x2x128", "3x1x256", "--results", str(path)])
    (line,) = read_lines(path)
    assert {row["group"].partition(" tokens per step")[0] for row in line["rows"]} == {
        "1 x 2 tokens, width 128 (2",
        "3 x 1 tokens, width 256 (3",
    }


def test_rows_are_reported_as_they_are_measured_and_not_measured_again() -> None:
    found: list[Any] = []
    setting = replace(TINY, compiled=(False,), report=found.append)
    whole = layers.dense(setting, 2)
    assert [row["group"] for row in whole.rows] == [f"{SIZE}, float16", f"{SIZE}, float32"]
    assert [row for outcome in found for row in outcome.rows] == whole.rows
    assert len(found) == 2
    rest = layers.dense(replace(setting, skipped={f"{SIZE}, float16"}), 2)
    assert [row["group"] for row in rest.rows] == [f"{SIZE}, float32"]


def test_other_libraries_run_the_same_sizes_in_complex64(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Layer(torch.nn.Linear):
        def __init__(self, features: int, heads: int, feed_forward: int, dropout: float) -> None:
            super().__init__(features, features, dtype=torch.complex64)
            made.append((features, heads, feed_forward))

    monkeypatch.setattr(layers, "PEERS", {"other": ("json", {}, "")})
    monkeypatch.setattr(layers.importlib, "import_module", lambda name: SimpleNamespace(TransformerEncoderLayer=Layer))
    sizes = (Size(1, 4, 128), Size(2, 3, 256))
    whole = layers.peers(replace(TINY, sizes=sizes), 2)
    assert [row["group"] for row in whole.rows] == [str(size) for size in sizes]
    assert made == [(64, 2, 256), (128, 4, 512)]


def marked(cases: Iterable[str], quick: Iterable[str]) -> list[Any]:
    """Mark cases of a few seconds for the full set, longer ones as slow."""
    return [pytest.param(case, marks=pytest.mark.full if case in quick else pytest.mark.slow) for case in cases]


def test_memory_stands_beside_time() -> None:
    value = {"median": 2.0, "low": 2.0, "high": 2.0}
    time = {"group": "8 tokens", "ours": "a", "reference": "b", "ratio": value, "bar": None, "met": None, "unit": "ms"}
    time |= {"ours_value": value, "reference_value": value}
    memory = {**time, "group": "8 tokens, peak", "bar": 1.0, "met": False, "unit": "MiB"}
    machine = {"processor": "", "vector_instructions": "", "threads": 1, "cores": 1, "python": "", "versions": {}}
    table = gpu_table({"what": "", "rows": [time, memory], "notes": [], "rounds": 2, "machine": machine})
    row = "| 8 tokens: a / b | 2 ms | 2 ms | 2.00 (2.00 to 2.00) |  | 2 MiB | 2 MiB | 2.00 | 1, **missed** |"
    assert [line for line in table.splitlines() if "tokens" in line] == [row]


@pytest.mark.parametrize("case", marked(KERNELS, ("dense",)))
def test_layers_by_the_interpreter(case: str, launched: set[str], tmp_path: Path) -> None:
    tiny(case, tmp_path)
    assert launched == KERNELS[case]


@pytest.mark.parametrize(
    "case", marked((name for name in CASES if name not in KERNELS), ("recurrent", "peers", "embedding"))
)
def test_networks(case: str, tmp_path: Path) -> None:
    """Run without kernels, because the interpreter would take minutes."""
    line = tiny(case, tmp_path)
    assert all(row["ours_value"]["median"] > 0.0 for row in line["rows"])
    pairs = {(row["ours"], row["reference"]) for row in line["rows"]}
    unequal = ("ComplexLSTM, 20 to 40 steps", "torch.nn.LSTM, 20 to 40 steps")
    graphed = ("ComplexGRU, split gates, CUDA graph", "ComplexGRU, split gates")
    assert ({unequal, graphed} <= pairs) == (case == "recurrent")


UNROLLED = {"float16", "float32"}
NO_PEERS: set[str] = set() if find_spec("complextorch") is None and find_spec("torchcvnn") is None else {""}
MODES = {"peers": NO_PEERS, "recurrent": UNROLLED, "linear_recurrence": UNROLLED, "synconmt": UNROLLED}
PACKED = {"float16", "float16, CUDA graph", "float32", "float32, CUDA graph", "float32, compiled"}
MODES |= {"packed": {f"{count}, {mode}" for count in ("1 input", "16 inputs", "512 inputs") for mode in PACKED}}
MODES |= {f"models-{name}": {"bfloat16", "bfloat16, compiled"} for name in MODELS} | {"generation": {"bfloat16"}}
# Every limit of the GPU, by both contestants; the encoder's in half precision only.
BARS = {
    "attention": {("score modulus", "SDPA on halves"): {2.2}},
    "encoder": {("score real", "real twin"): {1.05, None}, ("score modulus", "real twin"): {1.25, None}},
    **{
        f"models-{name}": {("score real", TWIN): {1.10, 1.05}, ("score modulus", TWIN): {1.25, 1.15}}
        for name in ("bert", "smollm", "translation")
    },
}


def bars(line: dict[str, Any]) -> dict[tuple[str, str], set[float | None]]:
    found: dict[tuple[str, str], set[float | None]] = {}
    for row in line["rows"]:
        found.setdefault((row["ours"], row["reference"]), set()).add(row["bar"])
    return {pair: values for pair, values in found.items() if values != {None}}


def test_without_results_the_page_says_so(tmp_path: Path) -> None:
    assert gpu_tables(tmp_path) == "Not measured on a GPU yet."


@pytest.mark.parametrize("arguments", [["--tiny"], ["--rounds", "1"], ["--case", "sparse"]])
def test_refused_command_lines(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
