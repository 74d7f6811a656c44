# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""MemoryProcessor and pipeline("complex-question-answering"): raw text, what was looked at, bad stories."""

import pytest
import torch
from transformers import AutoProcessor, Trainer, TrainingArguments, pipeline

from complex_transformers import (
    ComplexMemoryNetworkConfig,
    ComplexMemoryNetworkForSequenceClassification,
    ComplexOrderConfig,
    ComplexOrderForSequenceClassification,
    MemoryProcessor,
    build_tokenizer,
)

STORY = ["Mary went to the kitchen .", "John moved to the garden .", "Mary took the milk ."]
QUESTION = "Where is Mary ?"
ANSWERS = {0: "garden", 1: "kitchen", 2: "milk"}
TASK = "complex-question-answering"
WORDS = {"story_length": 12, "question_length": 5}


def build_processor(variant="sentence_memory", **options):
    tokenizer = build_tokenizer([*STORY, QUESTION], "word")
    return MemoryProcessor(tokenizer, variant, **options)


def build(variant="sentence_memory", **options):
    processor = build_processor(variant, **options)
    sizes = {"vocab_size": len(processor.tokenizer), "hidden_size": 8, "id2label": ANSWERS, "initializer_range": 0.5}
    torch.manual_seed(0)
    config = ComplexMemoryNetworkConfig(variant=variant, **sizes, **options)
    return ComplexMemoryNetworkForSequenceClassification(config).eval(), processor


@pytest.mark.parametrize(("variant", "options"), [("sentence_memory", {"memory_size": 4}), ("word_memory", WORDS)])
def test_answers_are_the_models_own_whatever_stands_beside(tmp_path, variant, options):
    model, processor = build(variant, **options)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    ask = pipeline(TASK, model=str(tmp_path))
    stories = [{"story": " ".join(STORY[:n]), "question": QUESTION} for n in (1, 2)]
    found = ask(stories, batch_size=2)
    for asked, answer in zip(stories, found, strict=True):
        with torch.no_grad():
            out = model(**processor(asked["story"], asked["question"], return_tensors="pt"))
        probabilities = out.logits[0].softmax(-1)
        assert answer["answer"] == ANSWERS[probabilities.argmax().item()]
        assert answer["score"] == pytest.approx(probabilities.max().item(), abs=1e-6)
        if variant == "sentence_memory":
            assert [memory["sentence"] for memory in answer["memories"]] == STORY[: len(answer["memories"])]
            seen = torch.tensor([memory["weights"] for memory in answer["memories"]]).T
            torch.testing.assert_close(seen, out.memory_weights[0], atol=1e-6, rtol=0)
        else:
            assert answer["memories"] == []
    assert found[0]["score"] != found[1]["score"]  # a story that is not read would not matter
    assert ask(story=STORY[:2], question=QUESTION) == ask({"story": " ".join(STORY[:2]), "question": QUESTION})


def test_a_story_longer_than_the_memory_keeps_its_end_and_says_so():
    model, processor = build(memory_size=2)
    ask = pipeline(TASK, model=model, processor=processor)
    found = ask(story=STORY, question=QUESTION)
    assert found["dropped_sentences"] == 1
    assert [memory["sentence"] for memory in found["memories"]] == STORY[1:]
    short = ask(story=STORY[1:], question=QUESTION)
    assert found["score"] == pytest.approx(short["score"], abs=1e-6)
    assert short["dropped_sentences"] == 0
    with pytest.raises(ValueError, match=r"at most memory_size=2 entries, got 3\. Pass truncation=True"):
        processor(STORY, QUESTION)


@pytest.mark.parametrize(("length", "dropped"), [(17, 0), (16, 1), (11, 1), (10, 2), (5, 2), (4, 3)])
def test_a_story_longer_than_the_memory_of_words_says_which_sentences_were_cut(length, dropped):
    # The sentences have 6, 6 and 5 words: one that is read in part has not been read.
    model, processor = build("word_memory", **{**WORDS, "story_length": length})
    found = pipeline(TASK, model=model, processor=processor)(story=STORY, question=QUESTION)
    assert (found["dropped_sentences"], found["memories"]) == (dropped, [])


def test_unknown_words_are_named():
    model, processor = build()
    found = pipeline(TASK, model=model, processor=processor)(story="Ann went to Rome.", question="Where is Ann?")
    assert found["unknown_words"] == ["Ann", "Rome"]


def test_what_is_no_story_is_refused():
    model, processor = build()
    ask = pipeline(TASK, model=model, processor=processor)
    for inputs, error, message in (
        ({"story": "", "question": QUESTION}, ValueError, "story must have at least one sentence"),
        ({"story": " \n ", "question": QUESTION}, ValueError, "story must have at least one sentence"),
        ({"story": STORY, "question": ""}, ValueError, "question must have at least one word, got ''"),
        ({"story": STORY}, ValueError, "question must be given"),
        ({"story": STORY, "question": 3}, TypeError, "question must be a string, got 3. For several, pass a list"),
        (
            {"story": [STORY] * 2, "question": [QUESTION] * 2},
            TypeError,
            r"question must be a string, got \['Where",
        ),
        ("Where?", TypeError, "must be a mapping of"),
    ):
        with pytest.raises(error, match=message):
            ask(inputs)
    with pytest.raises(ValueError, match="question must be given"):
        ask(story=STORY)
    with pytest.raises(TypeError, match="got 'top_k'"):
        ask({"story": STORY, "question": QUESTION}, top_k=2)
    with pytest.raises(ValueError, match="inputs must be None with story or question, got both"):
        ask({"story": STORY, "question": QUESTION}, story=STORY)
    other = ComplexOrderForSequenceClassification(ComplexOrderConfig(vocab_size=9, hidden_size=16))
    with pytest.raises(
        ValueError, match=r"must be a complex_memory_network .* got ComplexOrderForSequenceClassification"
    ):
        pipeline(TASK, model=other, processor=processor)


@pytest.mark.parametrize(
    ("variant", "options", "other", "message"),
    [
        (
            "sentence_memory",
            {"memory_size": 4},
            {"memory_size": 3},
            "processor.memory_size must be the model's 4, got 3. Use",
        ),
        (
            "sentence_memory",
            {},
            {"variant": "word_memory", **WORDS},
            "processor.variant must be the model's 'sentence_memory', got 'word_memory'",
        ),
        (
            "word_memory",
            WORDS,
            {**WORDS, "variant": "word_memory", "question_length": 6},
            "processor.question_length must be the model's 5, got 6",
        ),
    ],
)
def test_a_processor_of_another_model_is_refused(variant, options, other, message):
    model, _ = build(variant, **options)
    with pytest.raises(ValueError, match=message):
        pipeline(TASK, model=model, processor=build_processor(**other))


def test_batches_are_filled_up_and_masked(tmp_path):
    processor = build_processor(memory_size=3)
    batch = processor([STORY, STORY[:1]], [QUESTION, "Where ?"], return_tensors="pt")
    assert batch["input_ids"].shape == (2, 3, 6)
    assert batch["question_ids"].shape == (2, 4)
    assert batch["attention_mask"].sum((1, 2)).tolist() == [17, 6]
    assert batch["question_mask"].sum(1).tolist() == [4, 2]
    assert batch["attention_mask"][1, 1:].sum() == 0  # sentences that are none
    processor.save_pretrained(tmp_path)
    again = AutoProcessor.from_pretrained(tmp_path)
    assert again.variant == "sentence_memory"
    assert again.memory_size == 3
    assert again(STORY, QUESTION) == processor(STORY, QUESTION)
    rows = [{**dict(processor(STORY[:1], QUESTION)), "label": 1} for _ in range(2)]
    assert processor.pad(rows, "pt")["labels"].tolist() == [1, 1]


@pytest.mark.parametrize(("variant", "options"), [("sentence_memory", {}), ("word_memory", WORDS)])
def test_rows_without_a_story_are_answered(variant, options):
    model, processor = build(variant, **options)
    told = dict(processor(STORY[:2], QUESTION))
    row = {**told, "input_ids": []}
    alone, beside = processor.pad([row], "pt"), processor.pad([row, told], "pt")
    assert alone["attention_mask"].sum() == 0
    torch.testing.assert_close(model(**alone).logits[0], model(**beside).logits[0])


@pytest.mark.parametrize(("variant", "options"), [("sentence_memory", {}), ("word_memory", WORDS)])
def test_a_trainer_scores_the_answers_alone(tmp_path, variant, options):
    model, processor = build(variant, **options)
    data = [{**processor(STORY[:n], QUESTION), "label": n % 3} for n in (1, 2)]  # memories of two lengths
    trainer = Trainer(
        model,
        TrainingArguments(str(tmp_path), per_device_eval_batch_size=1, report_to=[], use_cpu=True, disable_tqdm=True),
        eval_dataset=data,
        data_collator=lambda rows: processor.pad(rows, return_tensors="pt"),
        compute_metrics=lambda scored: {"labels": int((scored.predictions.argmax(-1) >= 0).sum())},
    )
    assert trainer.evaluate()["eval_labels"] == 2
    assert trainer.predict(data).predictions.shape == (2, 3)


def test_sentences_end_in_marks_and_lines():
    processor = build_processor()
    assert processor.sentences("Mary left. Did she?\nYes!  She did") == ["Mary left.", "Did she?", "Yes!", "She did"]


def test_answers_become_words(tmp_path):
    processor = build_processor()
    words, size = processor(STORY, QUESTION), len(processor.tokenizer)
    ids = processor.answer_words(["kitchen", "milk,kitchen", "Rome"])
    assert ids == [processor.tokenizer.convert_tokens_to_ids("kitchen"), size, size + 1]
    assert processor(STORY, QUESTION) == words
    processor.save_pretrained(tmp_path)
    again = AutoProcessor.from_pretrained(tmp_path)
    assert again.answer_words(["kitchen", "milk,kitchen", "Rome"]) == ids
    assert len(again.tokenizer) == size + 2
    with pytest.raises(ValueError, match="answer must have at least one word, got ' '"):
        processor.answer_words(["milk", " "])
    with pytest.raises(ValueError, match=r"must be different tokens, got \['milk', 'milk'\]"):
        processor.answer_words(["milk", "milk"])


def test_answers_of_a_tokenizer_that_ends_texts_are_words():
    tokenizer = build_tokenizer([*STORY, QUESTION], "word", append_eos=True)
    processor, size = MemoryProcessor(tokenizer), len(tokenizer)
    assert processor("Mary left .", QUESTION)["question_ids"][-1] == tokenizer.eos_token_id
    with pytest.raises(ValueError, match="question must have at least one word, got ' '"):
        processor("Mary left .", " ")
    for wrong, error in (
        (["Rome", "milk", "milk"], ValueError),
        (["Rome", "Rome"], ValueError),
        ("Rome", TypeError),
    ):
        with pytest.raises(error, match=r"must be different tokens|Pass \['Rome'\]"):
            processor.answer_words(wrong)
    assert len(tokenizer) == size
    ids = processor.answer_words(["kitchen", "New York", "New Jersey"])
    assert ids == [tokenizer.convert_tokens_to_ids("kitchen"), size, size + 1]


def test_answers_that_are_one_word_to_the_tokenizer_are_refused_before_any_is_added():
    tokenizer = build_tokenizer([*STORY, QUESTION], "word", lowercase=True)
    size = len(tokenizer)
    with pytest.raises(ValueError, match=r"must be different tokens, got \['New York', 'new york'\]"):
        MemoryProcessor(tokenizer).answer_words(["New York", "new york"])
    assert len(tokenizer) == size


def test_wrong_settings_of_a_processor():
    tokenizer = build_tokenizer(STORY, "word")
    with pytest.raises(ValueError, match="variant must be one of"):
        MemoryProcessor(tokenizer, "paragraphs")
    with pytest.raises(ValueError, match="story_length and question_length must be set"):
        MemoryProcessor(tokenizer, "word_memory")
    assert MemoryProcessor(tokenizer, story_length=3).story_length is None
    words = MemoryProcessor(tokenizer, "word_memory", story_length=4, question_length=3)
    with pytest.raises(ValueError, match="at most story_length=4 entries, got 17"):
        words(STORY, "Where ?")
    with pytest.raises(ValueError, match="question must have at most question_length=3 entries, got 4"):
        words(STORY[0], QUESTION, truncation=True)
    with pytest.raises(ValueError, match="one entry per question, got 1 for 2"):
        words([STORY], ["Where ?", "Where ?"])
