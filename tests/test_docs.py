# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The documentation: complete, built without warnings, and its snippets run."""

import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedConfig,
    TrainingArguments,
)

import complex_transformers
from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexOrderConfig,
    ComplexOrderForSequenceClassification,
    ComplexQuantizationConfig,
    lift,
    nn,
    quantize,
    recipes,
    semantics,
)
from complex_transformers.data import extras
from complex_transformers.recipes import GivenArguments
from complex_transformers.recipes.datasets.splits import read_table
from refusals import refused

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


@cache
def hooks() -> Any:
    """Return the module that fills in the pages when the site is built."""
    spec = importlib.util.spec_from_file_location("documentation_hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_public_names_are_in_the_api_pages() -> None:
    missing = {name.rpartition(".")[2] for name in PUBLIC}
    pages = hooks()
    for text in pages.api_pages().values():
        for module in pages.modules_of(text):
            missing -= set(importlib.import_module(module).__all__)
    assert not missing, (
        f"{sorted(missing)}: public but in no page of docs/api: add the module there, or the name to its __all__"
    )


def test_index_of_the_api_names_everything_public() -> None:
    text = hooks().on_page_markdown((DOCS / "api" / "index.md").read_text(encoding="utf-8"))
    assert all(f"`{name}`" in text for name in [*TOP_LEVEL, *recipes.__all__, *LAYERS])
    assert all(f"`{name}`" in text or f"`nn.{name}`" in text for name in NOT_OBJECTS)


def test_generated_tables_of_the_readmes_are_current() -> None:
    stale = [path.name for path, text in hooks().readmes().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"{stale}: run python docs/hooks.py"


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def links(text: str) -> list[str]:
    """Return the relative targets of a page's links, without anchors."""
    return re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", text)


def test_links_of_generated_pages_lead_to_pages() -> None:
    pages = hooks()
    generated = pages.api_pages() | pages.example_pages()
    for path, text in generated.items():
        for link in links(text):
            target = os.path.normpath(Path(path).parent / link)
            written = not target.startswith("..") and (DOCS / target).exists()
            assert target in generated or written, f"{path} links to {link}"


def test_every_page_is_in_the_navigation_once() -> None:
    pages = hooks()
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[2]
    [*named] = pages_of(pages.expanded(yaml.safe_load(lines)))
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(named) == sorted(written | set(pages.api_pages()) | set(pages.example_pages()))


def test_tables_of_guides_have_at_most_15_rows() -> None:
    sections = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[2])
    [long] = [section["Reproductions"] for section in sections if "Reproductions" in section]
    guides = {page.relative_to(DOCS).as_posix(): page for page in DOCS.rglob("*.md")}
    for path in guides.keys() - set(pages_of(long)):
        tables = re.findall(r"(?:^\|.*\n)+", guides[path].read_text(encoding="utf-8"), re.MULTILINE)
        rows = max((table.count("\n") - 2 for table in tables), default=0)
        assert rows <= 15, f"{path} has a table of {rows} rows: move it to a page under Reproductions"


def pages_of(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from pages_of(value) if isinstance(value, list) else [value]


# A part of an error text, as a heading of docs/troubleshooting.md -> a call that raises it.
ERRORS: dict[str, Callable[[], Any]] = {
    "Unrecognized configuration class ... for this kind of AutoModel": lambda: AutoModelForCausalLM.from_config(
        ComplexOrderConfig()
    ),
    "needs datasets. Install it: pip install": lambda: extras.names_extras(
        lambda _: importlib.import_module("datasets")
    )("x"),
    "hidden_size ... must be even": lambda: ComplexOrderConfig(hidden_size=63),
    "num_attention_heads must divide": lambda: ComplexOrderConfig(hidden_size=64, num_attention_heads=5),
    "halves ... got ... torch.complex64": lambda: nn.ComplexLinear(4, 4)(torch.ones(1, 2, dtype=torch.complex64)),
    "halves of width ... got": lambda: nn.ComplexLinear(4, 4)(torch.ones(1, 2)),
    "input_ids must": lambda: small_classifier()(torch.tensor([[50]])),
    "labels must": lambda: small_classifier()(torch.tensor([[1]]), labels=torch.tensor([3])),
    "positions must": lambda: small_classifier(embedding_type="learned_position", max_position_embeddings=2)(
        torch.tensor([[1, 2, 3]])
    ),
    "... packed": lambda: quantize(small_decoder(), ComplexQuantizationConfig(2)).train(),
    "cannot be lifted": lambda: lift(GPT2LMHeadModel(GPT2Config(vocab_size=10, n_embd=8, n_layer=1, n_head=1))),
    "cache already covers": lambda: generate_twice(small_decoder()),
    "Couldn't instantiate the backend tokenizer": lambda: load_tokenizer_of_model_alone(),
    "must have one column": lambda: read_table(str(ROOT / "experiments/results/bench.jsonl"), ["text"]),
}
# Raised in a process that has not imported complex_transformers.
RAISED_ELSEWHERE = {
    *("contains custom code which must be executed", "Packed layers run in plain PyTorch"),
    "Mamba-3 computes in plain PyTorch",
}
SIZES = {"vocab_size": 10, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}


def small_classifier(**options: Any) -> ComplexOrderForSequenceClassification:
    return ComplexOrderForSequenceClassification(ComplexOrderConfig(**SIZES, num_attention_heads=2, **options))


def small_decoder() -> ComplexLlamaForCausalLM:
    return ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES, num_attention_heads=2)).eval()


def load_tokenizer_of_model_alone() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small_decoder().save_pretrained(folder)
        AutoTokenizer.from_pretrained(folder)


def generate_twice(model: ComplexLlamaForCausalLM) -> None:
    """Generate from a cache that already holds the whole prompt."""
    prompt = torch.tensor([[1, 2, 3]])
    cache = model(prompt, use_cache=True).past_key_values
    model.generate(prompt, past_key_values=cache, max_new_tokens=1)


def test_page_of_errors_lists_what_is_tested() -> None:
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^### `([^`]*)`$", text, re.MULTILINE)) == set(ERRORS) | RAISED_ELSEWHERE


@pytest.mark.parametrize("words", ERRORS)
@pytest.mark.filterwarnings("ignore")
def test_errors_have_the_words_by_which_they_are_listed(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "datasets" in words:
        monkeypatch.setitem(sys.modules, "datasets", None)
    pattern = ".*".join(re.escape(part.strip()) for part in words.split("..."))
    refused(f"(?s){pattern}", ERRORS[words], error=Exception)


def faults_of_docstring(name: str, value: type | Callable[..., Any]) -> Iterator[str]:
    text = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
    if not text:
        yield f"{name} has no docstring"
    elif re.search(r":(func|class|meth|mod|attr):`", text):
        yield f"{name}: write ``name``, not a Sphinx role"
    if inspect.isclass(value) and value.__module__.startswith("complex_transformers"):
        for method, function in value.__dict__.items():
            inherited = any(hasattr(base, method) for base in value.__mro__[1:])
            hidden = method.startswith(("_", "validate_"))  # Transformers calls validators
            if inspect.isfunction(function) and not (hidden or inherited or function.__doc__):
                yield f"{name}.{method} has no docstring"


def test_page_of_gates_names_every_gate() -> None:
    text = (DOCS / "decisions" / "0004-gates.md").read_text(encoding="utf-8")
    table = text[text.index("| `gate` |") :].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE)[1:] == list(nn.GATES)


def test_public_names_have_docstrings() -> None:
    faults = [fault for name, value in DOCUMENTED.items() for fault in faults_of_docstring(name, value)]
    assert not faults, "\n".join(faults)


def unnamed_arguments(value: type | Callable[..., Any]) -> list[str]:
    """Return the arguments that a docstring with a list of arguments leaves out."""
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


# Pages with examples of packages that are not in the environment of the tests; `make test-tools` runs these.
OTHER_PACKAGES = {"embeddings.md": "sentence_transformers"}
PAGES_WITH_SNIPPETS = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if "\n```python\n" in page.read_text(encoding="utf-8")
    and importlib.util.find_spec(OTHER_PACKAGES.get(page.name, "torch")) is not None
]

SLOW_NAMES = ("complex_mlp.md", "export.md", "state-tracking.md", "thesis.md")  # 10 to 30 s each
SLOW_PAGES = [page for page in PAGES_WITH_SNIPPETS if page.name in SLOW_NAMES]
QUICK_PAGES = [page for page in PAGES_WITH_SNIPPETS if page not in SLOW_PAGES]
PARTS = [pytest.param(QUICK_PAGES[part::3], marks=pytest.mark.full, id=str(part)) for part in range(3)]


@pytest.mark.parametrize("pages", [*PARTS, pytest.param(SLOW_PAGES, marks=pytest.mark.slow, id="slow")])
def test_snippets_run(pages: list[Path], tmp_path: Path) -> None:
    assert len(pages) > 1
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["HF_HOME"] = str(tmp_path / "cache")
    command = [sys.executable, str(ROOT / "tests" / "run_snippets.py"), *map(str, pages)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if pages[0] == ROOT / "README.md":
        readme = done.stdout.split("== ")[1]
        assert readme.splitlines()[-1] == "['dog bites', 'man bites']"


def test_relative_links_lead_to_files_of_the_repository() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    missing = [
        f"{page.relative_to(ROOT)} links to {link}"
        for page in pages
        for link in links(page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert not missing, "\n".join(missing)


# What users search for -> the page that answers it.
SEARCHES = {
    "fine-tune": "fine-tuning/",
    "quantize": "quantization/",
    "8 GPUs": "fine-tuning/",
    "load a checkpoint": "quickstart/",
    "readout": "glossary/",
    "attention map": "attention-maps/",
    "embeddings": "embeddings/",
    "serve": "serving/",
    "install": "quickstart/",
    "LoRA": "adapters/",
    "ONNX": "export/",
}


def found(query: str, index: list[dict[str, str]]) -> list[str]:
    """Return the five best pages for a query: all words must occur; titles count a hundred times as much as texts."""
    words = [re.compile(rf"\b{re.escape(word.rstrip('e'))}", re.IGNORECASE) for word in query.split()]

    def score(entry: dict[str, str]) -> int:
        counts = [100 * len(word.findall(entry["title"])) + len(word.findall(entry["text"])) for word in words]
        return sum(counts) if all(counts) else 0

    best: dict[str, int] = {}
    for entry in index:
        page = entry["location"].partition("#")[0]
        best[page] = max(best.get(page, 0), score(entry))
    return [page for page in sorted(best, key=best.get, reverse=True) if best[page]][:5]


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
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    for query, page in SEARCHES.items():
        assert page in found(query, index), f"a search for {query!r} does not lead to {page}"
