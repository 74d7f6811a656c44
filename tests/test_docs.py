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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedConfig, TrainingArguments

import complex_transformers
from complex_transformers import nn, recipes, semantics
from complex_transformers.recipes import GivenArguments

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
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
    **{f"semantics.{name}": getattr(semantics, name) for name in semantics.__all__},
    **{f"recipes.{name}": getattr(recipes, name) for name in recipes.__all__},
    **{name: getattr(complex_transformers, name) for name in TOP_LEVEL},
}
DOCUMENTED = {
    name: value
    for name, value in PUBLIC.items()
    if inspect.isclass(value) or inspect.isfunction(value)  # the others are tables and tuples of names
}


def hooks() -> Any:
    """What fills the pages in when the site is built."""
    spec = importlib.util.spec_from_file_location("documentation_hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_public_names_are_in_the_api_pages() -> None:
    missing = {name.rpartition(".")[2] for name in PUBLIC}
    for page in (DOCS / "api").glob("*.md"):
        for module in re.findall(r"^::: (\S+)$", hooks().expand(page.read_text(encoding="utf-8")), re.MULTILINE):
            missing -= set(importlib.import_module(module).__all__)
    assert not missing, (
        f"{sorted(missing)}: public but in no page of docs/api: add the module there, or the name to its __all__"
    )


def test_index_of_the_api_names_everything_public() -> None:
    text = hooks().on_page_markdown((DOCS / "api" / "index.md").read_text(encoding="utf-8"))
    assert all(f"`{name}`" in text for name in [*TOP_LEVEL, *recipes.__all__])
    assert all(f"`{name}`" in text or f"`nn.{name}`" in text for name in NOT_OBJECTS)


def faults_of_docstring(name: str, value: type | Callable[..., Any]) -> Iterator[str]:
    text = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
    if not text:
        yield f"{name} has no docstring"
    elif re.search(r":(func|class|meth|mod|attr):`", text):
        yield f"{name}: write ``name``, not a Sphinx role"
    if inspect.isclass(value) and value.__module__.startswith("complex_transformers"):
        for method, function in value.__dict__.items():
            inherited = any(hasattr(base, method) for base in value.__mro__[1:])
            if inspect.isfunction(function) and not (method.startswith("_") or inherited or function.__doc__):
                yield f"{name}.{method} has no docstring"


def test_page_of_gates_names_every_gate() -> None:
    text = (DOCS / "decisions" / "0004-gates.md").read_text(encoding="utf-8")
    table = text[text.index("| `gate` |") :].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE)[1:] == list(nn.GATES)


def test_public_names_have_docstrings() -> None:
    faults = [fault for name, value in DOCUMENTED.items() for fault in faults_of_docstring(name, value)]
    assert not faults, "\n".join(faults)


def unnamed_arguments(value: type | Callable[..., Any]) -> list[str]:
    """Of a docstring that lists arguments, those it leaves out."""
    text = inspect.getdoc(value) or ""
    if "Args:" not in text:
        return []
    listed = text.split("Args:")[1].split("\n\n")[0]
    own = list(inspect.signature(value.__init__ if inspect.isclass(value) else value).parameters)
    # Transformers documents its own fields; configurations and functions those that arguments are made from.
    if inspect.isclass(value) and issubclass(value, (PreTrainedConfig, TrainingArguments, GivenArguments)):
        own = [field for field in own if field in value.__annotations__]
    return [p for p in own if p not in COMMON_ARGUMENTS and not re.search(rf"\b{p}\b", listed)]


def test_docstrings_with_arguments_name_them_all() -> None:
    missing = {name: names for name, value in DOCUMENTED.items() if (names := unnamed_arguments(value))}
    assert not missing, f"Args of the docstrings leave out {missing}"


PAGES_WITH_SNIPPETS = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if "\n```python\n" in page.read_text(encoding="utf-8")
]


@pytest.mark.full
@pytest.mark.parametrize("part", range(3))
def test_snippets_run(part: int, tmp_path: Path) -> None:
    pages = PAGES_WITH_SNIPPETS[part::3]
    assert len(pages) > 5
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["HF_HOME"] = str(tmp_path / "cache")
    command = [sys.executable, str(ROOT / "tests" / "run_snippets.py"), *map(str, pages)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if pages[0] == ROOT / "README.md":
        readme = done.stdout.split("== ")[1]
        assert readme.splitlines()[-1] == "['dog bites', 'man bites']"


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_of_root_files_lead_somewhere(path: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / path).read_text(encoding="utf-8"))
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing, f"{path} links to {missing}"


@pytest.mark.full
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings")),
    reason='needs the extra docs: pip install -e ".[docs]"',
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
