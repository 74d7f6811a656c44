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
    recipes as recipes,
    semantics as semantics,
    training as training,
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
from .data.character_lm import (
    CausalCharacterModel as CausalCharacterModel,
    CharacterNGram as CharacterNGram,
)
from .data.ctc_decoding import (
    CTCBeamSearchDecoder as CTCBeamSearchDecoder,
)
from .data.dependency import (
    DependencyCollator as DependencyCollator,
    adjacency_from_heads as adjacency_from_heads,
)
from .data.stream import (
    StreamDataset as StreamDataset,
    encode_stream as encode_stream,
)
from .data.syntax import (
    SyntaxParser as SyntaxParser,
    read_conllu as read_conllu,
)
from .data.tokenization import (
    build_ctc_tokenizer as build_ctc_tokenizer,
    build_tokenizer as build_tokenizer,
)
from .metrics.language_modeling import (
    LanguageModelMetric as LanguageModelMetric,
    language_model_scores as language_model_scores,
)
from .metrics.transcription import (
    TranscriptionMetric as TranscriptionMetric,
)
from .metrics.translation import (
    TranslationMetric as TranslationMetric,
)
from .models.base.caches.memory import (
    MemoryCache as MemoryCache,
)
from .models.base.caches.recurrent import (
    RecurrentCache as RecurrentCache,
)
from .models.base.hub import (
    write_hub_shim as write_hub_shim,
    write_model_card as write_model_card,
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
from .models.complex_mamba.configuration_complex_mamba import (
    ComplexMambaConfig as ComplexMambaConfig,
)
from .models.complex_mamba.modeling_complex_mamba import (
    ComplexMambaForCausalLM as ComplexMambaForCausalLM,
    ComplexMambaForSequenceClassification as ComplexMambaForSequenceClassification,
    ComplexMambaModel as ComplexMambaModel,
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
from .training.callbacks import (
    LinearStart as LinearStart,
    RelationSchedule as RelationSchedule,
)
from .training.streams import (
    ComplexStreamTrainer as ComplexStreamTrainer,
)
from .training.trainer import (
    ComplexSeq2SeqTrainer as ComplexSeq2SeqTrainer,
    ComplexTrainer as ComplexTrainer,
    decay_parameter_names as decay_parameter_names,
    optimizer_groups as optimizer_groups,
)

__version__: str
