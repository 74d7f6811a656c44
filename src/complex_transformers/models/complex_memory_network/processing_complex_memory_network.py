# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Stories and questions as the words of a memory network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from transformers import AddedToken, BatchEncoding, PreTrainedTokenizerFast, ProcessorMixin

from ...nn.checks import check_choice, check_positive
from ..base.hub import ReaderHubMixin
from .configuration_complex_memory_network import VARIANTS

__all__ = ["MemoryProcessor"]

# A text or its sentences.
Story: TypeAlias = str | Sequence[str]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORDS = "story_length and question_length"


class MemoryProcessor(ReaderHubMixin, ProcessorMixin):
    """Words of the sentences of a story, and of a question, for ``ComplexMemoryNetworkModel``.

    Args:
        tokenizer: of words; it needs a pad token.
        variant: of the model: ``sentence_memory``, whose stories are ``[sentences, words]``, or ``word_memory``, whose
            stories are one text.
        memory_size: sentences that the model remembers, of ``sentence_memory``.
        story_length, question_length: words that the model reads, of ``word_memory``.

    Raises:
        ValueError: an unknown variant, sizes below 1 or missing, a tokenizer without a pad token.

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
        check_positive(memory_size=memory_size)
        if variant == "word_memory":
            if story_length is None or question_length is None:
                raise ValueError(f"variant='word_memory' needs {_WORDS}, those of the model's configuration")
            check_positive(story_length=story_length, question_length=question_length)
        elif story_length is not None or question_length is not None:
            raise ValueError(f"{_WORDS} have no effect with variant='sentence_memory': leave them out")
        if tokenizer.pad_token_id is None:
            raise ValueError("the tokenizer has no pad_token, with which sentences of a story are made equally long")
        self.variant, self.memory_size = variant, memory_size
        self.story_length, self.question_length = story_length, question_length

    @property
    def model_input_names(self) -> list[str]:
        """What the model takes."""
        return ["input_ids", "attention_mask", "question_ids", "question_mask"]

    def sentences(self, story: Story) -> list[str]:
        """The sentences of a text, which end in ``.``, ``!``, ``?`` or a line break; or those that are given."""
        if isinstance(story, str):
            parts = _SENTENCE_END.split(story)
        else:
            parts = list(story) if _is_several(story) else [story]
        for part in parts:
            if not isinstance(part, str):
                raise TypeError(f"a story must be a text or a list of sentences, got {type(part).__name__}: {part!r}")
        return [part for part in parts if part.strip()]

    def __call__(
        self,
        story: Story | Sequence[Story],
        question: str | Sequence[str] | None = None,
        truncation: bool = False,
        padding: bool = False,
        return_tensors: str | None = None,
    ) -> BatchEncoding:
        """``input_ids`` and ``question_ids`` of one story or of several, one for each question.

        Args:
            story: a text, or a list of sentences; a list of such where ``question`` is a list.
            question: one, or a list.
            truncation: of a story that is longer than the memory keep the end, instead of raising.
            padding, return_tensors: as in ``pad``.

        Raises:
            TypeError: what is no text.
            ValueError: an empty story or question, a number of stories that is not that of questions, a story longer
                than the memory, a question longer than ``question_length``.
        """
        if question is None:
            raise ValueError("give a question about the story: processor(story, question)")
        single = not _is_several(question)
        questions: list[Any] = [question] if single else list(question)
        stories: list[Any] = list(story) if not single and _is_several(story) else [story]
        if not questions and not stories:
            raise ValueError("there is nothing to read: give one story and its question, or more")
        if not single and isinstance(story, str):
            raise ValueError("a list of questions needs a list of stories, one for each, got one text")
        if len(stories) != len(questions):
            raise ValueError(f"there must be one story for each question, got {len(stories)} for {len(questions)}")
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
        """A batch of features, each from a call, with masks; ``label`` or ``labels`` go along.

        Args:
            features: one mapping a row; a story may have no sentences.
            return_tensors: ``pt`` for tensors.

        Raises:
            ValueError: no rows, a question without words, labels of some rows alone.
        """
        if not features:
            raise ValueError("there are no rows to make a batch of: give one row of features or more")
        if empty := [place for place, row in enumerate(features) if not len(row["question_ids"])]:
            raise ValueError(f"question_ids of row(s) {empty} have no word: ask a question")
        stories = [row["input_ids"] for row in features]
        batch: dict[str, Any] = {}
        if self.variant == "sentence_memory":
            # One place at least: a model reads a story without sentences as padding.
            count, size = max(1, *map(len, stories)), max([1, *(len(words) for story in stories for words in story)])
            # A sentence that is none is all padding.
            full = [[*story, *[[]] * (count - len(story))] for story in stories]
            rows = [[self._filled(words, size) for words in story] for story in full]
            batch["input_ids"] = [[ids for ids, _ in row] for row in rows]
            batch["attention_mask"] = [[mask for _, mask in row] for row in rows]
        else:
            self._add(batch, "input_ids", "attention_mask", stories)
        self._add(batch, "question_ids", "question_mask", [row["question_ids"] for row in features])
        labels = [row.get("labels", row.get("label")) for row in features]
        if missing := [place for place, label in enumerate(labels) if label is None]:
            if len(missing) < len(labels):
                raise ValueError(f"row(s) {missing} have no label, and others have one: label all rows, or none")
        else:
            batch["labels"] = labels
        return BatchEncoding(batch, tensor_type=return_tensors)

    def answer_words(self, answers: Sequence[str]) -> list[int]:
        """The word of every answer, for ``answer_token_ids`` of the configuration.

        An answer that is no single word of the vocabulary is added to it as one: make the configuration afterwards,
        with ``vocab_size=len(processor.tokenizer)``.

        Raises:
            TypeError: one text in place of a list, an answer that is no text.
            ValueError: an answer that is empty, or twice there; then no word is added.
        """
        if isinstance(answers, str):
            raise TypeError(f"answers must be a list of texts, got the text {answers!r}: pass [{answers!r}]")
        if empty := [answer for answer in answers if isinstance(answer, str) and not answer.strip()]:
            raise ValueError(f"an answer is empty: {empty[0]!r}")
        known = [self._known_word(answer) for answer in answers]
        if len(set(known)) < len(known):
            raise ValueError(f"two of the answers are the same word: {list(answers)}")
        new = [answer for answer, word in zip(answers, known, strict=True) if isinstance(word, str)]
        self.tokenizer.add_tokens([AddedToken(answer, single_word=True) for answer in new])
        return [self._words(answer, "answer", add_special_tokens=False)[0] for answer in answers]

    def _known_word(self, answer: str) -> int | str:
        """The word of the vocabulary that an answer is, or what the tokenizer makes of its letters."""
        found = self._words(answer, "answer", add_special_tokens=False)
        if len(found) == 1 and found[0] != self.tokenizer.unk_token_id:
            return found[0]
        normalizer = self.tokenizer.backend_tokenizer.normalizer
        return answer if normalizer is None else str(normalizer.normalize_str(answer))

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the vocabulary does not have, as they are written."""
        encoded = self.tokenizer(text, return_offsets_mapping=True)
        pairs = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        return [text[slice(*place)] for token, place in pairs if token == self.tokenizer.unk_token_id]

    def dropped_sentences(self, story: Story) -> int:
        """How many sentences at the beginning ``truncation=True`` cuts, of ``word_memory`` in whole or in part."""
        sentences = self.sentences(story)
        if self.story_length is None:
            return max(0, len(sentences) - self.memory_size)
        sizes = [len(self._words(text, f"sentence {i} of story")) for i, text in enumerate(sentences)]
        excess = sum(sizes) - self.story_length
        return sum(start < excess for start in accumulate([0, *sizes[:-1]]))

    def _add(self, batch: dict[str, Any], name: str, mask_name: str, texts: list[list[int]]) -> None:
        size = max(1, *map(len, texts))
        rows = [self._filled(words, size) for words in texts]
        batch[name], batch[mask_name] = [ids for ids, _ in rows], [mask for _, mask in rows]

    def _filled(self, words: Sequence[int], size: int) -> tuple[list[int], list[int]]:
        """Words filled up on the right, and their mask."""
        rest = size - len(words)
        return [*words, *[self.tokenizer.pad_token_id] * rest], [1] * len(words) + [0] * rest

    def _words(self, text: Any, name: str, add_special_tokens: bool = True, remedy: str = "leave it out") -> list[int]:
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text, got {type(text).__name__}: {text!r}")
        ids: list[int] = self.tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"]
        if not ids or not text.strip():  # a tokenizer may end texts in a token of its own
            raise ValueError(f"{name} has no word: {text!r}; {remedy}")
        return ids

    def _question(self, question: Any, name: str) -> list[int]:
        words = self._words(question, f"question{name}", remedy="ask a question")
        if self.question_length is not None and len(words) > self.question_length:
            raise ValueError(
                f"question{name} has {len(words)} words, more than question_length={self.question_length}: "
                f"{question!r}"
            )
        return words

    def _story(self, story: Any, name: str, truncation: bool) -> list[Any]:
        sentences = self.sentences(story)
        if not sentences:
            raise ValueError(f"story{name} is empty: give a sentence or more")
        words: list[Any] = [self._words(text, f"sentence {i} of story{name}") for i, text in enumerate(sentences)]
        limit, what = self.memory_size, "sentences, more than memory_size"
        if self.story_length is not None:
            words = [word for sentence in words for word in sentence]
            limit, what = self.story_length, "words, more than story_length"
        if len(words) > limit and not truncation:
            raise ValueError(f"story{name} has {len(words)} {what}={limit}: pass truncation=True to keep its end")
        return words[-limit:]


def _is_several(value: Any) -> bool:
    """Whether this is a list, or another iterable, and no text."""
    return isinstance(value, Iterable) and not isinstance(value, str)
