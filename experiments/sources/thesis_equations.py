# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Mönning (2019), *Deep complex-valued neural networks for natural language processing*: sections and equations."""

from __future__ import annotations

from experiments.sources.rows import Part, Row

__all__ = ["EQUATIONS"]

PROSE = "nothing to build or run"
ERRATA = "[errata](../errata.md)"

CHAPTER2 = Part(
    "Chapters 1 and 2: definitions and layers",
    "section, equation",
    (
        Row("Sections 1.1, 1.3, 1.4", "context, contributions, overview", result=PROSE),
        Row(
            "Section 1.2",
            "four research questions",
            result="answered by the claims [A, B, C](../thesis.md#the-claims) and "
            "[D](../semantics.md#the-claims), and by those on "
            "[speech](../../examples/speech/README.md#claims-of-the-thesis-chapter-5)",
        ),
        Row(
            "Section 1.2, chapter 2",
            "a complex neuron computes XOR",
            "recipes.xor_data",
            result="[not as stated](../thesis.md#xor)",
        ),
        Row(
            "Section 2.1, Figure 2.1, Eq. 2.1",
            "complex plane, conjugate, Euler's formula",
            "nn.to_complex, nn.conj, nn.rotate",
            result=f"arctan(x/y): {ERRATA}",
        ),
        Row("Eq. 2.2", "modulus and its square", "nn.modulus, nn.squared_modulus"),
        Row("Eq. 2.3, 2.4", "polar coordinates", "nn.rotate"),
        Row("Eq. 2.5, 2.6", "sum and product", "nn.multiply, nn.rotate"),
        Row("Eq. 2.7, 2.8", "product as a real matrix", "nn.block_matrix", result=ERRATA),
        Row("Section 2.2, Eq. 2.9, 2.10", "transform of a function", result="continuous: built as 2.11"),
        Row(
            "Eq. 2.11",
            "discrete and short-time Fourier transform",
            "nn.dft, nn.sequence_dft, nn.short_time_dft",
            result=ERRATA,
        ),
        Row("Eq. 2.12", "Z-transform", "nn.ZTransform, nn.DiagonalRecurrence"),
        Row("Eq. 2.13", "cosine transform", "nn.dct"),
        Row("Eq. 2.14", "embedding", "nn.ComplexEmbedding"),
        Row("Section 2.3, Eq. 2.15 to 2.17", "dense layer", "nn.ComplexLinear"),
        Row("Eq. 2.18, Figure 2.2", "multilayer perceptron", "ComplexMLPModel"),
        Row("Section 2.4, Eq. 2.19", "recurrent layer", "nn.ComplexRNN"),
        Row("Eq. 2.20", "LSTM", "nn.ComplexLSTM"),
        Row("Eq. 2.21", "GRU", "nn.ComplexGRU", result=ERRATA),
        Row("Section 2.5, Eq. 2.22", "convolution integral", result="continuous: built as 2.23"),
        Row(
            "Eq. 2.23, 2.24, Figure 2.3", "convolution with stride and dilation", "nn.ComplexConv1d, nn.ComplexConv2d"
        ),
        Row("Eq. 2.25, 2.26", "real pooling", "torch.nn.MaxPool1d, torch.nn.AvgPool1d"),
        Row("Eq. 2.27", "complex convolution of a real signal", "nn.RealInputConv2d"),
        Row("Eq. 2.28", "mean of moduli", "nn.ModulusAvgPool1d, nn.modulus_average_pool", result=ERRATA),
        Row("Eq. 2.29", "element of largest modulus", "nn.ModulusMaxPool1d, nn.modulus_max_pool"),
        Row(
            "Section 2.6",
            "spectral networks",
            "SpectralFeatureExtractor",
            result="related work; the proposal is chapter 5",
        ),
        Row(
            "Section 2.7, Eq. 2.30 to 2.36",
            "real attention with several heads",
            "nn.ComplexMultiheadAttention",
            result='`number_field="real"`',
        ),
        Row("Eq. 2.37, Figure 2.4", "probability amplitudes ψ", "nn.probability_amplitude"),
        Row("Eq. 2.38", "the same for one number, Ψ", "nn.probability_amplitude_sigmoid"),
        Row("Eq. 2.39", "inner product", "nn.hermitian_inner"),
        Row("Eq. 2.40 to 2.44", "complex attention", "nn.complex_attention, nn.normalize_probability_amplitude"),
        Row(
            "Section 2.8, Definition 2.8.1",
            "Liouville's theorem",
            "nn.activation",
            result="bounded or holomorphic: stated for every activation",
        ),
        Row("Eq. 2.45", "identity", "nn.ACT2CFN", result='`"identity"`'),
        Row("Eq. 2.46", "hyperbolic tangent", "nn.HolomorphicTanh", result='`"tanh"`'),
        Row("Eq. 2.47", "ReLU of each part", "nn.Split", result='`"split_relu"`'),
        Row("Eq. 2.48, 2.49", "squared modulus, modulus", "nn.SquaredModulus, nn.Modulus"),
        Row("Eq. 2.50", "modReLU", "nn.ModReLU", result='`"modrelu"`'),
        Row("Eq. 2.51", "tanh of the modulus", "nn.HiroseTanh", result='`"hirose_tanh"`'),
        Row("Eq. 2.52", "sigmoid of the squared modulus", "nn.squared_modulus_sigmoid", result=ERRATA),
        Row("Eq. 2.53", "softmax of squared moduli", "nn.squared_modulus_softmax, nn.Readout"),
        Row("Section 2.9, Eq. 2.54", "mean squared error", "nn.complex_mse"),
        Row("Eq. 2.55 to 2.57", "likelihood, cross entropies", "torch.nn.functional.cross_entropy"),
        Row(
            "Section 2.10, Eq. 2.58 to 2.60",
            "gradient descent, momentum, Adam",
            "torch.optim.SGD, torch.optim.Adam",
            result=ERRATA,
        ),
        Row("Eq. 2.61", "chain rule", "torch.autograd"),
        Row(
            "Eq. 2.62, 2.63",
            "complex differentiability, Cauchy-Riemann equations",
            "nn.activation",
            result="which activations have it: [activations](../api/activation.md)",
        ),
        Row(
            "Eq. 2.64, 2.65",
            "Wirtinger derivatives",
            "docs/concepts/representation.md",
            result="[how our gradients relate to them](../concepts/representation.md#gradients)",
        ),
    ),
)
CHAPTER3 = Part(
    "Chapter 3: sizes of networks",
    "section, equation",
    (
        Row("Sections 3.1, 3.2", "introduction, literature", result=PROSE),
        Row("Section 3.3, Eq. 3.1, 3.2", "parameters of dense layers", "analysis.count_parameters", result=ERRATA),
        Row("Eq. 3.3, 3.4", "alternating widths for equal parameters", "nn.equal_parameter_widths"),
        Row("Eq. 3.5, 3.6", "width for a parameter budget", "nn.parameter_budget_width"),
        Row("Eq. 3.7, 3.8", "parameters of convolutions", "analysis.count_parameters", result=ERRATA),
        Row("Eq. 3.9", "real input", "nn.RealInputLinear, nn.RealInputConv2d"),
        Row("Figures 3.1, 3.2", "the two networks", "ComplexMLPModel, ComplexConvNetModel"),
        Row(
            "Figure 3.9",
            "interaction of the parts",
            result="an explanation: [weight dynamics](../thesis.md#weight-dynamics)",
        ),
        Row(
            "Section 3.8",
            "recommendation a: data with a known mapping to complex numbers (section 4.3, chapter 5)",
            "nn.spectrum2d, nn.sequence_dft, nn.ZTransform, nn.short_time_dft",
            result="[images](../thesis.md#inputs-that-are-complex): does not help; "
            "[language models](../thesis.md#claim-b-3-by-transform), "
            "[speech](../../examples/speech/README.md#claims-of-the-thesis-chapter-5)",
        ),
        Row(
            "Section 3.8",
            "recommendation b: noise on the complex plane (chapter 5)",
            "nn.FrequencyKernel",
            result="not repeated, because the thesis has no experiment on noise",
        ),
        Row(
            "Section 3.8",
            "recommendation c: complex embeddings that encode more information (sections 4.3, 4.4, 4.5)",
            "nn.RealWordEmbedding, nn.ComplexEmbedding, nn.QuantumEmbedding",
            result="[claims B and C](../thesis.md#the-claims), [claims D](../semantics.md#the-claims)",
        ),
        Row(
            "Section 3.8",
            "recommendation d: losses that reward a complex hypothesis",
            result="not repeated, because the thesis leaves such losses to future work",
        ),
    ),
)
CHAPTER4 = Part(
    "Chapter 4: language models, memory networks, quantum states",
    "section, equation",
    (
        Row("Sections 4.1, 4.2", "introduction, literature", result=PROSE),
        Row("Section 4.3, Eq. 4.1, 4.2, Figure 4.1", "language model", "ComplexRecurrentLMForCausalLM"),
        Row("Section 4.3.1, Eq. 4.3, 4.4, Figure 4.2", "slots", "nn.RealWordEmbedding", result=ERRATA),
        Row("Section 4.3.2, Eq. 4.5, 4.6, Figure 4.3", "phases", "nn.RealWordEmbedding", result=ERRATA),
        Row(
            "Section 4.3.3, Eq. 4.7, Figure 4.4", "Fourier transform of the sequence", "nn.sequence_dft", result=ERRATA
        ),
        Row("Eq. 4.8, 4.9, Figure 4.5", "Z-transform of the features", "nn.ZTransform", result=ERRATA),
        Row(
            "Section 4.4, Eq. 4.10 to 4.12, Figure 4.6",
            "memory",
            "ComplexMemoryNetworkModel, nn.read_memory",
            result=ERRATA,
        ),
        Row("Eq. 4.13, 4.14", "answers", "ComplexMemoryNetworkForSequenceClassification, nn.Readout"),
        Row("Sections 4.5, 4.5.1, Eq. 4.15, 4.16", "state", "semantics.ket, nn.unit_norm"),
        Row(
            "Eq. 4.17, 4.18",
            "density matrix of a state and of a mixture",
            "semantics.density, semantics.mixture, semantics.purity",
        ),
        Row("Eq. 4.19 to 4.21", "words as states of topics", "semantics.Topics", result=ERRATA),
        Row(
            "Section 4.5.2, Eq. 4.22 to 4.28, Figure 4.7",
            "interference",
            "analysis.interference, docs/concepts/quantum-words.md",
            result=ERRATA,
        ),
        Row("Eq. 4.29", "Born's rule", "semantics.measure, nn.Measurement"),
        Row("Eq. 4.30 to 4.32", "mixture, coherences", "semantics.mixture", result=ERRATA),
        Row("Eq. 4.33, 4.34", "Lagrange's identity", result="an identity: nothing to build"),
        Row("Section 4.5.3, Eq. 4.35", "inner product", "nn.hermitian_inner, semantics.WordSpace", result=ERRATA),
        Row("Section 4.5.4, Eq. 4.36", "unitary evolution", "semantics.evolve, nn.UnitaryLinear"),
        Row("Eq. 4.37", "Hadamard operator", "semantics.hadamard"),
        Row("Eq. 4.38, 4.77", "phase shift", "semantics.phase_shift"),
        Row("Section 4.5.5, Eq. 4.39 to 4.43", "tensor products", "semantics.tensor, semantics.partial_trace"),
        Row(
            "Sections 4.5.6, 4.5.6.1, Eq. 4.44 to 4.47",
            "observable, probability, expectation",
            "semantics.projectors, semantics.measure, semantics.expectation",
        ),
        Row("Eq. 4.48, 4.52", "state after a measurement", "semantics.after_measurement"),
        Row("Eq. 4.49 to 4.51", "completeness, mixed states", "semantics.measure, semantics.expectation"),
        Row("Eq. 4.53, 4.59", "state after an unread measurement", "semantics.after_unread_measurement"),
        Row(
            "Section 4.5.6.2, Eq. 4.54 to 4.58, 4.60",
            "general measurements",
            "semantics.measure_general, semantics.after_measurement",
            result=ERRATA,
        ),
        Row(
            "Section 4.5.7, Eq. 4.61 to 4.63",
            "words and phrases",
            "semantics.ket, semantics.mixture, nn.density_matrix",
            result=ERRATA,
        ),
        Row("Eq. 4.64, 4.65", "entropy", "semantics.entropy"),
        Row("Eq. 4.66", "spectral decomposition", "semantics.spectral_decomposition", result=ERRATA),
        Row(
            "Sections 4.5.8, 4.5.8.1, Eq. 4.67 to 4.70",
            "pmi",
            "semantics.Cooccurrences, semantics.SemanticSpace",
            result=ERRATA,
        ),
        Row("Eq. 4.71 to 4.75", "classical spaces", "semantics.SemanticSpace", result=ERRATA),
        Row(
            "Section 4.5.8.2, Eq. 4.76, 4.78 to 4.81",
            "quantum spaces",
            "semantics.SemanticSpace, nn.QuantumEmbedding",
            result=ERRATA,
        ),
        Row("Section 4.5.8.3, Eq. 4.82", "topics", "semantics.TopicSpace, semantics.find_topics", result=ERRATA),
        Row("Sections 4.6, 4.6.1, 4.6.2, 4.6.3, 4.7", "discussion, conclusions", result="the claims below"),
    ),
)
CHAPTER5 = Part(
    "Chapter 5 and appendix: speech",
    "section, equation",
    (
        Row("Sections 5.1, 5.2", "introduction, literature", result=PROSE),
        Row("Eq. 5.1", "label error rate", "TranscriptionMetric"),
        Row("Eq. 5.2, 5.3", "accuracy, top-k accuracy", "metrics.transcription.top_k_accuracy"),
        Row("Section 5.2.1", "MFCC", "SpectralFeatureExtractor", result='`feature_type="mfcc"`'),
        Row("Eq. 5.4, 5.5", "CTC", "SpectralTransformerForCTC"),
        Row("Eq. 5.6", "best path", "SpectralTransformerProcessor"),
        Row(
            "Section 5.2.1",
            "beam search",
            "CTCBeamSearchDecoder, SpectralTransformerForConditionalGeneration",
            result="for CTC, and with a decoder (`num_beams` of `generate()`)",
        ),
        Row("Section 5.2.1", "auto-segmentation criterion", result="not built: described as other work"),
        Row("Section 5.3, Eq. 5.7", "fully spectral attention", "SpectralTransformerModel", result=ERRATA),
        Row("Eq. 5.8", "spectral-scaled attention", "nn.SpectralScaledAttention", result=ERRATA),
        Row("Eq. 5.9, 5.10", "convolution theorem", "nn.FrequencyKernel", result=ERRATA),
        Row("Eq. 5.11", "positional phases", "nn.positional_phase", result=ERRATA),
        Row(
            "Section 5.4",
            "average and maximum pooling of bins",
            "nn.modulus_average_pool, nn.modulus_max_pool",
            result="the thesis prints no result, and here they are not compared: bins are pooled only in the "
            "[settings as printed](../../examples/speech/README.md#results-spoken-digits), which differ in more",
        ),
        Row("Sections 5.5, 5.5.1", "collection of Babble", result="not repeated, because Babble is not public"),
        Row("Section 5.5.2", "phonetic alphabet", "recipes.IPA_CATEGORIES, recipes.ipa_category"),
        Row("Section 5.5.3", "tasks b1 to b7", "recipes.babble_targets, recipes.is_babble", result=ERRATA),
        Row(
            "Section 5.5.4", "splits by symbols", "recipes.split_by_symbols, recipes.write_babble_tasks", result=ERRATA
        ),
        Row(
            "App. A.2, Eq. 1 to 3",
            "folder of the data set",
            "recipes.load_babble, recipes.load_babble_index",
            result=ERRATA,
        ),
        Row("App. A.3", "scripts", "examples/phonetic-transcription/run_babble.py"),
        Row("Sections 5.6, 6.1, 6.2, 6.2.1, 6.2.2", "conclusions, future work", result=PROSE),
    ),
)
EQUATIONS = (CHAPTER2, CHAPTER3, CHAPTER4, CHAPTER5)
