# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex layers on plain torch: ``torch.nn`` for tensors of ``[real | imag]`` halves."""

from . import functional
from .activation import *  # noqa: F403
from .activation import __all__ as _activation
from .arithmetic import *  # noqa: F403
from .arithmetic import __all__ as _arithmetic
from .attention import *  # noqa: F403
from .attention import __all__ as _attention
from .dropout import *  # noqa: F403
from .dropout import __all__ as _dropout
from .embedding import *  # noqa: F403
from .embedding import __all__ as _embedding
from .functional import *  # noqa: F403
from .functional import __all__ as _functional
from .initialization import *  # noqa: F403
from .initialization import __all__ as _initialization
from .linear import *  # noqa: F403
from .linear import __all__ as _linear
from .normalization import *  # noqa: F403
from .normalization import __all__ as _normalization
from .number_field import *  # noqa: F403
from .number_field import __all__ as _number_field
from .pooling import *  # noqa: F403
from .pooling import __all__ as _pooling
from .readout import *  # noqa: F403
from .readout import __all__ as _readout
from .transforms import *  # noqa: F403
from .transforms import __all__ as _transforms

__all__ = [
    "functional",
    *_activation,
    *_arithmetic,
    *_attention,
    *_dropout,
    *_embedding,
    *_functional,
    *_initialization,
    *_linear,
    *_normalization,
    *_number_field,
    *_pooling,
    *_readout,
    *_transforms,
]
