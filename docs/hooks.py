# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Generate the parts of the documentation that would otherwise repeat the source tree.

MkDocs calls the functions ``on_*``. They add one API page per model family and one page per folder of ``examples/``,
fill in the markers of pages, and expand the folders named in ``nav``. ``python docs/hooks.py`` writes the generated
tables of ``README.md`` and ``examples/README.md``; ``tests/test_docs.py`` fails if they are out of date.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS, EXAMPLES, PACKAGE = ROOT / "docs", ROOT / "examples", ROOT / "src" / "complex_transformers"
# The modules of a family, in the order of a reader.
KINDS = (
    "configuration",
    "modeling",
    "stacks",
    "generation",
    "feature_extraction",
    "image_processing",
    "tokenization",
    "processing",
)
TASKS = {
    "AutoModelForCausalLM": "text generation",
    "AutoModelForSeq2SeqLM": "translation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForCTC": "speech recognition",
    "AutoModelForSpeechSeq2Seq": "speech recognition",
    "AutoModelForAudioClassification": "audio classification",
    "AutoModelForImageClassification": "image classification",
    "AutoModelForSequenceClassification": "text classification",
    "AutoModelForTokenClassification": "token classification",
    "AutoModelForQuestionAnswering": "question answering",
    "AutoModelForMultipleChoice": "multiple choice",
}
# Families whose pipeline is not the usual one of their head.
OTHER_TASKS = {"complex_memory_network": ["question answering about stories"]}
# A family is listed in the section of its first task in this order, else in the last one.
SECTIONS = ("text generation", "translation", "speech recognition", "image classification", "text classification")
OPTIONS = "    options:\n      show_root_heading: false\n      heading_level: 3\n"


def title(page: Path) -> str:
    """Return the first heading of a page."""
    return next(line[2:] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# "))


@cache
def families() -> dict[str, list[str]]:
    """Return model type -> tasks of its heads, read from ``AUTO_CLASSES`` of the model folders."""
    tasks = {}
    for path in sorted((PACKAGE / "models").glob("*/__init__.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and node.targets[0].id == "AUTO_CLASSES":
                classes = ast.literal_eval(node.value)
                tasks[path.parent.name] = list(dict.fromkeys(TASKS[name] for name in TASKS if name in classes))
    return tasks | OTHER_TASKS


def section(model_type: str) -> str:
    """Return the section of the navigation that lists a family."""
    return next((task for task in SECTIONS if task in families()[model_type]), SECTIONS[-1])


def table_of_families(docs: str) -> str:
    """Return a table of all families; ``docs`` is the path from the page to the folder of the documentation."""
    rows = ["| model | `model_type` | tasks |", "|---|---|---|"]
    for family in sorted(families(), key=lambda family: SECTIONS.index(section(family))):
        page = f"models/{family}.md"
        rows.append(f"| [{title(DOCS / page)}]({docs}{page}) | `{family}` | {', '.join(families()[family])} |")
    return "\n".join(rows)


# API pages


def public_names() -> dict[str, list[str]]:
    """Return module -> its public names, from the stubs of the package and of its recipes."""
    names: dict[str, list[str]] = {}
    for package in ("complex_transformers", "complex_transformers.recipes"):
        stub = PACKAGE.parent / package.replace(".", "/") / "__init__.pyi"
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                names.setdefault(f"{package}.{node.module}", []).extend(alias.name for alias in node.names)
    return names


def reference(modules: Iterable[str]) -> str:
    """Return the mkdocstrings blocks of modules."""
    return "\n".join(f"::: {module}\n{OPTIONS}" for module in modules)


def recipe_modules(datasets: bool) -> str:
    """Return the blocks of all public modules of the recipes, each under the first line of its docstring."""
    text = ""
    for module in sorted(name for name in public_names() if name.startswith("complex_transformers.recipes.")):
        if module.startswith("complex_transformers.recipes.datasets.") == datasets:
            heading = module.rpartition(".")[2].replace("_", " ").capitalize()
            text += f"## {heading}\n\n{reference([module])}\n"
    return text


def family_page(family: str) -> str:
    """Return the API page of one family."""
    folder, name = PACKAGE / "models" / family, title(DOCS / "models" / f"{family}.md")
    modules = [f"{kind}_{family}" for kind in KINDS if (folder / f"{kind}_{family}.py").exists()]
    text = f"# {name}: API\n\nGuide with examples: [{name}](../../models/{family}.md).\n\n"
    return text + reference(f"complex_transformers.models.{family}.{module}" for module in modules)


def api_pages() -> dict[str, str]:
    """Return path -> text of every page of the API reference, written and generated ones."""
    pages = {f"api/{page.name}": page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md"))}
    pages = {path: expand(text) for path, text in pages.items()}
    return pages | {f"api/models/{family}.md": family_page(family) for family in families()}


def modules_of(text: str) -> list[str]:
    """Return the modules that a page documents."""
    return re.findall(r"^::: (\S+)$", text, re.MULTILINE)


def heading(text: str) -> str:
    """Return the first heading of a text."""
    return re.search(r"^# (.*)$", text, re.MULTILINE)[1]


def table_of_names() -> str:
    """Return a table of the public names of the package, by the page that describes their module."""
    rows, left = ["| page | names |", "|---|---|"], public_names()
    for path, text in sorted(api_pages().items(), key=lambda page: heading(page[1])):
        if found := [name for module in modules_of(text) for name in left.pop(module, ())]:
            link = path.removeprefix("api/")
            rows.append(f"| [{heading(text)}]({link}) | {', '.join(f'`{name}`' for name in found)} |")
    if left:
        raise ValueError(f"modules with public names but without a page in docs/api: {sorted(left)}")
    return "\n".join(rows)


def exported_names(module: str) -> list[str]:
    """Return the names in ``__all__`` of a module."""
    source = (PACKAGE.parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def table_of_layers() -> str:
    """Return a table of the names in ``complex_transformers.nn``, by the page that describes them."""
    rows = ["| page | names in `complex_transformers.nn` |", "|---|---|"]
    for path, text in sorted(api_pages().items(), key=lambda page: heading(page[1])):
        modules = [module for module in modules_of(text) if module.startswith("complex_transformers.nn.")]
        if names := [name for module in modules for name in exported_names(module)]:
            link = path.removeprefix("api/")
            rows.append(f"| [{heading(text)}]({link}) | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(rows)


def links_to_family_pages() -> str:
    """Return a list of the API pages of the families."""
    return "\n".join(
        f"- [{title(DOCS / 'models' / f'{family}.md')}](models/{family}.md): `{family}`" for family in families()
    )


# Pages of the examples


def docstring(script: Path) -> str:
    """Return the docstring of a script, or of the module that it starts."""
    source = script.read_text(encoding="utf-8")
    if module := re.search(r"^from complex_transformers\.([\w.]+) import main$", source, re.MULTILINE):
        source = (PACKAGE / f"{module[1].replace('.', '/')}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or ""


def first_sentence(script: Path) -> str:
    """Return the first sentence of a script's docstring."""
    line = docstring(script).partition("\n")[0].replace("``", "`")
    return re.sub(r": (python|complex-transformers) .*$", "", line).rstrip(".") + "."


def command(script: Path) -> str:
    """Return the subcommand of ``complex-transformers`` that a script starts, or ''."""
    found = re.search(r"``complex-transformers ([\w -]+)``", script.read_text(encoding="utf-8"))
    return f"`{found[1]}`" if found else ""


def notebook_title(notebook: Path) -> str:
    """Return the heading of a notebook's first cell."""
    cell = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(cell).partition("\n")[0].lstrip("# ")


def example_rows(link: str) -> Iterator[str]:
    """Yield a row for each script and notebook; ``link`` formats the link to a folder that has a README."""
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        name = folder.name
        if (folder / "README.md").exists():
            name = f"[{title(folder / 'README.md')}]({link.format(folder.name)})"
        elif "." not in link:  # on the site, a folder without a README has no page
            name = f"[{name}]({link.format(name)})"
        for script in sorted(folder.glob("*.py")):
            if "__main__" in script.read_text(encoding="utf-8"):
                yield f"| {name} | `{script.name}` | {command(script)} | {first_sentence(script)} |"
        for notebook in sorted(folder.glob("*.ipynb")):
            yield f"| {name} | `{notebook.name}` | | Notebook: {notebook_title(notebook)}. |"


def table_of_examples(link: str) -> str:
    """Return a table of all example scripts and notebooks."""
    return "\n".join(
        ["| example | script | `complex-transformers ...` | content |", "|---|---|---|---|", *example_rows(link)]
    )


def repository() -> str:
    """Return the web address of the repository from DOCS_REPOSITORY or the Git remote; '' if neither has one."""
    if url := os.environ.get("DOCS_REPOSITORY"):
        return url.rstrip("/")
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    url = done.stdout.strip().removesuffix(".git")
    return url if url.startswith("https://") else ""


def site_link(label: str, target: str, folder: str) -> str:
    """Return a link of a page in ``examples/`` as one that works on the site, or its label alone."""
    path, hash_, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return f"[{label}]({target})"
    parts = PurePosixPath(os.path.normpath(PurePosixPath("examples") / folder / path)).parts
    if parts[0] == "docs":
        return f"[{label}](../{'/'.join(parts[1:])}{hash_}{anchor})"
    if parts[0] == "examples" and (len(parts) == 1 or parts[-1] == "README.md" or len(parts) == 2):
        name = parts[1] if len(parts) > 1 and parts[1] != "README.md" else "index"
        if name == "index" or (EXAMPLES / name / "README.md").exists():
            return f"[{label}]({name}.md{hash_}{anchor})"
    return f"[{label}]({repository()}/blob/main/{'/'.join(parts)})" if repository() else label


def example_page(readme: Path) -> str:
    """Return a README of ``examples/`` as a page of the site."""
    folder = readme.parent.relative_to(EXAMPLES).as_posix()

    def relink(match: re.Match[str]) -> str:
        return site_link(match[1], match[2], folder)

    text = re.sub(r"\[([^\[\]]*)\]\(([^)\s]+)\)", relink, readme.read_text(encoding="utf-8"))
    return re.sub(r"<!-- examples:start -->.*<!-- examples:end -->", table_of_examples("{}.md"), text, flags=re.DOTALL)


def example_pages() -> dict[str, str]:
    """Return path -> text of the pages that are made of the READMEs in ``examples/``."""
    pages = {f"examples/{path.parent.name}.md": example_page(path) for path in sorted(EXAMPLES.glob("*/README.md"))}
    return {"examples/index.md": example_page(EXAMPLES / "README.md"), **pages}


# MkDocs


def expand(markdown: str) -> str:
    """Fill in the markers of a page that stand for modules."""
    for marker, text in (
        ("<!-- recipes -->", lambda: recipe_modules(datasets=False)),
        ("<!-- recipe data sets -->", lambda: recipe_modules(datasets=True)),
        ("<!-- family pages -->", links_to_family_pages),
    ):
        if marker in markdown:
            markdown = markdown.replace(marker, text())
    return markdown


def pages_of(entry: str) -> list[Any]:
    """Return the pages that an entry of ``nav`` stands for: itself, a folder, or the families of a task."""
    if entry == "api/":
        return pages_of_api()
    if entry == "examples/":
        return list(example_pages())
    if entry.startswith("families: "):
        return [f"models/{family}.md" for family in families() if section(family) == entry.removeprefix("families: ")]
    if entry.endswith("/"):
        pages = sorted((DOCS / entry).glob("*.md"), key=lambda page: (page.stem != "index", page.stem))
        return [f"{entry}{page.name}" for page in pages]
    return [entry]


def pages_of_api() -> list[Any]:
    """Return the index of the API, its pages by namespace, and the pages of the families."""
    groups: dict[str, list[Any]] = {"Layers": [], "Models": [{"Shared classes": "api/models.md"}], "Other": []}
    for path, text in api_pages().items():
        modules = modules_of(text)
        if path.startswith("api/models/"):
            groups["Models"].append(path)
        elif path not in ("api/index.md", "api/models.md"):
            layers = modules and all(name.startswith("complex_transformers.nn") for name in modules[:1])
            groups["Layers" if layers else "Other"].append(path)
    return ["api/index.md", {"Layers": groups["Layers"]}, {"Models": groups["Models"]}, *groups["Other"]]


def expanded(nav: list[Any]) -> list[Any]:
    """Return ``nav`` with pages in place of the entries that stand for several."""
    entries: list[Any] = []
    for entry in nav:
        if isinstance(entry, str):
            entries += pages_of(entry)
        else:
            [(name, value)] = entry.items()
            several = isinstance(value, list) or value != pages_of(value)[0]
            pages = expanded(value if isinstance(value, list) else [value]) if several else value
            entries.append({name: pages})
    return entries


def on_config(config: Any) -> Any:
    """Expand the navigation and link the repository, where it is known."""
    config["nav"] = expanded(config["nav"])
    config["repo_url"] = repository() or None
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    pages = {path: text for path, text in api_pages().items() if path.startswith("api/models/")}
    for path, text in (pages | example_pages()).items():
        files.append(File.generated(config, path, content=text))
    return files


def link_examples(markdown: str) -> str:
    """Return a page whose links to READMEs in ``examples/`` lead to the pages made of them."""
    links = re.compile(r"\]\(\.\./((?:\.\./)*examples/)(?:([\w-]+)/)?README\.md")
    return links.sub(lambda match: f"]({match[1]}{match[2] or 'index'}.md", markdown)


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Fill in the markers of a page; pages of the API come after guides in a search."""
    markdown = link_examples(expand(markdown))
    path = page.file.src_uri if page is not None else ""
    if path.startswith("api/"):
        page.meta.setdefault("search", {"boost": 0.5})
    if (family := path.removeprefix("models/").removesuffix(".md")) in families():
        markdown = re.sub(r"\]\(\.\./api/models\.md(#[\w-]+)?\)", f"](../api/models/{family}.md)", markdown)
    for marker, text in (
        ("<!-- public names -->", table_of_names),
        ("<!-- layers -->", table_of_layers),
        ("<!-- table of families -->", lambda: table_of_families("")),
        ("<!-- repository -->", lambda: f"Source code: <{repository()}>" if repository() else ""),
    ):
        if marker in markdown:
            markdown = markdown.replace(marker, text())
    return markdown


# Tables of the READMEs


def updated(text: str, name: str, table: str) -> str:
    """Return a text with a table between the markers of its name."""
    marked = f"<!-- {name}:start -->\n{table}\n<!-- {name}:end -->"
    return re.sub(rf"<!-- {name}:start -->.*<!-- {name}:end -->", lambda _: marked, text, flags=re.DOTALL)


def readmes() -> dict[Path, str]:
    """Return path -> text, with current tables, of the READMEs that hold generated tables."""
    readme, examples = ROOT / "README.md", EXAMPLES / "README.md"
    return {
        readme: updated(readme.read_text(encoding="utf-8"), "families", table_of_families("docs/")),
        examples: updated(examples.read_text(encoding="utf-8"), "examples", table_of_examples("{}")),
    }


if __name__ == "__main__":
    for path, text in readmes().items():
        path.write_text(text, encoding="utf-8")
