# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The plan of the house: imports go down only, and nothing lies loose at the top of the package."""

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "complex_transformers"
# From the ground up. A room on a floor knows the floors below it and itself, not its neighbours.
FLOORS = (
    ("kernels", "data", "metrics"),
    ("nn", "semantics"),
    ("models",),
    ("adapters", "training", "pipelines", "analysis", "conversion", "quantization"),
    ("recipes",),
    ("auto", "serve"),
    ("__init__",),
    ("cli",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Third parties that a room does without, so that it can be used without them.
WITHOUT = {
    "kernels": {"transformers", "numpy"},
    "nn": {"transformers"},
    "semantics": {"torch", "transformers"},
    "auto": {"torch"},
    "__init__": {"torch"},
    "cli": {"torch", "transformers", "numpy"},
}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".pyi").removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """What a file imports, also inside functions, as absolute names cut at the dots."""
    folder = path.relative_to(PACKAGE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = (PACKAGE.name, *folder)[: len(folder) + 2 - node.level] if node.level else ()
            module = (*above, *(node.module or "").split(".")) if node.module else above
            yield from ((*module, alias.name) for alias in node.names)


@pytest.mark.parametrize("room", FLOOR)
def test_imports_go_down_only(room: str) -> None:
    files = [path for path in PACKAGE.rglob("*.py") if room_of(path) == room]
    assert files, f"{room} is on the plan but not in the tree"
    for path in files:
        for module, *inside in imports(path):
            where = f"{path.relative_to(ROOT)} imports {'.'.join((module, *inside))}"
            assert module not in WITHOUT.get(room, ()), where
            assert module not in ("tests", "examples", "benchmarks", "experiments"), where
            if module == PACKAGE.name and inside and inside[0] != room:
                assert inside[0] in FLOOR, f"{where}: import from the room, not from the package"
                assert FLOOR[inside[0]] < FLOOR[room], where


def test_no_import_circle() -> None:
    """Modules form an order in which each imports only earlier ones, also by imports inside functions."""
    modules = {path.relative_to(PACKAGE.parent).with_suffix("").parts: path for path in PACKAGE.rglob("*.py")}

    def module_of(name: tuple[str, ...]) -> tuple[str, ...]:
        candidates = (name, (*name, "__init__"), name[:-1], (*name[:-1], "__init__"))
        return next((candidate for candidate in candidates if candidate in modules), ())

    graph = {name: {module_of(other) for other in imports(path)} - {name, ()} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import circle: {' -> '.join('.'.join(name) for name in error.args[1])}")


def test_what_models_share_knows_no_family() -> None:
    families = {path.name for path in (PACKAGE / "models").iterdir() if path.is_dir()} - {"base", "__pycache__"}
    for path in (PACKAGE / "models" / "base").glob("*.py"):
        for name in imports(path):
            assert not families.intersection(name), f"{path.relative_to(ROOT)} imports {'.'.join(name)}"


def test_no_loose_files() -> None:
    loose = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py"}
    assert loose == {"__init__.py", "auto.py", "cli.py", "serve.py"}
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms | {"auto", "cli", "serve", "__init__"} == set(FLOOR)


def test_no_file_is_too_long_to_read() -> None:
    folders = [ROOT / name for name in ("src", "tests", "examples", "benchmarks", "experiments")]
    lines = {path: path.read_text(encoding="utf-8").count("\n") for top in folders for path in top.rglob("*.py")}
    assert lines
    assert not {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > 500}


def test_files_of_tests_have_names_of_their_own() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert not {name: count for name, count in names.items() if count > 1}  # or pytest takes one for the other
