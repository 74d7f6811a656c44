# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What is refused, and with which words."""

from collections.abc import Callable
from typing import Any

import pytest


def refused(
    words: str, call: Callable[..., Any], /, *arguments: Any, error: type[Exception] = ValueError, **options: Any
) -> None:
    """The call with these arguments raises an error whose text has the words, a regular expression."""
    with pytest.raises(error, match=words):
        call(*arguments, **options)
