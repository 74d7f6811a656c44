# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Liu & Hou (2023), *Syntax-aware complex-valued neural machine translation*."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.sources.rows import NOT_RUN, Part, Row
from experiments.tables.runs import find_runs, mean_std
from experiments.tables.verdicts import verdict

__all__ = ["SYNCONMT"]

PAGE = "../../examples/syntax-translation/README.md"
MODEL = "../models/synconmt.md"
PROSE = "nothing to build or run"
LONG = 2  # the group of 21 to 30 words, the longest with more than two sentences


def all_lengths(results: Path) -> str:
    """Compare each SynCoNMT with its real networks without relations on sentences of up to 30 words."""
    pairs = {
        "SynCoNMT-B": ("synconmt-b-projected", "bahdanau"),
        "SynCoNMT-L": ("synconmt-l-projected", "luong"),
    }
    parts = {"-equal-parameters": "at equal parameters", "": "at equal stored width"}
    texts = []
    for name, (ours, real) in pairs.items():
        found = find_runs(results / "synconmt.jsonl", [ours, *(real + suffix for suffix in parts)])
        if len(found) <= len(parts):
            return NOT_RUN
        bleu = {row: [at_length(runs, group) for group in range(LONG + 1)] for row, runs in found.items()}
        for suffix, label in parts.items():
            verdicts = [verdict(*scores) for scores in zip(bleu[ours], bleu[real + suffix], strict=True)]
            texts.append(f"{name} {label} is {', '.join(verdicts)}")
    return f"up to 10, 11 to 20 and 21 to 30 words, against the real networks (two seeds): {'; '.join(texts)}"


def at_length(runs: Sequence[dict[str, Any]], group: int) -> list[float]:
    """Return BLEU of every seed on a group of lengths."""
    return [run["bleu_by_length"][group]["bleu"] for run in runs]


def long_sentences(results: Path) -> str:
    """Return BLEU on sentences of 21 to 30 words."""
    names = {
        "synconmt-b-projected": "SynCoNMT-B",
        "synconmt-l-projected": "SynCoNMT-L",
        "bahdanau": "Bahdanau of equal stored width",
        "bahdanau-equal-parameters": "of equal parameters",
        "bahdanau-relations": "with relations",
    }
    found = find_runs(results / "synconmt.jsonl", names)
    if len(found) < len(names):
        return NOT_RUN
    scores = [f"{name} {mean_std(at_length(found[row], LONG), 1)}" for row, name in names.items()]
    sentences = found["bahdanau"][0]["bleu_by_length"][LONG]["sentences"]
    drawn = f"[table and picture]({PAGE}#results-on-multi30k)"
    return (
        f"no evidence, with at most two seeds and {sentences} sentences of 21 to 30 words ({drawn}). Their BLEU: "
        f"{', '.join(scores)}"
    )


def gains(results: Path) -> str:
    """Return the differences in BLEU from the real networks without relations, for both decoders."""
    names = {"B": ("synconmt-b-projected", "bahdanau"), "L": ("synconmt-l-projected", "luong")}
    parts = {"-equal-parameters": "at equal parameters", "": "at equal stored width"}
    rows = [row for ours, real in names.values() for row in (ours, *(real + suffix for suffix in parts))]
    found = find_runs(results / "synconmt.jsonl", rows)
    if len(found) < len(rows):
        return NOT_RUN
    means = {row: statistics.fmean(run["test"]["bleu"] for run in runs) for row, runs in found.items()}
    texts = [
        f"{label}: "
        + ", ".join(f"{name} {means[ours] - means[real + suffix]:+.1f}" for name, (ours, real) in names.items())
        for suffix, label in parts.items()
    ]
    return f"gain in BLEU {'; '.join(texts)}"


SYNCONMT = (
    Part(
        "Sections and equations",
        "section, equation",
        (
            Row("Abstract, Section 1", "motivation", result=PROSE),
            Row("Sections 2, 2.1, Eq. 1", r"log p(y \| x)", "SynCoNMTForConditionalGeneration"),
            Row(
                "Section 2.1, Eq. 2",
                "real recurrent layer",
                "nn.RealRNN",
                result='`number_field="real"`, `rnn_type="rnn"`',
            ),
            Row("Section 2.1, Eq. 3, 4", "real context and weights", "nn.AdditiveAttention, nn.LocalAttention"),
            Row("Section 2.2, Eq. 5, 6", "complex vectors and matrices", "nn.to_complex, nn.ComplexLinear"),
            Row("Section 2.2, Eq. 7, 8", "product of a matrix and a vector", "nn.linear, nn.block_matrix"),
            Row("Section 2.2, Eq. 9", "ReLU of each part", "nn.Split", result='`ACT2CFN["split_relu"]`'),
            Row("Section 3, Eq. 10", "notation", "nn.split, nn.join"),
            Row("Section 3.1, Eq. 11", "word + i relation", "nn.SyntaxEmbedding"),
            Row(
                "Section 3.2, Eq. 12",
                "complex recurrent layer",
                "nn.ComplexRNN",
                result='`rnn_type="rnn"`; the default is a GRU',
            ),
            Row("Section 3.2, Eq. 13", "complex context", "nn.AttentiveRecurrent, nn.LocalAttention"),
            Row("Section 3.2, Eq. 14", "complex weights", "nn.split_softmax, nn.AdditiveAttention"),
            Row(
                "Section 3.3, Eq. 15, 16",
                "moduli as predictions",
                "nn.Readout",
                result='`lm_readout="modulus"`: [errata](../errata.md)',
            ),
            Row(
                "Section 3.3, Eq. 17",
                "weighted sum of both losses",
                "SynCoNMTConfig.alpha",
                result="`alpha` is not stated in the paper; 0.5 by default",
            ),
            Row("Section 3.3, Eq. 18, 19", "cross entropies", "SynCoNMTForConditionalGeneration"),
            Row("Sections 5, 6", "related work, conclusions", result=PROSE),
        ),
    ),
    Part(
        "Tables, figures and claims",
        "table, figure, claim",
        (
            Row(
                "Figures 1, 2",
                "parses of example sentences",
                "SyntaxParser",
                result="illustrations: nothing to measure",
            ),
            Row("Figure 3", "the network", "SynCoNMTModel", result=f"[architecture]({MODEL}#architecture)"),
            Row(
                "Table 1",
                "Chinese to English, 1.25 million pairs",
                result="not repeated, because the LDC corpora are not public. On 900 pairs of PUD the "
                f"[pipeline works]({PAGE}#parse-a-corpus)",
            ),
            Row(
                "Table 2",
                "English to German: SynCoNMT-B and -L as printed, real networks without gates",
                "examples/syntax-translation/run_synconmt.py",
                'synconmt "*-printed" "*-rnn*"',
                "on Multi30k, 29,000 pairs, not on 4.43 million of WMT'14",
            ),
            Row(
                "Table 2",
                "SynCoNMT-B with gates and heads that train better, and real networks",
                "examples/syntax-translation/run_synconmt.py",
                'synconmt "synconmt-b*" "bahdanau*"',
                f"[table]({PAGE}#results-on-multi30k). SynCoNMT-B and Bahdanau's network of equal parameters, BLEU: "
                "{synconmt|synconmt-b-projected|bahdanau-equal-parameters|test/bleu}. With relations, "
                "equal stored width: {synconmt|synconmt-b-projected|bahdanau-relations|test/bleu}",
            ),
            Row(
                "Table 2",
                "SynCoNMT-L and real networks",
                "examples/syntax-translation/run_synconmt.py",
                'synconmt "synconmt-l*" "luong*"',
                "SynCoNMT-L and Luong's network of equal parameters, BLEU: "
                "{synconmt|synconmt-l-projected|luong-equal-parameters|test/bleu}. With relations, "
                "equal stored width: {synconmt|synconmt-l-projected|luong-relations|test/bleu}",
            ),
            Row(
                "Sections 4, 4.1",
                "512 complex features, stop after five epochs without a better BLEU",
                "examples/syntax-translation/run_synconmt.py",
                "python examples/syntax-translation/run_synconmt.py --data_dir outputs/wmt14 --rnn_type rnn "
                "--lm_readout modulus --hidden_size 1024 --lowercase true --metric_for_best_model bleu "
                "--early_stopping_patience 5 --num_train_epochs 100",
                "not repeated, because it needs WMT'14 and an accelerator; the command has the paper's size and "
                "stopping rule",
            ),
            Row("Section 4.2", "baseline systems", result="[below](#data-sets-and-baselines)"),
            Row(
                "Section 4.3",
                "SynCoNMT gains more over Bahdanau's network than over Luong's",
                "",
                "synconmt synconmt-b-projected synconmt-l-projected bahdanau bahdanau-equal-parameters luong "
                "luong-equal-parameters",
                gains,
            ),
            Row(
                "Section 4.4, Figure 4",
                "SynCoNMT is better than the real networks on sentences of all lengths",
                "analysis.bleu_by_length",
                "synconmt synconmt-b-projected synconmt-l-projected bahdanau bahdanau-equal-parameters luong "
                "luong-equal-parameters",
                all_lengths,
            ),
            Row(
                "Section 4.4, Figure 4",
                "SynCoNMT-B is best on long sentences",
                "analysis.bleu_by_length",
                "synconmt synconmt-b-projected synconmt-l-projected bahdanau bahdanau-equal-parameters "
                "bahdanau-relations",
                long_sentences,
            ),
            Row(
                "Figure 4",
                "the same as a picture",
                "experiments/figures.py",
                "python -m experiments.figures lengths",
                f"[drawn]({PAGE}#results-on-multi30k) for SynCoNMT-B and three real networks; BLEU falls with "
                "length in all four",
            ),
            Row(
                "Section 4.5, Figure 5",
                "an example: the real part attends to dependent words, the imaginary part to relations",
                "analysis.attention_maps, analysis.plot_attention, analysis.dependency_shares, "
                "examples/syntax-translation/translate.py",
                "python examples/syntax-translation/translate.py --model outputs/synconmt --attention_dir maps",
                "not answered: `run_synconmt.py` measures the share of attention on head and dependents in both parts "
                "(`dependency_shares`), but no run in the tables has it. One picture for each sentence: "
                f"[command]({PAGE}#plot-attention)",
            ),
        ),
    ),
    Part(
        "Data sets and baselines",
        "data set, baseline",
        (
            Row(
                "LDC corpora, NIST MT02 to MT06",
                "Chinese to English",
                result="not repeated, because they are not public",
            ),
            Row(
                "WMT'14, newstest2012 to 2015",
                "English to German",
                result="not repeated, because they are not in our data; Multi30k",
            ),
            Row(
                "spaCy",
                "tokenizer and parser",
                "SyntaxParser, examples/syntax-translation/train_parser.py",
                "parsers",
                f"[trained on treebanks]({PAGE}#train-a-parser)",
            ),
            Row("BLEU", "case-insensitive, one reference", "TranslationMetric", result="sacreBLEU, lower-cased"),
            Row("Chen et al. 2017a", "tree coverage", result="not repeated, because it is another paper's system"),
            Row(
                "Chen et al. 2017b",
                "source dependency representation",
                result="not repeated, because it is another paper's system",
            ),
            Row(
                "BahdanauNMT",
                "global attention",
                "SynCoNMTConfig.real_twin",
                "synconmt bahdanau bahdanau-equal-parameters",
                "{synconmt|bahdanau|test/bleu} and {synconmt|bahdanau-equal-parameters|test/bleu} BLEU",
            ),
            Row(
                "LoungNMT",
                "local attention of Luong et al. 2015",
                "SynCoNMTConfig.real_twin",
                "synconmt luong luong-equal-parameters",
                "{synconmt|luong|test/bleu} and {synconmt|luong-equal-parameters|test/bleu} BLEU",
            ),
        ),
    ),
)
