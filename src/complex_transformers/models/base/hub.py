# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a saved folder needs to be shared: the shim for ``trust_remote_code`` and the model card."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import model_families

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["HubMixin", "write_hub_shim", "write_model_card"]

# Transformers 5 refuses its old names of this task, "translation" and "text2text-generation".
TEXT_TO_TEXT_TASK = "complex-text2text"
# "automatic-speech-recognition" takes every model that is not in Transformers' own list for one of CTC.
SPEECH_TO_TEXT_TASK = "complex-speech2text"

SHIM_NAME = "complex_transformers_hub"
# Tasks under which the Hub files models. It does not know ours, and is retiring the general "text2text-generation": a
# text-to-text model that does something else than translate says so by ``pipeline_tag``.
_TASKS = {
    "AutoModel": "feature-extraction",
    "AutoModelForAudioClassification": "audio-classification",
    "AutoModelForCTC": "automatic-speech-recognition",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForSeq2SeqLM": "translation",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForSpeechSeq2Seq": "automatic-speech-recognition",
    "AutoModelForTokenClassification": "token-classification",
}

# Models whose task is one of ours -> how to run it.
_USES = {
    "AutoModelForSeq2SeqLM": f"""\
From text to text, `complex_transformers` imported as above:

```python
from transformers import pipeline

generate = pipeline("{TEXT_TO_TEXT_TASK}", model="path-or-repo")
print(generate("a text")[0]["generated_text"])
```

""",
    "AutoModelForSpeechSeq2Seq": f"""\
From audio to text, `complex_transformers` imported as above:

```python
from transformers import pipeline

transcribe = pipeline("{SPEECH_TO_TEXT_TASK}", model="path-or-repo")
print(transcribe("audio.wav")["text"])
```

""",
}


class HubMixin:
    """Keeps ``save_pretrained`` from copying package files, which relative imports across folders would break."""

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = None) -> None:
        """No effect: the package registers its classes itself, and the shim of ``write_hub_shim`` finds them."""


def _auto_class(model: PreTrainedModel) -> str | None:
    """The Auto class that loads a model of this package."""
    classes = model_families().get(model.config.model_type, {})
    return next((auto for auto, name in classes.items() if name == type(model).__name__), None)


def auto_map(model: PreTrainedModel) -> dict[str, str]:
    """The ``auto_map`` of ``config.json`` that leads ``trust_remote_code=True`` to the shim."""
    entries = {"AutoConfig": f"{SHIM_NAME}.{type(model.config).__name__}"}
    if (auto_class := _auto_class(model)) is not None:
        entries[auto_class] = f"{SHIM_NAME}.{type(model).__name__}"
    return entries


def write_hub_shim(directory: str | os.PathLike[str], model: PreTrainedModel) -> Path:
    """Write the module through which ``trust_remote_code=True`` finds the installed package.

    Without the package installed, loading fails with Transformers' message that names it. Returns the file's path.
    """
    names = sorted({type(model.config).__name__, type(model).__name__})
    path = Path(directory) / f"{SHIM_NAME}.py"
    path.write_text(
        '"""Loads this model from the installed package: pip install complex_transformers"""\n\n'
        f"from complex_transformers import {', '.join(names)}\n\n"
        f"__all__ = {names}\n".replace("'", '"'),
        encoding="utf-8",
    )
    return path


def write_model_card(
    directory: str | os.PathLike[str],
    model: PreTrainedModel,
    *,
    training_data: str | None = None,
    metrics: dict[str, float] | None = None,
    limits: str | None = None,
    license: str = "apache-2.0",
    language: str | None = None,
    pipeline_tag: str | None = None,
    overwrite: bool = True,
) -> Path:
    """Write ``README.md``: the card of a saved model, with its metadata block.

    Args:
        directory: a folder that ``save_pretrained`` has written.
        model: the model saved there.
        training_data, metrics, limits: what a reader must know; left out, the card says "not stated".
        license, language: metadata of the Hub.
        pipeline_tag: the task under which the Hub files the model; left out, that of its Auto class, which is
            ``translation`` for a model from text to text.
        overwrite: replace a card that is there already.

    Returns:
        The path of the card.
    """
    path = Path(directory) / "README.md"
    if path.exists() and not overwrite:
        return path
    config, auto_class = model.config, _auto_class(model)
    task = pipeline_tag or _TASKS.get(auto_class or "")
    auto_class = auto_class or "AutoModel"
    header = ["---", "library_name: transformers", f"license: {license}"]
    header += [f"language: {language}"] if language else []
    header += [f"pipeline_tag: {task}"] if task else []
    header += ["tags:", "- complex-valued", "- complex_transformers", f"- {config.model_type}", "---"]
    rows = [f"| {name} | {value:.4f} |" for name, value in (metrics or {}).items()]
    table = ["| metric | value |", "|---|---|", *rows] if rows else ["not stated"]
    parameters = sum(p.numel() for p in model.parameters())
    halves = f" ({config.hidden_size // 2} complex features)" if config.number_field == "complex" else ""
    facts = [f"{parameters:,} parameters", f"hidden size\n{config.hidden_size}{halves}"]
    for name, words in (("num_hidden_layers", "layer(s)"), ("num_attention_heads", "heads")):
        facts += [f"{getattr(config, name)} {words}"] if hasattr(config, name) else []
    described = {
        "variant": "variant",
        "embedding_type": "embedding",
        "rnn_type": "cell",
        "attention_type": "attention",
    }
    facts += [f"{words} `{getattr(config, name)}`" for name, words in described.items() if hasattr(config, name)]
    # A head for text has a tokenizer beside its feature extractor, but the model reads features alone.
    reads_audio = "audio" in model.input_modalities
    reader, variable = ("AutoFeatureExtractor", "extractor") if reads_audio else ("AutoTokenizer", "tokenizer")
    usage = _USES.get(auto_class, "")
    body = f"""
# {type(model).__name__}

A {config.number_field}-valued `{config.model_type}` model of
[complex_transformers](https://pypi.org/project/complex_transformers): {", ".join(facts)}.

## Use

```python
import complex_transformers  # registers the model
from transformers import {reader}, {auto_class}

{variable} = {reader}.from_pretrained("path-or-repo")
model = {auto_class}.from_pretrained("path-or-repo")
```

{usage}With the package installed, `trust_remote_code=True` loads the model without the first import.

## Training data

{training_data or "not stated"}

## Results

{chr(10).join(table)}

## Limits

{limits or "not stated"}
"""
    path.write_text("\n".join(header) + "\n" + body, encoding="utf-8")
    return path
