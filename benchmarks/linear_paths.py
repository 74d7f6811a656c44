# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The three ways to compute a complex dense layer, timed over rows and widths.

    python -m benchmarks.linear_paths

writes ``benchmarks/results/linear_paths.json`` and the tables of ``docs/decisions/0002-linear.md``, from which the
rule of ``nn.functional.linear`` follows.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.reporting import (
    DOCS,
    RESULTS,
    machine_facts,
    machine_line,
    markdown_table,
    read_json,
    write_json,
    write_part,
)
from benchmarks.timing import Step, ratio, time_rounds, training_step
from complex_transformers.kernels.linear import GaussLinear
from complex_transformers.nn import ComplexLinear
from complex_transformers.nn import functional as CF

ROWS = (1, 16, 64, 128, 256, 1024, 4096)
WIDTHS = (256, 512, 1024, 2048)
REAL = "nn.Linear"


def paths(layer: ComplexLinear) -> dict[str, Callable[[Tensor], Tensor]]:
    """The product of one layer by each path, whatever the layer would choose."""
    weights = layer.real.weight, layer.imag.weight, layer.bias
    return {
        "three products": lambda x: GaussLinear.apply(x.flatten(0, -2), *weights).unflatten(0, x.shape[:-1]),
        "block": lambda x: CF.block_linear(x, *weights),
        "sub-layers": lambda x: CF.sublayer_linear(x, layer.real, layer.imag, layer.bias),
    }


def check_paths(width: int, rows: int) -> None:
    """Every path must give W z + b of complex128 and its gradients: exactly the same thing is being timed."""
    layer = ComplexLinear(width, width, dtype=torch.float64)
    torch.nn.init.normal_(layer.bias)
    x, cotangent = torch.randn(2, rows, width, dtype=torch.float64)
    weight = torch.complex(layer.real.weight, layer.imag.weight)
    expected = CF.from_complex(CF.to_complex(x) @ weight.T + CF.to_complex(layer.bias))
    reference = torch.autograd.grad(expected, list(layer.parameters()), cotangent)
    for call in (layer, *paths(layer).values()):
        out = call(x)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(torch.autograd.grad(out, list(layer.parameters()), cotangent), reference)


def steps(width: int, rows: int, training: bool) -> dict[str, Step]:
    """Contestants: a real layer of the same width, and each path."""
    real, layer = torch.nn.Linear(width, width), ComplexLinear(width, width)
    x = torch.randn(rows, width)
    calls: dict[str, tuple[torch.nn.Module, Callable[[Tensor], Tensor]]] = {REAL: (real, real)}
    calls |= {name: (layer, call) for name, call in paths(layer).items()}
    if training:
        return {name: training_step(call, list(owner.parameters()), x) for name, (owner, call) in calls.items()}

    def inference(call: Callable[[Tensor], Tensor]) -> Step:
        def step() -> None:
            with torch.no_grad():
                call(x)

        return step

    return {name: inference(call) for name, (_, call) in calls.items()}


def measure(rounds: int, threads: int) -> dict[str, Any]:
    """Seconds and ratios of all sizes."""
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    for width in WIDTHS[:2]:
        check_paths(width, 24)
    rows: list[dict[str, Any]] = []
    for training in (False, True):
        for width in WIDTHS:
            for count in ROWS:
                seconds = time_rounds(steps(width, count, training), rounds, min_seconds=0.01)
                rows.append(
                    {
                        "training": training,
                        "width": width,
                        "rows": count,
                        "milliseconds": {n: 1e3 * statistics.median(v) for n, v in seconds.items()},
                        "ratio_to_real": {n: ratio(v, seconds[REAL]).to_dict() for n, v in seconds.items()},
                    }
                )
                print({n: round(r["median"], 2) for n, r in rows[-1]["ratio_to_real"].items()}, width, count, training)
    return {"rounds": rounds, "machine": machine_facts(), "rows": rows}


def render(data: dict[str, Any], page: Path) -> None:
    """Two tables: three ratios in each cell, the smallest in bold."""
    names = ("three products", "block", "sub-layers")
    widths = sorted({row["width"] for row in data["rows"]})
    counts = sorted({row["rows"] for row in data["rows"]})
    text = []
    for training in (False, True):
        rows = []
        for count in counts:
            cells = [str(count)]
            for width in widths:
                (row,) = [
                    r for r in data["rows"] if (r["training"], r["width"], r["rows"]) == (training, width, count)
                ]
                ratios = {name: row["ratio_to_real"][name]["median"] for name in names}
                best = min(ratios.values())
                cells.append(" / ".join(f"**{v:.2f}**" if v == best else f"{v:.2f}" for v in ratios.values()))
            rows.append(cells)
        title = "Training step (forward + backward)" if training else "Forward only"
        text.append(f"**{title}**\n\n" + markdown_table(["rows", *(f"width {w}" for w in widths)], rows))
    text.append(
        f"Medians of {data['rounds']} interleaved rounds. {machine_line(data['machine'])}{data.get('note', '')}"
    )
    write_part(page, "linear_paths", "\n\n".join(text))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS / "linear_paths.json")
    parser.add_argument("--page", type=Path, default=DOCS / "decisions" / "0002-linear.md")
    parser.add_argument("--render-only", action="store_true", help="write the tables from what has been measured")
    arguments = parser.parse_args()
    if not arguments.render_only:
        write_json(arguments.output, measure(arguments.rounds, arguments.threads))
    render(read_json(arguments.output), arguments.page)


if __name__ == "__main__":
    main()
