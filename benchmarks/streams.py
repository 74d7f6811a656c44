# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language models on streams: complex words, and real twins at equal cost and at equal parameters.

    python -m benchmarks.streams run text8 --seeds 0 1 [--rows complex_order real] [--options "--max_steps 6000"]
    python -m benchmarks.streams render

A run is a call of ``examples/language-modeling/run_clm_xl.py``; those that have a result are left out, one that was
stopped goes on. Results: ``benchmarks/results/streams``; ``render`` writes the tables of that example's README.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.reporting import RESULTS, ROOT, markdown_table, write_part
from benchmarks.tables.runs import parameters, read_runs, seeds, spread, training_time

README = ROOT / "examples" / "language-modeling" / "README.md"
SCRIPT = "examples/language-modeling/run_clm_xl.py"

# The same width is about the same cost. A narrower real twin, by DATA, has the parameters of the complex network.
SIZES = "--num_hidden_layers 4 --num_attention_heads 4 --hidden_size 256 --intermediate_size 1024"
ROWS = {
    "complex_order": f"{SIZES} --position_period 128",
    "complex_order-word": f"{SIZES} --position_period 128 --frequency_sharing word",
    "real": f"{SIZES} --number_field real --embedding_type word",
    "real-equal-parameters": "--num_hidden_layers 4 --num_attention_heads 4 --number_field real --embedding_type word",
}
COMMON = (
    "--segment_length 128 --mem_len 128 --per_device_train_batch_size 8 --per_device_eval_batch_size 32 "
    "--max_steps 1200 --learning_rate 1e-3 --warmup_steps 100 --max_grad_norm 0.25 --hidden_dropout_prob 0.1 "
    "--initializer_range 0.5 --eval_steps 600 --save_steps 600 --bf16 true --disable_tqdm true"
)
CHARACTERS = {
    "score": "bits_per_token",
    "unit": "bits per character",
    "equal_parameters": "--hidden_size 180 --intermediate_size 720",
}
WORDS = {  # most parameters are those of the words
    "score": "perplexity",
    "unit": "perplexity",
    "equal_parameters": "--hidden_size 228 --intermediate_size 912",
}
DATA: dict[str, dict[str, str]] = {
    "text8": {
        **CHARACTERS,
        "files": "text8/train-5.8m.txt.gz text8/dev-0.5m.txt.gz text8/test-0.5m.txt.gz",
        "options": "",
    },
    "wikitext2-char": {
        **CHARACTERS,
        "files": "wikitext2-char/train.txt.gz wikitext2-char/valid.txt.gz wikitext2-char/test.txt.gz",
        "options": "",
    },
    "wikitext-2": {
        **WORDS,
        "files": "wikitext-2/train.txt.gz wikitext-2/valid.txt.gz wikitext-2/test.txt.gz",
        "options": "--tokenizer whitespace --hidden_dropout_prob 0.3 --cutoffs 2000 10000 --div_value 4",
    },
}


def command(data: str, row: str, seed: int, options: str) -> list[str]:
    """The command line of one run, from the root of the repository."""
    folder = os.environ.get("COMPLEX_TRANSFORMERS_DATA", "../shared/data")
    files = [f"{folder}/lm/{name}" for name in DATA[data]["files"].split()]
    parts = [
        word for pair in zip(("--train_file", "--validation_file", "--test_file"), files, strict=True) for word in pair
    ]
    name = f"{data}/{row}-seed-{seed}"
    outputs = ["--output_dir", f"outputs/streams/{name}", "--output_json", f"benchmarks/results/streams/{name}.json"]
    settings = [
        *shlex.split(COMMON),
        *("--use_cpu", str(not torch.cuda.is_available())),  # bfloat16 on the CPU must be asked for
        *shlex.split(ROWS[row]),
        *shlex.split(DATA[data]["equal_parameters"] if row == "real-equal-parameters" else ""),
        *shlex.split(DATA[data]["options"]),
        *shlex.split(options),
    ]
    return [SCRIPT, *parts, *settings, "--seed", str(seed), "--resume_from_checkpoint", "last", *outputs]


def run(data: str, rows: list[str], numbers: list[int], options: str) -> None:
    """Train what has no result yet, one after the other, for each number of a seed."""
    for seed in numbers:
        for row in rows:
            if (RESULTS / "streams" / data / f"{row}-seed-{seed}.json").exists():
                continue
            print(f"{data}: {row}, seed {seed}", flush=True)
            subprocess.run([sys.executable, *command(data, row, seed, options)], cwd=ROOT, check=True)


def table(data: str, folder: Path) -> str:
    """One row for each network that was run."""
    score, digits = DATA[data]["score"], 3 if DATA[data]["score"] == "bits_per_token" else 1
    lines = [
        [
            f"`{row}`",
            seeds(runs),
            *(spread((run[part][score] for run in runs), digits) for part in ("validation", "test")),
            parameters(runs),
            f"{runs[0]['steps']:,}",
            training_time(runs),
        ]
        for row in ROWS
        if (runs := read_runs(folder, row))
    ]
    unit = DATA[data]["unit"]
    header = ["network", "seeds", f"validation, {unit}", f"test, {unit}", "parameters", "steps", "training"]
    return markdown_table(header, lines)


def render() -> None:
    """Write a table for every data set that has results."""
    for data in DATA:
        folder = RESULTS / "streams" / data
        if any(folder.glob("*.json")):
            write_part(README, f"streams {data}", table(data, folder))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    runner = actions.add_parser("run", help="train and score")
    runner.add_argument("data", choices=DATA)
    runner.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    runner.add_argument("--seeds", nargs="+", type=int, default=[0])
    runner.add_argument("--options", default="", help="more options of run_clm_xl.py, for all runs")
    actions.add_parser("render", help="write the tables of the example's README")
    args = parser.parse_args()
    if args.action == "run":
        run(args.data, args.rows, args.seeds, args.options)
    else:
        render()


if __name__ == "__main__":
    main()
