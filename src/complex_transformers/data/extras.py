# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Optional packages: import them, or name the extra that installs them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

__all__ = ["check_option", "install_command", "names_extras", "require", "require_datasets", "with_extra"]

# Package -> extra, for packages that modules import at their top.
_EXTRAS = {"accelerate": "train", "datasets": "train", "PIL": "vision"}


def install_command(*extras: str) -> str:
    """Return the sentence of an import error that says how to install extras, also in a clone of the repository."""
    names = ",".join(extras)
    return f'Install it: pip install "complex_transformers[{names}]", or pip install -e ".[{names}]" in a clone.'


def with_extra(error: ImportError, name: str) -> ImportError:
    """Return an import error of ``name`` that has the command to install the missing package, if an extra has it."""
    cause: BaseException | None = error
    while cause is not None:
        package = (getattr(cause, "name", None) or "").partition(".")[0]
        if package in _EXTRAS:
            return ImportError(f"{name} needs {package}. {install_command(_EXTRAS[package])}")
        cause = cause.__cause__ or cause.__context__
    return error


def names_extras(load: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` whose import errors say how to install the missing package."""

    def load_name(name: str) -> Any:
        try:
            return load(name)
        except ImportError as error:
            raise with_extra(error, name) from error

    return load_name


def require(package: str, why: str, *extras: str) -> Any:
    """Import an optional package.

    Raises:
        ImportError: the package is missing; the message says why it is needed and how to install the ``extras``.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"{why}. {install_command(*extras)}") from error


def require_datasets(why: str = "reading data sets needs datasets") -> Any:
    """Import the optional package ``datasets``."""
    return require("datasets", why, "train")


def check_option(name: str, value: str | int, allowed: Collection[Any]) -> None:
    """Raise ValueError unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {sorted(allowed)}, got {value!r}")
