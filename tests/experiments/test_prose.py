# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures in sentences of the pages: the sentence with the figure of the results must be on the page."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from benchmarks.reporting import RESULTS, ROOT, read_lines
from experiments.figures import FEWEST, TRANSLATORS, initial_delta
from experiments.grids.paper import PERIODS
from experiments.tables.positions import mean_loss
from experiments.tables.runs import figures
from experiments.tables.verdicts import verdict
from experiments.thesis.printed import PRINTED
from experiments.thesis.printed_semantics import PRINTED_PHRASES
from prose_figures import bleu, lower, mean, runs, values
from prose_quantization import quantization
from scipy.stats import t as student

DEPTHS = (0, 2, 4, 8)
REAL = ("real", "real-equal-parameters")
WORDS_AND_POLAR = ("polar_word", "polar")
PARITY = ("", ", without rotation")
PAIRS = ("noun-noun", "adjective-noun", "verb-object", "gs2011")
CLASSICAL = ("raw", "probability", "pmi_a", "pmi_b", "pmi_c", "topics,50", "topics,200")
# Quantum space of counts -> the classical space that it is built from.
BASELINES = {"probability amplitude": "probability"} | {
    f"npmi_{kind}{phases}": f"pmi_{kind}" for kind in "abc" for phases in ("", " phases")
}


# --- the thesis -----------------------------------------------------------------------------------------------------


def language(one: str, other: str) -> float:
    return lower("thesis-language-models", "test/perplexity", one, other)


def deviations(one: str, other: str) -> float:
    """Return the difference of two means in units of the larger standard deviation."""
    scores = [values("thesis-language-models", row, "test/perplexity") for row in (one, other)]
    return abs(statistics.fmean(scores[0]) - statistics.fmean(scores[1])) / max(map(statistics.stdev, scores))


def after_500_steps(grid: str, row: str) -> float:
    return mean(grid, row, "validation/perplexity")


def gate_margin() -> float:
    """Return by how many percent the printed gate is worse than the worst gate that can close, at least."""
    scores = {
        (gate, scale): after_500_steps("thesis-language-gates", f"{gate},{scale}")
        for gate in ("modulus", "split", "real_part", "projected")
        for scale in ("0.1", "0.5", "1.0")
    }
    others = {
        scale: max(value for (gate, s), value in scores.items() if s == scale and gate != "modulus")
        for _, scale in scores
    }
    return min(100 * (scores["modulus", scale] / value - 1) for scale, value in others.items())


def median(norm: str, activation: str, k: int, field: str = "complex") -> float:
    return 100 * statistics.median(values("thesis-failures", f"{norm},{activation},{k},{field}", "test"))


def diverged(field: str) -> int:
    return sum(run["diverged"] is not None for run in runs("thesis-failures", f"none,squared_modulus,8,{field}"))


def recipe(activation: str) -> float:
    """Return the lead of the complex network with dropout, in points."""
    rows = [f"{activation},{field},regularised" for field in ("complex", "real")]
    return mean("thesis-cnn-recipes", rows[0], "test", 100) - mean("thesis-cnn-recipes", rows[1], "test", 100)


def dense(row: str) -> list[float]:
    return values("thesis-mlp", row, "test", 100)


def tasks(folder: str, field: str) -> dict[str, float]:
    """Return the error of each task of bAbI in %, of the restart with the lowest training loss."""
    best: dict[str, dict[str, Any]] = {}
    for run in read_lines(RESULTS / "thesis-babi.jsonl"):
        name, task, row = run["row"].split(",", 2)
        if (name, row) == (folder, field) and run["train_loss"] < best.get(task, {"train_loss": 1e9})["train_loss"]:
            best[task] = run
    return {task: 100 * (1 - run["test"]) for task, run in best.items()}


def compared_tasks(folder: str) -> tuple[int, int]:
    """Return in how many tasks the complex network has fewer errors, and more."""
    ours, real = tasks(folder, "complex"), tasks(folder, "real")
    return sum(ours[t] < real[t] for t in ours), sum(ours[t] > real[t] for t in ours)


def thesis() -> Iterator[str]:
    slots, phases = (-language(row, "LM-C-real-words") for row in ("slots", "phases"))
    yield f"slots are worse by {slots:.0f} % and phases by {phases:.0f} % than the same embeddings"
    one, three = language("LM-C", "LM-R"), language("LM-C-three-epochs", "LM-R-three-epochs")
    yield f"at equal width by {one:.0f} % after one epoch and by {three:.0f} % after three"
    times = {f"{deviations(f'LM-C{e}', f'LM-R{e}'):.1f}" for e in ("", "-three-epochs")}
    yield f"Both differences are {' or '.join(times)} times the larger standard deviation"
    yield (
        f"their perplexity is {language('LRU', 'LM-R-equal-parameters'):.0f} % lower than with a real LSTM of equal "
        f"parameters, and {language('LRU', 'LRU-real-equal-parameters'):.0f} % lower than with real linear recurrences"
    )
    yield f"shrinks to {language('LRU-three-epochs', 'LM-R-three-epochs'):.0f} % after three epochs"
    yield f"worse than all gates that can close, by at least {gate_margin():.0f} %"
    printed = {row: after_500_steps("thesis-language-printed", row) for row in ("none", "gate", "state-activation")}
    yield f"The printed state activation costs {100 * (printed['state-activation'] / printed['none'] - 1):.0f} %"
    yield f"perplexity is {printed['gate']:,.0f} from zero states"
    yield f"(the table of gates has {after_500_steps('thesis-language-gates', 'modulus,0.1'):.0f})"
    yield f"({median('none', 'modulus', 8):.1f} without, {median('layer', 'modulus', 8):.1f} with it)"
    differences = (
        abs(median(norm, name, 8) - median(norm, name, 8, "real"))
        for norm in ("none", "layer")
        for name in ("identity", "split_relu", "hirose_tanh")
    )
    yield f"the two fields are within {max(differences):.1f} points"
    yield f"the network has {median('layer', 'tanh', 0):.0f} % at k = 0"
    yield f"{diverged('complex')} of 20 complex and all {diverged('real')} real networks"
    yield f"better by {recipe('split_relu'):.1f} points with `split_relu`"
    yield f"and worse by {-recipe('modulus'):.1f} with `modulus`"
    r52 = [statistics.fmean(dense(f"r52,1,tanh,{k},complex")) for k in (4, 8)]
    yield f"| holomorphic tanh, R52 | {min(r52):.0f} to {max(r52):.0f} % |"
    collapsed = max(
        value for name in ("|z|^2", "tanh") for k in (4, 8) for value in dense(f"mnist,1,{name},{k},complex")
    )
    shallow = max(
        100 * run["test"]
        for name in ("squared_modulus", "tanh")
        for k in (4, 8)
        for run in runs("thesis-failures", f"none,{name},{k},complex")
    )
    yield f"from k = 4 | at most {max(collapsed, shallow):.0f} % in every run |"
    learned = [
        run
        for run in read_lines(RESULTS / "stability.jsonl")
        if run["row"].startswith("ComplexRecurrentLM,") and not run["did_not_learn"] and run["diverged"] is None
    ]
    yield f"all of {len(learned)} runs learned"
    pairs = [[statistics.fmean(dense(f"mnist,1,{name},{k},complex")) for name in ("relu", "|z|")] for k in DEPTHS]
    yield f"| within {max(abs(one - other) for one, other in pairs):.1f} points |"
    errors = {field: statistics.fmean(tasks("en-10k", field).values()) for field in ("real", "complex")}
    yield f"Sentence networks reach {errors['real']:.1f} % (real) and {errors['complex']:.1f} % (complex) error"
    for folder, label in (("en-10k", "10,000"), ("en", "1,000")):
        real, ours = tasks(folder, "real"), tasks(folder, "complex")
        one = [
            f"{name}: {t}"
            for t in ours
            for name, own, other in (("real", real, ours), ("complex", ours, real))
            if own[t] <= 5 < other[t]
        ]
        both = sum(max(ours[t], real[t]) <= 5 for t in ours)
        yield f"| sentences, {label} questions, 3 restarts | {both} tasks | {', '.join(one)} |"
        yield f"| {folder} | {statistics.fmean(real.values()):.1f} | {statistics.fmean(ours.values()):.1f} |"
    words = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    many, few = ([words[count] for count in compared_tasks(folder)] for folder in ("en-10k", "en"))
    yield f"fewer errors in {many[0]} tasks and more in {many[1]}, with 1,000 in {few[0]} and in {few[1]}"


# --- the ComplexOrder paper -----------------------------------------------------------------------------------------


def leads(dataset: str, network: str) -> float:
    """Return the lead of complex-order over the best real network of equal width, in points."""
    names = [f"{dataset},{network},{embedding}" for embedding in ("complex-order", "none", "PE", "TPE")]
    ours, *real = (mean("fair", name, "test_accuracy", 100) for name in names)
    return ours - max(real)


def paper() -> Iterator[str]:
    behind = max(-leads("trec", network) for network in ("FastText", "LSTM", "GCN"))
    yield f"complex-order is within {behind:.1f} points of the best real network of equal width with FastText, LSTM"
    points = [-leads("mr", network) for network in ("FastText", "LSTM", "CNN", "GCN")]
    yield f"complex-order is worse by {min(points):.1f} to {max(points):.1f} points with FastText, LSTM, CNN and GCN"
    assert all(leads("sst2", network) < -2 for network in ("FastText", "LSTM", "CNN", "GCN"))
    yield "with FastText, LSTM, CNN and GCN complex-order is worse by more than two points"
    better = sum(
        mean("paper-table2", f"{data},{network},complex-order", "test_accuracy")
        > mean("paper-table2", f"{data},{network},complex-vanilla", "test_accuracy")
        for data in ("mr", "subj", "trec")
        for network in ("FastText", "LSTM", "CNN", "Transformer", "GCN")
    )
    yield f"It is better than complex-vanilla in {better} of the 15 pairs"
    yield from periods()
    (frequencies,) = read_lines(RESULTS / "paper-table7.jsonl")
    yield from times()
    raised = [100 * (delta / initial_delta() - 1) for _, delta in frequencies["words"]]
    yield f"training raised every listed frequency, by {min(raised):.0f} to {max(raised):.0f} %"


def times() -> Iterator[str]:
    (case,) = runs("bench", "paper-figure2")
    cost = {
        network: [
            100 * (row["ratio_to_none"] - 1)
            for row in case["rows"]
            if row["network"] == network and row["embedding"].startswith("complex")
        ]
        for network in ("CNN", "FastText", "Transformer", "GCN", "LSTM")
    }
    assert max(cost["CNN"]) < 1
    others = [*cost["FastText"], *cost["Transformer"], *cost["GCN"]]
    yield "complex embeddings cost nothing in the convolutional network"
    yield f"and {min(others):.0f} to {max(others):.0f} % in FastText, the Transformer and the GCN"
    yield f"They cost {statistics.fmean(cost['LSTM']):.0f} % in the LSTM"


def slides() -> Iterator[str]:
    found = [runs("paper-periods", cell.row)[0] for cell in PERIODS]
    tested = [(abs(r), run["in_treebank"]) for run in found for name, r in run["spearman"].items() if name != "count"]
    p_values = [2 * student.sf(r * math.sqrt((n - 2) / (1 - r**2)), n - 2) for r, n in tested]
    reach = sum(p <= 0.05 for p in p_values)
    yield f"at most {max(tested)[0]:.2f}; {reach} of {len(tested)} reach p = 0.05"


def periods() -> Iterator[str]:
    questions, sentences, fast, normal = found = [runs("paper-periods", cell.row)[0] for cell in PERIODS]
    assert [round(run["period"], -1) for run in (questions, sentences)] == [50, 50]
    yield f"it stays at {normal['period']:.0f}, the initial value"
    yield f"for the frequencies it falls to {fast['period']:.0f}, and validation accuracy falls too"
    count = sentences["in_treebank"]
    # r with p = 0.05: Student's t of r sqrt((n - 2) / (1 - r^2)).
    least = {run["in_treebank"]: student.isf(0.025, run["in_treebank"] - 2) for run in found}
    smallest = {number: t / math.sqrt(number - 2 + t**2) for number, t in least.items()}
    yield f"With the {count} words of SST-2, a correlation of {smallest[count]:.2f} has p = 0.05"
    tested = [
        abs(value) >= smallest[run["in_treebank"]]
        for run in found
        for name, value in run["spearman"].items()
        if name != "count"
    ]
    yield f"Of the {len(tested)} correlations, {sum(tested)} reach p = 0.05"
    assert all(abs(run["tags"]["ADJ"]["period"] / run["period"] - 1) < 0.01 for run in found)


# --- examples -------------------------------------------------------------------------------------------------------


def choose() -> Iterator[str]:
    assert 1.0 < deviations("LM-C", "LM-R") < 1.2
    yield "At equal width the difference barely exceeds the larger standard deviation"
    parity = {row: values("state-tracking", f"parity,Mamba-3{row}", "test/256/accuracy", 100) for row in PARITY}
    assert [len(each) for each in parity.values()] == [3, 3]
    yield f"Mamba-3 predicts {min(parity['']):.1f} % of the parities in sequences of 256 bits, in each of three seeds"
    yield f"without rotation it predicts {statistics.fmean(parity[', without rotation']):.1f} %"


def state_tracking() -> Iterator[str]:
    def at(length: int, row: str) -> str:
        return f"{mean('state-tracking', row, f'test/{length}/accuracy', 100):.1f} %"

    yield f"{at(40, 'parity,complex LRU')} at 40 bits against {at(40, 'parity,real LRU')} of the real LRU"
    assert {at(256, f"parity,{field} {name}") for field in ("real", "complex") for name in ("LSTM", "GRU")} == {
        "100.0 %"
    }
    yield "falls from {} at 40 bits to {} at 256".format(*(at(n, "parity,Transformer, rotary") for n in (40, 256)))
    sixty = [at(40, f"addition-60,{name}") for name in ("Mamba-3", "real LSTM", "complex GRU")]
    yield "({} at 40 symbols), while the real LSTM has {} and the complex GRU {}".format(*sixty)
    arithmetic = [run for run in read_lines(RESULTS / "state-tracking.jsonl") if run["row"].startswith("arithmetic,")]
    assert max(figures(arithmetic, "test/40/accuracy")) < 0.23
    short, long = (values("state-tracking", "addition-5,Mamba-3", f"test/{n}/accuracy", 100) for n in (40, 256))
    yield f"with two of three seeds ({long[0]:.1f} and {long[1]:.1f} %)"
    longer = {run["seed"]: run for run in runs("state-tracking-limits", "addition-5,48000 steps")}
    after = 100 * longer[3]["test"]["256"]["accuracy"]
    yield f"the seed with {long[2]:.1f} % at 256 symbols after 24,000 steps has {after:.1f} % after 48,000"
    yield f"accuracy falls from {short[2]:.1f} % at 40 symbols to {long[2]:.1f} % at 256"


def semantics() -> Iterator[str]:
    def gain(measure: str, place: str) -> float:
        rows = (f"w2,npmi_{measure}", f"w2,pmi_{measure}")
        ours, raw = (mean("thesis-semantics", row, f"sets/{place}/modulus/mean_rating") for row in rows)
        return ours - raw

    sets = ("simlex/words", "noun-noun/add", "adjective-noun/add", "verb-object/add", "ks2014/add")
    yield f"gains {min(gain(m, place) for m in 'abc' for place in sets):.2f} or more".replace("0.", ".")


def errata() -> Iterator[str]:
    """Yield sentences about values that the sources print."""
    ones, cnn = PRINTED["1"], PRINTED["cnn"]

    def better(table: dict[Any, float], data: str) -> tuple[int, int]:
        cells = [key[:3] for key in table if key[0] == data and key[3] == "real"]
        return sum(table[*cell, "complex"] > table[*cell, "real"] for cell in cells), len(cells)

    dense_rows, cnn_rows = better(ones, "mnist"), better(cnn, "mnist")
    yield (
        f"better in {dense_rows[0]} of {dense_rows[1]} rows of T Table 3.1 and {cnn_rows[0]} of {cnn_rows[1]} of T "
        "Table 3.9"
    )
    for k in (0, 2):
        for field in ("real", "complex"):
            column = {name: value for (data, name, d, f), value in cnn.items() if (data, d, f) == ("r52", k, field)}
            assert column["|z|"] < max(column.values())
    relu = [
        max(values) - min(values)
        for layout in "12"
        for field in ("real", "complex")
        for values in [[PRINTED[layout]["mnist", "relu", k, field] for k in DEPTHS]]
    ]
    yield f"all depths are within {100 * max(relu):.1f} points in either field"
    below = {
        name: sum(
            table[space, pair] <= table[classical, pair] for space, classical in BASELINES.items() for pair in PAIRS
        )
        for name, table in PRINTED_PHRASES.items()
    }
    yield f"{below['add']} are below their baseline in T Table 4.6 and {below['multiply']} in T Table 4.7"
    classical = {
        name: [
            max((value, space in CLASSICAL) for (space, column), value in table.items() if column == pair)[1]
            for pair in PAIRS
        ]
        for name, table in PRINTED_PHRASES.items()
    }
    assert classical == {"add": [False, False, False, True], "multiply": [False, True, False, False]}
    best = {
        name: [max(value for (_, column), value in table.items() if column == pair) for pair in PAIRS]
        for name, table in PRINTED_PHRASES.items()
    }
    assert [m > a for a, m in zip(best["add"], best["multiply"], strict=True)] == [False, False, False, True]


def translation() -> Iterator[str]:
    def behind(*rows: str) -> float:
        return min(bleu(row, "multi30k-en-de") for row in rows) - bleu("complex_order", "multi30k-en-de")

    wide = behind("sinusoidal_position-real", "learned_position-real")
    equal = behind("sinusoidal_position-equal-parameters", "learned_position-equal-parameters")
    yield f"by {wide:.1f} BLEU or more at equal width and {equal:.1f} or more at equal parameters"
    yield f"(`complex_vanilla`) BLEU falls by {-behind('complex_vanilla'):.1f}"


def syntax() -> Iterator[str]:
    better = [
        bleu(f"synconmt-{decoder}-projected") - bleu(f"{real}-equal-parameters")
        for decoder, real in (("b", "bahdanau"), ("l", "luong"))
    ]
    yield f"better than the real networks without relations by {min(better):.0f} to {max(better):.0f} BLEU"
    cells = {"": "alpha", "-projected": "projected"}
    behind = [bleu(f"synconmt-l-{gru}") - bleu(f"synconmt-l-lstm{gate}") for gate, gru in cells.items()]
    yield f"worse than GRUs with the same gates by {min(behind):.1f} to {max(behind):.1f} BLEU"
    yield f"are {bleu('bahdanau') - bleu('synconmt-b'):.1f} BLEU worse than the real network of equal stored width"
    yield f"reduces the difference to {bleu('bahdanau') - bleu('synconmt-b-concat'):.1f}"
    gains = [bleu(f"synconmt-{decoder}-projected") - bleu(f"synconmt-{decoder}-alpha") for decoder in "bl"]
    yield f"gain {min(gains):.1f} to {max(gains):.1f} BLEU"
    losses = []
    for row in TRANSLATORS:
        lengths = [
            [group["bleu"] for group in run["bleu_by_length"] if group["sentences"] >= FEWEST]
            for run in runs("synconmt", row)
        ]
        losses.append(statistics.fmean(groups[0] - groups[-1] for groups in lengths))
    yield f"The four drawn networks lose {min(losses):.1f} to {max(losses):.1f} BLEU from up to 10 words to 21 to 30"
    relations = [bleu(f"{real}-relations") - bleu(real) for real in ("bahdanau", "luong")]
    yield f"change the real networks by {relations[0]:+.1f} (B) and {relations[1]:+.1f} BLEU (L)"


def speech() -> Iterator[str]:
    def error(row: str) -> float:
        return mean("digit-strings", row, "test/label_error_rate", 100)

    yield f"({error('fully_spectral-decoder'):.1f} % against {error('real-decoder'):.1f} %)"
    assert error("fully_spectral") < error("real") / 3
    yield "Fully Spectral makes less than a third of the twin's errors"
    yield f"still classifies {mean('fsdd', 'fully_spectral-phase', 'test/accuracy', 100):.0f} % correctly"
    greedy, beam, fused = (
        [mean("ctc-decoding", row, f"{name}/test/label_error_rate") for row in ("random", "dates")]
        for name in ("greedy", "beam", "language_model")
    )
    assert all(0.19 < 1 - b / g < 0.21 for b, g in zip(beam, greedy, strict=True))
    assert fused[0] > beam[0]
    yield "Beam search reduces the label error rate of greedy decoding by a fifth"
    yield f"with a 5-gram the reduction is {100 * (1 - fused[1] / greedy[1]):.0f} % on dates"
    losses = [loss for row in ("fully_spectral", "real") for loss in values("digit-strings", row, "train_loss")]
    yield f"({min(losses):.2f} to {max(losses):.2f} with dropout)"


def phonetic() -> Iterator[str]:
    ours, real = (mean("espeak", row, "test/label_error_rate", 100) for row in ("fully_spectral", "real"))
    yield f"a label error rate of {ours:.1f} %, and the real twin with twice the parameters {real:.1f} %"


def language_modeling() -> Iterator[str]:
    found = " and ".join(f"{value:.1f}" for value in values("thesis-language-models", "LRU", "test/perplexity"))
    yield f"test perplexity {found} (two seeds)"
    assert [run["seed"] for run in runs("thesis-language-models", "LRU")] == [0, 1]
    rows = [runs("mlm", row)[0] for row in ("complex_order", "complex_order-real")]
    yield f"the complex one has {100 * (1 - rows[0]['parameters'] / rows[1]['parameters']):.0f} % fewer parameters"


def long_range() -> Iterator[str]:
    def against(row: str, field: str, length: int = 64) -> str:
        ours, theirs = (
            values("long-range", f"{row},{each}", f"test/{length}/accuracy") for each in ("complex", field)
        )
        return verdict(ours, theirs)

    retrieval = [f"{task},polar" for task in ("copy", "needle", "indirect-indexing", "selective-copy")]
    assert {against(row, "real-equal-parameters") for row in retrieval} == {"better"}
    assert "worse" not in {against(row, "real") for row in retrieval}
    yield "the complex network copies, retrieves and indexes better than the real one with equal parameters"
    assert "better" not in {against("listops,polar", field) for field in REAL}
    words = {
        task: verdict(
            *(values("long-range", f"{task},{name},complex", "test/64/accuracy") for name in WORDS_AND_POLAR)
        )
        for task in ("copy", "needle", "listops")
    }
    assert words == {"copy": "worse", "needle": "worse", "listops": "on par"}
    yield "Frequencies per token (`polar_word`) are worse than polar positions at copying and retrieval"
    memory = ["phase-memory,rotary", "phase-memory,rotary-sigmoid"]
    assert {against(row, field) for row in memory for field in REAL} == {"better"}
    assert "better" not in {
        against(row, field, length) for row in memory for field in REAL for length in (256, 512, 1024)
    }
    yield "At the trained length complex networks remember phases better than real ones"


def positions() -> Iterator[str]:
    (case,) = runs("bench", "positions")
    ratios = [(found["group"], found["ratio"]["median"]) for found in case["rows"] if found["ours"] == "polar"]
    assert [group.partition(",")[0] for group, _ in ratios] == ["complex", "complex", "real", "real"]
    ours, ours_decoding, real, real_decoding = (f"{ratio:.2f}" for _, ratio in ratios)
    yield f"a complex network takes {ours} times as long as with rotary ones, decoding {ours_decoding} times"
    yield f"in a real network {real} and {real_decoding} times"


def all_positions() -> Iterator[str]:
    for field in ("complex", "real"):
        words, polar = (
            [run["perplexity_by_range"]["as trained"] for run in runs("positions", f"text8,{field},{name}")]
            for name in WORDS_AND_POLAR
        )
        for last in (256, 512, 1024, 2048, 4096):
            losses = ([mean_loss(curve, last) for curve in each] for each in (words, polar))
            assert verdict(*losses, lower_is_better=True) == "worse", (field, last)
    yield "Frequencies per token (`polar_word`) are worse than polar positions at every length, in both fields"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "docs/thesis.md": thesis,
    "docs/choose.md": choose,
    "docs/concepts/positions.md": positions,
    "docs/long-range.md": long_range,
    "docs/positions.md": all_positions,
    "docs/quantization.md": quantization,
    "docs/errata.md": errata,
    "docs/paper.md": paper,
    "docs/semantics.md": semantics,
    "docs/sources/slides.md": slides,
    "docs/state-tracking.md": state_tracking,
    "examples/translation/README.md": translation,
    "examples/syntax-translation/README.md": syntax,
    "examples/speech/README.md": speech,
    "examples/phonetic-transcription/README.md": phonetic,
    "examples/language-modeling/README.md": language_modeling,
}


@pytest.mark.parametrize("page", PAGES)
def test_sentences_have_the_figures_of_the_results(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert [sentence for sentence in PAGES[page]() if sentence not in text] == []
