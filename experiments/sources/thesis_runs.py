# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mönning (2019): tables, figures and claims of chapters 3 and 4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.reporting import read_lines

from experiments.sources.rows import NOT_RUN, Part, Row

__all__ = ["RUNS"]

PAGE = "../thesis.md"
SEMANTICS = "../semantics.md"
NO_CIFAR100 = "not repeated, because CIFAR-100 is not in our data"
SIMLEX = "sets/simlex/words/modulus/mean_rating"


def best(data: str, experiment: int) -> str:
    """Return the complex against the real network with `split_relu` and k = 2."""
    rows = "|".join(f"{data},{experiment},relu,2,{field}" for field in ("complex", "real"))
    return f"complex and real, `split_relu`, k = 2: {{thesis-mlp|{rows}|test}}"


def convolutions(data: str) -> str:
    """Return the complex against the real convolutional network with `split_relu` and k = 2."""
    return f"complex and real, `split_relu`, k = 2: {{thesis-cnn|{data},relu,2,complex|{data},relu,2,real|test}}"


def failures(results: Path) -> str:
    """Count the complex runs that failed, dense and convolutional, with the activations that both were run with."""
    lines = {name: read_lines(results / f"thesis-{name}.jsonl") for name in ("mlp", "cnn")}
    counts = {name: (sum(map(has_failed, found)), len(found)) for name, found in kept(lines).items()}
    if not all(total for _, total in counts.values()):
        return NOT_RUN
    (dense, all_dense), (convolved, all_convolved) = counts.values()
    return (
        f"no evidence: {dense} of {all_dense} dense runs with `split_relu` or `modulus` failed, {convolved} of "
        f"{all_convolved} convolutional ones, which are less deep"
    )


def kept(lines: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Keep the runs of complex networks with `relu` or `|z|` as the thesis describes them."""
    return {
        name: [run for run in found if run["row"].endswith(",complex") and {"relu", "|z|"} & {*run["row"].split(",")}]
        for name, found in lines.items()
    }


def has_failed(run: dict[str, Any]) -> bool:
    """Return whether a run diverged or ended in a single class."""
    return bool(run["diverged"] or run["dead"])


CHAPTER3 = Part(
    "Chapter 3: tables, figures and claims",
    "table, figure, claim",
    (
        Row(
            "Section 3.4",
            "three experiments",
            "experiments/grids/thesis.py",
            result=f"[setup]({PAGE}#what-the-thesis-ran-and-what-is-run-here)",
        ),
        Row(
            "Table 3.1",
            "Experiment 1, MNIST",
            "experiments/thesis/protocol.py",
            'thesis-mlp "mnist,1,*"',
            best("mnist", 1),
        ),
        Row("Table 3.2", "Experiment 1, Reuters", "", 'thesis-mlp "r52,1,*"', "on R52; " + best("r52", 1)),
        Row(
            "Table 3.3",
            "Experiment 1, CIFAR-10",
            "",
            'thesis-mlp "cifar10-cut,1,*"',
            "on a subset; " + best("cifar10-cut", 1),
        ),
        Row("Table 3.4", "Experiment 1, CIFAR-100", result=NO_CIFAR100),
        Row("Table 3.5", "Experiment 2, MNIST", "", 'thesis-mlp "mnist,2,*"', best("mnist", 2)),
        Row("Table 3.6", "Experiment 2, Reuters", "", 'thesis-mlp "r52,2,*"', "on R52; " + best("r52", 2)),
        Row(
            "Table 3.7",
            "Experiment 2, CIFAR-10",
            "",
            'thesis-mlp "cifar10-cut,2,*"',
            "on a subset; " + best("cifar10-cut", 2),
        ),
        Row("Table 3.8", "Experiment 2, CIFAR-100", result=NO_CIFAR100),
        Row("Table 3.9", "Experiment 3, MNIST", "", 'thesis-cnn "mnist,*"', convolutions("mnist")),
        Row(
            "Table 3.10",
            "Experiment 3, Reuters",
            result="not repeated, because it convolves along ranks of words ([errata](../errata.md))",
        ),
        Row(
            "Table 3.11",
            "Experiment 3, CIFAR-10",
            "",
            'thesis-cnn "cifar10-cut,*"',
            "on a subset; " + convolutions("cifar10-cut"),
        ),
        Row("Table 3.12", "Experiment 3, CIFAR-100", result=NO_CIFAR100),
        Row(
            "Tables 3.1 to 3.12",
            "numbers of parameters",
            "tests/models/complex_mlp/test_complex_mlp.py, tests/models/complex_convnet/test_complex_convnet.py",
            result="equal to the printed ones, tested",
        ),
        Row(
            "Sections 3.5, 3.8",
            "real networks are the upper bound",
            "experiments/tables/thesis.py",
            "thesis-mlp",
            f"in part: [claim A-1]({PAGE}#claim-a-1-by-experiment)",
        ),
        Row(
            "Section 3.5",
            "order of the activations",
            "",
            "thesis-failures",
            f"in part: [claim A-2]({PAGE}#claim-a-2-by-network)",
        ),
        Row(
            "Section 3.5",
            "100 runs instead of 10 narrow the gap (Reuters, tanh, k = 2)",
            "",
            'thesis-mlp "r52,1,tanh,2,*"',
            "not repeated, because every row has three seeds. Complex and real: "
            "{thesis-mlp|r52,1,tanh,2,complex|r52,1,tanh,2,real|test}",
        ),
        Row(
            "Section 3.5",
            "width is more important than depth",
            "",
            'thesis-mlp "mnist,2,relu,?,*"',
            "500,000 parameters, k = 0 and 8. Real: {thesis-mlp|mnist,2,relu,0,real|mnist,2,relu,8,real|test}. "
            "Complex: {thesis-mlp|mnist,2,relu,0,complex|mnist,2,relu,8,complex|test}",
        ),
        Row(
            "Section 3.5",
            "complex networks without activation are better than real ones",
            "nn.Readout",
            "thesis-mlp",
            f"due to the head: [claim A-3]({PAGE}#claim-a-3-by-head)",
        ),
        Row(
            "Section 3.7",
            "results of different runs vary more with depth",
            "",
            "thesis-mlp",
            f"hidden by the best of ten: [claim A-5]({PAGE}#best-of-ten)",
        ),
        Row(
            "Section 3.7",
            "more parameters per layer are better: Experiment 2 against 1",
            "",
            'thesis-mlp "mnist,?,relu,2,*"',
            "MNIST, complex, k = 2: {thesis-mlp|mnist,2,relu,2,complex|mnist,1,relu,2,complex|test}. "
            "Real: {thesis-mlp|mnist,2,relu,2,real|mnist,1,relu,2,real|test}",
        ),
        Row(
            "Section 3.7",
            "complex perceptrons guess on CIFAR",
            "",
            'thesis-mlp "cifar10-cut,1,relu,2,*"',
            "not reproduced on CIFAR-10, where chance is 10 %: {thesis-mlp|cifar10-cut,1,relu,2,complex|test}",
        ),
        Row(
            "Section 3.7",
            "two parallel real classifiers that add noise",
            result=f"an explanation; the coupling of the parts is [claim A-7]({PAGE}#weight-dynamics)",
        ),
        Row("Sections 3.5, 3.7", "convolutions fail less often", "", "thesis-cnn", failures),
        Row(
            "Section 3.7",
            "complex networks overfit less",
            "",
            "thesis-mlp",
            f"in part: [claim A-6]({PAGE}#claim-a-6-by-data-set)",
        ),
        Row(
            "Section 3.7",
            "more failures with depth; norms help",
            "",
            "thesis-failures",
            f"[which networks fail]({PAGE}#which-networks-fail)",
        ),
        Row(
            "Figure 3.3",
            "weights during training, MNIST",
            "analysis.plot_weight_trace",
            "thesis-dynamics mnist-5000",
            f"[drawn]({PAGE}#weight-dynamics) for the first weight, and measured as correlations",
        ),
        Row(
            "Figure 3.4",
            "the same, Reuters",
            "analysis.plot_weight_trace",
            result="not repeated, because weights were recorded on MNIST and the synthetic task only; on MNIST "
            "the parts are coupled as in Figure 3.3",
        ),
        Row(
            "Section 3.6, Figures 3.5, 3.6",
            "synthetic task",
            "recipes.quadrant_data",
            "thesis-synthetic",
            f"[table]({PAGE}#the-synthetic-task). Complex inputs, complex and real network, `split_relu`: "
            "{thesis-synthetic|complex,relu,complex|complex,relu,real|test}. "
            f"[Drawn]({PAGE}#the-synthetic-task) by `python -m experiments.figures quadrants`",
        ),
        Row(
            "Figures 3.7, 3.8",
            "weights of the synthetic task",
            "analysis.part_coupling",
            'thesis-dynamics "quadrant-*"',
            f"[drawn]({PAGE}#weight-dynamics) by `python -m experiments.figures weights`; reproduced, "
            "with another cause",
        ),
    ),
)
CHAPTER4 = Part(
    "Chapter 4: tables and claims",
    "table, claim",
    (
        Row(
            "Table 4.1",
            "six language models, as printed and corrected",
            "examples/language-modeling/run_clm_rnn.py",
            "thesis-language-models",
            f"on WikiText-2 ([table]({PAGE}#language-models-chapter-43)). LM-C and LM-R, perplexity: "
            "{thesis-language-models|LM-C|LM-R|test/perplexity}; two seeds do not decide. LM-C as printed: "
            "{thesis-language-models|LM-C-as-printed|test/perplexity}",
        ),
        Row(
            "Table 4.1",
            "on the Penn Treebank, 100 epochs",
            result="not repeated, because the Penn Treebank is not in our data; size of the medium LSTM: "
            "[options](../../examples/language-modeling/README.md#recurrent-language-model)",
        ),
        Row(
            "Section 4.3.4",
            "positions harm",
            "",
            "thesis-language-models slots phases LM-C-real-words",
            "slots: {thesis-language-models|slots|LM-C-real-words|test/perplexity}; phases: "
            "{thesis-language-models|phases|LM-C-real-words|test/perplexity}",
        ),
        Row(
            "Section 4.3.4",
            "frequencies help",
            "",
            'thesis-language-models "Z*" "Fourier*" LM-C-real-words-twice-the-units',
            f"[not reproduced]({PAGE}#claim-b-3-by-transform). Z-transform and none, twice the units: "
            "{thesis-language-models|Z-twice-the-units|LM-C-real-words-twice-the-units|test/perplexity}",
        ),
        Row(
            "Section 4.3.4",
            "larger models are unstable",
            "experiments/grids/stability.py",
            "stability",
            "not at this size: [stability](../stability.md)",
        ),
        Row(
            "Section 4.3.4",
            "clipping improves stability and does not solve it",
            result="not compared, because none fails [without clipping](../stability.md) at the size of the tests",
        ),
        Row(
            "Section 4.3.4",
            "the printed gate and head",
            "experiments/carried_states.py",
            "thesis-language-printed",
            f"[ablation]({PAGE}#what-the-printed-gate-keeps)",
        ),
        Row(
            "Table 4.2",
            "best of 150 iterations of a random search",
            result="not repeated, because it takes far more than a day of one core",
        ),
        Row(
            "Table 4.3",
            "140 numbers of parameters",
            "tests/models/complex_memory_network/test_complex_memory_network.py",
            result="one is a misprint ([errata](../errata.md)); the formula and some counts are tested",
        ),
        Row(
            "Table 4.4",
            "word networks, relu, two sizes, 8 tasks",
            "experiments/thesis/babi.py",
            'thesis-babi-words "*,R32" "*,C21"',
            f"[table]({PAGE}#memory-networks-chapter-44). Task 11, C21 and R32: "
            "{thesis-babi-words|11,C21|11,R32|test}",
        ),
        Row(
            "Table 4.4",
            "other sizes, activations and tasks",
            "",
            "python examples/question-answering/run_babi.py --archive tasks_1-20_v1-2.tar.gz --task 1 "
            "--variant word_memory --hidden_size 64 --recurrent_size 42 --state_activation split_relu --gate modulus "
            "--readout squared_modulus --learning_rate 1e-3 --num_train_epochs 200",
            "not repeated, because 35 networks for each of 20 tasks take more than a day; the command trains one "
            "of them",
        ),
        Row(
            "Section 4.4.1",
            "solved tasks, tasks where one field is better",
            "experiments/tables/babi.py",
            'thesis-babi "*,real" "*,complex"',
            f"with networks of sentences: [claims C-1 to C-3]({PAGE}#claims-c-1-to-c-3)",
        ),
        Row(
            "Table 4.5",
            "words",
            "experiments/thesis/semantics.py",
            "thesis-semantics",
            f"[table]({SEMANTICS}#table-45-words). Correlation with SimLex: "
            f"pmi_b {{thesis-semantics|w2,pmi_b|{SIMLEX}}}, with norm 1 "
            f"{{thesis-semantics|w2,cos pmi_b|{SIMLEX}}}, npmi_b {{thesis-semantics|w2,npmi_b|{SIMLEX}}}",
        ),
        Row(
            "Table 4.5",
            "WordSim353",
            "",
            "python -m experiments.thesis.semantics wordsim353.csv",
            "not repeated, because it is not in our data",
        ),
        Row("Table 4.6", "sums", "", "thesis-semantics", f"[table]({SEMANTICS}#table-46-sums)"),
        Row("Table 4.7", "products", "", "thesis-semantics", f"[table]({SEMANTICS}#table-47-products)"),
        Row(
            "Section 4.5.9",
            "quantum spaces are better",
            "",
            "thesis-semantics",
            f"[due to the cosine]({SEMANTICS}#against-the-cosine)",
        ),
        Row(
            "Section 4.5.9",
            "phases of arccos npmi; amplitudes alone; topics under addition",
            "",
            "thesis-semantics",
            f"[claims D-2 to D-4]({SEMANTICS}#the-claims)",
        ),
        Row(
            "Sections 4.3.2, 4.6.3",
            "phases should be learned",
            "experiments/thesis/born.py",
            "thesis-semantics-phases",
            f"[on par with zeros on SimLex]({SEMANTICS}#phases-that-are-learned), one run",
        ),
        Row(
            "Sections 4.5.4, 4.5.7",
            "words evolve by their role",
            "experiments/thesis/evolution.py",
            "thesis-semantics-evolution",
            f"[fitted maps help adjective-noun pairs]({SEMANTICS}#composition-by-evolution), as rotations of real "
            "states do; roles without a fit help sentences",
        ),
        Row(
            "Section 4.5.7",
            "a measurement determines the sense",
            "semantics.phrase_senses",
            "thesis-semantics",
            f"[at chance]({SEMANTICS}#senses-of-verbs)",
        ),
        Row(
            "Section 4.6.3",
            "quantum-inspired networks",
            "ComplexQuantumForSequenceClassification",
            "quantum",
            "[classifier](../models/complex_quantum.md)",
        ),
    ),
)
RUNS = (CHAPTER3, CHAPTER4)
