# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and peak memory of training steps on a GPU: ``make bench-gpu``.

    python -m benchmarks.gpu [--case attention --case dense ...] [--lengths 128 1024 ...] [--rounds N] [--results FILE]
    python -m benchmarks.gpu --tiny     # the same code at toy sizes on the CPU, which measures nothing

bfloat16 and float32, as they are and compiled, forward + backward without dropout. A case is a line of
``benchmarks/results/bench-gpu.jsonl``, from which ``python -m benchmarks.tables docs/benchmarks.md`` writes its table.
With ``TRITON_INTERPRET=1`` a tiny run takes the kernels by Triton's interpreter. What a GPU has no memory for is left
out, and said so. A ratio is ours / theirs: below 1, ours is faster (smaller).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, LlamaConfig, LlamaModel
from transformers.models.bert.modeling_bert import BertLayer

from benchmarks.bench import measure
from benchmarks.cases.peers import PEERS
from benchmarks.race import THREADS, Case, Comparison, Outcome, race, row
from benchmarks.reporting import RESULTS, add_line
from benchmarks.timing import Step, training_step
from complex_transformers import ComplexLlamaConfig, ComplexLlamaModel, ComplexOrderConfig, ComplexOrderModel
from complex_transformers.kernels.accelerator import switch
from complex_transformers.nn import ATTENTION_SCORES, ComplexLinear, complex_attention, use_kernels

__all__ = ["CASES", "GPU"]

GPU = RESULTS / "bench-gpu.jsonl"
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@dataclass
class Setting:
    """What every case is run at."""

    device: str = "cuda"
    lengths: tuple[int, ...] = (128, 512, 2048, 8192, 16384)
    dtypes: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float32)
    heads: int = 8
    head_width: int = 64
    backend: str = "inductor"

    @property
    def width(self) -> int:
        """The stored width of a layer."""
        return self.heads * self.head_width


SETTING = Setting()
TINY = Setting("cpu", (8,), (torch.float32,), heads=2, head_width=4, backend="eager")


@dataclass(frozen=True)
class Contestant:
    """What is called, on halves or on a native complex tensor, and whether kernels may run."""

    call: Callable[[Tensor], Tensor]
    parameters: tuple[nn.Parameter, ...] = ()
    is_native: bool = False
    kernels: bool = True

    @classmethod
    def of(cls, layer: nn.Module, **options: bool) -> Contestant:
        """A layer, on the device and in the dtype it is in."""
        return cls(lambda x: _first(layer(x)), tuple(layer.parameters()), **options)


def _first(out: Tensor | tuple[Tensor, ...]) -> Tensor:
    return out if isinstance(out, Tensor) else out[0]


def _step(contestant: Contestant, x: Tensor, compiled: bool) -> Step:
    """A training step that has ended when it returns."""
    call = torch.compile(contestant.call, backend=SETTING.backend) if compiled else contestant.call
    if contestant.is_native:
        x = torch.complex(*x.float().chunk(2, dim=-1))
    with use_kernels(contestant.kernels):
        step = training_step(call, list(contestant.parameters), x)

    def done() -> None:
        with use_kernels(contestant.kernels):
            step()
        if SETTING.device == "cuda":
            torch.cuda.synchronize()

    return done


def _peak(step: Step) -> float:
    """MiB that a step takes besides what is held before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def compete(
    group: str, contestants: Mapping[str, Contestant], reference: str, x: Tensor, compiled: bool, rounds: int
) -> Outcome:
    """Milliseconds and peak memory of each contestant beside the reference; those that run out of memory are noted."""
    steps, notes = {}, []
    for name, contestant in contestants.items():
        try:
            step = _step(contestant, x, compiled)
            step()
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            notes.append(f"{group}: {name} left out, the GPU has not the memory")
            continue
        steps[name] = step
    if reference not in steps:
        return Outcome([], notes)
    comparisons = [Comparison(name, reference) for name in steps if name != reference]
    rows = race(group, steps, comparisons, rounds)
    if SETTING.device == "cuda":
        peaks = {name: [_peak(step) for _ in range(2)] for name, step in steps.items()}
        rows += [row(f"{group}, peak", c, peaks[c.ours], peaks[c.reference], "MiB") for c in comparisons]
    return Outcome(rows, notes)


def _settings() -> Iterator[tuple[int, torch.dtype, bool, str]]:
    """Lengths, dtypes, whether compiled, and a name for the three."""
    for length, dtype, compiled in product(SETTING.lengths, SETTING.dtypes, (False, True)):
        torch._dynamo.reset()  # one shape at a time, of more contestants than its limit of graphs
        torch._dynamo.config.recompile_limit = 64
        yield length, dtype, compiled, f"{length} tokens, {str(dtype)[6:]}{', compiled' if compiled else ''}"


def _run(
    contestants: Callable[[torch.dtype], dict[str, Contestant]], reference: str, width: int, rounds: int
) -> Outcome:
    """``compete`` at every setting on one text ``[1, N, width]``."""
    whole = Outcome([])
    for length, dtype, compiled, name in _settings():
        x = torch.randn(1, length, width, device=SETTING.device, dtype=dtype)
        found = compete(name, contestants(dtype), reference, x, compiled, rounds)
        whole.rows += found.rows
        whole.notes += found.notes
    return whole


def _attend(score: str | None, x: Tensor) -> Tensor:
    """Attention of queries, keys and values ``[1, N, 3 H 2 d]``; PyTorch's own on the halves without a score."""
    heads = x.unflatten(-1, (3, SETTING.heads, -1)).permute(2, 0, 3, 1, 4)
    if score is None:
        return F.scaled_dot_product_attention(*heads).transpose(1, 2)
    return complex_attention(nn.Identity(), *heads, None, score=score, need_weights=False)[0]


def attention(rounds: int) -> Outcome:
    """Attention (8 heads of 64 stored numbers) by each score against PyTorch's on the same halves."""
    fused = "SDPA on halves"
    contestants = {fused: Contestant(partial(_attend, None))}
    contestants |= {f"score {score}": Contestant(partial(_attend, score)) for score in ATTENTION_SCORES}
    contestants["score modulus, no kernel"] = Contestant(partial(_attend, "modulus"), kernels=False)
    return _run(lambda dtype: contestants, fused, 3 * SETTING.width, rounds)


def _to(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    return module.train().to(SETTING.device, dtype)


def encoder(rounds: int) -> Outcome:
    """An encoder layer (hidden 512, feed-forward 2048, 8 heads) against Transformers' BertLayer and its real twin."""
    sizes = {
        "hidden_size": SETTING.width,
        "intermediate_size": 4 * SETTING.width,
        "num_attention_heads": SETTING.heads,
        **NO_DROPOUT,
    }

    def ours(**fields: str) -> nn.Module:
        config = ComplexOrderConfig(vocab_size=8, attn_implementation="sdpa", **sizes, **fields)
        return ComplexOrderModel(config).layers[0]

    def contestants(dtype: torch.dtype) -> dict[str, Contestant]:
        config = BertConfig(**sizes)
        config._attn_implementation = "sdpa"
        layers = {"BertLayer": BertLayer(config), "real twin": ours(number_field="real")}
        layers |= {f"score {score}": ours(attention_score=score) for score in ATTENTION_SCORES}
        return {name: Contestant.of(_to(layer, dtype)) for name, layer in layers.items()}

    return _run(contestants, "BertLayer", SETTING.width, rounds)


def decoder(rounds: int) -> Outcome:
    """A decoder of one layer (hidden 512, feed-forward 2048, 8 heads, 4 of keys) against LlamaModel of one layer."""
    sizes = {
        "vocab_size": 8,
        "hidden_size": SETTING.width,
        "intermediate_size": 4 * SETTING.width,
        "num_hidden_layers": 1,
        "num_attention_heads": SETTING.heads,
        "num_key_value_heads": SETTING.heads // 2,
        "pad_token_id": None,
    }

    def contestant(model: nn.Module, dtype: torch.dtype) -> Contestant:
        model = _to(model, dtype)
        parameters = tuple(p for name, p in model.named_parameters() if "embed" not in name)
        return Contestant(lambda x: model(inputs_embeds=x, use_cache=False).last_hidden_state, parameters)

    def contestants(dtype: torch.dtype) -> dict[str, Contestant]:
        ours = {f"score {score}": {"attention_score": score} for score in ("real", "modulus")}
        ours["real twin"] = {"number_field": "real"}
        models: dict[str, nn.Module] = {"Llama": LlamaModel(LlamaConfig(**sizes))}
        models |= {name: ComplexLlamaModel(ComplexLlamaConfig(**sizes, **fields)) for name, fields in ours.items()}
        return {name: contestant(model, dtype) for name, model in models.items()}

    return _run(contestants, "Llama", SETTING.width, rounds)


def dense(rounds: int) -> Outcome:
    """A dense layer (1024 stored numbers) against nn.Linear of the same stored width."""
    width = 2 * SETTING.width

    def contestants(dtype: torch.dtype) -> dict[str, Contestant]:
        layer = _to(ComplexLinear(width, width), dtype)
        return {
            "nn.Linear": Contestant.of(_to(nn.Linear(width, width), dtype)),
            "ComplexLinear": Contestant.of(layer),
            "ComplexLinear, no kernel": Contestant.of(layer, kernels=False),
        }

    return _run(contestants, "nn.Linear", width, rounds)


def peers(rounds: int) -> Outcome:
    """Encoder layers of other libraries in complex64 (256 features, feed-forward 1024, 8 heads), where installed."""
    whole = Outcome([])
    features = SETTING.width // 2
    sizes = {"hidden_size": SETTING.width, "intermediate_size": 4 * SETTING.width, **NO_DROPOUT}
    config = ComplexOrderConfig(vocab_size=8, num_attention_heads=SETTING.heads, attn_implementation="sdpa", **sizes)
    contestants = {"ours, score modulus": Contestant.of(_to(ComplexOrderModel(config).layers[0], torch.float32))}
    for name, (package, options, _) in PEERS.items():
        if importlib.util.find_spec(package) is None:
            whole.notes.append(f"{name} is not installed and was left out: pip install complex_transformers[bench]")
            continue
        layer = importlib.import_module(f"{package}.nn").TransformerEncoderLayer
        theirs = layer(features, SETTING.heads, 4 * features, dropout=0.0, **options).train().to(SETTING.device)
        contestants[name] = Contestant.of(theirs, is_native=True)
    for length in SETTING.lengths:
        x = torch.randn(1, length, SETTING.width, device=SETTING.device)
        for name in [name for name in contestants if contestants[name].is_native]:
            pair = {ours: contestants[ours] for ours in ("ours, score modulus", name)}
            found = compete(f"{length} tokens", pair, name, x, False, rounds)
            whole.rows += found.rows
            whole.notes += found.notes
    return whole


CASES: dict[str, Case] = {
    "gpu-attention": Case(attention, 10),
    "gpu-encoder": Case(encoder, 10),
    "gpu-decoder": Case(decoder, 10),
    "gpu-dense": Case(dense, 10),
    "gpu-peers": Case(peers, 10, packages=("complextorch", "torchcvnn")),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    global SETTING
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    short = [name.removeprefix("gpu-") for name in CASES]
    parser.add_argument("--case", action="append", choices=short, help="one or more (default: all)")
    parser.add_argument("--lengths", type=int, nargs="+", help="tokens (default: 128 to 16384)")
    parser.add_argument("--rounds", type=int, help="rounds of every case, at least 2 (default: 10)")
    parser.add_argument("--results", type=Path, default=GPU, help="file of JSON lines")
    parser.add_argument("--tiny", action="store_true", help="toy sizes on the CPU; needs --results")
    args = parser.parse_args(arguments)
    if args.rounds is not None and args.rounds < 2:
        parser.error(f"--rounds must be at least 2 to have quartiles, got {args.rounds}")
    if args.tiny and args.results == GPU:
        parser.error("--tiny measures nothing: give --results another file")
    if not args.tiny and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU: run on a machine that has one, or try the code with --tiny")
    before, devices, threads = SETTING, switch.DEVICES, torch.get_num_threads()
    SETTING = TINY if args.tiny else Setting()
    if args.lengths:
        SETTING = Setting(**{**vars(SETTING), "lengths": tuple(args.lengths)})
    if args.tiny and os.environ.get("TRITON_INTERPRET") == "1":
        switch.DEVICES = ("cpu",)
    torch.set_num_threads(THREADS)  # with one, the clock would be the processor's
    try:
        for name in args.case or short:
            case = CASES[f"gpu-{name}"]
            found = measure(f"gpu-{name}", case, args.rounds or (2 if args.tiny else case.rounds))
            if not args.tiny:
                major, minor = torch.cuda.get_device_capability()
                name, capability = torch.cuda.get_device_name(), f"capability {major}.{minor}"
                found["machine"] |= {"processor": name, "vector_instructions": capability}
            add_line(args.results, found)
    finally:
        SETTING, switch.DEVICES = before, devices
        torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
