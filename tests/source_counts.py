# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Read the source of the package: docstrings, error messages, and how many lines are checks.

python tests/source_counts.py              # the share of checks, by package
python tests/source_counts.py --terms      # terms of the private dialect that are left, by file and line
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "complex_transformers"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Term of the old dialect -> what to write instead.
TERMS = {
    r"\bbeginnings?\b": "prompt, start",
    r"\b(?:write|writes|written|writing|wrote) on\b": "generate, continue",
    r"\b(?:go|goes|going|gone|went) on\b": "resume, continue",
    r"\b(?:take|takes|taken|took|taking) up\b": "resume",
    r"(?<!in )\bturn(?:s|ed|ing)?\b(?! (?:it |them )?(?:off|on|into)\b)": "rotate, rotation",
    r"\bspread\b": "standard deviation",
    r"\blevel (?:with|at)\b": "on par with",
    r"\bahead (?:by|of)\b": "better by",
    r"\bthe real one\b": "the real-valued counterpart",
    r"\brefus(?:e|es|ed|al|ing)\b": "raise, reject",
    r"\bwhat (?:is|are|was|it|they|comes?|came|has|have|stands?|a|an|the)\b": "name the thing",
    r"\b(?:that|those) of\b": "repeat the noun",
    r"\bof which\b": "split the sentence",
    r"\bnumbers a (?:word|token)\b": "stored width",
    r"\bstored numbers\b": "stored elements",
    r"\bnumbers of (?:a|the) weights?\b": "elements of the weight",
    r"\bas in the base class\b": "no docstring",
    r"\bsa(?:id|ys) of\b|\btold apart\b|\bfor ever\b|\bunasked\b": "plain words",
    r"\b(?:train|training|validation|test|other|earlier) parts?\b": "split",
}
# First words of docstrings that are not verbs.
WORDS = """
a an the this that those these what which who whose where when how whether if as of in on at for from by with to and or
but no not all both each every one two three it its there here empty true none never always only several
"""
NO_VERBS = set(WORDS.split())


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Yield the public classes and functions that have a docstring, also inside public classes."""
    pending: list[ast.AST] = [tree]
    while pending:
        for node in getattr(pending.pop(), "body", ()):
            if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and not node.name.startswith("_"):
                if text := ast.get_docstring(node):
                    yield node, text
                if isinstance(node, ast.ClassDef):
                    pending.append(node)


def is_property(node: ast.AST) -> bool:
    names = {getattr(mark, "id", getattr(mark, "attr", "")) for mark in getattr(node, "decorator_list", ())}
    return bool(names & {"property", "cached_property"})


def starts_with_a_verb(text: str) -> bool:
    first = re.split(r"[\s,.:;]", text)[0].strip("`\"'")
    return first.isalpha() and first.lower() not in NO_VERBS


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of each error and warning; a placeholder counts as a word."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if isinstance(node, ast.Raise) or getattr(call.func, "attr", "") == "warn":
            values = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else [call.args[0]]
            text = "".join(str(value.value) if isinstance(value, ast.Constant) else "X" for value in values)
            if any(isinstance(value, ast.Constant) for value in values):
                yield call.lineno, text


def terms(text: str) -> list[str]:
    """Return the terms of the old dialect in a text, each with its replacement."""
    found = ((match[0], new) for term, new in TERMS.items() for match in re.finditer(term, text, re.IGNORECASE))
    return [f"{term!r}: write {new}" for term, new in found]


def code_lines(tree: ast.Module, text: str) -> set[int]:
    """Return the numbers of the lines that are neither empty, nor comments, nor docstrings."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node) is not None:
            prose |= _lines(node.body[0])
    lines = enumerate(text.split("\n"), 1)
    return {number for number, line in lines if line.strip() and not line.strip().startswith("#")} - prose


def check_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of checks: ``raise``, ``assert``, ``if`` around a raise, ``check`` functions."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        is_check = isinstance(node, FUNCTIONS) and node.name.lstrip("_").startswith("check")
        if is_check or isinstance(node, (ast.Raise, ast.Assert)):
            lines |= _lines(node)
        elif isinstance(node, ast.If) and any(isinstance(inner, ast.Raise) for inner in node.body):
            lines |= set(range(node.lineno, (node.body[-1].end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if getattr(called, "id", getattr(called, "attr", "")).lstrip("_").startswith("check"):
                lines |= _lines(node)
    return lines


def _lines(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


@cache
def share_of_checks() -> dict[str, tuple[int, int]]:
    """Return package -> (lines of checks, lines of code), and the sums under ``all``."""
    counts: dict[str, tuple[int, int]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        code = code_lines(tree, text)
        for name in (path.relative_to(PACKAGE).parts[0], "all"):
            checks, lines = counts.get(name, (0, 0))
            counts[name] = (checks + len(code & check_lines(tree)), lines + len(code))
    return counts


def main() -> None:
    """Print the share of checks, or the terms that are left."""
    if "--terms" in sys.argv:
        for path in sorted(PACKAGE.rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            texts = [(node.lineno, text) for node, text in docstrings(tree)] + list(messages(tree))
            for line, text in texts:
                for term in terms(text):
                    print(f"{path.relative_to(PACKAGE)}:{line}: {term}")
        return
    for name, (checks, lines) in share_of_checks().items():
        print(f"{name}: {checks} of {lines} lines, {checks / lines:.1%}")


if __name__ == "__main__":
    main()
