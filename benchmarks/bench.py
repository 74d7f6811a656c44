# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory against what a user would take instead: ``make bench``.

    python -m benchmarks.bench [--case linear --case encoder ...] [--rounds N] [--output FOLDER]

float32 on the CPU, two threads, dropout 0 on both sides; a training step is forward + backward. Every case first
proves that both sides compute what they claim. Each case writes ``benchmarks/results/<case>.json`` and its table in
``docs/benchmarks.md``. A ratio is ours / theirs: below 1, ours is faster (smaller).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import speech, synconmt, transfo_xl
from benchmarks.layers import (
    bert_layer,
    check_real_twin,
    check_score,
    complex_layer,
    peers,
    real_twin,
)
from benchmarks.linear_paths import REAL, check_paths, paths, steps
from benchmarks.networks import lstm_products, recurrent_layers, text_cnn
from benchmarks.race import Comparison, Outcome, race, row
from benchmarks.reporting import (
    DOCS,
    RESULTS,
    ROOT,
    machine_facts,
    machine_line,
    markdown_table,
    read_json,
    write_json,
    write_part,
)
from benchmarks.timing import Step, check_gradients, training_step
from benchmarks.transfo_xl import PLAIN, PlainTransformerXL
from benchmarks.translation import MARIAN, NEW_TOKENS, OURS, decoding_step, texts, training, translator
from complex_transformers.nn import ComplexLinear, ComplexOrderEmbedding

THREADS = 2


def _check_output(name: str, out: Tensor, shape: torch.Size) -> None:
    if out.shape != shape or not out.isfinite().all():
        raise AssertionError(
            f"{name} gives {tuple(out.shape)} (expected {tuple(shape)}) or a number that is not finite"
        )


def _layer_steps(layers: Mapping[str, nn.Module], x: Tensor) -> dict[str, Step]:
    """A training step of each layer on ``x``, halves or a native complex tensor, with its output checked."""
    contestants = {}
    for name, layer in layers.items():
        with torch.no_grad():
            _check_output(name, layer(x), x.shape)
        contestants[name] = training_step(layer, list(layer.parameters()), x)
        check_gradients(name, layer, contestants[name])
    return contestants


# --- cases --------------------------------------------------------------------------------------------------------


def linear(rounds: int) -> Outcome:
    """ComplexLinear(1024, 1024) against nn.Linear(1024, 1024): 4096 tokens in training, few rows in inference."""
    width = 1024
    check_paths(width, 300)
    real, layer = nn.Linear(width, width), ComplexLinear(width, width)
    x = torch.randn(32, 128, width)
    contestants = _layer_steps({REAL: real, "ComplexLinear": layer}, x)
    contestants |= {
        f"by {name}": training_step(call, list(layer.parameters()), x) for name, call in paths(layer).items()
    }
    comparisons = [Comparison("ComplexLinear", REAL, 0.82)]
    comparisons += [Comparison(f"by {name}", REAL) for name in paths(layer)]
    rows = race("4096 tokens, training step", contestants, comparisons, rounds)
    for count in (1, 64, 256, 1024):
        contestants = {**steps(width, count, training=False), "ComplexLinear": _chosen(width, count)}
        comparisons = [Comparison(name, REAL) for name in contestants if name != REAL]
        rows += race(f"{count} row{'s' if count > 1 else ''}, forward only", contestants, comparisons, rounds)
    return Outcome(rows, [])


def _chosen(width: int, rows: int) -> Step:
    layer, x = ComplexLinear(width, width), torch.randn(rows, width)

    def step() -> None:
        with torch.no_grad():
            layer(x)

    return step


def encoder(rounds: int) -> Outcome:
    """An encoder layer (hidden 512, feed-forward 2048, 8 heads) on 16 x 128 tokens against Transformers' BertLayer."""
    sizes = 512, 2048, 8
    x = torch.randn(16, 128, 512)
    bert, twin = bert_layer(*sizes), real_twin(*sizes)
    check_real_twin(bert, twin, x)
    layers = {
        "BertLayer": bert,
        "score real": complex_layer(*sizes, "real"),
        "score modulus": complex_layer(*sizes, "modulus"),
        "real twin": twin,
    }
    check_score(layers["score real"], "real", x[:2])
    check_score(layers["score modulus"], "modulus", x[:2])
    comparisons = [
        Comparison("score real", "BertLayer", 0.95),
        Comparison("score modulus", "BertLayer", 1.00),
        Comparison("real twin", "BertLayer"),
        Comparison("score real", "real twin"),
        Comparison("score modulus", "real twin"),
    ]
    return Outcome(race("training step", _layer_steps(layers, x), comparisons, rounds), [])


def embedding(rounds: int) -> Outcome:
    """ComplexOrderEmbedding of 30,000 words and width 512 on 16 x 128 tokens against nn.Embedding of the same size."""
    words, width = 30_000, 512
    ids = torch.randint(1, words, (16, 128))
    tables = {
        "nn.Embedding": nn.Embedding(words, width, padding_idx=0),
        "complex_order": ComplexOrderEmbedding(words, width, padding_idx=0),
        "complex_order, frequencies shared by words": ComplexOrderEmbedding(
            words, width, padding_idx=0, frequency_sharing="word"
        ),
        "complex_vanilla": ComplexOrderEmbedding(words, width, padding_idx=0, embedding_type="complex_vanilla"),
    }
    _check_waves(tables["complex_order"], ids)
    contestants = {}
    for name, table in tables.items():
        with torch.no_grad():
            _check_output(name, table(ids), torch.Size([16, 128, width]))
        contestants[name] = training_step(table, list(table.parameters()), ids)
        check_gradients(name, table, contestants[name])
    comparisons = [
        Comparison(name, "nn.Embedding", 3.0 if name == "complex_order" else None)
        for name in tables
        if name != "nn.Embedding"
    ]
    return Outcome(race("training step", contestants, comparisons, rounds), [])


@torch.no_grad()
def _check_waves(table: ComplexOrderEmbedding, ids: Tensor) -> None:
    position = torch.arange(1, ids.shape[1] + 1, dtype=torch.float64).unsqueeze(-1)
    phase = table.frequency[ids].double() * position
    wave = torch.polar(table.amplitude[ids].double().abs(), phase) * table.amplitude[ids].double().sign()
    torch.testing.assert_close(table(ids), torch.cat([wave.real, wave.imag], dim=-1).float())


def memory(rounds: int) -> Outcome:
    """Peak memory of a training step of the encoder layer (hidden 512, feed-forward 2048, 8 heads), one sentence."""
    lengths = (1024, 2048, 4096)
    rows, notes = [], []
    for score, bar in (("real", 2.3), ("modulus", None)):
        peak: dict[int, list[float]] = {}
        for length in lengths:
            # Eight heads, about nine float32 numbers for each score.
            needed = 0 if score == "real" else 12 * 8 * length**2 * 4
            if needed > _available_memory():
                notes.append(f"score {score} at {length} tokens left out: {needed / 2**30:.0f} GiB are not free")
                continue
            peak[length] = [_peak("layer", score, length) for _ in range(rounds)]
        for short, long in pairwise(lengths):
            if long in peak:
                comparison = Comparison(f"{long} tokens", f"{short} tokens", bar if short == 2048 else None)
                rows.append(row(f"score {score}", comparison, peak[long], peak[short], "MiB"))
                print(f"  score {score}: {long} / {short} tokens = {rows[-1]['ratio']['median']:.3f}", flush=True)
    return Outcome(rows, notes)


def _available_memory() -> float:
    try:
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    match = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return 1024.0 * int(match.group(1)) if match else 0.0


def _peak(kind: str, name: str, length: int) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", f"--{kind}", name, "--length", str(length)]
    # Blocks of 64 KiB or more go back to the system as soon as they are freed; see benchmarks/memory.py.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": str(THREADS)}
    out = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])["peak_mib"]


def against_peers(rounds: int) -> Outcome:
    """Encoder layers of other libraries of the same size: 256 complex features, feed-forward 1024, 8 heads."""
    features, feed_forward, heads = 256, 1024, 8
    available, notes = {}, []
    for name, peer in peers().items():
        if importlib.util.find_spec(peer.package) is None:
            notes.append(f"{name} is not installed and was left out: pip install complex_transformers[bench]")
            continue
        available[name] = peer.build(features, feed_forward, heads)
        notes.append(f"{name}: {peer.description}; {_size(available[name]):,} real parameters")
    ours = {f"score {score}": complex_layer(512, 2048, heads, score) for score in ("real", "modulus")}
    notes.append(f"ours: GELU of both parts, norms of each part; {_size(ours['score real']):,} real parameters")
    rows = []
    for length, batch, bar in ((256, 8, 1.3), (1024, 2, 3.0)):
        z = torch.randn(batch, length, features, dtype=torch.complex64)
        contestants = {**_layer_steps(ours, torch.view_as_real(z).transpose(-1, -2).flatten(-2))}
        contestants |= _layer_steps(available, z)
        comparisons = [Comparison(score, name, round(1 / bar, 3)) for name in available for score in ours]
        rows += race(f"{batch} x {length} tokens", contestants, comparisons, rounds)
    return Outcome(rows, notes)


def _size(layer: nn.Module) -> int:
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in layer.parameters())


def recurrent(rounds: int) -> Outcome:
    """LSTM and GRU of 256 complex features on 64 sequences of 40 steps against torch's and other libraries' layers."""
    steps, batch, features = 40, 64, 256
    z = torch.randn(steps, batch, features, dtype=torch.complex64)
    x = torch.view_as_real(z).transpose(-1, -2).flatten(-2)
    rows, notes = [], []
    for kind in ("LSTM", "GRU"):
        contestants, names = {}, {}
        for name, contestant in recurrent_layers(kind, features).items():
            layer = contestant.layer
            try:
                contestants |= _layer_steps({name: layer}, z if contestant.native else x)
            except (RuntimeError, AssertionError) as error:
                notes.append(f"{name} does not train and was left out: {str(error).splitlines()[0]}")
                continue
            names[name] = contestant
            notes.append(f"{name}: {_size(layer):,} real parameters")
        ours = f"Complex{kind}"
        bars = {f"torch.nn.{kind}": 2.5, f"torch.nn.{kind}, complex64": 1 / 3, f"complextorch {kind}": 1 / 3}
        comparisons = [
            Comparison(ours, name, round(bar, 3) if kind == "LSTM" else None)
            for name, bar in bars.items()
            if name in names
        ]
        comparisons.append(Comparison(f"{ours}, split gates", f"torch.nn.{kind}"))
        if kind == "LSTM":
            floor = "its products alone"
            contestants[floor] = lstm_products(steps, batch, features)
            comparisons += [Comparison(floor, name) for name in (ours, *bars) if name in names]
        rows += race(f"{kind}, training step", contestants, comparisons, rounds)
    return Outcome(rows, notes)


def classifier(rounds: int) -> Outcome:
    """The convolutional classifier (embedding included) on 50 texts of 24 words against its real twin."""
    ids, labels = torch.randint(1, 10_000, (50, 24)), torch.randint(0, 6, (50,))
    contestants = {}
    for field in ("complex", "real"):
        model = text_cnn(field)

        def step(model: nn.Module = model) -> None:
            model.zero_grad(set_to_none=True)
            model(ids, labels=labels).loss.backward()

        check_gradients(field, model, step)
        contestants[f"{field} CNN"] = step
    comparisons = [Comparison("complex CNN", "real CNN", 1.05)]
    return Outcome(race("training step", contestants, comparisons, rounds), [])


def translation(rounds: int) -> Outcome:
    """Encoder-decoders of 6 + 6 layers (hidden 512, feed-forward 2048, 8 heads, 8,000 words) against Marian's."""
    models = {name: translator(name) for name in (MARIAN, *OURS)}
    notes = [f"{name}: {_size(model):,} parameters" for name, model in models.items()]
    batch = texts(32, 32)
    steps = {name: training(model, batch) for name, model in models.items()}
    for name, model in models.items():
        check_gradients(name, model, steps[name])
    bars = {"score real": 1.00, "score modulus": 1.10}
    comparisons = [Comparison(name, MARIAN, bars.get(name)) for name in OURS]
    rows = race("32 x 32 tokens, training step", steps, comparisons, rounds)
    steps = {name: decoding_step(model, batch) for name, model in models.items()}
    comparisons = [Comparison(name, MARIAN, None if name == "real twin" else 1.15) for name in OURS]
    rows += race(f"32 x {NEW_TOKENS} tokens, greedy decoding", steps, comparisons, rounds)
    peak = {name: [_peak("translator", name, 64) for _ in range(3)] for name in models}
    for name in OURS:
        comparison = Comparison(name, MARIAN, None if name == "real twin" else 1.10)
        rows.append(row("32 x 64 tokens, peak memory of a training step", comparison, peak[name], peak[MARIAN], "MiB"))
        print(f"  peak memory: {name} / {MARIAN} = {rows[-1]['ratio']['median']:.3f}", flush=True)
    return Outcome(rows, notes)


def transformer_xl(rounds: int) -> Outcome:
    """Transformer-XLs of 4 layers (hidden 512, feed-forward 2048, 8 heads, segment 256, memory 256) over letters."""
    models = {name: transfo_xl.language_model(name) for name in transfo_xl.OURS}
    plain, streams = PlainTransformerXL(), transfo_xl.letters()
    transfo_xl.check_plain(plain, models["real field"], streams)
    for model in models.values():
        transfo_xl.check_reading(model)
    networks = {PLAIN: plain, **models}
    notes = [f"{name}: {_size(model):,} parameters" for name, model in networks.items()]
    steps = {name: transfo_xl.training(model, streams) for name, model in networks.items()}
    for name, model in networks.items():
        check_gradients(name, model, steps[name])
    comparisons = [Comparison("real field", PLAIN, 1.00)]
    bars = {"score real": 1.00, "score modulus": 1.40}
    comparisons += [Comparison(name, "real field", bar) for name, bar in bars.items()]
    rows = race("8 x 256 tokens after 256, training step", steps, comparisons, rounds)
    for name, model in models.items():
        steps = {f"{count:,} tokens": transfo_xl.reading(model, count, 4096 // count) for count in (1024, 4096)}
        comparisons = [Comparison("4,096 tokens", "1,024 tokens", 1.10)]
        rows += race(f"{name}, reading 4,096 tokens in streams of that length", steps, comparisons, rounds)
        steps = {f"token {place:,}": transfo_xl.generation(model, place, 64) for place in (1000, 10_000)}
        comparisons = [Comparison("token 10,000", "token 1,000", 1.10)]
        rows += race(f"{name}, generating 64 tokens", steps, comparisons, rounds)
    return Outcome(rows, notes)


def syntax(rounds: int) -> Outcome:
    """SynCoNMT of the paper's width (512 complex features), 8,000 words, 32 x 24 words, against its real twins."""
    rows, notes = [], []
    for attention in ("bahdanau", "luong"):
        models = {name: synconmt.translator(name, attention, 1024) for name in synconmt.FIELDS}
        synconmt.check_twins(models)
        notes += [f"{attention}, {name}: {_size(model):,} parameters" for name, model in models.items()]
        steps = {name: synconmt.training(model, synconmt.pairs(model, 32, 24)) for name, model in models.items()}
        for name, model in models.items():
            check_gradients(name, model, steps[name])
        comparisons = [Comparison("complex", "real twin", 1.30), Comparison("complex", "real twin, words", 1.30)]
        rows += race(f"{attention}, training step", steps, comparisons, rounds)
        model = models["complex"]
        batch = synconmt.pairs(model, 32, 24)
        steps = {f"behind {place} words": synconmt.continuation(model, batch, place) for place in (10, 400)}
        comparisons = [Comparison("behind 400 words", "behind 10 words", 1.10)]
        rows += race(f"{attention}, {synconmt.NEW_WORDS} words, greedily", steps, comparisons, rounds)
        many = synconmt.pairs(model, 160, 24)
        steps = {"5 beams, 32 sentences": synconmt.search(model, batch, 5)}
        steps["greedy, 160 sentences"] = synconmt.search(model, many, 1)
        comparisons = [Comparison("5 beams, 32 sentences", "greedy, 160 sentences", 1.20)]
        rows += race(f"{attention}, {synconmt.NEW_WORDS} words", steps, comparisons, rounds)
    return Outcome(rows, notes)


# name -> case and its rounds
CASES: dict[str, tuple[Callable[[int], Outcome], int]] = {
    "linear": (linear, 30),
    "encoder": (encoder, 30),
    "embedding": (embedding, 30),
    "memory": (memory, 3),
    "peers": (against_peers, 10),
    "recurrent": (recurrent, 10),
    "classifier": (classifier, 20),
    "translation": (translation, 7),
    "transfo_xl": (transformer_xl, 10),
    "synconmt": (syntax, 7),
    "speech": (speech.case, 5),
}


# --- output -------------------------------------------------------------------------------------------------------


def _figure(value: dict[str, float], unit: str) -> str:
    median = value["median"]
    return f"{median:,.0f} {unit}" if median >= 100 else f"{median:.3g} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3g}"


def render(data: dict[str, Any], page: Path) -> None:
    """Write the table of a case into the page."""
    rows = []
    for found in data["rows"]:
        quotient = found["ratio"]
        verdict = "" if found["bar"] is None else f"{found['bar']:.3g}, {'met' if found['met'] else '**missed**'}"
        rows.append(
            [
                f"{found['group']}: {found['ours']} / {found['reference']}",
                _figure(found["ours_value"], found["unit"]),
                _figure(found["reference_value"], found["unit"]),
                f"{_ratio(quotient['median'])} ({_ratio(quotient['low'])} to {_ratio(quotient['high'])})",
                verdict,
            ]
        )
    text = [data["what"], markdown_table(["", "ours", "reference", "ratio (quartiles)", "at most"], rows)]
    if data["notes"]:
        text.append("\n".join(f"- {note}" for note in data["notes"]))
    text.append(f"Medians of {data['rounds']} rounds. {machine_line(data['machine'])}")
    write_part(page, f"bench-{data['case']}", "\n\n".join(text))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=list(CASES), help="one or more cases (default: all)")
    parser.add_argument("--rounds", type=int, help="rounds of every case, at least 2 (default: by case)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the JSON files")
    parser.add_argument("--page", type=Path, default=DOCS / "benchmarks.md", help="page that shows the tables")
    parser.add_argument("--render-only", action="store_true", help="write the tables from what has been measured")
    parser.add_argument(
        "--threads", type=int, default=THREADS, help="1: processor time, for a machine that is busy (default: 2)"
    )
    arguments = parser.parse_args()
    if arguments.rounds is not None and arguments.rounds < 2:
        parser.error(f"--rounds must be at least 2 to have quartiles, got {arguments.rounds}")
    torch.set_num_threads(arguments.threads)
    missed = []
    for name in arguments.case or CASES:
        case, rounds = CASES[name]
        path = arguments.output / f"{name}.json"
        if not arguments.render_only:
            rounds = arguments.rounds or rounds
            print(f"{name} ({rounds} rounds)", flush=True)
            torch.manual_seed(0)
            start = time.perf_counter()
            outcome = case(rounds)
            data = {
                "case": name,
                "what": str(case.__doc__),
                "rounds": rounds,
                "seconds": round(time.perf_counter() - start),
                "machine": machine_facts("complextorch", "torchcvnn") if name == "peers" else machine_facts(),
                "notes": outcome.notes,
                "rows": outcome.rows,
            }
            write_json(path, data)
        data = read_json(path)
        render(data, arguments.page)
        missed += [
            f"{name}, {r['group']}: {r['ours']} / {r['reference']} is {r['ratio']['median']:.3f}, allowed {r['bar']}"
            for r in data["rows"]
            if r["met"] is False
        ]
    print("\n".join(missed) if missed else "every bar is met")


if __name__ == "__main__":
    main()
