# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mönning (2019): tables, figures and claims of chapter 5, data sets and baselines."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench import BENCH
from benchmarks.cases.convolution_theorem import DETOUR
from benchmarks.reporting import read_lines

from experiments.sources.rows import NOT_RUN, Part, Row

__all__ = ["CHAPTER5", "DATA"]

PAGE = "../thesis.md"
SPEECH = "../../examples/speech/README.md"
SYNTHETIC = "../../examples/phonetic-transcription/README.md"
NO_CIFAR100 = "not repeated, because it is not in our data"
NO_BABBLE = "not repeated, because Babble is not public"


def theorem(results: Path) -> str:
    """Return the time of a convolution through the spectrum relative to ``conv1d``."""
    lines = [line for line in read_lines(results / BENCH.name) if line["row"] == "convolution_theorem"]
    if not lines:
        return NOT_RUN
    found = [row["ratio"]["median"] for row in lines[0]["rows"] if row["ours"] == DETOUR]
    return (
        f"reproduced: FFT, product and inverse FFT take {min(found):.2g} to {max(found):.2g} of the time of `conv1d` "
        "([table](../benchmarks.md#convolution-theorem))"
    )


CHAPTER5 = Part(
    "Chapter 5: speech",
    "table, figure, claim",
    (
        Row(
            "Table 5.1", "types of attention", "nn.ComplexMultiheadAttention", result="an overview: nothing to measure"
        ),
        Row("Figure 5.1", "encoder and classifier", "SpectralTransformerForCTC"),
        Row("Figure 5.2", "encoder and decoder", "SpectralTransformerForConditionalGeneration"),
        Row("Figure 5.3", "real Transformer", "SpectralTransformerConfig.real_twin"),
        Row("Figure 5.4", "Fully Spectral", "SpectralTransformerModel", result='`variant="fully_spectral"`'),
        Row("Figure 5.5", "Spectral-Scaled", "nn.SpectralScaledAttention", result='`variant="spectral_scaled"`'),
        Row("Figures 5.6, 5.7", "durations and symbols of Babble", result=NO_BABBLE),
        Row(
            "Section 5.5.5, Table 5.2",
            "accuracy on tasks b1 to b7",
            "examples/phonetic-transcription/run_babble.py",
            result=f"{NO_BABBLE}; [synthetic speech]({SYNTHETIC}#babble-layout) has its layout",
        ),
        Row(
            "Table 5.3",
            "sizes of the baselines, convolutions as feed-forward network",
            result=f"{NO_BABBLE}; no convolutional feed-forward network is built",
        ),
        Row(
            "App. A.1, Table 1",
            "symbols and categories",
            "recipes.IPA_CATEGORIES, recipes.ipa_category",
            result="categories tested; counts need Babble",
        ),
        Row(
            "Section 5.4",
            "recognition with Fully Spectral",
            "examples/speech/run_ctc.py",
            "digit-strings",
            f"[digit strings]({SPEECH}#results-digit-strings). Complex bins and log-mel, label error rate: "
            "{digit-strings|fully_spectral|real|test/label_error_rate}",
        ),
        Row(
            "Section 5.4",
            "phonetic transcription",
            "examples/speech/run_ctc.py",
            "espeak",
            f"[synthetic speech]({SYNTHETIC}#results-on-synthetic-speech). Complex bins and log-mel: "
            "{espeak|fully_spectral|real|test/label_error_rate}",
        ),
        Row(
            "Section 5.2.1",
            "beam search for CTC, language models",
            "CTCBeamSearchDecoder, CharacterNGram",
            "ctc-decoding",
            f"[beam search]({SPEECH}#results-beam-search). Label error rate on dates, greedy: "
            "{ctc-decoding|dates|greedy/test/label_error_rate}; 16 beams: "
            "{ctc-decoding|dates|beam/test/label_error_rate}; with a 5-gram: "
            "{ctc-decoding|dates|language_model/test/label_error_rate} (one seed)",
        ),
        Row(
            "Sections 1.2, 2.6",
            "the phase of the spectrum is important",
            "examples/speech/run_audio_classification.py",
            "fsdd",
            f"[not here]({SPEECH}#results-spoken-digits). Bins and their moduli, accuracy: "
            "{fsdd|fully_spectral|fully_spectral-modulus|test/accuracy}",
        ),
        Row(
            "Section 5.4",
            "settings as printed",
            "",
            "fsdd fully_spectral-thesis fully_spectral",
            "{fsdd|fully_spectral-thesis|fully_spectral|test/accuracy}",
        ),
        Row(
            "Section 5.4",
            "Spectral-Scaled",
            "",
            "fsdd spectral_scaled real",
            "{fsdd|spectral_scaled|real|test/accuracy}",
        ),
        Row(
            "Section 5.2.1",
            "speakers that are not in the training data",
            "examples/speech/fsdd.py",
            'fsdd-leave-out "*/fully_spectral" "*/real"',
            f"[table]({SPEECH}#results-spoken-digits)",
        ),
        Row(
            "Sections 5.4, 5.6",
            "the convolution theorem saves time",
            "nn.FrequencyKernel",
            "python -m benchmarks.bench --case convolution_theorem",
            theorem,
        ),
        Row(
            "Section 6.1",
            "norms and clipping stabilise training",
            "experiments/grids/stability.py",
            "stability",
            f"norms do in part: [which networks fail]({PAGE}#which-networks-fail), [stability](../stability.md). "
            "Clipping was not compared",
        ),
    ),
)
DATA = Part(
    "Data sets and baselines",
    "data set, baseline",
    (
        Row("MNIST", "digits", "recipes.read_image_files", result="[data](../data.md)"),
        Row(
            "Reuters-21578",
            "46 topics in the tables, 90 in the text",
            result="R52 and ModApte-90: [errata](../errata.md)",
        ),
        Row("CIFAR-10", "60,000 images", result="a subset of 6,000: [data](../data.md)"),
        Row("CIFAR-100", "", result=NO_CIFAR100),
        Row("Synthetic sums", "quadrants", "recipes.quadrant_data"),
        Row("Penn Treebank", "", result="not repeated, because it is not in our data; WikiText-2"),
        Row("bAbI", "20 tasks", "recipes.load_babi", result="one training file is missing: [data](../data.md)"),
        Row("WordSim353", "", result="not repeated, because it is not in our data"),
        Row(
            "SimLex-999, Mitchell & Lapata 2010, Grefenstette & Sadrzadeh 2011",
            "",
            "semantics.read_rated_pairs",
            result="[data](../data.md)",
        ),
        Row(
            "Gigaword and Wikipedia",
            "counts",
            "semantics.count_cooccurrences",
            result="not repeated, because they are not in our data; three million words",
        ),
        Row(
            "Topics of Komninos & Manandhar", "50 and 200", "semantics.find_topics", result="LDA on our corpus instead"
        ),
        Row("LibriSpeech", "announced in chapter 1, no result", result="not repeated, because it is not in our data"),
        Row("Babble", "11 hours of infants", "recipes.load_babble", result=f"{NO_BABBLE}; the layout is read"),
        Row(
            "Real perceptrons and convolutional networks",
            "chapter 3",
            "ComplexMLPConfig.real_twin, ComplexConvNetConfig.real_twin",
        ),
        Row(
            "Initializer of Trabelsi et al. 2017",
            "",
            "nn.glorot_",
            result="the published code differs: [errata](../errata.md)",
        ),
        Row(
            "Zaremba et al. 2014, medium",
            "real LSTM",
            "ComplexRecurrentLMConfig.real_twin",
            result="smaller: [table](../thesis.md#language-models-chapter-43)",
        ),
        Row(
            "Sukhbaatar et al. 2015",
            "memory network",
            "ComplexMemoryNetworkForSequenceClassification",
            "thesis-babi",
            f"[results]({PAGE}#memory-networks-chapter-44)",
        ),
        Row(
            "raw, probability, pmi_a, pmi_b, pmi_c", "classical spaces", "semantics.SemanticSpace", "thesis-semantics"
        ),
        Row("Simple Topic Space", "", "semantics.TopicSpace", 'thesis-semantics "*topics*"'),
        Row("Transformer-Small, Transformer-Large", "Tensor2Tensor, MFCC", result=NO_BABBLE),
    ),
)
