# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Fetch the model test suite of the installed Transformers: ``python tests/conformance/fetch_suite.py``.

The suite is in the source distribution alone, not in the wheel. It is unpacked into ``.cache/`` of the repository,
once for each version, and its folder is printed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "transformers-suite"


def suite_folder(version: str) -> Path:
    """Where the suite of a Transformers version is kept."""
    return CACHE / version / "tests"


def fetch(version: str) -> Path:
    """The folder of the suite, downloaded (about 10 MB) when it is not there yet.

    Raises:
        RuntimeError: pip could not get the source distribution.
    """
    folder = suite_folder(version)
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        # Only Transformers itself must come as source: its build tools may be wheels.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-binary", "transformers", "--retries", "1", "--timeout", "20", "--dest", scratch]
        pip = subprocess.run([*command, f"transformers=={version}"], capture_output=True, text=True, check=False)
        archives = list(Path(scratch).glob("transformers-*.tar.gz"))
        if pip.returncode or not archives:
            last = (pip.stderr.strip().splitlines() or ["no source distribution found"])[-1]
            raise RuntimeError(f"pip could not download the source of transformers {version}: {last}")
        with tarfile.open(archives[0]) as archive:
            prefix = f"transformers-{version}/tests/"
            members = [member for member in archive.getmembers() if member.name.startswith(prefix)]
            archive.extractall(scratch, members=members, filter="data")
        unpacked = Path(scratch) / f"transformers-{version}"
        try:
            os.replace(unpacked, folder.parent)  # in one step: several test processes may fetch at once
        except OSError:
            if not folder.is_dir():
                shutil.rmtree(folder.parent, ignore_errors=True)
                os.replace(unpacked, folder.parent)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default=importlib.metadata.version("transformers"), help="default: the installed")
    print(fetch(parser.parse_args().version))


if __name__ == "__main__":
    main()
