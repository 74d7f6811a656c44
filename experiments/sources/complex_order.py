# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Wang et al. (ICLR 2020), *Encoding word order in complex embeddings*, and its slides."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from benchmarks.reporting import read_lines

from experiments.grids import GRIDS
from experiments.grids.paper import TABLE2
from experiments.sources.rows import NOT_RUN, Part, Row
from experiments.tables.paper import trained_rows, wins
from experiments.tables.runs import figures, find_runs, mean_std

__all__ = ["PAPER", "SLIDES"]

PROSE = "nothing to build or run"
PAGE = "../paper.md"
HINTS = "#slides-average-period-parts-of-speech-and-the-local-root"
LANGUAGE = "../../examples/language-modeling/README.md"


def table2(results: Path) -> str:
    """Count the pairs of a network and a data set where complex-order has the largest mean."""
    lines = [line for line in read_lines(results / "paper-table2.jsonl") if line["row"].split(",")[1] in TABLE2]
    counted = wins(lines).partition(". ")[0] if lines else NOT_RUN
    return f"{counted}; the paper has it largest in all ([table]({PAGE}#table-2-five-embeddings-under-four-networks))"


def trained(results: Path) -> str:
    """Count the networks whose trained sinusoids are on par with fixed ones."""
    if not (rows := trained_rows(results)):
        return NOT_RUN
    decided = [row[4] for row in rows if row[4]]
    pairs = f"on par with fixed ones in {decided.count('on par')} of {len(decided)} pairs of a network and a data set"
    return f"{pairs if decided else 'one seed so far: no verdict'} ([table]({PAGE}#table-2-trained-sinusoids))"


def period_runs(results: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the runs of ``paper-periods``."""
    return find_runs(results / "paper-periods.jsonl", GRIDS["paper-periods"].rows)


def periods(results: Path) -> str:
    """Return the average period of each setting."""
    if not (found := period_runs(results)):
        return NOT_RUN
    means = ", ".join(mean_std(figures(runs, "period"), 1) for runs in found.values())
    return (
        f"not reproduced: {means} positions in {len(found)} settings; the initial frequencies and their learning rate "
        f"decide, not the length of a sentence ([table]({PAGE}{HINTS}))"
    )


def local_root(results: Path) -> str:
    """Return the largest correlation of a word's frequency with its distance to the local root."""
    if not (found := period_runs(results)):
        return NOT_RUN
    names = ("position", "distance")
    means = [statistics.fmean(figures(runs, f"spearman/{name}")) for runs in found.values() for name in names]
    return f"not reproduced: Spearman correlations of at most {max(map(abs, means)):.2f} ([table]({PAGE}{HINTS}))"


def adjectives(results: Path) -> str:
    """Return how far the average period of adjectives is from the average of all words."""
    if not (found := period_runs(results)):
        return NOT_RUN
    far = [
        abs(statistics.fmean(figures(runs, "tags/ADJ/period")) / statistics.fmean(figures(runs, "period")) - 1)
        for runs in found.values()
    ]
    return (
        f"not reproduced: the average period of adjectives is within {100 * max(far):.1f} % of the average of all "
        f"words ([table]({PAGE}{HINTS}))"
    )


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
            "Figure 2",
            "time of an epoch",
            "experiments/paper/epoch.py",
            "python -m experiments.paper figure2",
            f"[on a CPU]({PAGE}#figure-2-time-of-an-epoch); the paper has a GPU and TensorFlow",
        ),
        Row(
            "Figure 3",
            "density of δ",
            "analysis.plot_frequency_density",
            "python -m experiments.paper figure3 --dataset sst2",
            f"[drawn]({PAGE}#figure-3-frequencies)",
        ),
        Row("Table 1", "sizes of the data sets", result="not repeated: ours are in [data](../data.md)"),
        Row(
            "Table 2",
            "MR and SUBJ (fold 0), TREC: five embeddings, four networks",
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
        Row("Table 2", "CR, MPQA", result="not repeated: the data sets are not in our data"),
        Row(
            "Table 2",
            "search over batch size, learning rate, L2, units",
            result="not repeated: `fair` has four settings",
        ),
        Row(
            "Section 3.1",
            "trained trigonometric positions are as good",
            "experiments/paper/trained_positions.py",
            "paper-trained-tpe",
            trained,
        ),
        Row("Table 3", "five systems of other papers", result="not repeated: figures of other papers"),
        Row(
            "Table 4",
            "sharing schemes, on TREC",
            "experiments/grids/paper.py",
            'paper-table4 "trec,*"',
            f"not the paper's order ([table]({PAGE}#table-4-sharing-schemes)). Initial phases: "
            "{paper-table4|trec,Transformer,complex-order,phase=learned|trec,Transformer,complex-order|test_accuracy}",
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
        Row("CR, MPQA", "reviews, opinions", result="not repeated: not in our data"),
        Row("SUBJ, MR, TREC", "sentences", "experiments/paper/data.py", result="[data](../data.md)"),
        Row("SST", "67,000 phrases", result="whole sentences only, from SST-2: [data](../data.md)"),
        Row("WMT 2016, 29,000 pairs", "English to German", result="this is Multi30k: [errata](../errata.md)"),
        Row("text8", "100 million characters", result="a slice of 6.8 million: [data](../data.md)"),
        Row("word2vec, 300 dimensions", "initial amplitudes", result="an excerpt of GloVe, 50 dimensions"),
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
            result="not repeated: figures of other papers",
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
        Row("AED + BPE", "Sennrich et al. 2016", result="not repeated: our attention models translate whole words"),
        Row("Transformer, 6 layers", "Ma et al. 2019", "ComplexSeq2SeqForConditionalGeneration", result="3 layers"),
        Row("Transformer-XL, 6 layers", "Dai et al. 2019", "ComplexTransfoXLForCausalLM", result="4 layers"),
        Row(
            "BN-LSTM, LN HM-LSTM, RHN, large mLSTM",
            "Table 6",
            result="not repeated: figures of other papers",
        ),
    ),
)
PAPER = (EQUATIONS, RUNS, DATA)

SLIDES = (
    Part(
        "Slides",
        "slide",
        (
            Row("Experience, understanding words, hints", "introduction", result=PROSE),
            Row("Why word position is important", "some networks ignore the order of words", result=PROSE),
            Row("Position embedding", "solution 1: PE vanilla", "nn.WordPositionEmbedding"),
            Row(
                "TPE",
                "solution 2: trigonometric",
                "nn.WordPositionEmbedding",
                result="the matrix: [errata](../errata.md)",
            ),
            Row(
                "Problems of TPE",
                "trained sinusoids lose relative distances",
                "experiments/paper/trained_positions.py",
                "paper-trained-tpe",
                f"trained sinusoids: [table]({PAGE}#table-2-trained-sinusoids)",
            ),
            Row("Word vectors to word functions", "one word, many positions", "nn.ComplexOrderEmbedding"),
            Row("Desiderata, Properties 1 and 2", "as in the paper", "nn.ComplexOrderEmbedding"),
            Row("The proposed embedding", "Eq. 5 of the paper", "nn.ComplexOrderEmbedding"),
            Row("Link to TPE, last slide", "App. A of the paper", "tests/nn/test_embedding.py"),
            Row(
                "Example of proposed embedding",
                "three waves of a word",
                "analysis.plot_waves",
                "python -m experiments.paper figure1 --dataset trec",
                f"[drawn]({PAGE}#figure-1-waves)",
            ),
            Row(
                "Words as waves",
                "three words of a sentence",
                "analysis.plot_waves",
                "python -m experiments.paper figure1 --dataset trec",
                f"drawn for [other words]({PAGE}#figure-1-waves), of the vocabulary of TREC",
            ),
            Row("Talking is cheap", "listing of App. C", "nn.ComplexOrderEmbedding", result="[errata](../errata.md)"),
            Row(
                "Applications",
                "halves as a real vector of double size",
                "nn.ComplexOrderEmbedding",
                result='`readout="concat"` and [BERT on waves](../../examples/drop-in/README.md)',
            ),
            Row("Performance 1, 2", "Tables 2, 5 and 6 of the paper", result="[paper](complex-order.md)"),
            Row(
                "Parameter scale, Table 4",
                "the formulas of the sharing schemes",
                "nn.ComplexOrderEmbedding",
                'paper-table4 "trec,*"',
                "[schemes](../models/complex_order.md#embedding-schemes)",
            ),
            Row("Time cost", "Figure 2 of the paper", result="[paper](complex-order.md)"),
            Row("Case studies, Table 7", "Table 7 of the paper", result="[paper](complex-order.md)"),
            Row(
                "PE in GCN",
                "graph network with five embeddings",
                "ComplexTextGCNForSequenceClassification, nn.GraphConvolution",
                'paper-table2 "*,GCN,*"',
                f"[table]({PAGE}#slides-graph-network): on a window graph, since the data sets have no parses",
            ),
            Row(
                "PE in GCN",
                "positions are redundant where the network knows the structure",
                "",
                'paper-table2 "*,GCN,*"',
                "in part: PE and TPE help on SUBJ and TREC, complex-order on TREC, none on MR",
            ),
            Row("Take-away messages", "", result=PROSE),
            Row(
                "Hint 1, Figure 3: periods of 14 to 17 positions",
                "length of a sentence",
                "experiments/paper/periods.py",
                "paper-periods",
                periods,
            ),
            Row(
                "Hint 2: distance to the local root",
                "a periodic indicator of the parse",
                "experiments/paper/periods.py",
                "paper-periods",
                local_root,
            ),
            Row(
                "Adjectives may be more flexible, Table 5",
                "frequency by part of speech",
                "experiments/paper/periods.py",
                "paper-periods",
                adjectives,
            ),
        ),
    ),
)
