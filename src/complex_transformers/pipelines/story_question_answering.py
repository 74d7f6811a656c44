# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The pipeline of memory networks: a story and a question in, an answer out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers.pipelines.base import Pipeline

from ..models.base.hub import QUESTION_ANSWERING_TASK

__all__ = ["StoryQuestionAnsweringPipeline"]

_INPUTS = ("story", "question")


class StoryQuestionAnsweringPipeline(Pipeline):
    """``pipeline("complex-question-answering", model=..., processor=...)``: an answer and its attention weights.

    A call takes ``story=`` (a string, or a list of sentences) and ``question=``, or a mapping of the two, or a list of
    such mappings. It returns a dict for each question:

    - ``answer``, one of the model's labels, and its probability ``score``;
    - ``memories``: the text (``sentence``) and attention ``weights`` (one for each hop) of each sentence in memory;
      empty for a ``word_memory``, which does not store sentences;
    - ``dropped_sentences``: number of sentences at the start of the story that exceed the memory. A ``word_memory``
      may have read the last of them partly;
    - ``unknown_words``: words outside the vocabulary.

    Args:
        model: a ``complex_memory_network`` model, as ``AutoModelForSequenceClassification`` loads it.
        processor: its ``MemoryProcessor``.

    Raises:
        ValueError: the model is of another family, the processor is missing or belongs to another model, or story or
            question is missing or empty.
        TypeError: an input is not a mapping, or a question is not a string.
    """

    _load_tokenizer = False
    _load_processor = True
    _load_feature_extractor = False
    _load_image_processor = False
    _load_video_processor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.model.config.model_type != "complex_memory_network":
            raise ValueError(
                f"model must be a complex_memory_network for {QUESTION_ANSWERING_TASK!r}, got "
                f"{type(self.model).__name__}"
            )
        if self.processor is None:
            raise ValueError(
                f"processor must be given for {QUESTION_ANSWERING_TASK!r}, got None. Pass the model's MemoryProcessor."
            )
        sizes = (
            ("memory_size",) if self.processor.variant == "sentence_memory" else ("story_length", "question_length")
        )
        for name in ("variant", *sizes):
            found, expected = getattr(self.processor, name), getattr(self.model.config, name)
            if found != expected:
                raise ValueError(
                    f"processor.{name} must be the model's {expected!r}, got {found!r}. Use "
                    f"MemoryProcessor(tokenizer, ..., {name}={expected!r})."
                )

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if kwargs:
            raise TypeError(f"arguments of {QUESTION_ANSWERING_TASK!r} must be {_INPUTS}, got {sorted(kwargs)[0]!r}")
        return {}, {}, {}

    def __call__(self, inputs: Any = None, story: Any = None, question: Any = None, **kwargs: Any) -> Any:
        """Answer one question, or each of a list."""
        if inputs is None:
            inputs = {"story": story, "question": question}
        elif story is not None or question is not None:
            raise ValueError("inputs must be None with story or question, got both. Pass story and question alone.")
        return super().__call__(inputs, **kwargs)

    def preprocess(self, input_: Any) -> dict[str, Any]:
        """Encode one story and its question."""
        if not isinstance(input_, Mapping):
            raise TypeError(f"inputs must be a mapping of {_INPUTS}, got {input_!r:.80}")
        if missing := [name for name in _INPUTS if input_.get(name) is None]:
            raise ValueError(f"{' and '.join(missing)} must be given, got None")
        story, question = (input_[name] for name in _INPUTS)
        if not isinstance(question, str):
            raise TypeError(
                f"question must be a string, got {question!r:.80}. For several, pass a list of mappings of {_INPUTS}."
            )
        features = dict(self.processor(story, question, truncation=True))
        sentences, dropped = self.processor.sentences(story), self.processor.dropped_sentences(story)
        kept = sentences[dropped:] if self.processor.variant == "sentence_memory" else []
        unknown = [word for text in (*sentences, question) for word in self.processor.unknown_words(text)]
        report = {"sentences": kept, "dropped_sentences": dropped, "unknown_words": list(dict.fromkeys(unknown))}
        return {"features": features, "report": report}

    def _forward(self, model_inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features = model_inputs["features"]
        batch = self.processor.pad(features if isinstance(features, list) else [features], return_tensors="pt")
        outputs = self.model(**self._ensure_tensor_on_device(dict(batch), self.device))
        probabilities = outputs.logits.float().softmax(-1)
        return {"probabilities": probabilities, "weights": outputs.memory_weights, "report": model_inputs["report"]}

    def postprocess(self, model_outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one question, as the class describes it."""
        report, probabilities = model_outputs["report"], model_outputs["probabilities"][0]
        best = int(probabilities.argmax())
        weights = model_outputs["weights"][0].float().T.tolist()
        memories = [
            {"sentence": sentence, "weights": hops}
            for sentence, hops in zip(report["sentences"], weights, strict=False)  # the weights of padding follow
        ]
        return {
            "answer": self.model.config.id2label[best],
            "score": float(probabilities[best]),
            "memories": memories,
            **{name: report[name] for name in ("dropped_sentences", "unknown_words")},
        }
