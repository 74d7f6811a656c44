# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex layers on plain torch: ``torch.nn`` for tensors of ``[real | imag]`` halves."""

from types import ModuleType as _ModuleType

from ..data.vectors import *
from . import functional
from .activation import *
from .adaptive_softmax import *
from .alignment import *
from .arithmetic import *
from .attention import *
from .calibration import *
from .convolution import *
from .diagonal_recurrence import *
from .dropout import *
from .embedding import *
from .feed_forward import *
from .functional import *
from .gates import *
from .graph import *
from .grouped_attention import *
from .initialization import *
from .linear import *
from .memory import *
from .normalization import *
from .number_field import *
from .packing import *
from .pooling import *
from .quantum import *
from .readout import *
from .real_recurrent import *
from .real_word_embedding import *
from .recurrent import *
from .relative_attention import *
from .rotary import *
from .rounding import *
from .short_time import *
from .spectral import *
from .syntax_embedding import *
from .transforms import *
from .unit_linear import *
from .unitary import *
from .widely_linear import *

# The names that the modules list in their own ``__all__``; of the modules themselves ``functional`` alone.
__all__ = ["functional"]
__all__ += [name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)]
