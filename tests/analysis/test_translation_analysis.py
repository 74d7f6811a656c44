# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention maps, scores by length and word by word: against one row at a time, and by hand."""

import copy
import io
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from complex_transformers import SynCoNMTForConditionalGeneration, SynCoNMTProcessor, TranslationMetric
from complex_transformers.analysis import (
    AttentionMap,
    attention_maps,
    bleu_by_length,
    dependency_shares,
    plot_attention,
    token_accuracy,
)
from complex_transformers.recipes import SyntaxTranslationCollator, build_syntax_processor
from families import Case
from refusals import refused

SOURCE = [
    {"tokens": ["Dogs", "bark", "."], "relations": ["nsubj", "root", "punct"], "spaces": [True, False, True]},
    {"tokens": ["See", "old", "cats", "."], "relations": ["root", "amod", "obj", "punct"], "spaces": [1, 1, 0, 1]},
]
TARGET = [
    {"tokens": ["Hunde", "bellen", "."], "relations": ["nsubj", "root", "punct"], "spaces": [True, False, True]},
    {"tokens": ["Sieh", "Katzen", "!"], "relations": ["root", "obj", "punct"], "spaces": [True, False, True]},
]
FIELDS = {"complex": {}, "real": {"number_field": "real"}, "words": {"number_field": "real", "use_relations": False}}


@pytest.fixture(scope="module")
def processor() -> SynCoNMTProcessor:
    return build_syntax_processor(SOURCE, TARGET)


def small_model(processor: SynCoNMTProcessor, **options: object) -> SynCoNMTForConditionalGeneration:
    return Case("synconmt", "bahdanau").trained(**processor.vocabulary_arguments(), **options)


@pytest.mark.parametrize("attention_type", ["bahdanau", "luong"])
@pytest.mark.parametrize("field", FIELDS)
def test_maps_of_given_translations(processor: SynCoNMTProcessor, field: str, attention_type: str) -> None:
    model = small_model(processor, attention_type=attention_type, **FIELDS[field])
    maps = attention_maps(model, processor, SOURCE, TARGET)
    for attention, source, target in zip(maps, SOURCE, TARGET, strict=True):
        assert attention.source_tokens == [*source["tokens"], "</s>"]
        assert attention.source_relations == [*source["relations"], "</s>"]
        assert attention.target_tokens == [*target["tokens"], "</s>"]
        assert attention.target_relations == (None if field == "words" else [*target["relations"], "</s>"])
        # The row of a word is the attention of the step that reads the word before it: here, step by step.
        inputs = {name: torch.tensor([ids]) for name, ids in processor(source, target).items()}
        words, relations = inputs.pop("labels"), inputs.pop("relation_labels")
        if field == "words":
            inputs.pop("relation_ids")
        for number in range(words.shape[1]):
            start = torch.tensor([[processor.tokenizer.bos_token_id]])
            inputs["decoder_input_ids"] = torch.cat([start, words[:, :number]], dim=1)
            if field != "words":
                inputs["decoder_relation_ids"] = torch.cat([start, relations[:, :number]], dim=1)
            with torch.no_grad():
                row = model(**inputs, output_attentions=True).cross_attentions[0][0, 0, -1]
            parts = row.chunk(2) if field == "complex" else (row,)
            torch.testing.assert_close(torch.tensor(attention.word_weights[number]), parts[0], atol=1e-6, rtol=1e-5)
            if field == "complex":
                weights = torch.tensor(attention.relation_weights[number])
                torch.testing.assert_close(weights, parts[1], atol=1e-6, rtol=1e-5)
            if attention_type == "bahdanau":
                assert sum(attention.word_weights[number]) == pytest.approx(1.0, abs=1e-5)
    assert all((attention.relation_weights is None) == (field != "complex") for attention in maps)
    json.dumps([attention.to_dict() for attention in maps])


def test_attention_along_dependencies() -> None:
    """Dogs <- bark -> loudly, and a sentence of one word, which has no other words to attend to."""
    tokens = ["Dogs", "bark", "loudly", "</s>"]
    rows = [[0.5, 0.3, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.0, 0.0, 0.9, 0.1], [0.0, 0.0, 0.0, 1.0]]
    imaginary = [[0.1, 0.2, 0.6, 0.1], [0.3, 0.3, 0.3, 0.1], [0.3, 0.1, 0.4, 0.2], [1.0, 0.0, 0.0, 0.0]]
    long = AttentionMap(tokens, [], ["Hunde", "bellen", "laut", "</s>"], None, rows, imaginary)
    one = AttentionMap(["Go", "</s>"], [], ["Geh"], None, [[0.9, 0.1]], None)
    found = dependency_shares([long, one], [[2, 0, 2], [0]])
    # Most attended: Dogs (beside it 0.3 + 0.1, of which bark 0.3), bark (all others depend on it), loudly (left out).
    assert found["words"] == pytest.approx((0.3 / 0.4 + 1.0) / 2)
    assert found["relations"] == pytest.approx((0.2 / 0.8 + 1.0) / 2)
    assert found["chance"] == pytest.approx((0.5 + 1.0) / 2)
    cut = replace(long, target_tokens=["Hunde"], word_weights=rows[:1], relation_weights=imaginary[:1])
    assert dependency_shares([cut], [[2, 0, 2]])["words"] == pytest.approx(0.75)  # no </s> at the end
    assert dependency_shares([one], [[0]]) == {}
    assert "relations" not in dependency_shares([replace(long, relation_weights=None)], [[2, 0, 2]])
    refused("heads must be a list for each of 2 maps, got 1 lists", dependency_shares, [long, one], [[0]])
    refused("heads must be 3 other tokens", dependency_shares, [long], [[0]])


@pytest.mark.parametrize("field", FIELDS)
def test_maps_of_what_the_model_writes(processor: SynCoNMTProcessor, field: str) -> None:
    model = small_model(processor, **FIELDS[field])
    maps = attention_maps(model, processor, SOURCE, num_beams=3, max_new_tokens=6)
    batch = processor(SOURCE, padding=True, return_tensors="pt")
    if field == "words":
        batch.pop("relation_ids")
    output = model.generate(**batch, num_beams=3, max_new_tokens=6, return_dict_in_generate=True)
    for row, attention in enumerate(maps):
        said = output.sequences[row, 1:].tolist()
        end = said.index(model.config.eos_token_id) + 1 if model.config.eos_token_id in said else len(said)
        words = [word.lstrip("￭") for word in processor.tokenizer.convert_ids_to_tokens(said[:end])]
        assert attention.target_tokens == words
        assert [len(weights) for weights in attention.word_weights] == [len(SOURCE[row]["tokens"]) + 1] * end
        if field != "words":
            relations = output.relations[row, 1 : 1 + end].tolist()
            assert attention.target_relations == processor.relation_tokenizer.convert_ids_to_tokens(relations)


def test_maps_refuse(processor: SynCoNMTProcessor) -> None:
    model = small_model(processor)
    refused(r"Call model\.eval", attention_maps, copy.deepcopy(model).train(), processor, SOURCE)
    refused(
        r"must be None with generate\(\) arguments, got \['num_beams'\]",
        attention_maps,
        model,
        processor,
        SOURCE,
        TARGET,
        num_beams=2,
    )
    several = {"num_beams": 2, "num_return_sequences": 2, "max_new_tokens": 2}
    refused("num_return_sequences must be 1, got 2", attention_maps, model, processor, SOURCE, **several)
    words = "{} must be a list of strings or parsed sentences, got one {}"
    refused(words.format("sources", "str"), attention_maps, model, processor, "Dogs bark.", error=TypeError)
    targets = (SOURCE[:1], TARGET[0])
    refused(words.format("targets", "dict"), attention_maps, model, processor, *targets, error=TypeError)


@pytest.mark.parametrize("field", ["complex", "words"])
def test_maps_are_drawn(processor: SynCoNMTProcessor, field: str) -> None:
    pytest.importorskip("matplotlib")
    attention = attention_maps(small_model(processor, **FIELDS[field]), processor, SOURCE, TARGET)[1]
    figure = plot_attention(attention)
    axes = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in axes] == (["words", "relations"] if field == "complex" else ["words"])
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["See", "old", "cats", ".", "</s>"]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["Sieh", "Katzen", "!", "</s>"]
    if field == "complex":
        assert [label.get_text() for label in axes[1].get_yticklabels()] == ["root", "obj", "punct", "</s>"]
        assert axes[1].images[0].get_array().tolist() == attention.relation_weights
    figure.savefig(io.BytesIO(), format="png")


def test_scores_by_length() -> None:
    lengths = [3, 10, 11, 25]
    references = ["a b c d e", "f g h i j", "k l m n o", "p q r s t"]
    predictions = ["a b c d e", "x x x x x", "k l m n o", "p q r s"]
    rows = bleu_by_length(lengths, predictions, references)
    groups = [(row["shortest"], row["longest"], row["sentences"]) for row in rows]
    assert groups == [(1, 10, 2), (11, 20, 1), (21, 30, 1)]
    assert json.dumps(bleu_by_length(np.array(lengths), predictions, references)) == json.dumps(rows)
    pair = TranslationMetric().compute(predictions=predictions[:2], references=references[:2])
    assert rows[0]["bleu"] == pair["bleu"]
    assert rows[1]["bleu"] == pytest.approx(100.0)
    assert rows[2]["brevity_penalty"] < 1.0
    assert [row["sentences"] for row in bleu_by_length(lengths, predictions, references, group=100)] == [4]
    case = bleu_by_length([1], ["A b c d e"], ["a b c d e"], metric=TranslationMetric(lowercase=True))
    assert case[0]["bleu"] == pytest.approx(100.0)
    refused("got 1, 2 and 2", bleu_by_length, [1], predictions[:2], references[:2])
    refused("got 0, 0 and 0", bleu_by_length, [], [], [])
    refused("at least 1, got 0 and 10", bleu_by_length, [0], ["a"], ["a"])


@pytest.mark.parametrize("field", FIELDS)
def test_accuracy_word_by_word(processor: SynCoNMTProcessor, field: str) -> None:
    model = small_model(processor, hidden_dropout_prob=0.5, **FIELDS[field])
    rows = [processor(*pair) for pair in zip(SOURCE, TARGET, strict=True)]
    collate = SyntaxTranslationCollator(processor, model)
    scores = token_accuracy(model.train(), [collate(rows), collate(rows[:1])])
    assert model.training  # left as it was, and counted without dropout
    model.eval()
    hits = []
    for row in [*rows, rows[0]]:
        with torch.no_grad():
            output = model(**collate([row]))
        for number, label in enumerate(row["labels"]):
            hit = [int(output.logits[0, number].argmax()) == label]
            if field != "words":
                logits = output.relation_logits[0, number].clone()
                logits[0] = -torch.inf  # padding is never predicted
                hit.append(int(logits.argmax()) == row["relation_labels"][number])
            hits.append(hit)
    expected = {"word_accuracy": sum(hit[0] for hit in hits) / len(hits)}
    if field != "words":
        expected["relation_accuracy"] = sum(hit[1] for hit in hits) / len(hits)
        expected["both_accuracy"] = sum(all(hit) for hit in hits) / len(hits)
    assert scores == pytest.approx(expected)
    refused("other than -100, got none", token_accuracy, model, [])
    given = collate(rows)
    for name in ("labels", *(() if field == "words" else ("relation_labels",))):
        less = {key: value for key, value in given.items() if key != name}
        if name == "relation_labels":  # no loss needs them, and yet they are to be compared with
            model.config.alpha = 1.0
            less["decoder_relation_ids"] = torch.ones_like(less["labels"])
        refused(f"batches must have '{name}', ", token_accuracy, model.train(), [given, less])
        assert model.training  # after an error, too


def test_accuracy_leaves_out_what_has_no_label(processor: SynCoNMTProcessor) -> None:
    model = small_model(processor)
    batch = SyntaxTranslationCollator(processor, model)([processor(SOURCE[0], TARGET[0])])
    with torch.no_grad():
        output = model(**batch)
    # All words and relations are right, but for the first word.
    batch |= {"labels": output.logits.argmax(-1), "relation_labels": model.predict_relations(output.relation_logits)}
    batch["labels"][0, 0] = (batch["labels"][0, 0] + 1) % len(processor.tokenizer)
    assert token_accuracy(model, [batch]) == pytest.approx(
        {"word_accuracy": 0.75, "relation_accuracy": 1.0, "both_accuracy": 0.75}
    )
    batch["relation_labels"][0, 1:3] = -100
    assert token_accuracy(model, [batch]) == {"word_accuracy": 0.75, "relation_accuracy": 1.0, "both_accuracy": 0.5}
    batch["labels"][0, 0] = -100
    assert token_accuracy(model, [batch]) == {"word_accuracy": 1.0, "relation_accuracy": 1.0, "both_accuracy": 1.0}
    batch["relation_labels"][:] = -100
    refused("other than -100, got none", token_accuracy, model, [batch])
