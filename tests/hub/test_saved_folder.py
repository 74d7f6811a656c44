# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A saved folder as it would stand on the Hub: the shim of trust_remote_code, the model card."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import AutoModel

import complex_transformers
from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
    MemoryProcessor,
    SpectralFeatureExtractor,
    SpectralTransformerProcessor,
    build_tokenizer,
    write_model_card,
)
from complex_transformers.models import family_class, file_kind, model_families
from complex_transformers.models.base import hub
from complex_transformers.models.base.hub import READER_SHIM_NAME, SHIM_NAME
from complex_transformers.models.base.images import ImagePreTrainedModel

CLASSES = {
    "AutoModel": ComplexOrderModel,
    "AutoModelForMaskedLM": ComplexOrderForMaskedLM,
    "AutoModelForSequenceClassification": ComplexOrderForSequenceClassification,
    "AutoModelForTokenClassification": ComplexOrderForTokenClassification,
}


def build(model_class, **changes):
    config = ComplexOrderConfig(vocab_size=20, hidden_size=16, num_attention_heads=2, intermediate_size=16, **changes)
    return model_class(config).eval()


def run(code, *arguments, home):
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


LOAD = """
import sys, torch
import transformers
folder, target, names = sys.argv[1:]
for name in names.split():
    assert name == "AutoModel" or "complex_transformers" in sys.modules
    model = getattr(transformers, name).from_pretrained(f"{folder}/{name}", trust_remote_code=True)
    with torch.no_grad():
        assert torch.equal(model(torch.tensor([[3, 4, 5]]))[0], torch.load(f"{folder}/{name}.pt")), name
    assert type(model).__module__.startswith("complex_transformers.models"), type(model).__module__
    model.save_pretrained(f"{target}/{name}")
print("loaded")
"""


@pytest.mark.full
def test_remote_code_loads_without_import_and_saves_again(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for name, model_class in CLASSES.items():
        model = build(model_class)
        model.save_pretrained(first / name)
        with torch.no_grad():
            torch.save(model(torch.tensor([[3, 4, 5]]))[0], first / f"{name}.pt")
    done = run(LOAD, first, second, " ".join(CLASSES), home=tmp_path / "home")
    assert done.stdout.strip().endswith("loaded"), done.stderr
    for name in CLASSES:
        files = {path.name for path in (first / name).iterdir()}
        assert files == {"config.json", "model.safetensors", "README.md", "complex_transformers_hub.py"}
        assert {path.name for path in (second / name).iterdir()} == files  # no file of the package is copied
        for file in files:
            assert (first / name / file).read_bytes() == (second / name / file).read_bytes(), file


READ = """
import json, sys
import transformers
first, second, readers = sys.argv[1:]
for folder, auto, name in json.loads(readers):
    reader = getattr(transformers, auto).from_pretrained(f"{first}/{folder}", trust_remote_code=True)
    assert type(reader).__name__ == name, type(reader)
    assert type(reader).__module__.startswith("complex_transformers.models"), type(reader).__module__
    if folder != "nested":
        reader.save_pretrained(f"{second}/{folder}")
print("loaded")
"""


@pytest.mark.full
@pytest.mark.parametrize("first", ["AutoProcessor", "AutoFeatureExtractor"])
def test_remote_code_loads_what_reads_without_import(tmp_path, first):
    """Alone, or as a part of a processor; each kind is loaded before anything else has imported the package."""
    extractor, tokenizer = SpectralFeatureExtractor(), build_tokenizer(["ba"], kind="character", append_eos=True)
    readers = {
        "processor": SpectralTransformerProcessor(extractor, tokenizer),
        "stories": MemoryProcessor(build_tokenizer(["mary"])),
        "extractor": extractor,
    }
    for folder, reader in readers.items():
        reader.save_pretrained(tmp_path / "first" / folder)
    readers["nested"] = readers["processor"].feature_extractor
    shutil.copytree(tmp_path / "first/processor", tmp_path / "first/nested")
    autos = {"extractor": "AutoFeatureExtractor", "nested": "AutoFeatureExtractor"}
    wanted = [
        (folder, autos.get(folder, "AutoProcessor"), type(reader).__name__) for folder, reader in readers.items()
    ]
    wanted.sort(key=lambda each: each[1] != first)
    done = run(READ, tmp_path / "first", tmp_path / "second", json.dumps(wanted), home=tmp_path / "home")
    assert done.stdout.strip().endswith("loaded"), done.stderr
    for folder in readers.keys() - {"nested"}:
        files = {path.name for path in (tmp_path / "first" / folder).iterdir()}
        assert f"{READER_SHIM_NAME}.py" in files
        assert {path.name for path in (tmp_path / "second" / folder).iterdir()} == files
        for file in files - {"tokenizer_config.json"}:  # where Transformers says whence it was loaded
            one, two = (tmp_path / each / folder / file for each in ("first", "second"))
            assert one.read_bytes() == two.read_bytes(), file


@pytest.mark.full
def test_without_the_package_the_error_names_it(tmp_path):
    build(ComplexOrderModel).save_pretrained(tmp_path / "model")
    code = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name == "complex_transformers":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NotInstalled())
from transformers import AutoModel
AutoModel.from_pretrained(sys.argv[1], trust_remote_code=True)
"""
    done = run(code, tmp_path / "model", home=tmp_path / "home")
    assert done.returncode != 0
    assert "pip install complex_transformers" in done.stderr.replace("`", "")


def test_configuration_points_to_the_shim(tmp_path):
    """Check a model, and a model with another head loaded from its folder."""
    build(ComplexOrderForMaskedLM).save_pretrained(tmp_path)
    ComplexOrderForTokenClassification.from_pretrained(tmp_path).save_pretrained(tmp_path / "head")
    for folder, kind in ((tmp_path, "ForMaskedLM"), (tmp_path / "head", "ForTokenClassification")):
        stored = json.loads((folder / "config.json").read_text())
        names = {"AutoConfig": "ComplexOrderConfig", f"AutoModel{kind}": f"ComplexOrder{kind}"}
        assert stored["auto_map"] == {auto: f"complex_transformers_hub.{name}" for auto, name in names.items()}
        assert stored["architectures"] == [f"ComplexOrder{kind}"]
        # Where Transformers' error sends whoever has not imported the package.
        shim = (folder / "complex_transformers_hub.py").read_text()
        assert "Import complex_transformers first, or pass trust_remote_code=True" in shim


def test_model_card(tmp_path):
    model = build(ComplexOrderForMaskedLM)
    given = {"training_data": "Ten sentences about cats.", "limits": "Knows cats only."}
    path = write_model_card(tmp_path, model, metrics={"accuracy": 0.87654}, license="mit", language="en", **given)
    metadata = front_matter(path)
    assert (metadata["library_name"], metadata["pipeline_tag"]) == ("transformers", "fill-mask")
    assert (metadata["license"], metadata["language"]) == ("mit", "en")
    assert {"complex-valued", "complex_order"} <= set(metadata["tags"])
    size = f"{sum(p.numel() for p in model.parameters()):,} parameters"
    for part in (given["training_data"], given["limits"], "0.8765", size, "8 complex features"):
        assert part in path.read_text()
    path = write_model_card(tmp_path, model, pipeline_tag="summarization")  # what the Hub does not know of our task
    assert front_matter(path)["pipeline_tag"] == "summarization"


def test_card_of_the_user_is_kept_and_replaced_only_on_request(tmp_path):
    model = build(ComplexOrderModel, number_field="real")
    (tmp_path / "README.md").write_text("mine")
    model.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"
    card = write_model_card(tmp_path, model).read_text()
    assert "not stated" in card
    assert "A real-valued" in card
    assert "complex features" not in card


# Those of which the Hub does not know our task: their cards show its use.
TASKS = {"complex-text2text": "AutoModelForSeq2SeqLM", "complex-speech2text": "AutoModelForSpeechSeq2Seq"}


def front_matter(path):
    return ModelCard.load(path).data.to_dict()


def templates():
    return {path.stem for path in (Path(hub.__file__).parent / "model_cards").glob("*.md")}


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("family", model_families())
def test_every_model_of_every_family_has_a_card(family, field, tmp_path):
    config = family_class(family, "AutoConfig")()
    config = config if field == "complex" else config.real_twin(embedding_type="word")
    for auto_class in model_families()[family]:
        if auto_class in ("AutoConfig", "AutoModelForTextEncoding") or file_kind(auto_class) != "modeling":
            continue  # an encoder of texts is the model of AutoModel
        if auto_class == "AutoModelForSpeechSeq2Seq":
            config = type(config)(number_field=config.number_field, variant=config.variant, decoder={"vocab_size": 9})
        if family == "complex_mlp":
            bag = "binary" if auto_class == "AutoModelForSequenceClassification" else "none"
            config = type(config)(number_field=config.number_field, bag_of_words=bag)
        with torch.device("meta"):
            model = family_class(family, auto_class)(config)
        path = write_model_card(tmp_path, model)
        body = path.read_text().split("---\n", 2)[2]
        parts = (f"# {type(model).__name__}\n", f"A {field}-valued `{family}`", f"{auto_class}.from_pre")
        if issubclass(type(model), ImagePreTrainedModel):
            parts += ("AutoTokenizer, " if model.main_input_name == "input_ids" else "AutoImageProcessor, ",)
        for part in ("import complex_transformers", *parts):
            assert part in body, part
        for task, reader in TASKS.items():
            assert (f'pipeline("{task}", model="path-or-repo")' in body) == (auto_class == reader)
        assert ("complex features" in body) == ("to_complex" in body) == (field == "complex")
        assert "pypi.org" not in body  # the package is not there
        assert "{" not in body.replace("{{", "")  # nothing of the template is left
        assert ("Source: " in body) == (family in templates())  # a family without a template has the frame
        assert family in front_matter(path)["tags"]


def test_the_templates_are_those_of_the_families():
    assert templates() <= {"base", *model_families()}
    assert len(templates()) >= 1 + 11


def test_values_of_a_card_are_texts_and_numbers_and_nothing_more(tmp_path):
    model = build(ComplexOrderModel)
    given = {
        "language": "no",  # not a YAML false
        "license": "mit\n---\ntags: [stolen]",
        "limits": "{{ config.hidden_size }} {% raise %}",
        "metrics": {"accuracy": 0.5, "BLEU | chrF": "31.4 |\n55", "n": torch.tensor(3)},
        "training_data": "---\nlicense: none\n---",
    }
    path = write_model_card(tmp_path, model, **given)
    metadata = front_matter(path)
    assert (metadata["language"], metadata["license"]) == ("no", given["license"])
    assert "stolen" not in metadata["tags"]
    assert "model-index" not in metadata
    for row in ("| accuracy | 0.5000 |", "| BLEU \\| chrF | 31.4 \\| 55 |", "| n | 3 |", given["limits"]):
        assert row in path.read_text()


def test_figures_on_one_data_set_are_for_the_hub_to_read(tmp_path):
    model = build(ComplexOrderForSequenceClassification)
    metrics = {"accuracy": 0.5, "note": "one seed"}
    path = write_model_card(
        tmp_path, model, metrics=metrics, datasets="imdb", repo_id="us/cats", language=["en", "no"]
    )
    (entry,) = front_matter(path)["model-index"]
    assert (entry["name"], front_matter(path)["datasets"]) == ("us/cats", ["imdb"])
    (result,) = entry["results"]
    assert (result["task"]["type"], result["dataset"]["type"]) == ("text-classification", "imdb")
    assert [(metric["type"], metric["value"]) for metric in result["metrics"]] == [("accuracy", 0.5)]
    assert path.read_text().count('"us/cats"') == 2
    assert "model-index" not in front_matter(write_model_card(tmp_path, model, metrics=metrics, datasets=["a", "b"]))


def test_links_are_replaced_and_what_they_lead_to_is_left_alone(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("README.md", f"{SHIM_NAME}.py"):
        (tmp_path / name).write_text("not ours")
        (tmp_path / "folder" / name).symlink_to(tmp_path / name)
    model = build(ComplexOrderModel)
    model.save_pretrained(tmp_path / "folder")
    assert (tmp_path / "folder/README.md").is_symlink()  # the user's card, wherever it is
    write_model_card(tmp_path / "folder", model)
    for name in ("README.md", f"{SHIM_NAME}.py"):
        assert (tmp_path / name).read_text() == "not ours"
        assert "complex_transformers" in (tmp_path / "folder" / name).read_text()
    (tmp_path / "folder/README.md").unlink()
    (tmp_path / "folder/README.md").symlink_to(tmp_path / "nowhere.md")
    model.save_pretrained(tmp_path / "folder")
    assert not (tmp_path / "nowhere.md").exists()


class DerivedConfig(ComplexOrderConfig):
    """As a user would write it."""


class OtherConfig(ComplexOrderConfig):
    """Of a model type the package does not know."""

    model_type = "order_of_somebody"


class DerivedModel(ComplexOrderModel):
    config_class = DerivedConfig


def test_shim_of_a_derived_class_names_what_the_package_has(tmp_path):
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    DerivedModel(DerivedConfig(**sizes)).save_pretrained(tmp_path / "derived")
    shim = (tmp_path / "derived" / f"{SHIM_NAME}.py").read_text()
    assert "import ComplexOrderConfig, ComplexOrderModel\n" in shim
    assert all(hasattr(complex_transformers, name) for name in ("ComplexOrderConfig", "ComplexOrderModel"))
    assert type(AutoModel.from_pretrained(tmp_path / "derived", trust_remote_code=True)) is ComplexOrderModel
    DerivedModel(OtherConfig(**sizes)).save_pretrained(tmp_path / "other")
    assert not (tmp_path / "other" / f"{SHIM_NAME}.py").exists()
    assert "auto_map" not in json.loads((tmp_path / "other/config.json").read_text())
    assert "is not in the package" in (tmp_path / "other/README.md").read_text()
