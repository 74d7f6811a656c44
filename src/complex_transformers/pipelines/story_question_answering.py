# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A story and a question in, an answer out: the task of memory networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers.pipelines.base import Pipeline

from ..models.base.hub import QUESTION_ANSWERING_TASK

__all__ = ["StoryQuestionAnsweringPipeline"]

_INPUTS = ("story", "question")


class StoryQuestionAnsweringPipeline(Pipeline):
    """``pipeline("complex-question-answering", model=..., processor=...)``: the answer, and where it was looked for.

    A call takes ``story=`` (a text, or a list of sentences) and ``question=``, a mapping of the two, or a list of such
    mappings. It returns a dict for each question, or a list of them:

    - ``answer``, one of the model's labels, and its probability ``score``;
    - ``memories``: of each sentence that was read its text (``sentence``) and ``weights``, one for each hop; of a
      ``word_memory``, which reads no sentences, an empty list;
    - ``dropped_sentences``: how many at the beginning of the story are more than the model remembers; of a
      ``word_memory`` the last of them may have been read in part;
    - ``unknown_words``: those that the vocabulary does not have.

    Args:
        model: as ``AutoModelForSequenceClassification`` loads it, of the family ``complex_memory_network``.
        processor: its ``MemoryProcessor``.

    Raises:
        ValueError: a model of another family, no processor or that of another model, an input without story or
            question, an empty story, an empty list.
        TypeError: an input that is no mapping, a story or question that is no text.
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
                f"{type(self.model).__name__} does not read stories: {QUESTION_ANSWERING_TASK!r} needs a model of the "
                "family 'complex_memory_network'"
            )
        if self.processor is None:
            raise ValueError(f"{QUESTION_ANSWERING_TASK!r} needs processor=..., the MemoryProcessor of the model")
        sizes = (
            ("memory_size",) if self.processor.variant == "sentence_memory" else ("story_length", "question_length")
        )
        for name in ("variant", *sizes):
            reads, remembers = getattr(self.processor, name), getattr(self.model.config, name)
            if reads != remembers:
                raise ValueError(
                    f"the processor has {name}={reads!r} and the model {name}={remembers!r}: make it with "
                    f"MemoryProcessor(tokenizer, ..., {name}={remembers!r})"
                )

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if kwargs:
            raise TypeError(f"{QUESTION_ANSWERING_TASK!r} has no argument {sorted(kwargs)[0]!r}")
        return {}, {}, {}

    def __call__(self, inputs: Any = None, story: Any = None, question: Any = None, **kwargs: Any) -> Any:
        """The answer to one question, or to each of a list."""
        if inputs is None:
            inputs = {"story": story, "question": question}
        elif story is not None or question is not None:
            raise ValueError("give story= and question=, or a mapping of the two, not both")
        elif isinstance(inputs, list) and not inputs:
            raise ValueError(f"there are no questions: the list is empty; give mappings of {_INPUTS}")
        return super().__call__(inputs, **kwargs)

    def preprocess(self, input_: Any) -> dict[str, Any]:
        """Words of one story and its question, and what is to be said of them."""
        if not isinstance(input_, Mapping):
            raise TypeError(f"a question must be a mapping of {_INPUTS}, got {type(input_).__name__}: {input_!r}")
        if missing := [name for name in _INPUTS if input_.get(name) is None]:
            given = [name for name, value in input_.items() if value is not None]
            raise ValueError(f"the input has no {' and no '.join(missing)}, only {given}: give a story and a question")
        story, question = (input_[name] for name in _INPUTS)
        if not isinstance(question, str):
            raise TypeError(
                f"question must be a text, got {type(question).__name__}: {question!r}; give several questions as a "
                f"list of mappings of {_INPUTS}"
            )
        features = dict(self.processor(story, question, truncation=True))
        sentences, dropped = self.processor.sentences(story), self.processor.dropped_sentences(story)
        kept = sentences[dropped:] if self.processor.variant == "sentence_memory" else []
        unknown = [word for text in (*sentences, question) for word in self.processor.unknown_words(text)]
        said = {"sentences": kept, "dropped_sentences": dropped, "unknown_words": list(dict.fromkeys(unknown))}
        return {"features": features, "said": said}

    def _forward(self, model_inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features = model_inputs["features"]
        batch = self.processor.pad(features if isinstance(features, list) else [features], return_tensors="pt")
        outputs = self.model(**self._ensure_tensor_on_device(dict(batch), self.device))
        probabilities = outputs.logits.float().softmax(-1)
        return {"probabilities": probabilities, "weights": outputs.memory_weights, "said": model_inputs["said"]}

    def postprocess(self, model_outputs: dict[str, Any]) -> dict[str, Any]:
        """One record for a question."""
        said, probabilities = model_outputs["said"], model_outputs["probabilities"][0]
        best = int(probabilities.argmax())
        weights = model_outputs["weights"][0].float().T.tolist()
        memories = [
            {"sentence": sentence, "weights": hops}
            for sentence, hops in zip(said["sentences"], weights, strict=False)  # weights of padding follow
        ]
        return {
            "answer": self.model.config.id2label[best],
            "score": float(probabilities[best]),
            "memories": memories,
            **{name: said[name] for name in ("dropped_sentences", "unknown_words")},
        }
