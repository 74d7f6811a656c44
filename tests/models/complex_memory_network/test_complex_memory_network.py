# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory networks against a plain reference, the counts of Thesis Table 4.3, what is refused, and the linear start."""

import os
import re
import tarfile
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainerState, TrainingArguments

from complex_transformers import (
    ComplexMemoryNetworkConfig,
    ComplexMemoryNetworkForSequenceClassification,
    ComplexMemoryNetworkModel,
    LinearStart,
)
from complex_transformers.analysis import count_parameters
from complex_transformers.nn.memory import read_memory, word_factors
from complex_transformers.recipes import read_babi

DATA = Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", Path(__file__).parents[4] / "shared" / "data"))
BABI = DATA / "qa" / "babi" / "tasks_1-20_v1-2.tar.gz"
SIZES = {"vocab_size": 13, "hidden_size": 6, "num_labels": 4, "memory_size": 9}
# V, S and Q of tasks 1 to 20, and some of the counts of Thesis Table 4.3 (design of section 1.5).
TASKS = (
    *((22, 68, 4), (36, 552, 5), (37, 1875, 8), (18, 16, 7), (42, 782, 8), (38, 156, 6), (46, 321, 7)),
    *((50, 358, 5), (27, 74, 6), (28, 89, 6), (29, 76, 4), (23, 87, 4), (29, 86, 4), (30, 116, 7)),
    *((28, 44, 6), (20, 41, 5), (23, 24, 12), (23, 169, 10), (35, 40, 11), (42, 69, 8)),
)


def build(**options):
    torch.manual_seed(0)
    config = ComplexMemoryNetworkConfig(**{**SIZES, **options})
    return ComplexMemoryNetworkForSequenceClassification(config).double().eval()


def test_real_sentences_equal_a_plain_memn2n():
    """Sukhbaatar et al. 2015, Eq. 1 to 3 and 4.1: adjacent tables, position encoding, learned ages, three hops."""
    model = build(number_field="real")
    story = torch.randint(0, 13, (2, 7, 5))
    question = torch.randint(0, 13, (2, 3))
    out = model(story, question_ids=question)
    tables = [table.words.weight.detach().numpy() for table in model.model.memory.tables]
    times = {key: time.vectors.detach().numpy() for key, time in model.model.memory.times.items()}
    (head,) = (module for module in model.classifier.modules() if isinstance(module, torch.nn.Linear))

    def sentence(table, words):
        n, d = len(words), table.shape[1]
        total = np.zeros(d)
        for j in range(1, n + 1):
            for k in range(1, d + 1):
                place = 1 + 4 * (k - (d + 1) / 2) * (j - (n + 1) / 2) / (d * n)
                total[k - 1] += place * table[words[j - 1], k - 1]
        return total

    for row in range(2):
        u = sentence(tables[0], question[row].tolist())
        for hop in range(3):
            m, c = (
                np.stack(
                    [
                        sentence(tables[t], story[row, i].tolist()) + times[str(t)][story.shape[1] - 1 - i]
                        for i in range(story.shape[1])
                    ]
                )
                for t in (hop, hop + 1)
            )
            scores = np.exp(m @ u - (m @ u).max())
            weights = scores / scores.sum()
            np.testing.assert_allclose(out.memory_weights[row, hop].detach(), weights, atol=1e-12)
            u = u + weights @ c
        logits = head.weight.detach().numpy() @ u + head.bias.detach().numpy()
        np.testing.assert_allclose(out.logits[row].detach(), logits, atol=1e-12)


FURTHER = [("real", 32), ("real", 64), ("complex", 8), ("complex", 16), ("complex", 21)]


@pytest.mark.parametrize(
    ("field", "units"),
    [("real", 16), ("complex", 24), *(pytest.param(*row, marks=pytest.mark.full) for row in FURTHER)],
)
def test_words_have_the_weights_of_the_thesis(field, units):
    """P = 2 V K + V Q + 4 m (S + K + m + 1) + m V + V, twice of it in complex numbers (Thesis Table 4.3)."""
    parts = 1 if field == "real" else 2
    k = 64 // parts
    for v, s, q in TASKS:
        config = ComplexMemoryNetworkConfig(
            number_field=field,
            variant="word_memory",
            vocab_size=v,
            num_labels=v,
            hidden_size=64,
            story_length=s,
            question_length=q,
            recurrent_size=units * parts,
            gate="split" if field == "real" else "modulus",
        )
        with torch.device("meta"):
            model = ComplexMemoryNetworkForSequenceClassification(config)
        second_biases = sum(p.numel() for name, p in model.named_parameters() if "bias_hh" in name)
        want = parts * (2 * v * k + v * q + 4 * units * (s + k + units + 1) + units * v + v)
        assert count_parameters(model) - second_biases == want
    if (field, units) == ("complex", 24):
        v, s, q = TASKS[3]
        assert 2 * (2 * v * 32 + v * q + 96 * (s + 32 + 24 + 1) + 24 * v + v) == 17472  # printed 17,752


@pytest.mark.full
@pytest.mark.skipif(not BABI.is_file(), reason="no qa/babi/tasks_1-20_v1-2.tar.gz in COMPLEX_TRANSFORMERS_DATA")
def test_tasks_have_the_sizes_of_the_thesis():
    """V: a place for padding, all words, marks and answers; S and Q: the longest story and question; of both parts."""
    words = cache(re.compile(r"\w+|[^\w\s]").findall)
    parts = defaultdict(list)
    with tarfile.open(BABI) as archive:
        for member in archive:
            if match := re.search(r"/en-10k/qa(\d+)_[^/]*\.txt$", member.name):
                parts[int(match[1])].append(read_babi(archive.extractfile(member).read().decode().splitlines()))
    # Of task 3 the archive at hand has one part.
    whole = {task: [row for part in both for row in part] for task, both in parts.items() if len(both) == 2}
    assert whole.keys() >= {*range(1, 21)} - {3}
    for task, rows in whole.items():
        texts = {text for row in rows for text in (*row.story, row.question)}
        vocabulary = {word for text in texts for word in words(text)} | {row.answer for row in rows}
        longest = max(sum(len(words(text)) for text in row.story) for row in rows)
        question = max(len(words(row.question)) for row in rows)
        assert (len(vocabulary) + 1, longest, question) == TASKS[task - 1], task


def test_what_cannot_be_read_is_refused():
    model = build()
    question = torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(ValueError, match="input_ids must have at most memory_size=9 sentences, got 10"):
        model(torch.ones(1, 10, 4, dtype=torch.long), question_ids=question)
    with pytest.raises(ValueError, match=r"question_ids must be \[batch, words\], got None"):
        model(torch.ones(1, 2, 4, dtype=torch.long))
    with pytest.raises(ValueError, match=r"must be a non-empty \[batch, sentences, words\]"):
        model(torch.ones(1, 4, dtype=torch.long), question_ids=question)
    with pytest.raises(TypeError, match="must be integers"):
        model(torch.ones(1, 2, 4), question_ids=question)
    with pytest.raises(ValueError, match=r"^question_ids must lie in \[0, 13\), got 13. Use the tokenizer"):
        model(torch.ones(1, 2, 4, dtype=torch.long), question_ids=13 * question)
    with pytest.raises(ValueError, match=r"^input_ids must lie in \[0, 13\), got -1. Use the tokenizer"):
        model(-torch.ones(1, 2, 4, dtype=torch.long), question_ids=question)
    with pytest.raises(ValueError, match="question_ids must have batch size 2, got 1"):
        model(torch.ones(2, 2, 4, dtype=torch.long), question_ids=question)
    with pytest.raises(Exception, match="with number_field='real', got"):
        ComplexMemoryNetworkConfig(**SIZES, number_field="real", attention_score="modulus")


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_no_sentence_of_a_story(side):
    model = build()
    story, question = torch.randint(1, 13, (2, 9, 4)), torch.randint(1, 13, (2, 3))
    padding = torch.zeros(2, 6, 4, dtype=torch.long)
    longer = torch.cat([padding, story] if side == "left" else [story, padding], dim=1)
    padded = model(longer, attention_mask=(longer > 0).long(), question_ids=question)
    torch.testing.assert_close(padded.logits, model(story, question_ids=question).logits, rtol=0, atol=1e-12)
    told = torch.cat([longer, story[:, :1]], dim=1)
    with pytest.raises(ValueError, match="at most memory_size=9 sentences, got 10"):
        model(told, attention_mask=(told > 0).long(), question_ids=question)


def test_an_empty_story_leaves_the_question():
    model = build()
    story, question = torch.ones(1, 2, 4, dtype=torch.long), torch.tensor([[1, 2, 3]])
    out = model.model(story, torch.zeros_like(story), question)
    assert torch.equal(out.memory_weights, torch.zeros(1, 3, 2).double())
    mask = torch.ones_like(question, dtype=torch.bool)
    asked = model.model.memory.tables[0](question, mask, word_factors(mask, True, torch.float64))
    torch.testing.assert_close(out.last_hidden_state, asked)


def trained(start, losses, config, state):
    for epoch, loss in enumerate(losses, start=1):
        state.epoch, state.global_step = float(epoch), 10 * epoch
        start.on_evaluate(None, state, None, model=SimpleNamespace(config=config), metrics={"eval_loss": loss})
        state.best_metric = loss  # as a Trainer does
        start.on_save(None, state, None)
        yield config.attention_normalization, state.best_metric


def begun(start, config=None, state=None):
    """Return the configuration and the state of a training that has begun with this callback."""
    config, state = config or ComplexMemoryNetworkConfig(**SIZES), state or TrainerState()
    start.on_train_begin(None, state, None, model=SimpleNamespace(config=config))
    return config, state


def test_a_linear_start_ends_where_the_loss_no_longer_falls():
    start = LinearStart()
    config, state = begun(start)
    assert config.attention_normalization == "linear"
    found = list(trained(start, (3.0, 2.0, 2.5, 1.0), config, state))
    # The third evaluation is still one of the linear network, and chooses nothing.
    assert found == [("linear", None), ("linear", None), ("softmax", None), ("softmax", 1.0)]


def test_a_patient_linear_start_waits_for_a_lower_loss():
    losses = (3.0, 3.5, 2.0, 2.5, 2.0, 1.0)
    for given, linear in (({"patience": 2}, 4), ({"max_epochs": 5, "patience": None}, 4), ({"max_epochs": 2}, 1)):
        start = LinearStart(**given)
        names = [name for name, _ in trained(start, losses, *begun(start))]
        assert names == ["linear"] * linear + ["softmax"] * (6 - linear), given
        assert start.state()["args"] == {"max_epochs": None, "patience": 1, **given}


def test_a_resumed_linear_start_goes_on():
    start, again, last = (LinearStart(max_epochs=2) for _ in range(3))
    first, state = begun(start)
    list(trained(start, (3.0,), first, state))
    state.stateful_callbacks["LinearStart"] = start.state()
    second, _ = begun(again, state=state)
    assert second.attention_normalization == "linear"
    assert again.best_loss == 3.0
    list(trained(again, (2.0, 1.0), second, state))
    assert second.attention_normalization == "softmax"
    third, resumed = begun(last, state=TrainerState(global_step=10))  # of a training without a linear start
    assert [name for name, _ in trained(last, (2.0, 1.0), third, resumed)] == ["softmax", "softmax"]


@pytest.mark.parametrize(
    ("losses", "is_over"), [((), False), ((3.0,), False), ((3.0, 2.0), False), ((3.0,) * 3, True)]
)
def test_a_training_that_is_linear_to_its_end_says_so(losses, is_over):
    start = LinearStart(max_epochs=2, patience=None)
    config, state = begun(start)
    list(trained(start, losses, config, state))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        start.on_train_end(None, state, None, model=SimpleNamespace(config=config))
    assert config.attention_normalization == "softmax"
    assert [str(one.message).startswith("LinearStart lasted until the last evaluation") for one in found] == [
        True for _ in range(not is_over)
    ]


def test_a_linear_start_resumes_a_network_that_was_saved_linear():
    start = LinearStart(max_epochs=2)
    first, state = begun(start, ComplexMemoryNetworkConfig(**SIZES, attention_normalization="probability_amplitude"))
    list(trained(start, (3.0,), first, state))
    state.stateful_callbacks["LinearStart"] = start.state()
    again, config = LinearStart(max_epochs=2), ComplexMemoryNetworkConfig.from_dict(first.to_dict())
    assert config.attention_normalization == "linear"
    begun(again, config, state)
    assert config.attention_normalization == "linear"
    list(trained(again, (2.0, 1.0), config, state))
    assert config.attention_normalization == "probability_amplitude"
    with pytest.raises(
        ValueError, match="attention_normalization must not be 'linear' with LinearStart, got 'linear'"
    ):
        begun(LinearStart(), first)


def test_a_linear_start_hears_the_evaluations_of_training_alone():
    config, start = ComplexMemoryNetworkConfig(**SIZES), LinearStart()
    for _ in range(2):  # training that begins anew begins linear
        state = TrainerState()
        list(trained(start, (1.0, 1.0), config, state))
        state = TrainerState(stateful_callbacks=[start])  # as a Trainer makes it
        begun(start, config, state)
        names = [name for name, _ in trained(start, (3.0, 2.0, 2.5, 1.0), config, state)]
        assert names == ["linear", "linear", "softmax", "softmax"]
        start.on_train_end(None, state, None, model=SimpleNamespace(config=config))


def test_a_linear_start_wants_sentences_and_losses():
    words = ComplexMemoryNetworkConfig(vocab_size=9, variant="word_memory")
    with pytest.raises(ValueError, match="must have variant='sentence_memory'"):
        LinearStart().begin(words)
    with pytest.raises(ValueError, match="max_epochs"):
        LinearStart(max_epochs=0)
    with pytest.raises(ValueError, match="patience must be positive, got 0"):
        LinearStart(patience=0)
    with pytest.raises(ValueError, match="max_epochs or patience must be given"):
        LinearStart(patience=None)
    start, config = LinearStart(), ComplexMemoryNetworkConfig(**SIZES)
    start.begin(config)
    with pytest.raises(KeyError, match="eval_loss"):
        start.on_evaluate(None, TrainerState(), None, model=SimpleNamespace(config=config), metrics={"eval_bleu": 1.0})


@pytest.mark.parametrize("score", ["real", "modulus", "squared_modulus"])
def test_complex_scores_are_those_of_complex_numbers(score):
    model = ComplexMemoryNetworkModel(ComplexMemoryNetworkConfig(**SIZES, attention_score=score, num_hops=1))
    model = model.double().eval()
    story, question = torch.randint(0, 13, (2, 4, 3)), torch.randint(0, 13, (2, 3))
    out = model(story, question_ids=question)
    ages = torch.arange(4, 0, -1).expand(2, 4)
    mask = torch.ones_like(story, dtype=torch.bool)
    memory, factors = model.memory, word_factors(mask, True, torch.float64)
    asked, told = memory.tables[0](question, mask[:, 0], factors[:, 0]), memory.tables[0](story, mask, factors)
    halves = [asked, memory.times["0"](told, ages)]
    u, m = (torch.complex(*value.chunk(2, dim=-1)) for value in halves)
    product = torch.einsum("bmd,bd->bm", m.conj(), u)
    scores = {"real": product.real, "modulus": product.abs(), "squared_modulus": product.abs() ** 2}[score]
    torch.testing.assert_close(out.memory_weights[:, 0], scores.softmax(-1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("field", ["complex", "real"])
def test_answers_are_words_of_the_last_table(field, tmp_path):
    """W^T = C^K (Sukhbaatar et al. 2015, 2.2): logit k is Re<c_k|u>, and its gradient reaches the word."""
    model = build(number_field=field, num_hops=2, answer_token_ids=[5, 2, 9, 7])
    story, question = torch.randint(0, 13, (3, 4, 3)), torch.randint(0, 13, (3, 3))
    out = model(story, question_ids=question, labels=torch.tensor([0, 1, 2]))
    u = model.model(story, question_ids=question).pooler_output.detach().numpy()
    table = model.model.memory.tables[2].words.weight
    rows = table.detach().numpy()[[5, 2, 9, 7]]
    if field == "complex":
        products = (rows[:, :3] + 1j * rows[:, 3:]).conj() @ (u[:, :3] + 1j * u[:, 3:]).T
        np.testing.assert_allclose(out.logits.detach(), products.real.T, atol=1e-12)
    else:
        np.testing.assert_allclose(out.logits.detach(), u @ rows.T, atol=1e-12)
    out.loss.backward()
    assert table.grad[2].abs().sum() > 0
    assert not [name for name in model.state_dict() if name.startswith("classifier")]
    model.float().save_pretrained(tmp_path)
    again = ComplexMemoryNetworkForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(again(story, question_ids=question).logits, model(story, question_ids=question).logits)
    with pytest.raises(ValueError, match=r"answer_token_ids must be .* below vocab_size=8"):
        model.resize_token_embeddings(8)
    assert model.resize_token_embeddings(10).num_embeddings == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answer_token_ids": [1, 2]}, r"num_labels=4 distinct ids below vocab_size=13, .*, got \[1, 2\]"),
        ({"answer_token_ids": [1, 2, 3, 13]}, r"distinct ids below .*, got \[1, 2, 3, 13\]"),
        ({"answer_token_ids": [1, 2, 3, 2]}, r"distinct ids below .*, got \[1, 2, 3, 2\]"),
        ({"answer_token_ids": [0, 1, 2, 3]}, r"without pad_token_id, got \[0, 1, 2, 3\]"),
        (
            {"answer_token_ids": [1, 2, 3, 4], "sentence_encoding": "complex_order"},
            "None with .*'complex_order', got",
        ),
        ({"answer_token_ids": [1, 2, 3, 4], "variant": "word_memory"}, "must be None with variant='word_memory'"),
    ],
)
def test_wrong_answer_token_ids(options, message):
    with pytest.raises(Exception, match=message):
        ComplexMemoryNetworkConfig(**SIZES, **options)


@pytest.mark.parametrize("attention_score", ["real", "squared_modulus"])
def test_scores_beyond_the_range_of_half_precision_are_finite(attention_score):
    torch.manual_seed(0)
    words = {"variant": "word_memory", "story_length": 5, "question_length": 3}
    for options in ({"attention_score": attention_score}, words):
        config = ComplexMemoryNetworkConfig(vocab_size=13, num_labels=4, initializer_range=20.0, **options)
        model = ComplexMemoryNetworkForSequenceClassification(config).eval()
        story = torch.randint(1, 13, (2, 5) if "variant" in options else (2, 4, 3))
        with torch.autocast("cpu", dtype=torch.float16):
            assert model(story, question_ids=torch.randint(1, 13, (2, 3))).logits.isfinite().all()


def test_the_checkpoint_of_a_linear_network_is_not_the_best_where_evaluations_are_more_frequent(tmp_path):
    torch.manual_seed(0)
    model = ComplexMemoryNetworkForSequenceClassification(ComplexMemoryNetworkConfig(**SIZES))
    rows = [
        {
            "input_ids": torch.randint(1, 13, (5, 4)),
            "question_ids": torch.randint(1, 13, (3,)),
            "labels": torch.tensor(i % 4),
        }
        for i in range(8)
    ]
    args = TrainingArguments(
        tmp_path,
        max_steps=6,
        per_device_train_batch_size=8,
        learning_rate=1e-5,
        eval_strategy="steps",
        eval_steps=1,
        save_strategy="steps",
        save_steps=2,
        load_best_model_at_end=True,
        report_to=[],
        use_cpu=True,
    )
    start = LinearStart(max_epochs=1, patience=None)
    trainer = Trainer(model, args, train_dataset=rows, eval_dataset=rows, callbacks=[start])
    trainer.train()
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    assert trainer.state.best_metric == min(losses[1:])  # the first is that of the linear network
    assert trainer.state.best_model_checkpoint is not None


def test_unknown_names_of_a_memory_are_refused():
    query, keys, mask = torch.randn(1, 4), torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.long)
    read_memory(query, keys, keys, mask)
    for names, message in ((("cosine", "softmax"), "score must be"), (("real", "softmaxx"), "normalization must be")):
        with pytest.raises(ValueError, match=message):
            read_memory(query, keys, keys, mask, *names)
