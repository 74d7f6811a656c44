# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of ``docs/semantics.md``: words as quantum states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.reporting import markdown_table, read_lines

from experiments.grids.thesis_semantics import (
    CONTROLS,
    DIFFERENCES,
    DROPPED,
    PHASED,
    SENSES,
    TOPICS,
    WITHOUT_DROPPED,
    evolution_rows,
    phase_rows,
)
from experiments.tables.runs import MISSING
from experiments.thesis.printed_semantics import PRINTED_PHRASES, PRINTED_WORDS
from experiments.thesis.semantics import CONTEXTS, COUNT_SPACES, TOPIC_SPACES, WORD_SETS

__all__ = ["TABLES"]

Runs = Mapping[str, dict[str, Any]]
LABELS = {
    "simlex": "SimLex-999",
    "noun-noun": "compound nouns",
    "adjective-noun": "adjective-noun",
    "verb-object": "verb-object",
    "gs2011": "GS2011",
    "ks2014": "KS2014",
}
PHRASES = tuple(name for name in LABELS if name not in WORD_SETS)
RATED_BY_PERSON = ("noun-noun", "adjective-noun", "verb-object")
CONVENTIONS = {"mean_rating": "mean", "single_ratings": "single", "participants": "person"}


def _found(results: Path, grid: str = "thesis-semantics") -> Runs:
    return {run["row"]: run for run in read_lines(results / f"{grid}.jsonl")}


def _rho(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _scores(run: Mapping[str, Any], name: str, how: str, variant: str = "modulus") -> dict[str, float | None]:
    """Return the scores of a set by convention."""
    scores: dict[str, float | None] = run["sets"][name]["words" if name in WORD_SETS else how][variant]
    return scores


def _thesis_convention(run: Mapping[str, Any], name: str, how: str) -> float | None:
    """Return the score per participant if participants are known, else against single ratings."""
    return _scores(run, name, how)["participants" if name in RATED_BY_PERSON else "single_ratings"]


def _spaces(found: Runs, window: int) -> dict[str, dict[str, Any]]:
    """Return the rows of a table that were run; topics have no window and are listed with the smaller one."""
    rows = {name: f"w{window},{name}" for name in COUNT_SPACES}
    if window == min(CONTEXTS):
        rows |= {f"{name},{number}": f"{name},{number}" for number in TOPICS for name in TOPIC_SPACES}
    return {name: found[row] for name, row in rows.items() if row in found}


def words_table(results: Path) -> str:
    """Write Table 4.5: single words."""
    found = _found(results)
    small, large = (_spaces(found, window) for window in CONTEXTS)
    rows = []
    for name in {**small, **large}:
        cells = [
            _rho(_scores(runs[name], "simlex", "words")["mean_rating"]) if name in runs else ""
            for runs in (small, large)
        ]
        of_set = (small.get(name) or large[name])["sets"]["simlex"]
        printed = [_rho(PRINTED_WORDS.get((name, column))) for column in ("simlex", "wordsim")]
        rows.append([name, *cells, f"{of_set['covered']} / {of_set['pairs']}", *printed])
    windows = [f"window {window}" for window in CONTEXTS]
    return markdown_table(["space", *windows, "pairs", "thesis, SimLex", "thesis, WordSim"], rows) if rows else MISSING


def phrases_table(how: str, window: int, results: Path) -> str:
    """Write Tables 4.6 and 4.7: phrases by one composition, with the thesis's values in brackets."""
    rows = []
    for name, run in _spaces(_found(results), window).items():
        cells = []
        for column in PHRASES:
            cells.append(_rho(_thesis_convention(run, column, how)))
            if (name, column) in PRINTED_PHRASES[how]:
                cells[-1] += f" ({_rho(PRINTED_PHRASES[how][name, column])})"
        rows.append([name, *cells])
    return markdown_table(["space", *(LABELS[name] for name in PHRASES)], rows) if rows else MISSING


def conventions_table(results: Path) -> str:
    """Tabulate the scores against mean ratings, single ratings, and per participant."""
    columns = [
        (name, kind) for name in PHRASES for kind in CONVENTIONS if kind != "participants" or name in RATED_BY_PERSON
    ]
    rows = [
        [name, *(_rho(_scores(run, column, "add")[kind]) for column, kind in columns)]
        for name, run in _spaces(_found(results), 2).items()
    ]
    header = [f"{LABELS[name]}, {CONVENTIONS[kind]}" for name, kind in columns]
    return markdown_table(["space", *header], rows) if rows else MISSING


def coverage_table(results: Path) -> str:
    """Tabulate the number of pairs whose words all have a vector."""
    found = _found(results)
    rows = []
    for label, row in {"counts": "w2,npmi_b", "topics": f"topics,{TOPICS[0]}"}.items():
        if row in found:
            sets = found[row]["sets"]
            rows.append(
                [label, f"{found[row]['words']:,}", *(f"{sets[n]['covered']} / {sets[n]['pairs']}" for n in LABELS)]
            )
    return markdown_table(["model", "words", *LABELS.values()], rows) if rows else MISSING


def variants_table(results: Path) -> str:
    """Tabulate variants: modulus or real part of the inner product, compositions of norm 1, mixtures."""
    variants = [(how, kind) for how in ("add", "multiply") for kind in ("modulus", "real", "renormalized")]
    variants.append(("mixture", "modulus"))
    found = _spaces(_found(results), 2)
    rows = []
    for name in ("cos pmi_b", "npmi_a", "npmi_b", "npmi_b phases"):
        for column in PHRASES if name in found else ():
            cells = [_rho(_scores(found[name], column, how, kind)["mean_rating"]) for how, kind in variants]
            rows.append([name, LABELS[column], *cells])
    header = ["space", "pairs", *(f"{how}, {kind}" if how != "mixture" else how for how, kind in variants)]
    return markdown_table(header, rows) if rows else MISSING


def _interval(found: Mapping[str, Any]) -> str:
    """Format a difference; bold if its interval excludes 0."""
    text = f"{found['difference']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}]"
    return f"**{text}**" if found["low"] > 0 or found["high"] < 0 else text


def differences_table(pairs: Iterable[Mapping[str, str]], how: str, results: Path) -> str:
    """Tabulate differences between spaces with bootstrap intervals."""
    found = _found(results)
    columns = (*WORD_SETS, *PHRASES) if how == "add" else PHRASES
    rows = []
    for window in CONTEXTS:
        for compared in pairs:
            for first, second in compared.items():
                if run := found.get(f"w{window},{first} - {second}"):
                    of_sets = run["differences"]
                    cells = [_interval(of_sets[name]["words" if name in WORD_SETS else how]) for name in columns]
                    rows.append([f"{first} - {second}", str(window), *cells])
    return markdown_table(["difference", "window", *(LABELS[name] for name in columns)], rows) if rows else MISSING


def dropped_table(results: Path) -> str:
    """Tabulate the scores with and without the most frequent words as contexts."""
    found = _found(results)
    rows = []
    for name in WITHOUT_DROPPED:
        for label, row in (("all", f"w2,{name}"), (f"without the first {DROPPED}", f"w2,without {DROPPED},{name}")):
            if row in found:
                cells = [_rho(_scores(found[row], column, "add")["mean_rating"]) for column in LABELS]
                rows.append([name, label, *cells])
    return markdown_table(["space", "contexts", *LABELS.values()], rows) if rows else MISSING


def senses_table(results: Path) -> str:
    """Count in how many GS2011 phrases the better landmark becomes likelier, and is the likelier one."""
    found = _found(results)
    rows = []
    for window in CONTEXTS:
        for name in SENSES:
            if run := found.get(f"w{window},senses,{name}"):
                cells = [str(run["covered"]), str(run["alone"]["right"])]
                for how in ("mixture", "add", "multiply"):
                    of = "" if run[how]["defined"] == run["covered"] else f" of {run[how]['defined']}"
                    cells += [f"{run[how]['moved']}{of}", f"{run[how]['right']}{of}"]
                rows.append([name, str(window), *cells, f"{run['entropy']:.3f}"])
    header = ["space", "window", "phrases", "right alone"]
    header += [f"{how}, {what}" for how in ("mixture", "add", "multiply") for what in ("moved", "right")]
    return markdown_table([*header, "mean entropy"], rows) if rows else MISSING


def phases_table(results: Path) -> str:
    """Tabulate the correlations of the learned states by kind of phases."""
    found = _found(results, "thesis-semantics-phases")
    rows = []
    for name, cell in phase_rows().items():
        if run := found.get(name):
            cells = [_rho(_scores(run, column, "add")["mean_rating"]) for column in LABELS]
            cells += [_rho(_scores(run, column, "multiply")["mean_rating"]) for column in PHRASES]
            mean, deviation = run["total_probability"]
            facts = [
                str(cell.size),
                f"{run['parameters'] / 1e6:.2f} M",
                f"{run['losses'][-1]:.3f}",
                f"{mean:.2f} ± {deviation:.2f}",
            ]
            rows.append(
                [name.replace("twice the numbers", "twice the width"), *facts, *cells, f"{run['seconds']:.0f} s"]
            )
    header = ["phases", "d", "parameters", "loss", "sum of p", *LABELS.values()]
    header += [f"{LABELS[name]}, product" for name in PHRASES]
    return markdown_table([*header, "training"], rows) if rows else MISSING


def evolution_table(results: Path) -> str:
    """Tabulate held-out rho of phrases with evolution, in brackets the difference to no evolution.

    Means over the seeds of the folds; bold if the interval of every seed excludes 0.
    """
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in read_lines(results / "thesis-semantics-evolution.jsonl"):
        if "row" in run:
            runs.setdefault(run["row"], []).append(run["sets"])
    rows = []
    for name, cell in evolution_rows().items():
        if found := runs.get(name):
            cells = [_evolved([sets[column] for sets in found]) for column in PHRASES]
            seen = [
                sets[column]["on_what_was_fitted"] for sets in found for column in PHRASES if sets[column]["chosen"]
            ]
            rows.append([cell.how, cell.states, cell.evolution, *cells, _rho(fmean(seen) if seen else None)])
    header = ["composed by", "states", "evolution", *(LABELS[name] for name in PHRASES), "on its training pairs"]
    return markdown_table(header, rows) if rows else MISSING


def _evolved(found: list[dict[str, Any]]) -> str:
    text = f"{fmean(of['scores']['mean_rating'] for of in found):.3f}"
    if "difference" not in found[0]:
        return text
    differences = [of["difference"] for of in found]
    text += f" ({fmean(of['difference'] for of in differences):+.3f})"
    clear = all(of["low"] > 0 for of in differences) or all(of["high"] < 0 for of in differences)
    return f"**{text}**" if clear else text


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/semantics.md": {
        "semantics-coverage": coverage_table,
        "semantics-words": words_table,
        **{
            f"semantics-{how}-{window}": partial(phrases_table, how, window)
            for how in ("add", "multiply")
            for window in CONTEXTS
        },
        "semantics-conventions": conventions_table,
        "semantics-variants": variants_table,
        "semantics-cosines": partial(differences_table, (CONTROLS,), "add"),
        "semantics-cosines-multiply": partial(differences_table, (CONTROLS,), "multiply"),
        "semantics-baselines": partial(differences_table, (DIFFERENCES, PHASED), "add"),
        "semantics-dropped": dropped_table,
        "semantics-senses": senses_table,
        "semantics-phases": phases_table,
        "semantics-evolution": evolution_table,
    }
}
