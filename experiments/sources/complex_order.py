# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Wang et al. (ICLR 2020), *Encoding word order in complex embeddings*."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.bench import BENCH
from benchmarks.reporting import read_lines

from experiments.grids.paper import TABLE2
from experiments.sources.rows import NOT_RUN, Part, Row
from experiments.tables.paper import trained_rows, wins
from experiments.tables.runs import figures, find_runs
from experiments.tables.verdicts import verdict

__all__ = ["PAGE", "PAPER", "PROSE", "graph_network"]

PROSE = "nothing to build or run"
PAGE = "../paper.md"
LANGUAGE = "../../examples/language-modeling/README.md"
OTHER_PAPERS = "not repeated, because its figures are from other papers"
DATA_SETS = ("mr", "subj", "trec")
TABLE4 = "paper-table4|trec,Transformer,complex-order"


def table2(results: Path) -> str:
    """Count the pairs of a network and a data set where complex-order has the largest mean."""
    lines = [line for line in read_lines(results / "paper-table2.jsonl") if line["row"].split(",")[1] in TABLE2]
    counted = wins(lines).partition(". ")[0] if lines else NOT_RUN
    return (
        f"{counted}; the paper has it largest in all ([table]({PAGE}#table-2-five-embeddings-under-four-networks)). "
        "The runs include the graph network of the [slides](slides.md)"
    )


def accuracies(results: Path) -> dict[tuple[str, ...], list[float]]:
    """Return the test accuracies of Table 2 by data set, network and embedding."""
    rows = [
        ",".join((data, network, name)) for data in DATA_SETS for network, names in TABLE2.items() for name in names
    ]
    found = find_runs(results / "paper-table2.jsonl", rows)
    return {tuple(row.split(",")): figures(runs, "test_accuracy") for row, runs in found.items()}


def best_network(results: Path) -> str:
    """Return the network with the largest mean accuracy on each data set."""
    if not (found := accuracies(results)):
        return NOT_RUN
    best = {
        data: max((statistics.fmean(values), key[1]) for key, values in found.items() if key[0] == data)[1]
        for data in DATA_SETS
    }
    kind = {len(best): "reproduced", 0: "not reproduced"}.get([*best.values()].count("CNN"), "in part")
    return f"{kind}: best are {', '.join(f'{network} ({data.upper()})' for data, network in best.items())}"


def benefit(results: Path) -> str:
    """Return the mean difference between complex-order and no positions for each network."""
    if not (found := accuracies(results)):
        return NOT_RUN
    points = {
        network: 100
        * statistics.fmean(
            statistics.fmean(found[data, network, "complex-order"]) - statistics.fmean(found[data, network, "none"])
            for data in DATA_SETS
        )
        for network in TABLE2
    }
    listed = ", ".join(f"{network} {value:+z.1f}" for network, value in points.items())
    most = max(points, key=points.__getitem__)
    return (
        f"the difference to no positions is largest for the {most}; mean over MR, SUBJ and TREC, in points: {listed}"
    )


def epoch_times(results: Path) -> str:
    """Return the time of an epoch with complex-order relative to no positions."""
    lines = [line for line in read_lines(results / BENCH.name) if line["row"] == "paper-figure2"]
    if not lines:
        return NOT_RUN
    ratios = {row["network"]: row["ratio_to_none"] for row in lines[0]["rows"] if row["embedding"] == "complex-order"}
    return (
        f"[on a CPU]({PAGE}#figure-2-time-of-an-epoch); the paper has a GPU and TensorFlow. complex-order takes "
        f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times the epoch without positions"
    )


def graph_network(results: Path) -> str:
    """Compare each embedding of the graph network with the network without positions."""
    names = ("none", "PE", "TPE", "complex-order")
    found = find_runs(results / "paper-table2.jsonl", [f"{d},GCN,{name}" for d in DATA_SETS for name in names])
    if len(found) < len(names) * len(DATA_SETS):
        return NOT_RUN
    scores = {row: figures(runs, "test_accuracy") for row, runs in found.items()}
    listed = [
        f"{name} is {', '.join(verdict(scores[f'{d},GCN,{name}'], scores[f'{d},GCN,none']) for d in DATA_SETS)}"
        for name in names[1:]
    ]
    return f"against no positions on MR, SUBJ, TREC: {'; '.join(listed)}"


def trained(results: Path) -> str:
    """Count the networks whose trained sinusoids are on par with fixed ones."""
    if not (rows := trained_rows(results)):
        return NOT_RUN
    decided = [row[4] for row in rows if row[4]]
    pairs = f"on par with fixed ones in {decided.count('on par')} of {len(decided)} pairs of a network and a data set"
    return f"{pairs if decided else 'one seed so far: no verdict'} ([table]({PAGE}#table-2-trained-sinusoids))"


EQUATIONS = Part(
    "Sections and equations",
    "section, equation",
    (
        Row("Abstract, Section 1", "motivation, contributions", result=PROSE),
        Row("Section 2, Eq. 1", "word vector plus position vector", "nn.WordPositionEmbedding"),
        Row(
            "Section 2.1, Eq. 2, 3",
            "a word is a function of its position",
            "nn.ComplexOrderEmbedding",
            result="built as Eq. 5",
        ),
        Row(
            "Section 2.2, Property 1",
            "moving a word by n positions does not depend on its position",
            "nn.ComplexOrderEmbedding, docs/concepts/embedding.md",
            result="follows from the formula of Eq. 5, which is tested in complex128",
        ),
        Row(
            "Section 2.2, Property 2", "boundedness", "nn.ComplexOrderEmbedding", result="the modulus is the amplitude"
        ),
        Row("Section 2.2, Claim 1", "both properties hold only for z₂ z₁^pos", result="a proof: nothing to run"),
        Row(
            "Section 2.2, Eq. 4",
            "modulus \\|z₁\\| of at most 1",
            "nn.ComplexOrderEmbedding",
            result='`damping="learned"`',
        ),
        Row(
            "Section 2.3, Eq. 5",
            "r exp(i (ω pos + θ))",
            "nn.ComplexOrderEmbedding, src/complex_transformers/kernels/waves.py",
        ),
        Row("Section 2.3, Eq. 6", "word part times position part", "nn.ComplexOrderEmbedding"),
        Row("Section 2.3", "mean over positions is 2/π of the amplitude", result="an error: [errata](../errata.md)"),
        Row(
            "Sections 3, 3.1",
            "number of parameters, word-sharing and dimension-sharing",
            "nn.ComplexOrderEmbedding",
            result="`frequency_sharing`; the two counts are exchanged: [errata](../errata.md)",
        ),
        Row(
            "Section 3.1",
            "initial phases are a shared constant such as zero",
            "nn.ComplexOrderEmbedding",
            result='`phase="none"`, the default',
        ),
        Row(
            "Section 3.1",
            "Wilcoxon's signed-rank test, p < 0.05",
            "experiments/tables/paper.py",
            result=f"over the test texts, two-sided: [protocol]({PAGE}#protocol)",
        ),
        Row(
            "Section 3.1",
            "filters of the CNN; size of the Transformer",
            "experiments/paper/protocol.py",
            result=f"smaller Transformer: [sizes]({PAGE}#protocol)",
        ),
        Row("Sections 4, 5", "related work, conclusions", result=PROSE),
        Row("App. A, Eq. 7", "trigonometric positions", "nn.WordPositionEmbedding, nn.sinusoidal_frequencies"),
        Row(
            "App. A, Eq. 8, 9",
            "they are the imaginary and real part of a wave",
            "nn.WordPositionEmbedding, tests/nn/test_embedding.py",
        ),
        Row("App. B, Eq. 10, 11", "dense layer, FastText", "nn.ComplexLinear, nn.Split, ComplexFastTextModel"),
        Row(
            "App. B",
            "A = B and c = d",
            "nn.ComplexLinear",
            result="`share_parts` shares A = B: [errata](../errata.md)",
        ),
        Row("App. B, CNN", "convolutions, norm as prediction", "nn.ComplexConv1d, nn.Readout, ComplexTextCNNModel"),
        Row("App. B, Eq. 12", "recurrent layer, LSTM", "nn.ComplexRNN, nn.ComplexLSTM, ComplexTextRNNModel"),
        Row("App. B, Eq. 13", "attention", "nn.ComplexMultiheadAttention, nn.complex_attention"),
        Row("App. B, Eq. 14", "score", "nn.complex_scores", result='`attention_score="modulus"`'),
        Row("App. B", "Transformer-XL with the embedding", "ComplexTransfoXLModel"),
        Row("App. B", "feed-forward network, batch norm", "ComplexOrderModel, nn.ComplexBatchNorm1d"),
        Row("App. C", "listing of the embedding", "nn.ComplexOrderEmbedding", result="[errata](../errata.md)"),
        Row("App. D", "δ, the mean absolute frequency of a word", "analysis.frequency_table"),
    ),
)
RUNS = Part(
    "Tables and figures",
    "table, figure, claim",
    (
        Row(
            "Figure 1",
            "waves of a word",
            "analysis.plot_waves",
            "python -m experiments.paper figure1 --dataset trec",
            f"[drawn]({PAGE}#figure-1-waves) for words of a trained network",
        ),
        Row(
            "Section 3.1, Figure 2",
            "time of an epoch: complex-order has a negligible cost or none",
            "experiments/paper/epoch.py",
            "python -m experiments.paper figure2",
            epoch_times,
        ),
        Row(
            "Figure 3",
            "density of δ",
            "analysis.plot_frequency_density",
            "python -m experiments.paper figure3 --dataset sst2",
            f"[drawn]({PAGE}#figure-3-frequencies)",
        ),
        Row(
            "Table 1",
            "sizes of the data sets",
            result="not repeated, because ours have other sizes: [data](../data.md)",
        ),
        Row(
            "Section 3.1, Table 2",
            "complex-order is best for all networks; MR and SUBJ (fold 0), TREC",
            "experiments/paper/protocol.py",
            'paper-table2 "mr,*" "subj,*" "trec,*"',
            table2,
        ),
        Row(
            "Table 2",
            "the same budget of choices for every row; MR, SST, TREC",
            "experiments/grids/fair.py",
            "fair",
            f"not better in general ([table]({PAGE}#table-2-with-the-same-budget-of-choices-for-every-row))",
        ),
        Row("Table 2", "SST with one setting for all embeddings", "", 'paper-table2 "sst2,*"', "whole sentences"),
        Row("Table 2", "folds 1 to 9 of MR and SUBJ", "experiments/paper/data.py", "paper-table2-folds"),
        Row("Table 2", "CR, MPQA", result="not repeated, because the data sets are not in our data"),
        Row(
            "Table 2",
            "search over batch size, learning rate, L2, units",
            result="not repeated, because 54 settings for each row take more than a day in all; `fair` has four",
        ),
        Row("Section 3.1", "CNNs are the best networks", "", 'paper-table2 "mr,*" "subj,*" "trec,*"', best_network),
        Row(
            "Section 3.1",
            "Transformers benefit most from complex-order",
            "",
            'paper-table2 "mr,*" "subj,*" "trec,*"',
            benefit,
        ),
        Row(
            "Section 3.1, footnote 2",
            "graph networks make positions in embeddings redundant",
            "ComplexTextGCNForSequenceClassification",
            'paper-table2 "*,GCN,*"',
            graph_network,
        ),
        Row(
            "Section 3.1",
            "trained trigonometric positions are as good",
            "experiments/paper/trained_positions.py",
            "paper-trained-tpe",
            trained,
        ),
        Row(
            "Section 3.1, Table 3",
            "complex-order is better than five published systems, except one on CR; on par with the state of the art",
            result=f"{OTHER_PAPERS}; another system is better on CR: [errata](../errata.md#statements-and-tables)",
        ),
        Row(
            "Table 4",
            "sharing schemes, on TREC",
            "experiments/grids/paper.py",
            'paper-table4 "trec,*"',
            f"not the paper's order ([table]({PAGE}#table-4-sharing-schemes))",
        ),
        Row(
            "Section 3.1, Table 4",
            "shared frequencies are slightly worse",
            "",
            'paper-table4 "trec,Transformer,complex-order,frequency_sharing=*"',
            f"by dimensions: {{{TABLE4},frequency_sharing=dimension|trec,Transformer,complex-order|test_accuracy}}; "
            f"by words: {{{TABLE4},frequency_sharing=word|trec,Transformer,complex-order|test_accuracy}}",
        ),
        Row(
            "Section 3.1, Table 4",
            "learned initial phases are worse",
            "",
            'paper-table4 "trec,Transformer,complex-order,phase=learned"',
            f"{{{TABLE4},phase=learned|trec,Transformer,complex-order|test_accuracy}}",
        ),
        Row(
            "Section 3.1",
            "with initial phases the loss may fall faster at first",
            result="not repeated, because the runs did not record the loss of each epoch",
        ),
        Row(
            "Section 3.1, Table 4",
            "frequencies shared by words are better than the vanilla Transformer",
            "",
            'paper-table4 "trec,Transformer,complex-order,frequency_sharing=word" trec,Transformer,TPE',
            f"{{{TABLE4},frequency_sharing=word|trec,Transformer,TPE|test_accuracy}}, but TPE has options that were "
            "chosen for the other rows",
        ),
        Row(
            "Section 3.1",
            "with Re W = Im W the embedding matters less for the number of parameters of many layers",
            result="an argument: nothing to run",
        ),
        Row("Table 4", "sharing schemes, on SST as in the paper", "", 'paper-table4 "sst2,*"', "sentences only"),
        Row(
            "Section 3.2, Table 5",
            "translation",
            "examples/translation/run_translation.py",
            "multi30k-en-de",
            f"[table]({PAGE}#tables-5-and-6). complex-order and the real Transformer, BLEU: "
            "{multi30k-en-de|complex_order|sinusoidal_position-real|test/bleu}. Full size: "
            "[command](../../examples/translation/README.md#multi30k)",
        ),
        Row(
            "Section 3.3, Table 6",
            "language modeling",
            "examples/language-modeling/run_clm_xl.py",
            "long-text8",
            f"[table]({PAGE}#tables-5-and-6). complex-order and the real network, bits per character: "
            "{long-text8|complex_order|real|test/bits_per_token}",
        ),
        Row(
            "Table 6",
            "the same, shorter runs",
            "",
            "streams-text8",
            f"full size, for an accelerator: [command]({LANGUAGE}#results-of-transformer-xl)",
        ),
        Row(
            "Table 7",
            "words with the highest and lowest frequency",
            "analysis.frequency_table",
            "paper-table7 sst2",
            "as in the paper, words of strong sentiment are among the highest "
            f"([words]({PAGE}#table-7-words-of-greatest-and-smallest-frequency), drawn by "
            "`python -m experiments.figures words`)",
        ),
    ),
)
DATA = Part(
    "Data sets and baselines",
    "data set, baseline",
    (
        Row("CR, MPQA", "reviews, opinions", result="not repeated, because they are not in our data"),
        Row("SUBJ, MR, TREC", "sentences", "experiments/paper/data.py", result="[data](../data.md)"),
        Row("SST", "67,000 phrases", result="whole sentences only, from SST-2: [data](../data.md)"),
        Row("WMT 2016, 29,000 pairs", "English to German", result="this is Multi30k: [errata](../errata.md)"),
        Row("text8", "100 million characters", result="a slice of 6.8 million: [data](../data.md)"),
        Row(
            "word2vec, 300 dimensions",
            "initial amplitudes, except in Transformers",
            result="the same with an excerpt of GloVe, 50 dimensions",
        ),
        Row("no positions", "real networks", "ComplexFastTextConfig.real_twin", result='`embedding_type="word"`'),
        Row("PE", "trained position vectors", "nn.WordPositionEmbedding", result='`"learned_position"`'),
        Row("TPE", "trigonometric positions", "nn.WordPositionEmbedding", result='`"sinusoidal_position"`'),
        Row("complex-vanilla", "phases without positions", "nn.ComplexOrderEmbedding", result='`"complex_vanilla"`'),
        Row("FastText", "Joulin et al. 2016", "ComplexFastTextForSequenceClassification"),
        Row("CNN", "Kim 2014", "ComplexTextCNNForSequenceClassification"),
        Row("LSTM", "", "ComplexTextRNNForSequenceClassification"),
        Row("Transformer", "Vaswani et al. 2017", "ComplexOrderForSequenceClassification"),
        Row(
            "Word2vec BoW, Sent2Vec, QuickThoughts, InferSent, QPDN",
            "Table 3",
            result=OTHER_PAPERS,
        ),
        Row(
            "AED",
            "Bahdanau et al. 2014",
            "SynCoNMTForConditionalGeneration",
            "synconmt bahdanau",
            "on whole words, BLEU: {synconmt|bahdanau|test/bleu}",
        ),
        Row(
            "AED + linguistic features",
            "Sennrich & Haddow 2016",
            "SynCoNMTForConditionalGeneration",
            "synconmt bahdanau-relations",
            "dependency relations only, BLEU: {synconmt|bahdanau-relations|test/bleu}",
        ),
        Row(
            "AED + BPE",
            "Sennrich et al. 2016",
            result="not repeated, because our attention models translate whole words",
        ),
        Row("Transformer, 6 layers", "Ma et al. 2019", "ComplexSeq2SeqForConditionalGeneration", result="3 layers"),
        Row("Transformer-XL, 6 layers", "Dai et al. 2019", "ComplexTransfoXLForCausalLM", result="4 layers"),
        Row(
            "BN-LSTM, LN HM-LSTM, RHN, large mLSTM",
            "Table 6",
            result=OTHER_PAPERS,
        ),
    ),
)
PAPER = (EQUATIONS, RUNS, DATA)
