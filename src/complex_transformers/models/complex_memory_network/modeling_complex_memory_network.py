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
from ..base.inputs import check_mask, without_padding
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
    """``BaseModelOutputWithPooling`` with the attention weights of the memory.

    Attributes:
        memory_weights: ``[B, num_hops, M]``, the weight of every sentence in every hop; with ``word_memory`` ``[B,
            question_length, story_length]``, padded on the left.
    """

    memory_weights: Tensor | None = None


@dataclass
class MemoryNetworkClassifierOutput(SequenceClassifierOutput):
    """``SequenceClassifierOutput`` with the ``memory_weights`` of ``MemoryNetworkOutput``."""

    memory_weights: Tensor | None = None


def word_mask(name: str, ids: Tensor, mask: Tensor | None, axes: str, vocab_size: int) -> Tensor:
    """Check token ids and return their mask as booleans, all true if there is none.

    Raises:
        TypeError: ids are not integers.
        ValueError: wrong number of axes, empty input, an id outside the vocabulary, a mask of another shape.
    """
    if ids.dim() != len(axes.split(", ")) or 0 in ids.shape:
        raise ValueError(f"{name}_ids must be a non-empty [{axes}], got {tuple(ids.shape)}. Drop empty examples.")
    check_ids(f"{name}_ids", ids, vocab_size, VOCABULARY_REMEDY)
    mask_name = "attention_mask" if name == "input" else f"{name}_mask"
    check_mask(mask, tuple(ids.shape), mask_name, f"[{axes}]", scores=False)
    return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.to(torch.bool)


def word_table(config: ComplexMemoryNetworkConfig, width: int | None = None) -> nn.Module:
    """Return a word embedding of ``width`` (default ``hidden_size``), with phases if the configuration has them."""
    size = config.hidden_size if width is None else width
    std = config.initializer_range
    if config.variant == "sentence_memory" and config.sentence_encoding == "complex_order":
        return ComplexOrderEmbedding(config.vocab_size, size, config.pad_token_id, amplitude_std=std)
    return WordPositionEmbedding(config.vocab_size, size, config.pad_token_id, amplitude_std=std)


class SentenceTable(nn.Module):
    """Sentence vectors as sums of word vectors (Sukhbaatar et al. 2015, 4.1): ids ``[..., N]`` -> ``[..., d]``."""

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
        """Return the last state ``[B, d]`` and the weights ``[B, num_hops, M]``."""
        is_sentence, size = mask.any(-1), self.config.memory_size
        if story.shape[1] > size:
            # An exported graph cannot depend on how many sentences are padding.
            count = story.shape[1] if is_exporting() else int(is_sentence.sum(1).max())
            if count > size:
                raise ValueError(f"input_ids must have at most memory_size={size} sentences, got {count}. Truncate.")
        ages = self.ages(is_sentence)
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
            state, hop_weights = self.hops[min(hop, len(self.hops) - 1)](state, keys, values, is_sentence)
            weights.append(hop_weights)
        return state, torch.stack(weights, dim=1)

    def ages(self, mask: Tensor) -> Tensor:
        """Return the age of every sentence, ``[B, M]``: 1 for the last one; ``time_noise`` makes some older.

        ``mask [B, M]`` is false for sentences of padding.
        """
        steps = mask.long()
        if self.training and self.config.time_noise:
            steps = steps + (torch.rand(mask.shape, device=mask.device) < self.config.time_noise) * steps
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

    A = Emb_A(x) ``[S, K]``, U = Emb_Q(q) ``[Q, K]``, B = Emb_B(x) ``[S, Q]``; P = softmax_Q(A U^T), or
    softmax_Q(|A U^H|^2) in the complex field; the recurrent layer reads [(P + B)^T ; U] ``[Q, S + K]``. This matches
    the parameter counts of Thesis Table 4.3. Texts are padded on the left with zero vectors.
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
        """Return the last state ``[B, m]`` and the weights ``[B, Q, S]``."""
        story, mask = self.pad_left("story", story, mask)
        question, question_mask = self.pad_left("question", question, question_mask)
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
        """Compute the real attention weights P ``[B, S, Q]``."""
        with torch.autocast(story.device.type, enabled=False):  # scores can exceed the range of float16
            wide_story, wide_question = CF.wide(story), CF.wide(question)
            if self.numbers.num_parts == 1:
                scores = wide_story @ wide_question.mT
            else:
                scores = CF.squared_modulus(CF.join(*complex_scores(wide_story, wide_question)))
        return torch.softmax(scores, dim=-1 if self.config.softmax_axis == "question" else -2).to(story.dtype)

    def embed(self, table: int, ids: Tensor, mask: Tensor) -> Tensor:
        """Embed ids with one of the tables; padding gives zeros."""
        return self.dropout(without_padding(self.tables[table](ids), mask))

    def pad_left(self, name: str, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Pad ids ``[B, N]`` on the left to ``story_length`` or ``question_length``; also return their mask."""
        length = getattr(self.config, f"{name}_length")
        if not is_exporting() and ids.shape[1] > length and (count := int(mask.sum(1).max())) > length:
            raise ValueError(f"{name} must have at most {name}_length={length} words, got {count}. Shorten it.")
        order, _ = real_first(~mask, 1)  # padding first
        words, mask = (nn.functional.pad(part.gather(1, order), (length, 0)) for part in (ids, mask))
        return words[:, -length:], mask[:, -length:]


class WordAnswers(nn.Module):
    """Head for answers that are tokens: logit k is Re<c_k|u>, c_k the row of token k (Sukhbaatar et al. 2015, 2.2)."""

    def __init__(self, token_ids: list[int]) -> None:
        super().__init__()
        self.token_ids = token_ids

    def forward(self, state: Tensor, table: Tensor) -> Tensor:
        """Return the logits ``[B, num_labels]`` of ``state [B, d]`` and ``table [V, d]``."""
        return nn.functional.linear(state, table[torch.tensor(self.token_ids, device=table.device)])


class ComplexMemoryNetworkModel(ClassicPreTrainedModel):
    """Memory network; see ``ComplexMemoryNetworkConfig`` for its two variants.

    ``last_hidden_state`` and ``pooler_output`` are the last state, ``[B, hidden_size or recurrent_size]`` halves.
    """

    config: ComplexMemoryNetworkConfig
    _can_record_outputs = {"hidden_states": [MemoryHop, QuestionReader]}

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__(config)
        self.memory = (SentenceMemory if config.variant == "sentence_memory" else WordMemory)(config)
        self.pooled_size = self.memory.out_features
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        table = self.memory.tables[0]
        return table.words if isinstance(table, SentenceTable) else table

    def set_input_embeddings(self, value: nn.Module) -> None:
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
        """Encode stories and questions.

        Args:
            input_ids: ``[B, M, N]``, M sentences of N tokens in their order; with ``word_memory`` ``[B, N]``.
            attention_mask: same shape, 1 for tokens, 0 for padding on either side. All-padding sentences do not count,
                and a story may have no sentence.
            question_ids, question_mask: ``[B, Q]``.

        Raises:
            TypeError: ids are not integers.
            ValueError: no question, wrong shapes, ids outside the vocabulary, a story longer than the memory.
        """
        if question_ids is None:
            raise ValueError("question_ids must be [batch, words], got None. Use MemoryProcessor.")
        size = self.config.vocab_size
        mask = word_mask("input", input_ids, attention_mask, self.memory.axes, size)
        question_mask = word_mask("question", question_ids, question_mask, "batch, words", size)
        if input_ids.shape[0] != question_ids.shape[0]:
            raise ValueError(f"question_ids must have batch size {len(input_ids)}, got {len(question_ids)}.")
        state, weights = self.memory(input_ids, mask, question_ids, question_mask)
        return MemoryNetworkOutput(last_hidden_state=state, pooler_output=state, memory_weights=weights)


class ComplexMemoryNetworkForSequenceClassification(SequenceClassifier, ClassicPreTrainedModel):
    """Memory network with a classification head over ``num_labels`` answers (Thesis 4.13, 4.14).

    With ``config.answer_token_ids`` the head compares the last state with the embeddings of the answers.
    """

    config: ComplexMemoryNetworkConfig
    model_class = ComplexMemoryNetworkModel
    output_class = MemoryNetworkClassifierOutput

    def __init__(self, config: ComplexMemoryNetworkConfig) -> None:
        super().__init__(config)
        if config.answer_token_ids is not None:
            self.classifier = WordAnswers(config.answer_token_ids)

    def logits_of(self, outputs: MemoryNetworkOutput, attention_mask: Tensor | None) -> Tensor:
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
        """Return logits ``[B, num_labels]`` and, with ``labels [B]``, the loss; see the model for other arguments."""
        outputs = self.model(input_ids, attention_mask, question_ids, question_mask, return_dict=True, **kwargs)
        logits = self.logits_of(outputs, attention_mask)
        return self.output_class(
            loss=None if labels is None else self.classification_loss(logits, labels),
            logits=logits,
            hidden_states=outputs.hidden_states,
            memory_weights=outputs.memory_weights,
        )
