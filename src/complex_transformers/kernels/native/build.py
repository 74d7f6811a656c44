# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Compile the C++ operators of this folder once per machine, and load them."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

__all__ = ["BuildError", "compile_operators"]

HERE = Path(__file__).parent
TORCH = Path(torch.__file__).parent
COMPILERS = ("c++", "g++", "clang++")
SYSTEMS = {"linux": ("-fopenmp",), "darwin": ("-undefined", "dynamic_lookup")}  # flags; macOS brings no OpenMP

logger = logging.getLogger(__name__)


class BuildError(RuntimeError):
    """The operators cannot be compiled; the message says why, as the end of a sentence."""


def compile_operators(name: str = "low_bit") -> Path:
    """Return the library compiled from the files whose names begin with ``name``; compile it unless the cache has it.

    The cache is ``$XDG_CACHE_HOME/complex_transformers``, by default in ``~/.cache``. The name of the library contains
    a hash of the sources, the command and the versions of torch and of the compiler.

    Raises:
        BuildError: another system, no compiler, a compiler that fails, a cache that cannot be written.
    """
    try:
        command = _command()
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "complex_transformers"
        library = folder / f"{name}-{_key(command, name)}.so"
        if not library.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            _compile([*command, *_paths(name)], library)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        raise error if isinstance(error, BuildError) else BuildError(f"the compiler cannot run ({error})") from error
    return library


def _command() -> list[str]:
    flags = SYSTEMS.get(sys.platform)
    if flags is None:
        raise BuildError(f"they are not available on {sys.platform}")
    compiler = os.environ.get("CXX") or next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise BuildError("no C++ compiler was found (install g++, or set CXX)")
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    return [*compiler.split(), "-O3", "-std=c++20", "-shared", "-fPIC", "-w", abi, *flags]


def _paths(name: str) -> list[str]:
    sources = [str(path) for path in sorted(HERE.glob(f"{name}*.cpp"))]
    return [f"-I{TORCH / 'include'}", *sources, f"-L{TORCH / 'lib'}", "-ltorch_cpu", "-lc10"]


def _key(command: list[str], name: str) -> str:
    version = subprocess.run([command[0], "--version"], capture_output=True, timeout=60, check=False).stdout
    parts = [" ".join(command).encode(), version, torch.__version__.encode(), platform.machine().encode()]
    parts += [path.read_bytes() for path in sorted(HERE.glob(f"{name}*.[ch]*"))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _compile(command: list[str], library: Path) -> None:
    """Compile to a file of this process, and rename it, so that processes do not disturb each other."""
    logger.warning("Compiling CPU kernels (%s), once on this machine (about 20 seconds).", library.stem.split("-")[0])
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        done = subprocess.run(
            [*command, "-o", str(made)], capture_output=True, text=True, errors="replace", timeout=600, check=False
        )
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise BuildError(f"{command[0]} failed ({lines[0] if lines else done.returncode})")
        made.replace(library)
