# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the documentation takes from the tree instead of listing it: folders of pages, families, public names."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "complex_transformers"
FAMILIES, NAMES = "<!-- families -->", "<!-- public names -->"
# In the order of a reader: what is configured, what computes, what goes in.
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


def title(page: Path) -> str:
    """The first heading of a page."""
    return next(line[2:] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# "))


def expand(markdown: str) -> str:
    """A page with the modules of every family in place of its marker."""
    if FAMILIES not in markdown:
        return markdown
    text, options = "", "    options:\n      show_root_heading: false\n      heading_level: 3\n"
    for page in sorted((DOCS / "models").glob("*.md"), key=title):
        family = page.stem
        modules = [
            f"{kind}_{family}" for kind in KINDS if (PACKAGE / "models" / family / f"{kind}_{family}.py").exists()
        ]
        text += f"## {title(page)}\n\nWhat it is: [{title(page)}](../models/{family}.md).\n\n"
        text += "".join(f"::: complex_transformers.models.{family}.{name}\n{options}\n" for name in modules)
    return markdown.replace(FAMILIES, text)


def public_names() -> dict[str, list[str]]:
    """Return module -> its public names, from the stubs of the package and of its recipes."""
    names: dict[str, list[str]] = {}
    for package in ("complex_transformers", "complex_transformers.recipes"):
        stub = PACKAGE.parent / package.replace(".", "/") / "__init__.pyi"
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                names.setdefault(f"{package}.{node.module}", []).extend(alias.name for alias in node.names)
    return names


def table_of_names() -> str:
    """The public names of the package, by the page that describes their module."""
    rows, left = ["| page | names |", "|---|---|"], public_names()
    for page in sorted((DOCS / "api").glob("*.md"), key=title):
        modules = re.findall(r"^::: (\S+)$", expand(page.read_text(encoding="utf-8")), re.MULTILINE)
        if found := [name for module in modules for name in left.pop(module, ())]:
            rows.append(f"| [{title(page)}]({page.name}) | {', '.join(f'`{name}`' for name in found)} |")
    if left:
        raise ValueError(f"modules with public names but without a page in docs/api: {sorted(left)}")
    return "\n".join(rows)


def on_config(config: Any) -> Any:
    """A folder in ``nav`` stands for its pages, the index first and the others by name."""
    for entry in config["nav"]:
        for heading, value in entry.items():
            if isinstance(value, str) and value.endswith("/"):
                pages = sorted((DOCS / value).glob("*.md"), key=lambda page: (page.stem != "index", page.stem))
                entry[heading] = [f"{value}{page.name}" for page in pages]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the markers of a page."""
    markdown = expand(markdown)
    return markdown.replace(NAMES, table_of_names()) if NAMES in markdown else markdown
