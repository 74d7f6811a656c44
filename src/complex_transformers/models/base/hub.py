# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a saved folder needs to be shared: the shims for ``trust_remote_code`` and the model card.

The templates of cards are in ``model_cards/`` beside this file, since an installed package needs them, and the folder
of this name at the root of the repository is a link to it: one template a family, on the frame ``base.md``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from .. import model_families

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.modelcard import TrainingSummary

__all__ = [
    "HubMixin",
    "ReaderHubMixin",
    "card_text",
    "complete_card",
    "write_hub_shim",
    "write_model_card",
]

# Transformers 5 refuses its old names of this task, "translation" and "text2text-generation".
TEXT_TO_TEXT_TASK = "complex-text2text"
# "automatic-speech-recognition" takes every model that is not in Transformers' own list for one of CTC.
SPEECH_TO_TEXT_TASK = "complex-speech2text"
# A story, a question about it, and one of a model's answers.
QUESTION_ANSWERING_TASK = "complex-question-answering"

SHIM_NAME = "complex_transformers_hub"
# A file of its own: what reads is saved before or after its model, or without one.
READER_SHIM_NAME = "complex_transformers_hub_readers"
CARD_NAME = "README.md"
# Where a card names the folder or the repository that it is in.
PLACEHOLDER = "path-or-repo"
# Transformers puts a card of nothing but gaps where a repository has none.
EMPTY_CARD = "This model card has been automatically generated."
GAP = "[More Information Needed]"
_TEMPLATES = Path(__file__).parent / "model_cards"
_PACKAGE = __package__.partition(".")[0]
# Not image processors: pipelines would take their `auto_map` for that of a video processor, and ask to run its code.
_READERS = ("AutoFeatureExtractor", "AutoProcessor")
# Tasks under which the Hub files models. It does not know ours, and is retiring the general "text2text-generation": a
# text-to-text model that does something else than translate says so by ``pipeline_tag``.
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
    """Keeps ``save_pretrained`` from copying package files, which relative imports across folders would break."""

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """No effect: the package registers its classes itself, and the shims find them."""


class ReaderHubMixin(HubMixin):
    """Saves and pushes a processor or a feature extractor with a shim of its own."""

    def to_dict(self) -> dict[str, Any]:
        """As in Transformers, with the ``auto_map`` that leads ``trust_remote_code=True`` to the shim."""
        autos = {name: auto for classes in model_families().values() for auto, name in classes.items()}
        name = _nearest(type(self), autos)
        own = {} if name is None else {"auto_map": {autos[name]: f"{READER_SHIM_NAME}.{name}"}}
        return {**super().to_dict(), **own}  # type: ignore[misc]

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
        """As in Transformers; also writes the shim."""
        files = super().save_pretrained(save_directory, *args, **kwargs)  # type: ignore[misc]
        _write_reader_shim(save_directory, type(self))
        return files

    def _upload_modified_files(
        self, working_dir: Any, repo_id: str, files_timestamps: dict[str, float], *args: Any, **kwargs: Any
    ) -> Any:
        """As in Transformers, with the shim."""
        shim = _write_reader_shim(working_dir, type(self))
        kept = {name: time for name, time in files_timestamps.items() if name != shim.name}
        return super()._upload_modified_files(working_dir, repo_id, kept, *args, **kwargs)  # type: ignore[misc]


def _nearest(cls: type, names: Mapping[str, str]) -> str | None:
    """The name of a class of this package among ``names``: of ``cls``, or of its nearest base."""
    bases = (base.__name__ for base in cls.__mro__ if base.__module__.partition(".")[0] == _PACKAGE)
    return next((name for name in bases if name in names), None)


def _family(model: PreTrainedModel) -> str | None:
    """The folder of ``models/`` that a model or its base comes from."""
    configs = {classes["AutoConfig"]: family for family, classes in model_families().items()}
    return configs.get(_nearest(type(model.config), configs) or "")


def _auto_class(model: PreTrainedModel) -> str | None:
    """The Auto class that loads a model of this package, or its nearest base."""
    classes = model_families().get(_family(model) or "", {})
    names = {name: auto for auto, name in reversed(classes.items())}  # the first of those that load the same class
    return names.get(_nearest(type(model), names) or "")


def model_tags(model: PreTrainedModel) -> list[str]:
    return ["complex-valued", "complex_transformers", model.config.model_type]


def auto_map(model: PreTrainedModel) -> dict[str, str]:
    """The ``auto_map`` of ``config.json`` that leads ``trust_remote_code=True`` to the shim.

    A class derived outside the package stands there as its nearest base, which is what the Auto classes load without
    the shim, too. Where the configuration has a model type of its own, nothing here can load it: the map is empty.
    """
    family = _family(model)
    if family is None or model.config.model_type != family:
        return {}
    classes, auto_class = model_families()[family], _auto_class(model)
    return {auto: f"{SHIM_NAME}.{classes[auto]}" for auto in ("AutoConfig", auto_class) if auto is not None}


def write_hub_shim(directory: str | os.PathLike[str], model: PreTrainedModel) -> Path | None:
    """Write the module through which ``trust_remote_code=True`` finds the installed package.

    Without the package installed, loading fails with Transformers' message that names it. Returns the file's path, or
    None for a model type that the package does not have: no shim could load it.
    """
    names = sorted({entry.partition(".")[2] for entry in auto_map(model).values()})
    if not names:
        return None
    return write_file(Path(directory) / f"{SHIM_NAME}.py", _shim("model", names))


def _write_reader_shim(directory: str | os.PathLike[str], reader: type) -> Path:
    """``write_hub_shim`` of what reads: all readers of its families, since a processor has others inside."""
    families = [{name: auto for auto, name in classes.items()} for classes in model_families().values()]
    names = {name for family in families if _nearest(reader, family) for name in family if family[name] in _READERS}
    return write_file(Path(directory) / f"{READER_SHIM_NAME}.py", _shim("processor", sorted(names)))


def _shim(what: str, names: list[str]) -> str:
    """The text of a module that imports ``names`` from the installed package."""
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
    """The card of a model as ``write_model_card`` writes it."""
    import jinja2

    config, family, auto_class = model.config, _family(model), _auto_class(model)
    task = pipeline_tag or _TASKS.get(auto_class or "")
    name = type(model).__name__
    metrics = {
        metric: getattr(value, "item", lambda value=value: value)() for metric, value in (metrics or {}).items()
    }
    datasets = [datasets] if isinstance(datasets, str) else list(datasets or ())
    # The Hub wants to know which data a figure is of.
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
    # A head for text has a tokenizer beside its feature extractor, but the model reads features alone.
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
    """Write ``README.md``: the card of a saved model, with its metadata block.

    Args:
        directory: a folder that ``save_pretrained`` has written.
        model: the model saved there.
        overwrite: replace a card that is there already. A link is replaced, not what it leads to.
        contents: ``training_data``, ``metrics`` (numbers or texts by name) and ``limits``, which a reader must know:
            left out, the card says "not stated". Metadata of the Hub: ``license`` (``apache-2.0``), ``language`` and
            ``datasets``, one or several; with one data set, numbers go into its table of results. ``pipeline_tag``,
            the task under which the Hub files the model: left out, that of its Auto class, which is ``translation``
            for a model from text to text. ``repo_id``, where the card will be: pushing fills it in.

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
    """The card of a folder, or a new one, with what the summary of a ``Trainer`` knows more."""
    card = ModelCard.load(write_model_card(directory, model, overwrite=False))
    theirs = ModelCard(summary.to_model_card())
    for name in ("language", "license", "base_model", "datasets", "metrics", "eval_results"):
        card.data[name] = theirs.data.get(name) or card.data.get(name)
    card.data.model_name = summary.model_name if card.data.eval_results else None
    add_tags(card, theirs)
    named = [summary.dataset] if isinstance(summary.dataset, str) else summary.dataset or ["not stated"]
    card.text = card.text.replace("## Training data\n\nnot stated\n", f"## Training data\n\n{', '.join(named)}\n")
    _, title, procedure = theirs.text.partition("\n## Training procedure")
    card.text = card.text.partition(title)[0] + title + procedure
    return write_file(Path(directory) / CARD_NAME, name_repository(card, repo_id))


def add_tags(card: ModelCard, other: ModelCard) -> None:
    """Tags of both, each once."""
    card.data.tags = list(dict.fromkeys([*(card.data.tags or ()), *(other.data.tags or ())]))


def name_repository(card: ModelCard, repo_id: str | None) -> str:
    """The text of a card that names the repository it is in."""
    return str(card).replace(f'"{PLACEHOLDER}"', f'"{repo_id or PLACEHOLDER}"')


def _cell(value: Any) -> str:
    """A value in a row of a table: numbers to four digits, text without what would end the cell."""
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def write_file(path: Path, text: str) -> Path:
    """Write a file; a link is replaced, since what it leads to may be a file of the cache, or nobody's of ours."""
    if path.is_symlink():
        path.unlink()
    path.write_text(text, encoding="utf-8")
    return path
