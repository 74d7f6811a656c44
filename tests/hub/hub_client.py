# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user of the Hub does, in a process of its own: Transformers reads the Hub's address when it is imported.

``python hub_client.py answers.json`` runs every case and writes what went wrong, or null, by its name.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from pathlib import Path

import pytest
import torch
from huggingface_hub import HfApi, ModelCard
from transformers import (
    AutoFeatureExtractor,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoProcessor,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
)

import complex_transformers as ct
from complex_transformers.models import family_class, model_families

sys.path.insert(0, str(Path(__file__).parents[1]))

from families import FAMILIES

PARSED = [{"tokens": ["it", "rains"], "relations": ["expl", "root"]}]


def build(family="complex_order", auto_class="AutoModel"):
    config = family_class(family, "AutoConfig")(**FAMILIES[family].sizes)
    return family_class(family, auto_class)(config).eval()


def remote(repo, name="README.md"):
    return Path(HfApi().hf_hub_download(repo, name)).read_text()


def assert_equal_models(loaded, model):
    ours, theirs = model.state_dict(), loaded.state_dict()
    assert type(loaded) is type(model)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def models():
    for family in model_families():
        model = build(family)
        model.push_to_hub(f"us/{family}", tags=["mine"])
        assert_equal_models(AutoModel.from_pretrained(f"us/{family}"), model)
        card = ModelCard(remote(f"us/{family}"))
        assert card.text.count(f'"us/{family}"') == 2
        assert "path-or-repo" not in card.text
        assert {family, "complex_transformers", "mine"} <= set(card.data.tags)
        assert (card.data.pipeline_tag, card.data.license) == ("feature-extraction", "apache-2.0")


def saved_and_pushed():
    model = build()
    with tempfile.TemporaryDirectory() as folder:
        ct.write_model_card(folder, model, training_data="Ten sentences about cats.")
        model.save_pretrained(folder, push_to_hub=True, repo_id="us/saved")
        assert "Ten sentences about cats." in Path(folder, "README.md").read_text()
    assert "Ten sentences about cats." in remote("us/saved")


def card_edited_on_the_hub():
    model = build()
    model.push_to_hub("us/edited")
    edited = remote("us/edited").replace("not stated", "Seven dogs.").encode()
    HfApi().upload_file(path_or_fileobj=edited, path_in_repo="README.md", repo_id="us/edited")
    model.push_to_hub("us/edited")
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model.save_pretrained(folder, push_to_hub=True, repo_id="us/edited")
    assert "Seven dogs." in remote("us/edited")


def link_of_a_card():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mine.md").write_text("# Mine")
        Path(folder, "model").mkdir()
        Path(folder, "model/README.md").symlink_to(Path(folder, "mine.md"))
        build().save_pretrained(f"{folder}/model", push_to_hub=True, repo_id="us/linked")
        assert Path(folder, "mine.md").read_text() == "# Mine"
    assert "# Mine" in remote("us/linked")


def tokenizer_before_its_model():
    tokenizer = ct.build_tokenizer(["a cat sat", "a dog ran"])
    tokenizer.push_to_hub("us/text")
    assert "[More Information Needed]" in remote("us/text")
    build(auto_class="AutoModelForSequenceClassification").push_to_hub("us/text")
    tokenizer.push_to_hub("us/text")
    assert ModelCard(remote("us/text")).data.pipeline_tag == "text-classification"
    assert AutoTokenizer.from_pretrained("us/text")("a cat ran") == tokenizer("a cat ran")


def feature_extractor():
    extractor = ct.SpectralFeatureExtractor(sampling_rate=8000, compression="log")
    extractor.push_to_hub("us/extractor")
    assert AutoFeatureExtractor.from_pretrained("us/extractor").to_dict() == extractor.to_dict()


def speech_processor():
    extractor = ct.SpectralFeatureExtractor(sampling_rate=8000)
    processor = ct.SpectralTransformerProcessor(extractor, ct.build_ctc_tokenizer(["ba", "bada"]))
    processor.push_to_hub("us/speech")
    loaded = AutoProcessor.from_pretrained("us/speech")
    assert type(loaded) is type(processor)
    assert loaded(text="ba")["labels"] == processor(text="ba")["labels"]
    assert loaded.feature_extractor.to_dict() == extractor.to_dict()


def syntax_processor():
    import spacy

    with tempfile.TemporaryDirectory() as folder:
        spacy.blank("en").to_disk(folder)
        processor = ct.build_syntax_processor(PARSED, PARSED, source_parser=folder)
        processor.push_to_hub("us/syntax")
        files = {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}
    loaded = AutoProcessor.from_pretrained("us/syntax")
    assert loaded(PARSED, PARSED) == processor(PARSED, PARSED)
    parser = Path(loaded.source_parser.name)
    assert {str(path.relative_to(parser)) for path in parser.rglob("*") if path.is_file()} == files
    with pytest.raises(ValueError, match="has no parser"):  # loaded: it is a blank one
        loaded("it rains")


def data_sets():
    from datasets import load_dataset

    words = ct.word_order_dataset(max_sentences=20)
    words.push_to_hub("us/word-order")
    loaded = load_dataset("us/word-order")
    assert loaded["train"].features == words["train"].features
    assert {name: part[:] for name, part in loaded.items()} == {name: part[:] for name, part in words.items()}
    by_reader = ct.load_text_dataset(dataset_name="us/word-order")
    assert by_reader["test"]["text"][:] == words["test"]["text"][:]
    with tempfile.TemporaryDirectory() as folder:
        lines = {"a.en": "dogs bark\n", "a.de": "Hunde bellen\n", "b.en": "cats sleep\n", "b.de": "Katzen schlafen\n"}
        for name, line in lines.items():
            Path(folder, name).write_text(line)
        train, validation = ([f"{folder}/{part}.{side}" for side in ("en", "de")] for part in "ab")
        pairs = ct.load_parallel_dataset(train, validation)
    pairs.push_to_hub("us/pairs", private=True)
    loaded = ct.load_parallel_dataset(dataset_name="us/pairs")
    assert {name: part[:] for name, part in loaded.items()} == {name: part[:] for name, part in pairs.items()}


def private():
    model = build()
    model.push_to_hub("us/private", private=True)
    for token in (False, "hf_of_somebody_else"):
        with pytest.raises(OSError, match="us/private"):
            AutoModel.from_pretrained("us/private", token=token)
        with pytest.raises(OSError, match="401"):
            model.push_to_hub("us/private", token=token)
    assert_equal_models(AutoModel.from_pretrained("us/private"), model)


def train(trainer_class, repo):
    model = build(auto_class="AutoModelForSequenceClassification")
    rows = [{"input_ids": [3, 4, 5], "labels": i % 2} for i in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            f"{folder}/run", max_steps=1, report_to=[], push_to_hub=True, hub_model_id=repo, eval_strategy="steps"
        )
        trainer = trainer_class(model, arguments, train_dataset=rows, eval_dataset=rows)
        trainer.train()
        trainer.push_to_hub(language="en", dataset="cats")
        trainer.push_to_hub(language="en", dataset="cats")
    assert_equal_models(AutoModelForSequenceClassification.from_pretrained(repo), model.cpu())
    return ModelCard(remote(repo))


def our_trainer():
    card = train(ct.ComplexTrainer, "us/trained")
    assert (card.data.pipeline_tag, card.data.license, card.data.language) == (
        "text-classification",
        "apache-2.0",
        ["en"],
    )
    assert card.data.tags == ["complex-valued", "complex_transformers", "complex_order", "generated_from_trainer"]
    assert card.text.count('"us/trained"') == 2
    for part in ("import complex_transformers", "learning_rate", "## Limits", "## Training data\n\ncats\n"):
        assert card.text.count(part) == 1, part


def plain_trainer():
    card = train(Trainer, "us/plain")
    assert {"complex-valued", "complex_transformers", "complex_order"} <= set(card.data.tags)
    assert "complex_transformers_hub.py" in HfApi().list_repo_files("us/plain")


CASES = [
    models,
    saved_and_pushed,
    card_edited_on_the_hub,
    link_of_a_card,
    tokenizer_before_its_model,
    feature_extractor,
    speech_processor,
    syntax_processor,
    data_sets,
    private,
    our_trainer,
    plain_trainer,
]


def main(answers):
    done = {}
    for case in CASES:
        try:
            case()
        except Exception:
            done[case.__name__] = traceback.format_exc()
        else:
            done[case.__name__] = None
    Path(answers).write_text(json.dumps(done))


if __name__ == "__main__":
    main(sys.argv[1])
