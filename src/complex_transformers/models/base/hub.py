# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the files that make a saved folder shareable: shims for ``trust_remote_code`` and the model card.

The templates of cards, one per family on top of ``base.md``, are in ``model_cards/`` beside this file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData, create_repo, file_exists, upload_folder

from .. import model_families

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.modelcard import TrainingSummary

__all__ = [
    "HubMixin",
    "ProcessorHubMixin",
    "card_text",
    "complete_card",
    "prepare_repository",
    "write_hub_shim",
    "write_model_card",
]

# Transformers 5 rejects its old names of this task, "translation" and "text2text-generation".
TEXT_TO_TEXT_TASK = "complex-text2text"
# The pipeline "automatic-speech-recognition" treats every model outside Transformers' own list as a CTC model.
SPEECH_TO_TEXT_TASK = "complex-speech2text"
# Answers to a question about a story, from a fixed set of answers.
QUESTION_ANSWERING_TASK = "complex-question-answering"

SHIM_NAME = "complex_transformers_hub"
# Processors have a separate shim: they are saved before or after their model, or without one.
READER_SHIM_NAME = "complex_transformers_hub_readers"
CARD_NAME = "README.md"
# Stands in a card for the repository until it is pushed.
PLACEHOLDER = "path-or-repo"
_TEMPLATES = Path(__file__).parent / "model_cards"
_PACKAGE = __package__.partition(".")[0]
# Image processors are missing: pipelines would read their `auto_map` as a video processor and ask to run its code.
_PROCESSORS = ("AutoFeatureExtractor", "AutoProcessor")
# Task tags of the Hub, which does not know ours and is retiring "text2text-generation". A text-to-text model for
# another task than translation sets ``pipeline_tag``.
_TASKS = {
    "AutoModel": "feature-extraction",
    "AutoModelForAudioClassification": "audio-classification",
    "AutoModelForCTC": "automatic-speech-recognition",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForImageClassification": "image-classification",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForMultipleChoice": "multiple-choice",
    "AutoModelForQuestionAnswering": "question-answering",
    "AutoModelForSeq2SeqLM": "translation",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForSpeechSeq2Seq": "automatic-speech-recognition",
    "AutoModelForTokenClassification": "token-classification",
}


class HubMixin:
    """Keeps ``save_pretrained`` from copying package files, whose relative imports would fail in another folder."""

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """Do nothing: the package registers its classes itself, and the shims import them."""


class ProcessorHubMixin(HubMixin):
    """Saves and pushes a processor or a feature extractor with its shim for ``trust_remote_code``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration with the ``auto_map`` that leads ``trust_remote_code=True`` to the shim."""
        autos = {name: auto for classes in model_families().values() for auto, name in classes.items()}
        name = _nearest(type(self), autos)
        shim = {} if name is None else {"auto_map": {autos[name]: f"{READER_SHIM_NAME}.{name}"}}
        return {**super().to_dict(), **shim}  # type: ignore[misc]

    def save_pretrained(self, save_directory: str | os.PathLike[str], push_to_hub: bool = False, **kwargs: Any) -> Any:
        """Save as Transformers does, and write the shim for ``trust_remote_code``."""
        files = super().save_pretrained(save_directory, **({} if push_to_hub else kwargs))  # type: ignore[misc]
        _write_processor_shim(save_directory, type(self))
        if push_to_hub:  # Transformers would upload before the shim is written
            self.push_to_hub(kwargs.pop("repo_id", Path(save_directory).name), **kwargs)  # type: ignore[attr-defined]
        return files


def prepare_repository(
    model: PreTrainedModel,
    repo_id: str,
    card: str | None,
    private: bool | None,
    token: str | bool | None,
    with_shim: bool = True,
) -> None:
    """Upload the shim, and a card if the repository has none: Transformers would create one without content."""
    repo_id = create_repo(repo_id, private=private, token=token, exist_ok=True).repo_id
    with TemporaryDirectory() as folder:
        if with_shim:
            write_hub_shim(folder, model)
        if not file_exists(repo_id, CARD_NAME, token=token):
            write_file(Path(folder) / CARD_NAME, name_repository(ModelCard(card or card_text(model)), repo_id))
        if os.listdir(folder):
            upload_folder(repo_id=repo_id, folder_path=folder, token=token, commit_message="Upload model card")


def _nearest(cls: type, names: Mapping[str, str]) -> str | None:
    """Return the name of ``cls``, or of its nearest base class in this package, that is in ``names``."""
    bases = (base.__name__ for base in cls.__mro__ if base.__module__.partition(".")[0] == _PACKAGE)
    return next((name for name in bases if name in names), None)


def _family(model: PreTrainedModel) -> str | None:
    """Return the folder of ``models/`` that contains the class of a model or its base class."""
    configs = {classes["AutoConfig"]: family for family, classes in model_families().items()}
    return configs.get(_nearest(type(model.config), configs) or "")


def _auto_class(model: PreTrainedModel) -> str | None:
    """Return the Auto class that loads a model or its nearest base class in this package."""
    classes = model_families().get(_family(model) or "", {})
    names = {name: auto for auto, name in reversed(classes.items())}  # the first one wins
    return names.get(_nearest(type(model), names) or "")


def model_tags(model: PreTrainedModel) -> list[str]:
    return ["complex-valued", "complex_transformers", model.config.model_type]


def auto_map(model: PreTrainedModel) -> dict[str, str]:
    """Return the ``auto_map`` of ``config.json`` that leads ``trust_remote_code=True`` to the shim.

    A class derived outside the package is listed as its nearest base class in the package, which the Auto classes also
    load without the shim. The map is empty for a model type that the package does not have.
    """
    family = _family(model)
    if family is None or model.config.model_type != family:
        return {}
    classes, auto_class = model_families()[family], _auto_class(model)
    return {auto: f"{SHIM_NAME}.{classes[auto]}" for auto in ("AutoConfig", auto_class) if auto is not None}


def write_hub_shim(directory: str | os.PathLike[str], model: PreTrainedModel) -> Path | None:
    """Write the module that imports the classes of the installed package for ``trust_remote_code=True``.

    Without the package, loading fails with Transformers' message that names it.

    Returns:
        The path of the file, or None for a model type that the package does not have.
    """
    names = sorted({entry.partition(".")[2] for entry in auto_map(model).values()})
    if not names:
        return None
    return write_file(Path(directory) / f"{SHIM_NAME}.py", _shim("model", names))


def _write_processor_shim(directory: str | os.PathLike[str], reader: type) -> Path:
    """Write the shim of a processor, which imports all processors and feature extractors of its families."""
    families = [{name: auto for auto, name in classes.items()} for classes in model_families().values()]
    names = {name for family in families if _nearest(reader, family) for name in family if family[name] in _PROCESSORS}
    return write_file(Path(directory) / f"{READER_SHIM_NAME}.py", _shim("processor", sorted(names)))


def _shim(what: str, names: list[str]) -> str:
    """Return the source of a module that imports ``names`` from the installed package."""
    return (
        f'"""Import complex_transformers first, or pass trust_remote_code=True, to load this {what}.\n\n'
        'Its code is that of the installed package (pip install complex_transformers).\n"""\n\n'
        f"from complex_transformers import {', '.join(names)}\n\n"
        f"__all__ = {names}\n".replace("'", '"')
    )


def card_text(
    model: PreTrainedModel,
    *,
    training_data: str | None = None,
    metrics: Mapping[str, Any] | None = None,
    limits: str | None = None,
    license: str = "apache-2.0",
    language: str | Sequence[str] | None = None,
    datasets: str | Sequence[str] | None = None,
    pipeline_tag: str | None = None,
    repo_id: str | None = None,
) -> str:
    """Return the model card that ``write_model_card`` writes."""
    import jinja2

    config, family, auto_class = model.config, _family(model), _auto_class(model)
    task = pipeline_tag or _TASKS.get(auto_class or "")
    name = type(model).__name__
    metrics = {
        metric: getattr(value, "item", lambda value=value: value)() for metric, value in (metrics or {}).items()
    }
    datasets = [datasets] if isinstance(datasets, str) else list(datasets or ())
    # The Hub needs the data set of each result.
    results = [
        EvalResult(task, datasets[0], datasets[0], metric, value, metric_name=metric)
        for metric, value in metrics.items()
        if task and len(datasets) == 1 and isinstance(value, float)
    ]
    data = ModelCardData(
        library_name="transformers",
        license=license,
        language=language if language is None or isinstance(language, str) else list(language),
        pipeline_tag=task,
        tags=model_tags(model),
        datasets=datasets or None,
        model_name=(repo_id or name) if results else None,
        eval_results=results or None,
    )
    # A speech model with a text head has a tokenizer, but its inputs come from the feature extractor.
    readers = {"AutoFeatureExtractor": "extractor", "AutoProcessor": "processor", "AutoTokenizer": "tokenizer"}
    if model.main_input_name == "pixel_values":
        readers = {"AutoImageProcessor": "image_processor"}
    known = {"AutoTokenizer": "", **model_families().get(family or "", {})}
    reader = next(reader for reader in readers if reader in known)
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    templates.filters["cell"] = _cell
    body = templates.select_template([f"{family}.md", "base.md"]).render(
        title=name,
        config=config,
        parameters=model.num_parameters(),
        auto_class=auto_class or "AutoModel",
        reader=reader,
        variable=readers[reader],
        repo_id=repo_id or PLACEHOLDER,
        in_package=bool(auto_map(model)),
        training_data=training_data,
        metrics=metrics,
        limits=limits,
        text_to_text=TEXT_TO_TEXT_TASK,
        speech_to_text=SPEECH_TO_TEXT_TASK,
        question_answering=QUESTION_ANSWERING_TASK,
    )
    return str(ModelCard.from_template(data, template_str="---\n{{ card_data }}\n---\n\n{{ body }}\n", body=body))


def write_model_card(
    directory: str | os.PathLike[str], model: PreTrainedModel, *, overwrite: bool = True, **contents: Any
) -> Path:
    """Write the model card ``README.md`` with its metadata block.

    Args:
        directory: a folder written by ``save_pretrained``.
        model: the model saved there.
        overwrite: replace an existing card. A link is replaced, its target is not changed.
        contents: text fields ``training_data``, ``metrics`` (by name) and ``limits``; the card says "not stated" for
            missing ones. Metadata: ``license`` (default ``apache-2.0``), ``language`` and ``datasets`` (one or more;
            metrics on one data set become results of the Hub). ``pipeline_tag``: task of the model, by default from
            its Auto class. ``repo_id``: name of the repository, which pushing fills in.

    Returns:
        The path of the card.
    """
    path = Path(directory) / CARD_NAME
    if path.exists() and not overwrite:
        return path
    return write_file(path, card_text(model, **contents))


def complete_card(
    directory: str | os.PathLike[str], model: PreTrainedModel, summary: TrainingSummary, repo_id: str | None
) -> Path:
    """Add the training data, metrics and hyperparameters of a ``Trainer`` to the model card of a folder.

    Returns:
        The path of the card.
    """
    card = ModelCard.load(write_model_card(directory, model, overwrite=False))
    theirs = ModelCard(summary.to_model_card())
    for name in ("language", "license", "base_model", "datasets", "metrics", "eval_results"):
        card.data[name] = theirs.data.get(name) or card.data.get(name)
    card.data.model_name = summary.model_name if card.data.eval_results else None
    card.data.tags = list(dict.fromkeys([*(card.data.tags or ()), *(theirs.data.tags or ())]))
    named = [summary.dataset] if isinstance(summary.dataset, str) else summary.dataset or ["not stated"]
    card.text = card.text.replace("## Training data\n\nnot stated\n", f"## Training data\n\n{', '.join(named)}\n")
    _, title, procedure = theirs.text.partition("\n## Training procedure")
    card.text = card.text.partition(title)[0] + title + procedure
    return write_file(Path(directory) / CARD_NAME, name_repository(card, repo_id))


def name_repository(card: ModelCard, repo_id: str | None) -> str:
    """Return the text of a card with the name of its repository."""
    return str(card).replace(f'"{PLACEHOLDER}"', f'"{repo_id or PLACEHOLDER}"')


def _cell(value: Any) -> str:
    """Return the text of a table cell: floats with four decimals, pipes escaped, one line."""
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def write_file(path: Path, text: str) -> Path:
    """Write a file; a link is replaced, since its target may be in the cache of the Hub."""
    if path.is_symlink():
        path.unlink()
    path.write_text(text, encoding="utf-8")
    return path
