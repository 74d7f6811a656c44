# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The documentation: complete, built without warnings, and its snippets run."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from transformers import PreTrainedConfig, TrainingArguments

import complex_transformers
from complex_transformers import nn

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SNIPPET_FILES = (
    "README.md",
    "docs/quickstart.md",
    "docs/text-to-text.md",
    "docs/models/complex_order.md",
    "docs/models/complex_transfo_xl.md",
    "docs/models/spectral_transformer.md",
    "docs/models/synconmt.md",
    "docs/models/complex_fasttext.md",
    "docs/models/complex_text_cnn.md",
    "docs/models/complex_text_rnn.md",
    "docs/models/complex_text_gcn.md",
    "docs/concepts/representation.md",
    "docs/concepts/embedding.md",
    "docs/concepts/attention-scores.md",
    "docs/concepts/norms.md",
    "docs/concepts/initialization.md",
)
# Described in the text of the API's first page.
NOT_OBJECTS = {"functional"}
# Arguments that mean what they mean in torch and Transformers.
COMMON_ARGUMENTS = {"self", "args", "kwargs", "device", "dtype", "x", "z", "weight", "number_field"}

TOP_LEVEL = sorted(
    name for name in complex_transformers.__all__ if not inspect.ismodule(getattr(complex_transformers, name))
)
LAYERS = sorted(set(nn.__all__) - NOT_OBJECTS)
PUBLIC = {
    **{f"nn.{name}": getattr(nn, name) for name in LAYERS},
    **{name: getattr(complex_transformers, name) for name in TOP_LEVEL},
}
DOCUMENTED = {
    name: value
    for name, value in PUBLIC.items()
    if inspect.isclass(value) or inspect.isfunction(value)  # the others are tables and tuples of names
}


def modules_of_api_pages() -> list[str]:
    pages = sorted((DOCS / "api").glob("*.md"))
    return [m for page in pages for m in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)]


def names_of_api_pages() -> set[str]:
    names: set[str] = set()
    for module in modules_of_api_pages():
        names |= set(importlib.import_module(module).__all__)
    return names


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_name_is_in_the_api_pages(name: str) -> None:
    assert name.removeprefix("nn.") in names_of_api_pages(), (
        f"{name} is public but in no page of docs/api: add its module there, or the name to its module's __all__"
    )


def test_index_of_the_api_names_what_is_no_object() -> None:
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text or f"`nn.{name}`" in text for name in NOT_OBJECTS)


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_public_name_has_a_docstring(name: str) -> None:
    value = DOCUMENTED[name]
    text = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
    assert text, f"{name} has no docstring"
    assert not re.search(r":(func|class|meth|mod|attr):`", text), f"{name}: write ``name``, not a Sphinx role"
    if inspect.isclass(value) and value.__module__.startswith("complex_transformers"):
        for method, function in value.__dict__.items():
            inherited = any(hasattr(base, method) for base in value.__mro__[1:])
            if inspect.isfunction(function) and not method.startswith("_") and not inherited:
                assert function.__doc__, f"{name}.{method} has no docstring"


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_docstring_with_arguments_names_them_all(name: str) -> None:
    value = DOCUMENTED[name]
    text = inspect.getdoc(value) or ""
    if "Args:" not in text:
        return
    listed = text.split("Args:")[1].split("\n\n")[0]
    own = list(inspect.signature(value.__init__ if inspect.isclass(value) else value).parameters)
    if inspect.isclass(value) and issubclass(
        value, (PreTrainedConfig, TrainingArguments)
    ):  # Transformers documents its own
        own = [field for field in own if field in value.__annotations__]
    missing = [p for p in own if p not in COMMON_ARGUMENTS and not re.search(rf"\b{p}\b", listed)]
    assert not missing, f"{name}: Args of the docstring leave out {missing}"


@pytest.mark.parametrize("path", SNIPPET_FILES)
def test_snippets_run(path: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / path).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    script = tmp_path / "snippets.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["HF_HOME"] = str(tmp_path / "cache")
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{path}:\n{done.stdout}\n{done.stderr}"
    if path == "README.md":
        assert done.stdout.splitlines()[-1] == "['dog bites', 'man bites']"


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_of_root_files_lead_somewhere(path: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / path).read_text(encoding="utf-8"))
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing, f"{path} links to {missing}"


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings")),
    reason="needs the extra docs: pip install complex_transformers[docs]",
)
def test_site_builds_without_warnings_and_holds_every_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^WARNING", done.stderr, re.MULTILINE), done.stderr
    # The inventory: four lines of header, then one object to a line, compressed.
    inventory = zlib.decompress((tmp_path / "site" / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    targets = {line.split()[0] for line in inventory.splitlines()}
    missing = [name for name, value in DOCUMENTED.items() if f"{value.__module__}.{value.__qualname__}" not in targets]
    assert not missing, f"not rendered in the API pages: {missing}"
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html"))
    fetched = re.findall(r'(?:src=|rel="stylesheet" href=|rel="preconnect" href=)"?(https?://[^" >]+)', pages)
    assert not fetched, f"pages fetch {sorted(set(fetched))}: the site must work offline"
