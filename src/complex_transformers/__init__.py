# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex-valued models for Hugging Face Transformers.

Importing the package registers its models with the Auto classes and its tasks with ``pipeline()``. Everything public
is listed in ``__init__.pyi`` and loaded when it is first used, so the import itself is fast.
"""

import lazy_loader

from .auto import register_when_imported
from .data.extras import names_extras

__version__ = "0.1.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


__getattr__ = names_extras(_load)
register_when_imported()
