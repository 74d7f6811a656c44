# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tasks for ``pipeline()`` that Transformers lacks, and resampling for its audio tasks."""

from ..models.base.hub import QUESTION_ANSWERING_TASK, SPEECH_TO_TEXT_TASK, TEXT_TO_TEXT_TASK

__all__ = ["PIPELINES", "RESAMPLED"]

# task -> module in this folder, pipeline class, Auto class of its models, input type
PIPELINES = {
    QUESTION_ANSWERING_TASK: (
        *("story_question_answering", "StoryQuestionAnsweringPipeline", "AutoModelForSequenceClassification", "text"),
    ),
    SPEECH_TO_TEXT_TASK: ("speech_to_text", "SpeechToTextPipeline", "AutoModelForSpeechSeq2Seq", "multimodal"),
    TEXT_TO_TEXT_TASK: ("text_to_text", "TextToTextPipeline", "AutoModelForSeq2SeqLM", "text"),
}

# task of Transformers -> class in ``resampling`` that replaces its pipeline
RESAMPLED = {
    "audio-classification": "ResampledAudioClassificationPipeline",
    "automatic-speech-recognition": "ResampledSpeechRecognitionPipeline",
}
