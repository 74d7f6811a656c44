# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pushes to and loads from the Hub, run by ``test_push_and_load.py`` in a separate process.

Transformers reads the Hub's address when it is imported.
"""

from __future__ import annotations

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


def test_models():
    for family in model_families():
        model = build(family)
        model.push_to_hub(f"us/{family}", tags=["mine"])
        assert_equal_models(AutoModel.from_pretrained(f"us/{family}"), model)
        card = ModelCard(remote(f"us/{family}"))
        assert card.text.count(f'"us/{family}"') == 2
        assert "path-or-repo" not in card.text
        assert {family, "complex_transformers", "mine"} <= set(card.data.tags)
        assert (card.data.pipeline_tag, card.data.license) == ("feature-extraction", "apache-2.0")


def test_saved_and_pushed(tmp_path):
    model = build()
    ct.write_model_card(tmp_path, model, training_data="Ten sentences about cats.")
    model.save_pretrained(tmp_path, push_to_hub=True, repo_id="us/saved")
    assert "Ten sentences about cats." in (tmp_path / "README.md").read_text()
    assert "Ten sentences about cats." in remote("us/saved")


def test_pull_request_and_branch():
    build().push_to_hub("us/reviewed")
    build().push_to_hub("us/reviewed", create_pr=True)
    build().push_to_hub("us/reviewed", revision="next")
    build().push_to_hub("us/proposed", create_pr=True)


def test_card_edited_on_the_hub(tmp_path):
    model = build()
    model.push_to_hub("us/edited")
    edited = remote("us/edited").replace("not stated", "Seven dogs.").encode()
    HfApi().upload_file(path_or_fileobj=edited, path_in_repo="README.md", repo_id="us/edited")
    model.push_to_hub("us/edited")
    model.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path, push_to_hub=True, repo_id="us/edited")
    assert "Seven dogs." in remote("us/edited")
    assert "Seven dogs." not in (tmp_path / "README.md").read_text()
    assert "complex_transformers_hub.py" in HfApi().list_repo_files("us/edited")


def test_link_of_a_card(tmp_path):
    (tmp_path / "mine.md").write_text("# Mine")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/README.md").symlink_to(tmp_path / "mine.md")
    build().save_pretrained(f"{tmp_path}/model", push_to_hub=True, repo_id="us/linked")
    assert (tmp_path / "mine.md").read_text() == "# Mine"
    assert "# Mine" in remote("us/linked")


def test_tokenizer_keeps_the_card_of_its_model():
    tokenizer = ct.build_tokenizer(["a cat sat", "a dog ran"])
    build(auto_class="AutoModelForSequenceClassification").push_to_hub("us/text")
    tokenizer.push_to_hub("us/text")
    assert ModelCard(remote("us/text")).data.pipeline_tag == "text-classification"
    assert AutoTokenizer.from_pretrained("us/text")("a cat ran") == tokenizer("a cat ran")


def test_feature_extractor(tmp_path):
    extractor = ct.SpectralFeatureExtractor(sampling_rate=8000, compression="log")
    extractor.save_pretrained(tmp_path / "extractor", push_to_hub=True, repo_id="us/extractor")
    assert "complex_transformers_hub_readers.py" in HfApi().list_repo_files("us/extractor")
    assert AutoFeatureExtractor.from_pretrained("us/extractor").to_dict() == extractor.to_dict()


def test_speech_processor():
    extractor = ct.SpectralFeatureExtractor(sampling_rate=8000)
    processor = ct.SpectralTransformerProcessor(extractor, ct.build_ctc_tokenizer(["ba", "bada"]))
    processor.push_to_hub("us/speech")
    loaded = AutoProcessor.from_pretrained("us/speech")
    assert type(loaded) is type(processor)
    assert loaded(text="ba")["labels"] == processor(text="ba")["labels"]
    assert loaded.feature_extractor.to_dict() == extractor.to_dict()


def test_syntax_processor(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path)
    processor = ct.recipes.build_syntax_processor(PARSED, PARSED, source_parser=tmp_path)
    processor.push_to_hub("us/syntax")
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    loaded = AutoProcessor.from_pretrained("us/syntax")
    assert loaded(PARSED, PARSED) == processor(PARSED, PARSED)
    parser = Path(loaded.source_parser.name)
    assert {str(path.relative_to(parser)) for path in parser.rglob("*") if path.is_file()} == files
    with pytest.raises(ValueError, match="must have a parser"):  # loaded: it is a blank one
        loaded("it rains")


def test_data_sets(tmp_path):
    from datasets import load_dataset

    words = ct.recipes.word_order_dataset(max_sentences=20)
    words.push_to_hub("us/word-order")
    loaded = load_dataset("us/word-order")
    assert loaded["train"].features == words["train"].features
    assert {name: part[:] for name, part in loaded.items()} == {name: part[:] for name, part in words.items()}
    by_reader = ct.recipes.load_text_dataset(dataset_name="us/word-order")
    assert by_reader["test"]["text"][:] == words["test"]["text"][:]
    lines = {"a.en": "dogs bark\n", "a.de": "Hunde bellen\n", "b.en": "cats sleep\n", "b.de": "Katzen schlafen\n"}
    for name, line in lines.items():
        (tmp_path / name).write_text(line)
    train, validation = ([f"{tmp_path}/{part}.{side}" for side in ("en", "de")] for part in "ab")
    pairs = ct.recipes.load_parallel_dataset(train, validation)
    pairs.push_to_hub("us/pairs", private=True)
    loaded = ct.recipes.load_parallel_dataset(dataset_name="us/pairs")
    assert {name: part[:] for name, part in loaded.items()} == {name: part[:] for name, part in pairs.items()}


def test_private():
    model = build()
    model.push_to_hub("us/private", private=True)
    for token in (False, "hf_of_somebody_else"):
        with pytest.raises(OSError, match="us/private"):
            AutoModel.from_pretrained("us/private", token=token)
        with pytest.raises(OSError, match="401"):
            model.push_to_hub("us/private", token=token)
    assert_equal_models(AutoModel.from_pretrained("us/private"), model)


def train(trainer_class, repo, folder):
    model = build(auto_class="AutoModelForSequenceClassification")
    rows = [{"input_ids": [3, 4, 5], "labels": i % 2} for i in range(4)]
    arguments = TrainingArguments(
        f"{folder}/run", max_steps=1, report_to=[], push_to_hub=True, hub_model_id=repo, eval_strategy="steps"
    )
    trainer = trainer_class(model, arguments, train_dataset=rows, eval_dataset=rows)
    trainer.train()
    trainer.push_to_hub(language="en", dataset="cats")
    trainer.push_to_hub(language="en", dataset="cats")
    assert_equal_models(AutoModelForSequenceClassification.from_pretrained(repo), model.cpu())
    return ModelCard(remote(repo))


def test_our_trainer(tmp_path):
    card = train(ct.ComplexTrainer, "us/trained", tmp_path)
    known = (card.data.pipeline_tag, card.data.license, card.data.language)
    assert known == ("text-classification", "apache-2.0", ["en"])
    assert card.data.tags == ["complex-valued", "complex_transformers", "complex_order", "generated_from_trainer"]
    assert card.text.count('"us/trained"') == 2
    for part in ("import complex_transformers", "learning_rate", "## Limits", "## Training data\n\ncats\n"):
        assert card.text.count(part) == 1, part


def test_plain_trainer(tmp_path):
    card = train(Trainer, "us/plain", tmp_path)
    assert {"complex-valued", "complex_transformers", "complex_order"} <= set(card.data.tags)
    assert "complex_transformers_hub.py" in HfApi().list_repo_files("us/plain")
