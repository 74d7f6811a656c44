# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The list of public names, read by ``__init__.py`` and by type checkers: each is imported when it is first used."""

from . import (
    analysis as analysis,
    conversion as conversion,
    data as data,
    metrics as metrics,
    models as models,
    nn as nn,
    pipelines as pipelines,
    quantization as quantization,
    semantics as semantics,
    training as training,
)
from .analysis.attention import (
    AttentionMap as AttentionMap,
    attention_maps as attention_maps,
    plot_attention as plot_attention,
)
from .analysis.conjugate import (
    conjugate_share as conjugate_share,
    prune_conjugate as prune_conjugate,
)
from .analysis.frequencies import (
    WordFrequency as WordFrequency,
    frequency_table as frequency_table,
    period_summary as period_summary,
    plot_frequency_density as plot_frequency_density,
)
from .analysis.parameters import (
    count_parameters as count_parameters,
)
from .analysis.translation import (
    bleu_by_length as bleu_by_length,
    token_accuracy as token_accuracy,
)
from .analysis.waves import (
    plot_waves as plot_waves,
)
from .conversion.lift import (
    lift as lift,
)
from .data.audio import (
    ClipDataset as ClipDataset,
    ConcatenatedClips as ConcatenatedClips,
    check_clips as check_clips,
    read_audio as read_audio,
)
from .data.audio_files import (
    load_audio_dataset as load_audio_dataset,
)
from .data.babble import (
    BABBLE_TASKS as BABBLE_TASKS,
    babble_targets as babble_targets,
    load_babble as load_babble,
    load_babble_index as load_babble_index,
    split_by_labels as split_by_labels,
    split_by_symbols as split_by_symbols,
    write_babble_tasks as write_babble_tasks,
)
from .data.babi import (
    BabiQuestion as BabiQuestion,
    load_babi as load_babi,
    read_babi as read_babi,
    repeated_questions as repeated_questions,
)
from .data.blocks import (
    BlockCollator as BlockCollator,
    BlockStream as BlockStream,
    pack_blocks as pack_blocks,
    stream_plain_text as stream_plain_text,
)
from .data.dependency import (
    DependencyCollator as DependencyCollator,
    adjacency_from_heads as adjacency_from_heads,
)
from .data.image_files import (
    read_image_files as read_image_files,
)
from .data.images import (
    load_image_dataset as load_image_dataset,
)
from .data.ipa import (
    IPA_CATEGORIES as IPA_CATEGORIES,
    SIMPLE_CATEGORIES as SIMPLE_CATEGORIES,
    ipa_category as ipa_category,
    is_babble as is_babble,
    simplify_ipa as simplify_ipa,
    without_brackets as without_brackets,
)
from .data.parallel_text import (
    encode_parallel_dataset as encode_parallel_dataset,
    load_parallel_dataset as load_parallel_dataset,
)
from .data.plain_text import (
    load_plain_text as load_plain_text,
)
from .data.stream import (
    StreamDataset as StreamDataset,
    encode_stream as encode_stream,
)
from .data.syntax import (
    SyntaxParser as SyntaxParser,
    read_conllu as read_conllu,
)
from .data.synthetic import (
    quadrant_data as quadrant_data,
    xor_data as xor_data,
)
from .data.text_files import (
    load_text_dataset as load_text_dataset,
)
from .data.tokenization import (
    build_ctc_tokenizer as build_ctc_tokenizer,
    build_tokenizer as build_tokenizer,
)
from .data.word_order import (
    word_order_dataset as word_order_dataset,
)
from .metrics.language_modeling import (
    LanguageModelMetric as LanguageModelMetric,
    language_model_scores as language_model_scores,
)
from .metrics.transcription import (
    TranscriptionMetric as TranscriptionMetric,
    top_k_accuracy as top_k_accuracy,
)
from .metrics.translation import (
    TranslationMetric as TranslationMetric,
)
from .models.base.hub import (
    write_hub_shim as write_hub_shim,
    write_model_card as write_model_card,
)
from .models.base.memory_cache import (
    MemoryCache as MemoryCache,
    MemoryLayer as MemoryLayer,
)
from .models.base.recurrent_cache import (
    RecurrentCache as RecurrentCache,
    RecurrentStateLayer as RecurrentStateLayer,
)
from .models.complex_convnet.configuration_complex_convnet import (
    ComplexConvNetConfig as ComplexConvNetConfig,
)
from .models.complex_convnet.modeling_complex_convnet import (
    ComplexConvNetForImageClassification as ComplexConvNetForImageClassification,
    ComplexConvNetModel as ComplexConvNetModel,
)
from .models.complex_fasttext.configuration_complex_fasttext import (
    ComplexFastTextConfig as ComplexFastTextConfig,
)
from .models.complex_fasttext.modeling_complex_fasttext import (
    ComplexFastTextForSequenceClassification as ComplexFastTextForSequenceClassification,
    ComplexFastTextModel as ComplexFastTextModel,
)
from .models.complex_llama.configuration_complex_llama import (
    ComplexLlamaConfig as ComplexLlamaConfig,
)
from .models.complex_llama.modeling_complex_llama import (
    ComplexLlamaForCausalLM as ComplexLlamaForCausalLM,
    ComplexLlamaForSequenceClassification as ComplexLlamaForSequenceClassification,
    ComplexLlamaForTokenClassification as ComplexLlamaForTokenClassification,
    ComplexLlamaModel as ComplexLlamaModel,
)
from .models.complex_memory_network.configuration_complex_memory_network import (
    ComplexMemoryNetworkConfig as ComplexMemoryNetworkConfig,
)
from .models.complex_memory_network.modeling_complex_memory_network import (
    ComplexMemoryNetworkForSequenceClassification as ComplexMemoryNetworkForSequenceClassification,
    ComplexMemoryNetworkModel as ComplexMemoryNetworkModel,
)
from .models.complex_memory_network.processing_complex_memory_network import (
    MemoryProcessor as MemoryProcessor,
)
from .models.complex_mlp.configuration_complex_mlp import (
    ComplexMLPConfig as ComplexMLPConfig,
)
from .models.complex_mlp.image_processing_complex_mlp import (
    ComplexImageProcessor as ComplexImageProcessor,
)
from .models.complex_mlp.modeling_complex_mlp import (
    ComplexMLPForImageClassification as ComplexMLPForImageClassification,
    ComplexMLPForSequenceClassification as ComplexMLPForSequenceClassification,
    ComplexMLPModel as ComplexMLPModel,
)
from .models.complex_order.configuration_complex_order import (
    ComplexOrderConfig as ComplexOrderConfig,
)
from .models.complex_order.modeling_complex_order import (
    ComplexOrderForMaskedLM as ComplexOrderForMaskedLM,
    ComplexOrderForMultipleChoice as ComplexOrderForMultipleChoice,
    ComplexOrderForQuestionAnswering as ComplexOrderForQuestionAnswering,
    ComplexOrderForSequenceClassification as ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification as ComplexOrderForTokenClassification,
    ComplexOrderModel as ComplexOrderModel,
    ComplexOrderPreTrainedModel as ComplexOrderPreTrainedModel,
)
from .models.complex_quantum.configuration_complex_quantum import (
    ComplexQuantumConfig as ComplexQuantumConfig,
)
from .models.complex_quantum.modeling_complex_quantum import (
    ComplexQuantumForSequenceClassification as ComplexQuantumForSequenceClassification,
    ComplexQuantumModel as ComplexQuantumModel,
    ComplexQuantumPreTrainedModel as ComplexQuantumPreTrainedModel,
)
from .models.complex_recurrent_lm.configuration_complex_recurrent_lm import (
    ComplexRecurrentLMConfig as ComplexRecurrentLMConfig,
)
from .models.complex_recurrent_lm.modeling_complex_recurrent_lm import (
    ComplexRecurrentLMForCausalLM as ComplexRecurrentLMForCausalLM,
    ComplexRecurrentLMModel as ComplexRecurrentLMModel,
    ComplexRecurrentLMPreTrainedModel as ComplexRecurrentLMPreTrainedModel,
)
from .models.complex_seq2seq.configuration_complex_seq2seq import (
    ComplexSeq2SeqConfig as ComplexSeq2SeqConfig,
)
from .models.complex_seq2seq.modeling_complex_seq2seq import (
    ComplexSeq2SeqDecoder as ComplexSeq2SeqDecoder,
    ComplexSeq2SeqEncoder as ComplexSeq2SeqEncoder,
    ComplexSeq2SeqForConditionalGeneration as ComplexSeq2SeqForConditionalGeneration,
    ComplexSeq2SeqModel as ComplexSeq2SeqModel,
    ComplexSeq2SeqPreTrainedModel as ComplexSeq2SeqPreTrainedModel,
)
from .models.complex_text_cnn.configuration_complex_text_cnn import (
    ComplexTextCNNConfig as ComplexTextCNNConfig,
)
from .models.complex_text_cnn.modeling_complex_text_cnn import (
    ComplexTextCNNForSequenceClassification as ComplexTextCNNForSequenceClassification,
    ComplexTextCNNModel as ComplexTextCNNModel,
)
from .models.complex_text_gcn.configuration_complex_text_gcn import (
    ComplexTextGCNConfig as ComplexTextGCNConfig,
)
from .models.complex_text_gcn.modeling_complex_text_gcn import (
    ComplexTextGCNForSequenceClassification as ComplexTextGCNForSequenceClassification,
    ComplexTextGCNModel as ComplexTextGCNModel,
)
from .models.complex_text_rnn.configuration_complex_text_rnn import (
    ComplexTextRNNConfig as ComplexTextRNNConfig,
)
from .models.complex_text_rnn.modeling_complex_text_rnn import (
    ComplexTextRNNForSequenceClassification as ComplexTextRNNForSequenceClassification,
    ComplexTextRNNModel as ComplexTextRNNModel,
)
from .models.complex_transfo_xl.configuration_complex_transfo_xl import (
    ComplexTransfoXLConfig as ComplexTransfoXLConfig,
)
from .models.complex_transfo_xl.modeling_complex_transfo_xl import (
    ComplexTransfoXLForCausalLM as ComplexTransfoXLForCausalLM,
    ComplexTransfoXLForSequenceClassification as ComplexTransfoXLForSequenceClassification,
    ComplexTransfoXLModel as ComplexTransfoXLModel,
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
    SpectralTransformerForConditionalGeneration as SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC as SpectralTransformerForCTC,
    SpectralTransformerModel as SpectralTransformerModel,
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
    SynCoNMTGenerateOutput as SynCoNMTGenerateOutput,
)
from .models.synconmt.modeling_synconmt import (
    SynCoNMTForConditionalGeneration as SynCoNMTForConditionalGeneration,
    SynCoNMTModel as SynCoNMTModel,
    SynCoNMTOutput as SynCoNMTOutput,
)
from .models.synconmt.processing_synconmt import (
    SynCoNMTProcessor as SynCoNMTProcessor,
)
from .models.synconmt.stacks_synconmt import (
    SynCoNMTDecoder as SynCoNMTDecoder,
    SynCoNMTEncoder as SynCoNMTEncoder,
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
from .pipelines.story_question_answering import (
    StoryQuestionAnsweringPipeline as StoryQuestionAnsweringPipeline,
)
from .pipelines.text_to_text import (
    TextToTextPipeline as TextToTextPipeline,
)
from .quantization.configuration import (
    ComplexQuantizationConfig as ComplexQuantizationConfig,
)
from .quantization.quantizer import (
    quantize as quantize,
)
from .training.arguments import (
    GivenArguments as GivenArguments,
    RunArguments as RunArguments,
    arguments_of as arguments_of,
    arguments_of_networks as arguments_of_networks,
)
from .training.audio_classification import (
    AudioClassificationRun as AudioClassificationRun,
)
from .training.block_runs import (
    BlockDataArguments as BlockDataArguments,
    BlockRunArguments as BlockRunArguments,
    train_blocks as train_blocks,
)
from .training.folder import (
    last_complete_checkpoint as last_complete_checkpoint,
)
from .training.linear_start import (
    LinearStart as LinearStart,
)
from .training.records import (
    command_line as command_line,
    model_record as model_record,
    portable as portable,
    rounded as rounded,
    run_record as run_record,
    save_model as save_model,
    write_results as write_results,
)
from .training.relation_schedule import (
    RelationSchedule as RelationSchedule,
)
from .training.run import (
    Run as Run,
    limit_progress_bars as limit_progress_bars,
    prepare_run as prepare_run,
)
from .training.speech import (
    SpeechDataArguments as SpeechDataArguments,
    SpeechTrainingArguments as SpeechTrainingArguments,
)
from .training.speech_models import (
    SPEECH_NETWORKS as SPEECH_NETWORKS,
    DecoderArguments as DecoderArguments,
    SpeechModelArguments as SpeechModelArguments,
    build_classifier as build_classifier,
    build_transcriber as build_transcriber,
    classification_items as classification_items,
    transcription_items as transcription_items,
)
from .training.stream_runs import (
    StreamDataArguments as StreamDataArguments,
    StreamRunArguments as StreamRunArguments,
    train_stream as train_stream,
)
from .training.streams import (
    ComplexStreamTrainer as ComplexStreamTrainer,
)
from .training.syntax_translation import (
    SyntaxTranslationCollator as SyntaxTranslationCollator,
    build_syntax_processor as build_syntax_processor,
    encode_syntax_dataset as encode_syntax_dataset,
    load_parallel_conllu as load_parallel_conllu,
    parse_parallel_dataset as parse_parallel_dataset,
)
from .training.trainer import (
    ComplexSeq2SeqTrainer as ComplexSeq2SeqTrainer,
    ComplexTrainer as ComplexTrainer,
    decay_parameter_names as decay_parameter_names,
    optimizer_groups as optimizer_groups,
)
from .training.transcription import (
    TranscriptionRun as TranscriptionRun,
)
from .training.translation import (
    TranslationRun as TranslationRun,
    TranslationTrainingArguments as TranslationTrainingArguments,
    longest_first as longest_first,
)

__version__: str
