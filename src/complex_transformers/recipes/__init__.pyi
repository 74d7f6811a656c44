# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The public names of the recipes, read by ``__init__.py`` and by type checkers."""

from .arguments import (
    GivenArguments as GivenArguments,
    RunArguments as RunArguments,
    arguments_of as arguments_of,
    arguments_of_networks as arguments_of_networks,
)
from .audio_classification import (
    AudioClassificationRun as AudioClassificationRun,
)
from .datasets.audio_files import (
    load_audio_dataset as load_audio_dataset,
)
from .datasets.babble import (
    BABBLE_TASKS as BABBLE_TASKS,
    babble_targets as babble_targets,
    load_babble as load_babble,
    load_babble_index as load_babble_index,
    split_by_labels as split_by_labels,
    split_by_symbols as split_by_symbols,
    write_babble_tasks as write_babble_tasks,
)
from .datasets.babi import (
    BabiQuestion as BabiQuestion,
    load_babi as load_babi,
    read_babi as read_babi,
    repeated_questions as repeated_questions,
)
from .datasets.diagnostic import (
    copy_data as copy_data,
    indirect_indexing_data as indirect_indexing_data,
    needle_data as needle_data,
    phase_memory_data as phase_memory_data,
    selective_copy_data as selective_copy_data,
)
from .datasets.image_files import (
    read_image_files as read_image_files,
)
from .datasets.images import (
    load_image_dataset as load_image_dataset,
)
from .datasets.ipa import (
    IPA_CATEGORIES as IPA_CATEGORIES,
    SIMPLE_CATEGORIES as SIMPLE_CATEGORIES,
    ipa_category as ipa_category,
    is_babble as is_babble,
    simplify_ipa as simplify_ipa,
    without_brackets as without_brackets,
)
from .datasets.listops import (
    LISTOPS_TOKENS as LISTOPS_TOKENS,
    ListOpsExpression as ListOpsExpression,
    listops_data as listops_data,
    listops_dataset as listops_dataset,
    listops_expressions as listops_expressions,
)
from .datasets.packing import (
    BlockCollator as BlockCollator,
    BlockStream as BlockStream,
    pack_blocks as pack_blocks,
    stream_plain_text as stream_plain_text,
)
from .datasets.parallel_text import (
    encode_parallel_dataset as encode_parallel_dataset,
    load_parallel_dataset as load_parallel_dataset,
)
from .datasets.plain_text import (
    load_plain_text as load_plain_text,
)
from .datasets.state_tracking import (
    modular_addition_data as modular_addition_data,
    modular_arithmetic_data as modular_arithmetic_data,
    parity_data as parity_data,
    permutation_data as permutation_data,
)
from .datasets.synthetic import (
    quadrant_data as quadrant_data,
    xor_data as xor_data,
)
from .datasets.text_files import (
    load_text_dataset as load_text_dataset,
)
from .datasets.token_sequences import (
    TokenSequences as TokenSequences,
)
from .datasets.word_order import (
    word_order_dataset as word_order_dataset,
)
from .packed_language_modeling import (
    BlockDataArguments as BlockDataArguments,
    BlockRunArguments as BlockRunArguments,
    train_blocks as train_blocks,
)
from .records import (
    command_line as command_line,
    model_record as model_record,
    portable as portable,
    rounded as rounded,
    run_record as run_record,
    save_model as save_model,
    write_results as write_results,
)
from .run import (
    Run as Run,
    limit_progress_bars as limit_progress_bars,
    prepare_run as prepare_run,
)
from .speech_arguments import (
    SpeechDataArguments as SpeechDataArguments,
    SpeechTrainingArguments as SpeechTrainingArguments,
)
from .speech_models import (
    SPEECH_NETWORKS as SPEECH_NETWORKS,
    DecoderArguments as DecoderArguments,
    SpeechModelArguments as SpeechModelArguments,
    build_classifier as build_classifier,
    build_transcriber as build_transcriber,
    classification_items as classification_items,
    transcription_items as transcription_items,
)
from .stateful_language_modeling import (
    StreamDataArguments as StreamDataArguments,
    StreamRunArguments as StreamRunArguments,
    train_stream as train_stream,
)
from .syntax_translation import (
    SyntaxTranslationCollator as SyntaxTranslationCollator,
    build_syntax_processor as build_syntax_processor,
    encode_syntax_dataset as encode_syntax_dataset,
    load_parallel_conllu as load_parallel_conllu,
    parse_parallel_dataset as parse_parallel_dataset,
)
from .transcription import (
    TranscriptionRun as TranscriptionRun,
)
from .translation import (
    TranslationRun as TranslationRun,
    TranslationTrainingArguments as TranslationTrainingArguments,
    longest_first as longest_first,
)
