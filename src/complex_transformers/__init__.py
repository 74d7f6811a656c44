# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex-valued models for Hugging Face Transformers.

Importing the package registers its models with the Auto classes and its task with ``pipeline()``. Everything public is
found here and loaded when it is first used, so the import itself is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .auto import register_all

__version__ = "0.1.0"

# module -> public names
_EXPORTS: dict[str, tuple[str, ...]] = {
    "analysis.attention": ("AttentionMap", "attention_maps", "plot_attention"),
    "analysis.frequencies": ("WordFrequency", "frequency_table", "period_summary", "plot_frequency_density"),
    "analysis.translation": ("bleu_by_length", "token_accuracy"),
    "analysis.waves": ("plot_waves",),
    "audio_classification_training": ("AudioClassificationRun", "build_classifier", "classification_items"),
    "cache": ("MemoryCache", "MemoryLayer"),
    "data.audio": ("ClipDataset", "ConcatenatedClips", "check_clips", "read_audio"),
    "data.audio_files": ("load_audio_dataset",),
    "data.babble": (
        "BABBLE_TASKS",
        "babble_targets",
        "load_babble",
        "load_babble_index",
        "split_by_labels",
        "split_by_symbols",
        "write_babble_tasks",
    ),
    "data.dependency": ("DependencyCollator", "adjacency_from_heads"),
    "data.ipa": (
        "IPA_CATEGORIES",
        "SIMPLE_CATEGORIES",
        "ipa_category",
        "is_babble",
        "simplify_ipa",
        "without_brackets",
    ),
    "data.parallel_text": ("encode_parallel_dataset", "load_parallel_dataset"),
    "data.plain_text": ("load_plain_text",),
    "data.stream": ("StreamDataset", "encode_stream"),
    "data.syntax_translation": (
        "SyntaxTranslationCollator",
        "build_syntax_processor",
        "encode_syntax_dataset",
        "load_parallel_conllu",
        "parse_parallel_dataset",
    ),
    "data.text_files": ("load_text_dataset",),
    "data.tokenization": ("build_ctc_tokenizer", "build_tokenizer"),
    "data.word_order": ("word_order_dataset",),
    "hub": ("write_hub_shim", "write_model_card"),
    "metrics.language_modeling": ("LanguageModelMetric", "language_model_scores"),
    "metrics.transcription": ("TranscriptionMetric", "top_k_accuracy"),
    "metrics.translation": ("TranslationMetric",),
    "models.complex_fasttext.configuration_complex_fasttext": ("ComplexFastTextConfig",),
    "models.complex_fasttext.modeling_complex_fasttext": (
        "ComplexFastTextForSequenceClassification",
        "ComplexFastTextModel",
    ),
    "models.complex_order.configuration_complex_order": ("ComplexOrderConfig",),
    "models.complex_order.modeling_complex_order": (
        "ComplexOrderForMaskedLM",
        "ComplexOrderForSequenceClassification",
        "ComplexOrderForTokenClassification",
        "ComplexOrderModel",
        "ComplexOrderPreTrainedModel",
    ),
    "models.complex_seq2seq.configuration_complex_seq2seq": ("ComplexSeq2SeqConfig",),
    "models.complex_seq2seq.modeling_complex_seq2seq": (
        "ComplexSeq2SeqDecoder",
        "ComplexSeq2SeqEncoder",
        "ComplexSeq2SeqForConditionalGeneration",
        "ComplexSeq2SeqModel",
        "ComplexSeq2SeqPreTrainedModel",
    ),
    "models.complex_text_cnn.configuration_complex_text_cnn": ("ComplexTextCNNConfig",),
    "models.complex_text_cnn.modeling_complex_text_cnn": (
        "ComplexTextCNNForSequenceClassification",
        "ComplexTextCNNModel",
    ),
    "models.complex_text_gcn.configuration_complex_text_gcn": ("ComplexTextGCNConfig",),
    "models.complex_text_gcn.modeling_complex_text_gcn": (
        "ComplexTextGCNForSequenceClassification",
        "ComplexTextGCNModel",
    ),
    "models.complex_text_rnn.configuration_complex_text_rnn": ("ComplexTextRNNConfig",),
    "models.complex_text_rnn.modeling_complex_text_rnn": (
        "ComplexTextRNNForSequenceClassification",
        "ComplexTextRNNModel",
    ),
    "models.complex_transfo_xl.configuration_complex_transfo_xl": ("ComplexTransfoXLConfig",),
    "models.complex_transfo_xl.modeling_complex_transfo_xl": (
        "ComplexTransfoXLForCausalLM",
        "ComplexTransfoXLModel",
        "ComplexTransfoXLPreTrainedModel",
    ),
    "models.spectral_transformer.configuration_spectral_transformer": ("SpectralTransformerConfig",),
    "models.spectral_transformer.feature_extraction_spectral_transformer": ("SpectralFeatureExtractor",),
    "models.spectral_transformer.modeling_spectral_transformer": (
        "SpectralTransformerForAudioClassification",
        "SpectralTransformerForCTC",
        "SpectralTransformerForConditionalGeneration",
        "SpectralTransformerModel",
        "SpectralTransformerPreTrainedModel",
    ),
    "models.spectral_transformer.processing_spectral_transformer": ("SpectralTransformerProcessor",),
    "models.synconmt.configuration_synconmt": ("SynCoNMTConfig",),
    "models.synconmt.generation_synconmt": ("SynCoNMTGenerateBeamOutput", "SynCoNMTGenerateOutput"),
    "models.synconmt.modeling_synconmt": ("SynCoNMTForConditionalGeneration", "SynCoNMTModel", "SynCoNMTOutput"),
    "models.synconmt.processing_synconmt": ("SynCoNMTProcessor",),
    "models.synconmt.stacks_synconmt": ("SynCoNMTDecoder", "SynCoNMTEncoder", "SynCoNMTPreTrainedModel"),
    "nn.embedding": ("ComplexOrderEmbedding",),
    "nn.linear": ("ComplexLinear",),
    "pipelines.speech_to_text": ("SpeechToTextPipeline",),
    "pipelines.text_to_text": ("TextToTextPipeline",),
    "recurrent_cache": ("RecurrentCache", "RecurrentStateLayer"),
    "runs": (
        "command_line",
        "model_record",
        "portable",
        "rounded",
        "run_record",
        "save_model",
        "write_results",
    ),
    "speech_training": ("SPEECH_NETWORKS", "SpeechDataArguments", "SpeechModelArguments", "SpeechTrainingArguments"),
    "streaming": ("ComplexStreamTrainer",),
    "syntax": ("SyntaxParser", "read_conllu"),
    "training": (
        "ComplexSeq2SeqTrainer",
        "ComplexTrainer",
        "decay_parameter_names",
        "last_complete_checkpoint",
        "optimizer_groups",
        "prepare_run",
    ),
    "transcription_training": (
        "DecoderArguments",
        "TranscriptionRun",
        "build_transcriber",
        "transcription_items",
    ),
    "translation_training": ("TranslationRun", "TranslationTrainingArguments", "longest_first"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_SUBPACKAGES = (
    "analysis",
    "conversion",
    "data",
    "hub",
    "metrics",
    "models",
    "nn",
    "pipelines",
    "streaming",
    "training",
)

__all__ = ["__version__", "nn", *sorted(_MODULE_OF)]

if TYPE_CHECKING:
    from . import nn
    from .analysis.attention import AttentionMap, attention_maps, plot_attention
    from .analysis.frequencies import WordFrequency, frequency_table, period_summary, plot_frequency_density
    from .analysis.translation import bleu_by_length, token_accuracy
    from .analysis.waves import plot_waves
    from .audio_classification_training import AudioClassificationRun, build_classifier, classification_items
    from .cache import MemoryCache, MemoryLayer
    from .data.audio import ClipDataset, ConcatenatedClips, check_clips, read_audio
    from .data.audio_files import load_audio_dataset
    from .data.babble import (
        BABBLE_TASKS,
        babble_targets,
        load_babble,
        load_babble_index,
        split_by_labels,
        split_by_symbols,
        write_babble_tasks,
    )
    from .data.dependency import DependencyCollator, adjacency_from_heads
    from .data.ipa import (
        IPA_CATEGORIES,
        SIMPLE_CATEGORIES,
        ipa_category,
        is_babble,
        simplify_ipa,
        without_brackets,
    )
    from .data.parallel_text import encode_parallel_dataset, load_parallel_dataset
    from .data.plain_text import load_plain_text
    from .data.stream import StreamDataset, encode_stream
    from .data.syntax_translation import (
        SyntaxTranslationCollator,
        build_syntax_processor,
        encode_syntax_dataset,
        load_parallel_conllu,
        parse_parallel_dataset,
    )
    from .data.text_files import load_text_dataset
    from .data.tokenization import build_ctc_tokenizer, build_tokenizer
    from .data.word_order import word_order_dataset
    from .hub import write_hub_shim, write_model_card
    from .metrics.language_modeling import LanguageModelMetric, language_model_scores
    from .metrics.transcription import TranscriptionMetric, top_k_accuracy
    from .metrics.translation import TranslationMetric
    from .models.complex_fasttext.configuration_complex_fasttext import ComplexFastTextConfig
    from .models.complex_fasttext.modeling_complex_fasttext import (
        ComplexFastTextForSequenceClassification,
        ComplexFastTextModel,
    )
    from .models.complex_order.configuration_complex_order import ComplexOrderConfig
    from .models.complex_order.modeling_complex_order import (
        ComplexOrderForMaskedLM,
        ComplexOrderForSequenceClassification,
        ComplexOrderForTokenClassification,
        ComplexOrderModel,
        ComplexOrderPreTrainedModel,
    )
    from .models.complex_seq2seq.configuration_complex_seq2seq import ComplexSeq2SeqConfig
    from .models.complex_seq2seq.modeling_complex_seq2seq import (
        ComplexSeq2SeqDecoder,
        ComplexSeq2SeqEncoder,
        ComplexSeq2SeqForConditionalGeneration,
        ComplexSeq2SeqModel,
        ComplexSeq2SeqPreTrainedModel,
    )
    from .models.complex_text_cnn.configuration_complex_text_cnn import ComplexTextCNNConfig
    from .models.complex_text_cnn.modeling_complex_text_cnn import (
        ComplexTextCNNForSequenceClassification,
        ComplexTextCNNModel,
    )
    from .models.complex_text_gcn.configuration_complex_text_gcn import ComplexTextGCNConfig
    from .models.complex_text_gcn.modeling_complex_text_gcn import (
        ComplexTextGCNForSequenceClassification,
        ComplexTextGCNModel,
    )
    from .models.complex_text_rnn.configuration_complex_text_rnn import ComplexTextRNNConfig
    from .models.complex_text_rnn.modeling_complex_text_rnn import (
        ComplexTextRNNForSequenceClassification,
        ComplexTextRNNModel,
    )
    from .models.complex_transfo_xl.configuration_complex_transfo_xl import ComplexTransfoXLConfig
    from .models.complex_transfo_xl.modeling_complex_transfo_xl import (
        ComplexTransfoXLForCausalLM,
        ComplexTransfoXLModel,
        ComplexTransfoXLPreTrainedModel,
    )
    from .models.spectral_transformer.configuration_spectral_transformer import SpectralTransformerConfig
    from .models.spectral_transformer.feature_extraction_spectral_transformer import SpectralFeatureExtractor
    from .models.spectral_transformer.modeling_spectral_transformer import (
        SpectralTransformerForAudioClassification,
        SpectralTransformerForConditionalGeneration,
        SpectralTransformerForCTC,
        SpectralTransformerModel,
        SpectralTransformerPreTrainedModel,
    )
    from .models.spectral_transformer.processing_spectral_transformer import SpectralTransformerProcessor
    from .models.synconmt.configuration_synconmt import SynCoNMTConfig
    from .models.synconmt.generation_synconmt import SynCoNMTGenerateBeamOutput, SynCoNMTGenerateOutput
    from .models.synconmt.modeling_synconmt import SynCoNMTForConditionalGeneration, SynCoNMTModel, SynCoNMTOutput
    from .models.synconmt.processing_synconmt import SynCoNMTProcessor
    from .models.synconmt.stacks_synconmt import SynCoNMTDecoder, SynCoNMTEncoder, SynCoNMTPreTrainedModel
    from .nn.embedding import ComplexOrderEmbedding
    from .nn.linear import ComplexLinear
    from .pipelines.speech_to_text import SpeechToTextPipeline
    from .pipelines.text_to_text import TextToTextPipeline
    from .recurrent_cache import RecurrentCache, RecurrentStateLayer
    from .runs import command_line, model_record, portable, rounded, run_record, save_model, write_results
    from .speech_training import SPEECH_NETWORKS, SpeechDataArguments, SpeechModelArguments, SpeechTrainingArguments
    from .streaming import ComplexStreamTrainer
    from .syntax import SyntaxParser, read_conllu
    from .training import (
        ComplexSeq2SeqTrainer,
        ComplexTrainer,
        decay_parameter_names,
        last_complete_checkpoint,
        optimizer_groups,
        prepare_run,
    )
    from .transcription_training import DecoderArguments, TranscriptionRun, build_transcriber, transcription_items
    from .translation_training import TranslationRun, TranslationTrainingArguments, longest_first


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBPACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES})


register_all()
