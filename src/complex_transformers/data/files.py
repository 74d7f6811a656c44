# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Local files: decompressed by their ending, read line by line, written as a whole."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from fsspec.core import OpenFile
from fsspec.implementations.local import LocalFileSystem
from fsspec.utils import infer_compression

__all__ = [
    "check_own_files",
    "decode_lines",
    "named",
    "open_file",
    "read_lines",
    "read_text",
    "uncompressed_name",
    "whole_file",
]


@contextmanager
def named(name: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of a file as a note to errors of libraries, which do not have it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while reading {name}")
        raise


def check_own_files(paths: Mapping[str, str | os.PathLike[str]]) -> None:
    """Raise if two splits are the same file."""
    if len({Path(path).resolve() for path in paths.values()}) < len(paths):
        raise ValueError(f"splits must be different files, got {paths}. Pass one file per split.")


def uncompressed_name(path: str | os.PathLike[str]) -> str:
    """Return a path without the ending of its compression, such as ``.gz``."""
    return os.path.splitext(path)[0] if infer_compression(os.fspath(path)) else os.fspath(path)


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read its bytes, decompressed by its ending (``.gz``, ``.bz2``, ``.xz`` and what fsspec knows).

    Raises:
        FileNotFoundError: no such file.
        ValueError: a tar or zip archive.
    """
    if tarfile.is_tarfile(path) or zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be a single file, got an archive. Unpack it and pass one of its files.")
    file = OpenFile(LocalFileSystem(), str(Path(path).absolute()), compression=infer_compression(os.fspath(path)))
    return cast(BinaryIO, file.open())


def decode_lines(file: BinaryIO, keep_linebreaks: bool = False) -> Iterator[str]:
    r"""Yield the lines of UTF-8 text, split at ``\n`` alone (``\r\n`` counts as ``\n``).

    Splitting at the rarer line separators of Unicode would misalign parallel files.

    Args:
        file: open for reading bytes; a leading byte order mark is dropped.
        keep_linebreaks: keep ``\n`` at the end of lines that have one.
    """
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="\n")
    for line in lines:
        text = line.removesuffix("\n").removesuffix("\r")
        yield f"{text}\n" if keep_linebreaks and line.endswith("\n") else text
    lines.detach()


def read_lines(path: str | os.PathLike[str], keep_linebreaks: bool = False) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not, as ``decode_lines`` does.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not UTF-8, or an archive.
    """
    with named(path), open_file(path) as file:
        yield from decode_lines(file, keep_linebreaks)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, compressed or not, as ``read_lines`` reads it."""
    return "".join(read_lines(path, keep_linebreaks=True))


@contextmanager
def whole_file(path: str | os.PathLike[str] | None) -> Iterator[TextIO]:
    """Open a UTF-8 file for writing that replaces ``path`` once it is complete; an error leaves ``path`` as it was.

    Args:
        path: None for standard output. Pipes and devices are written directly.
    """
    if path is None:
        yield sys.stdout
        return
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8") as file:
            yield file
        return
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with part.open("x", encoding="utf-8") as file:
            yield file
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
