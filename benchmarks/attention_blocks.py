# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Modulus attention as a whole and in blocks of queries: the table of decision 0003.

python -m benchmarks.attention_blocks [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.reporting import DOCS, RESULTS, machine_facts, machine_line, markdown_table, write_json, write_part
from benchmarks.timing import Step, time_rounds
from complex_transformers.nn import attention

SHAPES = ((64, 16), (16, 128), (8, 256), (2, 1024), (1, 2048))
EXPONENTS = (15, 17, 18, 19, 20)
HEADS, HEAD_WIDTH = 8, 64


def steps(batch: int, length: int) -> dict[str, Step]:
    """Contestants: PyTorch's fused attention (score ``real``), and modulus attention as a whole and in blocks."""
    module = nn.Identity()
    inputs = [torch.randn(batch, HEADS, length, HEAD_WIDTH, requires_grad=True) for _ in range(3)]
    cotangent = torch.randn(batch, length, HEADS, HEAD_WIDTH)

    def backward(out: Tensor) -> None:
        torch.autograd.grad(out, inputs, cotangent)

    def modulus(block: int | None) -> Step:
        def step() -> None:
            attention._BLOCK_SCORES = block or attention._BLOCK_SCORES
            backward(attention.complex_attention(module, *inputs, None, need_weights=block is None)[0])

        return step

    fused = nn.functional.scaled_dot_product_attention
    contestants: dict[str, Step] = {"score `real`, fused": lambda: backward(fused(*inputs).transpose(1, 2))}
    contestants["whole"] = modulus(None)
    return contestants | {f"2^{n}": modulus(2**n) for n in EXPONENTS}


def main() -> None:
    """Measure every shape, write the JSON and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS / "attention_blocks.json")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    rows: list[dict[str, Any]] = []
    for batch, length in SHAPES:
        seconds = time_rounds(steps(batch, length), arguments.rounds)
        milliseconds = {name: 1e3 * statistics.median(values) for name, values in seconds.items()}
        rows.append({"batch": batch, "length": length, "milliseconds": milliseconds})
        print(batch, length, {name: round(value, 1) for name, value in milliseconds.items()})
    data = {"rounds": arguments.rounds, "machine": machine_facts(), "rows": rows}
    write_json(arguments.output, data)
    table = markdown_table(
        ["batch x length", *rows[0]["milliseconds"]],
        [[f"{r['batch']} x {r['length']}", *(f"{v:.3g}" for v in r["milliseconds"].values())] for r in rows],
    )
    line = f"Medians of {arguments.rounds} interleaved rounds. {machine_line(data['machine'])}"
    write_part(DOCS / "decisions" / "0003-blocked-attention.md", "attention_blocks", f"{table}\n\n{line}")


if __name__ == "__main__":
    main()
