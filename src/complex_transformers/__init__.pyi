# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The list of public names, read by ``__init__.py`` and by type checkers: each is imported when it is first used."""

from . import analysis as analysis
from . import conversion as conversion
from . import data as data
from . import metrics as metrics
from . import models as models
from . import nn as nn
from . import pipelines as pipelines
from . import training as training
from .analysis.attention import (
    AttentionMap as AttentionMap,
)
from .analysis.attention import (
    attention_maps as attention_maps,
)
from .analysis.attention import (
    plot_attention as plot_attention,
)
from .analysis.frequencies import (
    WordFrequency as WordFrequency,
)
from .analysis.frequencies import (
    frequency_table as frequency_table,
)
from .analysis.frequencies import (
    period_summary as period_summary,
)
from .analysis.frequencies import (
    plot_frequency_density as plot_frequency_density,
)
from .analysis.translation import (
    bleu_by_length as bleu_by_length,
)
from .analysis.translation import (
    token_accuracy as token_accuracy,
)
from .analysis.waves import (
    plot_waves as plot_waves,
)
from .data.audio import (
    ClipDataset as ClipDataset,
)
from .data.audio import (
    ConcatenatedClips as ConcatenatedClips,
)
from .data.audio import (
    check_clips as check_clips,
)
from .data.audio import (
    read_audio as read_audio,
)
from .data.audio_files import (
    load_audio_dataset as load_audio_dataset,
)
from .data.babble import (
    BABBLE_TASKS as BABBLE_TASKS,
)
from .data.babble import (
    babble_targets as babble_targets,
)
from .data.babble import (
    load_babble as load_babble,
)
from .data.babble import (
    load_babble_index as load_babble_index,
)
from .data.babble import (
    split_by_labels as split_by_labels,
)
from .data.babble import (
    split_by_symbols as split_by_symbols,
)
from .data.babble import (
    write_babble_tasks as write_babble_tasks,
)
from .data.dependency import (
    DependencyCollator as DependencyCollator,
)
from .data.dependency import (
    adjacency_from_heads as adjacency_from_heads,
)
from .data.ipa import (
    IPA_CATEGORIES as IPA_CATEGORIES,
)
from .data.ipa import (
    SIMPLE_CATEGORIES as SIMPLE_CATEGORIES,
)
from .data.ipa import (
    ipa_category as ipa_category,
)
from .data.ipa import (
    is_babble as is_babble,
)
from .data.ipa import (
    simplify_ipa as simplify_ipa,
)
from .data.ipa import (
    without_brackets as without_brackets,
)
from .data.parallel_text import (
    encode_parallel_dataset as encode_parallel_dataset,
)
from .data.parallel_text import (
    load_parallel_dataset as load_parallel_dataset,
)
from .data.plain_text import (
    load_plain_text as load_plain_text,
)
from .data.stream import (
    StreamDataset as StreamDataset,
)
from .data.stream import (
    encode_stream as encode_stream,
)
from .data.syntax import (
    SyntaxParser as SyntaxParser,
)
from .data.syntax import (
    read_conllu as read_conllu,
)
from .data.text_files import (
    load_text_dataset as load_text_dataset,
)
from .data.tokenization import (
    build_ctc_tokenizer as build_ctc_tokenizer,
)
from .data.tokenization import (
    build_tokenizer as build_tokenizer,
)
from .data.word_order import (
    word_order_dataset as word_order_dataset,
)
from .metrics.language_modeling import (
    LanguageModelMetric as LanguageModelMetric,
)
from .metrics.language_modeling import (
    language_model_scores as language_model_scores,
)
from .metrics.transcription import (
    TranscriptionMetric as TranscriptionMetric,
)
from .metrics.transcription import (
    top_k_accuracy as top_k_accuracy,
)
from .metrics.translation import (
    TranslationMetric as TranslationMetric,
)
from .models.base.hub import (
    write_hub_shim as write_hub_shim,
)
from .models.base.hub import (
    write_model_card as write_model_card,
)
from .models.base.memory_cache import (
    MemoryCache as MemoryCache,
)
from .models.base.memory_cache import (
    MemoryLayer as MemoryLayer,
)
from .models.base.recurrent_cache import (
    RecurrentCache as RecurrentCache,
)
from .models.base.recurrent_cache import (
    RecurrentStateLayer as RecurrentStateLayer,
)
from .models.complex_fasttext.configuration_complex_fasttext import (
    ComplexFastTextConfig as ComplexFastTextConfig,
)
from .models.complex_fasttext.modeling_complex_fasttext import (
    ComplexFastTextForSequenceClassification as ComplexFastTextForSequenceClassification,
)
from .models.complex_fasttext.modeling_complex_fasttext import (
    ComplexFastTextModel as ComplexFastTextModel,
)
from .models.complex_order.configuration_complex_order import (
    ComplexOrderConfig as ComplexOrderConfig,
)
from .models.complex_order.modeling_complex_order import (
    ComplexOrderForMaskedLM as ComplexOrderForMaskedLM,
)
from .models.complex_order.modeling_complex_order import (
    ComplexOrderForSequenceClassification as ComplexOrderForSequenceClassification,
)
from .models.complex_order.modeling_complex_order import (
    ComplexOrderForTokenClassification as ComplexOrderForTokenClassification,
)
from .models.complex_order.modeling_complex_order import (
    ComplexOrderModel as ComplexOrderModel,
)
from .models.complex_order.modeling_complex_order import (
    ComplexOrderPreTrainedModel as ComplexOrderPreTrainedModel,
)
from .models.complex_seq2seq.configuration_complex_seq2seq import (
    ComplexSeq2SeqConfig as ComplexSeq2SeqConfig,
)
from .models.complex_seq2seq.modeling_complex_seq2seq import (
    ComplexSeq2SeqDecoder as ComplexSeq2SeqDecoder,
)
from .models.complex_seq2seq.modeling_complex_seq2seq import (
    ComplexSeq2SeqEncoder as ComplexSeq2SeqEncoder,
)
from .models.complex_seq2seq.modeling_complex_seq2seq import (
    ComplexSeq2SeqForConditionalGeneration as ComplexSeq2SeqForConditionalGeneration,
)
from .models.complex_seq2seq.modeling_complex_seq2seq import (
    ComplexSeq2SeqModel as ComplexSeq2SeqModel,
)
from .models.complex_seq2seq.modeling_complex_seq2seq import (
    ComplexSeq2SeqPreTrainedModel as ComplexSeq2SeqPreTrainedModel,
)
from .models.complex_text_cnn.configuration_complex_text_cnn import (
    ComplexTextCNNConfig as ComplexTextCNNConfig,
)
from .models.complex_text_cnn.modeling_complex_text_cnn import (
    ComplexTextCNNForSequenceClassification as ComplexTextCNNForSequenceClassification,
)
from .models.complex_text_cnn.modeling_complex_text_cnn import (
    ComplexTextCNNModel as ComplexTextCNNModel,
)
from .models.complex_text_gcn.configuration_complex_text_gcn import (
    ComplexTextGCNConfig as ComplexTextGCNConfig,
)
from .models.complex_text_gcn.modeling_complex_text_gcn import (
    ComplexTextGCNForSequenceClassification as ComplexTextGCNForSequenceClassification,
)
from .models.complex_text_gcn.modeling_complex_text_gcn import (
    ComplexTextGCNModel as ComplexTextGCNModel,
)
from .models.complex_text_rnn.configuration_complex_text_rnn import (
    ComplexTextRNNConfig as ComplexTextRNNConfig,
)
from .models.complex_text_rnn.modeling_complex_text_rnn import (
    ComplexTextRNNForSequenceClassification as ComplexTextRNNForSequenceClassification,
)
from .models.complex_text_rnn.modeling_complex_text_rnn import (
    ComplexTextRNNModel as ComplexTextRNNModel,
)
from .models.complex_transfo_xl.configuration_complex_transfo_xl import (
    ComplexTransfoXLConfig as ComplexTransfoXLConfig,
)
from .models.complex_transfo_xl.modeling_complex_transfo_xl import (
    ComplexTransfoXLForCausalLM as ComplexTransfoXLForCausalLM,
)
from .models.complex_transfo_xl.modeling_complex_transfo_xl import (
    ComplexTransfoXLModel as ComplexTransfoXLModel,
)
from .models.complex_transfo_xl.modeling_complex_transfo_xl import (
    ComplexTransfoXLPreTrainedModel as ComplexTransfoXLPreTrainedModel,
)
from .models.spectral_transformer.configuration_spectral_transformer import (
    SpectralTransformerConfig as SpectralTransformerConfig,
)
from .models.spectral_transformer.feature_extraction_spectral_transformer import (
    SpectralFeatureExtractor as SpectralFeatureExtractor,
)
from .models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerForAudioClassification as SpectralTransformerForAudioClassification,
)
from .models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerForConditionalGeneration as SpectralTransformerForConditionalGeneration,
)
from .models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerForCTC as SpectralTransformerForCTC,
)
from .models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerModel as SpectralTransformerModel,
)
from .models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerPreTrainedModel as SpectralTransformerPreTrainedModel,
)
from .models.spectral_transformer.processing_spectral_transformer import (
    SpectralTransformerProcessor as SpectralTransformerProcessor,
)
from .models.synconmt.configuration_synconmt import (
    SynCoNMTConfig as SynCoNMTConfig,
)
from .models.synconmt.generation_synconmt import (
    SynCoNMTGenerateBeamOutput as SynCoNMTGenerateBeamOutput,
)
from .models.synconmt.generation_synconmt import (
    SynCoNMTGenerateOutput as SynCoNMTGenerateOutput,
)
from .models.synconmt.modeling_synconmt import (
    SynCoNMTForConditionalGeneration as SynCoNMTForConditionalGeneration,
)
from .models.synconmt.modeling_synconmt import (
    SynCoNMTModel as SynCoNMTModel,
)
from .models.synconmt.modeling_synconmt import (
    SynCoNMTOutput as SynCoNMTOutput,
)
from .models.synconmt.processing_synconmt import (
    SynCoNMTProcessor as SynCoNMTProcessor,
)
from .models.synconmt.stacks_synconmt import (
    SynCoNMTDecoder as SynCoNMTDecoder,
)
from .models.synconmt.stacks_synconmt import (
    SynCoNMTEncoder as SynCoNMTEncoder,
)
from .models.synconmt.stacks_synconmt import (
    SynCoNMTPreTrainedModel as SynCoNMTPreTrainedModel,
)
from .nn.embedding import (
    ComplexOrderEmbedding as ComplexOrderEmbedding,
)
from .nn.linear import (
    ComplexLinear as ComplexLinear,
)
from .pipelines.speech_to_text import (
    SpeechToTextPipeline as SpeechToTextPipeline,
)
from .pipelines.text_to_text import (
    TextToTextPipeline as TextToTextPipeline,
)
from .training.arguments import (
    GivenArguments as GivenArguments,
)
from .training.arguments import (
    RunArguments as RunArguments,
)
from .training.arguments import (
    arguments_of as arguments_of,
)
from .training.audio_classification import (
    AudioClassificationRun as AudioClassificationRun,
)
from .training.folder import (
    last_complete_checkpoint as last_complete_checkpoint,
)
from .training.records import (
    command_line as command_line,
)
from .training.records import (
    model_record as model_record,
)
from .training.records import (
    portable as portable,
)
from .training.records import (
    rounded as rounded,
)
from .training.records import (
    run_record as run_record,
)
from .training.records import (
    save_model as save_model,
)
from .training.records import (
    write_results as write_results,
)
from .training.relation_schedule import (
    RelationSchedule as RelationSchedule,
)
from .training.run import (
    Run as Run,
)
from .training.run import (
    limit_progress_bars as limit_progress_bars,
)
from .training.run import (
    prepare_run as prepare_run,
)
from .training.speech import (
    SpeechDataArguments as SpeechDataArguments,
)
from .training.speech import (
    SpeechTrainingArguments as SpeechTrainingArguments,
)
from .training.speech_models import (
    SPEECH_NETWORKS as SPEECH_NETWORKS,
)
from .training.speech_models import (
    DecoderArguments as DecoderArguments,
)
from .training.speech_models import (
    SpeechModelArguments as SpeechModelArguments,
)
from .training.speech_models import (
    build_classifier as build_classifier,
)
from .training.speech_models import (
    build_transcriber as build_transcriber,
)
from .training.speech_models import (
    classification_items as classification_items,
)
from .training.speech_models import (
    transcription_items as transcription_items,
)
from .training.streams import (
    ComplexStreamTrainer as ComplexStreamTrainer,
)
from .training.syntax_translation import (
    SyntaxTranslationCollator as SyntaxTranslationCollator,
)
from .training.syntax_translation import (
    build_syntax_processor as build_syntax_processor,
)
from .training.syntax_translation import (
    encode_syntax_dataset as encode_syntax_dataset,
)
from .training.syntax_translation import (
    load_parallel_conllu as load_parallel_conllu,
)
from .training.syntax_translation import (
    parse_parallel_dataset as parse_parallel_dataset,
)
from .training.trainer import (
    ComplexSeq2SeqTrainer as ComplexSeq2SeqTrainer,
)
from .training.trainer import (
    ComplexTrainer as ComplexTrainer,
)
from .training.trainer import (
    decay_parameter_names as decay_parameter_names,
)
from .training.trainer import (
    optimizer_groups as optimizer_groups,
)
from .training.transcription import (
    TranscriptionRun as TranscriptionRun,
)
from .training.translation import (
    TranslationRun as TranslationRun,
)
from .training.translation import (
    TranslationTrainingArguments as TranslationTrainingArguments,
)
from .training.translation import (
    longest_first as longest_first,
)

__version__: str
