# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory networks over both number fields: of sentences (Sukhbaatar et al. 2015), and of words (Thesis 4.4)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndNoAttention, SequenceClassifierOutput
from transformers.utils import TransformersKwargs
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from ...kernels.exporting import is_exporting
from ...nn import (
    ComplexOrderEmbedding,
    MemoryTime,
    WordPositionEmbedding,
    complex_scores,
    functional as CF,
    number_field,
    read_memory,
    sum_words,
    word_factors,
)
from ...nn.checks import check_ids
from ...nn.embedding import VOCABULARY_REMEDY
from ...nn.padding_order import real_first
from ..base.inputs import EMPTY, check_mask, without_padding
from ..base.text import ClassicPreTrainedModel, SequenceClassifier, make_recurrent, run_recurrent
from .configuration_complex_memory_network import ComplexMemoryNetworkConfig

__all__ = [
    "ComplexMemoryNetworkForSequenceClassification",
    "ComplexMemoryNetworkModel",
    "MemoryNetworkClassifierOutput",
    "MemoryNetworkOutput",
]


@dataclass
class MemoryNetworkOutput(BaseModelOutputWithPoolingAndNoAttention):
    """``BaseModelOutputWithPooling`` with what was looked at.

    Attributes:
        memory_weights: ``[B, num_hops, M]``, the weight of every sentence in every hop; of ``word_memory`` ``[B,
            question_length, story_length]``, of every word of the question and the story, which end on the right.
    """

    memory_weights: Tensor | None = None


@dataclass
class MemoryNetworkClassifierOutput(SequenceClassifierOutput):
    """``SequenceClassifierOutput`` with the ``memory_weights`` of ``MemoryNetworkOutput``."""

    memory_weights: Tensor | None = None


def check_text(name: str, ids: Tensor, mask: Tensor | None, axes: str, vocab_size: int) -> Tensor:
    """True for the words of checked ids; all of them where no mask is given.

    Raises:
        TypeError: ids that are no integers.
        ValueError: another number of axes, nothing at all, a word outside the vocabulary, a mask of another shape.
    """
    names = axes.split(", ")
    if ids.dim() != len(names):
        raise ValueError(f"{name}_ids must be [{axes}], got shape {tuple(ids.shape)}")
    if 0 in ids.shape:
        raise ValueError(f"the {name} is empty: [{axes}] is {tuple(ids.shape)}; {EMPTY}")
    check_ids(f"{name}_ids", ids, vocab_size, VOCABULARY_REMEDY)
    mask_name = "attention_mask" if name == "input" else f"{name}_mask"
    check_mask(mask, tuple(ids.shape), mask_name, f"[{axes}]", scores=False)
    return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.to(torch.bool)


def word_table(config: ComplexMemoryNetworkConfig, width: int | None = None) -> nn.Module:
    """A table of words of ``width`` (default ``hidden_size``), with phases by ``sentence_encoding``."""
    size = config.hidden_size if width is None else width
    std = config.initializer_range
    if config.variant == "sentence_memory" and config.sentence_encoding == "complex_order":
        return ComplexOrderEmbedding(config.vocab_size, size, config.pad_token_id, amplitude_std=std)
    return WordPositionEmbedding(config.vocab_size, size, config.pad_token_id, amplitude_std=std)


class SentenceTable(nn.Module):
    """Sentences as sums of their words (Sukhbaatar et al. 2015, 4.1): ``[..., N]`` ids -> ``[..., d]``."""

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__()
        self.number_field = config.number_field
        self.words = word_table(config)
        self.dropout = number_field(config.number_field).Dropout(config.hidden_dropout_prob)

    def forward(self, ids: Tensor, mask: Tensor, factors: Tensor) -> Tensor:
        words = self.words(ids.flatten(0, -2), attention_mask=mask.flatten(0, -2)).unflatten(0, ids.shape[:-1])
        return sum_words(self.dropout(words), factors, self.number_field)


class MemoryHop(nn.Module):
    """u^(k+1) = u^k + o^k, or H u^k + o^k (Sukhbaatar et al. 2015, 2.2): the next state and the weights."""

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__()
        self.config = config
        field, width = number_field(config.number_field), config.hidden_size
        self.state_map = field.Linear(width, width, bias=False) if config.weight_tying == "layer" else nn.Identity()

    def forward(self, state: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        score, normalization = self.config.attention_score, self.config.attention_normalization
        response, weights = read_memory(state, keys, values, mask, score, normalization)
        return self.state_map(state) + response, weights


class SentenceMemory(nn.Module):
    """Hops over the sentences of a story (Sukhbaatar et al. 2015, 2; Thesis 4.10-4.12)."""

    axes = "batch, sentences, words"

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.tables = nn.ModuleList(SentenceTable(config) for _ in range(config.num_tables))
        self.times = nn.ModuleDict()
        if config.temporal != "none":
            used = {str(table) for hop in range(config.num_hops) for table in config.tables_of(hop)}
            time = (config.memory_size, config.hidden_size, config.temporal, config.initializer_range)
            self.times.update({table: MemoryTime(*time) for table in sorted(used)})
        hops = 1 if config.weight_tying == "layer" else config.num_hops
        self.hops = nn.ModuleList(MemoryHop(config) for _ in range(hops))
        self.out_features = config.hidden_size

    def forward(self, story: Tensor, mask: Tensor, question: Tensor, question_mask: Tensor) -> tuple[Tensor, Tensor]:
        """The last state ``[B, d]`` and the weights ``[B, num_hops, M]``."""
        told, size = mask.any(-1), self.config.memory_size
        if story.shape[1] > size:
            # While a network is exported nothing says how many of the places are padding.
            count = story.shape[1] if is_exporting() else int(told.sum(1).max())
            if count > size:
                raise ValueError(
                    f"the story has {count} sentences, more than memory_size={size}: give the last {size}, as "
                    "MemoryProcessor does, or build the model with a larger memory_size"
                )
        ages = self.ages(told)
        has_places = self.config.sentence_encoding == "position"
        dtype = torch.promote_types(next(self.tables.parameters()).dtype, torch.float32)
        state = self.tables[0](question, question_mask, word_factors(question_mask, has_places, dtype))
        factors = word_factors(mask, has_places, dtype)
        sentences: dict[int, Tensor] = {}
        weights = []
        for hop in range(self.config.num_hops):
            for table in self.config.tables_of(hop):
                if table not in sentences:
                    vectors = self.tables[table](story, mask, factors)
                    sentences[table] = self.times[str(table)](vectors, ages) if self.times else vectors
            keys, values = (sentences[table] for table in self.config.tables_of(hop))
            state, looked_at = self.hops[min(hop, len(self.hops) - 1)](state, keys, values, told)
            weights.append(looked_at)
        return state, torch.stack(weights, dim=1)

    def ages(self, told: Tensor) -> Tensor:
        """1 for the last sentence of ``[B, M]``, 2 for the one before; with ``time_noise`` some are older."""
        steps = told.long()
        if self.training and self.config.time_noise:
            steps = steps + (torch.rand(told.shape, device=told.device) < self.config.time_noise) * steps
        return steps.flip(-1).cumsum(-1).flip(-1)


class QuestionReader(nn.Module):
    """A recurrent layer along the question (Thesis 4.13): ``[B, Q, width]`` -> its last state ``[B, m]``."""

    def __init__(self, config: ComplexMemoryNetworkConfig, width: int) -> None:
        super().__init__()
        self.rnn = make_recurrent(config, width, config.recurrent_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        _, last = run_recurrent(self.rnn, hidden_states, None)
        return last[0].squeeze(0)


class WordMemory(nn.Module):
    """All words of a story against all words of a question, and a recurrent layer along the question.

    A = Emb_A(x) ``[S, K]``, U = Emb_Q(q) ``[Q, K]``, B = Emb_B(x) ``[S, Q]``; P = softmax_Q(A U^T), of complex
    numbers softmax_Q(|A U^H|^2); the layer reads [(P + B)^T ; U] ``[Q, S + K]``. This is what the counts of Thesis
    Table 4.3 say was run; the texts end on the right, and padding is a word of zeros.
    """

    axes = "batch, words"

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__()
        self.config = config
        field = number_field(config.number_field)
        self.numbers, parts = field.numbers, field.numbers.num_parts
        self.tables = nn.ModuleList(
            word_table(config, width)
            for width in (config.hidden_size, config.hidden_size, parts * config.question_length)
        )
        self.dropout = field.Dropout(config.hidden_dropout_prob)
        self.reader = QuestionReader(config, parts * config.story_length + config.hidden_size)
        self.out_features = config.recurrent_size

    def forward(self, story: Tensor, mask: Tensor, question: Tensor, question_mask: Tensor) -> tuple[Tensor, Tensor]:
        """The last state ``[B, m]`` and the weights ``[B, Q, S]``."""
        story, mask = self.filled_up("story", story, mask)
        question, question_mask = self.filled_up("question", question, question_mask)
        words = self.embed(1, question, question_mask)
        first, second = (self.embed(table, story, mask) for table in (0, 2))
        weights = self.weights(first, words)
        parts = self.numbers.parts(second)
        if self.config.response == "add":
            parts = (parts[0] + weights, *parts[1:])
        else:
            parts = tuple(part * weights for part in parts)
        response = torch.cat([part.mT for part in parts], dim=-1)
        return self.reader(self.numbers.concatenate([response, words])), weights.mT

    def weights(self, story: Tensor, question: Tensor) -> Tensor:
        """P ``[B, S, Q]``, real."""
        with torch.autocast(story.device.type, enabled=False):  # a product in half precision would not hold them
            words, asked = CF.wide(story), CF.wide(question)
            if self.numbers.num_parts == 1:
                scores = words @ asked.mT
            else:
                scores = CF.squared_modulus(CF.join(*complex_scores(words, asked)))
        return torch.softmax(scores, dim=-1 if self.config.softmax_axis == "question" else -2).to(story.dtype)

    def embed(self, table: int, ids: Tensor, mask: Tensor) -> Tensor:
        """Words of a table, zeros in padding."""
        return self.dropout(without_padding(self.tables[table](ids), mask))

    def filled_up(self, name: str, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The words of ``[B, N]`` at the right end of ``[B, story_length or question_length]``, and where they are."""
        length = getattr(self.config, f"{name}_length")
        if not is_exporting() and ids.shape[1] > length and bool(mask.sum(1).max() > length):
            raise ValueError(
                f"the {name} has {int(mask.sum(1).max())} words, more than {name}_length={length}, which the "
                f"weights are made for: cut it, or build the model with a larger {name}_length"
            )
        order, _ = real_first(~mask, 1)  # padding first
        words, mask = (nn.functional.pad(part.gather(1, order), (length, 0)) for part in (ids, mask))
        return words[:, -length:], mask[:, -length:]


class WordAnswers(nn.Module):
    """Answers that are words: logit k is Re<c_k|u>, c_k the row of its word (Sukhbaatar et al. 2015, 2.2)."""

    def __init__(self, token_ids: list[int]) -> None:
        super().__init__()
        self.token_ids = token_ids

    def forward(self, state: Tensor, table: Tensor) -> Tensor:
        """``[B, d], [V, d] -> [B, num_labels]``."""
        return nn.functional.linear(state, table[torch.tensor(self.token_ids, device=table.device)])


class ComplexMemoryNetworkModel(ClassicPreTrainedModel):
    """A memory of a story, read by a question; see ``ComplexMemoryNetworkConfig`` for its two variants.

    ``last_hidden_state`` and ``pooler_output`` are the last state ``[B, hidden_size or recurrent_size]``, halves.
    """

    config: ComplexMemoryNetworkConfig
    _can_record_outputs = {"hidden_states": [MemoryHop, QuestionReader]}

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__(config)
        self.memory = (SentenceMemory if config.variant == "sentence_memory" else WordMemory)(config)
        self.pooled_size = self.memory.out_features
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The first table; each other one has the same words."""
        table = self.memory.tables[0]
        return table.words if isinstance(table, SentenceTable) else table

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Put another first table."""
        if isinstance(table := self.memory.tables[0], SentenceTable):
            table.words = value
        else:
            self.memory.tables[0] = value

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        question_ids: Tensor | None = None,
        question_mask: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> MemoryNetworkOutput:
        """Read a story by a question.

        Args:
            input_ids: ``[B, M, N]`` words of M sentences, the last one told last; of ``word_memory`` ``[B, N]`` words
                of the story.
            attention_mask: of the same shape, 1 for words, 0 for padding, on either side; a sentence of padding alone
                is none, and a story may have none.
            question_ids, question_mask: ``[B, Q]``.

        Raises:
            TypeError: ids that are no integers.
            ValueError: no question, shapes that do not match, ids outside the vocabulary, a story that is longer than
                the memory.
        """
        if question_ids is None:
            raise ValueError("give the question_ids, [batch, words], that are asked about the story")
        words = self.config.vocab_size
        mask = check_text("input", input_ids, attention_mask, self.memory.axes, words)
        asked = check_text("question", question_ids, question_mask, "batch, words", words)
        if input_ids.shape[0] != question_ids.shape[0]:
            raise ValueError(
                f"there must be one question for each story, got {question_ids.shape[0]} for {input_ids.shape[0]}"
            )
        state, weights = self.memory(input_ids, mask, question_ids, asked)
        return MemoryNetworkOutput(last_hidden_state=state, pooler_output=state, memory_weights=weights)


class ComplexMemoryNetworkForSequenceClassification(SequenceClassifier, ClassicPreTrainedModel):
    """Memory network and one of ``num_labels`` answers: by a readout (Thesis 4.13, 4.14), or the words they are."""

    config: ComplexMemoryNetworkConfig
    model_class = ComplexMemoryNetworkModel
    output_class = MemoryNetworkClassifierOutput

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__(config)
        if config.answer_token_ids is not None:
            self.classifier = WordAnswers(config.answer_token_ids)

    def logits_of(self, outputs: MemoryNetworkOutput, attention_mask: Tensor | None) -> Tensor:
        """The readout of the last state, or its products with the answers' words in the last table."""
        if not isinstance(self.classifier, WordAnswers):
            return super().logits_of(outputs, attention_mask)
        return self.classifier(self.dropout(outputs.pooler_output), self.model.memory.tables[-1].words.weight)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        question_ids: Tensor | None = None,
        question_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: TransformersKwargs,
    ) -> Any:
        """Logits ``[B, num_labels]`` and, with ``labels [B]``, the loss; other arguments as in the model."""
        outputs = self.model(input_ids, attention_mask, question_ids, question_mask, return_dict=True, **kwargs)
        logits = self.logits_of(outputs, attention_mask)
        return self.output_class(
            loss=None if labels is None else self.classification_loss(logits, labels),
            logits=logits,
            hidden_states=outputs.hidden_states,
            memory_weights=outputs.memory_weights,
        )
