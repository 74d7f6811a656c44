# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The networks and recurrent layers of ``benchmarks.cases``, of the same sizes and on the same batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.cases import (
    classifier as classifiers,
    images as pictures,
    linear_recurrence as recurrences,
    recurrent as cells,
    speech as recordings,
    states as quantum,
    synconmt as syntax,
    transfo_xl as streams,
    translation as translators,
)
from benchmarks.gpu.contest import Contestant, Mode, Setting, against, compete, layer, modes, networks, to
from benchmarks.race import Comparison, Outcome
from benchmarks.timing import Step

__all__ = [
    "classifier",
    "images",
    "linear_recurrence",
    "recurrent",
    "speech",
    "states",
    "synconmt",
    "transfo_xl",
    "translation",
]

FIELDS = ("complex", "real")
UNEQUAL = "{}, 20 to 40 steps"  # padded to 40
STEPWISE = "{}, split gates"  # not in cuDNN
GRAPHED = f"{STEPWISE}, CUDA graph"


def _run(
    setting: Setting,
    rounds: int,
    group: str,
    contestants: Callable[[Mode], Mapping[str, Contestant]],
    comparisons: Sequence[Comparison],
    compiles: bool = True,
) -> Outcome:
    """Run ``compete`` in every mode; recurrent networks are not compiled, because the compiler unrolls their steps."""
    whole = Outcome([])
    for mode in modes(setting, compiles):
        found = compete(setting, f"{group}, {mode.name}", contestants(mode), comparisons, rounds)
        whole.rows += found.rows
        whole.notes += found.notes
    return whole


def _train(
    setting: Setting,
    rounds: int,
    group: str,
    models: Callable[[], Mapping[str, nn.Module]],
    batch: Callable[[nn.Module], Mapping[str, Tensor]],
    comparisons: Sequence[Comparison],
    compiles: bool = True,
) -> Outcome:
    """Measure training steps of networks, built anew for every mode."""
    return _run(setting, rounds, group, lambda mode: networks(setting, mode, models(), batch), comparisons, compiles)


def images(setting: Setting, rounds: int) -> Outcome:
    """Dense 784-1024-1024-10 and two layers of 128 stored channels on 256 images of 28 x 28 against plain torch."""
    width, channels, count = (16, 4, 1) if setting.is_tiny else (pictures.WIDTH, pictures.CHANNELS, pictures.BATCH)
    batch = {"pixel_values": torch.rand(count, 1, 28, 28), "labels": torch.randint(0, 10, (count,))}
    comparisons = [
        Comparison(f"complex {kind}", f"{other} {kind}") for kind in ("MLP", "convnet") for other in ("real", "torch")
    ]
    return _train(
        setting, rounds, f"{count} x 28 x 28", lambda: pictures.networks(width, channels), lambda _: batch, comparisons
    )


def classifier(setting: Setting, rounds: int) -> Outcome:
    """The convolutional classifier (embedding included) on 50 sequences of 24 tokens against its real twin."""
    sizes = {"hidden_size": 8, "num_filters": 8} if setting.is_tiny else {}
    sizes["vocab_size"] = _words(setting)

    def models() -> dict[str, nn.Module]:
        return {f"{field} CNN": classifiers.text_cnn(field, **sizes) for field in FIELDS}

    return _classify(setting, rounds, models, against("real CNN", ["complex CNN"]))


def states(setting: Setting, rounds: int) -> Outcome:
    """States and measurements (with embedding) on 50 sequences of 24 tokens against real states and embeddings."""
    sizes = {"hidden_size": 8, "num_measurements": 4} if setting.is_tiny else {}
    sizes["vocab_size"] = _words(setting)

    def models() -> dict[str, nn.Module]:
        found = {f"{field} states": quantum.states(field, **sizes) for field in FIELDS}
        return found | {"real embeddings": quantum.states("real", embedding_type="word", **sizes)}

    comparisons = [Comparison("complex states", other) for other in ("real states", "real embeddings")]
    return _classify(setting, rounds, models, comparisons)


def _words(setting: Setting) -> int:
    return 20 if setting.is_tiny else 10_000


def _classify(
    setting: Setting, rounds: int, models: Callable[[], Mapping[str, nn.Module]], comparisons: Sequence[Comparison]
) -> Outcome:
    count, length = (2, 8) if setting.is_tiny else (50, 24)
    batch = {"input_ids": torch.randint(1, _words(setting), (count, length)), "labels": torch.randint(0, 6, (count,))}
    return _train(setting, rounds, f"{count} x {length} words", models, lambda _: batch, comparisons)


def translation(setting: Setting, rounds: int) -> Outcome:
    """Encoder-decoders of 6 + 6 layers (hidden 512, feed-forward 2048, 8 heads, 8,000 tokens) against Marian's."""
    sizes = {}
    count, length = 32, 32
    if setting.is_tiny:
        sizes = {"width": 8, "feed_forward": 16, "layers": 1, "heads": 2, "vocabulary": 16}
        count, length = 2, 4
    batch = translators.texts(count, length, **({"vocabulary": 16} if setting.is_tiny else {}))

    def models() -> dict[str, nn.Module]:
        return {name: translators.translator(name, **sizes) for name in (translators.MARIAN, *translators.OURS)}

    comparisons = against(translators.MARIAN, translators.OURS)
    comparisons += against("real twin", [name for name in translators.OURS if name != "real twin"])
    return _train(setting, rounds, f"{count} x {length} tokens", models, lambda _: batch, comparisons)


def synconmt(setting: Setting, rounds: int) -> Outcome:
    """SynCoNMT of the paper's width (512 complex features), 8,000 tokens, 32 x 24 tokens, against its real twins."""
    width, words, count, length = (8, 60, 1, 4) if setting.is_tiny else (1024, 8000, 32, 24)
    whole = Outcome([])
    for attention in ("bahdanau", "luong"):

        def models(attention: str = attention) -> dict[str, nn.Module]:
            return {name: syntax.translator(name, attention, width, words) for name in syntax.FIELDS}

        comparisons = [Comparison("complex", name) for name in syntax.FIELDS if name != "complex"]
        found = _train(
            setting, rounds, attention, models, lambda model: syntax.pairs(model, count, length), comparisons, False
        )
        whole.rows += found.rows
        whole.notes += found.notes
    return whole


def speech(setting: Setting, rounds: int) -> Outcome:
    """CTC models of speech (6 layers, hidden 512, feed-forward 2048) on 8 clips of 8 s against their real twin."""
    sizes = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    count, seconds, symbols = (2, 1, 3) if setting.is_tiny else (8, 8, 60)

    def contestants(mode: Mode) -> dict[str, Contestant]:
        found: dict[str, Contestant] = {}
        for name in recordings.NETWORKS:
            model = recordings.network(name, **(sizes if setting.is_tiny else {}))
            batch = recordings.clips(name, count, seconds, symbols)
            found |= networks(setting, mode, {name: model}, lambda _, batch=batch: batch)
        return found

    return _run(
        setting, rounds, f"{count} clips of {seconds} s", contestants, against("real twin", list(recordings.NETWORKS))
    )


def transfo_xl(setting: Setting, rounds: int) -> Outcome:
    """Transformer-XLs of 4 layers (hidden 512, feed-forward 2048, 8 heads, segment 256, memory 256) on characters."""
    sizes, segment, count = {}, streams.SEGMENT, 8
    if setting.is_tiny:
        sizes = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        segment, count = 4, 2
        sizes["mem_len"] = segment
    letters = streams.letters(2 * segment + 1, count).to(setting.device)

    def contestants(mode: Mode) -> dict[str, Contestant]:
        models: dict[str, nn.Module] = {name: streams.language_model(name, **sizes) for name in streams.OURS}
        models[streams.PLAIN] = streams.PlainTransformerXL(models["real field"].config)
        return {name: Contestant(_reading(setting, mode, model, letters)) for name, model in models.items()}

    comparisons = against(streams.PLAIN, ["real field"]) + against("real field", streams.OURS)
    return _run(setting, rounds, f"{count} x {segment} tokens after {segment}", contestants, comparisons)


def _reading(setting: Setting, mode: Mode, model: nn.Module, letters: Tensor) -> Callable[[], Step]:
    model = to(model, setting, mode.dtype)
    if mode.compiled:
        model.compile(backend=setting.backend)
    return lambda: streams.training(model, letters)


class _Masked(cells.States):
    """A recurrent layer on sequences of unequal lengths, with a mask of real steps."""

    def __init__(self, layer: nn.Module, lengths: Tensor) -> None:
        super().__init__(layer)
        self.register_buffer("mask", torch.arange(int(lengths.max())).unsqueeze(1) < lengths)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, mask=self.mask)[0]


class _Graphed(cells.States):
    """A recurrent layer whose step loop is captured in a CUDA graph by its first call, except on the CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if x.is_cuda and "forward" not in self.layer.__dict__:
            with torch.enable_grad():
                torch.cuda.make_graphed_callables(self.layer, (x.detach().clone().requires_grad_(x.requires_grad),))
        return self.layer(x)[0]


class _Packed(cells.States):
    """A recurrent layer of torch on sequences of unequal lengths, which it packs."""

    def __init__(self, layer: nn.Module, lengths: Tensor) -> None:
        super().__init__(layer)
        self.lengths = lengths  # torch packs with lengths on the CPU

    def forward(self, x: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, self.lengths, enforce_sorted=False)
        return pad_packed_sequence(self.layer(packed)[0])[0]


def recurrent(setting: Setting, rounds: int) -> Outcome:
    """LSTM and GRU of 256 complex features on 64 sequences of 40 steps against torch's layers of the same width."""
    steps, batch, features = (2, 2, 4) if setting.is_tiny else (40, 64, 256)
    lengths = torch.linspace(steps // 2, steps, batch).round().long()
    whole = Outcome([])
    for kind in ("LSTM", "GRU"):
        ours, reference = f"Complex{kind}", f"torch.nn.{kind}"

        def layers(kind: str = kind, ours: str = ours, reference: str = reference) -> dict[str, nn.Module]:
            made = cells.recurrent_layers(kind, features)[0]
            found: dict[str, nn.Module] = {name: cells.States(layer) for name, layer in made.items()}
            found[GRAPHED.format(ours)] = _Graphed(cells.recurrent_layers(kind, features)[0][STEPWISE.format(ours)])
            if kind == "LSTM":
                found[UNEQUAL.format(ours)] = _Masked(made[ours], lengths)
                found[UNEQUAL.format(reference)] = _Packed(made[reference], lengths)
            return found

        comparisons = against(reference, [*cells.recurrent_layers(kind, 1)[0], GRAPHED.format(ours)])
        comparisons.append(Comparison(GRAPHED.format(ours), STEPWISE.format(ours)))
        if kind == "LSTM":
            comparisons.append(Comparison(UNEQUAL.format(ours), UNEQUAL.format(reference)))
        found = _states(setting, rounds, kind, layers, (steps, batch, 2 * features), comparisons)
        whole.rows += found.rows
        whole.notes += found.notes
    return whole


def linear_recurrence(setting: Setting, rounds: int) -> Outcome:
    """Blocks around a linear recurrence of stored width 256 on 16 sequences of 512 tokens beside recurrent layers."""
    steps, batch, width = (2, 1, 8) if setting.is_tiny else (512, recurrences.LANES, recurrences.WIDTH)
    block = recurrences.BLOCK
    others = [name for name in recurrences.layers(width) if name not in (block, "DiagonalRecurrence")]
    comparisons = [*(Comparison(block, name) for name in others), Comparison("DiagonalRecurrence", block)]
    return _states(
        setting, rounds, f"{batch} sequences", lambda: recurrences.layers(width), (steps, batch, width), comparisons
    )


def _states(
    setting: Setting,
    rounds: int,
    group: str,
    layers: Callable[[], Mapping[str, nn.Module]],
    shape: tuple[int, ...],
    comparisons: Sequence[Comparison],
) -> Outcome:
    """Measure recurrent layers on random inputs."""

    def contestants(mode: Mode) -> dict[str, Contestant]:
        x = torch.randn(shape, device=setting.device, dtype=mode.dtype)
        return {
            name: layer(setting, mode, found, x, may_fail=isinstance(found, _Graphed))
            for name, found in layers().items()
        }

    return _run(setting, rounds, group, contestants, comparisons, compiles=False)
