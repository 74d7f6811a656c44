# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Collect the outcomes of tests marked ``tool(package, tried)`` and write them as the table of docs/tools.md."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

START, END = "<!-- tools:start -->", "<!-- tools:end -->"
OUTCOMES = pytest.StashKey[dict[tuple[str, str], list[pytest.TestReport]]]()


def pytest_addoption(parser):
    parser.addoption("--write-table", type=Path, metavar="PATH", help="page whose table is written, except with -k")


def pytest_configure(config):
    config.stash[OUTCOMES] = {}
    config.pluginmanager.register(Collector(config.stash[OUTCOMES]))


def pytest_collection_modifyitems(items):
    for item in items:
        item.user_properties += [("tool", marker.args) for marker in item.iter_markers("tool")]


def pytest_sessionfinish(session):
    config = session.config
    page = config.getoption("write_table", None)
    selected, worker = config.option.keyword, hasattr(config, "workerinput")  # a worker of pytest-xdist
    if page is not None and not selected and not worker:
        text = page.read_text(encoding="utf-8")
        table = "\n".join([START, *rows(config.stash[OUTCOMES]), END])
        page.write_text(re.sub(f"{START}.*{END}", lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


class Collector:
    """Keep the report of each marked test: of its call, or of the phase that skipped or failed it."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            for name, value in report.user_properties:
                if name == "tool":
                    self.outcomes.setdefault(tuple(value), []).append(report)


def rows(outcomes):
    """Return the table: a line for each package, with everything that was tried with it."""
    yield from ["| library | version | works | other results |", "|---|---|---|---|"]
    for package in sorted({package for package, _ in outcomes}):
        tried = {tried: result(reports) for (name, tried), reports in sorted(outcomes.items()) if name == package}
        works = "<br>".join(text for text, found in tried.items() if found == "works")
        other = "<br>".join(f"{text}: {found}" for text, found in tried.items() if found != "works")
        yield f"| {package} | {version(package)} | {works} | {other} |"


def version(package):
    """Return the installed version of the distribution that ``package`` begins with."""
    try:
        return metadata.version(package.split()[0])
    except metadata.PackageNotFoundError:
        return "not installed"


def result(reports):
    """Return the worst result of several tests, with the reason where it does not work."""
    results = {outcome(report) for report in reports}
    return "fails" if "fails" in results else min(results - {"works"}, default="works")


def outcome(report):
    """Return what a row says about one test."""
    if hasattr(report, "wasxfail"):
        return f"does not work: {report.wasxfail.removeprefix('reason: ')}"
    if report.skipped:
        return f"not tested: {report.longrepr[2].removeprefix('Skipped: ')}"
    return "works" if report.passed else "fails"
