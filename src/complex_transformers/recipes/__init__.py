# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training runs, command lines and data set loaders of the example scripts.

The public names are listed in ``__init__.pyi`` and loaded when they are first used.
"""

import lazy_loader

from ..data.extras import names_extras

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = names_extras(_load)
