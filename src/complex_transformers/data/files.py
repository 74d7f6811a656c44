# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Local files: taken by their very name, decompressed by their ending, never more than a file may hold."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from fsspec.core import OpenFile
from fsspec.implementations.local import LocalFileSystem
from fsspec.utils import infer_compression

__all__ = [
    "check_file",
    "check_own_files",
    "decode_lines",
    "open_file",
    "read_lines",
    "uncompressed_name",
    "whole_file",
]

# gzip packs bytes up to 1030 times smaller, texts 3 to 20 times: what goes beyond is made to fill a memory.
_MOST_TIMES = 250
_ALWAYS_ALLOWED = 2**26  # bytes, whatever the size of the archive


class _Decompressed(io.RawIOBase):
    """The content of a compressed file; errors name the file."""

    def __init__(self, path: str | os.PathLike[str], compression: str) -> None:
        self._path, self._compression, self._count = path, compression, 0
        self._opened = OpenFile(LocalFileSystem(), str(Path(path).absolute()), compression=compression)
        self._file = self._opened.open()
        self._limit = max(_ALWAYS_ALLOWED, _MOST_TIMES * os.path.getsize(path))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except Exception as error:  # every format has errors of its own
            raise ValueError(f"{self._path} is no {self._compression} archive, or a damaged one: {error}") from error
        buffer[: len(data)] = data
        self._count += len(data)
        if self._count > self._limit:
            raise ValueError(
                f"{self._path} unpacks to more than {self._limit:,} bytes, {_MOST_TIMES} times its size: no text is "
                "packed so small; if it is meant to be, unpack it and give the unpacked file"
            )
        return len(data)

    def close(self) -> None:
        self._opened.close()
        super().close()


def check_file(path: str | os.PathLike[str]) -> None:
    """There must be such a file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no such file: {path}")


def check_own_files(paths: Mapping[str, str | os.PathLike[str]]) -> None:
    """There must be a file of its own for each part."""
    for path in paths.values():
        check_file(path)
    if len({Path(path).resolve() for path in paths.values()}) < len(paths):
        raise ValueError(f"the parts share a file: {paths}")


def uncompressed_name(path: str | os.PathLike[str]) -> str:
    """Return a path without the ending of its compression, such as ``.gz``."""
    return os.path.splitext(path)[0] if infer_compression(os.fspath(path)) else os.fspath(path)


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read its bytes, decompressed by its ending (``.gz``, ``.bz2``, ``.xz`` and what fsspec knows).

    Raises:
        FileNotFoundError: no such file.
        ValueError: a tar or zip archive; a damaged file, or one of more than 64 MiB and 250 times its own size.
    """
    check_file(path)
    if kind := _archive_kind(path):
        raise ValueError(f"{path} must be a single file, got a {kind} archive. Unpack it and give one of its files.")
    if compression := infer_compression(os.fspath(path)):
        return cast(BinaryIO, io.BufferedReader(_Decompressed(path, compression), 2**16))
    return open(path, "rb")


def _archive_kind(path: str | os.PathLike[str]) -> str | None:
    """Return zip or tar if a file holds several files, whatever its name and compression."""
    with open(path, "rb") as file:
        if file.read(4) == b"PK\3\4":
            return "zip"
    try:
        with tarfile.open(path) as archive:
            return "tar" if archive.next() else None
    except Exception:  # not an archive; a damaged file is reported when it is read
        return None


def decode_lines(file: Iterable[bytes], name: str, keep_linebreaks: bool = False) -> Iterator[str]:
    r"""Lines of UTF-8 text, split at ``\n`` alone (``\r\n`` counts as ``\n``), one after the other.

    Rare separators of Unicode are characters of a text; splitting there would move all lines behind them.

    Args:
        file: its lines; a byte order mark in front is left out.
        name: where it comes from, for the error.
        keep_linebreaks: lines end in ``\n`` where the file has one.

    Raises:
        ValueError: no UTF-8.
    """
    for number, encoded in enumerate(file, 1):
        try:
            line = encoded.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name} is no UTF-8 text: {error} (line {number}); convert it, for example with iconv"
            ) from error
        text = line.removesuffix("\n").removesuffix("\r")
        if line or number > 1:  # a byte order mark alone is no line
            yield f"{text}\n" if keep_linebreaks and line.endswith("\n") else text


def read_lines(path: str | os.PathLike[str], keep_linebreaks: bool = False) -> Iterator[str]:
    """Read the lines of a text file, compressed or not, as ``decode_lines`` gives them.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no UTF-8, a Parquet table, or what ``open_file`` raises.
    """
    if str(path).endswith(".parquet"):
        raise ValueError(f"{path} must be a text file, got a Parquet table. Give its folder as dataset_name.")
    with open_file(path) as file:
        yield from decode_lines(file, str(path), keep_linebreaks)


@contextmanager
def whole_file(path: str | os.PathLike[str] | None) -> Iterator[TextIO]:
    """A UTF-8 file to write, whose name has it when all is written: until then, and after an error, what was there.

    Args:
        path: None for standard output. What is no file, such as a pipe, is written as it comes.
    """
    if path is None:
        yield sys.stdout
        return
    target = Path(path).resolve()  # not a link to it
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
