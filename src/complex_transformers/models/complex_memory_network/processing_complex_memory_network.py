# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Processor of memory networks: stories and questions to token ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from transformers import AddedToken, BatchEncoding, PreTrainedTokenizerFast, ProcessorMixin

from ...nn.checks import check_choice, check_positive
from ..base.hub import ProcessorHubMixin
from .configuration_complex_memory_network import VARIANTS

__all__ = ["MemoryProcessor"]

# A text or a list of its sentences.
Story: TypeAlias = str | Sequence[str]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class MemoryProcessor(ProcessorHubMixin, ProcessorMixin):
    """Processor that tokenizes stories and questions for ``ComplexMemoryNetworkModel``.

    Args:
        tokenizer: a tokenizer with a padding token.
        variant: ``variant`` of the model: stories are ``[sentences, words]`` with ``sentence_memory`` and one sequence
            with ``word_memory``.
        memory_size: ``memory_size`` of the model (``sentence_memory`` only).
        story_length, question_length: the same fields of the model, required with ``word_memory``.

    Raises:
        ValueError: an unknown variant, sizes below 1 or missing, a tokenizer without a padding token.

    Example:
        >>> from complex_transformers import MemoryProcessor, build_tokenizer
        >>> processor = MemoryProcessor(build_tokenizer(["mary went to the kitchen . where is mary ?"], "word"))
        >>> len(processor("Mary went. Mary is.", "where is Mary?")["question_ids"])
        4
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        variant: str = "sentence_memory",
        memory_size: int = 50,
        story_length: int | None = None,
        question_length: int | None = None,
    ) -> None:
        super().__init__(tokenizer)
        check_choice("variant", variant, VARIANTS)
        lengths = (story_length, question_length) if variant == "word_memory" else (None, None)
        if variant == "word_memory" and None in lengths:
            raise ValueError(f"story_length and question_length must be set for variant='word_memory', got {lengths}.")
        check_positive(memory_size=memory_size, story_length=lengths[0] or 1, question_length=lengths[1] or 1)
        if tokenizer.pad_token_id is None:
            raise ValueError("tokenizer must have a pad_token, got None. Use build_tokenizer.")
        self.variant, self.memory_size = variant, memory_size
        self.story_length, self.question_length = lengths

    @property
    def model_input_names(self) -> list[str]:
        """Names of the model's inputs."""
        return ["input_ids", "attention_mask", "question_ids", "question_mask"]

    def sentences(self, story: Story) -> list[str]:
        """Split a text after ``.``, ``!``, ``?`` and line breaks; a list of sentences stays as it is."""
        parts = _SENTENCE_END.split(story) if isinstance(story, str) else story
        return [part for part in parts if part.strip()]

    def __call__(
        self,
        story: Story | Sequence[Story],
        question: str | Sequence[str] | None = None,
        truncation: bool = False,
        padding: bool = False,
        return_tensors: str | None = None,
    ) -> BatchEncoding:
        """Return ``input_ids`` and ``question_ids`` of one story and question, or of a list of each.

        Args:
            story: a text or a list of sentences; a list of stories if ``question`` is a list.
            question: a question, or one per story.
            truncation: keep the end of a story that is longer than the memory instead of raising.
            padding, return_tensors: see ``pad``.

        Raises:
            ValueError: no question, an empty story or question, not one story per question, a story longer than the
                memory, a question longer than ``question_length``.
        """
        if question is None:
            raise ValueError("question must be a string or a list of strings, got None.")
        single = isinstance(question, str)
        questions = [question] if single else list(question)
        stories: list[Any] = [story] if single or isinstance(story, str) else list(story)
        if len(stories) != len(questions):
            raise ValueError(f"story must have one entry per question, got {len(stories)} for {len(questions)}.")
        features = []
        for number, pair in enumerate(zip(stories, questions, strict=True)):
            name = "" if single else f" {number}"
            features.append(
                {"input_ids": self._story(pair[0], name, truncation), "question_ids": self._question(pair[1], name)}
            )
        if padding or return_tensors is not None:
            return self.pad(features, return_tensors)
        if single:
            return BatchEncoding(features[0])
        return BatchEncoding({key: [row[key] for row in features] for key in features[0]})

    def pad(self, features: Sequence[Mapping[str, Any]], return_tensors: str | None = None) -> BatchEncoding:
        """Collate examples into a padded batch with masks.

        Args:
            features: one mapping per example, with ``label`` or ``labels`` in all or none; a story may be empty.
            return_tensors: ``pt`` for tensors.
        """
        stories = [row["input_ids"] for row in features]
        batch: dict[str, Any] = {}
        if self.variant == "sentence_memory":
            # At least one sentence of one token: the model treats an empty story as padding.
            count, size = max(1, *map(len, stories)), max([1, *(len(words) for story in stories for words in story)])
            full = [[*story, *[[]] * (count - len(story))] for story in stories]
            rows = [[self._padded(words, size) for words in story] for story in full]
            batch["input_ids"] = [[ids for ids, _ in row] for row in rows]
            batch["attention_mask"] = [[mask for _, mask in row] for row in rows]
        else:
            self._add(batch, "input_ids", "attention_mask", stories)
        self._add(batch, "question_ids", "question_mask", [row["question_ids"] for row in features])
        labels = [row.get("labels", row.get("label")) for row in features]
        if any(label is not None for label in labels):
            batch["labels"] = labels
        return BatchEncoding(batch, tensor_type=return_tensors)

    def answer_words(self, answers: Sequence[str]) -> list[int]:
        """Return the token id of every answer, for ``answer_token_ids`` of the configuration.

        Answers that are not a single token are added to the vocabulary. Create the configuration afterwards, with
        ``vocab_size=len(processor.tokenizer)``.

        Raises:
            ValueError: an answer is empty, or two have the same token; the vocabulary is then unchanged.
        """
        if isinstance(answers, str):  # a string is a sequence of one-letter answers
            raise TypeError(f"answers must be a list of strings, got {answers!r}. Pass [{answers!r}].")
        known = [self._known_word(answer) for answer in answers]
        if len(set(known)) < len(known):
            raise ValueError(f"answers must be different tokens, got {list(answers)}.")
        new = [answer for answer, word in zip(answers, known, strict=True) if isinstance(word, str)]
        self.tokenizer.add_tokens([AddedToken(answer, single_word=True) for answer in new])
        return [self._words(answer, "answer", add_special_tokens=False)[0] for answer in answers]

    def _known_word(self, answer: str) -> int | str:
        """Return the token id of an answer or, if it is not a single known token, its normalized text."""
        found = self._words(answer, "answer", add_special_tokens=False)
        if len(found) == 1 and found[0] != self.tokenizer.unk_token_id:
            return found[0]
        normalizer = self.tokenizer.backend_tokenizer.normalizer
        return answer if normalizer is None else str(normalizer.normalize_str(answer))

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text that are not in the vocabulary."""
        encoded = self.tokenizer(text, return_offsets_mapping=True)
        pairs = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        return [text[slice(*place)] for token, place in pairs if token == self.tokenizer.unk_token_id]

    def dropped_sentences(self, story: Story) -> int:
        """Return how many leading sentences ``truncation=True`` drops, with ``word_memory`` wholly or in part."""
        sentences = self.sentences(story)
        if self.story_length is None:
            return max(0, len(sentences) - self.memory_size)
        sizes = [len(self._words(text, f"sentence {i} of story")) for i, text in enumerate(sentences)]
        excess = sum(sizes) - self.story_length
        return sum(start < excess for start in accumulate([0, *sizes[:-1]]))

    def _add(self, batch: dict[str, Any], name: str, mask_name: str, texts: list[list[int]]) -> None:
        size = max(1, *map(len, texts))
        rows = [self._padded(words, size) for words in texts]
        batch[name], batch[mask_name] = [ids for ids, _ in rows], [mask for _, mask in rows]

    def _padded(self, words: Sequence[int], size: int) -> tuple[list[int], list[int]]:
        """Pad ids on the right; also return their mask."""
        rest = size - len(words)
        return [*words, *[self.tokenizer.pad_token_id] * rest], [1] * len(words) + [0] * rest

    def _words(self, text: str, name: str, add_special_tokens: bool = True) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"]
        if not ids or not text.strip():  # a tokenizer may append an end-of-text token
            raise ValueError(f"{name} must have at least one word, got {text!r}.")
        return ids

    def _question(self, question: Any, name: str) -> list[int]:
        words = self._words(question, f"question{name}")
        self._check_length(f"question{name}", len(words), "question_length", self.question_length)
        return words

    def _check_length(self, name: str, length: int, limit_name: str, limit: int | None) -> None:
        if limit is not None and length > limit:
            remedy = "Shorten it." if limit_name == "question_length" else "Pass truncation=True to keep its end."
            raise ValueError(f"{name} must have at most {limit_name}={limit} entries, got {length}. {remedy}")

    def _story(self, story: Any, name: str, truncation: bool) -> list[Any]:
        sentences = self.sentences(story)
        if not sentences:
            raise ValueError(f"story{name} must have at least one sentence, got {story!r}.")
        words: list[Any] = [self._words(text, f"sentence {i} of story{name}") for i, text in enumerate(sentences)]
        limit_name, limit = "memory_size", self.memory_size
        if self.story_length is not None:
            words = [word for sentence in words for word in sentence]
            limit_name, limit = "story_length", self.story_length
        if not truncation:
            self._check_length(f"story{name}", len(words), limit_name, limit)
        return words[-limit:]
