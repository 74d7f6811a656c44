# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex layers on plain torch: ``torch.nn`` for tensors of ``[real | imag]`` halves."""

from ..data.vectors import *
from ..data.vectors import __all__ as _vectors
from . import functional
from .activation import *
from .activation import __all__ as _activation
from .adaptive_softmax import *
from .adaptive_softmax import __all__ as _adaptive_softmax
from .alignment import *
from .alignment import __all__ as _alignment
from .arithmetic import *
from .arithmetic import __all__ as _arithmetic
from .attention import *
from .attention import __all__ as _attention
from .convolution import *
from .convolution import __all__ as _convolution
from .dropout import *
from .dropout import __all__ as _dropout
from .embedding import *
from .embedding import __all__ as _embedding
from .functional import *
from .functional import __all__ as _functional
from .graph import *
from .graph import __all__ as _graph
from .initialization import *
from .initialization import __all__ as _initialization
from .linear import *
from .linear import __all__ as _linear
from .normalization import *
from .normalization import __all__ as _normalization
from .number_field import *
from .number_field import __all__ as _number_field
from .pooling import *
from .pooling import __all__ as _pooling
from .readout import *
from .readout import __all__ as _readout
from .real_recurrent import *
from .real_recurrent import __all__ as _real_recurrent
from .recurrent import *
from .recurrent import __all__ as _recurrent
from .relative_attention import *
from .relative_attention import __all__ as _relative_attention
from .short_time import *
from .short_time import __all__ as _short_time
from .spectral import *
from .spectral import __all__ as _spectral
from .syntax_embedding import *
from .syntax_embedding import __all__ as _syntax_embedding
from .transforms import *
from .transforms import __all__ as _transforms

__all__ = [
    "functional",
    *_activation,
    *_adaptive_softmax,
    *_alignment,
    *_arithmetic,
    *_attention,
    *_convolution,
    *_dropout,
    *_embedding,
    *_functional,
    *_graph,
    *_initialization,
    *_linear,
    *_normalization,
    *_number_field,
    *_pooling,
    *_readout,
    *_real_recurrent,
    *_recurrent,
    *_relative_attention,
    *_short_time,
    *_spectral,
    *_syntax_embedding,
    *_transforms,
    *_vectors,
]
